//! Runs, hand-offs and questions as JSON.

use crate::auth::{scope::Scope, token::Bearer};
use envoi_contract::{json::Value, time::Timestamp};
use envoi_journal::{HandoffRow, InboxRow, InterruptState, RunRow};
use serde_json::json;

pub(crate) fn run(row: &RunRow) -> serde_json::Value {
    json!({
        "run": row.run.as_str(),
        "flow": row.flow.as_str(),
        "flow_digest": row.flow_digest.to_string(),
        "status": row.status().word(),
        "in_doubt": row.in_doubt > 0,
        "step": row.step.as_ref().map(ToString::to_string),
        "workspace": row.workspace,
        "tenant": row.tenant,
        "actor": row.actor,
        "started_at": row.started_at.to_string(),
        "updated_at": row.updated_at.to_string(),
        "events": row.next_seq,
        "live_attempts": row.live_attempts,
        "open_questions": row.open_interrupts,
        "terminal_reason": row.ended.as_ref().map(|ended| ended.terminal_reason.clone()),
        "reason": row.ended.as_ref().map(|ended| ended.reason.clone()),
        "forked_from": row.forked_from.as_ref().map(ToString::to_string),
        "root": row.root.as_ref().map(ToString::to_string),
        "activity": row.doing.map(|doing| doing.activity.word()),
        "activity_since": row.doing.map(|doing| doing.since.to_string()),
        "set_aside": row.aside.as_ref().map(|aside| json!({
            "since": aside.since.to_string(),
            "code": aside.code,
            "reason": aside.reason,
            "evidence": aside.evidence,
        })),
    })
}

/// The owner of the request's token.
pub(crate) fn bearer(bearer: &Bearer) -> serde_json::Value {
    let scopes: Vec<&str> = bearer.scopes.each().map(Scope::word).collect();
    json!({"name": bearer.name, "tenant": bearer.tenant, "scopes": scopes})
}

pub(crate) fn handoff(row: &HandoffRow) -> serde_json::Value {
    json!({
        "handoff": row.visit.to_string(),
        "step": row.visit.step.as_str(),
        "scope": row.visit.scope,
        "visit": row.visit.visit,
        "flow": row.flow.as_str(),
        "status": row.status,
        "summary": row.summary,
        "at": row.at.to_string(),
        "seq": row.seq,
    })
}

pub(crate) fn question(row: &InboxRow, now: Timestamp) -> serde_json::Value {
    let lapsed = row.state == InterruptState::Open && row.expires_at.is_some_and(|at| now >= at);
    json!({
        "question": row.interrupt.as_str(),
        "run": row.run.as_str(),
        "about": row.about,
        "kind": row.kind.word(),
        "step": row.visit.step.as_str(),
        "scope": row.visit.scope,
        "visit": row.visit.visit,
        "text": row.question,
        "raised_at": row.raised_at.to_string(),
        "expires_at": row.expires_at.map(|at| at.to_string()),
        "state": if lapsed { "lapsed" } else { row.state.word() },
        "closed_at": row.closed.as_ref().map(|closed| closed.at.to_string()),
        "answer": row.closed.as_ref().and_then(|closed| closed.answer.clone()),
        "answered_by": row.closed.as_ref().and_then(|closed| closed.by.clone()),
    })
}

/// A value of the contracts as a value of serde. Numbers that it cannot hold exactly are rounded: only for people to
/// read.
pub(crate) fn plain(value: &Value) -> serde_json::Value {
    serde_json::from_str(&value.compact()).unwrap_or_default()
}
