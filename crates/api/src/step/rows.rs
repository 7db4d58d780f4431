//! The rows of a run's steps. They are made from its events, and updated by further events.
//!
//! Pure: the caller says which attempts are running. The result of a finished visit is the status of its hand-off.
//! The run itself gives the state of an open visit.

use super::{
    CachedFrom, ModelAmounts, StepRow, StepState, StepWait, Steps, Touch, WaitReason, whole, wholes,
};
use crate::{
    cause,
    headline::{Sources, headline},
    words::{head, items, plain},
};
use envoi_contract::{
    handoff::Status as HandoffStatus,
    json::{Object, Value},
    time::Timestamp,
};
use envoi_kernel::{
    Event, Progress, Record, Run,
    event::{
        About, AttemptSettled, Command, HandoffWritten, ModelCallEnded, ModelCallStarted, Outcome,
        is_exhausted,
    },
    ids::{AttemptId, CallId, InterruptId, Seq, StepId, VisitId},
    ledger::Cost,
};
use std::collections::{BTreeMap, BTreeSet};

/// Shorter waits are not shown.
const LEAST_WAIT_MS: i64 = 1_000;
/// The largest number of waits in a row.
const MOST_WAITS: usize = 16;

/// See the module documentation.
#[derive(Debug, Clone, Default)]
pub struct StepRows {
    visits: BTreeMap<VisitId, Visit>,
    /// The visits without a hand-off.
    open: BTreeSet<VisitId>,
    /// The costs of attempts: from metered calls, and from reports.
    costs: BTreeMap<AttemptId, (Option<Cost>, Option<Cost>)>,
    /// Model calls with unknown cost.
    unknown_costs: u64,
    /// The models that the run itself has called, by their names in the configuration, each with its provider.
    models: BTreeMap<Model, ModelUse>,
    /// Calls that have not ended.
    calls: BTreeMap<CallId, Model>,
    /// Attempts that ask a model, until they report the usage.
    asking: BTreeMap<AttemptId, Model>,
    /// Attempts in doubt whose end is still unknown; so is their usage.
    doubted: BTreeSet<AttemptId>,
    next: Seq,
}

/// A model, and its provider if a call named it.
type Model = (String, Option<String>);

/// The usage of a model's calls.
#[derive(Debug, Clone, Default)]
struct ModelUse {
    calls: u64,
    unknown_costs: u64,
    unknown_tokens: u64,
    tokens_in: u64,
    tokens_out: u64,
    cost: Cost,
}

/// A period in which nothing worked on a visit.
#[derive(Debug, Clone, Copy)]
struct Wait {
    from: Timestamp,
    /// `None` if it has not ended.
    until: Option<Timestamp>,
    reason: WaitReason,
}

impl Wait {
    /// The duration in milliseconds. A wait that has not ended is longer than any other.
    fn ms(self) -> i64 {
        self.until.map_or(i64::MAX, |until| until.as_millis().saturating_sub(self.from.as_millis()))
    }
}

impl From<Wait> for StepWait {
    fn from(Wait { from, until, reason }: Wait) -> Self {
        Self { from: from.into(), until: until.map(Into::into), reason }
    }
}

/// The data of a visit from the events.
#[derive(Debug, Clone)]
struct Visit {
    /// The number of visits that began before it.
    order: usize,
    /// The event with which it began.
    first_seq: Seq,
    /// The newest event about it or its children.
    seq: Seq,
    attempts: u32,
    began: Timestamp,
    next_try: Option<Timestamp>,
    /// The ended waits, and the current one.
    waits: Vec<Wait>,
    waiting: Option<Wait>,
    over: Option<Over>,
    /// The sources of its headline from its last attempt, and the reason of a failure.
    sources: Sources,
    failed: Option<String>,
    cost: Option<Cost>,
    /// The visit whose cached result its last attempt used.
    cached_from: Option<CachedFrom>,
    /// For a visit with items: their values.
    values: Option<Vec<String>>,
}

/// The data from its hand-off.
#[derive(Debug, Clone)]
struct Over {
    at: Timestamp,
    state: StepState,
    attempt_ms: u64,
    leads_to: String,
    summary: String,
}

impl StepRows {
    /// The next event. Other events are not taken.
    #[must_use]
    pub fn next(&self) -> Seq {
        self.next
    }

    /// The number of model calls with unknown cost.
    #[must_use]
    pub fn unknown_costs(&self) -> u64 {
        self.unknown_costs
    }

