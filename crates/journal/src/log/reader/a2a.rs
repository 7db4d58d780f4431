//! The data of runs that A2A clients may read.
//!
//! Everything by tenant: a task of another tenant is never found.

use super::Reader;
use crate::{
    model::{
        a2a::{MessageRow, PushRow, TaskPage, TaskRow},
        error::ReadError,
        rows::RunRow,
    },
    tables::{
        a2a::{message_row, push_row, task_row},
        notes::{JOIN_NOTES, notes},
        projection,
        sql::{signed, unsigned},
    },
};
use envoi_contract::{digest::Digest, time::Timestamp};
use envoi_kernel::{
    Record,
    ids::{RunId, Seq},
};
use rusqlite::params;

/// The state of a run as a task, in words of [`crate::RunStatus`]: it waits for a person while a question is open, also if
/// other steps go on.
const STATUS: &str = "coalesce(runs.ended, CASE WHEN open_interrupts > 0 THEN 'waiting' ELSE 'running' END)";

/// Whether a run was of the flow of digest ?5 before its flow was corrected.
const HAD_DIGEST: &str = "EXISTS (SELECT 1 FROM earlier_flows JOIN flows USING (flow) \
                          WHERE earlier_flows.run = runs.run AND flows.digest = ?5)";

impl Reader {
    /// Whether a run is one of the flow of this id or of this digest. Each digest that its flow has had counts: a client that has named
    /// it by one finds it after a correction too.
    ///
    /// # Errors
    /// The machine's.
    pub fn is_of_flow(&self, row: &RunRow, flow: &str) -> Result<bool, ReadError> {
        if row.flow.as_str() == flow || row.flow_digest.to_string() == flow {
            return Ok(true);
        }
        if Digest::parse(flow).is_none() {
            return Ok(false);
        }
        let sql = "SELECT 1 FROM journals JOIN earlier_flows USING (run) JOIN flows ON flows.flow = earlier_flows.flow \
                   WHERE journals.id = ?1 AND flows.digest = ?2 LIMIT 1";
        Ok(self.one(sql, params![row.run.as_str(), flow], |_| Ok(()))?.is_some())
    }

    /// The conversation of a run, if it was begun in one.
    ///
    /// # Errors
    /// [`ReadError::Damaged`] or the machine's.
    pub fn task(&self, run: &RunId) -> Result<Option<TaskRow>, ReadError> {
        self.one("SELECT * FROM a2a_tasks WHERE run = ?1", [run.as_str()], task_row)
    }

    /// The newest run that has begun in a conversation of a tenant, as far as it is known which conversation is meant: that of
    /// this token, else of the only other one that has a conversation of this name.
    ///
    /// # Errors
    /// [`ReadError::Damaged`] or the machine's.
    pub fn newest_of_context(
        &self,
        tenant: &str,
        context: &str,
        token: Option<&str>,
    ) -> Result<Option<RunId>, ReadError> {
        let sql = "WITH begun AS (SELECT a2a_tasks.*, journals.run AS nth FROM a2a_tasks \
                   JOIN journals ON journals.id = a2a_tasks.run JOIN runs ON runs.run = journals.run \
                   WHERE a2a_tasks.tenant = ?1 AND a2a_tasks.context = ?2) \
                   SELECT * FROM begun WHERE token IS ?3 OR 1 = (SELECT count(DISTINCT token) FROM begun) \
                   ORDER BY nth DESC LIMIT 1";
        Ok(self.one(sql, params![tenant, context, token], task_row)?.map(|task| task.run))
    }

    /// The runs that a token began in a conversation and that have a question open, also if other steps go on, oldest first.
    ///
    /// # Errors
    /// [`ReadError::Damaged`] or the machine's.
    pub fn waiting_in_context(&self, token: &str, context: &str) -> Result<Vec<RunRow>, ReadError> {
        let sql = format!(
            "SELECT runs.*, {} FROM a2a_tasks JOIN runs ON runs.id = a2a_tasks.run {JOIN_NOTES} \
             WHERE a2a_tasks.token = ?1 AND a2a_tasks.context = ?2 AND {STATUS} = 'waiting' ORDER BY runs.run",
            notes()
        );
        self.rows(&sql, [token, context], |row| self.run_row(row), "a run")
    }

    /// A message that a token has sent in a conversation, for any task.
    ///
    /// # Errors
    /// [`ReadError::Damaged`] or the machine's.
    pub fn message_in_context(
        &self,
        token: &str,
        context: &str,
        message_id: &str,
        digest: &Digest,
    ) -> Result<Option<MessageRow>, ReadError> {
        let sql = "SELECT * FROM a2a_messages WHERE token = ?1 AND context = ?2 AND message_id = ?3 AND digest = ?4 \
                   ORDER BY message LIMIT 1";
        self.one(sql, params![token, context, message_id, digest.as_bytes()], message_row)
    }

    /// The message of a token that began a task in a conversation.
    ///
    /// # Errors
    /// [`ReadError::Damaged`] or the machine's.
    pub fn first_message_in_context(
        &self,
        token: &str,
        context: &str,
        message_id: &str,
        digest: &Digest,
    ) -> Result<Option<MessageRow>, ReadError> {
        let sql = "SELECT * FROM a2a_messages WHERE token = ?1 AND context = ?2 AND task = '' AND message_id = ?3 \
                   AND digest = ?4 ORDER BY message LIMIT 1";
        self.one(sql, params![token, context, message_id, digest.as_bytes()], message_row)
    }

