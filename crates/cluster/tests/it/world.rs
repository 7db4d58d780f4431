//! The platform and the machines of a world, and all its events in the order of time.

use crate::{
    books::Books,
    faults::{BEAT_MS, Faults, LEASE_MS, OWN_LEASE_MS, QUIET_AFTER_MS},
    flows,
    machine::{Command, Disk, Key, Machine, Process},
    objects::{Objects, time},
};
use envoi_cluster::{
    Message, Sent, Wanted, WorkerId,
    message::{Caller, ToRun, ToWorkerSlot},
    run, worker_slot,
};
use envoi_contract::json::{Object, Value};
use envoi_kernel::{
    Input,
    event::{AttemptStarted, Choice, Outcome},
    flow::Versions,
    ids::{Principal, RunId},
    input::{Answer, AttemptResult, Start},
    requester::Requester,
};
use envoi_testkit::Dice;
use std::collections::BTreeMap;

const JOBS: usize = 2;
const MACHINES: usize = 3;
const RUNS: usize = 10;

/// How often a person looks for questions.
const PERSON_MS: u64 = 2_000;

/// If runs have not ended after this time, the world is stuck.
const TOO_LONG_MS: u64 = 20 * 60_000;

enum Event {
    Deliver(Message),
    Call(usize, u64, Call),
    Answered(usize, u64, Call, Box<Said>),
    Up(usize),
    Beat(usize, u64),
    /// The supervisor of a command checks it.
    Supervise(usize, Key),
    Person,
}

/// A call of a worker.
#[derive(Clone)]
enum Call {
    Join { request: u64, last: u64, sent_at: u64 },
    Beat { incarnation: u64, number: u64, free: u32, read: u64, sent_at: u64 },
    Look { run: RunId, mail: Vec<u64>, caller: Caller },
    Report { key: Key, caller: Caller },
}

enum Said {
    Worker(worker_slot::Reply),
    Run(Wanted),
}

/// The result of a world.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct End {
    pub(crate) outcomes: BTreeMap<String, String>,
    pub(crate) starts: u64,
    pub(crate) in_doubt: u64,
    pub(crate) kills: u64,
    /// Workers that learned that they were lost.
    pub(crate) lost: u64,
    pub(crate) lease_over: u64,
    pub(crate) gone: u64,
    pub(crate) copies_refused: u64,
}

pub(crate) struct World {
    seed: u64,
    faults: Faults,
    dice: Dice,
    now: u64,
    count: u64,
    queue: BTreeMap<(u64, u64), Event>,
    objects: Objects,
    machines: Vec<Machine>,
    books: Books,
    end: End,
}

pub(crate) fn start(id: &RunId, tenant: &str) -> Start {
    Start {
        run: id.clone(),
        inputs: Object::default(),
        source: "/project/flow.yaml".to_owned(),
        workspace: "/work".to_owned(),
        shared: true,
        keep_files: false,
        no_cache: false,
        isolated: None,
        run_base: "/base".to_owned(),
        language: 1,
        by: Principal { tenant: tenant.to_owned(), actor: "ada".to_owned() },
        yes_to: Vec::new(),
        trace: None,
        env: Object::default(),
        requester: Requester::default(),
        part: None,
    }
}

impl World {
    pub(crate) fn new(seed: u64, faults: Faults) -> Self {
        let mut world = Self {
            seed,
            faults,
            dice: Dice::of(seed, &["world"]),
            now: 0,
            count: 0,
            queue: BTreeMap::new(),
            objects: Objects::new(seed.is_multiple_of(4)),
            machines: Vec::new(),
            books: Books::default(),
            end: End::default(),
        };
        (0..RUNS).for_each(|number| world.plan(number));
        (0..MACHINES).for_each(|_| world.join(Disk::default(), None));
        world.at(PERSON_MS, Event::Person);
        world
    }

    fn plan(&mut self, number: usize) {
        let id = RunId::new(format!("run_{number}")).unwrap();
        let (_, flow) = flows::flow(number);
        self.books.begin(&id, &flow);
        self.objects.runs.insert(id.clone(), (run::State::default(), Some(flow)));
        let start = start(&id, ["red", "blue"][number % 2]);
        let after_ms = 500 * u64::try_from(number).unwrap();
        let message = Message::Run(id, ToRun::Input(Box::new(Input::Start(Box::new(start)))));
        self.send(Sent { message, after_ms });
    }

