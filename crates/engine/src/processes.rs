//! The runner of real commands: a thread an attempt, a supervisor process each.
//!
//! Owns the composition of a command's environment and the way of an attempt's result into the store. How a supervisor
//! works, and what its folder tells after a crash, is crate `step`'s.

mod feedback;
mod job;
mod own;
mod settlement;
mod talk;

use job::Trouble;
pub use job::is_allowed;
pub(crate) use job::secrets;
pub use own::{PerAttempt, Variable};

use crate::{
    message::Message,
    runner::{Job, Runner, Settlement},
};
use envoi_journal::{Blobs, Layout, Store};
use envoi_kernel::ids::{AttemptId, RunId};
use envoi_step::{AttemptDir, Launcher, Probe};
use std::{
    sync::{Arc, mpsc::Sender},
    thread,
};

/// Stack of the thread that waits for an attempt: it only waits and copies.
const STACK_BYTES: usize = 256 * 1024;

/// See the module.
pub struct Processes {
    shared: Arc<Shared>,
}

struct Shared {
    store: Arc<Store>,
    layout: Layout,
    blobs: Blobs,
    launcher: Launcher,
    boot_id: String,
    mailbox: Sender<Message>,
    reached: fn(Point),
    per_attempt: PerAttempt,
}

/// A place where a test may stop an engine: something is durable, and what follows from it has not been done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Point {
    /// `attempt_started` is committed, and nobody has looked at the attempt's folder.
    BeforeProbe,
    /// The attempt's lock is held, by this engine.
    BeforeSpawn,
    /// A hand-off is committed, and its file not written.
    BeforeShow,
}

impl Processes {
    /// A runner whose results go to `mailbox`. `launcher` starts `envoi __attempt`.
    #[must_use]
    pub fn new(store: Arc<Store>, launcher: Launcher, boot_id: String, mailbox: Sender<Message>) -> Self {
        let (layout, blobs) = (store.layout().clone(), store.blobs());
        let (reached, per_attempt): (fn(Point), _) = (|_| {}, PerAttempt::default());
        let shared = Shared { store, layout, blobs, launcher, boot_id, mailbox, reached, per_attempt };
        Self { shared: Arc::new(shared) }
    }

    /// Gives these variables to the commands of each attempt as well.
    #[must_use]
    pub fn with_variables(mut self, per_attempt: PerAttempt) -> Self {
        if let Some(shared) = Arc::get_mut(&mut self.shared) {
            shared.per_attempt = per_attempt;
        }
        self
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
        let spawned =
            thread::Builder::new().name(name).stack_size(STACK_BYTES).spawn(move || shared.see_through(&job));
        if let Err(error) = spawned {
            let settlement = Settlement::Unknown { reason: format!("no thread can be started: {error}") };
            self.shared.tell(run, attempt, settlement);
        }
    }

    fn withdraw(&mut self, job: Job) {
        // The agent's task goes on then, and the record of the visit says where.
        drop(talk::withdraw(&self.shared, &job));
    }

    fn cancel(&mut self, run: &RunId, attempt: &AttemptId) {
        let dir = self.shared.dir(run, attempt);
        let shared = Arc::clone(&self.shared);
        let (run, attempt) = (run.clone(), attempt.clone());
        let asked =
            thread::Builder::new().name("cancel".to_owned()).stack_size(STACK_BYTES).spawn(move || {
                if let Err(error) = envoi_step::cancel(&dir) {
                    let reason = format!("attempt `{attempt}` cannot be cancelled: {error}");
                    shared.tell(run, attempt, Settlement::Unknown { reason });
                }
            });
        drop(asked);
    }
}

/// A supervisor that ended before it could publish that it started (killed at once, full disk) is tried again so often.
const MAX_SPAWNS: u32 = 3;

fn never_starts(dir: &AttemptDir, job: &Job) -> String {
    let said = std::fs::read_to_string(dir.supervisor_log()).unwrap_or_default();
    let attempt = &job.started.attempt;
    format!(
        "the supervisor of attempt `{attempt}` ended {MAX_SPAWNS} times before it could start anything: {}",
        said.trim()
    )
}

impl Shared {
    fn dir(&self, run: &RunId, attempt: &AttemptId) -> AttemptDir {
        AttemptDir::new(self.layout.attempt(run, attempt))
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
        let mut spawned = 0;
        (self.reached)(Point::BeforeProbe);
        loop {
            match envoi_step::probe(&dir, &job.started.boot_id, &self.boot_id)
                .map_err(|error| error.to_string())?
            {
                Probe::Running => envoi_step::wait_until_free(&dir).map_err(|error| error.to_string())?,
                Probe::Settled(exit) => return settlement::finished(&self.blobs, &dir, job, *exit),
                Probe::Lost(evidence) => {
                    let secrets = job::known_secrets(self, job);
                    return settlement::in_doubt(&dir, job, &secrets, evidence);
                }
                Probe::NotStarted(_) if spawned == MAX_SPAWNS => return Err(never_starts(&dir, job)),
                Probe::NotStarted(lock) => {
                    spawned += 1;
                    let spec = match job::spec(self, job, &dir) {
                        Ok(spec) => spec,
                        Err(Trouble::Step(reason)) => return Ok(settlement::cannot_start(job, reason)),
                        Err(Trouble::Machine(reason)) => return Err(reason),
                    };
                    (self.reached)(Point::BeforeSpawn);
                    let supervisor =
                        self.launcher.spawn(&dir, &spec, lock).map_err(|error| error.to_string())?;
                    supervisor.wait().map_err(|error| error.to_string())?;
                }
            }
        }
    }
}