    /// Whether a token has begun a task in a conversation, in any state.
    ///
    /// # Errors
    /// [`ReadError::Damaged`] or the machine's.
    pub fn has_task_in_context(&self, token: &str, context: &str) -> Result<bool, ReadError> {
        let sql = "SELECT 1 FROM a2a_tasks WHERE token = ?1 AND context = ?2 LIMIT 1";
        Ok(self.one(sql, [token, context], |row| row.get::<_, i64>(0))?.is_some())
    }

    /// The messages about a run, in the order in which they came.
    ///
    /// # Errors
    /// [`ReadError::Damaged`] or the machine's.
    pub fn messages(&self, run: &RunId) -> Result<Vec<MessageRow>, ReadError> {
        let sql = "SELECT * FROM a2a_messages WHERE run = ?1 ORDER BY message";
        self.rows(sql, [run.as_str()], message_row, "a message")
    }

    /// The newest records of a run before a place whose events are of these kinds, the newest first, at most `limit`.
    ///
    /// # Errors
    /// [`ReadError::Missing`] when there is no such run; [`ReadError::Damaged`] when an event cannot be understood.
    pub fn records_before(
        &self,
        run: &RunId,
        kinds: &[&'static str],
        before: Seq,
        limit: Option<u32>,
    ) -> Result<Vec<Record>, ReadError> {
        // Events are written with their kind first: comparing the beginning is little beside reading all of it as JSON.
        let begins =
            |kind: &&str| format!("(body >= '{{\"type\":\"{kind}\"' AND body < '{{\"type\":\"{kind}#')");
        let of_kinds = kinds.iter().map(begins).collect::<Vec<_>>().join(" OR ");
        let sql = format!(
            "SELECT seq, at_ms, body FROM events WHERE run = ?1 AND seq < ?2 AND ({of_kinds}) \
             ORDER BY seq DESC LIMIT ?3"
        );
        let values = params![self.key(run)?, signed(before), limit.map_or(-1, i64::from)];
        self.rows(&sql, values, projection::record, "an event")
    }

    /// A page of the tasks of a tenant, and how many there are on all pages. Every run is one.
    ///
    /// # Errors
    /// [`ReadError::Damaged`] or the machine's.
    pub fn task_page(&self, page: &TaskPage) -> Result<(Vec<RunRow>, u64), ReadError> {
        let wanted = format!(
            "FROM runs {JOIN_NOTES} LEFT JOIN a2a_tasks ON a2a_tasks.run = runs.id WHERE runs.tenant = ?1 \
             AND (?2 IS NULL OR coalesce(a2a_tasks.context, runs.id) = ?2) \
             AND (?5 IS NULL OR runs.flow = ?5 OR runs.flow_digest = ?5 OR {HAD_DIGEST}) \
             AND (?3 = '' OR instr(?3, ' ' || {STATUS} || ' ') > 0) AND (?4 IS NULL OR updated_at_ms > ?4)"
        );
        let statuses = match page.statuses.is_empty() {
            true => String::new(),
            false => format!(" {} ", page.statuses.join(" ")),
        };
        let after = page.changed_after.map(Timestamp::as_millis);
        let (behind_at, behind_id) = page
            .behind
            .as_ref()
            .map_or((None, None), |(at, run)| (Some(at.as_millis()), Some(run.as_str().to_owned())));
        let sql = format!(
            "SELECT runs.*, {} {wanted} AND (?6 IS NULL OR (updated_at_ms, runs.id) < (?6, ?7)) \
             ORDER BY updated_at_ms DESC, runs.id DESC LIMIT ?8",
            notes()
        );
        let flow = &page.flow;
        let limit = page.limit;
        let values = params![page.tenant, page.context, statuses, after, flow, behind_at, behind_id, limit];
        let rows = self.rows(&sql, values, |row| self.run_row(row), "a run")?;
        let count = format!("SELECT count(*) {wanted}");
        let values = params![page.tenant, page.context, statuses, after, flow];
        let all = self.one(&count, values, |row| row.get::<_, i64>(0))?;
        Ok((rows, all.map_or(0, unsigned)))
    }

    /// A push configuration of a task.
    ///
    /// # Errors
    /// [`ReadError::Damaged`] or the machine's.
    pub fn push(&self, run: &RunId, id: &str) -> Result<Option<PushRow>, ReadError> {
        self.one("SELECT * FROM a2a_push WHERE run = ?1 AND id = ?2", [run.as_str(), id], push_row)
    }

    /// The push configurations of a task, by their ids.
    ///
    /// # Errors
    /// [`ReadError::Damaged`] or the machine's.
    pub fn pushes(&self, run: &RunId) -> Result<Vec<PushRow>, ReadError> {
        let sql = "SELECT * FROM a2a_push WHERE run = ?1 ORDER BY id";
        self.rows(sql, [run.as_str()], push_row, "a push configuration")
    }

    /// The push configurations of all tasks that still have events to send, now or later. A configuration that cannot be read is
    /// left out: the others go on.
    ///
    /// # Errors
    /// [`ReadError::Damaged`] or the machine's.
    pub fn active_pushes(&self) -> Result<Vec<PushRow>, ReadError> {
        let sql = "SELECT * FROM a2a_push WHERE state = 'active' ORDER BY due_at_ms, run, id";
        self.readable(sql, [], push_row, "a push configuration")
    }
}
