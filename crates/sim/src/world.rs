//! The world outside of the engines: attempts under their supervisors, and the visible hand-offs.
//!
//! Supervisors outlive an engine; like the real ones they never start an attempt of which there is a trace.

use crate::{
    instance::Key,
    violation::{Violation, holds},
    work::Work,
};
use envoi_contract::{handoff::Handoff, json::Value, time::Timestamp};
use envoi_engine::Job;
use envoi_kernel::{
    Event, Record,
    event::{Command, Outcome, ProgramCall},
    ids::{RunId, VisitId},
    input::AttemptResult,
};
use std::collections::BTreeMap;

/// See the module.
#[derive(Default)]
pub(crate) struct Outside {
    attempts: BTreeMap<Key, Attempt>,
    /// Each visible hand-off, as it was when it was first seen.
    visible: BTreeMap<(RunId, VisitId), (Handoff, String)>,
    boots: u64,
    /// Commands that were really started.
    pub(crate) starts: u64,
}

struct Attempt {
    job: Job,
    work: Work,
    state: State,
}

enum State {
    Running { since: Timestamp, until: Timestamp, ended: Option<(Outcome, u64)> },
    Settled(Box<AttemptResult>),
    Lost { ran_ms: u64 },
}

/// The state of an attempt, as an engine can find it out.
pub(crate) enum Found {
    Running,
    Settled(Box<AttemptResult>),
    Lost { evidence: Value },
}

fn call_of(job: &Job) -> Option<&ProgramCall> {
    match &job.started.command {
        Command::Agent(call) => Some(call),
        _ => None,
    }
}

/// How long a command takes to end after the request to end.
const GRACE_MS: u64 = 200;

impl Outside {
    pub(crate) fn boot_id(&self) -> String {
        format!("boot-{}", self.boots)
    }

    /// Starts the attempt unless there is any trace of it. True if its command really starts.
    /// `work` says what it does.
    pub(crate) fn ensure(
        &mut self,
        job: &Job,
        now: Timestamp,
        work: impl FnOnce() -> Work,
    ) -> Result<bool, Violation> {
        let key = (job.run.clone(), job.started.attempt.clone());
        if self.attempts.contains_key(&key) {
            return Ok(false);
        }
        let rebooted = job.started.boot_id != self.boot_id();
        if !rebooted {
            self.may_start(&key)?;
            self.may_talk(&key, job)?;
        }
        let work = work();
        let until = now.saturating_add_ms(work.duration_ms);
        let state = if rebooted {
            State::Lost { ran_ms: 0 }
        } else {
            State::Running { since: now, until, ended: None }
        };
        self.attempts.insert(key, Attempt { job: job.clone(), work, state });
        if !rebooted {
            self.starts = self.starts.saturating_add(1);
        }
        Ok(!rebooted)
    }

    fn may_start(&self, (run, attempt): &Key) -> Result<(), Violation> {
        let visit = &attempt.visit;
        if self.shows(run, visit) {
            return Err(Violation::new(
                "a visible visit never runs again",
                format!("{run}: {attempt} starts"),
            ));
        }
        let running = |((of, other), state): (&Key, &Attempt)| {
            of == run && other.visit == *visit && matches!(state.state, State::Running { .. })
        };
        if self.attempts.iter().any(running) {
            let found = format!("{run}: {attempt} starts beside another one");
            return Err(Violation::new("a visit has one live attempt", found));
        }
        Ok(())
    }

    /// A session of an agent has one live attempt. It is known by its id, or by its label within a run until it has one.
    fn may_talk(&self, (run, attempt): &Key, job: &Job) -> Result<(), Violation> {
        let Some(call) = call_of(job) else { return Ok(()) };
        let same = |(of, other): &(&Key, &Attempt)| {
            let other = call_of(&other.job).filter(|_| matches!(other.state, State::Running { .. }));
            other.is_some_and(|other| {
                let label =
                    call.session_key.is_some() && of.0 == *run && call.session_key == other.session_key;
                label || (call.session.is_some() && call.session == other.session)
            })
        };
        let beside = self.attempts.iter().find(same).map(|(key, _)| key);
        holds(beside.is_none(), "no session is live twice", || format!("{run}: {attempt} beside {beside:?}"))
    }

