//! Shows that the supervisors of live attempts process many files. Nothing else shows that they work.
//!
//! The picture shows it instead of the last line of output ([`crate::view::live`]). If lines are printed, a
//! separate thread checks twice a second and prints it once.

use crate::process::messages;
use envoi_journal::Layout;
use envoi_kernel::{
    Event, Record,
    ids::{AttemptId, RunId},
};
use envoi_step::{AttemptDir, Doing, FileWork, file_work};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    thread,
    time::Duration,
};

/// The polling interval.
const TICK: Duration = Duration::from_millis(500);

/// Describes the work.
pub(crate) fn words(work: FileWork) -> String {
    let FileWork { doing, files, bytes } = work;
    let files = if files == 1 { "1 file".to_owned() } else { format!("{files} files") };
    let size = match bytes >> 20 {
        0 => String::new(),
        mib => format!(" of {mib} MiB"),
    };
    match doing {
        Doing::Reading => format!("reading {files}{size} that may be artifacts, before the command begins"),
        Doing::Keeping => format!("keeping {files}{size} as artifacts"),
    }
}

/// The live attempts of a run, and the last line about each.
type Live = Mutex<BTreeMap<AttemptId, (AttemptDir, Option<Doing>)>>;

/// Prints lines about the work with files.
pub(crate) struct FileWorkLines {
    layout: Layout,
    run: RunId,
    live: Arc<Live>,
    looks: bool,
}

impl FileWorkLines {
    /// Prints lines about this run.
    pub(crate) fn new(layout: Layout, run: RunId) -> Self {
        Self { layout, run, live: Arc::default(), looks: false }
    }

    /// Records which attempts begin and end.
    pub(crate) fn record(&mut self, record: &Record) {
        match &record.event {
            Event::AttemptStarted(started) => {
                let dir = AttemptDir::new(self.layout.attempt(&self.run, &started.attempt));
                lock(&self.live).insert(started.attempt.clone(), (dir, None));
                self.look();
            }
            Event::AttemptSettled(settled) => drop(lock(&self.live).remove(&settled.attempt)),
            _ => {}
        }
    }

    fn look(&mut self) {
        if !core::mem::replace(&mut self.looks, true) {
            let live = Arc::downgrade(&self.live);
            // Without the thread, no such line is printed.
            drop(thread::Builder::new().name("file work".to_owned()).spawn(move || tick(&live)));
        }
    }
}

fn tick(live: &Weak<Live>) {
    while let Some(live) = live.upgrade() {
        for (attempt, (dir, shown)) in lock(&live).iter_mut() {
            if let Some(work) = file_work(dir).filter(|work| *shown != Some(work.doing)) {
                *shown = Some(work.doing);
                messages::say(&format!("  {:<18} {}", attempt.to_string(), words(work)));
            }
        }
        drop(live);
        thread::park_timeout(TICK);
    }
}

fn lock(live: &Live) -> MutexGuard<'_, BTreeMap<AttemptId, (AttemptDir, Option<Doing>)>> {
    live.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_has_the_kind_and_the_amount() {
        let words = |doing, files, bytes| words(FileWork { doing, files, bytes });
        assert_eq!(words(Doing::Keeping, 1, 256 << 20), "keeping 1 file of 256 MiB as artifacts");
        assert_eq!(words(Doing::Keeping, 100_000, 100_000), "keeping 100000 files as artifacts");
        assert_eq!(
            words(Doing::Reading, 3, 40 << 20),
            "reading 3 files of 40 MiB that may be artifacts, before the command begins"
        );
    }
}
