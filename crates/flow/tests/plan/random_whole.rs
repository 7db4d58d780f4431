//! Generates random flows with the whole language: graphs, items, inner flows, verifications, budgets and goals.

use crate::random::Sample;
use proptest::{option, prelude::*, sample::select};
use std::{collections::BTreeMap, sync::Arc};

const STEPS: usize = 5;

/// A step before its references are limited to the length of the flow.
#[derive(Debug, Clone)]
struct Sketch {
    kind: u8,
    needs: Vec<usize>,
    join: u8,
    back: usize,
    max: u64,
    named: Vec<usize>,
    tries: u32,
    timeout: u64,
    in_doubt: &'static str,
    items: Option<(usize, Option<usize>)>,
    calls: Option<u64>,
    goes_on: bool,
    hint: bool,
    status: Option<&'static str>,
}

fn sketch() -> impl Strategy<Value = Sketch> {
    let shape = (0_u8..12, prop::collection::vec(0..STEPS, 0..3), 0_u8..8, 0..STEPS, 0_u64..3);
    let attempts = (1_u32..3, 1_u64..4, select(vec!["rerun", "fail", "{ verify: [look] }", "ask"]));
    let items = option::weighted(0.3, (1_usize..4, option::of(1_usize..3)));
    let status = option::weighted(0.15, select(vec!["always()", "failure()", "false"]));
    let rest =
        (option::weighted(0.5, 0_u64..4), prop::bool::weighted(0.3), prop::bool::weighted(0.3), status);
    (shape, prop::collection::vec(0..STEPS, 1..3), attempts, items, rest).prop_map(
        |(shape, named, attempts, items, rest)| Sketch {
            kind: shape.0,
            needs: shape.1,
            join: shape.2,
            back: shape.3,
            max: shape.4,
            named,
            tries: attempts.0,
            timeout: attempts.1,
            in_doubt: attempts.2,
            items,
            calls: rest.0,
            goes_on: rest.1,
            hint: rest.2,
            status: rest.3,
        },
    )
}

fn sketches() -> impl Strategy<Value = (bool, Vec<Sketch>)> {
    (any::<bool>(), prop::collection::vec(sketch(), 1..=STEPS))
}

/// The steps of one flow, which may run the flow in the file `inner`.
fn steps((graph, sketches): &(bool, Vec<Sketch>), inner: Option<&str>) -> String {
    let mut text = String::from("steps:\n");
    let count = sketches.len();
    for (place, sketch) in sketches.iter().enumerate() {
        text.push_str(&format!("  - id: s{place}\n"));
        if let Some(condition) = sketch.status {
            text.push_str(&format!("    if: {condition}\n"));
        }
        let mut before = vec![place];
        if *graph {
            let mut needs: Vec<usize> = sketch.needs.iter().filter(|need| **need < place).copied().collect();
            needs.sort_unstable();
            needs.dedup();
            // The `needs` of the second step make the flow a graph.
            if place == 1 {
                needs = vec![0];
            }
            if !needs.is_empty() {
                let join = match sketch.join {
                    0 => "any".to_owned(),
                    1 => "settled".to_owned(),
                    2 => format!("{{ quorum: {} }}", needs.len().min(2)),
                    _ => "all".to_owned(),
                };
                let list: Vec<String> = needs.iter().map(|need| format!("s{need}")).collect();
                text.push_str(&format!("    needs: [{}]\n    join: {join}\n", list.join(", ")));
                before.extend(needs);
            }
        } else {
            before.extend(0..place);
        }
        text.push_str(&body(sketch, &before, place, count, *graph, inner));
    }
    text
}

