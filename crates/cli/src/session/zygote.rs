//! The zygote of this process: it creates the supervisors of attempts ([`envoi_zygote`]).
//!
//! It is started before this process has a second thread, so before it is known whether this process becomes
//! the engine. Without a zygote, supervisors are started as programs. Nothing else differs.

use crate::process::{
    allocator,
    args::{Cli, Command, SUPERVISOR},
    failpoint,
};
use envoi_zygote::{Program, Zygote};
use std::sync::{Arc, OnceLock};

static ZYGOTE: OnceLock<Arc<Zygote>> = OnceLock::new();

/// The names of a supervisor and of the zygote in process lists.
const PROGRAM: Program =
    Program { main: supervise, copy: &["envoi", SUPERVISOR], zygote: &["envoi", "__zygote"] };

fn supervise() {
    allocator::allow_huge_pages();
    // The result is in the folder of the attempt. No process reads the exit code.
    envoi_step::run_supervisor(failpoint::supervised);
}

/// Starts a zygote if the command may become the engine of a store. Call this while the process has one
/// thread.
pub(crate) fn begin(cli: &Cli) {
    if cli.server.is_some() || !cli.command.as_ref().is_some_and(may_be_engine) {
        return;
    }
    // If the process cannot be forked, supervisors are started as programs.
    if let Ok(zygote) = Zygote::start(&PROGRAM) {
        ZYGOTE.get_or_init(|| Arc::new(zygote));
    }
}

/// The zygote of this process.
pub(crate) fn of_this_process() -> Option<Arc<Zygote>> {
    ZYGOTE.get().cloned()
}

/// Ends the zygote before this process ends. A process that waits for all descendants of this one, such as
/// the supervisor of an attempt that runs `envoi`, then sees no left-over process.
pub(crate) fn end() {
    if let Some(zygote) = ZYGOTE.get() {
        zygote.stop();
    }
}

fn may_be_engine(command: &Command) -> bool {
    matches!(
        command,
        Command::Run(_)
            | Command::Resume(_)
            | Command::Answer(_)
            | Command::Approve(_)
            | Command::Deny(_)
            | Command::Raise(_)
            | Command::Fork(_)
            | Command::Cancel { .. }
            | Command::Restore { .. }
            | Command::Apply { .. }
            | Command::Serve(_)
            | Command::Worker(_)
            | Command::Engine { .. }
    )
}
