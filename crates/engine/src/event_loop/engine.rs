//! The one loop: read, decide, commit, reconcile.
//!
//! Owns no decision about a run (that is the kernel) and nothing that lasts (that is the journal). It feeds runs with
//! inputs one at a time, has their events committed, and only then applies them, shows them and starts what they ask for.
//! It compares what a run wants with what is running and closes the gap; coming up after a crash is the first turn of the
//! same loop. Clock, log, runner and observer are arguments, so that the same code runs in simulation.

mod set_aside;
mod slots;

use crate::{
    event_loop::{
        active_run::{Active, InFlight, Request},
        alarms::Alarms,
        outbox::Outbox,
        outputs,
    },
    model::{
        claim::Claim,
        clock::Now,
        message::{self, Adopt, Ask, Begin, Branch, EngineError, Message, Purpose, Reply},
        runner::{CallingAttempt, Clock, Log, Observer, Runner, Settlement},
        trouble::{Trouble, TroubleKind, guarded},
    },
};
use envoi_journal::{CommitError, Receipt};
use envoi_kernel::{
    Event, Input, Record, Refusal, Run, Status,
    ids::{AttemptId, CallId, RunId},
    input::{ModelCalled, Slot},
};
use set_aside::{Left, SetAside, was_left};
use slots::{Slots, with_slot};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

/// The world around the loop.
pub struct World {
    /// The time.
    pub clock: Box<dyn Clock>,
    /// Where commits go.
    pub log: Box<dyn Log>,
    /// Where attempts run.
    pub runner: Box<dyn Runner>,
    /// Who is told.
    pub observer: Box<dyn Observer>,
}

/// See the module.
pub struct Engine {
    world: World,
    runs: BTreeMap<RunId, Active>,
    /// Runs that something is wrong with, until they are tried again.
    aside: BTreeMap<RunId, SetAside>,
    /// Attempts of such runs that go on.
    left: Left,
    /// Calls of models that have begun through this engine and are not known to be over.
    calls: BTreeSet<CallId>,
    slots: Slots,
    /// The earliest timer of each run that has one.
    timers: Alarms,
    /// When a question of each run lapses next.
    expiries: Alarms,
    commits_under_way: usize,
    draining: bool,
    stopped: Option<EngineError>,
    /// Who is told besides those whom flows name.
    outbox: Outbox,
}

impl Engine {
    /// A loop that holds no run. At most `jobs` attempts run at once, at least one.
    #[must_use]
    pub fn new(world: World, jobs: usize) -> Self {
        Self {
            world,
            runs: BTreeMap::new(),
            aside: BTreeMap::new(),
            left: Left::new(),
            calls: BTreeSet::new(),
            slots: Slots::new(jobs),
            timers: Alarms::default(),
            expiries: Alarms::default(),
            commits_under_way: 0,
            draining: false,
            stopped: None,
            outbox: Outbox::default(),
        }
    }

    /// These are told of every run as well.
    #[must_use]
    pub(crate) fn with_outbox(mut self, outbox: Outbox) -> Self {
        self.outbox = outbox;
        self
    }

    /// Takes one message and does all that follows from it. After [`Engine::stopped`] nothing does.
    pub fn handle(&mut self, message: Message) {
        if let Some(error) = &self.stopped {
            refuse(message, error.clone());
            return;
        }
        match message {
            Message::Begin(begin) => self.begin(*begin),
            Message::Fork(branch) => self.fork(*branch),
            Message::Adopt(adopt) => self.adopt(*adopt),
            Message::Ask { run, ask, reply } => self.ask(run, ask, reply),
            Message::IsLive { run, attempt, reply } => {
                reply(self.runs.get(&run).map(|active| active.run.is_live(&attempt)));
            }
            Message::Committed { run, result } => self.committed(&run, result),
            Message::Settled { run, attempt, settlement } => self.settled(&run, &attempt, settlement),
            Message::Noted { note, result } => self.noted(note, result),
            Message::Troubled { run, trouble } => self.troubled(&run, trouble),
            Message::Unloadable { run, trouble, reply } => self.refuse_to_load(&run, &trouble, reply),
            Message::Wake => self.wake(),
            Message::Drain => self.draining = true,
        }
        self.serve_waiting();
    }

