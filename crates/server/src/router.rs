//! Routes a request to its operation: admission, scope, limits, then the work, on a blocking thread.

use crate::{
    a2a, admission,
    auth::token::Bearer,
    bridge,
    commands::start,
    cors,
    http::{
        body::discard,
        long_work::{GivenUp, until_sent},
        problem::Problem,
        response,
        work::{blocking, in_time},
    },
    limits::connection_limit::ConnectionOwner,
    operation::{self, Content, Gate, Method, Operation},
    page,
    request::ApiRequest,
    request_log,
    rest::{
        self, artifacts, correct, event_stream, files, flows, logs, metrics, questions, rows, run_contents,
        runs, sessions, steps,
    },
    state::app::App,
};
use axum::{
    Router,
    body::Body,
    extract::{Request, State},
    http::{HeaderValue, header, request::Parts},
    middleware::{self, Next},
    response::{IntoResponse as _, Response},
    routing::{any, get, post},
};
use envoi_api::output::ErrorPage;
use envoi_contract::code::Code;
use std::{sync::Arc, time::Duration};

/// Time limit for making a comparison, a patch or a bundle.
const LONGEST_READING: Duration = Duration::from_secs(15 * 60);

type Work = fn(&App, &ApiRequest) -> Result<Response, Problem>;

/// How an operation is carried out.
#[derive(Clone, Copy)]
enum Handling {
    /// On a blocking thread, after the whole body was read.
    Blocking(Work),
    /// Like `Blocking`, in turns: it starts a run, which may take long.
    Beginning(Work),
    /// Like `Blocking`, in turns and with a longer time limit: it makes a file from many files.
    Reading(Work),
    /// Like `Reading`, with separate turns: it compares many files.
    Comparing(Work),
    /// As a stream of events.
    FollowRun,
    FollowQuestions,
    FollowTenant,
    /// Without a token, because a client gets its session there.
    SignIn,
    /// With a body that is too large for memory.
    Upload,
    /// By calling a model.
    Bridge,
}

fn handling(id: &str) -> Option<Handling> {
    Some(Handling::Blocking(match id {
        "getHealth" => metrics::health,
        "getReadiness" => metrics::ready,
        "getMetrics" => metrics::get,
        "getToken" => token_info,
        "explainCode" => error_page,
        "createSession" => return Some(Handling::SignIn),
        "endSession" => sessions::end,
        "getOpenApi" => document,
        "listFlows" => flows::list,
        "registerFlow" => flows::register,
        "getFlow" => flows::get,
        "listRuns" => runs::list,
        "getRun" => runs::get,
        "getRunFlow" => run_contents::flow,
        "getRunShape" => steps::of_run,
        "getFlowShape" => steps::of_flow,
        "getFlowPlan" => steps::plan,
        "listSteps" => steps::list,
        "getRunLedger" => steps::ledger,
        "listChangedFiles" => run_contents::changed,
        "getRunContent" => run_contents::content,
        "getEnvelope" => runs::envelope,
        "listEvents" => runs::events,
        "listHandoffs" => runs::handoffs,
        "getHandoff" => runs::handoff,
        "explainRun" => runs::why,
        "cancelRun" => runs::cancel,
        "resumeRun" => runs::resume,
        "compareRun" => return Some(Handling::Comparing(correct::compare)),
        "correctRun" => correct::correct,
        "raiseRun" => runs::raise,
        "listArtifacts" => files::artifacts,
        "listDifferences" => return Some(Handling::Comparing(files::differences)),
        "getPatch" => return Some(Handling::Reading(files::patch)),
        "exportRun" => return Some(Handling::Reading(files::bundle)),
        "listLogs" => logs::list,
        "getLog" => logs::get,
        "listQuestions" => questions::list,
        "getQuestion" => questions::get,
        "answerQuestion" => questions::answer,
        "getArtifact" => artifacts::get,
        "startRun" => return Some(Handling::Beginning(rest::start::start)),
        "forkRun" => return Some(Handling::Beginning(rest::start::fork)),
        "followRun" => return Some(Handling::FollowRun),
        "followQuestions" => return Some(Handling::FollowQuestions),
        "followTenant" => return Some(Handling::FollowTenant),
        "uploadArtifact" => return Some(Handling::Upload),
        "callModel" | "completeChat" | "createResponse" | "createMessage" | "countMessageTokens"
        | "listModels" => return Some(Handling::Bridge),
        _ => return None,
    }))
}

