//! A process that makes copies of itself on request.
//!
//! Starting a program takes almost a millisecond: the kernel maps it, and it is linked again. Copying a
//! process takes a fifth of that. So a program that has not begun any work yet forks a *zygote*, which waits
//! at a socket. For each request the zygote forks once more. The copy gets three open files as its standard
//! streams, and does the one thing that it was made for. (Chromium and Android use this word; they start
//! their processes in this way.)
//!
//! This crate is the only one of the product with `unsafe`. There are three places, all in the zygote, and
//! each says why it is sound:
//! - `fork`. A copy has one thread. A lock that another thread of the original held, such as that of the
//!   allocator, would be held in the copy for ever. So [`Zygote::start`] refuses to fork if this process has
//!   a second thread, and the zygote itself never has one.
//! - the handling of `SIGCHLD`, so that copies that have ended do not stay as zombies;
//! - the name of a copy in lists of processes, which the kernel reads from the process's own memory.
//!
//! Guarantees:
//! - The zygote ends when the process that started it ends in any way: the kernel kills it. A closed socket
//!   would not be enough: a stopped zygote would not notice it, and the open files of an unread request would
//!   stay open.
//! - Copies outlive both. They are not in the original's session, and no signal of its terminal reaches them.
//! - The zygote may die or stop at any time. [`Zygote::fork`] then returns [`ForkError::Gone`], and so does
//!   every later call. A copy that was made for a request without an answer has the three files, but must do
//!   nothing before it has read an order from the first one: the process that sent the request closes the
//!   other end.
//! - The zygote always has the version of the process that uses it, because it is a copy of that process.
//!
//! The crate knows nothing of attempts, of their folders, or of what the copies do.

#[cfg(target_os = "linux")]
mod argument_area;
#[cfg(target_os = "linux")]
mod client;
#[cfg(target_os = "linux")]
mod fd_message;
#[cfg(target_os = "linux")]
mod server;
#[cfg(not(target_os = "linux"))]
mod unsupported;

#[cfg(target_os = "linux")]
pub use client::{ForkError, Forked, Zygote};
#[cfg(not(target_os = "linux"))]
pub use unsupported::{ForkError, Forked, Zygote};

/// The work of a copy, and its name in process lists.
#[derive(Debug, Clone, Copy)]
pub struct Program {
    /// The whole work of a copy. The copy ends with exit code 0 when this returns, and with 101 if it panics.
    pub main: fn(),
    /// The command line of a copy, as `ps` shows it. It is cut if the command line of this process is
    /// shorter.
    pub copy: &'static [&'static str],
    /// The command line of the zygote.
    pub zygote: &'static [&'static str],
}
