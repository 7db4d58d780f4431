//! The consequences of an answer to a step that asks: yes, no, words, or another round.

use crate::{
    decide::{
        conclude::{self, VisitResult},
        draft::{At, Draft},
        on_deny,
        route::{self, Decided},
    },
    model::{
        event::{Choice, Course, InterruptAnswered, InterruptRaised},
        input::Refusal,
    },
    state::loops,
};
use envoi_contract::code::Code;
use envoi_contract::{
    json::{Object, Value},
    routing::{Decision, Signal},
    skill_report::SkillError,
};

/// Closes the visit whose question is answered.
pub(crate) fn conclude(
    draft: &mut Draft<'_>,
    raised: &InterruptRaised,
    answered: &InterruptAnswered,
) -> Result<(), Refusal> {
    let text = answered.text.clone();
    let at = &draft.at(&raised.visit)?;
    let (visit_result, mut decided) = match answered.choice {
        Choice::Deny => denied(draft, at, text),
        Choice::Again => {
            let target = loops::back_target(at.step);
            let signal = Signal::new(Decision::Loop, "Answered: again", "1.0");
            let decided = Decided::new(signal, Course::Stop, Value::Null);
            (VisitResult::succeeded(text), route::go_back(draft, at, target, decided))
        }
        _ => {
            let signal = Signal::new(Decision::Advance, "Answered", "1.0");
            (VisitResult::succeeded(text), Decided::new(signal, route::onward(at), Value::Null))
        }
    };
    decided.audit = audit(answered);
    decided.answer = Some(answered.interrupt.clone());
    conclude::leave(draft, &raised.visit, visit_result, decided)
}

/// A denial is a path of its own: to the step that the flow names, else the run fails.
pub(crate) fn denied(draft: &Draft<'_>, at: &At<'_>, text: String) -> (VisitResult, Decided) {
    let on_deny = at.step.asks().and_then(|plan| plan.on_deny.as_ref());
    if let Some(target) = on_deny.filter(|target| on_deny::may_lead(draft, at, target)) {
        let signal = route::signal_to(target, "Denied");
        let decided = Decided::new(signal, Course::Stop, Value::from("denied"));
        return (VisitResult::succeeded(text), route::go(draft, at, target, decided));
    }
    let error = SkillError::new(Code::Denied, text.clone());
    let signal = Signal::new(Decision::Terminate, "Denied", "1.0");
    let mut decided = Decided::new(signal, Course::Stop, Value::from("denied"));
    decided.end = on_deny::end(&draft.flow_state(at).diverted);
    (VisitResult::failed(text, &error), decided)
}

/// The person who decided, the decision, and its channel.
pub(crate) fn audit(answered: &InterruptAnswered) -> Value {
    let members = [
        ("answer", answered.choice.word()),
        ("by", answered.by.actor.as_str()),
        ("channel", answered.channel.as_str()),
        ("interrupt", answered.interrupt.as_str()),
    ];
    let visit_result = members.into_iter().filter(|(_, text)| !text.is_empty());
    Value::Object(visit_result.map(|(name, text)| (name.to_owned(), Value::from(text))).collect::<Object>())
}
