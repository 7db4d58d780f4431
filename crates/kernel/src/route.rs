//! From a step's text to a course: the resolver's signal, obeyed within bounds.
//!
//! The resolver (contract 1) says what the text means; this module says what the run does about it, and never goes past a
//! bound. Both stand in the `routed` event, with the rows of the table that fired and those that did not.

use crate::{
    bounds,
    control::VisitState,
    draft::Draft,
    event::{About, Course, EndStatus, Outcome, RunEnded},
    flow::{OnBlocked, OnExhausted, OnReached, RoutingPlan, Step},
    ids::{InterruptId, StepId, VisitId},
    input::Refusal,
    limit, loops, verify,
};
use envoi_contract::{
    json::{Object, Value},
    routing::{self, Decision, Route, Signal},
};

/// The row of the decision table that fires when a loop has had its last round.
const EXHAUSTED: &str = "4";

/// What is to be recorded and done after a visit.
pub(crate) struct Decided {
    pub(crate) signal: Signal,
    pub(crate) course: Course,
    pub(crate) audit: Value,
    /// With [`Course::Hold`].
    pub(crate) hold: Option<Hold>,
    /// With [`Course::Stop`].
    pub(crate) end: Option<RunEnded>,
    /// The answer that decided it.
    pub(crate) answer: Option<InterruptId>,
    row: String,
}

/// A question for a person.
pub(crate) struct Hold {
    pub(crate) about: About,
    pub(crate) question: String,
    pub(crate) evidence: Value,
}

impl Decided {
    pub(crate) fn new(signal: Signal, course: Course, audit: Value) -> Self {
        Self { signal, course, audit, hold: None, end: None, answer: None, row: String::new() }
    }

    /// What the text said about success, where it was asked: contract 2's `verification_passed`.
    pub(crate) fn verified(&self) -> Option<bool> {
        match self.row.as_str() {
            "3" => Some(true),
            "4" | "5" | "6" => Some(false),
            _ => None,
        }
    }

    /// Names the step that an advance leads to, as seed 0 has it.
    pub(crate) fn naming_next(mut self) -> Self {
        if let (Decision::Advance, Course::Enter(next)) = (self.signal.decision, &self.course) {
            self.signal.next_step_id = Some(next.to_string());
        }
        self
    }

    fn holding(mut self, about: About, question: String) -> Self {
        let evidence = Value::from(self.signal.reason.as_str());
        self.course = Course::Hold;
        self.hold = Some(Hold { about, question, evidence });
        self
    }

    pub(crate) fn ending(
        mut self,
        status: EndStatus,
        terminal_reason: &str,
        reason: String,
        step: &StepId,
    ) -> Self {
        self.course = Course::Stop;
        let terminal_reason = terminal_reason.to_owned();
        self.end = Some(RunEnded { status, terminal_reason, reason, stopped_by: Some(step.clone()) });
        self
    }
}

/// The step that follows, or the end.
pub(crate) fn onward(draft: &Draft<'_>, step: &Step) -> Course {
    draft.flow.after(&step.id).map_or(Course::Complete, |next| Course::Enter(next.id.clone()))
}

/// How often the loop that `step` closes has gone back.
pub(crate) fn iteration(draft: &Draft<'_>, step: &StepId) -> u64 {
    draft.control.loops.get(step).map_or(0, |state| state.iteration)
}

/// The signal of a branch to `step` of the same flow.
pub(crate) fn signal_to(step: &StepId, reason: &str) -> Signal {
    let route = Route { flow: None, step_id: step.to_string(), unknown: Object::new() };
    let signal = Signal::new(Decision::Branch, reason, "1.0");
    Signal { next_step_id: Some(step.to_string()), route: Some(route), ..signal }
}

/// Where `text` leads.
pub(crate) fn decide(
    draft: &Draft<'_>,
    visit: &VisitId,
    step: &Step,
    text: &str,
) -> Result<Decided, Refusal> {
    let input = resolver_input(draft, visit, step, text);
    let resolution = routing::resolve(&input)
        .map_err(|error| Refusal::Inconsistent { reason: format!("routing: {error}") })?;
    let row = resolution.audit.row.to_owned();
    let audit = resolution.audit.to_value();
    let mut decided = Decided { row, ..Decided::new(resolution.signal, Course::Stop, audit) };
    decided.course = onward(draft, step);
    Ok(obey(draft, step, decided))
}

fn resolver_input(draft: &Draft<'_>, visit: &VisitId, step: &Step, text: &str) -> routing::Input {
    let plan = &step.routing;
    let settled = draft.control.open.get(visit).and_then(|open| match &open.state {
        VisitState::Settled(settled) => Some(settled),
        _ => None,
    });
    // The exit code of a verification says whether the step's command ran, not what it stated.
    let own = draft.control.open.get(visit).is_none_or(|open| verify::verified(open).is_none());
    let exit = settled.filter(|_| own).and_then(|settled| match settled.outcome {
        Outcome::Exited { code } => Some(code),
        _ => None,
    });
    let reported = settled.and_then(|settled| settled.data.get("status")).and_then(Value::as_str);
    routing::Input {
        handoff_text: text.to_owned(),
        routing: Some(routing::Routing {
            kind: plan.kind,
            loop_target: gate_target(plan),
            success_values: plan.success_values.clone(),
            max_iterations: plan.max_iterations,
            can_further_iteration_help: plan.can_further_iteration_help,
        }),
        iteration: iteration(draft, &step.id),
        flow: Some(draft.flow.id.to_string()),
        steps: Some(plan.branches.iter().map(ToString::to_string).collect()),
        hints: !plan.branches.is_empty(),
        stated: exit.and_then(|code| plan.status_from_exit.get(&code)).cloned(),
        reported: reported.map(str::to_owned),
    }
}

