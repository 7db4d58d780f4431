//! What of a run's events is shown: they are read from the newest back, and decoded only where that is needed.
//!
//! Owns which events those are. Of a long run, most are about visits that are not shown.

use envoi_api::step::{Newest, Outline, StepRow, StepRows, Touch, subject};
use envoi_journal::{KeptEvent, ReadError, Reader};
use envoi_kernel::{
    Record, Run,
    ids::{AttemptId, RunId, VisitId},
};
use std::ops::ControlFlow;

/// See the module.
#[derive(Default)]
pub(super) struct Past {
    /// Corrections, reopenings, restores of files and attempts with warnings, in order.
    pub(super) notable: Vec<Record>,
    outline: Outline,
}

impl Past {
    pub(super) fn read(reader: &Reader, run: &RunId) -> Result<Self, ReadError> {
        let mut past = Self::default();
        reader.events_back(run, None, |event| {
            if is_notable(event) {
                past.notable.push(event.record()?);
            }
            if let Some((touch, visit)) = touch(event)? {
                past.outline.take_back(event.seq(), touch, &visit);
            }
            Ok(ControlFlow::Continue(()))
        })?;
        past.notable.reverse();
        Ok(past)
    }

    /// The rows of the newest visits and of what they are part of, and how many others there are.
    pub(super) fn rows(
        &self,
        reader: &Reader,
        run: &Run,
        id: &RunId,
        running: &[AttemptId],
        most: usize,
    ) -> Result<(Vec<StepRow>, usize), ReadError> {
        let Newest { visits, earlier, from, before } = self.outline.newest(most);
        let mut rows = StepRows::default();
        for seq in before {
            reader.records(id, seq, Some(1))?.iter().for_each(|record| rows.take_later(record));
        }
        reader.records(id, from, None)?.iter().for_each(|record| rows.take_later(record));
        let mut all = rows.all(run, &|attempt| running.contains(attempt));
        all.retain(|row| visits.contains(&row.id()));
        Ok((all, earlier))
    }
}

/// Whether something is shown of an event beside the row of its visit; of one without its kind at its beginning too.
fn is_notable(event: &KeptEvent<'_>) -> bool {
    match event.name() {
        "flow_corrected" | "run_reopened" | "files_restoring" | "" => true,
        "attempt_settled" => event.mentions("\"warnings\":["),
        _ => false,
    }
}

/// The visit that an event touches, and how.
fn touch(event: &KeptEvent<'_>) -> Result<Option<(Touch, VisitId)>, ReadError> {
    let name = event.name();
    if name.is_empty() {
        let event = event.record()?.event;
        return Ok(Touch::of(event.name()).zip(subject(&event).cloned()));
    }
    let Some(touch) = Touch::of(name) else { return Ok(None) };
    if let Some(visit) = event.first::<VisitId>("visit") {
        return Ok(Some((touch, visit)));
    }
    if let Some(attempt) = event.first::<AttemptId>("attempt") {
        return Ok(Some((touch, attempt.visit)));
    }
    Ok(subject(&event.record()?.event).map(|visit| (touch, visit.clone())))
}
