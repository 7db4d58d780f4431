//! Rules for every journal with a graph, items or inner flows, checked from its records and its flow alone.

use envoi_contract::{handoff::Status, json::Value};
use envoi_kernel::{
    Event, Flow,
    event::{
        AttemptStarted, Course, Done, EndStatus, FannedOut, FlowEntered, HandoffWritten, Routed, RunEnded,
    },
    flow::{Join, Step},
    ids::{AttemptId, FlowId, StepId, VisitId},
};
use std::collections::{BTreeMap, BTreeSet};

/// Which flow each scope is of.
#[derive(Default)]
pub(crate) struct Places {
    flows: BTreeMap<String, FlowId>,
    /// The last scope that a step opened, by its own scope.
    opened: BTreeMap<(String, StepId), String>,
}

impl Places {
    pub(crate) fn flow<'f>(&self, flow: &'f Flow, scope: &str) -> &'f Flow {
        self.flows.get(scope).map_or(flow, |id| &flow.flows[id])
    }

    /// Takes a new scope in; gives the scopes whose story goes on under another name.
    pub(crate) fn enter(&mut self, flow: &Flow, event: &FlowEntered) -> Vec<(String, String)> {
        assert!(flow.flows.contains_key(&event.flow));
        let (scope, visit) = (event.visit.inside(), &event.visit);
        assert!(self.flows.insert(scope.clone(), event.flow.clone()).is_none(), "{visit} is entered twice");
        let key = (visit.flow_scope().to_owned(), visit.step.clone());
        let old = self.opened.insert(key, scope.clone());
        let Some(old) = old.filter(|_| event.resumes) else {
            assert!(!event.resumes, "{visit} takes up what never was");
            return Vec::new();
        };
        let inner: Vec<_> = self.opened.iter().filter(|((at, _), _)| *at == old).collect();
        let inner: Vec<_> = inner.into_iter().map(|((_, step), at)| (step.clone(), at.clone())).collect();
        self.opened.extend(inner.into_iter().map(|(step, at)| ((scope.clone(), step), at)));
        vec![(old, scope)]
    }

    /// Whether nothing of this flow is ever done beside something else.
    pub(crate) fn one_after_another(&self, flow: &Flow) -> bool {
        let listed = |flow: &Flow| !flow.graph && flow.steps.iter().all(|step| step.for_each.is_none());
        listed(flow) && flow.flows.values().all(|flow| listed(flow))
    }
}

/// Whether `later` is `earlier`, or waits for it at any distance.
pub(crate) fn hangs_on(flow: &Flow, later: &StepId, earlier: &StepId) -> bool {
    later == earlier || flow.step(later).unwrap().needs.iter().any(|need| hangs_on(flow, need, earlier))
}

/// The state of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stands {
    Open,
    /// A person, or another flow, decides where it leads.
    Held,
    Over(Done),
}

/// The steps of a graph in its present round; those that are not there have not been entered.
#[derive(Debug, Clone, Default)]
struct Graph {
    steps: BTreeMap<StepId, Stands>,
    given_up: BTreeSet<StepId>,
    /// A step that has just been entered without having awaited all that it needs.
    first: Option<StepId>,
    /// The steps that had been abandoned before that.
    before: BTreeSet<StepId>,
}

/// The items of a visit.
#[derive(Debug, Clone)]
struct Fan {
    items: Vec<Value>,
    width: usize,
    open: BTreeSet<u64>,
    done: BTreeMap<u64, Status>,
}

/// See the module.
#[derive(Default)]
pub(crate) struct Graphs {
    graphs: BTreeMap<String, Graph>,
    fans: BTreeMap<VisitId, Fan>,
    /// The items of the last visit of a step, if it failed and nothing has repeated it on purpose.
    kept: BTreeMap<(String, StepId), Fan>,
    live: BTreeSet<AttemptId>,
    ending: BTreeSet<AttemptId>,
    cancelling: bool,
    stopping: bool,
}

