//! A plan for people.

use super::Planned;
use crate::output;
use envoi_flow::plan::{Dominant, LoopPlan, Most, Past, Plan, StepPlan};

/// What has no bound.
pub(super) const NOT_BOUNDED: &str = "not bounded";

pub(super) fn shown(planned: &Planned) -> String {
    let plan = &planned.plan;
    let mut text = format!("{}: at most {}\n\n", plan.flow, attempts(plan.attempts));
    text.push_str(&output::table(&steps(plan)));
    if !plan.loops.is_empty() {
        text.push('\n');
        text.push_str(&output::table(&loops(plan)));
    }
    text.push('\n');
    text.push_str(&output::table(&totals(plan)));
    let most = |what: &str, of: &Option<Dominant>, unit: fn(Most) -> String| {
        let said = dominating(planned, of.as_ref()?, unit);
        Some(vec![format!("most {what}"), said])
    };
    let most = [most("attempts", &plan.most_attempts, attempts), most("time", &plan.most_time, duration)];
    let most: Vec<Vec<String>> = most.into_iter().flatten().collect();
    if !most.is_empty() {
        text.push('\n');
        text.push_str(&output::table(&most));
    }
    let reruns = plan.steps.iter().any(|step| step.reruns_each > 0);
    let legend =
        reruns.then_some("EACH is the tries of a visit + its reruns after doubt (`on_in_doubt: rerun`)");
    let notes: Vec<&str> = legend.into_iter().chain(plan.notes.iter().map(String::as_str)).collect();
    if !notes.is_empty() {
        text.push('\n');
        text.extend(notes.iter().map(|note| format!("note: {note}\n")));
    }
    text
}

fn row(cells: &[&str]) -> Vec<String> {
    cells.iter().map(|cell| (*cell).to_owned()).collect()
}

fn steps(plan: &Plan) -> Vec<Vec<String>> {
    let head = row(&["STEP", "VISITS", "EACH", "ATTEMPTS", "TIMEOUT", "TIME"]);
    std::iter::once(head).chain(plan.steps.iter().map(step)).collect()
}

fn step(step: &StepPlan) -> Vec<String> {
    let name = step.step.to_string();
    if step.asks {
        return vec![name, step.visits.to_string(), "asks".to_owned()];
    }
    let each = match (step.reruns_each, step.attempts_each.known()) {
        (reruns, Some(each)) if reruns > 0 => format!("{}+{reruns}", each.saturating_sub(u64::from(reruns))),
        _ => step.attempts_each.to_string(),
    };
    let timeout = step.timeout_ms.map_or_else(|| "none".to_owned(), |ms| duration(Most::of(u128::from(ms))));
    vec![name, step.visits.to_string(), each, step.attempts.to_string(), timeout, time(step.time_ms)]
}

fn loops(plan: &Plan) -> Vec<Vec<String>> {
    let head = row(&["LOOP", "BACK TO", "EACH ENTRY", "ENTRIES", "RETURNS"]);
    std::iter::once(head).chain(plan.loops.iter().map(one_loop)).collect()
}

fn one_loop(of: &LoopPlan) -> Vec<String> {
    let by_people = if of.by_people { "only if a person says so" } else { "" };
    vec![
        of.step.to_string(),
        of.back_to.to_string(),
        of.each_entry.to_string(),
        of.entries.to_string(),
        of.returns.to_string(),
        by_people.to_owned(),
    ]
}

/// The totals, by their names; each with the limit that lowers it.
fn totals(plan: &Plan) -> Vec<Vec<String>> {
    let limit = |name: &str, shown: fn(Most) -> String| {
        let bite = plan.bites.iter().find(|bite| bite.limit == name)?;
        Some(format!("by `limits.{name}`, {} without it", shown(bite.without)))
    };
    let reported = |name: &str, bounded: bool| {
        (bounded && plan.attempts > Most::of(0)).then(|| format!("by `limits.{name}`"))
    };
    let limits = |name: &str| match name {
        "attempts" => limit("agent_hops", |count| count.to_string()),
        "loop-backs" => limit("iterations", |count| count.to_string()),
        "time" => limit("wall_time", duration),
        "model calls" => reported("llm_calls", plan.llm_calls.is_some()),
        "cost" => reported("cost_usd", plan.cost.is_some()),
        _ => None,
    };
    let figures = figures(plan).into_iter();
    figures.map(|(name, figure)| vec![name.to_owned(), figure, limits(name).unwrap_or_default()]).collect()
}

