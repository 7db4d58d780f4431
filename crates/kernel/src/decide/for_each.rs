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
use envoi_contract::skill_report::SkillError;

/// Begins the items of `visit`.
pub(crate) fn out(draft: &mut Draft<'_>, visit: &VisitId, plan: &ForEach) -> Result<(), Refusal> {
    let width = plan.max_parallel.and_then(|max| usize::try_from(max).ok()).unwrap_or(MAX_ITEMS);
    match render::items(draft, visit, &plan.items) {
        Ok(items) => draft.emit(Event::FannedOut(Box::new(FannedOut { visit: visit.clone(), items, width }))),
        Err(error) => conclude::conclude(draft, visit, Conclusion::Failed(error)),
    }
}

/// All items of `visit` are over.
pub(crate) fn gather(draft: &mut Draft<'_>, visit: &VisitId) -> Result<(), Refusal> {
    let Some(fan) = draft.control.open.get(visit).and_then(|open| open.for_each.as_ref()) else {
        return Ok(());
    };
    let failed: Vec<String> = fan.failed().map(|item| item.to_string()).collect();
    let conclusion = if failed.is_empty() {
        Conclusion::Succeeded(fan.summary())
    } else {
        let message = format!("{} of {} items failed: {}", failed.len(), fan.items.len(), failed.join(", "));
        Conclusion::FailedAfter(SkillError::new(Code::ItemsFailed, message), fan.summary())
    };
    conclude::conclude(draft, visit, conclusion)
}
