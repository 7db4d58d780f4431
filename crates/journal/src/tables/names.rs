//! The run of a key.
//!
//! The id of a run is in three places: in its entry in the journal, in its row, and in its first event. As long as the
//! first two agree, that is the answer. If they do not, one of them is damaged, and the event decides. Owns that decision,
//! so that a run is found by its id and shown under it whichever of the two is wrong.

use crate::tables::sql::RunKey;
use rusqlite::{Connection, OptionalExtension as _, Row};

/// The id of the run whose key `key` is, as an expression of SQL; null if it is not known.
pub(crate) fn name_of(key: &str) -> String {
    format!(
        "(SELECT CASE WHEN named.id = listed.id THEN named.id ELSE coalesce(\
         (SELECT CASE WHEN json_valid(body) THEN body ->> '$.run' END FROM events WHERE events.run = {key} AND seq = 0), \
         named.id, listed.id) END FROM (SELECT {key} AS run) AS wanted \
         LEFT JOIN journals AS named ON named.run = wanted.run LEFT JOIN runs AS listed ON listed.run = wanted.run)"
    )
}

/// The key of the run with this id, if its entry in the journal has the id too.
pub(crate) fn entered_key_of(conn: &Connection, id: &str) -> rusqlite::Result<Option<RunKey>> {
    let sql =
        "SELECT journals.run, runs.id IS ?1 FROM journals LEFT JOIN runs USING (run) WHERE journals.id = ?1";
    let found = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?));
    let entered: Option<(RunKey, bool)> = conn.prepare_cached(sql)?.query_row([id], found).optional()?;
    match entered {
        Some((key, true)) => Ok(Some(key)),
        Some((key, false)) if is_named(conn, key, id)? => Ok(Some(key)),
        Some(_) | None => Ok(None),
    }
}

/// As [`entered_key_of`], also for a run whose entry has another id. Looks at all runs if there is none: for when a person asks.
pub(crate) fn key_of(conn: &Connection, id: &str) -> rusqlite::Result<Option<RunKey>> {
    if let Some(key) = entered_key_of(conn, id)? {
        return Ok(Some(key));
    }
    let sql =
        "SELECT runs.run FROM runs JOIN journals USING (run) WHERE journals.id <> runs.id ORDER BY runs.run";
    let mut statement = conn.prepare_cached(sql)?;
    let mut keys = statement.query([])?;
    while let Some(row) = keys.next()? {
        let key = row.get(0)?;
        if is_named(conn, key, id)? {
            return Ok(Some(key));
        }
    }
    Ok(None)
}

fn is_named(conn: &Connection, key: RunKey, id: &str) -> rusqlite::Result<bool> {
    let sql = format!("SELECT {} = ?2", name_of("?1"));
    let named: Option<bool> =
        conn.prepare_cached(&sql)?.query_row(rusqlite::params![key, id], |row| row.get(0))?;
    Ok(named.unwrap_or(false))
}
