//! A person decides what a run could not.
//!
//! One answer, one question. A refused answer changes nothing: the question stays open. Expiry, texts and attachments come
//! with `ask` steps; the questions here are those that the engine raises, and these never expire.

use crate::{
    advance::advance,
    conclude::{self, Conclusion},
    draft::Draft,
    event::{About, Choice, Course, EndStatus, Event, InterruptAnswered, InterruptRaised, RunEnded},
    flow::Step,
    ids::{InterruptId, Principal, StepId},
    input::Refusal,
    loops,
    route::{self, Decided},
    settle,
};
use envoi_contract::{
    json::{Object, Value},
    routing::{Decision, Signal},
};
use std::sync::Arc;

impl Choice {
    /// As a person says it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Choice::Rerun => "rerun",
            Choice::Fail => "fail",
            Choice::Proceed => "proceed",
            Choice::Again => "again",
            Choice::Stop => "stop",
        }
    }
}

/// Input: answer.
pub(crate) fn answer(
    mut draft: Draft<'_>,
    interrupt: InterruptId,
    choice: Choice,
    by: Principal,
) -> Result<Draft<'_>, Refusal> {
    let Some(raised) = draft.control.interrupts.get(&interrupt).map(Arc::clone) else {
        return Err(Refusal::NotOpen { interrupt });
    };
    let step = draft.step(&raised.visit.step)?;
    check(&draft, step, raised.about, choice)?;
    let actor = by.actor.clone();
    draft.emit(Event::InterruptAnswered(InterruptAnswered { interrupt, choice, by }))?;
    match choice {
        Choice::Rerun => {}
        Choice::Fail => fail(&mut draft, &raised)?,
        Choice::Proceed | Choice::Again | Choice::Stop => {
            let decided = decided(&draft, step, choice, &actor).naming_next();
            conclude::close(&mut draft, &raised.visit, decided, None)?;
        }
    }
    advance(draft)
}

fn check(draft: &Draft<'_>, step: &Step, about: About, choice: Choice) -> Result<(), Refusal> {
    let accepted = match (about, choice) {
        (About::InDoubt, Choice::Rerun | Choice::Fail) => return Ok(()),
        (About::InDoubt, _) => "rerun or fail",
        (_, Choice::Proceed | Choice::Stop) => return Ok(()),
        (_, Choice::Again) => {
            return route::may_go_again(draft, step).map_err(|bound| Refusal::PastBound { bound });
        }
        _ => "proceed, again or stop",
    };
    Err(Refusal::WrongChoice { choice: choice.word(), accepted })
}

fn fail(draft: &mut Draft<'_>, raised: &InterruptRaised) -> Result<(), Refusal> {
    let attempts = draft.control.open.get(&raised.visit).map_or(0, |open| open.attempts);
    let error = settle::doubt(&raised.visit.attempt(attempts));
    conclude::conclude(draft, &raised.visit, Conclusion::Failed(error))
}

fn decided(draft: &Draft<'_>, step: &Step, choice: Choice, actor: &str) -> Decided {
    let mut audit = Object::default();
    audit.insert("answer".to_owned(), Value::from(choice.word()));
    audit.insert("by".to_owned(), Value::from(actor));
    let audit = Value::Object(audit);
    let signal = |decision| Signal::new(decision, format!("Answered: {}", choice.word()), "1.0");
    match choice {
        Choice::Again => {
            let target = again_target(step);
            Decided::new(signal(Decision::Loop), Course::LoopBack(target.clone()), audit)
        }
        Choice::Stop => {
            let mut decided = Decided::new(signal(Decision::Terminate), Course::Stop, audit);
            decided.end = Some(stopped(step, actor));
            decided
        }
        _ => Decided::new(signal(Decision::Advance), route::onward(draft, step), audit),
    }
}

fn again_target(step: &Step) -> &StepId {
    loops::back_target(step)
}

fn stopped(step: &Step, actor: &str) -> RunEnded {
    RunEnded {
        status: EndStatus::Failed,
        terminal_reason: "tool_failed_fatally".to_owned(),
        reason: format!("Stopped at step `{}` by {actor}", step.id),
        stopped_by: Some(step.id.clone()),
    }
}