/// The router for all requests.
pub(crate) fn router(app: &Arc<App>) -> Router {
    let mut router = Router::new();
    for operation in operation::ALL {
        if operation.gate == Gate::Open && !app.settings.page {
            continue;
        }
        let Some(way) = handling(operation.id) else { continue };
        let state = Arc::clone(app);
        let serve = move |request: Request| perform(state, operation, way, request);
        let route = match operation.method {
            Method::Get => get(serve),
            Method::Post => post(serve),
        };
        router = router.route(operation.path, route);
    }
    for path in ["/a2a", "/a2a/", "/a2a/{*below}"] {
        let state = Arc::clone(app);
        router = router.route(path, any(move |request: Request| a2a::handler::answer(state, request)));
    }
    let unknown =
        |request: Request| async move { Problem::not_found("path", request.uri().path()).into_response() };
    let other_method = || async {
        let detail = "this path has no such method";
        Problem::new(Code::MethodNotAllowed, detail)
    };
    let known = Arc::clone(app);
    // The card needs no token: it tells a client how to get one.
    let card = move |request: Request| a2a::handler::card(known, request);
    let guarded = router
        .fallback(unknown)
        .method_not_allowed_fallback(other_method)
        .layer(middleware::from_fn_with_state(Arc::clone(app), admitted));
    let open = if app.settings.page { page::routes(guarded, app) } else { guarded };
    open.route(envoi_a2a::card::PATH, get(card))
        .layer(middleware::from_fn_with_state(Arc::clone(app), cors::apply))
        .layer(middleware::from_fn(request_log::log_request))
}

/// A client without a valid token learns nothing, not even whether a path exists. The card below the path of
/// a flow needs no token; it does not show whether the flow exists.
async fn admitted(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let path = request.uri().path();
    if *request.method() == axum::http::Method::GET && a2a::route::flow_of_card(path).is_some() {
        return a2a::handler::card(app, request).await;
    }
    if bridge::is_below(path) {
        return admitted_to_bridge(app, request, next).await;
    }
    if app.settings.page && is_open(request.method(), path) {
        return admitted_without_token(app, request, next).await;
    }
    let (parts, body) = request.into_parts();
    let admitted = in_time(app.settings.limits.request, admission::admit(&app, &parts)).await;
    match admitted {
        Ok(bearer) => {
            request_log::record_client(&bearer.tenant, &bearer.name);
            if !takes_connection(&app, &parts, &bearer.tenant, &bearer.name) {
                return closed(with_body_gone(a2a::refusal::of(&parts, too_many_connections()), body).await);
            }
            let mut request = Request::from_parts(parts, body);
            request.extensions_mut().insert(bearer);
            next.run(request).await
        }
        Err(problem) => {
            app.note(&problem);
            with_body_gone(a2a::refusal::of(&parts, problem), body).await
        }
    }
}

/// Whether a request is for an operation that gives a session to clients without a token.
fn is_open(method: &axum::http::Method, path: &str) -> bool {
    operation::ALL.iter().any(|operation| {
        operation.gate == Gate::Open && operation.path == path && *method == axum::http::Method::POST
    })
}

/// Like [`admitted`], for these operations.
async fn admitted_without_token(app: Arc<App>, request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    match admission::check_host_and_origin(&app, &parts) {
        Ok(()) => next.run(Request::from_parts(parts, body)).await,
        Err(problem) => refused(problem, body).await,
    }
}

