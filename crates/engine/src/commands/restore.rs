//! The files of a run's workspace are set back to a snapshot.
//!
//! Owns the order of what is durable: the present files are kept, then the journal gets the start of the restore, then the files
//! change, then the journal gets its end. A restore that was killed in between is found in the journal, and is done again before
//! anything else of the run.

use super::{
    adopt::{Adoption, check_places},
    handler::{Commands, send},
    names::Names,
    restore_part::{self, PartChange, PartError, in_the_way},
};
use crate::{
    attempts::presence::Manner,
    model::{
        claim::Claim,
        message::Purpose,
        protocol::{
            CallerWire, ForkRequest, Refused, Response, RestorePart, RestoreRequest, ResumeRequest, SetBack,
            Standing, WorkspaceUse,
        },
    },
    query::snapshots,
};
use envoi_contract::{code::Code, digest::Digest};
use envoi_kernel::{
    Cut, Event, Flow, Input, Record, Run,
    event::{About, Choice, FilesRestored, FilesRestoring, Isolated, LateFile, Reach, RunStarted, Snapshot},
    ids::{Principal, RunId},
};
use envoi_step::Presence;
use envoi_tree::{ContentError, Folders, Late, Merged, NotKept, NotRestored, Order, Scope, Tree};
use std::{
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
    sync::{MutexGuard, PoisonError, mpsc::Sender},
};

/// The most paths that an event names of those that stay as they are.
const MOST_LEFT: usize = 100;

impl Commands {
    pub(super) fn restore(&self, request: RestoreRequest, client: &Sender<Response>) -> Result<(), Refused> {
        let RestoreRequest { run: id, to, part, folders_back, too_wide, why, by, caller } = request;
        let hint = "a step cannot set back the files under itself";
        self.check_waits_for_other(&id, &caller, hint)?;
        let _alone = self.restores();
        check_places(&self.store.reader()?, &id)?;
        let ended = self.end_open_restore(&id, &too_wide, &caller, Purpose::Decide)?;
        let run = self.load(&id)?;
        let rest = |run: &Run| {
            let standing = Standing::of(&run.status()).map(|standing| Standing { exit_code: 0, ..standing });
            send(client, Response::Rest { standing: standing.unwrap_or_else(Standing::answered) });
            Ok(())
        };
        // A part is looked at again: files that were left because they were changed meanwhile are requested now.
        let was_begun = part.is_none()
            && ended
                .as_ref()
                .is_some_and(|ended| (ended.wanted.to, &ended.wanted.reach) == (to, &Reach::Workspace));
        // Sent now: if the rest is refused, these notes would be lost.
        note(client, ended.map(|ended| ended.remarks).unwrap_or_default());
        if was_begun {
            // The engine that began it ended before it was done.
            send(client, Response::Accepted { run: id.clone() });
            return rest(&run);
        }
        let wanted = FilesWanted { to, part, folders_back, too_wide, by, why };
        match self.set_back(&run, wanted, &caller, client)? {
            true => rest(&self.load(&id)?),
            false => {
                send(client, Response::Accepted { run: id.clone() });
                send(client, Response::Noted { text: "the files are like that already".to_owned() });
                rest(&run)
            }
        }
    }

    /// Gives the workspace of a run at rest the files of a snapshot. Returns whether anything was to be done. The client is notified
    /// that the request is accepted as soon as it is durable.
    fn set_back(
        &self,
        run: &Run,
        wanted: FilesWanted,
        caller: &CallerWire,
        client: &Sender<Response>,
    ) -> Result<bool, Refused> {
        let (workspace, _alone) = self.check_rest(run, caller)?;
        let names = Names::of(run.flow(), caller);
        let order = self.order(wanted.too_wide.clone(), snapshots::scope(run.started()));
        let target = tree(&order, &wanted.to)?;
        let (back, lost) = folders(&order, wanted.folders_back.as_ref());
        let Some((wanted, change)) = begun(&workspace, &order, target, wanted, &names)? else {
            return Ok(false);
        };
        let Some(id) = run.started().map(|started| started.run.clone()) else { return Ok(false) };
        let begin = |_: &Run| Ok(vec![Input::RestoreFiles(Box::new(wanted.clone()))]);
        self.adopt(&id, caller, Adoption::from(Purpose::Decide), begin)?;
        send(client, Response::Accepted { run: id.clone() });
        let done = match change.carry_out(&workspace, &order, &back) {
            Ok(restored) => {
                note(client, lost.into_iter().chain(remarks(&restored, &names)).collect());
                Ok(restored)
            }
            // In the middle: it stays open, and is done again.
            Err(error @ NotRestored::Incomplete { .. }) => return Err(refused(&error, &names)),
            Err(error) => Err(error),
        };
        let input = match &done {
            Ok(restored) => of(wanted.to, restored, &names),
            Err(error) => Input::FilesKept { reason: names.reason(error) },
        };
        let end = |_: &Run| Ok(vec![input.clone()]);
        self.adopt(&id, caller, Adoption::from(Purpose::Decide), end)?;
        done.map(|_| true).map_err(|error| refused(&error, &names))
    }

