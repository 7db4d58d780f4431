//! The outbox, read.

use super::Reader;
use crate::{
    model::{
        delivery::{DeliveryRow, Undelivered},
        error::ReadError,
    },
    tables::{deliveries, names::name_of, sql::unsigned},
};
use envoi_contract::time::Timestamp;
use envoi_kernel::ids::RunId;
use rusqlite::Row;

/// The columns of a delivery.
fn columns() -> String {
    format!("deliveries.*, {} AS run_id, ifnull(runs.tenant, '') AS tenant", name_of("deliveries.run"))
}

const TABLES: &str = "deliveries JOIN journals USING (run) LEFT JOIN runs USING (run)";
const OPEN: &str = "delivered_at_ms IS NULL AND gave_up_at_ms IS NULL";

impl Reader {
    /// The deliveries of this run, in the order of its events, as far as they can be read.
    ///
    /// # Errors
    /// [`ReadError::Missing`] when there is no such run.
    pub fn deliveries(&self, run: &RunId) -> Result<Vec<DeliveryRow>, ReadError> {
        let sql = format!("SELECT {} FROM {TABLES} WHERE run = ?1 ORDER BY delivery", columns());
        self.readable(&sql, [self.key(run)?], deliveries::row, "a delivery")
    }

    /// Deliveries of all runs that are due at `now`, the longest due first; of each tenant at most `each`, so that a tenant with
    /// many does not hide the others. A delivery that cannot be read is left out, and takes no place in the page.
    ///
    /// # Errors
    /// The machine's.
    pub fn due_deliveries(&self, now: Timestamp, each: u32) -> Result<Vec<DeliveryRow>, ReadError> {
        let sql = format!(
            "SELECT * FROM (SELECT {}, row_number() OVER \
             (PARTITION BY runs.tenant ORDER BY next_try_at_ms, delivery) AS place \
             FROM {TABLES} WHERE {OPEN} AND next_try_at_ms <= ?1) \
             WHERE place <= ?2 ORDER BY next_try_at_ms, delivery",
            columns()
        );
        let mut damaged = 0_u32;
        loop {
            let limit = each.saturating_add(damaged);
            let row = |row: &Row<'_>| match deliveries::row(row) {
                Err(error) if error.sqlite_error_code().is_none() => Ok(None),
                decoded => decoded.map(Some),
            };
            let rows = self.rows(&sql, (now.as_millis(), limit), row, "a delivery")?;
            let found = u32::try_from(rows.iter().filter(|row| row.is_none()).count()).unwrap_or(u32::MAX);
            if found <= damaged {
                return Ok(rows.into_iter().flatten().collect());
            }
            damaged = found;
        }
    }

    /// When the first delivery becomes due that is not due at `now`.
    ///
    /// # Errors
    /// The machine's.
    pub fn next_delivery_after(&self, now: Timestamp) -> Result<Option<Timestamp>, ReadError> {
        let sql = format!("SELECT min(next_try_at_ms) FROM deliveries WHERE {OPEN} AND next_try_at_ms > ?1");
        let next = self.one(&sql, [now.as_millis()], |row| row.get::<_, Option<i64>>(0))?;
        Ok(next.flatten().map(Timestamp::from_millis))
    }

    /// How many deliveries of all runs have not come through.
    ///
    /// # Errors
    /// The machine's.
    pub fn undelivered(&self) -> Result<Undelivered, ReadError> {
        let sql = format!(
            "SELECT count(*) FILTER (WHERE {OPEN}), count(*) FILTER (WHERE {OPEN} AND tries > 0), count(gave_up_at_ms) \
             FROM deliveries WHERE delivered_at_ms IS NULL"
        );
        let counts = self.one(&sql, [], |row| {
            Ok(Undelivered {
                open: unsigned(row.get(0)?),
                failing: unsigned(row.get(1)?),
                given_up: unsigned(row.get(2)?),
            })
        })?;
        Ok(counts.unwrap_or_default())
    }
}
