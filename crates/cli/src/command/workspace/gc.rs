//! `envoi gc`: removes trees of runs, copies of artifacts, runs that a rule selects, and unreferenced
//! contents.

mod archive;
mod print;

use crate::{
    process::{
        args::GcArgs,
        environment,
        failure::{Failure, MACHINE},
        interrupts, messages,
    },
    session::engine_client,
    store::{config, home::Home, select},
};
use envoi_api::{
    file::OldTree,
    retention::{Collection, Compacted},
};
use envoi_contract::code::Code;
use envoi_engine::{
    collectable,
    retention::{Archived, CollectRequest, Rule, Rules, Stage},
    trees,
};
use envoi_flow::retention::Retention;
use envoi_journal::{Layout, Lease, Reader, Store, Taken};
use envoi_kernel::{event::Event, ids::RunId};
use std::{
    collections::BTreeSet,
    fs::{self, File},
};

/// How long unreferenced contents stay in the trash: longer than any process takes between writing and
/// referencing one.
const TRASH_MS: u64 = 3_600_000;

pub(crate) fn gc(home: &Home, wanted: &GcArgs) -> Result<u8, Failure> {
    interrupts::end_git_with_this_process();
    let (store, reader) = home.store()?;
    let configured = config::load(store.layout())?.retention;
    // Another `gc` of this store must end first, because it would remove what this one counts.
    let _alone = if wanted.dry_run { None } else { Some(alone(store.layout())?) };
    let drop = wanted.drop.iter().map(|run| select::run(&reader, run)).collect::<Result<Vec<_>, _>>()?;
    let trees = old_trees(&store, &reader, &drop, wanted.dry_run)?;
    let archive = configured.archive.as_ref().map(|folder| store.layout().root().join(folder));
    let mut request = CollectRequest {
        rules: rules(wanted, &configured),
        drop,
        archived: None,
        trash_ms: wanted.trash.or(configured.trash_ms).unwrap_or(TRASH_MS),
    };
    let removed = trees.iter().filter(|(_, row)| row.removed);
    let treeless: BTreeSet<RunId> = removed.map(|(run, _)| run.clone()).collect();
    let mut not_archived = 0_usize;
    if let Some(folder) = &archive {
        let mut runs = Vec::new();
        let planned = collectable(&reader, store.layout(), &request, &treeless).map_err(Failure::from)?.runs;
        for run in planned.into_iter().filter(|run| run.stage == Stage::Delete && run.stays.is_none()) {
            let is_dropped = request.drop.contains(&run.run) || is_dropped(&reader, &run.run)?;
            let of = archive::Of { layout: store.layout(), reader: &reader, run: &run.run, is_dropped };
            match if wanted.dry_run { of.can_be_kept(folder) } else { of.keep(folder) } {
                Ok(next_seq) => runs.push((run.run, next_seq)),
                Err(why) => {
                    not_archived = not_archived.saturating_add(1);
                    messages::say(&format!("run `{}` is not archived: {why}", run.run));
                }
            }
        }
        request.archived = Some(Archived { folder: folder.to_string_lossy().into_owned(), runs });
    }
    let collected = match wanted.dry_run {
        true => collectable(&reader, store.layout(), &request, &treeless).map_err(Failure::from)?,
        false => engine_client::collect(&store, &request)?,
    };
    let trees = trees.into_iter().map(|(_, row)| row).collect();
    let archive = request.archived.map(|archived| archived.folder);
    let compacted = match wanted.compact && !wanted.dry_run {
        true => Some(compact(&store)?),
        false => None,
    };
    let collection = Collection { trees, compacted, ..print::of(collected, archive) };
    let code = print::print(&collection, wanted.dry_run, home.json)?;
    // A job that calls this by the clock looks at the exit code alone.
    Ok(if not_archived > 0 { MACHINE } else { code })
}

/// Whether an earlier `gc --drop` has named the run, so that its result is not needed.
fn is_dropped(reader: &Reader, run: &RunId) -> Result<bool, Failure> {
    let now = envoi_engine::now();
    Ok(reader.waiting_for(run, now).map_err(Failure::store)?.is_dropped)
}

