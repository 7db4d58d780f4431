//! Rows as values: one function a table.

use crate::{
    notes,
    rows::{Closed, Ended, Found, HandoffRow, InboxRow, InterruptState, ManifestRow, Place, RunRow},
    sql::{damaged, read, read_optional, unsigned},
    writer::{PinnedFlow, Snapshot},
};
use envoi_contract::{digest::Digest, envelope::InterruptKind, time::Timestamp};
use envoi_kernel::ids::{InterruptId, RunId, VisitId};
use rusqlite::{Result, Row};
use std::collections::BTreeMap;

pub(super) fn run(row: &Row<'_>) -> Result<RunRow> {
    Ok(RunRow {
        run: read(row, "id")?,
        flow: read(row, "flow")?,
        flow_digest: read_digest(row, "flow_digest")?,
        workspace: row.get("workspace")?,
        tenant: row.get("tenant")?,
        actor: row.get("actor")?,
        started_at: time(row, "started_at_ms")?,
        updated_at: time(row, "updated_at_ms")?,
        next_seq: unsigned(row.get("next_seq")?),
        live_attempts: row.get("live_attempts")?,
        open_interrupts: row.get("open_interrupts")?,
        in_doubt: row.get("in_doubt")?,
        pending_timers: row.get("pending_timers")?,
        step: read_optional(row, "step")?,
        ended: ended(row)?,
        forked_from: read_optional(row, "forked_from")?,
        root: read_optional(row, "root")?,
        aside: notes::aside(row)?,
        held_by: notes::held_by(row)?,
        doing: None,
    })
}

fn ended(row: &Row<'_>) -> Result<Option<Ended>> {
    let Some(status) = read_optional(row, "ended")? else { return Ok(None) };
    Ok(Some(Ended { status, terminal_reason: row.get("terminal_reason")?, reason: row.get("reason")? }))
}

pub(super) fn handoff(row: &Row<'_>) -> Result<HandoffRow> {
    Ok(HandoffRow {
        visit: visit(row)?,
        flow: read(row, "flow")?,
        status: row.get("status")?,
        summary: row.get("summary")?,
        at: time(row, "at_ms")?,
        seq: unsigned(row.get("seq")?),
    })
}

pub(super) fn place(row: &Row<'_>) -> Result<Place> {
    let digest: Option<[u8; 32]> = row.get("digest")?;
    Ok(Place {
        flow: read(row, "flow")?,
        path: row.get("path")?,
        digest: digest.map(Digest::from_bytes),
        size_bytes: row.get::<_, Option<i64>>("size_bytes")?.map(unsigned),
        visit: visit(row)?,
    })
}

pub(super) fn manifest(row: &Row<'_>) -> Result<ManifestRow> {
    let digest: [u8; 32] = row.get("digest")?;
    Ok(ManifestRow { flow: read(row, "flow")?, digest: Digest::from_bytes(digest), visit: visit(row)? })
}

pub(super) fn question(row: &Row<'_>) -> Result<InboxRow> {
    Ok(InboxRow {
        interrupt: read(row, "interrupt")?,
        run: read(row, "run_id")?,
        about: read(row, "about")?,
        visit: visit(row)?,
        question: row.get("question")?,
        raised_at: time(row, "raised_at_ms")?,
        kind: kind(row)?,
        expires_at: row.get::<_, Option<i64>>("expires_at_ms")?.map(Timestamp::from_millis),
        state: state(row)?,
        closed: closed(row)?,
    })
}

/// Rows of the first schema do not have one.
fn kind(row: &Row<'_>) -> Result<InterruptKind> {
    let word: Option<String> = row.get("kind")?;
    let kind = word.as_deref().map(InterruptKind::parse);
    kind.unwrap_or(Some(InterruptKind::SystemError))
        .ok_or_else(|| damaged("the kind of a question is none".into()))
}

fn closed(row: &Row<'_>) -> Result<Option<Closed>> {
    let (at, seq): (Option<i64>, Option<i64>) = (row.get("closed_at_ms")?, row.get("closed_seq")?);
    let (Some(at), Some(seq)) = (at, seq) else { return Ok(None) };
    Ok(Some(Closed {
        at: Timestamp::from_millis(at),
        seq: unsigned(seq),
        answer: row.get("answer")?,
        by: row.get("answered_by")?,
    }))
}

fn state(row: &Row<'_>) -> Result<InterruptState> {
    let word: String = row.get("state")?;
    match word.as_str() {
        "open" => Ok(InterruptState::Open),
        "answered" => Ok(InterruptState::Answered),
        "expired" => Ok(InterruptState::Expired),
        "changed" => Ok(InterruptState::Changed),
        "cancelled" => Ok(InterruptState::Cancelled),
        _ => Err(damaged(format!("`{word}` is no state of a question").into())),
    }
}

/// An id and, for a question, the run that asks it.
pub(super) fn found(row: &Row<'_>) -> Result<Found> {
    let run: Option<RunId> = read_optional(row, "run")?;
    match run {
        None => Ok(Found::Run(read(row, "id")?)),
        Some(run) => Ok(Found::Interrupt(read::<InterruptId>(row, "id")?, run)),
    }
}

pub(super) fn pinned(row: &Row<'_>) -> Result<PinnedFlow> {
    Ok(PinnedFlow {
        digest: read_digest(row, "digest")?,
        language: row.get("language")?,
        name: row.get("name")?,
        text: row.get("text")?,
        parts: parts(row)?,
    })
}

/// The texts of the flows that a flow names, by their paths.
pub(super) fn parts(row: &Row<'_>) -> Result<BTreeMap<String, String>> {
    let parts: String = row.get("parts")?;
    serde_json::from_str(&parts).map_err(|error| damaged(error.into()))
}

pub(super) fn snapshot(row: &Row<'_>) -> Result<Snapshot> {
    Ok(Snapshot { seq: unsigned(row.get("seq")?), state: row.get("state")? })
}

fn visit(row: &Row<'_>) -> Result<VisitId> {
    Ok(VisitId { scope: row.get("scope")?, step: read(row, "step")?, visit: row.get("visit")? })
}

pub(super) fn read_digest(row: &Row<'_>, column: &str) -> Result<Digest> {
    let text: String = row.get(column)?;
    Digest::parse(&text).ok_or_else(|| damaged(format!("`{text}` is no digest").into()))
}

fn time(row: &Row<'_>, column: &str) -> Result<Timestamp> {
    Ok(Timestamp::from_millis(row.get(column)?))
}
