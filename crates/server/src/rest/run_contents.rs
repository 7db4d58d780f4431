//! The flow to which a run is pinned, the files that it has changed, and their content.
//!
//! Together with the events, a client has everything to rebuild a run as the server has it.

use super::{artifacts, questions, rows};
use crate::{
    http::problem::Problem,
    request::ApiRequest,
    state::{app::App, step_rows::RunLook},
};
use axum::response::Response;
use envoi_api::{flow::PinnedFlow, question::ChangedFiles};
use envoi_contract::{digest::Digest, json::Value};
use envoi_engine::{changed_files, files_of_visit};
use envoi_journal::Reader;
use envoi_kernel::{
    Event,
    event::{About, Blob},
    files::MOST_LISTED,
    ids::{RunId, Seq, VisitId},
};

/// How many events are read at a time.
const PAGE: u32 = 200;

/// `getRunFlow`.
pub(crate) fn flow(app: &App, request: &ApiRequest) -> Result<Response, Problem> {
    let run = request.run(app)?;
    let pinned = app.read(|reader| reader.pinned(&run).map_err(Problem::from))?;
    rows::answer(200, &PinnedFlow::from(pinned))
}

/// `listChangedFiles`.
pub(crate) fn changed(app: &App, request: &ApiRequest) -> Result<Response, Problem> {
    let run = request.run(app)?;
    let all = match request.query("place") {
        None => app.read(|reader| changed_files(reader, &run).map_err(Problem::from))?,
        Some(place) => app.read(|reader| {
            let visit = visit(app, reader, &run, place)?;
            files_of_visit(reader, &run, &visit).map_err(Problem::from)
        })?,
    };
    let total = u64::try_from(all.len()).unwrap_or(u64::MAX);
    let files = all.into_iter().take(MOST_LISTED).map(questions::changed_file).collect();
    rows::answer(200, &ChangedFiles { files, total })
}

/// The visit at a `place` of the run, as in `listSteps`.
fn visit(app: &App, reader: &Reader, id: &RunId, place: &str) -> Result<VisitId, Problem> {
    let RunLook { run, steps } = app.step_rows.look(reader, id)?;
    // It does not matter here whether an attempt is running.
    let all = steps.all(&run, &|_| false);
    let found = all.into_iter().find(|row| row.place == place).map(|row| row.id());
    found.ok_or_else(|| {
        Problem::bad_request(format!("`place`: the run has come to no step at `{place}`"))
            .hint("`GET /v1/runs/{run}/steps` has the `place` of each")
    })
}

/// `getRunContent`. The content was compared with its digest before.
pub(crate) fn content(app: &App, request: &ApiRequest) -> Result<Response, Problem> {
    let name = request.param("digest");
    let none = || Problem::not_found("content", name);
    let run = request.run(app)?;
    let digest = Digest::parse(name).ok_or_else(none)?;
    let (known, inline) = app.read(|reader| {
        let known = has_content(reader, &run, &digest)?;
        let inline = if known { reader.inline_content(&digest)? } else { None };
        Ok::<_, Problem>((known, inline))
    })?;
    let stored = known && (inline.is_some() || app.layout().blob(&digest).is_file());
    // For content from before the run, or too large to be kept, only the digest is stored.
    if stored { artifacts::give(app, request, digest, inline) } else { Err(none()) }
}

/// Whether an event refers to a file of the run with this content. A digest in the text of a step does not
/// count: a step could name another tenant's content.
fn has_content(reader: &Reader, run: &RunId, digest: &Digest) -> Result<bool, Problem> {
    let mut next: Seq = 0;
    loop {
        let records = reader.records(run, next, Some(PAGE))?;
        let Some(last) = records.last() else { return Ok(false) };
        next = last.seq.saturating_add(1);
        for record in &records {
            if names(reader, &record.event, digest)? {
                return Ok(true);
            }
        }
    }
}

fn names(reader: &Reader, event: &Event, digest: &Digest) -> Result<bool, Problem> {
    let is = |blob: &Option<Blob>| blob.as_ref().is_some_and(|blob| blob.digest == *digest);
    match event {
        Event::AttemptSettled(settled) => {
            let list = settled.manifest.as_ref().is_some_and(|manifest| manifest.list.digest == *digest);
            Ok(list || reader.files_of(settled)?.iter().any(|file| is(&file.before) || is(&file.blob)))
        }
        Event::InterruptRaised(raised) => {
            let is_found = raised.found.iter().any(|file| file.digest == Some(*digest));
            Ok(is_found || raised.about == About::Conflict && in_conflict(&raised.evidence, digest))
        }
        _ => Ok(false),
    }
}

/// Whether one of the three versions of a file in conflict has this content. The engine wrote this evidence
/// when it merged.
fn in_conflict(evidence: &Value, digest: &Digest) -> bool {
    let items = evidence.get("conflicts").and_then(Value::as_array).unwrap_or_default();
    let mut files = items.iter().filter_map(|item| item.get("files").and_then(Value::as_array)).flatten();
    files.any(|file| {
        let version = |name: &str| Value::get(file, name).and_then(Value::as_str).and_then(Digest::parse);
        ["base", "ours", "theirs"].into_iter().any(|name| version(name) == Some(*digest))
    })
}
