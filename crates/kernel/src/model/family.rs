//! What runs that were forked from one another share: their bounds.
//!
//! The bounds are those of the flow, once for the whole family. A run knows what it has used itself, and gets what the
//! others have used whenever it begins or goes on; because only one of them goes on at a time, that is all there is to know.

use crate::model::ledger::Ledger;
use serde::{Deserialize, Serialize};

/// What has been used of common bounds, and what people have added to them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Share {
    /// Used.
    #[serde(default)]
    pub used: Ledger,
    /// Added to the bounds.
    #[serde(default)]
    pub raised: Ledger,
}

impl Share {
    /// Whether it is of no account.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    /// Adds what another run has used and been given.
    pub fn add(&mut self, more: &Self) {
        self.used.add(&more.used);
        self.raised.add(&more.raised);
    }

    /// How much more this is than `other`, counter by counter; nothing where it is not more.
    #[must_use]
    pub fn beyond(&self, other: &Self) -> Self {
        Self { used: self.used.beyond(&other.used), raised: self.raised.beyond(&other.raised) }
    }
}
