//! A corrected flow takes over: open questions of the old flow that the new one puts otherwise are withdrawn and raised anew.

use crate::{
    decide::{
        abandon, after_bound, ask,
        conclude::{self, Question},
        draft::{At, Draft},
        ending, expire,
        reopen::Reopen,
        route::{self, Decided},
    },
    model::{
        event::{
            About, Correction, CorrectionDropped, Course, EndStatus, Event, InterruptCancelled,
            InterruptRaised, RunEnded,
        },
        family::Share,
        flow::{Change, Flow, change_within},
        ids::{StepId, VisitId},
        input::Refusal,
    },
    state::{
        carry_over, graph, limit_question,
        visit::{self, OpenVisit},
    },
};
use envoi_contract::{digest::Digest, envelope::TerminalReason};
use std::sync::Arc;

/// The version of the run's flow that has this digest, in this version of the language.
pub(crate) fn version<'a>(draft: &Draft<'a>, digest: &Digest, language: u32) -> Result<&'a Flow, Refusal> {
    let unknown = || Refusal::Inconsistent { reason: format!("the run does not know flow {digest}") };
    draft.versions.of(digest, language).map(AsRef::as_ref).ok_or_else(unknown)
}

/// Whether a correction waits that nothing holds up any more. Before the run goes back, doubts are decided.
pub(crate) fn is_due(draft: &Draft<'_>) -> bool {
    let undecided = |visit: &VisitId, open: &OpenVisit| {
        draft.at(visit).is_ok_and(|at| visit::is_undecided(open, at.step))
    };
    draft.control.correction.is_some()
        && !draft.control.has_live()
        && !(goes_back(draft) && draft.control.open.iter().any(|(visit, open)| undecided(visit, open)))
}

/// Whether a correction waits that runs steps again.
pub(crate) fn goes_back(draft: &Draft<'_>) -> bool {
    draft.control.correction.as_ref().is_some_and(|correction| correction.from.is_some())
}

/// The decision of a visit whose attempt a correction has waited for: its default next step is that of the corrected flow. Safe
/// to repeat.
pub(crate) fn end_of(draft: &Draft<'_>, at: &At<'_>, mut decided: Decided) -> Decided {
    let by_default = decided.course == route::onward(at) && decided.end.is_none() && decided.hold.is_none();
    let lists = !at.flow.graph && at.item.is_none();
    let waits = draft.control.correction.as_ref().filter(|correction| correction.from.is_none());
    let Some(correction) = waits.filter(|_| by_default && lists && is_due(draft)) else { return decided };
    let Ok(new) = version(draft, &correction.after, correction.language) else { return decided };
    let Some(after) = draft.control.counterpart(new, &at.scope) else { return decided };
    if after.graph || after.step(at.id()).is_none() {
        return decided;
    }
    decided.course = match after.after(at.id()) {
        Some(next) => Course::Enter(next.id.clone()),
        None => Course::Complete,
    };
    decided
}

/// The last step of the run's own flow is done. Whether the run goes on all the same, or has ended already, because of a correction
/// that has waited for that step. If the run is too late for the correction, it is dropped: the run has done all of its flow.
pub(crate) fn goes_on(draft: &mut Draft<'_>) -> Result<bool, Refusal> {
    let Some(correction) = draft.control.correction.clone().filter(|_| is_due(draft)) else {
        return Ok(false);
    };
    let new = version(draft, &correction.after, correction.language)?;
    let reasons = carry_over::refusals(&draft.control, draft.flow, new, correction.from.as_ref());
    if reasons.is_empty() {
        take_over_now(draft)?;
        return Ok(!draft.control.open.is_empty());
    }
    let reason = format!("the run had done every step before: {}", reasons.join("; "));
    draft.emit(Event::CorrectionDropped(CorrectionDropped { after: correction.after, reason }))?;
    Ok(false)
}

/// The correction that waits takes effect. A correction that does not fit any more is dropped, and the run ends: it must not go on
/// under a flow that a person has rejected.
pub(crate) fn take_over_now(draft: &mut Draft<'_>) -> Result<(), Refusal> {
    let Some(correction) = draft.control.correction.clone() else { return Ok(()) };
    let new = version(draft, &correction.after, correction.language)?;
    let reasons = carry_over::refusals(&draft.control, draft.flow, new, correction.from.as_ref());
    if reasons.is_empty() {
        let yes_void = carry_over::yes_void(&draft.control, draft.flow, new);
        let correction = Correction { before: draft.flow.digest, yes_void, ..Correction::clone(&correction) };
        return take_over(draft, correction, Share::default());
    }
    let reason = reasons.join("; ");
    draft.emit(Event::CorrectionDropped(CorrectionDropped {
        after: correction.after,
        reason: reason.clone(),
    }))?;
    if draft.control.phase.ended().is_some() {
        return Ok(());
    }
    // The next step may exist in the corrected flow only.
    let known = |visit: &&VisitId| draft.at(visit).is_ok();
    let stands = draft.control.open.keys().find(known).or(draft.control.last_handoff.as_ref());
    let at = stands.map(|visit| ending::step_at_the_top(draft, visit));
    let reason = format!("The corrected flow cannot take over: {reason}");
    ending::finish(draft, RunEnded::new(EndStatus::Failed, TerminalReason::ToolFailedFatally, reason, at))
}

