//! Many commits in one transaction: a savepoint each, one fence, one COMMIT.
//!
//! Owns what is all-or-nothing. An outcome that it returns is final: success only after COMMIT has returned.

use super::{
    known::{Known, KnownRuns},
    place::Place,
};
use crate::{
    folder::blobs::INLINE_MAX_BYTES,
    model::{
        commit::{Commit, Epoch, Patience, PinnedFlow, Receipt, Snapshot},
        delivery::Mark,
        error::CommitError,
        import::Import,
        note::Note,
        retention::{Removal, SmallContents},
    },
    tables::{
        deliveries, epoch, notes,
        projection::{self, Progress},
        retention,
        schema::cause,
        sql::{self, RunKey, signed, unsigned},
    },
};
use envoi_contract::{digest::Digest, time::Timestamp};
use envoi_kernel::{
    event::{Event, Record, Unreadable},
    ids::{RunId, Seq},
};
use rusqlite::{Connection, ErrorCode, OptionalExtension as _, Statement, params};
use std::sync::Arc;

type Outcome = Result<Receipt, CommitError>;

/// Makes the next holder's epoch durable.
pub(crate) fn take_epoch(conn: &Connection) -> Result<Epoch, CommitError> {
    if epoch::current(conn).map_err(commit_error)?.is_none() {
        return Err(no_epoch());
    }
    let bump = "UPDATE engine SET epoch = epoch + 1 RETURNING epoch";
    let epochs = |mut statement: Statement<'_>| statement.query_map([], |row| row.get(0))?.collect();
    // To the end of its rows: it commits there, or reports there that it could not.
    let epochs: Vec<i64> = conn.prepare(bump).and_then(epochs).map_err(commit_error)?;
    Ok(Epoch(epochs.into_iter().map(unsigned).max().unwrap_or(0)))
}

/// The fence: whether no later holder has taken over.
pub(crate) fn check_epoch(conn: &Connection, ours: Epoch) -> Result<(), CommitError> {
    let current = epoch::current(conn).map_err(commit_error)?.map(unsigned).ok_or_else(no_epoch)?;
    if current == ours.0 { Ok(()) } else { Err(CommitError::Fenced { ours: ours.0, current }) }
}

/// It is not known which engine is the newest one. All runs fail as if the disk had failed.
fn no_epoch() -> CommitError {
    CommitError::Io { source: Arc::new(NoEpoch), unknown: false }
}

#[derive(Debug, thiserror::Error)]
#[error("the number of the newest engine is missing or damaged; `envoi repair` makes it again")]
struct NoEpoch;

/// Something that is written as a whole or not at all.
pub(super) trait Part {
    /// Refuses what no reader could understand.
    fn check(&self) -> Result<(), CommitError>;

    /// Writes it, within a transaction.
    fn insert(&self, conn: &Connection, epoch: Epoch, runs: &KnownRuns) -> Outcome;
}

/// A request to the writer.
pub(super) enum Work {
    Commit(Box<Commit>),
    Mark(Mark),
    Note(Note),
    /// Small contents, before the commit that names them.
    Contents(Vec<(Digest, Vec<u8>)>),
    /// A run that was lived elsewhere.
    Import(Box<Import>),
    /// Runs that are deleted.
    Remove(Removal),
    /// The result of this run is given up.
    Drop(RunId, Timestamp),
    /// Small contents that nothing names, or that something names again.
    Sweep(SmallContents),
}

impl Part for Commit {
    fn check(&self) -> Result<(), CommitError> {
        well_formed(self)
    }

    fn insert(&self, conn: &Connection, epoch: Epoch, runs: &KnownRuns) -> Outcome {
        insert(conn, epoch, runs, self, &bodies(&self.records)?)
    }
}

impl Part for Work {
    fn check(&self) -> Result<(), CommitError> {
        match self {
            Self::Commit(commit) => commit.check(),
            Self::Import(import) => bodies_of(import).map(drop),
            Self::Mark(_) | Self::Note(_) | Self::Remove(_) | Self::Drop(..) | Self::Sweep(_) => Ok(()),
            Self::Contents(blobs) => small_and_whole(blobs),
        }
    }

