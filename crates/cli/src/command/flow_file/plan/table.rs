//! Formats a plan for people: its tables, and the remark beside each loop and total. The sentences are in
//! `envoi_flow::plan`.

use super::Planned;
use crate::process::output;
use envoi_flow::plan::{Amount, Dominant, Exceeded, Field, Items, LoopPlan, Most, Plan, StepPlan};
use envoi_kernel::ids::StepId;

/// Shown for a figure that has no bound.
pub(super) const NOT_BOUNDED: &str = "not bounded";

/// This row is shown only if steps can run in parallel. Otherwise elapsed time is step time plus retry waits.
pub(super) const ELAPSED: &str = "elapsed";

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
        let dominant = dominating(planned, of.as_ref()?, unit);
        Some(vec![format!("most {what}"), dominant])
    };
    let most = [most("attempts", &plan.most_attempts, attempts), most("time", &plan.most_time, duration)];
    let most: Vec<Vec<String>> = most.into_iter().flatten().collect();
    if !most.is_empty() {
        text.push('\n');
        text.push_str(&output::table(&most));
    }
    let doubt = plan.steps.iter().any(|step| step.doubt_each > 0);
    let legend = doubt.then_some("EACH is the tries of a visit + its reruns and verifications after doubt");
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
    let items = plan.steps.iter().any(|step| step.items.is_some());
    let head = row(&["STEP", "VISITS", "ITEMS", "EACH", "ATTEMPTS", "TIMEOUT", "TIME"]);
    let rows = std::iter::once(head).chain(plan.steps.iter().map(step));
    let kept = |mut row: Vec<String>| {
        if !items {
            row.remove(2);
        }
        row
    };
    rows.map(kept).collect()
}

fn step(step: &StepPlan) -> Vec<String> {
    let items = match step.items {
        None => String::new(),
        Some(Items { most, known: true }) => most.to_string(),
        Some(Items { most, known: false }) => format!("{most}?"),
    };
    let first = vec![step.name(), step.visits.to_string(), items];
    if step.asks {
        return [first, row(&["asks"])].concat();
    }
    if let Some(flow) = &step.runs {
        return [first, vec![format!("runs {flow}")]].concat();
    }
    let each = match (step.doubt_each, step.attempts_each.known()) {
        (doubt, Some(each)) if doubt > 0 => format!("{}+{doubt}", each.saturating_sub(u64::from(doubt))),
        _ => step.attempts_each.to_string(),
    };
    let timeout = step.timeout_ms.map_or_else(|| "none".to_owned(), |ms| duration(Most::of(u128::from(ms))));
    [first, vec![each, step.attempts.to_string(), timeout, time(step.time_ms)]].concat()
}

fn loops(plan: &Plan) -> Vec<Vec<String>> {
    let head = row(&["LOOP", "BACK TO", "EACH ENTRY", "ENTRIES", "RETURNS"]);
    std::iter::once(head).chain(plan.loops.iter().map(one_loop)).collect()
}

fn one_loop(of: &LoopPlan) -> Vec<String> {
    let remark = match of {
        LoopPlan { rounds: true, .. } => "rounds of `goals`",
        LoopPlan { by_people: true, .. } => "only if a person says so",
        _ => "",
    };
    let (step, back_to) = of.names();
    vec![
        step,
        back_to,
        of.each_entry.to_string(),
        of.entries.to_string(),
        of.returns.to_string(),
        remark.to_owned(),
    ]
}

/// The totals by name, each with the limit that lowers it.
fn totals(plan: &Plan) -> Vec<Vec<String>> {
    let bite = |name: &str| plan.bites.iter().find(|bite| bite.limit == name);
    let limit = |name: &str, shown: fn(Amount) -> String| {
        Some(format!("by `limits.{name}`, {} without it", shown(bite(name)?.without)))
    };
    let reported = |name: &str, bounded: bool| {
        let by =
            || if plan.is_by_limit(name) { format!("by `limits.{name}`") } else { "by budgets".to_owned() };
        limit(name, amount).or_else(|| (bounded && plan.attempts > Most::of(0)).then(by))
    };
    let why = |name: &str| match name {
        "attempts" => limit("agent_hops", amount),
        "loop-backs" => limit("iterations", amount),
        "time" => limit("wall_time", span),
        ELAPSED => plan.elapsed_ms.map(|_| "where nothing waits for a slot".to_owned()),
        "model calls" => reported("llm_calls", plan.llm_calls.is_some()),
        "cost" => reported("cost_usd", plan.cost.is_some()),
        _ => None,
    };
    let figures = figures(plan).into_iter().filter(|(name, _)| plan.parallel || *name != ELAPSED);
    figures.map(|(name, figure)| vec![name.to_owned(), figure, why(name).unwrap_or_default()]).collect()
}

