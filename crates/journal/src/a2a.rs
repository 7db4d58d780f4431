//! What A2A clients know of runs, beside the journal: contexts, messages as they came, who is to be told.
//!
//! Owns the rows and their writing, each in a transaction of its own that is durable when the call returns. A message is kept
//! before anything is done for it, under the id by which the engine will know what it asked for: one that comes again,
//! whatever happened in between, is found here.

use crate::{
    error::CommitError,
    sql::{read, signed, unsigned},
    store::Store,
};
use envoi_contract::{digest::Digest, time::Timestamp};
use envoi_kernel::ids::{RunId, Seq};
use rusqlite::{OptionalExtension as _, Row, Transaction, TransactionBehavior, params};

/// A run as a task: which conversation it belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskRow {
    /// The run; it may not have begun.
    pub run: RunId,
    /// Whose.
    pub tenant: String,
    /// The id of the token that began it.
    pub token: String,
    /// The conversation.
    pub context: String,
    /// When it was asked for.
    pub at: Timestamp,
}

/// A message as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageRow {
    /// The run that it began, or that it is an answer for.
    pub run: RunId,
    /// The id of the token that it came with.
    pub token: String,
    /// The conversation.
    pub context: String,
    /// The task that it named; empty for one that begins a task.
    pub task: String,
    /// The id that its sender gave it.
    pub message_id: String,
    /// Of its content.
    pub digest: Digest,
    /// The id under which the engine knows what it asks for; no two messages have the same.
    pub request: String,
    /// The message itself, as JSON of the newest version of the protocol.
    pub body: String,
    /// When it came.
    pub at: Timestamp,
}

/// Who is to be told of what happens to a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PushRow {
    /// The task.
    pub run: RunId,
    /// The id of the configuration, one a task.
    pub id: String,
    /// Where.
    pub url: String,
    /// What the receiver wants to be shown.
    pub token: Option<String>,
    /// The scheme of `Authorization`.
    pub scheme: Option<String>,
    /// What stands after the scheme.
    pub credentials: Option<String>,
    /// The id of the token that asked for it.
    pub client: String,
    /// The version of the protocol in which it is told.
    pub version: String,
    /// Where this server is for whoever asked: a scheme, a name and a port.
    pub base: String,
    /// The first event that was not told.
    pub next_seq: Seq,
    /// How often in a row it did not work.
    pub tries: u32,
    /// Not before this moment.
    pub due_at: Timestamp,
    /// How it stands.
    pub state: PushState,
    /// The last trouble.
    pub note: Option<String>,
    /// When it was made.
    pub at: Timestamp,
}

/// How a push configuration stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PushState {
    /// What happens is told.
    Active,
    /// The task is over, and everything was told.
    Done,
    /// It was given up.
    Failed,
}

impl PushState {
    fn word(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Done => "done",
            Self::Failed => "failed",
        }
    }

    fn parse(word: &str) -> Self {
        match word {
            "done" => Self::Done,
            "failed" => Self::Failed,
            _ => Self::Active,
        }
    }
}

/// What has become of a push configuration that was to be kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeptPush {
    /// It was kept, in the place of this one.
    Kept(Option<Box<PushRow>>),
    /// It was not: the id is that of another client's.
    Anothers,
}

/// Which tasks of a tenant are wanted, those that changed last first.
#[derive(Debug, Clone, Default)]
pub struct TaskPage {
    /// Whose.
    pub tenant: String,
    /// Only of this conversation.
    pub context: Option<String>,
    /// Only of the flow of this id or this digest.
    pub flow: Option<String>,
    /// Only in one of these, words of [`crate::RunStatus`], where every run with an open question is `waiting`; empty: all.
    pub statuses: Vec<String>,
    /// Only those that have changed after this moment.
    pub changed_after: Option<Timestamp>,
    /// Only those behind this one, by when it had changed; as the page before ended.
    pub behind: Option<(Timestamp, RunId)>,
    /// At most so many.
    pub limit: u32,
}

const MESSAGE_COLUMNS: &str = "run, token, context, task, message_id, digest, request, body, at_ms";

impl Store {
    /// Keeps a task and the message that began it, unless that message is known: then what was kept with it. A message is
    /// known by its token, context, task, id and content.
    ///
    /// # Errors
    /// Whatever the database says.
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
    /// Whatever the database says.
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
    /// Whatever the database says.
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

