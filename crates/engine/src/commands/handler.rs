//! Takes requests, prepares what the loop needs, and sends the responses.
//!
//! Owns the checks that need more than one run (workspace, secrets, the pinned flow). Everything about one run is decided in
//! the loop. Works on the thread of the requester, so that reading a flow or a journal never holds up the loop.

use super::{beginnings::Beginnings, requests::Requests, under_way::UnderWay};
use crate::{
    attempts::{presence::Presences, secrets::secrets},
    delivery::callers::Callers,
    model::{
        crash_point::Point,
        message::{EngineError, Message, Reply},
        protocol::{Refused, Request, Response},
        runner::{Caller, StoreGone},
        trouble::{Trouble, guarded},
    },
    observe::followers::{Followers, Watcher},
    query::snapshots,
};
use envoi_contract::code::Code;
use envoi_journal::{Layout, Store, Writer};
use envoi_kernel::Flow;
use envoi_tree::{Bounds, Order, Scope, Stop};
use std::{
    path::PathBuf,
    sync::{
        Arc, Mutex, Weak,
        mpsc::{self, Sender},
    },
};

/// See the module. Cheap to clone.
#[derive(Clone)]
pub struct Commands {
    pub(crate) store: Arc<Store>,
    pub(crate) layout: Layout,
    pub(crate) mailbox: Sender<Message>,
    pub(crate) followers: Followers,
    pub(crate) callers: Callers,
    /// The folders in which the runs of this engine work.
    pub(crate) presences: Arc<Presences>,
    /// See [`Commands::families`].
    pub(crate) families: Arc<Mutex<()>>,
    /// See [`Commands::restores`].
    pub(crate) restores: Arc<Mutex<()>>,
    /// The requests that this engine works on.
    pub(crate) under_way: UnderWay,
    /// The runs that requests begin now.
    pub(crate) beginnings: Arc<Beginnings>,
    /// Held while the store is collected.
    pub(crate) collections: Arc<Mutex<()>>,
    pub(crate) requests: Arc<Requests>,
    /// The writer of this engine, until that closes.
    pub(crate) writer: Weak<Writer>,
    /// Called at each [`Point`].
    pub(crate) reached: fn(Point),
    /// The engine is to end: no git is waited for any more.
    pub(crate) stop: Stop,
    /// How much a snapshot may hold.
    pub(crate) bounds: Bounds,
}

impl Commands {
    /// Does a request; every response goes to `client`, last of all a [`Response::Rest`], [`Response::Refused`] or
    /// [`Response::Stopped`]. An engine that closes does not end before this has returned, and does nothing of a request that comes
    /// too late.
    pub fn serve(&self, request: Request, client: &Sender<Response>) {
        // An engine that waits for its last requests answers that it is there.
        if let Request::Ping = request {
            return send(client, Response::Pong);
        }
        let Some(_taken) = self.under_way.take() else {
            return send(client, Response::Stopped { reason: "it is closing".to_owned() });
        };
        if let Err(refused) = self.check_own(&request) {
            return send(client, Response::Refused(self.where_the_store_is(refused)));
        }
        let _in_progress = match &request {
            Request::Collect(_) | Request::Ping => None,
            _ => Some(self.requests.begin()),
        };
        let done = guarded("the command", || match request {
            Request::Collect(request) => self.collect(&request, client),
            Request::Start(request) => self.start(*request, client),
            Request::Fork(request) => self.fork(*request, client),
            Request::Resume(request) => self.resume(*request, client),
            Request::Answer(request) => self.answer(*request, client),
            Request::Restore(request) => self.restore(*request, client),
            Request::Apply(request) => self.apply(*request, client),
            Request::Cancel { run, by, caller } => self.cancel(&run, by, &caller, client),
            Request::Ping => Ok(()),
        });
        match done.unwrap_or_else(|panic| Err(panicked(panic))) {
            Err(refused) if refused.code == Code::EngineStopping => {
                send(client, Response::Stopped { reason: refused.message })
            }
            Err(refused) => send(client, Response::Refused(self.where_the_store_is(refused))),
            Ok(()) => {}
        }
    }

