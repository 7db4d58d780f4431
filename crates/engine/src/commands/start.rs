//! A run begins: its flow is read and pinned, its inputs and secrets are checked, its workspace is claimed.

use super::{
    handler::{Commands, check_secrets, send},
    isolate::{MadeTree, brought, remark},
    names::Names,
    restore::note,
};
use crate::model::{
    claim::{self, Claim},
    message::{Begin, EngineError, Message},
    protocol::{CallerWire, Refused, Response, ResumeRequest, StartRequest, WorkspaceUse},
    runner::CallingAttempt,
    trace::Traceparent,
};
use crate::{
    attempts::{presence::Manner, secrets::caller_of},
    delivery::callers::Callers,
    query::{
        activity::{has_attempt_at_work, is_held},
        flow_cache::{ParsedFlow, parsed_flow},
        load::load_run,
        snapshots,
    },
};
use envoi_contract::code::Code;
use envoi_contract::envelope::InterruptKind;
use envoi_contract::json::{Object, Value};
use envoi_journal::{Layout, PinnedFlow, ReadError, Reader, RunRow};
use envoi_kernel::{
    Flow, Refusal, Run,
    event::{Isolated, SnapshotScope},
    ids::{RunId, StepId},
    input::Start,
    part::Part,
};
use envoi_step::{Starts, plain};
use std::{
    collections::BTreeMap,
    fs, io,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    sync::{Arc, mpsc::Sender},
};

impl Commands {
    pub(super) fn start(&self, request: StartRequest, client: &Sender<Response>) -> Result<(), Refused> {
        let beginning = self.beginnings.enter(&request.run);
        if self.has_begun(&request.run)? {
            drop(beginning);
            // The engine that began it ended before it could respond, or the connection was lost.
            let StartRequest { run, by, caller, .. } = request;
            return self.resume(ResumeRequest::follow(run, by, caller), client);
        }
        let Checked { parsed, inputs } = checked(&request)?;
        let flow = Arc::clone(&parsed.flow);
        let caller = caller_of(&flow, &request.caller);
        check_secrets(&flow, &caller)?;
        check_tokens(&self.callers, &flow)?;
        let part = match &request.part {
            Some(wanted) => Some(self.part(&flow, wanted, &request.by)?),
            None => None,
        };
        let named = request.caller.flow_dir.join(&flow.workspace);
        check_yes_to(&flow, &request.yes_to)?;
        if flow.isolation.is_some() && request.isolate.is_none() {
            let message = "the flow has `isolate: tree`, and the run was to work elsewhere".to_owned();
            let hint = "leave `--copy`, `--share-workspace` or `workspace` of the request out";
            return Err(Refused::new(Code::NotIsolated, message, Some(hint)));
        }
        let makes = request.isolate.is_some() || request.workspace == WorkspaceUse::Copy;
        if makes {
            self.may_begin(&request.caller.within)?;
        }
        let (workspace, isolated) = match &request.isolate {
            Some(wanted) => {
                let names = Names::of(&flow, &request.caller);
                let scope = snapshots::scope_of(&SnapshotScope::of_new_run(true, &flow.keep_also));
                let MadeTree { inside, mut isolated } =
                    self.tree_for(&found(&named, &self.layout)?, &request.run, wanted, scope, &names)?;
                note_tree(&isolated, client);
                remark(&mut isolated, brought(&flow, &caller, wanted, &named, &inside));
                note(client, isolated.remarks.clone());
                (inside, Some(Box::new(isolated)))
            }
            None => {
                let used = request.workspace;
                (self.workspace(&named, used, &request.run, &request.caller.within)?, None)
            }
        };
        let made = isolated.clone();
        self.begin_starts(&request.run)?;
        self.followers.add(&request.run, client.clone());
        self.callers.learn(&request.run, &flow, &request.caller);
        let run_base = self.layout.run(&request.run);
        let begin = |reply| {
            Message::Begin(Box::new(Begin {
                run: Run::new(Arc::clone(&flow)),
                start: start_of(
                    &request,
                    &parsed,
                    inputs,
                    Where { workspace: &workspace, run_base: &run_base, isolated },
                    part,
                ),
                made: makes,
                pinned: pinned_of(&request, &parsed),
                caller,
                reply,
            }))
        };
        self.exchange(begin).map_err(|error| self.not_begun(&request.run, error, made.as_deref()))?;
        send(client, Response::Accepted { run: request.run.clone() });
        Ok(())
    }

