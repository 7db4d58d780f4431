//! What all attempts of an engine use.

use super::variables::PerAttempt;
use crate::{
    model::{crash_point::Point, message::Message},
    observe::placing::Placing,
};
use envoi_journal::{Blobs, Layout, Store, Writer};
use envoi_kernel::ids::{AttemptId, RunId};
use envoi_step::{AttemptDir, Launcher};
use std::sync::{Arc, mpsc::Sender};

pub(super) struct Shared {
    pub(super) store: Arc<Store>,
    pub(super) layout: Layout,
    pub(super) blobs: Blobs,
    pub(super) launcher: Launcher,
    pub(super) boot_id: String,
    pub(super) mailbox: Sender<Message>,
    pub(super) reached: fn(Point),
    pub(super) per_attempt: PerAttempt,
    pub(super) stream_cap_bytes: u64,
    pub(super) large: Option<LargeSets>,
}

/// What many files of one attempt need.
pub(super) struct LargeSets {
    /// Small contents are stored before the commit that names them.
    pub(super) writer: Arc<Writer>,
    /// Files of an earlier step may still be on their way to their places.
    pub(super) placing: Placing,
}

impl Shared {
    pub(super) fn dir(&self, run: &RunId, attempt: &AttemptId) -> AttemptDir {
        AttemptDir::new(self.layout.attempt(run, attempt))
    }
}
