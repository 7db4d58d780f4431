//! Artifacts: the newest version of each, and the manifests that list them.

use super::{Reader, decode};
use crate::{
    model::{
        error::{Cause, ReadError},
        manifest,
        rows::{ArtifactRow, ManifestRow},
    },
    tables::sql::RunKey,
};
use envoi_contract::digest::Digest;
use envoi_kernel::{
    event::{AttemptSettled, Event, FileChange, Record},
    ids::{FlowId, RunId},
};
use rusqlite::{Row, params};
use std::{borrow::Cow, collections::BTreeMap, sync::Arc};

impl Reader {
    /// The newest version of every artifact of a run, those of manifests among them, by flow and path.
    ///
    /// # Errors
    /// [`ReadError::Missing`] when there is no such run; [`ReadError::Damaged`] when a manifest cannot be read.
    pub fn artifacts(&self, run: &RunId) -> Result<Vec<ArtifactRow>, ReadError> {
        let key = self.key(run)?;
        let manifests = self.manifests(run)?;
        let mut rows = self.artifact_rows(key)?;
        if manifests.is_empty() {
            return Ok(rows.into_iter().map(|(_, place)| place).collect());
        }
        // In the order in which they were written: a manifest before the rows that came after it.
        rows.sort_by_key(|(after, _)| *after);
        let mut rows = rows.into_iter().peekable();
        let mut newest = BTreeMap::new();
        let mut keep = |place: ArtifactRow| newest.insert((place.flow.clone(), place.path.clone()), place);
        for (nth, manifest) in (0_u32..).zip(manifests) {
            while let Some((_, place)) = rows.next_if(|(after, _)| *after <= nth) {
                keep(place);
            }
            for file in self.list(&manifest.digest)? {
                keep(manifest.place(file));
            }
        }
        for (_, row) in rows {
            keep(row);
        }
        Ok(newest.into_values().collect())
    }

    /// As [`Reader::artifacts`], without those of manifests.
    ///
    /// # Errors
    /// [`ReadError::Missing`] when there is no such run.
    pub fn listed_artifacts(&self, run: &RunId) -> Result<Vec<ArtifactRow>, ReadError> {
        Ok(self.artifact_rows(self.key(run)?)?.into_iter().map(|(_, place)| place).collect())
    }

    /// An artifact of the flow that keeps one with this path from its place, because one of the two would have to be a file and a
    /// folder at once. Artifacts that only manifests list are not looked at.
    ///
    /// # Errors
    /// [`ReadError::Missing`] when there is no such run.
    pub fn artifact_in_the_way(
        &self,
        run: &RunId,
        flow: &FlowId,
        path: &str,
        is_gone: impl Fn(&str) -> bool,
    ) -> Result<Option<String>, ReadError> {
        let key = self.key(run)?;
        let of_path = |row: &Row<'_>| row.get::<_, String>(0);
        let sql = "SELECT path FROM places WHERE run = ?1 AND flow = ?2 AND digest IS NOT NULL AND path = ?3";
        let above = path.match_indices('/').filter_map(|(end, _)| path.get(..end));
        for folder in above {
            let found = self.one(sql, params![key, flow.as_str(), folder], of_path)?;
            if let Some(found) = found.filter(|found| !is_gone(found)) {
                return Ok(Some(found));
            }
        }
        // Below `d` are the paths from `d/` to just before `d0`: the digit follows the slash in ASCII.
        let sql = "SELECT path FROM places WHERE run = ?1 AND flow = ?2 AND digest IS NOT NULL AND path > ?3 || '/' \
                   AND path < ?3 || '0' ORDER BY path";
        let below = self.rows(sql, params![key, flow.as_str(), path], of_path, "an artifact")?;
        Ok(below.into_iter().find(|found| !is_gone(found)))
    }

    /// Rows of places, with the number of manifests before each of them.
    fn artifact_rows(&self, key: RunKey) -> Result<Vec<(u32, ArtifactRow)>, ReadError> {
        let listed = |row: &Row<'_>| Ok((row.get::<_, u32>("after")?, decode::artifact(row)?));
        let sql = "SELECT * FROM places WHERE run = ?1 ORDER BY flow, path";
        self.rows(sql, [key], listed, "an artifact")
    }

    /// The newest version of every artifact that these records hand over, by its path in the workspace; `None` when it was
    /// deleted.
    ///
    /// # Errors
    /// As [`Reader::list`].
    pub fn newest_files<'r>(
        &self,
        records: impl IntoIterator<Item = &'r Record>,
    ) -> Result<BTreeMap<String, Option<Digest>>, ReadError> {
        let mut newest = BTreeMap::new();
        for record in records {
            let Event::AttemptSettled(settled) = &record.event else { continue };
            if !settled.late {
                let files = self.files_of(settled)?;
                newest.extend(
                    files.iter().map(|file| (file.path.clone(), file.blob.as_ref().map(|blob| blob.digest))),
                );
            }
        }
        Ok(newest)
    }

    /// The lists of artifacts of a run that are content of the store, in the order in which they were handed over.
    ///
    /// # Errors
    /// [`ReadError::Missing`] when there is no such run.
    pub fn manifests(&self, run: &RunId) -> Result<Vec<ManifestRow>, ReadError> {
        let sql = "SELECT * FROM manifests WHERE run = ?1 ORDER BY nth";
        self.rows(sql, [self.key(run)?], decode::manifest, "a manifest")
    }

    /// The files of a manifest.
    ///
    /// # Errors
    /// [`ReadError::Damaged`] when it is missing, or is none.
    pub fn list(&self, digest: &Digest) -> Result<Vec<FileChange>, ReadError> {
        let unreadable = |source: Cause| ReadError::Damaged { what: format!("manifest `{digest}`"), source };
        let bytes = self.blob(digest).map_err(|error| unreadable(Arc::new(error)))?;
        manifest::read(&bytes).map_err(|error| unreadable(Arc::new(error)))
    }

    /// The files that an attempt handed over, wherever their list is.
    ///
    /// # Errors
    /// As [`Reader::list`].
    pub fn files_of<'s>(&self, settled: &'s AttemptSettled) -> Result<Cow<'s, [FileChange]>, ReadError> {
        match &settled.manifest {
            Some(manifest) => self.list(&manifest.list.digest).map(Cow::Owned),
            None => Ok(Cow::Borrowed(&settled.files)),
        }
    }
}
