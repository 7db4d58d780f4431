//! Flows to try the engine with: text that the real reader accepts.
//!
//! Owns how a seed becomes the text of a flow. It is text, and not the kernel's `Flow`, because a run is pinned to the text,
//! and an engine reads it after a crash.

use envoi_flow::Loaded;
use envoi_journal::PinnedFlow;
use envoi_kernel::Flow;
use envoi_testkit::Dice;
use std::collections::BTreeMap;

/// Names of steps, in listed order.
const STEPS: [&str; 6] = ["plan", "build", "critic", "review", "sign", "report"];

/// How often a text is made anew when the reader refuses it (for instance because a step cannot be reached).
const TRIES: u64 = 20;

/// A flow, and its text.
pub(crate) struct Sample {
    pub(crate) text: String,
    pub(crate) loaded: Loaded,
}

/// A flow of one to six steps; `None` if the reader took none of the texts that were tried.
pub(crate) fn sample(dice: &mut Dice) -> Option<Sample> {
    let plain = "flow: plain\nsteps:\n  - id: plan\n    run: [work]\n".to_owned();
    let parts = parts(dice);
    let mut texts = (0..TRIES).map(|_| text(dice)).chain([plain]);
    texts.find_map(|text| {
        let loaded = envoi_flow::load_with("flow.yaml", &text, &parts).ok()?;
        Some(Sample { text, loaded })
    })
}

/// A flow of this text, as a run is pinned to it.
pub(crate) fn pinned(
    flow: &Flow,
    language: u32,
    text: String,
    parts: BTreeMap<String, String>,
) -> PinnedFlow {
    PinnedFlow {
        digest: flow.digest,
        language,
        name: "flow.yaml".to_owned(),
        text,
        parts,
        earlier: Vec::new(),
    }
}

/// The flows that a sample may run as a part of itself: one of them runs the other.
fn parts(dice: &mut Dice) -> BTreeMap<String, String> {
    let mut part = |name: &str, middle: &str| {
        let asks = dice.word(&["", "  - id: sure\n    ask: Go on?\n"]);
        let needs = dice.word(&["", "    needs: first\n", "    needs: [first]\n    join: any\n"]);
        let on_in_doubt = dice.word(&["ask", "rerun", "fail"]);
        let text = format!(
            "flow: {name}\nsteps:\n  - id: first\n    run: [work]\n    on_in_doubt: {on_in_doubt}\n{asks}{middle}\
             \x20 - id: last\n    run: [work]\n{needs}",
        );
        (format!("{name}.yaml"), text)
    };
    [part("inner", ""), part("outer", "  - id: within\n    flow: ./inner.yaml\n")].into()
}

fn text(dice: &mut Dice) -> String {
    let count = dice.index(STEPS.len()).saturating_add(1);
    let mut text = format!("flow: sample-{}\n{}steps:\n", dice.below(1000), limits(dice));
    if dice.permille(400) {
        text.push_str(&graph(dice, count));
        return text;
    }
    for (place, id) in STEPS.iter().take(count).enumerate() {
        text.push_str(&step(dice, place, id, count));
    }
    text
}

/// The steps of a graph: the needs of each are listed before it.
fn graph(dice: &mut Dice, count: usize) -> String {
    let mut all: Vec<Vec<&str>> = Vec::new();
    for place in 0..count {
        all.push(STEPS.iter().take(place).filter(|_| dice.permille(400)).copied().collect());
    }
    let mut text = String::new();
    for (id, needs) in STEPS.iter().zip(&all) {
        let mut lines = vec![format!("id: {id}"), work(dice)];
        if !needs.is_empty() {
            lines.push(format!("needs: [{}]", needs.join(", ")));
            let joins = ["all", "all", "settled", "any", "any", "{ quorum: 1 }", "{ quorum: 2 }"];
            lines.push(format!("join: {}", dice.word(&joins)));
        }
        if dice.permille(150) {
            lines.push(format!("if: ${{{{ {} }}}}", dice.word(&["always()", "failure()", "success()"])));
        }
        let is_run = lines.iter().any(|line| line.starts_with("run"));
        if let Some(back) = dice.pick(needs).filter(|_| is_run && dice.permille(250)) {
            lines.push(format!(
                "routing: {{ kind: microloop, loop_to: {back}, success_values: [VERIFIED], max_iterations: {}, \
                 on_exhausted: {} }}",
                dice.below(3),
                dice.word(&["ask", "fail", "proceed"]),
            ));
        }
        text.push_str(&format!("  - {}\n", lines.join("\n    ")));
    }
    text
}

/// The work of a step: a command, once or for each of some items, or a flow.
fn work(dice: &mut Dice) -> String {
    let run = "run: [work]\n    on_in_doubt: ";
    let policy = dice.word(&["ask", "rerun", "fail"]);
    match dice.below(10) {
        0 => "flow: ./inner.yaml".to_owned(),
        1 => "flow: ./outer.yaml".to_owned(),
        2 => format!("for_each: [a, b, c]\n    max_parallel: 2\n    {run}{policy}"),
        3 => "for_each: [a, b]\n    flow: ./inner.yaml".to_owned(),
        _ => format!("{run}{policy}"),
    }
}

