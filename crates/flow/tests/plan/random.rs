//! Generates random flow files that `check` accepts.

use envoi_kernel::Flow;
use proptest::{option, prelude::*, sample::select};
use std::sync::Arc;

const STEPS: usize = 6;

/// A step before its references are limited to the length of the flow.
#[derive(Debug, Clone)]
struct Sketch {
    kind: u8,
    back: usize,
    max: u64,
    named: Vec<usize>,
    next: Option<usize>,
    tries: u32,
    timeout: Option<u64>,
    in_doubt: &'static str,
    exhausted: &'static str,
    by_code: bool,
    condition: bool,
    deny: Option<usize>,
    expire: Option<usize>,
}

fn sketches() -> impl Strategy<Value = Vec<Sketch>> {
    let routing = (0_u8..11, 0..STEPS, 0_u64..4, prop::collection::vec(0..STEPS, 1..4));
    let attempts = (1_u32..4, option::weighted(0.8, 1_u64..4), select(vec!["ask", "rerun", "rerun", "fail"]));
    let policies =
        (select(vec!["ask", "fail", "proceed", "proceed"]), any::<bool>(), prop::bool::weighted(0.05));
    let ways =
        (option::weighted(0.25, 0..STEPS), option::weighted(0.6, 0..STEPS), option::weighted(0.4, 0..STEPS));
    let sketch = (routing, attempts, policies, ways).prop_map(|(routing, attempts, policies, ways)| Sketch {
        kind: routing.0,
        back: routing.1,
        max: routing.2,
        named: routing.3,
        next: ways.0,
        tries: attempts.0,
        timeout: attempts.1,
        in_doubt: attempts.2,
        exhausted: policies.0,
        by_code: policies.1,
        condition: policies.2,
        deny: ways.1,
        expire: ways.2,
    });
    prop::collection::vec(sketch, 1..=STEPS)
}

fn asks(sketch: &Sketch) -> bool {
    sketch.kind >= 9
}

/// The text of a flow. If a denial leads forward to a step, the step before that one gets its own `next`.
fn text(sketches: &[Sketch], limits: &str) -> String {
    let count = sketches.len();
    let mut text = format!("flow: random\n{limits}steps:\n");
    let led_on: Vec<usize> = sketches
        .iter()
        .enumerate()
        .filter(|(_, sketch)| asks(sketch))
        .flat_map(|(place, sketch)| {
            let ways = [sketch.deny, sketch.expire];
            ways.into_iter().flatten().map(|to| to % count).filter(move |to| *to > place)
        })
        .collect();
    for (place, sketch) in sketches.iter().enumerate() {
        let before_a_side_way = led_on.contains(&(place + 1));
        let next = match sketch.next.map(|next| place + next) {
            Some(next) if next > place && next < count => Some(format!("s{next}")),
            Some(next) if next == place => Some("end".to_owned()),
            _ if before_a_side_way => Some(format!("s{}", place + 1)),
            _ => None,
        };
        let condition = if sketch.condition { "    if: \"false\"\n" } else { "" };
        text.push_str(&format!("  - id: s{place}\n{condition}"));
        text.push_str(&if asks(sketch) { asking(sketch, place, count) } else { running(sketch) });
        let mut keys =
            if asks(sketch) { asked_routing(sketch, place, count) } else { routing(sketch, place, count) };
        keys.extend(next.map(|next| format!("next: {next}")));
        if !keys.is_empty() {
            text.push_str(&format!("    routing: {{ {} }}\n", keys.join(", ")));
        }
    }
    text
}

fn running(sketch: &Sketch) -> String {
    let timeout = sketch.timeout.map(|timeout| format!("    timeout: {timeout}s\n")).unwrap_or_default();
    let retry = match sketch.tries {
        1 => String::new(),
        tries => format!("    retry: {{ attempts: {tries}, backoff: 10ms..50ms }}\n"),
    };
    format!("    run: [\"go\"]\n    on_in_doubt: {}\n{timeout}{retry}", sketch.in_doubt)
}

fn routing(sketch: &Sketch, place: usize, count: usize) -> Vec<String> {
    let mut keys = Vec::new();
    let (waits, hints) = (matches!(sketch.kind, 2..=6), matches!(sketch.kind, 6..=8));
    if waits {
        let kind = if sketch.kind == 5 { "linear" } else { "microloop" };
        keys.push(format!(
            "kind: {kind}, loop_to: s{}, success_values: [VERIFIED]",
            sketch.back % (place + 1)
        ));
        if sketch.by_code {
            keys.push("status_from_exit: { 0: VERIFIED, 1: UNVERIFIED }".to_owned());
        }
    }
    if hints {
        let mut named: Vec<usize> = sketch.named.iter().map(|to| to % count).collect();
        named.sort_unstable();
        named.dedup();
        let named: Vec<String> = named.into_iter().map(|to| format!("s{to}")).collect();
        if !waits {
            keys.push("kind: branch".to_owned());
        }
        keys.push(format!("branches: [{}]", named.join(", ")));
    }
    if waits || hints {
        keys.push(format!("max_iterations: {}, on_exhausted: {}", sketch.max, sketch.exhausted));
    }
    keys
}

fn asking(sketch: &Sketch, place: usize, count: usize) -> String {
    let target = |to: Option<usize>| match to.map(|to| to % count) {
        Some(to) if to != place => format!("s{to}"),
        _ => "fail".to_owned(),
    };
    let (deny, expire) = (target(sketch.deny), target(sketch.expire));
    format!("    ask: {{ message: \"Go on?\", on_deny: {deny}, expires_in: 1h, on_expire: {expire} }}\n")
}

fn asked_routing(sketch: &Sketch, place: usize, count: usize) -> Vec<String> {
    let mut keys = Vec::new();
    let leads_back = |to: Option<usize>| to.is_some_and(|to| to % count < place);
    if place > 0 && sketch.kind == 10 {
        keys.push(format!("loop_to: s{}", sketch.back % place));
    }
    if !keys.is_empty() || leads_back(sketch.deny) || leads_back(sketch.expire) {
        keys.push(format!("max_iterations: {}", sketch.max));
    }
    keys
}

fn limits() -> impl Strategy<Value = String> {
    let hops = option::weighted(0.15, 0_u64..30);
    let iterations = option::weighted(0.3, 0_u64..5);
    let time = option::weighted(0.2, 1_u64..60);
    (hops, iterations, time, prop::bool::weighted(0.4)).prop_map(|(hops, iterations, time, ask)| {
        let mut keys = Vec::new();
        keys.extend(hops.map(|hops| format!("agent_hops: {hops}")));
        keys.extend(iterations.map(|iterations| format!("iterations: {iterations}")));
        keys.extend(time.map(|time| format!("wall_time: {time}s")));
        if ask && !keys.is_empty() {
            keys.push("on_reached: ask".to_owned());
        }
        if keys.is_empty() { String::new() } else { format!("limits: {{ {} }}\n", keys.join(", ")) }
    })
}

/// A random flow, shown as its text.
#[derive(Clone)]
pub(crate) struct Sample {
    pub(crate) text: String,
    pub(crate) flow: Arc<Flow>,
}

impl core::fmt::Debug for Sample {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "\n{}", self.text)
    }
}

pub(crate) fn flows() -> impl Strategy<Value = Sample> {
    (sketches(), limits()).prop_filter_map("a flow that check refuses", |(sketches, limits)| {
        let text = text(&sketches, &limits);
        let loaded = envoi_flow::load("random.yaml", &text).ok()?;
        Some(Sample { text, flow: Arc::new(loaded.flow) })
    })
}
