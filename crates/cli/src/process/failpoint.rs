//! Points where a test stops an engine or a supervisor. `ENVOI_FAILPOINT=before-spawn:stop` stops the process
//! there once, as SIGSTOP does. `before-spawn:kill` kills it there each time. `before-spawn:panic` panics
//! there once. With `ENVOI_FAILPOINT=start-of-NAME:wait`, reading what a run of the flow NAME needs to start
//! or to continue never returns, as in a file system that does not respond. `start-of-NAME:panic` panics
//! there. Builds without debug assertions have no failpoints.

use envoi_engine::Point;
use envoi_step::CrashPoint;

/// Stops this process when it first reaches the point that the environment names.
#[cfg(debug_assertions)]
pub(crate) fn reached(point: Point) {
    stop_at(match point {
        Point::BeforeProbe => "before-probe",
        Point::BeforeSpawn => "before-spawn",
        Point::BeforeShow => "before-show",
        Point::RunDeleted => "run-deleted",
        Point::RunFolderRenamed => "run-folder-renamed",
        Point::ContentsSwept => "contents-swept",
    });
}

/// As [`reached`], for a supervisor.
#[cfg(debug_assertions)]
pub(crate) fn supervised(point: CrashPoint) {
    stop_at(match point {
        CrashPoint::ResultAnnounced => "result-announced",
        CrashPoint::FilesBrought => "files-brought",
        CrashPoint::OutputWritten => "output-written",
        CrashPoint::ArtifactsCopied => "artifacts-copied",
        CrashPoint::ResultSettled => "result-settled",
    });
}

#[cfg(debug_assertions)]
#[expect(clippy::panic, reason = "a test asks for it")]
fn stop_at(point: &str) {
    use rustix::process::{Signal, getpid, kill_process};
    use std::sync::atomic::{AtomicBool, Ordering};
    static DONE: AtomicBool = AtomicBool::new(false);

    let Some(wanted) = std::env::var_os("ENVOI_FAILPOINT") else { return };
    if wanted == *format!("{point}:kill") {
        let _ = kill_process(getpid(), Signal::KILL);
    }
    if wanted == *format!("{point}:panic") && !DONE.swap(true, Ordering::SeqCst) {
        panic!("a defect at {point}");
    }
    if wanted == *format!("{point}:stop") && !DONE.swap(true, Ordering::SeqCst) {
        let _ = kill_process(getpid(), Signal::STOP);
        // Another thread may receive the signal. This thread must not continue before that.
        std::thread::park_timeout(std::time::Duration::from_millis(50));
    }
}

/// Waits forever, or panics, if the environment names this flow.
#[cfg(debug_assertions)]
#[expect(clippy::panic, reason = "a test asks for it")]
pub(crate) fn reading_for(flow: &str) {
    if std::env::var_os("ENVOI_FAILPOINT").is_some_and(|wanted| wanted == *format!("start-of-{flow}:panic")) {
        panic!("a defect at the start of {flow}");
    }
    let named = format!("start-of-{flow}:wait");
    while std::env::var_os("ENVOI_FAILPOINT").is_some_and(|wanted| wanted == *named) {
        std::thread::park();
    }
}

/// Does nothing.
#[cfg(not(debug_assertions))]
pub(crate) fn reached(_point: Point) {}

/// Does nothing.
#[cfg(not(debug_assertions))]
pub(crate) fn supervised(_point: CrashPoint) {}

/// Does nothing.
#[cfg(not(debug_assertions))]
pub(crate) fn reading_for(_flow: &str) {}
