//! Folders that are being restored to a snapshot, or receive the result of a run.
//!
//! Owns the duration: from the request, before it is durable, until the journal has its end. During this time
//! no run may work there. This is needed because a run at rest has no other claim on its workspace, and the
//! folder that `envoi apply` changes is not its workspace at all.

use crate::{event_loop::active_run::Active, model::claim::Claim};
use envoi_kernel::{Event, Input, ids::RunId};
use std::collections::BTreeMap;

#[derive(Default)]
pub(crate) struct Changing(BTreeMap<RunId, Claim>);

impl Changing {
    /// Begins a change. The caller has checked that the folder is free.
    pub(crate) fn begin(&mut self, folder: Option<Claim>) {
        self.0.extend(folder.map(|folder| (folder.run.clone(), folder)));
    }

    /// Ends a change, unless the run still has a restore pending or requested.
    pub(crate) fn settle(&mut self, id: &RunId, active: Option<&Active>) {
        if !active.is_some_and(goes_on) {
            self.0.remove(id);
        }
    }

    /// The folders that no other run may enter.
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