    /// While it is held, no other request sets files back.
    pub(super) fn restores(&self) -> MutexGuard<'_, ()> {
        self.restores.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the files back to what they were when the one attempt in doubt began that `run` asks about.
    pub(super) fn set_back_for_rerun(
        &self,
        run: &Run,
        request: &ResumeRequest,
        files: &SetBack,
        client: &Sender<Response>,
    ) -> Result<(), Refused> {
        let in_doubt: Vec<_> = run.interrupts().filter(|raised| raised.about == About::InDoubt).collect();
        // Anything else is refused with the choice itself.
        let ([raised], Some(Choice::Rerun)) = (in_doubt.as_slice(), request.choice) else { return Ok(()) };
        let records = self.store.reader()?.records(&request.run, 0, None)?;
        let settled = records.iter().rev().find_map(|record| match &record.event {
            Event::AttemptSettled(settled) if settled.attempt.visit == raised.visit => Some(&settled.attempt),
            _ => None,
        });
        let is_apart = records.iter().any(|record| match &record.event {
            Event::AttemptStarted(started) => started.tree.is_some() && Some(&started.attempt) == settled,
            _ => false,
        });
        if is_apart {
            let message = format!(
                "`{}` works in a tree of the item's own, and `--files then` sets back that of the run",
                raised.visit
            );
            let hint = "`files: restore` in the step sets back the item's; without `--files then` its files stay as they are now";
            return Err(Refused::new(Code::NotYetSupported, message, Some(hint)));
        }
        let then = settled.and_then(|attempt| snapshots::before(&records, attempt));
        let name = settled.map_or_else(|| raised.visit.to_string(), ToString::to_string);
        let to = certain(then, &format!("before `{name}`"))?;
        let why = Some(request.why.clone().unwrap_or_else(|| format!("`{name}` is in doubt and runs again")));
        let (too_wide, by) = (files.too_wide.clone(), request.by.clone());
        let wanted = FilesWanted { to, part: None, folders_back: None, too_wide, by, why };
        let _alone = self.restores();
        check_places(&self.store.reader()?, &request.run)?;
        self.set_back(run, wanted, &request.caller, client).map(drop)
    }

    /// The first files of a fork whose files are to be those of the snapshot `then`. In a copy or a tree of its own they are that at once.
    /// Elsewhere the returned change goes into the first commit of the fork, and [`Self::end_open_restore`] does it.
    pub(super) fn files_for_fork(
        &self,
        request: &ForkRequest,
        cut: &Cut,
        flow: &Flow,
        (workspace, scope): (&Path, Scope),
        then: Option<Digest>,
    ) -> Result<Option<FilesRestoring>, Refused> {
        let (Some(SetBack { too_wide }), Some(to)) = (&request.files, then) else { return Ok(None) };
        let names = Names::of(flow, &request.caller);
        let order = self.order(too_wide.clone(), scope);
        let target = tree(&order, &to)?;
        if request.workspace == WorkspaceUse::Copy || request.isolate.is_some() {
            envoi_tree::restore(workspace, &order, &target).map_err(|error| refused(&error, &names))?;
            return Ok(None);
        }
        let why = format!("the files are those of `{}` where `{}` was entered", request.from, cut.step);
        let (too_wide, by) = (too_wide.clone(), request.by.clone());
        let wanted = FilesWanted { to, part: None, folders_back: None, too_wide, by, why: Some(why) };
        Ok(begun(workspace, &order, target, wanted, &names)?.map(|(wanted, _)| wanted))
    }

