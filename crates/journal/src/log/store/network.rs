//! Data of network clients beside the journal: tokens, flows that may be started, starts and uploads.
//!
//! Owns the rows and their writing, each in a transaction of its own that is durable when the call returns. They are no
//! events: nothing of a run follows from them, so that they need neither the lease nor the writer's epoch. Permissions
//! are not decided here.

use super::Store;
use crate::{
    model::{
        error::CommitError,
        network::{PageSession, RegisteredFlow, StartKey, TokenRow, Upload},
    },
    tables::sql::signed,
};
use envoi_contract::{digest::Digest, time::Timestamp};
use envoi_kernel::ids::RunId;
use rusqlite::{OptionalExtension as _, params};

impl Store {
    /// Keeps a new token. `false`, and nothing is kept, if the tenant has one of this name.
    ///
    /// # Errors
    /// Errors of the database.
    pub fn create_token(&self, token: &TokenRow) -> Result<bool, CommitError> {
        let sql = "INSERT INTO tokens (id, name, tenant, scopes, digest, created_at_ms, expires_at_ms) \
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (tenant, name) DO NOTHING";
        let values = params![
            token.id,
            token.name,
            token.tenant,
            token.scopes,
            token.digest.as_bytes(),
            token.created_at.as_millis(),
            token.expires_at.map(Timestamp::as_millis),
        ];
        self.with_conn(|conn| conn.execute(sql, values)).map(|rows| rows > 0)
    }

    /// From now on the token is good for nothing. `false` if there is none of this id that was not revoked before.
    ///
    /// # Errors
    /// Errors of the database.
    pub fn revoke_token(&self, id: &str, at: Timestamp) -> Result<bool, CommitError> {
        let sql = "UPDATE tokens SET revoked_at_ms = ?2 WHERE id = ?1 AND revoked_at_ms IS NULL";
        self.with_conn(|conn| conn.execute(sql, params![id, at.as_millis()])).map(|rows| rows > 0)
    }

    /// Keeps a session, or a code that becomes one. Rows whose time was over before `now` are forgotten.
    ///
    /// # Errors
    /// Errors of the database.
    pub fn create_page_session(
        &self,
        session: &PageSession,
        code: Option<&Digest>,
        now: Timestamp,
    ) -> Result<(), CommitError> {
        let (cookie, key) = session.halves.as_ref().map(|(cookie, key)| (cookie, key)).unzip();
        self.with_conn(|conn| {
            let transaction = conn.unchecked_transaction()?;
            transaction.execute("DELETE FROM page_sessions WHERE expires_at_ms < ?1", [now.as_millis()])?;
            transaction.execute(
                "INSERT INTO page_sessions VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, NULL)",
                params![
                    session.id,
                    session.token,
                    session.scopes,
                    code.map(Digest::as_bytes),
                    cookie.map(Digest::as_bytes),
                    key.map(Digest::as_bytes),
                    session.created_at.as_millis(),
                    session.seen_at.as_millis(),
                    session.expires_at.as_millis(),
                ],
            )?;
            transaction.commit()
        })
    }

    /// Makes a session with these halves of the code with this digest; its id. `None` if there is no such code, if it was used, or
    /// if its time is over. If several clients use one code at the same time, one gets a session.
    ///
    /// # Errors
    /// Errors of the database.
    pub fn use_page_code(
        &self,
        code: &Digest,
        (cookie, key): (&Digest, &Digest),
        now: Timestamp,
        expires_at: Timestamp,
    ) -> Result<Option<String>, CommitError> {
        let sql = "UPDATE page_sessions SET code = NULL, cookie = ?2, key = ?3, seen_at_ms = ?4, expires_at_ms = ?5 \
                   WHERE code = ?1 AND expires_at_ms > ?4 AND ended_at_ms IS NULL RETURNING id";
        let values = params![
            code.as_bytes(),
            cookie.as_bytes(),
            key.as_bytes(),
            now.as_millis(),
            expires_at.as_millis()
        ];
        self.with_conn(|conn| conn.query_row(sql, values, |row| row.get(0)).optional())
    }

