//! Rules for every journal of a run, checked from its records and its flow alone. The rules for graphs and
//! items are in [`crate::graph_rules`].

use crate::{
    agent_rules::Agents,
    call_rules::Uses,
    graph_rules::{Graphs, Places},
};
use envoi_contract::time::Timestamp;
use envoi_kernel::{
    Event, Flow, Record,
    event::{
        About, AttemptSettled, AttemptStarted, Choice, Course, InterruptAnswered, InterruptRaised, Outcome,
        Routed, RunEnded,
    },
    flow::{AskPlan, Budget, InDoubtPolicy, Overdue, Step},
    ids::{AttemptId, InterruptId, Principal, StepId, VisitId},
    ledger::Ledger,
};
use std::collections::{BTreeMap, BTreeSet};

/// Counts by the records, with nothing of the kernel's own state.
#[derive(Default)]
struct Count {
    hops: u64,
    uses: Uses,
    returns: u64,
    /// The flow of each scope, and the state of the scopes that are graphs.
    places: Places,
    graphs: Graphs,
    agents: Agents,
    /// Returns of each loop since it was entered, by its scope.
    rounds: BTreeMap<(String, StepId), u64>,
    attempts: BTreeSet<AttemptId>,
    /// Settled attempts, and whether it was too late.
    settled: BTreeSet<(AttemptId, bool)>,
    handed_on: BTreeSet<VisitId>,
    /// The highest visit that left a trace, by its scope.
    visits: BTreeMap<(String, StepId), u32>,
    /// The amounts that people have added to the bounds.
    raised: Ledger,
    /// When something was added last, and by whom.
    last_raise: Option<(Timestamp, Principal)>,
    /// Visits whose last attempt is in doubt and has to be verified, or settled by a person, before it is run again.
    unsettled: BTreeMap<VisitId, AttemptId>,
    /// Live attempts that verify others.
    verifying: BTreeMap<AttemptId, AttemptId>,
    /// Visits whose verification has no result.
    unanswered: BTreeSet<VisitId>,
    starter: Option<Principal>,
    /// Questions that wait, with those who have approved.
    open: BTreeMap<InterruptId, (InterruptRaised, Vec<Principal>)>,
    /// All there ever were.
    asked: BTreeSet<InterruptId>,
    /// A denial or an expiry whose visit has not been left, and its possible ways.
    closing: Option<(VisitId, Option<StepId>)>,
    /// The steps whose denial or expiry a flow is on the way of, by its scope.
    diverted: BTreeMap<String, Vec<StepId>>,
    over: bool,
}

/// Panics at the first record that breaks a rule. Returns the use that all records together report.
pub(crate) fn check(flow: &Flow, records: &[Record]) -> Uses {
    let mut count = Count::default();
    let mut last_at = records.first().map(|record| record.at).unwrap_or(Timestamp::from_millis(0));
    let mut told = Told(vec![shape(flow)]);
    for (place, record) in records.iter().enumerate() {
        told.0.push(crate::story::event(&record.event));
        assert_eq!(record.seq, place as u64, "no gap");
        assert!(record.at >= last_at, "time does not go back");
        last_at = record.at;
        count.moves(flow, &record.event);
        count.take(flow, &record.event);
        count.asks(flow, record);
        count.graphs.take(flow, &count.places, &record.event);
        count.agents.take(&record.event);
    }
    count.uses
}

/// The events so far; printed when a rule is broken.
struct Told(Vec<String>);

impl Drop for Told {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", self.0.join("\n"));
        }
    }
}

/// The transitions of the flow, one line per step.
fn shape(flow: &Flow) -> String {
    let line = |step: &Step| {
        let needs: Vec<&str> = step.needs.iter().map(StepId::as_str).collect();
        let (kind, routing) = (step.inner().map(|plan| plan.flow.as_str()), &step.routing);
        let asks = step.asks().map(|plan| (&plan.on_deny, &plan.on_expire));
        let (each, branches) = (&step.for_each, (&routing.branches, &routing.flow_branches));
        format!(
            "  {} {needs:?} {:?} {kind:?} {:?} {branches:?} {asks:?} {each:?}",
            step.id, step.join, routing.loop_to
        )
    };
    let lines: Vec<String> = flow.steps.iter().map(line).collect();
    let parts: Vec<String> = flow.flows.values().map(|flow| shape(flow)).collect();
    format!("{} graph: {}\n{}\n{}", flow.id, flow.graph, lines.join("\n"), parts.join(""))
}

