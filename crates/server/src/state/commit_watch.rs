//! Wakes streams when the engine has committed something that they follow.
//!
//! A wake-up means that there may be something new, not what it is. A slow reader misses no event, because it
//! reads events from the journal, and it delays no other reader.

use envoi_kernel::{Event, Record, ids::RunId};
use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};
use tokio::sync::watch;

/// The wake-up signals of all runs.
pub(crate) struct CommitWatch {
    runs: Mutex<BTreeMap<RunId, watch::Sender<u64>>>,
    news: watch::Sender<u64>,
    all: watch::Sender<u64>,
}

impl Default for CommitWatch {
    fn default() -> Self {
        Self { runs: Mutex::default(), news: watch::Sender::new(0), all: watch::Sender::new(0) }
    }
}

impl CommitWatch {
    /// Wakes the followers of `run`, and those of questions if one of these events is about a question.
    pub(crate) fn committed(&self, run: &RunId, records: &[Record]) {
        if let Some(sender) = self.lock().get(run) {
            sender.send_modify(|count| *count = count.wrapping_add(1));
        }
        self.all.send_modify(|count| *count = count.wrapping_add(1));
        if records.iter().any(|record| is_news(&record.event)) {
            self.news.send_modify(|count| *count = count.wrapping_add(1));
        }
    }

    /// Changes when something of the run is committed, and when it is set aside or is no longer set aside.
    pub(crate) fn of_run(&self, run: &RunId) -> watch::Receiver<u64> {
        let mut runs = self.lock();
        // Unused entries are removed only here.
        runs.retain(|_, sender| sender.receiver_count() > 0);
        runs.entry(run.clone()).or_insert_with(|| watch::Sender::new(0)).subscribe()
    }

    /// Changes when something about a question is committed.
    pub(crate) fn of_questions(&self) -> watch::Receiver<u64> {
        self.news.subscribe()
    }

    /// Changes with every commit.
    pub(crate) fn of_all(&self) -> watch::Receiver<u64> {
        self.all.subscribe()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<RunId, watch::Sender<u64>>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The same events as the journal's news: those that raise or close a question.
fn is_news(event: &Event) -> bool {
    matches!(
        event,
        Event::InterruptRaised(_)
            | Event::InterruptAnswered(_)
            | Event::InterruptExpired(_)
            | Event::InterruptCancelled(_)
            | Event::VoteCast(_)
            | Event::RunEnded(_)
    )
}
