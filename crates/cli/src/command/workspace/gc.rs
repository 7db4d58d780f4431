//! `envoi gc`: removes trees of runs that are not needed any more.

use crate::{
    process::{environment, failure::Failure, output, stderr},
    store::{home::Home, select},
    text::diff::printable,
};
use envoi_api::file::OldTree;
use envoi_contract::code::Code;
use envoi_engine::trees;
use envoi_journal::Layout;
use std::fs::File;

pub(crate) fn gc(home: &Home, dry_run: bool, drop: &[String]) -> Result<u8, Failure> {
    let (store, reader) = home.store()?;
    let too_wide: Vec<_> = environment::home_folder().into_iter().collect();
    // Another one of this store ends first: it would remove what this one counts.
    let _alone = if dry_run { None } else { Some(alone(store.layout())?) };
    let drop = drop.iter().map(|run| select::run(&reader, run)).collect::<Result<Vec<_>, _>>()?;
    let mut found = trees::old_trees(&reader, store.layout(), &too_wide).map_err(Failure::from)?;
    for run in &drop {
        let tree = found.iter_mut().find(|tree| tree.run == *run).ok_or_else(|| {
            let message = format!("run `{run}` has no tree of its own that is there");
            Failure::new(Code::NotIsolated, message).hint("`envoi gc --dry-run` lists all trees")
        })?;
        // Under a run that goes on, nothing is removed.
        if tree.is_at_work {
            let message =
                format!("the tree of run `{run}` stays: {}", tree.stays.as_deref().unwrap_or_default());
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
            bytes: tree.bytes,
            removed: tree.stays.is_none(),
            stays: tree.stays.clone(),
            left: None,
        };
        if row.removed && !dry_run {
            match trees::remove(tree, &reader, store.layout(), &too_wide) {
                Ok(left) => row.left = left,
                Err(why) => (row.removed, row.stays) = (false, Some(why.to_string())),
            }
        }
        rows.push(row);
    }
    if home.json {
        return output::row(&rows).map(|()| 0);
    }
    if rows.is_empty() {
        stderr::line(format_args!("no run has a tree of its own that is there"));
        return Ok(0);
    }
    let header = ["RUN", "FILES", "MIB", "TREE", ""].map(str::to_owned).to_vec();
    let cells = |row: &OldTree| {
        let what = match (&row.stays, &row.left, dry_run) {
            (Some(why), ..) => format!("stays: {why}"),
            (None, _, true) => "would be removed".to_owned(),
            (None, Some(left), false) => format!("removed; {left}"),
            (None, None, false) => "removed".to_owned(),
        };
        let mib = format!("{}.{}", row.bytes >> 20, (row.bytes >> 10) % 1024 * 10 / 1024);
        vec![row.run.clone(), row.files.to_string(), mib, printable(&row.place), printable(&what)]
    };
    let table: Vec<_> = std::iter::once(header).chain(rows.iter().map(cells)).collect();
    output::data(&output::table(&table)).map(|()| 0)
}

/// The lock of a `gc` that removes. It is gone with the process.
fn alone(layout: &Layout) -> Result<File, Failure> {
    let folder = layout.runs();
    let file = File::open(&folder).and_then(|file| file.lock().map(|()| file));
    file.map_err(|error| Failure::machine(folder.display(), error))
}
