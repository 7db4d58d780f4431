//! An account of each run, kept from its durable events alone and in another way than the kernel keeps its own.
//!
//! Owns what can be checked of one run's journal: no attempt starts twice, no visit after its hand-off, no bound is passed,
//! nothing follows the end. The state that replay gives is kept beside it, event by event.

use crate::{
    instance::Errand,
    violation::{Violation, holds},
};
use envoi_kernel::{
    Event, Flow, Record, Run,
    event::{AttemptSettled, AttemptStarted, Course, Outcome},
    ids::{AttemptId, RunId, VisitId},
    ledger::Cost,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// See the module.
pub(crate) struct Books {
    id: RunId,
    /// The state that the durable events make.
    pub(crate) replayed: Run,
    pub(crate) started: BTreeMap<AttemptId, Arc<AttemptStarted>>,
    settled: BTreeSet<AttemptId>,
    handoffs: BTreeSet<VisitId>,
    llm_calls: u64,
    wall_time_ms: u64,
    cost: Cost,
    iterations: u64,
    over: bool,
    pub(crate) reopened: usize,
    pub(crate) in_doubt: u64,
    pub(crate) cancelled: bool,
    answered: BTreeSet<String>,
    /// What happened, without when: the same in a world with crashes as in one without.
    pub(crate) story: Vec<String>,
}

impl Books {
    pub(crate) fn new(id: &RunId, flow: &Arc<Flow>) -> Self {
        Self {
            id: id.clone(),
            replayed: Run::new(Arc::clone(flow)),
            started: BTreeMap::new(),
            settled: BTreeSet::new(),
            handoffs: BTreeSet::new(),
            llm_calls: 0,
            wall_time_ms: 0,
            cost: Cost::default(),
            iterations: 0,
            over: false,
            reopened: 0,
            in_doubt: 0,
            cancelled: false,
            answered: BTreeSet::new(),
            story: Vec::new(),
        }
    }

    /// Takes what has become durable.
    pub(crate) fn enter(&mut self, records: &[Record]) -> Result<(), Violation> {
        for record in records {
            self.check(&record.event)?;
            self.replayed
                .apply(record)
                .map_err(|error| self.broken("what is durable can be replayed", &error.to_string()))?;
            self.story.push(told(&record.event));
        }
        self.ledger_agrees()
    }

    fn broken(&self, promise: &'static str, found: &str) -> Violation {
        Violation::new(promise, format!("{}: {found}", self.id))
    }

    fn check(&mut self, event: &Event) -> Result<(), Violation> {
        let late = matches!(event, Event::AttemptSettled(settled) if settled.late);
        let reopens = matches!(event, Event::RunReopened(_));
        if self.over && !reopens && !late {
            return Err(self.broken("nothing follows the end of a run", event.name()));
        }
        match event {
            Event::AttemptStarted(started) => self.attempt_started(started)?,
            Event::AttemptSettled(settled) => self.attempt_settled(settled)?,
            Event::Routed(routed) => self.routed(&routed.course)?,
            Event::HandoffWritten(written) => {
                let first = self.handoffs.insert(written.visit.clone());
                holds(first, "a visit has one hand-off", || format!("{}: {}", self.id, written.visit))?;
            }
            Event::InterruptAnswered(answered) => {
                self.answered.insert(answered.interrupt.to_string());
            }
            Event::CancelRequested(_) => self.cancelled = true,
            Event::RunReopened(_) => {
                self.over = false;
                self.reopened = self.reopened.saturating_add(1);
            }
            Event::RunEnded(_) => self.over = true,
            _ => {}
        }
        Ok(())
    }

    fn attempt_started(&mut self, started: &AttemptStarted) -> Result<(), Violation> {
        let attempt = &started.attempt;
        let first = self.started.insert(attempt.clone(), Arc::new(started.clone())).is_none();
        holds(first, "no attempt is started twice", || format!("{}: {attempt}", self.id))?;
        let open = !self.handoffs.contains(&attempt.visit);
        holds(open, "a visible visit never runs again", || format!("{}: {attempt}", self.id))?;
        let limits = self.replayed.flow().limits.clone();
        let hops = u64::try_from(self.started.len()).unwrap_or(u64::MAX);
        let within = limits.agent_hops.is_none_or(|max| hops <= max)
            && limits.llm_calls.is_none_or(|max| self.llm_calls < max)
            && limits.wall_time_ms.is_none_or(|max| self.wall_time_ms < max)
            && limits.cost.is_none_or(|max| self.cost < max);
        holds(within, "nothing starts past a bound", || format!("{}: {attempt}", self.id))
    }

    fn attempt_settled(&mut self, settled: &AttemptSettled) -> Result<(), Violation> {
        let attempt = &settled.attempt;
        if settled.late {
            return Ok(());
        }
        let known = self.started.contains_key(attempt) && self.settled.insert(attempt.clone());
        holds(known, "an attempt settles once, after its start", || format!("{}: {attempt}", self.id))?;
        if matches!(settled.outcome, Outcome::InDoubt { .. }) {
            self.in_doubt = self.in_doubt.saturating_add(1);
        }
        let calls = settled.metrics.get("llm_calls").and_then(|calls| calls.as_u53()).unwrap_or(0);
        let cost = settled.metrics.get("cost_usd").and_then(|cost| cost.as_str()).and_then(Cost::parse);
        self.llm_calls = self.llm_calls.saturating_add(calls);
        self.cost = self.cost.saturating_add(cost.unwrap_or_default());
        self.wall_time_ms = self.wall_time_ms.saturating_add(settled.duration_ms);
        Ok(())
    }

    fn routed(&mut self, course: &Course) -> Result<(), Violation> {
        if let Course::LoopBack(_) = course {
            self.iterations = self.iterations.saturating_add(1);
        }
        let within = self.replayed.flow().limits.iterations.is_none_or(|max| self.iterations <= max);
        holds(within, "no loop goes back past a bound", || format!("{}: {}", self.id, self.iterations))
    }

    fn ledger_agrees(&self) -> Result<(), Violation> {
        let ledger = self.replayed.ledger();
        let hops = u64::try_from(self.started.len()).unwrap_or(u64::MAX);
        let kept = (ledger.agent_hops, ledger.iterations, ledger.llm_calls, ledger.wall_time_ms, ledger.cost);
        let expected = (hops, self.iterations, self.llm_calls, self.wall_time_ms, self.cost);
        let same = kept == expected;
        holds(same, "budgets survive", || format!("{}: {kept:?}, not {expected:?}", self.id))
    }

    /// A snapshot, written and read, is the state.
    pub(crate) fn check_snapshot(&self) -> Result<(), Violation> {
        let restored = Run::restore(Arc::clone(self.replayed.flow()), &self.replayed.snapshot());
        let same = restored.is_ok_and(|run| run == self.replayed);
        holds(same, "a snapshot gives the state it was taken of", || self.id.to_string())
    }

    /// Whether the journal holds what the engine has said yes to.
    pub(crate) fn holds(&self, errand: &Errand) -> bool {
        match errand {
            Errand::Begin => self.replayed.started().is_some(),
            Errand::Adopt => true,
            Errand::Answer(interrupt) => self.answered.contains(interrupt.as_str()),
            Errand::Cancel => self.cancelled,
            Errand::Reopen => self.reopened > 0,
        }
    }
}

fn told(event: &Event) -> String {
    let name = event.name();
    match event {
        Event::AttemptStarted(started) => format!("{name} {} {:?}", started.attempt, started.command),
        Event::AttemptSettled(settled) => {
            format!(
                "{name} {} {:?} ok={} late={}",
                settled.attempt, settled.outcome, settled.ok, settled.late
            )
        }
        Event::Routed(routed) => format!("{name} {} {:?}", routed.visit, routed.course),
        Event::HandoffWritten(written) => {
            format!("{name} {} {:?}", written.visit, written.handoff.status)
        }
        Event::InterruptRaised(raised) => format!("{name} {} {:?}", raised.visit, raised.about),
        Event::InterruptAnswered(answered) => format!("{name} {:?}", answered.choice),
        Event::RunReopened(reopened) => format!("{name} {}", reopened.step),
        Event::RunEnded(ended) => format!("{name} {:?} {}", ended.status, ended.terminal_reason),
        _ => name.to_owned(),
    }
}
