//! What attempts have written.

use crate::{
    app::App,
    call::Call,
    content::{self, Source},
    problem::Problem,
    reply,
};
use axum::response::Response;
use envoi_kernel::{
    Event,
    ids::{AttemptId, RunId},
};
use serde_json::json;
use std::{
    fs::{self, File},
    io,
    sync::Arc,
};

const STREAMS: [&str; 2] = ["stdout", "stderr"];

/// The attempts of a run, in the order in which they were started.
fn attempts(app: &App, run: &RunId) -> Result<Vec<AttemptId>, Problem> {
    let records = app.read(|reader| reader.records(run, 0, None).map_err(Problem::from))?;
    let started = records.into_iter().filter_map(|record| match record.event {
        Event::AttemptStarted(started) => Some(started.attempt),
        _ => None,
    });
    Ok(started.collect())
}

/// `listLogs`.
pub(crate) fn list(app: &App, call: &Call) -> Result<Response, Problem> {
    let run = call.run(app)?;
    let rows: Vec<_> = attempts(app, &run)?
        .into_iter()
        .map(|attempt| {
            let folder = app.layout().attempt(&run, &attempt);
            let size = |stream: &str| fs::metadata(folder.join(stream)).map_or(0, |file| file.len());
            let [out, err] = STREAMS.map(size);
            json!({"attempt": attempt.to_string(), "stdout_bytes": out, "stderr_bytes": err})
        })
        .collect();
    Ok(reply::json(200, json!({"logs": rows}).to_string()))
}

/// `getLog`.
pub(crate) fn get(app: &App, call: &Call) -> Result<Response, Problem> {
    let run = call.run(app)?;
    let (name, stream) = (call.param("attempt"), call.param("stream"));
    let attempt = attempts(app, &run)?.into_iter().find(|attempt| attempt.to_string() == name);
    let Some(attempt) = attempt.filter(|_| STREAMS.contains(&stream)) else {
        return Err(Problem::not_found("log", &format!("{name}/{stream}")));
    };
    match File::open(app.layout().attempt(&run, &attempt).join(stream)) {
        Ok(file) => {
            let size = file.metadata().map_err(Problem::internal)?.len();
            content::serve(call, Source::File(Arc::new(file)), size)
        }
        // It has not written anything yet.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            content::serve(call, Source::Bytes(bytes::Bytes::new()), 0)
        }
        Err(error) => Err(Problem::internal(error)),
    }
}
