//! An account of each run, kept from its durable events alone and in another way than the kernel keeps its own.
//!
//! Owns what can be checked of one run's journal: no attempt starts twice, no visit after its hand-off, no bound is passed,
//! nothing follows the end. The state that replay gives is kept beside it, event by event.

use crate::{
    finished::{Finished, top_step},
    instance::Errand,
    uses::Uses,
    violation::{Violation, holds},
};
use envoi_contract::time::Timestamp;
use envoi_kernel::{
    Event, Record, Run,
    event::{
        AttemptSettled, AttemptStarted, Choice, Course, InterruptAnswered, InterruptRaised, ModelCallStarted,
        Outcome,
    },
    flow::{Budget, InDoubtPolicy, Versions},
    ids::{AttemptId, InterruptId, RunId, VisitId},
    ledger::Ledger,
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
    /// Attempts that a limit of their account refused: each gives its hop back.
    refused: u64,
    live: BTreeSet<AttemptId>,
    /// Attempts that were given up, and those of them whose end is not recorded yet.
    pub(crate) given_up: BTreeSet<AttemptId>,
    ending: BTreeSet<AttemptId>,
    /// By visit: how many items it has, and how many of them may be open at once.
    fans: BTreeMap<VisitId, (usize, usize)>,
    /// Items of which an attempt has begun and that have no hand-off, by their visit.
    open_items: BTreeMap<VisitId, BTreeSet<u64>>,
    pub(crate) items: u64,
    pub(crate) inner: u64,
    /// Hand-offs of steps that are left out of the part that the run does.
    pub(crate) left_out: u64,
    handoffs: BTreeSet<VisitId>,
    pub(crate) uses: Uses,
    iterations: u64,
    over: bool,
    finished: Finished,
    /// Whether a correction of its flow was taken, and whether it has taken over.
    pub(crate) to_be_corrected: bool,
    pub(crate) corrected: bool,
    pub(crate) reopened: usize,
    /// Requests to try a closed account now.
    tried: BTreeSet<String>,
    pub(crate) in_doubt: u64,
    pub(crate) cancelled: bool,
    /// The questions and the persons of the kept answers: the deciding ones and the votes.
    answered: BTreeSet<(InterruptId, String)>,
    /// Questions that wait.
    pub(crate) open_questions: BTreeMap<InterruptId, InterruptRaised>,
    /// All that were put.
    put: BTreeSet<InterruptId>,
    raised: Ledger,
    /// Attempts in doubt that a command is to verify next.
    unverified: BTreeMap<VisitId, AttemptId>,
    pub(crate) votes: u64,
    pub(crate) expired: u64,
    /// Whether it had a question that lapses: how it goes on then depends on whether the answer or the expiry comes first.
    pub(crate) timed: bool,
    /// The events without their times: the same in a world with crashes as in one without.
    pub(crate) story: Vec<String>,
}

impl Books {
    pub(crate) fn new(id: &RunId, flow: Versions) -> Self {
        Self {
            id: id.clone(),
            replayed: Run::new(flow),
            started: BTreeMap::new(),
            settled: BTreeSet::new(),
            refused: 0,
            live: BTreeSet::new(),
            given_up: BTreeSet::new(),
            ending: BTreeSet::new(),
            fans: BTreeMap::new(),
            open_items: BTreeMap::new(),
            items: 0,
            inner: 0,
            left_out: 0,
            handoffs: BTreeSet::new(),
            uses: Uses::default(),
            iterations: 0,
            over: false,
            finished: Finished::default(),
            to_be_corrected: false,
            corrected: false,
            reopened: 0,
            tried: BTreeSet::new(),
            in_doubt: 0,
            cancelled: false,
            answered: BTreeSet::new(),
            open_questions: BTreeMap::new(),
            put: BTreeSet::new(),
            raised: Ledger::default(),
            unverified: BTreeMap::new(),
            votes: 0,
            expired: 0,
            timed: false,
            story: Vec::new(),
        }
    }

