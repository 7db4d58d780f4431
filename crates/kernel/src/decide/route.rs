//! From a step's text to a course: the resolver's signal, obeyed within bounds.
//!
//! The resolver (contract 1) interprets the text; this module decides the run's reaction, and never goes past a limit.
//! The `routed` event has both, with the rows of the table that fired and those that did not.

use crate::state::visit;
use crate::{
    decide::{
        draft::{At, Draft},
        left_out,
    },
    model::{
        event::{About, Course, Done, EXHAUSTED, EndStatus, Outcome, RunEnded},
        flow::{OnBlocked, OnExhausted, OnReached, RoutingPlan},
        ids::{FlowId, InterruptId, StepId, VisitId},
        input::Refusal,
        size::{MAX_MESSAGE_BYTES, shortened},
    },
    state::{bounds, graph, limit_question, loops, visit::VisitState},
};
use envoi_contract::envelope::TerminalReason;
use envoi_contract::{
    json::{Object, Value},
    routing::{self, Decision, Route, Signal},
};

/// The decision after a visit, to be recorded and done.
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
    /// With [`Course::Hold`]: the flow, and its step, that a hint leads into.
    pub(crate) into: Option<(FlowId, StepId)>,
    /// A person decided that the run goes on, although goals are open.
    pub(crate) past_rounds: bool,
    /// In a graph: steps that are not to be done, because another branch is taken.
    pub(crate) instead: Vec<StepId>,
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
        Self {
            signal,
            course,
            audit,
            hold: None,
            end: None,
            answer: None,
            into: None,
            past_rounds: false,
            instead: Vec::new(),
            row: String::new(),
        }
    }

    /// Whether the text reported success, if the step is a critic: contract 2's `verification_passed`.
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

    pub(crate) fn holding(mut self, about: About, question: String) -> Self {
        let evidence = Value::from(self.signal.reason.as_str());
        self.course = Course::Hold;
        self.hold = Some(Hold { about, question, evidence });
        self
    }

    pub(crate) fn ending(
        mut self,
        status: EndStatus,
        why: TerminalReason,
        reason: String,
        step: &StepId,
    ) -> Self {
        self.course = Course::Stop;
        self.end = Some(RunEnded::new(status, why, reason, Some(step.clone())));
        self
    }
}

/// The default course: the next step, or the end; a graph, and a step after an item, decide by the state.
pub(crate) fn onward(at: &At<'_>) -> Course {
    if at.item.is_some() {
        return Course::Gathered;
    }
    if at.flow.graph {
        return Course::Done(Done::Passed);
    }
    match at.flow.after(at.id()) {
        Some(next) => Course::Enter(next.id.clone()),
        None => Course::Complete,
    }
}

/// How often the loop that a step closes has gone back.
pub(crate) fn iteration(draft: &Draft<'_>, at: &At<'_>) -> u64 {
    draft.flow_state(at).loops.get(at.id()).map_or(0, |state| state.iteration)
}

/// The signal of a branch to `step` of the same flow.
pub(crate) fn signal_to(step: &StepId, reason: &str) -> Signal {
    let route = Route { flow: None, step_id: step.to_string(), unknown: Object::new() };
    let signal = Signal::new(Decision::Branch, reason, "1.0");
    Signal { next_step_id: Some(step.to_string()), route: Some(route), ..signal }
}

/// The decision that `text` leads to.
pub(crate) fn decide(
    draft: &Draft<'_>,
    visit: &VisitId,
    at: &At<'_>,
    text: &str,
) -> Result<Decided, Refusal> {
    let input = resolver_input(draft, visit, at, text);
    let resolution = routing::resolve(&input)
        .map_err(|error| Refusal::Inconsistent { reason: format!("routing: {error}") })?;
    let row = resolution.audit.row.to_owned();
    let audit = resolution.audit.to_value();
    let mut decided = Decided { row, ..Decided::new(resolution.signal, Course::Stop, audit) };
    decided.course = onward(at);
    Ok(obey(draft, at, decided))
}