fn amount(amount: Amount) -> String {
    match amount {
        Amount::Count(most) => most.to_string(),
        Amount::Cost(cost) => format!("${cost}"),
    }
}

fn span(amount: Amount) -> String {
    match amount {
        Amount::Count(ms) => duration(ms),
        Amount::Cost(cost) => format!("${cost}"),
    }
}

/// The totals by name.
pub(super) fn figures(plan: &Plan) -> Vec<(&'static str, String)> {
    let bounded = |text: Option<String>| text.unwrap_or_else(|| NOT_BOUNDED.to_owned());
    vec![
        ("attempts", plan.attempts.to_string()),
        ("visits", plan.visits.to_string()),
        ("loop-backs", plan.loop_backs.to_string()),
        ("time", time(plan.time_ms)),
        ("retry waits", duration(plan.waits_ms)),
        (ELAPSED, time(plan.elapsed_ms)),
        ("model calls", bounded(plan.llm_calls.map(|calls| calls.to_string()))),
        ("cost", bounded(plan.cost.map(|cost| format!("${cost}")))),
    ]
}

fn dominating(planned: &Planned, most: &Dominant, unit: fn(Most) -> String) -> String {
    let Dominant { field, flow, now, known, saves, path, beside, spent } = most;
    let inner = *flow != planned.plan.flow;
    let named = |step: &StepId| if inner { format!("{flow}/{step}") } else { step.to_string() };
    let path: Vec<String> = path.iter().map(named).collect();
    let path = path.join(if *beside { ", " } else { " -> " });
    let way = if path.is_empty() { String::new() } else { format!("; {} in {path}", unit(*spent)) };
    let now = match (field, known) {
        (Field::ForEach(_), true) => format!("has {now} items"),
        (Field::ForEach(_), false) => format!("has up to {now} items, nothing says how many"),
        _ => format!("is {now}"),
    };
    format!("{} {now}: one less saves {}{way}", planned.named(most), unit(*saves))
}

/// `1 attempt`, `7 attempts`.
pub(super) fn attempts(count: Most) -> String {
    if count.known() == Some(1) { "1 attempt".to_owned() } else { format!("{count} attempts") }
}

pub(super) fn time(time_ms: Option<Most>) -> String {
    time_ms.map_or_else(|| NOT_BOUNDED.to_owned(), duration)
}

/// The exact duration, in units from days to milliseconds, such as `8h 40m`.
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
pub(super) fn past(past: &Exceeded) -> String {
    let by = |max: u64, planned: Most| planned.known().map(|planned| planned.saturating_sub(max));
    let exceeded = |option: &str, max: String, by: Option<String>, planned: String| match by {
        Some(by) => format!("--{option} {max} by {by} ({planned})"),
        None => format!("--{option} {max} ({planned})"),
    };
    let spelt = |ms: u64| duration(Most::of(u128::from(ms)));
    match past {
        Exceeded::Attempts(max, planned) => exceeded(
            "max-attempts",
            max.to_string(),
            by(*max, *planned).map(|by| by.to_string()),
            attempts(*planned),
        ),
        Exceeded::LlmCalls(max, planned) => exceeded(
            "max-calls",
            max.to_string(),
            planned.and_then(|planned| by(*max, planned)).map(|by| by.to_string()),
            planned.map_or_else(|| NOT_BOUNDED.to_owned(), |planned| format!("{planned} model calls")),
        ),
        Exceeded::Time(max, planned) => exceeded(
            "max-time",
            spelt(*max),
            planned.and_then(|planned| by(*max, planned)).map(spelt),
            time(*planned),
        ),
        Exceeded::Cost(max, planned) => exceeded(
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
    fn the_excess_is_reported_where_it_is_known() {
        assert_eq!(past(&Exceeded::Attempts(10, Most::of(11))), "--max-attempts 10 by 1 (11 attempts)");
        assert_eq!(
            past(&Exceeded::Attempts(10, Most::of(u128::MAX))),
            "--max-attempts 10 (more than 9007199254740991 attempts)"
        );
        assert_eq!(
            past(&Exceeded::Time(60_000, Some(Most::of(61_500)))),
            "--max-time 1m by 1s 500ms (1m 1s 500ms)"
        );
        assert_eq!(past(&Exceeded::LlmCalls(3, None)), "--max-calls 3 (not bounded)");
    }
}
