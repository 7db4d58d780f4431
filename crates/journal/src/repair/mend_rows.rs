//! The rows of one run made again, so that it can be tried again without a repair of the whole store.

use super::rebuild;
use crate::{
    log::{reader::is_row_whole, store::Store},
    model::error::CommitError,
};
use envoi_kernel::ids::RunId;
use rusqlite::{OptionalExtension as _, Transaction, TransactionBehavior};

impl Store {
    /// Makes the rows of a run again from its events if its row is missing or cannot be read, and says whether it did. Where an
    /// event is missing or cannot be read, everything stays as it is: a repair of the store reports that.
    ///
    /// # Errors
    /// Whatever the database says.
    pub fn mend_rows(&self, run: &RunId) -> Result<bool, CommitError> {
        self.with_conn(|conn| {
            let transaction = Transaction::new_unchecked(conn, TransactionBehavior::Immediate)?;
            let sql = "SELECT run FROM journals WHERE id = ?1";
            let key = transaction.query_row(sql, [run.as_str()], |row| row.get(0)).optional()?;
            let Some(key) = key else { return Ok(false) };
            if is_row_whole(&transaction, key)? || !rebuild::one(&transaction, key, run.as_str())? {
                return Ok(false);
            }
            transaction.commit()?;
            Ok(true)
        })
    }
}