impl Graphs {
    pub(crate) fn take(&mut self, flow: &Flow, places: &Places, event: &Event) {
        self.attempts(flow, places, event);
        match event {
            Event::RunStarted(_) if flow.graph => drop(self.graphs.insert(String::new(), Graph::default())),
            Event::StepEntered(event) => {
                self.entered(places.flow(flow, &event.scope), &event.scope, &event.step)
            }
            Event::StepsGivenUp(event) => {
                let of = places.flow(flow, &event.scope);
                let graph = self.graphs.get_mut(&event.scope).unwrap();
                graph.give_up(of, &event.by, &event.steps);
            }
            Event::FlowEntered(event) => self.flow_entered(flow, places, event),
            Event::FlowReturned(event) => {
                let of = places.flow(flow, &event.visit.inside());
                if let Some(graph) = self.graphs.get(&event.visit.inside()) {
                    graph.complete(of);
                }
            }
            Event::FannedOut(event) => self.fanned_out(event),
            Event::Routed(event) => self.routed(places.flow(flow, event.visit.flow_scope()), event),
            Event::HandoffWritten(event) => self.handed_off(event),
            Event::CancelRequested(_) => self.cancelling = true,
            Event::RunStopping(_) => self.stopping = true,
            Event::RunReopened(_) => {
                (self.cancelling, self.stopping) = (false, false);
                if let Some(graph) = self.graphs.get_mut("") {
                    graph.take_up(flow);
                }
            }
            Event::RunEnded(event) => self.ended(flow, event),
            _ => {}
        }
        let began = !matches!(event, Event::StepEntered(_) | Event::StepsGivenUp(_));
        for (scope, graph) in self.graphs.iter_mut().filter(|_| began) {
            if let Some(step) = graph.first.take() {
                let of = places.flow(flow, scope);
                let losers = of.steps.iter().filter(|other| graph.loses(of, &step, &other.id));
                let losers: Vec<_> = losers.map(|step| &step.id).collect();
                assert!(losers.iter().all(|id| graph.given_up.contains(*id)), "{step} waits for {losers:?}");
            }
        }
    }

    fn attempts(&mut self, flow: &Flow, places: &Places, event: &Event) {
        match event {
            Event::AttemptStarted(event) => {
                assert!(self.ending.is_empty(), "{} begins beside {:?}", event.attempt, self.ending);
                assert!(!self.cancelling && !self.stopping, "{} begins, and nothing may", event.attempt);
                self.began(flow, places, event);
                self.live.insert(event.attempt.clone());
            }
            Event::AttemptSettled(event) => {
                let live = self.live.remove(&event.attempt);
                let given_up = self.ending.remove(&event.attempt);
                assert_eq!(event.given_up, given_up, "{}", event.attempt);
                assert_eq!(event.late, !live, "{} is late", event.attempt);
            }
            Event::HandoffWritten(event) => {
                let left: Vec<_> = self.live.iter().filter(|id| id.visit == event.visit).cloned().collect();
                for attempt in left {
                    assert_eq!(event.handoff.status, Status::Skipped, "{attempt} is live");
                    self.live.remove(&attempt);
                    self.ending.insert(attempt);
                }
            }
            Event::RunEnded(_) => {
                assert!(self.live.is_empty() && self.ending.is_empty(), "{:?} {:?}", self.live, self.ending);
            }
            _ => {}
        }
    }

    fn began(&mut self, flow: &Flow, places: &Places, event: &AttemptStarted) {
        let visit = &event.attempt.visit;
        self.trace(visit);
        let of = places.flow(flow, visit.flow_scope());
        let Some(graph) = self.graphs.get(visit.flow_scope()) else { return };
        assert_eq!(graph.steps.get(&visit.step), Some(&Stands::Open), "{visit} is not open");
        let step = of.step(&visit.step).unwrap();
        assert!(!graph.given_up.contains(&step.id), "{visit} was given up");
        assert_eq!(graph.joined(step), Some(true), "{visit} has not what it needs");
        let failed = |other: &&Step| other.id != step.id && hangs_on(of, &step.id, &other.id);
        let failed = of.steps.iter().filter(failed).find(|other| graph.has_failed(of, other));
        let content = step.regardless || step.join != Join::All;
        assert!(
            failed.is_none() || content,
            "{visit} begins after the failure of {:?}",
            failed.map(|step| &step.id)
        );
    }

