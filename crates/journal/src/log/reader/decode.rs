//! Rows as values: one function a table.

use crate::{
    model::{
        commit::{PinnedFlow, Snapshot},
        note::Aside,
        rows::{
            ArtifactRow, Closed, Ended, Found, HandoffRow, InboxRow, InterruptState, ManifestRow, RunRow,
            WaitsFor,
        },
    },
    tables::{
        notes,
        sql::{RunKey, damaged, read, read_optional, reason, unsigned},
    },
};
use envoi_contract::{code::Code, digest::Digest, envelope::InterruptKind, time::Timestamp};
use envoi_kernel::event::About;
use envoi_kernel::ids::{FlowId, InterruptId, RunId, StepId, VisitId};
use rusqlite::{Result, Row};
use std::collections::BTreeMap;

/// A run at a glance. A run whose row contradicts the journal, or cannot be read, counts as set aside, so that it is seen and
/// the others are listed too: the readable part of its row is there.
pub(super) fn run(row: &Row<'_>) -> Result<RunRow> {
    let mut run = match whole_run(row) {
        Ok(run) => run,
        Err(error) => part_of_run(row, error)?,
    };
    if run.aside.is_none() {
        run.aside = contradiction(row, &run)?;
    }
    Ok(run)
}

/// Whether a row can be read and does not contradict the journal.
pub(super) fn is_whole(row: &Row<'_>) -> bool {
    whole_run(row).is_ok_and(|run| contradiction(row, &run).is_ok_and(|found| found.is_none()))
}

/// The contradiction between the journal and a readable row.
fn contradiction(row: &Row<'_>, run: &RunRow) -> Result<Option<Aside>> {
    let has_last: bool = row.get("has_last")?;
    let [journal, listed] = [optional_text(row, "journal_id")?, optional_text(row, "id")?];
    let reason = match (journal.as_deref(), run.next_seq.checked_sub(1)) {
        (Some(id), _) if id != run.run.as_str() => format!("its entry in the journal is that of `{id}`"),
        (Some(id), _) if listed.as_deref() != Some(id) => {
            format!("its row belongs to run `{}`", listed.unwrap_or_default())
        }
        (None, _) => "its entry in the journal is missing".to_owned(),
        (Some(_), Some(last)) if !has_last => {
            format!("its row counts {} events, and event {last} is not there", run.next_seq)
        }
        (Some(_), _) => return Ok(None),
    };
    Ok(Some(Aside::new(run.updated_at, Code::RunInconsistent, &reason, LOOK_CLOSER)))
}

/// The remedy for wrong rows.
pub(super) const LOOK_CLOSER: &str = "found when the store was read; `envoi repair RUN` looks closer, `envoi repair` makes the rows again from the events";

/// Stands for a name that cannot be read.
pub(super) const UNREADABLE: &str = "unreadable";

/// The readable part of a row that cannot be read as a whole.
fn part_of_run(row: &Row<'_>, error: rusqlite::Error) -> Result<RunRow> {
    let unreadable = || FlowId::new(UNREADABLE).map_err(|error| damaged(error.into()));
    let key: RunKey = row.get("run")?;
    // The numbers of a row are numbers even if its texts are damaged: the tables are strict.
    let count =
        |column: &str| row.get::<_, i64>(column).map(|count| u32::try_from(count).unwrap_or(u32::MAX));
    let updated_at = time(row, "updated_at_ms")?;
    let reason = format!("its row cannot be read: {}", reason(error));
    Ok(RunRow {
        run: name(row, key)?,
        flow: read(row, "flow").or_else(|_| unreadable())?,
        flow_digest: read_digest(row, "flow_digest").unwrap_or(Digest::from_bytes([0; 32])),
        workspace: text(row, "workspace")?,
        tenant: text(row, "tenant")?,
        actor: text(row, "actor")?,
        started_at: time(row, "started_at_ms")?,
        updated_at,
        next_seq: unsigned(row.get("next_seq")?),
        live_attempts: count("live_attempts")?,
        open_interrupts: count("open_interrupts")?,
        in_doubt: count("in_doubt")?,
        pending_timers: count("pending_timers")?,
        step: read_optional(row, "step").unwrap_or(None),
        ended: ended(row).unwrap_or(None),
        forked_from: read_optional(row, "forked_from").unwrap_or(None),
        root: read_optional(row, "root").unwrap_or(None),
        aside: match notes::aside(row).unwrap_or(None) {
            Some(aside) => Some(aside),
            None => Some(Aside::new(updated_at, Code::RunUnreadable, &reason, LOOK_CLOSER)),
        },
        held_by: notes::held_by(row)?,
        waits_for: waits_for(row)?,
        part: None,
        doing: None,
        files_half_set_back: false,
    })
}

