//! The way in over A2A: from a request of HTTP to an operation, and from what comes of it to a response.
//!
//! Two bindings, two versions, one operation each: [`act`] knows neither. Errors of JSON-RPC ride HTTP 200, but for those that are
//! about the token or the bounds of the server: a client that looks at the status alone is to see them.

use super::{
    agent_card,
    client::Asking,
    message::send,
    protocol::{
        fault::{Fault, Kind},
        json_rpc::{self, Incoming, Unreadable},
        request::{Configuration, Method, Params, Reply, Request, SendRequest},
        route::{self, Lost, Rest, Target},
        service_parameters::{EXTENSIONS, Extensions, VERSION, negotiate_version},
        version::Version,
    },
    push_configs, refusal,
    stream::{self, Frame},
    tasks, wait,
};
use crate::{
    admission,
    auth::{scope::Scope, token::Bearer},
    commands::start,
    http::{body::discard, problem::Problem, response, work::in_time},
    request::Call,
    state::app::App,
};
use axum::{
    body::Body,
    extract::Request as HttpRequest,
    http::{HeaderMap, HeaderValue, StatusCode, header, request::Parts},
    response::Response,
};
use envoi_contract::user_envelope::EXTENSION_URI;
use std::sync::Arc;

/// The media type of 1.0; `application/json` is taken too.
const A2A_JSON: &str = "application/a2a+json";
const JSON: &str = "application/json";

/// The extensions that are known here.
pub(crate) const OURS: [&str; 1] = [EXTENSION_URI];

/// Everything below `/a2a`.
pub(crate) async fn answer(app: Arc<App>, mut request: HttpRequest) -> Response {
    let Some(bearer) = request.extensions_mut().remove::<Bearer>() else {
        return refusal::of(&request.into_parts().0, Problem::unauthenticated());
    };
    let tenant = bearer.tenant.clone();
    let (parts, mut body) = request.into_parts();
    let below = route::below(parts.uri.path()).unwrap_or_default().to_owned();
    let (operation, response) = match route::find(&parts.method, &below) {
        Ok(Target { flow, what: route::What::Rpc }) => over_rpc(&app, (parts, &mut body), bearer, flow).await,
        Ok(Target { flow, what: route::What::Rest(rest) }) => {
            (name(rest.method), over_rest(&app, (parts, &mut body), bearer, flow, rest).await)
        }
        Err(Lost::Path) => ("a2a", refusal::of(&parts, Problem::not_found("path", parts.uri.path()))),
        Err(Lost::Verb) => {
            let detail = "this path is not asked for by that method";
            let problem = Problem::new(StatusCode::METHOD_NOT_ALLOWED, "METHOD_NOT_ALLOWED", detail);
            ("a2a", refusal::of(&parts, problem))
        }
    };
    if response.status().is_client_error() {
        // A client that still sends would not hear the answer.
        discard(body).await;
    }
    app.request_counts.count(&tenant, operation, response.status().as_u16());
    response
}

/// The card for everybody, whom nobody knows.
pub(crate) async fn card(app: Arc<App>, request: HttpRequest) -> Response {
    let (parts, _) = request.into_parts();
    let found = admission::check_host(&app, &parts).and_then(|()| agent_card::public(&app, &parts));
    found.unwrap_or_else(|problem| refusal::of(&parts, problem))
}

/// The operation as figures name it.
const fn name(method: Method) -> &'static str {
    match method {
        Method::Send => "a2aSendMessage",
        Method::Stream => "a2aSendStreamingMessage",
        Method::Get => "a2aGetTask",
        Method::List => "a2aListTasks",
        Method::Cancel => "a2aCancelTask",
        Method::Subscribe => "a2aSubscribeToTask",
        Method::PushSet => "a2aCreatePushConfig",
        Method::PushGet => "a2aGetPushConfig",
        Method::PushList => "a2aListPushConfigs",
        Method::PushDelete => "a2aDeletePushConfig",
        Method::ExtendedCard => "a2aGetExtendedCard",
    }
}

/// What comes of an operation.
enum Done {
    Reply(Reply),
    Stream(Response),
}

async fn over_rpc(
    app: &Arc<App>,
    (mut parts, body): (Parts, &mut Body),
    bearer: Bearer,
    flow: Option<String>,
) -> (&'static str, Response) {
    if let Err(problem) = check_type(&parts.headers) {
        return ("a2a", refusal::of(&parts, problem));
    }
    let call = match read(app, &mut parts, body, bearer).await {
        Ok(call) => call,
        Err(problem) => return ("a2a", refusal::of(&parts, problem)),
    };
    let version = version(&call);
    // A version that is not served is told in the words of 1.0.
    let words = *version.as_ref().unwrap_or(&Version::V10);
    let Incoming { id, method: called, params } = match json_rpc::read(&call.body) {
        Ok(incoming) => incoming,
        Err(Unreadable { id, fault }) => return ("a2a", rpc_error(&id, words, &fault)),
    };
    let method = match version.and_then(|version| Method::named(&called, version)) {
        Ok(method) => method,
        Err(fault) => return ("a2a", rpc_error(&id, words, &fault)),
    };
    let done = match super::protocol::read(words, method, &params) {
        Ok(request) => {
            let asking = asking(app, &call, words, flow);
            let last_seen = call.last_event_id();
            act(app, asking, request, Frame::Rpc(id.clone()), last_seen).await
        }
        Err(fault) => Err(fault),
    };
    let response = match done {
        Ok(Done::Stream(response)) => response,
        Ok(Done::Reply(reply)) => {
            response::json(200, json_rpc::result(&id, super::protocol::write(words, &reply)))
        }
        Err(fault) => rpc_error(&id, words, &fault),
    };
    (name(method), with_extensions(response, &call))
}

