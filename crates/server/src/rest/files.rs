//! The changes of a run: differences between two states of its files, the patch, the versions of its
//! artifacts, and the run as one file.
//!
//! Only stored data of the run is shown, never the current folder: a token gives access to a tenant's data,
//! not to the machine. Patches and bundles are made in turns, because each reads many files.

use super::rows;
use crate::{
    http::{
        byte_range::{self, Source},
        problem::Problem,
    },
    request::ApiRequest,
    state::app::App,
};
use axum::response::Response;
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use envoi_api::file::{Artifacts, ComparedFile, Differences};
use envoi_bundle::{ExportError, Wanted, export};
use envoi_changes::{
    ChangesError, Comparison, Fits, Patch,
    lines::printable,
    states,
    versions::{self, Version},
};
use envoi_contract::{code::Code, digest::Digest};
use envoi_engine::{changed_outside, snapshots};
use envoi_kernel::{Event, Record};
use envoi_tree::{Bounds, Difference, Order, Stop};
use std::{
    collections::BTreeMap,
    io::{Seek as _, Write as _},
    sync::Arc,
};

/// A page ends after the file with which this many bytes of contents were read.
const MOST_READ: u64 = 16 << 20;

/// The most bytes that are written to disk to make a patch.
const MOST_COMPARED: u64 = 256 << 20;

const NO_CURSOR: &str = "`cursor` is not the `next` of a page";

/// `listDifferences`.
pub(crate) fn differences(app: &App, request: &ApiRequest) -> Result<Response, Problem> {
    let limit = request.limit()?;
    let wants_lines = request.truth("lines")?;
    let wants_authors = request.truth("authors")?;
    let wants_outside = request.truth("outside")?;
    let run = request.run(app)?;
    let records = app.read(|reader| states::records(reader, &run))?;
    let taken = snapshots::taken(&records);
    let shelf = snapshots::contents(app.layout()).shelf()?;
    let compared = Comparison::of(shelf, &taken, request.query("states"), None)?;
    let found = compared.differences(request.query("path"));
    // A cursor is valid only for the states and the path for which it was made: `end` is another state after
    // the next step.
    let list = format!("{} {}", compared.id(), request.query("path").unwrap_or_default());
    let of = Digest::of(list.as_bytes()).hex().get(..16).unwrap_or_default().to_owned();
    let from = cursor(request, &of)?;
    let by = if wants_authors { compared.authors()? } else { BTreeMap::new() };
    let mut files = Vec::new();
    let mut read = 0;
    let mut end = from;
    for difference in found.iter().skip(from).take(usize::try_from(limit).unwrap_or(usize::MAX)) {
        let row = compared.row(difference, &by)?;
        let lines = wants_lines.then(|| compared.text(difference)).transpose()?;
        files.push(ComparedFile { row, lines });
        end = end.saturating_add(1);
        read = size(difference).saturating_add(read);
        if read >= MOST_READ {
            break;
        }
    }
    let total = u64::try_from(found.len()).unwrap_or(u64::MAX);
    let outside = if wants_outside { outside(&records, &request.stop) } else { None };
    rows::answer(200, &Differences { files, total, next: next(end, found.len(), &of), outside })
}

/// The files that are in no state, or why they are not known. Only their names are shown.
fn outside(records: &[Record], stop: &Stop) -> Option<String> {
    let Event::RunStarted(started) = &records.first()?.event else { return None };
    match changed_outside(started, stop) {
        Ok(found) => found?.sentence(|path| printable(&String::from_utf8_lossy(path))),
        Err(unknown) => Some(printable(&unknown.to_string())),
    }
}

/// The number of bytes that are read to compare a file.
fn size(difference: &Difference<'_>) -> u64 {
    let sides = [difference.before, difference.after].into_iter().flatten();
    sides.filter_map(|entry| entry.content()).fold(0, |sum, (_, size)| size.saturating_add(sum))
}

/// The start of a page, if the cursor was made for the list `of`.
fn cursor(request: &ApiRequest, of: &str) -> Result<usize, Problem> {
    let Some(text) = request.query("cursor") else { return Ok(0) };
    let Some((place, list)) = text.split_once('.') else {
        return Err(Problem::bad_request(NO_CURSOR));
    };
    if list != of {
        return Err(Problem::bad_request(
            "the cursor is of another list, or the run has gone on since the page before; begin with the first page",
        ));
    }
    place.parse().map_err(|_| Problem::bad_request(NO_CURSOR))
}

fn next(end: usize, total: usize, of: &str) -> Option<String> {
    (end < total).then(|| format!("{end}.{of}"))
}

/// `getPatch`.
pub(crate) fn patch(app: &App, request: &ApiRequest) -> Result<Response, Problem> {
    let run = request.run(app)?;
    let records = app.read(|reader| states::records(reader, &run))?;
    let Some(Event::RunStarted(started)) = records.first().map(|record| &record.event) else {
        return Err(ChangesError::NoSnapshot.into());
    };
    let scope = snapshots::scope(Some(started));
    let order = snapshots::order(app.layout(), Vec::new(), Bounds::default(), scope);
    let order = Order { stop: request.stop.clone(), ..order };
    let within = app.layout().temporary();
    let made = Patch::of(&records, started, &order, &within, Fits::Checkout, MOST_COMPARED)?;
    let text = made.text();
    let size = u64::try_from(text.len()).unwrap_or(u64::MAX);
    // Sent from a file, because a slow client would keep it in memory.
    let mut file = tempfile::tempfile_in(app.layout().temporary())?;
    file.write_all(&text)?;
    byte_range::whole(Source::File(Arc::new(file)), size)
}