    fn entered(&mut self, of: &Flow, scope: &str, id: &StepId) {
        let graph = self.graphs.get_mut(scope).unwrap_or_else(|| panic!("{scope:?} is no graph"));
        assert!(!graph.steps.contains_key(id), "{scope}.{id} is entered while it {:?}", graph.steps[id]);
        let step = of.step(id).unwrap();
        assert!(graph.joined(step).is_some(), "{scope}.{id} is entered before its time");
        if matches!(step.join, Join::Any | Join::Quorum(_)) {
            (graph.first, graph.before) = (Some(id.clone()), graph.given_up.clone());
        }
        graph.steps.insert(id.clone(), Stands::Open);
    }

    fn flow_entered(&mut self, flow: &Flow, places: &Places, event: &FlowEntered) {
        self.trace(&event.visit);
        let scope = event.visit.inside();
        let of = places.flow(flow, &scope);
        let mut graph = Graph::default();
        if event.resumes {
            let number = event.visit.visit;
            let old = (1..number).rev().map(|visit| VisitId { visit, ..event.visit.clone() }.inside());
            let old: Vec<String> = old.collect();
            // The caller may itself be a part of what was taken up under another name.
            let known = old.iter().find_map(|old| self.graphs.get(old)).cloned();
            let same = |(at, _): &(&String, &Graph)| named(at) == named(&scope);
            let known = known.or_else(|| self.graphs.iter().rfind(same).map(|(_, graph)| graph.clone()));
            graph = known.unwrap_or_default();
            graph.take_up(of);
            let items: Vec<_> = self
                .kept
                .iter()
                .filter(|((at, _), _)| named(at) == named(&scope))
                .map(|((_, step), fan)| (step.clone(), fan.clone()))
                .collect();
            self.kept.extend(items.into_iter().map(|(step, fan)| ((scope.clone(), step), fan)));
        }
        if of.graph {
            self.graphs.insert(scope, graph);
        }
    }

    fn fanned_out(&mut self, event: &FannedOut) {
        let visit = &event.visit;
        let before = self.kept.remove(&(visit.flow_scope().to_owned(), visit.step.clone()));
        let mut done = BTreeMap::new();
        for (item, status) in before.iter().flat_map(|fan| &fan.done) {
            let place = usize::try_from(*item).unwrap();
            let same = before.as_ref().unwrap().items.get(place) == event.items.get(place);
            if *status == Status::Succeeded && same && place < event.items.len() {
                done.insert(*item, *status);
            }
        }
        let fan = Fan { items: event.items.clone(), width: event.width, open: BTreeSet::new(), done };
        assert!(self.fans.insert(visit.clone(), fan).is_none(), "{visit} has items twice");
    }

    /// Something of an item is to be seen.
    fn trace(&mut self, visit: &VisitId) {
        let Some(item) = visit.item() else { return };
        let fan =
            self.fans.get_mut(&visit.whole()).unwrap_or_else(|| panic!("{visit} is an item of nothing"));
        assert!(item < fan.items.len() as u64, "{visit} is not in the list");
        assert!(!fan.done.contains_key(&item), "{visit} is done again");
        fan.open.insert(item);
        assert!(fan.open.len() <= fan.width.max(1), "{visit} is one too many beside {:?}", fan.open);
    }

