//! Starts of runs: the permission to start one, and the request to the engine.
//!
//! Owns how many starts are under way, and the folder in which a run works. The engine's desk does the rest.

use crate::{
    auth::{random, token::Bearer},
    http::problem::Problem,
    limits::{concurrency_limit::Permit, fair_semaphore::FairPermit},
    state::app::App,
};
use envoi_contract::{code::Code, json::Object};
use envoi_engine::{
    ParsedFlow, parsed_flow,
    protocol::{Isolate, StartRequest, WorkspaceUse},
};
use envoi_journal::RegisteredFlow;
use envoi_kernel::{
    ids::{Principal, RunId},
    requester::Requester,
};
use std::{fs, path::PathBuf};

/// The tenant of the person at the terminal.
pub(crate) const LOCAL: &str = "local";

/// Permission to start a run. The work keeps it, even if the client has disconnected.
pub(crate) struct StartPermit {
    _turn: FairPermit,
    _same: Option<FairPermit>,
    _permit: Permit,
}

/// Waits for permission to start a run. Refuses if the token has the maximum number of starts under way. A
/// request with the same `key` as another one waits for that one first, and takes no turn of its tenant
/// meanwhile.
pub(crate) async fn start_permit(
    app: &App,
    bearer: &Bearer,
    key: Option<&str>,
) -> Result<StartPermit, Problem> {
    let permit = app.starts_under_way.acquire(&bearer.id).ok_or_else(|| {
        let detail = "this token has as many starts under way as it may";
        Problem::new(Code::TooManyStarts, detail).retry_after(1)
    })?;
    let same = match key {
        Some(key) => Some(app.same_key_turns.acquire(&format!("{}\n{key}", bearer.id)).await),
        None => None,
    };
    Ok(StartPermit { _turn: app.start_turns.acquire(&bearer.tenant).await, _same: same, _permit: permit })
}

/// The request that starts a registered flow for its tenant, without inputs, and alone in the workspace.
pub(crate) fn of_flow(
    app: &App,
    run: RunId,
    flow: RegisteredFlow,
    by: Principal,
) -> Result<StartRequest, Problem> {
    let parsed = parsed(&flow)?;
    let folder = folder(app, &by.tenant)?;
    Ok(StartRequest {
        run,
        // Workspaces and secret files are relative to the folder of this file, now and at every resume.
        flow_name: folder.join(&flow.file).to_string_lossy().into_owned(),
        flow_text: flow.text,
        flow_parts: flow.parts,
        language: Some(flow.language),
        inputs: Object::new(),
        workspace: WorkspaceUse::Alone,
        keep_files: false,
        no_cache: false,
        isolate: parsed.flow.isolation.as_ref().and_then(|isolation| {
            let bring_if_there = isolation.bring.iter().map(PathBuf::from).collect();
            Some(Isolate { bring_if_there, ..app.settings.trees.clone()? })
        }),
        yes_to: Vec::new(),
        trace: None,
        requester: Requester::default(),
        part: None,
        by,
        caller: (app.settings.caller)(&parsed.flow, &folder),
    })
}

/// A registered flow, parsed and checked.
pub(crate) fn parsed(flow: &RegisteredFlow) -> Result<ParsedFlow, Problem> {
    parsed_flow(flow.language, &flow.file, &flow.text, &flow.parts)
        .map_err(|report| Problem::internal(format!("a registered flow cannot be read: {report}")))
}

/// A new id for a run.
pub(crate) fn new_run(app: &App) -> Result<RunId, Problem> {
    RunId::new(random::id("run_", app.now())?).map_err(Problem::internal)
}

/// The folder in which a tenant's runs work: the configured workspace for the person at the terminal,
/// otherwise one folder for each tenant.
pub(crate) fn folder(app: &App, tenant: &str) -> Result<PathBuf, Problem> {
    if tenant == LOCAL {
        return Ok(app.settings.workspace.clone());
    }
    let folder = app.layout().root().join("tenants").join(tenant);
    fs::create_dir_all(&folder).map_err(Problem::internal)?;
    Ok(folder)
}