    fn insert(&self, conn: &Connection, epoch: Epoch, runs: &KnownRuns) -> Outcome {
        match self {
            Self::Commit(commit) => commit.insert(conn, epoch, runs),
            Self::Import(import) => {
                let commit = commit_of(import);
                well_formed(&commit)?;
                let receipt = insert(conn, epoch, runs, &commit, &bodies_of(import)?)?;
                let noted = retention::note_import(conn, import).map_err(commit_error);
                noted.map(|()| receipt).inspect_err(|_| drop(runs.take(&import.run)))
            }
            Self::Note(note) => {
                notes::insert(conn, epoch, note).map_err(commit_error)?;
                Ok(Receipt { events_bytes: 0 })
            }
            Self::Mark(mark) => {
                deliveries::mark(conn, mark).map_err(commit_error)?;
                Ok(Receipt { events_bytes: 0 })
            }
            Self::Contents(blobs) => {
                insert_blobs(conn, blobs).map_err(commit_error)?;
                Ok(Receipt { events_bytes: 0 })
            }
            Self::Remove(removal) => {
                removal.runs.iter().for_each(|(run, _)| drop(runs.take(run)));
                retention::remove(conn, removal).map_err(commit_error)?;
                Ok(Receipt { events_bytes: 0 })
            }
            Self::Drop(run, at) => {
                retention::drop_result(conn, run, *at).map_err(commit_error)?;
                Ok(Receipt { events_bytes: 0 })
            }
            Self::Sweep(wanted) => {
                retention::sweep(conn, wanted).map_err(commit_error)?;
                Ok(Receipt { events_bytes: 0 })
            }
        }
    }
}

/// The writing connection of one holder.
pub(super) struct Transactions {
    conn: Connection,
    epoch: Epoch,
    place: Place,
    runs: KnownRuns,
    /// Without it, a database that another process keeps locked is an error after [`BUSY`](crate::tables::schema::BUSY).
    patience: Option<Patience>,
}

/// SQLite ended the whole transaction because of one commit.
struct Ended {
    culprit: Option<usize>,
    error: CommitError,
}

impl Transactions {
    pub(super) fn new(conn: Connection, epoch: Epoch, patience: Option<Patience>) -> Self {
        Self { place: Place::of(&conn), conn, epoch, runs: KnownRuns::default(), patience }
    }

    /// Finds out whether another program has replaced the files of the database, and saves the commits if so.
    ///
    /// # Errors
    /// They were replaced.
    pub(super) fn check_place(&self) -> Result<(), CommitError> {
        self.place.check(&self.conn, self.epoch)
    }

    /// Writes all that can be written, and returns the outcome of each.
    pub(super) fn write(&self, commits: &[impl Part]) -> Vec<Outcome> {
        let all: Vec<_> = commits.iter().collect();
        match self.together(&all) {
            Ok(outcomes) => outcomes,
            Err(ended) => self.each_alone(&all, &ended),
        }
    }

