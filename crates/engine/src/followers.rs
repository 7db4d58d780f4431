//! Who follows which run, and the files that show a run: both learn of a commit before anything it asks for is started.

use crate::{
    chronicle,
    placing::Placing,
    processes::Point,
    protocol::{Response, Standing},
    runner::Observer,
};
use envoi_journal::{Aside, Layout, Reader, files, with_causes};
use envoi_kernel::{
    Event, Record, Run, Status,
    ids::{FlowId, RunId},
};
use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
        mpsc::Sender,
    },
};

/// Called with each commit of any run, and with no records when a run is set aside or taken up again, from the engine's thread: it
/// must be quick and must not panic.
pub type Watcher = Arc<dyn Fn(&RunId, &[Record]) + Send + Sync>;

/// The followers of all runs of an engine. Cheap to clone.
#[derive(Clone, Default)]
pub struct Followers {
    by_run: Arc<Mutex<ByRun>>,
    watchers: Arc<Mutex<Vec<Watcher>>>,
    /// The next [`Asking::id`].
    ids: Arc<AtomicU64>,
}

type ByRun = BTreeMap<RunId, Vec<Follower>>;

/// Somebody who follows a run.
struct Follower {
    client: Sender<Response>,
    /// While a request of theirs is being done.
    asking: Option<Asking>,
}

/// What is kept back from a follower whose request takes several commits.
struct Asking {
    id: u64,
    /// How the run stood after its last commit, if it was at rest.
    rest: Option<Standing>,
}

/// A follower who hears of no rest until the request is done: a run that rests after the first part of it may go on with
/// the next one. Dropped, the run is not followed.
#[must_use]
pub(crate) struct Held<'f> {
    followers: &'f Followers,
    run: RunId,
    id: u64,
}

impl Followers {
    /// From now on `follower` hears of every commit of `run`, until the run comes to rest.
    pub fn add(&self, run: &RunId, follower: Sender<Response>) {
        self.lock().entry(run.clone()).or_default().push(Follower { client: follower, asking: None });
    }