    /// Before something is made for a new run: see [`Message::MayBegin`].
    pub(super) fn may_begin(&self, within: &[CallingAttempt]) -> Result<(), Refused> {
        let within = within.to_vec();
        Ok(self.exchange(|reply| Message::MayBegin { within, reply })?)
    }

    /// Makes the folder of a new run, with the list of the attempts that are given to a supervisor: from its first event on,
    /// a list that is missing was removed.
    pub(super) fn begin_starts(&self, run: &RunId) -> Result<(), Refused> {
        let folder = self.layout.run(run);
        let failed = |error: io::Error| {
            let message = format!("the run's folder `{}` cannot be made: {error}", folder.display());
            Refused::failure(message).with_hint(Some("`envoi doctor` looks closer".to_owned()))
        };
        Starts::of(&folder).begin().map_err(failed)
    }

    /// A run that was refused after all leaves no folder and no tree; a copy of its workspace stays, as far as there is one.
    pub(super) fn not_begun(&self, run: &RunId, error: EngineError, tree: Option<&Isolated>) -> Refused {
        // A run that had begun already keeps its folder and tree.
        let is_begun = matches!(error, EngineError::Refused(Refusal::AlreadyStarted));
        if !is_begun {
            self.presences.leave(run);
        }
        let is_refused =
            !is_begun && matches!(error, EngineError::Refused(_) | EngineError::WorkspaceBusy { .. });
        // A loop that stops may leave without a reply while the commit is on its way: such a run may begin yet, and keeps its folder.
        let is_uncommitted =
            matches!(error, EngineError::Store(_)) && matches!(self.has_begun(run), Ok(false));
        if is_refused || is_uncommitted {
            Starts::of(&self.layout.run(run)).withdraw();
        }
        if is_refused {
            tree.into_iter().for_each(|tree| self.remove_tree(tree));
        }
        Refused::from(error)
    }

    pub(super) fn has_begun(&self, run: &RunId) -> Result<bool, Refused> {
        let reader = self.store.reader()?;
        if let Some(left) = reader.tombstone(run)? {
            let message = format!("run `{run}` was deleted at {}: {}", left.deleted_at, left.why);
            return Err(Refused::new(Code::RunNotFound, message, Some("a new run needs a new key")));
        }
        reader.has_run(run).map_err(|error| Refused::from(&error))
    }

    /// The working folder for the commands of a new run.
    pub(super) fn workspace(
        &self,
        named: &Path,
        used: WorkspaceUse,
        run: &RunId,
        within: &[CallingAttempt],
    ) -> Result<PathBuf, Refused> {
        let found = found(named, &self.layout)?;
        match used {
            WorkspaceUse::Shared => {
                let claim = self.claim(run, &found, true);
                self.enter(&claim, Manner::Beside).map(|_| found)
            }
            WorkspaceUse::Alone => {
                let claim = self.claim(run, &found, false);
                self.check_free(&claim, within, |_| false)?;
                self.enter(&claim, Manner::of(false, within)).map(|_| found)
            }
            WorkspaceUse::Copy => {
                let copy = self.layout.workspace_copy(run);
                let store = fs::canonicalize(self.layout.root()).map_err(|error| missing(named, &error))?;
                // A store below the workspace is left out. In one above it are the copies, this one too.
                if found.starts_with(&store) && store.join("runs").starts_with(&found) {
                    let within = "it is the folder of the store, in which the copy would lie";
                    return Err(missing(named, &io::Error::new(io::ErrorKind::InvalidInput, within)));
                }
                // By an engine that went away in the middle of this request: the run has not begun.
                let emptied = match fs::remove_dir_all(&copy) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                    _ => Ok(()),
                };
                emptied.and_then(|()| copy_tree(&found, &copy, &store)).map_err(|error| {
                    // Half a copy is of no use. A rest that cannot be removed does no harm.
                    let _ = fs::remove_dir_all(&copy);
                    Refused::failure(format!("the workspace `{}` cannot be copied: {error}", found.display()))
                })?;
                Ok(copy)
            }
        }
    }

    pub(super) fn claim(&self, run: &RunId, workspace: &Path, shared: bool) -> Claim {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let run_base = text(&self.layout.run(run));
        Claim { run: run.clone(), workspace: text(workspace), run_base, shared }
    }

    /// Lets other stores know that a run is at work in its workspace from now on. Says whether they did not know before.
    pub(super) fn enter(&self, claim: &Claim, manner: Manner) -> Result<bool, Refused> {
        self.presences.enter(claim, manner).map_err(|occupied| Refused::workspace_busy(occupied.to_string()))
    }

    /// Refuses while an attempt of another run lives where this one claims to work, unless it is `agreed`, given whether that
    /// one shares, or that one is `within` which this one was called. This finds attempts of earlier engines, and of runs that are
    /// set aside. Runs that this engine goes on with are checked in its loop.
    pub(super) fn check_free(
        &self,
        claim: &Claim,
        within: &[CallingAttempt],
        agreed: impl Fn(bool) -> bool,
    ) -> Result<(), Refused> {
        let reader = self.store.reader()?;
        for (row, other) in self.live_claims(&reader)? {
            let is_in_the_way = claim.collides(&other)
                && !Claim::is_called_by(within, &row.run)
                && !agreed(shares(&reader, &row.run));
            if !is_in_the_way {
                continue;
            }
            let unknown = match has_attempt_at_work(&self.layout, &reader, &row.run) {
                Ok(false) => continue,
                Ok(true) => None,
                Err((folder, error)) => Some(format!("`{}` cannot be looked at: {error}", folder.display())),
            };
            return Err(match (is_held(&self.layout, &reader, &row)?, unknown) {
                (true, _) => Refused::workspace_busy(claim::busy(&row.run, &row.workspace, &claim.workspace)),
                (false, None) => Refused::workspace_left(&row.run, &row.workspace, &claim.workspace),
                (false, Some(why)) => {
                    Refused::workspace_unknown(&row.run, &row.workspace, &claim.workspace, &why)
                }
            });
        }
        Ok(())
    }
}

