//! The behaviour of steps while the account of an agent program, or of a model, is closed.
//!
//! A step waits with a timer, as long as its flow allows; then it fails, asks, or goes on with another program. The wait is a
//! durable one, as for another try: no process stays for it. Owns these decisions. Which accounts are closed comes with the
//! slot, or from the report of the very attempt.

use crate::{
    decide::{
        conclude::{self, Conclusion},
        draft::{At, Draft},
        own_login,
    },
    model::{
        event::{About, AttemptSettled, Event, TimerSet},
        flow::{AfterWait, Fallback, Flow, OnReached, OnThrottled, Step, StepKind},
        ids::VisitId,
        input::{AttemptResult, Refusal},
        throttle::{AccountWait, DEFAULT_WAIT_MS, Standing, Throttled},
    },
    state::{
        limits::Bound,
        throttle::{self, Waited},
        visit::{self, OpenVisit},
    },
};
use envoi_contract::code::Code;
use envoi_contract::{
    json::{Object, Value},
    skill_report::{SkillError, SkillReport, Verdict},
    time::{Timestamp, duration},
};

/// The next action of a visit whose account is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next<'p> {
    /// It waits until then.
    Wait(Timestamp),
    /// This program goes on.
    Use(&'p Fallback),
    /// A person decides; if it is because of the limit of the run, with that.
    Ask(Option<RunLimit>),
    /// So does this.
    Fail(Option<RunLimit>),
}

/// `limits.waiting`: how long the run may wait for accounts, all its steps together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct RunLimit {
    most_ms: u64,
    /// The time that it has waited already.
    used_ms: u64,
    /// A person decides when it is reached.
    asks: bool,
}

impl RunLimit {
    fn of(draft: &Draft<'_>) -> Option<Self> {
        let limits = &draft.flow.limits;
        let most_ms = limits.waiting_ms?.saturating_add(draft.control.raised.waiting_ms);
        let used_ms = draft.control.waiting.up_to(draft.now);
        Some(Self { most_ms, used_ms, asks: limits.on_reached == OnReached::Ask })
    }

    fn left_ms(self) -> u64 {
        self.most_ms.saturating_sub(self.used_ms)
    }
}

impl core::fmt::Display for RunLimit {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let used = duration(self.used_ms);
        let most = duration(self.most_ms);
        write!(f, "the run has waited {used} for accounts, and may wait {most} (`limits.waiting`)")
    }
}

/// The error of a step that does not wait; if the limit of the run is the reason, the error names it.
fn not_waited(error: SkillError, reached: Option<RunLimit>) -> SkillError {
    let Some(limit) = reached else { return error };
    SkillError { message: format!("{}; {limit}", error.message), ..error }
}

/// The next action of a visit that has waited so long, if its account opens at `until`.
fn next<'p>(
    policy: &'p OnThrottled,
    limit: Option<RunLimit>,
    waited: &Waited,
    until: Timestamp,
    resets_at: Option<Timestamp>,
    now: Timestamp,
) -> Next<'p> {
    // The other program is the last one, and a person who decided to wait has waited for this.
    let longest = |wait_ms: u64| if waited.patient { wait_ms.max(DEFAULT_WAIT_MS) } else { wait_ms };
    let (wait_ms, then) = match waited.other {
        true => (DEFAULT_WAIT_MS, &AfterWait::Fail),
        false => (longest(policy.wait_ms), &policy.then),
    };
    // A flow that names another program asks only about that one's account: a person who decided to wait has decided to go on with it.
    if let (true, AfterWait::Use(other)) = (waited.patient && !waited.other, then) {
        return Next::Use(other);
    }
    let own = waited.since.unwrap_or(now).saturating_add_ms(wait_ms);
    let wait_to = |deadline: Timestamp| {
        // Without a stated time the last moment is as good as any other one.
        let last = Some(deadline).filter(|_| resets_at.is_none() && now < deadline);
        if until <= deadline { Some(until) } else { last }
    };
    let by_step = wait_to(own);
    // A person who decided to wait has decided about the limit of the run, too.
    let limit = limit.filter(|_| !waited.patient);
    let by_run = |limit: RunLimit| wait_to(own.min(now.saturating_add_ms(limit.left_ms())));
    if let Some(until) = limit.map_or(by_step, by_run) {
        return Next::Wait(until);
    }
    let reached = limit.filter(|_| by_step.is_some());
    match then {
        AfterWait::Fail if reached.is_some_and(|limit| limit.asks) => Next::Ask(reached),
        AfterWait::Fail => Next::Fail(reached),
        AfterWait::Ask => Next::Ask(reached),
        AfterWait::Use(other) => Next::Use(other),
    }
}

/// The step's policy for its account; `None` for a step that uses none.
fn policy(step: &Step) -> Option<&OnThrottled> {
    match &step.kind {
        StepKind::Agent(plan) => Some(&plan.on_throttled),
        StepKind::Model(plan) => Some(&plan.on_throttled),
        StepKind::Run(_) | StepKind::Ask(_) | StepKind::Flow(_) | StepKind::A2a(_) => None,
    }
}