/// `listArtifacts`.
pub(crate) fn artifacts(app: &App, request: &ApiRequest) -> Result<Response, Problem> {
    let limit = request.limit()?;
    let all = request.truth("all")?;
    let run = request.run(app)?;
    let listed = versions::listed(app.read(|reader| versions::versions(reader, &run))?, all);
    let of = if all { "all" } else { "newest" };
    let from = match request.query("cursor") {
        Some(cursor) => ArtifactCursor::parse(cursor, of)?.place(&listed),
        None => 0,
    };
    let page: Vec<_> = listed.iter().skip(from).take(usize::try_from(limit).unwrap_or(usize::MAX)).collect();
    let end = from.saturating_add(page.len());
    let total = u64::try_from(listed.len()).unwrap_or(u64::MAX);
    let next = (end < listed.len()).then(|| ArtifactCursor::after(&listed, end)).flatten();
    let artifacts = page.into_iter().map(Version::row).collect();
    rows::answer(200, &Artifacts { artifacts, total, next: next.map(|cursor| cursor.text(of)) })
}

/// The version after which a page begins. The run may continue between two pages, and then a row number would
/// be another position.
#[derive(Debug, PartialEq, Eq)]
struct ArtifactCursor {
    /// How many versions of the path were on the previous pages.
    count: usize,
    path: String,
}

impl ArtifactCursor {
    /// The cursor after the first `end` rows.
    fn after(listed: &[Version], end: usize) -> Option<Self> {
        let before = listed.get(..end)?;
        let path = &before.last()?.path;
        let count = before.iter().rev().take_while(|version| version.path == *path).count();
        Some(Self { count, path: path.clone() })
    }

    fn place(&self, listed: &[Version]) -> usize {
        let first = listed.partition_point(|version| version.path < self.path);
        let versions = listed.iter().skip(first).take_while(|version| version.path == self.path).count();
        first.saturating_add(versions.min(self.count))
    }

    fn text(&self, of: &str) -> String {
        format!("{}.{of}.{}", self.count, URL_SAFE_NO_PAD.encode(&self.path))
    }

    fn parse(text: &str, of: &str) -> Result<Self, Problem> {
        let read = || {
            let mut parts = text.splitn(3, '.');
            let count = parts.next()?.parse().ok()?;
            let list = parts.next()?;
            let path = String::from_utf8(URL_SAFE_NO_PAD.decode(parts.next()?).ok()?).ok()?;
            Some((list, Self { count, path }))
        };
        let (list, cursor) = read().ok_or_else(|| Problem::bad_request(NO_CURSOR))?;
        match list == of {
            true => Ok(cursor),
            false => Err(Problem::bad_request("the cursor is of another list; begin with the first page")),
        }
    }
}

/// `exportRun`. The bundle is made in a file without a name, and sent in pieces.
pub(crate) fn bundle(app: &App, request: &ApiRequest) -> Result<Response, Problem> {
    let without_files = request.truth("without_files")?;
    let run = request.run(app)?;
    let wanted = Wanted { made_by: env!("CARGO_PKG_VERSION"), sign: None, without_files };
    let target = tempfile::tempfile_in(app.layout().temporary())?;
    let (_, mut file) =
        app.read(|reader| export(app.layout(), reader, &run, wanted, target).map_err(not_exported))?;
    let size = file.seek(std::io::SeekFrom::End(0))?;
    byte_range::whole(Source::File(Arc::new(file)), size)
}

fn not_exported(error: ExportError) -> Problem {
    match error {
        ExportError::Run(reason) => Problem::new(Code::RunUnreadable, reason),
        ExportError::Store(error) => Problem::internal(error),
        ExportError::Io(error) => Problem::internal(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use envoi_kernel::ids::AttemptId;

    fn listed(names: &[&str]) -> Vec<Version> {
        let version = |name: &&str| {
            let (path, visit) = name.split_once('@').unwrap();
            let visit = AttemptId::parse(&format!("{visit}.1")).unwrap().visit;
            Version { path: path.to_owned(), visit, blob: None, before: None }
        };
        names.iter().map(version).collect()
    }

    #[test]
    fn a_page_of_artifacts_begins_after_the_one_before_also_if_the_run_has_gone_on() {
        let before = listed(&["b@s.1", "b@s.2", "d@s.1", "e@s.1"]);
        // The run has handed over `a`, a further version of `b` and of `d`, and `c`.
        let after = listed(&["a@s.3", "b@s.1", "b@s.2", "b@s.3", "c@s.3", "d@s.1", "d@s.3", "e@s.1"]);
        for (end, next) in [(1, "b@s.2"), (2, "b@s.3"), (3, "d@s.3")] {
            let cursor = ArtifactCursor::after(&before, end).unwrap();
            let read = ArtifactCursor::parse(&cursor.text("all"), "all").unwrap();
            assert_eq!(read, cursor);
            assert_eq!(read.place(&before), end, "the same list");
            assert_eq!(after[read.place(&after)], listed(&[next])[0], "after {end}");
            assert!(ArtifactCursor::parse(&cursor.text("all"), "newest").is_err());
        }
        for wrong in ["", "x", "1.all", "1.all.*", "-1.all.Yg", "1"] {
            assert!(ArtifactCursor::parse(wrong, "all").is_err(), "{wrong}");
        }
    }
}
