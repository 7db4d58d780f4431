//! A question expires.
//!
//! A question lapses at its hour by the run's own time, which never goes back, and only once. It cannot be answered after
//! that, whether its expiry has been applied or not.

use crate::{
    decide::{
        advance::advance,
        conclude::{self, Conclusion, VisitResult},
        draft::{At, Draft},
        on_deny,
        route::{self, Decided},
        verdict,
    },
    model::{
        event::{About, Course, Event, InterruptExpired, InterruptRaised},
        flow::Overdue,
        ids::{InterruptId, StepId},
        input::Refusal,
    },
};
use envoi_contract::code::Code;
use envoi_contract::{json::Value, skill_report::SkillError, time::Timestamp};
use std::sync::Arc;

/// The text of an answer that did not come in time.
const SILENCE: &str = "[Expired without an answer]";

/// When a question has lapsed by now.
pub(crate) fn lapsed(raised: &InterruptRaised, now: Timestamp) -> Option<Timestamp> {
    raised.expires_at.filter(|at| now >= *at)
}

/// Input: expire.
pub(crate) fn expire(mut draft: Draft<'_>, interrupt: InterruptId) -> Result<Draft<'_>, Refusal> {
    let Some(raised) = draft.control.interrupts.get(&interrupt).map(Arc::clone) else {
        return Err(Refusal::NotOpen { interrupt });
    };
    if lapsed(&raised, draft.now).is_none() {
        return Err(Refusal::NotExpired { interrupt });
    }
    let at = &draft.at(&raised.visit)?;
    draft.emit(Event::InterruptExpired(InterruptExpired { interrupt }))?;
    if raised.about == About::Agent {
        if !at.step.denies_when_expired() {
            let message = format!("the agent of step `{}` got no answer in time", at.id());
            let error = SkillError::new(Code::QuestionExpired, message);
            conclude::conclude(&mut draft, &raised.visit, Conclusion::Failed(error))?;
        }
        // Otherwise the next attempt informs the agent.
        return advance(draft);
    }
    let overdue = at.step.asks().map(|plan| plan.on_expire.clone()).unwrap_or_default();
    let (visit_result, decided) = match overdue {
        Overdue::Deny => verdict::denied(&draft, at, SILENCE.to_owned()),
        Overdue::Go(target) if on_deny::may_lead(&draft, at, &target) => elsewhere(&draft, at, &target),
        Overdue::Fail | Overdue::Go(_) => failed(&draft, at),
    };
    conclude::leave(&mut draft, &raised.visit, visit_result, decided)?;
    advance(draft)
}

fn failed(draft: &Draft<'_>, at: &At<'_>) -> (VisitResult, Decided) {
    let message = format!("nobody answered step `{}` in time", at.id());
    let error = SkillError::new(Code::QuestionExpired, message);
    let mut decided = conclude::failed(at, &error);
    decided.audit = Value::from("expired");
    decided.end = on_deny::end(&draft.flow_state(at).diverted);
    (VisitResult::failed(SILENCE.to_owned(), &error), decided)
}

fn elsewhere(draft: &Draft<'_>, at: &At<'_>, target: &StepId) -> (VisitResult, Decided) {
    let signal = route::signal_to(target, "Expired");
    let decided = Decided::new(signal, Course::Stop, Value::from("expired"));
    (VisitResult::succeeded(SILENCE.to_owned()), route::go(draft, at, target, decided))
}
