//! Runs that another engine decides: the commands of this crate that a server of a cluster uses.
//!
//! Owns the checks that are the same there: of a start, of an answer, of results. It commits nothing and starts nothing. An
//! implementation of [`RemoteCommands`] sends the checked request to the engine that decides the run.

use super::{
    answer,
    start::{self, Checked, Where},
};
use crate::{
    attempts::secrets,
    delivery::{callers::Callers, settings::Notices},
    model::{
        protocol::{CallerWire, Refused, Request, Response, StartRequest},
        runner::Caller,
    },
    observe::followers::Watcher,
    query::misfit,
};
use envoi_journal::{PinnedFlow, Reader, Store};
use envoi_kernel::{
    Flow, Run,
    event::{FoundFile, InterruptRaised},
    ids::{InterruptId, RunId},
    input::{Answer, AttemptResult, Start},
};
use std::{
    path::Path,
    sync::{Arc, mpsc::Sender},
};

/// Takes requests in the place of the engine of this process.
pub trait RemoteCommands: Send + Sync {
    /// Does a request. [`Response::Accepted`], [`Response::Refused`] or [`Response::Stopped`] goes to `client`.
    fn serve(&self, request: Request, client: &Sender<Response>);

    /// From now on `watcher` is called with every commit that is shown here.
    fn watch(&self, watcher: Watcher);
}

/// A run that may begin.
#[derive(Debug)]
pub struct Beginning {
    /// Its flow.
    pub flow: Arc<Flow>,
    /// The text of that.
    pub pinned: PinnedFlow,
    /// The input that begins it.
    pub start: Start,
}

/// Checks a request to start a run that works in `workspace`. Secrets are not looked at: they are the worker's. The variables whose values
/// are stored nowhere are those of `notices`, as on one machine.
///
/// # Errors
/// As the engine refuses it: `FLOW_INVALID`, `INPUT_INVALID`, `YES_TO_INVALID`.
pub fn beginning(
    request: &StartRequest,
    workspace: &Path,
    run_base: &Path,
    notices: &Notices,
) -> Result<Beginning, Refused> {
    let Checked { parsed, inputs } = start::checked(request)?;
    start::check_tokens(&Callers::new(notices), &parsed.flow)?;
    start::check_yes_to(&parsed.flow, &request.yes_to)?;
    let place = Where { workspace, run_base, isolated: None };
    Ok(Beginning {
        flow: Arc::clone(&parsed.flow),
        pinned: start::pinned_of(request, &parsed),
        start: start::start_of(request, &parsed, inputs, place, None),
    })
}

/// The question of an answer, and the answer with its form completed.
///
/// # Errors
/// `QUESTION_CLOSED` has the outcome of the question; `ANSWER_INVALID`.
pub fn completed<'r>(
    store: &Store,
    id: &RunId,
    run: &'r Run,
    answer: Answer,
) -> Result<(&'r InterruptRaised, Answer), Refused> {
    let Some(raised) = answer::open(run, &answer.interrupt) else {
        return Err(closed(store, id, &answer.interrupt));
    };
    Ok((raised, answer::with_form(run, raised, answer)?))
}

/// The refusal for a question that does not wait any more.
#[must_use]
pub fn closed(store: &Store, run: &RunId, interrupt: &InterruptId) -> Refused {
    answer::closed(store, run, interrupt)
}

/// The artifacts in the workspace that differ from those that the question has shown, if `answer` would use them.
///
/// # Errors
/// The store cannot be read.
pub fn changed_since_shown(
    reader: &Reader,
    run: &Run,
    raised: &InterruptRaised,
    answer: &Answer,
) -> Result<Vec<FoundFile>, Refused> {
    if answer::says_yes(answer.choice, raised) {
        answer::changed_since(reader, run, raised)
    } else {
        Ok(Vec::new())
    }
}

/// The result of an attempt of `run`, with why its data does not fit the `outputs` of its step.
#[must_use]
pub fn checked_result(run: &Run, result: AttemptResult) -> AttemptResult {
    let step = run.step(&result.attempt.visit);
    let misfit = step.and_then(|step| misfit::of(step, &result));
    AttemptResult { misfit, ..result }
}

/// The values that commands of a run may see: of the secrets, those that its flow names.
#[must_use]
pub fn caller_of(flow: &Flow, wire: &CallerWire) -> Arc<Caller> {
    secrets::caller_of(flow, wire)
}
