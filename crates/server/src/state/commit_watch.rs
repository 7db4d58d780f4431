//! Wakes streams when the engine has committed something that they follow.
//!
//! A wake means that there may be something new, never what. So a slow reader misses no event, because it reads events
//! from the journal, and it holds up no other reader.

use envoi_kernel::{Event, Record, ids::RunId};
use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};
use tokio::sync::watch;

/// See the module.
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
    /// CommitWatch those who follow `run`, and those who follow questions if one of these is about any.
    pub(crate) fn committed(&self, run: &RunId, records: &[Record]) {
        if let Some(sender) = self.lock().get(run) {
            sender.send_modify(|count| *count = count.wrapping_add(1));
        }
        self.all.send_modify(|count| *count = count.wrapping_add(1));
        if records.iter().any(|record| is_news(&record.event)) {
            self.news.send_modify(|count| *count = count.wrapping_add(1));
        }
    }

    /// Changes whenever something of the run is committed, and when it is set aside or taken up again.
    pub(crate) fn of_run(&self, run: &RunId) -> watch::Receiver<u64> {
        let mut runs = self.lock();
        // There is no other place that removes them.
        runs.retain(|_, sender| sender.receiver_count() > 0);
        runs.entry(run.clone()).or_insert_with(|| watch::Sender::new(0)).subscribe()
    }

    /// Changes whenever something about a question is committed.
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

/// As the journal's news: whatever puts or closes a question.
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