    /// How long it is until [`Message::Wake`] is due.
    #[must_use]
    pub fn wakes_in(&self) -> Option<Duration> {
        if self.draining {
            return None;
        }
        let now = self.clocks();
        let next = [self.timers.next_in_ms(now), self.expiries.next_in_ms(now)].into_iter().flatten().min();
        next.map(Duration::from_millis)
    }

    fn clocks(&self) -> Now {
        Now { wall: self.world.clock.now(), steady_ms: self.world.clock.steady_ms() }
    }

    /// Attempts that are live or about to be.
    #[must_use]
    pub fn live(&self) -> usize {
        self.slots.used()
    }

    /// Whether nothing will happen any more unless somebody asks, but that questions lapse: no attempt is live, no commit is
    /// under way, no timer is armed and no visit could start. A question that waits for a month does not keep an engine;
    /// its expiry is applied by whoever is the engine next.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        let nothing_due = self.draining || (self.timers.is_empty() && !self.slots.is_awaited());
        self.slots.used() == 0 && self.commits_under_way == 0 && nothing_due
    }

    /// Whether nothing new is started.
    #[must_use]
    pub fn is_draining(&self) -> bool {
        self.draining
    }

    /// Why the loop has stopped: the store failed, or another engine has taken over.
    #[must_use]
    pub fn stopped(&self) -> Option<&EngineError> {
        self.stopped.as_ref()
    }

    /// The run, if this engine holds it.
    #[must_use]
    pub fn run(&self, id: &RunId) -> Option<&Run> {
        self.runs.get(id).map(|active| &active.run)
    }

    /// Runs that this engine holds.
    pub fn runs(&self) -> impl Iterator<Item = (&RunId, &Run)> {
        self.runs.iter().map(|(id, active)| (id, &active.run))
    }

    fn begin(&mut self, begin: Begin) {
        let Begin { run, mut start, pinned, caller, reply } = begin;
        start.slot = None;
        let active = Active::new(run, caller, &start.by.tenant).pinned_to(pinned);
        let free = self.check_workspace(Claim::of_start(&start), &active.within, |_| start.shared);
        let id = start.run.clone();
        let request = Request { reply: Some(reply), ..Request::of(Input::Start(Box::new(start))) };
        self.open(id, free, active, request);
    }

    fn fork(&mut self, branch: Branch) {
        let Branch { run, mut fork, pinned, caller, reply } = branch;
        fork.slot = None;
        let active = Active::new(run, caller, &fork.by.tenant).pinned_to(pinned);
        let free = self.check_workspace(Claim::of_fork(&fork), &active.within, |_| fork.shared);
        let id = fork.run.clone();
        let request = Request { reply: Some(reply), ..Request::of(Input::Fork(Box::new(fork))) };
        self.open(id, free, active, request);
    }

    /// A new run, by the request that begins it, if its workspace is `free`.
    fn open(&mut self, id: RunId, free: Result<(), EngineError>, active: Active, request: Request) {
        let refused = |request: Request, error: EngineError| {
            if let Some(reply) = request.reply {
                reply(Err(error));
            }
        };
        if self.runs.contains_key(&id) {
            return refused(request, Refusal::AlreadyStarted.into());
        }
        if self.draining && !self.is_called(&active.within) {
            let reason = "it was asked to start nothing new".to_owned();
            return refused(request, EngineError::Stopping { reason });
        }
        if let Err(busy) = free {
            return refused(request, busy);
        }
        self.runs.insert(id.clone(), active);
        self.push(&id, request);
    }

    fn adopt(&mut self, adopt: Adopt) {
        let Some(id) = adopt.run.started().map(|started| started.run.clone()) else {
            return (adopt.reply)(Err(EngineError::Stopping { reason: "the run has no events".to_owned() }));
        };
        if let Some(adopt) = self.adopt_aside(&id, adopt) {
            self.adopt_held(adopt);
        }
    }

    /// Adopts a run that is not aside.
    fn adopt_held(&mut self, adopt: Adopt) {
        let Adopt { run, asks, purpose, again, tail_bytes, caller, reply } = adopt;
        let begun = run.started().map(|started| (started.run.clone(), started.by.tenant.clone()));
        let Some((id, tenant)) = begun else { return };
        // A run that this engine does not hold may have come to its end here since it was loaded: the journal knows.
        let known = match self.runs.get(&id) {
            Some(active) => Ok(active.run.next_seq()),
            None => self.world.log.next_seq(&id),
        };
        match known {
            Ok(next) if run.next_seq() < next => return reply(Err(EngineError::Stale { run: id })),
            Ok(_) => {}
            Err(reason) => return reply(Err(EngineError::Unread { run: id, reason })),
        }
        // One that has a live attempt there is there, whatever anybody says.
        let may_stay = purpose != Purpose::GoOn || !run.wants().attempts.is_empty();
        let free = run.started().map(Claim::of).map_or(Ok(()), |claim| {
            self.check_workspace(claim, &caller.within, |other| claim.shared || other || may_stay)
        });
        if let Err(busy) = free {
            return reply(Err(busy));
        }
        let decides = !asks.is_empty() && purpose == Purpose::GoOn;
        let is_new = !self.runs.contains_key(&id);
        let active = self
            .runs
            .entry(id.clone())
            .or_insert_with(|| Active::new(run, Arc::clone(&caller), &tenant).weighing(tail_bytes));
        let goes_on = purpose != Purpose::Decide && (is_new || active.halted);
        active.halted = purpose == Purpose::Decide && (is_new || active.halted);
        if !caller.within.is_empty() {
            active.within.clone_from(&caller.within);
        }
        // Who only looks on does not change what the commands of a run that goes on may see.
        if decides {
            active.caller = caller;
        }
        if is_new {
            let lost = lost_calls(&active.run, &self.calls);
            active.requests.extend(lost.map(|call| Request::of(Input::ModelCalled(Box::new(call)))));
        }
        let replies = message::all_of(reply, asks.len());
        let requests = asks.into_iter().zip(replies);
        active
            .requests
            .extend(requests.map(|(ask, reply)| Request { reply: Some(reply), ..Request::of(input(ask)) }));
        // That it is tried again has said so already.
        if goes_on && !again {
            self.note_held(&id);
        }
        self.arm(&id);
        self.turn(&id);
    }

    /// Brings the loop's timers up to those of a run. A question lapses although nothing else of the run goes on.
    fn arm(&mut self, id: &RunId) {
        let now = self.clocks();
        let Some(active) = self.runs.get_mut(id) else { return };
        let wants = active.run.wants();
        let from = (active.time(now), now);
        let timer = wants.timers.iter().map(|(_, due)| *due).min().filter(|_| !active.halted);
        self.timers.set(id, timer, from);
        self.expiries.set(id, wants.expiries.iter().map(|(_, at)| *at).min(), from);
    }

    /// A run that goes on where another one works is refused, unless it is `agreed`, given whether that other one shares.
    /// Who begins has to share knowingly; for runs that go on it is enough that either once did. A run that was called by
    /// a step of the other one works for it.
    fn check_workspace(
        &self,
        claim: Claim<'_>,
        within: &[CallingAttempt],
        agreed: impl Fn(bool) -> bool,
    ) -> Result<(), EngineError> {
        let there = |active: &Active| {
            let other = Claim::of(active.run.started()?);
            let works = active.run.status() == Status::Running && !Claim::is_called_by(within, other.run);
            let busy = works && claim.collides(&other) && !agreed(other.shared);
            busy.then(|| EngineError::WorkspaceBusy {
                run: other.run.clone(),
                workspace: other.workspace.to_owned(),
                wanted: claim.workspace.to_owned(),
            })
        };
        self.runs.values().find_map(there).map_or(Ok(()), Err)
    }

    fn ask(&mut self, id: RunId, ask: Ask, reply: Reply) {
        if !self.runs.contains_key(&id) {
            return reply(Err(EngineError::NotHeld { run: id }));
        }
        self.push(&id, Request { reply: Some(reply), ..Request::of(input(ask)) });
    }

    fn settled(&mut self, id: &RunId, attempt: &AttemptId, settlement: Settlement) {
        if was_left(&mut self.left, id, attempt) {
            // Its folder still says everything, for whoever takes the run up.
            return;
        }
        let Some(active) = self.runs.get_mut(id) else { return };
        if !active.live.remove(attempt) {
            return;
        }
        self.slots.give_back(&active.tenant);
        self.slots.end_loans(&CallingAttempt { run: id.clone(), attempt: attempt.clone() });
        let (input, blobs) = match settlement {
            Settlement::Finished { mut result, blobs } => {
                result.misfit =
                    active.run.step(&attempt.visit).and_then(|step| outputs::misfit(step, &result));
                (Input::Settled { result, slot: None }, blobs)
            }
            Settlement::InDoubt { evidence } => {
                (Input::InDoubt { attempt: attempt.clone(), evidence, slot: None }, Vec::new())
            }
            Settlement::Unknown { trouble } => {
                let reason = format!("attempt `{attempt}`: {}", trouble.reason);
                return self.set_aside(id, Trouble { reason, ..trouble });
            }
        };
        self.push(id, Request { input, blobs, reply: None });
    }

    /// Serves the runs whose time has come. Where a commit of one is under way, it is armed anew after that.
    fn wake(&mut self) {
        let now = self.clocks();
        while let Some(id) = self.timers.pop(now).or_else(|| self.expiries.pop(now)) {
            self.turn(&id);
        }
    }

    fn push(&mut self, id: &RunId, request: Request) {
        if let Some(active) = self.runs.get_mut(id) {
            active.requests.push_back(request);
        }
        self.turn(id);
    }

    /// One run: take the next request, else close the gap between what it wants and what is.
    fn turn(&mut self, id: &RunId) {
        while self.stopped.is_none() {
            let Some(active) = self.runs.get_mut(id) else { return };
            if active.in_flight.is_some() {
                return;
            }
            let request = match active.requests.pop_front() {
                Some(request) => request,
                None => match guarded("what the run wants", || self.reconcile(id)) {
                    Ok(Some(request)) => request,
                    Ok(None) => return,
                    Err(trouble) => return self.set_aside(id, trouble),
                },
            };
            self.decide(id, request);
        }
    }

    /// Decides and submits; a refused request is answered and forgotten.
    fn decide(&mut self, id: &RunId, request: Request) {
        let Request { input, blobs, reply } = request;
        let Some(active) = self.runs.get(id) else { return };
        let tenant = Arc::clone(&active.tenant);
        let slot = if active.halted { None } else { self.take_slot(id, &tenant, &input) };
        let taken = slot.is_some();
        let begins = matches!(input, Input::Start(_) | Input::Fork(_));
        let begun = match &input {
            Input::ModelCall(asked) => Some(asked.call.clone()),
            _ => None,
        };
        if let Input::ModelCalled(told) = &input {
            self.calls.remove(&told.call);
        }
        let now = self.clocks();
        let Some(active) = self.runs.get_mut(id) else { return };
        let time = active.time(now);
        match guarded("a decision", || active.run.decide(with_slot(input, slot), time)) {
            Ok(Ok(records)) => {
                self.calls.extend(begun);
                let deliveries = self.outbox.deliveries(&active.run, id, &records);
                let commit = active.commit(id, &records, blobs, deliveries);
                active.in_flight = Some(InFlight { records, slot: taken, reply });
                self.commits_under_way = self.commits_under_way.saturating_add(1);
                self.world.log.submit(commit);
            }
            Err(trouble) => {
                if taken {
                    self.slots.give_back(&tenant);
                    self.slots.settle_loan(id, None);
                }
                if let Some(reply) = reply {
                    reply(Err(EngineError::Refused(Refusal::Inconsistent {
                        reason: trouble.reason.clone(),
                    })));
                }
                match begins {
                    true => drop(self.runs.remove(id)),
                    false => self.set_aside(id, trouble),
                }
            }
            Ok(Err(refusal)) => {
                if begins {
                    self.runs.remove(id);
                }
                // Who adopted a run that is over, for something that is refused, does not keep it.
                self.forget_if_over(id);
                if taken {
                    self.slots.give_back(&tenant);
                    self.slots.settle_loan(id, None);
                }
                match reply {
                    Some(reply) => reply(Err(refusal.into())),
                    // The state of a run contradicts itself: what was to be told must not be lost in silence.
                    None if matches!(refusal, Refusal::Inconsistent { .. }) => {
                        self.set_aside(id, Trouble::new(TroubleKind::Inconsistent, refusal.to_string()));
                    }
                    None => {}
                }
            }
        }
    }

    fn committed(&mut self, id: &RunId, result: Result<Receipt, CommitError>) {
        let Some(active) = self.runs.get_mut(id) else { return };
        let tenant = Arc::clone(&active.tenant);
        let Some(in_flight) = active.in_flight.take() else { return };
        let InFlight { records, slot, reply } = in_flight;
        self.commits_under_way = self.commits_under_way.saturating_sub(1);
        let receipt = match result {
            Ok(receipt) => receipt,
            Err(error) => {
                let of_the_run =
                    matches!(error, CommitError::Conflict { .. } | CommitError::Malformed { .. });
                let error = EngineError::from(error);
                if let Some(reply) = reply {
                    reply(Err(error.clone()));
                }
                if !of_the_run {
                    return self.stop(error);
                }
                if slot {
                    self.slots.give_back(&tenant);
                    self.slots.settle_loan(id, None);
                }
                return self.commit_refused(id, &error);
            }
        };
        if slot {
            self.slots.give_back(&tenant);
            self.slots.settle_loan(id, started_by(&records).first());
        }
        let shown = self.show(id, &records, receipt);
        if let Some(reply) = reply {
            reply(Ok(()));
        }
        let earlier = self.runs.get_mut(id).and_then(|active| active.trouble.take());
        if let Some(trouble) = earlier.or(shown.err()) {
            return self.set_aside(id, trouble);
        }
        self.start(id, &started_by(&records), true);
        self.turn(id);
        self.forget_if_over(id);
    }

    /// The disk is well and does not take what a run wants to write. One that has not begun leaves nothing behind.
    fn commit_refused(&mut self, id: &RunId, error: &EngineError) {
        if self.runs.get(id).is_some_and(|active| active.run.started().is_none()) {
            self.runs.remove(id);
        }
        self.set_aside(id, Trouble::new(TroubleKind::Inconsistent, error.to_string()));
    }

    /// Has live attempts of a run ended.
    fn cancel(&mut self, id: &RunId, is_meant: impl Fn(&AttemptId) -> bool) {
        let Some(active) = self.runs.get_mut(id) else { return };
        for attempt in active.live.iter().filter(|attempt| is_meant(attempt)) {
            if active.cancelled.insert(attempt.clone()) {
                self.world.runner.cancel(id, attempt);
            }
        }
    }

    /// Has these attempts run, unless the runner has been told of them. What a commit announces is started before anything
    /// else is decided: until then nobody would count it, and its slot would be given away. `are_new`: this engine has just
    /// announced them; others may have been started by an engine before it.
    fn start(&mut self, id: &RunId, attempts: &[AttemptId], are_new: bool) {
        let Some(active) = self.runs.get_mut(id) else { return };
        for attempt in attempts {
            if active.live.contains(attempt) {
                continue;
            }
            let Some(job) = active.job(id, attempt, are_new) else { continue };
            active.live.insert(attempt.clone());
            self.slots.take(&active.tenant);
            // One that was left alone when the run was set aside is still waited for.
            if !was_left(&mut self.left, id, attempt) {
                self.world.runner.ensure(job);
            }
        }
    }

    /// An ended run is not kept in memory; whoever reopens it has it adopted again.
    fn forget_if_over(&mut self, id: &RunId) {
        let over = |active: &Active| {
            matches!(active.run.status(), Status::Ended(_))
                && active.live.is_empty()
                && active.in_flight.is_none()
                && active.requests.is_empty()
        };
        if self.runs.get(id).is_some_and(over) {
            self.runs.remove(id);
        }
    }

    /// Applies and shows what is durable.
    fn show(&mut self, id: &RunId, records: &[Record], receipt: Receipt) -> Result<(), Trouble> {
        let Some(active) = self.runs.get_mut(id) else { return Ok(()) };
        let mut talks = active.talks_left_alone(id);
        for record in records {
            talks.extend(active.talk_left_by(id, &record.event));
            let applied = guarded("an event", || active.run.apply(record))?;
            applied.map_err(|error| {
                let seq = record.seq;
                Trouble::new(TroubleKind::Inconsistent, error.to_string())
                    .with_evidence(format!("event {seq}"))
            })?;
        }
        active.after_commit(receipt.events_bytes);
        let withdrawn = talks.into_iter().filter(|job| !active.waits_for(job));
        withdrawn.for_each(|job| self.world.runner.withdraw(job));
        let shown = guarded("showing a run", || self.world.observer.committed(&active.run, records))?;
        self.arm(id);
        shown.map_err(|reason| Trouble::new(TroubleKind::Files, reason))
    }

    /// Starts what the run wants running, and says what it can be told without anybody asking.
    fn reconcile(&mut self, id: &RunId) -> Option<Request> {
        let clocks = self.clocks();
        let active = self.runs.get_mut(id)?;
        let now = active.time(clocks);
        let (wants, halted, tenant) = (active.run.wants(), active.halted, Arc::clone(&active.tenant));
        let lapsed = wants.expiries.iter().find(|(_, at)| *at <= now);
        let lapsed = lapsed.map(|(id, _)| Request::of(Input::Expire { interrupt: id.clone(), slot: None }));
        if halted {
            // Its questions lapse all the same: what that leads to starts when somebody goes on with it.
            return lapsed.filter(|_| !self.draining);
        }
        self.start(id, &wants.attempts, false);
        // After a crash, how an attempt ends that was given up has to be found out first.
        self.start(id, &wants.ending, false);
        self.cancel(id, |attempt| wants.cancelling || wants.ending.contains(attempt));
        if self.draining && !self.runs.get(id).is_some_and(|active| self.is_called(&active.within)) {
            return None;
        }
        if let Some((timer, _)) = wants.timers.iter().find(|(_, due)| *due <= now) {
            return Some(Request::of(Input::TimerDue { timer: timer.clone(), slot: None }));
        }
        if lapsed.is_some() {
            return lapsed;
        }
        if wants.ready.is_empty() {
            return None;
        }
        let is_free = self.slots.is_free() && !self.draining;
        if is_free || self.lender(id).is_some() {
            return Some(Request::of(Input::SlotFree(Slot { boot_id: self.world.clock.boot_id() })));
        }
        self.slots.wait(&tenant, id);
        None
    }

    /// Whether a live attempt of this engine waits for a run that was called `within` it. Such a run goes on although nothing
    /// new is to be started: the attempt could not end otherwise.
    fn is_called(&self, within: &[CallingAttempt]) -> bool {
        let live = |caller: &CallingAttempt| self.runs.get(&caller.run)?.live.get(&caller.attempt);
        within.first().and_then(live).is_some()
    }

    /// The attempt that waits for this run and has its slot to lend.
    fn lender(&self, id: &RunId) -> Option<CallingAttempt> {
        let within = &self.runs.get(id)?.within;
        let lender = within.first().filter(|_| self.is_called(within))?;
        self.slots.may_lend(lender).then(|| lender.clone())
    }

    /// A slot for what may follow from a decision: that of the attempt which waits for the run, or a free one. A run that
    /// goes on leaves a free one to those that have been waiting.
    fn take_slot(&mut self, id: &RunId, tenant: &Arc<str>, input: &Input) -> Option<Slot> {
        if let Some(lender) = self.lender(id) {
            self.slots.lend(lender, id.clone());
            self.slots.take(tenant);
            return Some(Slot { boot_id: self.world.clock.boot_id() });
        }
        let asked = matches!(input, Input::SlotFree(_));
        if self.draining || !self.slots.is_free() || (!asked && self.slots.is_awaited()) {
            return None;
        }
        self.slots.take(tenant);
        Some(Slot { boot_id: self.world.clock.boot_id() })
    }

    fn serve_waiting(&mut self) {
        while self.stopped.is_none() && !self.draining && self.slots.is_free() {
            let Some(id) = self.slots.next() else { break };
            self.turn(&id);
        }
        self.serve_borrowers();
    }

    /// A run that waits although its caller has a slot to lend has its turn, whoever waits before it.
    fn serve_borrowers(&mut self) {
        while self.stopped.is_none() {
            let Some(id) = self.slots.waiting().find(|id| self.lender(id).is_some()).cloned() else { return };
            self.slots.stop_waiting(&id);
            self.turn(&id);
        }
    }

    fn stop(&mut self, error: EngineError) {
        self.stopped = Some(error);
    }
}

