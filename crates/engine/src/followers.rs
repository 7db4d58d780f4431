//! Who follows which run, and the files that show a run: both learn of a commit before anything it asks for is started.

use crate::{
    processes::Point,
    protocol::{Response, Standing},
    runner::Observer,
};
use envoi_journal::{Layout, Reader, files};
use envoi_kernel::{Event, Record, Run, ids::RunId};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError, mpsc::Sender},
};

/// Called with each commit of any run, from the engine's thread: it must be quick and must not panic.
pub type Watcher = Arc<dyn Fn(&RunId, &[Record]) + Send + Sync>;

/// The followers of all runs of an engine. Cheap to clone.
#[derive(Clone, Default)]
pub struct Followers {
    by_run: Arc<Mutex<BTreeMap<RunId, Vec<Sender<Response>>>>>,
    watchers: Arc<Mutex<Vec<Watcher>>>,
}

impl Followers {
    /// From now on `follower` hears of every commit of `run`, until the run comes to rest.
    pub fn add(&self, run: &RunId, follower: Sender<Response>) {
        self.lock().entry(run.clone()).or_default().push(follower);
    }

    /// Tells the followers of `run` how it stands, and forgets them if it is at rest.
    pub fn rest(&self, run: &RunId, status: &envoi_kernel::Status) {
        let Some(standing) = Standing::of(status) else { return };
        for follower in self.lock().remove(run).unwrap_or_default() {
            drop(follower.send(Response::Rest { standing: standing.clone() }));
        }
    }

    /// Tells everybody that the engine has stopped.
    pub fn stopped(&self, reason: &str) {
        for follower in core::mem::take(&mut *self.lock()).into_values().flatten() {
            drop(follower.send(Response::Stopped { reason: reason.to_owned() }));
        }
    }

    /// From now on `watcher` hears of every commit of every run, as long as the engine lives.
    pub fn watch(&self, watcher: Watcher) {
        self.watchers.lock().unwrap_or_else(PoisonError::into_inner).push(watcher);
    }

    fn tell(&self, run: &RunId, records: &[Record]) {
        for watcher in self.watchers.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            watcher(run, records);
        }
        let mut by_run = self.lock();
        let Some(followers) = by_run.get_mut(run) else { return };
        followers.retain(|follower| {
            let hears = |record: &Record| {
                follower.send(Response::Record { record: Box::new(record.clone()) }).is_ok()
            };
            records.iter().all(hears)
        });
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<RunId, Vec<Sender<Response>>>> {
        self.by_run.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes hand-off files and artifact places, then tells the followers.
pub struct Shower {
    layout: Layout,
    reader: Reader,
    followers: Followers,
    reached: fn(Point),
}

impl Shower {
    /// Files go below `layout`; contents come from `reader`.
    #[must_use]
    pub fn new(layout: Layout, reader: Reader, followers: Followers) -> Self {
        Self { layout, reader, followers, reached: |_| {} }
    }

    /// Calls `reached` at [`Point::BeforeShow`].
    #[must_use]
    pub fn with_points(mut self, reached: fn(Point)) -> Self {
        self.reached = reached;
        self
    }

    /// An engine that was stopped after its commit, and overtaken, must not put its old files over newer ones.
    fn check_newest(&self, run: &RunId, records: &[Record]) -> Result<(), String> {
        let next = self.reader.next_seq(run).map_err(|error| error.to_string())?;
        match records.last() {
            Some(last) if next > last.seq.saturating_add(1) => {
                Err(format!("another engine has gone on with run `{run}`"))
            }
            _ => Ok(()),
        }
    }
}

impl Observer for Shower {
    fn committed(&mut self, run: &Run, records: &[Record]) -> Result<(), String> {
        let Some(started) = run.started() else { return Ok(()) };
        if records.iter().any(|record| matches!(record.event, Event::HandoffWritten(_))) {
            (self.reached)(Point::BeforeShow);
        }
        self.check_newest(&started.run, records)?;
        let flow = &run.flow().id;
        for record in records {
            files::project(&self.layout, &self.reader, &started.run, flow, record)
                .map_err(|error| error.to_string())?;
        }
        self.followers.tell(&started.run, records);
        self.followers.rest(&started.run, &run.status());
        Ok(())
    }
}
