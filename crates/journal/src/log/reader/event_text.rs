//! The events of a run as text, unchanged from the journal: for callers that pass them on and do not interpret them.
//!
//! Only the wanted events are read, and they are not decoded (but for what a decision's own event leaves to the hand-off): the cost of a
//! page depends on its bytes, not on the length of the run. Members and number tokens are those that were committed.

use super::{Reader, read_error};
use crate::{
    model::error::ReadError,
    tables::{
        projection,
        sql::{RunKey, damaged, line, signed, unsigned},
    },
};
use envoi_kernel::{
    event::{Event, Record},
    ids::{AttemptId, RunId, Seq},
};
use rusqlite::{OptionalExtension as _, Params, Row, params};

/// Which events are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventFilter {
    /// All of them.
    All,
    /// Events that decided the way of the run: all but starts, hand-offs, timers that fired, and attempts that went well.
    Deciding,
}

/// An event as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventText {
    /// Its place in the run.
    pub seq: Seq,
    /// Its name, such as `attempt_settled`.
    pub name: String,
    /// The record: JSON of one line.
    pub json: String,
}

/// Events that never decide anything.
const OTHERS: [&str; 4] = ["run_started", "attempt_started", "handoff_written", "timer_fired"];

impl Reader {
    /// The first events of a run from `from` on, at most `limit`, in order. A page that has `most_bytes` ends there, after one
    /// event at least.
    ///
    /// # Errors
    /// [`ReadError::Missing`] when there is no such run.
    pub fn event_texts(
        &self,
        run: &RunId,
        from: Seq,
        limit: u32,
        most_bytes: usize,
        filter: EventFilter,
    ) -> Result<Vec<EventText>, ReadError> {
        let key = self.key(run)?;
        self.texts(key, "seq >= ?2", "ASC", params![key, signed(from), limit], most_bytes, filter)
    }

    /// The last events of a run before this place, or without one its last, at most `limit`; the newest first.
    ///
    /// # Errors
    /// [`ReadError::Missing`] when there is no such run.
    pub fn event_texts_back(
        &self,
        run: &RunId,
        before: Option<Seq>,
        limit: u32,
        filter: EventFilter,
    ) -> Result<Vec<EventText>, ReadError> {
        let key = self.key(run)?;
        let values = params![key, before.map_or(i64::MAX, signed), limit];
        self.texts(key, "seq < ?2", "DESC", values, usize::MAX, filter)
    }

    fn texts(
        &self,
        key: RunKey,
        which: &str,
        order: &str,
        values: impl Params,
        most_bytes: usize,
        filter: EventFilter,
    ) -> Result<Vec<EventText>, ReadError> {
        let filtered = match filter {
            EventFilter::All => String::new(),
            EventFilter::Deciding => deciding(),
        };
        let sql = format!(
            "SELECT seq, at_ms, body FROM events WHERE run = ?1 AND {which} {filtered} ORDER BY seq {order} LIMIT ?3"
        );
        let read = || {
            let mut statement = self.conn.prepare_cached(&sql)?;
            let mut rows = statement.query(values)?;
            let mut page = Vec::new();
            let mut bytes = 0_usize;
            while let Some(row) = rows.next()?.filter(|_| bytes < most_bytes) {
                let mut event = event(row)?;
                if filter == EventFilter::Deciding && event.name == "routed" {
                    self.explain(key, &mut event)?;
                }
                bytes = bytes.saturating_add(event.json.len());
                page.push(event);
            }
            Ok(page)
        };
        read().map_err(|error| read_error(error, "an event"))
    }

    /// Adds why a visit leads where it does, which the event itself does not have where the hand-off of the visit comes next: that is not
    /// among what decides.
    fn explain(&self, run: RunKey, text: &mut EventText) -> rusqlite::Result<()> {
        let Ok(mut record) = serde_json::from_str::<Record>(&text.json) else { return Ok(()) };
        let Event::Routed(routed) = &mut record.event else { return Ok(()) };
        if !routed.audit.is_null() {
            return Ok(());
        }
        let next = "SELECT seq, at_ms, body FROM events WHERE run = ?1 AND seq = ?2";
        let mut next = self.conn.prepare_cached(next)?;
        let next = next.query_row(params![run, signed(text.seq.saturating_add(1))], projection::record);
        let next = next.optional()?.map(|next| next.event);
        if let Some(Event::HandoffWritten(written)) = next
            && written.visit == routed.visit
        {
            routed.audit = written.handoff.routing_audit;
            let body = record.event.kept().map_err(|error| damaged(error.into()))?;
            text.json = line(text.seq, record.at.as_millis(), &body);
        }
        Ok(())
    }

