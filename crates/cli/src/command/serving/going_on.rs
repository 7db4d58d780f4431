//! After a server starts, it resumes what was under way when the previous engine ended.
//!
//! One thread resumes run after run. A run may need files of a file system that does not respond: after a
//! short time another thread continues with the remaining runs. Owns the order and the messages. The engine
//! decides how a run is resumed.

use crate::{process::messages, session::caller};
use envoi_contract::code::Code;
use envoi_engine::{
    Commands, TakingUp,
    protocol::{Refused, Request, Response, ResumeRequest},
};
use envoi_journal::{Aside, InboxFilter, ReadError, Reader, RunFilter, RunRow, RunStatus, Store};
use envoi_kernel::ids::{Principal, RunId};
use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        mpsc::{self, Receiver, RecvTimeoutError},
    },
    thread,
    time::{Duration, Instant},
};

/// How long one run may take before another thread continues with the next runs.
const ITS_TURN: Duration = Duration::from_secs(1);

/// How often starting a thread is tried, once per interval.
const MOST_TRIES: u32 = 60;

/// How many runs the engine gets before its first reply is read.
const AHEAD: usize = 256;

/// Resumes what was under way when the previous engine ended, and returns when all of it has been handled. A
/// run that only waits for a person needs no engine, unless its question can expire: only an engine notices
/// that.
pub(super) fn go_on(store: &Arc<Store>, desk: &Commands) {
    let rejected = |error: &dyn core::fmt::Display| messages::say(&format!("runs are not resumed: {error}"));
    let left = match store.reader().and_then(|reader| rows(&reader)) {
        Ok(rows) => Left::new(rows),
        Err(error) => return rejected(&error),
    };
    let mut tries = 0_u32;
    while left.is_anything() {
        let (finished, inbox) = mpsc::channel();
        let worker = left.next_worker();
        let (store, desk, to_do) = (Arc::clone(store), desk.clone(), left.clone());
        let working = thread::Builder::new().name("taking up".to_owned()).spawn(move || {
            take_up_all(&store, &desk, &to_do, worker);
            // The receiver may have stopped waiting.
            let _ = finished.send(());
        });
        if let Err(error) = working {
            // The failure may be temporary: threads become available when running commands end.
            if tries == MOST_TRIES {
                return rejected(&format!("a thread cannot be started: {error}"));
            }
            tries = tries.saturating_add(1);
            thread::sleep(ITS_TURN);
            continue;
        }
        wait(&left, &inbox);
    }
}

/// Waits until the thread has finished, makes no progress, or has panicked.
fn wait(left: &Left, inbox: &Receiver<()>) {
    let mut patience = ITS_TURN;
    loop {
        match inbox.recv_timeout(patience) {
            Ok(()) => return,
            Err(RecvTimeoutError::Timeout) => match left.turn() {
                Some((run, since)) if since.elapsed() >= ITS_TURN => {
                    return messages::say(&format!(
                        "run {run} is not resumed yet: its files are still being read (is a file system not responding?); other runs continue"
                    ));
                }
                Some((_, since)) => patience = ITS_TURN.saturating_sub(since.elapsed()),
                None => patience = ITS_TURN,
            },
            // The thread has panicked at the current run.
            Err(RecvTimeoutError::Disconnected) => {
                if let Some((run, _)) = left.turn() {
                    messages::say(&format!(
                        "run {run} does not go on, because of a defect of this program; `envoi resume {run}` tries again"
                    ));
                }
                return;
            }
        }
    }
}

/// The runs that an engine has to resume.
fn rows(reader: &Reader) -> Result<VecDeque<RunRow>, ReadError> {
    let unfinished = reader.all_runs(RunFilter { unfinished: true, limit: None })?;
    let mut rows = VecDeque::new();
    for row in unfinished {
        let run = &row.run;
        match &row.aside {
            Some(Aside { code, reason, .. }) if !is_outside(code) => messages::say(&format!(
                "run {run} stays aside ({code}): {reason}; `envoi resume {run}` tries again"
            )),
            Some(_) => rows.push_back(row),
            None if needs_an_engine(reader, &row) => rows.push_back(row),
            None => {}
        }
    }
    Ok(rows)
}

/// The runs that are still to be resumed, shared by the threads. Cheap to clone.
#[derive(Clone)]
struct Left(Arc<Mutex<State>>);

struct State {
    rows: VecDeque<RunRow>,
    /// Runs that were sent to the engine and have no reply yet.
    sent: VecDeque<(RunRow, Receiver<bool>)>,
    /// The number of the thread that takes the next run. Earlier threads are stuck.
    worker: u32,
    /// The run that the thread works on, and since when.
    turn: Option<(RunId, Instant)>,
}

/// The next action of a thread.
enum Turn {
    /// Resume this run.
    TakeUp(RunRow),
    /// Wait for the engine's reply about this run.
    HearOf(RunRow, Receiver<bool>),
}

impl Turn {
    fn run(&self) -> &RunId {
        match self {
            Self::TakeUp(row) | Self::HearOf(row, _) => &row.run,
        }
    }
}