    /// A machine starts, with an empty disk or a copy of another one.
    fn join(&mut self, disk: Disk, of: Option<WorkerId>) {
        let number = self.machines.len();
        let id = of.unwrap_or_else(|| WorkerId::new(format!("w{number}")).unwrap());
        let instance = format!("instance-{number}");
        self.machines.push(Machine {
            id,
            instance,
            disk,
            process: None,
            life: 0,
            is_gone: false,
            cut_until: 0,
        });
        self.at(1, Event::Up(number));
    }

    /// Runs until all runs have ended.
    pub(crate) fn live(mut self) -> End {
        let runs: Vec<RunId> = self.objects.runs.keys().cloned().collect();
        while !runs.iter().all(|run| self.books.is_over(run)) {
            let ((at, _), event) = self.queue.pop_first().unwrap();
            self.now = at;
            assert!(at < TOO_LONG_MS, "seed {}: {:?} are stuck", self.seed, self.open(&runs));
            self.happens(event);
        }
        for run in &runs {
            let (state, flow) = &self.objects.runs[run];
            let flow: &Versions = flow.as_ref().unwrap();
            let outcome = self.books.close(run, &state.run(flow).unwrap(), flow);
            self.end.in_doubt += self.books.in_doubt(run);
            self.end.outcomes.insert(run.to_string(), outcome);
        }
        self.end.starts = self.books.count();
        self.end
    }

    fn open(&self, runs: &[RunId]) -> Vec<String> {
        let open = runs.iter().filter(|run| !self.books.is_over(run));
        open.map(|run| format!("{run}: {:?}", self.books.shown(run).wants())).collect()
    }

    fn at(&mut self, after_ms: u64, event: Event) {
        self.count += 1;
        self.queue.insert((self.now + after_ms, self.count), event);
    }

    fn is_quiet(&self) -> bool {
        self.now > QUIET_AFTER_MS
    }

    /// Whether a fault occurs now.
    fn happens_by_chance(&mut self, permille: u64) -> bool {
        !self.is_quiet() && self.dice.permille(permille)
    }

    fn delay(&mut self) -> u64 {
        self.dice.between(1, self.faults.delay_ms)
    }

    fn send(&mut self, sent: Sent) {
        let Sent { message, after_ms } = sent;
        if self.happens_by_chance(self.faults.twice) {
            let late = after_ms + self.delay() + self.delay();
            self.at(late, Event::Deliver(message.clone()));
        }
        let mut late = after_ms + self.delay();
        if self.happens_by_chance(self.faults.very_late) {
            late += self.dice.between(LEASE_MS, 4 * LEASE_MS);
        }
        self.at(late, Event::Deliver(message));
    }

    fn happens(&mut self, event: Event) {
        match event {
            Event::Deliver(message) => {
                let (sent, commit) = self.objects.take(message, self.now);
                commit.into_iter().for_each(|commit| self.books.committed(commit));
                sent.into_iter().for_each(|sent| self.send(sent));
            }
            Event::Call(machine, life, call) => self.arrives(machine, life, call),
            Event::Answered(machine, life, call, said) => self.answered(machine, life, call, *said),
            Event::Up(machine) => self.up(machine),
            Event::Beat(machine, life) => self.beat(machine, life),
            Event::Supervise(machine, key) => self.supervise(machine, &key),
            Event::Person => self.person(),
        }
    }

    fn person(&mut self) {
        self.at(PERSON_MS, Event::Person);
        let runs: Vec<RunId> = self.objects.runs.keys().cloned().collect();
        for run in runs {
            let shown = self.books.shown(&run);
            let Some(raised) = shown.interrupts().next() else { continue };
            let accepted = shown.accepts(raised);
            let liked = [Choice::Rerun, Choice::Approve, Choice::Proceed, Choice::Stop];
            let choice = *liked.iter().find(|choice| accepted.contains(choice)).unwrap();
            let by = Principal { tenant: "red".to_owned(), actor: "bob".to_owned() };
            let answer = Input::Answer(Box::new(Answer::new(raised.interrupt.clone(), choice, by)));
            let message = Message::Run(run, ToRun::Input(Box::new(answer)));
            self.send(Sent { message, after_ms: 0 });
        }
    }

    // The actions of a worker.

    fn is_cut(&self, machine: usize) -> bool {
        self.machines[machine].is_gone || self.now < self.machines[machine].cut_until
    }

