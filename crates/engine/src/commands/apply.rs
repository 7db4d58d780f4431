//! The changes of a run in its own tree are brought into the folder that the tree was made from, and taken back.
//!
//! Three states are merged: the base of the run, its tree as it is now, and the folder as it is now. All of it comes or nothing. The
//! order of what is durable is that of a restore. Only files that the run has changed are touched.

use super::{
    adopt::{Adoption, check_places},
    handler::{Commands, send},
    names::Names,
    restore::{Ended, at_rest, folders, isolated, late, not_kept, note, of, refused, remarks, tree},
    restore_part::{in_the_way, not_still},
};
use crate::{
    attempts::{outside::changed_outside, presence::Manner},
    model::{
        message::Purpose,
        protocol::{Applied, ApplyRequest, CallerWire, Refused, Response, Standing},
    },
    query::snapshots,
};
use envoi_contract::code::Code;
use envoi_kernel::{
    Event, Input, Record, Run,
    event::{FilesRestoring, Isolated, Reach},
    ids::RunId,
};
use envoi_step::Presence;
use envoi_tree::{
    Difference, Entry, Later, Marked, Merged, NotMerged, NotRestored, Order, Side, Stop, Tree, differences,
};
use std::{
    fs,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
    sync::mpsc::Sender,
};

/// The most files that a refusal names.
const MOST_NAMED: usize = 20;

