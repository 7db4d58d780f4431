//! A world from its beginning until nothing can happen any more.
//!
//! Owns the choice of the next event. The effects of an engine on the world are in `effects`; crashes,
//! take-overs and other mishaps in `mishap`; the expectations in `checks`; model calls in `called`.

mod called;
mod checks;
mod effects;
mod mishap;

use crate::{
    books::Books,
    calls::{self, Call, Refusals, Request},
    faults::Faults,
    instance::{BEGINNING_MS, Clocks, Ensured, Errand, Instance, Key},
    models::Models,
    night::{Clock, Night},
    plan::Plan,
    questions::Who,
    store::{Fate, SimStore},
    violation::{Violation, holds},
    world::{Found, Outside},
};
use envoi_contract::time::Timestamp;
use envoi_engine::{Adopt, Begin, Caller, Corrected, EngineError, Message, Settlement, Trouble, TroubleKind};
use envoi_journal::{INLINE_MAX_BYTES, Journal};
use envoi_kernel::{
    Event, Input, Record, Refusal, Run, Status,
    ids::{CallId, InterruptId, RunId},
    input::AttemptResult,
};
use envoi_testkit::Dice;
use std::{
    cell::Cell,
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
    sync::Arc,
    time::Duration,
};

/// More happenings than any world of these needs: a world that gets there does not end.
const MOST_HAPPENINGS: u64 = 20_000;

/// See the module.
pub(crate) struct Driver<'p> {
    plan: &'p Plan,
    faults: Faults,
    dice: Dice,
    clocks: Clocks,
    store: SimStore,
    outside: Outside,
    books: BTreeMap<RunId, Books>,
    /// The engine that holds the lease.
    engine: Option<Instance>,
    /// An engine that was suspended and does not know that it has been replaced.
    asleep: Option<Instance>,
    calls: Vec<Call>,
    /// Calls of models that commands make through the engine.
    models: Models,
    /// The providers of agents, and their promises, in a night.
    pub(crate) night: Option<Night>,
    refusals: Refusals,
    /// Answers that the engine has acknowledged.
    taken: BTreeSet<(InterruptId, String)>,
    mishaps: u64,
    /// All that happened, so that a failure can be explained.
    pub(crate) trace: Vec<String>,
    tally: Tally,
}

/// Statistics of a world.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) happenings: u64,
    pub(crate) commits: u64,
    pub(crate) starts: u64,
    pub(crate) engines: u64,
    pub(crate) take_overs: u64,
    pub(crate) in_doubt: u64,
    pub(crate) votes: u64,
    pub(crate) expired: u64,
    pub(crate) snapshots: u64,
    pub(crate) given_up: u64,
    pub(crate) items: u64,
    pub(crate) inner: u64,
    pub(crate) left_out: u64,
    pub(crate) corrected: u64,
    pub(crate) died_correcting: u64,
    pub(crate) died_leaving_out: u64,
    pub(crate) model_calls: u64,
    pub(crate) set_aside: u64,
}

/// How a world ended.
pub(crate) struct End {
    pub(crate) tally: Tally,
    pub(crate) runs: BTreeMap<RunId, RunEnd>,
}

/// How a run ended.
pub(crate) struct RunEnd {
    pub(crate) word: &'static str,
    pub(crate) story: Vec<String>,
    pub(crate) in_doubt: u64,
    pub(crate) timed: bool,
    pub(crate) cancelled: bool,
    pub(crate) may_be_corrected: bool,
    pub(crate) parallel: bool,
    pub(crate) calls_models: bool,
}

/// Something that can happen now.
enum Happening {
    /// The oldest commit meets the disk.
    Persist,
    /// The engine gets the outcome of a commit.
    CommitDone(RunId),
    /// The engine gets the end of an attempt.
    AttemptOver(Key),
    /// A timer is due.
    Wake,
    /// A new run.
    Begin(RunId),
    /// A command begins a call.
    Call(RunId),
    /// A call goes one step on.
    Proceed(usize),
    /// A command asks for a model.
    AskModel(Key),
    /// A model has answered, or cannot be reached.
    ModelAnswers(CallId),
    /// Time passes until something is due.
    Pass(Timestamp),
    /// An engine that was to stop, and has nothing left to do, stops.
    Close,
}