    /// Writes the WAL back as far as readers allow. If this fails, the next process that opens the store does it.
    pub(super) fn checkpoint(&self) {
        drop(self.conn.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(())));
    }

    fn each_alone<P: Part>(&self, commits: &[&P], ended: &Ended) -> Vec<Outcome> {
        let alone = |(place, commit): (usize, &&P)| {
            if ended.culprit == Some(place) || commits.len() == 1 {
                return Err(ended.error.clone());
            }
            match self.together(&[*commit]) {
                Ok(mut outcomes) => outcomes.pop().unwrap_or(Err(CommitError::Closed)),
                Err(ended) => Err(ended.error),
            }
        };
        commits.iter().enumerate().map(alone).collect()
    }

    /// A single transaction. `Err` when it is gone and the others may be tried again.
    fn together(&self, commits: &[&impl Part]) -> Result<Vec<Outcome>, Ended> {
        if let Err(error) = self.begin() {
            return Ok(commits.iter().map(|_| Err(error.clone())).collect());
        }
        let mut outcomes = Vec::with_capacity(commits.len());
        for (place, commit) in commits.iter().enumerate() {
            let written = if commits.len() == 1 { self.whole(*commit) } else { self.savepoint(*commit) };
            match written {
                Ok(outcome) => outcomes.push(outcome),
                Err(error) => {
                    self.roll_back();
                    return Err(Ended { culprit: Some(place), error });
                }
            }
        }
        self.finish(outcomes)
    }

    fn begin(&self) -> Result<(), CommitError> {
        self.check_place()?;
        let mut tries = 0_u32;
        while let Err(error) = self.run("BEGIN IMMEDIATE").map_err(commit_error) {
            tries = tries.saturating_add(1);
            let waits = |patience: &Patience| (patience.waits)(tries);
            if !matches!(error, CommitError::Busy) || !self.patience.as_ref().is_some_and(waits) {
                return Err(error);
            }
            // A new holder had to write in order to take over; reading the epoch works even while the database is locked.
            if let Err(error @ CommitError::Fenced { .. }) = check_epoch(&self.conn, self.epoch) {
                return Err(error);
            }
        }
        let ready = check_epoch(&self.conn, self.epoch).and_then(|()| self.forget_what_others_changed());
        if ready.is_err() {
            self.roll_back();
        }
        ready
    }

    /// Other connections write to the store too, and not all of them take an epoch.
    fn forget_what_others_changed(&self) -> Result<(), CommitError> {
        // It is another number than before when another connection has committed anything in between.
        let version = "PRAGMA data_version";
        let version = self.conn.prepare_cached(version).and_then(|mut it| it.query_row([], |row| row.get(0)));
        self.runs.hold_at(version.map_err(commit_error)?);
        Ok(())
    }

    /// No caller gets success before this COMMIT has returned, and none gets it if COMMIT fails.
    fn finish(&self, outcomes: Vec<Outcome>) -> Result<Vec<Outcome>, Ended> {
        if outcomes.iter().all(Result::is_err) {
            self.roll_back();
            return Ok(outcomes);
        }
        let Err(error) = self.run("COMMIT") else { return Ok(outcomes) };
        self.roll_back();
        match commit_error(error) {
            // The frame that makes it a commit is the last one written: without room it was not.
            error @ CommitError::Full { .. } => Err(Ended { culprit: None, error }),
            CommitError::Io { source, .. } => {
                Ok(all_failed(outcomes, &CommitError::Io { source, unknown: true }))
            }
            error => Ok(all_failed(outcomes, &error)),
        }
    }

    /// The outcome of the only commit of the transaction: its writes are taken back with that.
    fn whole(&self, commit: &impl Part) -> Result<Outcome, CommitError> {
        if let Err(error) = commit.check() {
            return Ok(Err(error));
        }
        let outcome = commit.insert(&self.conn, self.epoch, &self.runs);
        match outcome {
            Err(error) if self.conn.is_autocommit() => Err(error),
            outcome => Ok(outcome),
        }
    }

    /// The outcome of one commit within the transaction; `Err` when it took the whole transaction with it, or when what
    /// it had written could not be taken back.
    fn savepoint(&self, commit: &impl Part) -> Result<Outcome, CommitError> {
        if let Err(error) = commit.check() {
            return Ok(Err(error));
        }
        self.run("SAVEPOINT one").map_err(commit_error)?;
        let outcome = commit.insert(&self.conn, self.epoch, &self.runs);
        if let (Err(error), true) = (&outcome, self.conn.is_autocommit()) {
            return Err(error.clone());
        }
        if outcome.is_err() {
            self.run("ROLLBACK TO one").map_err(commit_error)?;
        }
        self.run("RELEASE one").map_err(commit_error)?;
        Ok(outcome)
    }

    fn run(&self, sql: &str) -> rusqlite::Result<()> {
        self.conn.prepare_cached(sql)?.execute([]).map(|_| ())
    }

    fn roll_back(&self) {
        self.runs.forget_all();
        if !self.conn.is_autocommit() {
            // If even this fails, the next BEGIN does, and every commit gets that error.
            drop(self.run("ROLLBACK"));
        }
    }
}

