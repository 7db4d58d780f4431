//! Reads the part of a run's events that is shown: from the newest back until enough is known. Events are
//! decoded only if needed.
//!
//! Owns the choice of these events. Most events of a long run belong to visits that are not shown. The few
//! events that need more detail have an index in the store.

use envoi_api::step::{Newest, Opening, Outline, StepRow, StepRows, Touch, subject};
use envoi_journal::{KeptEvent, ReadError, Reader};
use envoi_kernel::{
    Run,
    ids::{AttemptId, RunId, VisitId},
};
use std::ops::ControlFlow;

/// After this many events the reader first checks whether it knows enough. Then it checks after twice as
/// many, and so on.
const FIRST_LOOK: usize = 512;

/// Visits that are not shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Earlier {
    /// Exactly this many.
    Counted(usize),
    /// At least one. The older events were not read.
    Some,
}

/// The events that were read, as an outline.
pub(super) struct Past {
    outline: Outline,
    /// Whether all events were read.
    is_whole: bool,
}

impl Past {
    /// Reads what the rows of the newest visits need.
    pub(super) fn read(reader: &Reader, run: &RunId, most: usize) -> Result<Self, ReadError> {
        let mut past = Self { outline: Outline::default(), is_whole: true };
        let (mut taken, mut next_look) = (0_usize, FIRST_LOOK);
        reader.events_back(run, None, |event| {
            if let Some((touch, visit)) = touch(event)? {
                past.outline.take_back(event.seq(), touch, &visit);
            }
            // Without a maximum, all events are read, so this check is not needed.
            if most < usize::MAX && Opening::is_of(event.name()) {
                let record = event.record()?;
                Opening::of(&record.event).iter().for_each(|opening| past.outline.open_back(opening));
            }
            taken = taken.saturating_add(1);
            if taken < next_look {
                return Ok(ControlFlow::Continue(()));
            }
            next_look = next_look.saturating_mul(2);
            past.is_whole = !past.outline.is_enough(most);
            Ok(if past.is_whole { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
        })?;
        Ok(past)
    }

    /// Returns the rows of the newest visits and of the visits that contain them, and how many others there
    /// are.
    pub(super) fn rows(
        &self,
        reader: &Reader,
        run: &Run,
        id: &RunId,
        running: &[AttemptId],
        most: usize,
    ) -> Result<(Vec<StepRow>, Earlier), ReadError> {
        let Newest { visits, earlier, from, before } = self.outline.newest(most);
        let earlier = if self.is_whole { Earlier::Counted(earlier) } else { Earlier::Some };
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

/// Returns the visit that an event changes, and how.
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
