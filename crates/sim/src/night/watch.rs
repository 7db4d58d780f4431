//! Checks the promises about closed accounts at each decision of an engine, and counts how often each
//! situation was reached.
//!
//! Keeps its own account of what an engine may know: the journal when it comes up, and its decisions since.
//! Like an alarm, an account opens by whichever clock gets there first.

use super::ATTEMPTS;
use crate::{
    instance::Key,
    violation::{Violation, holds},
};
use envoi_contract::{handoff, time::Timestamp};
use envoi_journal::Commit;
use envoi_kernel::{
    Event, Record,
    event::{AttemptSettled, AttemptStarted, Command, Outcome, ProgramCall},
    ids::{AttemptId, RunId, VisitId},
    throttle::{MARGIN_MS, Throttled},
};
use std::collections::{BTreeMap, BTreeSet};

/// How long others wait for the first attempt after a reset.
const TRIAL_MS: u64 = 60_000;

/// Both clocks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    pub(crate) wall: Timestamp,
    pub(crate) steady_ms: u64,
}

impl Clock {
    fn after(self, wait_ms: u64) -> Self {
        Self { wall: self.wall.saturating_add_ms(wait_ms), steady_ms: self.steady_ms.saturating_add(wait_ms) }
    }

    /// Whether one of them has got there.
    fn has_reached(self, other: Self) -> bool {
        self.wall >= other.wall || self.steady_ms >= other.steady_ms
    }
}

/// See the module.
#[derive(Default)]
pub(crate) struct Watch {
    /// The state of the journal, by account.
    durable: BTreeMap<String, Durable>,
    /// The newest reset that was stated, with its margin, as in the journal.
    durably_stated: BTreeMap<String, Timestamp>,
    known: BTreeMap<String, Closed>,
    stated: BTreeMap<String, Timestamp>,
    /// Accounts that a person let be tried before their time, and that have taken or refused nothing since.
    early: BTreeSet<String>,
    /// The account of each attempt of an agent.
    attempts: BTreeMap<Key, String>,
    /// Attempts that have failed and were not refused.
    failures: BTreeMap<(RunId, VisitId), BTreeSet<AttemptId>>,
    doubted: BTreeSet<(RunId, VisitId)>,
    /// The end of the wait of a visit whose account opens at an unknown time: it may be tried once more at the end.
    unstated: BTreeMap<(RunId, VisitId), Timestamp>,
    /// The visits that each session was used by.
    sessions: BTreeMap<String, BTreeSet<String>>,
    /// How often each situation was reached.
    pub(crate) reached: BTreeMap<&'static str, u64>,
    /// The clocks have been changed: the providers' times cannot be held against an engine.
    pub(crate) is_clock_changed: bool,
}

/// The state of an account in the journal: a refusal, or a later attempt with an unknown result.
#[derive(Clone)]
struct Durable {
    /// When the event was written.
    at: Timestamp,
    /// Until when the account is closed, or is left to the attempt.
    until: Timestamp,
    tried_by: Option<Key>,
}

struct Closed {
    until: Clock,
    /// It is open again, and an attempt has gone first.
    is_tried: bool,
    /// The provider has stated the time.
    is_stated: bool,
}

fn call_of(started: &AttemptStarted) -> Option<&ProgramCall> {
    match &started.command {
        Command::Agent(call) => Some(call),
        _ => None,
    }
}

/// The reset that a refusal states, with its margin.
fn margin(throttled: &Throttled) -> Option<Timestamp> {
    throttled.resets_at.map(|resets_at| resets_at.saturating_add_ms(MARGIN_MS))
}

impl Watch {
    pub(crate) fn count(&mut self, what: &'static str) {
        let count = self.reached.entry(what).or_default();
        *count = count.saturating_add(1);
    }

    /// Counts it if an account is closed.
    pub(crate) fn count_while_closed(&mut self, what: &'static str, now: Clock) {
        if self.known.values().any(|closed| !closed.is_tried && !now.has_reached(closed.until)) {
            self.count(what);
        }
    }

    /// An engine comes up, and knows the journal.
    pub(crate) fn comes_up(&mut self, now: Clock) {
        self.known.clear();
        self.stated.clone_from(&self.durably_stated);
        let mut tried = 0;
        for (account, Durable { at, until, tried_by }) in &self.durable {
            let wait_ms = until.as_millis().saturating_sub(now.wall.max(*at).as_millis());
            let until = now.after(u64::try_from(wait_ms).unwrap_or(0));
            let is_tried = tried_by.is_some();
            tried += usize::from(is_tried && !now.has_reached(until));
            let is_stated = !is_tried && self.durably_stated.contains_key(account);
            self.known.insert(account.clone(), Closed { until, is_tried, is_stated });
        }
        (0..tried).for_each(|_| self.count("engines that came up while an attempt went first"));
        self.count_while_closed("engines that came up while an account was closed", now);
    }