impl Count {
    /// A flow that is taken up goes on counting where it was.
    fn moves(&mut self, flow: &Flow, event: &Event) {
        let Event::FlowEntered(event) = event else { return };
        for (old, new) in self.places.enter(flow, event) {
            move_all(&mut self.rounds, &old, &new);
            move_all(&mut self.visits, &old, &new);
            // The denied step is done again.
            self.diverted.remove(&old);
        }
    }

    fn take(&mut self, flow: &Flow, event: &Event) {
        match event {
            Event::AttemptStarted(event) => {
                let budget = event.reserved.unwrap_or_default();
                self.verifies(flow, event);
                self.reserves(flow, &event.attempt, budget);
                self.starts(flow, &event.attempt);
            }
            Event::AttemptSettled(event) => {
                assert!(self.attempts.contains(&event.attempt), "{} settled before it began", event.attempt);
                let once = self.settled.insert((event.attempt.clone(), event.late));
                assert!(once, "{} is recorded twice", event.attempt);
                self.uses.settles(event);
                self.settles_doubt(flow, event);
            }
            Event::ModelCallStarted(event) => {
                assert!(!self.over, "a run that is over calls");
                self.uses.call_begins(flow, &self.raised, event);
            }
            Event::ModelCallEnded(event) => self.uses.call_ends(event),
            Event::Routed(event) => self.routed(flow, event),
            Event::HandoffWritten(event) => {
                self.counts_on(&event.visit);
                assert!(self.handed_on.insert(event.visit.clone()), "{} handed on twice", event.visit);
            }
            _ => {}
        }
    }

