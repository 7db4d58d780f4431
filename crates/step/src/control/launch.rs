//! Starting a supervisor: the engine's side of the hand-over.
//!
//! Gives the lock away and forgets it. Does not wait for anything that the supervisor does with its order.

use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use crate::attempt::dir::{AttemptDir, LockFile};
use crate::attempt::spec::{Order, Spec};
use crate::disk::plain;

/// How to start this program again as a supervisor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launcher {
    /// The program; it must call [`crate::run_supervisor`] when it gets `args`.
    pub exe: PathBuf,
    /// Its arguments.
    pub args: Vec<String>,
}

impl Launcher {
    /// This very program; on Linux even if its file has been replaced or removed since it was started.
    pub fn own(args: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let exe = if cfg!(target_os = "linux") {
            PathBuf::from("/proc/self/exe")
        } else {
            std::env::current_exe().unwrap_or_default()
        };
        Self { exe, args: args.into_iter().map(Into::into).collect() }
    }

    /// Starts a supervisor for `spec` in `dir`, which exists; returns once it has been sent the whole order.
    ///
    /// The lock goes to the supervisor: the caller's copy is closed in any case, and the lock is free again when the
    /// supervisor is gone. After an error nothing was run, and the lock can be taken again. After success the
    /// supervisor may still go without having started anything (killed at once, a full disk): then it is
    /// [`crate::Probe::NotStarted`] again, and `supervisor.log` may say why; do not repeat it without limit.
    ///
    /// # Errors
    /// [`SpawnError`]: what failed.
    pub fn spawn(&self, dir: &AttemptDir, spec: &Spec, lock: LockFile) -> Result<Supervisor, SpawnError> {
        let order = order(dir, spec)?;
        let log = plain::append(&dir.supervisor_log()).map_err(|source| SpawnError::Log { source })?;
        let mut child =
            self.start(log, lock).map_err(|source| SpawnError::Start { exe: self.exe.clone(), source })?;
        let sent = child.stdin.take().map_or(Ok(()), |mut pipe| pipe.write_all(&order));
        match sent {
            Ok(()) => Ok(Supervisor { child }),
            Err(source) => Err(give_up(child, source)),
        }
    }

    fn start(&self, log: File, lock: LockFile) -> io::Result<Child> {
        // The command owns our copies of the lock and the log; it is dropped here, and they with it.
        Command::new(&self.exe)
            .args(&self.args)
            .stdin(Stdio::piped())
            .stdout(Stdio::from(lock.into_file()))
            .stderr(Stdio::from(log))
            .spawn()
    }
}

fn order(dir: &AttemptDir, spec: &Spec) -> Result<Vec<u8>, SpawnError> {
    let dir = std::path::absolute(dir.path()).map_err(|source| SpawnError::Folder { source })?;
    serde_json::to_vec(&Order { dir, spec: spec.clone() }).map_err(|source| SpawnError::Encode { source })
}

/// A supervisor that did not read its order to the end runs nothing; see that it is gone.
fn give_up(mut child: Child, source: io::Error) -> SpawnError {
    // Both fail only if it is gone already.
    let _ = child.kill();
    let _ = child.wait();
    SpawnError::Send { source }
}

/// A running supervisor, child of this process. Dropping it neither ends nor reaps it.
#[derive(Debug)]
pub struct Supervisor {
    child: Child,
}

impl Supervisor {
    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Blocks until the supervisor is over, and reaps it. What came out of it is for [`crate::probe`] to say.
    ///
    /// # Errors
    /// It is not, or no longer, a child of this process.
    pub fn wait(mut self) -> io::Result<()> {
        self.child.wait().map(drop)
    }
}

/// Why a supervisor could not be started. Nothing was run.
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    /// The attempt's folder has no absolute name, because the current folder is gone.
    #[error("the attempt's folder cannot be named: {source}")]
    Folder {
        /// The error of the system.
        source: io::Error,
    },
    /// The order has a path that is not UTF-8.
    #[error("the order cannot be written down: {source}")]
    Encode {
        /// The error of the encoder.
        source: serde_json::Error,
    },
    /// `supervisor.log` cannot be opened, or is no regular file.
    #[error("cannot open `supervisor.log`: {source}")]
    Log {
        /// The error of the system.
        source: io::Error,
    },
    /// The program cannot be started.
    #[error("cannot start the supervisor {exe:?}: {source}")]
    Start {
        /// The program.
        exe: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The supervisor ended before it had read its whole order; `supervisor.log` may say why.
    #[error("the supervisor did not take its order: {source}")]
    Send {
        /// The error of the system.
        source: io::Error,
    },
}