/// The account whose limits hold for a step of this flow, or for what goes on in place of its program; `None` for a step that uses none.
fn account_of(draft: &Draft<'_>, flow: &Flow, step: &Step, other: Option<&Fallback>) -> Option<String> {
    let (account, variables) = match (&step.kind, other) {
        (StepKind::Agent(_) | StepKind::Model(_), Some(other)) => {
            (other.account.clone(), other.login_variables)
        }
        (StepKind::Agent(plan), None) => (plan.account.clone(), plan.login_variables),
        (StepKind::Model(plan), None) => (plan.account(), [].as_slice()),
        (StepKind::Run(_) | StepKind::Ask(_) | StepKind::Flow(_) | StepKind::A2a(_), _) => return None,
    };
    Some(own_login::limits_of(draft, flow, step, (&account, variables)).unwrap_or(account))
}

/// The accounts that attempts of a step of this flow may use.
pub(crate) fn accounts(draft: &Draft<'_>, flow: &Flow, step: &Step) -> Vec<String> {
    let other = policy(step).and_then(|policy| match &policy.then {
        AfterWait::Use(other) => Some(&**other),
        AfterWait::Fail | AfterWait::Ask => None,
    });
    let own = account_of(draft, flow, step, None);
    let other = other.and_then(|other| account_of(draft, flow, step, Some(other)));
    own.into_iter().chain(other).collect()
}

/// The program, and the account, that the next attempt of a visit uses in place of its own.
fn other<'p>(policy: &'p OnThrottled, open: Option<&OpenVisit>) -> Option<&'p Fallback> {
    match &policy.then {
        AfterWait::Use(other) if open.is_some_and(|open| open.waited.other) => Some(other),
        _ => None,
    }
}

/// The limit in the report of the live attempt of a visit, and its consequence as far as the event has it.
pub(crate) fn refused(
    draft: &Draft<'_>,
    step: &Step,
    open: &OpenVisit,
    result: &AttemptResult,
    verdict: &Verdict,
) -> Option<Throttled> {
    let policy = policy(step)?;
    let now = draft.now;
    let (account, refusals) = open.plan.as_ref()?.command.account()?;
    if !verdict.error.as_ref()?.is(Code::AgentThrottled) {
        return None;
    }
    let report = SkillReport::decode(result.report.as_deref()?).ok();
    let state =
        report.as_ref().and_then(|report| report.unknown.get("agent").or(report.unknown.get("model")));
    let resets_at = state.and_then(|agent| agent.get("throttled_until")).and_then(Value::as_str);
    // The bridge has it from the provider itself.
    let metered = draft.control.accounts.refused_until(&result.attempt);
    let resets_at = metered.or_else(|| resets_at.and_then(Timestamp::parse));
    let new = |resets_at| Throttled::new(account.to_owned(), resets_at, refusals.saturating_add(1), now);
    let mut throttled = new(resets_at);
    if throttled.resets_at.is_none() {
        // Another attempt has learnt of the same limit meanwhile, and until when it holds.
        throttled = new(stated(draft, account));
    }
    let limit = RunLimit::of(draft);
    if let Next::Use(other) = next(policy, limit, &open.waited, throttled.until, throttled.resets_at, now) {
        throttled.instead = Some(other.name.clone());
    }
    Some(throttled)
}

/// The stated time at which a closed account opens again, as far as the slot knows it.
fn stated(draft: &Draft<'_>, account: &str) -> Option<Timestamp> {
    let standing = draft.slot.as_ref()?.accounts.get(account)?;
    standing.resets_at.filter(|_| standing.until > draft.now && !standing.is_tried)
}

/// The account of the last attempt of a visit, if that used one.
pub(crate) fn account(open: &OpenVisit) -> Option<&str> {
    open.plan.as_ref()?.command.account().map(|(account, _)| account)
}

/// An attempt with this account was not refused: visits that have waited for it need not wait in this decision.
pub(crate) fn passed(draft: &mut Draft<'_>, account: &str) {
    let Some(slot) = &mut draft.slot else { return };
    if slot.accounts.get(account).is_some_and(|standing| standing.is_tried) {
        std::sync::Arc::make_mut(&mut slot.accounts).remove(account);
    }
}

