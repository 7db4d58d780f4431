//! Names of files of a workspace, for events and messages: a name can hold a secret.
//!
//! Lists of snapshots and displaced files keep their names: the files come back under them.

use crate::{
    attempts::secrets::{caller_of, known_secrets},
    model::protocol::{CallerWire, Refused},
};
use envoi_kernel::Flow;
use envoi_step::Secrets;

/// The name in an event if a secret of the flow is not at hand.
const NOT_MASKED: &str = "(a name that cannot be masked: a secret of the flow is not at hand)";

/// The same where a reason could name files.
const NO_REASON: &str = "the reason cannot be masked: a secret of the flow is not at hand";

/// Masks names with the secrets of a run.
pub struct Names {
    secrets: Secrets,
    are_all: bool,
}

impl Names {
    /// With the secrets of this flow, as this caller has them.
    #[must_use]
    pub fn of(flow: &Flow, caller: &CallerWire) -> Self {
        let values: Vec<String> = known_secrets(&flow.secrets, &caller_of(flow, caller)).collect();
        Self { are_all: values.len() == flow.secrets.len(), secrets: Secrets::new(&values) }
    }

    /// A path, for a message. Bytes that are no UTF-8 are replaced.
    #[must_use]
    pub fn shown(&self, path: &[u8]) -> String {
        self.secrets.mask_str(&String::from_utf8_lossy(path))
    }

    /// A path, for an event. An event stays: it names nothing that cannot be masked.
    pub(super) fn kept(&self, path: &[u8]) -> String {
        match self.are_all {
            true => self.shown(path),
            false => NOT_MASKED.to_owned(),
        }
    }

    /// Why something was not done, for an event.
    pub(super) fn reason(&self, error: &impl core::fmt::Display) -> String {
        match self.are_all {
            true => self.secrets.mask_str(&error.to_string()),
            false => NO_REASON.to_owned(),
        }
    }

    /// A refusal whose message may name files.
    pub(super) fn refusal(&self, mut refused: Refused) -> Refused {
        refused.message = self.secrets.mask_str(&refused.message);
        refused
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use envoi_contract::code::Code;

    #[test]
    fn a_name_is_masked_and_an_event_has_none_that_cannot_be() {
        let names = |are_all| Names { secrets: Secrets::new(&["hunter2".to_owned()]), are_all };
        for are_all in [true, false] {
            assert_eq!(names(are_all).shown(b"sub/hunter2.\xff"), "sub/***.\u{fffd}");
            let refused = Refused::new(Code::FilesInTheWay, "`hunter2` is a pipe".to_owned(), None);
            assert_eq!(names(are_all).refusal(refused).message, "`***` is a pipe");
        }
        assert_eq!(names(true).kept(b"a hunter2"), "a ***");
        assert_eq!(names(false).kept(b"a plain one"), NOT_MASKED);
        assert_eq!(names(true).reason(&"`hunter2` is in the way"), "`***` is in the way");
        assert_eq!(names(false).reason(&"`a` is in the way"), NO_REASON);
    }
}
