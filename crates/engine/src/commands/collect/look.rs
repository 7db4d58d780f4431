//! The facts about runs that a rule may name, and which of them go. Reads the store and changes nothing.

use super::{sweep::Sweep, trim::trims};
use crate::{
    attempts::git::Git,
    commands::trees,
    model::{
        protocol::Refused,
        retention::{
            FILES_TRAILER, Facts, Member, RUN_TRAILER, ResultAt, Rules, Verdict, judge, why_it_stays,
        },
    },
    query::{activity::is_at_work, load::load_run, snapshots},
};
use envoi_contract::{digest::Digest, time::Timestamp};
use envoi_journal::{Layout, Reader, RunFilter, RunRow};
use envoi_kernel::{
    Event, Record,
    event::{EndStatus, Isolated},
    ids::{AttemptId, RunId},
};
use envoi_step::AttemptDir;
use envoi_tree::Stop;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::{Path, PathBuf},
};

/// How runs are looked at.
pub(super) struct Look<'l> {
    pub(super) layout: &'l Layout,
    pub(super) reader: &'l Reader,
    pub(super) rules: &'l Rules,
    /// Runs whose result is dropped with this.
    pub(super) drop: &'l [RunId],
    /// Runs whose tree goes before.
    pub(super) treeless: &'l BTreeSet<RunId>,
    /// Contents are laid aside for so long at least.
    pub(super) trash_ms: u64,
    pub(super) now: Timestamp,
}

/// A family that a rule names.
#[derive(Debug)]
pub(super) struct Family {
    pub(super) verdict: Verdict,
    pub(super) rows: Vec<RunRow>,
}

