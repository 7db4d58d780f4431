//! Starts runs: of a registered flow, or as a fork of another run.
//!
//! Ensures that a request with a key starts one run, however often it is sent and whenever the server is
//! killed.

use super::{
    correct::{self, check_questions},
    rows,
    runs::shown,
};
use crate::{
    commands::{
        start::{new_run, of_flow, parsed},
        submit::{caller_of_run, submit},
    },
    http::problem::Problem,
    request::{ApiRequest, flag, text, word},
    state::app::App,
};
use axum::response::Response;
use envoi_api::run::{Forked, Run};
use envoi_contract::{
    code::Code,
    digest::Digest,
    json::{Object, Value},
};
use envoi_engine::{
    load_run,
    protocol::{ForkRequest, PartRequest, Request, StartRequest, WorkspaceUse},
};
use envoi_journal::{RegisteredFlow, StartKey};
use envoi_kernel::{
    ids::{RunId, StepId},
    part::Selection,
    requester::Requester,
};

/// Members of the body of `startRun`.
const START_MEMBERS: [&str; 10] = [
    "flow",
    "inputs",
    "workspace",
    "yes_to",
    "user_id",
    "session_id",
    "metadata",
    "raw_input",
    "part",
    "no_cache",
];

/// Members of its `part`.
const PART_MEMBERS: [&str; 5] = ["only", "from", "until", "skip", "with"];

/// `startRun`.
pub(crate) fn start(app: &App, request: &ApiRequest) -> Result<Response, Problem> {
    let members = request.members(&START_MEMBERS)?;
    let wanted = StartBody::read(&members)?;
    may_say_yes(request, &wanted.yes_to)?;
    let flow = app
        .read(|reader| reader.registered_flow(&request.bearer.tenant, wanted.flow).map_err(Problem::from))?;
    let Some(flow) = flow else {
        let detail = format!("there is no flow `{}`", wanted.flow);
        return Err(Problem::new(Code::FlowNotFound, detail).hint("`POST /v1/flows` registers one"));
    };
    if let Some(part) = &wanted.part {
        may_go_past(request, &flow, part)?;
    }
    let body = Digest::of(Value::Object(members.clone()).compact().as_bytes());
    let begun = start_once(app, request, body, |run| {
        Ok(Request::Start(Box::new(StartRequest {
            inputs: wanted.inputs,
            workspace: wanted.workspace,
            yes_to: wanted.yes_to,
            trace: request.traceparent().map(str::to_owned),
            requester: wanted.requester,
            part: wanted.part,
            no_cache: wanted.no_cache,
            ..of_flow(app, run, flow, request.principal())?
        })))
    })?;
    shown(app, begun.status(), begun.run())
}

/// An approval in advance is an answer.
fn may_say_yes(request: &ApiRequest, yes_to: &[StepId]) -> Result<(), Problem> {
    let Some(step) = yes_to.first() else { return Ok(()) };
    request.require_answer(&format!("`yes_to` approves what step `{step}` will ask"))
}

/// Leaving out a step with a question has the effect of an approval, so it needs a separate scope.
fn may_go_past(request: &ApiRequest, flow: &RegisteredFlow, part: &PartRequest) -> Result<(), Problem> {
    check_questions(request, &parsed(flow)?.flow, &part.selection)
}

/// `forkRun`.
pub(crate) fn fork(app: &App, request: &ApiRequest) -> Result<Response, Problem> {
    let members = request.members(&["from", "flow", "files", "workspace", "yes_to", "reason"])?;
    let step = correct::step(&members)?;
    let workspace = workspace(&members)?;
    let yes_to = yes_to(&members)?;
    may_say_yes(request, &yes_to)?;
    let why = text(&members, "reason")?.map(str::to_owned);
    let from = request.run(app)?;
    let given = correct::given(app, request, &members)?;
    // A fork of a run of a part has the same part. Starting it again needs the same rights as starting it the
    // first time.
    let source = app.read(|reader| load_run(reader, &from).map_err(Problem::from))?;
    if let Some(part) = source.started().and_then(|started| started.part.as_deref()) {
        check_questions(request, source.flow(), &part.selection)?;
        if let Some(given) = &given {
            check_questions(request, &given.flow, &part.selection)?;
        }
    }
    if let Some(step) = given.as_ref().and_then(|given| source.flow().questions_changed(&given.flow)) {
        request.require_answer(&correct::changes_question(&step))?;
    }
    let body = Digest::of(format!("fork {from}\n{}", Value::Object(members.clone()).compact()).as_bytes());
    let begun = start_once(app, request, body, |run| {
        let by = request.principal();
        let (correct, caller) = match given {
            Some(given) => (Some(given.corrected), given.caller),
            None => (None, caller_of_run(app, &from)?),
        };
        let fork = ForkRequest {
            run,
            from,
            step,
            workspace,
            yes_to,
            why,
            correct,
            files: None,
            isolate: None,
            by,
            caller,
        };
        Ok(Request::Fork(Box::new(fork)))
    })?;
    let row =
        app.read(|reader| envoi_engine::run_row(app.layout(), reader, begun.run()).map_err(Problem::from))?;
    rows::answer(begun.status(), &Forked { run: Run::from(&row), notes: begun.notes().to_vec() })
}

/// The result of a request to start a run.
enum Started {
    /// The run was started now, and is durable; these are the engine's notes.
    Now(RunId, Vec<String>),
    /// The request was sent before.
    Before(RunId),
}

impl Started {
    fn run(&self) -> &RunId {
        let (Self::Now(run, _) | Self::Before(run)) = self;
        run
    }

    fn status(&self) -> u16 {
        match self {
            Self::Now(..) => 201,
            Self::Before(_) => 200,
        }
    }

