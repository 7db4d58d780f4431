//! The outcome of a commit: if it is durable, the run applies it, the observer shows it, and the resulting
//! work starts.

use super::Engine;
use crate::{
    event_loop::active_run::{Active, InFlight},
    model::{
        message::EngineError,
        trouble::{Trouble, TroubleKind, guarded},
    },
};
use envoi_journal::{CommitError, Receipt};
use envoi_kernel::{
    Event, Record, Status,
    ids::{AttemptId, RunId},
};
use std::sync::Arc;

impl Engine {
    pub(super) fn committed(&mut self, id: &RunId, result: Result<Receipt, CommitError>) {
        let Some(active) = self.runs.get_mut(id) else { return };
        let tenant = Arc::clone(&active.tenant);
        let Some(in_flight) = active.in_flight.take() else { return };
        let InFlight { records, slot, reply } = in_flight;
        self.commits_under_way = self.commits_under_way.saturating_sub(1);
        let receipt = match result {
            Ok(receipt) => receipt,
            Err(error) => {
                active.run.withdraw();
                let of_the_run =
                    matches!(error, CommitError::Conflict { .. } | CommitError::Malformed { .. });
                let error = EngineError::from(error);
                if let Some(reply) = reply {
                    reply(Err(error.clone()));
                }
                if !of_the_run {
                    return self.stop(error);
                }
                if slot {
                    self.slots.give_back(&tenant);
                    self.slots.settle_loan(id, None);
                }
                return self.commit_refused(id, &error);
            }
        };
        if slot {
            self.slots.give_back(&tenant);
            self.slots.settle_loan(id, started_by(&records).first());
        }
        let shown = self.show(id, &records, receipt);
        self.changing.settle(id, self.runs.get(id));
        if let Some(reply) = reply {
            reply(Ok(()));
        }
        let earlier = self.runs.get_mut(id).and_then(|active| active.trouble.take());
        if let Some(trouble) = earlier.or(shown.err()) {
            return self.set_aside(id, trouble);
        }
        let announced = started_by(&records);
        if !announced.is_empty() {
            let started =
                guarded("what the run wants", || self.enter(id).map(|()| self.start(id, &announced, true)));
            if let Err(trouble) = started.flatten() {
                // The journal announces attempts that were not started. They are started when the run is
                // taken up.
                return self.set_aside(id, trouble);
            }
        }
        self.turn(id);
        self.forget_if_over(id);
    }

    /// The disk works but does not accept this run's data. A run that has not begun leaves nothing behind.
    pub(super) fn commit_refused(&mut self, id: &RunId, error: &EngineError) {
        if self.runs.get(id).is_some_and(|active| active.run.started().is_none()) {
            self.runs.remove(id);
        }
        self.set_aside(id, Trouble::new(TroubleKind::Inconsistent, error.to_string()));
    }

    /// Applies and shows durable records.
    pub(super) fn show(&mut self, id: &RunId, records: &[Record], receipt: Receipt) -> Result<(), Trouble> {
        let Some(active) = self.runs.get_mut(id) else { return Ok(()) };
        guarded("an event", || {
            let mut talks = active.talks_left_alone(id);
            for record in records {
                talks.extend(active.talk_left_by(id, &record.event));
                active.run.apply(record).map_err(|error| {
                    let seq = record.seq;
                    Trouble::new(TroubleKind::Inconsistent, error.to_string())
                        .with_evidence(format!("event {seq}"))
                })?;
            }
            active.after_commit(receipt.events_bytes);
            let withdrawn = talks.into_iter().filter(|job| !active.waits_for(job));
            withdrawn.for_each(|job| self.world.runner.withdraw(job));
            Ok::<_, Trouble>(())
        })
        .flatten()?;
        let shown = guarded("showing a run", || self.world.observer.committed(&active.run, records))?;
        guarded("what the run wants", || self.arm(id))?;
        shown.map_err(|error| Trouble::new(TroubleKind::Files, error.to_string()))
    }

    /// Removes an ended run from memory. A request that reopens it adopts it again.
    pub(super) fn forget_if_over(&mut self, id: &RunId) {
        let over = |active: &Active| {
            matches!(active.run.status(), Status::Ended(_))
                && active.live.is_empty()
                && active.in_flight.is_none()
                && active.requests.is_empty()
        };
        if self.runs.get(id).is_some_and(over) {
            self.runs.remove(id);
            self.leave_at_rest(id);
        }
    }
}

/// Attempts that these events announce.
fn started_by(records: &[Record]) -> Vec<AttemptId> {
    let announced = |record: &Record| match &record.event {
        Event::AttemptStarted(started) => Some(started.attempt.clone()),
        _ => None,
    };
    records.iter().filter_map(announced).collect()
}
