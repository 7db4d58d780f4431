//! The steps of a run as rows, the shape of its flow and its worst case, and its accounts: what views show.

use super::rows;
use crate::{
    commands::start::parsed, http::problem::Problem, operation::MAX_STEPS, request::ApiRequest,
    state::app::App,
};
use axum::response::Response;
use envoi_api::{PlannedTexts, plan::FlowPlan, run::RunLedger, shape::FlowShape};
use envoi_contract::code::Code;
use envoi_engine::{ParsedFlow, load_run};
use envoi_journal::RegisteredFlow;
use envoi_kernel::ids::AttemptId;

/// Rows of a page by default.
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
    let (run, steps) = app.read(|reader| {
        let run = load_run(reader, &id)?;
        let steps = app.step_rows.of_run(reader, &id, &run)?;
        Ok::<_, Problem>((run, steps))
    })?;
    let is_running = |attempt: &AttemptId| envoi_engine::is_alive(app.layout(), &id, attempt);
    // `after` of the request is the last event that was seen; that of `ApiRequest` is the first one that was not.
    let page = steps.page(&run, &is_running, after.map(|first| first.saturating_sub(1)), limit);
    rows::answer(200, &page)
}

/// `getRunLedger`.
pub(crate) fn ledger(app: &App, request: &ApiRequest) -> Result<Response, Problem> {
    let id = request.run(app)?;
    let ledger = app.read(|reader| {
        let run = load_run(reader, &id)?;
        let steps = app.step_rows.of_run(reader, &id, &run)?;
        Ok::<_, Problem>(RunLedger::of(&id, &run, &steps, app.now()))
    })?;
    rows::answer(200, &ledger)
}

/// `getRunShape`.
pub(crate) fn of_run(app: &App, request: &ApiRequest) -> Result<Response, Problem> {
    let id = request.run(app)?;
    let (run, pinned) = app.read(|reader| Ok::<_, Problem>((load_run(reader, &id)?, reader.pinned(&id)?)))?;
    rows::answer(200, &FlowShape::from(run.flow().as_ref()).with_lines(&pinned.text, &pinned.parts))
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