    fn call(&mut self, machine: usize, call: Call) {
        let life = self.machines[machine].life;
        if self.is_cut(machine) || self.happens_by_chance(self.faults.lost_call) {
            return;
        }
        if self.happens_by_chance(self.faults.twice) {
            let late = self.delay() + self.delay();
            self.at(late, Event::Call(machine, life, call.clone()));
        }
        let late = self.delay();
        self.at(late, Event::Call(machine, life, call));
    }

    /// A call has arrived at its object. The object answers even if the caller no longer exists.
    fn arrives(&mut self, machine: usize, life: u64, call: Call) {
        let Machine { id, instance, .. } = self.machines[machine].clone();
        let (sent, said) = match &call {
            Call::Join { request, last, .. } => {
                let join = ToWorkerSlot::Join { last: *last, request: *request, instance };
                let (sent, reply) = self.objects.worker(&id, join, self.now);
                (sent, Said::Worker(reply))
            }
            Call::Beat { incarnation, number, free, read, .. } => {
                let (incarnation, number, free, read) = (*incarnation, *number, *free, *read);
                let beat = ToWorkerSlot::Beat { incarnation, number, free, read };
                let (sent, reply) = self.objects.worker(&id, beat, self.now);
                (sent, Said::Worker(reply))
            }
            Call::Look { run, caller, .. } => {
                let (sent, wanted) = self.objects.run(run, ToRun::Look { caller: caller.clone() }, self.now);
                (sent, Said::Run(wanted))
            }
            Call::Report { key, caller } => {
                let message = self.report(machine, key, caller.clone());
                let (sent, wanted) = self.objects.run(&key.0, message, self.now);
                (sent, Said::Run(wanted))
            }
        };
        sent.into_iter().for_each(|sent| self.send(sent));
        if self.is_cut(machine) || self.happens_by_chance(self.faults.lost_call) {
            return;
        }
        let late = self.delay();
        self.at(late, Event::Answered(machine, life, call, Box::new(said)));
    }

    fn report(&self, machine: usize, key: &Key, caller: Caller) -> ToRun {
        let attempt = key.1.clone();
        match &self.machines[machine].disk.attempts[key].1 {
            Command::Over(outcome) => {
                let result = AttemptResult::empty(attempt, outcome.clone(), time(self.now));
                ToRun::Settled { caller, result: Box::new(result) }
            }
            // A call that arrives twice may arrive after it was answered.
            Command::Unknown | Command::Reported | Command::Running { .. } => {
                ToRun::InDoubt { caller, attempt, evidence: Value::Object(Object::default()) }
            }
        }
    }

    fn up(&mut self, machine: usize) {
        if self.machines[machine].is_gone {
            return;
        }
        self.machines[machine].life += 1;
        self.machines[machine].process = Some(Process::default());
        self.ask_to_join(machine);
        let life = self.machines[machine].life;
        self.at(BEAT_MS, Event::Beat(machine, life));
    }

    fn ask_to_join(&mut self, machine: usize) {
        self.count += 1;
        let request = self.count;
        let Machine { process, disk, .. } = &mut self.machines[machine];
        let Some(process) = process else { return };
        // A killed process leaves the number on the disk, and a copy has it too.
        let request = *disk.joining.get_or_insert(request);
        process.request = request;
        let last = self.machines[machine].disk.incarnation;
        self.call(machine, Call::Join { request, last, sent_at: self.now });
    }

    /// The regular work of a worker, and the faults that may occur.
    fn beat(&mut self, machine: usize, life: u64) {
        if self.machines[machine].life != life || self.machines[machine].is_gone {
            return;
        }
        if self.happens_by_chance(self.faults.kill) {
            return self.kill(machine);
        }
        if self.happens_by_chance(self.faults.cut) {
            self.machines[machine].cut_until = self.now + self.dice.between(LEASE_MS, 2 * LEASE_MS);
        }
        if self.happens_by_chance(self.faults.gone) {
            self.gone(machine);
            return self.join(Disk::default(), None);
        }
        if self.happens_by_chance(self.faults.copy) {
            let Machine { mut disk, id, .. } = self.machines[machine].clone();
            // The processes are not copied.
            for (_, command) in disk.attempts.values_mut() {
                if matches!(command, Command::Running { .. }) {
                    *command = Command::Unknown;
                }
            }
            self.join(disk, Some(id));
        }
        self.at(BEAT_MS, Event::Beat(machine, life));
        self.speak(machine);
    }