impl<'p> Driver<'p> {
    pub(crate) fn new(plan: &'p Plan, faults: Faults) -> Self {
        Self {
            plan,
            faults,
            dice: Dice::of(plan.seed, &["world", faults.name]),
            clocks: Clocks {
                wall: Rc::new(Cell::new(Timestamp::from_millis(BEGINNING_MS))),
                steady_ms: Rc::default(),
            },
            store: SimStore::default(),
            outside: Outside::default(),
            books: plan
                .runs
                .iter()
                .map(|run| (run.id.clone(), Books::new(&run.id, run.versions())))
                .collect(),
            engine: None,
            asleep: None,
            calls: Vec::new(),
            models: Models::default(),
            night: plan.is_night.then(|| Night::new(plan.seed)),
            refusals: Refusals::default(),
            taken: BTreeSet::new(),
            mishaps: 0,
            trace: Vec::new(),
            tally: Tally::default(),
        }
    }

    /// Lets things happen until nothing can any more.
    pub(crate) fn live(&mut self) -> Result<End, Violation> {
        while self.tally.happenings < MOST_HAPPENINGS {
            self.tally.happenings = self.tally.happenings.saturating_add(1);
            self.come_up();
            self.mishap_between_turns()?;
            self.come_up();
            let Some(happening) = self.next() else { return self.finish() };
            self.happen(happening)?;
            self.check_quiet()?;
        }
        Err(Violation::new("no world turns in circles", format!("{MOST_HAPPENINGS} things have happened")))
    }

    /// The time of the wall clock.
    fn now(&self) -> Timestamp {
        self.clocks.wall.get()
    }

    fn clock(&self) -> Clock {
        Clock { wall: self.now(), steady_ms: self.clocks.steady_ms.get() }
    }

    /// The time of a clock that is never changed. The world outside of the machine uses it.
    fn true_now(&self) -> Timestamp {
        Timestamp::from_millis(BEGINNING_MS).saturating_add_ms(self.clocks.steady_ms.get())
    }

    fn note(&mut self, line: impl Into<String>) {
        let at = self.now().as_millis().saturating_sub(BEGINNING_MS);
        self.trace.push(format!("{at:>6} {}", line.into()));
    }

    fn come_up(&mut self) {
        if self.engine.is_some() {
            return;
        }
        let journal = self.store.take();
        self.note(format!("engine {} comes up", journal.epoch()));
        self.tally.engines = self.tally.engines.saturating_add(1);
        let boot_id = self.outside.boot_id();
        self.engine = Some(Instance::new(journal, &self.clocks, boot_id, self.plan.jobs));
        let clock = self.clock();
        self.night.iter_mut().for_each(|night| night.watch.comes_up(clock));
    }

    /// The next event: any of the possible ones. Sometimes time passes although something else could happen.
    fn next(&mut self) -> Option<Happening> {
        let mut possible = self.possible();
        if let Some(due) = self.next_due()
            && (possible.is_empty() || self.dice.permille(100))
        {
            return Some(Happening::Pass(due));
        }
        if possible.is_empty() {
            return None;
        }
        let place = self.dice.index(possible.len());
        Some(possible.swap_remove(place))
    }

    fn possible(&self) -> Vec<Happening> {
        let Some(instance) = &self.engine else { return Vec::new() };
        let mut possible = Vec::new();
        if self.store.waiting(instance.journal.epoch()) > 0 {
            possible.push(Happening::Persist);
        }
        possible.extend(instance.pending_outcomes().into_iter().map(Happening::CommitDone));
        let over = |(key, ensured): &(&Key, &Ensured)| !ensured.reported && self.outside.is_over(key);
        possible
            .extend(instance.ensured.iter().filter(over).map(|(key, _)| Happening::AttemptOver(key.clone())));
        if instance.engine.wakes_in() == Some(Duration::ZERO) {
            possible.push(Happening::Wake);
        }
        let quiet = possible.is_empty();
        if instance.draining {
            if quiet && instance.engine.is_idle() {
                possible.push(Happening::Close);
            }
            return possible;
        }
        possible.extend(self.model_calls(instance));
        possible.extend(self.plan.runs.iter().filter_map(|run| self.needed(instance, &run.id)));
        let waits = |(_, call): &(usize, &Call)| call.awaits.is_none();
        possible
            .extend(self.calls.iter().enumerate().filter(waits).map(|(place, _)| Happening::Proceed(place)));
        possible
    }