    /// The usage of each model by the run itself.
    #[must_use]
    pub fn by_model(&self) -> Vec<ModelAmounts> {
        let amounts = self.models.iter().map(|((model, provider), used)| ModelAmounts {
            model: model.clone(),
            provider: provider.clone(),
            llm_calls: used.calls,
            unknown_costs: used.unknown_costs,
            unknown_tokens: used.unknown_tokens,
            tokens_in: used.tokens_in,
            tokens_out: used.tokens_out,
            cost_usd: used.cost.to_string(),
        });
        amounts.collect()
    }

    /// The number of attempts in doubt, whose usage is unknown.
    #[must_use]
    pub fn doubted(&self) -> u64 {
        u64::try_from(self.doubted.len()).unwrap_or(u64::MAX)
    }

    /// The number of steps of the run's own flow whose newest visit is over and has not failed.
    #[must_use]
    pub fn steps_done(&self) -> u64 {
        let own = self.visits.iter().filter(|(id, _)| id.scope.is_empty());
        let newest: BTreeMap<&StepId, &Visit> = own.map(|(id, visit)| (&id.step, visit)).collect();
        let is_done =
            |visit: &&Visit| visit.over.as_ref().is_some_and(|over| over.state != StepState::Failed);
        u64::try_from(newest.into_values().filter(is_done).count()).unwrap_or(u64::MAX)
    }

    /// The earliest time of a next try. `run` must have taken the same events.
    #[must_use]
    pub fn next_try(&self, run: &Run) -> Option<Timestamp> {
        let waiting = self.open.iter().filter_map(|id| Some((id, self.visits.get(id)?)));
        let mut waiting = waiting.filter(|(_, visit)| visit.next_try.is_some()).peekable();
        waiting.peek()?;
        let now = Now::of(run, &|_| true);
        let retries = waiting.filter(|(id, visit)| now.state(id, visit) == StepState::Retries);
        retries.filter_map(|(_, visit)| visit.next_try).min()
    }

    /// Takes the next event of the run. Any other event changes nothing.
    pub fn take(&mut self, record: &Record) {
        if record.seq != self.next {
            return;
        }
        self.next = record.seq.saturating_add(1);
        match &record.event {
            Event::AttemptStarted(started) => {
                if let Command::Model(call) = &started.command {
                    self.asking.insert(started.attempt.clone(), (call.model.clone(), None));
                }
                let visit = self.touch(&started.attempt.visit, record, true);
                if let Some(visit) = visit {
                    (visit.attempts, visit.next_try) = (started.attempt.attempt, None);
                    visit.works(record.at);
                }
            }
            Event::AttemptSettled(settled) => self.settled(settled, record),
            Event::ModelCallStarted(started) => self.calls(started),
            Event::ModelCallEnded(ended) => self.called(ended, record),
            // Usage before the fork belongs to the other run.
            Event::RunForked(_) => {
                self.models.clear();
                self.calls.clear();
                self.asking.clear();
            }
            Event::FannedOut(fanned) => {
                let values = fanned.items.iter().map(|value| head(&plain(value))).collect();
                if let Some(visit) = self.touch(&fanned.visit, record, true) {
                    visit.values = Some(values);
                    visit.works(record.at);
                }
            }
            Event::FlowEntered(entered) => {
                if let Some(visit) = self.touch(&entered.visit, record, true) {
                    visit.works(record.at);
                }
            }
            Event::FlowReturned(returned) => drop(self.touch(&returned.visit, record, false)),
            Event::InterruptRaised(raised) => {
                if let Some(visit) = self.touch(&raised.visit, record, true) {
                    visit.waits(record.at, WaitReason::Person);
                }
            }
            Event::TimerSet(timer) => {
                if let Some(visit) = self.touch(&timer.visit, record, false) {
                    visit.next_try = Some(timer.due);
                    let is_account = timer.account.is_some();
                    visit
                        .waits(record.at, if is_account { WaitReason::Account } else { WaitReason::NextTry });
                }
            }
            Event::HandoffWritten(written) => self.handed_over(written, record),
            _ => {}
        }
    }

    /// True if events of this kind may change a row. An empty kind may be any kind.
    #[must_use]
    pub fn are_made_of(kind: &str) -> bool {
        kind.is_empty() || kind == "model_call_started" || Touch::of(kind).is_some()
    }

    /// Skips to the event `next`. All events before it must have been taken, or be of kinds that change no row.
    pub fn pass(&mut self, next: Seq) {
        self.next = self.next.max(next);
    }

    /// Takes an event after the next one. The events between are unknown; nothing in the requested rows depends on
    /// them.
    pub fn take_later(&mut self, record: &Record) {
        self.next = record.seq;
        self.take(record);
    }

