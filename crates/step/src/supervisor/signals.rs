//! The signals of a supervisor, as something that can be polled.

use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXFSZ};
use signal_hook::low_level::pipe;

/// Becomes readable when a child ends or a TERM arrives. Signals of a terminal do nothing, and a write beyond
/// the limit of file sizes (`ulimit -f`) fails instead of ending the supervisor.
///
/// Uses handlers instead of "ignore", because the command would inherit the latter.
pub(crate) struct Signals {
    woken: UnixStream,
}

impl Signals {
    pub(crate) fn install() -> io::Result<Self> {
        let (woken, wake) = UnixStream::pair()?;
        woken.set_nonblocking(true)?;
        for signal in [SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGXFSZ] {
            pipe::register(signal, wake.try_clone()?)?;
        }
        Ok(Self { woken })
    }

    /// Clears the signals so far. Call it before you check their causes.
    pub(crate) fn clear(&self) {
        let mut bytes = [0; 64];
        while (&self.woken).read(&mut bytes).is_ok_and(|read| read > 0) {}
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.woken.as_fd()
    }
}