fn rpc_error(id: &json_rpc::Id, version: Version, fault: &Fault) -> Response {
    when_to_try_again(response::json(fault.http_status_of_rpc(), json_rpc::error(id, version, fault)), fault)
}

fn rest_error(fault: &Fault) -> Response {
    when_to_try_again(response::json(fault.http_status(), fault.rest().compact()), fault)
}

fn when_to_try_again(mut response: Response, fault: &Fault) -> Response {
    if let Some(seconds) = fault.retry_after_s() {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

async fn over_rest(
    app: &Arc<App>,
    (mut parts, body): (Parts, &mut Body),
    bearer: Bearer,
    flow: Option<String>,
    rest: Rest,
) -> Response {
    if let Err(problem) = check_type(&parts.headers) {
        return refusal::of(&parts, problem);
    }
    let call = match read(app, &mut parts, body, bearer).await {
        Ok(call) => call,
        Err(problem) => return refusal::of(&parts, problem),
    };
    let done = match asked_over_rest(&call, &flow, &rest) {
        Ok(request) => {
            let asking = asking(app, &call, Version::V10, flow);
            act(app, asking, request, Frame::Rest, call.last_event_id()).await
        }
        Err(fault) => Err(fault),
    };
    let response = match done {
        Ok(Done::Stream(response)) => response,
        Ok(Done::Reply(reply)) => {
            response::of(200, A2A_JSON, super::protocol::write(Version::V10, &reply).compact().into())
        }
        Err(fault) => rest_error(&fault),
    };
    with_extensions(response, &call)
}

fn asked_over_rest(call: &Call, flow: &Option<String>, rest: &Rest) -> Result<Request, Fault> {
    // The other version has no such binding.
    if version(call)? == Version::V03 {
        let detail = "HTTP+JSON is spoken in 1.0 alone; say so with `A2A-Version: 1.0`";
        return Err(Fault::new(Kind::VersionNotSupported).detail(detail).note("supportedVersions", "1.0"));
    }
    let path = super::protocol::InPath {
        tenant: flow.as_deref(),
        task: rest.task.as_deref(),
        config: rest.config.as_deref(),
    };
    super::protocol::read_rest(rest.method, path, call.queries(), &call.body)
}

/// The request without its frame: headers, query, the whole body.
async fn read(app: &Arc<App>, parts: &mut Parts, body: &mut Body, bearer: Bearer) -> Result<Call, Problem> {
    let limits = &app.settings.limits;
    let reading = async {
        let mut call = Call::of(parts, bearer).await?;
        let _incoming = app.incoming(&call.bearer)?;
        call.read_body(body, limits.body_bytes).await?;
        Ok(call)
    };
    in_time(limits.request, reading).await
}

fn version(call: &Call) -> Result<Version, Fault> {
    let header = call.headers.get(VERSION).map(|value| value.to_str().unwrap_or("?"));
    negotiate_version(header, call.query(VERSION))
}

/// A body is JSON, or says nothing of what it is.
fn check_type(headers: &HeaderMap) -> Result<(), Problem> {
    let Some(said) = headers.get(header::CONTENT_TYPE) else { return Ok(()) };
    let said = said.to_str().unwrap_or_default().split(';').next().unwrap_or_default().trim();
    if said.eq_ignore_ascii_case(JSON) || said.eq_ignore_ascii_case(A2A_JSON) {
        return Ok(());
    }
    let detail = format!("a body is `{JSON}` or `{A2A_JSON}`");
    Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "MEDIA_TYPE_NOT_TAKEN", detail))
}

fn asking(app: &App, call: &Call, version: Version, flow: Option<String>) -> Asking {
    Asking {
        bearer: call.bearer.clone(),
        version,
        extensions: extensions(call),
        flow,
        trace: call.traceparent().map(str::to_owned),
        base: agent_card::base(app, call.header(&header::HOST).unwrap_or_default()),
    }
}

fn extensions(call: &Call) -> Extensions {
    let values = EXTENSIONS.iter().flat_map(|name| call.headers.get_all(*name));
    Extensions::named(values.filter_map(|value| value.to_str().ok()))
}

