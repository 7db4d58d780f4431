//! Operations on runs: list, show, resume, raise, cancel. [`super::start`] starts them.
//!
//! Every change of a run is a request to the engine's desk, as a command sends it.

use super::rows;
use crate::{
    commands::{
        amount,
        submit::{caller_of_run, caller_or_default, submit},
    },
    http::{problem::Problem, response},
    request::{ApiRequest, flag, text, word},
    state::app::App,
};
use axum::{http::StatusCode, response::Response};
use envoi_api::{
    event,
    handoff::{HandoffRow, Handoffs},
    run::{Run, RunStatus, Runs, Stands},
};
use envoi_contract::{code::Code, time::Timestamp};
use envoi_engine::{
    load_run, look_at,
    protocol::{Request, ResumeRequest},
    run_row,
};
use envoi_journal::{EventFilter, EventText, ReadError, RunPage, RunRow};
use envoi_kernel::{
    event::Choice,
    ids::{AttemptId, RunId, StepId, VisitId},
};

/// A page of events with this size in bytes is full, however few events it has.
const PAGE_BYTES: usize = 1024 * 1024;

/// `listRuns`.
pub(crate) fn list(app: &App, request: &ApiRequest) -> Result<Response, Problem> {
    let status = request.query("status");
    if let Some(unknown) = status.filter(|status| RunStatus::of(status).is_none()) {
        let expected = RunStatus::ALL.iter().map(|status| status.word()).collect::<Vec<_>>().join(", ");
        return Err(Problem::bad_request(format!("`{unknown}` is no status; expected {expected}")));
    }
    let stands = request.query("stands").map(|word| {
        let expected = Stands::WORDS.join(", ");
        let unknown = || Problem::bad_request(format!("`{word}` is no way to stand; expected {expected}"));
        Stands::of(word).ok_or_else(unknown)
    });
    let stands = stands.transpose()?;
    let in_doubt = request.truth("in_doubt")?;
    let bad_cursor = || Problem::bad_request("`cursor` is not the `next` of a page");
    let before = request.query("cursor").map(RunId::new).transpose().map_err(|_| bad_cursor())?;
    let limit = request.limit()?;
    let bad_since = || Problem::bad_request("`since` is not a time of RFC 3339");
    let since =
        request.query("since").map(|since| Timestamp::parse(since).ok_or_else(bad_since)).transpose()?;
    let mut page = RunPage {
        aside: stands == Some(Stands::SetAside),
        unfinished: in_doubt || stands.is_some_and(Stands::is_unfinished),
        tenant: request.bearer.tenant.clone(),
        status: status.map(str::to_owned),
        flow: request.query("flow").map(str::to_owned),
        text: request.query("q").map(str::to_owned),
        since,
        root: request.query("root").map(str::to_owned),
        before,
        limit,
    };
    let wants_so_far = request.truth("so_far")?;
    let wants_counts = request.truth("counts")?;
    let fits = |row: &RunRow| {
        stands.is_none_or(|stands| Stands::from(row) == stands) && (!in_doubt || row.in_doubt > 0)
    };
    let most = usize::try_from(limit).unwrap_or(usize::MAX);
    let (rows, so_far, counts) = app.read(|reader| {
        let mut rows: Vec<RunRow> = Vec::new();
        // Whether a run is worked on is not in a table: it depends on the processes that exist. So rows that
        // do not match are read and skipped.
        while rows.len() < most {
            let mut found = reader.run_page(&page).map_err(|error| match error {
                ReadError::Missing { .. } => bad_cursor(),
                error => error.into(),
            })?;
            look_at(app.layout(), reader, &mut found)?;
            let is_last = found.len() < most;
            page.before = found.last().map(|row| row.run.clone()).or(page.before.take());
            rows.extend(found.into_iter().filter(fits));
            if is_last {
                break;
            }
        }
        rows.truncate(most);
        let so_far = wants_so_far.then(|| app.so_far.of_runs(reader, &rows, &app.step_rows));
        let counts = wants_counts.then(|| reader.run_counts(&page)).transpose()?;
        Ok::<_, Problem>((rows, so_far.unwrap_or_default(), counts))
    })?;
    let counts = counts.map(|counts| counts.into_iter().collect());
    let full = u32::try_from(rows.len()).is_ok_and(|found| found == limit);
    let next = rows.last().filter(|_| full).map(|row| row.run.clone());
    rows::answer(200, &Runs { runs: rows.iter().map(Run::from).collect(), next, so_far, counts })
}