    /// The action from outside that this run needs to continue.
    fn needed(&self, instance: &Instance, run: &RunId) -> Option<Happening> {
        let planned = self.plan.run(run)?;
        let books = self.books.get(run)?;
        if books.replayed.started().is_none() {
            return (!instance.begun.contains(run)).then(|| Happening::Begin(run.clone()));
        }
        if self.calls.iter().any(|call| call.run == *run) {
            return None;
        }
        let abandoned =
            !matches!(books.replayed.status(), Status::Ended(_)) && instance.engine.run(run).is_none();
        let wanted = abandoned
            || self.store.is_aside(run)
            || calls::wanted(self.plan, planned, books, &self.refusals, self.now()).is_some();
        wanted.then(|| Happening::Call(run.clone()))
    }

    fn next_due(&self) -> Option<Timestamp> {
        let now = self.now();
        let wake = self.engine.as_ref().and_then(|instance| instance.engine.wakes_in());
        let wake = wake.and_then(|wait| u64::try_from(wait.as_millis()).ok()).filter(|wait| *wait > 0);
        let wake = wake.map(|wait| now.saturating_add_ms(wait));
        // A command may take no time at all, and still has to end.
        let true_now = self.true_now();
        let end = self.outside.next_end().map(|end| {
            let wait_ms = end.as_millis().saturating_sub(true_now.as_millis());
            now.saturating_add_ms(u64::try_from(wait_ms).unwrap_or(0))
        });
        let looks = self.plan.runs.iter().filter_map(|planned| {
            let books = self.books.get(&planned.id).filter(|books| !books.open_questions.is_empty())?;
            calls::looks_at(self.plan, planned, books).filter(|at| *at > now)
        });
        wake.into_iter().chain(end).chain(looks).min()
    }

    fn happen(&mut self, happening: Happening) -> Result<(), Violation> {
        match happening {
            Happening::Persist => self.persist(),
            Happening::CommitDone(run) => self.commit_done(&run),
            Happening::AttemptOver(key) => self.attempt_over(&key),
            Happening::Wake => self.handle("wake".to_owned(), Message::Wake),
            Happening::Begin(run) => self.begin(&run),
            Happening::Call(run) => self.call(&run),
            Happening::Proceed(place) => self.proceed(place),
            Happening::AskModel(key) => self.ask_model(key),
            Happening::ModelAnswers(call) => self.model_answers(&call),
            Happening::Pass(due) => {
                let passed = due.as_millis().saturating_sub(self.now().as_millis());
                let passed = u64::try_from(passed).unwrap_or(0);
                self.clocks.steady_ms.set(self.clocks.steady_ms.get().saturating_add(passed));
                self.clocks.wall.set(due);
                self.outside.pass(self.true_now());
                Ok(())
            }
            Happening::Close => {
                self.note("the engine has ended");
                self.engine = None;
                self.calls.clear();
                self.models.forget();
                Ok(())
            }
        }
    }

