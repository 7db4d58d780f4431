//! The events of a run from the newest back, or in their order, each decoded only if the caller wants that.
//!
//! For views that need few of them, such as the end of a run: the name of an event is at its beginning.

use super::{Reader, read_error};
use crate::{
    model::error::ReadError,
    tables::{
        projection,
        sql::{EventDamage, damaged, signed, unsigned},
    },
};
use envoi_kernel::{
    event::{Event, Record},
    ids::{AttemptId, RunId, Seq},
};
use rusqlite::{Params, Row, params};
use serde::de::DeserializeOwned;
use std::{collections::BTreeSet, ops::ControlFlow};

/// An event as the journal has it.
#[derive(Debug)]
pub struct KeptEvent<'r> {
    row: &'r Row<'r>,
    seq: Seq,
    body: &'r str,
}

impl KeptEvent<'_> {
    /// Its place in the run.
    #[must_use]
    pub fn seq(&self) -> Seq {
        self.seq
    }

    /// Its name, such as `attempt_settled`; empty if it does not begin with that.
    #[must_use]
    pub fn name(&self) -> &str {
        let after = self.body.strip_prefix("{\"type\":\"").unwrap_or_default();
        after.split_once('"').map_or("", |(name, _)| name)
    }

    /// Its first member, if that has this name and can be read. Later members are not read.
    #[must_use]
    pub fn first<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        let (_, members) = self.body.strip_prefix("{\"type\":\"")?.split_once("\",\"")?;
        let value = members.strip_prefix(name)?.strip_prefix("\":")?;
        serde_json::Deserializer::from_str(value).into_iter().next()?.ok()
    }

    /// Some of its members.
    ///
    /// # Errors
    /// [`ReadError::Damaged`] when they cannot be understood.
    pub fn members<T: DeserializeOwned>(&self) -> Result<T, ReadError> {
        serde_json::from_str(self.body).map_err(|error| {
            let damage = EventDamage { seq: self.seq, reason: error.to_string() };
            read_error(damaged(damage.into()), "an event")
        })
    }

    /// The event.
    ///
    /// # Errors
    /// [`ReadError::Damaged`] when it cannot be understood.
    pub fn record(&self) -> Result<Record, ReadError> {
        projection::record(self.row).map_err(|error| read_error(error, "an event"))
    }
}

impl Reader {
    /// As [`Reader::open_attempts`], the newest `most` of them: events before the start of the last one are not read. A run knows how many it has
    /// ([`RunRow::live_attempts`](crate::RunRow::live_attempts)).
    ///
    /// # Errors
    /// [`ReadError::Missing`] when there is no such run; the machine's; [`ReadError::Damaged`] when an attempt cannot be understood.
    pub fn newest_open_attempts(&self, run: &RunId, most: usize) -> Result<Vec<AttemptId>, ReadError> {
        let mut settled = BTreeSet::new();
        let mut open = Vec::new();
        if most == 0 {
            return Ok(open);
        }
        self.events_back(run, None, |event| {
            match event.name() {
                "attempt_settled" => {
                    settled.insert(attempt_of(event)?);
                }
                "attempt_started" => {
                    let attempt = attempt_of(event)?;
                    if !settled.remove(&attempt) {
                        open.push(attempt);
                    }
                }
                _ => {}
            }
            Ok(if open.len() < most { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
        })?;
        Ok(open)
    }

    /// Calls `visit` with the events of a run, the newest first, until it breaks off.
    ///
    /// # Errors
    /// [`ReadError::Missing`] when there is no such run; the machine's; those of `visit`.
    pub fn events_back(
        &self,
        run: &RunId,
        before: Option<Seq>,
        visit: impl FnMut(&KeptEvent<'_>) -> Result<ControlFlow<()>, ReadError>,
    ) -> Result<(), ReadError> {
        let sql = "SELECT seq, at_ms, body FROM events WHERE run = ?1 AND seq < ?2 ORDER BY seq DESC";
        self.each_kept(sql, params![self.key(run)?, before.map_or(i64::MAX, signed)], visit)
    }

    /// Calls `visit` with the events of a run from `from` to before `until`, in their order, until it breaks off.
    ///
    /// # Errors
    /// As [`Reader::events_back`].
    pub fn events_between(
        &self,
        run: &RunId,
        from: Seq,
        until: Seq,
        visit: impl FnMut(&KeptEvent<'_>) -> Result<ControlFlow<()>, ReadError>,
    ) -> Result<(), ReadError> {
        let sql =
            "SELECT seq, at_ms, body FROM events WHERE run = ?1 AND seq >= ?2 AND seq < ?3 ORDER BY seq";
        self.each_kept(sql, params![self.key(run)?, signed(from), signed(until)], visit)
    }

    fn each_kept(
        &self,
        sql: &str,
        values: impl Params,
        mut visit: impl FnMut(&KeptEvent<'_>) -> Result<ControlFlow<()>, ReadError>,
    ) -> Result<(), ReadError> {
        let failed = |error| read_error(error, "an event");
        let mut statement = self.conn.prepare_cached(sql).map_err(failed)?;
        let mut rows = statement.query(values).map_err(failed)?;
        while let Some(row) = rows.next().map_err(failed)? {
            let seq = unsigned(row.get("seq").map_err(failed)?);
            // Bytes that are no text are no event: decoding fails then.
            let body = row.get_ref("body").map_err(failed)?.as_str().unwrap_or_default();
            if visit(&KeptEvent { row, seq, body })?.is_break() {
                break;
            }
        }
        Ok(())
    }
}

/// The attempt that an event begins or ends.
fn attempt_of(event: &KeptEvent<'_>) -> Result<AttemptId, ReadError> {
    if let Some(attempt) = event.first("attempt") {
        return Ok(attempt);
    }
    match event.record()?.event {
        Event::AttemptStarted(started) => Ok(started.attempt),
        Event::AttemptSettled(settled) => Ok(settled.attempt),
        other => {
            let reason = format!("`{}` is about no attempt", other.name());
            let damage = EventDamage { seq: event.seq(), reason };
            Err(read_error(damaged(damage.into()), "an event"))
        }
    }
}

#[cfg(test)]
mod tests;