    /// Does a restore again that was begun and not ended.
    pub(super) fn end_open_restore(
        &self,
        id: &RunId,
        too_wide: &[PathBuf],
        caller: &CallerWire,
        purpose: Purpose,
    ) -> Result<Option<Ended>, Refused> {
        let run = self.load(id)?;
        let Some(wanted) = run.restoring().cloned() else { return Ok(None) };
        check_places(&self.store.reader()?, id)?;
        let names = Names::of(run.flow(), caller);
        let order = self.order(too_wide.to_vec(), snapshots::scope(run.started()));
        let target = tree(&order, &wanted.to)?;
        // Whatever is wrong now, an earlier try may have changed files: it stays open until it is done.
        let from = tree(&order, &wanted.from)?;
        let (back, lost) = folders(&order, wanted.folders_back.as_ref());
        let failed = |error: NotRestored| refused(&error, &names);
        let restored = match &wanted.reach {
            Reach::Workspace => {
                let (workspace, _alone) = self.check_rest(&run, caller)?;
                self.hold_for_restore(id, caller)?;
                let stood = envoi_tree::stand(&workspace, &order, &target).map_err(failed)?;
                let restored = envoi_tree::restore_back(&workspace, &order, &target, &back);
                let mut restored = restored.map_err(failed)?;
                // The snapshot to go back to was taken before the first try, and does not have it.
                let written = envoi_tree::written_since(&stood.kept.tree, &from, &target);
                restored.late.extend(stood.found.into_iter().chain(written));
                restored
            }
            // Since then a person may have worked there: nothing is touched but what was asked for.
            Reach::Paths { .. } => {
                let (workspace, _alone) = self.check_rest(&run, caller)?;
                self.hold_for_restore(id, caller)?;
                envoi_tree::change_back(&workspace, &order, &from, &target, &back).map_err(failed)?
            }
            // The event has the folder where it was then.
            Reach::Folder(_) => {
                let (folder, _alone) = self.check_folder(&run, &isolated(&run)?.of, caller)?;
                self.hold_for_restore(id, caller)?;
                envoi_tree::change_back(&folder, &order, &from, &target, &back).map_err(failed)?
            }
        };
        let end = |_: &Run| Ok(vec![of(wanted.to, &restored, &names)]);
        self.adopt(id, caller, Adoption::from(purpose), end)?;
        let remarks = lost.into_iter().chain(remarks(&restored, &names)).collect();
        Ok(Some(Ended { wanted, remarks }))
    }

    /// The loop lets no other run of the store come to work where a restore goes on that an earlier engine has begun.
    fn hold_for_restore(&self, id: &RunId, caller: &CallerWire) -> Result<(), Refused> {
        self.adopt(id, caller, Adoption::from(Purpose::Decide), |_| Ok(Vec::new())).map(drop)
    }

    /// The workspace, in which nothing is at work, and no run of another store begins to be while the guard lives.
    fn check_rest(&self, run: &Run, caller: &CallerWire) -> Result<(PathBuf, Option<Presence>), Refused> {
        let started = at_rest(run)?;
        let claim = Claim::of(started);
        self.check_free(&claim, &caller.within, |_| false)?;
        let workspace = PathBuf::from(&started.workspace);
        if claim.is_copy() {
            return Ok((workspace, None));
        }
        let manner = Manner::of(started.shared, &caller.within);
        let presence = self.presences.hold(&workspace, manner);
        Ok((workspace, presence.map_err(|occupied| Refused::workspace_busy(occupied.to_string()))?))
    }
}

/// A restore that an earlier engine had begun, and that is done now.
pub(super) struct Ended {
    pub(super) wanted: FilesRestoring,
    /// Remarks for a person.
    pub(super) remarks: Vec<String>,
}

/// How the run began, if nothing of it is at work in its workspace.
pub(super) fn at_rest(run: &Run) -> Result<&RunStarted, Refused> {
    let Some(started) = run.started() else { return Err(Refused::failure("the run has not started")) };
    let wants = run.wants();
    match wants.attempts.iter().chain(&wants.ending).next() {
        None => Ok(started),
        Some(attempt) => {
            let message = format!("attempt `{attempt}` of the run works in `{}`", started.workspace);
            let hint = "wait for it, or `envoi cancel` ends the run";
            Err(Refused::new(Code::WorkspaceBusy, message, Some(hint)))
        }
    }
}

/// A restore to be done, and its requester.
struct FilesWanted {
    to: Digest,
    part: Option<RestorePart>,
    folders_back: Option<Digest>,
    too_wide: Vec<PathBuf>,
    by: Principal,
    why: Option<String>,
}

