//! Metrics in the format of Prometheus. Each tenant sees its own.

use super::rows;
use crate::{
    http::{problem::Problem, response},
    request::ApiRequest,
    state::app::App,
};
use axum::response::Response;
use envoi_api::problem::Health;
use envoi_journal::ReadError;

/// `getMetrics`. The names are documented in `docs/server.md`.
pub(crate) fn get(app: &App, request: &ApiRequest) -> Result<Response, Problem> {
    let tenant = &request.bearer.tenant;
    let counts = app.read(|reader| reader.counts(tenant).map_err(Problem::from))?;
    let mut text = String::new();
    let gauges = [
        ("envoi_runs_unfinished", "Runs that are not over.", counts.unfinished),
        ("envoi_runs_ended", "Runs that are over.", counts.ended),
        ("envoi_questions_open", "Questions that wait for a person.", counts.open_questions),
        ("envoi_attempts_live", "Attempts that are announced and not settled.", counts.live_attempts),
    ];
    for (name, about, value) in gauges {
        text.push_str(&format!("# HELP {name} {about}\n# TYPE {name} gauge\n{name} {value}\n"));
    }
    let name = "envoi_http_requests_total";
    text.push_str(&format!("# HELP {name} Requests that were answered.\n# TYPE {name} counter\n"));
    for ((operation, status), count) in app.request_counts.of_tenant(tenant) {
        text.push_str(&format!("{name}{{operation=\"{operation}\",status=\"{status}\"}} {count}\n"));
    }
    Ok(response::text("text/plain; version=0.0.4", text))
}

/// `getReadiness`: the store can be read, and the server is not stopping.
pub(crate) fn ready(app: &App, _: &ApiRequest) -> Result<Response, Problem> {
    app.read(|reader| reader.position().map(drop).map_err(|error: ReadError| Problem::from(error)))?;
    if *app.stopping.borrow() {
        return Err(Problem::stopping());
    }
    health(app, &ApiRequest::default())
}

/// `getHealth`.
pub(crate) fn health(_: &App, _: &ApiRequest) -> Result<Response, Problem> {
    rows::answer(200, &Health { status: "ok".to_owned() })
}
