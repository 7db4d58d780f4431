//! How an event is written for the journal, and why what is written can be read.
//!
//! The form is version 2: JSON with `type` first, in which a value of the contracts stands as itself and a member without a value is left out
//! ([`envoi_contract::stored::kept`]). Version 1 was JSON in which such a value was a string with JSON in it. Both are read by the same
//! code ([`super::read`]), and a journal may hold both, so that no journal is rewritten and none has to say its version.
//!
//! Nothing is committed that cannot be read again. The writer sees to that itself: it refuses values that the strict reader would refuse
//! (depth, size), hand-offs and signals that break a rule, ids that count from nothing. The four events of every step are made of such types
//! alone, so that they are written and no more. Any other event is also read once before it is committed; they are rare.
//!
//! What an engine on another machine will ask of this form was decided with it. A result travels as an event does, so that it needs no form of
//! its own. A text of more than 64 KiB is content that the event names by its digest. `workspace`, `run_base` and `source` are names that the
//! machine which runs the attempt resolves: here they are paths, and nothing but [`crate::Run::relocate`] compares them. What decides and what
//! only shows are two members of a snapshot, `control` and `envelope`, so that they can be kept in two places.

use super::{Event, unreadable::Unreadable};
use envoi_contract::stored;

/// Most events are smaller: their buffer does not grow.
const USUAL_BYTES: usize = 1024;

impl Event {
    /// The event as the journal keeps it: JSON on one line.
    ///
    /// # Errors
    /// [`Unreadable`]: the run could never be loaded again.
    pub fn kept(&self) -> Result<String, Unreadable> {
        let mut text = String::with_capacity(USUAL_BYTES);
        stored::kept(self, &mut text).map_err(Unreadable::of)?;
        if !self.is_readable_as_written() {
            serde_json::from_str::<Self>(&text).map_err(Unreadable::of)?;
        }
        Ok(text)
    }

    /// Whether every type in it refuses to be written where its reader would refuse it. See the module.
    fn is_readable_as_written(&self) -> bool {
        matches!(
            self,
            Self::AttemptStarted(_)
                | Self::AttemptSettled(_)
                | Self::Routed(_)
                | Self::HandoffWritten(_)
                | Self::StepEntered(_)
        )
    }
}
