//! The runner of real commands: a thread an attempt, a supervisor process each.
//!
//! Owns the composition of a command's environment and the way of an attempt's result into the store. How a supervisor
//! works, and what its folder tells after a crash, is crate `step`'s.

mod feedback;
mod job;
mod settlement;

pub(crate) use job::secrets;
pub use job::is_allowed;

use crate::{
    message::Message,
    runner::{Job, Runner, Settlement},
};
use envoi_journal::{Blobs, Layout};
use envoi_kernel::ids::{AttemptId, RunId};
use envoi_step::{AttemptDir, Launcher, Probe};
use std::{
    path::PathBuf,
    sync::{Arc, mpsc::Sender},
    thread,
};

/// Supervisors that may go without having started anything, before the machine is held to be at fault: one that is killed
/// is an accident, and a disk that is full stays so.
const MAX_TRIES: u32 = 5;
/// Stack of the thread that waits for an attempt: it only waits and copies.
const STACK_BYTES: usize = 256 * 1024;

/// See the module.
pub struct Processes {
    shared: Arc<Shared>,
}

struct Shared {
    layout: Layout,
    blobs: Blobs,
    launcher: Launcher,
    boot_id: String,
    mailbox: Sender<Message>,
    reached: fn(Point),
}

/// A place where a test may stop an engine, with `attempt_started` durable and nothing started yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Point {
    /// Nobody has looked at the attempt's folder.
    BeforeProbe,
    /// The attempt's lock is held, by this engine.
    BeforeSpawn,
}

impl Processes {
    /// A runner whose results go to `mailbox`. `launcher` starts `envoi __attempt`.
    #[must_use]
    pub fn new(layout: Layout, blobs: Blobs, launcher: Launcher, boot_id: String, mailbox: Sender<Message>) -> Self {
        Self { shared: Arc::new(Shared { layout, blobs, launcher, boot_id, mailbox, reached: |_| {} }) }
    }

    /// Calls `reached` at each [`Point`] of each attempt.
    #[must_use]
    pub fn with_points(mut self, reached: fn(Point)) -> Self {
        if let Some(shared) = Arc::get_mut(&mut self.shared) {
            shared.reached = reached;
        }
        self
    }
}

impl Runner for Processes {
    fn ensure(&mut self, job: Job) {
        let shared = Arc::clone(&self.shared);
        let (run, attempt) = (job.run.clone(), job.started.attempt.clone());
        let name = format!("attempt-{attempt}");
        let spawned = thread::Builder::new().name(name).stack_size(STACK_BYTES).spawn(move || shared.see_through(&job));
        if let Err(error) = spawned {
            let settlement = Settlement::Unknown { reason: format!("no thread can be started: {error}") };
            self.shared.tell(run, attempt, settlement);
        }
    }

    fn cancel(&mut self, run: &RunId, attempt: &AttemptId) {
        let dir = self.shared.dir(run, attempt);
        let shared = Arc::clone(&self.shared);
        let (run, attempt) = (run.clone(), attempt.clone());
        let asked = thread::Builder::new().name("cancel".to_owned()).stack_size(STACK_BYTES).spawn(move || {
            if let Err(error) = envoi_step::cancel(&dir) {
                let reason = format!("attempt `{attempt}` cannot be cancelled: {error}");
                shared.tell(run, attempt, Settlement::Unknown { reason });
            }
        });
        drop(asked);
    }
}

impl Shared {
    fn dir(&self, run: &RunId, attempt: &AttemptId) -> AttemptDir {
        AttemptDir::new(self.layout.attempt(run, attempt))
    }

    fn run_base(&self, run: &RunId) -> PathBuf {
        self.layout.run(run)
    }

    fn tell(&self, run: RunId, attempt: AttemptId, settlement: Settlement) {
        // The loop that would hear it may be gone; the attempt's folder still says everything.
        drop(self.mailbox.send(Message::Settled { run, attempt, settlement }));
    }

    fn see_through(&self, job: &Job) {
        let settlement = self.settle(job).unwrap_or_else(|reason| Settlement::Unknown { reason });
        self.tell(job.run.clone(), job.started.attempt.clone(), settlement);
    }

    /// Looks, starts if nothing was ever started, waits, and looks again until the attempt is settled or lost.
    fn settle(&self, job: &Job) -> Result<Settlement, String> {
        let dir = self.dir(&job.run, &job.started.attempt);
        (self.reached)(Point::BeforeProbe);
        let mut tries: u32 = 0;
        loop {
            match envoi_step::probe(&dir, &job.started.boot_id, &self.boot_id).map_err(|error| error.to_string())? {
                Probe::Running => envoi_step::wait_until_free(&dir).map_err(|error| error.to_string())?,
                Probe::Settled(exit) => return settlement::finished(&self.blobs, &dir, job, *exit),
                Probe::Lost(evidence) => return settlement::in_doubt(&self.run_base(&job.run), &dir, job, evidence),
                Probe::NotStarted(lock) => {
                    if tries >= MAX_TRIES {
                        return Err(format!("attempt `{}`: {}", job.started.attempt, never_started(&dir)));
                    }
                    tries = tries.saturating_add(1);
                    let spec = match job::spec(self, job, &dir) {
                        Ok(spec) => spec,
                        Err(reason) => return Ok(settlement::cannot_start(job, reason)),
                    };
                    (self.reached)(Point::BeforeSpawn);
                    let supervisor = self.launcher.spawn(&dir, &spec, lock).map_err(|error| error.to_string())?;
                    supervisor.wait().map_err(|error| error.to_string())?;
                }
            }
        }
    }
}

/// What the supervisors said, in one line.
fn never_started(dir: &AttemptDir) -> String {
    let log = std::fs::read_to_string(dir.supervisor_log()).unwrap_or_default();
    let last = log.lines().last().unwrap_or("it says nothing");
    format!("its supervisor went {MAX_TRIES} times without starting anything: {last}")
}