    fn persist(&mut self) -> Result<(), Violation> {
        let fate = self.fate();
        let Some(instance) = &mut self.engine else { return Ok(()) };
        instance.excused |= fate != Fate::Written;
        let Some((run, records)) = self.store.settle_next(instance.journal.epoch(), fate) else {
            return Ok(());
        };
        let names: Vec<&str> = records.iter().map(|record| record.event.name()).collect();
        let line = format!("{run}: durable ({fate:?}): {}", names.join(" "));
        self.note(line);
        self.tally.commits = self.tally.commits.saturating_add(1);
        let corrects = records.iter().any(|record| matches!(record.event, Event::FlowCorrected(_)));
        let mut leaves_out = false;
        if let Some(books) = self.books.get_mut(&run) {
            let before = books.left_out;
            books.enter(&records)?;
            self.night.iter_mut().for_each(|night| night.watch.durable(&run, &records));
            leaves_out = books.left_out > before;
            if self.dice.permille(50) {
                books.check_snapshot()?;
            }
        }
        let refuses = |record: &Record| matches!(&record.event, Event::AttemptSettled(settled) if settled.throttled.is_some());
        // Each engine commits nothing once to take a run over. If it died there each time, no engine would get further.
        if !records.is_empty() && self.mishap_after_commit() {
            let tally = &mut self.tally;
            tally.died_correcting = tally.died_correcting.saturating_add(u64::from(corrects));
            tally.died_leaving_out = tally.died_leaving_out.saturating_add(u64::from(leaves_out));
            if let Some(night) = self.night.as_mut().filter(|_| records.iter().any(refuses)) {
                night.watch.count("engines that died after the commit of a refusal");
            }
        }
        Ok(())
    }

    fn commit_done(&mut self, run: &RunId) -> Result<(), Violation> {
        let cannot_show = self.strikes(self.faults.observer);
        let Some(instance) = &mut self.engine else { return Ok(()) };
        let Some(outcome) = instance.next_outcome(run) else { return Ok(()) };
        instance.cannot_show.set(cannot_show);
        let what = if outcome.is_commit() { "a commit" } else { "a note" };
        let line = format!("{run}: the engine gets the outcome of {what} (ok: {})", outcome.result.is_ok());
        self.handle(line, outcome.message())
    }

    fn attempt_over(&mut self, key: &Key) -> Result<(), Violation> {
        let unknown = self.strikes(self.faults.unknown);
        let Some(mut instance) = self.engine.take() else { return Ok(()) };
        let message = self.settled(&mut instance, key);
        self.engine = Some(instance);
        let (run, attempt) = key.clone();
        let line = format!("{run}: the engine learns that {attempt} is over (unknown how: {unknown})");
        let trouble = Trouble::new(TroubleKind::Attempt, "the simulated machine failed");
        let settlement = Settlement::Unknown { trouble };
        match message {
            Some(_) if unknown => self.handle(line, Message::Settled { run, attempt, settlement }),
            Some(message) => self.handle(line, message),
            None => Ok(()),
        }
    }

    /// The one message that this engine gets about the end of an attempt; `None` while it runs.
    fn settled(&self, instance: &mut Instance, (run, attempt): &Key) -> Option<Message> {
        let key = (run.clone(), attempt.clone());
        let settlement = match self.outside.find(&key)? {
            Found::Running => return None,
            Found::Settled(result) => finished(instance, result),
            Found::Lost { evidence } => Settlement::InDoubt { evidence },
        };
        instance.ensured.get_mut(&key)?.reported = true;
        Some(Message::Settled { run: run.clone(), attempt: attempt.clone(), settlement })
    }

    fn begin(&mut self, run: &RunId) -> Result<(), Violation> {
        let (Some(planned), Some(instance)) = (self.plan.run(run), &mut self.engine) else { return Ok(()) };
        instance.begun.insert(run.clone());
        let begin = Begin {
            run: planned.fresh(),
            start: planned.start(),
            made: false,
            pinned: planned.pinned.clone(),
            caller: Arc::new(Caller::default()),
            reply: instance.reply(run, Errand::Begin),
        };
        self.handle(format!("{run}: begin"), Message::Begin(Box::new(begin)))
    }

