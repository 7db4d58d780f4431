//! The consequences that need no new input: visits are skipped or started, or the run ends.
//!
//! Every decision ends here. Goes on until nothing more follows: a false condition is a skipped visit and the next one is
//! looked at; a visit that may start takes the free slot; a bound that is used up ends the run. After [`MAX_MOVES`], or as much work of
//! expressions as one step may do, the rest waits: visits that could go on are ready, and have their turn, which needs no slot.

use crate::state::visit;
use crate::{
    decide::{
        abandon, agent, ask,
        conclude::{self, Conclusion},
        draft::{At, Draft},
        ending, for_each, left_out, merge, render, rounds, subflow, takeover, throttle, verify,
    },
    model::{
        event::{About, EndStatus, Event, RunEnded, StepEntered},
        flow::{AskPlan, ForEach, InnerPlan, Join, OnReached, Step, StepKind},
        ids::{Principal, StepId, VisitId},
        input::Refusal,
        ledger::Budget,
    },
    state::{
        bounds::{self, Room},
        doubt::{self, Doubt},
        graph::{self, Joined},
        limit_question,
        open_visits::InTurn,
        phase::Phase,
        visit::VisitState,
    },
};
use envoi_contract::code::Code;
use envoi_contract::envelope::TerminalReason;
use envoi_contract::skill_report::SkillError;
use std::sync::Arc;

/// Moves after which a decision ends although more follows: the visits that are left wait for the run's next turn, and other runs have
/// theirs before. A flow may have a million steps that start nothing.
const MAX_MOVES: usize = 32;