fn all_failed(outcomes: Vec<Outcome>, error: &CommitError) -> Vec<Outcome> {
    outcomes.into_iter().map(|outcome| outcome.and(Err(error.clone()))).collect()
}

/// Refuses what no reader could understand.
fn well_formed(commit: &Commit) -> Result<(), CommitError> {
    let malformed = |reason: &str| Err(CommitError::Malformed { reason: reason.to_owned() });
    let seqs = (commit.expected..).zip(&commit.records);
    if commit.records.is_empty() {
        return malformed("it has no records");
    }
    if seqs.clone().any(|(seq, record)| record.seq != seq) {
        return malformed("its records do not follow each other from `expected`");
    }
    if seqs.clone().any(|(seq, record)| (seq == 0) != matches!(record.event, Event::RunStarted(_))) {
        return malformed("a run starts with `run_started`, once");
    }
    if commit.expected == 0 && commit.pinned.is_none() {
        return malformed("a run starts with the flow it is pinned to");
    }
    let last = seqs.last().map(|(seq, _)| seq);
    if commit.snapshot.as_ref().is_some_and(|snapshot| Some(snapshot.seq) > last) {
        return malformed("its snapshot is of a later record");
    }
    if !deliveries::belong(commit) {
        return malformed("it has a delivery of an event that is not its own");
    }
    small_and_whole(&commit.blobs)
}

fn small_and_whole(blobs: &[(Digest, Vec<u8>)]) -> Result<(), CommitError> {
    let fits =
        |(digest, bytes): &(Digest, Vec<u8>)| bytes.len() <= INLINE_MAX_BYTES && Digest::of(bytes) == *digest;
    if blobs.iter().all(fits) {
        return Ok(());
    }
    let reason = "its content is too large for the database, or not what its digest says".to_owned();
    Err(CommitError::Malformed { reason })
}

fn insert(conn: &Connection, epoch: Epoch, runs: &KnownRuns, commit: &Commit, bodies: &[String]) -> Outcome {
    let known = match runs.take(&commit.run) {
        Some(known) => Some(known),
        None => read_run(conn, &commit.run).map_err(commit_error)?,
    };
    let next = known.as_ref().map_or(0, |known| known.next);
    if next != commit.expected {
        return Err(CommitError::Conflict { expected: commit.expected, found: next });
    }
    let known = insert_rows(conn, known, commit, bodies).map_err(commit_error)?;
    if let Some(first) = commit.records.first().filter(|first| first.seq == 0) {
        notes::begin(conn, epoch, known.key, first.at).map_err(commit_error)?;
    }
    runs.keep(&commit.run, known);
    Ok(Receipt { events_bytes: bodies.iter().map(|body| signed_len(body)).fold(0, u64::saturating_add) })
}

fn signed_len(body: &str) -> u64 {
    u64::try_from(body.len()).unwrap_or(u64::MAX)
}

/// The events as they will be in the journal.
///
/// Sizes are bounded where events are made. This is the last look: an event that a reader would refuse is not
/// committed, because the run could never be loaded again.
fn bodies(records: &[Record]) -> Result<Vec<String>, CommitError> {
    let refused = |record: &Record, error: Unreadable| CommitError::Malformed {
        reason: format!("event {} (`{}`) {error}", record.seq, record.event.name()),
    };
    records.iter().map(|record| record.event.kept().map_err(|error| refused(record, error))).collect()
}

/// The events of an import, unchanged from its lines. They are not written anew: another version may have written them otherwise.
fn bodies_of(import: &Import) -> Result<Vec<String>, CommitError> {
    let body = |(record, line): &(Record, String)| {
        let body = sql::body(line, record.seq, record.at.as_millis());
        // The last look, as for other events.
        let found =
            body.filter(|body| serde_json::from_str::<Event>(body).is_ok_and(|it| it == record.event));
        let reason = || format!("event {} is not written as in a journal", record.seq);
        found.map(str::to_owned).ok_or_else(|| CommitError::Malformed { reason: reason() })
    };
    import.events.iter().map(body).collect()
}

