//! Questions to people, and their answers.

use super::{Reader, decode};
use crate::{
    model::{
        error::ReadError,
        rows::{InboxFilter, InboxRow},
    },
    tables::names::name_of,
};
use envoi_contract::time::Timestamp;
use envoi_kernel::{
    event::{Event, InterruptAnswered, Record},
    ids::{InterruptId, RunId},
};
use rusqlite::params;

/// A question that is in several runs, after a damage, is listed with the first.
const EACH_ONCE: &str = "NOT EXISTS (SELECT 1 FROM inbox AS asked WHERE asked.interrupt = inbox.interrupt AND asked.run < inbox.run)";

/// Rows of questions that meet this condition, with `?1` also the closed ones. A common statement for a run and for all would look at
/// all questions of the store for each run.
fn inbox_of(which: &str) -> String {
    format!(
        "SELECT inbox.*, {} AS run_id FROM inbox JOIN journals USING (run) WHERE {which} AND (?1 OR state = 'open') \
         ORDER BY raised_at_ms, run, length(scope), scope, step, visit, interrupt",
        name_of("inbox.run")
    )
}

impl Reader {
    /// Questions to people, oldest first; those of one moment by run, then by place.
    ///
    /// # Errors
    /// [`ReadError::Missing`] when the filter names a run that does not exist.
    pub fn inbox(&self, filter: &InboxFilter) -> Result<Vec<InboxRow>, ReadError> {
        let Some(run) = &filter.run else {
            return self.rows(&inbox_of(EACH_ONCE), params![filter.closed], decode::question, "a question");
        };
        let values = params![filter.closed, self.key(run)?];
        self.rows(&inbox_of("run = ?2"), values, decode::question, "a question")
    }

    /// A question, open or not.
    ///
    /// # Errors
    /// [`ReadError::Missing`] when the run has no such question.
    pub fn question(&self, run: &RunId, interrupt: &InterruptId) -> Result<InboxRow, ReadError> {
        let sql = format!(
            "SELECT inbox.*, {} AS run_id FROM inbox WHERE run = ?1 AND interrupt = ?2",
            name_of("inbox.run")
        );
        let row = self.one(&sql, params![self.key(run)?, interrupt.as_str()], decode::question)?;
        row.ok_or_else(|| ReadError::Missing { what: "question", id: interrupt.to_string() })
    }

    /// The answer that closed a question, and when it was given.
    ///
    /// # Errors
    /// [`ReadError::Missing`] when it was not closed by one.
    pub fn answer(&self, run: &RunId, row: &InboxRow) -> Result<(Timestamp, InterruptAnswered), ReadError> {
        let closed = row.closed.as_ref().map(|closed| closed.seq);
        let records = closed.map(|seq| self.records(run, seq, Some(1))).transpose()?.unwrap_or_default();
        match records.into_iter().next() {
            Some(Record { at, event: Event::InterruptAnswered(answered), .. }) => Ok((at, *answered)),
            _ => Err(ReadError::Missing { what: "answer to question", id: row.interrupt.to_string() }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::place;

    #[test]
    fn for_the_questions_of_one_run_no_other_question_is_looked_at() {
        let place = place();
        let plan = |which: &str| -> Vec<String> {
            let sql = format!("EXPLAIN QUERY PLAN {}", inbox_of(which));
            let mut statement = place.reader.conn().prepare(&sql).unwrap();
            statement
                .query_map(params![false, 1], |row| row.get("detail"))
                .unwrap()
                .map(Result::unwrap)
                .collect()
        };
        let of_run = plan("run = ?2");
        assert!(of_run.iter().any(|step| step.starts_with("SEARCH inbox ")), "{of_run:?}");
        assert!(!of_run.iter().any(|step| step.starts_with("SCAN inbox")), "{of_run:?}");
    }
}