/// Whether the client may use this connection.
fn takes_connection(app: &App, parts: &Parts, tenant: &str, token: &str) -> bool {
    let seat = parts.extensions.get::<ConnectionOwner>();
    seat.is_none_or(|seat| app.connections.assign(seat, &format!("{tenant}/{token}")))
}

fn too_many_connections() -> Problem {
    let detail = "this token has too many connections for the number that is still free; close some";
    Problem::new(Code::TooManyConnections, detail).retry_after(1)
}

/// Closes the connection after this response, so that another client gets its slot.
fn closed(mut response: Response) -> Response {
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    response
}

/// Like [`admitted`], for the bridge: it accepts other tokens too, and its refusals have another form.
async fn admitted_to_bridge(app: Arc<App>, request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    match in_time(app.settings.limits.request, bridge::admit(&app, &parts)).await {
        Ok(Some(caller)) => {
            request_log::record_client(&caller.tenant, &caller.name);
            let path = parts.uri.path().to_owned();
            if !takes_connection(&app, &parts, &caller.tenant, &caller.name) {
                return closed(with_body_gone(bridge::refused(&path, too_many_connections()), body).await);
            }
            let mut request = Request::from_parts(parts, body);
            request.extensions_mut().insert(caller);
            let mut response = next.run(request).await;
            match response.extensions_mut().remove::<Problem>() {
                Some(problem) => bridge::refused(&path, problem),
                None => response,
            }
        }
        Ok(None) => with_body_gone(bridge::forbidden(), body).await,
        Err(problem) => {
            app.note(&problem);
            with_body_gone(bridge::refused(parts.uri.path(), problem), body).await
        }
    }
}

/// A refusal, after the rest of the body was discarded.
async fn refused(problem: Problem, body: Body) -> Response {
    with_body_gone(problem.into_response(), body).await
}

