//! The words and signs of a picture: marks, durations, counts.

use crate::{
    text::{
        columns::Charset,
        duration::{between, passing},
        known::at_least,
    },
    view::live::{
        line::Role,
        model::{RunModel, State, StepView},
    },
};
use envoi_contract::time::Timestamp;
use envoi_kernel::Progress;

/// The mark before a step.
pub(super) fn mark(step: &StepView, charset: Charset) -> (&'static str, Role) {
    let (unicode, ascii, role) = match step.stands() {
        State::Done if step.is_exhausted => ("!", "!", Role::Warn),
        State::Waiting => ("·", ".", Role::Faint),
        State::Ready => ("○", "o", Role::Plain),
        State::Running => ("●", "*", Role::Busy),
        State::Retry { .. } => ("↻", "~", Role::Warn),
        State::AwaitsAnswer | State::InDoubt => ("?", "?", Role::Warn),
        State::Ending => ("●", "*", Role::Warn),
        State::Done => ("✓", "+", Role::Good),
        State::Failed => ("✗", "x", Role::Bad),
        State::Skipped => ("–", "-", Role::Faint),
    };
    (if charset == Charset::Unicode { unicode } else { ascii }, role)
}

/// The details after the duration of a step, most important first.
pub(super) fn facts(step: &StepView, now: Timestamp, round: Option<String>) -> Vec<(Role, String)> {
    let mut facts = Vec::new();
    let stands = step.stands();
    if stands == State::Waiting {
        // Details of an earlier round of a loop do not apply to the next round.
        return facts;
    }
    let mut say = |role, fact: String| facts.push((role, fact));
    if let Some(value) = &step.value {
        say(Role::Plain, value.clone());
    }
    match stands {
        State::Retry { due } => say(Role::Warn, format!("next try in {}", between(now, due))),
        State::AwaitsAnswer => say(Role::Warn, "asks".to_owned()),
        State::Ending => say(Role::Warn, "being ended".to_owned()),
        State::InDoubt => say(Role::Warn, "in doubt".to_owned()),
        State::Ready => say(Role::Plain, "ready".to_owned()),
        State::Skipped => say(Role::Faint, "skipped".to_owned()),
        State::Waiting | State::Running | State::Done | State::Failed => {}
    }
    if step.is_exhausted {
        say(Role::Warn, "went on without success".to_owned());
    }
    if step.passed_by_a_person {
        say(Role::Warn, "passed by a person".to_owned());
    }
    if step.visit > 1 {
        say(Role::Plain, format!("visit {}", step.visit));
    }
    let is_counted = step.tries > 1 && step.state == State::Running && step.attempt > 0;
    if step.attempt > 1 || is_counted {
        // Attempts after doubt also have a number, and do not count as tries.
        let of = if step.attempt <= step.tries { format!(" of {}", step.tries) } else { String::new() };
        say(Role::Plain, format!("attempt {}{of}", step.attempt));
    }
    if step.state == State::Running && !step.used.is_empty() {
        say(Role::Plain, step.used.clone());
    }
    if let Some(round) = round {
        say(Role::Plain, round);
    }
    facts
}

/// The progress of a step with several items, in consecutive parts.
pub(super) fn items(progress: Progress, step: &StepView) -> Vec<String> {
    let Progress { items, over, failed } = progress;
    let running = step.open_parts().into_iter().filter(|item| item.stands() == State::Running).count();
    let mut parts = vec![format!("  {over} of {items} items")];
    parts.extend((failed > 0).then(|| format!(", {failed} failed")));
    parts.extend((running > 0).then(|| format!(", {running} running")));
    parts
}

/// The run's usage and its limits, in consecutive parts.
pub(crate) fn used(model: &RunModel, now: Timestamp, charset: Charset) -> Vec<String> {
    let used = model.run().ledger();
    let limits = model.run().limits();
    let of = |limit: Option<String>| limit.map_or_else(String::new, |limit| format!(" of {limit}"));
    let count = |n: u64, unknown: u64, limit: Option<u64>, one: &str, many: &str| {
        let what = if limit.unwrap_or(n) == 1 { one } else { many };
        let used = at_least(n.to_string(), unknown);
        let words = || format!("{used}{} {what}", of(limit.map(|n| n.to_string())));
        (n > 0 || limit.is_some()).then(words)
    };
    let dollars = at_least(format!("${}", used.cost), used.unknown_costs);
    let money = || format!("{dollars}{}", of(limits.cost.map(|cost| format!("${cost}"))));
    let is_unknown = |is_nothing: bool, unknown: u64, limit: bool, what: &str| {
        (is_nothing && unknown > 0 && !limit).then(|| format!("{what} unknown"))
    };
    let is_free = used.cost == <_>::default();
    let time = |limit: u64| format!("{} of {} of work", passing(used.wall_time_ms), passing(limit));
    let waited = passing(model.run().waited_ms(now));
    let waiting = |limit: u64| format!("{waited} of {} of waiting for accounts", passing(limit));
    let facts = [
        count(used.agent_hops, 0, limits.agent_hops, "attempt", "attempts"),
        count(used.iterations, 0, limits.iterations, "loop-back", "loop-backs"),
        count(used.llm_calls, used.unknown_calls, limits.llm_calls, "model call", "model calls"),
        is_unknown(used.llm_calls == 0, used.unknown_calls, limits.llm_calls.is_some(), "model calls"),
        (!is_free || limits.cost.is_some()).then(money),
        is_unknown(is_free, used.unknown_costs, limits.cost.is_some(), "cost"),
        limits.wall_time_ms.map(time),
        limits.waiting_ms.map(waiting),
    ];
    let separator = if charset == Charset::Unicode { " · " } else { ", " };
    let parts = facts.into_iter().flatten().enumerate();
    parts.map(|(at, part)| if at == 0 { part } else { format!("{separator}{part}") }).collect()
}