impl Look<'_> {
    /// The families that rules name, each with why it stays, if it does.
    pub(super) fn families(&self) -> Result<Vec<Family>, Refused> {
        if self.rules.keep_all() {
            return Ok(Vec::new());
        }
        let rows = self.reader.runs(RunFilter::default())?;
        let mut members: Vec<_> = rows
            .iter()
            .map(|row| Member {
                run: row.run.clone(),
                root: root(row),
                flow: row.flow.clone(),
                tenant: row.tenant.clone(),
                until: row.updated_at,
                stays: row.ended.is_none().then(|| "it is not over".to_owned()),
            })
            .collect();
        let room = match self.rules.max_bytes {
            Some(_) => Some(self.room(&rows)?),
            None => None,
        };
        // A run is looked at closely when a rule names it.
        let mut known = BTreeSet::new();
        loop {
            let size_without =
                |gone: &BTreeSet<RunId>| room.as_ref().map_or(Ok(0), |room| self.size(room, gone));
            let verdicts = judge(&members, self.rules, self.now, size_without)?;
            let open: BTreeSet<RunId> = verdicts
                .iter()
                .flat_map(|verdict| verdict.runs.iter().cloned())
                .filter(|run| !known.contains(run))
                .collect();
            if open.is_empty() {
                let rows: BTreeMap<_, _> = rows.iter().map(|row| (&row.run, row)).collect();
                let family = |verdict: Verdict| {
                    let rows = verdict.runs.iter().filter_map(|run| rows.get(run));
                    Family { rows: rows.map(|row| (*row).clone()).collect(), verdict }
                };
                return Ok(verdicts.into_iter().map(family).collect());
            }
            for (member, row) in
                members.iter_mut().zip(&rows).filter(|(member, _)| open.contains(&member.run))
            {
                member.stays = why_it_stays(&self.facts(row, &rows)).map(str::to_owned);
                known.insert(member.run.clone());
            }
        }
    }

    /// The facts about a run; `all`: the rows of all runs. A fact that cannot be read keeps the run.
    pub(super) fn facts(&self, row: &RunRow, all: &[RunRow]) -> Facts {
        let mut facts = Facts {
            is_over: row.ended.is_some() && row.live_attempts == 0,
            is_aside: row.aside.is_some(),
            open_questions: row.open_interrupts,
            ..Facts::default()
        };
        // Expensive facts are read only if they can matter.
        if !facts.is_over || facts.is_aside || facts.open_questions > 0 {
            return Facts { is_readable: true, ..facts };
        }
        let (Ok(waiting), Ok(run)) =
            (self.reader.waiting_for(&row.run, self.now), load_run(self.reader, &row.run))
        else {
            return facts;
        };
        let (Ok(records), Ok(works)) = (self.reader.records(&row.run, 0, None), self.works(&row.run)) else {
            return facts;
        };
        facts.is_readable = true;
        facts.works = works;
        facts.is_worked_in = self.is_worked_in(row, all);
        facts.is_mounted = self.is_mounted(&row.run);
        facts.is_half_restored = run.restoring().is_some();
        facts.notices = waiting.notices;
        facts.is_task = waiting.is_task;
        facts.is_newest = waiting.is_newest;
        facts.is_dropped = waiting.is_dropped || self.drop.contains(&row.run);
        facts.result = self.result(row, &records);
        facts
    }

    /// Whether anything of any attempt of a run can still write.
    fn works(&self, run: &RunId) -> io::Result<bool> {
        let attempts = match fs::read_dir(self.layout.run(run).join("attempts")) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            attempts => attempts?,
        };
        for entry in attempts {
            let entry = entry?;
            let dir = AttemptDir::new(entry.path());
            let name = entry.file_name();
            let attempt = name.to_str().and_then(|name| AttemptId::parse(name).ok());
            let may_work = trees::may_be(&dir.lock())
                && attempt.is_none_or(|attempt| is_at_work(self.layout, run, &attempt));
            if may_work {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether a run of another family works in the folder of this one, or may go on there.
    fn is_worked_in(&self, row: &RunRow, all: &[RunRow]) -> bool {
        let folder = self.layout.run(&row.run);
        let folders = [fs::canonicalize(&folder).ok(), Some(folder)];
        all.iter().filter(|other| root(other) != root(row)).any(|other| {
            let is_done = other.ended.as_ref().is_some_and(|ended| ended.status == EndStatus::Succeeded);
            let workspace = Path::new(&other.workspace);
            !is_done && folders.iter().flatten().any(|folder| workspace.starts_with(folder))
        })
    }

    fn is_mounted(&self, run: &RunId) -> bool {
        match envoi_durable::mount_below(&self.layout.run(run)) {
            Err(error) => error.kind() != io::ErrorKind::NotFound,
            Ok(place) => place.is_some(),
        }
    }

    fn result(&self, row: &RunRow, records: &[Record]) -> ResultAt {
        if trees::may_be(&self.layout.workspace_copy(&row.run)) {
            return ResultAt::InCopy;
        }
        let started = records.first().and_then(|record| match &record.event {
            Event::RunStarted(started) => started.isolated.as_deref(),
            _ => None,
        });
        let Some(isolated) = started else { return ResultAt::Nowhere };
        if trees::may_be_there(isolated) && !self.treeless.contains(&row.run) {
            return ResultAt::InTree;
        }
        let last = snapshots::taken(records).into_iter().rev().find_map(|taken| taken.after);
        match last {
            None => ResultAt::Nowhere,
            Some(last) if last.digest == isolated.base && !last.moving => ResultAt::Nowhere,
            Some(_) if is_applied(records) => ResultAt::Applied,
            Some(last) if !last.moving && is_in_git(&row.run, isolated, &last.digest, records) => {
                ResultAt::InGit
            }
            Some(_) => ResultAt::InStore,
        }
    }

    /// The files of a run that go with it, and their bytes with those of its events.
    pub(super) fn weight(&self, run: &RunId) -> (u64, u64) {
        let (files, bytes) = below(self.layout.run(run));
        let events = self.reader.waiting_for(run, self.now).map_or(0, |waiting| waiting.event_bytes);
        (files, bytes.saturating_add(events))
    }

    fn room(&self, rows: &[RunRow]) -> Result<Room, Refused> {
        let old: u64 = self.reader.old_small_contents()?.iter().map(|(_, _, bytes)| *bytes).sum();
        let going = [self.layout.old_contents(), self.layout.old_packs(), self.layout.trash()];
        let going: u64 = going.into_iter().map(|folder| below(folder).1).sum();
        let free = self.reader.free_bytes()?;
        let all = below(self.layout.root().to_owned()).1;
        // The log of the database is written over and over, and goes with the last process.
        let log = fs::metadata(self.layout.db().with_extension("db-wal")).map_or(0, |found| found.len());
        let copies = trims(self.reader, self.layout, &BTreeSet::new(), false)?;
        Ok(Room {
            bytes: [old, going, free, log].into_iter().fold(all, u64::saturating_sub),
            runs: rows.iter().map(|row| (row.run.clone(), self.weight(&row.run).1)).collect(),
            copies: copies.into_iter().map(|(row, _, bytes)| (row.run, bytes)).collect(),
        })
    }

    /// How large the store is when these runs are gone, and all that nothing names then.
    fn size(&self, room: &Room, gone: &BTreeSet<RunId>) -> Result<u64, Refused> {
        let of_runs: u64 = gone.iter().filter_map(|run| room.runs.get(run)).sum();
        let of_copies: u64 =
            room.copies.iter().filter(|(run, _)| !gone.contains(*run)).map(|(_, bytes)| *bytes).sum();
        let sweep = Sweep {
            layout: self.layout,
            reader: self.reader,
            writer: None,
            but: gone,
            now: self.now,
            requests_since: None,
            trash_ms: self.trash_ms,
        };
        let unnamed = sweep.unnamed_bytes()?;
        Ok(room.bytes.saturating_sub(of_runs).saturating_sub(of_copies).saturating_sub(unnamed))
    }
}

/// The space that is used in a store.
struct Room {
    /// All but what is about to go.
    bytes: u64,
    /// By run: the bytes that go with it, except contents.
    runs: BTreeMap<RunId, u64>,
    /// By run: copies that go while it stays.
    copies: BTreeMap<RunId, u64>,
}

/// The run that the family of a run goes back to.
fn root(row: &RunRow) -> RunId {
    row.root.clone().unwrap_or_else(|| row.run.clone())
}

/// Whether a commit has the result of a run, as `envoi apply --branch` makes them. If git does not answer: false.
fn is_in_git(run: &RunId, isolated: &Isolated, last: &Digest, records: &[Record]) -> bool {
    let Some(began) = records.first().map(|record| record.at).filter(|_| isolated.head.is_some()) else {
        return false;
    };
    let lines = [format!("{RUN_TRAILER}: {run}"), format!("{FILES_TRAILER}: {last}")];
    let never = Stop::default();
    Git::new(&never).has_commit_that_says(Path::new(&isolated.of), &lines, began).unwrap_or_default()
}

/// Whether the last thing that happened to the files of a run is that they were applied: all of them, not taken back, and nothing done after it.
fn is_applied(records: &[Record]) -> bool {
    let mut applied = false;
    let mut begun = None;
    for record in records {
        match &record.event {
            Event::FilesRestoring(wanted) if wanted.reach.folder().is_some() => begun = Some(!wanted.undoes),
            Event::FilesRestoring(_) | Event::FilesKeptAsTheyWere(_) => begun = None,
            Event::FilesRestored(restored) => {
                applied = begun.take().map_or(applied, |applies| applies && restored.left.is_empty());
            }
            Event::AttemptSettled(settled) if settled.workspace_digest.is_some() => applied = false,
            _ => {}
        }
    }
    applied
}

/// Regular files below a folder, and their bytes but for holes: those take no room, and would name runs of others to be deleted.
fn below(folder: PathBuf) -> (u64, u64) {
    trees::weight(folder, envoi_durable::without_holes)
}
