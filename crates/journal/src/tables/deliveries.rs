//! The outbox: notices that are to be sent, and the outcomes of sending them.
//!
//! Owns two kinds of rows. Notices are written with their events, in one transaction: none is lost, and none is about an
//! event that did not happen. Outcomes of tries share commits with everything else. Both are truth: no repair makes them
//! again. The engine decides who gets a notice, and when the next try is due.

use crate::{
    model::{
        commit::Commit,
        delivery::{Delivery, DeliveryKey, DeliveryRow, Fate, Mark},
    },
    tables::sql::{RunKey, read, signed, unsigned},
};
use envoi_contract::time::Timestamp;
use envoi_kernel::ids::Seq;
use rusqlite::{Connection, Row, params};

/// The rows of a commit, due at once.
pub(crate) fn insert(conn: &Connection, run: RunKey, commit: &Commit) -> rusqlite::Result<()> {
    if commit.deliveries.is_empty() {
        return Ok(());
    }
    let sql = "INSERT INTO deliveries (run, seq, kind, id, target, tries, next_try_at_ms) VALUES (?1, ?2, ?3, ?4, ?5, 0, ?6)";
    let mut statement = conn.prepare_cached(sql)?;
    for Delivery { seq, kind, id, target } in &commit.deliveries {
        let due = commit.records.iter().find(|record| record.seq == *seq).map(|record| record.at.as_millis());
        statement.execute(params![run, signed(*seq), kind.word(), id, target, due])?;
    }
    Ok(())
}

/// Whether every delivery is of an event of its own commit.
pub(crate) fn belong(commit: &Commit) -> bool {
    let is_there = |seq: Seq| commit.records.iter().any(|record| record.seq == seq);
    commit.deliveries.iter().all(|delivery| is_there(delivery.seq))
}

pub(crate) fn mark(conn: &Connection, mark: &Mark) -> rusqlite::Result<()> {
    let (next, delivered, gave_up, error) = match &mark.fate {
        Fate::Begun { at } => (Some(at), None, None, None),
        Fate::Delivered { at } => (None, Some(at), None, None),
        Fate::Again { at, error } => (Some(at), None, None, Some(error)),
        Fate::GivenUp { at, error } => (None, None, Some(at), Some(error)),
    };
    let sql = "UPDATE deliveries SET tries = ?2, next_try_at_ms = coalesce(?3, next_try_at_ms), delivered_at_ms = ?4, \
               gave_up_at_ms = ?5, last_error = coalesce(?6, last_error) \
               WHERE delivery = ?1 AND delivered_at_ms IS NULL AND gave_up_at_ms IS NULL";
    let millis = |at: Option<&Timestamp>| at.map(|at| at.as_millis());
    let values = params![mark.key.0, mark.tries, millis(next), millis(delivered), millis(gave_up), error];
    conn.prepare_cached(sql)?.execute(values).map(|_| ())
}

/// From a row of `deliveries` with `run_id`.
pub(crate) fn row(row: &Row<'_>) -> rusqlite::Result<DeliveryRow> {
    let time = |column: &str| {
        Ok::<_, rusqlite::Error>(row.get::<_, Option<i64>>(column)?.map(Timestamp::from_millis))
    };
    let seq: i64 = row.get("seq")?;
    Ok(DeliveryRow {
        key: DeliveryKey(row.get("delivery")?),
        run: read(row, "run_id")?,
        tenant: row.get("tenant")?,
        delivery: Delivery {
            seq: unsigned(seq),
            kind: read(row, "kind")?,
            id: row.get("id")?,
            target: row.get("target")?,
        },
        tries: row.get("tries")?,
        next_try_at: Timestamp::from_millis(row.get("next_try_at_ms")?),
        delivered_at: time("delivered_at_ms")?,
        gave_up_at: time("gave_up_at_ms")?,
        last_error: row.get("last_error")?,
    })
}

#[cfg(test)]
mod tests;
