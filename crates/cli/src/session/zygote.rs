//! The zygote of this process: what makes the supervisors of its attempts ([`envoi_zygote`]).
//!
//! It is started before this process has a second thread, so before it is known whether this process becomes the engine. Without one
//! supervisors are started as programs; nothing else differs.

use crate::process::{
    allocator,
    args::{Cli, Command, SUPERVISOR},
    failpoint,
};
use envoi_zygote::{Program, Zygote};
use std::sync::{Arc, OnceLock};

static ZYGOTE: OnceLock<Arc<Zygote>> = OnceLock::new();

/// How lists of processes show a supervisor and the zygote.
const PROGRAM: Program =
    Program { main: supervise, copy: &["envoi", SUPERVISOR], zygote: &["envoi", "__zygote"] };

fn supervise() {
    allocator::allow_huge_pages();
    // What it comes to stands in the folder of the attempt; nothing looks at the exit code.
    envoi_step::run_supervisor(failpoint::supervised);
}

/// Starts one, if the command may become the engine of a store. To be called while this process has one thread.
pub(crate) fn begin(cli: &Cli) {
    if cli.server.is_some() || !cli.command.as_ref().is_some_and(may_be_engine) {
        return;
    }
    // A process that cannot be copied, or a system that refuses one, starts supervisors as programs.
    if let Ok(zygote) = Zygote::start(&PROGRAM) {
        ZYGOTE.get_or_init(|| Arc::new(zygote));
    }
}

/// The one that was started.
pub(crate) fn of_this_process() -> Option<Arc<Zygote>> {
    ZYGOTE.get().cloned()
}

/// Ends it before this process ends. A process that waits for all processes of this one, such as the supervisor of an attempt that runs
/// `envoi`, sees none that is left for a moment.
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
