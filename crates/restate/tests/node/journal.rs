//! The state of a replica: the journal of each run, made of its commits in any order.

use envoi_cluster::{Message, message::Commit, wire::Posted};
use envoi_kernel::{
    Event, Flow, Record, Run, Status,
    event::{EndStatus, Outcome},
    ids::RunId,
};
use std::{collections::BTreeMap, fs, path::Path, sync::Arc};

#[derive(Default)]
pub(crate) struct Journals(BTreeMap<RunId, BTreeMap<u64, Record>>);

impl Journals {
    /// Reads the lines that the endpoint has written so far. The last one may be incomplete.
    pub(crate) fn read(path: &Path) -> Self {
        let mut journals = Self::default();
        let text = fs::read_to_string(path).unwrap_or_default();
        for line in text.split_inclusive('\n').filter(|line| line.ends_with('\n')) {
            let text: String = serde_json::from_str(line).unwrap();
            let Message::Commit(Commit { run, records }) = Posted::read(&text, |_| None).unwrap().message
            else {
                panic!("no commit: {line}")
            };
            let journal = journals.0.entry(run.clone()).or_default();
            for record in records {
                let known = journal.insert(record.seq, record.clone());
                assert!(
                    known.is_none_or(|known| known == record),
                    "{run}: two events have the place {}",
                    record.seq
                );
            }
        }
        journals
    }

    fn events(&self, run: &RunId) -> impl Iterator<Item = &Event> {
        self.0.get(run).into_iter().flat_map(BTreeMap::values).map(|record| &record.event)
    }

    pub(crate) fn is_over(&self, run: &RunId) -> bool {
        self.events(run).any(|event| matches!(event, Event::RunEnded(_)))
    }

    /// The attempts that were started, in order.
    pub(crate) fn started(&self, run: &RunId) -> Vec<String> {
        let started = self.events(run).filter_map(|event| match event {
            Event::AttemptStarted(started) => Some(started.attempt.to_string()),
            _ => None,
        });
        started.collect()
    }

    /// Checks that the journal has no gap and replays to a success. Returns how many attempts were in doubt.
    pub(crate) fn check_succeeded(&self, run: &RunId, flow: &Arc<Flow>) -> usize {
        let journal = &self.0[run];
        let count = u64::try_from(journal.len()).unwrap();
        assert!(journal.keys().copied().eq(0..count), "{run}: the journal has gaps: {:?}", journal.keys());
        let replayed = Run::replay(Arc::clone(flow), journal.values().cloned()).unwrap();
        let Status::Ended(ended) = replayed.status() else { panic!("{run}: {:?}", replayed.status()) };
        assert_eq!(ended.status, EndStatus::Succeeded, "{run}: {ended:?}");
        let in_doubt = |event: &&Event| matches!(event, Event::AttemptSettled(settled) if matches!(settled.outcome, Outcome::InDoubt { .. }));
        self.events(run).filter(in_doubt).count()
    }
}
