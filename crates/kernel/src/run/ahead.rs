//! The state of a run once more, to try the events of the next decision on.
//!
//! A decision tries its events before they are committed. On a copy of the state that would cost what the state weighs, which grows with the
//! length of the flow. So a run that lives keeps the state that its last decision led to: when the events of that decision are applied, both are
//! equal again, and the next decision goes on with it. It is a matter of speed alone. A run that has none makes a copy; two runs are equal
//! whether they have one or not; a copy of a run has none.

use crate::state::control::Control;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Ahead {
    control: Option<Box<Control>>,
    is_cut_short: bool,
}

impl Ahead {
    /// The state, if it is as far as the run is. `control` is the run's.
    pub(super) fn take(&mut self, control: &Control) -> Control {
        let ahead = self.control.take().filter(|ahead| ahead.next_seq == control.next_seq);
        debug_assert!(
            ahead.as_deref().is_none_or(|ahead| ahead == control),
            "the events of a decision were applied to one of two states alone"
        );
        ahead.map_or_else(|| control.clone(), |ahead| *ahead)
    }

    /// Keeps the state that a decision has led to, and whether more follows from it.
    pub(super) fn keep(&mut self, control: Control, is_cut_short: bool) {
        *self = Self { control: Some(Box::new(control)), is_cut_short };
    }

    pub(super) fn is_cut_short(&self) -> bool {
        self.is_cut_short
    }

    /// Forgets it: its decision has come to nothing, or the run's own state has changed without an event.
    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }
}

impl Clone for Ahead {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl PartialEq for Ahead {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}