/// How the files of a workspace are changed.
enum Change {
    /// All of it gets these files.
    Whole(Tree),
    /// The differences, and nothing else.
    Part { from: Tree, to: Tree },
}

impl Change {
    fn carry_out(
        &self,
        workspace: &Path,
        order: &Order,
        back: &Folders,
    ) -> Result<envoi_tree::Restored, NotRestored> {
        match self {
            Self::Whole(target) => envoi_tree::restore_back(workspace, order, target, back),
            Self::Part { from, to } => envoi_tree::change_back(workspace, order, from, to, back),
        }
    }
}

/// Keeps the present files, and returns the change to make. `None`: the files are like that already.
fn begun(
    workspace: &Path,
    order: &Order,
    target: Tree,
    wanted: FilesWanted,
    names: &Names,
) -> Result<Option<(FilesRestoring, Change)>, Refused> {
    let failed = |error: NotRestored| refused(&error, names);
    let FilesWanted { to, part, folders_back, by, why, .. } = wanted;
    let (from, to, reach, stood, change) = match part {
        None => {
            let stood = envoi_tree::stand(workspace, order, &target).map_err(failed)?;
            if stood.kept.digest == to {
                return Ok(None);
            }
            (stood.kept.digest, to, Reach::Workspace, stood, Change::Whole(target))
        }
        Some(part) => {
            let read = |digest: &Digest| read_tree(order, digest);
            let changed = restore_part::change(workspace, order, &target, &part, read);
            let Some(changed) = changed.map_err(|error| not_in_part(error, names))? else {
                return Ok(None);
            };
            let PartChange { from, to: Merged { digest, tree }, stood } = changed;
            (from.digest, digest, reach(&part, names), stood, Change::Part { from: from.tree, to: tree })
        }
    };
    let folders_gone = envoi_tree::keep_folders(order, &stood.folders).map_err(failed)?;
    let found = late(&stood.found, names);
    let wanted =
        FilesRestoring { from, to, reach, undoes: false, by, why, folders_gone, folders_back, found };
    Ok(Some((wanted, change)))
}

/// The part as an event names it.
fn reach(part: &RestorePart, names: &Names) -> Reach {
    let paths = match part {
        RestorePart::Paths(paths) => paths.as_slice(),
        RestorePart::ChangedFrom(_) => &[],
    };
    let paths = paths.iter().take(MOST_LEFT).map(|path| names.kept(path.as_os_str().as_bytes()));
    Reach::Paths { paths: paths.collect() }
}

fn not_in_part(error: PartError, names: &Names) -> Refused {
    match error {
        PartError::NotRestored(error) => refused(&error, names),
        PartError::Nothing(path) => {
            let path = names.shown(path.as_os_str().as_bytes());
            let message = format!("nothing is at `{path}`, neither in that state nor now");
            let hint = "paths are relative to the workspace; no pattern is expanded; files that git ignores are in no state";
            Refused::new(Code::RequestInvalid, message, Some(hint))
        }
        PartError::InTheWay(path) => {
            let message = format!("nothing was changed: {}", in_the_way(&path));
            let hint = "move it away, and try again; or `--into DIR` writes the files into a new folder";
            names.refusal(Refused::new(Code::FilesInTheWay, message, Some(hint)))
        }
    }
}

/// The folders of such a list, and a remark if it cannot be read: it does not hold up the files.
pub(super) fn folders(order: &Order, list: Option<&Digest>) -> (Folders, Option<String>) {
    match list.map(|list| envoi_tree::read_folders(order, list)) {
        None => (Folders::NONE, None),
        Some(Ok(folders)) => (folders, None),
        Some(Err(error)) => {
            let text = format!(
                "folders that are made again have the usual mode, because theirs cannot be read: {error}"
            );
            (Folders::NONE, Some(text))
        }
    }
}

/// The snapshot that a fork goes back to, if that is wanted.
pub(super) fn then(request: &ForkRequest, lived: &[Record], cut: &Cut) -> Result<Option<Digest>, Refused> {
    let state = || format!("where `{}` was entered", cut.step);
    request.files.as_ref().map(|_| certain(snapshots::entered(lived, cut.at), &state())).transpose()
}

