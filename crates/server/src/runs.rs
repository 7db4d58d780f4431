//! Runs: started, listed, looked at, resumed, ended.
//!
//! Everything that changes one is a request to the engine's desk, as a command makes it.

use crate::{
    app::App,
    call::{Call, random_seed, text},
    problem::Problem,
    reply, view,
};
use axum::{http::StatusCode, response::Response};
use envoi_contract::{
    digest::Digest,
    json::{Object, Value},
};
use envoi_engine::{
    load_run,
    protocol::{CallerWire, Request, Response as Heard, ResumeRequest, StartRequest, WorkspaceUse},
};
use envoi_journal::{ReadError, RunPage, StartKey};
use envoi_kernel::{
    Event, Flow, Record,
    event::Choice,
    ids::{RunId, StepId, uuid_v7_text},
};
use serde_json::json;
use std::{
    fs,
    path::{Path, PathBuf},
    sync::mpsc,
    thread,
};

/// The tenant of the person at the terminal.
pub(crate) const LOCAL: &str = "local";

/// Words of a run's status.
const STATUSES: &[&str] = &["running", "waiting", "succeeded", "failed", "exhausted", "cancelled"];

/// `listRuns`.
pub(crate) fn list(app: &App, call: &Call) -> Result<Response, Problem> {
    let status = call.query("status");
    if let Some(unknown) = status.filter(|status| !STATUSES.contains(status)) {
        return Err(Problem::bad_request(format!(
            "`{unknown}` is no status; expected {}",
            STATUSES.join(", ")
        )));
    }
    let bad_cursor = || Problem::bad_request("`cursor` is not the `next` of a page");
    let before = call.query("cursor").map(RunId::new).transpose().map_err(|_| bad_cursor())?;
    let limit = call.limit()?;
    let page = RunPage {
        tenant: call.bearer.tenant.clone(),
        status: status.map(str::to_owned),
        flow: call.query("flow").map(str::to_owned),
        before,
        limit,
    };
    let rows = app.read(|reader| {
        reader.run_page(&page).map_err(|error| match error {
            ReadError::Missing { .. } => bad_cursor(),
            error => error.into(),
        })
    })?;
    let full = u32::try_from(rows.len()).is_ok_and(|found| found == limit);
    let next = rows.last().filter(|_| full).map(|row| row.run.as_str());
    let runs: Vec<_> = rows.iter().map(view::run).collect();
    Ok(reply::json(200, json!({"runs": runs, "next": next}).to_string()))
}

/// `getRun`.
pub(crate) fn get(app: &App, call: &Call) -> Result<Response, Problem> {
    let run = call.run(app)?;
    shown(app, 200, &run)
}

fn shown(app: &App, status: u16, run: &RunId) -> Result<Response, Problem> {
    let row = app.read(|reader| reader.run(run).map_err(Problem::from))?;
    Ok(reply::json(status, view::run(&row).to_string()))
}

/// `getEnvelope`.
pub(crate) fn envelope(app: &App, call: &Call) -> Result<Response, Problem> {
    let run = call.run(app)?;
    let loaded = app.read(|reader| load_run(reader, &run).map_err(Problem::from))?;
    Ok(reply::json(200, loaded.envelope().to_state_dict().pretty()))
}

/// `listEvents`.
pub(crate) fn events(app: &App, call: &Call) -> Result<Response, Problem> {
    let from = call.number("after")?.map_or(0, |after| after.saturating_add(1));
    let limit = call.limit()?;
    let run = call.run(app)?;
    let records = app.read(|reader| reader.records(&run, from, Some(limit)).map_err(Problem::from))?;
    Ok(reply::json(200, listed(&records)?))
}

/// `explainRun`.
pub(crate) fn why(app: &App, call: &Call) -> Result<Response, Problem> {
    let run = call.run(app)?;
    let mut records = app.read(|reader| reader.records(&run, 0, None).map_err(Problem::from))?;
    records.retain(|record| decides(&record.event));
    Ok(reply::json(200, listed(&records)?))
}

fn decides(event: &Event) -> bool {
    match event {
        Event::AttemptSettled(settled) => !settled.ok,
        Event::RunStarted(_) | Event::AttemptStarted(_) | Event::HandoffWritten(_) => false,
        Event::TimerFired(_) => false,
        _ => true,
    }
}

/// An event as it stands in the journal: number tokens survive.
pub(crate) fn event(record: &Record) -> Result<String, Problem> {
    serde_json::to_string(record).map_err(Problem::internal)
}