/// `getRun`.
pub(crate) fn get(app: &App, request: &ApiRequest) -> Result<Response, Problem> {
    let run = request.run(app)?;
    shown(app, 200, &run)
}

pub(crate) fn shown(app: &App, status: u16, run: &RunId) -> Result<Response, Problem> {
    let row = app.read(|reader| {
        let row = run_row(app.layout(), reader, run)?;
        // The head after the events that the row counts. A run whose events cannot be read is shown without
        // it.
        let last = row.next_seq.checked_sub(1).filter(|_| row.ended.is_some());
        let head = last.and_then(|last| app.heads.of_run(reader, run, last).ok());
        Ok::<_, Problem>(Run { head: head.map(|head| head.to_string()), ..Run::from(&row) })
    })?;
    rows::answer(status, &row)
}

/// `getEnvelope`.
pub(crate) fn envelope(app: &App, request: &ApiRequest) -> Result<Response, Problem> {
    let run = request.run(app)?;
    let loaded = app.read(|reader| load_run(reader, &run).map_err(Problem::from))?;
    Ok(response::json(200, loaded.envelope().to_state_dict().pretty()))
}

/// `listEvents`.
pub(crate) fn events(app: &App, request: &ApiRequest) -> Result<Response, Problem> {
    let is_stored = request.wants_stored()?;
    event_page(app, request, EventFilter::All, is_stored)
}

/// `explainRun`.
pub(crate) fn why(app: &App, request: &ApiRequest) -> Result<Response, Problem> {
    event_page(app, request, EventFilter::Deciding, false)
}

/// A page of events. A page that has reached its size in bytes has fewer events than the limit.
fn event_page(
    app: &App,
    request: &ApiRequest,
    filter: EventFilter,
    is_stored: bool,
) -> Result<Response, Problem> {
    let from = request.after()?;
    let limit = request.limit()?;
    let run = request.run(app)?;
    // A row more than the page shows whether there is another page.
    let most = limit.saturating_add(1);
    let mut events =
        app.read(|reader| reader.event_texts(&run, from, most, PAGE_BYTES, filter).map_err(Problem::from))?;
    let full = u32::try_from(events.len()).is_ok_and(|found| found > limit);
    let bytes = events.iter().fold(0_usize, |sum, event| sum.saturating_add(event.json.len()));
    if full {
        events.pop();
    }
    let next = events.last().filter(|_| full || bytes >= PAGE_BYTES).map(|event| event.seq);
    let form = if is_stored { event::text_and_stored } else { event::text };
    let form = |event: EventText| form(event.json);
    let events: Vec<String> = events.into_iter().map(form).collect();
    let next = next.map_or_else(|| "null".to_owned(), |next| next.to_string());
    Ok(response::json(200, format!("{{\"events\":[{}],\"next\":{next}}}", events.join(","))))
}

/// `listHandoffs`.
pub(crate) fn handoffs(app: &App, request: &ApiRequest) -> Result<Response, Problem> {
    let run = request.run(app)?;
    let rows = app.read(|reader| reader.handoffs(&run).map_err(Problem::from))?;
    rows::answer(200, &Handoffs { handoffs: rows.iter().map(HandoffRow::from).collect() })
}

/// `getHandoff`.
pub(crate) fn handoff(app: &App, request: &ApiRequest) -> Result<Response, Problem> {
    let visit = request.number("visit")?.map(u32::try_from).transpose();
    let visit = visit.map_err(|_| Problem::bad_request("`visit` is not the number of a visit"))?;
    let run = request.run(app)?;
    let name = request.param("handoff");
    let none = || Problem::not_found("hand-off", name);
    let found = HandoffName::parse(name).ok_or_else(none)?;
    let bytes = app.read(|reader| {
        let bytes = match &found {
            HandoffName::Visit(of) if visit.is_none_or(|visit| visit == of.visit) => {
                reader.handoff_of(&run, of)
            }
            HandoffName::Visit(_) => return Err(none()),
            HandoffName::Step { scope, step } => reader.handoff(&run, scope, step, visit),
        };
        bytes.map_err(|error| match error {
            ReadError::Missing { .. } => none(),
            error => error.into(),
        })
    })?;
    Ok(response::of(200, "application/json", bytes.into()))
}

/// The requested hand-off.
enum HandoffName {
    /// The hand-off of one visit: `[scope.]step.visit`.
    Visit(VisitId),
    /// The newest hand-off of a step: `[scope.]step`.
    Step { scope: String, step: StepId },
}