    fn step<'f>(&self, flow: &'f Flow, visit: &VisitId) -> &'f Step {
        self.places.flow(flow, visit.flow_scope()).step(&visit.step).unwrap()
    }

    fn starts(&mut self, flow: &Flow, attempt: &AttemptId) {
        let limits = &flow.limits;
        let more = &self.raised;
        let below = |used: u64, max: Option<u64>, more: u64| max.is_none_or(|max| used < max + more);
        assert!(below(self.hops, limits.agent_hops, more.agent_hops), "hops");
        assert!(below(self.uses.wall_time_ms(), limits.wall_time_ms, more.wall_time_ms), "time");
        self.hops += 1;
        self.counts_on(&attempt.visit);
        assert!(!self.unanswered.contains(&attempt.visit), "{attempt} begins and nobody knows");
        assert!(!self.handed_on.contains(&attempt.visit), "{attempt} begins after the hand-off");
        assert!(self.attempts.insert(attempt.clone()), "{attempt} begins twice");
        let before = attempt.attempt - 1;
        assert!(before == 0 || self.attempts.contains(&attempt.visit.attempt(before)), "{attempt} skips one");
    }

    /// Numbers of visits have no gaps.
    fn counts_on(&mut self, visit: &VisitId) {
        let last = self.visits.entry((visit.flow_scope().to_owned(), visit.step.clone())).or_default();
        assert!(visit.visit == *last || visit.visit == *last + 1, "{visit} after {last}");
        *last = visit.visit;
    }

    /// An attempt in doubt that must be verified is not repeated before that, and only attempts in doubt are
    /// verified.
    fn verifies(&mut self, flow: &Flow, event: &AttemptStarted) {
        let unsettled = self.unsettled.remove(&event.attempt.visit);
        assert_eq!(event.verifies, unsettled, "{} begins", event.attempt);
        if let Some(verified) = unsettled {
            let step = self.step(flow, &verified.visit);
            assert!(matches!(step.on_in_doubt, InDoubtPolicy::Verify(_)), "{verified} is verified");
            self.verifying.insert(event.attempt.clone(), verified);
        }
    }

    fn settles_doubt(&mut self, flow: &Flow, event: &AttemptSettled) {
        if event.late {
            return;
        }
        let visit = &event.attempt.visit;
        let doubt = matches!(event.outcome, Outcome::InDoubt { .. });
        if self.verifying.remove(&event.attempt).is_some() {
            // Then a person has to speak, or the visit is over, before anything of it begins.
            let silent = !matches!(event.outcome, Outcome::Exited { code: 0 | 1 });
            self.unanswered.extend(silent.then(|| visit.clone()));
        } else if doubt && matches!(self.step(flow, visit).on_in_doubt, InDoubtPolicy::Verify(_)) {
            self.unsettled.insert(visit.clone(), event.attempt.clone());
        }
    }

    fn reserves(&mut self, flow: &Flow, attempt: &AttemptId, reserved: Budget) {
        let step = self.step(flow, &attempt.visit);
        let budget = if self.verifying.contains_key(attempt) { Budget::default() } else { step.budget };
        assert_eq!(reserved, budget, "{attempt} has another budget");
        self.uses.begins(flow, &self.raised, attempt, budget);
    }

    fn routed(&mut self, flow: &Flow, event: &Routed) {
        let scope = event.visit.flow_scope();
        let of = self.places.flow(flow, scope);
        match &event.course {
            Course::Enter(target) => {
                assert!(!of.graph, "{} leads on in a graph", event.visit);
                let (from, to) = (of.position(&event.visit.step).unwrap(), of.position(target).unwrap());
                assert!(to > from, "{} goes back to {target} without counting", event.visit);
                self.enter(of, scope, from, to, |_| true);
            }
            Course::LoopBack(target) => self.goes_back(flow, of, &event.visit, target),
            Course::Done(_) => assert!(of.graph, "{} is done with, in a list", event.visit),
            Course::Gathered => assert!(event.visit.item().is_some(), "{} is no item", event.visit),
            Course::Complete => assert!(!of.graph, "{} completes a graph", event.visit),
            Course::Round(target) => {
                let (from, to) = (of.position(&event.visit.step).unwrap(), of.position(target).unwrap());
                assert!(to <= from, "{} begins a round ahead of it", event.visit);
            }
            Course::Hold | Course::Stop => {}
        }
    }

    fn goes_back(&mut self, flow: &Flow, of: &Flow, visit: &VisitId, target: &StepId) {
        let within = flow.limits.iterations.is_none_or(|max| self.returns < max + self.raised.iterations);
        assert!(within, "iterations");
        self.returns += 1;
        let (closing, scope) = (of.step(&visit.step).unwrap(), visit.flow_scope());
        if of.graph {
            assert!(crate::graph_rules::hangs_on(of, &closing.id, target), "{visit} loops forward");
            // Every loop that the whole of this round repeats may count anew.
            let anew = |(at, id): &(String, StepId)| {
                at == scope && *id != closing.id && crate::graph_rules::hangs_on(of, id, target)
            };
            self.rounds.retain(|loop_of, _| !anew(loop_of));
        } else {
            let (from, to) = (of.position(&closing.id).unwrap(), of.position(target).unwrap());
            assert!(to <= from, "{visit} loops forward");
            let start = start_of(of, closing).unwrap_or(from);
            self.enter(of, scope, from, to, |inner| start <= inner);
        }
        let rounds = self.rounds.entry((scope.to_owned(), closing.id.clone())).or_default();
        *rounds += 1;
        assert!(*rounds <= closing.routing.max_iterations, "{visit} went back {rounds} times");
    }

    /// Loops that are entered from outside count anew.
    fn enter(&mut self, of: &Flow, scope: &str, from: usize, to: usize, may: impl Fn(usize) -> bool) {
        for (end, step) in of.steps.iter().enumerate() {
            // A person may ask for another round of a step that is no loop.
            let start = start_of(of, step).unwrap_or(end);
            let inside = |place: usize| (start..=end).contains(&place);
            if inside(to) && !inside(from) && may(start) {
                self.rounds.remove(&(scope.to_owned(), step.id.clone()));
            }
        }
    }
}

