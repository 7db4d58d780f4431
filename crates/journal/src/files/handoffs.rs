//! The files of hand-offs: one a visit, the newest of each step, and the list of a large set of artifacts.

use super::run_files::RunFiles;
use crate::{
    log::reader,
    model::{error::FileError, manifest, rows::HandoffRow},
};
use envoi_contract::{digest::Digest, handoff::Handoff, json::Value};
use envoi_kernel::{
    event::{Event, HandoffWritten},
    files::{MANIFEST, is_manifest},
    ids::{FlowId, VisitId},
};
use std::{
    collections::BTreeMap,
    io::{self, Write},
    path::PathBuf,
};

/// The knowledge of visits after the one whose hand-off is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// None of its step has been written.
    Last,
    /// There may be some: read the journal.
    Unknown,
}

/// How closely the list of a large set is checked.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ListCheck {
    /// It is compared with the journal.
    Compared,
    /// A list that would have to be gathered from all attempts of its step only has to exist.
    Present,
}

impl RunFiles<'_> {
    pub(super) fn write_handoff(
        &self,
        flow: &FlowId,
        written: &HandoffWritten,
        order: Order,
    ) -> Result<(), FileError> {
        let bytes = reader::handoff_bytes(written);
        let [own, newest] = self.handoff_paths(flow, &written.visit);
        // Two files, not one with two names: a step that writes into the newest one must not change that of the visit.
        // An engine that was taken over may come to this long after another one has written later visits.
        let is_newest = order == Order::Last || self.reader.is_newest(self.run, &written.visit)?;
        match newest.file_name().filter(|_| is_newest) {
            Some(newest) => self.replace_both(&own, newest, &bytes)?,
            None => return self.replace(&own, |file| Ok(file.write_all(&bytes)?)),
        }
        if has_manifest(&written.handoff) {
            let list = self.list(written)?;
            self.replace(&self.list_path(flow, written), |file| Ok(file.write_all(&list)?))?;
        }
        Ok(())
    }

    /// The path of the list of the files of a hand-off.
    pub(super) fn list_path(&self, flow: &FlowId, written: &HandoffWritten) -> PathBuf {
        let VisitId { scope, step, .. } = &written.visit;
        self.layout.files_list(self.run, flow, scope, step)
    }

    /// The list of the files of a hand-off that names one.
    fn list(&self, written: &HandoffWritten) -> Result<Vec<u8>, FileError> {
        match list_digest(&written.handoff) {
            Some(digest) => Ok(self.reader.blob(&digest)?),
            None => self.gathered(&written.visit),
        }
    }

    /// The list of a hand-off that names one, if it is missing or differs.
    fn restore_list(
        &self,
        flow: &FlowId,
        handoff: &HandoffWritten,
        check: ListCheck,
        written: &mut Vec<PathBuf>,
    ) -> Result<(), FileError> {
        let target = self.list_path(flow, handoff);
        let found = self.digest_of(&target);
        let is_well = match list_digest(&handoff.handoff) {
            // The list need not be read from the store to be compared.
            Some(digest) => found == Some(digest),
            None => check == ListCheck::Present && found.is_some(),
        };
        if is_well {
            return Ok(());
        }
        let list = self.list(handoff)?;
        if found != Some(Digest::of(&list)) {
            self.replace(&target, |file| Ok(file.write_all(&list)?))?;
            written.push(target);
        }
        Ok(())
    }

    /// The list of what the items of a visit have handed over: the step itself has no attempt of its own.
    fn gathered(&self, visit: &VisitId) -> Result<Vec<u8>, FileError> {
        let mut newest = BTreeMap::new();
        for record in self.reader.records(self.run, 0, None)? {
            let Event::AttemptSettled(settled) = &record.event else { continue };
            if settled.late || settled.attempt.visit.whole() != *visit {
                continue;
            }
            for file in self.reader.files_of(settled)?.iter() {
                newest.insert(file.path.clone(), file.clone());
            }
        }
        let files: Vec<_> = newest.into_values().collect();
        let list = manifest::write(&files).map_err(|error| FileError::Io {
            path: self.layout.run(self.run),
            source: io::Error::other(error),
        })?;
        Ok(list.1)
    }

    fn handoff_paths(&self, flow: &FlowId, visit: &VisitId) -> [PathBuf; 2] {
        [
            self.layout.handoff_visit(self.run, flow, visit),
            self.layout.handoff_latest(self.run, flow, &visit.scope, &visit.step),
        ]
    }

    /// The visit's own file; and the newest one with its list, if no later visit of the step has written.
    pub(super) fn restore_handoff(
        &self,
        row: &HandoffRow,
        check: ListCheck,
        written: &mut Vec<PathBuf>,
    ) -> Result<HandoffWritten, FileError> {
        let handoff = self.reader.written_at(self.run, row.seq)?;
        let bytes = reader::handoff_bytes(&handoff);
        let [own, newest] = self.handoff_paths(&row.flow, &row.visit);
        let is_newest = self.reader.is_newest(self.run, &row.visit)?;
        for path in std::iter::once(own).chain(is_newest.then_some(newest)) {
            if self.digest_of(&path) != Some(Digest::of(&bytes)) {
                self.replace(&path, |file| Ok(file.write_all(&bytes)?))?;
                written.push(path);
            }
        }
        if is_newest && has_manifest(&handoff.handoff) {
            self.restore_list(&row.flow, &handoff, check, written)?;
        }
        Ok(handoff)
    }
}

pub(super) fn has_manifest(handoff: &Handoff) -> bool {
    is_manifest(handoff.artifacts.iter().map(|(name, path)| (name, path.as_str())))
}

/// The digest of the list of a large set. A step that has no attempt of its own does not store one.
fn list_digest(handoff: &Handoff) -> Option<Digest> {
    handoff.file_changes.get(MANIFEST).and_then(Value::as_str).and_then(Digest::parse)
}