    /// Marks a visit and its ancestors as changed. With `begins`, it also creates them if they do not exist.
    fn touch(&mut self, visit: &VisitId, record: &Record, begins: bool) -> Option<&mut Visit> {
        for each in wholes(visit).into_iter().rev() {
            if begins && !self.visits.contains_key(&each) {
                let order = self.visits.len();
                self.open.insert(each.clone());
                self.visits.insert(each.clone(), Visit::new(order, record));
            }
            if let Some(found) = self.visits.get_mut(&each) {
                found.seq = record.seq;
            }
        }
        self.visits.get_mut(visit)
    }

    fn settled(&mut self, settled: &AttemptSettled, record: &Record) {
        let attempt = &settled.attempt;
        match settled.outcome {
            Outcome::InDoubt { .. } => drop(self.doubted.insert(attempt.clone())),
            _ => {
                self.doubted.remove(attempt);
                if let Some(model) = self.asking.remove(attempt) {
                    self.models.entry(model).or_default().take_report(&settled.metrics);
                }
            }
        }
        if let Some(cost) = Cost::of_metrics(&settled.metrics) {
            self.costs.entry(attempt.clone()).or_default().1 = Some(cost);
        }
        let cost = self.cost(&attempt.visit);
        let Some(visit) = self.touch(&attempt.visit, record, false) else { return };
        visit.cost = cost;
        if settled.late {
            return;
        }
        visit.sources = Sources::of(settled);
        visit.failed = cause::of_attempt(settled);
        let from = settled.cache.as_ref().and_then(|cache| cache.from.as_ref());
        visit.cached_from =
            from.map(|from| CachedFrom { run: from.run.clone(), attempt: from.attempt.clone() });
    }

    fn calls(&mut self, started: &ModelCallStarted) {
        let model = (started.model.clone(), Some(started.provider.clone()));
        let used = self.models.entry(model.clone()).or_default();
        used.calls = used.calls.saturating_add(1);
        self.calls.insert(started.call.clone(), model);
    }

    fn called(&mut self, ended: &ModelCallEnded, record: &Record) {
        if ended.cost.is_none() && ended.refused_until.is_none() {
            self.unknown_costs = self.unknown_costs.saturating_add(1);
        }
        let model = self.calls.remove(&ended.call);
        if let Some(used) = model.and_then(|model| self.models.get_mut(&model)) {
            used.take(ended);
        }
        let Some((attempt, more)) = ended.attempt.as_ref().zip(ended.cost) else { return };
        let metered = &mut self.costs.entry(attempt.clone()).or_default().0;
        *metered = Some(metered.unwrap_or_default().saturating_add(more));
        let cost = self.cost(&attempt.visit);
        if let Some(visit) = self.touch(&attempt.visit, record, false) {
            visit.cost = cost;
        }
    }

    /// The cost of a visit. Metered calls and a report count the same calls, so the larger amount counts.
    fn cost(&self, visit: &VisitId) -> Option<Cost> {
        let first = AttemptId { visit: visit.clone(), attempt: 0 };
        let own = self.costs.range(first..).take_while(|(attempt, _)| attempt.visit == *visit);
        own.filter_map(|(_, (metered, reported))| (*metered).max(*reported)).reduce(Cost::saturating_add)
    }

    fn handed_over(&mut self, written: &HandoffWritten, record: &Record) {
        let handoff = &written.handoff;
        self.open.remove(&written.visit);
        let Some(visit) = self.touch(&written.visit, record, true) else { return };
        let summary = match (handoff.status, &handoff.error, &visit.values) {
            (HandoffStatus::Skipped, _, _) => head(&handoff.routing_signal.reason),
            (_, Some(error), _) => cause::of_handoff(error, visit.failed.as_deref()),
            (_, None, Some(values)) if !values.is_empty() => items(values),
            _ => headline(&handoff.summary, &visit.sources),
        };
        visit.works(record.at);
        visit.over = Some(Over {
            at: record.at,
            state: match handoff.status {
                HandoffStatus::Succeeded => StepState::Succeeded,
                HandoffStatus::Failed => StepState::Failed,
                HandoffStatus::Skipped => StepState::Skipped,
            },
            attempt_ms: handoff.duration_ms,
            leads_to: match is_exhausted(&handoff.routing_signal, &handoff.routing_audit) {
                true => "exhausted".to_owned(),
                false => handoff.routing_signal.decision.orchestrator_word().to_owned(),
            },
            summary,
        });
        self.open.remove(&written.visit);
    }

