//! The followers of runs: they learn of a commit before anything that follows from it is started.

use crate::model::{
    protocol::{Response, Standing},
    trouble::guarded,
};
use envoi_journal::Aside;
use envoi_kernel::{Record, ids::RunId};
use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
        mpsc::Sender,
    },
};

/// Called with each commit of any run, and with no records when a run is set aside or taken up again, from the engine's thread: it
/// must be quick. If it panics, it has missed that commit, and nothing else follows.
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

/// A client that follows a run.
struct Follower {
    client: Sender<Response>,
    /// While a request of theirs is being done.
    asking: Option<Asking>,
}

/// A follower's rest that is kept back, because its request takes several commits.
struct Asking {
    id: u64,
    /// The state of the run after its last commit, if it was at rest.
    rest: Option<Standing>,
}

/// A follower that gets no rest until its request is done: a run that rests after the first part of it may go on with
/// the next one. Dropped, the run is not followed.
#[must_use]
pub(crate) struct Held<'f> {
    followers: &'f Followers,
    run: RunId,
    id: u64,
}

impl Followers {
    /// From now on `follower` gets every commit of `run`, until the run comes to rest.
    pub fn add(&self, run: &RunId, follower: Sender<Response>) {
        self.lock().entry(run.clone()).or_default().push(Follower { client: follower, asking: None });
    }

    /// As [`Followers::add`], but a rest is sent only when the request is done, and only if it is one by then.
    pub(crate) fn add_held(&self, run: &RunId, follower: Sender<Response>) -> Held<'_> {
        let id = self.ids.fetch_add(1, Ordering::Relaxed);
        let follower = Follower { client: follower, asking: Some(Asking { id, rest: None }) };
        self.lock().entry(run.clone()).or_default().push(follower);
        Held { followers: self, run: run.clone(), id }
    }

    /// Sends the followers of `run` its standing, and forgets them if it is at rest.
    pub fn rest(&self, run: &RunId, status: &envoi_kernel::Status) {
        self.rest_as(run, Standing::of(status));
    }

    /// The run is not at rest, no matter what its state is: more follows by itself.
    pub(super) fn goes_on(&self, run: &RunId) {
        self.rest_as(run, None);
    }

    /// The run is set aside: that is the last response to its followers.
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
                follower.client.send(Response::Rest { standing: standing.clone() }).ok();
                false
            }
            (None, None) => true,
        });
        if followers.is_empty() {
            by_run.remove(run);
        }
    }

    /// Sends to all followers that the engine has stopped.
    pub fn stopped(&self, reason: &str) {
        for follower in core::mem::take(&mut *self.lock()).into_values().flatten() {
            follower.client.send(Response::Stopped { reason: reason.to_owned() }).ok();
        }
    }

    /// From now on `watcher` is called for every run, as long as the engine lives: see [`Watcher`].
    pub fn watch(&self, watcher: Watcher) {
        self.watchers.lock().unwrap_or_else(PoisonError::into_inner).push(watcher);
    }

    /// That a run is set aside, or is not any more, is no event: watchers look at its row.
    fn wake(&self, run: &RunId) {
        self.notify_watchers(run, &[]);
    }

    fn notify_watchers(&self, run: &RunId, records: &[Record]) {
        for watcher in self.watchers.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            // Nothing is wrong with the run, and the others are to be watched as before.
            if let Err(trouble) = guarded("watching a run", || watcher(run, records)) {
                tracing::error!(run = run.as_str(), "{}", trouble.reason);
            }
        }
    }

    pub(super) fn notify(&self, run: &RunId, records: &[Record]) {
        self.notify_watchers(run, records);
        let mut by_run = self.lock();
        let Some(followers) = by_run.get_mut(run) else { return };
        followers.retain(|follower| {
            let is_sent = |record: &Record| {
                follower.client.send(Response::Record { record: Box::new(record.clone()) }).is_ok()
            };
            records.iter().all(is_sent)
        });
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, ByRun> {
        self.by_run.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Held<'_> {
    /// The request is done: its follower gets the standing of the run if it rests now, else when it does.
    pub(crate) fn release(self) {
        let mut by_run = self.followers.lock();
        let Some(followers) = by_run.get_mut(&self.run) else { return };
        followers.retain_mut(|follower| {
            let Some(asking) = follower.asking.take_if(|asking| asking.id == self.id) else { return true };
            let Some(standing) = asking.rest else { return true };
            follower.client.send(Response::Rest { standing }).ok();
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

#[cfg(test)]
mod tests {
    use super::*;
    use envoi_contract::code::Code;
    use envoi_contract::time::Timestamp;
    use std::sync::mpsc;

    #[test]
    fn a_watcher_that_panics_keeps_nothing_from_the_others() {
        let followers = Followers::default();
        let (seen, watched) = mpsc::channel();
        followers.watch(Arc::new(|_, _| panic!("a defect of the watcher")));
        followers.watch(Arc::new(move |run, _| seen.send(run.clone()).unwrap()));
        let run = RunId::new("run_1").unwrap();
        let (client, heard) = mpsc::channel();
        followers.add(&run, client);
        followers.notify(&run, &[]);
        followers.taken_up(&run);
        let why = Aside::new(Timestamp::from_millis(0), Code::RunInconsistent, "a defect", "");
        followers.set_aside(&run, &why);
        assert_eq!(watched.try_iter().count(), 3);
        assert!(
            matches!(heard.try_recv(), Ok(Response::Rest { .. })),
            "who follows the run is told that it rests"
        );
    }
}
