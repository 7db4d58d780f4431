//! The front desk: takes requests of commands, prepares what the loop needs, and tells how it went.
//!
//! Owns the checks that need more than one run (workspace, secrets, the pinned flow). Everything about one run is decided in
//! the loop. Works on the thread of whoever asks, so that reading a flow or a journal never holds up the loop.

mod answer;
mod begin;
mod call;
mod family;
mod fork;
mod resume;

use resume::Adoption;
pub use resume::load_run;

use crate::{
    courier::Callers,
    followers::{Followers, Watcher},
    message::{Ask, EngineError, Message, Purpose, Reply},
    protocol::{CallerWire, Refused, Request, Response, Standing},
    runner::Caller,
};
use envoi_journal::{Layout, ReadError, Store};
use envoi_kernel::{
    Flow, Run, Status,
    event::EndStatus,
    flow::SecretSource,
    ids::{Principal, RunId},
};
use std::sync::{
    Arc, Mutex,
    mpsc::{self, Sender},
};

/// The loop had ended before it heard of the request: nothing was done, and whoever is the engine next can be asked.
const STOPPING: &str = "ENGINE_STOPPING";

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
            Err(refused) if refused.code == STOPPING => {
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

    fn cancel(
        &self,
        run: &RunId,
        by: Principal,
        caller: &CallerWire,
        client: &Sender<Response>,
    ) -> Result<(), Refused> {
        // Before the run is looked at, so that its end cannot be missed.
        self.followers.add(run, client.clone());
        // Whatever is wrong with it, it is tried to end it.
        let again = self.aside_with_its_rows(run)?.is_some();
        let cancel = |loaded: &Run| match loaded.status() {
            Status::Ended(_) => Ok(Vec::new()),
            _ => Ok(vec![Ask::Cancel { by: by.clone() }]),
        };
        let found = match self.adopt(run, caller, Adoption { purpose: Purpose::End, again }, cancel) {
            // Somebody else has asked for it already; its end is waited for all the same.
            Err(refused) if refused.code == "CANCELLING" => None,
            adopted => Some(adopted?.status()),
        };
        match found {
            Some(Status::Ended(ended)) if ended.status != EndStatus::Cancelled => {
                Err(Refused::new("RUN_OVER", format!("run `{run}` is over ({})", ended.status.word()), None))
            }
            Some(status @ Status::Ended(_)) => {
                tell(client, Response::Accepted { run: run.clone() });
                Standing::of(&status)
                    .into_iter()
                    .for_each(|standing| tell(client, Response::Rest { standing }));
                Ok(())
            }
            _ => {
                tell(client, Response::Accepted { run: run.clone() });
                Ok(())
            }
        }
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

/// What commands of this run may see: the secrets are those that its flow names.
pub(crate) fn caller_of(flow: &Flow, wire: &CallerWire) -> Arc<Caller> {
    let value = |variable: &str| {
        wire.secrets.iter().find(|(name, _)| name == variable).map(|(_, value)| value.clone())
    };
    let secrets = flow.secrets.iter().filter_map(|secret| match &secret.source {
        SecretSource::Env(variable) => Some((secret.name.clone(), value(variable)?)),
        SecretSource::File(_) => None,
    });
    Arc::new(Caller {
        env: wire.env.clone(),
        secrets: secrets.collect(),
        flow_dir: wire.flow_dir.clone(),
        within: wire.within.clone(),
    })
}

/// A missing secret refuses the start before its commit.
pub(crate) fn check_secrets(flow: &Flow, caller: &Caller) -> Result<(), Refused> {
    crate::processes::secrets(&flow.secrets, caller).map(drop).map_err(|message| {
        Refused::new(
            "SECRET_MISSING",
            message,
            Some("set it where the command is called; secrets are never stored"),
        )
    })
}

pub(crate) fn read_failed(error: &ReadError) -> Refused {
    match error {
        ReadError::Missing { .. } => {
            Refused::bad_input("RUN_NOT_FOUND", error.to_string(), Some("`envoi runs` lists them"))
        }
        _ => Refused::failure(error.to_string()),
    }
}

pub(crate) fn refused(error: EngineError) -> Refused {
    use envoi_kernel::Refusal;
    let message = error.to_string();
    match error {
        EngineError::Refused(refusal) => {
            let code = match refusal {
                Refusal::Over { .. } => "RUN_OVER",
                Refusal::NotReopenable { .. } => "NOT_REOPENABLE",
                Refusal::NotForkable { .. } => "NOT_FORKABLE",
                Refusal::NotOpen { .. } => "QUESTION_CLOSED",
                Refusal::Expired { .. } => "QUESTION_EXPIRED",
                Refusal::Changed { .. } => "SUBJECT_CHANGED",
                Refusal::NotByStarter { .. } | Refusal::AlreadyVoted { .. } => "NOT_YOURS_TO_ANSWER",
                Refusal::WrongChoice { .. } => "WRONG_ANSWER",
                Refusal::Blank | Refusal::Misfit { .. } => {
                    return Refused::bad_input("ANSWER_INVALID", message, None);
                }
                Refusal::PastBound { .. } => "PAST_BOUND",
                Refusal::NotRaised { .. } => "NOT_RAISED",
                Refusal::Cancelling => "CANCELLING",
                Refusal::NoCallsLeft { .. } => "BUDGET_EXHAUSTED",
                Refusal::NotLive { .. } => "ATTEMPT_OVER",
                Refusal::NoCall { .. } => "CALL_OVER",
                Refusal::AlreadyStarted => "ALREADY_STARTED",
                Refusal::Inconsistent { .. } => return Refused::failure(message),
                _ => "REFUSED",
            };
            Refused::new(code, message, None)
        }
        EngineError::WorkspaceBusy { .. } => begin::workspace_busy(message),
        EngineError::Stopping { .. } | EngineError::TakenOver => Refused::new(STOPPING, message, None),
        EngineError::SetAside { run, code, reason } => Refused::set_aside(&run, &code, &reason),
        EngineError::Store(_)
        | EngineError::Stale { .. }
        | EngineError::NotHeld { .. }
        | EngineError::Unread { .. } => Refused::failure(message),
    }
}

#[cfg(test)]
mod tests;
