//! Messages to the engine's loop, and its replies.

use crate::model::{
    runner::{Caller, CallingAttempt, Settlement},
    trouble::Trouble,
};
use envoi_journal::{Aside, CommitError, Note, PinnedFlow, Receipt};
use envoi_kernel::{
    Flow, Fork, Input, Refusal, Run,
    ids::{AttemptId, RunId},
    input::Start,
};
use std::sync::{Arc, Mutex, PoisonError};

/// Something for the loop.
pub enum Message {
    /// A new run.
    Begin(Box<Begin>),
    /// A new run that begins with the history of another one.
    Fork(Box<Branch>),
    /// A run from the journal; the engine goes on with it.
    Adopt(Box<Adopt>),
    /// A folder is to be made for a new run: may it begin afterwards? If so, its [`Begin`] is not refused because the engine has
    /// been stopped meanwhile. Otherwise the next engine would make the folder again.
    MayBegin {
        /// The attempts that it was called by.
        within: Vec<CallingAttempt>,
        /// Answered at once.
        reply: Reply,
    },
    /// A client's request to a run.
    Input {
        /// Which run; it must have been begun or adopted.
        run: RunId,
        /// The input.
        input: Box<Input>,
        /// Answered after the commit.
        reply: Reply,
    },
    /// Whether an attempt is live by the journal.
    IsLive {
        /// The run.
        run: RunId,
        /// The attempt.
        attempt: AttemptId,
        /// Answered at once; `None` if the engine does not hold the run.
        reply: Box<dyn FnOnce(Option<bool>) + Send>,
    },
    /// A commit is durable, or is not.
    Committed {
        /// The run.
        run: RunId,
        /// The result.
        result: Result<Receipt, CommitError>,
    },
    /// An attempt is over.
    Settled {
        /// The run.
        run: RunId,
        /// The attempt.
        attempt: AttemptId,
        /// The outcome.
        settlement: Settlement,
    },
    /// A note about a run is durable, or is not.
    Noted {
        /// The note.
        note: Note,
        /// The result.
        result: Result<Receipt, CommitError>,
    },
    /// A run has trouble: it is set aside. Messages about its attempts arrive as before.
    Troubled {
        /// The run.
        run: RunId,
        /// The trouble.
        trouble: Trouble,
    },
    /// A run that is not held cannot be adopted because of trouble: it is set aside.
    Unloadable {
        /// The run.
        run: RunId,
        /// The trouble.
        trouble: Trouble,
        /// Called with [`EngineError::SetAside`] when that is durable; with `Ok` if the engine holds the run all the same.
        reply: Reply,
    },
    /// A timer may be due.
    Wake,
    /// Start nothing new; stop when no attempt is live.
    Drain,
}

/// See [`Message::Begin`].
pub struct Begin {
    /// A run without events.
    pub run: Run,
    /// The data of its start.
    pub start: Start,
    /// A folder was made for it after [`Message::MayBegin`].
    pub made: bool,
    /// The flow, as it is stored.
    pub pinned: PinnedFlow,
    /// Variables and secrets of the client.
    pub caller: Arc<Caller>,
    /// Answered after the commit.
    pub reply: Reply,
}

/// See [`Message::Fork`].
pub struct Branch {
    /// A run without events.
    pub run: Run,
    /// The data of the fork.
    pub fork: Fork,
    /// As in [`Begin`].
    pub made: bool,
    /// The flow, as it is stored.
    pub pinned: PinnedFlow,
    /// Variables and secrets of the client.
    pub caller: Arc<Caller>,
    /// Answered after the commit.
    pub reply: Reply,
}