fn commit_of(import: &Import) -> Commit {
    Commit {
        run: import.run.clone(),
        expected: 0,
        records: import.events.iter().map(|(record, _)| record.clone()).collect(),
        pinned: Some(import.pinned.clone()),
        blobs: Vec::new(),
        deliveries: Vec::new(),
        snapshot: None,
    }
}

fn key(conn: &Connection, run: &RunId) -> rusqlite::Result<Option<RunKey>> {
    conn.prepare_cached("SELECT run FROM journals WHERE id = ?1")?
        .query_row([run.as_str()], |row| row.get(0))
        .optional()
}

/// The state of a run that has committed before.
fn read_run(conn: &Connection, run: &RunId) -> rusqlite::Result<Option<Known>> {
    let Some(key) = key(conn, run)? else { return Ok(None) };
    Ok(Some(Known { key, next: next_seq(conn, key)?, progress: Progress::load(conn, key)? }))
}

/// From the events themselves: projections may be damaged.
fn next_seq(conn: &Connection, run: RunKey) -> rusqlite::Result<Seq> {
    let last = "SELECT max(seq) FROM events WHERE run = ?1";
    let last: Option<i64> = conn.prepare_cached(last)?.query_row([run], |row| row.get(0))?;
    Ok(last.map_or(0, |last| unsigned(last) + 1))
}

fn insert_rows(
    conn: &Connection,
    known: Option<Known>,
    commit: &Commit,
    bodies: &[String],
) -> rusqlite::Result<Known> {
    let (run, progress) = known.map_or_else(Default::default, |known| (Some(known.key), known.progress));
    let run = pin(conn, run, commit)?;
    insert_blobs(conn, &commit.blobs)?;
    insert_events(conn, run, &commit.records, bodies)?;
    deliveries::insert(conn, run, commit)?;
    if let Some(snapshot) = &commit.snapshot {
        insert_snapshot(conn, run, snapshot)?;
    }
    let progress = projection::fold_from(conn, run, progress, &commit.records)?;
    let next = commit.records.last().map_or(commit.expected, |last| last.seq.saturating_add(1));
    Ok(Known { key: run, next, progress })
}

/// The run's key; made with its first commit. A flow that comes with a later commit replaces the pinned one, which is kept.
fn pin(conn: &Connection, run: Option<RunKey>, commit: &Commit) -> rusqlite::Result<RunKey> {
    match (run, &commit.pinned) {
        (Some(run), None) => Ok(run),
        (Some(run), Some(pinned)) => {
            let flow = flow_key(conn, pinned)?;
            let keep = "INSERT OR IGNORE INTO earlier_flows (run, flow) SELECT run, flow FROM journals WHERE run = ?1";
            conn.prepare_cached(keep)?.execute([run])?;
            keep_earlier(conn, run, pinned)?;
            conn.prepare_cached("UPDATE journals SET flow = ?2 WHERE run = ?1")?.execute([run, flow])?;
            Ok(run)
        }
        (None, pinned) => {
            let flow = pinned.as_ref().map(|pinned| flow_key(conn, pinned)).transpose()?;
            let run = free_key(conn)?;
            let sql = "INSERT INTO journals (run, id, flow) VALUES (?1, ?2, ?3)";
            conn.prepare_cached(sql)?.execute(params![run, commit.run.as_str(), flow])?;
            pinned.iter().try_for_each(|pinned| keep_earlier(conn, run, pinned))?;
            Ok(run)
        }
    }
}

/// A key that no row of any run has. If the entry of a run in the journal is lost, its events keep the key. Each table has an
/// index that begins with the key. Numbers that no run gets are damage.
fn free_key(conn: &Connection) -> rusqlite::Result<RunKey> {
    const TABLES: [&str; 14] = [
        "journals",
        "runs",
        "events",
        "snapshots",
        "set_aside",
        "holders",
        "deliveries",
        "handoffs",
        "manifests",
        "places",
        "inbox",
        "earlier_flows",
        "done_requests",
        // A key that a deleted run had is not given again.
        "tombstones",
    ];
    let greatest = TABLES.map(|table| format!("SELECT max(run) AS run FROM {table} WHERE run < 1 << 60"));
    let sql = format!(
        "SELECT 1 + max(0, coalesce(max(run), 0)) FROM ({} UNION ALL SELECT adopted_run FROM store WHERE adopted_run < 1 << 60)",
        greatest.join(" UNION ALL ")
    );
    conn.prepare_cached(&sql)?.query_row([], |row| row.get(0))
}