    fn handed_off(&mut self, event: &HandoffWritten) {
        let (visit, status) = (&event.visit, event.handoff.status);
        if let Some(item) = visit.item() {
            let fan = self.fans.get_mut(&visit.whole()).unwrap();
            fan.open.remove(&item);
            assert!(fan.done.insert(item, status).is_none(), "{visit} is done twice");
            return;
        }
        let key = (visit.flow_scope().to_owned(), visit.step.clone());
        let Some(fan) = self.fans.get(visit) else {
            return;
        };
        let stopped = self.cancelling || self.stopping || status == Status::Skipped;
        assert!(stopped || fan.done.len() == fan.items.len(), "{visit} is over before its items");
        assert!(
            stopped
                || (status == Status::Failed) == fan.done.values().any(|status| *status == Status::Failed)
        );
        if status == Status::Failed {
            self.kept.insert(key, fan.clone());
        }
    }

    fn routed(&mut self, of: &Flow, event: &Routed) {
        let (scope, step) = (event.visit.flow_scope(), &event.visit.step);
        if let Course::LoopBack(target) | Course::Enter(target) = &event.course {
            let again = |id: &StepId| match &event.course {
                Course::LoopBack(_) if of.graph => hangs_on(of, id, target),
                _ => id == target,
            };
            self.kept.retain(|(at, id), _| at != scope || !again(id));
        }
        let Some(graph) = self.graphs.get_mut(scope).filter(|_| event.course != Course::Gathered) else {
            return;
        };
        let stands = graph.steps.get(step).copied();
        assert!(matches!(stands, Some(Stands::Open | Stands::Held)), "{} is {stands:?}", event.visit);
        match &event.course {
            Course::Done(done) => drop(graph.steps.insert(step.clone(), Stands::Over(*done))),
            Course::Hold => drop(graph.steps.insert(step.clone(), Stands::Held)),
            Course::LoopBack(target) => {
                let again = |id: &StepId| hangs_on(of, id, target);
                let left: Vec<_> = graph
                    .steps
                    .iter()
                    .filter(|(id, stands)| again(id) && **stands == Stands::Open && *id != step)
                    .collect();
                assert!(left.is_empty(), "{} repeats {left:?}, which is open", event.visit);
                graph.steps.retain(|id, _| !again(id));
                graph.given_up.retain(|id| !again(id));
                if graph.joined(of.step(target).unwrap()) == Some(true) {
                    graph.steps.insert(target.clone(), Stands::Open);
                }
            }
            // A run that winds down: it is done again when that goes on.
            _ => drop(graph.steps.remove(step)),
        }
    }

    fn ended(&mut self, flow: &Flow, event: &RunEnded) {
        for graph in self.graphs.values_mut() {
            graph.steps.retain(|_, stands| matches!(stands, Stands::Over(_)));
        }
        let Some(graph) = self.graphs.get("") else { return };
        if event.status == EndStatus::Succeeded {
            graph.complete(flow);
        } else if !self.cancelling
            && !self.stopping
            && event.terminal_reason.word() != "max_iterations_exceeded"
        {
            let failed = flow.steps.iter().any(|step| graph.has_failed(flow, step));
            let of_the_run = event.terminal_reason.word().ends_with("limit_exceeded")
                || event.terminal_reason.word().starts_with("max_");
            assert!(failed || of_the_run, "it failed, and no step has: {event:?}");
        }
    }
}

/// A scope without the numbers of visits.
fn named(scope: &str) -> Vec<&str> {
    scope.split('.').filter(|part| part.parse::<u64>().is_err()).collect()
}

impl Graph {
    /// Whether the step may be entered, and if so with what it needs.
    fn joined(&self, step: &Step) -> Option<bool> {
        let stand = |need: &StepId| match self.steps.get(need) {
            Some(Stands::Over(done)) => Some(*done),
            _ => None,
        };
        let needs: Vec<Option<Done>> = step.needs.iter().map(stand).collect();
        let count = |done: Done| needs.iter().filter(|need| **need == Some(done)).count();
        let all_over = needs.iter().all(Option::is_some);
        let wanted = match step.join {
            Join::All | Join::Settled => return all_over.then_some(true),
            Join::Any => 1,
            Join::Quorum(wanted) => wanted as usize,
        };
        if count(Done::Passed) >= wanted {
            return Some(true);
        }
        all_over.then(|| count(Done::Passed) + count(Done::Skipped) >= wanted)
    }