/// The totals, by their names.
pub(super) fn figures(plan: &Plan) -> Vec<(&'static str, String)> {
    let bounded = |text: Option<String>| text.unwrap_or_else(|| NOT_BOUNDED.to_owned());
    vec![
        ("attempts", plan.attempts.to_string()),
        ("visits", plan.visits.to_string()),
        ("loop-backs", plan.loop_backs.to_string()),
        ("time", time(plan.time_ms)),
        ("retry waits", duration(plan.waits_ms)),
        ("model calls", bounded(plan.llm_calls.map(|calls| calls.to_string()))),
        ("cost", bounded(plan.cost.map(|cost| format!("${cost}")))),
    ]
}

fn dominating(planned: &Planned, most: &Dominant, unit: fn(Most) -> String) -> String {
    let Dominant { now, saves, path, spent, .. } = most;
    let path: Vec<&str> = path.iter().map(|step| step.as_str()).collect();
    let way =
        if path.is_empty() { String::new() } else { format!("; {} in {}", unit(*spent), path.join(" -> ")) };
    format!("{} is {now}: one less saves {}{way}", planned.named(most), unit(*saves))
}

/// `1 attempt`, `7 attempts`.
pub(super) fn attempts(count: Most) -> String {
    if count.known() == Some(1) { "1 attempt".to_owned() } else { format!("{count} attempts") }
}

pub(super) fn time(time_ms: Option<Most>) -> String {
    time_ms.map_or_else(|| NOT_BOUNDED.to_owned(), duration)
}

/// Exactly, in units from days to milliseconds, such as `8h 40m`.
pub(super) fn duration(ms: Most) -> String {
    const UNITS: [(u64, &str); 5] =
        [(86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1_000, "s"), (1, "ms")];
    let Some(mut left) = ms.known() else { return format!("{ms} ms") };
    let mut parts = Vec::new();
    for (size, unit) in UNITS {
        if let (Some(count @ 1..), Some(rest)) = (left.checked_div(size), left.checked_rem(size)) {
            parts.push(format!("{count}{unit}"));
            left = rest;
        }
    }
    if parts.is_empty() { "0s".to_owned() } else { parts.join(" ") }
}

/// `--max-attempts 10 by 1 (11 attempts)`.
pub(super) fn past(past: &Past) -> String {
    let by = |max: u64, planned: Most| planned.known().map(|planned| planned.saturating_sub(max));
    let told = |option: &str, max: String, by: Option<String>, planned: String| match by {
        Some(by) => format!("--{option} {max} by {by} ({planned})"),
        None => format!("--{option} {max} ({planned})"),
    };
    let spelt = |ms: u64| duration(Most::of(u128::from(ms)));
    match past {
        Past::Attempts(max, planned) => told(
            "max-attempts",
            max.to_string(),
            by(*max, *planned).map(|by| by.to_string()),
            attempts(*planned),
        ),
        Past::LlmCalls(max, planned) => told(
            "max-calls",
            max.to_string(),
            planned.and_then(|planned| by(*max, planned)).map(|by| by.to_string()),
            planned.map_or_else(|| NOT_BOUNDED.to_owned(), |planned| format!("{planned} model calls")),
        ),
        Past::Time(max, planned) => told(
            "max-time",
            spelt(*max),
            planned.and_then(|planned| by(*max, planned)).map(spelt),
            time(*planned),
        ),
        Past::Cost(max, planned) => told(
            "max-cost",
            max.to_string(),
            planned.map(|planned| planned.saturating_sub(*max).to_string()),
            planned.map_or_else(|| NOT_BOUNDED.to_owned(), |planned| format!("${planned}")),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_exact() {
        for (ms, shown) in [
            (0, "0s"),
            (1, "1ms"),
            (61_000, "1m 1s"),
            (31_200_000, "8h 40m"),
            (90_061_001, "1d 1h 1m 1s 1ms"),
        ] {
            assert_eq!(duration(Most::of(ms)), shown);
        }
        assert_eq!(duration(Most::of(u128::MAX)), "more than 9007199254740991 ms");
    }

    #[test]
    fn how_far_past_is_said_where_it_is_known() {
        assert_eq!(past(&Past::Attempts(10, Most::of(11))), "--max-attempts 10 by 1 (11 attempts)");
        assert_eq!(
            past(&Past::Attempts(10, Most::of(u128::MAX))),
            "--max-attempts 10 (more than 9007199254740991 attempts)"
        );
        assert_eq!(
            past(&Past::Time(60_000, Some(Most::of(61_500)))),
            "--max-time 1m by 1s 500ms (1m 1s 500ms)"
        );
        assert_eq!(past(&Past::LlmCalls(3, None)), "--max-calls 3 (not bounded)");
    }
}
