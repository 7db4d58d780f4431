//! Rows from events, in one transaction, compared with what was there.

use super::{RepairOptions, RepairReport};
use crate::{
    log::{
        reader::{
            damaged::put_out_of_action,
            lost::{KEYS_OF_EVENTS_ALONE, unnamed},
            pinned,
        },
        writer::{check_epoch, commit_error},
    },
    model::{commit::Epoch, damage::Gap, error::CommitError, note::Aside},
    tables::{
        identity, projection, schema,
        sql::{RunKey, unsigned},
    },
};
use envoi_contract::{code::Code, time::Timestamp};
use envoi_kernel::event::{Event, Record};
use rusqlite::{Connection, OptionalExtension as _, Row, TransactionBehavior, params, types::Value};
use std::{collections::BTreeMap, path::Path};

/// Keys and whole rows of the projections, as text.
pub(super) type Rows = BTreeMap<String, String>;

/// Most findings of one kind of one run that are named.
pub(super) const MOST_NAMED: usize = 100;

/// No run has more events. A row that counts more is damaged, and does not prove that events are missing.
pub(super) const MOST_EVENTS: u64 = 1 << 32;

/// A run of the store, and its known data before its rows were made again.
struct Known {
    key: RunKey,
    id: String,
    /// As in its row.
    next_seq: Option<u64>,
    updated_at: Timestamp,
}

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
    enter(transaction, report)?;
    rename(transaction, report)?;
    let before = snapshot(transaction)?;
    let known = runs(transaction)?;
    transaction.execute_batch("CREATE TEMP TABLE runs_before AS SELECT * FROM runs")?;
    for (table, _) in projection::TABLES {
        transaction.execute(&format!("DELETE FROM {table}"), [])?;
    }
    for known in known {
        let whole = replay(transaction, &known, report)?;
        if whole && options.drop_snapshots && drop_snapshot(transaction, known.key)? {
            report.dropped_snapshots.push(known.id);
        }
    }
    keep(transaction)?;
    pin_again(transaction, report)?;
    // Also for runs that have been pinned again.
    keep_earlier(transaction, report)?;
    let after = snapshot(transaction)?;
    report.mended_rows.extend(differences(&before, &after, MENDED));
    let rows = put_out_of_action(transaction)?;
    for row in rows.into_iter().chain(identity::mend(transaction)?) {
        match row.cure {
            Some(cure) => report.mended_rows.push(format!("{row}: {cure}")),
            None => report.damaged_rows.push(row.to_string()),
        }
    }
    transaction.execute_batch("DROP TABLE runs_before")
}

