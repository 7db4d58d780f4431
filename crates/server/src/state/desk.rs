//! The receiver of requests that change runs: the engine of this process, or a connection to the engine that
//! decides elsewhere.

use envoi_contract::code::Code;
use envoi_engine::{
    Commands, Watcher,
    elsewhere::RemoteCommands,
    protocol::{CallerWire, Refused, Request, Response},
};
use envoi_kernel::{
    ids::{AttemptId, RunId},
    input::{ModelCall, ModelCalled},
};
use std::sync::{Arc, mpsc::Sender};

/// The receiver of such requests. Cheap to clone.
#[derive(Clone)]
pub enum Desk {
    /// The engine of this process.
    Engine(Box<Commands>),
    /// An engine elsewhere.
    Remote(Arc<dyn RemoteCommands>),
}

impl From<Commands> for Desk {
    fn from(commands: Commands) -> Self {
        Self::Engine(Box::new(commands))
    }
}

impl Desk {
    /// Checks that this process has the output of steps.
    ///
    /// # Errors
    /// `NOT_YET_SUPPORTED` if the runs are decided, and their steps run, elsewhere.
    pub(crate) fn has_output(&self) -> Result<(), Refused> {
        match self {
            Self::Engine(_) => Ok(()),
            Self::Remote(_) => {
                let message = "the output of a cluster's steps cannot be shown yet: it stays in the folder of the worker";
                Err(Refused::new(Code::NotYetSupported, message, None))
            }
        }
    }

    pub(crate) fn serve(&self, request: Request, client: &Sender<Response>) {
        match self {
            Self::Engine(commands) => commands.serve(request, client),
            Self::Remote(remote) => remote.serve(request, client),
        }
    }

    pub(crate) fn watch(&self, watcher: Watcher) {
        match self {
            Self::Engine(commands) => commands.watch(watcher),
            Self::Remote(remote) => remote.watch(watcher),
        }
    }

    /// Like [`Commands::hold_contents`]. Without an engine nothing is garbage-collected.
    pub(crate) fn hold_contents(&self) -> Option<impl Drop + '_> {
        match self {
            Self::Engine(commands) => Some(commands.hold_contents()),
            Self::Remote(_) => None,
        }
    }

    pub(crate) fn model_call(
        &self,
        run: &RunId,
        call: ModelCall,
        caller: impl FnOnce() -> Option<CallerWire>,
    ) -> Result<(), Refused> {
        match self {
            Self::Engine(commands) => commands.model_call(run, call, caller),
            Self::Remote(_) => Err(no_models()),
        }
    }

    pub(crate) fn model_called(
        &self,
        run: &RunId,
        called: ModelCalled,
        caller: impl FnOnce() -> Option<CallerWire>,
    ) -> Result<(), Refused> {
        match self {
            Self::Engine(commands) => commands.model_called(run, called, caller),
            Self::Remote(_) => Err(no_models()),
        }
    }

    pub(crate) fn is_live(&self, run: &RunId, attempt: &AttemptId) -> Result<bool, Refused> {
        match self {
            Self::Engine(commands) => commands.is_live(run, attempt),
            // No worker has an attempt token from this server.
            Self::Remote(_) => Ok(false),
        }
    }
}

fn no_models() -> Refused {
    let message = "a run of a cluster cannot pay for calls of models yet";
    Refused::new(Code::NotYetSupported, message, Some("leave out the header that names the run"))
}
