//! Reading what was committed: runs, their events, hand-offs, questions, content.
//!
//! Owns a connection that never writes. Every call sees one consistent moment, at the latest the end of the last commit
//! that was acknowledged before it.

mod a2a;
pub(crate) mod damaged;
mod decode;
mod deliveries;
pub(crate) mod event_text;
pub(crate) mod lost;
mod network;

use crate::{
    folder::{blobs::Blobs, layout::Layout},
    log::manifest_index::ManifestIndex,
    model::{
        commit::{Epoch, PinnedFlow, Snapshot},
        error::{BlobError, Cause, ReadError},
        manifest,
        rows::{
            ArtifactRow, Found, HandoffRow, InboxFilter, InboxRow, ManifestRow, Match, RunFilter, RunRow,
        },
    },
    tables::{
        identity::Identity,
        names::{entered_key_of, name_of},
        notes::select_runs,
        projection,
        run_paths::{RunPaths, Translator},
        schema::{self, Access, cause},
        sql::{EventDamage, RunKey, reason, signed, unsigned},
    },
};
use envoi_contract::{digest::Digest, time::Timestamp};
use envoi_kernel::{
    event::{AttemptSettled, Event, FileChange, HandoffWritten, InterruptAnswered, Record, RunStarted},
    ids::{AttemptId, FlowId, InterruptId, RunId, Seq, StepId, VisitId},
};
use rusqlite::{Connection, ErrorCode, OptionalExtension as _, Params, Row, params};
use std::{borrow::Cow, cell::OnceCell, collections::BTreeMap, fmt, sync::Arc};

/// A reading connection. One thread at a time; open as many as there are threads that read.
pub struct Reader {
    conn: Connection,
    blobs: Blobs,
    manifest_index: ManifestIndex,
    translator: Translator,
    /// Events up to this one were committed before the store was copied.
    copied_event: i64,
    /// See [`Reader::scratch`].
    scratch: OnceCell<Connection>,
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader").field("blobs", &self.blobs).finish_non_exhaustive()
    }
}

/// All that is needed to have a run again.
#[derive(Debug, Clone, PartialEq)]
pub struct Loaded {
    /// The flow it is pinned to.
    pub pinned: PinnedFlow,
    /// The newest snapshot, if there is one.
    pub snapshot: Option<Snapshot>,
    /// The records after the snapshot, or all.
    pub records: Vec<Record>,
    /// The bytes of these records as stored: more than the snapshot's bytes means that a new one is due.
    pub tail_bytes: u64,
}

impl Reader {
    pub(crate) fn open(
        layout: Layout,
        access: Access,
        blobs: Blobs,
        manifest_index: ManifestIndex,
    ) -> Result<Self, ReadError> {
        let failed = |error| read_error(error, "the store");
        let conn = schema::connect_as(&layout.db(), access).map_err(failed)?;
        conn.pragma_update(None, "query_only", true).map_err(failed)?;
        let identity = Identity::read(&conn).map_err(failed)?;
        let translator = Translator::new(layout, &identity);
        Ok(Self {
            conn,
            blobs,
            manifest_index,
            translator,
            copied_event: identity.copied_event,
            scratch: OnceCell::new(),
        })
    }

    /// Places of runs are as their events say.
    pub(crate) fn of_mirror(self) -> Self {
        Self { translator: self.translator.of_mirror(), ..self }
    }

    /// Where the files of a run are now, which has `started` so.
    ///
    /// # Errors
    /// [`ReadError::Missing`] when there is no such run.
    pub fn paths_of(&self, started: &RunStarted) -> Result<RunPaths, ReadError> {
        let RunStarted { run, workspace, run_base, source, .. } = started;
        let recorded = RunPaths {
            workspace: workspace.clone(),
            run_base: run_base.clone(),
            source: source.clone(),
            is_originals: false,
        };
        Ok(self.translator.translate(run, self.key(run)?, recorded))
    }