    pub(crate) fn find(&self, key: &Key) -> Option<Found> {
        Some(match &self.attempts.get(key)?.state {
            State::Running { .. } => Found::Running,
            State::Settled(result) => Found::Settled(result.clone()),
            State::Lost { ran_ms } => {
                let ran = ("ran_ms".to_owned(), Value::from(*ran_ms));
                Found::Lost { evidence: Value::Object([ran].into_iter().collect()) }
            }
        })
    }

    /// Whether its end can be reported.
    pub(crate) fn is_over(&self, key: &Key) -> bool {
        self.attempts.get(key).is_some_and(|attempt| !matches!(attempt.state, State::Running { .. }))
    }

    /// The command is requested to end; it is killed if it does not.
    pub(crate) fn cancel(&mut self, key: &Key, now: Timestamp) {
        let Some(attempt) = self.attempts.get_mut(key) else { return };
        if let State::Running { since, until, ended } = &mut attempt.state
            && now.saturating_add_ms(GRACE_MS) < *until
        {
            *until = now.saturating_add_ms(GRACE_MS);
            let ran_ms = until.as_millis().saturating_sub(since.as_millis());
            *ended = Some((Outcome::Cancelled, u64::try_from(ran_ms).unwrap_or(0)));
        }
    }

    /// When the next command ends.
    pub(crate) fn next_end(&self) -> Option<Timestamp> {
        let ends = self.attempts.values().filter_map(|attempt| match &attempt.state {
            State::Running { until, .. } => Some(*until),
            _ => None,
        });
        ends.min()
    }

    /// Commands whose time is over end.
    pub(crate) fn pass(&mut self, now: Timestamp) {
        for attempt in self.attempts.values_mut() {
            if let State::Running { since, until, ended } = &mut attempt.state
                && *until <= now
            {
                let result = attempt.work.result(&attempt.job, *since, ended.take());
                attempt.state = State::Settled(Box::new(result));
            }
        }
    }

    /// Attempts that are running.
    pub(crate) fn running(&self) -> Vec<Key> {
        let running =
            self.attempts.iter().filter(|(_, attempt)| matches!(attempt.state, State::Running { .. }));
        running.map(|(key, _)| key.clone()).collect()
    }

    /// The supervisor of this attempt dies, and leaves no record of its end.
    pub(crate) fn lose(&mut self, key: &Key, now: Timestamp) {
        let Some(attempt) = self.attempts.get_mut(key) else { return };
        if let State::Running { since, .. } = &attempt.state {
            let ran_ms = now.as_millis().saturating_sub(since.as_millis());
            attempt.state = State::Lost { ran_ms: u64::try_from(ran_ms).unwrap_or(0) };
        }
    }

    /// All supervisors die.
    pub(crate) fn lose_all(&mut self, now: Timestamp) {
        for key in self.running() {
            self.lose(&key, now);
        }
    }

    /// All supervisors die, and the machine comes up again.
    pub(crate) fn reboot(&mut self, now: Timestamp) {
        self.lose_all(now);
        self.boots = self.boots.saturating_add(1);
    }

    /// Hand-offs become visible. A hand-off that is visible already has to be the same.
    pub(crate) fn show(&mut self, run: &RunId, records: &[Record]) -> Result<(), Violation> {
        for record in records {
            let Event::HandoffWritten(written) = &record.event else { continue };
            let place = (run.clone(), written.visit.clone());
            let print = || (written.handoff.clone(), written.handoff.to_value().pretty());
            let (seen, text) = self.visible.entry(place).or_insert_with(print);
            // Printing is what takes time; equal values print alike.
            if *seen != written.handoff && *text != written.handoff.to_value().pretty() {
                let found = format!("{run}: the hand-off of {} was {text}", written.visit);
                return Err(Violation::new("a visible hand-off never changes", found));
            }
        }
        Ok(())
    }

    pub(crate) fn shows(&self, run: &RunId, visit: &VisitId) -> bool {
        self.visible.contains_key(&(run.clone(), visit.clone()))
    }

    /// The hand-offs that were ever visible.
    pub(crate) fn visible(&self) -> impl Iterator<Item = (&RunId, &VisitId, &str)> {
        self.visible.iter().map(|((run, visit), (_, text))| (run, visit, text.as_str()))
    }
}