/// The corrected flow takes over. Nothing is live.
pub(crate) fn take_over(
    draft: &mut Draft<'_>,
    correction: Correction,
    elsewhere: Share,
) -> Result<(), Refusal> {
    let old = draft.flow;
    let new = version(draft, &correction.after, correction.language)?;
    let ended = draft.control.phase.ended().cloned();
    let from = correction.from.clone();
    let again = from.is_some();
    match &from {
        Some(from) => {
            let reason = format!("Given up: the corrected flow goes on from `{from}`");
            // A graph repeats only `from` and what depends on it. A list has one place, so every open visit is abandoned.
            match new.graph {
                true => {
                    give_up_gone(draft, new)?;
                    abandon::repeated_from(draft, &graph::descendants(new, from), &reason)?;
                }
                false => abandon::everything(draft, &reason)?,
            }
        }
        None => give_up_gone(draft, new)?,
    }
    // Questions of the old flow are withdrawn before the event that changes the flow, and put again after it: each event is read with the flow
    // of its moment.
    let questions = out_of_date(draft, old, new);
    let about_the_old = about_the_flow(draft, old, new, &questions);
    for raised in questions.iter().chain(&about_the_old) {
        let interrupt = raised.interrupt.clone();
        draft.emit(Event::InterruptCancelled(InterruptCancelled { interrupt, changed: true }))?;
    }
    let by = correction.by.clone();
    let why = correction.why.clone();
    draft.emit(Event::FlowCorrected(Box::new(correction)))?;
    for raised in &questions {
        put_again(draft, raised)?;
    }
    for raised in &about_the_old {
        ask::put_anew(draft, raised)?;
    }
    if let Some(ended) = ended {
        let step = from.or(ended.stopped_by).or_else(|| {
            draft.control.last_handoff.as_ref().map(|visit| ending::step_at_the_top(draft, visit))
        });
        let step = step.filter(|step| new.step(step).is_some()).or_else(|| first_to_do(draft, new));
        let step =
            step.ok_or_else(|| Refusal::Inconsistent { reason: "the flow has no steps".to_owned() })?;
        let reopen = Reopen { by, why, request: None, elsewhere };
        match again {
            true => draft.emit(reopen.at(step))?,
            false => reopen.go_on(draft, old, step)?,
        }
    }
    Ok(())
}

/// The step at which a graph goes on whose failed step is gone: its first step that is not over.
fn first_to_do(draft: &Draft<'_>, flow: &Flow) -> Option<StepId> {
    let to_do = flow.steps.iter().find(|step| draft.control.top.standing(&step.id).is_none());
    to_do.or(flow.steps.first()).map(|step| step.id.clone())
}

/// Open visits of steps that the new flow lacks are given up.
fn give_up_gone(draft: &mut Draft<'_>, new: &Flow) -> Result<(), Refusal> {
    let scopes: Vec<String> = draft.control.flow_states().map(|(scope, _)| scope.to_owned()).collect();
    for scope in scopes {
        if let Some(after) = draft.control.counterpart(new, &scope) {
            let reason = "Given up: the corrected flow does not have this step";
            abandon::gone(draft, &scope, reason, |step| after.step(step).is_none())?;
        }
    }
    Ok(())
}

/// The open questions that the new flow may put otherwise.
fn out_of_date(draft: &Draft<'_>, old: &Flow, new: &Flow) -> Vec<Arc<InterruptRaised>> {
    let control = &draft.control;
    let is_out_of_date = |raised: &&Arc<InterruptRaised>| {
        let scope = raised.visit.flow_scope();
        let Some(after) = control.counterpart(new, scope) else { return false };
        let changed = change_within((old, new), (control.flow(old, scope), after), &raised.visit.step);
        let of_bounds = match raised.about {
            About::Limit => old.limits != new.limits || old.goals != new.goals,
            About::Throttled => old.limits != new.limits && limit_question::of(raised).is_some(),
            About::Exhausted => old.limits != new.limits,
            About::Stuck => old.goals != new.goals,
            _ => false,
        };
        changed != Change::Kept || of_bounds
    };
    control.interrupts.values().filter(is_out_of_date).cloned().collect()
}

/// The other open questions whose yes lets the run go on: it would be about steps that no one has seen. A lapsed question takes no
/// answer, and its expiry stays due.
fn about_the_flow(
    draft: &Draft<'_>,
    old: &Flow,
    new: &Flow,
    out_of_date: &[Arc<InterruptRaised>],
) -> Vec<Arc<InterruptRaised>> {
    if old.digest == new.digest {
        return Vec::new();
    }
    let leads_on = |raised: &&Arc<InterruptRaised>| match raised.about {
        About::Ask | About::Exhausted | About::Blocked | About::Review | About::Stuck | About::Conflict => {
            true
        }
        About::InDoubt | About::Throttled | About::Limit | About::Agent => false,
    };
    let is_put_again =
        |raised: &&Arc<InterruptRaised>| out_of_date.iter().any(|other| other.interrupt == raised.interrupt);
    let all = draft.control.interrupts.values().filter(leads_on);
    let open = all.filter(|raised| expire::lapsed(raised, draft.now).is_none());
    open.filter(|raised| !is_put_again(raised)).cloned().collect()
}

/// A step's own question, and a limit that holds up a start, are checked anew and raised by themselves. If a limit kept a loop or a
/// round from going back, the limits of the corrected flow decide. Other questions are raised as they were.
fn put_again(draft: &mut Draft<'_>, raised: &InterruptRaised) -> Result<(), Refusal> {
    if after_bound::decide(draft, raised)? {
        return Ok(());
    }
    let InterruptRaised { about, visit, question, evidence, kind, expires_at, .. } = raised.clone();
    let by_itself = match about {
        About::Ask => true,
        About::Limit => draft.control.open.contains_key(&visit),
        About::Throttled => limit_question::of(raised).is_some(),
        About::InDoubt
        | About::Exhausted
        | About::Blocked
        | About::Review
        | About::Stuck
        | About::Conflict
        | About::Agent => false,
    };
    if by_itself {
        return Ok(());
    }
    conclude::raise_question(draft, &visit, about, Question { kind, expires_at, text: question, evidence })
}