/// The rows of one run; whether they could be made.
pub(super) fn one(transaction: &Connection, key: RunKey, id: &str) -> rusqlite::Result<bool> {
    let sql = "SELECT next_seq, updated_at_ms FROM runs WHERE run = ?1";
    let before = transaction.query_row(sql, [key], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    let (next_seq, updated_at) = before.unwrap_or((None, 0));
    for (table, _) in projection::TABLES {
        transaction.execute(&format!("DELETE FROM {table} WHERE run = ?1"), [key])?;
    }
    let known = Known {
        key,
        id: id.to_owned(),
        next_seq: next_seq.map(unsigned),
        updated_at: Timestamp::from_millis(updated_at),
    };
    replay(transaction, &known, &mut RepairReport::default())
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

/// Makes the entries in the journal that are missing: a run without one has no name and is never loaded. Its first event has its
/// id and the digest of its flow; its row has them too.
fn enter(conn: &Connection, report: &mut RepairReport) -> rusqlite::Result<()> {
    let sql = "SELECT run FROM runs WHERE NOT EXISTS (SELECT 1 FROM journals WHERE journals.run = runs.run) ORDER BY run";
    let mut keys = keys(conn, sql)?;
    keys.extend(keys_alone(conn)?);
    for key in keys {
        let name = named_by_event(conn, key)?.or(named_by_row(conn, key)?);
        let entered = match &name {
            Some((id, digest)) => {
                // Its entry may have another key, which has no events.
                let sql = "UPDATE journals SET run = ?1 WHERE id = ?2 \
                           AND NOT EXISTS (SELECT 1 FROM events WHERE events.run = journals.run) \
                           AND NOT EXISTS (SELECT 1 FROM runs WHERE runs.run = journals.run)";
                if conn.execute(sql, params![key, id])? > 0 {
                    report.mended_rows.push(format!("journals {id}: had another key"));
                    continue;
                }
                let sql = "INSERT OR IGNORE INTO journals (run, id, flow) \
                           SELECT ?1, ?2, flow FROM flows WHERE digest = ?3 ORDER BY flow DESC LIMIT 1";
                conn.execute(sql, params![key, id, digest])? > 0
            }
            None => false,
        };
        let id = name.map_or_else(|| unnamed(key), |(id, _)| id);
        if entered {
            report.mended_rows.push(format!("journals {id}: was missing"));
        } else {
            let events = conn
                .query_row("SELECT count(*) FROM events WHERE run = ?1", [key], |row| row.get::<_, i64>(0))?;
            report.lost_runs.push(format!(
                "{id}: its entry in the journal is missing and cannot be made again; {events} events of it are kept"
            ));
        }
    }
    Ok(())
}

/// Gives entries in the journal their ids again where the first event has another one: lookups go by the entry.
fn rename(conn: &Connection, report: &mut RepairReport) -> rusqlite::Result<()> {
    let sql = "SELECT journals.run, journals.id FROM journals LEFT JOIN runs USING (run) \
               WHERE CAST(journals.id AS BLOB) IS NOT CAST(runs.id AS BLOB) OR CAST(journals.id AS BLOB) IS NOT \
               (SELECT CASE WHEN json_valid(body) THEN CAST(body ->> '$.run' AS BLOB) END \
               FROM events WHERE events.run = journals.run AND seq = 0) ORDER BY journals.run";
    let found = |row: &Row<'_>| {
        Ok((row.get::<_, RunKey>(0)?, String::from_utf8_lossy(row.get_ref(1)?.as_bytes()?).into_owned()))
    };
    let suspects: Vec<_> = conn.prepare(sql)?.query_map([], found)?.collect::<rusqlite::Result<_>>()?;
    let mut wrong = Vec::new();
    for (key, entered) in suspects {
        if let Some((id, _)) = named_by_event(conn, key)?.filter(|(id, _)| *id != entered) {
            // Out of the way first: two entries may have each other's.
            conn.execute("UPDATE journals SET id = ?2 WHERE run = ?1", params![key, format!("run {key}")])?;
            wrong.push((key, id, entered));
        }
    }
    for (key, id, entered) in wrong {
        let sql = "UPDATE OR IGNORE journals SET id = ?2 WHERE run = ?1";
        if conn.execute(sql, params![key, id])? > 0 {
            report.mended_rows.push(format!("journals {id}: was called {entered:?}"));
        } else {
            report.lost_runs.push(format!("{}: another run has its id `{id}`", unnamed(key)));
        }
    }
    Ok(())
}

/// As [`rename`], of one run.
pub(super) fn rename_one(conn: &Connection, key: RunKey) -> rusqlite::Result<()> {
    if let Some((id, _)) = named_by_event(conn, key)? {
        conn.execute("UPDATE OR IGNORE journals SET id = ?2 WHERE run = ?1 AND id <> ?2", params![key, id])?;
    }
    Ok(())
}

/// Pins runs again whose flow is not there, or is none that they can have: to the newest flow that their events name and the store has. A
/// flow that is registered has its text, too.
fn pin_again(conn: &Connection, report: &mut RepairReport) -> rusqlite::Result<()> {
    let pin = "UPDATE journals SET flow = (SELECT flow FROM flows WHERE digest = ?2 AND (?4 IS NULL OR language = ?4) \
               ORDER BY name IS ?3 DESC, flow DESC LIMIT 1) \
               WHERE run = ?1 AND EXISTS (SELECT 1 FROM flows WHERE digest = ?2 AND (?4 IS NULL OR language = ?4))";
    for key in pinned::runs_pinned_wrongly(conn)? {
        let source = conn
            .query_row(
                "SELECT CASE WHEN json_valid(body) THEN body ->> '$.source' END FROM events WHERE run = ?1 AND seq = 0",
                [key],
                |row| Ok(row.get(0).ok()),
            )
            .optional()?
            .flatten();
        let source: Option<String> = source;
        let row = named_by_row(conn, key)?;
        let named = pinned::named_flows(conn, key)?;
        let named = named.into_iter().rev().map(|(digest, language)| (digest.to_string(), Some(language)));
        let of_row = row.iter().map(|(_, digest)| (digest.clone(), None));
        for (digest, language) in named.chain(of_row) {
            learn(conn, &digest, language, source.as_deref())?;
            if conn.execute(pin, params![key, digest, source, language])? > 0 {
                let id = match row {
                    Some((id, _)) => id,
                    None => unnamed(key),
                };
                report.mended_rows.push(format!("journals {id}: was pinned to another flow, or to none"));
                break;
            }
        }
    }
    Ok(())
}

/// Takes a flow from those that are registered, if none that a run is pinned to has its text.
fn learn(
    conn: &Connection,
    digest: &str,
    language: Option<u32>,
    source: Option<&str>,
) -> rusqlite::Result<()> {
    let add = "INSERT INTO flows (digest, language, name, text, parts) \
               SELECT digest, language, coalesce(?2, file, id), text, parts FROM registered_flows AS registered \
               WHERE digest = ?1 AND (?3 IS NULL OR language = ?3) AND NOT EXISTS \
               (SELECT 1 FROM flows WHERE flows.digest = ?1 AND (?3 IS NULL OR flows.language = ?3)) \
               ORDER BY flow DESC LIMIT 1";
    conn.execute(add, params![digest, source, language]).map(drop)
}

fn keys_alone(conn: &Connection) -> rusqlite::Result<Vec<RunKey>> {
    keys(conn, KEYS_OF_EVENTS_ALONE)
}

fn keys(conn: &Connection, sql: &str) -> rusqlite::Result<Vec<RunKey>> {
    conn.prepare(sql)?.query_map([], |row| row.get(0))?.collect()
}

/// The id of a run and the digest of its flow.
type Name = (String, String);

fn named_by_event(conn: &Connection, key: RunKey) -> rusqlite::Result<Option<Name>> {
    let sql = "SELECT seq, at_ms, body FROM events WHERE run = ?1 AND seq = 0";
    let record = |row: &Row<'_>| Ok(projection::record(row).ok());
    Ok(match conn.query_row(sql, [key], record).optional()?.flatten() {
        Some(Record { event: Event::RunStarted(started), .. }) => {
            let last =
                pinned::named_flows(conn, key)?.pop().map_or(started.flow_digest, |(digest, _)| digest);
            Some((started.run.as_str().to_owned(), last.to_string()))
        }
        _ => None,
    })
}

/// A run that was corrected keeps every flow that its events name: without one of them it cannot be replayed.
fn keep_earlier(conn: &Connection, report: &mut RepairReport) -> rusqlite::Result<()> {
    let corrected = "SELECT DISTINCT run FROM events \
                     WHERE body LIKE '%\"flow_corrected\"%' OR body LIKE '%\"correction_requested\"%' ORDER BY run";
    let is_kept = "SELECT 1 FROM flows WHERE digest = ?2 AND language = ?3 AND (flow IN (SELECT flow FROM journals WHERE run = ?1) \
                   OR flow IN (SELECT flow FROM earlier_flows WHERE run = ?1))";
    let keep = "INSERT OR IGNORE INTO earlier_flows (run, flow) \
                SELECT ?1, flow FROM flows WHERE digest = ?2 AND language = ?3 ORDER BY flow DESC LIMIT 1";
    for key in keys(conn, corrected)? {
        for (digest, language) in pinned::named_flows(conn, key)? {
            let values = params![key, digest.to_string(), language];
            let is_kept = conn.query_row(is_kept, values, |_| Ok(())).optional()?.is_some();
            if is_kept {
                continue;
            }
            learn(conn, &digest.to_string(), Some(language), None)?;
            if conn.execute(keep, params![key, digest.to_string(), language])? > 0 {
                report.mended_rows.push(format!("earlier_flows {}: a flow was missing", unnamed(key)));
            }
        }
    }
    Ok(())
}

fn named_by_row(conn: &Connection, key: RunKey) -> rusqlite::Result<Option<Name>> {
    let sql = "SELECT id, flow_digest FROM runs WHERE run = ?1";
    let name = |row: &Row<'_>| Ok(row.get(0).and_then(|id| Ok((id, row.get(1)?))).ok());
    Ok(conn.query_row(sql, [key], name).optional()?.flatten())
}

fn runs(conn: &Connection) -> rusqlite::Result<Vec<Known>> {
    let sql = "SELECT journals.run, journals.id, runs.next_seq, coalesce(runs.updated_at_ms, 0) \
               FROM journals LEFT JOIN runs USING (run) ORDER BY journals.run";
    let known = |row: &Row<'_>| {
        Ok(Known {
            key: row.get(0)?,
            id: row.get_ref(1)?.as_bytes().map(|id| String::from_utf8_lossy(id).into_owned())?,
            next_seq: row.get::<_, Option<i64>>(2)?.map(unsigned),
            updated_at: Timestamp::from_millis(row.get(3)?),
        })
    };
    conn.prepare(sql)?.query_map([], known)?.collect()
}

