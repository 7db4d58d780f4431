//! What a cancelled run waits for. A thread of its own says it, if the run is not over soon: nothing else is printed meanwhile.

use super::file_work;
use crate::process::messages;
use envoi_engine::load_run;
use envoi_journal::Store;
use envoi_kernel::ids::{AttemptId, RunId};
use envoi_step::AttemptDir;
use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        mpsc::{self, Receiver, RecvTimeoutError, Sender},
    },
    thread,
    time::{Duration, Instant},
};

/// Between two looks. Most steps end sooner.
const TICK: Duration = Duration::from_secs(2);

/// A command has five seconds to end by itself, and is killed then: what takes longer than this does not end so.
const LONG: Duration = Duration::from_secs(12);

/// So many attempts are named.
const MOST_NAMED: usize = 5;

/// See the module. It says nothing any more when it is dropped.
pub(crate) struct CancelLines {
    _over: Sender<()>,
}

impl CancelLines {
    /// Of this run.
    pub(crate) fn begin(store: &Arc<Store>, run: &RunId) -> Self {
        let (over, is_over) = mpsc::channel();
        let store = Arc::clone(store);
        let run = run.clone();
        // Without the thread there is no such line.
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
                messages::say(&words(&attempt, &dir, is_long));
                shown.insert(attempt, is_long);
            }
        }
    }
}

/// The attempts of the run that live, if it is cancelled.
fn live(store: &Store, run: &RunId) -> Vec<(AttemptId, AttemptDir)> {
    // What cannot be read now is looked at again.
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

/// In words.
fn words(attempt: &AttemptId, dir: &AttemptDir, is_long: bool) -> String {
    let pid = envoi_step::started(dir).map(|started| started.supervisor_pid);
    let process = pid.map_or_else(String::new, |pid| format!(" (process {pid})"));
    match (envoi_step::file_work(dir), pid) {
        (Some(work), _) => format!("waiting for attempt `{attempt}`{process}: {}", file_work::words(work)),
        (None, Some(pid)) if is_long => format!(
            "attempt `{attempt}` does not end, because its supervisor does not react; `kill -KILL {pid}` ends that, and Envoi then ends what is \
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
        let folder = tempfile::tempdir().unwrap();
        let attempt = AttemptId::parse("work.1.1").unwrap();
        let dir = AttemptDir::new(folder.path().join("work.1.1"));
        dir.create().unwrap();
        let soon = "waiting for attempt `work.1.1` to end; the cancellation stands, also after Ctrl-C";
        assert_eq!(words(&attempt, &dir, false), soon);
        assert_eq!(words(&attempt, &dir, true), soon, "there is no supervisor yet");
        let started = r#"{"version":1,"attempt":"work.1.1","supervisor_pid":123,"supervisor_started_ticks":1,"boot_id":"b","started_at_ms":1,"argv0":"x"}"#;
        std::fs::write(dir.started(), started).unwrap();
        assert!(
            words(&attempt, &dir, false).starts_with("waiting for attempt `work.1.1` (process 123) to end; ")
        );
        assert!(words(&attempt, &dir, true).contains("`kill -KILL 123` ends that"));
        let _work = envoi_step::announce(&dir, envoi_step::Doing::Keeping, 100_000, || 1);
        let keeping = "waiting for attempt `work.1.1` (process 123): keeping 100000 files as artifacts";
        assert_eq!(words(&attempt, &dir, true), keeping);
    }
}
