//! Deletes what a store does not need: copies that attempts have left, runs that a rule names, contents that nothing names.
//!
//! Owns the order. A run is first gone from the database, in one commit that leaves a tombstone; then its folder is renamed, and then
//! removed. A folder whose run has a tombstone was left by a collection that was killed: the next one removes it. The reasons that keep a
//! run are checked again right before the commit, and once more within it.

mod look;
mod sweep;
mod trim;

use super::{handler::Commands, handler::send};
use crate::{
    attempts::going::remove_all,
    model::{
        clock::now,
        crash_point::Point,
        protocol::{Refused, Response},
        retention::{Archived, CollectRequest, Collected, OldRun, Stage, Swept, why_it_stays},
    },
};
use envoi_contract::code::Code;
use envoi_journal::{Layout, Reader, Removal, RunFilter, RunRow, with_causes};
use envoi_kernel::ids::RunId;
use look::{Family, Look};
use std::{
    collections::BTreeSet,
    fs, io,
    path::Path,
    sync::{PoisonError, mpsc::Sender},
};
use sweep::Sweep;
use trim::trims;

/// Why a run is trimmed.
const IS_OVER: &str = "it is over, and the store has these files by digest";

/// Why a run stays that should have been archived.
const NOT_ARCHIVED: &str = "it is not archived";

/// The result that [`Commands::collect`] would have, as the store is now, when the trees of `treeless` are
/// gone.
///
/// # Errors
/// The store cannot be read.
pub fn collectable(
    reader: &Reader,
    layout: &Layout,
    request: &CollectRequest,
    treeless: &BTreeSet<RunId>,
) -> Result<Collected, Refused> {
    let look = look(reader, layout, request, treeless);
    let families = look.families()?;
    let but = deleted(families.iter(), request);
    let mut runs = rows_of_trims(trims(reader, layout, &but, false)?);
    for family in &families {
        runs.extend(rows(family, &look, why_family_stays(family, request)));
    }
    let sweep = Sweep {
        layout,
        reader,
        writer: None,
        but: &but,
        now: look.now,
        requests_since: None,
        trash_ms: request.trash_ms,
    };
    Ok(Collected { runs, contents: sweep.sweep()?, left: Vec::new() })
}

fn look<'l>(
    reader: &'l Reader,
    layout: &'l Layout,
    request: &'l CollectRequest,
    treeless: &'l BTreeSet<RunId>,
) -> Look<'l> {
    let CollectRequest { rules, drop, trash_ms, .. } = request;
    Look { layout, reader, rules, drop, treeless, trash_ms: *trash_ms, now: now() }
}

fn why_family_stays(family: &Family, request: &CollectRequest) -> Option<String> {
    let is_archived = family.rows.iter().all(|row| is_archived(request, row));
    family.verdict.stays.clone().or_else(|| (!is_archived).then(|| NOT_ARCHIVED.to_owned()))
}

/// Whether nothing hinders that: it is archived as it is now, or need not be.
fn is_archived(request: &CollectRequest, row: &RunRow) -> bool {
    let is_there = |archived: &Archived| archived.runs.contains(&(row.run.clone(), row.next_seq));
    request.archived.as_ref().is_none_or(is_there)
}

/// The runs of the families that go.
fn deleted<'f>(families: impl Iterator<Item = &'f Family>, request: &CollectRequest) -> BTreeSet<RunId> {
    let go = families.filter(|family| why_family_stays(family, request).is_none());
    go.flat_map(|family| family.verdict.runs.iter().cloned()).collect()
}

fn rows(family: &Family, look: &Look<'_>, stays: Option<String>) -> Vec<OldRun> {
    let row = |row: &RunRow| {
        let (files, bytes) = look.weight(&row.run);
        OldRun {
            run: row.run.clone(),
            next_seq: row.next_seq,
            flow: row.flow.to_string(),
            tenant: row.tenant.clone(),
            stage: Stage::Delete,
            why: family.verdict.why.clone(),
            stays: stays.clone(),
            files,
            bytes,
        }
    };
    family.rows.iter().map(row).collect()
}

fn rows_of_trims(trims: Vec<(RunRow, u64, u64)>) -> Vec<OldRun> {
    let row = |(row, files, bytes): (RunRow, u64, u64)| OldRun {
        next_seq: row.next_seq,
        flow: row.flow.to_string(),
        tenant: row.tenant,
        stage: Stage::Trim,
        why: IS_OVER.to_owned(),
        stays: None,
        files,
        bytes,
        run: row.run,
    };
    trims.into_iter().map(row).collect()
}

