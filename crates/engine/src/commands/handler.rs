//! The front desk: takes requests of commands, prepares what the loop needs, and tells how it went.
//!
//! Owns the checks that need more than one run (workspace, secrets, the pinned flow). Everything about one run is decided in
//! the loop. Works on the thread of whoever asks, so that reading a flow or a journal never holds up the loop.

use crate::{
    attempts::secrets::secrets,
    delivery::callers::Callers,
    model::{
        message::{EngineError, Message, Reply},
        protocol::{Refused, Request, Response},
        runner::Caller,
    },
    observe::followers::{Followers, Watcher},
};
use envoi_contract::code::Code;
use envoi_journal::{Layout, Store};
use envoi_kernel::Flow;
use std::sync::{
    Arc, Mutex,
    mpsc::{self, Sender},
};

/// See the module. Cheap to clone.
#[derive(Clone)]
pub struct Desk {
    pub(crate) store: Arc<Store>,
    pub(crate) layout: Layout,
    pub(crate) mailbox: Sender<Message>,
    pub(crate) followers: Followers,
    pub(crate) callers: Callers,
    /// See [`Desk::families`].
    pub(crate) families: Arc<Mutex<()>>,
}

impl Desk {
    /// Does what is asked; everything heard goes to `client`, last of all a [`Response::Rest`], [`Response::Refused`] or
    /// [`Response::Stopped`].
    pub fn serve(&self, request: Request, client: &Sender<Response>) {
        let done = match request {
            Request::Start(request) => self.start(*request, client),
            Request::Fork(request) => self.fork(*request, client),
            Request::Resume(request) => self.resume(*request, client),
            Request::Answer(request) => self.answer(*request, client),
            Request::Cancel { run, by, caller } => self.cancel(&run, by, &caller, client),
            Request::Ping => {
                tell(client, Response::Pong);
                Ok(())
            }
        };
        match done {
            Err(refused) if refused.code == Code::EngineStopping => {
                tell(client, Response::Stopped { reason: refused.message })
            }
            Err(refused) => tell(client, Response::Refused(refused)),
            Ok(()) => {}
        }
    }

    /// From now on `watcher` hears of every commit.
    pub fn watch(&self, watcher: Watcher) {
        self.followers.watch(watcher);
    }

    /// Sends a message to the loop and waits for its answer.
    pub(crate) fn exchange(&self, message: impl FnOnce(Reply) -> Message) -> Result<(), EngineError> {
        let (tell, told) = mpsc::channel();
        // Whoever asked may have gone away in the meantime.
        let reply: Reply = Box::new(move |result| tell.send(result).unwrap_or_default());
        let gone = || EngineError::Stopping { reason: "it is closing".to_owned() };
        self.mailbox.send(message(reply)).map_err(|_| gone())?;
        told.recv().map_err(|_| gone())?
    }
}

/// Tells a client; one that has gone away does not need to know.
pub(crate) fn tell(client: &Sender<Response>, response: Response) {
    client.send(response).unwrap_or_default();
}

/// A missing secret refuses the start before its commit.
pub(crate) fn check_secrets(flow: &Flow, caller: &Caller) -> Result<(), Refused> {
    secrets(&flow.secrets, caller).map(drop).map_err(|message| {
        Refused::new(
            Code::SecretMissing,
            message,
            Some("set it where the command is called; secrets are never stored"),
        )
    })
}

#[cfg(test)]
mod tests;
