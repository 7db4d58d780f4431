//! A person corrects the flow of a run: finished steps stay, and the run goes on under the corrected flow.
//!
//! While an attempt lives, the wish is recorded and nothing else starts; the corrected flow takes over when that attempt has
//! settled under the old one ([`crate::decide::takeover`]).

use crate::{
    decide::{advance::advance, draft::Draft, set_back, takeover},
    model::{
        event::{Correction, EndStatus, Event},
        input::{Correct, Refusal},
    },
    state::{carry_over, outlook::Outlook, status::Status},
};

/// Input: correct.
pub(crate) fn correct(mut draft: Draft<'_>, correct: Correct) -> Result<Draft<'_>, Refusal> {
    if draft.control.phase.cancelled_by().is_some() {
        return Err(Refusal::Cancelling);
    }
    if draft.control.phase.ended().is_some_and(|ended| ended.status == EndStatus::Succeeded) {
        let status = Status::of(draft.flow, &draft.control).word();
        return Err(Refusal::NotReopenable { status });
    }
    let Correct { flow, language, source, from, by, why, request, elsewhere, seen } = correct;
    let new = takeover::version(&draft, &flow, language)?;
    set_back::check_isolated(
        new,
        draft.control.phase.started().is_some_and(|started| started.isolated.is_some()),
    )?;
    let found = || Outlook::of(draft.flow, new, &draft.control, from.as_ref()).digest;
    if seen.is_some_and(|seen| seen != found()) {
        return Err(Refusal::ComparisonChanged);
    }
    let reasons = carry_over::refusals(&draft.control, draft.flow, new, from.as_ref());
    if !reasons.is_empty() {
        return Err(Refusal::NotCorrectable { reasons });
    }
    let before = draft.flow.digest;
    let correction =
        Correction { before, after: flow, language, source, from, by, why, request, yes_void: Vec::new() };
    if draft.control.has_live() {
        draft.emit(Event::CorrectionRequested(Box::new(correction)))?;
        return Ok(draft);
    }
    let yes_void = carry_over::yes_void(&draft.control, draft.flow, new);
    takeover::take_over(&mut draft, Correction { yes_void, ..correction }, elsewhere)?;
    advance(draft)
}
