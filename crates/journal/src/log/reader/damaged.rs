//! Rows beside the events that are damaged: each table is read row by row, as its readers would.
//!
//! Owns the definition of damage there and the possible repairs. Rows that are made from events are compared with the
//! events elsewhere. A row is put out of action if that is possible: it then does nothing and blocks nothing.

use super::{Reader, decode, network, read_error};
use crate::{
    model::{damage::DamagedRow, error::ReadError, network::TOKEN_SCOPES},
    tables::{
        a2a::{message_row, push_row, task_row},
        deliveries, epoch, identity,
        names::name_of,
        notes::aside,
        sql::{damaged, read, reason},
    },
};
use envoi_contract::{digest::Digest, json::Value};
use envoi_kernel::{
    ids::RunId,
    notify::{Moment, Posting},
};
use rusqlite::{
    Connection, Row, params_from_iter,
    types::{Value as Column, ValueRef},
};

/// How the rows of a table are checked.
struct Check {
    table: &'static str,
    /// The columns of its key.
    key: &'static [&'static str],
    /// The columns that are read of each row, beside its own.
    beside: String,
    /// Which rows still do something.
    which: &'static str,
    decode: fn(&Row<'_>) -> rusqlite::Result<()>,
    /// The statement that puts a damaged row out of action, and the words for it.
    cure: Option<(&'static str, &'static str)>,
}

/// Whether a row belongs to a run, in SQL.
macro_rules! of_a_run {
    () => {
        "(EXISTS (SELECT 1 FROM journals WHERE journals.run = beside.run) \
         OR EXISTS (SELECT 1 FROM runs WHERE runs.run = beside.run))"
    };
}

const HAS_RUN: &str = concat!(of_a_run!(), " AS has_run");

fn checks() -> Vec<Check> {
    vec![
        Check {
            table: "deliveries",
            key: &["delivery"],
            beside: format!(
                "coalesce({}, 'run_none') AS run_id, '' AS tenant, {HAS_RUN}, \
                 (SELECT CASE WHEN json_valid(body) THEN body ->> '$.type' END FROM events \
                 WHERE events.run = beside.run AND events.seq = beside.seq) AS event",
                name_of("beside.run")
            ),
            which: "delivered_at_ms IS NULL AND gave_up_at_ms IS NULL",
            decode: delivery,
            cure: Some((
                "gave_up_at_ms = next_try_at_ms, last_error = 'its row is damaged: given up by a repair'",
                "given up",
            )),
        },
        Check {
            table: "tokens",
            key: &["id"],
            beside: "1".to_owned(),
            which: "revoked_at_ms IS NULL",
            decode: token,
            cure: Some(("revoked_at_ms = created_at_ms", "revoked")),
        },
        Check {
            table: "a2a_push",
            key: &["run", "id"],
            beside: "1".to_owned(),
            which: "state NOT IN ('done', 'failed')",
            decode: push,
            cure: Some(("state = 'failed', note = 'its row is damaged: given up by a repair'", "given up")),
        },
        Check {
            table: "holders",
            key: &["run"],
            beside: format!("{HAS_RUN}, (SELECT max(epoch) FROM engine) AS newest"),
            which: "1",
            decode: holder,
            cure: Some(("", "removed: it stands for no engine")),
        },
        Check {
            table: "snapshots",
            key: &["run"],
            beside: format!("{HAS_RUN}, (SELECT max(seq) FROM events WHERE events.run = beside.run) AS last"),
            which: "1",
            decode: snapshot,
            cure: Some(("", "removed: the events say it all")),
        },
        Check {
            table: "set_aside",
            key: &["run"],
            beside: "since_ms AS aside_since_ms, code AS aside_code, reason AS aside_reason, evidence AS aside_evidence"
                .to_owned(),
            which: of_a_run!(),
            decode: |row| aside(row).map(drop),
            cure: None,
        },
        of_no_run("set_aside", &["run"]),
        Check {
            table: "events",
            key: &["event"],
            beside: "1".to_owned(),
            which: "(event < 1 OR event > (1 << 60))",
            decode: |row| {
                let number: i64 = row.get("event")?;
                Err(wrong(format!("{number} is no number that an event is given")))
            },
            cure: Some((
                "event = (SELECT 1 + coalesce(max(event), 0) FROM events WHERE event BETWEEN 1 AND (1 << 60))",
                "numbered as the newest one",
            )),
        },
        of_no_run("handoffs", &["run", "scope", "step", "visit"]),
        of_no_run("manifests", &["run", "nth"]),
        of_no_run("places", &["run", "flow", "path"]),
        of_no_run("inbox", &["run", "interrupt"]),
        plain("journals", &["run"], |row| read::<RunId>(row, "id").map(drop)),
        plain("flows", &["flow"], |row| decode::pinned(row).map(drop)),
        // The bytes of a blob are checked elsewhere, with the content in files.
        plain("blobs", &["blob"], |row| row.get::<_, [u8; 32]>("digest").map(drop)),
        plain("registered_flows", &["flow"], |row| network::registered(row).map(drop)),
        Check {
            table: "page_sessions",
            key: &["id"],
            beside: "1".to_owned(),
            which: "ended_at_ms IS NULL",
            decode: |row| network::page_session(row).map(drop),
            cure: Some(("ended_at_ms = created_at_ms", "ended")),
        },
        plain("starts", &["tenant", "key"], |row| {
            row.get::<_, [u8; 32]>("body")?;
            row.get::<_, String>("tenant")?;
            row.get::<_, String>("key")?;
            read::<RunId>(row, "run").map(drop)
        }),
        plain("uploads", &["tenant", "digest"], |row| network::upload(row).map(drop)),
        plain("a2a_tasks", &["run"], |row| task_row(row).map(drop)),
        plain("a2a_messages", &["message"], message),
    ]
}

