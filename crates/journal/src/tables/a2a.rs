//! Rows of A2A messages, tasks and push configurations: how they are written, found and decoded.
//!
//! The transactions are the caller's.

use crate::{
    model::a2a::{MessageRow, PushRow, PushState, TaskRow},
    tables::sql::{read, signed, unsigned},
};
use envoi_contract::{digest::Digest, time::Timestamp};
use rusqlite::{OptionalExtension as _, Row, params};

const MESSAGE_COLUMNS: &str = "run, token, context, task, message_id, digest, request, body, at_ms";

/// The message as it was kept before, if it was.
pub(crate) fn known(
    conn: &rusqlite::Connection,
    message: &MessageRow,
) -> rusqlite::Result<Option<MessageRow>> {
    let sql = format!(
        "SELECT {MESSAGE_COLUMNS} FROM a2a_messages WHERE token = ?1 AND context = ?2 AND task = ?3 \
         AND message_id = ?4 AND digest = ?5 ORDER BY message LIMIT 1"
    );
    let values =
        params![message.token, message.context, message.task, message.message_id, message.digest.as_bytes()];
    conn.query_row(&sql, values, message_row).optional()
}

pub(crate) fn insert(conn: &rusqlite::Connection, message: &MessageRow) -> rusqlite::Result<usize> {
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
pub(crate) fn same_push(conn: &rusqlite::Connection, push: &PushRow) -> rusqlite::Result<Option<PushRow>> {
    let sql = "SELECT * FROM a2a_push WHERE run = ?1 AND id = ?2";
    conn.query_row(sql, [push.run.as_str(), push.id.as_str()], push_row).optional()
}

pub(crate) fn insert_push(conn: &rusqlite::Connection, push: &PushRow) -> rusqlite::Result<usize> {
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
