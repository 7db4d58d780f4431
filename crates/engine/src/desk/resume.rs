//! A run goes on: from the journal, with the flow it is pinned to.

use super::{Desk, caller_of, check_secrets, read_failed, tell};
use crate::{
    message::{Adopt, Ask, Message},
    protocol::{Refused, Response, ResumeRequest},
    runner::Caller,
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
        let run = self.load(&request.run)?;
        let asks = asks(&run, &request)?;
        let caller = caller_of(run.flow(), &request.caller);
        check_secrets(run.flow(), &caller)?;
        let reader = self.store.reader().map_err(|error| read_failed(&error))?;
        files::restore_run(&self.layout, &reader, &request.run)
            .map_err(|error| Refused::failure(error.to_string()))?;
        let status = run.status();
        if matches!(status, Status::Ended(_)) && asks.is_empty() {
            tell(client, Response::Accepted { run: request.run.clone() });
            self.followers.add(&request.run, client.clone());
            self.followers.rest(&request.run, &status);
            return Ok(());
        }
        // One that has a live attempt there is there, whatever anybody says.
        let enters = run.wants().attempts.is_empty();
        if let Some(started) = run.started().filter(|started| enters && !started.shared) {
            self.check_free(&started.workspace, &request.run, |other| other)?;
        }
        self.adopt(run, caller)?;
        self.followers.add(&request.run, client.clone());
        tell(client, Response::Accepted { run: request.run.clone() });
        let nothing_asked = asks.is_empty();
        for ask in asks {
            self.ask(&request.run, ask)?;
        }
        if nothing_asked {
            self.followers.rest(&request.run, &status);
        }
        Ok(())
    }

    /// The run as the journal has it.
    pub(super) fn load(&self, id: &RunId) -> Result<Run, Refused> {
        let reader = self.store.reader().map_err(|error| read_failed(&error))?;
        load_run(&reader, id)
    }

    pub(super) fn adopt(&self, run: Run, caller: Arc<Caller>) -> Result<(), Refused> {
        self.exchange(|reply| Message::Adopt(Box::new(Adopt { run, caller, reply })))
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
