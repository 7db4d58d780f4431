//! The effects of an engine on the world, and whether they are allowed.

use super::Driver;
use crate::{
    books::Books,
    instance::{Effect, Ensured, Instance},
    violation::{Violation, holds},
    work::Work,
};
use envoi_engine::Job;
use envoi_journal::{Commit, Note};
use envoi_kernel::Event;

impl Driver<'_> {
    pub(super) fn take_effect(&mut self, effect: Effect) -> Result<(), Violation> {
        let Some(mut instance) = self.engine.take() else { return Ok(()) };
        let taken = self.affect(&mut instance, effect);
        self.engine = Some(instance);
        taken
    }

    /// Applies an effect of any engine on the world.
    pub(super) fn affect(&mut self, instance: &mut Instance, effect: Effect) -> Result<(), Violation> {
        match effect {
            Effect::Submit(commit) => self.submit(instance, *commit),
            Effect::Note(note) => {
                self.noted(instance, note);
                Ok(())
            }
            Effect::ShowAside(run) => {
                // An engine that was replaced may show it after another one has taken the run up.
                let durable = self.store.was_aside(&run);
                holds(durable, "a run is shown as set aside when that is durable", || run.to_string())
            }
            Effect::Show(run, records) => {
                let shown = self.store.has(&run, &records);
                holds(shown, "what is shown is durable", || run.to_string())?;
                self.outside.show(&run, &records)
            }
            Effect::Ensure(job) => self.ensure(instance, *job),
            Effect::Cancel(run, attempt) => {
                self.note(format!("{run}: {attempt} is being ended"));
                let wanted = |books: &Books| books.cancelled || books.given_up.contains(&attempt);
                let wanted = self.books.get(&run).is_some_and(wanted);
                holds(wanted, "only what is cancelled or given up is ended", || format!("{run}: {attempt}"))?;
                self.outside.cancel(&(run.clone(), attempt.clone()), self.true_now());
                instance.cancelled.insert((run, attempt));
                Ok(())
            }
        }
    }

    fn submit(&mut self, instance: &mut Instance, commit: Commit) -> Result<(), Violation> {
        let before = instance.reserved.len();
        for record in &commit.records {
            if let Event::AttemptStarted(started) = &record.event {
                instance.reserved.insert((commit.run.clone(), started.attempt.clone()));
            }
        }
        if instance.reserved.len() > before {
            let live = instance.live().saturating_add(instance.reserved.len());
            let jobs = self.plan.jobs;
            holds(live <= jobs, "no more attempts run than there are slots", || format!("{live} of {jobs}"))?;
            holds(!instance.draining, "an engine that is to end starts nothing", || commit.run.to_string())?;
        }
        let clock = self.clock();
        if let Some(night) = self.night.as_mut().filter(|_| !instance.is_replaced) {
            night.watch.decided(&commit, clock)?;
        }
        instance.submit(commit);
        Ok(())
    }

    fn noted(&mut self, instance: &mut Instance, note: Note) {
        if let Note::SetAside { run, aside, .. } = &note {
            self.note(format!("{run}: it is set aside: {}", aside.code));
            self.tally.set_aside = self.tally.set_aside.saturating_add(1);
            instance.aside.insert(run.clone());
            // Attempts that were decided and not started stay so until the run is taken up.
            instance.reserved.retain(|(of, _)| of != run);
        }
        instance.note(note);
    }

    fn ensure(&mut self, instance: &mut Instance, job: Job) -> Result<(), Violation> {
        let key = (job.run.clone(), job.started.attempt.clone());
        let (run, attempt) = &key;
        let announced = self.books.get(run).and_then(|books| books.started.get(attempt));
        let durable = announced.is_some_and(|started| **started == *job.started);
        holds(durable, "nothing starts before its event is durable", || format!("{run}: {attempt}"))?;
        let given = job.started.handoff.as_ref().is_none_or(|visit| self.outside.shows(run, visit));
        holds(given, "a hand-off is visible before what follows starts", || format!("{run}: {attempt}"))?;
        // After its run was set aside, an attempt that was reported is requested again.
        let first =
            instance.ensured.get(&key).is_none_or(|ensured| ensured.reported && instance.aside.contains(run));
        holds(first, "an engine asks for an attempt once", || format!("{run}: {attempt}"))?;
        let (seed, now, clock) = (self.plan.seed, self.true_now(), self.clock());
        let night = &mut self.night;
        let work = || {
            let by_night = night.as_mut().and_then(|night| night.work(&job, clock));
            by_night.unwrap_or_else(|| Work::of(seed, &job))
        };
        let starts = self.outside.ensure(&job, now, work)?;
        self.note(format!("{run}: {attempt} is ensured (starts: {starts})"));
        instance.reserved.remove(&key);
        instance.ensured.insert(key, Ensured { reported: false });
        Ok(())
    }
}
