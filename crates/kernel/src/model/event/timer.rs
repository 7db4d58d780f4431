//! Events of a timer: set, and fired.

use crate::model::ids::{TimerId, VisitId};
use envoi_contract::time::Timestamp;
use serde::{Deserialize, Serialize};

/// See [`Event::TimerSet`](super::Event::TimerSet).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TimerSet {
    /// Its id.
    pub timer: TimerId,
    /// When.
    pub due: Timestamp,
    /// The visit whose next attempt waits for it.
    pub visit: VisitId,
}

/// See [`Event::TimerFired`](super::Event::TimerFired).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TimerFired {
    /// Which.
    pub timer: TimerId,
}
