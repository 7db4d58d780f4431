//! The bounds that a family of forked runs shares.
//!
//! The bounds of the flow apply once to the whole family. A run knows its own usage, and receives the usage
//! of the others whenever it begins or continues. That is complete, because only one of them is active at a
//! time.

use crate::model::ledger::Ledger;
use serde::{Deserialize, Serialize};

/// Usage of shared bounds, and the amounts that people have added to them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Share {
    /// Usage.
    #[serde(default)]
    pub used: Ledger,
    /// Amounts added to the bounds.
    #[serde(default)]
    pub raised: Ledger,
}

impl Share {
    /// Whether all its counters are 0.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    /// Adds the share of another run.
    pub fn add(&mut self, more: &Self) {
        self.used.add(&more.used);
        self.raised.add(&more.raised);
    }

    /// The excess over `other`, counter by counter; 0 if there is none.
    #[must_use]
    pub fn beyond(&self, other: &Self) -> Self {
        Self { used: self.used.beyond(&other.used), raised: self.raised.beyond(&other.raised) }
    }
}