    /// All rows, in the order in which the visits began. `run` must have taken the same events. `is_running` says
    /// whether something works on an attempt.
    #[must_use]
    pub fn all(&self, run: &Run, is_running: &dyn Fn(&AttemptId) -> bool) -> Vec<StepRow> {
        let now = Now::of(run, is_running);
        let mut all: Vec<(&VisitId, &Visit)> = self.visits.iter().collect();
        all.sort_by_key(|(_, visit)| visit.order);
        all.into_iter().map(|(id, visit)| self.row(id, visit, &now)).collect()
    }

    /// The rows that have changed after the event `after`, about `limit` of them. Without `after`, from the
    /// beginning.
    #[must_use]
    pub fn page(
        &self,
        run: &Run,
        is_running: &dyn Fn(&AttemptId) -> bool,
        after: Option<Seq>,
        limit: usize,
    ) -> Steps {
        let now = Now::of(run, is_running);
        let has_changed = |seq: Seq| after.is_none_or(|after| seq > after);
        let mut changed: Vec<(&VisitId, &Visit)> =
            self.visits.iter().filter(|(_, visit)| has_changed(visit.seq)).collect();
        changed.sort_by_key(|(_, visit)| (visit.seq, visit.order));
        // Rows that the same event changed stay on one page, because the next page begins after that event.
        let mut end = limit.min(changed.len());
        let seq_at = |at: usize| changed.get(at).map(|(_, visit)| visit.seq);
        while end > 0 && end < changed.len() && seq_at(end) == seq_at(end.saturating_sub(1)) {
            end = end.saturating_add(1);
        }
        let next = (end < changed.len()).then(|| seq_at(end.saturating_sub(1))).flatten();
        let mut steps: Vec<StepRow> =
            changed.iter().take(end).map(|(id, visit)| self.row(id, visit, &now)).collect();
        if next.is_none() {
            let unchanged = self.open.iter().filter_map(|id| Some((id, self.visits.get(id)?)));
            let unchanged = unchanged.filter(|(_, visit)| !has_changed(visit.seq));
            steps.extend(unchanged.map(|(id, visit)| self.row(id, visit, &now)));
        }
        Steps { steps, next, newest: self.next.saturating_sub(1) }
    }

    fn row(&self, id: &VisitId, visit: &Visit, now: &Now<'_>) -> StepRow {
        let item = id.item();
        let value = item.and_then(|item| usize::try_from(item).ok()).and_then(|item| {
            self.visits.get(&id.whole()).and_then(|whole| whole.values.as_ref()?.get(item)).cloned()
        });
        let over = visit.over.as_ref();
        let state = over.map_or_else(|| now.state(id, visit), |over| over.state);
        let summary = match over {
            Some(over) => over.summary.clone(),
            None => now.progress(id).or_else(|| visit.failed.clone()).unwrap_or_default(),
        };
        StepRow {
            place: id.to_string(),
            part_of: whole(id).map(|whole| whole.to_string()),
            step: id.step.clone(),
            scope: id.scope.clone(),
            visit: id.visit,
            item,
            value,
            items: visit.values.as_ref().map(|values| u64::try_from(values.len()).unwrap_or(u64::MAX)),
            state,
            attempts: visit.attempts,
            question: now.questions.get(id).map(|(question, _)| (*question).clone()),
            started_at: visit.began.into(),
            ended_at: over.map(|over| over.at.into()),
            next_try_at: visit.next_try.filter(|_| state == StepState::Retries).map(Into::into),
            waits: visit.all_waits(state == StepState::Ready),
            took_ms: over.map(|over| visit.took_ms(over)),
            cost_usd: visit.cost.map(|cost| cost.to_string()),
            cached_from: visit.cached_from.clone(),
            leads_to: over.map(|over| over.leads_to.clone()),
            summary,
            first_seq: visit.first_seq,
            seq: visit.seq,
        }
    }
}

impl ModelUse {
    /// Takes the report of an attempt that asks only this model.
    fn take_report(&mut self, metrics: &Object) {
        let count = |name: &str| metrics.get(name).and_then(Value::as_u53);
        let calls = count("llm_calls").unwrap_or(0);
        let (tokens_in, tokens_out, cost) =
            (count("tokens_in"), count("tokens_out"), Cost::of_metrics(metrics));
        let if_unknown = |is_unknown: bool| if is_unknown { calls } else { 0 };
        self.calls = self.calls.saturating_add(calls);
        self.unknown_costs = self.unknown_costs.saturating_add(if_unknown(cost.is_none()));
        let is_uncounted = tokens_in.is_none() || tokens_out.is_none();
        self.unknown_tokens = self.unknown_tokens.saturating_add(if_unknown(is_uncounted));
        self.tokens_in = self.tokens_in.saturating_add(tokens_in.unwrap_or(0));
        self.tokens_out = self.tokens_out.saturating_add(tokens_out.unwrap_or(0));
        self.cost = self.cost.saturating_add(cost.unwrap_or_default());
    }

