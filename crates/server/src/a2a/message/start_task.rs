//! A first message: which flow it starts, with which inputs, in which workspace.

use super::{
    inputs,
    pending_push_config::PendingPushConfig,
    record::{FollowFrom, RowIds, Sent, already_done, digest, forget_refused, message_text, new_row},
};
use crate::{
    a2a::{
        client::{Client, internal_fault, read},
        task::writer::FLOW,
    },
    auth::{random, scope::Scope},
    commands::{
        start::{self, new_run},
        submit::submit,
    },
    http::problem::Problem,
    state::app::App,
};
use envoi_a2a::{
    fault::{Fault, Kind},
    model::Message,
};
use envoi_contract::{
    code::Code,
    json::{Object, Value},
};
use envoi_engine::protocol::{Request, StartRequest, WorkspaceUse};
use envoi_journal::{MessageRow, RegisteredFlow, TaskRow};
use envoi_kernel::{
    ids::RunId,
    requester::{MAX_RAW_INPUT_BYTES, Requester},
};

/// Member of a first message's metadata: how the run uses its workspace.
const WORKSPACE: &str = "urn:envoi:a2a:workspace";

/// Prefix of metadata for this server, not for the run.
const OURS: &str = "urn:envoi:a2a:";

/// Starts a run.
pub(crate) fn start_task(
    app: &App,
    client: &Client,
    message: &Message,
    pending: PendingPushConfig<'_>,
) -> Result<Sent, Fault> {
    client.require(&[Scope::Run])?;
    // It has started a run before: the answer is the same, even if the flow has changed since.
    if let Some(row) = first_message(app, client, message)? {
        return already_done(&row, pending);
    }
    let registered = flow(app, client, message)?;
    let parsed =
        envoi_engine::parsed_flow(registered.language, &registered.file, &registered.text, &registered.parts)
            .map_err(|report| internal_fault(app, format!("a registered flow cannot be read: {report}")))?;
    let inputs = inputs::read(&parsed.flow, message)?;
    let workspace = workspace_use(app, message)?;
    let fresh = new_run(app)?;
    let context = match &message.context_id {
        Some(context) => context.clone(),
        None => random::id("ctx_", app.now()).map_err(|error| internal_fault(app, error))?,
    };
    let task = TaskRow {
        run: fresh.clone(),
        tenant: client.bearer.tenant.clone(),
        token: client.bearer.id.clone(),
        context: context.clone(),
        at: app.now(),
    };
    let row = new_row(
        app,
        client,
        message,
        RowIds { run: &fresh, context: &context, task: "", request: fresh.to_string() },
    );
    // If the same message is sent twice at the same time, the second one waits until the run of the first can
    // be found.
    let _lock = app.key_locks.lock(&format!("{}\n{context}\n{}", row.token, row.message_id));
    let kept = app.store.keep_task(&task, &row).map_err(|error| internal_fault(app, error))?;
    let begun = read(app, |reader| reader.tenant_of(&kept.run))?;
    if begun.is_some() {
        return already_done(&kept, pending);
    }
    let push = pending.store(&kept.run, 0)?;
    let may = app.start_rate.count(&client.bearer.id, app.now()).map_err(|seconds| {
        let detail = "this token has started as many runs in a minute as it may";
        Problem::new(Code::TooManyStarts, detail).retry_after(seconds)
    });
    let options = StartOptions { inputs, workspace, requester: requester(message, &context) };
    match may.and_then(|()| start(app, client, &kept.run, registered, options)) {
        Ok(()) => {
            push.announce();
            Ok(Sent { run: kept.run, from: FollowFrom::TheStart })
        }
        Err(problem) => Err(forget_refused(app, &kept, push, problem)),
    }
}

/// The row of this message, if it has started a run.
fn first_message(app: &App, client: &Client, message: &Message) -> Result<Option<MessageRow>, Fault> {
    let Some(context) = &message.context_id else { return Ok(None) };
    read(app, |reader| {
        let token = &client.bearer.id;
        let known = reader.first_message_in_context(token, context, &message.id, &digest(client, message))?;
        let Some(row) = known else { return Ok(None) };
        Ok(reader.tenant_of(&row.run)?.map(|_| row))
    })
}