fn move_all<V: Clone>(map: &mut BTreeMap<(String, StepId), V>, old: &str, new: &str) {
    let moved: Vec<_> = map
        .iter()
        .filter(|((scope, _), _)| scope == old)
        .map(|(key, v)| (key.1.clone(), v.clone()))
        .collect();
    map.extend(moved.into_iter().map(|(step, value)| ((new.to_owned(), step), value)));
}

/// Rules for questions and answers.
impl Count {
    fn asks(&mut self, flow: &Flow, record: &Record) {
        match &record.event {
            Event::RunStarted(event) => self.starter = Some(event.by.clone()),
            Event::InterruptRaised(event) => {
                assert!(!self.over, "a run that is over asks");
                assert!(self.asked.insert(event.interrupt.clone()), "{} is put twice", event.interrupt);
                self.open.insert(event.interrupt.clone(), (event.as_ref().clone(), Vec::new()));
                let alone = self.open.len() == 1;
                assert!(alone || !self.places.one_after_another(flow), "one question at a time");
            }
            Event::VoteCast(event) => {
                self.counts(flow, record, event);
                let (_, voters) = self.open.get_mut(&event.interrupt).unwrap();
                voters.push(event.by.clone());
            }
            Event::InterruptAnswered(event) => self.answered(flow, record, event),
            Event::InterruptExpired(event) => {
                let (raised, _) = self.close(&event.interrupt);
                assert!(raised.expires_at.is_some_and(|at| record.at >= at), "it lapses too early");
                let plan = self.plan(flow, &raised).expect("only what a flow asks lapses");
                let target = match &plan.on_expire {
                    Overdue::Fail => None,
                    Overdue::Deny => plan.on_deny.clone(),
                    Overdue::Go(step) => Some(step.clone()),
                };
                self.divert(raised, target);
            }
            Event::InterruptCancelled(event) => drop(self.close(&event.interrupt)),
            Event::Routed(event) => self.leaves(flow, event),
            Event::LimitsRaised(event) => self.raised_by(&event.more),
            Event::RunReopened(event) => {
                self.over = false;
                self.diverted.entry(String::new()).or_default().retain(|asker| *asker != event.step);
            }
            Event::RunEnded(event) => self.ends(flow, event),
            _ => {}
        }
    }

    fn close(&mut self, id: &InterruptId) -> (InterruptRaised, Vec<Principal>) {
        self.open.remove(id).unwrap_or_else(|| panic!("{id} is closed, and was not open"))
    }

    /// Rules for any answer, whether it decides or is one of several.
    fn counts(&self, flow: &Flow, record: &Record, event: &InterruptAnswered) {
        let (raised, voters) = &self.open[&event.interrupt];
        assert!(raised.expires_at.is_none_or(|at| record.at < at), "an answer after its time");
        let Some(plan) = self.plan(flow, raised) else { return };
        assert!(!plan.not_by_starter || self.starter.as_ref() != Some(&event.by), "by the starter");
        if event.choice == Choice::Approve {
            assert!(!voters.contains(&event.by), "{} counts twice", event.by.actor);
        }
    }

    fn answered(&mut self, flow: &Flow, record: &Record, event: &InterruptAnswered) {
        self.counts(flow, record, event);
        let (raised, voters) = self.close(&event.interrupt);
        if raised.about == About::InDoubt {
            self.unsettled.remove(&raised.visit);
            self.unanswered.remove(&raised.visit);
        }
        let more = event.raise.clone().unwrap_or_default();
        if event.raise.is_some() {
            assert_eq!(event.choice, Choice::Raise);
            self.last_raise = Some((record.at, event.by.clone()));
        } else if event.choice == Choice::Raise {
            // An added amount also answers the other questions about the same bound.
            assert_eq!(raised.about, About::Limit);
            assert_eq!(self.last_raise, Some((record.at, event.by.clone())), "a raise adds nothing");
        }
        self.raised_by(&more);
        let Some(plan) = self.plan(flow, &raised) else { return };
        match event.choice {
            Choice::Approve => assert_eq!(voters.len() + 1, plan.quorum as usize, "all have approved"),
            Choice::Deny => self.divert(raised, plan.on_deny.clone()),
            Choice::Respond | Choice::Again => {}
            other => panic!("{other:?} to a step that asks"),
        }
    }

