//! The side of the process that started the zygote.

use crate::{
    Program, fd_message,
    server::{self, ANSWER_BYTES, REQUEST},
};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::{Errno, retry_on_intr},
    net::{AddressFamily, SocketFlags, SocketType, socketpair},
    process::{Pid, Signal, WaitOptions, kill_process, pidfd_send_signal, waitpid},
};
use std::{
    fs, io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// A zygote that has not answered after this time is stopped, or gets no processor time: it is given up. A
/// fork takes much less than a millisecond.
const PATIENCE: Duration = Duration::from_secs(10);

/// The zygote of this process. It ends when this process ends, or when this value is dropped.
#[derive(Debug)]
pub struct Zygote {
    pid: Pid,
    /// `None`: the zygote has ended.
    socket: Mutex<Option<OwnedFd>>,
    patience: Duration,
}

/// A copy. It is not a child of this process, and continues when this value is dropped.
#[derive(Debug)]
pub struct Forked {
    pid: Pid,
    fd: OwnedFd,
}

/// Why no copy was made.
#[derive(Debug, thiserror::Error)]
pub enum ForkError {
    /// The zygote has ended or does not answer. It makes no more copies; start programs in another way.
    #[error("the process that starts others is gone")]
    Gone,
    /// The system refused to make a process, or its descriptor. The zygote still works.
    #[error("no process can be made: {source}")]
    Refused {
        /// The error of the system.
        source: io::Error,
    },
}

impl Zygote {
    /// Forks the zygote. Call it early: before this process has a second thread, opens files that a copy
    /// should not have, or holds data that a copy should not know.
    ///
    /// # Errors
    /// This process has several threads, or the system refuses a socket or a process.
    pub fn start(program: &Program) -> io::Result<Self> {
        let threads = fs::read_dir("/proc/self/task")?.count();
        if threads != 1 {
            return Err(io::Error::other(format!(
                "this process has {threads} threads, and can be copied with one only"
            )));
        }
        let (ours, theirs) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
        match server::fork()? {
            None => {
                drop(ours);
                server::serve(theirs, program)
            }
            Some(pid) => Ok(Self { pid, socket: Mutex::new(Some(ours)), patience: PATIENCE }),
        }
    }

    /// Sets the time after which a zygote without an answer is given up, instead of ten seconds.
    #[must_use]
    pub fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Makes a copy with these files as its standard streams. `stdin` is the reading end of a pipe with the
    /// copy's order: the copy must do nothing before it has read the order to its end. Several threads may
    /// call this; they take turns.
    ///
    /// # Errors
    /// [`ForkError`]. With [`ForkError::Gone`], a copy may have been made. It ends as soon as the other end
    /// of `stdin` is closed.
    pub fn fork(
        &self,
        stdin: OwnedFd,
        stdout: BorrowedFd<'_>,
        stderr: BorrowedFd<'_>,
    ) -> Result<Forked, ForkError> {
        let mut kept = self.socket();
        let socket = kept.as_ref().ok_or(ForkError::Gone)?;
        match ask(socket, [stdin.as_fd(), stdout, stderr], self.patience) {
            Ok(Ok(copy)) => Ok(copy),
            Ok(Err(error)) => Err(ForkError::Refused { source: error.into() }),
            Err(_) => {
                self.end(&mut kept);
                Err(ForkError::Gone)
            }
        }
    }

    /// The process id of the zygote.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.pid.as_raw_pid().unsigned_abs()
    }

    /// Ends the zygote, and waits until it has ended. Copies continue. Without this call it ends by itself,
    /// shortly after this process.
    pub fn stop(&self) {
        self.end(&mut self.socket());
    }

    /// The zygote is killed, because closing our end of the socket is not enough: a stopped zygote keeps the
    /// files of unread requests open.
    fn end(&self, socket: &mut Option<OwnedFd>) {
        if socket.take().is_some() {
            // No other process waits for this child, so its id is not reused before this wait. Killing fails
            // only if it has ended already.
            kill_process(self.pid, Signal::KILL).ok();
            retry_on_intr(|| waitpid(Some(self.pid), WaitOptions::empty())).ok();
        }
    }

    fn socket(&self) -> MutexGuard<'_, Option<OwnedFd>> {
        // No code panics while it holds this lock.
        self.socket.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Zygote {
    fn drop(&mut self) {
        self.stop();
    }
}

/// The outer error means that there is no answer; the inner result is the answer.
fn ask(
    socket: &OwnedFd,
    fds: [BorrowedFd<'_>; 3],
    patience: Duration,
) -> Result<Result<Forked, Errno>, Errno> {
    fd_message::send(socket, &REQUEST, &fds)?;
    let mut waiting = [PollFd::new(socket, PollFlags::IN)];
    // A signal restarts the wait: signals are rare, and the bound need not be exact.
    let patience = Timespec::try_from(patience).map_err(|_| Errno::INVAL)?;
    if retry_on_intr(|| poll(&mut waiting, Some(&patience)))? == 0 {
        return Err(Errno::TIMEDOUT);
    }
    let mut answer = [0; ANSWER_BYTES];
    let (bytes, fds) = fd_message::receive(socket, &mut answer)?;
    if bytes != ANSWER_BYTES {
        return Err(Errno::PIPE);
    }
    let [a, b, c, d, e, f, g, h] = answer;
    let pid = Pid::from_raw(i32::from_ne_bytes([a, b, c, d]));
    match (pid, fds.into_iter().next()) {
        (Some(pid), Some(fd)) => Ok(Ok(Forked { pid, fd })),
        _ => Ok(Err(Errno::from_raw_os_error(i32::from_ne_bytes([e, f, g, h])))),
    }
}

impl Forked {
    /// Its process id. Another process may get it after this one has ended.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.pid.as_raw_pid().unsigned_abs()
    }

    /// Kills the process, never another one that has its id now.
    ///
    /// # Errors
    /// It has ended.
    pub fn kill(&self) -> io::Result<()> {
        Ok(pidfd_send_signal(&self.fd, Signal::KILL)?)
    }

    /// Blocks until the process has ended, with all its files closed.
    ///
    /// # Errors
    /// The system refuses to wait.
    pub fn wait(self) -> io::Result<()> {
        let mut ended = [PollFd::new(&self.fd, PollFlags::IN)];
        retry_on_intr(|| poll(&mut ended, None))?;
        Ok(())
    }
}
