//! A worker without commands: it polls, and an attempt ends as soon as the test allows it. Its memory
//! replaces its disk.

use crate::cluster::wait_a_moment;
use envoi_cluster::{
    Message, Place, Wanted, WorkerId,
    message::{Caller, ToRun, ToWorkerSlot},
    wire::{Answer, Posted},
    worker_slot,
};
use envoi_contract::time::Timestamp;
use envoi_kernel::{
    event::Outcome,
    ids::{AttemptId, RunId},
    input::AttemptResult,
};
use envoi_restate::{Ingress, Reply};
use std::{
    collections::BTreeSet,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    thread::{self, JoinHandle},
    time::{SystemTime, UNIX_EPOCH},
};

const SLOTS: u32 = 3;

pub(crate) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap())
}

/// The state that a test shares with the worker.
#[derive(Default)]
pub(crate) struct Shared {
    /// The started attempts, in order.
    pub(crate) starts: Mutex<Vec<(RunId, AttemptId)>>,
    /// Whether attempts may end.
    pub(crate) may_end: AtomicBool,
    stop: AtomicBool,
}

/// The worker on its own thread, which ends when this is dropped.
pub(crate) struct Worker {
    pub(crate) shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Worker {
    pub(crate) fn begin(name: &str, ingress: Ingress) -> Self {
        let shared = Arc::new(Shared::default());
        let process = Process {
            ingress,
            shared: Arc::clone(&shared),
            id: WorkerId::new(name).unwrap(),
            place: None,
            lost: 0,
            beats: 0,
            read: 0,
            disk: BTreeSet::new(),
            unreported: Vec::new(),
        };
        Self { shared, thread: Some(thread::spawn(move || process.live())) }
    }

    pub(crate) fn started(&self) -> usize {
        self.shared.starts.lock().unwrap().len()
    }

    /// The attempts of a run that this worker has started.
    pub(crate) fn starts_of(&self, run: &RunId) -> Vec<String> {
        let starts = self.shared.starts.lock().unwrap();
        starts.iter().filter(|(of, _)| of == run).map(|(_, attempt)| attempt.to_string()).collect()
    }

    /// Whether it has stopped because of something unexpected.
    pub(crate) fn is_broken(&self) -> bool {
        self.thread.as_ref().is_some_and(JoinHandle::is_finished)
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.shared.stop.store(true, SeqCst);
        if let Some(thread) = self.thread.take() {
            // The thread has reported the error itself.
            let _ = thread.join();
        }
    }
}

struct Process {
    ingress: Ingress,
    shared: Arc<Shared>,
    id: WorkerId,
    place: Option<Place>,
    lost: u64,
    beats: u64,
    read: u64,
    disk: BTreeSet<(RunId, AttemptId)>,
    unreported: Vec<(RunId, AttemptId)>,
}

impl Process {
    fn live(mut self) {
        while !self.shared.stop.load(SeqCst) {
            // A call without an answer is repeated.
            let _ = if self.place.is_none() { self.join() } else { self.turn() };
            wait_a_moment();
        }
    }

    fn ask(&self, message: Message) -> Option<Answer> {
        match self.ingress.ask(Posted { message, at: now() }) {
            Ok(Reply::Answer(answer)) => Some(answer),
            Ok(other) => panic!("the worker is answered {other:?}"),
            Err(_) => None,
        }
    }

    fn join(&mut self) -> Option<()> {
        let join = ToWorkerSlot::Join { last: 0, request: 1, instance: "instance".to_owned() };
        match self.ask(Message::WorkerSlot(self.id.clone(), join))? {
            Answer::WorkerSlot(worker_slot::Reply::Joined { place, lost }) => {
                (self.place, self.lost) = (Some(place), lost);
            }
            other => panic!("{other:?} to a join"),
        }
        Some(())
    }

    fn turn(&mut self) -> Option<()> {
        if self.shared.may_end.load(SeqCst) {
            self.report()?;
        }
        self.beats += 1;
        let running = u32::try_from(self.unreported.len()).unwrap();
        let beat = ToWorkerSlot::Beat {
            incarnation: self.place.as_ref()?.incarnation,
            number: self.beats,
            free: SLOTS.saturating_sub(running),
            read: self.read,
        };
        let Answer::WorkerSlot(worker_slot::Reply::Lives { mail }) =
            self.ask(Message::WorkerSlot(self.id.clone(), beat))?
        else {
            panic!("it lives")
        };
        let read = self.read;
        for (number, run) in mail.into_iter().filter(|(number, _)| *number > read) {
            let look = ToRun::Look { caller: self.caller()? };
            let Answer::Run { wanted, .. } = self.ask(Message::Run(run.clone(), look))? else {
                panic!("a run answers")
            };
            self.does(&run, wanted);
            self.read = number;
        }
        Some(())
    }

    fn report(&mut self) -> Option<()> {
        while let Some((run, attempt)) = self.unreported.first().cloned() {
            let result = AttemptResult::empty(attempt, Outcome::Exited { code: 0 }, now());
            let settled = ToRun::Settled { caller: self.caller()?, result: Box::new(result) };
            // Refused if it was taken already.
            let Answer::Run { wanted, .. } = self.ask(Message::Run(run.clone(), settled))? else {
                panic!("a run answers")
            };
            self.unreported.remove(0);
            self.does(&run, wanted);
        }
        Some(())
    }

    fn does(&mut self, run: &RunId, wanted: Wanted) {
        assert!(wanted.end.is_empty(), "nothing is cancelled in these stories");
        for started in wanted.run {
            let key = (run.clone(), started.attempt.clone());
            if self.disk.insert(key.clone()) {
                self.unreported.push(key.clone());
                self.shared.starts.lock().unwrap().push(key);
            }
        }
    }

    fn caller(&self) -> Option<Caller> {
        Some(Caller { place: self.place.clone()?, lost: self.lost })
    }
}
