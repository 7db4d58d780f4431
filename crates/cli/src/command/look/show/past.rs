//! What of a run's events is shown: they are read from the newest back until enough is known, and decoded only where that is needed.
//!
//! Owns which events those are. Of a long run, most are about visits that are not shown. The few events of which more is shown than a row of
//! a visit have an index in the store.

use envoi_api::step::{Newest, Opening, Outline, StepRow, StepRows, Touch, subject};
use envoi_journal::{KeptEvent, ReadError, Reader};
use envoi_kernel::{
    Run,
    ids::{AttemptId, RunId, VisitId},
};
use std::ops::ControlFlow;

/// After so many events it is looked at for the first time whether enough is known; then after twice as many, and so on.
const FIRST_LOOK: usize = 512;

/// Visits that are not shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Earlier {
    /// So many.
    Counted(usize),
    /// One at least; the events were not read any further.
    Some,
}

/// See the module.
pub(super) struct Past {
    outline: Outline,
    /// Whether all events were read.
    is_whole: bool,
}

impl Past {
    /// What the rows of the newest visits need.
    pub(super) fn read(reader: &Reader, run: &RunId, most: usize) -> Result<Self, ReadError> {
        let mut past = Self { outline: Outline::default(), is_whole: true };
        let (mut taken, mut next_look) = (0_usize, FIRST_LOOK);
        reader.events_back(run, None, |event| {
            if let Some((touch, visit)) = touch(event)? {
                past.outline.take_back(event.seq(), touch, &visit);
            }
            // Who wants all of them reads all of them.
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

    /// The rows of the newest visits and of what they are part of, and how many others there are.
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