    /// The workspace of a run if it is one of the store that this one is a copy of, and no one has agreed that both work in it.
    ///
    /// # Errors
    /// [`ReadError::Missing`] when there is no such run.
    pub fn workspace_of_original(&self, run: &RunId) -> Result<Option<String>, ReadError> {
        let key = self.key(run)?;
        let recorded = |row: &Row<'_>| {
            Ok(RunPaths {
                workspace: row.get("workspace")?,
                run_base: row.get("run_base")?,
                source: String::new(),
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

    /// Where the last announcement of an attempt stands among the events of its run, and when it was written. A journal that
    /// comes from a backup announces the attempt again at another time.
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

    /// One run at a glance.
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
        let key = self.known_key(run)?;
        let next: Option<i64> =
            self.one("SELECT next_seq FROM runs WHERE run = ?1", [key], |row| row.get(0))?;
        next.map(unsigned).ok_or_else(|| missing("run", run))
    }

    /// The newest epoch that an engine has taken.
    ///
    /// # Errors
    /// The machine's.
    pub fn epoch(&self) -> Result<Epoch, ReadError> {
        let newest: Option<i64> = self.one("SELECT epoch FROM engine", [], |row| row.get(0))?;
        Ok(Epoch(newest.map_or(0, unsigned)))
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

    /// A run that is no fork and all that go back to it by forks, oldest first: those that share its bounds.
    ///
    /// # Errors
    /// [`ReadError::Damaged`] or the machine's.
    pub fn family(&self, root: &RunId) -> Result<Vec<RunRow>, ReadError> {
        let sql = select_runs("WHERE root = ?1 OR runs.run = ?2 ORDER BY runs.run");
        let values = params![root.as_str(), self.known_key(root)?];
        self.rows(&sql, values, |row| self.run_row(row), "a run")
    }

    /// What an id, or a prefix or suffix of one, stands for: the whole id wins; `run_` and `int_` may be left out of a prefix.
    ///
    /// # Errors
    /// [`ReadError::Damaged`] or the machine's.
    pub fn find(&self, text: &str) -> Result<Match, ReadError> {
        let sql = format!(
            "WITH names AS (SELECT {name} AS id FROM journals UNION ALL SELECT id FROM runs WHERE \
             NOT EXISTS (SELECT 1 FROM journals WHERE journals.run = runs.run)) \
             SELECT id AS id, NULL AS run FROM names WHERE ?1 <> '' AND \
             (substr(id, 1, length(?1)) = ?1 OR substr(id, 5, length(?1)) = ?1 OR substr(id, -length(?1)) = ?1) \
             UNION ALL SELECT interrupt, {asked} FROM inbox WHERE ?1 <> '' AND \
             NOT EXISTS (SELECT 1 FROM inbox AS asked WHERE asked.interrupt = inbox.interrupt AND asked.run < inbox.run) AND \
             (substr(interrupt, 1, length(?1)) = ?1 OR substr(interrupt, 5, length(?1)) = ?1 \
             OR substr(interrupt, -length(?1)) = ?1)",
            name = name_of("journals.run"),
            asked = name_of("inbox.run"),
        );
        let mut found = self.readable(&sql, [text], decode::found, "an id")?;
        if let Some(whole) = found.iter().find(|found| id(found) == text) {
            return Ok(Match::One(whole.clone()));
        }
        Ok(match found.len() {
            0 => Match::None,
            1 => found.pop().map_or(Match::None, Match::One),
            _ => Match::Many(found),
        })
    }

    /// The run's flow, newest snapshot and the records after it.
    ///
    /// # Errors
    /// [`ReadError::Missing`] when there is no such run; [`ReadError::Damaged`] when an event cannot be understood.
    pub fn load(&self, run: &RunId) -> Result<Loaded, ReadError> {
        self.consistently(|| {
            let key = self.key(run)?;
            let pinned = self.one(
                "SELECT flows.* FROM journals JOIN flows USING (flow) WHERE run = ?1",
                [key],
                decode::pinned,
            )?;
            let pinned = pinned.ok_or_else(|| ReadError::Damaged {
                what: format!("run `{run}`"),
                source: Arc::new(NoPinnedFlow),
            })?;
            let snapshot =
                self.one("SELECT seq, state FROM snapshots WHERE run = ?1", [key], decode::snapshot)?;
            let from = snapshot.as_ref().map_or(0, |snapshot| snapshot.seq.saturating_add(1));
            let records = self.records_from(key, from, None)?;
            let tail_bytes = self.tail_bytes(key, from)?;
            Ok(Loaded { pinned, snapshot, records, tail_bytes })
        })
    }

    /// The flows that runs are pinned to, as far as their rows can be read, each with the number of its runs and one of them.
    ///
    /// # Errors
    /// The machine's.
    pub fn pinned_flows(&self) -> Result<Vec<(PinnedFlow, u64, RunId)>, ReadError> {
        let sql = format!(
            "SELECT pinned.*, {} AS run_id FROM (SELECT flows.*, count(*) AS runs, min(journals.run) AS first              FROM flows JOIN journals USING (flow) GROUP BY flow) AS pinned ORDER BY flow",
            name_of("pinned.first")
        );
        let pinned = |row: &Row<'_>| {
            Ok((decode::pinned(row)?, unsigned(row.get("runs")?), crate::tables::sql::read(row, "run_id")?))
        };
        self.readable(&sql, [], pinned, "a flow")
    }

    /// Runs whose pinned flow is not in the store, oldest first. They cannot be loaded.
    ///
    /// # Errors
    /// The machine's.
    pub(crate) fn runs_without_flow(&self) -> Result<Vec<String>, ReadError> {
        let sql =
            "SELECT id FROM journals LEFT JOIN flows USING (flow) WHERE flows.flow IS NULL ORDER BY run";
        self.rows(sql, [], |row| row.get(0), "a run")
    }

    /// Records of a run from the given place on, at most `limit`.
    ///
    /// # Errors
    /// As [`Reader::load`].
    pub fn records(&self, run: &RunId, from: Seq, limit: Option<u32>) -> Result<Vec<Record>, ReadError> {
        self.records_from(self.key(run)?, from, limit)
    }

    /// Calls `visit` with each event of a run, in order; with the reason for one that cannot be decoded.
    ///
    /// # Errors
    /// [`ReadError::Missing`] when there is no such run; otherwise the machine's.
    pub fn each_event(
        &self,
        run: &RunId,
        mut visit: impl FnMut(Seq, Result<Record, String>),
    ) -> Result<(), ReadError> {
        let key = self.key(run)?;
        let mut read = || {
            let sql = "SELECT seq, at_ms, body FROM events WHERE run = ?1 ORDER BY seq";
            let mut statement = self.conn.prepare_cached(sql)?;
            let mut rows = statement.query([key])?;
            while let Some(row) = rows.next()? {
                visit(
                    unsigned(row.get("seq")?),
                    projection::record(row).map_err(|error| reason(error).to_string()),
                );
            }
            Ok(())
        };
        read().map_err(|error| read_error(error, "an event"))
    }

    /// The hand-offs of a run, in the order in which they were written.
    ///
    /// # Errors
    /// [`ReadError::Missing`] when there is no such run.
    pub fn handoffs(&self, run: &RunId) -> Result<Vec<HandoffRow>, ReadError> {
        let sql = "SELECT * FROM handoffs WHERE run = ?1 ORDER BY seq";
        self.rows(sql, [self.key(run)?], decode::handoff, "a hand-off")
    }

    /// The bytes of a step's hand-off within a scope, empty at the top, exactly as in its file: of this visit, or the newest.
    ///
    /// # Errors
    /// [`ReadError::Missing`] when there is none.
    pub fn handoff(
        &self,
        run: &RunId,
        scope: &str,
        step: &StepId,
        visit: Option<u32>,
    ) -> Result<Vec<u8>, ReadError> {
        let sql = "SELECT seq FROM handoffs WHERE run = ?1 AND step = ?2 AND scope = ?4 AND visit = coalesce(?3, visit) \
                   ORDER BY visit DESC LIMIT 1";
        let key = self.key(run)?;
        let seq = self.one(sql, params![key, step.as_str(), visit, scope], |row| row.get(0))?;
        let seq: i64 = seq.ok_or_else(|| missing("hand-off of step", step))?;
        self.handoff_at(run, unsigned(seq))
    }

    /// The bytes of the hand-off of one visit, exactly as in its file.
    ///
    /// # Errors
    /// [`ReadError::Missing`] when the visit has none.
    pub fn handoff_of(&self, run: &RunId, visit: &VisitId) -> Result<Vec<u8>, ReadError> {
        let sql = "SELECT seq FROM handoffs WHERE run = ?1 AND scope = ?2 AND step = ?3 AND visit = ?4";
        let values = params![self.key(run)?, visit.scope, visit.step.as_str(), visit.visit];
        let seq: Option<i64> = self.one(sql, values, |row| row.get(0))?;
        self.handoff_at(run, unsigned(seq.ok_or_else(|| missing("hand-off", visit))?))
    }

    /// The bytes of the hand-off that the event at `seq` holds.
    pub(crate) fn handoff_at(&self, run: &RunId, seq: Seq) -> Result<Vec<u8>, ReadError> {
        self.written_at(run, seq).map(|written| bytes(&written))
    }

    /// The hand-off that the event at `seq` holds.
    pub(crate) fn written_at(&self, run: &RunId, seq: Seq) -> Result<HandoffWritten, ReadError> {
        match self.records(run, seq, Some(1))?.into_iter().next() {
            Some(Record { event: Event::HandoffWritten(written), .. }) => Ok(*written),
            // Its row says that it is there.
            _ => {
                Err(ReadError::Damaged { what: format!("run `{run}`"), source: Arc::new(NoHandoff { seq }) })
            }
        }
    }

    /// The hand-off of one visit at a glance.
    ///
    /// # Errors
    /// [`ReadError::Missing`] when the visit has none.
    pub fn handoff_row(&self, run: &RunId, visit: &VisitId) -> Result<HandoffRow, ReadError> {
        let sql = "SELECT * FROM handoffs WHERE run = ?1 AND scope = ?2 AND step = ?3 AND visit = ?4";
        let row = self.one(
            sql,
            params![self.key(run)?, visit.scope, visit.step.as_str(), visit.visit],
            decode::handoff,
        )?;
        row.ok_or_else(|| missing("hand-off", visit))
    }

    /// Whether no later visit of the same step has left a hand-off.
    pub(crate) fn is_newest(&self, run: &RunId, visit: &VisitId) -> Result<bool, ReadError> {
        let sql = "SELECT NOT EXISTS (SELECT 1 FROM handoffs WHERE run = ?1 AND scope = ?2 AND step = ?3 \
                   AND visit > ?4)";
        let values = params![self.key(run)?, visit.scope, visit.step.as_str(), visit.visit];
        self.one(sql, values, |row| row.get(0))?.ok_or_else(|| missing("run", run))
    }

    /// The newest version of every artifact of a run, those of manifests among them, by flow and path.
    ///
    /// # Errors
    /// [`ReadError::Missing`] when there is no such run; [`ReadError::Damaged`] when a manifest cannot be read.
    pub fn artifacts(&self, run: &RunId) -> Result<Vec<ArtifactRow>, ReadError> {
        let key = self.key(run)?;
        let manifests = self.manifests(run)?;
        let mut rows = self.artifact_rows(key)?;
        if manifests.is_empty() {
            return Ok(rows.into_iter().map(|(_, place)| place).collect());
        }
        // In the order in which they were written: a manifest before the rows that came after it.
        rows.sort_by_key(|(after, _)| *after);
        let mut rows = rows.into_iter().peekable();
        let mut newest = BTreeMap::new();
        let mut keep = |place: ArtifactRow| newest.insert((place.flow.clone(), place.path.clone()), place);
        for (nth, manifest) in (0_u32..).zip(manifests) {
            while let Some((_, place)) = rows.next_if(|(after, _)| *after <= nth) {
                keep(place);
            }
            for file in self.list(&manifest.digest)? {
                keep(manifest.place(file));
            }
        }
        for (_, row) in rows {
            keep(row);
        }
        Ok(newest.into_values().collect())
    }

    /// As [`Reader::artifacts`], without those of manifests.
    ///
    /// # Errors
    /// [`ReadError::Missing`] when there is no such run.
    pub fn listed_artifacts(&self, run: &RunId) -> Result<Vec<ArtifactRow>, ReadError> {
        Ok(self.artifact_rows(self.key(run)?)?.into_iter().map(|(_, place)| place).collect())
    }

    /// An artifact of the flow that keeps one with this path from its place, because one of the two would have to be a file and a
    /// folder at once. Artifacts that only manifests list are not looked at.
    ///
    /// # Errors
    /// [`ReadError::Missing`] when there is no such run.
    pub fn artifact_in_the_way(
        &self,
        run: &RunId,
        flow: &FlowId,
        path: &str,
        is_gone: impl Fn(&str) -> bool,
    ) -> Result<Option<String>, ReadError> {
        let key = self.key(run)?;
        let of_path = |row: &Row<'_>| row.get::<_, String>(0);
        let sql = "SELECT path FROM places WHERE run = ?1 AND flow = ?2 AND digest IS NOT NULL AND path = ?3";
        let above = path.match_indices('/').filter_map(|(end, _)| path.get(..end));
        for folder in above {
            let found = self.one(sql, params![key, flow.as_str(), folder], of_path)?;
            if let Some(found) = found.filter(|found| !is_gone(found)) {
                return Ok(Some(found));
            }
        }
        // Below `d` are the paths from `d/` to just before `d0`: the digit follows the slash in ASCII.
        let sql = "SELECT path FROM places WHERE run = ?1 AND flow = ?2 AND digest IS NOT NULL AND path > ?3 || '/' \
                   AND path < ?3 || '0' ORDER BY path";
        let below = self.rows(sql, params![key, flow.as_str(), path], of_path, "an artifact")?;
        Ok(below.into_iter().find(|found| !is_gone(found)))
    }

    /// Rows of places, with how many manifests stood before each was written.
    fn artifact_rows(&self, key: RunKey) -> Result<Vec<(u32, ArtifactRow)>, ReadError> {
        let listed = |row: &Row<'_>| Ok((row.get::<_, u32>("after")?, decode::artifact(row)?));
        let sql = "SELECT * FROM places WHERE run = ?1 ORDER BY flow, path";
        self.rows(sql, [key], listed, "an artifact")
    }

    /// The newest version of every artifact that these records hand over, by its path in the workspace; `None` when it was
    /// deleted.
    ///
    /// # Errors
    /// As [`Reader::list`].
    pub fn newest_files<'r>(
        &self,
        records: impl IntoIterator<Item = &'r Record>,
    ) -> Result<BTreeMap<String, Option<Digest>>, ReadError> {
        let mut newest = BTreeMap::new();
        for record in records {
            let Event::AttemptSettled(settled) = &record.event else { continue };
            if !settled.late {
                let files = self.files_of(settled)?;
                newest.extend(
                    files.iter().map(|file| (file.path.clone(), file.blob.as_ref().map(|blob| blob.digest))),
                );
            }
        }
        Ok(newest)
    }

    /// The lists of artifacts of a run that are content of the store, in the order in which they were handed over.
    ///
    /// # Errors
    /// [`ReadError::Missing`] when there is no such run.
    pub fn manifests(&self, run: &RunId) -> Result<Vec<ManifestRow>, ReadError> {
        let sql = "SELECT * FROM manifests WHERE run = ?1 ORDER BY nth";
        self.rows(sql, [self.key(run)?], decode::manifest, "a manifest")
    }

    /// The files of a manifest.
    ///
    /// # Errors
    /// [`ReadError::Damaged`] when it is missing, or is none.
    pub fn list(&self, digest: &Digest) -> Result<Vec<FileChange>, ReadError> {
        let unreadable = |source: Cause| ReadError::Damaged { what: format!("manifest `{digest}`"), source };
        let bytes = self.blob(digest).map_err(|error| unreadable(Arc::new(error)))?;
        manifest::read(&bytes).map_err(|error| unreadable(Arc::new(error)))
    }

    /// The files that an attempt handed over, wherever their list is.
    ///
    /// # Errors
    /// As [`Reader::list`].
    pub fn files_of<'s>(&self, settled: &'s AttemptSettled) -> Result<Cow<'s, [FileChange]>, ReadError> {
        match &settled.manifest {
            Some(manifest) => self.list(&manifest.list.digest).map(Cow::Owned),
            None => Ok(Cow::Borrowed(&settled.files)),
        }
    }

    /// Questions to people, oldest first; those of one moment by run, then by place.
    ///
    /// # Errors
    /// [`ReadError::Missing`] when the filter names a run that does not exist.
    pub fn inbox(&self, filter: &InboxFilter) -> Result<Vec<InboxRow>, ReadError> {
        let sql = format!(
            "SELECT inbox.*, {} AS run_id FROM inbox JOIN journals USING (run) \
             WHERE (run = ?1 OR (?1 IS NULL AND NOT EXISTS (SELECT 1 FROM inbox AS asked WHERE \
             asked.interrupt = inbox.interrupt AND asked.run < inbox.run))) AND (?2 OR state = 'open') \
             ORDER BY raised_at_ms, run, length(scope), scope, step, visit, interrupt",
            name_of("inbox.run")
        );
        let key = filter.run.as_ref().map(|run| self.key(run)).transpose()?;
        self.rows(&sql, params![key, filter.closed], decode::question, "a question")
    }

    /// One question, open or not.
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

    /// Whether an event of the run came of the request with this id (`a-z 0-9 _`).
    ///
    /// # Errors
    /// [`ReadError::Missing`] when there is no such run.
    pub fn has_request(&self, run: &RunId, request: &str) -> Result<bool, ReadError> {
        Ok(self.request_seq(run, request)?.is_some())
    }

    /// The place of the event that a request of this id has led to.
    ///
    /// # Errors
    /// As [`Reader::has_request`].
    pub fn request_seq(&self, run: &RunId, request: &str) -> Result<Option<Seq>, ReadError> {
        let sql = "SELECT seq FROM events WHERE run = ?1 AND instr(body, ?2) > 0 ORDER BY seq LIMIT 1";
        let member = format!("\"request\":\"{request}\"");
        let found = self.one(sql, params![self.key(run)?, member], |row| row.get::<_, i64>(0))?;
        Ok(found.map(unsigned))
    }

    /// The bytes with this digest, from the database or their file, verified.
    ///
    /// # Errors
    /// [`BlobError::Missing`], or [`BlobError::Damaged`] when they are not what was stored.
    pub fn blob(&self, digest: &Digest) -> Result<Vec<u8>, BlobError> {
        match self.inline(digest)? {
            Some(bytes) => Ok(bytes),
            None => self.blobs.get(digest),
        }
    }

    /// As [`Reader::blob`], a piece at a time: what was written is to be used only after `Ok`.
    ///
    /// # Errors
    /// As [`Reader::blob`], and [`BlobError::Io`] for `target`.
    pub fn write_blob(&self, digest: &Digest, target: &mut dyn std::io::Write) -> Result<(), BlobError> {
        match self.inline(digest)? {
            Some(bytes) => {
                target.write_all(&bytes).map_err(|source| BlobError::Io { path: self.place(), source })
            }
            None => self.blobs.write_to(digest, target),
        }
    }

    /// How many bytes the content with this digest has; a file is not read for it.
    ///
    /// # Errors
    /// As [`Reader::blob`].
    pub fn blob_size_bytes(&self, digest: &Digest) -> Result<u64, BlobError> {
        match self.inline(digest)? {
            Some(bytes) => Ok(u64::try_from(bytes.len()).unwrap_or(u64::MAX)),
            None => self.blobs.size_bytes(digest),
        }
    }

    /// The digests of all content in the database.
    pub(crate) fn inline_digests(&self) -> Result<Vec<Digest>, ReadError> {
        self.readable("SELECT digest FROM blobs", [], |row| row.get(0).map(Digest::from_bytes), "content")
    }

    fn inline(&self, digest: &Digest) -> Result<Option<Vec<u8>>, BlobError> {
        let read = || {
            let mut statement = self.conn.prepare_cached("SELECT bytes FROM blobs WHERE digest = ?1")?;
            statement.query_row([digest.as_bytes()], |row| row.get::<_, Vec<u8>>(0)).optional()
        };
        let bytes = read().map_err(|error| BlobError::Store { source: cause(error) })?;
        match bytes.as_deref().map(Digest::of) {
            Some(found) if found != *digest => {
                Err(BlobError::Damaged { expected: *digest, found, place: self.place() })
            }
            _ => Ok(bytes),
        }
    }

    fn place(&self) -> std::path::PathBuf {
        self.conn.path().unwrap_or_default().into()
    }

    /// A run at a glance, with its workspace where it is now.
    fn run_row(&self, row: &Row<'_>) -> rusqlite::Result<RunRow> {
        let mut run = decode::run(row)?;
        let recorded = RunPaths {
            workspace: std::mem::take(&mut run.workspace),
            run_base: decode::text(row, "run_base")?,
            source: String::new(),
            is_originals: false,
        };
        run.workspace = self.translator.translate(&run.run, row.get("run")?, recorded).workspace;
        Ok(run)
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

    fn records_from(&self, run: RunKey, from: Seq, limit: Option<u32>) -> Result<Vec<Record>, ReadError> {
        let sql = "SELECT seq, at_ms, body FROM events WHERE run = ?1 AND seq >= ?2 ORDER BY seq LIMIT ?3";
        let limit = limit.map_or(-1, i64::from);
        self.rows(sql, params![run, signed(from), limit], projection::record, "an event")
    }

    fn tail_bytes(&self, run: RunKey, from: Seq) -> Result<u64, ReadError> {
        let sql = "SELECT coalesce(sum(octet_length(body)), 0) FROM events WHERE run = ?1 AND seq >= ?2";
        Ok(self.one(sql, params![run, signed(from)], |row| row.get(0))?.map_or(0, unsigned))
    }

    /// Its connection, to compare rows with what the events make.
    pub(crate) fn conn(&self) -> &Connection {
        &self.conn
    }

    /// A database in memory with the schema of the store; made when it is first needed.
    pub(crate) fn scratch(&self) -> rusqlite::Result<&Connection> {
        if let Some(made) = self.scratch.get() {
            return Ok(made);
        }
        let made = schema::in_memory()?;
        Ok(self.scratch.get_or_init(|| made))
    }

    /// An error of the database, met while something was read.
    pub(crate) fn failed(error: rusqlite::Error, what: &str) -> ReadError {
        read_error(error, what)
    }

    /// Several queries that see the same moment.
    pub(crate) fn consistently<T>(
        &self,
        read: impl FnOnce() -> Result<T, ReadError>,
    ) -> Result<T, ReadError> {
        let moment = self.conn.unchecked_transaction().map_err(|error| read_error(error, "the store"))?;
        let result = read();
        moment.finish().map_err(|error| read_error(error, "the store"))?;
        result
    }

    /// As [`Self::rows`], without those that cannot be decoded. For rows of many runs or clients: one that is damaged must not take
    /// the others away. [`Reader::damaged_rows`] names it.
    fn readable<T>(
        &self,
        sql: &str,
        values: impl Params,
        mut decode: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
        what: &str,
    ) -> Result<Vec<T>, ReadError> {
        let decode = |row: &Row<'_>| match decode(row) {
            Err(error) if error.sqlite_error_code().is_none() => Ok(None),
            decoded => decoded.map(Some),
        };
        Ok(self.rows(sql, values, decode, what)?.into_iter().flatten().collect())
    }

    fn one<T>(
        &self,
        sql: &str,
        values: impl Params,
        decode: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, ReadError> {
        Ok(self.rows(sql, values, decode, "a row")?.into_iter().next())
    }

    fn rows<T>(
        &self,
        sql: &str,
        values: impl Params,
        decode: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
        what: &str,
    ) -> Result<Vec<T>, ReadError> {
        let read =
            || self.conn.prepare_cached(sql)?.query_map(values, decode)?.collect::<rusqlite::Result<_>>();
        read().map_err(|error| read_error(error, what))
    }
}