/// Input: a slot is free; or none is, and visits that need none go on.
pub(crate) fn slot_free(draft: Draft<'_>) -> Result<Draft<'_>, Refusal> {
    if bounds::ready(draft.flow, &draft.control).next().is_none() {
        return Err(Refusal::NothingReady);
    }
    let (has_slot, before) = (draft.slot.is_some(), draft.control.next_seq);
    let draft = advance(draft)?;
    // Without a slot, all that is ready may be what has to start.
    if !has_slot && draft.control.next_seq == before { Err(Refusal::NoSlot) } else { Ok(draft) }
}

/// See the module.
pub(crate) fn advance(mut draft: Draft<'_>) -> Result<Draft<'_>, Refusal> {
    let mut moves: usize = 0;
    loop {
        match draft.control.phase.clone() {
            Phase::NotStarted => break,
            // Files that are being set back are not read or written by anything that starts.
            Phase::GoingOn { .. } if draft.control.restoring.is_some() => break,
            Phase::Ended { .. } if takeover::is_due(&draft) => takeover::take_over_now(&mut draft)?,
            Phase::Ended { .. } => break,
            Phase::Cancelling { by, .. } => {
                if !draft.control.has_live() {
                    let end = cancelled(&draft, &by);
                    ending::finish(&mut draft, end)?;
                }
                break;
            }
            Phase::Stopping { end, .. } => {
                if draft.control.has_live() {
                    break;
                }
                ending::finish(&mut draft, end)?;
            }
            Phase::GoingOn { .. } if takeover::is_due(&draft) => takeover::take_over_now(&mut draft)?,
            // A live visit settles under the flow that it began under, and no other begins meanwhile.
            Phase::GoingOn { .. } if draft.control.correction.is_some() => {
                if !ask_before_going_back(&mut draft)? {
                    break;
                }
            }
            // Without a visit that is ready nothing would give the run its next turn.
            Phase::GoingOn { .. }
                if (moves >= MAX_MOVES || draft.spent.is_much())
                    && bounds::ready(draft.flow, &draft.control).next().is_some() =>
            {
                draft.is_cut_short = true;
                break;
            }
            Phase::GoingOn { .. } => {
                if !follow(&mut draft)? && !go_on(&mut draft)? {
                    break;
                }
                moves = moves.saturating_add(1);
            }
        }
    }
    Ok(draft)
}

/// Does what follows from what is over: a step of a graph is entered, a graph is complete, all items are done. False when there
/// is nothing of the kind.
fn follow(draft: &mut Draft<'_>) -> Result<bool, Refusal> {
    if let Some((scope, step)) = due(draft) {
        enter(draft, scope, step)?;
    } else if let Some(scope) = finished(draft) {
        let flow = draft.control.flow(draft.flow, &scope);
        match graph::end(flow, draft.control.flow_state(&scope)) {
            Some(end) => ending::end_flow(draft, &scope, end)?,
            None => ending::complete(draft, &scope)?,
        }
    } else if let Some(visit) = gathered(draft) {
        for_each::gather(draft, &visit)?;
    } else {
        return Ok(false);
    }
    Ok(true)
}

/// The graphs that are under way: their scope and their flow.
fn graphs<'d>(draft: &'d Draft<'_>) -> impl Iterator<Item = &'d str> {
    let frames = draft.control.flow_states().filter(|(_, flow_state)| !flow_state.over);
    frames.map(|(scope, _)| scope).filter(|scope| draft.control.flow(draft.flow, scope).graph)
}

fn is_open(draft: &Draft<'_>, scope: &str, step: &StepId) -> bool {
    let visits = draft.control.flow_state(scope).steps.get(step).map_or(0, |state| state.visits);
    // An open visit is the last one.
    visits > 0 && {
        let last = VisitId { scope: scope.to_owned(), step: step.clone(), visit: visits };
        draft.control.open.contains_key(&last)
    }
}

fn due(draft: &Draft<'_>) -> Option<(String, StepId)> {
    graphs(draft).find_map(|scope| {
        let flow = draft.control.flow(draft.flow, scope);
        let flow_state = draft.control.flow_state(scope);
        let due = graph::due(flow, flow_state, |step| is_open(draft, scope, step))?;
        Some((scope.to_owned(), due.id.clone()))
    })
}

/// Enters a step of a graph; visits that only it still waited for are given up.
fn enter(draft: &mut Draft<'_>, scope: String, step: StepId) -> Result<(), Refusal> {
    draft.emit(Event::StepEntered(StepEntered { scope: scope.clone(), step: step.clone() }))?;
    let flow = draft.control.flow(draft.flow, &scope);
    let flow_state = draft.control.flow_state(&scope);
    let Some(step) = flow.step(&step) else { return Ok(()) };
    // A step that is left out is not done itself, so it abandons nothing.
    let is_left_out = draft.control.leaves_out(flow, &scope, &step.id);
    let losers: Vec<StepId> = match step.join {
        Join::Any | Join::Quorum(_) if is_left_out => Vec::new(),
        Join::Any | Join::Quorum(_) => {
            let lost = graph::losers(flow, flow_state, step, |step| is_open(draft, &scope, step));
            lost.into_iter().cloned().collect()
        }
        Join::All | Join::Settled => Vec::new(),
    };
    let at = At { flow, step, scope, item: None };
    abandon::steps(draft, &at, losers)
}

/// A graph in which nothing is under way and nothing is due.
fn finished(draft: &Draft<'_>) -> Option<String> {
    let under_way = |scope: &str| {
        let held = draft.control.flow_state(scope).steps.values().any(|state| state.held);
        held || draft.control.open.keys().any(|visit| draft.control.holder(visit, scope).is_some())
    };
    let scope = graphs(draft).find(|scope| !under_way(scope))?;
    draft.control.ending.is_empty().then(|| scope.to_owned())
}

/// A visit all of whose items are over.
fn gathered(draft: &Draft<'_>) -> Option<VisitId> {
    let over = |(id, open): (&VisitId, &crate::state::visit::OpenVisit)| {
        let over =
            open.state == VisitState::ForEach && open.for_each.as_ref().is_some_and(|fan| fan.is_over());
        over.then(|| id.clone())
    };
    draft.control.open.iter().find_map(over)
}

/// Moves the first visit that can be moved; false when all of them wait.
fn go_on(draft: &mut Draft<'_>) -> Result<bool, Refusal> {
    // Once a step has to wait for a slot, others like it need not be looked at: there may be a thousand items.
    let mut no_slot = false;
    let mut last: Option<InTurn> = None;
    while let Some(turn) = draft.control.movable_after(last.as_ref()).cloned() {
        let visit = turn.visit().clone();
        last = Some(turn);
        // Conditions are evaluated anew each time. With a slot, a visit that is not held up moves for certain.
        if draft.spent.is_much() {
            if draft.slot.is_none() {
                draft.is_cut_short = true;
                break;
            }
            if bounds::is_held_up(draft.flow, &draft.control, &visit) {
                continue;
            }
        }
        let at = draft.at(&visit)?;
        if no_slot && at.item.is_some() && is_plain(draft, &visit, &at) {
            continue;
        }
        if draft.control.leaves_out(at.flow, &at.scope, at.id()) {
            left_out::pass(draft, &visit, &at)?;
            return Ok(true);
        }
        if let Some(error) = rounds::begin(draft, &visit, &at)? {
            conclude::conclude(draft, &visit, Conclusion::Failed(error))?;
            return Ok(true);
        }
        match entry(draft, &visit, &at) {
            Entry::Doubt(doubt) => verify::ask_again(draft, &visit, &doubt)?,
            Entry::Ask(plan) => ask::ask(draft, &visit, plan)?,
            Entry::Skip(why) => conclude::conclude(draft, &visit, Conclusion::Skipped(why))?,
            Entry::Broken(error) => conclude::conclude(draft, &visit, Conclusion::Failed(error))?,
            Entry::FanOut(plan) => for_each::out(draft, &visit, plan)?,
            Entry::Inside(plan) => subflow::enter(draft, &visit, plan)?,
            Entry::Start if !start(draft, &visit, &at)? => {
                no_slot |= draft.slot.is_none() && is_plain(draft, &visit, &at);
                continue;
            }
            Entry::Start => {}
        }
        return Ok(true);
    }
    Ok(false)
}

/// A command that sets nothing aside: whether it may start depends on nothing of its own.
fn is_plain(draft: &Draft<'_>, visit: &VisitId, at: &At<'_>) -> bool {
    let budget = visit::budget_of_next(draft.control.open.get(visit), at.step);
    at.step.has_attempts() && budget == Budget::default()
}

enum Entry<'a> {
    Start,
    Doubt(Arc<Doubt>),
    Ask(&'a AskPlan),
    FanOut(&'a ForEach),
    Inside(&'a InnerPlan),
    Skip(&'static str),
    Broken(SkillError),
}

fn entry<'a>(draft: &Draft<'_>, visit: &VisitId, at: &At<'a>) -> Entry<'a> {
    let step = at.step;
    if draft.control.open.get(visit).is_some_and(|open| open.for_each.is_some()) {
        // Its items are over, and their changes are to be merged.
        return Entry::Start;
    }
    let decided = if at.item.is_some() { None } else { entered(draft, at) };
    match (decided, &step.for_each, &step.kind) {
        (Some(decided), ..) => decided,
        // An item has the same step with the same `for_each`. Only the whole is made into items.
        (None, Some(plan), _) if at.item.is_none() => Entry::FanOut(plan),
        (None, _, StepKind::Ask(plan)) => Entry::Ask(plan),
        (None, _, StepKind::Flow(plan)) => match doubt(draft, visit, step) {
            Some(doubt) => Entry::Doubt(doubt),
            None => Entry::Inside(plan),
        },
        (None, _, StepKind::Run(_) | StepKind::A2a(_) | StepKind::Agent(_) | StepKind::Model(_)) => {
            match doubt(draft, visit, step) {
                Some(doubt) => Entry::Doubt(doubt),
                None => Entry::Start,
            }
        }
    }
}

/// The attempt of an earlier visit that is still in doubt, where a person had to decide.
fn doubt(draft: &Draft<'_>, visit: &VisitId, step: &Step) -> Option<Arc<Doubt>> {
    let open = draft.control.open.get(visit).filter(|open| open.attempts == 0)?;
    open.doubt.clone().filter(|_| doubt::is_asked_about(step))
}

/// A correction that goes back waits for what is in doubt of an earlier visit: nothing else would ask about it. False if there is
/// nothing of the kind.
fn ask_before_going_back(draft: &mut Draft<'_>) -> Result<bool, Refusal> {
    if !takeover::goes_back(draft) {
        return Ok(false);
    }
    let ready = draft.control.open.iter().filter(|(_, open)| open.state == VisitState::Ready);
    let in_doubt = ready.map(|(visit, _)| visit).find_map(|visit| {
        let doubt = doubt(draft, visit, draft.at(visit).ok()?.step)?;
        Some((visit.clone(), doubt))
    });
    let Some((visit, doubt)) = in_doubt else { return Ok(false) };
    verify::ask_again(draft, &visit, &doubt)?;
    Ok(true)
}

/// Why a step is not done, if it is not.
fn entered<'a>(draft: &Draft<'_>, at: &At<'_>) -> Option<Entry<'a>> {
    let step = at.step;
    let flow_state = draft.flow_state(at);
    if flow_state.passed_by.contains(at.id()) {
        return Some(Entry::Skip("Another branch was taken"));
    }
    if at.flow.graph && graph::joined(flow_state, step) == Joined::Missed {
        let message = format!("too few of the steps that `{}` needs have succeeded", at.id());
        return Some(Entry::Broken(SkillError::new(Code::JoinNotMet, message)));
    }
    let no_goals = draft.control.goals.as_ref().is_some_and(|goals| goals.all.is_empty());
    if no_goals && rounds::is_of_a_round(draft.flow, at) {
        return Some(Entry::Skip("There are no goals"));
    }
    // Such a step runs after a failure too. A step that joins `any` or a quorum needs only the steps that succeeded.
    let content = step.regardless || step.join != Join::All;
    let after_failure = if step.condition.is_none() && content {
        false
    } else if at.flow.graph {
        graph::has_failed_before(at.flow, flow_state, at.id())
    } else {
        flow_state.failing.is_some()
    };
    if after_failure && !content {
        return Some(Entry::Skip("An earlier step failed"));
    }
    match render::holds(draft, at, step.condition.as_ref()?, after_failure) {
        Ok(true) => None,
        Ok(false) => Some(Entry::Skip("Condition is false")),
        Err(error) => Some(Entry::Broken(error)),
    }
}

/// Starts the next attempt of `visit`, or ends the run at a bound. False when it has to wait for a slot.
fn start(draft: &mut Draft<'_>, visit: &VisitId, at: &At<'_>) -> Result<bool, Refusal> {
    let limits = &draft.flow.limits;
    let budget = visit::budget_of_next(draft.control.open.get(visit), at.step);
    match bounds::room(limits, &draft.control, &budget) {
        Room::Enough => {}
        Room::NotYet => return Ok(false),
        // No further message can be sent to the agent, and the answer was no.
        Room::Never(_) if agent::is_denied(draft, visit) => {
            agent::deny(draft, visit)?;
            return Ok(true);
        }
        Room::Never(reached) => {
            match limits.on_reached {
                OnReached::Fail => exhausted(draft, visit, &reached)?,
                OnReached::Ask => {
                    let question = limit_question::question(&reached);
                    let evidence = limit_question::evidence(&reached, None);
                    conclude::raise(draft, visit, About::Limit, question, evidence)?;
                }
            }
            return Ok(true);
        }
    }
    let merges = draft.control.open.get(visit).is_some_and(|open| open.for_each.is_some());
    // A merge resumes no session of an agent, so it waits for a slot alone.
    if draft.slot.is_none() || (!merges && bounds::waits_for_session(&draft.control, visit, at.step)) {
        return Ok(false);
    }
    let attempt = if merges {
        merge::attempt(draft, visit, at.step)
    } else {
        let Some(other) = throttle::hold_up(draft, visit, at)? else { return Ok(true) };
        render::attempt(draft, visit, at, other)
    };
    match attempt {
        Ok(started) => {
            // A slot is for one attempt. Another visit of this decision has to wait for the next one.
            draft.slot = None;
            draft.emit(Event::AttemptStarted(Box::new(started)))?;
        }
        Err(error) if verify::cannot_start(draft, visit, at.step, &error)? => {}
        Err(error) => conclude::conclude(draft, visit, Conclusion::Failed(error))?,
    }
    Ok(true)
}

/// Ends the run at a bound.
pub(crate) fn exhausted(
    draft: &mut Draft<'_>,
    visit: &VisitId,
    reached: &bounds::Reached,
) -> Result<(), Refusal> {
    let end = RunEnded::new(
        EndStatus::Exhausted,
        reached.bound.terminal_reason(),
        reached.reason.clone(),
        Some(ending::step_at_the_top(draft, visit)),
    );
    ending::stop(draft, end)
}

/// How a run ends that nothing is live of and that this person cancels.
fn cancelled(draft: &Draft<'_>, by: &Principal) -> RunEnded {
    let open = draft.control.open.keys().next().or(draft.control.last_handoff.as_ref());
    RunEnded::new(
        EndStatus::Cancelled,
        TerminalReason::UserCancelled,
        format!("Cancelled by {}", by.actor),
        open.map(|visit| ending::step_at_the_top(draft, visit)),
    )
}
