//! Handles requests of A2A: finds the operation of an HTTP request, performs it, and writes the response.
//!
//! There are two bindings and two versions; [`perform`] knows neither. Errors of JSON-RPC have HTTP status 200, except
//! those about the token or the limits of the server, so that clients that look only at the status see them.

use super::{
    card_requests,
    client::Client,
    message::send,
    push_configs, refusal,
    stream::{self, Binding},
    tasks, wait,
};
use crate::a2a::route::{self, RestTarget, Route, RouteError};
use crate::{
    admission,
    auth::{scope::Scope, token::Bearer},
    commands::start,
    http::{body::discard, problem::Problem, response, work::in_time},
    request::ApiRequest,
    state::app::App,
};
use axum::{
    body::Body,
    extract::Request as HttpRequest,
    http::{HeaderMap, HeaderValue, header, request::Parts},
    response::Response,
};
use envoi_a2a::{
    fault::{Fault, Kind},
    json_rpc::{self, Incoming, Unreadable},
    request::{Configuration, Method, Params, Reply, Request, SendRequest},
    service_parameters::{EXTENSIONS, Extensions, VERSION, negotiate_version},
    version::Version,
};
use envoi_contract::{code::Code, user_envelope::EXTENSION_URI};
use std::sync::Arc;

/// The media type of 1.0. `application/json` is accepted too.
const A2A_JSON: &str = "application/a2a+json";
const JSON: &str = "application/json";

/// The extensions that this server supports.
pub(crate) const OURS: [&str; 1] = [EXTENSION_URI];

/// Handles every path below `/a2a`.
pub(crate) async fn answer(app: Arc<App>, mut request: HttpRequest) -> Response {
    let Some(bearer) = request.extensions_mut().remove::<Bearer>() else {
        return refusal::of(&request.into_parts().0, Problem::unauthenticated());
    };
    let tenant = bearer.tenant.clone();
    let (parts, mut body) = request.into_parts();
    let below = route::below(parts.uri.path()).unwrap_or_default().to_owned();
    let (operation, response) = match route::find(&parts.method, &below) {
        Ok(Route { flow, target: route::Target::Rpc }) => {
            over_rpc(&app, parts, &mut body, bearer, flow).await
        }
        Ok(Route { flow, target: route::Target::Rest(rest) }) => {
            (operation_name(rest.method), over_rest(&app, parts, &mut body, bearer, flow, rest).await)
        }
        Err(RouteError::Path) => ("a2a", refusal::of(&parts, Problem::not_found("path", parts.uri.path()))),
        Err(RouteError::Verb) => {
            let detail = "this path has no such method";
            let problem = Problem::new(Code::MethodNotAllowed, detail);
            ("a2a", refusal::of(&parts, problem))
        }
    };
    if response.status().is_client_error() {
        // Read the rest of the body: a client that is still sending would not read the answer.
        discard(body).await;
    }
    app.request_counts.count(&tenant, operation, response.status().as_u16());
    response
}

/// The public card; it needs no token.
pub(crate) async fn card(app: Arc<App>, request: HttpRequest) -> Response {
    let (parts, _) = request.into_parts();
    let found = admission::check_host(&app, &parts).and_then(|()| card_requests::public(&app, &parts));
    found.unwrap_or_else(|problem| refusal::of(&parts, problem))
}

/// The name of the operation in metrics.
const fn operation_name(method: Method) -> &'static str {
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

/// The result of an operation.
enum Outcome {
    Reply(Reply),
    Stream(Response),
}

async fn over_rpc(
    app: &Arc<App>,
    mut parts: Parts,
    body: &mut Body,
    bearer: Bearer,
    flow: Option<String>,
) -> (&'static str, Response) {
    if let Err(problem) = check_type(&parts.headers) {
        return ("a2a", refusal::of(&parts, problem));
    }
    let received = match read(app, &mut parts, body, bearer).await {
        Ok(request) => request,
        Err(problem) => return ("a2a", refusal::of(&parts, problem)),
    };
    let version = version(&received);
    // For a version that is not supported, the error has the form of 1.0.
    let words = *version.as_ref().unwrap_or(&Version::V10);
    let Incoming { id, method: called, params } = match json_rpc::read(&received.body) {
        Ok(incoming) => incoming,
        Err(Unreadable { id, fault }) => return ("a2a", rpc_error(&id, words, &fault)),
    };
    let method = match version.and_then(|version| Method::named(&called, version)) {
        Ok(method) => method,
        Err(fault) => return ("a2a", rpc_error(&id, words, &fault)),
    };
    let done = match envoi_a2a::read(words, method, &params) {
        Ok(request) => {
            let client = client(app, &received, words, flow);
            let last_seen = received.last_event_id();
            perform(app, client, request, Binding::Rpc(id.clone()), last_seen).await
        }
        Err(fault) => Err(fault),
    };
    let response = match done {
        Ok(Outcome::Stream(response)) => response,
        Ok(Outcome::Reply(reply)) => {
            response::json(200, json_rpc::result(&id, envoi_a2a::write(words, &reply)))
        }
        Err(fault) => rpc_error(&id, words, &fault),
    };
    (operation_name(method), with_extensions(response, &received))
}

