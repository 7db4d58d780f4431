//! How a server of a cluster handles a request: it checks the request, sends it to the run at Restate, and
//! answers once this server shows the result.
//!
//! Owns which requests exist. The run decides. The local knowledge of a run may be slightly old; it is only
//! used to refuse early, with a better message, what the run would refuse too. Features that a cluster does
//! not have yet are refused.

use crate::{replica::Replica, shared::SharedContents};
use envoi_cluster::{
    Message,
    message::ToRun,
    wire::{Answer as Said, Posted, Said as Taken},
};
use envoi_contract::code::Code;
use envoi_engine::{
    EngineError, Notices, Watcher,
    elsewhere::{self, Beginning, RemoteCommands},
    load_run, now,
    protocol::{AnswerRequest, Refused, Request, Response, StartRequest, WorkspaceUse},
};
use envoi_kernel::{
    Flow, Input, Run, Status,
    event::EndStatus,
    flow::{FilesAgain, Step, StepKind},
    ids::{Principal, RunId, Seq},
};
use envoi_restate::{FlowName, Ingress, NotAsked, Reply};
use std::{
    path::Path,
    sync::{Arc, mpsc::Sender},
    thread,
    time::{Duration, Instant},
};

/// The commands of a server in a cluster.
pub struct ClusterCommands {
    replica: Arc<Replica>,
    shared: SharedContents,
    ingress: Ingress,
    notices: Notices,
}

/// How long a client waits until this server shows its change.
const SHOWN_WITHIN: Duration = Duration::from_secs(10);
/// Pause between two checks.
const PAUSE: Duration = Duration::from_millis(10);

impl RemoteCommands for ClusterCommands {
    fn serve(&self, request: Request, client: &Sender<Response>) {
        let run = request.run().cloned();
        let done = match request {
            Request::Start(request) => self.start(&request),
            Request::Answer(request) => self.answer(*request),
            Request::Cancel { run, by, .. } => self.cancel(&run, by),
            Request::Ping => return respond(client, Response::Pong),
            Request::Resume(_) => Err(not_yet("resumed, raised or corrected")),
            Request::Fork(_) => Err(not_yet("forked")),
            Request::Restore(_) | Request::Apply(_) => Err(not_yet("given other files")),
            Request::Collect(_) => Err(not_yet("deleted")),
        };
        match (done, run) {
            (Err(refused), _) => respond(client, Response::Refused(refused)),
            (Ok(()), Some(run)) => respond(client, Response::Accepted { run }),
            (Ok(()), None) => {}
        }
    }

    fn watch(&self, watcher: Watcher) {
        self.replica.watch(watcher);
    }
}

impl ClusterCommands {
    /// For the runs that `replica` shows, through this ingress. From `notices` only the list of variables
    /// that no expression may read is used: no notice is sent.
    #[must_use]
    pub fn new(replica: Arc<Replica>, shared: SharedContents, ingress: Ingress, notices: Notices) -> Self {
        Self { replica, shared, ingress, notices }
    }

    fn start(&self, request: &StartRequest) -> Result<(), Refused> {
        let id = &request.run;
        if self.next(id)? > 0 {
            // The server that began it ended before it could respond.
            return Ok(());
        }
        check_request(request)?;
        let named = &request.caller.flow_dir;
        let run_base = self.replica.store().layout().run(id);
        // Only the flow says whether there is such a folder, so it is checked below.
        let Beginning { flow, pinned, mut start } =
            elsewhere::beginning(request, named, &run_base, &self.notices)?;
        check_flow(&flow)?;
        let workspace = named.join(&flow.workspace);
        let workspace = workspace.canonicalize().map_err(|error| {
            let message = format!("the workspace `{}` cannot be used: {error}", workspace.display());
            Refused::new(Code::WorkspaceMissing, message, Some("`workspace` is relative to the flow file"))
        })?;
        start.workspace = text_of(&workspace)?;
        self.shared.keep_flow(&pinned).map_err(|error| Refused::failure(error.to_string()))?;
        match self.ingress.name_flow(id, &FlowName::of(&flow)).map_err(|error| unreached(&error))? {
            Reply::Done => {}
            Reply::Unfit { reason } => return Err(unfit(&reason)),
            Reply::Answer(_) => return Err(unfit("an answer that does not fit")),
        }
        let start = Input::Start(Box::new(start));
        // The local check has the error code that a single machine would give.
        Run::new(Arc::clone(&flow)).decide(start.clone(), None, now()).map_err(EngineError::Refused)?;
        match self.ask(id, start)? {
            // Refused: the run was begun before, and is not shown here yet.
            Taken::Taken | Taken::Refused { .. } | Taken::Elsewhere => {}
        }
        self.wait(id, 0)
    }

