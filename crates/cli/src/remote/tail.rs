//! Receives the new events of a run on its own thread, also while a person at the terminal thinks.

use super::{
    Remote,
    call::{read, segment},
    pull::{StoredEvent, take},
    stream,
};
use crate::process::failure::Failure;
use envoi_kernel::{
    Record,
    ids::{RunId, Seq},
};
use std::{
    sync::{
        Arc,
        mpsc::{self, RecvTimeoutError},
    },
    thread,
    time::Duration,
};

/// The updates of one run.
pub(crate) struct Tail {
    updates: mpsc::Receiver<RunUpdate>,
}

/// An update of a run.
pub(crate) enum RunUpdate {
    /// Something happened; it is in the mirror.
    Record(Box<Record>),
    /// The run has ended, and there are no more events.
    Over,
    /// No more updates can come.
    Lost(Failure),
}

impl Tail {
    /// Receives the events of `run` from this one on. Its copy must have been begun.
    pub(crate) fn of(remote: &Remote, run: &RunId, from: Seq) -> Result<Self, Failure> {
        let (tell, updates) = mpsc::channel();
        let server = remote.server.clone();
        let mirror = Arc::clone(remote.mirror()?);
        let run = run.clone();
        let last = from.checked_sub(1).map(|seq| seq.to_string());
        let hearing = move || {
            let path = format!("/v1/runs/{}/stream?form=stored", segment(run.as_str()));
            let over = stream::follow(&server, &path, last, |event| {
                let record = read::<StoredEvent>(event.data.as_bytes())?.record()?;
                take(&server, &mirror, &run, core::slice::from_ref(&record))?;
                // The receiver is dropped when the command is done, and then the process also ends.
                let _ = tell.send(RunUpdate::Record(Box::new(record)));
                Ok(())
            });
            let _ = tell.send(over.map_or_else(RunUpdate::Lost, |()| RunUpdate::Over));
        };
        thread::Builder::new()
            .name("stream".to_owned())
            .spawn(hearing)
            .map_err(|error| Failure::machine("a thread", error))?;
        Ok(Self { updates })
    }

    /// The next update. `None` if none arrives within this time.
    pub(crate) fn next_within(&self, longest: Duration) -> Option<RunUpdate> {
        match self.updates.recv_timeout(longest) {
            Ok(updates) => Some(updates),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => {
                Some(RunUpdate::Lost(Failure::machine("a thread", "it ended")))
            }
        }
    }

    /// An update that has arrived and was not taken yet.
    pub(crate) fn ready(&self) -> Option<RunUpdate> {
        self.updates.try_recv().ok()
    }
}
