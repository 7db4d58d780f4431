//! Rows from events, in one transaction, compared with what was there.

use super::{RepairOptions, RepairReport};
use crate::{
    error::CommitError,
    projection, schema,
    sql::{RunKey, unsigned},
    store::Epoch,
    writer::{check_epoch, commit_error},
};
use envoi_kernel::event::Record;
use rusqlite::{Connection, Row, TransactionBehavior, types::Value};
use std::{collections::BTreeMap, path::Path};

/// Keys and whole rows of the projections, as text.
type Rows = BTreeMap<String, String>;

pub(super) fn rows(
    db: &Path,
    epoch: Epoch,
    options: RepairOptions,
    report: &mut RepairReport,
) -> Result<(), CommitError> {
    let mut conn = schema::connect(db).map_err(commit_error)?;
    report.database = integrity(&conn).map_err(commit_error)?;
    let transaction = conn.transaction_with_behavior(TransactionBehavior::Immediate).map_err(commit_error)?;
    check_epoch(&transaction, epoch)?;
    rebuild(&transaction, options, report).map_err(commit_error)?;
    transaction.commit().map_err(commit_error)
}

fn rebuild(
    transaction: &Connection,
    options: RepairOptions,
    report: &mut RepairReport,
) -> rusqlite::Result<()> {
    let before = snapshot(transaction)?;
    for (table, _) in projection::TABLES {
        transaction.execute(&format!("DELETE FROM {table}"), [])?;
    }
    for (run, id) in runs(transaction)? {
        let whole = replay(transaction, run, &id, report)?;
        if whole && options.drop_snapshots && drop_snapshot(transaction, run)? {
            report.dropped_snapshots.push(id);
        }
    }
    let after = snapshot(transaction)?;
    report.mended_rows = differences(&before, &after);
    Ok(())
}

/// Whether there was one.
fn drop_snapshot(conn: &Connection, run: RunKey) -> rusqlite::Result<bool> {
    Ok(conn.execute("DELETE FROM snapshots WHERE run = ?1", [run])? > 0)
}

fn integrity(conn: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut statement = conn.prepare("PRAGMA integrity_check")?;
    let findings = statement.query_map([], |row| row.get::<_, String>(0))?;
    findings.filter(|finding| finding.as_deref() != Ok("ok")).collect()
}

fn runs(conn: &Connection) -> rusqlite::Result<Vec<(RunKey, String)>> {
    conn.prepare("SELECT run, id FROM journals ORDER BY run")?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect()
}

/// Folds what can be understood; a place without an event, or with one that cannot be read, is reported. True if there is
/// none.
fn replay(conn: &Connection, run: RunKey, id: &str, report: &mut RepairReport) -> rusqlite::Result<bool> {
    let broken = |report: &RepairReport| report.gaps.len().saturating_add(report.unreadable.len());
    let broken_before = broken(report);
    let mut statement =
        conn.prepare_cached("SELECT seq, at_ms, body FROM events WHERE run = ?1 ORDER BY seq")?;
    let mut rows = statement.query([run])?;
    let mut next = 0;
    while let Some(row) = rows.next()? {
        let seq = unsigned(row.get("seq")?);
        report.gaps.extend((next..seq).map(|missing| format!("{id}#{missing}")));
        next = seq.saturating_add(1);
        report.events = report.events.saturating_add(1);
        match projection::record(row) {
            Ok(record) => fold(conn, run, record)?,
            Err(error) => report.unreadable.push(format!("{id}#{seq}: {error}")),
        }
    }
    if next == 0 {
        report.gaps.push(format!("{id}#0"));
    }
    report.runs = report.runs.saturating_add(1);
    Ok(broken(report) == broken_before)
}

fn fold(conn: &Connection, run: RunKey, record: Record) -> rusqlite::Result<()> {
    projection::fold(conn, run, &[record])
}

fn snapshot(conn: &Connection) -> rusqlite::Result<Rows> {
    let mut all = Rows::new();
    for (table, key) in projection::TABLES {
        let statement = conn.prepare(&format!("SELECT {key} FROM {table}"))?;
        let keys = statement.column_count();
        let mut statement = conn.prepare(&format!("SELECT {key}, * FROM {table}"))?;
        let columns = statement.column_count();
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            all.insert(format!("{table} {}", text(row, 0..keys)?), text(row, keys..columns)?);
        }
    }
    Ok(all)
}

fn text(row: &Row<'_>, columns: std::ops::Range<usize>) -> rusqlite::Result<String> {
    let values: Vec<Value> = columns.map(|column| row.get(column)).collect::<rusqlite::Result<_>>()?;
    let shown = values.iter().map(|value| match value {
        Value::Text(text) => text.clone(),
        Value::Integer(number) => number.to_string(),
        other => format!("{other:?}"),
    });
    Ok(shown.collect::<Vec<_>>().join(" "))
}

fn differences(before: &Rows, after: &Rows) -> Vec<String> {
    let gone =
        before.keys().filter(|key| !after.contains_key(*key)).map(|key| format!("{key}: stood for nothing"));
    let other = after.iter().filter_map(|(key, row)| match before.get(key) {
        None => Some(format!("{key}: was missing")),
        Some(was) if was != row => Some(format!("{key}: was different")),
        Some(_) => None,
    });
    gone.chain(other).collect()
}