/// Whether the row of a run is there, can be read, and does not contradict the journal.
pub(crate) fn is_row_whole(conn: &Connection, key: RunKey) -> rusqlite::Result<bool> {
    let whole = |row: &Row<'_>| Ok(decode::is_whole(row));
    Ok(conn.query_row(&select_runs("WHERE runs.run = ?1"), [key], whole).optional()?.unwrap_or(false))
}

/// A hand-off as it stands in its file.
pub(crate) fn bytes(written: &HandoffWritten) -> Vec<u8> {
    written.handoff.to_value().pretty().into_bytes()
}

fn id(found: &Found) -> &str {
    match found {
        Found::Run(run) => run.as_str(),
        Found::Interrupt(interrupt, _) => interrupt.as_str(),
    }
}

/// What is wrong with a run that has a row of a hand-off and not its event.
#[derive(Debug, thiserror::Error)]
#[error("event {seq}, a hand-off, is missing")]
struct NoHandoff {
    seq: Seq,
}

/// What is wrong with a run whose flow is gone.
#[derive(Debug, thiserror::Error)]
#[error("there is no flow pinned to it")]
struct NoPinnedFlow;

/// What is wrong with a run whose entry in the journal is missing, or is another's.
#[derive(Debug, thiserror::Error)]
#[error("{reason}")]
struct NoEntry {
    reason: String,
}

fn missing(what: &'static str, id: &impl fmt::Display) -> ReadError {
    ReadError::Missing { what, id: id.to_string() }
}

fn read_error(error: rusqlite::Error, what: &str) -> ReadError {
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => ReadError::Busy,
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => damaged(error, what),
        Some(_) => ReadError::Io { source: cause(error) },
        None => damaged(error, what),
    }
}

fn damaged(error: rusqlite::Error, what: &str) -> ReadError {
    let reason = reason(error);
    let what = match reason.downcast_ref::<EventDamage>() {
        Some(damage) => format!("event {}", damage.seq),
        None => what.to_owned(),
    };
    ReadError::Damaged { what, source: Arc::from(reason) }
}

#[cfg(test)]
mod tests;