impl Left {
    fn new(rows: VecDeque<RunRow>) -> Self {
        Self(Arc::new(Mutex::new(State { rows, sent: VecDeque::new(), worker: 0, turn: None })))
    }

    fn is_anything(&self) -> bool {
        let state = self.lock();
        !state.rows.is_empty() || !state.sent.is_empty()
    }

    /// Hands the remaining runs to a new thread, and returns its number.
    fn next_worker(&self) -> u32 {
        let mut state = self.lock();
        state.worker = state.worker.saturating_add(1);
        state.turn = None;
        state.worker
    }

    /// Returns the next action, or `None` if nothing is left for this thread.
    fn next(&self, worker: u32) -> Option<Turn> {
        let mut state = self.lock();
        if state.worker != worker {
            return None;
        }
        let is_full = state.sent.len() >= AHEAD || state.rows.is_empty();
        let turn = match is_full {
            true => state.sent.pop_front().map(|(row, reply)| Turn::HearOf(row, reply)),
            false => state.rows.pop_front().map(Turn::TakeUp),
        };
        state.turn = turn.as_ref().map(|turn| (turn.run().clone(), Instant::now()));
        turn
    }

    /// Records that the engine has this run and replies later. Gives both back if another thread has taken
    /// over, because that thread may have finished.
    fn keep(&self, worker: u32, row: RunRow, reply: Receiver<bool>) -> Option<(RunRow, Receiver<bool>)> {
        let mut state = self.lock();
        if state.worker != worker {
            return Some((row, reply));
        }
        state.sent.push_back((row, reply));
        None
    }

    fn turn(&self) -> Option<(RunId, Instant)> {
        self.lock().turn.clone()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Resumes the remaining runs, until another thread takes over.
fn take_up_all(store: &Store, desk: &Commands, left: &Left, worker: u32) {
    // If the store cannot be read now, each run is resumed by a request, which reports the reason.
    let taking_up = desk.taking_up().ok();
    while let Some(turn) = left.next(worker) {
        let sent = match (turn, &taking_up) {
            (Turn::HearOf(row, reply), _) => Some((row, reply)),
            (Turn::TakeUp(row), Some(taking_up)) if row.aside.is_none() => {
                let reply = begin(taking_up, &row.run);
                left.keep(worker, row, reply)
            }
            (Turn::TakeUp(row), _) => {
                take_up(store, desk, &row);
                None
            }
        };
        if let Some((row, reply)) = sent
            && reply.recv() != Ok(true)
        {
            take_up(store, desk, &row);
        }
    }
}

/// Makes the engine resume a run. The receiver gets whether it does.
fn begin(taking_up: &TakingUp<'_>, run: &RunId) -> Receiver<bool> {
    let (sender, reply) = mpsc::channel();
    taking_up.take_up(run, caller::caller_of, move |goes_on| {
        // The receiver is gone only if this thread has panicked.
        let _ = sender.send(goes_on);
    });
    reply
}

/// Resumes one run by a request, or prints the reason for not resuming it.
fn take_up(store: &Store, desk: &Commands, row: &RunRow) {
    let run = &row.run;
    let reader = store.reader().map_err(Refused::from);
    match reader.and_then(|reader| gone_on(&reader, desk, row)) {
        Ok(()) => {}
        Err(refused) if row.aside.is_some() || desk.set_aside_for(run, &refused) => messages::say(&format!(
            "run {run} is set aside ({}): {}; `envoi resume {run}` tries again",
            refused.code_text(),
            refused.message
        )),
        Err(refused) => messages::say(&format!("run {run} does not go on: {}", refused.message)),
    }
}

/// Whether a run was set aside because of an external cause, which may be gone now.
fn is_outside(code: &str) -> bool {
    matches!(code.parse(), Ok(Code::SecretMissing | Code::WorkspaceBusy | Code::StoreCopied))
}

fn needs_an_engine(reader: &Reader, row: &RunRow) -> bool {
    let filter = InboxFilter { run: Some(row.run.clone()), closed: false };
    // If the questions cannot be read, assume that one can expire. The engine then reports the problem.
    let lapses =
        || reader.inbox(&filter).map_or(true, |rows| rows.iter().any(|row| row.expires_at.is_some()));
    row.status() != RunStatus::Waiting || lapses()
}

/// Makes the engine resume the run. A refusal is the reason for not resuming it.
fn gone_on(reader: &Reader, desk: &Commands, row: &RunRow) -> Result<(), Refused> {
    let caller = caller::caller_or_none(reader, &row.run);
    let by = Principal { tenant: row.tenant.clone(), actor: row.actor.clone() };
    let again = row.aside.is_some();
    let request = ResumeRequest { again, ..ResumeRequest::follow(row.run.clone(), by, caller) };
    let (client, responses) = mpsc::channel();
    desk.serve(Request::Resume(Box::new(request)), &client);
    drop(client);
    match responses.recv() {
        Ok(Response::Refused(refused)) => Err(refused),
        Ok(Response::Stopped { reason }) => Err(Refused::new(Code::EngineStopping, reason, None)),
        _ => Ok(()),
    }
}
