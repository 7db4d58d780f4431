//! What a run has changed: differences between two states of its files, the patch, the versions of its artifacts, and the run as one file.
//!
//! Only what the run has kept is shown, never the folder as it is: a token for a tenant is not one for the machine. A patch and a bundle are
//! made in turns, because each reads many files.

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
use envoi_api::file::{Artifacts, ComparedFile, Differences};
use envoi_bundle::{ExportError, Wanted, export};
use envoi_changes::{ChangesError, Comparison, Fits, Patch, states, versions};
use envoi_contract::{code::Code, digest::Digest};
use envoi_engine::snapshots;
use envoi_kernel::Event;
use envoi_tree::{Difference, Order};
use std::{
    collections::BTreeMap,
    io::{Seek as _, Write as _},
    sync::Arc,
};

/// A page ends after the file with which so many bytes of contents were read.
const MOST_READ: u64 = 16 << 20;

/// The most bytes that are laid down to make a patch.
const MOST_COMPARED: u64 = 256 << 20;

/// `listDifferences`.
pub(crate) fn differences(app: &App, request: &ApiRequest) -> Result<Response, Problem> {
    let limit = request.limit()?;
    let wants_lines = request.truth("lines")?;
    let wants_authors = request.truth("authors")?;
    let run = request.run(app)?;
    let records = app.read(|reader| states::records(reader, &run))?;
    let taken = snapshots::taken(&records);
    let shelf = snapshots::contents(app.layout()).shelf()?;
    let compared = Comparison::of(shelf, &taken, request.query("states"), None)?;
    let found = compared.differences(request.query("path"));
    // A cursor is good for the states and the path that it was given for: `end` is another one after the next step.
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
    rows::answer(200, &Differences { files, total, next: next(end, found.len(), &of) })
}

/// The bytes that are read to compare a file.
fn size(difference: &Difference<'_>) -> u64 {
    let sides = [difference.before, difference.after].into_iter().flatten();
    sides.filter_map(|entry| entry.content()).fold(0, |sum, (_, size)| size.saturating_add(sum))
}

/// Where a page begins, if the cursor was given for the list `of`.
fn cursor(request: &ApiRequest, of: &str) -> Result<usize, Problem> {
    let Some(text) = request.query("cursor") else { return Ok(0) };
    let Some((place, list)) = text.split_once('.') else {
        return Err(Problem::bad_request("`cursor` is not the `next` of a page"));
    };
    if list != of {
        return Err(Problem::bad_request(
            "the cursor is of another list, or the run has gone on since the page before; begin with the first page",
        ));
    }
    place.parse().map_err(|_| Problem::bad_request("`cursor` is not the `next` of a page"))
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
    let order = Order { stop: request.stop.clone(), ..snapshots::order(app.layout(), Vec::new()) };
    let within = app.layout().temporary();
    let made = Patch::of(&records, started, &order, &within, Fits::Checkout, MOST_COMPARED)?;
    let size = u64::try_from(made.bytes.len()).unwrap_or(u64::MAX);
    // A slow client would keep it in memory.
    let mut file = tempfile::tempfile_in(app.layout().temporary())?;
    file.write_all(&made.bytes)?;
    byte_range::whole(Source::File(Arc::new(file)), size)
}

/// `listArtifacts`.
pub(crate) fn artifacts(app: &App, request: &ApiRequest) -> Result<Response, Problem> {
    let limit = request.limit()?;
    let all = request.truth("all")?;
    let run = request.run(app)?;
    let listed = versions::listed(app.read(|reader| versions::versions(reader, &run))?, all);
    let of = if all { "all" } else { "newest" };
    let from = cursor(request, of)?;
    let page: Vec<_> = listed.iter().skip(from).take(usize::try_from(limit).unwrap_or(usize::MAX)).collect();
    let end = from.saturating_add(page.len());
    let total = u64::try_from(listed.len()).unwrap_or(u64::MAX);
    let artifacts = page.into_iter().map(versions::Version::row).collect();
    rows::answer(200, &Artifacts { artifacts, total, next: next(end, listed.len(), of) })
}

/// `exportRun`. The bundle is made in a file that has no name, and sent piece by piece.
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
