//! The signals a supervisor listens to, as something that can be polled.

use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXFSZ};
use signal_hook::low_level::pipe;

/// Becomes readable when a child ends, or when a TERM arrives. The signals of a terminal do nothing, and a write beyond the limit of file
/// sizes (`ulimit -f`) fails instead of ending the supervisor.
///
/// Handlers, not "ignore": those would be inherited by the command.
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

    /// Forgets the signals so far. To be called before looking at what they were about.
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
