//! Content by its digest: uploaded in pieces, downloaded completely or in part.

use crate::{
    http::{
        body::piece,
        byte_range::{self, Source},
        problem::Problem,
        response,
        work::{blocking, timed_out},
    },
    request::ApiRequest,
    state::{app::App, attachments},
};
use axum::{
    body::Body,
    http::{HeaderValue, header},
    response::Response,
};
use envoi_contract::digest::Digest;
use envoi_journal::{Incoming, Upload};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

/// Maximum length of a media type.
const MAX_MIME: usize = 127;

/// The least average rate of an upload, in bytes per second. A slower client would occupy a slot for too
/// long.
const LEAST_RATE: u64 = 1024;

/// `uploadArtifact`: the content is hashed while it is written to the store, and never kept in memory.
pub(crate) async fn upload(
    app: &Arc<App>,
    request: ApiRequest,
    body: &mut Body,
) -> Result<Response, Problem> {
    let limit = app.settings.limits.artifact_bytes;
    let longest = app.settings.limits.request;
    let _incoming = app.incoming_body(&request.bearer)?;
    let blobs = app.store.blobs();
    let mut waited = Duration::ZERO;
    let mut incoming: Incoming = blocking(move || Ok(blobs.receive()?)).await?;
    loop {
        let since = Instant::now();
        let patience = patience(longest, incoming.size_bytes(), waited);
        let came = tokio::time::timeout(patience, piece(body)).await.map_err(|_| too_slow(longest))?;
        let Some(piece) = came? else { break };
        waited = waited.saturating_add(since.elapsed());
        let size = incoming.size_bytes().saturating_add(u64::try_from(piece.len()).unwrap_or(u64::MAX));
        if size > limit {
            return Err(Problem::too_large(limit));
        }
        incoming = blocking(move || {
            incoming.write(&piece)?;
            Ok(incoming)
        })
        .await?;
    }
    let app = Arc::clone(app);
    blocking(move || kept(&app, &request, incoming)).await
}

fn too_slow(longest: Duration) -> Problem {
    let pause_s = longest.as_secs();
    timed_out(format!(
        "content comes with {LEAST_RATE} bytes a second on the whole, and may pause for {pause_s} s"
    ))
}

/// How long to wait for the next piece, after this many bytes and this much waiting.
fn patience(longest: Duration, bytes: u64, waited: Duration) -> Duration {
    let earned = Duration::from_secs(bytes / LEAST_RATE);
    longest.saturating_add(earned).saturating_sub(waited).min(longest)
}

fn kept(app: &App, request: &ApiRequest, incoming: Incoming) -> Result<Response, Problem> {
    let _held = app.desk.hold_contents();
    let (digest, size_bytes) = incoming.finish()?;
    let mime =
        request.header(&header::CONTENT_TYPE).filter(|mime| !mime.is_empty() && mime.len() <= MAX_MIME);
    let upload = Upload {
        digest,
        size_bytes,
        mime: mime.unwrap_or(attachments::UNKNOWN).to_owned(),
        uploaded_at: app.now(),
        uploaded_by: request.bearer.name.clone(),
    };
    let new = app.store.keep_upload(&request.bearer.tenant, &upload)?;
    let reference = attachments::reference(&upload);
    Ok(response::json(if new { 201 } else { 200 }, reference.to_value().compact()))
}

/// `getArtifact`. The content was compared with its digest before; see [`crate::state::digest_cache`].
pub(crate) fn get(app: &App, request: &ApiRequest) -> Result<Response, Problem> {
    let name = request.param("digest");
    let none = || Problem::not_found("content", name);
    let digest = Digest::parse(name).ok_or_else(none)?;
    let tenant = &request.bearer.tenant;
    let (known, inline) = app.read(|reader| {
        let known = reader.is_content_of(tenant, &digest)?;
        let inline = if known { reader.inline_content(&digest)? } else { None };
        Ok::<_, Problem>((known, inline))
    })?;
    if !known {
        return Err(none());
    }
    give(app, request, digest, inline)
}

/// The response with content that the caller may read. `inline` is the copy in the database.
pub(crate) fn give(
    app: &App,
    request: &ApiRequest,
    digest: Digest,
    inline: Option<Vec<u8>>,
) -> Result<Response, Problem> {
    let tag = HeaderValue::from_str(&format!("\"{digest}\"")).map_err(Problem::internal)?;
    let seen = request.header(&header::IF_NONE_MATCH).unwrap_or_default();
    if seen.split(',').any(|seen| seen.trim() == tag || seen.trim() == "*") {
        let mut response = response::empty(304);
        response.headers_mut().insert(header::ETAG, tag);
        return Ok(response);
    }
    let (source, size) = match inline {
        Some(bytes) => (Source::Bytes(bytes.into()), None),
        None => {
            let blobs = app.store.blobs();
            let file = blobs.open(&digest)?;
            app.checked_digests.check_once(digest.as_bytes(), &file, |file| {
                Ok::<_, Problem>(blobs.verify(&digest, file)?)
            })?;
            let size = file.metadata().map_err(Problem::internal)?.len();
            (Source::File(Arc::new(file)), Some(size))
        }
    };
    let size = size.unwrap_or_else(|| match &source {
        Source::Bytes(bytes) => u64::try_from(bytes.len()).unwrap_or(u64::MAX),
        Source::File(_) => 0,
    });
    let mut response = byte_range::serve(request.header(&header::RANGE), source, size)?;
    response.headers_mut().insert(header::ETAG, tag);
    Ok(response)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_may_pause_as_long_as_a_request_and_has_to_come_on_the_whole() {
        let secs = Duration::from_secs;
        for (bytes, waited, patience_s) in [
            (0, 0, 30),
            (0, 10, 20),
            (30, 30, 0),
            (20 * LEAST_RATE, 40, 10),
            (20 * LEAST_RATE, 50, 0),
            (3_600 * LEAST_RATE, 5, 30),
        ] {
            assert_eq!(patience(secs(30), bytes, secs(waited)), secs(patience_s), "{bytes} in {waited} s");
        }
    }
}