/// A linear step that waits for a status is a gate: without a target the resolver would let every status pass.
fn gate_target(plan: &RoutingPlan) -> Option<String> {
    if plan.kind == routing::Kind::Linear { plan.success_values.first().cloned() } else { None }
}

fn obey(draft: &Draft<'_>, step: &Step, decided: Decided) -> Decided {
    let id = &step.id;
    let reason = decided.signal.reason.clone();
    match decided.signal.decision {
        Decision::Branch => branch(draft, step, decided),
        Decision::Loop if decided.row == EXHAUSTED => match step.routing.on_exhausted {
            OnExhausted::Proceed => decided,
            OnExhausted::Fail => decided.ending(EndStatus::Exhausted, "max_loop_exceeded", reason, id),
            OnExhausted::Ask => {
                let question =
                    format!("The loop of step `{id}` has had its last round: {reason}. Proceed, or stop?");
                decided.holding(About::Exhausted, question)
            }
        },
        // An unknown hint beside an unfinished loop: rounds are left, and a person is needed.
        Decision::Loop if decided.signal.needs_human => review(step, decided),
        Decision::Loop => go_back(draft, step, loops::back_target(step), decided),
        Decision::Terminate => match step.routing.on_blocked {
            OnBlocked::Fail => decided.ending(EndStatus::Failed, "tool_failed_fatally", reason, id),
            OnBlocked::Ask => {
                let question = format!("Step `{id}` cannot get further: {reason}. Proceed, again, or stop?");
                decided.holding(About::Blocked, question)
            }
        },
        Decision::Advance if decided.signal.needs_human => review(step, decided),
        Decision::Advance => decided,
    }
}

fn review(step: &Step, decided: Decided) -> Decided {
    let question =
        format!("Step `{}` needs a look: {}. Proceed, again, or stop?", step.id, decided.signal.reason);
    decided.holding(About::Review, question)
}

fn branch(draft: &Draft<'_>, step: &Step, decided: Decided) -> Decided {
    let route = decided.signal.route.as_ref();
    let elsewhere =
        route.and_then(|route| route.flow.as_deref()).is_some_and(|flow| flow != draft.flow.id.as_str());
    let named = route.and_then(|route| StepId::new(route.step_id.as_str()).ok());
    let Some(target) = named.filter(|target| !elsewhere && step.routing.branches.contains(target)) else {
        return review(step, decided);
    };
    go(draft, step, &target, decided)
}

/// On to a later step, or back to an earlier one within the bounds of the loop that `step` then closes.
pub(crate) fn go(draft: &Draft<'_>, step: &Step, target: &StepId, mut decided: Decided) -> Decided {
    if draft.flow.position(target) > draft.flow.position(&step.id) {
        decided.course = Course::Enter(target.clone());
        return decided;
    }
    let max = step.routing.max_iterations;
    if iteration(draft, &step.id) < max {
        return go_back(draft, step, target, decided);
    }
    let reason = format!("Max iterations ({max}) exhausted by hints to earlier steps");
    match step.routing.on_exhausted {
        OnExhausted::Proceed => {
            decided.course = onward(draft, step);
            decided
        }
        OnExhausted::Fail => decided.ending(EndStatus::Exhausted, "max_loop_exceeded", reason, &step.id),
        OnExhausted::Ask => {
            let question = format!("{reason} in step `{}`. Proceed, or stop?", step.id);
            decided.holding(About::Exhausted, question)
        }
    }
}

pub(crate) fn go_back(draft: &Draft<'_>, step: &Step, target: &StepId, mut decided: Decided) -> Decided {
    match loop_bound(draft) {
        Some(reached) if draft.flow.limits.on_reached == OnReached::Ask => {
            decided.course = Course::Hold;
            let (about, question) = (About::Limit, limit::question(&reached));
            decided.hold = Some(Hold { about, question, evidence: limit::evidence(&reached, Some(target)) });
            decided
        }
        Some(reached) => {
            decided.ending(EndStatus::Exhausted, reached.terminal_reason, reached.reason, &step.id)
        }
        None => {
            decided.course = Course::LoopBack(target.clone());
            decided
        }
    }
}

/// Whether another round of `step` is within its bounds; names the bound if not.
pub(crate) fn may_go_again(draft: &Draft<'_>, step: &Step) -> Result<(), String> {
    let max = step.routing.max_iterations;
    if iteration(draft, &step.id) >= max {
        return Err(format!("max_iterations {max} of step `{}`", step.id));
    }
    loop_bound(draft).map_or(Ok(()), |reached| Err(reached.reason))
}

fn loop_bound(draft: &Draft<'_>) -> Option<bounds::Reached> {
    bounds::for_a_loop_back(&draft.flow.limits, &draft.control.raised, &draft.control.ledger)
}