impl Commands {
    /// The runs that have an attempt which is not settled, each with what it claims. Whether it shares is not looked at.
    pub(super) fn live_claims(
        &self,
        reader: &Reader,
    ) -> Result<impl Iterator<Item = (RunRow, Claim)>, ReadError> {
        let claimed = |row: RunRow| {
            let claim = Claim {
                run: row.run.clone(),
                workspace: row.workspace.clone(),
                run_base: self.layout.run(&row.run).to_string_lossy().into_owned(),
                shared: false,
            };
            (row, claim)
        };
        Ok(reader.live_runs()?.into_iter().map(claimed))
    }
}

/// The flow and the inputs of a new run, as far as its flow and the request give them.
pub(super) struct Checked {
    pub(super) parsed: ParsedFlow,
    pub(super) inputs: Object,
}

/// Reads the flow of a request, and checks what is given for it.
pub(super) fn checked(request: &StartRequest) -> Result<Checked, Refused> {
    let StartRequest { flow_name, flow_text, flow_parts, language, .. } = request;
    let language = language.unwrap_or(envoi_flow::LANGUAGE);
    let parsed = parsed_flow(language, flow_name, flow_text, flow_parts)
        .map_err(|report| Refused::new(Code::FlowInvalid, report.to_string(), Some("run `envoi check`")))?;
    let inputs = envoi_flow::inputs::resolve(&parsed.flow, &request.inputs).map_err(|errors| {
        Refused::new(Code::InputInvalid, errors.to_string(), Some("see `inputs` of the flow"))
    })?;
    request.requester.check().map_err(|error| Refused::new(Code::InputInvalid, error.to_string(), None))?;
    Ok(Checked { parsed, inputs })
}

/// The working folder of a run, and its folder for its own files.
pub(super) struct Where<'w> {
    pub(super) workspace: &'w Path,
    pub(super) run_base: &'w Path,
    pub(super) isolated: Option<Box<Isolated>>,
}

/// The environment that an expression reads is stored, and a token must never be stored.
pub(super) fn check_tokens(callers: &Callers, flow: &Flow) -> Result<(), Refused> {
    let Some(name) = callers.token_read_by(flow) else { return Ok(()) };
    let message = format!(
        "`env.{name}` in an expression reads the token of a webhook or the key of a model, whose value is never stored"
    );
    let hint = "declare it in `secrets`, and let the command read it from its environment";
    Err(Refused::new(Code::FlowInvalid, message, Some(hint)))
}

/// The input that begins the run of a request.
pub(super) fn start_of(
    request: &StartRequest,
    parsed: &ParsedFlow,
    inputs: Object,
    place: Where<'_>,
    part: Option<Box<Part>>,
) -> Start {
    let trace = request.trace.as_deref().and_then(Traceparent::parse);
    Start {
        run: request.run.clone(),
        inputs,
        source: request.flow_name.clone(),
        workspace: place.workspace.to_string_lossy().into_owned(),
        shared: request.workspace == WorkspaceUse::Shared,
        no_cache: request.no_cache,
        keep_files: request.keep_files || parsed.flow.keep_files || place.isolated.is_some(),
        isolated: place.isolated,
        run_base: place.run_base.to_string_lossy().into_owned(),
        language: parsed.language,
        by: request.by.clone(),
        yes_to: request.yes_to.clone(),
        trace: trace.map(|caller| caller.to_string()),
        env: pinned_variables(&parsed.flow, &request.caller),
        requester: request.requester.clone(),
        part,
    }
}