/// The options in a message that starts a run.
struct StartOptions {
    inputs: Object,
    workspace: WorkspaceUse,
    requester: Requester,
}

fn start(
    app: &App,
    client: &Client,
    run: &RunId,
    registered: RegisteredFlow,
    options: StartOptions,
) -> Result<(), Problem> {
    let request = start::of_flow(app, run.clone(), registered, client.principal())?;
    let StartOptions { inputs, workspace, requester } = options;
    let request = StartRequest { inputs, workspace, trace: client.trace.clone(), requester, ..request };
    submit(app, Request::Start(Box::new(request))).map(drop)
}

/// The requester of the run: its session is the context, its raw input is the message as JSON of 1.0.
///
/// The user is the name of the token, because a message names no user. Values that exceed a limit are left
/// out: the client did not require them to be kept, and the message remains readable as the first one of the
/// task's history.
fn requester(message: &Message, context: &str) -> Requester {
    let is_ours = |name: &str| name.starts_with(OURS);
    let metadata = Requester::without_reserved(&message.metadata);
    let metadata = metadata.iter().filter(|(name, _)| !is_ours(name));
    let message = message_text(message);
    let stated = Requester {
        session_id: Some(context.to_owned()),
        metadata: metadata.map(|(name, value)| (name.to_owned(), value.clone())).collect(),
        raw_input: (message.len() <= MAX_RAW_INPUT_BYTES).then_some(message),
        user_id: None,
    };
    match stated.check() {
        Ok(()) => stated,
        Err(_) => Requester { metadata: Object::new(), ..stated },
    }
}

/// The flow that a message names, in its metadata, else by its path or `tenant`: an id or a digest.
pub(crate) fn flow_named_by(client: &Client, message: &Message) -> Result<Option<String>, Fault> {
    match message.metadata.get(FLOW) {
        None => Ok(client.flow.clone()),
        Some(Value::String(name)) => Ok(Some(name.clone())),
        Some(_) => Err(Fault::violation(format!("message.metadata[\"{FLOW}\"]"), "Must be a string.")),
    }
}

/// The flow that a message starts: the named one, else the configured one, else the tenant's only flow.
fn flow(app: &App, client: &Client, message: &Message) -> Result<RegisteredFlow, Fault> {
    let tenant = &client.bearer.tenant;
    let usual = || app.settings.a2a.default_flow.clone();
    if let Some(name) = flow_named_by(client, message)?.or_else(usual) {
        let found = read(app, |reader| reader.registered_flow(tenant, &name))?;
        let none = || {
            Fault::new(Kind::InvalidParams)
                .detail(format!("there is no flow `{name}`"))
                .code(Code::FlowNotFound)
        };
        return found.ok_or_else(none);
    }
    let all = read(app, |reader| reader.registered_flows(tenant))?;
    let mut ids: Vec<&str> = all.iter().map(|flow| flow.id.as_str()).collect();
    ids.sort_unstable();
    ids.dedup();
    match (ids.as_slice(), all.first()) {
        ([_], Some(newest)) => Ok(newest.clone()),
        ([], _) => {
            let detail = "there is no flow yet; `POST /v1/flows` registers one";
            Err(Fault::new(Kind::InvalidParams).detail(detail).code(Code::FlowNotFound))
        }
        (several, _) => {
            let detail = format!(
                "which flow? Say it as `{FLOW}` in the message's metadata, in the path or as `tenant`: {}",
                several.join(", ")
            );
            Err(Fault::new(Kind::InvalidParams).detail(detail).code(Code::FlowNotFound))
        }
    }
}

fn workspace_use(app: &App, message: &Message) -> Result<WorkspaceUse, Fault> {
    match message.metadata.get(WORKSPACE).map(Value::as_str) {
        None => Ok(app.settings.a2a.workspace),
        Some(Some("alone")) => Ok(WorkspaceUse::Alone),
        Some(Some("shared")) => Ok(WorkspaceUse::Shared),
        Some(Some("copy")) => Ok(WorkspaceUse::Copy),
        Some(_) => {
            let field = format!("message.metadata[\"{WORKSPACE}\"]");
            Err(Fault::violation(field, "Must be one of alone, shared, copy."))
        }
    }
}