fn listed(records: &[Record]) -> Result<String, Problem> {
    let events = records.iter().map(event).collect::<Result<Vec<_>, _>>()?;
    Ok(format!("{{\"events\":[{}]}}", events.join(",")))
}

/// `listHandoffs`.
pub(crate) fn handoffs(app: &App, call: &Call) -> Result<Response, Problem> {
    let run = call.run(app)?;
    let rows = app.read(|reader| reader.handoffs(&run).map_err(Problem::from))?;
    let rows: Vec<_> = rows.iter().map(view::handoff).collect();
    Ok(reply::json(200, json!({"handoffs": rows}).to_string()))
}

/// `getHandoff`.
pub(crate) fn handoff(app: &App, call: &Call) -> Result<Response, Problem> {
    let visit = call.number("visit")?.map(u32::try_from).transpose();
    let visit = visit.map_err(|_| Problem::bad_request("`visit` is not the number of a visit"))?;
    let run = call.run(app)?;
    let name = call.param("step");
    let none = || Problem::not_found("hand-off of step", name);
    let step = StepId::new(name).map_err(|_| none())?;
    let bytes = app.read(|reader| {
        reader.handoff(&run, &step, visit).map_err(|error| match error {
            ReadError::Missing { .. } => none(),
            error => error.into(),
        })
    })?;
    Ok(reply::of(200, "application/json", bytes.into()))
}

/// `startRun`.
pub(crate) fn start(app: &App, call: &Call) -> Result<Response, Problem> {
    let members = call.members(&["flow", "inputs", "workspace", "yes_to"])?;
    let wanted = Wanted::read(&members)?;
    let flow =
        app.read(|reader| reader.registered_flow(&call.bearer.tenant, wanted.flow).map_err(Problem::from))?;
    let Some(flow) = flow else {
        let detail = format!("there is no flow `{}`", wanted.flow);
        return Err(Problem::new(StatusCode::NOT_FOUND, "FLOW_NOT_FOUND", detail)
            .hint("`POST /v1/flows` registers one"));
    };
    let fresh = new_run(app)?;
    // Two requests with one key, at once: the second one waits until the run of the first is there to be found.
    let _turn = call.key()?.map(|key| app.starts.turn(key));
    let run = match call.key()? {
        None => fresh,
        Some(key) => {
            let asked = StartKey {
                tenant: call.bearer.tenant.clone(),
                key: key.to_owned(),
                body: Digest::of(Value::Object(members.clone()).compact().as_bytes()),
                run: fresh,
            };
            let kept = app.store.keep_start(&asked, app.now())?;
            if kept.body != asked.body {
                let detail = "this Idempotency-Key came with another body before";
                return Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "KEY_REUSED", detail)
                    .hint("take a new key for another request"));
            }
            if app.read(|reader| reader.tenant_of(&kept.run).map_err(Problem::from))?.is_some() {
                return shown(app, 200, &kept.run);
            }
            kept.run
        }
    };
    app.starts.count(&call.bearer.id, app.now()).map_err(|seconds| {
        let detail = "this token has started as many runs in a minute as it may";
        Problem::new(StatusCode::TOO_MANY_REQUESTS, "TOO_MANY_STARTS", detail).retry_after(seconds)
    })?;
    let loaded = envoi_flow::load(flow.id.as_str(), &flow.text)
        .map_err(|report| Problem::internal(format!("a registered flow cannot be read: {report}")))?;
    let folder = workspace(app, &call.bearer.tenant)?;
    let request = Request::Start(Box::new(StartRequest {
        run: run.clone(),
        // The folder of the file is what workspaces and secret files are relative to, now and at every resume.
        flow_name: folder.join(format!("{}.yaml", flow.id)).to_string_lossy().into_owned(),
        flow_text: flow.text,
        // A registered flow is one file; flows that it would name are not there.
        flow_parts: std::collections::BTreeMap::new(),
        inputs: wanted.inputs,
        workspace: wanted.workspace,
        yes_to: wanted.yes_to,
        by: call.principal(),
        caller: (app.settings.caller)(&loaded.flow, &folder),
    }));
    ask(app, request)?;
    shown(app, 201, &run)
}

/// What a request to start a run says.
struct Wanted<'m> {
    flow: &'m str,
    inputs: Object,
    workspace: WorkspaceUse,
    yes_to: Vec<StepId>,
}