    /// Has become durable.
    pub(crate) fn durable(&mut self, run: &RunId, records: &[Record]) {
        for record in records {
            let at = record.at;
            match &record.event {
                Event::AccountsTried(tried) => {
                    for account in &tried.accounts {
                        self.durably_stated.remove(account);
                        self.newest(account, Durable { at, until: at, tried_by: None });
                    }
                }
                Event::AttemptStarted(started) => {
                    // An attempt that knows of a refusal.
                    let Some(call) = call_of(started).filter(|call| call.refusals > 0) else { continue };
                    let account = call.account.as_ref().unwrap_or(&call.program).clone();
                    let tried_by = Some((run.clone(), started.attempt.clone()));
                    // A refusal of the same moment is the newer one.
                    if self.durable.get(&account).is_none_or(|known| (at, at) >= (known.at, known.until)) {
                        let until = at.saturating_add_ms(TRIAL_MS);
                        self.durable.insert(account, Durable { at, until, tried_by });
                    }
                }
                Event::AttemptSettled(settled) => match &settled.throttled {
                    Some(throttled) => {
                        let account = &throttled.account;
                        match margin(throttled) {
                            Some(until) => self.durably_stated.insert(account.clone(), until),
                            None => self.durably_stated.remove(account),
                        };
                        self.newest(account, Durable { at, until: throttled.until, tried_by: None });
                    }
                    None => {
                        let key = Some((run.clone(), settled.attempt.clone()));
                        self.durable.retain(|_, said| said.tried_by != key);
                    }
                },
                _ => {}
            }
        }
    }

    fn newest(&mut self, account: &str, said: Durable) {
        let is_newer = |known: &Durable| (said.at, said.until) >= (known.at, known.until);
        if self.durable.get(account).is_none_or(is_newer) {
            self.durable.insert(account.to_owned(), said);
        }
    }

