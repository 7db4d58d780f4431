//! Writes what the store keeps for A2A clients beside the journal: contexts, messages, push configurations.
//!
//! Owns the rows and their writing, each in a transaction of its own that is durable when the call returns. A message is kept
//! before anything is done for it, under the id of its request to the engine: a message that comes again, after any failure,
//! is found here.

use super::Store;
use crate::{
    model::{
        a2a::{KeptPush, MessageRow, PushRow, PushState, TaskRow},
        error::CommitError,
    },
    tables::{
        a2a::{insert, insert_push, known, same_push},
        sql::signed,
    },
};
use envoi_kernel::ids::RunId;
use rusqlite::{Transaction, TransactionBehavior, params};

impl Store {
    /// Keeps a task and the message that began it, unless that message is known: then what was kept with it. A message is
    /// known by its token, context, task, id and content.
    ///
    /// # Errors
    /// Errors of the database.
    pub fn keep_task(&self, task: &TaskRow, message: &MessageRow) -> Result<MessageRow, CommitError> {
        self.with_conn(|conn| {
            let transaction = at_once(conn)?;
            if let Some(known) = known(&transaction, message)? {
                return Ok(known);
            }
            transaction.execute(
                "INSERT INTO a2a_tasks (run, tenant, token, context, at_ms) VALUES (?1, ?2, ?3, ?4, ?5)",
                params![task.run.as_str(), task.tenant, task.token, task.context, task.at.as_millis()],
            )?;
            insert(&transaction, message)?;
            transaction.commit()?;
            Ok(message.clone())
        })
    }

    /// Keeps a message about a task, unless it is known: then what was kept.
    ///
    /// # Errors
    /// Errors of the database.
    pub fn keep_message(&self, message: &MessageRow) -> Result<MessageRow, CommitError> {
        self.with_conn(|conn| {
            let transaction = at_once(conn)?;
            if let Some(known) = known(&transaction, message)? {
                return Ok(known);
            }
            insert(&transaction, message)?;
            transaction.commit()?;
            Ok(message.clone())
        })
    }

    /// Forgets a message that was refused, and the task if it was to begin one: nothing has come of it.
    ///
    /// # Errors
    /// Errors of the database.
    pub fn forget_message(&self, message: &MessageRow) -> Result<(), CommitError> {
        self.with_conn(|conn| {
            let transaction = conn.unchecked_transaction()?;
            transaction.execute("DELETE FROM a2a_messages WHERE request = ?1", [&message.request])?;
            if message.task.is_empty() {
                transaction.execute("DELETE FROM a2a_tasks WHERE run = ?1", [message.run.as_str()])?;
            }
            transaction.commit()
        })
    }

    /// Keeps a push configuration. It replaces one of the same id and client, and sends what that one had not sent; it also
    /// replaces one that is not active any more. An active one of another client stays, and nothing is kept.
    ///
    /// # Errors
    /// Errors of the database.
    pub fn keep_push(&self, push: &PushRow) -> Result<KeptPush, CommitError> {
        self.with_conn(|conn| {
            let transaction = at_once(conn)?;
            let before = same_push(&transaction, push)?;
            let mut kept = push.clone();
            if let Some(before) = before.as_ref().filter(|before| before.state == PushState::Active) {
                if before.client != push.client {
                    return Ok(KeptPush::Anothers);
                }
                kept.next_seq = kept.next_seq.min(before.next_seq);
            }
            insert_push(&transaction, &kept)?;
            transaction.commit()?;
            Ok(KeptPush::Kept(before.map(Box::new)))
        })
    }

    /// Takes back a push configuration that was kept for something that has not happened: what it has replaced is there
    /// again, as it was. Does nothing if it is gone, or another by now.
    ///
    /// # Errors
    /// Errors of the database.
    pub fn take_back_push(&self, push: &PushRow, before: Option<&PushRow>) -> Result<(), CommitError> {
        self.with_conn(|conn| {
            let transaction = at_once(conn)?;
            let there = same_push(&transaction, push)?;
            let made = |row: &PushRow| (row.at, row.client.clone(), row.url.clone());
            if there.is_some_and(|there| made(&there) == made(push)) {
                let sql = "DELETE FROM a2a_push WHERE run = ?1 AND id = ?2";
                transaction.execute(sql, [push.run.as_str(), push.id.as_str()])?;
                before.map(|before| insert_push(&transaction, before)).transpose()?;
            }
            transaction.commit()
        })
    }

    /// Keeps how far a push configuration has come: its place, tries, due time, state and note. Does nothing if it is gone, is
    /// no longer active, or has come further: a late mark undoes nothing.
    ///
    /// # Errors
    /// Errors of the database.
    pub fn mark_push(&self, push: &PushRow) -> Result<(), CommitError> {
        let sql = "UPDATE a2a_push SET next_seq = ?3, tries = ?4, due_at_ms = ?5, state = ?6, note = ?7 \
                   WHERE run = ?1 AND id = ?2 AND at_ms = ?8 AND state = 'active' AND next_seq <= ?3";
        let values = params![
            push.run.as_str(),
            push.id,
            signed(push.next_seq),
            push.tries,
            push.due_at.as_millis(),
            push.state.word(),
            push.note,
            push.at.as_millis(),
        ];
        self.with_conn(|conn| conn.execute(sql, values)).map(drop)
    }

    /// Forgets a push configuration. `false` if there is none.
    ///
    /// # Errors
    /// Errors of the database.
    pub fn forget_push(&self, run: &RunId, id: &str) -> Result<bool, CommitError> {
        let sql = "DELETE FROM a2a_push WHERE run = ?1 AND id = ?2";
        self.with_conn(|conn| conn.execute(sql, [run.as_str(), id])).map(|rows| rows > 0)
    }
}

/// A transaction that writes, from its first look on: a transaction that has only read before would be refused when
/// another connection has written meanwhile, without being waited for.
fn at_once(conn: &rusqlite::Connection) -> rusqlite::Result<Transaction<'_>> {
    Transaction::new_unchecked(conn, TransactionBehavior::Immediate)
}

#[cfg(test)]
mod tests;
