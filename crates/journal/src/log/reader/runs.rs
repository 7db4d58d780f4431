//! Runs: rows of the list, and the matches of an id.

use super::{Reader, decode, missing, read_error};
use crate::{
    model::{
        error::ReadError,
        rows::{ClosedAccount, Found, Match, RunFilter, RunRow},
    },
    tables::{
        names::{entered_key_of, name_of},
        notes::select_runs,
        run_paths::RunPaths,
        sql::{RunKey, unsigned},
    },
};
use envoi_contract::time::Timestamp;
use envoi_kernel::{
    ids::{RunId, Seq},
    part::{Part, Selection},
};
use rusqlite::{Connection, OptionalExtension as _, Row, params};
use serde::Deserialize;
use std::sync::Arc;

impl Reader {
    /// A run at a glance.
    ///
    /// # Errors
    /// [`ReadError::Missing`] when there is none of this id.
    pub fn run(&self, run: &RunId) -> Result<RunRow, ReadError> {
        if let Some(key) = self.known_key(run)? {
            let row =
                self.rows(&select_runs("WHERE runs.run = ?1"), [key], |row| self.run_row(row), "a run")?;
            if let Some(row) = row.into_iter().next() {
                return Ok(row);
            }
        }
        self.lost_run(run)?.ok_or_else(|| missing("run", run))
    }