    /// Whether it has failed, and some step that needs it does not have that in hand, or none does.
    fn has_failed(&self, of: &Flow, step: &Step) -> bool {
        let by: Vec<&Step> = of.steps.iter().filter(|other| other.needs.contains(&step.id)).collect();
        let failed = self.steps.get(&step.id) == Some(&Stands::Over(Done::Failed));
        let takes = |step: &&Step| {
            step.join != Join::All && self.steps.get(&step.id) != Some(&Stands::Over(Done::Skipped))
        };
        failed && (by.is_empty() || !by.iter().all(takes))
    }

    /// Whether `other` is not over, and on every way on from it comes a step that waits no more.
    fn loses(&self, of: &Flow, winner: &StepId, other: &StepId) -> bool {
        let over = matches!(self.steps.get(other), Some(Stands::Over(_)));
        other != winner && !over && hangs_on(of, winner, other) && !self.is_awaited(of, winner, other)
    }

    fn is_awaited(&self, of: &Flow, winner: &StepId, other: &StepId) -> bool {
        let mut by = of.steps.iter().filter(|step| step.needs.contains(other)).peekable();
        let waits = |step: &StepId| !self.steps.contains_key(step) && !self.before.contains(step);
        // Steps that `winner` does not depend on continue independently.
        by.peek().is_none()
            || by.any(|step| {
                let id = &step.id;
                id != winner && waits(id) && (!hangs_on(of, winner, id) || self.is_awaited(of, winner, id))
            })
    }

    fn give_up(&mut self, of: &Flow, by: &StepId, steps: &[StepId]) {
        let wins = self.first.take().is_some_and(|first| first == *by);
        for step in steps {
            let over = matches!(self.steps.get(step), Some(Stands::Over(_)));
            assert!(!over, "{step} is given up by {by}, and is over");
            if wins {
                assert!(self.loses(of, by, step), "{by} gives up {step}, which others wait for");
            } else {
                assert!(of.step(step).unwrap().needs.contains(by), "{by} gives up {step}");
            }
            self.given_up.insert(step.clone());
            if self.steps.get(step) == Some(&Stands::Held) {
                self.steps.remove(step);
            }
        }
        if wins {
            let left = of.steps.iter().find(|step| self.loses(of, by, &step.id) && !steps.contains(&step.id));
            assert!(left.is_none(), "{by} does not give up {:?}", left.map(|step| &step.id));
        }
    }

    /// The failed steps, and those that depend on them, are to be done again; steps that were under way, too.
    fn take_up(&mut self, of: &Flow) {
        let failed = |stands: &Stands| *stands == Stands::Over(Done::Failed);
        let mut all: Vec<StepId> =
            self.steps.iter().filter(|(_, stands)| failed(stands)).map(|(id, _)| id.clone()).collect();
        // A step that ran in spite of a failed step, and succeeded, stays.
        let stays = |step: &Step| {
            step.join != Join::All && self.steps.get(&step.id) == Some(&Stands::Over(Done::Passed))
        };
        loop {
            let hangs = |step: &&Step| {
                !all.contains(&step.id) && !stays(step) && step.needs.iter().any(|need| all.contains(need))
            };
            let Some(next) = of.steps.iter().find(hangs) else { break };
            all.push(next.id.clone());
        }
        let again = |id: &StepId| all.contains(id);
        self.steps.retain(|id, stands| matches!(stands, Stands::Over(_)) && !again(id));
        self.given_up.retain(|id| !again(id));
    }

    fn complete(&self, of: &Flow) {
        for step in &of.steps {
            let stands = self.steps.get(&step.id);
            assert!(matches!(stands, Some(Stands::Over(_))), "it is complete, and {} is {stands:?}", step.id);
            assert!(!self.has_failed(of, step), "it is complete, and {} has failed", step.id);
        }
    }
}