fn body(
    sketch: &Sketch,
    before: &[usize],
    place: usize,
    count: usize,
    graph: bool,
    inner: Option<&str>,
) -> String {
    let back = before[sketch.back % before.len()];
    if sketch.kind == 0 {
        let way = if back == place {
            String::new()
        } else {
            format!("    routing: {{ loop_to: s{back}, max_iterations: {} }}\n", sketch.max)
        };
        return format!("    ask: {{ message: Go on?, expires_in: 1h }}\n{way}");
    }
    let each = sketch.items.map(|(items, width)| {
        let list: Vec<String> = (0..items).map(|item| item.to_string()).collect();
        let width = width.map(|width| format!("    max_parallel: {width}\n")).unwrap_or_default();
        format!("    for_each: [{}]\n{width}", list.join(", "))
    });
    let goes_on = if sketch.goes_on { "    continue_on_error: true\n" } else { "" };
    if let Some(inner) = inner.filter(|_| sketch.kind <= 3) {
        return format!("    flow: {inner}.yaml\n{}{goes_on}", each.unwrap_or_default());
    }
    let retry = match sketch.tries {
        1 => String::new(),
        tries => format!("    retry: {{ attempts: {tries}, backoff: 10ms..50ms }}\n"),
    };
    let budget = sketch.calls.map(|calls| format!("    budget: {{ llm_calls: {calls} }}\n"));
    let run = format!(
        "    run: [\"go\"]\n    on_in_doubt: {}\n    timeout: {}s\n{retry}{}{goes_on}",
        sketch.in_doubt,
        sketch.timeout,
        budget.unwrap_or_default()
    );
    if let Some(each) = each {
        return run + &each;
    }
    let mut keys = Vec::new();
    if matches!(sketch.kind, 5..=8) {
        keys.push(format!("kind: microloop, loop_to: s{back}, success_values: [VERIFIED]"));
    }
    let mut branches: Vec<String> = Vec::new();
    if let Some(inner) = inner.filter(|_| sketch.hint) {
        branches.push(format!("{inner}/s0"));
    }
    if sketch.kind == 9 {
        let named = sketch.named.iter().map(|to| to % count);
        let mut named: Vec<usize> = named.filter(|to| !graph || before.contains(to)).collect();
        named.sort_unstable();
        named.dedup();
        branches.extend(named.iter().map(|to| format!("s{to}")));
    }
    if !branches.is_empty() {
        if keys.is_empty() {
            keys.push("kind: branch".to_owned());
        }
        keys.push(format!("branches: [{}]", branches.join(", ")));
    }
    if keys.is_empty() {
        return run;
    }
    let exhausted = if sketch.goes_on { "ask" } else { "proceed" };
    let keys = keys.join(", ");
    format!("{run}    routing: {{ {keys}, max_iterations: {}, on_exhausted: {exhausted} }}\n", sketch.max)
}

fn limits() -> impl Strategy<Value = String> {
    let hops = option::weighted(0.1, 0_u64..40);
    let iterations = option::weighted(0.25, 0_u64..4);
    let time = option::weighted(0.2, 1_u64..20);
    let calls = option::weighted(0.2, 1_u64..9);
    (hops, iterations, time, calls).prop_map(|(hops, iterations, time, calls)| {
        let keys = [
            hops.map(|hops| format!("agent_hops: {hops}")),
            iterations.map(|iterations| format!("iterations: {iterations}")),
            time.map(|time| format!("wall_time: {time}s")),
            calls.map(|calls| format!("llm_calls: {calls}")),
        ];
        let keys: Vec<String> = keys.into_iter().flatten().collect();
        if keys.is_empty() { String::new() } else { format!("limits: {{ {} }}\n", keys.join(", ")) }
    })
}

fn goals() -> impl Strategy<Value = Option<(usize, usize, u64)>> {
    option::weighted(0.3, (0..STEPS, 0..STEPS, 1_u64..4))
}

/// A random flow that runs another one, which may run a third one.
pub(crate) fn wholes() -> impl Strategy<Value = Sample> {
    let parts = (sketches(), sketches(), sketches());
    (parts, limits(), goals()).prop_filter_map(
        "a flow that check refuses",
        |((top, middle, inner), limits, goals)| {
            let goals = goals.filter(|_| !top.0).map(|(from, to, rounds)| {
                let (from, to) = (from % top.1.len(), to % top.1.len());
                format!(
                    "goals: {{ list: [one], from: s{}, to: s{}, max_rounds: {rounds} }}\n",
                    from.min(to),
                    from.max(to)
                )
            });
            let text = format!(
                "flow: random\n{limits}{}flows: [./middle.yaml]\n{}",
                goals.unwrap_or_default(),
                steps(&top, Some("middle"))
            );
            let middle = format!("flow: middle\nflows: [./inner.yaml]\n{}", steps(&middle, Some("inner")));
            let inner = format!("flow: inner\n{}", steps(&inner, None));
            let files: BTreeMap<String, String> =
                [("middle.yaml".to_owned(), middle.clone()), ("inner.yaml".to_owned(), inner.clone())]
                    .into_iter()
                    .collect();
            let loaded = envoi_flow::load_with("random.yaml", &text, &files).ok()?;
            Some(Sample { text: format!("{text}---\n{middle}---\n{inner}"), flow: Arc::new(loaded.flow) })
        },
    )
}