impl Commands {
    /// Collects what can go, and reports it.
    pub(super) fn collect(&self, request: &CollectRequest, client: &Sender<Response>) -> Result<(), Refused> {
        // Another one of this engine ends first.
        let _alone = self.collections.lock().unwrap_or_else(PoisonError::into_inner);
        let reader = self.store.reader()?;
        let writer = self
            .writer
            .upgrade()
            .ok_or_else(|| Refused::new(Code::EngineStopping, "the engine is closing".to_owned(), None))?;
        // The call at the end reports what is left.
        self.end_removals(&reader)?;
        let failed = |error| Refused::failure(with_causes(&error));
        for run in &request.drop {
            writer.drop_result(run.clone(), now()).map_err(failed)?;
        }
        let treeless = BTreeSet::new();
        let look = look(&reader, &self.layout, request, &treeless);
        let families = look.families()?;
        let families: Vec<_> =
            families.into_iter().map(|family| (rows(&family, &look, None), family)).collect();
        let going = deleted(families.iter().map(|(_, family)| family), request);
        // First what makes room without a commit: the disk may be full.
        let mut runs = {
            // No run that is over goes on meanwhile.
            let _families = self.families();
            rows_of_trims(trims(&reader, &self.layout, &going, true)?)
        };
        for (rows, family) in families {
            let stays = match why_family_stays(&family, request) {
                Some(why) => Some(why),
                None => self.delete(&family, &look, request, &writer)?,
            };
            runs.extend(rows.into_iter().map(|row| OldRun { stays: stays.clone(), ..row }));
        }
        let left = self.end_removals(&reader)?;
        let mut contents = Swept::default();
        // Contents that are laid aside and need not stay there go at once.
        for _ in 0..if request.trash_ms == 0 { 2 } else { 1 } {
            let sweep = Sweep {
                layout: &self.layout,
                reader: &reader,
                writer: Some(&writer),
                but: &BTreeSet::new(),
                now: now(),
                requests_since: self.requests.since(),
                trash_ms: request.trash_ms,
            };
            contents.add(sweep.sweep()?);
            (self.reached)(Point::ContentsSwept);
        }
        send(client, Response::Collected { report: Box::new(Collected { runs, contents, left }) });
        Ok(())
    }

    /// Deletes a family. Returns why it stays after all, if it does.
    fn delete(
        &self,
        family: &Family,
        look: &Look<'_>,
        request: &CollectRequest,
        writer: &envoi_journal::Writer,
    ) -> Result<Option<String>, Refused> {
        // No run that is over goes on, and no files are set back or applied meanwhile.
        let (_families, _restores) = (self.families(), self.restores());
        let all = look.reader.runs(RunFilter::default())?;
        let mut runs = Vec::new();
        for row in &family.rows {
            let row = look.reader.run(&row.run)?;
            if let Some(why) = why_it_stays(&look.facts(&row, &all)) {
                return Ok(Some(why.to_owned()));
            }
            if !is_archived(request, &row) {
                return Ok(Some(NOT_ARCHIVED.to_owned()));
            }
            runs.push((row.run, row.next_seq));
        }
        // A fork that has begun since is of the family, too.
        let root = family.rows.first().map(|row| row.root.clone().unwrap_or_else(|| row.run.clone()));
        if let Some(root) = root
            && look.reader.family(&root)?.len() != runs.len()
        {
            return Ok(Some("it was forked meanwhile".to_owned()));
        }
        let removal = Removal {
            runs,
            at: now(),
            why: family.verdict.why.clone(),
            archive: request.archived.as_ref().map(|archived| archived.folder.clone()),
        };
        if let Err(error) = writer.remove(removal) {
            return match error {
                envoi_journal::CommitError::Malformed { reason } => Ok(Some(reason)),
                error => Err(Refused::failure(with_causes(&error))),
            };
        }
        (self.reached)(Point::RunDeleted);
        Ok(None)
    }

    /// Removes the folders of runs that are deleted. Says of each that is left why; the others go all the same.
    fn end_removals(&self, reader: &Reader) -> Result<Vec<String>, Refused> {
        let trash = self.layout.trash();
        let failed =
            |path: &Path, error: io::Error| Refused::failure(format!("`{}`: {error}", path.display()));
        let elsewhere = || failed(&trash, io::Error::other("it is no folder of the store"));
        let is_own = |folder: &Path| self.layout.is_own_folder(folder).map_err(|error| failed(folder, error));
        let mut left = Vec::new();
        let mut keep = |path: &Path, error: &io::Error| left.push(format!("`{}`: {error}", path.display()));
        for removed in reader.tombstones()? {
            let folder = self.layout.run(&removed.run);
            if fs::symlink_metadata(&folder).is_err() || reader.has_run(&removed.run)? {
                continue;
            }
            // The target of a link does not belong to the store.
            if !is_own(&self.layout.runs())? {
                return Ok(left);
            }
            fs::create_dir_all(&trash).map_err(|error| failed(&trash, error))?;
            if !is_own(&trash)? {
                return Err(elsewhere());
            }
            let aside = trash.join(removed.run.as_str());
            if let Err(error) = gone(&aside).and_then(|()| fs::rename(&folder, &aside)) {
                keep(&folder, &error);
                continue;
            }
            (self.reached)(Point::RunFolderRenamed);
        }
        if !is_own(&trash)? {
            return Ok(left);
        }
        for entry in fs::read_dir(&trash).map_err(|error| failed(&trash, error))? {
            let entry = entry.map_err(|error| failed(&trash, error))?;
            if let Err(error) = gone(&entry.path()) {
                keep(&entry.path(), &error);
            }
        }
        Ok(left)
    }
}

fn gone(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
        Ok(found) if found.is_dir() => match envoi_durable::mount_below(path)? {
            Some(place) => Err(io::Error::other(format!("something is mounted at `{}`", place.display()))),
            None => remove_all(path),
        },
        Ok(_) => fs::remove_file(path),
    }
}
