//! Goals, and the rounds in which a run goes for them (contract 3: stages).
//!
//! Owns which goals are reached, by whom, and the decision at the end of a round: the step after it, the next round, or a
//! person, when round after round nothing is reached. A round is a time through the steps from `goals.from` to `goals.to`.

use crate::state::goals::Goals;
use crate::{
    decide::{
        draft::{At, Draft},
        render,
        route::{self, Decided, Hold},
    },
    model::{
        event::{About, Choice, Course, EndStatus, Event, GoalsReached, GoalsSet},
        flow::{Flow, GoalsPlan, OnReached},
        ids::VisitId,
        input::Refusal,
    },
    state::{bounds, limit_question, visit::VisitState},
};
use envoi_contract::code::Code;
use envoi_contract::{
    handoff::Status,
    json::{Object, Value},
    routing::{Decision, Signal},
    skill_report::SkillError,
};

/// The most goals of a run.
const MAX_GOALS: usize = 1000;

/// Whether the step is in the range that the rounds of the run go through, and in its flow.
pub(crate) fn is_of_a_round(flow: &Flow, at: &At<'_>) -> bool {
    at.scope.is_empty() && flow.is_in_a_round(at.id())
}

/// Says what the goals are, when the first step of the rounds is entered for the first time.
pub(crate) fn begin(
    draft: &mut Draft<'_>,
    visit: &VisitId,
    at: &At<'_>,
) -> Result<Option<SkillError>, Refusal> {
    let plan = draft.flow.goals.as_ref().filter(|_| draft.control.goals.is_none() && at.item.is_none());
    let Some(plan) = plan.filter(|_| is_of_a_round(draft.flow, at)) else { return Ok(None) };
    match goals(draft, visit, plan) {
        Ok(goals) => draft.emit(Event::GoalsSet(GoalsSet { goals })).map(|()| None),
        Err(error) => Ok(Some(error)),
    }
}

fn goals(draft: &Draft<'_>, visit: &VisitId, plan: &GoalsPlan) -> Result<Vec<String>, SkillError> {
    let invalid = |message: String| SkillError::new(Code::GoalsInvalid, message);
    let Value::Array(list) = render::evaluate(draft, visit, &plan.list)? else {
        return Err(invalid("the goals are no list".to_owned()));
    };
    if list.len() > MAX_GOALS {
        return Err(invalid(format!("there are {} goals, and at most {MAX_GOALS} can be", list.len())));
    }
    let mut goals: Vec<String> = Vec::with_capacity(list.len());
    for goal in &list {
        match goal.as_str().map(str::trim) {
            Some("") => return Err(invalid("a goal is blank".to_owned())),
            Some(text) if goals.iter().any(|goal| goal == text) => {
                return Err(invalid(format!("the goal `{text}` is named twice")));
            }
            Some(text) => goals.push(text.to_owned()),
            None => return Err(invalid(format!("a goal is a text, not {}", goal.compact()))),
        }
    }
    Ok(goals)
}

/// Marks the goals that a successful visit has reached: those that its step marks, and those that its report names
/// in `goals_reached`.
pub(crate) fn mark(
    draft: &mut Draft<'_>,
    visit: &VisitId,
    status: Status,
    decided: &Decided,
) -> Result<(), Refusal> {
    let at = draft.at(visit)?;
    let Some(goals) = &draft.control.goals else { return Ok(()) };
    let went_back = matches!(decided.course, Course::LoopBack(_) | Course::Hold | Course::Stop);
    let passed = status == Status::Succeeded && !went_back && decided.verified() != Some(false);
    let Some(open) = draft.control.open.get(visit).filter(|_| passed) else { return Ok(()) };
    let data = match &open.state {
        VisitState::Settled(settled) => Some(&settled.data),
        VisitState::Returned(data) => Some(data),
        VisitState::Answered(answered) if answered.choice == Choice::Deny => return Ok(()),
        VisitState::Expired => return Ok(()),
        _ => None,
    };
    let named = data.and_then(|data| data.get("goals_reached")).and_then(Value::as_array).unwrap_or(&[]);
    let named = named.iter().filter_map(Value::as_str).map(|goal| goal.trim().to_owned());
    let own = if at.scope.is_empty() && at.item.is_none() { at.step.marks.as_slice() } else { &[] };
    let mut reached: Vec<String> = Vec::new();
    let mut unknown: Vec<String> = Vec::new();
    for goal in own.iter().cloned().chain(named) {
        let list = if goals.all.contains(&goal) { &mut reached } else { &mut unknown };
        if !goals.reached.contains(&goal) && !list.contains(&goal) {
            list.push(goal);
        }
    }
    if reached.is_empty() && unknown.is_empty() {
        return Ok(());
    }
    draft.emit(Event::GoalsReached(GoalsReached { visit: visit.clone(), goals: reached, unknown }))
}