/// Folds what can be understood; a place without an event, or with one that cannot be read, is reported, and the run is set
/// aside unless it is over. True if there is none.
fn replay(conn: &Connection, run: &Known, report: &mut RepairReport) -> rusqlite::Result<bool> {
    let id = &run.id;
    let mut found: Vec<String> = Vec::new();
    let mut statement =
        conn.prepare_cached("SELECT seq, at_ms, body FROM events WHERE run = ?1 ORDER BY seq")?;
    let mut rows = statement.query([run.key])?;
    let mut next = 0;
    let mut clock = Clock::default();
    while let Some(row) = rows.next()? {
        let seq = unsigned(row.get("seq")?);
        found.extend(Gap::between(next, seq).map(|gap| gap.sentence()));
        report.gaps.extend(Gap::between(next, seq).map(|gap| format!("{id}#{gap}")));
        next = seq.saturating_add(1);
        report.events = report.events.saturating_add(1);
        match projection::record(row) {
            Ok(record) => {
                if let Err(reason) = clock.see(&record) {
                    found.push(format!("event {seq} cannot be read: {reason}"));
                    report.unreadable.push(format!("{id}#{seq}: {reason}"));
                }
                projection::fold(conn, run.key, &[record])?;
            }
            Err(error) => {
                let reason = crate::tables::sql::reason(error);
                found.push(format!("event {seq} cannot be read: {reason}"));
                report.unreadable.push(format!("{id}#{seq}: {reason}"));
            }
        }
    }
    // The row counts events that were committed with it.
    let end = run.next_seq.filter(|next| *next <= MOST_EVENTS).unwrap_or(0).max(1);
    if let Some(gap) = Gap::between(next, end) {
        found.push(gap.sentence());
        report.gaps.push(format!("{id}#{gap}"));
    }
    report.runs = report.runs.saturating_add(1);
    if let Some(first) = found.first() {
        set_aside(conn, run, first, &found)?;
    }
    Ok(found.is_empty())
}

