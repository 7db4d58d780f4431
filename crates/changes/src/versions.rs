//! The versions of a run's artifacts: the files that its steps have handed over.

use crate::{error::ChangesError, location::Location};
use envoi_api::file::ArtifactVersion;
use envoi_contract::digest::Digest;
use envoi_journal::Reader;
use envoi_kernel::{
    event::{Blob, Event, FileChange},
    ids::{RunId, Seq, VisitId},
};
use std::collections::{HashMap, HashSet};

/// How many events are read at a time.
const PAGE: u32 = 500;

/// A version of an artifact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    /// Path relative to the workspace.
    pub path: String,
    /// The visit that handed it over.
    pub visit: VisitId,
    /// The content. `None`: the file was deleted.
    pub blob: Option<Blob>,
    /// The content before, if it was kept.
    pub before: Option<Blob>,
}

impl Version {
    /// The row for people and programs.
    #[must_use]
    pub fn row(&self) -> ArtifactVersion {
        ArtifactVersion {
            path: self.path.clone(),
            visit: self.visit.to_string(),
            digest: self.blob.as_ref().map(|blob| blob.digest.to_string()),
            size_bytes: self.blob.as_ref().map(|blob| blob.size),
        }
    }
}

/// Every version, in the order of the hand-over. A file that a step handed over unchanged is not a new
/// version.
///
/// # Errors
/// The store cannot be read.
pub fn versions(reader: &Reader, run: &RunId) -> Result<Vec<Version>, ChangesError> {
    let mut all: Vec<Version> = Vec::new();
    let mut last: HashMap<String, Option<Digest>> = HashMap::new();
    let mut next: Seq = 0;
    loop {
        let page = reader.records(run, next, Some(PAGE))?;
        let Some(end) = page.last() else { return Ok(all) };
        next = end.seq.saturating_add(1);
        for record in &page {
            let Event::AttemptSettled(settled) = &record.event else { continue };
            if settled.late {
                continue;
            }
            for FileChange { path, blob, before, .. } in reader.files_of(settled)?.iter() {
                let digest = blob.as_ref().map(|blob| blob.digest);
                if last.insert(path.clone(), digest) != Some(digest) {
                    let path = path.clone();
                    let blob = blob.clone();
                    let before = before.clone();
                    all.push(Version { path, visit: settled.attempt.visit.clone(), blob, before });
                }
            }
        }
    }
}

/// The versions sorted by path, and for each path in the order of the hand-over; without `all`, only the
/// newest of each path.
#[must_use]
pub fn listed(versions: Vec<Version>, all: bool) -> Vec<Version> {
    let mut wanted = versions;
    if !all {
        let mut seen = HashSet::new();
        wanted = wanted.into_iter().rev().filter(|version| seen.insert(version.path.clone())).collect();
        wanted.reverse();
    }
    wanted.sort_by(|one, other| one.path.cmp(&other.path));
    wanted
}

/// Splits `PATH` or `PATH@STEP.N` into the path and the visit. A path may itself contain an `@`.
#[must_use]
pub fn split<'n>(all: &[Version], name: &'n str) -> (&'n str, Option<&'n str>) {
    let is_path = |path: &str| all.iter().any(|version| version.path == path);
    match name.rsplit_once('@') {
        Some((path, at)) if !is_path(name) => (path, Some(at)),
        _ => (name, None),
    }
}

/// The newest version of a path, or the one of a visit.
///
/// # Errors
/// [`ChangesError::NoArtifact`]
pub fn version(all: &[Version], path: &str, at: Option<&str>) -> Result<Version, ChangesError> {
    let of_path = || all.iter().filter(|version| version.path == path);
    let found = match at {
        None => of_path().next_back(),
        Some(at) => {
            let place = Location::new(at);
            of_path().rfind(|version| place.has_visit(&version.visit))
        }
    };
    found.cloned().ok_or_else(|| ChangesError::NoArtifact {
        path: path.to_owned(),
        at: at.map(str::to_owned),
        visits: of_path().map(|version| version.visit.to_string()).collect(),
    })
}

/// The content of a version.
///
/// # Errors
/// [`ChangesError::Deleted`]
pub fn blob(version: &Version) -> Result<&Blob, ChangesError> {
    version
        .blob
        .as_ref()
        .ok_or_else(|| ChangesError::Deleted { path: version.path.clone(), visit: version.visit.to_string() })
}

/// Two contents to compare: those of `A..B`; without a range, the one before the run and the newest. `None`:
/// there is no content.
///
/// # Errors
/// [`ChangesError::NoArtifact`]
pub fn pair(
    all: &[Version],
    path: &str,
    range: Option<&str>,
) -> Result<(Option<Blob>, Option<Blob>), ChangesError> {
    match range.map(|range| range.split_once("..").unwrap_or(("", range))) {
        None | Some(("", "")) => Ok((first(all, path)?, version(all, path, None)?.blob)),
        Some((from, to)) => {
            let named = |at: &str| version(all, path, (!at.is_empty()).then_some(at));
            let before = if from.is_empty() { first(all, path)? } else { named(from)?.blob };
            Ok((before, named(to)?.blob))
        }
    }
}

/// The content before the run, if it was kept.
fn first(all: &[Version], path: &str) -> Result<Option<Blob>, ChangesError> {
    // A path without any version is an error.
    version(all, path, None)?;
    Ok(all.iter().find(|version| version.path == path).and_then(|version| version.before.clone()))
}