/// Says which of the extensions that were named are heeded.
fn with_extensions(mut response: Response, call: &Call) -> Response {
    let active = extensions(call).activated(&OURS);
    if let Some(value) = active.and_then(|active| HeaderValue::from_str(&active).ok()) {
        response.headers_mut().insert("a2a-extensions", value);
    }
    response
}

/// Does what is asked, whatever the version and the binding.
async fn act(
    app: &Arc<App>,
    mut asking: Asking,
    request: Request,
    frame: Frame,
    last_seen: Option<&str>,
) -> Result<Done, Fault> {
    if let Some(tenant) = request.tenant {
        if asking.flow.as_ref().is_some_and(|flow| *flow != tenant) {
            return Err(Fault::violation("tenant", "Must be the one of the path."));
        }
        asking.flow = Some(tenant);
    }
    match request.params {
        Params::Send(message) => send_and_wait(app, asking, message).await.map(Done::Reply),
        Params::Stream(message) => {
            let (shared, client) = (Arc::clone(app), asking.clone());
            // Before anything is done: what is refused has changed nothing.
            let permit = asking.permit(app)?;
            let beginning = begins(&message);
            let work = move || send::send(&shared, &client, &message);
            let sent = in_request_time(app, in_turn(app, &asking, beginning, work)).await?;
            stream::of_message(app, asking, frame, (sent, permit)).await.map(Done::Stream)
        }
        Params::Subscribe { id } => {
            asking.may(&[Scope::Read])?;
            stream::of_task(app, asking, frame, &id, last_seen).await.map(Done::Stream)
        }
        Params::Cancel { id, .. } => tasks::cancel(app, &asking, &id).await.map(Reply::Task).map(Done::Reply),
        params => {
            let shared = Arc::clone(app);
            let work = wait::aside(move || at_once(&shared, &asking, params));
            in_request_time(app, work).await.map(Done::Reply)
        }
    }
}

async fn in_request_time<T>(app: &App, work: impl Future<Output = Result<T, Fault>>) -> Result<T, Fault> {
    let longest = app.settings.limits.request;
    in_time(longest, async { Ok(work.await) }).await.map_err(Fault::from)?
}

/// A message that may begin a run, for it names no task: by what it is known if it comes again.
fn begins(request: &SendRequest) -> Option<Option<String>> {
    let message = &request.message;
    let known = || message.context_id.as_ref().map(|context| format!("{context}\n{}", message.id));
    message.task_id.is_none().then(known)
}

/// Does blocking work; in turns, if it begins a run.
async fn in_turn<T: Send + 'static>(
    app: &App,
    asking: &Asking,
    begins: Option<Option<String>>,
    work: impl FnOnce() -> Result<T, Fault> + Send + 'static,
) -> Result<T, Fault> {
    let beginning = match begins {
        Some(known) => Some(start::may_begin(app, &asking.bearer, known.as_deref()).await?),
        None => None,
    };
    wait::aside(move || {
        let _beginning = beginning;
        work()
    })
    .await
}

async fn send_and_wait(app: &Arc<App>, asking: Asking, request: SendRequest) -> Result<Reply, Fault> {
    let Configuration { history_length, return_immediately, .. } = request.configuration;
    let (shared, client) = (Arc::clone(app), asking.clone());
    // What 0.3 leaves to the server: a client that does not say that it waits may not be able to.
    let waits = !return_immediately.unwrap_or(true);
    // Before anything is done: what is refused has changed nothing.
    let permit = waits.then(|| asking.permit(app)).transpose()?;
    let beginning = begins(&request);
    let work = move || send::send(&shared, &client, &request);
    let sent = in_request_time(app, in_turn(app, &asking, beginning, work)).await?;
    let seen = match permit {
        None => wait::off(app, &sent.run, super::task::loader::look).await?,
        Some(permit) => wait::until_rest(app, &sent.run, permit).await?,
    };
    let shared = Arc::clone(app);
    let mut task = wait::aside(move || Ok(seen.task(&shared, &asking.base, true))).await?;
    task.limit_history(history_length);
    Ok(Reply::SentTask(task))
}

/// What neither waits nor streams.
fn at_once(app: &App, asking: &Asking, params: Params) -> Result<Reply, Fault> {
    asking.may(&[Scope::Read])?;
    match params {
        Params::Get(query) => tasks::get(app, asking, &query).map(Reply::Task),
        Params::List(query) => tasks::list(app, asking, &query).map(Reply::Tasks),
        Params::PushSet(push) => push_configs::set(app, asking, &push),
        Params::PushGet { task_id, id } => push_configs::get(app, asking, &task_id, id.as_deref()),
        Params::PushList { task_id, page_size, page_token } => {
            push_configs::list(app, asking, &task_id, (page_size, page_token.as_deref()))
        }
        Params::PushDelete { task_id, id } => push_configs::delete(app, asking, &task_id, &id),
        Params::ExtendedCard => agent_card::extended(app, asking).map(Reply::Card),
        Params::Send(_) | Params::Stream(_) | Params::Subscribe { .. } | Params::Cancel { .. } => {
            Err(Fault::new(Kind::MethodNotFound))
        }
    }
}