    fn raised_by(&mut self, more: &Ledger) {
        self.raised.agent_hops += more.agent_hops;
        self.raised.iterations += more.iterations;
        self.raised.llm_calls += more.llm_calls;
        self.raised.wall_time_ms += more.wall_time_ms;
        self.raised.cost = self.raised.cost.saturating_add(more.cost);
    }

    fn divert(&mut self, raised: InterruptRaised, target: Option<StepId>) {
        let scope = raised.visit.flow_scope().to_owned();
        self.diverted.entry(scope).or_default().push(raised.visit.step.clone());
        self.closing = Some((raised.visit, target));
    }

    /// A visit that was denied, or not answered, leads only where the flow leads it.
    fn leaves(&mut self, flow: &Flow, event: &Routed) {
        let of = self.places.flow(flow, event.visit.flow_scope());
        // A loop first gives up what it repeats.
        let places = &self.places;
        let given_up = |visit: &VisitId| *visit != event.visit && places.flow(flow, visit.flow_scope()).graph;
        if let Some((visit, target)) = self.closing.take_if(|(visit, _)| !given_up(visit)) {
            assert_eq!(visit, event.visit, "something comes before the end of the denied visit");
            match &event.course {
                Course::Enter(step) if event.end.is_some() => {
                    let left = of.steps.iter().skip_while(|other| other.id != *step);
                    assert!(left.into_iter().any(|step| step.regardless), "{visit} was denied");
                }
                Course::Enter(step) | Course::LoopBack(step) => assert_eq!(Some(step), target.as_ref()),
                Course::Hold => assert!(target.is_some()),
                Course::Stop | Course::Round(_) | Course::Done(_) | Course::Gathered => {}
                Course::Complete => panic!("{visit} was denied, and the run is complete"),
            }
        }
        let diverted = self.diverted.entry(event.visit.flow_scope().to_owned()).or_default();
        let Some(asker) = diverted.last().filter(|_| !of.graph) else { return };
        match &event.course {
            Course::LoopBack(step) => diverted.retain(|asker| of.position(step) > of.position(asker)),
            Course::Enter(_) if event.visit.step != *asker && event.end.is_none() => diverted.clear(),
            Course::Complete => {
                let step = &event.visit.step;
                let named = of.steps.iter().any(|asks| {
                    let diverts = asks.asks().is_some_and(|plan| plan.diverts_to(step));
                    diverts && of.position(&asks.id) < of.position(step)
                });
                let next = of.step(step).is_some_and(|step| step.routing.next.is_some());
                assert!(!named || next, "{} completes a run that was denied", event.visit);
            }
            _ => {}
        }
    }

    fn ends(&mut self, flow: &Flow, event: &RunEnded) {
        assert!(self.closing.is_none());
        self.over = true;
        assert!(self.open.is_empty(), "it is over, and asks {:?}", self.open.keys());
        let top = self.diverted.get("").and_then(|diverted| diverted.last());
        let top = self.agents.denied().filter(|_| event.terminal_reason.word() == "policy_violation").or(top);
        if event.terminal_reason.word() == "policy_violation" && !flow.graph && flow.flows.is_empty() {
            assert_eq!(event.stopped_by.as_ref(), top, "denied where nobody has denied");
        }
    }

    /// The settings of a question that a step of the flow asks.
    fn plan<'f>(&self, flow: &'f Flow, raised: &InterruptRaised) -> Option<&'f AskPlan> {
        self.step(flow, &raised.visit).asks().filter(|_| raised.about == About::Ask)
    }
}

/// The earliest step that `step` may lead back to.
pub(crate) fn start_of(flow: &Flow, step: &Step) -> Option<usize> {
    let own = flow.position(&step.id)?;
    let waits = !step.routing.success_values.is_empty() || step.asks().is_some();
    let diversions = step.asks().into_iter().flat_map(AskPlan::diversions);
    let back = step.routing.loop_to.iter().filter(|_| waits).chain(&step.routing.branches).chain(diversions);
    back.filter_map(|target| flow.position(target)).filter(|target| *target <= own).min()
}
