//! Rows folded from events: the state of each run, its hand-offs, its artifacts, its questions.
//!
//! Owns the one fold that commits and repair share, so that a rebuilt row equals the one that was lived. Reads nothing
//! but events and the rows it wrote itself.

use crate::tables::sql::{EventDamage, RunKey, damaged, signed, word};
use envoi_contract::time::Timestamp;
use envoi_kernel::{
    event::{
        AttemptSettled, AttemptStarted, Course, Event, FileChange, HandoffWritten, InterruptRaised, Record,
        RunEnded, RunForked, RunStarted, TimerSet,
    },
    ids::{InterruptId, StepId},
    throttle::{AccountWait, Throttled},
};
use rusqlite::{Connection, OptionalExtension as _, Row, params};

/// Characters of a summary that a list shows.
const SUMMARY_HEAD: usize = 200;

/// Tables that are projections, each with the columns of its key; repair empties and fills them.
pub(crate) const TABLES: [(&str, &str); 7] = [
    ("runs", "run"),
    ("handoffs", "run, scope, step, visit"),
    ("manifests", "run, nth"),
    ("places", "run, flow, path"),
    ("inbox", "run, interrupt"),
    ("waits", "run, timer"),
    ("refusals", "run, account"),
];

/// Brings the rows of one run up to the last of these records.
pub(crate) fn fold(conn: &Connection, run: RunKey, records: &[Record]) -> rusqlite::Result<()> {
    fold_from(conn, run, Progress::load(conn, run)?, records).map(drop)
}

/// As [`fold`], for a run whose row is known. Returns the row as it is then.
pub(crate) fn fold_from(
    conn: &Connection,
    run: RunKey,
    mut progress: Progress,
    records: &[Record],
) -> rusqlite::Result<Progress> {
    let was_ended = progress.ended.clone();
    let mut begins = false;
    for record in records {
        if let Event::RunStarted(started) = &record.event {
            insert_run(conn, run, started, record.at)?;
            progress.flow = started.flow.as_str().to_owned();
            begins = true;
        }
        write_rows(conn, run, &progress.flow, record)?;
        progress.apply(record);
    }
    if begins || progress.ended != was_ended {
        progress.store(conn, run)?;
    } else {
        progress.store_unended(conn, run)?;
    }
    Ok(progress)
}

/// The columns of a run's row that change.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Progress {
    flow: String,
    updated_at_ms: i64,
    next_seq: i64,
    live_attempts: u32,
    pending_timers: u32,
    step: Option<String>,
    ended: Option<[String; 3]>,
}

impl Progress {
    /// As the run's row has it; the default if there is none.
    pub(crate) fn load(conn: &Connection, run: RunKey) -> rusqlite::Result<Self> {
        let sql = "SELECT flow, updated_at_ms, next_seq, live_attempts, pending_timers, step, ended, terminal_reason, reason \
                   FROM runs WHERE run = ?1";
        Ok(conn.prepare_cached(sql)?.query_row([run], Self::from_row).optional()?.unwrap_or_default())
    }

    /// Whether the run has ended.
    pub(crate) fn is_over(&self) -> bool {
        self.ended.is_some()
    }