    /// An engine is about to commit this.
    pub(crate) fn decided(&mut self, commit: &Commit, now: Clock) -> Result<(), Violation> {
        for record in &commit.records {
            match &record.event {
                Event::AttemptStarted(started) => self.starts(&commit.run, started, record.at, now)?,
                Event::AttemptSettled(settled) => self.settles(&commit.run, settled, record.at, now)?,
                Event::AccountsTried(tried) => {
                    tried.accounts.iter().for_each(|account| self.opens(account, now));
                }
                Event::TimerSet(timer) => {
                    let Some(wait) = &timer.account else { continue };
                    self.count("waits for an account");
                    if wait.resets_at.is_none() {
                        self.unstated.insert((commit.run.clone(), timer.visit.clone()), timer.due);
                    }
                    if self.known.get(&wait.account).is_some_and(|closed| closed.is_tried) {
                        self.count("waits for the one that goes first");
                    }
                }
                Event::HandoffWritten(written) if written.handoff.status == handoff::Status::Failed => {
                    let error = written.handoff.error.as_deref().unwrap_or("");
                    self.fails(&commit.run, &written.visit, error)?;
                    if error.contains("`limits.waiting`") {
                        self.count("steps that failed at the limit of waiting");
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// A person lets it be tried: it is as after its reset.
    fn opens(&mut self, account: &str, now: Clock) {
        self.stated.remove(account);
        let Some(closed) = self.known.get_mut(account) else { return };
        let is_early = !closed.is_tried && !now.has_reached(closed.until);
        *closed = Closed { until: now, is_tried: false, is_stated: false };
        if is_early {
            self.early.insert(account.to_owned());
            self.count("tries before the reset");
        }
    }

    fn starts(
        &mut self,
        run: &RunId,
        started: &AttemptStarted,
        at: Timestamp,
        now: Clock,
    ) -> Result<(), Violation> {
        let Some(call) = call_of(started) else { return Ok(()) };
        let name = call.account.clone().unwrap_or_else(|| call.program.clone());
        let attempt = &started.attempt;
        let mut goes_first = false;
        let waited = self.unstated.get(&(run.clone(), attempt.visit.clone())).is_some_and(|due| *due <= at);
        let mut is_last = false;
        if let Some(closed) = self.known.get_mut(&name) {
            let is_open = now.has_reached(closed.until);
            is_last = !is_open && waited && !closed.is_stated && !closed.is_tried;
            let promise = match closed.is_tried {
                true => "one attempt goes first after a reset, and others wait for it",
                false => "no attempt starts while its account is closed, but for the last one of a wait",
            };
            holds(is_open || is_last, promise, || {
                format!("{run}: {attempt} with {name}, until {:?}", closed.until)
            })?;
            *closed = Closed { until: now.after(TRIAL_MS), is_tried: true, is_stated: false };
            goes_first = true;
        }
        let stated = self.stated.get(&name);
        let too_early = !self.is_clock_changed && stated.is_some_and(|until| now.wall < *until);
        holds(!too_early, "a reset that was stated is waited for, with a margin", || {
            format!("{run}: {attempt} with {name} at {}, until {stated:?}", now.wall)
        })?;
        if goes_first {
            self.count("attempts that went first");
        }
        if is_last {
            self.count("last tries of a wait");
        }
        if call.instead {
            self.count("attempts with another account or program");
        }
        if call.was_throttled {
            self.count("sessions that went on after a limit");
        }
        if call.cut_off && call.resumes {
            self.count("sessions that went on after a doubt");
        }
        if let Some(key) = &call.session_key {
            let visits = self.sessions.entry(format!("{run} {key}")).or_default();
            visits.insert(attempt.visit.to_string());
            if visits.len() > 1 {
                self.count("attempts in a session that several visits share");
            }
        }
        self.attempts.insert((run.clone(), attempt.clone()), name);
        Ok(())
    }

    fn settles(
        &mut self,
        run: &RunId,
        settled: &AttemptSettled,
        at: Timestamp,
        now: Clock,
    ) -> Result<(), Violation> {
        let attempt = &settled.attempt;
        let Some(name) = self.attempts.get(&(run.clone(), attempt.clone())).cloned() else { return Ok(()) };
        if let Some(throttled) = &settled.throttled {
            self.unstated.remove(&(run.clone(), attempt.visit.clone()));
            self.refused(&name, throttled, at, now)?;
            if attempt.visit.item().is_some() && throttled.instead.is_some() {
                self.count("items that went on with another account");
            }
            return Ok(());
        }
        if settled.ok && self.early.remove(&name) {
            self.count("tries before the reset that were taken");
        }
        if self.known.get(&name).is_some_and(|closed| closed.is_tried || now.has_reached(closed.until)) {
            self.known.remove(&name);
        }
        if settled.late || settled.ok {
            return Ok(());
        }
        let visit = (run.clone(), attempt.visit.clone());
        if matches!(settled.outcome, Outcome::InDoubt { .. }) {
            self.doubted.insert(visit);
            return Ok(());
        }
        let failures = self.failures.entry(visit).or_default();
        // An engine may die before that is durable, and the next one decides it again.
        failures.insert(attempt.clone());
        holds(failures.len() <= ATTEMPTS, "a step is tried as often as its flow says", || {
            format!("{run}: {failures:?}")
        })
    }

    fn refused(
        &mut self,
        name: &str,
        throttled: &Throttled,
        at: Timestamp,
        now: Clock,
    ) -> Result<(), Violation> {
        self.count("refusals");
        if self.early.remove(name) {
            self.count("tries before the reset that were refused");
        }
        if self.known.get(name).is_some_and(|closed| closed.is_tried) {
            self.count("refusals after the reset");
        }
        if throttled.resets_at.is_none() {
            self.count("refusals without a time");
        }
        let margin = margin(throttled);
        self.stated.extend(margin.map(|until| (name.to_owned(), until)));
        let has_margin = margin.is_none_or(|margin| throttled.until >= margin);
        holds(has_margin, "a stated reset gets a margin", || format!("{throttled:?}"))?;
        let wait_ms = throttled.until.as_millis().saturating_sub(at.as_millis());
        let until = now.after(u64::try_from(wait_ms).unwrap_or(0));
        // A refusal without a time does not contradict the known one.
        let is_known = throttled.resets_at.is_none()
            && self
                .known
                .get(name)
                .is_some_and(|known| !known.is_tried && known.is_stated && !until.has_reached(known.until));
        if !is_known {
            let is_stated = throttled.resets_at.is_some();
            self.known.insert(name.to_owned(), Closed { until, is_tried: false, is_stated });
        }
        Ok(())
    }

    /// A visit has failed for good.
    fn fails(&self, run: &RunId, visit: &VisitId, error: &str) -> Result<(), Violation> {
        let key = (run.clone(), visit.clone());
        let failures = self.failures.get(&key).map_or(0, BTreeSet::len);
        let is_of_an_agent = failures > 0;
        let fair = !is_of_an_agent
            || failures == ATTEMPTS
            || self.doubted.contains(&key)
            || error.contains("AGENT_THROTTLED");
        holds(fair, "a limit uses up no try", || format!("{run}: {visit} after {failures} failures: {error}"))
    }
}