/// Rows that are made from events are compared with them, run by run; those of no run are found here.
fn of_no_run(table: &'static str, key: &'static [&'static str]) -> Check {
    let cure = Some(("", "removed: it belongs to nothing"));
    let which = concat!("NOT ", of_a_run!());
    Check { table, key, beside: "0 AS has_run".to_owned(), which, decode: has_run, cure }
}

fn plain(
    table: &'static str,
    key: &'static [&'static str],
    decode: fn(&Row<'_>) -> rusqlite::Result<()>,
) -> Check {
    Check { table, key, beside: "1".to_owned(), which: "1", decode, cure: None }
}

fn wrong(reason: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> rusqlite::Error {
    damaged(reason.into())
}

fn has_run(row: &Row<'_>) -> rusqlite::Result<()> {
    if row.get("has_run")? { Ok(()) } else { Err(wrong("there is no such run")) }
}

/// Words that a token's scopes can be.
fn token(row: &Row<'_>) -> rusqlite::Result<()> {
    let scopes = network::token(row)?.scopes;
    let is_scope = |word: &str| TOKEN_SCOPES.contains(&word);
    match scopes.split_whitespace().find(|word| !is_scope(word)) {
        Some(word) => Err(wrong(format!("`{word}` is no scope"))),
        None if scopes.trim().is_empty() => Err(wrong("it has no scope")),
        None => Ok(()),
    }
}

fn message(row: &Row<'_>) -> rusqlite::Result<()> {
    match Value::parse_str(&message_row(row)?.body) {
        Ok(Value::Object(_)) => Ok(()),
        _ => Err(wrong("what the client sent cannot be understood")),
    }
}

/// A time after the year 9999 is damage: it would mean "never", which rows do not store so.
fn plausible_times(row: &Row<'_>) -> rusqlite::Result<()> {
    const YEAR_10000_MS: i64 = 253_402_300_800_000;
    for (nth, name) in row.as_ref().column_names().enumerate() {
        if let ValueRef::Integer(ms) = row.get_ref(nth)?
            && name.ends_with("_ms")
            && ms >= YEAR_10000_MS
        {
            return Err(wrong(format!("`{name}` is {ms}, which is no time")));
        }
    }
    Ok(())
}

/// A notice is of an event of its run, and goes to a target. The engine defines its id.
fn delivery(row: &Row<'_>) -> rusqlite::Result<()> {
    has_run(row)?;
    let found = deliveries::row(row)?;
    let event: Option<String> = row.get("event")?;
    let seq = found.delivery.seq;
    let kind = found.delivery.kind;
    let about = match kind {
        Moment::Question => "interrupt_raised",
        Moment::Expiry => "interrupt_expired",
        Moment::End => "run_ended",
    };
    serde_json::from_str::<Posting>(&found.delivery.target)
        .map_err(|error| wrong(format!("its target cannot be understood: {error}")))?;
    match event.as_deref() {
        Some(event) if event == about => Ok(()),
        Some(event) => Err(wrong(format!("it is a notice of `{about}`, and event {seq} is `{event}`"))),
        None => Err(wrong(format!("its event {seq} is not there"))),
    }
}

fn push(row: &Row<'_>) -> rusqlite::Result<()> {
    let push = push_row(row)?;
    if !["http://", "https://"].iter().any(|scheme| push.url.starts_with(scheme)) {
        return Err(wrong(format!("`{}` is no address", push.url)));
    }
    match row.get::<_, String>("state")?.as_str() {
        "active" => Ok(()),
        other => Err(wrong(format!("`{other}` is no state of it"))),
    }
}

fn holder(row: &Row<'_>) -> rusqlite::Result<()> {
    has_run(row)?;
    let (epoch, newest): (i64, Option<i64>) = (row.get("epoch")?, row.get("newest")?);
    // If the newest epoch itself is damaged, the message is about that one.
    match newest.filter(|newest| epoch::is_plausible(*newest)) {
        Some(newest) if epoch > newest || epoch < 0 => {
            Err(wrong(format!("it names engine {epoch}, and the newest one is {newest}")))
        }
        _ => Ok(()),
    }
}

fn snapshot(row: &Row<'_>) -> rusqlite::Result<()> {
    has_run(row)?;
    let (seq, last): (i64, Option<i64>) = (row.get("seq")?, row.get("last")?);
    match last {
        Some(last) if (0..=last).contains(&seq) => Ok(()),
        Some(last) => Err(wrong(format!("it is of event {seq}, and the last one is {last}"))),
        // It may be all that is left of the run.
        None => Ok(()),
    }
}

fn content(row: &Row<'_>) -> rusqlite::Result<()> {
    // Another check reports that it is no digest.
    let Ok(expected) = row.get("digest").map(Digest::from_bytes) else { return Ok(()) };
    let found = Digest::of(&row.get::<_, Vec<u8>>("bytes")?);
    if found == expected {
        return Ok(());
    }
    Err(wrong(format!("content `{expected}` is damaged: what is there has digest `{found}`")))
}

impl Reader {
    /// The damaged rows of all tables that are not made from events, table by table.
    ///
    /// # Errors
    /// The machine's.
    pub fn damaged_rows(&self) -> Result<Vec<DamagedRow>, ReadError> {
        let found = || {
            let mut found = Vec::from_iter(epoch::damage(&self.conn)?);
            found.extend(identity::damage(&self.conn)?);
            found.extend(broken_pages(&self.conn)?);
            for check in checks().into_iter().chain([plain("blobs", &["blob"], content)]) {
                each_damaged(&self.conn, &check, |row, _| found.push(row))?;
            }
            Ok(found)
        };
        found().map_err(|error| read_error(error, "a row"))
    }
}

/// The findings of SQLite itself about the tables.
fn broken_pages(conn: &Connection) -> rusqlite::Result<Vec<DamagedRow>> {
    let mut statement = conn.prepare("PRAGMA quick_check(10)")?;
    let findings = statement.query_map([], |row| row.get::<_, String>(0))?;
    let wrong = findings.filter(|finding| finding.as_deref() != Ok("ok"));
    wrong
        .map(|reason| Ok(DamagedRow { table: "database", key: String::new(), reason: reason?, cure: None }))
        .collect()
}

/// Puts the damaged rows out of action for which that is possible, and returns all that were found.
pub(crate) fn put_out_of_action(conn: &Connection) -> rusqlite::Result<Vec<DamagedRow>> {
    let mut all = Vec::new();
    for check in checks() {
        let mut found = Vec::new();
        each_damaged(conn, &check, |row, key| found.push((row, key)))?;
        for (row, key) in found {
            if let Some((set, _)) = check.cure {
                let places =
                    check.key.iter().zip(1..).map(|(column, nth)| format!("CAST({column} AS BLOB) = ?{nth}"));
                let place = places.collect::<Vec<_>>().join(" AND ");
                let sql = match set {
                    "" => format!("DELETE FROM {} WHERE {place}", check.table),
                    set => format!("UPDATE {} SET {set} WHERE {place}", check.table),
                };
                conn.execute(&sql, params_from_iter(key))?;
            }
            all.push(row);
        }
    }
    Ok(all)
}

/// Calls `visit` with each damaged row and the bytes of its key.
fn each_damaged(
    conn: &Connection,
    check: &Check,
    mut visit: impl FnMut(DamagedRow, Vec<Column>),
) -> rusqlite::Result<()> {
    let Check { table, key, beside, which, decode, cure } = check;
    let sql = format!("SELECT beside.*, {beside} FROM {table} AS beside WHERE {which}");
    let mut statement = conn.prepare_cached(&sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let sound = readable_texts(row).and_then(|()| decode(row)).and_then(|()| plausible_times(row));
        let Err(error) = sound else { continue };
        if error.sqlite_error_code().is_some() {
            return Err(error);
        }
        let values = key.iter().map(|column| as_bytes(row, column)).collect::<rusqlite::Result<Vec<_>>>()?;
        let shown = values.iter().map(|bytes| String::from_utf8_lossy(bytes).escape_debug().to_string());
        let damaged = DamagedRow {
            table,
            key: shown.collect::<Vec<_>>().join(" "),
            reason: reason(error).to_string(),
            cure: cure.map(|(_, name)| name),
        };
        visit(damaged, values.into_iter().map(Column::Blob).collect());
    }
    Ok(())
}

/// Also of columns that are looked for and not read.
fn readable_texts(row: &Row<'_>) -> rusqlite::Result<()> {
    for column in 0..row.as_ref().column_count() {
        if let ValueRef::Text(bytes) = row.get_ref(column)? {
            std::str::from_utf8(bytes).map_err(|error| wrong(format!("a text of it is none: {error}")))?;
        }
    }
    Ok(())
}

/// As SQLite casts it to a blob.
fn as_bytes(row: &Row<'_>, column: &str) -> rusqlite::Result<Vec<u8>> {
    Ok(match row.get_ref(column)? {
        ValueRef::Null => Vec::new(),
        ValueRef::Integer(number) => number.to_string().into_bytes(),
        ValueRef::Real(number) => number.to_string().into_bytes(),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => bytes.to_vec(),
    })
}