    fn from_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        let ended: Option<String> = row.get(6)?;
        let ended =
            ended.map(|status| Ok::<_, rusqlite::Error>([status, row.get(7)?, row.get(8)?])).transpose()?;
        Ok(Self {
            flow: row.get(0)?,
            updated_at_ms: row.get(1)?,
            next_seq: row.get(2)?,
            live_attempts: row.get(3)?,
            pending_timers: row.get(4)?,
            step: row.get(5)?,
            ended,
        })
    }

    fn apply(&mut self, record: &Record) {
        self.updated_at_ms = record.at.as_millis();
        self.next_seq = signed(record.seq.saturating_add(1));
        match &record.event {
            Event::AttemptStarted(started) => {
                self.live_attempts = self.live_attempts.saturating_add(1);
                self.enter(&started.attempt.visit.step);
            }
            // A late one had been counted as settled when it was found in doubt, unless it was given up while it ran.
            Event::AttemptSettled(settled)
                if settled.taken.is_none() && (!settled.late || settled.given_up) =>
            {
                self.live_attempts = self.live_attempts.saturating_sub(1);
            }
            Event::Routed(routed) => match &routed.course {
                Course::Enter(step) | Course::LoopBack(step) | Course::Round(step) => self.enter(step),
                Course::Done(_) | Course::Gathered | Course::Complete | Course::Hold | Course::Stop => {}
            },
            Event::StepEntered(entered) => self.enter(&entered.step),
            Event::TimerSet(_) => self.pending_timers = self.pending_timers.saturating_add(1),
            Event::TimerFired(_) => self.pending_timers = self.pending_timers.saturating_sub(1),
            Event::RunReopened(reopened) => {
                self.ended = None;
                self.enter(&reopened.step);
            }
            // Work that was under way in the original run is not under way in this one.
            Event::RunForked(forked) => {
                self.live_attempts = 0;
                self.pending_timers = 0;
                self.ended = None;
                self.enter(&forked.step);
            }
            Event::RunEnded(ended) => self.end(ended),
            _ => {}
        }
    }

    fn enter(&mut self, step: &StepId) {
        self.step = Some(step.as_str().to_owned());
    }

    /// An ended run is never woken by a timer that had been set.
    fn end(&mut self, ended: &RunEnded) {
        self.live_attempts = 0;
        self.pending_timers = 0;
        self.ended =
            Some([word(&ended.status), ended.terminal_reason.word().to_owned(), ended.reason.clone()]);
    }

    /// As [`Progress::store`], if `ended` is unchanged: an index depends on that column, and would be written anew.
    fn store_unended(&self, conn: &Connection, run: RunKey) -> rusqlite::Result<()> {
        let sql = "UPDATE runs SET updated_at_ms = ?2, next_seq = ?3, live_attempts = ?4, pending_timers = ?5, step = ?6 \
                   WHERE run = ?1";
        let Self { updated_at_ms, next_seq, live_attempts, pending_timers, step, .. } = self;
        let values = params![run, updated_at_ms, next_seq, live_attempts, pending_timers, step];
        conn.prepare_cached(sql)?.execute(values).map(|_| ())
    }

    fn store(&self, conn: &Connection, run: RunKey) -> rusqlite::Result<()> {
        let sql = "UPDATE runs SET updated_at_ms = ?2, next_seq = ?3, live_attempts = ?4, pending_timers = ?5, step = ?6, \
                   ended = ?7, terminal_reason = ?8, reason = ?9 WHERE run = ?1";
        let ended = |place: usize| self.ended.as_ref().and_then(|ended| ended.get(place));
        let values = params![
            run,
            self.updated_at_ms,
            self.next_seq,
            self.live_attempts,
            self.pending_timers,
            self.step,
            ended(0),
            ended(1),
            ended(2)
        ];
        conn.prepare_cached(sql)?.execute(values).map(|_| ())
    }
}

fn insert_run(conn: &Connection, run: RunKey, started: &RunStarted, at: Timestamp) -> rusqlite::Result<()> {
    let sql = "INSERT OR REPLACE INTO runs (run, id, flow, flow_digest, workspace, tenant, actor, started_at_ms, updated_at_ms, \
               next_seq, live_attempts, open_interrupts, in_doubt, pending_timers, run_base) \
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8, 1, 0, 0, 0, 0, ?9)";
    let values = params![
        run,
        started.run.as_str(),
        started.flow.as_str(),
        started.flow_digest.to_string(),
        started.workspace,
        started.by.tenant,
        started.by.actor,
        at.as_millis(),
        started.run_base
    ];
    conn.prepare_cached(sql)?.execute(values).map(|_| ())
}

fn insert_fork(conn: &Connection, run: RunKey, forked: &RunForked) -> rusqlite::Result<()> {
    let sql = "UPDATE runs SET root = ?2, forked_from = ?3 WHERE run = ?1";
    let values = params![run, forked.root.as_str(), forked.from.as_str()];
    conn.prepare_cached(sql)?.execute(values).map(|_| ())
}

/// The rows that an event makes or changes beside the run's own.
fn write_rows(conn: &Connection, run: RunKey, flow: &str, record: &Record) -> rusqlite::Result<()> {
    match &record.event {
        Event::HandoffWritten(written) => insert_handoff(conn, run, record, written),
        Event::AttemptStarted(started) => note_try(conn, run, record.at, started),
        Event::AttemptSettled(settled) if settled.late => match &settled.throttled {
            Some(_) => Ok(()),
            None => pass_try(conn, run, settled),
        },
        Event::AttemptSettled(settled) => {
            let inner = settled.flow.as_ref().map(|flow| flow.as_str());
            place_files(conn, run, inner.unwrap_or(flow), settled)?;
            match &settled.throttled {
                Some(throttled) => refuse(conn, run, record.at, throttled),
                None => pass_try(conn, run, settled),
            }
        }
        Event::TimerSet(set) => match &set.account {
            Some(wait) => insert_wait(conn, run, set, wait),
            None => Ok(()),
        },
        Event::TimerFired(fired) => {
            let sql = "DELETE FROM waits WHERE run = ?1 AND timer = ?2";
            conn.prepare_cached(sql)?.execute(params![run, fired.timer.as_str()]).map(|_| ())
        }
        Event::AccountsTried(tried) => try_accounts(conn, run, record.at, &tried.accounts),
        // No timer is armed any more.
        Event::RunStopping(_) | Event::CancelRequested(_) | Event::RunEnded(_) => {
            conn.prepare_cached("DELETE FROM waits WHERE run = ?1")?.execute([run]).map(|_| ())
        }
        Event::RunForked(forked) => {
            // The history of the other run stays with that run.
            conn.prepare_cached("DELETE FROM waits WHERE run = ?1")?.execute([run])?;
            conn.prepare_cached("DELETE FROM refusals WHERE run = ?1")?.execute([run])?;
            conn.prepare_cached("DELETE FROM tries WHERE run = ?1")?.execute([run])?;
            insert_fork(conn, run, forked)
        }
        Event::FlowCorrected(correction) => {
            let sql = "UPDATE runs SET flow_digest = ?2 WHERE run = ?1";
            conn.prepare_cached(sql)?.execute(params![run, correction.after.to_string()]).map(|_| ())
        }
        Event::InterruptRaised(raised) => raise(conn, run, record.at, raised),
        Event::InterruptAnswered(answered) => {
            let choice = Choice { word: answered.choice.word(), actor: &answered.by.actor };
            close(conn, run, record, &answered.interrupt, "answered", Some(choice))
        }
        Event::InterruptExpired(expired) => close(conn, run, record, &expired.interrupt, "expired", None),
        Event::InterruptCancelled(cancelled) => {
            let state = if cancelled.changed { "changed" } else { "cancelled" };
            close(conn, run, record, &cancelled.interrupt, state, None)
        }
        _ => Ok(()),
    }
}