/// See [`Message::Adopt`].
pub struct Adopt {
    /// The run as the journal has it.
    pub run: Run,
    /// Inputs to decide before anything of the run is started.
    pub inputs: Vec<Input>,
    /// The corrected flow, if one of the inputs corrects it.
    pub corrected: Option<Corrected>,
    /// The purpose.
    pub purpose: Purpose,
    /// The reason for which it was set aside, if it is to be tried again.
    pub again: Option<Aside>,
    /// The id of the request, to be noted as done if it has no `inputs`.
    pub request: Option<String>,
    /// Whether an attempt of it lives: then it works in its workspace already.
    pub is_inside: bool,
    /// Bytes of the events since its last snapshot.
    pub tail_bytes: u64,
    /// Variables and secrets of the client.
    pub caller: Arc<Caller>,
    /// Answered when it is in the loop and its decision on `inputs` is durable.
    pub reply: Reply,
}

/// A corrected flow of a run.
#[derive(Debug, Clone)]
pub struct Corrected {
    /// The flow.
    pub flow: Arc<Flow>,
    /// The same, as it is stored with the event that pins it.
    pub pinned: PinnedFlow,
}

/// The purpose of adopting a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// It goes on.
    GoOn,
    /// It is only going to be ended, and may be beside others in its workspace for that.
    End,
    /// Its requests are decided, and nothing of it is started, unless this engine goes on with it already.
    Decide,
}

/// Called once, from the engine's thread.
pub type Reply = Box<dyn FnOnce(Result<(), EngineError>) + Send>;

/// As many replies as there are parts of a request; `whole` is called once, after the last of them, with the first error
/// if there is one. With no parts it is called now.
pub(crate) fn all_of(whole: Reply, parts: usize) -> Vec<Reply> {
    if parts == 0 {
        whole(Ok(()));
        return Vec::new();
    }
    let state = Arc::new(Mutex::new((parts, Ok(()), Some(whole))));
    let part = || -> Reply {
        let state = Arc::clone(&state);
        Box::new(move |result| {
            let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
            state.0 = state.0.saturating_sub(1);
            if state.1.is_ok() {
                state.1 = result;
            }
            if state.0 == 0
                && let Some(whole) = state.2.take()
            {
                whole(state.1.clone());
            }
        })
    };
    (0..parts).map(|_| part()).collect()
}

/// Why the engine did not do a request.
#[derive(Debug, Clone, thiserror::Error)]
pub enum EngineError {
    /// The run does not accept it now; nothing has changed.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The store did not take it; acknowledged commits stay. The engine stops, unless it is the commit that is at fault.
    #[error("the store failed: {0}")]
    Store(#[from] CommitError),
    /// Another run of this engine is at work in the workspace, and it was not agreed to share it.
    #[error("{}", crate::model::claim::busy(run, workspace, wanted))]
    WorkspaceBusy {
        /// The other run.
        run: RunId,
        /// The workspace of that run.
        workspace: String,
        /// The requested workspace: the same one, one inside it, or one around it.
        wanted: String,
    },
    /// The run has gone on since it was loaded; load it again.
    #[error("run `{run}` has gone on since it was loaded")]
    Stale {
        /// The run.
        run: RunId,
    },
    /// The engine does not hold this run.
    #[error("run `{run}` is not held by this engine")]
    NotHeld {
        /// The run.
        run: RunId,
    },
    /// Something is wrong with this run alone: nothing of it is started until a request takes it up again.
    #[error("run `{run}` is set aside ({code}): {reason}")]
    SetAside {
        /// The run.
        run: RunId,
        /// The code of the trouble.
        code: String,
        /// In a sentence.
        reason: String,
    },
    /// The journal could not be read for the last event of a run. Nothing was done.
    #[error("the store cannot be read for run `{run}`: {reason}")]
    Unread {
        /// The run.
        run: RunId,
        /// The reason.
        reason: String,
    },
    /// The store is not where this engine opened it. Acknowledged commits stay, and the next engine goes on where the store is now.
    #[error("{reason}; the next engine goes on where the project is now")]
    Moved {
        /// The reason.
        reason: String,
    },
    /// Another engine has taken the store over; any failure after that is only a sign of it.
    #[error("another engine has taken over the store")]
    TakenOver,
    /// The engine is stopping.
    #[error("the engine is stopping: {reason}")]
    Stopping {
        /// The reason.
        reason: String,
    },
}
