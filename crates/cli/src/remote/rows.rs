//! Converts rows of the server into those that the printers use.

use super::{call::read, problem::not_understood};
use crate::process::failure::Failure;
use envoi_api::{
    Time,
    question::{Question, QuestionState, Questions},
    run::{Activity, Run, RunPart, RunStatus, Runs, SetAside, WaitsFor},
    token::Token,
};
use envoi_contract::{digest::Digest, envelope::InterruptKind};
use envoi_journal::{Aside, Closed, Doing, Ended, InboxRow, InterruptState, RunRow};
use envoi_kernel::{
    event::EndStatus,
    ids::{Principal, VisitId},
    part::{Part, Selection},
};

/// The principal of a token.
pub(crate) fn bearer(body: &[u8]) -> Result<Principal, Failure> {
    let Token { name, tenant, .. } = read(body)?;
    Ok(Principal { tenant, actor: name })
}

/// A run, and the head of its event chain.
pub(crate) fn run(body: &[u8]) -> Result<(RunRow, Option<Digest>), Failure> {
    let mut run: Run = read(body)?;
    let wrong = |text: String| not_understood(format_args!("`{text}` is no head of a chain"));
    let head = run.head.take();
    let head = head.map(|text| Digest::parse(&text).ok_or_else(|| wrong(text))).transpose()?;
    Ok((run_row(run)?, head))
}

/// A page of runs, and the start of the next page.
pub(crate) fn runs(body: &[u8]) -> Result<(Vec<RunRow>, Option<String>), Failure> {
    let Runs { runs, next, so_far: _, counts: _ } = read(body)?;
    Ok((runs.into_iter().map(run_row).collect::<Result<_, _>>()?, next.map(String::from)))
}

/// A question, and whether it has expired by the server's clock.
pub(crate) struct Listed {
    pub(crate) row: InboxRow,
    pub(crate) lapsed: bool,
}

/// A question.
pub(crate) fn question(body: &[u8]) -> Result<Listed, Failure> {
    inbox_row(read(body)?)
}

/// A page of questions, the start of the next page, and the last event before this page.
pub(crate) fn questions(body: &[u8]) -> Result<(Vec<Listed>, Option<String>, String), Failure> {
    let Questions { questions, next, last_event_id } = read(body)?;
    let rows = questions.into_iter().map(inbox_row).collect::<Result<_, _>>()?;
    Ok((rows, next.map(String::from), last_event_id))
}

fn run_row(run: Run) -> Result<RunRow, Failure> {
    let status = match run.status {
        RunStatus::Running | RunStatus::Waiting => None,
        RunStatus::Succeeded => Some(EndStatus::Succeeded),
        RunStatus::Failed => Some(EndStatus::Failed),
        RunStatus::Exhausted => Some(EndStatus::Exhausted),
        RunStatus::Cancelled => Some(EndStatus::Cancelled),
    };
    // The row does not include timers. A run that continues by itself without a live attempt has one.
    let has_timer = run.status == RunStatus::Running && run.live_attempts == 0 && run.open_questions > 0;
    Ok(RunRow {
        files_half_set_back: run.files_half_set_back,
        run: run.run,
        flow: run.flow,
        flow_digest: run.flow_digest,
        workspace: run.workspace,
        tenant: run.tenant,
        actor: run.actor,
        started_at: run.started_at.0,
        updated_at: run.updated_at.0,
        next_seq: run.events,
        live_attempts: run.live_attempts,
        open_interrupts: run.open_questions,
        in_doubt: u32::from(run.in_doubt),
        pending_timers: u32::from(has_timer),
        step: run.step,
        ended: status.map(|status| Ended {
            status,
            terminal_reason: run.terminal_reason.unwrap_or_default(),
            reason: run.reason.unwrap_or_default(),
        }),
        forked_from: run.forked_from,
        root: run.root,
        doing: run
            .activity
            .zip(run.activity_since)
            .map(|(activity, since)| Doing { step_works: run.step_works, ..doing(activity, since) }),
        aside: run.set_aside.map(|SetAside { since, code, reason, evidence }| Aside {
            since: since.0,
            code,
            reason,
            evidence,
        }),
        held_by: None,
        waits_for: run.waits_for.map(|WaitsFor { account, resets_at, next_try }| envoi_journal::WaitsFor {
            account,
            resets_at: resets_at.map(|at| at.0),
            due: next_try.0,
        }),
        part: run.part.map(|RunPart { only, from, until, skip, with }| {
            let selection = Selection { only, from, until, skip };
            Box::new(Part { selection, with, taken: Vec::new() })
        }),
    })
}

fn doing(activity: Activity, since: Time) -> Doing {
    let activity = match activity {
        Activity::Working => envoi_journal::Activity::Working,
        Activity::Stopped => envoi_journal::Activity::Stopped,
        Activity::SetAside => envoi_journal::Activity::SetAside,
    };
    Doing { activity, since: since.0, step_works: false }
}

fn inbox_row(question: Question) -> Result<Listed, Failure> {
    let state = match question.state {
        QuestionState::Open | QuestionState::Lapsed => InterruptState::Open,
        QuestionState::Answered => InterruptState::Answered,
        QuestionState::Expired => InterruptState::Expired,
        QuestionState::Changed => InterruptState::Changed,
        QuestionState::Cancelled => InterruptState::Cancelled,
    };
    let kind = InterruptKind::parse(&question.kind)
        .ok_or_else(|| not_understood(format_args!("`{}` is no kind of question", question.kind)))?;
    let closed = question.closed_at.map(|at| Closed {
        at: at.0,
        // Not needed here: the event that closed the question is looked up in the run.
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
        raised_at: question.raised_at.0,
        kind,
        expires_at: question.expires_at.map(|at| at.0),
        state,
        closed,
    };
    Ok(Listed { row, lapsed: question.state == QuestionState::Lapsed })
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
        run(shown.to_string().as_bytes()).unwrap().0
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