    fn kill(&mut self, machine: usize) {
        self.end.kills += 1;
        self.machines[machine].process = None;
        self.machines[machine].life += 1;
        if self.happens_by_chance(self.faults.boot) {
            self.count += 1;
            self.machines[machine].instance = format!("instance-{machine}-{}", self.count);
            self.end_running(machine, &Command::Unknown);
        }
        let down = self.dice.between(100, 1_500);
        self.at(down, Event::Up(machine));
    }

    fn gone(&mut self, machine: usize) {
        self.end.gone += 1;
        self.end_running(machine, &Command::Unknown);
        self.machines[machine].is_gone = true;
        self.machines[machine].process = None;
    }

    fn end_running(&mut self, machine: usize, as_what: &Command) {
        for key in self.machines[machine].running() {
            self.machines[machine].becomes(&key, as_what.clone());
            self.books.ends(&key.0, &key.1);
        }
    }

    fn caller(&self, machine: usize) -> Option<Caller> {
        let process = self.machines[machine].process.as_ref()?;
        Some(Caller { place: process.place.clone()?, lost: process.lost })
    }

    /// Sends a heartbeat, asks what to do, and reports unreported results.
    fn speak(&mut self, machine: usize) {
        let Some(caller) = self.caller(machine) else { return self.ask_to_join(machine) };
        let running = self.machines[machine].running().len();
        let unreported = self.machines[machine].unreported();
        let Some(process) = &mut self.machines[machine].process else { return };
        process.beats += 1;
        let beat = Call::Beat {
            incarnation: caller.place.incarnation,
            number: process.beats,
            // Until the end of an attempt is accepted, its slot may have been given to the next attempt.
            free: u32::try_from(JOBS.saturating_sub(running + unreported.len())).unwrap(),
            read: process.read(),
            sent_at: self.now,
        };
        self.call(machine, beat);
        self.look(machine, &caller);
        for key in unreported {
            self.call(machine, Call::Report { key, caller: caller.clone() });
        }
    }

    fn look(&mut self, machine: usize, caller: &Caller) {
        let mut looks: BTreeMap<RunId, Vec<u64>> = BTreeMap::new();
        let Some(process) = &self.machines[machine].process else { return };
        for (number, run) in &process.todo {
            looks.entry(run.clone()).or_default().push(*number);
        }
        for (run, mail) in looks {
            self.call(machine, Call::Look { run, mail, caller: caller.clone() });
        }
    }

    fn answered(&mut self, machine: usize, life: u64, call: Call, said: Said) {
        if self.machines[machine].life != life || self.is_cut(machine) {
            return;
        }
        match (call, said) {
            (Call::Join { sent_at, request, .. }, Said::Worker(reply)) => {
                self.joined(machine, request, sent_at, reply);
            }
            (Call::Beat { incarnation, sent_at, .. }, Said::Worker(reply)) => {
                let Some(caller) = self.caller(machine) else { return };
                if caller.place.incarnation != incarnation {
                    return;
                }
                match reply {
                    worker_slot::Reply::Lives { mail } => {
                        self.machines[machine].renew(sent_at + OWN_LEASE_MS);
                        self.machines[machine].process.as_mut().unwrap().gets(mail);
                        self.look(machine, &caller);
                    }
                    worker_slot::Reply::Lost => {
                        self.end.lost += 1;
                        self.end_running(machine, &Command::Over(Outcome::Cancelled));
                        self.machines[machine].process = Some(Process::default());
                        self.ask_to_join(machine);
                    }
                    other => panic!("{other:?} to a beat"),
                }
            }
            (Call::Look { run, mail, caller }, Said::Run(wanted)) => {
                if self.caller(machine).as_ref() == Some(&caller) && self.does(machine, &run, &caller, wanted)
                {
                    self.machines[machine].process.as_mut().unwrap().did(&mail);
                }
            }
            (Call::Report { key, caller }, Said::Run(wanted)) => {
                // An attempt that is not started now is in no mail, so it stays unreported: the repeated
                // report asks for it again.
                let is_mine = self.caller(machine).as_ref() == Some(&caller);
                if !is_mine || self.does(machine, &key.0, &caller, wanted) {
                    self.machines[machine].becomes(&key, Command::Reported);
                }
            }
            _ => panic!("an answer to another call"),
        }
    }

