//! A run goes on: from the journal, with the flow it is pinned to.

use super::{Desk, caller_of, check_secrets, read_failed, refused, tell};
use crate::{
    message::{Adopt, Ask, EngineError, Message},
    protocol::{CallerWire, Refused, Response, ResumeRequest},
};
use envoi_journal::files;
use envoi_kernel::{
    Run, Status,
    event::{About, Choice},
    ids::RunId,
};
use std::sync::{Arc, mpsc::Sender};

impl Desk {
    pub(super) fn resume(&self, request: ResumeRequest, client: &Sender<Response>) -> Result<(), Refused> {
        // Before the run is looked at, so that its rest cannot be missed.
        self.followers.add(&request.run, client.clone());
        let run = self.load(&request.run)?;
        let asks = asks(&run, &request)?;
        check_secrets(run.flow(), &caller_of(run.flow(), &request.caller))?;
        if let Some(started) = run.started().filter(|started| !started.shared) {
            self.check_free(&started.workspace, &request.run)?;
        }
        let status = self.adopt(&request.run, &request.caller, false)?.status();
        tell(client, Response::Accepted { run: request.run.clone() });
        if asks.is_empty() {
            self.followers.rest(&request.run, &status);
        }
        asks.into_iter().try_for_each(|ask| self.ask(&request.run, ask))
    }

    fn load(&self, id: &RunId) -> Result<Run, Refused> {
        let reader = self.store.reader().map_err(|error| read_failed(&error))?;
        load_run(&reader, id)
    }

    /// Has the loop go on with a run, and returns it as it was loaded. Its files are made good first. A run that went on
    /// while it was loaded is loaded again.
    pub(super) fn adopt(&self, id: &RunId, caller: &CallerWire, to_end: bool) -> Result<Run, Refused> {
        let reader = self.store.reader().map_err(|error| read_failed(&error))?;
        files::restore_run(&self.layout, &reader, id).map_err(|error| Refused::failure(error.to_string()))?;
        loop {
            let run = load_run(&reader, id)?;
            let caller = caller_of(run.flow(), caller);
            let adopt = Adopt { run: run.clone(), to_end, caller, reply: Box::new(|_| {}) };
            match self.exchange(|reply| Message::Adopt(Box::new(Adopt { reply, ..adopt }))) {
                Ok(()) => return Ok(run),
                Err(EngineError::Stale { .. }) => {}
                Err(error) => return Err(refused(error)),
            }
        }
    }
}

/// A run from the journal: its pinned flow, the newest snapshot, and the events after it.
///
/// # Errors
/// A refusal that says what is missing or damaged.
pub fn load_run(reader: &envoi_journal::Reader, id: &RunId) -> Result<Run, Refused> {
    let loaded = reader.load(id).map_err(|error| read_failed(&error))?;
    let flow = envoi_flow::load(&loaded.pinned.name, &loaded.pinned.text).map_err(|report| {
        Refused::failure(format!(
            "the flow that run `{id}` is pinned to cannot be read by this version:\n{report}"
        ))
    })?;
    let flow = Arc::new(flow.flow);
    let mut run = match loaded.snapshot {
        Some(snapshot) => Run::restore(Arc::clone(&flow), &snapshot.state)
            .map_err(|error| Refused::failure(format!("run `{id}`: {error}")))?,
        None => Run::new(flow),
    };
    for record in &loaded.records {
        run.apply(record).map_err(|error| Refused::failure(format!("run `{id}`: {error}")))?;
    }
    Ok(run)
}

/// What is to be decided first, checked against how the run stands.
fn asks(run: &Run, request: &ResumeRequest) -> Result<Vec<Ask>, Refused> {
    let by = &request.by;
    let over = matches!(run.status(), Status::Ended(_));
    if over && request.choice.is_none() && request.reopen {
        return Ok(vec![Ask::Reopen { by: by.clone(), why: request.why.clone() }]);
    }
    let Some(choice) = request.choice else { return Ok(Vec::new()) };
    let in_doubt = matches!(choice, Choice::Rerun | Choice::Fail);
    let open: Vec<_> =
        run.interrupts().filter(|raised| (raised.about == About::InDoubt) == in_doubt).collect();
    if open.is_empty() {
        let kind = if in_doubt { "about an attempt in doubt" } else { "that waits for a review" };
        let message = format!("run `{}` has no question {kind}", request.run);
        return Err(Refused::new("WRONG_ANSWER", message, Some("`envoi show RUN` says what it waits for")));
    }
    let answer = |raised: &envoi_kernel::event::InterruptRaised| Ask::Answer {
        interrupt: raised.interrupt.clone(),
        choice,
        by: by.clone(),
    };
    Ok(open.into_iter().map(answer).collect())
}