fn input(ask: Ask) -> Input {
    match ask {
        Ask::Answer(answer) => Input::Answer { answer, slot: None },
        Ask::Changed { interrupt, found } => Input::Changed { interrupt, found },
        Ask::ModelCall(asked) => Input::ModelCall(asked),
        Ask::ModelCalled(told) => Input::ModelCalled(told),
        Ask::Raise { more, by, why, request, elsewhere } => {
            Input::Raise { more, by, why, request, elsewhere, slot: None }
        }
        Ask::Cancel { by } => Input::Cancel { by },
        Ask::Reopen { by, why, elsewhere } => Input::Reopen { by, why, elsewhere, slot: None },
    }
}

/// Calls of a run from the journal that an engine had begun which is gone: nobody knows any more how they ended.
fn lost_calls(run: &Run, begun_here: &BTreeSet<CallId>) -> impl Iterator<Item = ModelCalled> {
    let lost = run.calls().filter(|(call, _)| !begun_here.contains(call));
    lost.map(|(call, _)| ModelCalled::lost(call.clone()))
}

/// Attempts that these events announce.
fn started_by(records: &[Record]) -> Vec<AttemptId> {
    let announced = |record: &Record| match &record.event {
        Event::AttemptStarted(started) => Some(started.attempt.clone()),
        _ => None,
    };
    records.iter().filter_map(announced).collect()
}

fn refuse(message: Message, error: EngineError) {
    match message {
        Message::Begin(begin) => (begin.reply)(Err(error)),
        Message::Fork(branch) => (branch.reply)(Err(error)),
        Message::Adopt(adopt) => (adopt.reply)(Err(error)),
        Message::Ask { reply, .. } | Message::Unloadable { reply, .. } => reply(Err(error)),
        Message::IsLive { reply, .. } => reply(None),
        Message::Committed { .. }
        | Message::Settled { .. }
        | Message::Noted { .. }
        | Message::Troubled { .. }
        | Message::Wake
        | Message::Drain => {}
    }
}

#[cfg(test)]
mod tests;