/// The flows that this one corrects.
fn keep_earlier(conn: &Connection, run: RunKey, pinned: &PinnedFlow) -> rusqlite::Result<()> {
    for earlier in &pinned.earlier {
        let keep = "INSERT OR IGNORE INTO earlier_flows (run, flow) VALUES (?1, ?2)";
        conn.prepare_cached(keep)?.execute([run, flow_key(conn, earlier)?])?;
    }
    Ok(())
}

/// A row for all runs that are pinned to the same text.
fn flow_key(conn: &Connection, pinned: &PinnedFlow) -> rusqlite::Result<i64> {
    let parts: serde_json::Value =
        pinned.parts.iter().map(|(path, text)| (path.clone(), text.as_str())).collect();
    let values =
        params![pinned.digest.to_string(), pinned.language, pinned.name, pinned.text, parts.to_string()];
    let known = "SELECT flow FROM flows WHERE digest = ?1 AND language = ?2 AND name = ?3 AND text = ?4 AND parts = ?5";
    let known = conn.prepare_cached(known)?.query_row(values, |row| row.get(0)).optional()?;
    let insert = "INSERT INTO flows (digest, language, name, text, parts) VALUES (?1, ?2, ?3, ?4, ?5)";
    known.map_or_else(|| conn.prepare_cached(insert)?.insert(values), Ok)
}

fn insert_blobs(conn: &Connection, blobs: &[(Digest, Vec<u8>)]) -> rusqlite::Result<()> {
    let mut statement = conn.prepare_cached("INSERT OR IGNORE INTO blobs (digest, bytes) VALUES (?1, ?2)")?;
    for (digest, bytes) in blobs {
        statement.execute(params![digest.as_bytes(), bytes])?;
    }
    Ok(())
}

fn insert_events(
    conn: &Connection,
    run: RunKey,
    records: &[Record],
    bodies: &[String],
) -> rusqlite::Result<()> {
    let mut statement =
        conn.prepare_cached("INSERT INTO events (run, seq, at_ms, body) VALUES (?1, ?2, ?3, ?4)")?;
    for (record, body) in records.iter().zip(bodies) {
        statement.execute(params![run, signed(record.seq), record.at.as_millis(), body])?;
    }
    Ok(())
}

fn insert_snapshot(conn: &Connection, run: RunKey, snapshot: &Snapshot) -> rusqlite::Result<()> {
    let sql = "INSERT OR REPLACE INTO snapshots (run, seq, state) VALUES (?1, ?2, ?3)";
    conn.prepare_cached(sql)?.execute(params![run, signed(snapshot.seq), snapshot.state]).map(|_| ())
}

/// The error of the database as one of this crate's.
pub(crate) fn commit_error(error: rusqlite::Error) -> CommitError {
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => CommitError::Full { source: cause(error) },
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => CommitError::Busy,
        // The database is well: a row of this run that was there before cannot be understood.
        None => CommitError::Malformed { reason: error.to_string() },
        // The same if a damaged row already has the key of a new one.
        Some(ErrorCode::ConstraintViolation) if is_key_taken(&error) => {
            CommitError::Malformed { reason: format!("a row of the store is in its place: {error}") }
        }
        _ => CommitError::Io { source: Arc::new(error), unknown: false },
    }
}

fn is_key_taken(error: &rusqlite::Error) -> bool {
    use rusqlite::ffi::{SQLITE_CONSTRAINT_PRIMARYKEY, SQLITE_CONSTRAINT_ROWID, SQLITE_CONSTRAINT_UNIQUE};
    let code = error.sqlite_error().map(|error| error.extended_code);
    [SQLITE_CONSTRAINT_PRIMARYKEY, SQLITE_CONSTRAINT_ROWID, SQLITE_CONSTRAINT_UNIQUE]
        .iter()
        .any(|known| code == Some(*known))
}

#[cfg(test)]
mod tests;
