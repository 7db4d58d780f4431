//! A step that is done once for each value of a list.
//!
//! Owns the items of one visit: their values, which of them are under way, and what they have come to. An item is a visit
//! within the visit; the whole is over when all its items are.

use crate::state::for_each::MAX_ITEMS;
use crate::{
    decide::{
        conclude::{self, Conclusion},
        draft::Draft,
        render,
    },
    model::{
        event::{Event, FannedOut},
        flow::ForEach,
        ids::VisitId,
        input::Refusal,
    },
};
use envoi_contract::code::Code;
use envoi_contract::{json::Value, skill_report::SkillError};

/// An error names this many items.
const MAX_NAMED: usize = 20;
/// Characters of an item's value in an error.
const MAX_VALUE_CHARS: usize = 40;

/// Visits of a run that are under way at once when a list is begun; beyond it a list does one item after the other. Items of items could
/// be a million.
const MAX_OPEN_VISITS: usize = 10_000;

/// Begins the items of `visit`.
pub(crate) fn out(draft: &mut Draft<'_>, visit: &VisitId, plan: &ForEach) -> Result<(), Refusal> {
    let width = plan.max_parallel.and_then(|max| usize::try_from(max).ok()).unwrap_or(MAX_ITEMS);
    let room = MAX_OPEN_VISITS.saturating_sub(draft.control.open.len()).max(1);
    let width = width.min(room);
    match render::items(draft, visit, &plan.items) {
        Ok(items) => draft.emit(Event::FannedOut(Box::new(FannedOut { visit: visit.clone(), items, width }))),
        Err(error) => conclude::conclude(draft, visit, Conclusion::Failed(error)),
    }
}

/// Items by number and value, as in `0 (api), 2 (web)`; after the first [`MAX_NAMED`] the rest is counted.
pub(crate) fn named(which: &[usize], items: &[Value]) -> String {
    let name = |at: &usize| match items.get(*at) {
        Some(value) => format!("{at} ({})", brief(value)),
        None => at.to_string(),
    };
    let mut names: Vec<String> = which.iter().take(MAX_NAMED).map(name).collect();
    let more = which.len().saturating_sub(MAX_NAMED);
    if more > 0 {
        names.push(format!("and {more} more"));
    }
    names.join(", ")
}

/// A value in one line of at most [`MAX_VALUE_CHARS`].
fn brief(value: &Value) -> String {
    let text = value.as_str().map_or_else(|| value.compact(), str::to_owned);
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= MAX_VALUE_CHARS {
        return line;
    }
    line.chars().take(MAX_VALUE_CHARS.saturating_sub(1)).chain(['…']).collect()
}

/// All items of `visit` are over.
pub(crate) fn gather(draft: &mut Draft<'_>, visit: &VisitId) -> Result<(), Refusal> {
    let Some(fan) = draft.control.open.get(visit).and_then(|open| open.for_each.as_ref()) else {
        return Ok(());
    };
    let failed: Vec<usize> = fan.failed().collect();
    let is_summary = fan.has_summary();
    let conclusion = if failed.is_empty() {
        Conclusion::Succeeded(fan.summary())
    } else {
        let message =
            format!("{} of {} items failed: {}", failed.len(), fan.items.len(), named(&failed, &fan.items));
        Conclusion::FailedAfter(SkillError::new(Code::ItemsFailed, message), fan.summary())
    };
    conclude::conclude_with(draft, visit, conclusion, is_summary)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_items_are_named_by_number_and_value() {
        let of =
            |texts: &[&str]| texts.iter().map(|text| Value::parse_str(text).unwrap()).collect::<Vec<_>>();
        let values = of(&["\"api\"", "7", "{\"name\": \"web\"}", "\"two\\n lines\""]);
        assert_eq!(
            named(&[0, 1, 2, 3, 9], &values),
            "0 (api), 1 (7), 2 ({\"name\":\"web\"}), 3 (two lines), 9"
        );
        let long = vec![Value::from("x".repeat(50)); 22];
        let all: Vec<usize> = (0..22).collect();
        let text = named(&all, &long);
        assert!(text.starts_with(&format!("0 ({}…), 1 (", "x".repeat(39))), "{text}");
        assert!(text.ends_with("…), and 2 more") && text.matches(" (").count() == 20, "{text}");
    }
}
