//! What happens to a run from now on: brought here by a thread of its own, also while a person at the terminal thinks.

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

/// See the module.
pub(crate) struct Tail {
    updates: mpsc::Receiver<RunUpdate>,
}

/// An update of a run.
pub(crate) enum RunUpdate {
    /// Something happened; it is in the mirror.
    Record(Box<Record>),
    /// The run is over, and that was all.
    Over,
    /// No more updates can come.
    Lost(Failure),
}

impl Tail {
    /// Takes the events of `run`, which was begun, from this one on.
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
                // The receiver is gone when the command is done; then the process ends, too.
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

    /// The next update; `None` if none comes for so long.
    pub(crate) fn next_within(&self, longest: Duration) -> Option<RunUpdate> {
        match self.updates.recv_timeout(longest) {
            Ok(updates) => Some(updates),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => {
                Some(RunUpdate::Lost(Failure::machine("a thread", "it ended")))
            }
        }
    }

    /// The updates that have arrived and were not taken yet.
    pub(crate) fn ready(&self) -> Option<RunUpdate> {
        self.updates.try_recv().ok()
    }
}
