//! This process: its arguments and environment, signals, terminal, log, output and failures.

pub(crate) mod allocator;
pub(crate) mod args;
pub(crate) mod clock;
pub(crate) mod environment;
pub(crate) mod failpoint;
pub(crate) mod failure;
pub(crate) mod file_size_limit;
pub(crate) mod files;
pub(crate) mod interrupts;
pub(crate) mod invocation;
pub(crate) mod log;
pub(crate) mod messages;
pub(crate) mod output;
pub(crate) mod pager;
pub(crate) mod ssh_keygen;
pub(crate) mod stderr;
pub(crate) mod terminal;
pub(crate) mod usage;
