//! The time of a timer has come.

use crate::{
    decide::{advance::advance, draft::Draft},
    model::{
        event::{Event, TimerFired},
        ids::TimerId,
        input::Refusal,
    },
};

/// Input: timer due.
pub(crate) fn due(mut draft: Draft<'_>, timer: TimerId) -> Result<Draft<'_>, Refusal> {
    let Some((due, _)) = draft.control.timers.get(&timer) else { return Err(Refusal::NoTimer { timer }) };
    if draft.now < *due {
        return Err(Refusal::NotDue { timer });
    }
    draft.emit(Event::TimerFired(TimerFired { timer }))?;
    advance(draft)
}
