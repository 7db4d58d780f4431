//! The newest engine's number: how it is taken, its possible damage, and how it is made again.
//!
//! A commit is fenced by equality: it is refused unless the number is that of its engine. So a number that was made again must be
//! one that no engine has ever had.

use crate::model::damage::DamagedRow;
use rusqlite::{Connection, OptionalExtension as _};

/// No store sees so many engines, and there is room above it.
const MOST: i64 = 1 << 60;

/// Whether engines can have come so far.
pub(crate) fn is_plausible(epoch: i64) -> bool {
    (0..=MOST).contains(&epoch)
}

/// The newest epoch; none if its row is missing or what is there cannot be one.
pub(crate) fn current(conn: &Connection) -> rusqlite::Result<Option<i64>> {
    let newest =
        conn.prepare_cached("SELECT epoch FROM engine")?.query_row([], |row| row.get(0)).optional()?;
    Ok(newest.filter(|epoch| is_plausible(*epoch)))
}

/// The damage of the row.
pub(crate) fn damage(conn: &Connection) -> rusqlite::Result<Option<DamagedRow>> {
    if current(conn)?.is_some() {
        return Ok(None);
    }
    let found = conn.query_row("SELECT epoch FROM engine", [], |row| row.get::<_, i64>(0)).optional()?;
    let reason = match found {
        None => "the number of the newest engine is missing".to_owned(),
        Some(epoch) => format!("{epoch} is no number of an engine"),
    };
    let cure = Some("made again; until then no engine can start");
    Ok(Some(DamagedRow { table: "engine", key: String::new(), reason, cure }))
}

/// Makes the row again if it is damaged. For the holder of the lease, within a transaction.
///
/// The time in milliseconds since 1970 is far above every number that engines have come to one by one. A number that was
/// made so before is lower, or is known by the runs that its engines held.
pub(crate) fn mend(conn: &Connection) -> rusqlite::Result<Option<DamagedRow>> {
    let damage = damage(conn)?;
    if damage.is_some() {
        conn.execute("DELETE FROM engine", [])?;
        let sql = "INSERT INTO engine (one, epoch) SELECT 1, max(unixepoch() * 1000, \
                   coalesce((SELECT max(epoch) FROM holders WHERE epoch <= ?1), 0))";
        conn.execute(sql, [MOST])?;
    }
    Ok(damage)
}
