//! Starts a supervisor: the engine's side of the hand-over.
//!
//! Passes the lock on and does not keep it. Does not wait for the supervisor to carry out its order.

use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use envoi_zygote::{Forked, Zygote};

use crate::attempt::dir::{AttemptDir, LockFile};
use crate::attempt::spec::{Order, Spec};
use crate::disk::plain;

/// How to start this program again as a supervisor.
#[derive(Debug, Clone)]
pub struct Launcher {
    /// The program. It must call [`crate::run_supervisor`] when it gets `args`.
    pub exe: PathBuf,
    /// Its arguments.
    pub args: Vec<String>,
    /// Forks supervisors without starting a program. Its copies must call [`crate::run_supervisor`]. If there
    /// is none, or it has ended, the program is started.
    pub zygote: Option<Arc<Zygote>>,
}

impl Launcher {
    /// This program itself; on Linux even if its file has been replaced or removed since it was started.
    pub fn own(args: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let exe = if cfg!(target_os = "linux") {
            PathBuf::from("/proc/self/exe")
        } else {
            std::env::current_exe().unwrap_or_default()
        };
        Self { exe, args: args.into_iter().map(Into::into).collect(), zygote: None }
    }

    /// Uses this zygote to make the supervisors.
    #[must_use]
    pub fn with_zygote(mut self, zygote: Option<Arc<Zygote>>) -> Self {
        self.zygote = zygote;
        self
    }

    /// Starts a supervisor for `spec` in `dir`, which exists. Returns once the whole order has been sent to
    /// it.
    ///
    /// The lock goes to the supervisor: the caller's copy is closed in any case, and the lock is free again
    /// when the supervisor has ended. After an error nothing was run, and the lock can be taken again. After
    /// success the supervisor may still end without having started anything (it was killed at once, or the
    /// disk is full). Then [`crate::Probe::NotStarted`] is returned again, and `supervisor.log` may say why.
    /// Do not repeat it without limit.
    ///
    /// # Errors
    /// [`SpawnError`]: what failed.
    pub fn spawn(&self, dir: &AttemptDir, spec: &Spec, lock: LockFile) -> Result<Supervisor, SpawnError> {
        let order = order(dir, spec)?;
        let log = plain::append(&dir.supervisor_log()).map_err(|source| SpawnError::Log { source })?;
        let (supervisor, mut pipe) = self
            .start(&log, lock.into_file())
            .map_err(|source| SpawnError::Start { exe: self.exe.clone(), source })?;
        match pipe.write_all(&order) {
            Ok(()) => Ok(supervisor),
            Err(source) => {
                drop(pipe);
                Err(supervisor.give_up(source))
            }
        }
    }

    /// Starts a supervisor that waits for its order at the other end of the pipe.
    fn start(&self, log: &File, lock: File) -> io::Result<(Supervisor, PipeWriter)> {
        if let Some(zygote) = &self.zygote {
            let (reader, writer) = io::pipe()?;
            // If the fork fails for any reason, the program is started: its error says what the system
            // refuses. A copy that was made nevertheless has the same lock, reads an empty order when
            // `writer` is closed here, and does nothing.
            if let Ok(forked) = zygote.fork(OwnedFd::from(reader), lock.as_fd(), log.as_fd()) {
                return Ok((Supervisor { process: Process::Forked(forked) }, writer));
            }
        }
        let (reader, writer) = io::pipe()?;
        let child = self.execute(reader, log.try_clone()?, lock)?;
        Ok((Supervisor { process: Process::Child(child) }, writer))
    }

    fn execute(&self, order: PipeReader, log: File, lock: File) -> io::Result<Child> {
        // The `Command` owns our copies of the lock and the log. It is dropped here, and closes them.
        Command::new(&self.exe)
            .args(&self.args)
            .stdin(Stdio::from(order))
            .stdout(Stdio::from(lock))
            .stderr(Stdio::from(log))
            .spawn()
    }
}

fn order(dir: &AttemptDir, spec: &Spec) -> Result<Vec<u8>, SpawnError> {
    let dir = std::path::absolute(dir.path()).map_err(|source| SpawnError::Folder { source })?;
    serde_json::to_vec(&Order { dir, spec: spec.clone() }).map_err(|source| SpawnError::Encode { source })
}

/// A running supervisor. Dropping it neither ends nor reaps it.
#[derive(Debug)]
pub struct Supervisor {
    process: Process,
}

#[derive(Debug)]
enum Process {
    /// A child of this process.
    Child(Child),
    /// A child of the zygote.
    Forked(Forked),
}

impl Supervisor {
    /// Its process id.
    pub fn pid(&self) -> u32 {
        match &self.process {
            Process::Child(child) => child.id(),
            Process::Forked(forked) => forked.pid(),
        }
    }

    /// Blocks until the supervisor has ended, and reaps it if it is a child. Use [`crate::probe`] to find out
    /// how the attempt ended.
    ///
    /// # Errors
    /// It is not, or no longer, a child of this process.
    pub fn wait(self) -> io::Result<()> {
        match self.process {
            Process::Child(mut child) => child.wait().map(drop),
            Process::Forked(forked) => forked.wait(),
        }
    }

    /// Ends a supervisor that did not read its whole order. It has run nothing.
    fn give_up(mut self, source: io::Error) -> SpawnError {
        // Both calls fail only if the supervisor has ended already.
        let _ = match &mut self.process {
            Process::Child(child) => child.kill(),
            Process::Forked(forked) => forked.kill(),
        };
        let _ = self.wait();
        SpawnError::Send { source }
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