impl Commands {
    pub(super) fn apply(&self, request: ApplyRequest, client: &Sender<Response>) -> Result<(), Refused> {
        let id = &request.run;
        let caller = &request.caller;
        self.check_waits_for_other(id, caller, "a step cannot apply the run that it belongs to")?;
        let _alone = self.restores();
        check_places(&self.store.reader()?, id)?;
        let ended = self.end_open_restore(id, &request.too_wide, caller, Purpose::Decide)?;
        // Sent now: if the rest is refused, these notes would be lost.
        note(client, ended.iter().flat_map(|ended| ended.remarks.clone()).collect());
        let run = self.load(id)?;
        let names = Names::of(run.flow(), caller);
        let isolated = isolated(&run)?;
        // Held to the end: no run of another store enters the folder.
        let (folder, _presence) = self.check_folder(&run, &isolated.of, caller)?;
        let order = self.order(request.too_wide.clone(), snapshots::scope(run.started()));
        let now = envoi_tree::keep(&folder, &order).map_err(|error| not_kept(&error, &names))?;
        let report = |text: &str| {
            send(client, Response::Accepted { run: id.clone() });
            send(client, Response::Noted { text: text.to_owned() });
            rest(&run, client);
            Ok(())
        };
        let mut closed = Vec::new();
        let mut folders_back = None;
        let (before, after) = match request.what {
            Applied::Undone if ended.is_some() => {
                return report("what was begun earlier is done now; `--undo` once more takes it back");
            }
            Applied::Undone => {
                let records = self.store.reader()?.records(id, 0, None)?;
                let last = last_applied(&records).ok_or_else(|| {
                    let message = format!("nothing of run `{id}` was applied, so nothing can be undone");
                    Refused::new(Code::FilesNotKept, message, Some("`envoi apply RUN` applies it"))
                })?;
                folders_back = last.folders_gone;
                (tree(&order, &last.to)?, tree(&order, &last.from)?)
            }
            Applied::Whole | Applied::PreferFolder | Applied::PreferRun | Applied::Marked => {
                let base = tree(&order, &isolated.base)?;
                let (result, ignored) = self.result(&run, id, &base, &order, &names)?;
                note(client, not_deleted(&ignored, &names));
                note(client, outside(&run, &names, &self.stop));
                closed = closed_by_the_run(&base, &result);
                note(client, not_known(&closed, |path| names.shown(path)));
                (base, result)
            }
        };
        let merged = |prefer: Option<Side>| {
            let merged = envoi_tree::merge(&order, &before, &now.tree, &after, prefer)?;
            Ok(Marked { merged, paths: Vec::new() })
        };
        let merged = match request.what {
            Applied::Whole => merged(None),
            Applied::PreferFolder | Applied::Undone => merged(Some(Side::Ours)),
            Applied::PreferRun => merged(Some(Side::Theirs)),
            Applied::Marked => {
                envoi_tree::merge_marked(&order, &before, &now.tree, &after, &format!("run {id}"))
            }
        };
        let Marked { merged, paths: with_markers } =
            merged.map_err(|error| names.refusal(conflict(error, &folder, request.what)))?;
        if merged.tree == now.tree {
            return report(match (ended.is_some(), closed.is_empty()) {
                (true, true) => "what was begun earlier is done now: the folder has all of it",
                (false, true) => "there is nothing to change: the folder has all of it",
                (true, false) => {
                    "what was begun earlier is done now: the folder has all of it that can be read"
                }
                (false, false) => "there is nothing to change: the folder has all that can be read of it",
            });
        }
        let stood = envoi_tree::stand_to_change(&folder, &order, &merged.tree);
        let stood = stood.map_err(|error| refused(&error, &names))?;
        let changes = differences(&now.tree, &merged.tree);
        // A change that an earlier engine began is part of this one: one `--undo` takes back all of it.
        let undoes = request.what == Applied::Undone;
        let begun =
            ended.as_ref().filter(|ended| ended.wanted.reach.folder().is_some() && !ended.wanted.undoes);
        let before = match begun.filter(|_| !undoes) {
            Some(Ended { wanted, .. }) => {
                let from = tree(&order, &wanted.from)?;
                let to = tree(&order, &wanted.to)?;
                envoi_tree::without(&order, &now.tree, &from, &to).map_err(|error| refused(&error, &names))?
            }
            None => Merged { digest: now.digest, tree: now.tree.clone() },
        };
        let gone = match begun.filter(|_| !undoes) {
            Some(Ended { wanted, .. }) => {
                let (earlier, lost) = folders(&order, wanted.folders_gone.as_ref());
                note(client, lost.into_iter().collect());
                earlier.and_later(&stood.folders)
            }
            None => stood.folders,
        };
        let mut brought: Vec<(Vec<u8>, String)> = differences(&before.tree, &merged.tree)
            .iter()
            .map(|change| {
                (change.path().to_vec(), format!("{} `{}`", word(change), names.shown(change.path())))
            })
            .collect();
        if let Some(path) = not_still(&now.tree, &stood.kept.tree, &changes) {
            let message = format!("nothing was written: {}", in_the_way(&path));
            let refused = Refused::new(Code::ApplyConflict, message, Some("move it away, and try again"));
            return Err(names.refusal(refused));
        }
        let wanted = FilesRestoring {
            from: before.digest,
            to: merged.digest,
            reach: Reach::Folder(isolated.of.clone()),
            undoes,
            by: request.by.clone(),
            why: request.why.clone(),
            folders_gone: envoi_tree::keep_folders(&order, &gone).map_err(|error| refused(&error, &names))?,
            folders_back,
            found: late(&stood.found, &names),
        };
        let begin = |_: &Run| Ok(vec![Input::RestoreFiles(Box::new(wanted.clone()))]);
        self.adopt(id, caller, Adoption::from(Purpose::Decide), begin)?;
        send(client, Response::Accepted { run: id.clone() });
        let (back, lost) = folders(&order, folders_back.as_ref());
        let done = envoi_tree::change_back(&folder, &order, &now.tree, &merged.tree, &back);
        let input = match &done {
            Ok(restored) => {
                note(client, lost.into_iter().chain(remarks(restored, &names)).collect());
                of(merged.digest, restored, &names)
            }
            // In the middle: it stays open, and is done again.
            Err(error @ NotRestored::Incomplete { .. }) => return Err(refused(error, &names)),
            Err(error) => Input::FilesKept { reason: names.reason(error) },
        };
        let end = |_: &Run| Ok(vec![input.clone()]);
        let run = self.adopt(id, caller, Adoption::from(Purpose::Decide), end)?;
        let restored = done.map_err(|error| refused(&error, &names))?;
        // A remark above names these: they are as they were.
        brought.retain(|(path, _)| !restored.left.contains(path) && !restored.newer.contains(path));
        let count = brought.len();
        note(client, brought.into_iter().take(MOST_NAMED).map(|(_, words)| words).collect());
        if let Some(more @ 1..) = count.checked_sub(MOST_NAMED) {
            send(client, Response::Noted { text: format!("and {more} more") });
        }
        let files = if count == 1 { "1 file".to_owned() } else { format!("{count} files") };
        send(client, Response::Noted { text: format!("{files} changed in {}", isolated.of) });
        note(client, to_be_decided(&with_markers, |path| names.shown(path)));
        rest(&run, client);
        Ok(())
    }

