//! Flows that a tenant may start.

use crate::{app::App, call::Call, problem::Problem, reply};
use axum::{http::StatusCode, response::Response};
use envoi_journal::RegisteredFlow;
use serde_json::json;

const YAML: &str = "application/yaml";

fn view(flow: &RegisteredFlow) -> serde_json::Value {
    json!({
        "flow": flow.id.as_str(),
        "digest": flow.digest.to_string(),
        "language": flow.language,
        "registered_at": flow.registered_at.to_string(),
        "registered_by": flow.registered_by,
    })
}

/// `listFlows`.
pub(crate) fn list(app: &App, call: &Call) -> Result<Response, Problem> {
    let flows = app.read(|reader| reader.registered_flows(&call.bearer.tenant).map_err(Problem::from))?;
    let flows: Vec<_> = flows.iter().map(view).collect();
    Ok(reply::json(200, json!({"flows": flows}).to_string()))
}

/// `getFlow`.
pub(crate) fn get(app: &App, call: &Call) -> Result<Response, Problem> {
    let name = call.param("flow");
    let flow = app.read(|reader| reader.registered_flow(&call.bearer.tenant, name).map_err(Problem::from))?;
    let none = || Problem::new(StatusCode::NOT_FOUND, "FLOW_NOT_FOUND", format!("there is no flow `{name}`"));
    flow.map(|flow| reply::text(YAML, flow.text)).ok_or_else(none)
}

/// `registerFlow`.
pub(crate) fn register(app: &App, call: &Call) -> Result<Response, Problem> {
    let refused = |detail: String| Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "FLOW_INVALID", detail);
    let text = std::str::from_utf8(&call.body)
        .map_err(|error| refused(format!("byte {} is not UTF-8", error.valid_up_to())))?;
    let loaded = envoi_flow::load("flow.yaml", text).map_err(|report| {
        // Every mistake at its place, as `envoi check` shows them.
        refused(report.render(envoi_flow::Colour::Never))
    })?;
    let flow = RegisteredFlow {
        digest: loaded.flow.digest,
        id: loaded.flow.id.clone(),
        language: loaded.language,
        text: text.to_owned(),
        registered_at: app.now(),
        registered_by: call.bearer.name.clone(),
    };
    let new = app.store.register_flow(&call.bearer.tenant, &flow)?;
    Ok(reply::json(if new { 201 } else { 200 }, view(&flow).to_string()))
}
