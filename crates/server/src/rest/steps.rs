//! The steps of a run as rows, the shape of its flow and its worst case, and its accounts: the data for
//! views.

use super::rows;
use crate::{
    commands::start::parsed,
    http::problem::Problem,
    operation::MAX_STEPS,
    request::ApiRequest,
    state::{app::App, step_rows::RunLook},
};
use axum::response::Response;
use envoi_api::{PlannedTexts, plan::FlowPlan, run::RunLedger, shape::FlowShape};
use envoi_contract::code::Code;
use envoi_engine::{ParsedFlow, flow_versions};
use envoi_journal::RegisteredFlow;
use envoi_kernel::ids::{AttemptId, RunId};
use std::sync::Arc;

/// Default number of rows in a page.
const PAGE: usize = 1_000;

/// `listSteps`.
pub(crate) fn list(app: &App, request: &ApiRequest) -> Result<Response, Problem> {
    let after = request.number("after")?.map(|_| request.after()).transpose()?;
    let limit = match request.number("limit")? {
        None => PAGE,
        Some(limit) => usize::try_from(limit)
            .ok()
            .filter(|limit| (1..=MAX_STEPS).contains(limit))
            .ok_or_else(|| Problem::bad_request(format!("`limit` is not from 1 to {MAX_STEPS}")))?,
    };
    let id = request.run(app)?;
    let RunLook { run, steps } = look(app, &id)?;
    let is_running = |attempt: &AttemptId| envoi_engine::is_alive(app.layout(), &id, attempt);
    // The parameter `after` is the last event that was seen; `ApiRequest::after` is the first one that was
    // not.
    let page = steps.page(&run, &is_running, after.map(|first| first.saturating_sub(1)), limit);
    rows::answer(200, &page)
}

/// `getRunLedger`.
pub(crate) fn ledger(app: &App, request: &ApiRequest) -> Result<Response, Problem> {
    let id = request.run(app)?;
    let RunLook { run, steps } = look(app, &id)?;
    rows::answer(200, &RunLedger::of(&id, &run, &steps, app.now()))
}

/// The current state of a run.
pub(crate) fn look(app: &App, id: &RunId) -> Result<RunLook, Problem> {
    app.read(|reader| app.step_rows.look(reader, id).map_err(Problem::from))
}

/// `getRunShape`.
pub(crate) fn of_run(app: &App, request: &ApiRequest) -> Result<Response, Problem> {
    let id = request.run(app)?;
    let pinned = app.read(|reader| reader.pinned(&id).map_err(Problem::from))?;
    // The flow is known without the run's events, of which there may be very many.
    let known = flow_versions(&pinned).ok();
    let flow = match known.as_ref().and_then(|known| known.of(&pinned.digest, pinned.language)) {
        Some(flow) => Arc::clone(flow),
        None => Arc::clone(look(app, &id)?.run.flow()),
    };
    rows::answer(200, &FlowShape::from(flow.as_ref()).with_lines(&pinned.text, &pinned.parts))
}

/// `getFlowShape`.
pub(crate) fn of_flow(app: &App, request: &ApiRequest) -> Result<Response, Problem> {
    let (found, parsed) = named(app, request)?;
    rows::answer(200, &FlowShape::from(parsed.flow.as_ref()).with_lines(&found.text, &found.parts))
}

/// `getFlowPlan`.
pub(crate) fn plan(app: &App, request: &ApiRequest) -> Result<Response, Problem> {
    let (found, parsed) = named(app, request)?;
    let texts = PlannedTexts { file: &found.file, text: &found.text, parts: &found.parts };
    rows::answer(200, &FlowPlan::of(&envoi_flow::plan::plan(&parsed.flow), &texts))
}

/// The registered flow in the path.
fn named(app: &App, request: &ApiRequest) -> Result<(RegisteredFlow, ParsedFlow), Problem> {
    let name = request.param("flow");
    let flow =
        app.read(|reader| reader.registered_flow(&request.bearer.tenant, name).map_err(Problem::from))?;
    let none = || Problem::new(Code::FlowNotFound, format!("there is no flow `{name}`"));
    let flow = flow.ok_or_else(none)?;
    let parsed = parsed(&flow)?;
    Ok((flow, parsed))
}
