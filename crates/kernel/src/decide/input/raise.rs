//! A person lets a run use more than its flow permits.
//!
//! A limit with an open question is raised by answering it. A run that one of these limits ended goes on; a run that ended
//! otherwise keeps the higher limits for when it is reopened.

use crate::state::limits::Bound;
use crate::{
    decide::{advance::advance, answer, draft::Draft, ending::step_at_the_top, reopen::Reopen},
    model::{
        event::{Choice, EndStatus, Event, InterruptRaised, LimitsRaised},
        ids::{InterruptId, StepId},
        input::{Answer, Refusal},
        ledger::Ledger,
    },
    state::limit_question,
};
use std::sync::Arc;

/// The channel of an answer that raising a bound gives.
const CHANNEL: &str = "raise";

/// Input: raise.
pub(crate) fn raise(
    mut draft: Draft<'_>,
    more: Ledger,
    request: Option<String>,
    reopen: Reopen,
) -> Result<Draft<'_>, Refusal> {
    let named: Vec<Bound> = Bound::ALL.into_iter().filter(|bound| bound.is_raised_by(&more)).collect();
    if named.is_empty() {
        return Err(Refusal::NotRaised { reason: "no bound is named".to_owned() });
    }
    if let Some(bound) = named.iter().find(|bound| !bound.is_limited(draft.flow)) {
        return Err(Refusal::NotRaised { reason: format!("`{}` has no limit in this flow", bound.name()) });
    }
    let by = &reopen.by;
    let why = &reopen.why;
    let mut rest = Ledger::default();
    let mut answers = Vec::new();
    for bound in &named {
        let part = bound.part(&more);
        // A question about this bound is answered with its part. The rest is raised without a question.
        match question_about(&draft, *bound) {
            Some(interrupt) => answers.push(Answer {
                raise: Some(part),
                text: why.clone(),
                channel: CHANNEL.to_owned(),
                request: request.clone(),
                ..Answer::new(interrupt, Choice::Raise, by.clone())
            }),
            None => rest.add(&part),
        }
    }
    if rest != Ledger::default() {
        draft.emit(Event::LimitsRaised(Box::new(LimitsRaised {
            by: by.clone(),
            why: why.clone(),
            more: rest,
            request,
        })))?;
    }
    for given in answers {
        answer::take(&mut draft, given)?;
    }
    if let Some(step) = ended_by(&draft, &named) {
        let flow = draft.flow;
        reopen.go_on(&mut draft, flow, step)?;
    }
    advance(draft)
}

/// The open question about this bound.
fn question_about(draft: &Draft<'_>, bound: Bound) -> Option<InterruptId> {
    let about = |raised: &&Arc<InterruptRaised>| limit_question::of(raised) == Some(bound);
    draft.control.interrupts.values().find(about).map(|raised| raised.interrupt.clone())
}

/// The step at which one of these bounds ended the run.
fn ended_by(draft: &Draft<'_>, named: &[Bound]) -> Option<StepId> {
    let ended = draft.control.phase.ended()?;
    let bound = match ended.status {
        EndStatus::Exhausted => Bound::that_ended(ended.terminal_reason)?,
        // Another step that failed is not run again because a wait may be longer.
        EndStatus::Failed => {
            let failed = draft.control.waiting.last_failed()?;
            (Some(step_at_the_top(draft, failed)) == ended.stopped_by).then_some(Bound::Waiting)?
        }
        _ => return None,
    };
    ended.stopped_by.clone().filter(|_| named.contains(&bound))
}