    /// The state of each account that has refused an attempt, by tenant, whether it is open again or not. Refusals that an imported run met
    /// elsewhere do not count; an account that a run had for itself ends with the run. An account that has passed an attempt since its last
    /// refusal is left out.
    ///
    /// # Errors
    /// The machine's.
    pub fn closed_accounts(&self) -> Result<Vec<ClosedAccount>, ReadError> {
        // If rows have the same time, the one that closes longest counts, and a try counts more than the row that permitted it.
        let sql = "SELECT * FROM (SELECT tenant, account, at_ms, until_ms, resets_at_ms, in_a_row, tried, passed, row_number() OVER \
                   (PARTITION BY tenant, account ORDER BY at_ms DESC, until_ms DESC, tried DESC, run DESC) AS place \
                   FROM (SELECT run, account, at_ms, until_ms, resets_at_ms, max(in_a_row, 1) AS in_a_row, 0 AS tried, 0 AS passed FROM refusals \
                   UNION ALL SELECT run, account, at_ms, at_ms, NULL, in_a_row, 1, passed FROM tries) \
                   JOIN runs USING (run) WHERE run NOT IN (SELECT run FROM imported) \
                   AND (ended IS NULL OR substr(account, -length(' of run ' || id)) <> ' of run ' || id)) \
                   WHERE place = 1 AND NOT passed ORDER BY tenant, account";
        let closed = |row: &Row<'_>| {
            let time = |column: &str| row.get(column).map(Timestamp::from_millis);
            Ok(ClosedAccount {
                tenant: row.get("tenant")?,
                account: row.get("account")?,
                at: time("at_ms")?,
                until: time("until_ms")?,
                resets_at: row.get::<_, Option<i64>>("resets_at_ms")?.map(Timestamp::from_millis),
                refusals: row.get("in_a_row")?,
                is_tried: row.get("tried")?,
            })
        };
        self.rows(sql, [], closed, "an account")
    }

    /// Whether there is a run of this id.
    ///
    /// # Errors
    /// The machine's.
    pub fn has_run(&self, run: &RunId) -> Result<bool, ReadError> {
        Ok(self.known_key(run)?.is_some())
    }

    /// The place of a run's next event: [`RunRow::next_seq`], without the rest of the row.
    ///
    /// # Errors
    /// As [`Reader::run`].
    pub fn next_seq(&self, run: &RunId) -> Result<Seq, ReadError> {
        let next = self.consistently(|| {
            let key = self.known_key(run)?;
            self.one("SELECT next_seq FROM runs WHERE run = ?1", [key], |row| row.get::<_, i64>(0))
        })?;
        next.map(unsigned).ok_or_else(|| missing("run", run))
    }

    /// Whether a run is a fork: [`RunRow::root`] is there, without the rest of the row.
    ///
    /// # Errors
    /// As [`Reader::run`].
    pub(crate) fn is_fork(&self, run: &RunId) -> Result<bool, ReadError> {
        let key = self.known_key(run)?;
        let found = self.one("SELECT root IS NOT NULL FROM runs WHERE run = ?1", [key], |row| row.get(0))?;
        found.map_or_else(|| Ok(self.run(run)?.root.is_some()), Ok)
    }

    /// Runs, newest first.
    ///
    /// # Errors
    /// [`ReadError::Damaged`] or the machine's.
    pub fn runs(&self, filter: RunFilter) -> Result<Vec<RunRow>, ReadError> {
        let wanted = if filter.unfinished { "WHERE ended IS NULL" } else { "" };
        let sql = select_runs(&format!("{wanted} ORDER BY runs.run DESC LIMIT ?1"));
        let limit = filter.limit.map_or(-1, i64::from);
        self.rows(&sql, [limit], |row| self.run_row(row), "a run")
    }

    /// Runs that are unfinished and have an attempt that is not settled, newest first. Runs that wait for something else are not read.
    ///
    /// # Errors
    /// [`ReadError::Damaged`] or the machine's.
    pub fn live_runs(&self) -> Result<Vec<RunRow>, ReadError> {
        let sql = select_runs("WHERE ended IS NULL AND live_attempts > 0 ORDER BY runs.run DESC");
        self.rows(&sql, [], |row| self.run_row(row), "a run")
    }

    /// A run that is no fork and all that go back to it by forks, oldest first: those that share its bounds.
    ///
    /// # Errors
    /// [`ReadError::Damaged`] or the machine's.
    pub fn family(&self, root: &RunId) -> Result<Vec<RunRow>, ReadError> {
        let sql = select_runs("WHERE root = ?1 OR runs.run = ?2 ORDER BY runs.run");
        let values = params![root.as_str(), self.known_key(root)?];
        self.rows(&sql, values, |row| self.run_row(row), "a run")
    }

    /// The match of an id, or of a prefix or suffix of one: the whole id wins; `run_` and `int_` may be left out of a prefix. Part of an id
    /// matches a run whose own rows disagree about its id only if it matches nothing else.
    ///
    /// A whole id takes the same time however many runs there are; a part of one takes a look at the index of all ids.
    ///
    /// # Errors
    /// [`ReadError::Damaged`] or the machine's.
    pub fn find(&self, text: &str) -> Result<Match, ReadError> {
        if let Some(whole) = self.whole(text)? {
            return Ok(Match::One(whole));
        }
        let mut found = self.named(text, &names_like_their_entry())?;
        if found.is_empty() {
            found = self.named(text, &all_names())?;
        }
        if let Some(whole) = found.iter().find(|found| id(found) == text) {
            return Ok(Match::One(whole.clone()));
        }
        Ok(match found.len() {
            0 => Match::None,
            1 => found.pop().map_or(Match::None, Match::One),
            _ => Match::Many(found),
        })
    }

    /// The run or question with this id, by indexes alone.
    fn whole(&self, text: &str) -> Result<Option<Found>, ReadError> {
        if let Ok(run) = RunId::new(text)
            && self.known_key(&run)?.is_some()
        {
            return Ok(Some(Found::Run(run)));
        }
        Ok(self.readable(&whole_question(), [text], decode::found, "an id")?.into_iter().next())
    }

    /// The runs among `names` and the questions whose id matches `text`.
    fn named(&self, text: &str, names: &str) -> Result<Vec<Found>, ReadError> {
        let sql = format!(
            "WITH names AS ({names}) SELECT id AS id, NULL AS run FROM names WHERE ?1 <> '' AND {} \
             UNION ALL SELECT interrupt, {} FROM inbox WHERE ?1 <> '' AND {} AND \
             NOT EXISTS (SELECT 1 FROM inbox AS asked WHERE asked.interrupt = inbox.interrupt AND asked.run < inbox.run)",
            stands_for("id"),
            name_of("inbox.run"),
            stands_for("interrupt"),
        );
        self.readable(&sql, [text], decode::found, "an id")
    }

    /// Runs whose pinned flow is not in the store, oldest first. They cannot be loaded.
    ///
    /// # Errors
    /// The machine's.
    pub fn runs_without_flow(&self) -> Result<Vec<String>, ReadError> {
        let sql =
            "SELECT id FROM journals LEFT JOIN flows USING (flow) WHERE flows.flow IS NULL ORDER BY run";
        self.rows(sql, [], |row| row.get(0), "a run")
    }

    /// A run at a glance, with its workspace where it is now.
    pub(super) fn run_row(&self, row: &Row<'_>) -> rusqlite::Result<RunRow> {
        let mut run = decode::run(row)?;
        let recorded = RunPaths {
            workspace: std::mem::take(&mut run.workspace),
            run_base: decode::text(row, "run_base")?,
            source: String::new(),
            origin: None,
            is_originals: false,
        };
        run.part = self.part(row.get("run")?);
        run.workspace = self.translator.translate(&run.run, row.get("run")?, recorded).workspace;
        Ok(run)
    }

    /// The part of its flow that a run does, as its first event has it. A part that cannot be read is reported where the run itself is
    /// shown.
    fn part(&self, key: RunKey) -> Option<Box<Part>> {
        /// Without the hand-offs that were taken: they may be many.
        #[derive(Deserialize)]
        struct Named {
            selection: Selection,
            with: Option<RunId>,
        }
        let sql = "SELECT CASE WHEN json_valid(body) THEN body -> '$.part' END FROM events WHERE run = ?1 AND seq = 0";
        let found = || {
            let mut statement = self.conn.prepare_cached(sql)?;
            statement.query_row([key], |row| row.get::<_, Option<String>>(0)).optional()
        };
        let text = found().ok()??;
        let Named { selection, with } = serde_json::from_str(&text?).ok()?;
        Some(Box::new(Part { selection, with, taken: Vec::new() }))
    }

    pub(crate) fn key(&self, run: &RunId) -> Result<RunKey, ReadError> {
        if let Some(key) = self.known_key(run)? {
            return Ok(key);
        }
        Err(match self.lost_run(run)? {
            Some(lost) => ReadError::Damaged {
                what: format!("run `{run}`"),
                source: Arc::new(NoEntry {
                    reason: lost.aside.map(|aside| aside.reason).unwrap_or_default(),
                }),
            },
            None => missing("run", run),
        })
    }

    pub(crate) fn known_key(&self, run: &RunId) -> Result<Option<RunKey>, ReadError> {
        entered_key_of(&self.conn, run.as_str()).map_err(|error| read_error(error, "a run"))
    }
}