/// Attempts are always bounded, so that loops within loops end in a time that a test can wait for.
fn limits(dice: &mut Dice) -> String {
    let mut limits = vec![format!("agent_hops: {}", dice.between(2, 24))];
    let mut sometimes = |key: &str, low, high, unit: &str| {
        if dice.permille(200) {
            limits.push(format!("{key}: {}{unit}", dice.between(low, high)));
        }
    };
    sometimes("iterations", 1, 6, "");
    sometimes("llm_calls", 1, 12, "");
    sometimes("wall_time", 3, 30, "s");
    sometimes("cost_usd", 1, 3, "");
    format!("limits: {{ {} }}\n", limits.join(", "))
}

fn step(dice: &mut Dice, place: usize, id: &str, count: usize) -> String {
    let mut lines = vec![format!("id: {id}")];
    if dice.permille(120) {
        let work = work(dice);
        return format!("  - id: {id}\n    {work}\n");
    }
    lines.push(dice.word(&["run: [work]", "run: work", "run: [work, '${{ run.id }}']"]).to_owned());
    if dice.permille(150) {
        lines.push(format!("skill: {id}-skill"));
    }
    if let Some(before) = place.checked_sub(1).and_then(|before| STEPS.get(before))
        && dice.permille(200)
    {
        lines.push(format!(
            "if: ${{{{ steps.{before}.status == '{}' }}}}",
            dice.word(&["succeeded", "skipped"])
        ));
    }
    if dice.permille(400) {
        let backoff = dice.word(&["0s..0s", "1s..2s", "1s..8s"]);
        lines.push(format!("retry: {{ attempts: {}, backoff: {backoff} }}", dice.between(1, 4)));
    }
    lines.push(format!("on_in_doubt: {}", dice.word(&["ask", "rerun", "fail"])));
    if dice.permille(100) {
        lines.push("envelope: true".to_owned());
    }
    lines.extend(routing(dice, place, count));
    format!("  - {}\n", lines.join("\n    "))
}

fn routing(dice: &mut Dice, place: usize, count: usize) -> Option<String> {
    match dice.below(10) {
        0..4 => None,
        4..7 => Some(microloop(dice, place)),
        7..9 => branch(dice, place, count),
        _ => Some(format!("routing: {{ next: {} }}", later(dice, place, count).unwrap_or("end"))),
    }
}

fn microloop(dice: &mut Dice, place: usize) -> String {
    let target = STEPS.get(dice.index(place.saturating_add(1))).copied().unwrap_or("plan");
    let exits = dice.word(&["", ", status_from_exit: { 0: VERIFIED, 1: UNVERIFIED }"]);
    let help = dice.word(&["", "", ", can_further_iteration_help: false"]);
    format!(
        "routing: {{ kind: microloop, loop_to: {target}, success_values: [VERIFIED], max_iterations: {}{exits}{help}, \
         on_exhausted: {}, on_blocked: {} }}",
        dice.below(4),
        dice.word(&["ask", "fail", "proceed"]),
        dice.word(&["ask", "fail"]),
    )
}

fn branch(dice: &mut Dice, place: usize, count: usize) -> Option<String> {
    let target = STEPS.iter().take(count).nth(dice.index(count)).copied()?;
    let other = later(dice, place, count).filter(|other| *other != target);
    let other = other.map_or_else(String::new, |other| format!(", {other}"));
    Some(format!(
        "routing: {{ kind: branch, branches: [{target}{other}], max_iterations: {}, on_exhausted: {} }}",
        dice.below(3),
        dice.word(&["ask", "fail", "proceed"]),
    ))
}

fn later(dice: &mut Dice, place: usize, count: usize) -> Option<&'static str> {
    let first = place.checked_add(1)?;
    let index = first.checked_add(dice.index(count.checked_sub(first)?))?;
    STEPS.get(index).copied().filter(|_| index < count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_texts_are_flows_and_every_kind_of_routing_is_among_them() {
        let mut dice = Dice::of(1, &["flows"]);
        let mut accepted = 0;
        let mut seen = String::new();
        for _ in 0..300 {
            let text = text(&mut dice);
            if envoi_flow::load_with("flow.yaml", &text, &parts(&mut dice)).is_ok() {
                accepted += 1;
                seen.push_str(&text);
            }
        }
        assert!(accepted > 150, "{accepted} of 300");
        let parts = [
            "microloop",
            "branch",
            "next:",
            "skill:",
            "if:",
            "retry:",
            "cost_usd",
            "envelope",
            "needs:",
            "join: any",
            "quorum",
            "for_each",
            "outer.yaml",
        ];
        for part in parts {
            assert!(seen.contains(part), "{part}");
        }
    }
}
