//! What can happen without anybody's doing: visits are skipped, started, or the run ends.
//!
//! Every decision ends here. Goes on until nothing more follows: a false condition is a skipped visit and the next one is
//! looked at; a visit that may start takes the free slot; a bound that is used up ends the run.

use crate::{
    ask,
    bounds::{self, Room},
    conclude::{self, Conclusion},
    control::VisitState,
    draft::Draft,
    event::{About, EndStatus, Event, RunEnded},
    flow::{AskPlan, OnReached, Step},
    ids::{StepId, VisitId},
    input::{Refusal, Slot},
    limit, render, verify,
};
use envoi_contract::skill_report::SkillError;

/// Input: a slot is free.
pub(crate) fn slot_free(mut draft: Draft<'_>, slot: Slot) -> Result<Draft<'_>, Refusal> {
    if ready(&draft).is_none() {
        return Err(Refusal::NothingReady);
    }
    draft.slot = Some(slot);
    advance(draft)
}

/// See the module.
pub(crate) fn advance(mut draft: Draft<'_>) -> Result<Draft<'_>, Refusal> {
    while draft.control.ended.is_none() {
        if draft.control.cancelling.is_some() {
            end_if_cancelled(&mut draft)?;
            break;
        }
        let Some(visit) = ready(&draft) else { break };
        let step = draft.step(&visit.step)?;
        match entry(&draft, step) {
            Entry::Ask(plan) => ask::ask(&mut draft, &visit, plan)?,
            Entry::Skip => conclude::conclude(&mut draft, &visit, Conclusion::Skipped)?,
            Entry::Broken(error) => conclude::conclude(&mut draft, &visit, Conclusion::Failed(error))?,
            Entry::Start if !start(&mut draft, &visit, step)? => break,
            Entry::Start => {}
        }
    }
    Ok(draft)
}

/// The visit that waits for a slot.
fn ready(draft: &Draft<'_>) -> Option<VisitId> {
    let mut waiting = draft.control.open.iter().filter(|(_, visit)| visit.state == VisitState::Ready);
    waiting.find(|(id, _)| !bounds::is_held_up(draft.flow, &draft.control, id)).map(|(id, _)| id.clone())
}

enum Entry<'a> {
    Start,
    Ask(&'a AskPlan),
    Skip,
    Broken(SkillError),
}

fn entry<'a>(draft: &Draft<'_>, step: &'a Step) -> Entry<'a> {
    let holds = step.condition.as_ref().map(|condition| render::scope(&draft.control).holds(&condition.0));
    match (holds, step.asks()) {
        (Some(Ok(false)), _) => Entry::Skip,
        (Some(Err(error)), _) => {
            Entry::Broken(SkillError { code: "EXPRESSION_FAILED".to_owned(), message: error.to_string() })
        }
        (_, Some(plan)) => Entry::Ask(plan),
        (_, None) => Entry::Start,
    }
}

/// Starts the next attempt of `visit`, or ends the run at a bound. False when it has to wait for a slot.
fn start(draft: &mut Draft<'_>, visit: &VisitId, step: &Step) -> Result<bool, Refusal> {
    let limits = &draft.flow.limits;
    let budget = verify::budget_of_next(draft.control.open.get(visit), step);
    match bounds::room(limits, &draft.control, &budget) {
        Room::Enough => {}
        Room::NotYet => return Ok(false),
        Room::Never(reached) => {
            match limits.on_reached {
                OnReached::Fail => exhausted(draft, &visit.step, &reached)?,
                OnReached::Ask => {
                    let (question, evidence) = (limit::question(&reached), limit::evidence(&reached, None));
                    conclude::raise(draft, visit, About::Limit, question, evidence)?;
                }
            }
            return Ok(true);
        }
    }
    if draft.slot.is_none() {
        return Ok(false);
    }
    match render::attempt(draft, visit, step) {
        Ok(started) => {
            draft.slot = None;
            draft.emit(Event::AttemptStarted(Box::new(started)))?;
        }
        Err(error) if verify::cannot_start(draft, visit, step, &error)? => {}
        Err(error) => conclude::conclude(draft, visit, Conclusion::Failed(error))?,
    }
    Ok(true)
}

/// Ends the run at a bound.
pub(crate) fn exhausted(
    draft: &mut Draft<'_>,
    step: &StepId,
    reached: &bounds::Reached,
) -> Result<(), Refusal> {
    let end = RunEnded {
        status: EndStatus::Exhausted,
        terminal_reason: reached.terminal_reason.to_owned(),
        reason: reached.reason.clone(),
        stopped_by: Some(step.clone()),
    };
    conclude::give_up(draft, end)
}

fn end_if_cancelled(draft: &mut Draft<'_>) -> Result<(), Refusal> {
    if draft.control.live().next().is_some() {
        return Ok(());
    }
    let actor = draft.control.cancelling.as_ref().map_or("", |by| by.actor.as_str());
    let reason = format!("Cancelled by {actor}");
    let stopped_by = draft.control.open.keys().next().map(|visit| visit.step.clone());
    let stopped_by = stopped_by.or_else(|| Some(draft.control.last_handoff.as_ref()?.step.clone()));
    let end = RunEnded {
        status: EndStatus::Cancelled,
        terminal_reason: "user_cancelled".to_owned(),
        reason,
        stopped_by,
    };
    conclude::give_up(draft, end)
}
