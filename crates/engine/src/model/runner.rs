//! How the engine gets attempts done, as it sees it: one interface for real processes, benches and simulation.

use crate::model::{
    trace::{Of, Trace, Traceparent},
    trouble::Trouble,
};
use envoi_contract::digest::Digest;
use envoi_contract::json::Value;
use envoi_journal::{CommitError, FileError, ReadError, with_causes};
use envoi_kernel::{
    Run,
    event::{AttemptStarted, Isolated, SnapshotScope},
    flow::Flow,
    ids::{AttemptId, RunId},
    input::AttemptResult,
};
use serde::{Deserialize, Serialize};
use std::{io, path::PathBuf, sync::Arc};

/// An attempt that must be running, or be found settled.
#[derive(Debug, Clone)]
pub struct Job {
    /// The run.
    pub run: RunId,
    /// Its pinned flow.
    pub pinned: Arc<Flow>,
    /// The flow of the step: the pinned one, or one that a step of it runs.
    pub flow: Arc<Flow>,
    /// The event that announces it; committed before this job exists.
    pub started: Arc<AttemptStarted>,
    /// Absolute path of the workspace.
    pub workspace: PathBuf,
    /// Whether the run was started to share its workspace.
    pub shares: bool,
    /// Whether snapshots of its workspace are taken.
    pub keeps_files: bool,
    /// The scope of the snapshots.
    pub snapshots: SnapshotScope,
    /// Whether no result comes from the cache of steps.
    pub no_cache: bool,
    /// Whose run it is.
    pub tenant: String,
    /// The tree of its own that the run has.
    pub isolated: Option<Box<Isolated>>,
    /// Absolute path of the run's own folder, by which its processes are known.
    pub run_base: PathBuf,
    /// Variables and secrets of the caller that started or resumed the run.
    pub caller: Arc<Caller>,
    /// The attempts that wait for the run, the nearest first.
    pub within: Vec<CallingAttempt>,
    /// The trace header for the command.
    pub trace: Traceparent,
    /// The pipeline envelope as JSON, for a step that wants it.
    pub envelope: Option<String>,
    /// Whether this very engine announced the attempt, and has not had it started: no other engine can have.
    pub is_new: bool,
}

impl Job {
    /// The job of an attempt that this run has announced; `None` before the run has started. Whatever is not in the run comes from
    /// `caller`.
    #[must_use]
    pub fn of(run: &Run, started: Arc<AttemptStarted>, caller: Arc<Caller>) -> Option<Self> {
        let attempt = &started.attempt;
        let wants_envelope = run.step(&attempt.visit).is_some_and(|step| step.envelope);
        let begun = run.started()?;
        Some(Self {
            run: begun.run.clone(),
            pinned: Arc::clone(run.flow()),
            flow: Arc::clone(run.flow_of(&attempt.visit)),
            trace: Trace::of(begun).traceparent(Of::Attempt(attempt)),
            started,
            workspace: PathBuf::from(&begun.workspace),
            shares: begun.shared,
            keeps_files: begun.keep_files,
            snapshots: begun.snapshots.clone(),
            no_cache: begun.no_cache,
            tenant: begun.by.tenant.clone(),
            isolated: begun.isolated.clone(),
            run_base: PathBuf::from(&begun.run_base),
            within: caller.within.clone(),
            caller,
            envelope: wants_envelope.then(|| run.envelope().to_state_dict().pretty()),
            is_new: false,
        })
    }
}

/// Data of the process that started or resumed a run; kept in memory only.
#[derive(Debug, Clone, Default)]
pub struct Caller {
    /// Variables that commands may see.
    pub env: Vec<(String, String)>,
    /// Values of the flow's secrets that come from the environment, by the name that commands see.
    pub secrets: Vec<(String, String)>,
    /// The same by the variables of the caller, also those that the flow before a correction named: an attempt that
    /// was started under that flow is masked with them.
    pub variables: Vec<(String, String)>,
    /// Folder of the flow file, to which secret files are relative.
    pub flow_dir: PathBuf,
    /// The attempts that wait for this run, because their commands follow it or one that does: the nearest first.
    pub within: Vec<CallingAttempt>,
    /// Well-known variables that are set for the caller and that commands do not see.
    pub not_passed: Vec<String>,
    /// Why a file of `env_file` cannot be used.
    pub env_file_problem: Option<String>,
}

/// An attempt whose command has started or resumed another run and waits for it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CallingAttempt {
    /// Its run.
    pub run: RunId,
    /// The attempt.
    pub attempt: AttemptId,
}

impl CallingAttempt {
    /// From `RUN:ATTEMPT`; `None` for anything else.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (run, attempt) = text.split_once(':')?;
        Some(Self { run: RunId::new(run).ok()?, attempt: AttemptId::parse(attempt).ok()? })
    }
}

impl core::fmt::Display for CallingAttempt {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}:{}", self.run, self.attempt)
    }
}