    fn call(&mut self, run: &RunId) -> Result<(), Violation> {
        let (Some(planned), Some(books)) = (self.plan.run(run), self.books.get(run)) else { return Ok(()) };
        let request = calls::wanted(self.plan, planned, books, &self.refusals, self.now());
        let answers = request.as_ref().is_some_and(|request| matches!(request.input, Input::Answer(_)));
        let beside = answers
            .then(|| {
                let who = if self.dice.permille(500) { Who::Same } else { Who::Other };
                calls::answer_to(self.plan, planned, books, &self.refusals, who)
            })
            .flatten();
        let loaded = self.load(run)?;
        let again = self.store.why_aside(run);
        let errand = request.as_ref().map(|request| &request.errand);
        self.note(format!("{run}: a call for {errand:?}"));
        // Another person, or the same one, calls at the same time.
        if let Some(beside) = beside.filter(|_| self.dice.permille(300)) {
            self.note(format!("{run}: another call at the same time for {:?}", beside.errand));
            self.calls.push(Call::new(run, loaded.clone(), Some(beside)).again(again.clone()));
        }
        self.calls.push(Call::new(run, loaded, request).again(again));
        Ok(())
    }

    /// The run as an engine that comes up reads it. Its hand-offs are made visible again, as before a run goes on.
    fn load(&mut self, run: &RunId) -> Result<Run, Violation> {
        let unreadable =
            |error: String| Violation::new("what is durable can be loaded", format!("{run}: {error}"));
        let (Some(planned), Some(instance)) = (self.plan.run(run), &self.engine) else {
            return Err(unreadable("it is not in the plan".to_owned()));
        };
        let loaded = instance.journal.load(run).map_err(|error| unreadable(error.to_string()))?;
        let mut state = planned.fresh();
        if let Some(snapshot) = &loaded.snapshot {
            state = Run::restore(planned.versions(), &snapshot.state)
                .map_err(|error| unreadable(error.to_string()))?;
            self.tally.snapshots = self.tally.snapshots.saturating_add(1);
        }
        for record in &loaded.records {
            state.apply(record).map_err(|error| unreadable(error.to_string()))?;
        }
        let stored = [&loaded.pinned].into_iter().chain(&loaded.pinned.earlier);
        let stored: BTreeSet<_> = stored.map(|flow| flow.digest).collect();
        let named = self.store.records(run).into_iter().filter_map(|record| match record.event {
            Event::RunStarted(started) => Some(started.flow_digest),
            Event::CorrectionRequested(correction) | Event::FlowCorrected(correction) => {
                Some(correction.after)
            }
            _ => None,
        });
        let missing = named.into_iter().find(|digest| !stored.contains(digest));
        holds(missing.is_none(), "every flow that an event names is stored", || {
            format!("{run}: {missing:?}")
        })?;
        let same = self.books.get(run).is_some_and(|books| books.replayed == state);
        holds(same, "a snapshot and its tail are the whole run", || run.to_string())?;
        let asks = self.books.get(run).is_some_and(|books| books.asks_as(&state));
        holds(asks, "a question is open until it is closed", || run.to_string())?;
        self.outside.show(run, &self.store.records(run))?;
        Ok(state)
    }

    /// The next step of a call: the run is handed over, then the request is sent to the engine.
    fn proceed(&mut self, place: usize) -> Result<(), Violation> {
        let (Some(call), Some(instance)) = (self.calls.get_mut(place), &self.engine) else { return Ok(()) };
        let run = call.run.clone();
        if let Some(loaded) = call.loaded.take() {
            // A correction is decided together with the adoption.
            let corrects = call.request.take_if(|request| request.errand == Errand::Correct);
            let request =
                call.again.as_ref().map(|why| format!("after {} at {}", why.code, loaded.next_seq()));
            let request = request.filter(|_| corrects.is_none());
            let errand = match (&corrects, &request) {
                (Some(_), _) => Errand::Correct,
                (None, Some(id)) => Errand::TakeUp(id.clone()),
                (None, None) => Errand::Adopt,
            };
            let planned = self.plan.run(&run).filter(|_| corrects.is_some());
            let corrected = planned.and_then(|planned| planned.correction.as_ref()).map(|correction| {
                Corrected { flow: Arc::clone(&correction.flow), pinned: correction.pinned.clone() }
            });
            call.awaits = Some(errand.clone());
            let reply = instance.reply(&run, errand.clone());
            let adopt = Adopt {
                corrected,
                run: *loaded,
                inputs: corrects.into_iter().map(|request| request.input).collect(),
                purpose: envoi_engine::Purpose::GoOn,
                again: call.again.take(),
                is_inside: true,
                request,
                tail_bytes: 0,
                caller: Arc::new(Caller::default()),
                reply,
            };
            return self.handle(format!("{run}: {errand:?}"), Message::Adopt(Box::new(adopt)));
        }
        let Some(Request { input, errand, label }) = call.request.take() else {
            self.calls.swap_remove(place);
            return Ok(());
        };
        call.awaits = Some(errand.clone());
        let reply = instance.reply(&run, errand);
        self.handle(format!("{run}: request {label}"), Message::Input { run, input: Box::new(input), reply })
    }

