//! Writing of an event for the journal, and the guarantee that it can be read again.
//!
//! The form is version 2: JSON with `type` first, in which values of the contracts are embedded directly and
//! members without a value are omitted ([`envoi_contract::stored::kept`]). Version 1 was JSON in which such a
//! value was a string with JSON in it. The same code ([`super::read`]) reads both, and a journal may contain
//! both. So no journal has to be rewritten or to declare its version.
//!
//! Nothing is committed that cannot be read again. The writer ensures this: it refuses values that the strict
//! reader would refuse (depth, size), hand-offs and signals that break a rule, and ids that count from 0. The
//! four events of every step consist only of such types, so they need no further check. Every other event is
//! rare; it is read back once before it is committed.
//!
//! The form was designed for engines on other machines too. A result is transferred as an event, so it needs
//! no form of its own. A text of more than 64 KiB is content that the event names by its digest. `workspace`,
//! `run_base` and `source` are names that the machine which runs the attempt resolves: here they are paths,
//! and nothing but [`crate::Run::relocate`] compares them. A snapshot has two members, `control` for
//! decisions and `envelope` for display only, so that they can be stored separately.

use super::{Event, unreadable::Unreadable};
use envoi_contract::stored;

/// Most events are smaller, so their buffer does not grow.
const USUAL_BYTES: usize = 1024;

impl Event {
    /// The event as the journal stores it: JSON on one line.
    ///
    /// # Errors
    /// [`Unreadable`]: a journal with this event could never be loaded again.
    pub fn kept(&self) -> Result<String, Unreadable> {
        let mut text = String::with_capacity(USUAL_BYTES);
        stored::kept(self, &mut text).map_err(Unreadable::of)?;
        if !self.is_readable_as_written() {
            serde_json::from_str::<Self>(&text).map_err(Unreadable::of)?;
        }
        Ok(text)
    }

    /// Whether each of its types refuses on writing everything that its reader would refuse. See the module.
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
