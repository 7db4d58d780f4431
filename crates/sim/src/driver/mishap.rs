//! The mishaps, and their times.
//!
//! An engine dies or falls asleep between any two of its effects. Its memory is gone; durable data and the
//! work of its supervisors are not.

use super::Driver;
use crate::{
    books::Books,
    calls::{self, Call},
    instance::{Effect, Instance},
    store::Fate,
    violation::{Violation, holds},
};
use envoi_contract::time::Timestamp;
use envoi_engine::Message;
use envoi_journal::CommitError;
use envoi_kernel::{Status, ids::RunId};

impl Driver<'_> {
    /// The frequency of a fault, as long as there may be faults at all.
    pub(super) fn permitted(&self, permille: u64) -> u64 {
        if self.mishaps < self.faults.most { permille } else { 0 }
    }

    pub(super) fn strikes(&mut self, permille: u64) -> bool {
        let strikes = self.dice.permille(self.permitted(permille));
        if strikes {
            self.mishaps = self.mishaps.saturating_add(1);
        }
        strikes
    }

    pub(super) fn mishap_between_turns(&mut self) -> Result<(), Violation> {
        if self.strikes(self.faults.crash) {
            self.crash("between two turns");
        }
        if self.strikes(self.faults.lost) {
            self.lose_one();
        }
        if self.strikes(self.faults.drain) {
            self.drain()?;
        }
        if self.strikes(self.faults.strangers) {
            self.stranger()?;
        }
        if self.strikes(self.faults.tries) {
            self.try_now()?;
        }
        if self.strikes(self.faults.clock_back) {
            let back = self.dice.between(1, self.faults.clock_changes_by_ms);
            self.note(format!("the clock is set back by {back} ms"));
            self.night_meets("clocks that were set back while an account was closed", true);
            let back = i64::try_from(back).unwrap_or(1);
            self.clocks.wall.set(Timestamp::from_millis(self.now().as_millis().saturating_sub(back)));
        }
        if self.strikes(self.faults.clock_forward) {
            let forward = self.dice.between(1, self.faults.clock_changes_by_ms);
            self.note(format!("the clock is set forward by {forward} ms"));
            self.night_meets("clocks that were set forward while an account was closed", true);
            self.clocks.wall.set(self.now().saturating_add_ms(forward));
        }
        if self.strikes(self.faults.take_over) {
            self.fall_asleep("between two turns");
        }
        if self.asleep.is_some() && self.dice.permille(50) {
            self.wake_up()?;
        }
        Ok(())
    }

    /// In a night, something happens that is to happen while an account is closed.
    fn night_meets(&mut self, what: &'static str, changes_the_clock: bool) {
        let clock = self.clock();
        if let Some(night) = &mut self.night {
            night.watch.is_clock_changed |= changes_the_clock;
            night.watch.count_while_closed(what, clock);
        }
    }

    /// Whether the engine has died.
    pub(super) fn mishap_after_commit(&mut self) -> bool {
        let dies = self.strikes(self.faults.crash_unheard);
        if dies {
            self.crash("before it gets the outcome of a commit");
        }
        dies
    }

    /// The effect, unless the engine dies or falls asleep before it.
    pub(super) fn mishap_before(&mut self, effect: Effect) -> Option<Effect> {
        let instance = self.engine.as_ref()?;
        let decided = matches!(&effect, Effect::Ensure(job)
            if instance.reserved.contains(&(job.run.clone(), job.started.attempt.clone())));
        if decided && self.strikes(self.faults.crash_unstarted) {
            self.crash("before it starts an attempt");
            return None;
        }
        if self.strikes(self.faults.crash_mid_turn) {
            self.crash("in the middle of a turn");
            return None;
        }
        if self.asleep.is_none() && self.strikes(self.faults.take_over) {
            self.engine.as_ref()?.put_back(effect);
            self.fall_asleep("in the middle of a turn");
            return None;
        }
        Some(effect)
    }

    pub(super) fn fate(&mut self) -> Fate {
        if !self.strikes(self.faults.store) {
            return Fate::Written;
        }
        self.dice.pick(&[Fate::Full, Fate::LostUnknown, Fate::KeptUnknown]).copied().unwrap_or(Fate::Full)
    }

    /// The engine is gone; supervisors go on, unless they are hit too.
    pub(super) fn crash(&mut self, when: &str) {
        let Some(instance) = self.engine.take() else { return };
        self.store.forget(instance.journal.epoch());
        self.calls.clear();
        self.models.forget();
        self.note(format!("engine {} dies {when}", instance.journal.epoch()));
        if !self.dice.permille(self.permitted(self.faults.kill_supervisors)) {
            return;
        }
        if self.dice.permille(self.faults.reboot) {
            self.note("the machine boots again");
            self.night_meets("machines that restarted while an account was closed", false);
            self.outside.reboot(self.true_now());
            self.is_down();
            if let Some(other) = self.asleep.take() {
                self.store.forget(other.journal.epoch());
            }
        } else {
            self.note("the supervisors die too");
            self.outside.lose_all(self.true_now());
        }
    }

    /// Time passes until the machine is up again.
    fn is_down(&mut self) {
        if self.faults.down_ms > 0 {
            let down_ms = self.dice.between(1, self.faults.down_ms);
            self.note(format!("it was down for {down_ms} ms"));
            self.clocks.steady_ms.set(self.clocks.steady_ms.get().saturating_add(down_ms));
            self.clocks.wall.set(self.now().saturating_add_ms(down_ms));
        }
    }

    fn lose_one(&mut self) {
        let running = self.outside.running();
        if let Some(key) = self.dice.pick(&running) {
            let line = format!("{}: the supervisor of {} dies", key.0, key.1);
            self.outside.lose(key, self.true_now());
            self.note(line);
        }
    }

    fn drain(&mut self) -> Result<(), Violation> {
        if let Some(instance) = &mut self.engine {
            instance.draining = true;
        }
        self.handle("start nothing new".to_owned(), Message::Drain)
    }

    /// A command has read a run and lets time pass before it hands it over.
    fn stranger(&mut self) -> Result<(), Violation> {
        let begun: Vec<RunId> = self
            .books
            .iter()
            .filter(|(_, books)| books.replayed.started().is_some())
            .map(|(run, _)| run.clone())
            .collect();
        let Some(run) = self.dice.pick(&begun).cloned() else { return Ok(()) };
        if self.engine.as_ref().is_none_or(|instance| instance.draining) {
            return Ok(());
        }
        let loaded = self.load(&run)?;
        if !matches!(loaded.status(), Status::Ended(_)) {
            self.note(format!("{run}: a stranger has read it"));
            self.calls.push(Call::new(&run, loaded, None));
        }
        Ok(())
    }

    /// A person lets a run try at once what it waits for. If it waits for no account, that is refused.
    fn try_now(&mut self) -> Result<(), Violation> {
        let goes_on =
            |books: &Books| matches!(books.replayed.status(), Status::Running | Status::Waiting { .. });
        let begun =
            self.books.iter().filter(|(_, books)| books.replayed.started().is_some() && goes_on(books));
        let begun: Vec<RunId> = begun.map(|(run, _)| run.clone()).collect();
        let Some(run) = self.dice.pick(&begun).cloned() else { return Ok(()) };
        if self.engine.as_ref().is_none_or(|instance| instance.draining) {
            return Ok(());
        }
        let loaded = self.load(&run)?;
        let id = format!("try {}", self.mishaps);
        self.note(format!("{run}: a person wants it to try now ({id})"));
        self.calls.push(Call::new(&run, loaded, Some(calls::try_now(id))));
        Ok(())
    }

    fn fall_asleep(&mut self, when: &str) {
        if self.asleep.is_some() {
            return;
        }
        let Some(instance) = self.engine.take() else { return };
        self.note(format!("engine {} is stopped {when}", instance.journal.epoch()));
        self.tally.take_overs = self.tally.take_overs.saturating_add(1);
        self.calls.clear();
        self.models.forget();
        self.asleep = Some(instance);
        self.come_up();
    }

    /// The engine that was stopped goes on where it was, and finds out.
    fn wake_up(&mut self) -> Result<(), Violation> {
        let Some(mut instance) = self.asleep.take() else { return Ok(()) };
        let epoch = instance.journal.epoch();
        self.note(format!("engine {epoch} wakes up"));
        instance.is_replaced = true;
        let outcome = self.go_on(&mut instance);
        self.store.forget(epoch);
        self.note(format!("engine {epoch} is gone"));
        outcome
    }

    fn go_on(&mut self, instance: &mut Instance) -> Result<(), Violation> {
        self.late_effects(instance)?;
        let epoch = instance.journal.epoch();
        while let Some((run, records)) = self.store.settle_next(epoch, Fate::Written) {
            holds(records.is_empty(), "an engine that was replaced cannot commit", || run.to_string())?;
        }
        while let (Some(run), None) =
            (instance.pending_outcomes().first().cloned(), instance.engine.stopped())
        {
            self.late_commit(instance, &run)?;
        }
        let over =
            instance.ensured.iter().filter(|(key, ensured)| !ensured.reported && self.outside.is_over(key));
        let over: Vec<_> = over.map(|(key, _)| key.clone()).collect();
        for key in over {
            let message = self.settled(instance, &key).filter(|_| instance.engine.stopped().is_none());
            if let Some(message) = message {
                instance.engine.handle(message);
                self.late_effects(instance)?;
            }
        }
        while let Some((run, records)) = self.store.settle_next(epoch, Fate::Written) {
            holds(records.is_empty(), "an engine that was replaced cannot commit", || run.to_string())?;
            self.late_commit(instance, &run)?;
        }
        Ok(())
    }

    fn late_commit(&mut self, instance: &mut Instance, run: &RunId) -> Result<(), Violation> {
        let Some(outcome) = instance.next_outcome(run) else { return Ok(()) };
        let fenced = matches!(outcome.result, Err(CommitError::Fenced { .. }));
        instance.engine.handle(outcome.message());
        let stopped = instance.engine.stopped().is_some();
        holds(!fenced || stopped, "an engine that was replaced stops", || run.to_string())?;
        self.late_effects(instance)
    }

    /// The late effects of a replaced engine on the world. It may request attempts, but each still starts at
    /// most once.
    fn late_effects(&mut self, instance: &mut Instance) -> Result<(), Violation> {
        while let Some(effect) = instance.next_effect() {
            self.affect(instance, effect)?;
        }
        while let Some(answer) = instance.next_answer() {
            let kept = self.books.get(&answer.run).is_some_and(|books| books.holds(&answer.errand));
            holds(answer.result.is_err() || kept, "what was acknowledged is durable", || {
                answer.run.to_string()
            })?;
        }
        Ok(())
    }
}
