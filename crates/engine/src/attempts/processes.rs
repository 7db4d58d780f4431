//! The runner of real commands: a thread an attempt, a supervisor process each.
//!
//! Owns the composition of a command's environment and the way of an attempt's result into the store. Crate `step`
//! owns the work of a supervisor, and the meaning of its folder after a crash.

use super::{
    accounts::AgentAccounts,
    agent,
    callable_models::CallableModels,
    model,
    not_passed::AlreadyNamed,
    order::{self, OrderError},
    presence::{Manner, Occupied, Presences},
    secrets::Known,
    settlement::{self, Unsettled},
    shared::{LargeSets, Shared},
    variables::PerAttempt,
};

use crate::{
    model::{
        claim::Claim,
        crash_point::Point,
        message::Message,
        runner::{Job, Runner, Settlement},
        trouble::{self, TroubleKind, guarded},
    },
    observe::placing::Placing,
};
use envoi_contract::{code::Code, digest::Digest};
use envoi_journal::{Store, Writer};
use envoi_kernel::ids::{AttemptId, RunId};
use envoi_step::{
    AttemptDir, Cancelled, Doubt, Given, Launcher, Named, Probe, SpawnError, Start, Starts, end_leftovers,
};
use envoi_tree::Bounds;
use std::{
    path::PathBuf,
    sync::{Arc, Mutex, atomic::AtomicU64, mpsc::Sender},
    thread,
    time::Duration,
};

/// Stack of the thread that waits for an attempt: it only waits and copies.
const STACK_BYTES: usize = 256 * 1024;

/// See the module.
pub struct Processes {
    shared: Arc<Shared>,
}