fn resolver_input(draft: &Draft<'_>, visit: &VisitId, at: &At<'_>, text: &str) -> routing::Input {
    let plan = &at.step.routing;
    let open = draft.control.open.get(visit);
    let state = open.map(|open| &open.state);
    let (settled, returned) = match state {
        Some(VisitState::Settled(settled)) => (Some(settled), None),
        Some(VisitState::Returned(data)) => (None, Some(data)),
        _ => (None, None),
    };
    // The exit code of a verification shows whether the step's command ran, not its status.
    let own = draft.control.open.get(visit).is_none_or(|open| visit::verified(open).is_none());
    let exit = settled.filter(|_| own).and_then(|settled| match settled.outcome {
        Outcome::Exited { code } => Some(code),
        _ => None,
    });
    let data = settled.map(|settled| &settled.data).or(returned);
    let reported = data.and_then(|data| data.get("status")).and_then(Value::as_str);
    let elsewhere = plan.flow_branches.iter().map(|(flow, step)| format!("{flow}/{step}"));
    routing::Input {
        handoff_text: text.to_owned(),
        routing: Some(routing::Routing {
            kind: plan.kind,
            loop_target: gate_target(plan),
            success_values: plan.success_values.clone(),
            max_iterations: plan.max_iterations,
            can_further_iteration_help: plan.can_further_iteration_help,
        }),
        iteration: iteration(draft, at),
        flow: Some(at.flow.id.to_string()),
        steps: Some(plan.branches.iter().map(ToString::to_string).chain(elsewhere).collect()),
        hints: !plan.branches.is_empty() || !plan.flow_branches.is_empty(),
        stated: exit.and_then(|code| plan.status_from_exit.get(&code)).cloned(),
        reported: reported.map(str::to_owned),
        cut: open.is_some_and(|open| open.is_text_cut()),
    }
}

/// A linear step that waits for a status is a gate: without a target the resolver would let every status pass.
fn gate_target(plan: &RoutingPlan) -> Option<String> {
    if plan.kind == routing::Kind::Linear { plan.success_values.first().cloned() } else { None }
}

fn obey(draft: &Draft<'_>, at: &At<'_>, decided: Decided) -> Decided {
    let id = at.id();
    let reason = decided.signal.reason.clone();
    match decided.signal.decision {
        Decision::Branch => branch(draft, at, decided),
        Decision::Loop if decided.row == EXHAUSTED => match at.step.routing.on_exhausted {
            OnExhausted::Proceed => decided,
            OnExhausted::Fail => {
                decided.ending(EndStatus::Exhausted, TerminalReason::MaxLoopExceeded, reason, id)
            }
            OnExhausted::Ask => {
                let question =
                    format!("The loop of step `{id}` has had its last round: {reason}. Proceed, or stop?");
                decided.holding(About::Exhausted, question)
            }
        },
        // An unknown hint beside an unfinished loop: rounds are left, and a person is needed.
        Decision::Loop if decided.signal.needs_human => review(at, decided),
        Decision::Loop => go_back(draft, at, loops::back_target(at.step), decided),
        Decision::Terminate => match at.step.routing.on_blocked {
            OnBlocked::Fail => {
                decided.ending(EndStatus::Failed, TerminalReason::ToolFailedFatally, reason, id)
            }
            OnBlocked::Ask => {
                let why = in_question(&reason);
                let question = format!("Step `{id}` cannot get further: {why}. Proceed, again, or stop?");
                decided.holding(About::Blocked, question)
            }
        },
        Decision::Advance if decided.signal.needs_human => review(at, decided),
        Decision::Advance => decided,
    }
}

fn review(at: &At<'_>, decided: Decided) -> Decided {
    let why = in_question(&decided.signal.reason);
    let question = format!("Step `{}` needs a review: {why}. Proceed, again, or stop?", at.id());
    decided.holding(About::Review, question)
}

/// A reason names all conflicts of a text; a question has the beginning of that. The hand-off has all of it.
fn in_question(reason: &str) -> String {
    shortened(reason.to_owned(), MAX_MESSAGE_BYTES)
}