fn insert_wait(conn: &Connection, run: RunKey, set: &TimerSet, wait: &AccountWait) -> rusqlite::Result<()> {
    let sql = "INSERT OR REPLACE INTO waits (run, timer, account, resets_at_ms, due_ms) VALUES (?1, ?2, ?3, ?4, ?5)";
    let resets_at = wait.resets_at.map(Timestamp::as_millis);
    let values = params![run, set.timer.as_str(), wait.account, resets_at, set.due.as_millis()];
    conn.prepare_cached(sql)?.execute(values).map(|_| ())
}

fn refuse(conn: &Connection, run: RunKey, at: Timestamp, throttled: &Throttled) -> rusqlite::Result<()> {
    let sql = "INSERT OR REPLACE INTO refusals (run, account, at_ms, until_ms, resets_at_ms, in_a_row) \
               VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    let Throttled { account, resets_at, until, refusals, .. } = throttled;
    let resets_at = resets_at.map(Timestamp::as_millis);
    let values = params![run, account, at.as_millis(), until.as_millis(), resets_at, refusals];
    conn.prepare_cached(sql)?.execute(values).map(|_| ())
}

/// They are open from now on: that is newer than any refusal, also one that another run has met.
fn try_accounts(conn: &Connection, run: RunKey, at: Timestamp, accounts: &[String]) -> rusqlite::Result<()> {
    for account in accounts {
        let sql = "INSERT OR REPLACE INTO refusals (run, account, at_ms, until_ms, resets_at_ms, in_a_row) \
                   VALUES (?1, ?2, ?3, ?3, NULL, 0)";
        conn.prepare_cached(sql)?.execute(params![run, account, at.as_millis()])?;
    }
    Ok(())
}

/// An attempt begins with an account that had refused one.
fn note_try(conn: &Connection, run: RunKey, at: Timestamp, started: &AttemptStarted) -> rusqlite::Result<()> {
    let Some((account, refusals @ 1..)) = started.command.account() else { return Ok(()) };
    let sql = "INSERT OR REPLACE INTO tries (run, account, attempt, at_ms, in_a_row, passed) VALUES (?1, ?2, ?3, ?4, ?5, 0)";
    let values = params![run, account, started.attempt.to_string(), at.as_millis(), refusals];
    conn.prepare_cached(sql)?.execute(values).map(|_| ())
}

/// It was not refused.
fn pass_try(conn: &Connection, run: RunKey, settled: &AttemptSettled) -> rusqlite::Result<()> {
    let sql = "UPDATE tries SET passed = 1 WHERE run = ?1 AND attempt = ?2";
    conn.prepare_cached(sql)?.execute(params![run, settled.attempt.to_string()]).map(|_| ())
}

fn insert_handoff(
    conn: &Connection,
    run: RunKey,
    record: &Record,
    written: &HandoffWritten,
) -> rusqlite::Result<()> {
    let sql = "INSERT OR REPLACE INTO handoffs (run, scope, step, visit, flow, status, summary, at_ms, seq) \
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
    let visit = &written.visit;
    let handoff = &written.handoff;
    let summary: String = handoff.summary.chars().take(SUMMARY_HEAD).collect();
    let status = word(&handoff.status);
    let values = params![
        run,
        visit.scope,
        visit.step.as_str(),
        visit.visit,
        handoff.flow_key,
        status,
        summary,
        record.at.as_millis(),
        signed(record.seq)
    ];
    conn.prepare_cached(sql)?.execute(values).map(|_| ())
}

