//! A run: its messages, its decisions, and the messages to others that follow.
//!
//! Owns the rules between a run and the workers that have its attempts. The kernel decides what happens next;
//! this object calls it once for each message, and compares what the run wants before and after. It sends
//! only the difference: timers, a request for a slot, a message to the workers that gained something or have
//! nothing left. So a repeated message has no effect, because the kernel refuses it.
//!
//! It stores only the control state. The replicas show the run, from the commits that are sent to them.

use crate::{
    message::{Caller, Commit, FreeSlot, Message, Sent, ToDispatcher, ToRun, ToWorkerSlot, Wanted},
    place::{Place, WorkerId},
    seen::Seen,
};
use envoi_contract::{
    json::{Object, Value},
    time::Timestamp,
};
use envoi_kernel::{
    Event, Input, Record, Refusal, ReplayError, Run, Wants,
    event::AttemptStarted,
    flow::Versions,
    ids::{AttemptId, RunId, Seq},
    input::{AttemptResult, Slot},
};
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// The state of a run's object; small, however long the run is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct State {
    /// [`Run::control_snapshot`]. `None` before the run begins.
    control: Option<Vec<u8>>,
    offers: Offers,
}

/// The workers' slots that a run has used.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Offers {
    /// The used offers of each worker.
    used: BTreeMap<WorkerId, Seen>,
    /// How many attempts in a row the run has started on a worker in a slot that it kept.
    in_a_row: BTreeMap<WorkerId, u32>,
}

/// How many further attempts a run may start in a slot that was granted to it. After that another run has its
/// turn, if one is waiting.
const IN_A_ROW: u32 = 8;

impl State {
    /// Joins the parts that a platform stores separately: the control state as bytes, and the offers.
    #[must_use]
    pub const fn of(control: Option<Vec<u8>>, offers: Offers) -> Self {
        Self { control, offers }
    }

    /// The inverse of [`State::of`]. A run that has not begun has no bytes.
    #[must_use]
    pub fn into_parts(self) -> (Option<Vec<u8>>, Offers) {
        (self.control, self.offers)
    }

    /// The run, without its view.
    ///
    /// # Errors
    /// [`ReplayError`]: the state belongs to another flow, or was written by another version.
    pub fn run(&self, flow: &Versions) -> Result<Run, ReplayError> {
        match &self.control {
            None => Ok(Run::without_view(flow.clone())),
            Some(control) => Run::restore_control(flow.clone(), control),
        }
    }
}

/// The answer to a worker, a person or a client.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// The message was accepted.
    Taken,
    /// The message was refused, and nothing has changed. A worker that settles an attempt a second time gets
    /// this answer, which shows that the first one was accepted.
    Refused(Box<Refusal>),
    /// The attempt is not on the worker that reports it.
    Elsewhere,
}

/// The effects of a message.
#[derive(Debug, Clone, PartialEq)]
pub struct Handled {
    /// The new state of the run.
    pub state: State,
    /// Messages to send, once the state is stored.
    pub sent: Vec<Sent>,
    /// The answer.
    pub reply: Reply,
    /// The state that is wanted on the calling worker; empty for other callers.
    pub wanted: Wanted,
}

/// Handles a message that was sent at `at`. The run's own time never goes back.
///
/// # Errors
/// [`ReplayError`]: the state is not one of this run. Nothing has changed. It is a bug of the platform or of
/// this code.
pub fn handle(
    run: &RunId,
    state: State,
    flow: &Versions,
    message: ToRun,
    at: Timestamp,
) -> Result<Handled, ReplayError> {
    let now = state.run(flow)?;
    let before = Picture::of(&now);
    let mut turn =
        Turn { id: run, run: now, at, state, records: Vec::new(), sent: Vec::new(), announces: false };
    let caller = caller(&message).cloned();
    if let Some(caller) = &caller {
        // Attempts of a lost incarnation are no longer wanted, whichever message arrives first.
        turn.lose(&caller.place.worker, caller.lost)?;
    }
    let reply = turn.take(message)?;
    turn.send_difference(&before);
    let wanted = caller.map(|caller| turn.wanted(&caller.place.worker)).unwrap_or_default();
    let Turn { run, mut state, sent, records, .. } = turn;
    if !records.is_empty() {
        state.control = Some(run.control_snapshot()?);
    }
    Ok(Handled { state, sent, reply, wanted })
}

fn caller(message: &ToRun) -> Option<&Caller> {
    match message {
        ToRun::Settled { caller, .. } | ToRun::InDoubt { caller, .. } | ToRun::Look { caller } => {
            Some(caller)
        }
        ToRun::Input(_) | ToRun::SlotFree(_) | ToRun::Lost { .. } => None,
    }
}

/// The values that are compared before and after.
struct Picture {
    wants: Wants,
    /// The workers that have attempts of the run, each with the attempts to end there.
    on: BTreeMap<WorkerId, Vec<AttemptId>>,
}