    /// A session was used.
    ///
    /// # Errors
    /// Errors of the database.
    pub fn touch_page_session(&self, id: &str, at: Timestamp) -> Result<(), CommitError> {
        let sql = "UPDATE page_sessions SET seen_at_ms = ?2 WHERE id = ?1 AND seen_at_ms < ?2";
        self.with_conn(|conn| conn.execute(sql, params![id, at.as_millis()])).map(drop)
    }

    /// From now on the session is good for nothing. `false` if it was not before.
    ///
    /// # Errors
    /// Errors of the database.
    pub fn end_page_session(&self, id: &str, at: Timestamp) -> Result<bool, CommitError> {
        let sql = "UPDATE page_sessions SET ended_at_ms = ?2 WHERE id = ?1 AND ended_at_ms IS NULL";
        self.with_conn(|conn| conn.execute(sql, params![id, at.as_millis()])).map(|rows| rows > 0)
    }

    /// Lets a tenant start this flow; a flow that it may start already becomes its newest of that id. `false` if it was
    /// known.
    ///
    /// # Errors
    /// Errors of the database.
    pub fn register_flow(&self, tenant: &str, flow: &RegisteredFlow) -> Result<bool, CommitError> {
        let digest = flow.digest.to_string();
        let parts: serde_json::Value =
            flow.parts.iter().map(|(path, text)| (path.clone(), text.as_str())).collect();
        self.with_conn(|conn| {
            let transaction = conn.unchecked_transaction()?;
            let known = transaction
                .execute("DELETE FROM registered_flows WHERE tenant = ?1 AND digest = ?2", [tenant, &digest])?;
            transaction.execute(
                "INSERT INTO registered_flows (tenant, digest, id, language, file, text, parts, registered_at_ms, registered_by) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
                params![
                    tenant,
                    digest,
                    flow.id.as_str(),
                    flow.language,
                    flow.file,
                    flow.text,
                    parts.to_string(),
                    flow.registered_at.as_millis(),
                    flow.registered_by
                ],
            )?;
            transaction.commit()?;
            Ok(known == 0)
        })
    }

    /// Keeps which run a request starts, unless its key is known: then what was kept with it.
    ///
    /// # Errors
    /// Errors of the database.
    pub fn keep_start(&self, start: &StartKey, at: Timestamp) -> Result<StartKey, CommitError> {
        let insert = "INSERT INTO starts (tenant, key, body, run, at_ms) VALUES (?1, ?2, ?3, ?4, ?5) \
                      ON CONFLICT (tenant, key) DO NOTHING";
        let StartKey { tenant, key, body, run } = start;
        let values = params![tenant, key, body.as_bytes(), run.as_str(), at.as_millis()];
        let select = "SELECT body, run FROM starts WHERE tenant = ?1 AND key = ?2";
        let kept = self.with_conn(|conn| {
            conn.execute(insert, values)?;
            let read = |row: &rusqlite::Row<'_>| {
                Ok((row.get::<_, [u8; 32]>(0)?, crate::tables::sql::read::<RunId>(row, "run")?))
            };
            conn.query_row(select, [tenant, key], read).optional()
        })?;
        let (body, run) =
            kept.map_or_else(|| (*body, run.clone()), |(body, run)| (Digest::from_bytes(body), run));
        Ok(StartKey { tenant: tenant.clone(), key: key.clone(), body, run })
    }

    /// Keeps that a tenant has brought content, which is in the store already. `false` if it had before.
    ///
    /// # Errors
    /// Errors of the database.
    pub fn keep_upload(&self, tenant: &str, upload: &Upload) -> Result<bool, CommitError> {
        let sql = "INSERT INTO uploads (tenant, digest, size_bytes, mime, uploaded_at_ms, uploaded_by) \
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (tenant, digest) DO NOTHING";
        let values = params![
            tenant,
            upload.digest.as_bytes(),
            signed(upload.size_bytes),
            upload.mime,
            upload.uploaded_at.as_millis(),
            upload.uploaded_by,
        ];
        self.with_conn(|conn| conn.execute(sql, values)).map(|rows| rows > 0)
    }
}

#[cfg(test)]
mod tests;