    /// Takes what has become durable.
    pub(crate) fn enter(&mut self, records: &[Record]) -> Result<(), Violation> {
        for record in records {
            self.check(&record.event)?;
            self.side_by_side(&record.event)?;
            self.question(record)?;
            let before = Arc::clone(self.replayed.flow());
            self.replayed
                .apply(record)
                .map_err(|error| self.broken("what is durable can be replayed", &error.to_string()))?;
            let again = self.finished.enter(&before, self.replayed.flow(), &record.event);
            holds(again.is_none(), "no finished step begins again unasked", || {
                format!("{}: {again:?} by {}", self.id, record.event.name())
            })?;
            self.story.push(story_line(&record.event));
        }
        self.ledger_agrees()
    }

    fn broken(&self, promise: &'static str, found: &str) -> Violation {
        Violation::new(promise, format!("{}: {found}", self.id))
    }

    fn check(&mut self, event: &Event) -> Result<(), Violation> {
        let late = matches!(event, Event::AttemptSettled(settled) if settled.late)
            || matches!(event, Event::ModelCallEnded(_));
        let reopens =
            matches!(event, Event::RunReopened(_) | Event::FlowCorrected(_) | Event::CorrectionDropped(_));
        if self.over && !reopens && !late {
            return Err(self.broken("nothing follows the end of a run", event.name()));
        }
        match event {
            Event::AttemptStarted(started) => self.attempt_started(started)?,
            Event::AttemptSettled(settled) => self.attempt_settled(settled)?,
            Event::ModelCallStarted(begun) => self.call_begins(begun)?,
            Event::ModelCallEnded(ended) => {
                let known = self.uses.call_ends(ended);
                holds(known, "a call is over once, after it began", || {
                    format!("{}: {}", self.id, ended.call)
                })?;
            }
            Event::Routed(routed) => self.routed(&routed.course)?,
            Event::HandoffWritten(written) => {
                let first = self.handoffs.insert(written.visit.clone());
                let left_out = !self.is_in_the_part(&written.visit);
                self.left_out = self.left_out.saturating_add(u64::from(left_out));
                holds(first, "a visit has one hand-off", || format!("{}: {}", self.id, written.visit))?;
            }
            Event::AccountsTried(tried) => self.tried.extend(tried.request.clone()),
            Event::CancelRequested(_) => self.cancelled = true,
            Event::CorrectionRequested(_) => self.to_be_corrected = true,
            Event::FlowCorrected(_) => (self.to_be_corrected, self.corrected) = (true, true),
            Event::RunReopened(_) => {
                self.over = false;
                self.reopened = self.reopened.saturating_add(1);
            }
            Event::RunEnded(_) => {
                self.over = true;
                let left = self.open_questions.keys().next();
                holds(left.is_none(), "a run that is over asks nothing", || {
                    format!("{}: {left:?}", self.id)
                })?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Nothing begins beside what was given up and is not over, and no more items than may be at once.
    fn side_by_side(&mut self, event: &Event) -> Result<(), Violation> {
        match event {
            Event::AttemptStarted(started) => {
                let beside = self.ending.first();
                let id = &self.id;
                holds(beside.is_none(), "nothing begins beside what was given up", || {
                    format!("{id}: {} beside {beside:?}", started.attempt)
                })?;
                self.live.insert(started.attempt.clone());
                self.item(&started.attempt.visit)?;
            }
            Event::AttemptSettled(settled) if settled.taken.is_none() => {
                let live = self.live.remove(&settled.attempt);
                let ending = self.ending.remove(&settled.attempt);
                let agrees = (!settled.late, settled.given_up) == (live, ending);
                holds(agrees, "a result is late unless its attempt is live", || settled.attempt.to_string())?;
            }
            Event::FlowEntered(_) => self.inner = self.inner.saturating_add(1),
            Event::FannedOut(event) => {
                self.fans.insert(event.visit.clone(), (event.items.len(), event.width));
            }
            Event::HandoffWritten(written) => {
                let left = self.live.iter().find(|attempt| attempt.visit == written.visit).cloned();
                if let Some(attempt) = left {
                    self.live.remove(&attempt);
                    self.ending.insert(attempt.clone());
                    self.given_up.insert(attempt);
                }
                if let Some(item) = written.visit.item() {
                    self.items = self.items.saturating_add(1);
                    self.open_items.entry(written.visit.whole()).or_default().remove(&item);
                }
            }
            Event::RunEnded(_) => {
                let idle = self.live.is_empty() && self.ending.is_empty();
                holds(idle, "nothing of a run that is over is live", || self.id.to_string())?;
                self.open_items.clear();
            }
            _ => {}
        }
        Ok(())
    }

    fn item(&mut self, visit: &VisitId) -> Result<(), Violation> {
        let Some(item) = visit.item() else { return Ok(()) };
        let (items, width) = self.fans.get(&visit.whole()).copied().unwrap_or_default();
        let open = self.open_items.entry(visit.whole()).or_default();
        open.insert(item);
        let known = usize::try_from(item).is_ok_and(|item| item < items);
        let within = known && open.len() <= width;
        holds(within, "no more items are open than may be", || format!("{visit}: {open:?} of {width}"))
    }

    /// Each question is put once and has one end; an answer counts only in time, and each person counts once.
    fn question(&mut self, record: &Record) -> Result<(), Violation> {
        match &record.event {
            Event::InterruptRaised(raised) => {
                let first = self.put.insert(raised.interrupt.clone());
                holds(first, "a question is put once", || format!("{}: {}", self.id, raised.interrupt))?;
                self.timed |= raised.expires_at.is_some();
                self.open_questions.insert(raised.interrupt.clone(), raised.as_ref().clone());
            }
            Event::VoteCast(vote) => {
                self.votes = self.votes.saturating_add(1);
                self.counts(record.at, vote, self.open_questions.get(&vote.interrupt).cloned())?;
            }
            Event::InterruptAnswered(answer) => {
                let raised = self.open_questions.remove(&answer.interrupt);
                self.counts(record.at, answer, raised)?;
                self.add(answer);
            }
            Event::InterruptExpired(expired) => {
                self.expired = self.expired.saturating_add(1);
                let raised = self.open_questions.remove(&expired.interrupt);
                let due = raised.and_then(|raised| raised.expires_at).is_some_and(|at| record.at >= at);
                holds(due, "a question lapses once, and not before its hour", || {
                    format!("{}: {}", self.id, expired.interrupt)
                })?;
            }
            Event::InterruptCancelled(cancelled) => {
                let open = self.open_questions.remove(&cancelled.interrupt).is_some();
                holds(open, "only an open question becomes void", || self.id.to_string())?;
            }
            _ => {}
        }
        Ok(())
    }

    fn counts(
        &mut self,
        at: Timestamp,
        answer: &InterruptAnswered,
        raised: Option<InterruptRaised>,
    ) -> Result<(), Violation> {
        let shown = || format!("{}: {:?} to {}", self.id, answer.choice, answer.interrupt);
        let in_time = raised.is_some_and(|raised| raised.expires_at.is_none_or(|hour| at < hour));
        holds(in_time, "an answer counts while its question is open", shown)?;
        let new = (answer.interrupt.clone(), answer.by.actor.clone());
        let again = !self.answered.insert(new) && answer.choice == Choice::Approve;
        holds(!again, "no one approves twice", || format!("{}: {}", self.id, answer.interrupt))
    }

    fn add(&mut self, answer: &InterruptAnswered) {
        let Some(more) = &answer.raise else { return };
        let raised = &mut self.raised;
        raised.agent_hops = raised.agent_hops.saturating_add(more.agent_hops);
        raised.iterations = raised.iterations.saturating_add(more.iterations);
        raised.llm_calls = raised.llm_calls.saturating_add(more.llm_calls);
        raised.wall_time_ms = raised.wall_time_ms.saturating_add(more.wall_time_ms);
        raised.cost = raised.cost.saturating_add(more.cost);
        raised.waiting_ms = raised.waiting_ms.saturating_add(more.waiting_ms);
    }

    /// The open questions, computed from the events alone, are those of a run that was loaded from them.
    pub(crate) fn asks_as(&self, loaded: &Run) -> bool {
        self.open_questions.keys().eq(loaded.interrupts().map(|raised| &raised.interrupt))
    }

    /// Whether the step of the run's own flow that holds this visit is in the part that the run does.
    fn is_in_the_part(&self, visit: &VisitId) -> bool {
        let step = top_step(visit);
        let part = self.replayed.started().and_then(|started| started.part.as_deref());
        part.is_none_or(|part| part.selection.includes(self.replayed.flow(), &step))
    }

    fn attempt_started(&mut self, started: &AttemptStarted) -> Result<(), Violation> {
        let attempt = &started.attempt;
        holds(self.is_in_the_part(&attempt.visit), "no step that is left out ever starts", || {
            format!("{}: {attempt}", self.id)
        })?;
        let first = self.started.insert(attempt.clone(), Arc::new(started.clone())).is_none();
        holds(first, "no attempt is started twice", || format!("{}: {attempt}", self.id))?;
        let open = !self.handoffs.contains(&attempt.visit);
        holds(open, "a visible visit never runs again", || format!("{}: {attempt}", self.id))?;
        let unverified = self.unverified.remove(&attempt.visit);
        holds(started.verifies == unverified, "what is to be verified is not run again before that", || {
            format!("{}: {attempt} begins, and {unverified:?} is to be verified", self.id)
        })?;
        let limits = self.replayed.flow().limits.clone();
        let hops = self.hops();
        let more = &self.raised;
        let below =
            |used: u64, max: Option<u64>, more: u64| max.is_none_or(|max| used < max.saturating_add(more));
        let within = below(hops.saturating_sub(1), limits.agent_hops, more.agent_hops)
            && below(self.uses.wall_time_ms(), limits.wall_time_ms, more.wall_time_ms)
            && self.uses.leaves_room(&limits, more, started.reserved.unwrap_or_default());
        holds(within, "nothing starts past a bound", || format!("{}: {attempt}", self.id))?;
        let step = self.replayed.step(&attempt.visit);
        let own = started.verifies.is_none();
        let budget = step.map(|step| step.budget).filter(|budget| own && *budget != Budget::default());
        holds(started.reserved == budget, "a budget is reserved before a start", || {
            format!("{}: {attempt}: {:?}", self.id, started.reserved)
        })?;
        self.uses.reserve(attempt, budget);
        Ok(())
    }

    /// Attempts that count.
    fn hops(&self) -> u64 {
        u64::try_from(self.started.len()).unwrap_or(u64::MAX).saturating_sub(self.refused)
    }

    fn call_begins(&mut self, begun: &ModelCallStarted) -> Result<(), Violation> {
        let shown = || format!("{}: {} of {:?}", self.id, begun.call, begun.attempt);
        let live = begun.attempt.as_ref().filter(|attempt| self.live.contains(*attempt));
        holds(live.is_some(), "only a live attempt calls a model", shown)?;
        let limits = &self.replayed.flow().limits;
        let within = live.is_some_and(|attempt| self.uses.may_call(limits, &self.raised, attempt));
        holds(within, "no call begins past a bound", shown)?;
        let first = self.uses.call_begins(begun);
        holds(first, "a call begins once", || format!("{}: {}", self.id, begun.call))
    }

    fn attempt_settled(&mut self, settled: &AttemptSettled) -> Result<(), Violation> {
        let attempt = &settled.attempt;
        if settled.taken.is_some() {
            let outside = !self.is_in_the_part(&attempt.visit);
            return holds(outside, "only a step that is left out has the result of another run", || {
                format!("{}: {attempt}", self.id)
            });
        }
        let fair = self.uses.settles(settled);
        holds(fair, "an overrun is a failure", || settled.attempt.to_string())?;
        if settled.late {
            return Ok(());
        }
        self.refused = self.refused.saturating_add(u64::from(settled.throttled.is_some()));
        let known = self.started.contains_key(attempt) && self.settled.insert(attempt.clone());
        holds(known, "an attempt settles once, after its start", || format!("{}: {attempt}", self.id))?;
        if matches!(settled.outcome, Outcome::InDoubt { .. }) {
            self.in_doubt = self.in_doubt.saturating_add(1);
            let step = self.replayed.step(&attempt.visit);
            let policy = step.map(|step| &step.on_in_doubt);
            let verifies = self.started.get(attempt).is_some_and(|started| started.verifies.is_some());
            if matches!(policy, Some(InDoubtPolicy::Verify(_))) && !verifies {
                self.unverified.insert(attempt.visit.clone(), attempt.clone());
            }
        }
        Ok(())
    }

    fn routed(&mut self, course: &Course) -> Result<(), Violation> {
        if let Course::LoopBack(_) = course {
            self.iterations = self.iterations.saturating_add(1);
        }
        let within = self
            .replayed
            .flow()
            .limits
            .iterations
            .is_none_or(|max| self.iterations <= max.saturating_add(self.raised.iterations));
        holds(within, "no loop goes back past a bound", || format!("{}: {}", self.id, self.iterations))
    }

    fn ledger_agrees(&self) -> Result<(), Violation> {
        let ledger = self.replayed.ledger();
        let hops = self.hops();
        let kept = (ledger.agent_hops, ledger.iterations, ledger.llm_calls, ledger.wall_time_ms, ledger.cost);
        let uses = &self.uses;
        let expected = (hops, self.iterations, uses.calls(), uses.wall_time_ms(), uses.cost());
        let same = kept == expected;
        holds(same, "budgets survive", || format!("{}: {kept:?}, not {expected:?}", self.id))
    }

    /// A snapshot, written and read, is the state.
    pub(crate) fn check_snapshot(&self) -> Result<(), Violation> {
        let written = self.replayed.snapshot();
        let restored = written.and_then(|kept| Run::restore(self.replayed.versions().clone(), &kept));
        let same = restored.is_ok_and(|run| run == self.replayed);
        holds(same, "a snapshot gives the state it was taken of", || self.id.to_string())
    }

    /// Whether the journal holds what the engine has acknowledged.
    pub(crate) fn holds(&self, errand: &Errand) -> bool {
        match errand {
            Errand::Begin => self.replayed.started().is_some(),
            Errand::Adopt | Errand::TakeUp(_) => true,
            Errand::Answer(interrupt, by) => self.answered.contains(&(interrupt.clone(), by.clone())),
            Errand::ModelCall(call) => self.uses.has_begun(call),
            Errand::ModelCalled(call) => !self.uses.is_under_way(call),
            Errand::Cancel => self.cancelled,
            Errand::Reopen => self.reopened > 0,
            Errand::Correct => self.to_be_corrected,
            Errand::TryNow(id) => self.tried.contains(id),
        }
    }
}

/// An event as a line that is equal in all worlds in which the run went the same way.
fn story_line(event: &Event) -> String {
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
        Event::ModelCallStarted(begun) => format!("{name} {:?}", begun.attempt),
        Event::ModelCallEnded(ended) => format!("{name} {:?} {:?}", ended.attempt, ended.outcome),
        Event::RunReopened(reopened) => format!("{name} {}", reopened.step),
        Event::FlowCorrected(correction) => format!("{name} {:?}", correction.from),
        Event::RunForked(forked) => format!("{name} {} {}", forked.from, forked.step),
        Event::RunEnded(ended) => format!("{name} {:?} {}", ended.status, ended.terminal_reason),
        _ => name.to_owned(),
    }
}
