//! `diff`, `apply --patch`, `artifacts` and `export` at a server.
//!
//! The server makes differences, patch and bundle from what the run has kept. Artifacts are read from the
//! copied events, as locally. Received data is verified: contents by their digests, a bundle as `envoi
//! verify` does.

use super::{
    Remote,
    call::{read, segment},
    problem::not_understood,
};
use crate::{
    command::{
        artifacts::{self, Source},
        diff, export, patch,
    },
    process::{
        args::{ArtifactsCommand, DiffArgs, ExportArgs},
        failure::Failure,
        messages,
    },
    text,
};
use envoi_api::file::{ComparedFile, Differences};
use envoi_changes::{
    lines::printable,
    versions::{self, Version},
};
use envoi_contract::digest::Digest;
use envoi_journal::RunStatus;
use envoi_kernel::{Event, ids::RunId};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use std::path::Path;

/// `envoi diff`, page by page.
pub(crate) fn diff(remote: &Remote, args: &DiffArgs) -> Result<u8, Failure> {
    let run = args.run.as_deref();
    let id = remote
        .run_or_newest(run)
        .map_err(|failure| diff::run_comes_first(failure, run, args.range.as_deref()))?;
    let is_rows = remote.json || args.stat;
    let mut query = vec![("limit", "200"), if is_rows { ("authors", "true") } else { ("lines", "true") }];
    query.extend(args.range.as_deref().map(|states| ("states", states)));
    query.extend(args.path.as_deref().map(|path| ("path", path)));
    // Only one page needs to include this information.
    let mut asks_outside = true;
    let mut files: Vec<ComparedFile> = Vec::new();
    let mut cursor: Option<String> = None;
    let server = remote.server.for_files();
    loop {
        let mut page = query.clone();
        if core::mem::take(&mut asks_outside) {
            page.push(("outside", "true"));
        }
        page.extend(cursor.as_deref().map(|cursor| ("cursor", cursor)));
        let body = server.get(&format!("/v1/runs/{}/diff?{}", segment(id.as_str()), encoded(&page)))?;
        let found: Differences = read(&body)?;
        files.extend(found.files);
        found
            .outside
            .into_iter()
            .for_each(|outside| messages::say(&format!("note: {}", printable(&outside))));
        match found.next {
            Some(next) if cursor.as_deref() != Some(next.as_str()) => cursor = Some(next),
            Some(_) => return Err(not_understood("its pages do not end")),
            None => break,
        }
    }
    if is_rows {
        let rows: Vec<_> = files.into_iter().map(|file| file.row).collect();
        return diff::print_rows(&rows, remote.json);
    }
    let all: String = files.into_iter().filter_map(|file| file.lines).collect();
    diff::print(&text::diff::lines(&all))
}

fn encoded(query: &[(&str, &str)]) -> String {
    let pair =
        |(name, value): &(&str, &str)| format!("{name}={}", utf8_percent_encode(value, NON_ALPHANUMERIC));
    query.iter().map(pair).collect::<Vec<_>>().join("&")
}

/// `envoi apply --patch`.
pub(crate) fn patch(remote: &Remote, run: Option<&str>, file: &Path) -> Result<u8, Failure> {
    let id = remote.run_or_newest(run)?;
    let bytes = remote.server.for_files().get(&format!("/v1/runs/{}/patch", segment(id.as_str())))?;
    if !matches!(remote.row(&id)?.status(), RunStatus::Ended(_)) {
        messages::say(patch::NOT_OVER);
    }
    patch::write(remote.json, file, &bytes)
}

/// `envoi artifacts`.
pub(crate) fn artifacts(remote: &Remote, command: &ArtifactsCommand) -> Result<u8, Failure> {
    artifacts::show(&AtServer(remote), command, remote.json)
}

struct AtServer<'r>(&'r Remote);

impl Source for AtServer<'_> {
    fn versions(&self, run: Option<&str>) -> Result<(RunId, Vec<Version>), Failure> {
        let run = self.0.run_or_newest(run)?;
        let reader = self.0.pull(&run)?;
        // A long list of artifacts is a separate content.
        for record in reader.records(&run, 0, None).map_err(Failure::store)? {
            let Event::AttemptSettled(settled) = &record.event else { continue };
            if let Some(manifest) = &settled.manifest {
                self.0.bring(&run, &manifest.list.digest)?;
            }
        }
        let all = versions::versions(&reader, &run)?;
        Ok((run, all))
    }

    fn read(&self, run: &RunId, digest: &Digest) -> Result<Vec<u8>, Failure> {
        let path = format!("/v1/runs/{}/contents/{digest}", segment(run.as_str()));
        let bytes = self.0.server.get(&path)?;
        match Digest::of(&bytes) == *digest {
            true => Ok(bytes),
            false => Err(not_understood("a content of it has another digest")),
        }
    }
}

/// `envoi export`. The bundle is verified before it gets its name.
pub(crate) fn export(remote: &Remote, args: &ExportArgs) -> Result<u8, Failure> {
    let id = remote.run_or_newest(args.run.as_deref())?;
    let query = if args.without_files { "?without_files=true" } else { "" };
    let path = format!("/v1/runs/{}/bundle{query}", segment(id.as_str()));
    export::fetched(&id, args, remote.json, |target| remote.server.for_files().copy(&path, target))
}
