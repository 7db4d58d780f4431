//! What a run had done when it put a question: the event, the files that it had changed, its last hand-off.

use super::load::load_run;
use crate::model::protocol::Refused;
use envoi_contract::time::Timestamp;
use envoi_journal::{InboxRow, Reader};
use envoi_kernel::{
    Event, Record, Run,
    event::{Blob, Change, FileChange, HandoffWritten, InterruptAnswered, InterruptRaised},
};
use std::collections::BTreeMap;

/// All that is known of a question.
#[derive(Debug)]
pub struct AskedQuestion {
    /// Its row.
    pub row: InboxRow,
    /// The run that asks, as it is now.
    pub run: Run,
    /// The event that raised it; none if the store was damaged.
    pub raised: Option<InterruptRaised>,
    /// The answer, and when it was given.
    pub given: Option<(Timestamp, InterruptAnswered)>,
    records: Vec<Record>,
}

/// One file that a run has changed: what it was before the run, and what it is when the run asks.
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
pub fn asked_question(reader: &Reader, row: InboxRow) -> Result<AskedQuestion, Refused> {
    let run = load_run(reader, &row.run)?;
    let records = reader.records(&row.run, 0, None)?;
    let raised = records.iter().find_map(|record| match &record.event {
        Event::InterruptRaised(raised) if raised.interrupt == row.interrupt => Some(raised.as_ref().clone()),
        _ => None,
    });
    let given = reader.answer(&row.run, &row).ok();
    Ok(AskedQuestion { row, run, raised, given, records })
}

impl AskedQuestion {
    /// Whether it waits for an answer.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.run.interrupts().any(|raised| raised.interrupt == self.row.interrupt)
    }

    /// The last hand-off before it.
    #[must_use]
    pub fn last_handoff(&self) -> Option<&HandoffWritten> {
        let written = self.before().filter_map(|record| match &record.event {
            Event::HandoffWritten(written) => Some(written.as_ref()),
            _ => None,
        });
        written.last()
    }

    /// What the run had changed when the question opened, by path.
    #[must_use]
    pub fn changed(&self, reader: &Reader) -> Vec<Changed> {
        let mut all: BTreeMap<String, Changed> = BTreeMap::new();
        for record in self.before() {
            let Event::AttemptSettled(settled) = &record.event else { continue };
            let files = reader.files_of(settled).unwrap_or_default();
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
        // The question is open again: it is about the files that lay in the workspace then.
        for found in self.raised.iter().flat_map(|raised| &raised.found) {
            if let Some(known) = all.get_mut(&found.path) {
                known.after = found.digest.map(|digest| Blob { digest, size: 0 });
            }
        }
        let real = |file: &Changed| match (&file.before, &file.after) {
            (Some(before), Some(after)) => before.digest != after.digest,
            (None, None) => !file.created,
            _ => true,
        };
        all.into_values().filter(real).collect()
    }

    /// The events before the question.
    fn before(&self) -> impl Iterator<Item = &Record> {
        let is_this = |record: &&Record| matches!(&record.event, Event::InterruptRaised(raised) if raised.interrupt == self.row.interrupt);
        self.records.iter().take_while(move |record| !is_this(record))
    }
}