    /// The engine takes a message; then what it does to the world happens, unless something comes in between.
    fn handle(&mut self, line: String, message: Message) -> Result<(), Violation> {
        self.note(line);
        let Some(instance) = &mut self.engine else { return Ok(()) };
        instance.engine.handle(message);
        self.take_answers()?;
        while let Some(effect) = self.engine.as_ref().and_then(Instance::next_effect) {
            let Some(effect) = self.mishap_before(effect) else { return Ok(()) };
            self.take_effect(effect)?;
        }
        self.check_stopped()
    }

    fn take_answers(&mut self) -> Result<(), Violation> {
        while let Some(answer) = self.engine.as_ref().and_then(Instance::next_answer) {
            let Some(books) = self.books.get(&answer.run) else { continue };
            let is_done = match &answer.errand {
                Errand::TakeUp(id) => self.store.is_done(&answer.run, id),
                _ => true,
            };
            let kept = answer.result.is_err() || (is_done && books.holds(&answer.errand));
            holds(kept, "what was acknowledged is durable", || {
                format!("{}: {:?}", answer.run, answer.errand)
            })?;
            let past_bound = matches!(answer.result, Err(EngineError::Refused(Refusal::PastBound { .. })));
            if let Errand::Answer(interrupt, by) = &answer.errand
                && answer.result.is_ok()
            {
                let first = self.taken.insert((interrupt.clone(), by.clone()));
                holds(first, "an answer is taken once", || format!("{}: {interrupt} by {by}", answer.run))?;
            }
            if let Errand::Answer(interrupt, _) = &answer.errand
                && past_bound
            {
                let refused = self.refusals.answers.entry(interrupt.clone()).or_default();
                *refused = refused.saturating_add(1);
            }
            if answer.errand == Errand::Correct && matches!(answer.result, Err(EngineError::Refused(_))) {
                self.refusals.corrections.insert(answer.run.clone());
            }
            self.note(format!("{}: {:?} is answered: {:?}", answer.run, answer.errand, answer.result));
            self.models.engine_answered(&answer.errand, answer.result.is_ok());
            let ours = |call: &Call| call.run == answer.run && call.awaits.as_ref() == Some(&answer.errand);
            if let Some(place) = self.calls.iter().position(ours) {
                self.calls.get_mut(place).into_iter().for_each(|call| call.awaits = None);
                let done =
                    answer.result.is_err() || !matches!(answer.errand, Errand::Adopt | Errand::TakeUp(_));
                if done {
                    self.calls.swap_remove(place);
                }
            }
        }
        Ok(())
    }
}

/// Puts large contents into the store and lets small ones travel with the commit, as the real runner does.
fn finished(instance: &Instance, result: Box<AttemptResult>) -> Settlement {
    let mut blobs = Vec::new();
    let contents = [Some(result.text.clone().into_bytes()), result.report.clone()];
    for bytes in contents.into_iter().flatten() {
        if bytes.len() > INLINE_MAX_BYTES {
            // A store in memory takes everything.
            drop(instance.journal.put(&bytes));
        } else {
            blobs.push((envoi_contract::digest::Digest::of(&bytes), bytes));
        }
    }
    Settlement::Finished { result, blobs }
}
