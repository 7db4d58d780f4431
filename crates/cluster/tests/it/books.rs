//! Records what happens, and checks what must never happen.
//!
//! An attempt is started once, and never at the same time as another one of its visit. A worker runs no more
//! attempts than it has slots. The commits of a run are a journal without gaps that replays to the state of
//! its object.

use envoi_cluster::message::Commit;
use envoi_kernel::{
    Record, Run, Status,
    flow::Versions,
    ids::{AttemptId, RunId},
};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Default)]
pub(crate) struct Books {
    /// The events of each run, by their `seq`.
    journals: BTreeMap<RunId, BTreeMap<u64, Record>>,
    /// The runs as a replica has applied them.
    shown: BTreeMap<RunId, Run>,
    started: BTreeSet<(RunId, AttemptId)>,
    running: BTreeMap<(RunId, AttemptId), usize>,
}

impl Books {
    pub(crate) fn begin(&mut self, run: &RunId, flow: &Versions) {
        self.shown.insert(run.clone(), Run::new(flow.clone()));
    }

    pub(crate) fn committed(&mut self, commit: Commit) {
        let Commit { run, records } = commit;
        let journal = self.journals.entry(run.clone()).or_default();
        for record in records {
            let known = journal.insert(record.seq, record.clone());
            assert!(
                known.is_none_or(|known| known == record),
                "{run}: two events have the place {}",
                record.seq
            );
        }
        let shown = self.shown.get_mut(&run).unwrap();
        while let Some(next) = journal.get(&shown.next_seq()) {
            shown.apply(next).unwrap();
        }
    }

    pub(crate) fn shown(&self, run: &RunId) -> &Run {
        &self.shown[run]
    }

    pub(crate) fn is_over(&self, run: &RunId) -> bool {
        matches!(self.shown[run].status(), Status::Ended(_))
    }

    pub(crate) fn starts(&mut self, run: &RunId, attempt: &AttemptId, machine: usize, jobs: usize) {
        let key = (run.clone(), attempt.clone());
        assert!(self.started.insert(key.clone()), "{run} {attempt} is started again");
        let beside = self.running.keys().find(|(of, other)| of == run && other.visit == attempt.visit);
        assert!(beside.is_none(), "{run} {attempt} is started beside {beside:?}");
        self.running.insert(key, machine);
        let here = self.running.values().filter(|on| **on == machine).count();
        assert!(here <= jobs, "{here} attempts run on {jobs} slots");
    }

    pub(crate) fn ends(&mut self, run: &RunId, attempt: &AttemptId) {
        self.running.remove(&(run.clone(), attempt.clone()));
    }

    pub(crate) fn count(&self) -> u64 {
        self.started.len().try_into().unwrap()
    }

    /// How often an attempt of the run was in doubt.
    pub(crate) fn in_doubt(&self, run: &RunId) -> u64 {
        let doubts = self.journals[run].values().filter(|record| {
            matches!(&record.event, envoi_kernel::Event::AttemptSettled(settled)
                if matches!(settled.outcome, envoi_kernel::event::Outcome::InDoubt { .. }))
        });
        doubts.count().try_into().unwrap()
    }

    /// Checks that the run's object and its journal agree. Returns the result of the run: its status, and
    /// which visits have a hand-off.
    pub(crate) fn close(&self, run: &RunId, kept: &Run, flow: &Versions) -> String {
        let journal = &self.journals[run];
        assert!(journal.keys().copied().eq(0..kept.next_seq()), "{run}: the journal has gaps");
        let replayed = Run::replay(flow.clone(), journal.values().cloned()).unwrap();
        assert_eq!(replayed.control_snapshot().unwrap(), kept.control_snapshot().unwrap(), "{run}");
        let handoffs = journal.values().filter_map(|record| match &record.event {
            envoi_kernel::Event::HandoffWritten(event) => {
                Some(format!("{} {:?}", event.visit, event.handoff.status))
            }
            _ => None,
        });
        let handoffs: Vec<String> = handoffs.collect::<BTreeSet<_>>().into_iter().collect();
        format!("{:?} {}", replayed.status(), handoffs.join(", "))
    }
}
