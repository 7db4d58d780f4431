//! Places where a test stops an engine: `ENVOI_FAILPOINT=before-spawn:stop` stops it, once, as SIGSTOP would. With
//! `ENVOI_FAILPOINT=start-of-NAME:wait`, what a run of the flow NAME needs to start or to go on is never read, as if it lay in a file
//! system that is gone. Builds without debug assertions know nothing of this.

use envoi_engine::Point;

/// Stops this process, the first time that it gets to the point that the environment names.
#[cfg(debug_assertions)]
pub(crate) fn reached(point: Point) {
    use rustix::process::{Signal, getpid, kill_process};
    use std::sync::atomic::{AtomicBool, Ordering};
    static DONE: AtomicBool = AtomicBool::new(false);

    let named = match point {
        Point::BeforeProbe => "before-probe:stop",
        Point::BeforeSpawn => "before-spawn:stop",
        Point::BeforeShow => "before-show:stop",
        Point::RunDeleted => "run-deleted:stop",
        Point::RunFolderRenamed => "run-folder-renamed:stop",
        Point::ContentsSwept => "contents-swept:stop",
    };
    let wanted = std::env::var_os("ENVOI_FAILPOINT").is_some_and(|wanted| wanted == named);
    if wanted && !DONE.swap(true, Ordering::SeqCst) {
        let _ = kill_process(getpid(), Signal::STOP);
        // Another thread may be the one that takes the signal; this one is not to go on before it does.
        std::thread::park_timeout(std::time::Duration::from_millis(50));
    }
}

/// Waits for ever if the environment names this flow.
#[cfg(debug_assertions)]
pub(crate) fn reading_for(flow: &str) {
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
pub(crate) fn reading_for(_flow: &str) {}
