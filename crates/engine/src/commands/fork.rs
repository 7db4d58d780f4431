//! A run is forked: a new run gets its history up to a step, and goes on from there.
//!
//! Owns the checks that the kernel cannot make: nothing of the family is under way, the workspace may be used, and secrets
//! are there. The workspace is put back to its old state only if that is wanted; if it differs, the client gets a note.

use super::{
    adopt::check_places,
    handler::{Commands, check_secrets, send},
    isolate::MadeTree,
    names::Names,
    restore::{note, then},
    resume::parse,
    start::{check_yes_to, found, note_tree},
};
use crate::model::{
    message::{Branch, Corrected, EngineError, Message, Purpose},
    protocol::{ForkRequest, Refused, Response, ResumeRequest, WorkspaceUse},
};
use crate::{
    attempts::secrets::caller_of,
    query::{load::load_run, obstacles::files_otherwise, snapshots},
};
use envoi_contract::{code::Code, digest::Digest};
use envoi_journal::{PinnedFlow, Reader};
use envoi_kernel::{Cut, Flow, Fork, Record, Run, event::Isolated, family::Share, input::Correct};
use envoi_tree::Scope;
use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Arc, mpsc::Sender},
};

impl Commands {
    pub(super) fn fork(&self, request: ForkRequest, client: &Sender<Response>) -> Result<(), Refused> {
        // Until it is durable no other run of the family begins or goes on.
        let alone = self.families();
        if self.has_begun(&request.run)? {
            drop(alone);
            // The engine that began it ended before it could respond.
            let ForkRequest { run, by, caller, .. } = request;
            return self.resume(ResumeRequest::follow(run, by, caller), client);
        }
        let reader = self.store.reader()?;
        let source = load_run(&reader, &request.from)?;
        check_places(&reader, &request.from)?;
        let family = self.family_of(&reader, &source, None)?;
        let lived = reader.records(&request.from, 0, None)?;
        let cut = Cut::of(source.versions(), &lived, request.step.as_ref())
            .map_err(|refusal| Refused::from(EngineError::Refused(refusal)))?;
        let corrected = request.correct.as_ref().map(parse).transpose()?;
        let held = cut.flow(source.versions(), &lived);
        let flow = corrected.as_ref().map_or(held, |corrected| &corrected.flow);
        let caller = caller_of(flow, &request.caller);
        check_secrets(flow, &caller)?;
        check_yes_to(flow, &request.yes_to)?;
        let Some(named) = source.started().map(|started| started.workspace.clone()) else {
            return Err(Refused::failure("the run has not started"));
        };
        let then = then(&request, &lived, &cut)?;
        let makes = request.isolate.is_some() || request.workspace == WorkspaceUse::Copy;
        if makes {
            self.may_begin(&request.caller.within)?;
        }
        check_tree_is_here(&reader, &source, &request)?;
        let (workspace, isolated) =
            self.place_for(&request, &source, flow, Path::new(&named), then, client)?;
        let made = isolated.clone().filter(|_| request.isolate.is_some());
        let scope = fork_scope(&source, isolated.is_some());
        let files =
            self.files_for_fork(&request, &cut, flow, (&workspace, scope), then).inspect_err(|_| {
                self.presences.leave(&request.run);
                made.iter().for_each(|made| self.remove_tree(made));
                if request.workspace == WorkspaceUse::Copy {
                    let left = fs::remove_dir_all(&workspace).err();
                    note(client, left.iter().map(|error| stays(&workspace, error)).collect());
                }
            })?;
        let sets_back = files.is_some();
        if !sets_back && then.is_none() {
            note_differences(&reader, &lived, &cut, &workspace, client);
        }
        let pinned = pinned(&reader, &request, corrected.as_ref())?;
        let mut begun = Run::new(source.versions().clone());
        corrected.iter().for_each(|corrected| begun.learn(Arc::clone(&corrected.flow)));
        let correct = corrected.as_ref().map(|corrected| {
            Box::new(Correct {
                flow: corrected.flow.digest,
                language: corrected.pinned.language,
                source: corrected.pinned.name.clone(),
                from: None,
                by: request.by.clone(),
                why: request.why.clone(),
                request: None,
                elsewhere: Share::default(),
                seen: None,
            })
        });
        self.begin_starts(&request.run)?;
        self.followers.add(&request.run, client.clone());
        self.callers.learn(&request.run, flow, &request.caller);
        let branch = |reply| {
            Message::Fork(Box::new(Branch {
                run: begun,
                fork: Fork {
                    run: request.run.clone(),
                    run_base: self.layout.run(&request.run).to_string_lossy().into_owned(),
                    workspace: workspace.to_string_lossy().into_owned(),
                    shared: request.workspace == WorkspaceUse::Shared,
                    yes_to: request.yes_to.clone(),
                    by: request.by.clone(),
                    why: request.why.clone(),
                    from: request.step.clone(),
                    lived,
                    family,
                    correct,
                    isolated,
                    files: files.map(Box::new),
                },
                made: makes,
                pinned,
                caller,
                reply,
            }))
        };
        self.exchange(branch).map_err(|error| self.not_begun(&request.run, error, made.as_deref()))?;
        drop(alone);
        send(client, Response::Accepted { run: request.run.clone() });
        if sets_back {
            let too_wide = request.files.unwrap_or_default().too_wide;
            let _alone = self.restores();
            let ended = self.end_open_restore(&request.run, &too_wide, &request.caller, Purpose::GoOn)?;
            note(client, ended.map(|ended| ended.remarks).unwrap_or_default());
        }
        Ok(())
    }
}

