//! Shows what a cancelled run waits for. If the run does not end soon, a separate thread prints it, because
//! nothing else is printed meanwhile.

use super::file_work;
use crate::process::messages;
use envoi_engine::load_run;
use envoi_journal::Store;
use envoi_kernel::ids::{AttemptId, RunId};
use envoi_step::{AttemptDir, FileWork};
use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        mpsc::{self, Receiver, RecvTimeoutError, Sender},
    },
    thread,
    time::{Duration, Instant},
};

/// The polling interval. Most steps end sooner.
const TICK: Duration = Duration::from_secs(2);

/// A command has five seconds to end, and is then killed. If it takes longer than this, killing did not end
/// it.
const LONG: Duration = Duration::from_secs(12);

/// The most attempts that are named.
const MOST_NAMED: usize = 5;

/// Prints the lines until it is dropped.
pub(crate) struct CancelLines {
    _over: Sender<()>,
}

impl CancelLines {
    /// Starts printing lines about this run.
    pub(crate) fn begin(store: &Arc<Store>, run: &RunId) -> Self {
        let (over, is_over) = mpsc::channel();
        let store = Arc::clone(store);
        let run = run.clone();
        // Without the thread, no such line is printed.
        drop(
            thread::Builder::new()
                .name("cancel lines".to_owned())
                .spawn(move || look(&store, &run, &is_over)),
        );
        Self { _over: over }
    }
}

fn look(store: &Store, run: &RunId, is_over: &Receiver<()>) {
    let began = Instant::now();
    let mut shown = BTreeMap::new();
    while is_over.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
        let is_long = began.elapsed() > LONG;
        for (attempt, dir) in live(store, run) {
            let is_new = shown.len() < MOST_NAMED && !shown.contains_key(&attempt);
            if is_new || (is_long && shown.get(&attempt) == Some(&false)) {
                let supervisor = envoi_step::living_supervisor(&dir);
                messages::say(&words(&attempt, envoi_step::file_work(&dir), supervisor, is_long));
                shown.insert(attempt, is_long);
            }
        }
    }
}

/// The live attempts of the run, if it is cancelled.
fn live(store: &Store, run: &RunId) -> Vec<(AttemptId, AttemptDir)> {
    // A run that cannot be read now is tried again at the next poll.
    let Some(run_now) = store.reader().ok().and_then(|reader| load_run(&reader, run).ok()) else {
        return Vec::new();
    };
    let wants = run_now.wants();
    let wanted = if wants.cancelling { wants.attempts } else { Vec::new() };
    let run_base = store.layout().run(run);
    let with_dir = |attempt| {
        let dir = AttemptDir::new(store.layout().attempt(run, &attempt));
        envoi_step::is_at_work(&dir, &run_base).then_some((attempt, dir))
    };
    wanted.into_iter().chain(wants.ending).filter_map(with_dir).collect()
}

/// Describes an attempt. `pid`: the process id of its supervisor, if it lives.
fn words(attempt: &AttemptId, work: Option<FileWork>, pid: Option<u32>, is_long: bool) -> String {
    let process = pid.map_or_else(String::new, |pid| format!(" (process {pid})"));
    match (work, pid) {
        (Some(work), _) => format!("waiting for attempt `{attempt}`{process}: {}", file_work::words(work)),
        (None, Some(pid)) if is_long => format!(
            "attempt `{attempt}` does not end, because its supervisor does not react; `kill -KILL {pid}` ends the supervisor, and Envoi then ends what is \
             left of the attempt"
        ),
        _ => format!(
            "waiting for attempt `{attempt}`{process} to end; the cancellation stands, also after Ctrl-C"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_names_the_wait_and_the_cure() {
        let attempt = AttemptId::parse("work.1.1").unwrap();
        let soon = "waiting for attempt `work.1.1` to end; the cancellation stands, also after Ctrl-C";
        for is_long in [false, true] {
            assert_eq!(words(&attempt, None, None, is_long), soon, "no supervisor lives");
        }
        let waits = words(&attempt, None, Some(123), false);
        assert!(waits.starts_with("waiting for attempt `work.1.1` (process 123) to end; "), "{waits}");
        assert!(words(&attempt, None, Some(123), true).contains("`kill -KILL 123` ends the supervisor"));
        let folder = tempfile::tempdir().unwrap();
        let dir = AttemptDir::new(folder.path().join("work.1.1"));
        dir.create().unwrap();
        let _work = envoi_step::announce(&dir, envoi_step::Doing::Keeping, 100_000, || 1);
        let keeping = "waiting for attempt `work.1.1` (process 123): keeping 100000 files as artifacts";
        assert_eq!(words(&attempt, envoi_step::file_work(&dir), Some(123), true), keeping);
    }
}