/// The time of a run, which never goes back.
#[derive(Default)]
pub(super) struct Clock(Option<Timestamp>);

impl Clock {
    /// Whether the next event can be the next one.
    ///
    /// # Errors
    /// Its time is before that of the event before it.
    pub(super) fn see(&mut self, record: &Record) -> Result<(), WentBack> {
        match self.0.replace(record.at) {
            Some(before) if record.at < before => Err(WentBack { at: record.at, before }),
            _ => Ok(()),
        }
    }
}

/// The time of an event is before that of the event before it.
#[derive(Debug, thiserror::Error)]
#[error("its time is {at}, and that of the event before it is {before}")]
pub(super) struct WentBack {
    at: Timestamp,
    before: Timestamp,
}

/// A run that lacks events does not go on by itself as if it had never had them.
fn set_aside(conn: &Connection, run: &Known, reason: &str, found: &[String]) -> rusqlite::Result<()> {
    let sql = "INSERT OR IGNORE INTO set_aside (run, since_ms, code, reason, evidence) SELECT ?1, ?2, ?3, ?4, ?5 \
               WHERE NOT EXISTS (SELECT 1 FROM runs WHERE run = ?1 AND ended IS NOT NULL)";
    let Aside { since, code, reason, evidence } =
        Aside::new(run.updated_at, Code::RunUnreadable, reason, &found.join("\n"));
    conn.execute(sql, params![run.key, since.as_millis(), code, reason, evidence]).map(|_| ())
}