    /// Attempts of a run, in the order in which they were started, from this place on, each with its place.
    ///
    /// # Errors
    /// [`ReadError::Missing`] when there is no such run.
    pub fn attempts_started(
        &self,
        run: &RunId,
        from: Seq,
        limit: u32,
    ) -> Result<Vec<(Seq, AttemptId)>, ReadError> {
        let sql = format!(
            "SELECT seq, body ->> '$.attempt' AS attempt FROM events WHERE run = ?1 AND seq >= ?2 AND {} ORDER BY seq LIMIT ?3",
            is_of("attempt_started")
        );
        self.rows(&sql, params![self.key(run)?, signed(from), limit], started, "an event")
    }

    /// As [`Reader::attempts_started`], from the newest back: those before this place, or without one the newest.
    ///
    /// # Errors
    /// [`ReadError::Missing`] when there is no such run.
    pub fn attempts_started_before(
        &self,
        run: &RunId,
        before: Option<Seq>,
        limit: u32,
    ) -> Result<Vec<(Seq, AttemptId)>, ReadError> {
        let sql = format!(
            "SELECT seq, body ->> '$.attempt' AS attempt FROM events WHERE run = ?1 AND seq < ?2 AND {} \
             ORDER BY seq DESC LIMIT ?3",
            is_of("attempt_started")
        );
        let before = before.map_or(i64::MAX, signed);
        self.rows(&sql, params![self.key(run)?, before, limit], started, "an event")
    }

    /// Attempts of a run that were started and are not settled, in no order.
    ///
    /// # Errors
    /// [`ReadError::Missing`] when there is no such run.
    pub fn open_attempts(&self, run: &RunId) -> Result<Vec<AttemptId>, ReadError> {
        let of = |kind: &str| {
            format!("SELECT body ->> '$.attempt' AS attempt FROM events WHERE run = ?1 AND {}", is_of(kind))
        };
        let sql = format!("{} EXCEPT {}", of("attempt_started"), of("attempt_settled"));
        self.rows(&sql, [self.key(run)?], attempt, "an event")
    }

    /// Whether a run has started an attempt.
    ///
    /// # Errors
    /// [`ReadError::Missing`] when there is no such run.
    pub fn has_started(&self, run: &RunId, attempt: &AttemptId) -> Result<bool, ReadError> {
        let sql = "SELECT EXISTS (SELECT 1 FROM events WHERE run = ?1 AND body ->> '$.type' = 'attempt_started' \
                   AND body ->> '$.attempt' = ?2)";
        let found = self.one(sql, params![self.key(run)?, attempt.to_string()], |row| row.get(0))?;
        Ok(found.unwrap_or(false))
    }
}

/// Whether an event is of this kind. Events are written with their kind first: comparing the beginning is little beside reading all of it as
/// JSON.
fn is_of(kind: &str) -> String {
    format!("body >= '{{\"type\":\"{kind}\"' AND body < '{{\"type\":\"{kind}#'")
}

/// The condition of a deciding event. The cheap tests come first: only the rest is read as JSON.
fn deciding() -> String {
    let others = OTHERS.map(|kind| format!("NOT ({})", is_of(kind))).join(" AND ");
    let types = OTHERS.map(|kind| format!("'{kind}'")).join(", ");
    format!(
        "AND {others} AND NOT ({} AND coalesce(body ->> '$.ok', 0)) AND body ->> '$.type' NOT IN ({types}) \
         AND NOT (body ->> '$.type' = 'attempt_settled' AND coalesce(body ->> '$.ok', 0))",
        is_of("attempt_settled")
    )
}

fn started(row: &Row<'_>) -> rusqlite::Result<(Seq, AttemptId)> {
    Ok((unsigned(row.get("seq")?), attempt(row)?))
}

fn attempt(row: &Row<'_>) -> rusqlite::Result<AttemptId> {
    let text: String = row.get("attempt")?;
    AttemptId::parse(&text).map_err(|error| damaged(error.to_string().into()))
}

fn event(row: &Row<'_>) -> rusqlite::Result<EventText> {
    let seq = unsigned(row.get("seq")?);
    let at: i64 = row.get("at_ms")?;
    let body = row.get_ref("body")?.as_str()?;
    // It is written first; reading all of it for its name would cost more than the rest.
    let name = body.strip_prefix("{\"type\":\"").and_then(|rest| rest.split('"').next());
    let name = name.ok_or_else(|| damaged("an event does not begin with its type".into()))?.to_owned();
    Ok(EventText { seq, name, json: line(seq, at, body) })
}

#[cfg(test)]
mod tests;