    /// The result of the run: its tree as it is, or the last state that is kept if the tree is gone ([`is_there`]). And the files of `base`
    /// that the run has not deleted but has begun to ignore: they are as in `base`.
    fn result(
        &self,
        run: &Run,
        id: &RunId,
        base: &Tree,
        order: &Order,
        names: &Names,
    ) -> Result<(Tree, Vec<PathBuf>), Refused> {
        let started = at_rest(run)?;
        let unread = |error: &dyn core::fmt::Display| {
            names.refusal(Refused::failure(format!("the snapshot cannot be read: {error}")))
        };
        let with_ignored = |after: &Tree, later: Later<'_>| {
            let shelf = order.contents.shelf().map_err(|error| unread(&error))?;
            envoi_tree::with_ignored(&shelf, base, after, later).map_err(|error| unread(&error))
        };
        let workspace = Path::new(&started.workspace);
        if is_there(workspace, started.isolated.as_deref()) {
            let kept = envoi_tree::keep(workspace, order).map_err(|error| not_kept(&error, names))?;
            return with_ignored(&kept.tree, Later::Folder(workspace));
        }
        let records = self.store.reader()?.records(id, 0, None)?;
        let last = snapshots::last(&records);
        match last.filter(|last| !last.moving) {
            Some(last) => with_ignored(&tree(order, &last.digest)?, Later::Snapshot),
            None => Err(Refused::new(
                Code::FilesNotKept,
                format!("the tree `{}` is gone, and its last state was not kept", started.workspace),
                None,
            )),
        }
    }

    /// The folder that gets the result. Nothing is at work there, and no run of another store begins to be while the guard lives.
    pub(super) fn check_folder(
        &self,
        run: &Run,
        folder: &str,
        caller: &CallerWire,
    ) -> Result<(PathBuf, Option<Presence>), Refused> {
        let missing = |error: std::io::Error| {
            let message = format!("the folder `{folder}` cannot be used: {error}");
            Refused::new(Code::WorkspaceMissing, message, None)
        };
        let found = fs::canonicalize(folder).map_err(missing)?;
        if let Some(started) = run.started() {
            let claim = self.claim(&started.run, &found, false);
            self.check_free(&claim, &caller.within, |_| false)?;
        }
        let presence = self.presences.hold(&found, Manner::Alone);
        let presence = presence.map_err(|occupied| Refused::workspace_busy(occupied.to_string()))?;
        Ok((found, presence))
    }
}

/// Says which files the run ignores now and has not deleted.
fn not_deleted(ignored: &[PathBuf], names: &Names) -> Vec<String> {
    let Some(first) = ignored.first() else { return Vec::new() };
    let first = names.shown(first.as_os_str().as_bytes());
    let stay = match ignored.len() {
        1 => format!("`{first}` stays"),
        count => format!("{count} files stay (`{first}` is one)"),
    };
    vec![format!("{stay}: the run ignores them now, and has not deleted them")]
}

/// Folders that could be listed when the run began, and cannot be listed in its result.
fn closed_by_the_run(base: &Tree, result: &Tree) -> Vec<Vec<u8>> {
    let cannot_be_listed = result.entries().iter().filter(|entry| entry.is_unlisted());
    let was_listed = |path: &[u8]| !base.get(path).is_some_and(Entry::is_unlisted) && !base.hides(path);
    cannot_be_listed.map(|entry| entry.path.clone()).filter(|path| was_listed(path)).collect()
}

fn not_known(closed: &[Vec<u8>], shown: impl Fn(&[u8]) -> String) -> Vec<String> {
    let named = |path: &Vec<u8>| {
        format!(
            "warning: what the run changed in `{}` is not applied: in its tree that folder cannot be listed",
            shown(path)
        )
    };
    let mut notes: Vec<String> = closed.iter().take(MOST_NAMED).map(named).collect();
    if let Some(more @ 1..) = closed.len().checked_sub(MOST_NAMED) {
        let folders = if more == 1 { "folder" } else { "folders" };
        notes.push(format!("warning: nor what it changed in {more} more such {folders}"));
    }
    notes
}

/// Says what the run has changed outside of its workspace, which is not brought.
fn outside(run: &Run, names: &Names, stop: &Stop) -> Vec<String> {
    let Some(started) = run.started() else { return Vec::new() };
    match changed_outside(started, stop) {
        Ok(found) => found.and_then(|found| found.sentence(|path| names.shown(path))).into_iter().collect(),
        Err(unknown) => vec![unknown.to_string()],
    }
}

/// Whether the tree is there. An empty folder, a link, or in git a folder that is no checkout in its place does not count: a person has
/// cleaned up, and that is nothing that the run has done.
fn is_there(workspace: &Path, isolated: Option<&Isolated>) -> bool {
    // A path with a slash at its end is looked at behind a link.
    let plain: PathBuf = workspace.components().collect();
    let is_checkout = isolated.is_none_or(|isolated| {
        isolated.branch.is_none() || fs::symlink_metadata(Path::new(&isolated.place).join(".git")).is_ok()
    });
    let has_something = || fs::read_dir(workspace).is_ok_and(|mut entries| entries.next().is_some());
    fs::symlink_metadata(plain).is_ok_and(|found| found.is_dir()) && is_checkout && has_something()
}