    /// The refusal after a project was moved under its engine: the requests reach this engine from the new place too, because its lock has
    /// moved along.
    fn where_the_store_is(&self, refused: Refused) -> Refused {
        let db = self.layout.db();
        let is_gone =
            || db.symlink_metadata().is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound);
        if refused.code != Code::StoreFailed || !is_gone() {
            return refused;
        }
        let message =
            format!("{}, and its engine still waits for the steps that it has started", StoreGone { db });
        let hint = "nothing was done; that engine ends with those steps, and the next command goes on where the project is now";
        Refused::failure(message).with_hint(Some(hint.to_owned()))
    }

    /// A run that came with a bundle never goes on here. Its paths may be those of another machine.
    fn check_own(&self, request: &Request) -> Result<(), Refused> {
        let run = match request {
            Request::Resume(resume) => &resume.run,
            Request::Answer(answer) => &answer.run,
            Request::Restore(restore) => &restore.run,
            Request::Apply(apply) => &apply.run,
            Request::Cancel { run, .. } => run,
            Request::Start(_) | Request::Fork(_) | Request::Collect(_) | Request::Ping => return Ok(()),
        };
        if self.store.reader()?.imported(run)?.is_none() {
            return Ok(());
        }
        let message =
            format!("run `{run}` was imported from a bundle: in this store it has ended and cannot continue");
        let hint = format!("`envoi fork {run} --from STEP` starts a new run with its history");
        Err(Refused::new(Code::RunForeign, message, Some(&hint)))
    }

    /// How a snapshot is taken for a request: not if the engine ends meanwhile and git does not answer.
    pub(super) fn order(&self, too_wide: Vec<PathBuf>, scope: Scope) -> Order {
        Order { stop: self.stop.clone(), ..snapshots::order(&self.layout, too_wide, self.bounds, scope) }
    }

    /// Until what is returned is dropped, no content is removed that is in its place now: an event is about to name it.
    #[must_use]
    pub fn hold_contents(&self) -> impl Drop + '_ {
        self.requests.begin()
    }

    /// From now on `watcher` is called with every commit.
    pub fn watch(&self, watcher: Watcher) {
        self.followers.watch(watcher);
    }

    /// Sends a message to the loop and waits for its answer.
    pub(crate) fn exchange(&self, message: impl FnOnce(Reply) -> Message) -> Result<(), EngineError> {
        let (sender, receiver) = mpsc::channel();
        // The requester may be gone by now.
        let reply: Reply = Box::new(move |result| {
            let _ = sender.send(result);
        });
        let gone = || EngineError::Stopping { reason: "it is closing".to_owned() };
        self.mailbox.send(message(reply)).map_err(|_| gone())?;
        receiver.recv().map_err(|_| gone())?
    }
}

/// The client would wait for ever, or take the engine for one that is closing.
fn panicked(panic: Trouble) -> Refused {
    let hint = "it may have been done in part: `envoi runs` and `envoi show RUN` say how things stand; report it with that message";
    Refused::new(panic.kind.code(), panic.reason, Some(hint))
}

/// Sends a response. A client that is gone does not need it.
pub(crate) fn send(client: &Sender<Response>, response: Response) {
    let _ = client.send(response);
}

/// A missing secret refuses the start before its commit.
pub(crate) fn check_secrets(flow: &Flow, caller: &Caller) -> Result<(), Refused> {
    if let Some(problem) = &caller.env_file_problem {
        // The problem is a sentence of the command that has read the file.
        let hint = if problem.contains("(os error 2)") {
            "write the file, or name another one: `env_file` is relative to the folder of the flow file"
        } else if problem.contains("`env.") {
            "pass the value as an input, or let the command read the variable"
        } else {
            "each line is NAME=value; `envoi explain ENV_FILE_INVALID` shows the form"
        };
        return Err(Refused::new(Code::EnvFileInvalid, problem.clone(), Some(hint)));
    }
    secrets(&flow.secrets, caller).map(drop).map_err(|error| {
        Refused::new(
            Code::SecretMissing,
            error.to_string(),
            Some("set it where the command is called; secrets are never stored"),
        )
    })
}

#[cfg(test)]
mod tests;