    /// Keeps a push configuration. One of the same id and client is replaced, and what it had still to tell is told by this one;
    /// so is one that is active no more. Another client's that is active stays, and nothing is kept.
    ///
    /// # Errors
    /// Whatever the database says.
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
    /// Whatever the database says.
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
    /// active no more, or has come further: whoever marks late takes nothing back.
    ///
    /// # Errors
    /// Whatever the database says.
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
    /// Whatever the database says.
    pub fn forget_push(&self, run: &RunId, id: &str) -> Result<bool, CommitError> {
        let sql = "DELETE FROM a2a_push WHERE run = ?1 AND id = ?2";
        self.with_conn(|conn| conn.execute(sql, [run.as_str(), id])).map(|rows| rows > 0)
    }
}

/// A transaction that is to write from its first look on: one that has only read before would be refused when another
/// connection has written meanwhile, without being waited for.
fn at_once(conn: &rusqlite::Connection) -> rusqlite::Result<Transaction<'_>> {
    Transaction::new_unchecked(conn, TransactionBehavior::Immediate)
}

/// The message as it was kept before, if it was.
fn known(conn: &rusqlite::Connection, message: &MessageRow) -> rusqlite::Result<Option<MessageRow>> {
    let sql = format!(
        "SELECT {MESSAGE_COLUMNS} FROM a2a_messages WHERE token = ?1 AND context = ?2 AND task = ?3 \
         AND message_id = ?4 AND digest = ?5 ORDER BY message LIMIT 1"
    );
    let values =
        params![message.token, message.context, message.task, message.message_id, message.digest.as_bytes()];
    conn.query_row(&sql, values, message_row).optional()
}

fn insert(conn: &rusqlite::Connection, message: &MessageRow) -> rusqlite::Result<usize> {
    let sql =
        format!("INSERT INTO a2a_messages ({MESSAGE_COLUMNS}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)");
    let values = params![
        message.run.as_str(),
        message.token,
        message.context,
        message.task,
        message.message_id,
        message.digest.as_bytes(),
        message.request,
        message.body,
        message.at.as_millis(),
    ];
    conn.execute(&sql, values)
}

/// The push configuration of the same run and id.
fn same_push(conn: &rusqlite::Connection, push: &PushRow) -> rusqlite::Result<Option<PushRow>> {
    let sql = "SELECT * FROM a2a_push WHERE run = ?1 AND id = ?2";
    conn.query_row(sql, [push.run.as_str(), push.id.as_str()], push_row).optional()
}

fn insert_push(conn: &rusqlite::Connection, push: &PushRow) -> rusqlite::Result<usize> {
    let sql = "INSERT OR REPLACE INTO a2a_push (run, id, url, token, scheme, credentials, next_seq, tries, \
               due_at_ms, state, note, at_ms, client, version, base) \
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)";
    let values = params![
        push.run.as_str(),
        push.id,
        push.url,
        push.token,
        push.scheme,
        push.credentials,
        signed(push.next_seq),
        push.tries,
        push.due_at.as_millis(),
        push.state.word(),
        push.note,
        push.at.as_millis(),
        push.client,
        push.version,
        push.base,
    ];
    conn.execute(sql, values)
}

pub(crate) fn message_row(row: &Row<'_>) -> rusqlite::Result<MessageRow> {
    Ok(MessageRow {
        run: read(row, "run")?,
        token: row.get("token")?,
        context: row.get("context")?,
        task: row.get("task")?,
        message_id: row.get("message_id")?,
        digest: Digest::from_bytes(row.get("digest")?),
        request: row.get("request")?,
        body: row.get("body")?,
        at: Timestamp::from_millis(row.get("at_ms")?),
    })
}

pub(crate) fn task_row(row: &Row<'_>) -> rusqlite::Result<TaskRow> {
    Ok(TaskRow {
        run: read(row, "run")?,
        tenant: row.get("tenant")?,
        token: row.get("token")?,
        context: row.get("context")?,
        at: Timestamp::from_millis(row.get("at_ms")?),
    })
}

pub(crate) fn push_row(row: &Row<'_>) -> rusqlite::Result<PushRow> {
    Ok(PushRow {
        run: read(row, "run")?,
        id: row.get("id")?,
        url: row.get("url")?,
        token: row.get("token")?,
        scheme: row.get("scheme")?,
        credentials: row.get("credentials")?,
        client: row.get("client")?,
        version: row.get("version")?,
        base: row.get("base")?,
        next_seq: unsigned(row.get("next_seq")?),
        tries: row.get("tries")?,
        due_at: Timestamp::from_millis(row.get("due_at_ms")?),
        state: PushState::parse(&row.get::<_, String>("state")?),
        note: row.get("note")?,
        at: Timestamp::from_millis(row.get("at_ms")?),
    })
}

#[cfg(test)]
mod tests;
