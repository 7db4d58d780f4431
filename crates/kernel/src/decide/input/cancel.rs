//! A person ends a run.
//!
//! Nothing further starts at once; the run is over when its live attempts have been ended. A running attempt keeps
//! its result: an attempt that finished before it could be ended leaves the hand-off it earned.

use crate::{
    decide::{advance::advance, draft::Draft},
    model::{
        event::{CancelRequested, Event, InterruptCancelled},
        ids::Principal,
        input::Refusal,
    },
};

/// Input: cancel.
pub(crate) fn cancel(mut draft: Draft<'_>, by: Principal) -> Result<Draft<'_>, Refusal> {
    if draft.control.phase.cancelled_by().is_some() {
        return Err(Refusal::Cancelling);
    }
    draft.emit(Event::CancelRequested(CancelRequested { by }))?;
    let open: Vec<_> = draft.control.interrupts.keys().cloned().collect();
    for interrupt in open {
        draft.emit(Event::InterruptCancelled(InterruptCancelled { interrupt, changed: false }))?;
    }
    advance(draft)
}