/// Whether the row of a run is there, can be read, and does not contradict the journal.
pub(crate) fn is_row_whole(conn: &Connection, key: RunKey) -> rusqlite::Result<bool> {
    let whole = |row: &Row<'_>| Ok(decode::is_whole(row));
    Ok(conn.query_row(&select_runs("WHERE runs.run = ?1"), [key], whole).optional()?.unwrap_or(false))
}

/// The question of an id.
pub(super) fn whole_question() -> String {
    let asked = name_of("inbox.run");
    format!(
        "SELECT interrupt AS id, {asked} AS run FROM inbox WHERE interrupt = ?1 ORDER BY inbox.run LIMIT 1"
    )
}

/// Whether `?1` is `column`, or its beginning with or without the four letters of its kind, or its end.
fn stands_for(column: &str) -> String {
    format!(
        "(substr({column}, 1, length(?1)) = ?1 OR substr({column}, 5, length(?1)) = ?1 OR substr({column}, -length(?1)) = ?1)"
    )
}

/// The ids of the runs whose entry in the journal `?1` matches.
pub(super) fn names_like_their_entry() -> String {
    format!("SELECT {} AS id FROM journals WHERE {}", name_of("journals.run"), stands_for("journals.id"))
}

/// The ids of all runs.
fn all_names() -> String {
    format!(
        "SELECT {} AS id FROM journals UNION ALL SELECT id FROM runs WHERE \
         NOT EXISTS (SELECT 1 FROM journals WHERE journals.run = runs.run)",
        name_of("journals.run")
    )
}

fn id(found: &Found) -> &str {
    match found {
        Found::Run(run) => run.as_str(),
        Found::Interrupt(interrupt, _) => interrupt.as_str(),
    }
}

/// The damage of a run whose entry in the journal is missing, or is another's.
#[derive(Debug, thiserror::Error)]
#[error("{reason}")]
struct NoEntry {
    reason: String,
}