    fn joined(&mut self, machine: usize, request: u64, sent_at: u64, reply: worker_slot::Reply) {
        let is_asked = self.machines[machine]
            .process
            .as_ref()
            .is_some_and(|of| of.request == request && of.place.is_none());
        if !is_asked {
            return;
        }
        match reply {
            worker_slot::Reply::Joined { place, lost } => {
                let disk = &mut self.machines[machine].disk;
                (disk.incarnation, disk.joining) = (place.incarnation, None);
                let of_lost: Vec<Key> = self.machines[machine]
                    .running()
                    .into_iter()
                    .filter(|key| self.machines[machine].disk.attempts[key].0 <= lost)
                    .collect();
                for key in of_lost {
                    self.machines[machine].becomes(&key, Command::Over(Outcome::Cancelled));
                    self.books.ends(&key.0, &key.1);
                }
                let process = self.machines[machine].process.as_mut().unwrap();
                (process.place, process.lost) = (Some(place), lost);
                self.machines[machine].renew(sent_at + OWN_LEASE_MS);
                self.speak(machine);
            }
            worker_slot::Reply::Copied => {
                self.end.copies_refused += 1;
                self.end_running(machine, &Command::Unknown);
                self.machines[machine].is_gone = true;
                self.machines[machine].process = None;
                self.join(Disk::default(), None);
            }
            worker_slot::Reply::Wait => self.end.copies_refused += u64::from(self.faults.copy > 0),
            other => panic!("{other:?} to a join"),
        }
    }

    /// Carries out what a run wants here. False if the lease has ended, so that the run must be asked again.
    fn does(&mut self, machine: usize, run: &RunId, caller: &Caller, wanted: Wanted) -> bool {
        let mut all = true;
        for started in wanted.run {
            let key = (run.clone(), started.attempt.clone());
            let lease_until =
                self.machines[machine].process.as_ref().map_or(0, |process| process.lease_until);
            match self.machines[machine].disk.attempts.get(&key) {
                Some(_) => {}
                None if self.now < lease_until => {
                    let ends_at = self.now + self.takes(run, &started);
                    let command = Command::Running { ends_at, lease_until };
                    self.books.starts(run, &key.1, machine, JOBS);
                    let incarnation = caller.place.incarnation;
                    self.machines[machine].disk.attempts.insert(key.clone(), (incarnation, command));
                    self.at(0, Event::Supervise(machine, key));
                }
                None => all = false,
            }
        }
        for attempt in wanted.end {
            let key = (run.clone(), attempt);
            let cancelled = Command::Over(Outcome::Cancelled);
            match self.machines[machine].disk.attempts.get(&key).map(|(_, command)| command) {
                None => {
                    let incarnation = caller.place.incarnation;
                    self.machines[machine].disk.attempts.insert(key, (incarnation, cancelled));
                }
                Some(Command::Running { .. }) => {
                    self.machines[machine].becomes(&key, cancelled);
                    self.books.ends(&key.0, &key.1);
                }
                Some(_) => {}
            }
        }
        all
    }

    fn takes(&self, run: &RunId, started: &AttemptStarted) -> u64 {
        Dice::of(self.seed, &["takes", run.as_str(), &started.attempt.to_string()]).between(100, 4_000)
    }

    fn supervise(&mut self, machine: usize, key: &Key) {
        let Some((_, Command::Running { ends_at, lease_until })) =
            self.machines[machine].disk.attempts.get(key).cloned()
        else {
            return;
        };
        if self.now < ends_at && self.now < lease_until {
            return self.at(ends_at.min(lease_until) - self.now, Event::Supervise(machine, key.clone()));
        }
        let command = if self.now >= ends_at {
            let mut dice = Dice::of(self.seed, &["ends", key.0.as_str(), &key.1.to_string()]);
            // If several parallel steps fail, the first one counts, which differs between worlds. So these
            // runs do not fail.
            let fails = !["run_2", "run_8"].contains(&key.0.as_str()) && dice.permille(150);
            Command::Over(Outcome::Exited { code: i32::from(fails) })
        } else {
            self.end.lease_over += 1;
            Command::Unknown
        };
        self.machines[machine].becomes(key, command);
        self.books.ends(&key.0, &key.1);
        if let Some(caller) = self.caller(machine) {
            self.call(machine, Call::Report { key: key.clone(), caller });
        }
    }
}
