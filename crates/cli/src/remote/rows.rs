//! Rows as the server shows them, read into those that the printers know.

use super::{call::read, problem::not_understood};
use crate::process::failure::Failure;
use envoi_contract::{digest::Digest, envelope::InterruptKind, time::Timestamp};
use envoi_journal::{Activity, Aside, Closed, Doing, Ended, InboxRow, InterruptState, RunRow};
use envoi_kernel::{
    event::{About, EndStatus},
    ids::{FlowId, InterruptId, Principal, RunId, StepId, VisitId},
};
use serde::Deserialize;

/// A page of runs.
#[derive(Deserialize)]
struct Runs {
    runs: Vec<Run>,
    next: Option<String>,
}

#[derive(Deserialize)]
struct Run {
    run: RunId,
    flow: FlowId,
    flow_digest: Digest,
    status: String,
    in_doubt: bool,
    step: Option<StepId>,
    workspace: String,
    tenant: String,
    actor: String,
    started_at: String,
    updated_at: String,
    events: u64,
    live_attempts: u32,
    open_questions: u32,
    terminal_reason: Option<String>,
    reason: Option<String>,
    forked_from: Option<RunId>,
    root: Option<RunId>,
    #[serde(default)]
    activity: Option<String>,
    #[serde(default)]
    activity_since: Option<String>,
    #[serde(default)]
    set_aside: Option<SetAside>,
}

#[derive(Deserialize)]
struct SetAside {
    since: String,
    code: String,
    reason: String,
    evidence: String,
}

/// A page of questions.
#[derive(Deserialize)]
struct Questions {
    questions: Vec<Question>,
    next: Option<String>,
    last_event_id: String,
}

#[derive(Deserialize)]
struct Question {
    question: InterruptId,
    run: RunId,
    about: About,
    kind: String,
    step: StepId,
    scope: String,
    visit: u32,
    text: String,
    raised_at: String,
    expires_at: Option<String>,
    state: String,
    closed_at: Option<String>,
    answer: Option<String>,
    answered_by: Option<String>,
}

#[derive(Deserialize)]
struct Bearer {
    name: String,
    tenant: String,
}

/// Who a token is.
pub(crate) fn bearer(body: &[u8]) -> Result<Principal, Failure> {
    let Bearer { name, tenant } = read(body)?;
    Ok(Principal { tenant, actor: name })
}

/// One run.
pub(crate) fn run(body: &[u8]) -> Result<RunRow, Failure> {
    run_row(read(body)?)
}

/// A page of runs, and where the next one begins.
pub(crate) fn runs(body: &[u8]) -> Result<(Vec<RunRow>, Option<String>), Failure> {
    let Runs { runs, next } = read(body)?;
    Ok((runs.into_iter().map(run_row).collect::<Result<_, _>>()?, next))
}

/// A question, and whether its time is over by the server's clock.
pub(crate) struct Listed {
    pub(crate) row: InboxRow,
    pub(crate) lapsed: bool,
}

/// One question.
pub(crate) fn question(body: &[u8]) -> Result<Listed, Failure> {
    inbox_row(read(body)?)
}

/// A page of questions, where the next one begins, and the last event before it was made.
pub(crate) fn questions(body: &[u8]) -> Result<(Vec<Listed>, Option<String>, String), Failure> {
    let Questions { questions, next, last_event_id } = read(body)?;
    let rows = questions.into_iter().map(inbox_row).collect::<Result<_, _>>()?;
    Ok((rows, next, last_event_id))
}

fn time(text: &str) -> Result<Timestamp, Failure> {
    Timestamp::parse(text).ok_or_else(|| not_understood(format_args!("`{text}` is not a time")))
}

fn doing(activity: Option<&str>, since: Option<&str>) -> Result<Option<Doing>, Failure> {
    let (Some(activity), Some(since)) = (activity, since) else { return Ok(None) };
    let unknown = || not_understood(format_args!("`{activity}` is no activity"));
    Ok(Some(Doing { activity: Activity::parse(activity).ok_or_else(unknown)?, since: time(since)? }))
}

