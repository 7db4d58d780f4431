//! The work of a run before a question: the event, the files that it had changed, its last hand-off.

use super::load::load_run;
use crate::model::protocol::Refused;
use envoi_contract::time::Timestamp;
use envoi_journal::{InboxRow, InterruptState, ReadError, Reader};
use envoi_kernel::{
    Event, Record, Run,
    event::{AttemptSettled, Blob, Change, FileChange, HandoffWritten, InterruptAnswered, InterruptRaised},
    ids::{RunId, VisitId},
};
use std::collections::BTreeMap;

/// All that is known of a question.
#[derive(Debug)]
pub struct LoadedQuestion {
    /// Its row.
    pub row: InboxRow,
    /// The run that asks, as it is now.
    pub run: Run,
    /// The event that raised it; none if the store was damaged.
    pub raised: Option<InterruptRaised>,
    /// The answer, and when it was given.
    pub given: Option<(Timestamp, InterruptAnswered)>,
    /// The attempts that had settled before it, in order.
    settled: Vec<AttemptSettled>,
    last_handoff: Option<HandoffWritten>,
}

/// A file that a run has changed: its state before the run, and its state when the run asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    /// Relative to the workspace.
    pub path: String,
    /// Before the run, if that is known.
    pub before: Option<Blob>,
    /// Whether the run made it.
    pub created: bool,
    /// None if it was deleted.
    pub after: Option<Blob>,
}

/// Reads what is known of the question of this row.
///
/// # Errors
/// As [`load_run`].
pub fn load_question(reader: &Reader, row: InboxRow) -> Result<LoadedQuestion, Refused> {
    let run = load_run(reader, &row.run)?;
    // A run may have many events. Only those that are shown are read.
    let before = |kind, seq, limit| reader.records_before(&row.run, &[kind], seq, limit);
    let found = before("interrupt_raised", run.next_seq(), None)?.into_iter().find_map(|record| match record
        .event
    {
        Event::InterruptRaised(raised) if raised.interrupt == row.interrupt => Some((record.seq, *raised)),
        _ => None,
    });
    let (seq, raised) = found.map_or((run.next_seq(), None), |(seq, raised)| (seq, Some(raised)));
    let last_handoff =
        before("handoff_written", seq, Some(1))?.into_iter().find_map(|record| match record.event {
            Event::HandoffWritten(written) => Some(*written),
            _ => None,
        });
    let newest_first = before("attempt_settled", seq, None)?.into_iter().rev();
    let settled = newest_first.filter_map(settlement).collect();
    let given = match row.state {
        InterruptState::Answered => Some(reader.answer(&row.run, &row)?),
        _ => None,
    };
    Ok(LoadedQuestion { row, run, raised, given, settled, last_handoff })
}

impl LoadedQuestion {
    /// Whether it waits for an answer.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.run.interrupts().any(|raised| raised.interrupt == self.row.interrupt)
    }

    /// The last hand-off before it.
    #[must_use]
    pub fn last_handoff(&self) -> Option<&HandoffWritten> {
        self.last_handoff.as_ref()
    }

    /// The files that the run had changed when the question opened, by path.
    ///
    /// # Errors
    /// As [`Reader::files_of`]: a person must not see "nothing changed" when that is not known.
    pub fn changed(&self, reader: &Reader) -> Result<Vec<Changed>, ReadError> {
        let mut all = changed_by(reader, &self.settled)?;
        // The question is open again: it is about the files that lay in the workspace then.
        for found in self.raised.iter().flat_map(|raised| &raised.found) {
            if let Some(known) = all.get_mut(&found.path) {
                known.after = found.digest.map(|digest| Blob { digest, size: 0 });
            }
        }
        Ok(differing(all))
    }
}

/// The files that a run has changed so far, by path.
///
/// # Errors
/// As [`load_run`].
pub fn changed_files(reader: &Reader, run: &RunId) -> Result<Vec<Changed>, Refused> {
    let next = load_run(reader, run)?.next_seq();
    let newest_first = reader.records_before(run, &["attempt_settled"], next, None)?.into_iter().rev();
    let settled: Vec<AttemptSettled> = newest_first.filter_map(settlement).collect();
    Ok(differing(changed_by(reader, &settled)?))
}

/// The files that one visit and its parts have changed, by path: the state of each file before it and after
/// it.
///
/// # Errors
/// As [`load_run`].
pub fn files_of_visit(reader: &Reader, run: &RunId, visit: &VisitId) -> Result<Vec<Changed>, Refused> {
    let next = load_run(reader, run)?.next_seq();
    let newest_first = reader.records_before(run, &["attempt_settled"], next, None)?.into_iter().rev();
    let is_of = |settled: &AttemptSettled| {
        let own = &settled.attempt.visit;
        own == visit || own.is_part_of(visit)
    };
    let settled: Vec<AttemptSettled> = newest_first.filter_map(settlement).filter(is_of).collect();
    Ok(differing(changed_by(reader, &settled)?))
}

fn settlement(record: Record) -> Option<AttemptSettled> {
    match record.event {
        Event::AttemptSettled(settled) => Some(*settled),
        _ => None,
    }
}

/// The files that these attempts have changed: the state of each before the first attempt, and after the last.
fn changed_by(reader: &Reader, settled: &[AttemptSettled]) -> Result<BTreeMap<String, Changed>, ReadError> {
    let mut all: BTreeMap<String, Changed> = BTreeMap::new();
    for settled in settled {
        let files = reader.files_of(settled)?;
        let changed = |file: &&FileChange| !settled.late && file.change != Change::Unchanged;
        for file in files.iter().filter(changed) {
            let known = all.entry(file.path.clone()).or_insert_with(|| Changed {
                path: file.path.clone(),
                before: file.before.clone(),
                created: file.change == Change::Created,
                after: None,
            });
            known.after.clone_from(&file.blob);
        }
    }
    Ok(all)
}

/// The files that differ from their state before.
fn differing(all: BTreeMap<String, Changed>) -> Vec<Changed> {
    let real = |file: &Changed| match (&file.before, &file.after) {
        (Some(before), Some(after)) => before.digest != after.digest,
        (None, None) => !file.created,
        _ => true,
    };
    all.into_values().filter(real).collect()
}
