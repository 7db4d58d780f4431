//! A process that makes copies of itself on request.
//!
//! To start a program costs most of a millisecond: the kernel maps it, and it is linked again. A copy of a process costs a
//! fifth of that. So a program that has not yet begun anything forks a *zygote*, which waits at a socket. For each request the
//! zygote forks once more; the copy gets three open files as its standard ones, and does the one thing that it was made for. (The
//! word is that of Chromium and Android, which start their processes in this way.)
//!
//! This crate is the only one of the product with `unsafe`. There are three places, all in the zygote, and each says why it is sound:
//! - `fork`. A copy has one thread. What another thread of the original held, such as the lock of the allocator, would be held in the copy
//!   for ever. So [`Zygote::start`] refuses to fork if this process has a second thread, and the zygote itself never has one.
//! - the handling of `SIGCHLD`, so that copies that have ended do not stay as zombies;
//! - the name of a copy in lists of processes, which the kernel reads from the process's own memory.
//!
//! What holds:
//! - The zygote ends when the process that started it ends, however that happens: the kernel kills it. It may be stopped and not see that
//!   their socket is closed; the open files of a request that it has not read would stay open as long.
//! - Copies outlive both. They are in no session of the original, and no signal of its terminal reaches them.
//! - The zygote may die or stop at any time. [`Zygote::fork`] then says [`ForkError::Gone`], and every later call too. A copy that it
//!   made for a request without an answer has the three files, but must do nothing before it has read an order from the first:
//!   the process that sent the request closes the other end.
//! - It never talks to a zygote of another version: it is a copy of the process that talks to it.
//!
//! It knows nothing of attempts, of their folders, or of what the copies do.

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

/// What a copy does, and how it is called in lists of processes.
#[derive(Debug, Clone, Copy)]
pub struct Program {
    /// Everything that a copy does. The copy ends with exit code 0 when this returns, and with 101 if it panics.
    pub main: fn(),
    /// The words of a copy's command line, as `ps` shows it. They are cut where the command line of this process is shorter.
    pub copy: &'static [&'static str],
    /// The words of the zygote's command line.
    pub zygote: &'static [&'static str],
}
