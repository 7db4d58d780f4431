//! Caches events in the form for programs: all streams of a run send the same ones.
//!
//! The key is the event's text in the journal, so a cached text can never belong to another event. Has no
//! order: a stream reads the journal itself.

use envoi_api::event;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

/// The most bytes of cached texts. If there are more, all are dropped, and made again when they are needed.
const MAX_BYTES: usize = 4 * 1024 * 1024;

/// A larger event is not cached, because it would replace many others.
const MAX_EVENT_BYTES: usize = MAX_BYTES / 64;

/// The cached texts.
#[derive(Default)]
pub(crate) struct ShownEvents(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    /// The shown texts by the texts in the journal.
    texts: BTreeMap<String, Arc<str>>,
    bytes: usize,
}

impl ShownEvents {
    /// The shown form of an event with this text in the journal.
    pub(crate) fn text(&self, journal: String) -> Arc<str> {
        if let Some(known) = self.lock().texts.get(&journal) {
            return Arc::clone(known);
        }
        // Without the lock, so that a large event delays no other stream.
        let shown: Arc<str> = event::text(journal.clone()).into();
        let bytes = journal.len().saturating_add(shown.len());
        if bytes > MAX_EVENT_BYTES {
            return shown;
        }
        let mut kept = self.lock();
        if kept.bytes.saturating_add(bytes) > MAX_BYTES {
            *kept = Kept::default();
        }
        if kept.texts.insert(journal, Arc::clone(&shown)).is_none() {
            kept.bytes = kept.bytes.saturating_add(bytes);
        }
        shown
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(seq: u64, why: &str) -> String {
        let by = r#"{"tenant":"local","actor":"ada"}"#;
        format!(r#"{{"seq":{seq},"at":0,"event":{{"type":"cancel_requested","by":{by},"why":"{why}"}}}}"#)
    }

    #[test]
    fn an_event_is_written_once_however_many_streams_send_it() {
        let events = ShownEvents::default();
        let first = events.text(stored(1, ""));
        assert!(first.contains(r#""at":"1970-01-01T00:00:00"#), "{first}");
        assert!(Arc::ptr_eq(&first, &events.text(stored(1, ""))));
        assert_eq!(*events.text(stored(2, "")), event::text(stored(2, "")));
        assert_eq!(&*events.text("no event".to_owned()), "no event");
    }

    #[test]
    fn what_is_kept_has_a_bound() {
        let events = ShownEvents::default();
        let large = "x".repeat(MAX_EVENT_BYTES);
        events.text(large);
        assert_eq!(events.lock().bytes, 0, "a large one is not kept");
        let text = |n: usize| format!("{n:0>10000}");
        let first = events.text(text(0));
        for n in 0..=MAX_BYTES / 20_000 {
            events.text(text(n));
            assert!(events.lock().bytes <= MAX_BYTES);
        }
        assert!(!Arc::ptr_eq(&first, &events.text(text(0))), "it was forgotten");
    }
}
