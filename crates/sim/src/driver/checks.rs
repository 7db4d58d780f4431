//! Expectations that are checked at any time, and at the end.

use super::{Driver, End, RunEnd};
use crate::{MINUTES, Reached};
use crate::{
    books::Books,
    plan::Planned,
    violation::{Violation, holds},
};
use envoi_journal::Journal;
use envoi_kernel::{Event, Run, Status, ids::RunId};
use std::time::Duration;

/// No night without a mishap takes longer: some windows of the accounts are waited for.
const LONGEST_MINUTES: u64 = 24 * 60;

/// The same with mishaps: machines are down, work is lost and clocks are changed.
const LONGEST_WITH_MISHAPS_MINUTES: u64 = 48 * 60;

impl Driver<'_> {
    /// An engine stops only for a reason. Then it is gone, like one that has died.
    pub(super) fn check_stopped(&mut self) -> Result<(), Violation> {
        let Some(instance) = &self.engine else { return Ok(()) };
        let Some(error) = instance.engine.stopped() else { return Ok(()) };
        holds(instance.excused, "an engine stops only when the store or the machine fails", || {
            error.to_string()
        })?;
        self.crash("because something has failed");
        Ok(())
    }

    /// When no commit is on its way, the engine's state equals the journal, and its slots are counted right.
    pub(super) fn check_quiet(&mut self) -> Result<(), Violation> {
        let Some(instance) = &self.engine else { return Ok(()) };
        if self.store.waiting(instance.journal.epoch()) > 0 || !instance.pending_outcomes().is_empty() {
            return Ok(());
        }
        for (id, run) in instance.engine.runs() {
            let same = self.books.get(id).is_some_and(|books| books.replayed == *run);
            holds(same, "the engine's state is what its journal says", || id.to_string())?;
            self.woken_by_something(id, run)?;
        }
        let counted = instance.engine.live();
        let live = instance.live();
        holds(counted == live, "slots are counted right", || {
            format!("{counted} are counted, {live} are live")
        })?;
        let unstarted = instance.reserved.len();
        holds(unstarted == 0, "what is durable and known is started", || format!("{unstarted} are not"))
    }

    fn woken_by_something(&self, id: &RunId, run: &Run) -> Result<(), Violation> {
        let over = matches!(run.status(), Status::Ended(_));
        holds(over || !run.wants().is_empty(), "a run that is not over has something that wakes it", || {
            id.to_string()
        })?;
        let Some(instance) = &self.engine else { return Ok(()) };
        let called = self.calls.iter().any(|call| call.run == *id);
        holds(!over || called, "a run that is over is let go", || id.to_string())?;
        let ending = |attempt| instance.cancelled.contains(&(id.clone(), attempt));
        let ended = !run.wants().cancelling || run.wants().attempts.into_iter().all(ending);
        holds(ended, "attempts of a cancelled run are ended", || id.to_string())?;
        let ended = run.wants().ending.into_iter().all(ending);
        holds(ended, "what is given up is ended", || id.to_string())?;
        let requested =
            |attempt| instance.ensured.get(&(id.clone(), attempt)).is_some_and(|ensured| !ensured.reported);
        let known = run.wants().attempts.into_iter().chain(run.wants().ending).all(requested);
        holds(known, "every wanted attempt was requested", || id.to_string())?;
        let wants = run.wants();
        let timers = wants.timers.iter().map(|(_, due)| *due);
        let due = timers.chain(wants.expiries.iter().map(|(_, at)| *at)).min();
        let armed = instance.draining
            || due.is_none_or(|due| {
                // By whichever clock gets there first.
                let wait = due.as_millis().saturating_sub(self.now().as_millis());
                let wait = Duration::from_millis(u64::try_from(wait).unwrap_or(0));
                instance.engine.wakes_in().is_some_and(|wakes_in| wakes_in <= wait)
            });
        holds(armed, "every timer and every expiry is armed", || id.to_string())
    }

    /// Nothing can happen any more: then every run is over, or waits for a person who never comes.
    pub(super) fn finish(&mut self) -> Result<End, Violation> {
        let idle = self.engine.as_ref().is_some_and(|instance| instance.engine.is_idle());
        holds(idle, "an engine with nothing to do is idle", String::new)?;
        holds(self.calls.is_empty(), "every call is answered", || format!("{} are not", self.calls.len()))?;
        holds(self.models.is_quiet(), "every call of a model is answered", String::new)?;
        let mut end = End { tally: self.tally, runs: std::collections::BTreeMap::new() };
        end.tally.starts = self.outside.starts;
        for (id, books) in &self.books {
            self.at_rest(id, books)?;
            self.whole(id, books)?;
            let given_up = u64::try_from(books.given_up.len()).unwrap_or(0);
            end.tally.given_up = end.tally.given_up.saturating_add(given_up);
            end.tally.items = end.tally.items.saturating_add(books.items);
            end.tally.inner = end.tally.inner.saturating_add(books.inner);
            end.tally.left_out = end.tally.left_out.saturating_add(books.left_out);
            end.tally.corrected = end.tally.corrected.saturating_add(u64::from(books.corrected));
            end.tally.model_calls = end.tally.model_calls.saturating_add(books.uses.calls_begun());
            end.tally.votes = end.tally.votes.saturating_add(books.votes);
            end.tally.expired = end.tally.expired.saturating_add(books.expired);
            end.tally.in_doubt = end.tally.in_doubt.saturating_add(books.in_doubt);
            let rest = RunEnd {
                word: books.replayed.status().word(),
                story: books.story.clone(),
                in_doubt: books.in_doubt,
                timed: books.timed,
                cancelled: books.cancelled,
                may_be_corrected: self.plan.run(id).is_some_and(|planned| planned.correction.is_some()),
                parallel: self.plan.run(id).is_some_and(Planned::is_parallel),
                calls_models: books.uses.calls_begun() > 0,
            };
            end.runs.insert(id.clone(), rest);
        }
        self.seen_is_kept()?;
        Ok(end)
    }

    /// The situations that the night has reached. No run was waiting for anything at the end.
    pub(crate) fn night_is_over(&self) -> Result<Reached, Violation> {
        for (id, books) in &self.books {
            let over = matches!(books.replayed.status(), Status::Ended(_));
            holds(over, "a night ends by itself", || format!("{id} is {}", books.replayed.status().word()))?;
        }
        let minutes = self.clocks.steady_ms.get() / 60_000;
        let most = if self.faults.most > 0 && !self.faults.has_a_crash_after_every_commit() {
            LONGEST_WITH_MISHAPS_MINUTES
        } else {
            LONGEST_MINUTES
        };
        holds(minutes < most, "a night ends in the morning", || format!("it took {minutes} minutes"))?;
        let mut reached = self.night.as_ref().map(|night| night.watch.reached.clone()).unwrap_or_default();
        reached.insert(MINUTES, minutes);
        Ok(reached)
    }

    fn at_rest(&self, id: &RunId, books: &Books) -> Result<(), Violation> {
        let aside = self.store.is_aside(id);
        holds(!aside, "a run that is tried again when all is well does not stay aside", || id.to_string())?;
        let over = matches!(books.replayed.status(), Status::Ended(_));
        let left = books.uses.under_way();
        let known = books.replayed.calls().count();
        holds(left == known, "calls under way are known", || format!("{id}: {left}, not {known}"))?;
        holds(over || left == 0, "no call stays open in a run that goes on", || format!("{id}: {left}"))?;
        let answered = self.plan.run(id).is_some_and(|planned| planned.answered);
        let rests = match books.replayed.status() {
            Status::Ended(_) => true,
            Status::Waiting { .. } => !answered && books.replayed.wants().expiries.is_empty(),
            Status::Running => false,
        };
        holds(rests, "no run hangs", || {
            format!("{id} is {} and nothing will happen", books.replayed.status().word())
        })
    }

    /// Replay of all events is the state; contents that events name are in the store.
    fn whole(&self, id: &RunId, books: &Books) -> Result<(), Violation> {
        let records = self.store.records(id);
        let replayed = Run::replay(books.replayed.versions().clone(), records.clone());
        let same = replayed.is_ok_and(|run| run == books.replayed);
        holds(same, "replay gives the state that was lived", || id.to_string())?;
        books.check_snapshot()?;
        let Some(instance) = &self.engine else { return Ok(()) };
        for record in &records {
            let Event::AttemptSettled(settled) = &record.event else { continue };
            for blob in settled.text.iter().chain(&settled.report) {
                let kept = instance.journal.blob(&blob.digest).is_ok();
                holds(kept, "content that an event names is kept", || format!("{id}: {}", settled.attempt))?;
            }
        }
        Ok(())
    }

    /// Every visible hand-off is in the journal.
    fn seen_is_kept(&self) -> Result<(), Violation> {
        for (run, visit, text) in self.outside.visible() {
            let kept = self.store.records(run).iter().any(|record| match &record.event {
                Event::HandoffWritten(written) => {
                    written.visit == *visit && written.handoff.to_value().pretty() == text
                }
                _ => false,
            });
            holds(kept, "a visible hand-off is never lost", || format!("{run}: {visit}"))?;
        }
        Ok(())
    }
}