    /// As [`Followers::add`], but a rest is told only when the request is done, and only if it is one by then.
    pub(crate) fn add_held(&self, run: &RunId, follower: Sender<Response>) -> Held<'_> {
        let id = self.ids.fetch_add(1, Ordering::Relaxed);
        let follower = Follower { client: follower, asking: Some(Asking { id, rest: None }) };
        self.lock().entry(run.clone()).or_default().push(follower);
        Held { followers: self, run: run.clone(), id }
    }

    /// Tells the followers of `run` how it stands, and forgets them if it is at rest.
    pub fn rest(&self, run: &RunId, status: &envoi_kernel::Status) {
        self.rest_as(run, Standing::of(status));
    }

    /// The run is set aside: its followers hear so, and hear no more.
    pub fn set_aside(&self, run: &RunId, why: &Aside) {
        self.wake(run);
        self.rest_as(run, Some(Standing::set_aside(why)));
    }

    /// The run is taken up again.
    pub(crate) fn taken_up(&self, run: &RunId) {
        self.wake(run);
    }

    fn rest_as(&self, run: &RunId, standing: Option<Standing>) {
        let mut by_run = self.lock();
        let Some(followers) = by_run.get_mut(run) else { return };
        followers.retain_mut(|follower| match (&mut follower.asking, &standing) {
            (Some(asking), standing) => {
                asking.rest.clone_from(standing);
                true
            }
            (None, Some(standing)) => {
                drop(follower.client.send(Response::Rest { standing: standing.clone() }));
                false
            }
            (None, None) => true,
        });
        if followers.is_empty() {
            by_run.remove(run);
        }
    }

    /// Tells everybody that the engine has stopped.
    pub fn stopped(&self, reason: &str) {
        for follower in core::mem::take(&mut *self.lock()).into_values().flatten() {
            drop(follower.client.send(Response::Stopped { reason: reason.to_owned() }));
        }
    }

    /// From now on `watcher` hears of every run, as long as the engine lives: see [`Watcher`].
    pub fn watch(&self, watcher: Watcher) {
        self.watchers.lock().unwrap_or_else(PoisonError::into_inner).push(watcher);
    }

    /// That a run is set aside, or is not any more, is no event: watchers look at its row.
    fn wake(&self, run: &RunId) {
        self.tell_watchers(run, &[]);
    }

    fn tell_watchers(&self, run: &RunId, records: &[Record]) {
        for watcher in self.watchers.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            watcher(run, records);
        }
    }

    fn tell(&self, run: &RunId, records: &[Record]) {
        self.tell_watchers(run, records);
        let mut by_run = self.lock();
        let Some(followers) = by_run.get_mut(run) else { return };
        followers.retain(|follower| {
            let hears = |record: &Record| {
                follower.client.send(Response::Record { record: Box::new(record.clone()) }).is_ok()
            };
            records.iter().all(hears)
        });
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, ByRun> {
        self.by_run.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Held<'_> {
    /// The request is done: its follower hears how the run stands if it rests now, else when it does.
    pub(crate) fn release(self) {
        let mut by_run = self.followers.lock();
        let Some(followers) = by_run.get_mut(&self.run) else { return };
        followers.retain_mut(|follower| {
            let Some(asking) = follower.asking.take_if(|asking| asking.id == self.id) else { return true };
            let Some(standing) = asking.rest else { return true };
            drop(follower.client.send(Response::Rest { standing }));
            false
        });
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        let mut by_run = self.followers.lock();
        let Some(followers) = by_run.get_mut(&self.run) else { return };
        followers.retain(|follower| follower.asking.as_ref().is_none_or(|asking| asking.id != self.id));
        if followers.is_empty() {
            by_run.remove(&self.run);
        }
    }
}

/// Writes hand-off files and artifact places, then tells the followers.
pub struct Shower {
    layout: Layout,
    reader: Reader,
    followers: Followers,
    reached: fn(Point),
    /// Where large sets are placed; without it, here.
    placing: Option<Placing>,
}

impl Shower {
    /// Files go below `layout`; contents come from `reader`.
    #[must_use]
    pub fn new(layout: Layout, reader: Reader, followers: Followers) -> Self {
        Self { layout, reader, followers, reached: |_| {}, placing: None }
    }

    /// Has large sets of files placed beside the loop.
    #[must_use]
    pub(crate) fn with_placing(mut self, placing: Placing) -> Self {
        self.placing = Some(placing);
        self
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
        let shown = Shown {
            layout: self.layout.clone(),
            followers: self.followers.clone(),
            run: started.run.clone(),
            flow: run.flow().id.clone(),
            status: run.status(),
        };
        let id = &started.run;
        match &self.placing {
            // What comes later is shown later: followers hear of it in the order of the journal.
            Some(placing) if placing.is_behind(id) || records.iter().any(files::are_many) => {
                let records = records.to_vec();
                placing.push(id, Box::new(move |reader| shown.show(reader, &records)))
            }
            _ => shown.show(&self.reader, records),
        }
    }

    fn set_aside(&mut self, run: &RunId, why: &Aside) {
        chronicle::set_aside(run, why);
        self.followers.set_aside(run, why);
    }

    fn taken_up(&mut self, run: &RunId) {
        if let Some(placing) = &self.placing {
            placing.forget_failure(run);
        }
        self.followers.taken_up(run);
    }
}

/// A run as it stands after a commit that is to be shown.
struct Shown {
    layout: Layout,
    followers: Followers,
    run: RunId,
    flow: FlowId,
    status: Status,
}

impl Shown {
    /// The files first, then whoever follows.
    fn show(&self, reader: &Reader, records: &[Record]) -> Result<(), String> {
        for record in records {
            files::project(&self.layout, reader, &self.run, &self.flow, record)
                .map_err(|error| with_causes(&error))?;
        }
        chronicle::tell(&self.run, records);
        self.followers.tell(&self.run, records);
        self.followers.rest(&self.run, &self.status);
        Ok(())
    }
}