async fn with_body_gone(mut response: Response, body: Body) -> Response {
    let breaks_off = discard(body).await;
    if breaks_off {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

async fn perform(
    app: Arc<App>,
    operation: &'static Operation,
    way: Handling,
    mut request: Request,
) -> Response {
    if matches!(way, Handling::Bridge) {
        return bridge::perform(app, operation, request).await;
    }
    if matches!(way, Handling::SignIn) {
        return sign_in(&app, request).await;
    }
    let Some(bearer) = request.extensions_mut().remove::<Bearer>() else {
        return Problem::unauthenticated().into_response();
    };
    let tenant = bearer.tenant.clone();
    let (parts, mut body) = request.into_parts();
    let done = match bearer.scopes.allow(operation.scopes) {
        true => work(&app, operation, way, parts, &mut body, bearer).await,
        false => Err(scope_too_small(operation)),
    };
    let response = match done {
        Ok(response) => response,
        Err(problem) => {
            app.note(&problem);
            refused(problem, body).await
        }
    };
    app.request_counts.count(&tenant, operation.id, response.status().as_u16());
    response
}

async fn sign_in(app: &Arc<App>, request: Request) -> Response {
    let (parts, mut body) = request.into_parts();
    match in_time(app.settings.limits.request, sessions::create(app, parts, &mut body)).await {
        Ok(response) => response,
        Err(problem) => {
            app.note(&problem);
            refused(problem, body).await
        }
    }
}

async fn work(
    app: &Arc<App>,
    operation: &Operation,
    way: Handling,
    mut parts: Parts,
    body: &mut Body,
    bearer: Bearer,
) -> Result<Response, Problem> {
    let limits = &app.settings.limits;
    let mut request = ApiRequest::of(&mut parts, bearer).await?;
    request.check_query(operation)?;
    match way {
        // These were handled before there was an `ApiRequest`.
        Handling::Bridge | Handling::SignIn => Err(Problem::unauthenticated()),
        Handling::Upload => artifacts::upload(app, request, body).await,
        Handling::FollowRun => in_time(limits.request, event_stream::run(app, request)).await,
        Handling::FollowQuestions => in_time(limits.request, event_stream::questions(app, request)).await,
        Handling::FollowTenant => in_time(limits.request, event_stream::tenant(app, request)).await,
        Handling::Reading(work) | Handling::Comparing(work) => {
            let reading = read_whole(app, operation, &mut request, body);
            in_time(limits.request, reading).await?;
            let tenant = &request.bearer.tenant;
            let places = match way {
                Handling::Comparing(_) => &app.comparisons,
                _ => &app.files,
            };
            let places = async { Ok::<_, Problem>(places.acquire(tenant).await) };
            let (sending, turn) = in_time(limits.request, places).await?;
            let given_up = GivenUp::default();
            request.stop = given_up.stop();
            let app = Arc::clone(app);
            let done = blocking(move || {
                // If the client disconnects, the work still runs to its end, and keeps its turn until then.
                let _turn = turn;
                work(&app, &request)
            });
            let response = in_time(LONGEST_READING, done).await?;
            Ok(until_sent(response, sending))
        }
        Handling::Blocking(work) | Handling::Beginning(work) => {
            let done = async {
                read_whole(app, operation, &mut request, body).await?;
                let beginning = match way {
                    Handling::Beginning(_) => {
                        Some(start::start_permit(app, &request.bearer, request.key()?).await?)
                    }
                    _ => None,
                };
                let app = Arc::clone(app);
                blocking(move || {
                    let _beginning = beginning;
                    work(&app, &request)
                })
                .await
            };
            in_time(limits.request, done).await
        }
    }
}

/// Reads the body, if the request may have one.
async fn read_whole(
    app: &App,
    operation: &Operation,
    request: &mut ApiRequest,
    body: &mut Body,
) -> Result<(), Problem> {
    if operation.body != Content::None || operation.method != operation::Method::Get {
        let _incoming = app.incoming_body(&request.bearer)?;
        request.read_body(body, app.settings.limits.body_bytes).await?;
    }
    // The operation has no body, so a member of one is an error of the client.
    match operation.body == Content::None {
        true => request.members(&[]).map(|_| ()),
        false => Ok(()),
    }
}

fn scope_too_small(operation: &Operation) -> Problem {
    Problem::scope_too_small(
        &format!("`{}`", operation.id),
        operation.scopes.iter().map(|scope| scope.word()),
    )
}

fn document(_: &App, _: &ApiRequest) -> Result<Response, Problem> {
    Ok(response::json(200, crate::openapi::TEXT))
}

fn token_info(_: &App, request: &ApiRequest) -> Result<Response, Problem> {
    rows::answer(200, &rows::bearer(&request.bearer))
}

/// `explainCode`.
fn error_page(app: &App, request: &ApiRequest) -> Result<Response, Problem> {
    let code = request.param("code");
    let pages = app.settings.error_pages;
    let (code, page) = pages
        .iter()
        .find(|(known, _)| *known == code)
        .ok_or_else(|| Problem::not_found("error code", code))?;
    rows::answer(200, &ErrorPage { code: (*code).to_owned(), page: (*page).to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bridge_has_the_paths_of_its_operations_and_no_other_one_s() {
        for operation in operation::ALL {
            let is_its = operation.gate == operation::Gate::Bridge;
            assert_eq!(bridge::is_below(operation.path), is_its, "{}", operation.id);
        }
        assert!(bridge::is_below("/api/llm-bridge/embeddings") && !bridge::is_below("/api/llm-bridges"));
    }

    #[test]
    fn every_operation_is_done_by_something_and_has_a_name_of_its_own() {
        let mut names: Vec<&str> = operation::ALL.iter().map(|operation| operation.id).collect();
        assert!(names.iter().all(|name| handling(name).is_some()), "{names:?}");
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), operation::ALL.len());
    }
}