/// Puts back the rows of runs whose events make none: they are what is left of them.
fn keep(conn: &Connection) -> rusqlite::Result<()> {
    let sql = "INSERT INTO runs SELECT * FROM runs_before \
               WHERE NOT EXISTS (SELECT 1 FROM runs WHERE runs.run = runs_before.run)";
    conn.execute(sql, []).map(|_| ())
}

/// Every table of [`projection::TABLES`] has the run's key first; people know the run by its id.
fn snapshot(conn: &Connection) -> rusqlite::Result<Rows> {
    let ids: BTreeMap<RunKey, String> = runs(conn)?.into_iter().map(|known| (known.key, known.id)).collect();
    let named = |run| ids.get(&run).cloned().unwrap_or_else(|| unnamed(run));
    let mut all = Rows::new();
    for (table, key) in projection::TABLES {
        add_rows(conn, table, key, None, named, &mut all)?;
    }
    Ok(all)
}

/// As [`snapshot`], of one run, which is not named.
pub(super) fn snapshot_of(conn: &Connection, run: RunKey) -> rusqlite::Result<Rows> {
    let mut all = Rows::new();
    for (table, key) in projection::TABLES {
        add_rows(conn, table, key, Some(run), |_| String::new(), &mut all)?;
    }
    Ok(all)
}

fn add_rows(
    conn: &Connection,
    table: &str,
    key: &str,
    run: Option<RunKey>,
    named: impl Fn(RunKey) -> String,
    all: &mut Rows,
) -> rusqlite::Result<()> {
    let keys = conn.prepare(&format!("SELECT {key} FROM {table}"))?.column_count();
    let sql = match run {
        Some(_) => format!("SELECT {key}, * FROM {table} WHERE run = ?1"),
        None => format!("SELECT {key}, * FROM {table} WHERE ?1 IS NULL"),
    };
    let mut statement = conn.prepare_cached(&sql)?;
    let columns = statement.column_count();
    let mut rows = statement.query([run])?;
    while let Some(row) = rows.next()? {
        let run = named(row.get(0)?);
        let rest = text(row, 1..keys)?;
        let place = [table, &run, &rest].into_iter().filter(|part| !part.is_empty());
        all.insert(place.collect::<Vec<_>>().join(" "), text(row, keys..columns)?);
    }
    Ok(())
}

fn text(row: &Row<'_>, columns: std::ops::Range<usize>) -> rusqlite::Result<String> {
    let shown = columns.map(|column| {
        let value = row.get_ref(column)?;
        Ok(match value.as_bytes() {
            // Bytes that are no text are what a damaged row may have.
            Ok(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            Err(_) => match Value::try_from(value) {
                Ok(Value::Integer(number)) => number.to_string(),
                other => format!("{other:?}"),
            },
        })
    });
    Ok(shown.collect::<rusqlite::Result<Vec<_>>>()?.join(" "))
}

/// The kinds of wrong rows: it belongs to nothing, is missing, or is different.
pub(super) type Words = [&'static str; 3];

const MENDED: Words = ["stood for nothing", "was missing", "was different"];

pub(super) fn differences(before: &Rows, after: &Rows, [surplus, missing, different]: Words) -> Vec<String> {
    let gone = before.keys().filter(|key| !after.contains_key(*key)).map(|key| format!("{key}: {surplus}"));
    let other = after.iter().filter_map(|(key, row)| match before.get(key) {
        None => Some(format!("{key}: {missing}")),
        Some(was) if was != row => Some(format!("{key}: {different}")),
        Some(_) => None,
    });
    gone.chain(other).collect()
}
