//! Copies that attempts of an ended run have left: a copy goes if the run names it and the store has it by digest. So do empty streams and
//! the lock of an attempt with a record of its end, which a supervisor that was killed has left, or one of an earlier version.
//!
//! Each copy is read and compared with its content, which is read too. Nothing else of the folder of an attempt is touched, and no attempt
//! that may still work.

use crate::{commands::trees, model::protocol::Refused};
use envoi_journal::{Layout, Reader, RunFilter, RunRow, files::digest_of};
use envoi_kernel::ids::RunId;
use envoi_step::AttemptDir;
use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
};

/// The runs that are over and have copies, oldest first, each with how many and their bytes; all of `but` are left out. The copies are removed
/// if `does` is true.
pub(super) fn trims(
    reader: &Reader,
    layout: &Layout,
    but: &BTreeSet<RunId>,
    does: bool,
) -> Result<Vec<(RunRow, u64, u64)>, Refused> {
    let mut trimmed = Vec::new();
    for row in reader.runs(RunFilter::default())?.into_iter().rev() {
        let is_over = row.ended.is_some() && row.live_attempts == 0 && row.aside.is_none();
        if !is_over || but.contains(&row.run) {
            continue;
        }
        let (files, bytes) = trim(layout, reader, &row.run, does);
        if files > 0 {
            trimmed.push((row, files, bytes));
        }
    }
    Ok(trimmed)
}

/// Removes the copies; returns how many there are, or would be, and their bytes.
fn trim(layout: &Layout, reader: &Reader, run: &RunId, does: bool) -> (u64, u64) {
    let mut all = (0_u64, 0_u64);
    let folder = layout.run(run).join("attempts");
    // The target of a link does not belong to the store.
    if !layout.is_own_folder(&folder).unwrap_or(false) {
        return all;
    }
    let mut named = None;
    let attempts = fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in attempts.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
        let dir = AttemptDir::new(entry.path());
        // A supervisor removes it when its record of the end is written. That record has all the information.
        let is_settled =
            fs::symlink_metadata(dir.exit()).is_ok_and(|found| found.is_file()) && !dir.is_locked();
        if trees::may_be(&dir.lock()) && !is_settled {
            continue;
        }
        let empty = [dir.lock(), dir.stdout(), dir.stderr(), dir.supervisor_log()];
        for path in empty.iter().filter(|path| is_settled && is_empty_file(path)) {
            // A file that cannot be removed does no harm, and the next collection names it again.
            if !does || fs::remove_file(path).is_ok() {
                all.0 = all.0.saturating_add(1);
            }
        }
        for copies in [dir.files(), dir.before_files()].iter().filter(|copies| trees::may_be(copies)) {
            // A content that this run does not name could be lost with the run that names it. Nothing goes if the names are not known.
            let named = named.get_or_insert_with(|| reader.digests_of(run).unwrap_or_default());
            let is_kept = |path: &Path| {
                digest_of(path).is_some_and(|digest| {
                    named.contains(&digest) && reader.write_blob(&digest, &mut io::sink()).is_ok()
                })
            };
            // A file that cannot be read or removed stays.
            let _ = below(&is_kept, copies, does, &mut all);
        }
    }
    all
}

fn is_empty_file(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_file() && found.len() == 0)
}

fn below(
    is_kept: &impl Fn(&Path) -> bool,
    folder: &Path,
    does: bool,
    all: &mut (u64, u64),
) -> io::Result<()> {
    // A link is not followed.
    if !fs::symlink_metadata(folder).is_ok_and(|found| found.is_dir()) {
        return Ok(());
    }
    let mut folders: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            folders.push(entry.path());
        } else if kind.is_file() && is_kept(&entry.path()) {
            *all = (
                all.0.saturating_add(1),
                all.1.saturating_add(envoi_durable::without_holes(&entry.metadata()?)),
            );
            if does {
                fs::remove_file(entry.path())?;
            }
        }
    }
    folders.iter().try_for_each(|folder| below(is_kept, folder, does, all))?;
    if does {
        // A folder that is not empty stays.
        let _ = fs::remove_dir(folder);
    }
    Ok(())
}