/// The next action after an attempt that was refused.
pub(crate) fn follow(
    draft: &mut Draft<'_>,
    step: &Step,
    settled: &AttemptSettled,
    throttled: &Throttled,
    text: String,
) -> Result<(), Refusal> {
    let Throttled { account, resets_at, until, refusals, .. } = throttled.clone();
    if let Some(slot) = &mut draft.slot {
        let standing = Standing { until, resets_at, refusals, is_tried: false };
        throttle::close(std::sync::Arc::make_mut(&mut slot.accounts), &account, standing);
    }
    let visit = &settled.attempt.visit;
    let error = settled.error.clone().unwrap_or_else(|| closed(&account, resets_at, until));
    let Some(policy) = policy(step) else { return Ok(()) };
    if draft.control.winds_down() {
        return conclude::conclude(draft, visit, Conclusion::CutShort(error, text));
    }
    if throttled.instead.is_some() {
        // The visit is ready again, and goes on with the other one.
        return Ok(());
    }
    let wait = AccountWait { account, resets_at, is_tried: false };
    let limit = RunLimit::of(draft);
    match next(policy, limit, &waited(draft, visit), until, resets_at, draft.now) {
        Next::Fail(reached) => {
            conclude::conclude(draft, visit, Conclusion::FailedAfter(not_waited(error, reached), text))
        }
        Next::Use(_) => conclude::conclude(draft, visit, Conclusion::FailedAfter(error, text)),
        next => obey(draft, visit, wait, next, until, error),
    }
}

/// Acts if a closed account keeps the next attempt of a ready visit from starting. `None`: it acted; else it may start, and
/// `true` if with the other program.
pub(crate) fn hold_up(draft: &mut Draft<'_>, visit: &VisitId, at: &At<'_>) -> Result<Option<bool>, Refusal> {
    let step = at.step;
    let Some(policy) = policy(step) else { return Ok(Some(false)) };
    let open = draft.control.open.get(visit);
    if open.is_some_and(|open| visit::next(open, step).is_some()) {
        return Ok(Some(false));
    }
    let limit = RunLimit::of(draft);
    let mut waited = waited(draft, visit);
    let mut used = other(policy, open);
    loop {
        let Some(account) = account_of(draft, at.flow, step, used) else { return Ok(Some(waited.other)) };
        let standing = draft.slot.as_ref().and_then(|slot| slot.accounts.get(&account));
        let Some(standing) = standing.filter(|standing| standing.until > draft.now).cloned() else {
            return Ok(Some(waited.other));
        };
        let Standing { until, resets_at, is_tried, .. } = standing;
        let next = next(policy, limit, &waited, until, resets_at, draft.now);
        let ends = !matches!(next, Next::Wait(_));
        if ends && waited.is_last_try && resets_at.is_none() && !is_tried {
            // Its longest wait is over, and the account may be open again: one more try.
            return Ok(Some(waited.other));
        }
        match next {
            Next::Use(other) if !is_tried => {
                // The wait for the first program does not count; the wait after it does.
                let since = waited.since.map(|at| at.saturating_add_ms(policy.wait_ms));
                waited = Waited { other: true, since, patient: waited.patient, ..Waited::default() };
                used = Some(other);
            }
            next => {
                let next = if is_tried { Next::Wait(until) } else { next };
                let error = closed(&account, resets_at, until);
                let wait = AccountWait { account, resets_at, is_tried };
                obey(draft, visit, wait, next, until, error)?;
                return Ok(None);
            }
        }
    }
}

fn obey(
    draft: &mut Draft<'_>,
    visit: &VisitId,
    wait: AccountWait,
    next: Next<'_>,
    until: Timestamp,
    error: SkillError,
) -> Result<(), Refusal> {
    match next {
        Next::Wait(due) => {
            let timer = draft.timer_id()?;
            let account = Some(wait);
            draft.emit(Event::TimerSet(TimerSet { timer, due, visit: visit.clone(), account }))
        }
        Next::Ask(reached) => {
            let question = format!("{}. Wait for it, or fail?", not_waited(error, reached).message);
            let time = |at: Timestamp| Value::from(at.to_string());
            let mut evidence = Object::from([
                ("account", Value::from(wait.account.as_str())),
                ("resets_at", wait.resets_at.map_or(Value::Null, time)),
                ("next_try", time(until)),
            ]);
            if let Some(limit) = reached {
                evidence.insert("bound", Value::from(Bound::Waiting.name()));
                evidence.insert("reached", Value::from(limit.to_string()));
            }
            conclude::raise(draft, visit, About::Throttled, question, Value::Object(evidence))
        }
        Next::Fail(reached) => {
            conclude::conclude(draft, visit, Conclusion::Failed(not_waited(error, reached)))
        }
        Next::Use(_) => conclude::conclude(draft, visit, Conclusion::Failed(error)),
    }
}

/// No attempt was made, or the program reported nothing.
fn closed(account: &str, resets_at: Option<Timestamp>, until: Timestamp) -> SkillError {
    let when = match resets_at {
        Some(at) => format!("until {at}"),
        None => format!("and does not say until when; the next try is at {until}"),
    };
    SkillError::new(Code::AgentThrottled, format!("the account `{account}` is closed {when}"))
}

fn waited(draft: &Draft<'_>, visit: &VisitId) -> Waited {
    draft.control.open.get(visit).map(|open| open.waited.clone()).unwrap_or_default()
}

/// Refusals in a row of the account, as far as the slot knows it.
pub(crate) fn refusals(draft: &Draft<'_>, account: &str) -> u32 {
    let standing = draft.slot.as_ref().and_then(|slot| slot.accounts.get(account));
    standing.map_or(0, |standing| standing.refusals)
}