    fn take(&mut self, ended: &ModelCallEnded) {
        self.unknown_costs = self.unknown_costs.saturating_add(u64::from(ended.cost.is_none()));
        let is_uncounted = ended.tokens_in.is_none() || ended.tokens_out.is_none();
        self.unknown_tokens = self.unknown_tokens.saturating_add(u64::from(is_uncounted));
        self.tokens_in = self.tokens_in.saturating_add(ended.tokens_in.unwrap_or(0));
        self.tokens_out = self.tokens_out.saturating_add(ended.tokens_out.unwrap_or(0));
        self.cost = self.cost.saturating_add(ended.cost.unwrap_or_default());
    }
}

impl Visit {
    fn new(order: usize, record: &Record) -> Self {
        Self {
            order,
            first_seq: record.seq,
            seq: record.seq,
            attempts: 0,
            began: record.at,
            next_try: None,
            waits: Vec::new(),
            waiting: None,
            over: None,
            sources: Sources::default(),
            failed: None,
            cost: None,
            cached_from: None,
            values: None,
        }
    }

    /// Starts a wait: from now on nothing works on the visit.
    fn waits(&mut self, from: Timestamp, reason: WaitReason) {
        self.works(from);
        self.waiting = Some(Wait { from, until: None, reason });
    }

    /// Ends the wait: from now on something works on the visit, or it is over.
    fn works(&mut self, at: Timestamp) {
        let Some(waiting) = self.waiting.take() else { return };
        let wait = Wait { until: Some(at), ..waiting };
        if wait.ms() < LEAST_WAIT_MS {
            return;
        }
        self.waits.push(wait);
        let shortest = self.waits.iter().enumerate().min_by_key(|(_, wait)| wait.ms());
        if let Some((shortest, _)) = shortest.filter(|_| self.waits.len() > MOST_WAITS) {
            self.waits.remove(shortest);
        }
    }

    /// All waits. A visit that is ready waits for a slot, so its wait for the next try ended when that was due.
    fn all_waits(&self, is_ready: bool) -> Vec<StepWait> {
        let due = self.next_try.filter(|_| is_ready);
        let waiting = self.waiting.map(|wait| match wait.reason {
            WaitReason::NextTry | WaitReason::Account => Wait { until: due, ..wait },
            WaitReason::Person => wait,
        });
        self.waits.iter().copied().chain(waiting).map(StepWait::from).collect()
    }

    fn took_ms(&self, over: &Over) -> u64 {
        match self.attempts {
            0 => u64::try_from(over.at.as_millis().saturating_sub(self.began.as_millis())).unwrap_or(0),
            _ => over.attempt_ms,
        }
    }
}

/// The current state of a run.
struct Now<'r> {
    run: &'r Run,
    questions: BTreeMap<&'r VisitId, (&'r InterruptId, About)>,
    ready: BTreeSet<VisitId>,
    running: BTreeSet<VisitId>,
    left: BTreeSet<VisitId>,
}

impl<'r> Now<'r> {
    fn of(run: &'r Run, is_running: &dyn Fn(&AttemptId) -> bool) -> Self {
        let wants = run.wants();
        let (running, left): (Vec<_>, Vec<_>) = wants.attempts.into_iter().partition(is_running);
        let visits = |attempts: Vec<AttemptId>| attempts.into_iter().map(|attempt| attempt.visit).collect();
        let questions = run.interrupts().map(|raised| (&raised.visit, (&raised.interrupt, raised.about)));
        Self {
            run,
            questions: questions.collect(),
            ready: wants.ready.into_iter().collect(),
            running: visits(running),
            left: visits(left),
        }
    }

    fn state(&self, id: &VisitId, visit: &Visit) -> StepState {
        match self.questions.get(id) {
            Some((_, About::InDoubt)) => StepState::InDoubt,
            Some(_) => StepState::Asks,
            None if self.running.contains(id) => StepState::Running,
            None if self.left.contains(id) => StepState::Left,
            None if self.ready.contains(id) => StepState::Ready,
            None if visit.next_try.is_some() => StepState::Retries,
            None => StepState::Open,
        }
    }

    fn progress(&self, id: &VisitId) -> Option<String> {
        let Progress { items, over, failed } = self.run.progress(id)?;
        let failed = if failed > 0 { format!(", {failed} failed") } else { String::new() };
        let running = self.running.iter().filter(|running| running.is_part_of(id)).count();
        Some(format!("{over} of {items} items{failed}, {running} running"))
    }
}