/// The rules of the command line, which replace those of the configuration.
fn rules(wanted: &GcArgs, configured: &Retention) -> Rules {
    let only = wanted.tenant.clone();
    let is_given = wanted.older.is_some() || wanted.keep_last.is_some() || wanted.max_size.is_some();
    if is_given {
        let all = Rule { older_ms: wanted.older, keep_last: wanted.keep_last };
        return Rules { all, only, max_bytes: wanted.max_size, ..Rules::default() };
    }
    let rule =
        |rule: &envoi_flow::retention::Rule| Rule { older_ms: rule.older_ms, keep_last: rule.keep_last };
    let of_tenants = configured.tenants.iter().map(|(tenant, of)| (tenant.clone(), rule(of)));
    Rules { all: rule(&configured.all), tenants: of_tenants.collect(), only, max_bytes: configured.max_bytes }
}

/// Removes the trees that are not needed, and lists all trees.
fn old_trees(
    store: &Store,
    reader: &Reader,
    drop: &[RunId],
    dry_run: bool,
) -> Result<Vec<(RunId, OldTree)>, Failure> {
    let scope = trees::Scope {
        too_wide: environment::home_folder().into_iter().collect(),
        bounds: config::snapshot_bounds(store.layout())?,
    };
    let mut found = trees::old_trees(reader, store.layout(), &scope).map_err(Failure::from)?;
    for run in drop {
        let Some(tree) = found.iter_mut().find(|tree| tree.run == *run) else {
            check_has_result(store.layout(), reader, run)?;
            continue;
        };
        // While a run goes on, its tree is not removed.
        if tree.is_at_work {
            let message = format!("the tree of run `{run}` stays: {}", tree.stays.as_deref().unwrap_or(""));
            return Err(Failure::new(Code::WorkspaceBusy, message).hint("`envoi cancel` ends a run"));
        }
        tree.stays = None;
        tree.is_dropped = true;
    }
    let mut rows = Vec::new();
    for tree in &found {
        let mut row = OldTree {
            run: tree.run.to_string(),
            place: tree.place.to_string_lossy().into_owned(),
            files: tree.files,
            size_bytes: tree.bytes,
            removed: tree.stays.is_none(),
            stays: tree.stays.clone(),
            left: None,
        };
        if row.removed && !dry_run {
            match trees::remove(tree, reader, store.layout(), &scope) {
                Ok(left) => row.left = left,
                Err(why) => (row.removed, row.stays) = (false, Some(why.to_string())),
            }
        }
        rows.push((tree.run.clone(), row));
    }
    Ok(rows)
}

/// Checks that the run worked in an isolated tree. Its result can be dropped even if the tree is gone.
fn check_has_result(layout: &Layout, reader: &Reader, run: &RunId) -> Result<(), Failure> {
    let first = reader.records(run, 0, Some(1)).map_err(Failure::store)?.into_iter().next();
    let is_isolated = first.is_some_and(
        |record| matches!(record.event, Event::RunStarted(started) if started.isolated.is_some()),
    );
    if is_isolated || fs::symlink_metadata(layout.workspace_copy(run)).is_ok() {
        return Ok(());
    }
    let message = format!("run `{run}` did not work in a tree of its own: there is no result to drop");
    Err(Failure::new(Code::NotIsolated, message).hint("`envoi gc --dry-run` lists all trees"))
}

/// Returns the free pages of the database to the file system. Nothing else may use the store meanwhile.
fn compact(store: &Store) -> Result<Compacted, Failure> {
    let lease = match Lease::try_take(store.layout()).map_err(Failure::lease)? {
        Taken::Lease(lease) => lease,
        Taken::Held(holder) => {
            let who =
                holder.map_or_else(|| "a process".to_owned(), |holder| format!("process {}", holder.pid));
            let message = format!("the database is not compacted: {who} holds the store");
            return Err(
                Failure::new(Code::EngineBusy, message).hint("`envoi gc --compact` when no run goes on")
            );
        }
    };
    let compacted = store.compact();
    lease.release();
    let (before, after) = compacted.map_err(|error| Failure::machine("the database", error))?;
    Ok(Compacted { before_bytes: before, after_bytes: after })
}

/// The lock of a `gc` that removes, and of an import, because `gc` would take an import's folders for
/// left-over ones. It ends with the process.
pub(crate) fn alone(layout: &Layout) -> Result<File, Failure> {
    let folder = layout.runs();
    let file = File::open(&folder).and_then(|file| file.lock().map(|()| file));
    file.map_err(|error| Failure::machine(folder.display(), error))
}