fn rpc_error(id: &json_rpc::Id, version: Version, fault: &Fault) -> Response {
    with_retry_after(response::json(fault.http_status_of_rpc(), json_rpc::error(id, version, fault)), fault)
}

fn rest_error(fault: &Fault) -> Response {
    with_retry_after(response::json(fault.http_status(), fault.rest().compact()), fault)
}

fn with_retry_after(mut response: Response, fault: &Fault) -> Response {
    if let Some(seconds) = fault.retry_after_s() {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

async fn over_rest(
    app: &Arc<App>,
    mut parts: Parts,
    body: &mut Body,
    bearer: Bearer,
    flow: Option<String>,
    rest: RestTarget,
) -> Response {
    if let Err(problem) = check_type(&parts.headers) {
        return refusal::of(&parts, problem);
    }
    let received = match read(app, &mut parts, body, bearer).await {
        Ok(request) => request,
        Err(problem) => return refusal::of(&parts, problem),
    };
    let done = match rest_request(&received, &flow, &rest) {
        Ok(request) => {
            let client = client(app, &received, Version::V10, flow);
            perform(app, client, request, Binding::Rest, received.last_event_id()).await
        }
        Err(fault) => Err(fault),
    };
    let response = match done {
        Ok(Outcome::Stream(response)) => response,
        Ok(Outcome::Reply(reply)) => {
            response::of(200, A2A_JSON, envoi_a2a::write(Version::V10, &reply).compact().into())
        }
        Err(fault) => rest_error(&fault),
    };
    with_extensions(response, &received)
}

fn rest_request(request: &ApiRequest, flow: &Option<String>, rest: &RestTarget) -> Result<Request, Fault> {
    // Version 0.3 has no such binding.
    if version(request)? == Version::V03 {
        let detail = "HTTP+JSON is spoken in 1.0 alone; say so with `A2A-Version: 1.0`";
        return Err(Fault::new(Kind::VersionNotSupported).detail(detail).note("supportedVersions", "1.0"));
    }
    let path = envoi_a2a::InPath {
        tenant: flow.as_deref(),
        task: rest.task.as_deref(),
        config: rest.config.as_deref(),
    };
    envoi_a2a::read_rest(rest.method, path, request.queries(), &request.body)
}

/// The request: its headers, its query and its whole body.
async fn read(
    app: &Arc<App>,
    parts: &mut Parts,
    body: &mut Body,
    bearer: Bearer,
) -> Result<ApiRequest, Problem> {
    let limits = &app.settings.limits;
    let reading = async {
        let mut request = ApiRequest::of(parts, bearer).await?;
        let _incoming = app.incoming_body(&request.bearer)?;
        request.read_body(body, limits.body_bytes).await?;
        Ok(request)
    };
    in_time(limits.request, reading).await
}

fn version(request: &ApiRequest) -> Result<Version, Fault> {
    let header = request.headers.get(VERSION).map(|value| value.to_str().unwrap_or("?"));
    negotiate_version(header, request.query(VERSION))
}

/// The body must be JSON, unless its type is not stated.
fn check_type(headers: &HeaderMap) -> Result<(), Problem> {
    let Some(content_type) = headers.get(header::CONTENT_TYPE) else { return Ok(()) };
    let content_type = content_type.to_str().unwrap_or("").split(';').next().unwrap_or("").trim();
    if content_type.eq_ignore_ascii_case(JSON) || content_type.eq_ignore_ascii_case(A2A_JSON) {
        return Ok(());
    }
    let detail = format!("a body is `{JSON}` or `{A2A_JSON}`");
    Err(Problem::new(Code::MediaTypeNotTaken, detail))
}

fn client(app: &App, request: &ApiRequest, version: Version, flow: Option<String>) -> Client {
    Client {
        bearer: request.bearer.clone(),
        version,
        extensions: extensions(request),
        flow,
        trace: request.traceparent().map(str::to_owned),
        base: card_requests::base(app, request.header(&header::HOST).unwrap_or_default()),
    }
}

fn extensions(request: &ApiRequest) -> Extensions {
    let values = EXTENSIONS.iter().flat_map(|name| request.headers.get_all(*name));
    Extensions::named(values.filter_map(|value| value.to_str().ok()))
}

/// Adds the header that names the active extensions of this request.
fn with_extensions(mut response: Response, request: &ApiRequest) -> Response {
    let active = extensions(request).activated(&OURS);
    if let Some(value) = active.and_then(|active| HeaderValue::from_str(&active).ok()) {
        response.headers_mut().insert("a2a-extensions", value);
    }
    response
}

/// Performs an operation, independent of version and binding.
async fn perform(
    app: &Arc<App>,
    mut client: Client,
    request: Request,
    frame: Binding,
    last_seen: Option<&str>,
) -> Result<Outcome, Fault> {
    if let Some(tenant) = request.tenant {
        if client.flow.as_ref().is_some_and(|flow| *flow != tenant) {
            return Err(Fault::violation("tenant", "Must be the one of the path."));
        }
        client.flow = Some(tenant);
    }
    match request.params {
        Params::Send(message) => send_and_wait(app, client, message).await.map(Outcome::Reply),
        Params::Stream(message) => {
            let shared = Arc::clone(app);
            let owned = client.clone();
            // Checked before anything else is done, so that a refusal changes nothing.
            let permit = client.permit(app)?;
            let beginning = start_key(&message);
            let work = move || send::send(&shared, &owned, &message);
            let sent = in_request_time(app, in_turn(app, &client, beginning, work)).await?;
            stream::of_message(app, client, frame, sent, permit).await.map(Outcome::Stream)
        }
        Params::Subscribe { id } => {
            client.require(&[Scope::Read])?;
            stream::of_task(app, client, frame, &id, last_seen).await.map(Outcome::Stream)
        }
        Params::Cancel { id, .. } => {
            tasks::cancel(app, &client, &id).await.map(Reply::Task).map(Outcome::Reply)
        }
        params => {
            let shared = Arc::clone(app);
            let work = wait::on_thread(move || at_once(&shared, &client, params));
            in_request_time(app, work).await.map(Outcome::Reply)
        }
    }
}

async fn in_request_time<T>(app: &App, work: impl Future<Output = Result<T, Fault>>) -> Result<T, Fault> {
    let longest = app.settings.limits.request;
    in_time(longest, work).await
}

/// For a message that may start a run, because it names no task: the key that the same message has when it is
/// sent again.
fn start_key(request: &SendRequest) -> Option<Option<String>> {
    let message = &request.message;
    let known = || message.context_id.as_ref().map(|context| format!("{context}\n{}", message.id));
    message.task_id.is_none().then(known)
}

/// Does blocking work. If it starts a run, runs with the same key take turns.
async fn in_turn<T: Send + 'static>(
    app: &App,
    client: &Client,
    begins: Option<Option<String>>,
    work: impl FnOnce() -> Result<T, Fault> + Send + 'static,
) -> Result<T, Fault> {
    let beginning = match begins {
        Some(known) => Some(start::start_permit(app, &client.bearer, known.as_deref()).await?),
        None => None,
    };
    wait::on_thread(move || {
        let _beginning = beginning;
        work()
    })
    .await
}

async fn send_and_wait(app: &Arc<App>, client: Client, request: SendRequest) -> Result<Reply, Fault> {
    let Configuration { history_length, return_immediately, .. } = request.configuration;
    let shared = Arc::clone(app);
    let owned = client.clone();
    // In 0.3 the server chooses. A client that does not ask to wait may not be able to, so it gets the task
    // at once.
    let waits = !return_immediately.unwrap_or(true);
    // Checked before anything else is done, so that a refusal changes nothing.
    let permit = waits.then(|| client.permit(app)).transpose()?;
    let beginning = start_key(&request);
    let work = move || send::send(&shared, &owned, &request);
    let sent = in_request_time(app, in_turn(app, &client, beginning, work)).await?;
    let seen = match permit {
        None => wait::on_run_thread(app, &sent.run, super::task::loader::load).await?,
        Some(permit) => wait::until_rest(app, &sent.run, permit).await?,
    };
    let shared = Arc::clone(app);
    let mut task = wait::on_thread(move || Ok(seen.task(&shared, &client.base, true))).await?;
    task.limit_history(history_length);
    Ok(Reply::SentTask(task))
}

/// Operations that neither wait nor stream.
fn at_once(app: &App, client: &Client, params: Params) -> Result<Reply, Fault> {
    client.require(&[Scope::Read])?;
    match params {
        Params::Get(query) => tasks::get(app, client, &query).map(Reply::Task),
        Params::List(query) => tasks::list(app, client, &query).map(Reply::Tasks),
        Params::PushSet(push) => push_configs::set(app, client, &push),
        Params::PushGet { task_id, id } => push_configs::get(app, client, &task_id, id.as_deref()),
        Params::PushList { task_id, page_size, page_token } => {
            push_configs::list(app, client, &task_id, page_size, page_token.as_deref())
        }
        Params::PushDelete { task_id, id } => push_configs::delete(app, client, &task_id, &id),
        Params::ExtendedCard => card_requests::extended(app, client).map(Reply::Card),
        Params::Send(_) | Params::Stream(_) | Params::Subscribe { .. } | Params::Cancel { .. } => {
            Err(Fault::new(Kind::MethodNotFound))
        }
    }
}