fn aside(SetAside { since, code, reason, evidence }: SetAside) -> Result<Aside, Failure> {
    Ok(Aside { since: time(&since)?, code, reason, evidence })
}

fn run_row(run: Run) -> Result<RunRow, Failure> {
    let ended = match run.status.as_str() {
        "running" | "waiting" => None,
        "succeeded" => Some(EndStatus::Succeeded),
        "failed" => Some(EndStatus::Failed),
        "exhausted" => Some(EndStatus::Exhausted),
        "cancelled" => Some(EndStatus::Cancelled),
        other => return Err(not_understood(format_args!("`{other}` is not a status"))),
    };
    // The row does not say which timers are set: a run that goes on by itself, and nothing of it is live, has one.
    let has_timer = run.status == "running" && run.live_attempts == 0 && run.open_questions > 0;
    Ok(RunRow {
        run: run.run,
        flow: run.flow,
        flow_digest: run.flow_digest,
        workspace: run.workspace,
        tenant: run.tenant,
        actor: run.actor,
        started_at: time(&run.started_at)?,
        updated_at: time(&run.updated_at)?,
        next_seq: run.events,
        live_attempts: run.live_attempts,
        open_interrupts: run.open_questions,
        in_doubt: u32::from(run.in_doubt),
        pending_timers: u32::from(has_timer),
        step: run.step,
        ended: ended.map(|status| Ended {
            status,
            terminal_reason: run.terminal_reason.unwrap_or_default(),
            reason: run.reason.unwrap_or_default(),
        }),
        forked_from: run.forked_from,
        root: run.root,
        doing: doing(run.activity.as_deref(), run.activity_since.as_deref())?,
        aside: run.set_aside.map(aside).transpose()?,
        held_by: None,
    })
}

fn inbox_row(question: Question) -> Result<Listed, Failure> {
    let state = match question.state.as_str() {
        "open" | "lapsed" => InterruptState::Open,
        "answered" => InterruptState::Answered,
        "expired" => InterruptState::Expired,
        "changed" => InterruptState::Changed,
        "cancelled" => InterruptState::Cancelled,
        other => return Err(not_understood(format_args!("`{other}` is no state of a question"))),
    };
    let kind = InterruptKind::parse(&question.kind)
        .ok_or_else(|| not_understood(format_args!("`{}` is no kind of question", question.kind)))?;
    let closed = question.closed_at.as_deref().map(time).transpose()?.map(|at| Closed {
        at,
        // Of no use here: the event that closed it is looked for in the run, where it is needed.
        seq: 0,
        answer: question.answer,
        by: question.answered_by,
    });
    let row = InboxRow {
        interrupt: question.question,
        run: question.run,
        about: question.about,
        visit: VisitId { scope: question.scope, step: question.step, visit: question.visit },
        question: question.text,
        raised_at: time(&question.raised_at)?,
        kind,
        expires_at: question.expires_at.as_deref().map(time).transpose()?,
        state,
        closed,
    };
    Ok(Listed { row, lapsed: question.state == "lapsed" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn row(status: &str, live: u32, open: u32) -> RunRow {
        let shown = json!({
            "run": "run_1", "flow": "f", "flow_digest": Digest::of(b"").to_string(), "status": status, "in_doubt": false,
            "step": null, "workspace": "/w", "tenant": "local", "actor": "ann", "started_at": "2026-11-22T08:00:00.000Z",
            "updated_at": "2026-11-22T08:00:00.000Z", "events": 3, "live_attempts": live, "open_questions": open,
            "terminal_reason": null, "reason": null, "forked_from": null, "root": null,
        });
        run(shown.to_string().as_bytes()).unwrap()
    }

    #[test]
    fn a_row_stands_as_the_server_says() {
        for (status, live, open) in [
            ("running", 0, 0),
            ("running", 1, 1),
            ("running", 0, 1),
            ("waiting", 0, 1),
            ("succeeded", 0, 0),
            ("failed", 0, 0),
            ("exhausted", 0, 0),
            ("cancelled", 0, 1),
        ] {
            assert_eq!(row(status, live, open).status().word(), status, "{live} {open}");
        }
    }
}