fn place_files(conn: &Connection, run: RunKey, flow: &str, settled: &AttemptSettled) -> rusqlite::Result<()> {
    let visit = &settled.attempt.visit;
    if let Some(manifest) = &settled.manifest {
        // A single row, however many files: a commit must not keep others waiting.
        let sql = "INSERT INTO manifests (run, nth, flow, digest, scope, step, visit) \
                   SELECT ?1, 1 + count(*), ?2, ?3, ?4, ?5, ?6 FROM manifests WHERE run = ?1";
        let digest = manifest.list.digest.as_bytes();
        let values = params![run, flow, digest, visit.scope, visit.step.as_str(), visit.visit];
        conn.prepare_cached(sql)?.execute(values)?;
    }
    if settled.files.is_empty() {
        return Ok(());
    }
    let mut statement = conn.prepare_cached(
        "INSERT OR REPLACE INTO places (run, flow, path, digest, size_bytes, scope, step, visit, after) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, (SELECT count(*) FROM manifests WHERE run = ?1))",
    )?;
    for FileChange { path, blob, .. } in &settled.files {
        let digest = blob.as_ref().map(|blob| *blob.digest.as_bytes());
        let size = blob.as_ref().map(|blob| signed(blob.size));
        statement.execute(params![
            run,
            flow,
            path,
            digest,
            size,
            visit.scope,
            visit.step.as_str(),
            visit.visit
        ])?;
    }
    Ok(())
}

fn raise(conn: &Connection, run: RunKey, at: Timestamp, raised: &InterruptRaised) -> rusqlite::Result<()> {
    let sql = "INSERT OR REPLACE INTO inbox (interrupt, run, about, scope, step, visit, question, raised_at_ms, kind, \
               expires_at_ms, state) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, 'open')";
    let visit = &raised.visit;
    let values = params![
        raised.interrupt.as_str(),
        run,
        word(&raised.about),
        visit.scope,
        visit.step.as_str(),
        visit.visit,
        raised.question,
        at.as_millis(),
        raised.kind().word(),
        raised.expires_at.map(Timestamp::as_millis)
    ];
    conn.prepare_cached(sql)?.execute(values)?;
    count_open(conn, run)
}

/// The answer to a question, as its row has it.
struct Choice<'a> {
    word: &'a str,
    actor: &'a str,
}

/// Closes the row of a question; with the choice, if there was one.
fn close(
    conn: &Connection,
    run: RunKey,
    record: &Record,
    interrupt: &InterruptId,
    state: &str,
    choice: Option<Choice<'_>>,
) -> rusqlite::Result<()> {
    let sql = "UPDATE inbox SET state = ?3, closed_at_ms = ?4, closed_seq = ?5, answer = ?6, answered_by = ?7 \
               WHERE interrupt = ?1 AND run = ?2";
    let answer = choice.as_ref().map(|choice| choice.word);
    let by = choice.as_ref().map(|choice| choice.actor);
    let at = record.at.as_millis();
    let seq = signed(record.seq);
    conn.prepare_cached(sql)?.execute(params![interrupt.as_str(), run, state, at, seq, answer, by])?;
    count_open(conn, run)
}

/// Only the inbox knows what an answered question was about.
fn count_open(conn: &Connection, run: RunKey) -> rusqlite::Result<()> {
    let sql = "UPDATE runs SET (open_interrupts, in_doubt) = \
               (SELECT count(*), count(*) FILTER (WHERE about = 'in_doubt') FROM inbox WHERE run = ?1 AND state = 'open') \
               WHERE run = ?1";
    conn.prepare_cached(sql)?.execute([run]).map(|_| ())
}

/// The event in a body column.
pub(crate) fn record(row: &Row<'_>) -> rusqlite::Result<Record> {
    let place: i64 = row.get("seq")?;
    let seq = crate::tables::sql::unsigned(place);
    if place < 0 {
        return Err(damaged(EventDamage { seq, reason: format!("its place is {place}") }.into()));
    }
    let event = event(row).map_err(|error| damaged(EventDamage { seq, reason: error.to_string() }.into()))?;
    Ok(Record { seq, at: Timestamp::from_millis(row.get("at_ms")?), event })
}

fn event(row: &Row<'_>) -> Result<Event, BodyError> {
    Ok(serde_json::from_str(row.get_ref("body")?.as_str()?)?)
}

/// Why the body of an event cannot be read.
#[derive(Debug, thiserror::Error)]
enum BodyError {
    #[error(transparent)]
    Row(#[from] rusqlite::Error),
    #[error(transparent)]
    Column(#[from] rusqlite::types::FromSqlError),
    #[error(transparent)]
    Event(#[from] serde_json::Error),
}

#[cfg(test)]
mod tests;
