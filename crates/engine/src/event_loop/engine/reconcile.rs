//! Compares the state that a run requires with the real state, and closes the gap.

use super::{Engine, set_aside::was_left};
use crate::{
    event_loop::active_run::Request,
    model::{
        runner::{CallingAttempt, Settlement},
        trouble::{Trouble, guarded},
    },
    query::misfit,
};
use envoi_kernel::{
    Input,
    ids::{AttemptId, RunId},
};
use std::sync::Arc;

impl Engine {
    pub(super) fn settled(&mut self, id: &RunId, attempt: &AttemptId, settlement: Settlement) {
        if was_left(&mut self.left, id, attempt) {
            // Its folder still has everything, for when the run is taken up.
            return;
        }
        let Some(active) = self.runs.get_mut(id) else { return };
        if !active.live.remove(attempt) {
            return;
        }
        self.slots.give_back(&active.tenant);
        self.slots.end_loans(&CallingAttempt { run: id.clone(), attempt: attempt.clone() });
        let (input, blobs) = match settlement {
            Settlement::Finished { mut result, blobs } => {
                let step = active.run.step(&attempt.visit);
                match guarded("a look at a result", || misfit::of(step?, &result)) {
                    Ok(misfit) => result.misfit = misfit,
                    Err(trouble) => return self.set_aside(id, trouble),
                }
                (Input::Settled(result), blobs)
            }
            Settlement::InDoubt { evidence } => {
                (Input::InDoubt { attempt: attempt.clone(), evidence }, Vec::new())
            }
            Settlement::Unknown { trouble } => {
                let reason = format!("attempt `{attempt}`: {}", trouble.reason);
                return self.set_aside(id, Trouble { reason, ..trouble });
            }
        };
        self.push(id, Request { blobs, ..Request::of(input) });
    }

    /// Gives a turn to the runs that are due. If a commit of a run is in progress, its alarm is set again
    /// after the commit.
    pub(super) fn wake(&mut self) {
        let now = self.clocks();
        while let Some(id) = self.timers.pop(now).or_else(|| self.expiries.pop(now)) {
            self.turn(&id);
        }
    }

    /// Starts the work that the run requires. Returns the next input that needs no client: an expiry, a timer
    /// or a free slot.
    ///
    /// # Errors
    /// The trouble for which the run must be set aside.
    pub(super) fn reconcile(&mut self, id: &RunId) -> Result<Option<Request>, Trouble> {
        let clocks = self.clocks();
        let Some(active) = self.runs.get_mut(id) else { return Ok(None) };
        let now = active.time(clocks);
        let wants = active.run.wants();
        let halted = active.halted;
        let tenant = Arc::clone(&active.tenant);
        let lapsed = wants.expiries.iter().find(|(_, at)| *at <= now);
        let lapsed = lapsed.map(|(id, _)| Request::of(Input::Expire { interrupt: id.clone() }));
        if halted {
            // Its questions still expire. Consequences of an expiry start when the run continues.
            return Ok(lapsed.filter(|_| !self.draining));
        }
        if !wants.attempts.is_empty() {
            self.enter(id)?;
        }
        self.start(id, &wants.attempts, false);
        // After a crash, the end of an abandoned attempt has to be found out first.
        self.start(id, &wants.ending, false);
        self.cancel(id, |attempt| wants.cancelling || wants.ending.contains(attempt));
        if self.draining && !self.runs.get(id).is_some_and(|active| self.is_called(&active.within)) {
            return Ok(None);
        }
        if let Some((timer, _)) = wants.timers.iter().find(|(_, due)| *due <= now) {
            return Ok(Some(Request::of(Input::TimerDue { timer: timer.clone() })));
        }
        if lapsed.is_some() {
            return Ok(lapsed);
        }
        if wants.ready.is_empty() {
            return Ok(None);
        }
        let is_free = self.slots.is_free() && !self.draining;
        if is_free || self.lender(id).is_some() {
            return Ok(Some(Request::of(Input::SlotFree)));
        }
        // Skipped steps, questions and the run's end need no slot. If there is nothing of this kind to do,
        // the run refuses this input.
        let is_cut_short = self.runs.get_mut(id).map(|active| core::mem::take(&mut active.cut_short));
        if is_cut_short == Some(true) && !self.draining {
            return Ok(Some(Request::of(Input::SlotFree)));
        }
        let is_called = self.runs.get(id).is_some_and(|active| !active.within.is_empty());
        self.slots.wait(&tenant, id, is_called);
        Ok(None)
    }

    /// Starts these attempts unless the runner has them already. Attempts that a commit announces are started
    /// before any other decision: until then they do not count, and their slot could be given away.
    /// `are_new`: this engine has just announced them; others may have been started by an earlier engine.
    pub(super) fn start(&mut self, id: &RunId, attempts: &[AttemptId], are_new: bool) {
        let Some(active) = self.runs.get_mut(id) else { return };
        for attempt in attempts {
            if active.live.contains(attempt) {
                continue;
            }
            let Some(job) = active.job(id, attempt, are_new) else { continue };
            active.live.insert(attempt.clone());
            self.slots.take(&active.tenant);
            // An attempt that was left running when the run was set aside is still waited for.
            if !was_left(&mut self.left, id, attempt) {
                self.world.runner.ensure(job);
            }
        }
    }

    /// Cancels live attempts of a run.
    pub(super) fn cancel(&mut self, id: &RunId, is_meant: impl Fn(&AttemptId) -> bool) {
        let Some(active) = self.runs.get_mut(id) else { return };
        for attempt in active.live.iter().filter(|attempt| is_meant(attempt)) {
            if active.cancelled.insert(attempt.clone()) {
                self.world.runner.cancel(id, attempt);
            }
        }
    }

    /// Updates the loop's timers from a run. Questions expire even if nothing else of the run continues.
    pub(super) fn arm(&mut self, id: &RunId) {
        let now = self.clocks();
        let Some(active) = self.runs.get_mut(id) else { return };
        let wants = active.run.wants();
        let from = (active.time(now), now);
        let timer = wants.timers.iter().map(|(_, due)| *due).min().filter(|_| !active.halted);
        self.timers.set(id, timer, from);
        self.expiries.set(id, wants.expiries.iter().map(|(_, at)| *at).min(), from);
    }
}