/// The decision at the end of a round: while goals are open, the run does not go on from it.
pub(crate) fn end_of(draft: &Draft<'_>, at: &At<'_>, mut decided: Decided) -> Decided {
    let (Some(plan), Some(goals)) = (&draft.flow.goals, &draft.control.goals) else { return decided };
    // An item of the last step ends no round: the step does, when all its items are over.
    let last = at.scope.is_empty() && at.item.is_none() && *at.id() == plan.to;
    let ends = last && decided.end.is_none() && !decided.past_rounds;
    let open = goals.remaining();
    // Without its first or last step a round is not repeated, and nothing of the part follows it.
    let once = draft.control.part().is_some_and(|part| !part.selection.has_rounds(draft.flow));
    if !ends || once || open.is_empty() || decided.course != route::onward(at) {
        return decided;
    }
    if draft.control.winds_down() {
        decided.course = Course::Stop;
        return decided;
    }
    if let Some(reached) = bounds::for_a_round(draft.flow, &draft.control) {
        let left = open.join("`, `");
        return at_the_bound(
            draft,
            at,
            plan,
            decided,
            bounds::Reached {
                reason: format!("{}, and open goals are left: `{left}`", reached.reason),
                ..reached
            },
        );
    }
    if goals.round >= plan.stuck_after && goals.reached.is_empty() {
        return stuck(goals, plan, at, decided);
    }
    let reason = format!("Goals are open: {}", open.join(", "));
    decided.signal =
        Signal { next_step_id: Some(plan.from.to_string()), ..Signal::new(Decision::Loop, reason, "1.0") };
    decided.course = Course::Round(plan.from.clone());
    decided
}

fn at_the_bound(
    draft: &Draft<'_>,
    at: &At<'_>,
    plan: &GoalsPlan,
    mut decided: Decided,
    reached: bounds::Reached,
) -> Decided {
    if draft.flow.limits.on_reached == OnReached::Fail {
        return decided.ending(
            EndStatus::Exhausted,
            reached.bound.terminal_reason(),
            reached.reason,
            at.id(),
        );
    }
    decided.course = Course::Hold;
    let about = About::Limit;
    let question = limit_question::question(&reached);
    decided.hold =
        Some(Hold { about, question, evidence: limit_question::evidence(&reached, Some(&plan.from)) });
    decided
}

/// Nothing has been reached: a person decides, with the facts.
fn stuck(goals: &Goals, plan: &GoalsPlan, at: &At<'_>, mut decided: Decided) -> Decided {
    let question = format!(
        "{} rounds, and none of {} goals is reached. Again (another round), proceed, or stop?",
        goals.round,
        goals.all.len()
    );
    let evidence = Value::Object(Object::from([
        ("round", Value::from(goals.round)),
        ("max_rounds", Value::from(plan.max_rounds)),
        ("goals", Value::from(goals.all.clone())),
        ("last_step", Value::from(at.id().as_str())),
        ("said", Value::from(decided.signal.reason.as_str())),
    ]));
    decided.course = Course::Hold;
    decided.hold = Some(Hold { about: About::Stuck, question, evidence });
    decided
}

/// Whether another round is within the bound.
///
/// # Errors
/// [`Refusal::PastBound`] names the bound.
pub(crate) fn may_go_again(draft: &Draft<'_>) -> Result<(), Refusal> {
    if draft.control.part().is_some_and(|part| !part.selection.has_rounds(draft.flow)) {
        let bound = "the first or last step of the rounds is left out of the part that is run".to_owned();
        return Err(Refusal::PastBound { bound });
    }
    let reached = bounds::for_a_round(draft.flow, &draft.control);
    reached.map_or(Ok(()), |reached| Err(Refusal::PastBound { bound: reached.reason }))
}

/// The start of the next round.
pub(crate) fn next(draft: &Draft<'_>) -> Option<Course> {
    Some(Course::Round(draft.flow.goals.as_ref()?.from.clone()))
}