/// The text of the flow that the run of a request is pinned to.
pub(super) fn pinned_of(request: &StartRequest, parsed: &ParsedFlow) -> PinnedFlow {
    PinnedFlow {
        digest: parsed.flow.digest,
        language: parsed.language,
        name: request.flow_name.clone(),
        text: request.flow_text.clone(),
        parts: BTreeMap::clone(&parsed.parts),
        earlier: Vec::new(),
    }
}

/// The folder that is named, absolute and without links.
pub(super) fn found(named: &Path, layout: &Layout) -> Result<PathBuf, Refused> {
    let found = fs::canonicalize(named).map_err(|error| missing(named, &error))?;
    if !found.is_dir() {
        return Err(missing(named, &io::Error::from(io::ErrorKind::NotADirectory)));
    }
    if found.to_str().is_none() || layout.root().to_str().is_none() {
        let message = format!("`{}` or the store's path is not UTF-8", found.display());
        return Err(Refused::new(Code::PathNotUnicode, message, Some("use folders whose names are UTF-8")));
    }
    Ok(found)
}

fn missing(named: &Path, error: &io::Error) -> Refused {
    let message = format!("the workspace `{}` cannot be used: {error}", named.display());
    Refused::new(Code::WorkspaceMissing, message, Some("`workspace` is relative to the flow file"))
}

/// A note on the run's working folder, for the person who started it.
pub(super) fn note_tree(isolated: &Isolated, client: &Sender<Response>) {
    let branch = isolated.branch.as_ref().map_or_else(String::new, |branch| format!(", branch `{branch}`"));
    let text = format!("the run works in a tree of its own: {}{branch}", isolated.place);
    send(client, Response::Noted { text });
}

/// The variables that the flow's expressions name, as far as the caller has them.
fn pinned_variables(flow: &Flow, caller: &CallerWire) -> Object {
    let value = |name: &String| {
        let (_, value) = caller.read.iter().find(|(known, _)| known == name)?;
        Some((name.clone(), Value::from(value.as_str())))
    };
    flow.env_read.iter().filter_map(value).collect()
}

/// A yes in advance is for questions that a plain yes answers, and that the starter of the run may answer.
pub(super) fn check_yes_to(flow: &Flow, yes_to: &[StepId]) -> Result<(), Refused> {
    let refuse = |message: String| {
        Err(Refused::new(Code::YesToInvalid, message, Some("`--yes-to` takes the id of a step that asks")))
    };
    for id in yes_to {
        let Some(step) = flow.step(id) else { return refuse(format!("there is no step `{id}`")) };
        match step.asks() {
            None => return refuse(format!("step `{id}` asks nothing")),
            Some(plan) if plan.kind == InterruptKind::Clarification || plan.schema.is_some() => {
                return refuse(format!("step `{id}` asks for words or a form, which a yes does not give"));
            }
            Some(plan) if plan.not_by_starter || plan.quorum > 1 => {
                return refuse(format!("step `{id}` wants the approval of others than who starts the run"));
            }
            Some(_) => {}
        }
    }
    Ok(())
}

/// Whether a run was started to share its workspace; false for a run that cannot be read.
fn shares(reader: &Reader, run: &RunId) -> bool {
    load_run(reader, run).is_ok_and(|run| run.started().is_some_and(|started| started.shared))
}

/// Copies files, folders and links; the store itself is left out, and so are sockets, pipes and devices.
fn copy_tree(from: &Path, to: &Path, store: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let name = entry.file_name();
        let kind = entry.file_type()?;
        if name == ".envoi" || entry.path() == store {
            continue;
        }
        let target = to.join(&name);
        if kind.is_dir() {
            copy_tree(&entry.path(), &target, store)?;
        } else if kind.is_symlink() {
            #[cfg(unix)]
            std::os::unix::fs::symlink(fs::read_link(entry.path())?, &target)?;
        } else if kind.is_file() {
            // It may have become a pipe, which could be waited for without end.
            let file = plain::open(&entry.path())?;
            let mode = file.metadata()?.permissions();
            let copy = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&target)?;
            envoi_durable::copy_content(&file, &copy)?;
            copy.set_permissions(mode)?;
        }
    }
    Ok(())
}
