//! The output of attempts.

use super::rows;
use crate::{
    http::{
        byte_range::{self, Source},
        problem::Problem,
    },
    request::ApiRequest,
    state::app::App,
};
use axum::{http::header, response::Response};
use envoi_api::log::{Log, Logs};
use envoi_engine::plain;
use envoi_kernel::ids::AttemptId;
use std::{
    fs::{self, Metadata},
    io,
    sync::Arc,
};

const STREAMS: [&str; 2] = ["stdout", "stderr"];

/// `listLogs`.
pub(crate) fn list(app: &App, request: &ApiRequest) -> Result<Response, Problem> {
    let from = request.after()?;
    let limit = request.limit()?;
    let run = request.run(app)?;
    app.desk.has_output()?;
    let attempts = app.read(|reader| reader.attempts_started(&run, from, limit).map_err(Problem::from))?;
    let full = u32::try_from(attempts.len()).is_ok_and(|found| found == limit);
    let next = attempts.last().filter(|_| full).map(|(seq, _)| *seq);
    let logs = attempts
        .into_iter()
        .map(|(seq, attempt)| {
            let folder = app.layout().attempt(&run, &attempt);
            let size = |stream: &str| {
                let found = fs::symlink_metadata(folder.join(stream));
                found.ok().filter(Metadata::is_file).map_or(0, |file| file.len())
            };
            let [out, err] = STREAMS.map(size);
            Log { attempt: attempt.to_string(), seq, stdout_bytes: out, stderr_bytes: err }
        })
        .collect();
    rows::answer(200, &Logs { logs, next })
}

/// `getLog`.
pub(crate) fn get(app: &App, request: &ApiRequest) -> Result<Response, Problem> {
    let run = request.run(app)?;
    app.desk.has_output()?;
    let name = request.param("attempt");
    let stream = request.param("stream");
    let none = || Problem::not_found("log", &format!("{name}/{stream}"));
    // Only the canonical spelling is accepted, so that no other path can be formed.
    let attempt = AttemptId::parse(name).ok().filter(|attempt| attempt.to_string() == name);
    let attempt = attempt.filter(|_| STREAMS.contains(&stream)).ok_or_else(none)?;
    if !app.read(|reader| reader.has_started(&run, &attempt).map_err(Problem::from))? {
        return Err(none());
    }
    // The command may have replaced the file by something else.
    match plain::open_if_there(&app.layout().attempt(&run, &attempt).join(stream)) {
        Ok(Some(file)) => {
            let size = file.metadata().map_err(Problem::internal)?.len();
            byte_range::serve(request.header(&header::RANGE), Source::File(Arc::new(file)), size)
        }
        // The attempt has not written anything yet.
        Ok(None) => byte_range::serve(request.header(&header::RANGE), Source::Bytes(bytes::Bytes::new()), 0),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => Err(none()),
        Err(error) => Err(Problem::internal(error)),
    }
}