    fn notes(&self) -> &[String] {
        match self {
            Self::Now(_, notes) => notes,
            Self::Before(_) => &[],
        }
    }
}

/// Starts one run for each key of a token. `body` must be the same for every request with the same key.
fn start_once(
    app: &App,
    request: &ApiRequest,
    body: Digest,
    begin: impl FnOnce(RunId) -> Result<Request, Problem>,
) -> Result<Started, Problem> {
    let fresh = new_run(app)?;
    // Starts and forks share their keys: a key that has started one run starts no other.
    let of = request.key()?.map(|key| format!("begin\n{}\n{key}", request.bearer.id));
    // If two requests with one key come at the same time, the second one waits until the run of the first can
    // be found.
    let _lock = of.as_deref().map(|key| app.key_locks.lock(key));
    let run = match of {
        None => fresh,
        Some(key) => {
            let wanted = StartKey { tenant: request.bearer.tenant.clone(), key, body, run: fresh };
            let kept = app.store.keep_start(&wanted, app.now())?;
            if kept.body != wanted.body {
                return Err(Problem::key_reused());
            }
            if app.read(|reader| reader.tenant_of(&kept.run).map_err(Problem::from))?.is_some() {
                return Ok(Started::Before(kept.run));
            }
            kept.run
        }
    };
    app.start_rate.count(&request.bearer.id, app.now()).map_err(|seconds| {
        let detail = "this token has started as many runs in a minute as it may";
        Problem::new(Code::TooManyStarts, detail).retry_after(seconds)
    })?;
    let notes = submit(app, begin(run.clone())?)?;
    Ok(Started::Now(run, notes))
}

/// The body of a request to start a run.
struct StartBody<'m> {
    flow: &'m str,
    inputs: Object,
    workspace: WorkspaceUse,
    yes_to: Vec<StepId>,
    requester: Requester,
    part: Option<PartRequest>,
    no_cache: bool,
}

impl<'m> StartBody<'m> {
    fn read(members: &'m Object) -> Result<Self, Problem> {
        let flow = word(members, "flow")?.ok_or_else(|| Problem::bad_request("`flow` is missing"))?;
        let inputs = match members.get("inputs") {
            None => Object::new(),
            Some(Value::Object(inputs)) => inputs.clone(),
            Some(_) => return Err(Problem::bad_request("`inputs` is not an object")),
        };
        let workspace = workspace(members)?;
        let yes_to = yes_to(members)?;
        let requester = requester(members)?;
        let no_cache = flag(members, "no_cache")?;
        Ok(Self { flow, inputs, workspace, yes_to, requester, part: part(members)?, no_cache })
    }
}

/// The steps to run, and the run from which the other steps' hand-offs are taken.
fn part(members: &Object) -> Result<Option<PartRequest>, Problem> {
    let bad = |what: &str| Problem::bad_request(format!("`part` is no part of a flow: {what}"));
    let members = match members.get("part") {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::Object(members)) => members,
        Some(_) => return Err(bad("it is not an object")),
    };
    if let Some((unknown, _)) = members.iter().find(|(name, _)| !PART_MEMBERS.contains(name)) {
        return Err(bad(&format!("it has no member `{unknown}`")));
    }
    let step = |value: &Value| value.as_str().and_then(|id| StepId::new(id).ok());
    let one = |name: &str| match members.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => step(value).map(Some).ok_or_else(|| bad(&format!("`{name}` is not the id of a step"))),
    };
    let several = |name: &str| {
        let wrong = || bad(&format!("`{name}` is not a list of ids of steps"));
        let Some(value) = members.get(name) else { return Ok(Vec::new()) };
        value.as_array().ok_or_else(wrong)?.iter().map(step).collect::<Option<_>>().ok_or_else(wrong)
    };
    let with = match members.get("with") {
        None | Some(Value::Null) => None,
        Some(value) => {
            let run = value.as_str().and_then(|id| RunId::new(id).ok());
            Some(run.ok_or_else(|| bad("`with` is not the id of a run"))?)
        }
    };
    let selection = Selection {
        only: several("only")?,
        from: one("from")?,
        until: one("until")?,
        skip: several("skip")?,
    };
    Ok(Some(PartRequest { selection, with }))
}

/// The requester of the run.
fn requester(members: &Object) -> Result<Requester, Problem> {
    let stated = |name| Ok::<_, Problem>(text(members, name)?.map(str::to_owned));
    let metadata = match members.get("metadata") {
        None => Object::new(),
        Some(Value::Object(metadata)) => metadata.clone(),
        Some(_) => return Err(Problem::bad_request("`metadata` is not an object")),
    };
    let user_id = stated("user_id")?;
    let session_id = stated("session_id")?;
    Ok(Requester { user_id, session_id, metadata, raw_input: stated("raw_input")? })
}

/// How the run uses its workspace.
fn workspace(members: &Object) -> Result<WorkspaceUse, Problem> {
    match word(members, "workspace")? {
        None | Some("alone") => Ok(WorkspaceUse::Alone),
        Some("shared") => Ok(WorkspaceUse::Shared),
        Some("copy") => Ok(WorkspaceUse::Copy),
        Some(_) => Err(Problem::bad_request("`workspace` is none of `alone`, `shared` and `copy`")),
    }
}

/// Steps whose questions are approved as soon as they are raised.
fn yes_to(members: &Object) -> Result<Vec<StepId>, Problem> {
    let bad = || Problem::bad_request("`yes_to` is not a list of ids of steps");
    let Some(value) = members.get("yes_to") else { return Ok(Vec::new()) };
    let read = |id: &Value| id.as_str().and_then(|id| StepId::new(id).ok());
    value.as_array().ok_or_else(bad)?.iter().map(read).collect::<Option<_>>().ok_or_else(bad)
}