impl Commands {
    /// The folder in which the new run works, and the tree that it has to itself: a new one, or that of the source if it works there.
    fn place_for(
        &self,
        request: &ForkRequest,
        source: &Run,
        flow: &Flow,
        named: &Path,
        then: Option<Digest>,
        client: &Sender<Response>,
    ) -> Result<(PathBuf, Option<Box<Isolated>>), Refused> {
        let of_source = source.started().and_then(|started| started.isolated.clone());
        let Some(wanted) = &request.isolate else {
            let workspace = self.workspace(named, request.workspace, &request.run, &request.caller.within)?;
            return Ok((workspace, of_source.filter(|_| request.workspace != WorkspaceUse::Copy)));
        };
        let names = Names::of(flow, &request.caller);
        let scope = fork_scope(source, true);
        let MadeTree { inside, mut isolated } =
            self.tree_for(&found(named, &self.layout)?, &request.run, wanted, scope, &names)?;
        note_tree(&isolated, client);
        note(client, isolated.remarks.clone());
        let setup = flow.isolation.as_ref().and_then(|isolation| isolation.setup.as_ref());
        if let Some(setup) = setup.filter(|setup| request.step.as_ref() != Some(setup)) {
            let text =
                format!("note: `{setup}` is not done in the new tree; `--from {setup}` begins with it");
            send(client, Response::Noted { text });
        }
        match (of_source, then) {
            // The changes of the source in its tree come back with those of the fork.
            (Some(of_source), _) => {
                isolated.of.clone_from(&of_source.of);
                isolated.base = of_source.base;
            }
            (None, Some(then)) => isolated.base = then,
            (None, None) => {}
        }
        Ok((inside, Some(Box::new(isolated))))
    }
}

/// Refuses a fork of a run whose own tree is gone, or was never here: a snapshot alone does not show what git tracks and ignores, so a
/// tree that is made of it would lose files.
///
/// # Errors
/// The tree of the run is not here.
fn check_tree_is_here(reader: &Reader, source: &Run, request: &ForkRequest) -> Result<(), Refused> {
    let Some(started) = source.started().filter(|started| started.isolated.is_some()) else { return Ok(()) };
    let imported = reader.imported(&request.from).map_err(|error| Refused::from(&error))?.is_some();
    let place = &started.workspace;
    let message = match imported {
        true => format!("the tree `{place}` is that of run `{}` where the bundle was made", request.from),
        false if Path::new(place).is_dir() => return Ok(()),
        false => format!("the tree `{place}` of run `{}` is gone", request.from),
    };
    let hint =
        "`envoi restore RUN --at STEP --into FOLDER` writes the files of a snapshot; start a new run there";
    Err(Refused::new(Code::WorkspaceMissing, message, Some(hint)))
}

/// The scope of the snapshots of a fork, as its first event has it.
fn fork_scope(source: &Run, is_isolated: bool) -> Scope {
    let own = source.started().map(|started| started.snapshots_of_fork(is_isolated));
    snapshots::scope_of(&own.unwrap_or_default())
}

/// All versions of the flow that the new run may need; the corrected one first.
fn pinned(
    reader: &Reader,
    request: &ForkRequest,
    corrected: Option<&Corrected>,
) -> Result<PinnedFlow, Refused> {
    let old = reader.pinned(&request.from).map_err(|error| Refused::from(&error))?;
    let Some(corrected) = corrected else { return Ok(old) };
    let mut earlier = old.earlier.clone();
    earlier.push(PinnedFlow { earlier: Vec::new(), ..old });
    Ok(PinnedFlow { earlier, ..corrected.pinned.clone() })
}

/// Artifacts of what was lived that lie otherwise in the workspace.
fn note_differences(
    reader: &Reader,
    lived: &[Record],
    cut: &Cut,
    workspace: &Path,
    client: &Sender<Response>,
) {
    let Ok(Some(shown)) = files_otherwise(reader, lived, cut.at, workspace) else { return };
    let text = format!(
        "note: the workspace is as it is now, not as it was when `{}` was entered; other than then: {shown}",
        cut.step
    );
    send(client, Response::Noted { text });
}

/// The copy that was made for a fork that is refused could not be removed.
fn stays(copy: &Path, error: &std::io::Error) -> String {
    format!("warning: the copy `{}` is of no run and could not be removed: {error}", copy.display())
}
