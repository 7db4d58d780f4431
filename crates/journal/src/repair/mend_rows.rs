//! The rows of one run made again, so that it can be tried again without a repair of the whole store.

use super::rebuild;
use crate::{
    log::{reader::is_row_whole, store::Store},
    model::error::CommitError,
    tables::names,
};
use envoi_kernel::ids::RunId;
use rusqlite::{Transaction, TransactionBehavior};

impl Store {
    /// Makes the rows of a run again from its events if its row is missing, cannot be read or contradicts the journal, and
    /// returns whether it did. An entry in the journal that has another run's id gets its own again. If an event is
    /// missing or cannot be read, everything stays as it is: a repair of the store reports that.
    ///
    /// # Errors
    /// Errors of the database.
    pub fn mend_rows(&self, run: &RunId) -> Result<bool, CommitError> {
        self.with_conn(|conn| {
            let transaction = Transaction::new_unchecked(conn, TransactionBehavior::Immediate)?;
            let Some(key) = names::key_of(&transaction, run.as_str())? else { return Ok(false) };
            if is_row_whole(&transaction, key)? || !rebuild::one(&transaction, key, run.as_str())? {
                return Ok(false);
            }
            rebuild::rename_one(&transaction, key)?;
            transaction.commit()?;
            Ok(true)
        })
    }
}
