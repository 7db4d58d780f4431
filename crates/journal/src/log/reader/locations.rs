//! The folders of a run, in a store that may be a copy of another one.

use super::{Reader, missing};
use crate::{
    model::error::ReadError,
    tables::{run_paths::RunPaths, sql::unsigned},
};
use envoi_contract::time::Timestamp;
use envoi_kernel::{
    event::RunStarted,
    ids::{AttemptId, RunId, Seq},
};
use rusqlite::{Row, params};

impl Reader {
    /// The present paths of a run that has `started` so.
    ///
    /// # Errors
    /// [`ReadError::Missing`] when there is no such run.
    pub fn paths_of(&self, started: &RunStarted) -> Result<RunPaths, ReadError> {
        let RunStarted { run, workspace, run_base, source, isolated, .. } = started;
        let recorded = RunPaths {
            workspace: workspace.clone(),
            run_base: run_base.clone(),
            source: source.clone(),
            origin: isolated.as_ref().map(|isolated| isolated.of.clone()),
            is_originals: false,
        };
        Ok(self.translator.translate(run, self.key(run)?, recorded))
    }

    /// The workspace of a run if it is one of the store that this one is a copy of, and no one has agreed that both work in it.
    ///
    /// # Errors
    /// [`ReadError::Missing`] when there is no such run, unless this store is no copy.
    pub fn workspace_of_original(&self, run: &RunId) -> Result<Option<String>, ReadError> {
        if !self.translator.may_be_of_original() {
            return Ok(None);
        }
        let key = self.key(run)?;
        let recorded = |row: &Row<'_>| {
            Ok(RunPaths {
                workspace: row.get("workspace")?,
                run_base: row.get("run_base")?,
                source: String::new(),
                origin: None,
                is_originals: false,
            })
        };
        let recorded = self.one("SELECT workspace, run_base FROM runs WHERE run = ?1", [key], recorded)?;
        let found = recorded.map(|recorded| self.translator.translate(run, key, recorded));
        Ok(found.filter(|places| places.is_originals).map(|places| places.workspace))
    }

    /// Whether an attempt was announced before the files of the store were copied to where they are: then no process here
    /// is known to be of it, and it may live elsewhere.
    ///
    /// # Errors
    /// [`ReadError::Missing`] when there is no such run.
    pub fn is_of_original(&self, run: &RunId, attempt: &AttemptId) -> Result<bool, ReadError> {
        if self.copied_event == 0 {
            return Ok(false);
        }
        let sql = "SELECT 1 FROM events WHERE run = ?1 AND event <= ?2 AND json_extract(body, '$.type') = 'attempt_started' \
                   AND json_extract(body, '$.attempt') = ?3 LIMIT 1";
        let values = params![self.key(run)?, self.copied_event, attempt.to_string()];
        Ok(self.one(sql, values, |_| Ok(()))?.is_some())
    }

    /// Whether an event of the run has this text that was written before the files of the store were copied: a thing that it names,
    /// such as a session of an agent, is the original's.
    ///
    /// # Errors
    /// [`ReadError::Missing`] when there is no such run.
    pub fn is_named_by_original(&self, run: &RunId, text: &str) -> Result<bool, ReadError> {
        if self.copied_event == 0 {
            return Ok(false);
        }
        let sql = "SELECT 1 FROM events WHERE run = ?1 AND event <= ?2 AND instr(body, ?3) > 0 LIMIT 1";
        Ok(self.one(sql, params![self.key(run)?, self.copied_event, text], |_| Ok(()))?.is_some())
    }

    /// The position of the last announcement of an attempt among the events of its run, and its time. A journal that comes
    /// from a backup announces the attempt again at another time.
    ///
    /// # Errors
    /// [`ReadError::Missing`] when there is no such run, or no such announcement.
    pub fn announcement(&self, run: &RunId, attempt: &AttemptId) -> Result<(Seq, Timestamp), ReadError> {
        let sql = "SELECT seq, at_ms FROM events WHERE run = ?1 AND json_extract(body, '$.type') = 'attempt_started' \
                   AND json_extract(body, '$.attempt') = ?2 ORDER BY seq DESC LIMIT 1";
        let values = params![self.key(run)?, attempt.to_string()];
        let found = self.one(sql, values, |row| {
            let at = Timestamp::from_millis(row.get(1)?);
            Ok((unsigned(row.get(0)?), at))
        })?;
        found.ok_or_else(|| missing("attempt", attempt))
    }
}
