//! The flow that a run is pinned to, the files that it has changed, and their content.
//!
//! With the events, a client has all that it needs to rebuild a run as the server has it.

use super::{artifacts, questions, rows};
use crate::{http::problem::Problem, request::ApiRequest, state::app::App};
use axum::response::Response;
use envoi_api::{flow::PinnedFlow, question::ChangedFiles};
use envoi_contract::digest::Digest;
use envoi_engine::changed_files;
use envoi_journal::Reader;
use envoi_kernel::{
    Event,
    event::Blob,
    files::MOST_LISTED,
    ids::{RunId, Seq},
};

/// Events that are looked at at a time.
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
    let all = app.read(|reader| changed_files(reader, &run).map_err(Problem::from))?;
    let total = u64::try_from(all.len()).unwrap_or(u64::MAX);
    let files = all.into_iter().take(MOST_LISTED).map(questions::changed_file).collect();
    rows::answer(200, &ChangedFiles { files, total })
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
    // Content from before the run, or too large to be kept, is known by its digest only.
    if stored { artifacts::give(app, request, digest, inline) } else { Err(none()) }
}

/// Whether an event names a file of the run with this content. A digest in the text of a step does not count: a step
/// could name another tenant's content.
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
        Event::InterruptRaised(raised) => Ok(raised.found.iter().any(|file| file.digest == Some(*digest))),
        _ => Ok(false),
    }
}