fn rest(run: &Run, client: &Sender<Response>) {
    let standing = Standing::of(&run.status()).map(|standing| Standing { exit_code: 0, ..standing });
    send(client, Response::Rest { standing: standing.unwrap_or_else(Standing::answered) });
}

/// The last change that was made to the folder of which the tree of a run was made. `None` if there was none, or if each was refused.
#[must_use]
pub fn last_applied(records: &[Record]) -> Option<FilesRestoring> {
    let mut last = None;
    let mut begun = None;
    for record in records {
        match &record.event {
            Event::FilesRestoring(wanted) => begun = Some(wanted.as_ref().clone()),
            Event::FilesRestored(_) => {
                last = begun.take().filter(|wanted| wanted.reach.folder().is_some()).or(last)
            }
            Event::FilesKeptAsTheyWere(_) => begun = None,
            _ => {}
        }
    }
    last
}

/// The word for the change of a file of the folder.
fn word(change: &Difference<'_>) -> &'static str {
    match (change.before, change.after) {
        (None, _) => "new",
        (_, None) => "gone",
        (Some(_), Some(_)) => "changed",
    }
}

/// Names the files in which a person has to decide.
fn to_be_decided(paths: &[Vec<u8>], shown: impl Fn(&[u8]) -> String) -> Vec<String> {
    if paths.is_empty() {
        return Vec::new();
    }
    let named = |path: &Vec<u8>| format!("`{}`", shown(path));
    let more = paths.len().saturating_sub(MOST_NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let named = paths.iter().take(MOST_NAMED).map(named).collect::<Vec<_>>().join(", ");
    vec![format!(
        "warning: both sides stand between markers (`<<<<<<<`, `>>>>>>>`) in {named}{more}: decide there"
    )]
}

fn conflict(error: NotMerged, folder: &Path, what: Applied) -> Refused {
    let NotMerged::Conflict { conflicts } = error else { return Refused::failure(error.to_string()) };
    let more = conflicts.len().saturating_sub(MOST_NAMED);
    let shown: Vec<String> = conflicts.iter().take(MOST_NAMED).map(ToString::to_string).collect();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let message = format!(
        "nothing was written: both sides changed {}{more} in `{}`",
        shown.join(", "),
        folder.display()
    );
    let hint = match conflicts.iter().all(|conflict| conflict.why.is_decided_by_a_side()) {
        true if what == Applied::Marked => {
            "markers cannot show these: no text, a file that one side has deleted, or one with markers in it; decide them by hand, or \
             use `--ours` or `--theirs`"
        }
        true => {
            "`--ours` keeps what the folder has there, `--theirs` takes what the run has, `--markers` writes both into the file"
        }
        false => "move away what cannot be listed or is not kept, and try again",
    };
    Refused::new(Code::ApplyConflict, message, Some(hint))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nothing is known of what the run did there, so that the folder does not have all of it.
    #[test]
    fn a_folder_that_the_run_has_closed_is_known_and_one_that_was_closed_before_is_not_meant() {
        let tree = |entries: &[&str]| {
            let text: String = entries.iter().map(|entry| format!("{entry}\0")).collect();
            Tree::parse(format!("envoi-tree 1\n{text}").as_bytes()).unwrap()
        };
        let base = tree(&["040000 unlisted 0\talways", "040755 - 0\topen"]);
        let result =
            tree(&["040000 unlisted 0\talways", "040000 unlisted 0\tmade", "040000 unlisted 0\topen"]);
        assert_eq!(closed_by_the_run(&base, &result), [b"made".to_vec(), b"open".to_vec()]);
        assert!(closed_by_the_run(&base, &base).is_empty());
    }

    #[test]
    fn of_many_closed_folders_the_first_are_named_and_the_others_counted() {
        let shown = |path: &[u8]| String::from_utf8_lossy(path).into_owned();
        let of = |count: usize| {
            let closed: Vec<Vec<u8>> = (0..count).map(|nth| format!("shut{nth}").into_bytes()).collect();
            not_known(&closed, shown)
        };
        assert_eq!(of(MOST_NAMED).len(), MOST_NAMED);
        assert!(of(MOST_NAMED).iter().all(|note| note.contains("`shut")));
        let one_more = of(MOST_NAMED + 1);
        assert_eq!(one_more.last().unwrap(), "warning: nor what it changed in 1 more such folder");
        let many = of(MOST_NAMED + 21);
        assert_eq!(many.last().unwrap(), "warning: nor what it changed in 21 more such folders");
        assert_eq!(many.len(), MOST_NAMED + 1);
    }
}