impl Picture {
    fn of(run: &Run) -> Self {
        let wants = run.wants();
        let mut on: BTreeMap<WorkerId, Vec<AttemptId>> = BTreeMap::new();
        for attempt in wants.attempts.iter().chain(&wants.ending) {
            if let Some(place) = place_of(run, attempt) {
                let ends = on.entry(place.worker).or_default();
                if wants.cancelling || wants.ending.contains(attempt) {
                    ends.push(attempt.clone());
                }
            }
        }
        Self { wants, on }
    }
}

/// The place of an attempt that is live, or that was given up and is being ended.
fn place_of(run: &Run, attempt: &AttemptId) -> Option<Place> {
    run.attempt(attempt).and_then(|started| Place::parse(&started.boot_id).ok())
}

struct Turn<'r> {
    id: &'r RunId,
    run: Run,
    at: Timestamp,
    state: State,
    records: Vec<Record>,
    sent: Vec<Sent>,
    /// The dispatcher has offered a slot, and so dropped the run from its queue. A run that still waits must tell the
    /// dispatcher again.
    announces: bool,
}

impl Turn<'_> {
    fn take(&mut self, message: ToRun) -> Result<Reply, ReplayError> {
        match message {
            ToRun::Input(input) => self.decide(*input, None),
            ToRun::SlotFree(slot) => self.slot_free(*slot),
            ToRun::Settled { caller, result } if self.is_there(&result.attempt, &caller.place) => {
                self.settle(&caller.place, result)
            }
            ToRun::InDoubt { caller, attempt, evidence } if self.is_there(&attempt, &caller.place) => {
                self.decide(Input::InDoubt { attempt, evidence }, None)
            }
            ToRun::Settled { .. } | ToRun::InDoubt { .. } => Ok(Reply::Elsewhere),
            ToRun::Look { caller } => {
                if self.wanted(&caller.place.worker) == Wanted::default() {
                    // The worker's object may still list the run because of a grant that arrived after the
                    // run had left.
                    self.left(caller.place.worker);
                }
                Ok(Reply::Taken)
            }
            ToRun::Lost { worker, incarnation } => {
                self.lose(&worker, incarnation)?;
                Ok(Reply::Taken)
            }
        }
    }

    /// Whether this worker may report on the attempt. An unknown attempt is allowed: the kernel refuses it,
    /// or accepts the report as late.
    fn is_there(&self, attempt: &AttemptId, place: &Place) -> bool {
        place_of(&self.run, attempt).is_none_or(|known| known.worker == place.worker)
    }

    fn decide(&mut self, input: Input, slot: Option<Slot>) -> Result<Reply, ReplayError> {
        let mut decided = self.run.decide_next(input, slot, self.at);
        loop {
            match decided {
                // Only the first decision can be refused: a run that was cut short has more to decide.
                Err(refusal) => return Ok(Reply::Refused(Box::new(refusal))),
                Ok(records) => {
                    for record in records {
                        self.run.apply(&record)?;
                        self.records.push(record);
                    }
                }
            }
            if !self.run.is_cut_short() {
                return Ok(Reply::Taken);
            }
            decided = self.run.decide_next(Input::SlotFree, None, self.at);
        }
    }

    fn slot_free(&mut self, slot: FreeSlot) -> Result<Reply, ReplayError> {
        let FreeSlot { place, offer, floor, accounts } = slot;
        self.announces = true;
        if !self.state.offers.used.entry(place.worker.clone()).or_default().take(offer, floor) {
            return Ok(Reply::Taken);
        }
        let kernel_slot = Slot { boot_id: place.to_string(), accounts };
        let reply = self.decide(Input::SlotFree, Some(kernel_slot))?;
        let is_used = self.records.iter().any(|record| matches!(record.event, Event::AttemptStarted(_)));
        let told = match (is_used, self.last_seq()) {
            (true, Some(seq)) => {
                self.state.offers.in_a_row.remove(&place.worker);
                ToWorkerSlot::Granted { run: self.id.clone(), seq, place: place.clone(), offer }
            }
            _ => ToWorkerSlot::Unused { offer },
        };
        self.send(Message::WorkerSlot(place.worker, told));
        Ok(reply)
    }

    /// Settles an attempt, and may start the next one in its slot, in the same commit. The worker learns of
    /// that from the answer.
    ///
    /// Only the end of a live attempt frees a slot: then its worker is not known to be lost. If the worker is
    /// lost later, the message about it finds the next attempt too, and puts it in doubt.
    fn settle(&mut self, place: &Place, result: Box<AttemptResult>) -> Result<Reply, ReplayError> {
        let is_live = self.run.is_live(&result.attempt)
            && place_of(&self.run, &result.attempt).is_some_and(|known| known.worker == place.worker);
        let in_a_row = self.state.offers.in_a_row.get(&place.worker).copied().unwrap_or(0);
        if !is_live || in_a_row >= IN_A_ROW {
            return self.decide(Input::Settled(result), None);
        }
        let slot = Slot::new(place.to_string());
        let tried = self.run.decide(Input::Settled(result.clone()), Some(slot.clone()), self.at);
        let next = tried.into_iter().flatten().find_map(|record| match record.event {
            Event::AttemptStarted(started) => Some(started),
            _ => None,
        });
        // A command that uses an account needs a slot of the dispatcher, which brings the state of the
        // account.
        let slot = next.filter(|next| next.command.account().is_none()).map(|_| slot);
        if slot.is_some() {
            self.state.offers.in_a_row.insert(place.worker.clone(), in_a_row.saturating_add(1));
        }
        self.decide(Input::Settled(result), slot)
    }

    /// Puts the attempts of these incarnations of a worker in doubt: it cannot be known whether they were
    /// started there.
    fn lose(&mut self, worker: &WorkerId, incarnation: u64) -> Result<(), ReplayError> {
        let wants = self.run.wants();
        let lost = |attempt: &&AttemptId| {
            let place = place_of(&self.run, attempt);
            place.is_some_and(|place| place.worker == *worker && place.incarnation <= incarnation)
        };
        let lost: Vec<AttemptId> = wants.attempts.iter().chain(&wants.ending).filter(lost).cloned().collect();
        for attempt in lost {
            let evidence = Value::Object(Object::from([("worker_lost", Value::from(worker.as_str()))]));
            // The attempt may have ended as a result of another one in this loop.
            self.decide(Input::InDoubt { attempt, evidence }, None)?;
        }
        Ok(())
    }

    fn wanted(&self, worker: &WorkerId) -> Wanted {
        let wants = self.run.wants();
        let on_it = |attempt: &AttemptId| -> Option<Arc<AttemptStarted>> {
            let started = self.run.attempt(attempt)?;
            Place::parse(&started.boot_id).ok().filter(|place| place.worker == *worker)?;
            Some(Arc::clone(started))
        };
        let live = wants.attempts.iter().filter_map(on_it);
        let mut wanted = Wanted::default();
        match wants.cancelling {
            true => wanted.end.extend(live.map(|started| started.attempt.clone())),
            false => wanted.run.extend(live),
        }
        wanted.end.extend(wants.ending.iter().filter_map(on_it).map(|started| started.attempt.clone()));
        wanted
    }

    fn send_difference(&mut self, before: &Picture) {
        let after = Picture::of(&self.run);
        if !self.records.is_empty() {
            let commit = Commit { run: self.id.clone(), records: self.records.clone() };
            self.send(Message::Commit(commit));
        }
        let is_ready = !after.wants.ready.is_empty();
        if is_ready && (self.announces || before.wants.ready.is_empty()) {
            let tenant = self.run.started().map(|started| started.by.tenant.clone()).unwrap_or_default();
            self.send(Message::Dispatcher(ToDispatcher::Ready { run: self.id.clone(), tenant }));
        }
        let timers: BTreeSet<_> = before.wants.timers.iter().collect();
        for new in after.wants.timers.iter().filter(|timer| !timers.contains(timer)) {
            self.wake(new.1, Input::TimerDue { timer: new.0.clone() });
        }
        let expiries: BTreeSet<_> = before.wants.expiries.iter().collect();
        for new in after.wants.expiries.iter().filter(|expiry| !expiries.contains(expiry)) {
            self.wake(new.1, Input::Expire { interrupt: new.0.clone() });
        }
        for (worker, ends) in &after.on {
            // A worker learns of new attempts with its slot, so only attempts to end need a message.
            if before.on.get(worker).is_some_and(|were| were != ends) {
                let told = ToWorkerSlot::Changed { run: self.id.clone() };
                self.send(Message::WorkerSlot(worker.clone(), told));
            }
        }
        let gone: Vec<WorkerId> =
            before.on.keys().filter(|worker| !after.on.contains_key(worker)).cloned().collect();
        gone.into_iter().for_each(|worker| self.left(worker));
    }

    /// Sends a message to the run itself, for later.
    fn wake(&mut self, due: Timestamp, input: Input) {
        let left = due.as_millis().saturating_sub(self.at.as_millis());
        let message = Message::Run(self.id.clone(), ToRun::Input(Box::new(input)));
        self.sent.push(Sent { message, after_ms: u64::try_from(left).unwrap_or(0) });
    }

    fn left(&mut self, worker: WorkerId) {
        if let Some(seq) = self.last_seq() {
            let told = ToWorkerSlot::Left { run: self.id.clone(), seq };
            self.send(Message::WorkerSlot(worker, told));
        }
    }

    /// The number of the last event. `None` before the first one.
    fn last_seq(&self) -> Option<Seq> {
        self.run.next_seq().checked_sub(1)
    }

    fn send(&mut self, message: Message) {
        self.sent.push(Sent::now(message));
    }
}