impl HandoffName {
    fn parse(name: &str) -> Option<Self> {
        if name.starts_with('.') {
            return None;
        }
        if let Ok(attempt) = AttemptId::parse(&format!("{name}.1")) {
            return Some(Self::Visit(attempt.visit));
        }
        let (scope, step) = name.rsplit_once('.').unwrap_or(("", name));
        Some(Self::Step { scope: scope.to_owned(), step: StepId::new(step).ok()? })
    }
}

/// `cancelRun`.
pub(crate) fn cancel(app: &App, request: &ApiRequest) -> Result<Response, Problem> {
    let run = request.run(app)?;
    let caller = caller_or_default(app, &run);
    let command = Request::Cancel { run: run.clone(), by: request.principal(), caller: Box::new(caller) };
    submit(app, command)?;
    shown(app, 202, &run)
}

/// Continues the run of a request that was accepted before: the engine that accepted it may have ended before
/// the run continued. If the run cannot continue now (for example because it is set aside, or another run
/// works in its workspace), the request is not refused, and the run's row shows the state.
pub(super) fn follow(app: &App, request: &ApiRequest, run: &RunId) -> Result<(), Problem> {
    let caller = caller_or_default(app, run);
    let command = ResumeRequest::follow(run.clone(), request.principal(), caller);
    match submit(app, Request::Resume(Box::new(command))) {
        Err(problem) if matches!(problem.code, Code::EngineStopping | Code::StoreFailed) => Err(problem),
        _ => Ok(()),
    }
}

/// `resumeRun`.
pub(crate) fn resume(app: &App, request: &ApiRequest) -> Result<Response, Problem> {
    let members = request.members(&["choice", "now", "reason"])?;
    let choice = match word(&members, "choice")? {
        None => None,
        Some("rerun") => Some(Choice::Rerun),
        Some("fail") => Some(Choice::Fail),
        Some("proceed") => Some(Choice::Proceed),
        Some("again") => Some(Choice::Again),
        Some("ours") => Some(Choice::Ours),
        Some("theirs") => Some(Choice::Theirs),
        Some("stop") => Some(Choice::Stop),
        Some(_) => {
            let detail =
                "`choice` is none of `rerun`, `fail`, `proceed`, `again`, `ours`, `theirs` and `stop`";
            return Err(Problem::bad_request(detail));
        }
    };
    if let Some(choice) = choice {
        request.require_answer(&format!("`{}` answers a question", choice.word()))?;
    }
    let why = text(&members, "reason")?.map(str::to_owned);
    let run = request.run(app)?;
    // A decision may consist of several answers, which share one id. A request without a decision and without
    // a key cannot be recognized later, and needs no id.
    let needs_id = choice.is_some() || request.key()?.is_some();
    let id = needs_id.then(|| request.request_id(app, "resumeRun", &run)).transpose()?;
    if request.was_done(app, "resumeRun", &run)? {
        follow(app, request, &run)?;
        return shown(app, 202, &run);
    }
    let command = Request::Resume(Box::new(ResumeRequest {
        correct: None,
        run: run.clone(),
        choice,
        reopen: choice.is_none(),
        again: true,
        now: flag(&members, "now")?,
        files: None,
        raise: None,
        request: id,
        why,
        by: request.principal(),
        caller: caller_or_default(app, &run),
    }));
    submit(app, command).map_err(|problem| match problem.code {
        // The run has no question of this kind. Other input would not help, because an answer to another
        // question would be the wrong decision.
        Code::WrongAnswer => problem.with_status(StatusCode::CONFLICT),
        _ => problem,
    })?;
    shown(app, 202, &run)
}

/// `raiseRun`.
pub(crate) fn raise(app: &App, request: &ApiRequest) -> Result<Response, Problem> {
    let members = request.members(&["more", "reason"])?;
    let more = members.get("more").ok_or_else(|| Problem::bad_request("`more` is missing"))?;
    let more = amount::read("more", more)?;
    let why = text(&members, "reason")?.map(str::to_owned);
    let run = request.run(app)?;
    let command = Request::Resume(Box::new(ResumeRequest {
        raise: Some(more),
        why,
        request: Some(request.request_id(app, "raiseRun", &run)?),
        ..ResumeRequest::follow(run.clone(), request.principal(), caller_of_run(app, &run)?)
    }));
    submit(app, command)?;
    shown(app, 202, &run)
}