impl<'m> Wanted<'m> {
    fn read(members: &'m Object) -> Result<Self, Problem> {
        let flow = text(members, "flow")?.ok_or_else(|| Problem::bad_request("`flow` is missing"))?;
        let inputs = match members.get("inputs") {
            None => Object::new(),
            Some(Value::Object(inputs)) => inputs.clone(),
            Some(_) => return Err(Problem::bad_request("`inputs` is not an object")),
        };
        let workspace = match text(members, "workspace")? {
            None | Some("alone") => WorkspaceUse::Alone,
            Some("shared") => WorkspaceUse::Shared,
            Some("copy") => WorkspaceUse::Copy,
            Some(_) => {
                return Err(Problem::bad_request("`workspace` is none of `alone`, `shared` and `copy`"));
            }
        };
        let bad_steps = || Problem::bad_request("`yes_to` is not a list of ids of steps");
        let yes_to = match members.get("yes_to") {
            None => Vec::new(),
            Some(value) => {
                let ids = value.as_array().ok_or_else(bad_steps)?.iter();
                let read = |id: &Value| id.as_str().and_then(|id| StepId::new(id).ok());
                ids.map(read).collect::<Option<_>>().ok_or_else(bad_steps)?
            }
        };
        Ok(Self { flow, inputs, workspace, yes_to })
    }
}

/// A new id for a run.
pub(crate) fn new_run(app: &App) -> Result<RunId, Problem> {
    let seed = random_seed()?;
    RunId::new(format!("run_{}", uuid_v7_text(app.now(), &seed))).map_err(Problem::internal)
}

/// The folder in which runs of a tenant work: that of the store for the person at the terminal, else one of its own.
pub(crate) fn workspace(app: &App, tenant: &str) -> Result<PathBuf, Problem> {
    if tenant == LOCAL {
        return Ok(app.settings.workspace.clone());
    }
    let folder = app.layout().root().join("tenants").join(tenant);
    fs::create_dir_all(&folder).map_err(Problem::internal)?;
    Ok(folder)
}

/// What commands of a run may see, as whoever resumes it here has it.
pub(crate) fn caller(app: &App, run: &RunId) -> Result<CallerWire, Problem> {
    let run = app.read(|reader| load_run(reader, run).map_err(Problem::from))?;
    let source = run.started().map(|started| started.source.clone()).unwrap_or_default();
    let flow: &Flow = run.flow();
    Ok((app.settings.caller)(flow, Path::new(&source).parent().unwrap_or(Path::new("/"))))
}

/// `cancelRun`.
pub(crate) fn cancel(app: &App, call: &Call) -> Result<Response, Problem> {
    let run = call.run(app)?;
    let request = Request::Cancel { run: run.clone(), by: call.principal(), caller: caller(app, &run)? };
    ask(app, request)?;
    shown(app, 202, &run)
}

/// `resumeRun`.
pub(crate) fn resume(app: &App, call: &Call) -> Result<Response, Problem> {
    let members = call.members(&["choice", "why"])?;
    let choice = match text(&members, "choice")? {
        None => None,
        Some("rerun") => Some(Choice::Rerun),
        Some("fail") => Some(Choice::Fail),
        Some("proceed") => Some(Choice::Proceed),
        Some("again") => Some(Choice::Again),
        Some("stop") => Some(Choice::Stop),
        Some(_) => {
            let detail = "`choice` is none of `rerun`, `fail`, `proceed`, `again` and `stop`";
            return Err(Problem::bad_request(detail));
        }
    };
    let why = text(&members, "why")?.map(str::to_owned);
    let run = call.run(app)?;
    let request = Request::Resume(Box::new(ResumeRequest {
        run: run.clone(),
        choice,
        reopen: choice.is_none(),
        raise: None,
        request: choice.map(|_| call.request_id(app.now())).transpose()?,
        why,
        by: call.principal(),
        caller: caller(app, &run)?,
    }));
    ask(app, request).map_err(|mut problem| {
        // There is no question that the decision could be about; with an answer it would be the wrong decision.
        if problem.code == "WRONG_ANSWER" {
            problem.status = StatusCode::CONFLICT;
        }
        problem
    })?;
    shown(app, 202, &run)
}

/// Makes a request of the engine, and returns once it is taken. What comes of it is in the journal.
pub(crate) fn ask(app: &App, request: Request) -> Result<(), Problem> {
    let (client, heard) = mpsc::channel();
    let desk = app.desk.clone();
    // The desk of an answer goes on for a moment; nobody here waits for that.
    thread::Builder::new()
        .name("desk".to_owned())
        .spawn(move || desk.serve(request, &client))
        .map_err(Problem::internal)?;
    match heard.recv() {
        Ok(Heard::Refused(refused)) => Err(refused.into()),
        Ok(Heard::Stopped { .. }) | Err(_) => Err(Problem::stopping()),
        Ok(_) => Ok(()),
    }
}