/// The snapshot of a state that the folder certainly had.
pub(super) fn certain(snapshot: Option<Snapshot>, state: &str) -> Result<Digest, Refused> {
    match snapshot {
        Some(Snapshot { digest, moving: false }) => Ok(digest),
        Some(_) => Err(Refused::new(
            Code::FilesMoving,
            format!("while the snapshot {state} was taken, another attempt worked in the same folder"),
            Some("without `--files then` the files stay as they are now"),
        )),
        None => Err(Refused::new(
            Code::FilesNotKept,
            format!("the files {state} were not kept"),
            Some("`envoi run --keep-files` keeps them; without `--files then` they stay as they are now"),
        )),
    }
}

pub(super) fn tree(order: &Order, digest: &Digest) -> Result<Tree, Refused> {
    read_tree(order, digest).map_err(|error| Refused::failure(error.to_string()))
}

fn read_tree(order: &Order, digest: &Digest) -> Result<Tree, NotRestored> {
    let unread = |place: &Path, source| ContentError::Io { place: place.to_owned(), source };
    let shelf = order.contents.shelf().map_err(|source| unread(&order.contents.packs, source))?;
    let bytes = shelf.read(digest)?;
    Ok(Tree::parse(&bytes).map_err(|error| unread(&order.contents.files, std::io::Error::other(error)))?)
}

pub(super) fn of(to: Digest, restored: &envoi_tree::Restored, names: &Names) -> Input {
    let left = restored.left.iter().chain(&restored.newer).take(MOST_LEFT);
    let left = left.map(|path| names.kept(path)).collect();
    Input::FilesRestored(Box::new(FilesRestored { to, late: late(&restored.late, names), left }))
}

pub(super) fn late(found: &[Late], names: &Names) -> Vec<LateFile> {
    let of = |late: &Late| LateFile { path: names.kept(&late.path), digest: late.digest, size: late.size };
    found.iter().map(of).collect()
}

pub(super) fn note(client: &Sender<Response>, texts: Vec<String>) {
    texts.into_iter().for_each(|text| send(client, Response::Noted { text }));
}

/// Remarks for a person.
pub(super) fn remarks(restored: &envoi_tree::Restored, names: &Names) -> Vec<String> {
    let left = restored
        .left
        .iter()
        .take(MOST_LEFT)
        .map(|path| format!("`{}` is as it was: its content is not kept", names.shown(path)));
    let late = restored.late.iter().map(|late| match late.digest {
        Some(digest) => {
            format!("`{}` was written to meanwhile; that content is kept: {digest}", names.shown(&late.path))
        }
        None => {
            format!("`{}` was written to meanwhile, and is too large to be kept", names.shown(&late.path))
        }
    });
    let newer = restored.newer.iter().take(MOST_LEFT);
    let newer =
        newer.map(|path| format!("`{}` was left as it was: it was changed meanwhile", names.shown(path)));
    let folders = restored.folders.iter().take(MOST_LEFT);
    let folders = folders.map(|other| format!("the folder `{}` {}", names.shown(&other.path), other.why));
    left.chain(late).chain(newer).chain(folders).collect()
}

pub(super) fn not_kept(error: &NotKept, names: &Names) -> Refused {
    let code = match error {
        NotKept::TooWide { .. } => Code::WorkspaceTooWide,
        _ => Code::FilesNotKept,
    };
    names.refusal(Refused::new(code, error.to_string(), None))
}

pub(super) fn refused(error: &NotRestored, names: &Names) -> Refused {
    let message = error.to_string();
    let refused = match error {
        NotRestored::NotKept(kept @ NotKept::TooWide { .. }) => return not_kept(kept, names),
        NotRestored::NotKept(_) => {
            Refused::new(Code::FilesNotKept, message, Some("`--into DIR` writes the files into a new folder"))
        }
        NotRestored::InTheWay { .. } => Refused::new(
            Code::FilesInTheWay,
            message,
            Some("move it away, or `--into DIR` writes the files into a new folder"),
        ),
        NotRestored::Content(_)
        | NotRestored::Changed { .. }
        | NotRestored::NotStaged { .. }
        | NotRestored::Incomplete { .. } => Refused::failure(message),
    };
    names.refusal(refused)
}

/// The tree of its own that a run has.
pub(super) fn isolated(run: &Run) -> Result<Isolated, Refused> {
    let found = run.started().and_then(|started| started.isolated.as_deref());
    found.cloned().ok_or_else(|| {
        let message =
            "the run has no tree of its own: its changes are in the folder where it worked".to_owned();
        Refused::new(Code::NotIsolated, message, Some("`envoi run --isolate` gives a run one"))
    })
}