fn branch(draft: &Draft<'_>, at: &At<'_>, mut decided: Decided) -> Decided {
    let plan = &at.step.routing;
    let route = decided.signal.route.as_ref();
    let flow = route.and_then(|route| route.flow.as_deref()).filter(|flow| *flow != at.flow.id.as_str());
    let named = route.and_then(|route| StepId::new(route.step_id.as_str()).ok());
    match (flow, named) {
        (None, Some(target)) if plan.branches.contains(&target) => go(draft, at, &target, decided),
        (Some(flow), Some(target)) => {
            let known = plan.flow_branches.iter().find(|(id, step)| id.as_str() == flow && *step == target);
            // A hint to a step that this one may not enter: a person decides.
            let Some(into) = known else { return review(at, decided) };
            (decided.course, decided.into) = (Course::Hold, Some(into.clone()));
            decided
        }
        _ => review(at, decided),
    }
}

/// On to a later step, or back to an earlier one within the bounds of the loop that `step` then closes. In a graph, the other
/// steps that it could have led to are not done.
pub(crate) fn go(draft: &Draft<'_>, at: &At<'_>, target: &StepId, mut decided: Decided) -> Decided {
    if !graph::is_back(at.flow, at.id(), target) {
        if at.flow.graph {
            // In a graph all dependents would be ready now. The dependents that the hint did not choose are left out.
            let others = graph::dependents(at.flow, at.id()).map(|step| &step.id);
            let not_taken = |id: &&StepId| *id != target && at.step.routing.branches.contains(*id);
            decided.instead = others.filter(not_taken).cloned().collect();
            decided.course = Course::Done(Done::Passed);
        } else {
            decided.course = Course::Enter(target.clone());
        }
        return decided;
    }
    let max = at.step.routing.max_iterations;
    // A hint to an earlier step closes a loop, so it counts and has the bound of one.
    if iteration(draft, at) < max {
        return go_back(draft, at, target, decided);
    }
    let reason = format!("Max iterations ({max}) exhausted by hints to earlier steps");
    match at.step.routing.on_exhausted {
        OnExhausted::Proceed => {
            decided.course = onward(at);
            decided
        }
        OnExhausted::Fail => {
            decided.ending(EndStatus::Exhausted, TerminalReason::MaxLoopExceeded, reason, at.id())
        }
        OnExhausted::Ask => {
            let question = format!("{reason} in step `{}`. Proceed, or stop?", at.id());
            decided.holding(About::Exhausted, question)
        }
    }
}

pub(crate) fn go_back(draft: &Draft<'_>, at: &At<'_>, target: &StepId, mut decided: Decided) -> Decided {
    if draft.control.leaves_out(at.flow, &at.scope, target) {
        return left_out::cut(at, target, decided);
    }
    match loop_bound(draft) {
        Some(reached) if draft.flow.limits.on_reached == OnReached::Ask => {
            decided.course = Course::Hold;
            let about = About::Limit;
            let question = limit_question::question(&reached);
            decided.hold =
                Some(Hold { about, question, evidence: limit_question::evidence(&reached, Some(target)) });
            decided
        }
        Some(reached) => {
            decided.ending(EndStatus::Exhausted, reached.bound.terminal_reason(), reached.reason, at.id())
        }
        None => {
            decided.course = Course::LoopBack(target.clone());
            decided
        }
    }
}

/// Whether another round of `step` is within its bounds.
///
/// # Errors
/// [`Refusal::PastBound`] names the bound.
pub(crate) fn may_go_again(draft: &Draft<'_>, at: &At<'_>) -> Result<(), Refusal> {
    may_repeat(draft, at, loops::back_target(at.step))
}

/// Whether going back to `target` is within the bounds of `step`.
///
/// # Errors
/// [`Refusal::PastBound`] names the bound.
pub(crate) fn may_repeat(draft: &Draft<'_>, at: &At<'_>, target: &StepId) -> Result<(), Refusal> {
    let past = |bound: String| Refusal::PastBound { bound };
    if draft.control.leaves_out(at.flow, &at.scope, target) {
        return Err(past(format!("step `{target}` is left out of the part that is run")));
    }
    let max = at.step.routing.max_iterations;
    if iteration(draft, at) >= max {
        return Err(past(format!("max_iterations {max} of step `{}`", at.id())));
    }
    loop_bound(draft).map_or(Ok(()), |reached| Err(past(reached.reason)))
}

pub(crate) fn loop_bound(draft: &Draft<'_>) -> Option<bounds::Reached> {
    bounds::for_a_loop_back(&draft.flow.limits, &draft.control.raised, &draft.control.ledger)
}
