//! Folders whose files are being set back to a snapshot, or get the result of a run.
//!
//! Owns for how long that is: from the request on, before it is durable, until the journal says that it is over. Meanwhile no run comes to work
//! there. A run at rest has no other hold on its workspace, and the folder that `envoi apply` changes is not its workspace at all.

use crate::{event_loop::active_run::Active, model::claim::Claim};
use envoi_kernel::{Event, Input, ids::RunId};
use std::collections::BTreeMap;

#[derive(Default)]
pub(crate) struct Changing(BTreeMap<RunId, Claim>);

impl Changing {
    /// From now on. Whether the folder is free was looked at.
    pub(crate) fn begin(&mut self, folder: Option<Claim>) {
        self.0.extend(folder.map(|folder| (folder.run.clone(), folder)));
    }

    /// Ends it, unless files of the run are still to come, or a request of it is still to say so.
    pub(crate) fn settle(&mut self, id: &RunId, active: Option<&Active>) {
        if !active.is_some_and(goes_on) {
            self.0.remove(id);
        }
    }

    /// What no other run may come into.
    pub(crate) fn claims(&self) -> impl Iterator<Item = &Claim> {
        self.0.values()
    }
}

fn goes_on(active: &Active) -> bool {
    let is_asked_for =
        || active.requests.iter().any(|request| matches!(request.input, Input::RestoreFiles(_)));
    let is_submitted = || {
        let records = active.in_flight.iter().flat_map(|commit| &commit.records);
        records.into_iter().any(|record| matches!(record.event, Event::FilesRestoring(_)))
    };
    active.run.restoring().is_some() || is_asked_for() || is_submitted()
}