    fn answer(&self, request: AnswerRequest) -> Result<(), Refused> {
        let AnswerRequest { run: id, answer, .. } = request;
        let store = self.replica.store();
        let reader = store.reader()?;
        if let Some(request) = answer.request.as_deref()
            && reader.has_request(&id, request)?
        {
            return Ok(());
        }
        let run = load_run(&reader, &id)?;
        let (raised, answer) = elsewhere::completed(store, &id, &run, answer)?;
        let found = elsewhere::changed_since_shown(&reader, &run, raised, &answer)?;
        if let Some(first) = found.first() {
            let message = format!(
                "`{}` changed in the workspace after it was handed over, so what was shown is not what would be used",
                first.path
            );
            let interrupt = raised.interrupt.clone();
            self.send(&id, &run, Input::Changed { interrupt, found })?;
            let hint = "the question is put again: `envoi inbox` lists it";
            return Err(Refused::new(Code::SubjectChanged, message, Some(hint)));
        }
        let interrupt = answer.interrupt.clone();
        match self.send(&id, &run, Input::Answer(Box::new(answer))) {
            Err(refused) if refused.code == Code::QuestionClosed => {
                Err(elsewhere::closed(store, &id, &interrupt))
            }
            done => done,
        }
    }

    fn cancel(&self, id: &RunId, by: Principal) -> Result<(), Refused> {
        let run = load_run(&self.replica.store().reader()?, id)?;
        match run.status() {
            Status::Ended(ended) if ended.status == EndStatus::Cancelled => return Ok(()),
            Status::Ended(ended) => {
                let message = format!("run `{id}` is over ({})", ended.status.word());
                return Err(Refused::new(Code::RunOver, message, None));
            }
            Status::Running | Status::Waiting { .. } => {}
        }
        match self.send(id, &run, Input::Cancel { by }) {
            // Another request has cancelled it already.
            Err(refused) if refused.code == Code::Cancelling => Ok(()),
            done => done,
        }
    }

    /// Sends an input to a run whose local state is `run`, and waits until this server shows the result.
    fn send(&self, id: &RunId, run: &Run, input: Input) -> Result<(), Refused> {
        // The local check has the error code that a single machine would give.
        run.decide(input.clone(), None, now()).map_err(EngineError::Refused)?;
        match self.ask(id, input)? {
            Taken::Taken => self.wait(id, run.next_seq()),
            Taken::Refused { reason } => Err(Refused::new(Code::Refused, reason, None)),
            Taken::Elsewhere => Err(unfit("the run takes it for a worker's message")),
        }
    }

    fn ask(&self, id: &RunId, input: Input) -> Result<Taken, Refused> {
        let message = Message::Run(id.clone(), ToRun::Input(Box::new(input)));
        let posted = Posted { message, at: now() };
        self.replica.share(&posted).map_err(|error| Refused::failure(error.to_string()))?;
        let reply = self.ingress.ask_keeping(posted, |bytes| Ok(self.shared.keep(bytes)?));
        match reply.map_err(|error| unreached(&error))? {
            Reply::Answer(Said::Run { said, .. }) => Ok(said),
            Reply::Unfit { reason } => Err(unfit(&reason)),
            Reply::Answer(Said::WorkerSlot(_)) | Reply::Done => Err(unfit("an answer that does not fit")),
        }
    }

