//! The notifications of a run, in order, from a position in its journal.
//!
//! Owns the traits, and how many open sources are cached: each has the state of its run. A source that is not
//! cached is opened again at its run's first event, and gives the same notifications.

use super::scheduler::Key;
use envoi_contract::time::Timestamp;
use envoi_journal::{PushRow, ReadError};
use envoi_kernel::{ApplyError, ids::Seq};

/// How many sources are cached between two turns. Each turn under way has one more.
const MOST_KEPT: usize = 32;

/// Why a run cannot be read. It is tried again like a failing receiver.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SourceError {
    /// Its state or its flow cannot be loaded; the cause was logged.
    #[error("the task cannot be read")]
    Task,
    /// Its events cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// Its events do not follow each other.
    #[error(transparent)]
    Apply(#[from] ApplyError),
}

/// A notification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Notification {
    /// Its position, which is the same each time it is sent.
    pub(crate) place: String,
    /// The first event that is not completely sent after this notification.
    pub(crate) next_seq: Seq,
    /// The media type of the body.
    pub(crate) media_type: &'static str,
    /// The body to post.
    pub(crate) body: Vec<u8>,
}

/// The notifications of one run for one configuration.
pub(crate) trait EventSource: Send {
    /// The next notification; the same one until [`EventSource::delivered`].
    ///
    /// # Errors
    /// [`SourceError`]: the run cannot be read.
    fn next(&mut self) -> Result<Option<Notification>, SourceError>;

    /// The notification has arrived.
    fn delivered(&mut self);

    /// Whether nothing will follow, if there is nothing to send now.
    fn is_over(&self) -> bool;
}

/// Opens sources.
pub(crate) trait EventSources: Send + Sync {
    /// Opens a source at the configuration's position.
    ///
    /// # Errors
    /// [`SourceError`]: the run cannot be read.
    fn open(&self, push: &PushRow) -> Result<Box<dyn EventSource>, SourceError>;
}

/// Cached sources, the most recently used at the end.
#[derive(Default)]
pub(crate) struct SourceCache(Vec<(Key, Timestamp, Box<dyn EventSource>)>);

impl SourceCache {
    /// The cached source of this configuration, if the configuration was made at that time.
    pub(crate) fn take(&mut self, key: &Key, made: Timestamp) -> Option<Box<dyn EventSource>> {
        let found = self.0.iter().position(|(of, _, _)| of == key)?;
        let (_, at, source) = self.0.remove(found);
        (at == made).then_some(source)
    }

    /// Caches a source. The least recently used one is dropped if there are too many.
    pub(crate) fn put(&mut self, key: Key, made: Timestamp, source: Box<dyn EventSource>) {
        self.0.push((key, made, source));
        if self.0.len() > MOST_KEPT {
            self.0.remove(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use envoi_kernel::ids::RunId;

    struct Nothing;

    impl EventSource for Nothing {
        fn next(&mut self) -> Result<Option<Notification>, SourceError> {
            Ok(None)
        }

        fn delivered(&mut self) {}

        fn is_over(&self) -> bool {
            true
        }
    }

    #[test]
    fn readings_are_kept_for_their_configuration_and_no_more_than_so_many() {
        let mut kept = SourceCache::default();
        let at = Timestamp::from_millis;
        let key = |name: usize| (RunId::new(format!("run_{name}")).unwrap(), "p".to_owned());
        for name in 0..=MOST_KEPT {
            kept.put(key(name), at(1), Box::new(Nothing));
        }
        assert!(kept.take(&key(0), at(1)).is_none(), "the first had to go");
        assert!(kept.take(&key(1), at(1)).is_some());
        assert!(kept.take(&key(1), at(1)).is_none(), "it is taken");
        assert!(kept.take(&key(2), at(2)).is_none(), "made anew");
        assert_eq!(kept.0.len(), MOST_KEPT - 2);
    }
}