impl Processes {
    /// A runner whose results go to `mailbox`. `launcher` starts `envoi __attempt`.
    #[must_use]
    pub fn new(store: Arc<Store>, launcher: Launcher, boot_id: String, mailbox: Sender<Message>) -> Self {
        let layout = store.layout().clone();
        let blobs = store.blobs();
        let (reached, per_attempt): (fn(Point), _) = (|_| {}, PerAttempt::default());
        let stream_cap_bytes = envoi_step::Spec::STREAM_CAP_BYTES;
        let presences = Arc::new(Presences::new(layout.root(), |_| {}));
        let shared = Shared {
            store,
            layout,
            blobs,
            launcher,
            boot_id,
            mailbox,
            reached,
            per_attempt,
            models: CallableModels::default(),
            accounts: AgentAccounts::default(),
            stream_cap_bytes,
            too_wide: Vec::new(),
            bounds: Bounds::default(),
            large: None,
            secret_marks: Mutex::new(None),
            presences,
            lease_until_ms: None,
            named: AlreadyNamed::default(),
            named_besides: AlreadyNamed::default(),
            named_aside: AlreadyNamed::default(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Keeps so much of each of stdout and stderr of an attempt, in place of [`envoi_step::Spec::STREAM_CAP_BYTES`].
    #[must_use]
    pub fn with_stream_cap(mut self, bytes: Option<u64>) -> Self {
        if let (Some(shared), Some(bytes)) = (Arc::get_mut(&mut self.shared), bytes) {
            shared.stream_cap_bytes = bytes;
        }
        self
    }

    /// Takes no snapshots of these folders, nor of one above them.
    #[must_use]
    pub fn with_too_wide(mut self, folders: Vec<PathBuf>) -> Self {
        if let Some(shared) = Arc::get_mut(&mut self.shared) {
            shared.too_wide = folders;
        }
        self
    }

    /// Takes snapshots within these bounds.
    #[must_use]
    pub fn with_bounds(mut self, bounds: Bounds) -> Self {
        if let Some(shared) = Arc::get_mut(&mut self.shared) {
            shared.bounds = bounds;
        }
        self
    }

    /// Stores the contents of large sets through `writer` before their commit, and begins no attempt while `placing` has
    /// files of its run to place.
    #[must_use]
    pub(crate) fn with_large_sets(mut self, writer: Arc<Writer>, placing: Placing) -> Self {
        if let Some(shared) = Arc::get_mut(&mut self.shared) {
            shared.large = Some(LargeSets { writer, placing });
        }
        self
    }

    /// Shares with others which runs are at work in their workspaces.
    #[must_use]
    pub(crate) fn with_presences(mut self, presences: Arc<Presences>) -> Self {
        if let Some(shared) = Arc::get_mut(&mut self.shared) {
            shared.presences = presences;
        }
        self
    }

    /// Gives attempts a lease, for a worker whose attempts may be given to others: each may run until the time in `until_ms` when it is
    /// ordered, by [`envoi_step::boot_ms`]. The worker renews it ([`envoi_step::Lease`]).
    #[must_use]
    pub fn with_lease(mut self, until_ms: Arc<AtomicU64>) -> Self {
        if let Some(shared) = Arc::get_mut(&mut self.shared) {
            shared.lease_until_ms = Some(until_ms);
        }
        self
    }

    /// Gives these variables to the commands of each attempt as well.
    #[must_use]
    pub fn with_variables(mut self, per_attempt: PerAttempt) -> Self {
        if let Some(shared) = Arc::get_mut(&mut self.shared) {
            shared.per_attempt = per_attempt;
        }
        self
    }

    /// Lets steps work with these accounts.
    #[must_use]
    pub fn with_accounts(mut self, accounts: AgentAccounts) -> Self {
        if let Some(shared) = Arc::get_mut(&mut self.shared) {
            shared.accounts = accounts;
        }
        self
    }

    /// Lets steps ask these models.
    #[must_use]
    pub fn with_models(mut self, models: CallableModels) -> Self {
        if let Some(shared) = Arc::get_mut(&mut self.shared) {
            shared.models = models;
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
        let run = job.run.clone();
        let attempt = job.started.attempt.clone();
        let name = format!("attempt-{attempt}");
        let spawned =
            thread::Builder::new().name(name).stack_size(STACK_BYTES).spawn(move || shared.see_through(&job));
        if let Err(error) = spawned {
            let trouble = of_machine(format!("no thread can be started: {error}"));
            let settlement = Settlement::Unknown { trouble };
            self.shared.send(run, attempt, settlement);
        }
    }

    fn withdraw(&mut self, job: Job) {
        // The agent's task goes on then, and the record of the visit has its place.
        agent::withdraw(&self.shared, &job).ok();
    }

    fn leave(&mut self, run: &RunId) {
        self.shared.presences.leave(run);
    }

    fn cancel(&mut self, run: &RunId, attempt: &AttemptId) {
        let dir = self.shared.dir(run, attempt);
        let run_base = self.shared.layout.run(run);
        let (run, attempt, mark) = (run.clone(), attempt.clone(), attempt.to_string());
        let spawned =
            thread::Builder::new().name("cancel".to_owned()).stack_size(STACK_BYTES).spawn(move || {
                match envoi_step::cancel(&dir) {
                    Ok(Cancelled::Signalled) => {
                        while envoi_step::remind(&dir) {
                            thread::park_timeout(REMINDER);
                        }
                    }
                    Ok(Cancelled::Noted | Cancelled::AlreadyOver) => {}
                    // The supervisor cannot be reached: the live processes of the attempt are ended directly.
                    // The thread that waits for it finds out how it ended.
                    Ok(Cancelled::Lost) | Err(_) => {
                        end_leftovers(&mark, &run_base).ok();
                    }
                }
            });
        if let Err(error) = spawned {
            self.shared.cannot_cancel(run, &attempt, &error);
        }
    }
}

/// A supervisor that ended before it could publish that it started (killed at once, full disk) is tried again so often.
const MAX_SPAWNS: u32 = 3;

/// Between two signals to a supervisor that is to end its command. The supervisor may be suspended meanwhile.
const REMINDER: Duration = Duration::from_secs(1);

/// How much of `supervisor.log` becomes a reason.
const LOG_TAIL_BYTES: u64 = 4 * 1024;

/// The machine failed, and may not the next time.
fn of_machine(reason: String) -> trouble::Trouble {
    trouble::Trouble::new(TroubleKind::Attempt, reason)
}

/// Something in the run's folder is not what it has to be.
fn of_files(reason: String) -> trouble::Trouble {
    trouble::Trouble::new(TroubleKind::Files, reason)
}

fn never_starts(dir: &AttemptDir) -> String {
    let log = envoi_step::end_of(&dir.supervisor_log(), LOG_TAIL_BYTES).unwrap_or_default();
    let log = String::from_utf8_lossy(&log);
    format!("its supervisor ended {MAX_SPAWNS} times before it could start anything: {}", log.trim())
}

/// The journal's data on the announcement of an attempt.
struct Announced {
    /// Its id. It differs from that of the same attempt in a journal that was replaced by a backup.
    start: String,
    /// It was written before the files of the store were copied.
    is_of_original: bool,
}

impl Shared {
    fn send(&self, run: RunId, attempt: AttemptId, settlement: Settlement) {
        // The loop may be gone; the attempt's folder still has everything.
        self.mailbox.send(Message::Settled { run, attempt, settlement }).ok();
    }

    /// The attempt goes on, and is still waited for.
    fn cannot_cancel(&self, run: RunId, attempt: &AttemptId, error: &dyn core::fmt::Display) {
        let trouble = of_machine(format!("attempt `{attempt}` cannot be cancelled: {error}"));
        self.mailbox.send(Message::Troubled { run, trouble }).ok();
    }

    fn see_through(&self, job: &Job) {
        // A thread that panics in silence would leave a run that nothing wakes.
        let settled = guarded("waiting for it", || self.settle(job))
            .unwrap_or_else(|panic| Err(of_machine(panic.reason)));
        let settlement = settled.unwrap_or_else(|trouble| Settlement::Unknown { trouble });
        self.send(job.run.clone(), job.started.attempt.clone(), settlement);
    }

    /// Looks, starts if nothing was ever started, waits, and looks again until the attempt is settled or lost.
    ///
    /// # Errors
    /// The machine failed, or the contents of the run's folder keep the attempt from being started. The files that a command
    /// has left are no error: see [`Settlement`].
    fn settle(&self, job: &Job) -> Result<Settlement, trouble::Trouble> {
        let dir = self.dir(&job.run, &job.started.attempt);
        let starts = Starts::of(&self.layout.run(&job.run));
        let name = job.started.attempt.to_string();
        let Announced { start, is_of_original } = self.announced(job)?;
        let named = starts.named(&name, &start);
        // Only where another engine announced it can that one have started it.
        let never = matches!((named, job.is_new), (Named::Not, _) | (Named::Unknown, true));
        let is_other = matches!((named, job.is_new), (Named::OtherStart, _) | (Named::Attempt, true));
        let mut given = if never { Given::Never } else { Given::Maybe };
        let mut spawned = 0;
        (self.reached)(Point::BeforeProbe);
        loop {
            let expected = Start { id: &start, boot_id: &job.started.boot_id };
            let found = match envoi_step::probe(&dir, given, expected, &self.boot_id) {
                Err(error) if error.is_of_machine() => return Err(of_machine(error.to_string())),
                Err(error) if given == Given::Never => return Err(of_files(error.to_string())),
                Err(error) => {
                    return self.in_doubt(job, &dir, Doubt::Unusable { reason: error.to_string() });
                }
                Ok(found) => found,
            };
            match found {
                Probe::Running => {
                    envoi_step::wait_until_free(&dir).map_err(|error| of_machine(error.to_string()))?
                }
                // Its journal is older than the attempt, as after a backup: the events are not known here.
                _ if is_other => return self.in_doubt(job, &dir, Doubt::OtherStart),
                Probe::Settled(exit) if let Some(reason) = model::unanswered(job, &dir, &exit) => {
                    return self.in_doubt(job, &dir, Doubt::Unusable { reason });
                }
                Probe::Settled(exit) => match settlement::finished(self, &dir, job, *exit) {
                    Ok(settlement) => return Ok(settlement),
                    Err(Unsettled::Record(doubt)) => return self.in_doubt(job, &dir, doubt),
                    Err(Unsettled::Machine(reason)) => return Err(of_machine(reason)),
                },
                Probe::Lost(doubt) => return self.in_doubt(job, &dir, doubt),
                // Nothing ran here. The attempt may have run where the store was copied from.
                Probe::NotStarted(_) if is_of_original => {
                    return self.in_doubt(job, &dir, Doubt::SupervisorGone);
                }
                // Nothing ran: that is certain, so it is no doubt.
                Probe::NotStarted(_) if spawned == MAX_SPAWNS => {
                    return Ok(settlement::never_started(job, &dir, never_starts(&dir)));
                }
                Probe::NotStarted(lock) => {
                    spawned += 1;
                    self.enter(job)?;
                    // Hand-offs and artifacts are in their places before a step that may read them begins.
                    self.large
                        .as_ref()
                        .map_or(Ok(()), |large| large.placing.wait(&job.run))
                        .map_err(|error| of_machine(error.to_string()))?;
                    let spec = match order::spec(self, job, &dir, &start) {
                        Ok(spec) => spec,
                        Err(OrderError::Step(reason)) => return Ok(settlement::cannot_start(job, reason)),
                        Err(OrderError::Machine(reason)) => return Err(of_machine(reason)),
                    };
                    (self.reached)(Point::BeforeSpawn);
                    starts.note(&name, &start).map_err(|error| {
                        of_files(format!("`{}` cannot be written: {error}", starts.path().display()))
                    })?;
                    given = Given::Maybe;
                    match self.launcher.spawn(&dir, &spec, lock) {
                        Ok(supervisor) => supervisor.wait().map_err(|error| of_machine(error.to_string()))?,
                        // It was gone before it had read its order; the next look finds that nothing was started.
                        Err(SpawnError::Send { .. }) => {}
                        Err(error @ SpawnError::Start { .. }) => return Err(of_machine(error.to_string())),
                        Err(error) => return Ok(settlement::cannot_start(job, error.to_string())),
                    }
                }
            }
        }
    }

    /// The run is at work in its workspace, if it has rested before.
    fn enter(&self, job: &Job) -> Result<(), trouble::Trouble> {
        let text = |path: &std::path::Path| path.to_string_lossy().into_owned();
        let claim = Claim {
            run: job.run.clone(),
            workspace: text(&job.workspace),
            run_base: text(&job.run_base),
            shared: job.shares,
        };
        let manner = Manner::of(job.shares, &job.within);
        let busy = |occupied: Occupied| {
            trouble::Trouble::new(TroubleKind::Outside(Code::WorkspaceBusy), occupied.to_string())
        };
        self.presences.enter(&claim, manner).map(drop).map_err(busy)
    }

    fn announced(&self, job: &Job) -> Result<Announced, trouble::Trouble> {
        /// More digits than two announcements could have in common.
        const DIGITS: usize = 16;
        let failed = |error: &dyn core::fmt::Display| of_machine(error.to_string());
        let reader = self.store.reader().map_err(|error| failed(&error))?;
        let attempt = &job.started.attempt;
        let (seq, at) = reader.announcement(&job.run, attempt).map_err(|error| failed(&error))?;
        let is_of_original = reader.is_of_original(&job.run, attempt).map_err(|error| failed(&error))?;
        let text = format!("{}\n{attempt}\n{seq}\n{}", job.run, at.as_millis());
        let start = Digest::of(text.as_bytes()).hex().chars().take(DIGITS).collect();
        Ok(Announced { start, is_of_original })
    }

    fn in_doubt(&self, job: &Job, dir: &AttemptDir, doubt: Doubt) -> Result<Settlement, trouble::Trouble> {
        let is_of_original = self.is_of_original(job)?;
        settlement::in_doubt(self, dir, job, &Known::since_start(self, job, dir), doubt, is_of_original)
            .map_err(|error| of_machine(error.to_string()))
    }

    /// Whether the attempt was announced before the files of the store were copied.
    fn is_of_original(&self, job: &Job) -> Result<bool, trouble::Trouble> {
        let reader = self.store.reader();
        let is_of_original = reader.and_then(|reader| reader.is_of_original(&job.run, &job.started.attempt));
        is_of_original.map_err(|error| of_machine(error.to_string()))
    }
}