/// The name of a run whose own is lost.
pub(super) fn nameless(key: RunKey) -> Result<RunId> {
    RunId::new(format!("run_nameless{key}")).map_err(|error| damaged(error.into()))
}

/// The id of the run: as its entry in the journal and its row have it or, if they disagree, its first event.
fn name(row: &Row<'_>, key: RunKey) -> Result<RunId> {
    read(row, "run_name")
        .or_else(|_| read(row, "journal_id"))
        .or_else(|_| read(row, "id"))
        .or_else(|_| nameless(key))
}

/// A text whose bytes may be damaged, or none.
fn optional_text(row: &Row<'_>, column: &str) -> Result<Option<String>> {
    let bytes = row.get_ref(column)?.as_bytes_or_null().map_err(|error| damaged(error.into()))?;
    Ok(bytes.map(|bytes| String::from_utf8_lossy(bytes).into_owned()))
}

/// A text whose bytes may be damaged.
pub(super) fn text(row: &Row<'_>, column: &str) -> Result<String> {
    Ok(optional_text(row, column)?.unwrap_or_default())
}

/// A row in which everything can be read.
pub(super) fn whole_run(row: &Row<'_>) -> Result<RunRow> {
    // Not in the row that is returned, and read beside it.
    let _id: RunId = read(row, "id")?;
    let _run_base: String = row.get("run_base")?;
    Ok(RunRow {
        run: name(row, row.get("run")?)?,
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
        waits_for: waits_for(row)?,
        part: None,
        doing: None,
        files_half_set_back: false,
    })
}

/// The account that it waits for, if it waits for one.
fn waits_for(row: &Row<'_>) -> Result<Option<WaitsFor>> {
    let Some(text) = row.get::<_, Option<String>>("first_wait")? else { return Ok(None) };
    let wait: (String, Option<i64>, i64) =
        serde_json::from_str(&text).map_err(|error| damaged(error.into()))?;
    let (account, resets_at, due) = wait;
    let resets_at = resets_at.map(Timestamp::from_millis);
    Ok(Some(WaitsFor { account, resets_at, due: Timestamp::from_millis(due) }))
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

pub(super) fn artifact(row: &Row<'_>) -> Result<ArtifactRow> {
    let digest: Option<[u8; 32]> = row.get("digest")?;
    Ok(ArtifactRow {
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

/// A question. If its row cannot be read, the question has that message as its text, so that the others are listed too.
pub(super) fn question(row: &Row<'_>) -> Result<InboxRow> {
    whole_question(row).or_else(|error| part_of_question(row, error))
}

fn part_of_question(row: &Row<'_>, error: rusqlite::Error) -> Result<InboxRow> {
    let nameless = || InterruptId::new("int_unreadable").map_err(|error| damaged(error.into()));
    let step = || StepId::new(UNREADABLE).map_err(|error| damaged(error.into()));
    let question = format!(
        "this question cannot be read ({}); `envoi repair` makes its row again from the events",
        reason(error)
    );
    Ok(InboxRow {
        interrupt: read(row, "interrupt").or_else(|_| nameless())?,
        run: read(row, "run_id").or_else(|_| self::nameless(row.get("run")?))?,
        about: read(row, "about").unwrap_or(About::Blocked),
        visit: VisitId {
            scope: text(row, "scope")?,
            step: read(row, "step").or_else(|_| step())?,
            visit: row.get("visit").unwrap_or(1),
        },
        question,
        raised_at: time(row, "raised_at_ms")?,
        kind: kind(row).unwrap_or(InterruptKind::SystemError),
        expires_at: row.get::<_, Option<i64>>("expires_at_ms")?.map(Timestamp::from_millis),
        state: state(row).unwrap_or(InterruptState::Open),
        closed: closed(row).unwrap_or(None),
    })
}

fn whole_question(row: &Row<'_>) -> Result<InboxRow> {
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
        earlier: Vec::new(),
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