/// The outcome of an attempt.
#[derive(Debug, Clone)]
pub enum Settlement {
    /// It is over.
    Finished {
        /// Its result.
        result: Box<AttemptResult>,
        /// Contents to be committed with it; larger ones are in the store already.
        blobs: Vec<(Digest, Vec<u8>)>,
    },
    /// It was announced, is not running, and left no record of its end. Nothing of it lives any more.
    InDoubt {
        /// `output_tail`, `ran_ms`, `files_changed`.
        evidence: Value,
    },
    /// Not even this can be known now, or nothing of the run can be started: the run is set aside.
    Unknown {
        /// The trouble.
        trouble: Trouble,
    },
}

/// Runs attempts. Results arrive as [`crate::Message::Settled`], once for each [`Runner::ensure`].
pub trait Runner {
    /// Makes sure that the attempt is running, or was found settled, lost or never started (then it is started now).
    ///
    /// Must not block on the attempt. Not called again for an attempt before its settlement has arrived.
    fn ensure(&mut self, job: Job);

    /// Nothing of the run is started for now: it rests, is over or set aside. Attempts that are live go on.
    fn leave(&mut self, _run: &RunId) {}

    /// Asks the attempt to end. Its settlement still arrives.
    fn cancel(&mut self, run: &RunId, attempt: &AttemptId);

    /// Cancels the task of the agent that this attempt called last: the run does not want it any more, and no attempt works on
    /// it. Tried once; the result is not reported.
    fn withdraw(&mut self, job: Job) {
        drop(job);
    }
}

/// The time, and the machine's present boot.
pub trait Clock {
    /// Now, UTC. It may be set, forward and back.
    fn now(&self) -> envoi_contract::time::Timestamp;
    /// Milliseconds since some moment, of a clock that cannot be set and never goes back. It may stop while the
    /// machine is suspended.
    fn steady_ms(&self) -> u64;
    /// Identity of the present boot.
    fn boot_id(&self) -> String;
}

/// Takes commits; each is answered by one [`crate::Message::Committed`], after it is durable.
pub trait Log {
    /// Never blocks on the disk.
    fn submit(&mut self, commit: envoi_journal::Commit);

    /// Takes what is noted of a run; answered by one [`crate::Message::Noted`]. Notes and commits are written in order.
    fn note(&mut self, note: envoi_journal::Note);

    /// Whether the store is still where this engine opened it; an error has the reason. If it is not, a failure of a
    /// run is no trouble of that run.
    ///
    /// # Errors
    /// The store is not there any more.
    fn check_place(&self) -> Result<(), StoreGone> {
        Ok(())
    }

    /// The place of the next event of a run, as it is in the journal now.
    ///
    /// # Errors
    /// It cannot be read.
    fn next_seq(&mut self, run: &RunId) -> Result<envoi_kernel::ids::Seq, envoi_journal::ReadError>;
}

/// The database of this engine is not where it was opened.
#[derive(Debug, thiserror::Error)]
#[error("`{}` is gone: the project was moved or removed", db.display())]
pub struct StoreGone {
    /// The path at which it was opened.
    pub db: std::path::PathBuf,
}

/// Why a commit cannot be shown. All that wait for the files of a run get the same error, so it can be cloned.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ShowError {
    /// An engine that was overtaken must not put its old files over newer ones.
    #[error("another engine has gone on with run `{run}`")]
    Overtaken {
        /// The run.
        run: RunId,
    },
    /// The journal cannot be read.
    #[error(transparent)]
    Read(Arc<ReadError>),
    /// It is not known whether the engine still holds the newest epoch.
    #[error(transparent)]
    Epoch(Arc<CommitError>),
    /// A file cannot be written.
    #[error("{}", with_causes(.0.as_ref()))]
    File(Arc<FileError>),
    /// The machine failed otherwise.
    #[error(transparent)]
    Machine(Arc<io::Error>),
    /// No thread could be had.
    #[error("no thread can be started to place the artifacts of run `{run}`: {source}")]
    NoThread {
        /// The run.
        run: RunId,
        /// The machine's reason.
        source: Arc<io::Error>,
    },
    /// A defect of ours.
    #[error("{reason}")]
    Panicked {
        /// The message of the panic, in a sentence.
        reason: String,
    },
}

impl From<ReadError> for ShowError {
    fn from(error: ReadError) -> Self {
        Self::Read(Arc::new(error))
    }
}

impl From<CommitError> for ShowError {
    fn from(error: CommitError) -> Self {
        Self::Epoch(Arc::new(error))
    }
}

impl From<FileError> for ShowError {
    fn from(error: FileError) -> Self {
        Self::File(Arc::new(error))
    }
}

impl From<io::Error> for ShowError {
    fn from(error: io::Error) -> Self {
        Self::Machine(Arc::new(error))
    }
}

/// Learns of what has been committed, before anything that follows from it is started.
pub trait Observer {
    /// `run` is the state after `records`. Writes the files that show it, and notifies followers.
    ///
    /// # Errors
    /// The commit stays durable; the run is set aside.
    fn committed(
        &mut self,
        run: &envoi_kernel::Run,
        records: &[envoi_kernel::Record],
    ) -> Result<(), ShowError>;

    /// It is durable that a run is set aside. Notifies followers.
    fn set_aside(&mut self, _run: &RunId, _why: &envoi_journal::Aside) {}

    /// It is durable that a run which was set aside is tried again. Its files were made good before that.
    fn taken_up(&mut self, _run: &RunId) {}
}
