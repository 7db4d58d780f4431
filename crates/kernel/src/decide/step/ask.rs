//! A step asks a person.
//!
//! Nothing runs for that and no slot is needed: the question is in the journal, and the run waits. A step that the
//! starter of the run has approved in advance is answered in the same commit, and recorded as such.

use crate::{
    decide::{
        answer,
        conclude::{self, Conclusion},
        draft::Draft,
        expire, render, subject,
    },
    model::{
        event::{About, Choice, Event, FoundFile, InterruptCancelled, InterruptRaised},
        flow::AskPlan,
        ids::{InterruptId, VisitId},
        input::{Answer, Refusal},
    },
};
use envoi_contract::json::{Object, Value};

/// The channel of an answer that was given when the run was started.
pub(crate) const YES_TO: &str = "yes_to";

/// Puts the question of `visit`'s step.
pub(crate) fn ask(draft: &mut Draft<'_>, visit: &VisitId, plan: &AskPlan) -> Result<(), Refusal> {
    let question = match render::question(draft, visit, plan) {
        Ok(question) if question.trim().is_empty() => format!("Step `{}` asks.", visit.step),
        Ok(question) => question,
        Err(error) => return conclude::conclude(draft, visit, Conclusion::Failed(error)),
    };
    let raised = InterruptRaised {
        interrupt: draft.interrupt_id()?,
        about: About::Ask,
        visit: visit.clone(),
        question,
        evidence: Value::Null,
        raised_at: draft.now,
        kind: Some(plan.kind),
        expires_at: plan.expires_in_ms.map(|ms| draft.now.saturating_add_ms(ms)),
        subject: Some(subject::digest(draft, &[])?),
        found: Vec::new(),
    };
    let interrupt = raised.interrupt.clone();
    draft.emit(Event::InterruptRaised(Box::new(raised)))?;
    answered_already(draft, &interrupt, visit)
}

fn answered_already(draft: &mut Draft<'_>, interrupt: &InterruptId, visit: &VisitId) -> Result<(), Refusal> {
    let Some(started) = draft.control.phase.started().cloned() else { return Err(Refusal::NotStarted) };
    // The starter named steps of the run's own flow, not steps of the same name in other flows.
    if !visit.scope.is_empty() || !started.yes_to.contains(&visit.step) {
        return Ok(());
    }
    let yes = Answer {
        channel: YES_TO.to_owned(),
        ..Answer::new(interrupt.clone(), Choice::Approve, started.by.clone())
    };
    // A question that takes no approval in advance stays open for a person.
    match answer::take(draft, yes) {
        Err(error @ Refusal::Inconsistent { .. }) => Err(error),
        _ => Ok(()),
    }
}

/// Puts a question that was withdrawn as it was, until its old hour, about the flow that holds now. Approvals that it had do not count.
pub(crate) fn put_anew(draft: &mut Draft<'_>, old: &InterruptRaised) -> Result<(), Refusal> {
    let anew = InterruptRaised {
        interrupt: draft.interrupt_id()?,
        raised_at: draft.now,
        subject: Some(subject::digest(draft, &old.found)?),
        ..old.clone()
    };
    draft.emit(Event::InterruptRaised(Box::new(anew)))
}

/// Input: the contents that a question showed have changed. The question is raised again, about the present contents.
pub(crate) fn changed(
    mut draft: Draft<'_>,
    interrupt: InterruptId,
    found: Vec<FoundFile>,
) -> Result<Draft<'_>, Refusal> {
    let Some(old) = draft.control.interrupts.get(&interrupt).cloned() else {
        return Err(Refusal::NotOpen { interrupt });
    };
    if let Some(at) = expire::lapsed(&old, draft.now) {
        return Err(Refusal::Expired { interrupt, at });
    }
    draft.emit(Event::InterruptCancelled(InterruptCancelled { interrupt, changed: true }))?;
    let mut evidence = match &old.evidence {
        Value::Object(members) => members.clone(),
        Value::Null => Object::default(),
        other => [("reason".to_owned(), other.clone())].into_iter().collect(),
    };
    let paths = found.iter().map(|file| Value::from(file.path.as_str())).collect::<Vec<_>>();
    evidence.insert("changed_in_the_workspace", Value::from(paths));
    let anew = InterruptRaised {
        interrupt: draft.interrupt_id()?,
        evidence: Value::Object(Object::clone(&evidence)),
        raised_at: draft.now,
        subject: Some(subject::digest(&draft, &found)?),
        found,
        ..InterruptRaised::clone(&old)
    };
    draft.emit(Event::InterruptRaised(Box::new(anew)))?;
    Ok(draft)
}
