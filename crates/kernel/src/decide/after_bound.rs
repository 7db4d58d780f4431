//! A decision that a limit held up, made anew by the limits of now.
//!
//! Owns a loop, or a round, that a limit kept from going back, after the flow was corrected or the limit was raised.
//! [`crate::state::way_back`] decides whether there is room. Used amounts stay used, and the visit that decided is not done again.

use crate::{
    decide::{
        conclude,
        draft::Draft,
        route::{self, Decided},
    },
    model::{
        event::{About, Course, EndStatus, InterruptRaised},
        flow::OnExhausted,
        input::Refusal,
    },
    state::{
        limit_question,
        limits::Bound,
        way_back::{self, Ended},
    },
};
use envoi_contract::{
    envelope::TerminalReason,
    json::Value,
    routing::{Decision, Signal},
};

/// Why it goes on.
const REASON: &str = "The limit that caused the stop is higher now";

/// Decides what this question was about, which is withdrawn: its loop or round goes back, a new question has what is true now, or the
/// run goes on or ends by the rules of the flow. False if a person has to decide as before.
pub(crate) fn decide(draft: &mut Draft<'_>, raised: &InterruptRaised) -> Result<bool, Refusal> {
    let visit = &raised.visit;
    if draft.control.open.contains_key(visit) {
        return Ok(false);
    }
    let at = &draft.at(visit)?;
    let new =
        |decision, course| Decided::new(Signal::new(decision, REASON, "1.0"), course, Value::from(REASON));
    let onward = || new(Decision::Advance, route::onward(at));
    let back = || new(Decision::Loop, Course::Stop);
    let decided = match raised.about {
        // The caller, which handles the end of a round, asks or begins the next one.
        About::Stuck => onward(),
        About::Limit if limit_question::bound(&raised.evidence) == Some(Bound::Rounds) => onward(),
        About::Limit => match limit_question::back_to(&raised.evidence) {
            Some(target) if at.flow.step(&target).is_some() => route::go_back(draft, at, &target, back()),
            _ => return Ok(false),
        },
        About::Exhausted => match way_back::target(at.flow, at.step) {
            Some(target) if way_back::used(&draft.control, visit) < at.step.routing.max_iterations => {
                route::go_back(draft, at, target, back())
            }
            Some(_) => exhausted(draft, raised, at.step.routing.on_exhausted)?,
            None => return Ok(false),
        },
        _ => return Ok(false),
    };
    conclude::close_anew(draft, visit, decided)?;
    Ok(true)
}

/// No round is left under the corrected flow either.
fn exhausted(draft: &Draft<'_>, raised: &InterruptRaised, then: OnExhausted) -> Result<Decided, Refusal> {
    let at = &draft.at(&raised.visit)?;
    let id = at.id();
    let used = way_back::used(&draft.control, &raised.visit);
    let reason = format!("max_iterations {used} of {} is used up", at.step.routing.max_iterations);
    let decided = |decision, course| {
        Decided::new(Signal::new(decision, reason.as_str(), "1.0"), course, Value::from(reason.as_str()))
    };
    Ok(match then {
        OnExhausted::Proceed => decided(Decision::Advance, route::onward(at)),
        OnExhausted::Fail => decided(Decision::Loop, Course::Stop).ending(
            EndStatus::Exhausted,
            TerminalReason::MaxLoopExceeded,
            reason.clone(),
            id,
        ),
        OnExhausted::Ask => {
            let question =
                format!("The loop of step `{id}` has had its last round: {reason}. Proceed, or stop?");
            decided(Decision::Loop, Course::Stop).holding(About::Exhausted, question)
        }
    })
}

/// The run goes back as in the decision that ended it.
pub(crate) fn go_back(draft: &mut Draft<'_>, way: &Ended) -> Result<(), Refusal> {
    let course = match way.is_round {
        true => Course::Round(way.target.clone()),
        false => Course::LoopBack(way.target.clone()),
    };
    let decided = Decided::new(Signal::new(Decision::Loop, REASON, "1.0"), course, Value::from(REASON));
    conclude::close_anew(draft, &way.visit, decided)
}