    /// The number of the run's next event as shown here; 0 if the run is not shown yet.
    fn next(&self, id: &RunId) -> Result<Seq, Refused> {
        let next = self.replica.with_run(id, Run::next_seq);
        Ok(next.map_err(|error| Refused::failure(error.to_string()))?.unwrap_or(0))
    }

    /// Waits until more events than `before` are shown.
    fn wait(&self, id: &RunId, before: Seq) -> Result<(), Refused> {
        let began = Instant::now();
        while self.next(id)? <= before {
            if began.elapsed() > SHOWN_WITHIN {
                let message = format!("run `{id}` has taken it, and this server does not show it yet");
                let hint = "ask again in a moment: the same request is not done twice";
                return Err(Refused::new(Code::ServerUnreachable, message, Some(hint)));
            }
            thread::sleep(PAUSE);
        }
        Ok(())
    }
}

fn respond(client: &Sender<Response>, response: Response) {
    // A client that has disconnected does not need the response.
    drop(client.send(response));
}

fn text_of(path: &Path) -> Result<String, Refused> {
    let not_unicode = || {
        let message = format!("`{}` is not UTF-8", path.display());
        Refused::new(Code::PathNotUnicode, message, Some("use folders whose names are UTF-8"))
    };
    path.to_str().map(str::to_owned).ok_or_else(not_unicode)
}

/// Refuses requests with features that a cluster does not have yet.
fn check_request(request: &StartRequest) -> Result<(), Refused> {
    let StartRequest { workspace, part, isolate, keep_files, .. } = request;
    if *workspace != WorkspaceUse::Shared {
        let message = "a run of a cluster works in its folder beside others, and nothing locks it yet: it has to agree, with \
                       `workspace: shared` in the request (`envoi run --share-workspace`)";
        return Err(Refused::new(Code::NotYetSupported, message, None));
    }
    if part.is_some() {
        return Err(not_yet("started for a part of its flow"));
    }
    if isolate.is_some() || *keep_files {
        return Err(not_yet("given a tree of its own"));
    }
    Ok(())
}

/// Refuses flows with features that a cluster does not have yet.
fn check_flow(flow: &Flow) -> Result<(), Refused> {
    let refuse = |what: &str| {
        let message = format!("flow `{}` has {what}, which a cluster cannot do yet", flow.id);
        Err(Refused::new(Code::NotYetSupported, message, Some("`envoi help cluster` lists what it can do")))
    };
    if flow.isolation.is_some() || flow.keep_files {
        return refuse("`isolate` or `keep_files`");
    }
    if !flow.notify.is_empty() {
        return refuse("`notify`");
    }
    if let Some((step, what)) = flow.steps.iter().find_map(|step| Some((step, beyond(step)?))) {
        return refuse(&format!("{what} (step `{}`)", step.id));
    }
    flow.flows.values().try_for_each(|inner| check_flow(inner))
}

fn beyond(step: &Step) -> Option<&'static str> {
    match step.kind {
        StepKind::A2a(_) => return Some("`a2a`"),
        StepKind::Agent(_) => return Some("`agent`"),
        StepKind::Model(_) => return Some("`model`"),
        StepKind::Run(_) | StepKind::Ask(_) | StepKind::Flow(_) => {}
    }
    if step.cache.is_some() {
        return Some("`cache`");
    }
    if step.isolate || step.files != FilesAgain::Keep {
        return Some("`isolate: true` or `files: restore`");
    }
    None
}

fn not_yet(what: &str) -> Refused {
    let message = format!("a run of a cluster cannot be {what} yet");
    Refused::new(Code::NotYetSupported, message, Some("`envoi help cluster` lists what it can do"))
}

fn unreached(error: &NotAsked) -> Refused {
    let hint = "is the node of Restate there, and does it know this server? It is safe to ask again";
    Refused::new(Code::ServerUnreachable, error.to_string(), Some(hint))
}

fn unfit(reason: &str) -> Refused {
    Refused::failure(format!("the cluster does not take the request: {reason}"))
}

#[cfg(test)]
mod tests;
