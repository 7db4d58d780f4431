//! A person lets a closed account be tried before its time: they know more than its provider has reported, or use another login now.
//!
//! What waits for an account has its timers fire. A question whether to wait is answered with a try. A run that is over goes on as
//! when it is reopened. The accounts are open from then on for all runs of the tenant, until one of them is refused again.

use crate::{
    decide::{advance::advance, answer, draft::Draft, reopen::Reopen, throttle},
    model::{
        event::{About, AccountsTried, Choice, Event, InterruptRaised, TimerFired},
        ids::{InterruptId, TimerId, VisitId},
        input::{Answer, Refusal},
    },
};
use std::{collections::BTreeSet, sync::Arc};

/// The channel of an answer that a try gives.
const CHANNEL: &str = "resume";

/// Input: try now.
pub(crate) fn try_now(draft: Draft<'_>, who: Reopen) -> Result<Draft<'_>, Refusal> {
    match draft.control.phase.ended().is_some() {
        true => of_ended(draft, who),
        false => of_waiting(draft, who),
    }
}

/// Each account of the flow that is closed, as far as that is known here, is open for what comes next.
fn of_ended(mut draft: Draft<'_>, who: Reopen) -> Result<Draft<'_>, Refusal> {
    let inner = draft.flow.flows.values().map(|flow| &**flow);
    let flows = core::iter::once(draft.flow).chain(inner);
    let steps = flows.flat_map(|flow| flow.steps.iter().map(move |step| (flow, step)));
    let mut accounts: BTreeSet<String> =
        steps.flat_map(|(flow, step)| throttle::accounts(&draft, flow, step)).collect();
    if let Some(slot) = &draft.slot {
        let closed = |account: &String| slot.accounts.get(account).is_some_and(|at| at.until > draft.now);
        accounts.retain(closed);
    }
    let by = who.by.clone();
    let why = who.why.clone();
    let request = who.request.clone();
    who.emit(&mut draft)?;
    if !accounts.is_empty() {
        open(&mut draft, accounts, AccountsTried { accounts: Vec::new(), by, why, request })?;
    }
    advance(draft)
}

/// Ends the waits for accounts, and answers the questions whether to wait.
fn of_waiting(mut draft: Draft<'_>, who: Reopen) -> Result<Draft<'_>, Refusal> {
    let Reopen { by, why, request, .. } = who;
    let awaited = |(timer, (_, visit)): (&TimerId, &(_, VisitId))| {
        let wait = draft.control.open.get(visit)?.waited.wait.as_ref()?;
        Some((timer.clone(), wait.account.clone()))
    };
    let awaited: Vec<(TimerId, String)> = draft.control.timers.iter().filter_map(awaited).collect();
    let awaited_by_question = |raised: &Arc<InterruptRaised>| {
        let account = raised.evidence.get("account").filter(|_| raised.about == About::Throttled)?;
        Some((raised.interrupt.clone(), account.as_str()?.to_owned()))
    };
    let questions: Vec<(InterruptId, String)> =
        draft.control.interrupts.values().filter_map(awaited_by_question).collect();
    let accounts: BTreeSet<String> = awaited
        .iter()
        .map(|(_, account)| account)
        .chain(questions.iter().map(|(_, account)| account))
        .cloned()
        .collect();
    if accounts.is_empty() || draft.control.winds_down() {
        return Err(Refusal::NoAccountAwaited);
    }
    let tried =
        AccountsTried { accounts: Vec::new(), by: by.clone(), why: why.clone(), request: request.clone() };
    open(&mut draft, accounts, tried)?;
    for (timer, _) in awaited {
        draft.emit(Event::TimerFired(TimerFired { timer }))?;
    }
    for (interrupt, _) in questions {
        let answer = Answer::new(interrupt, Choice::Rerun, by.clone());
        answer::take(
            &mut draft,
            Answer { text: why.clone(), channel: CHANNEL.to_owned(), request: request.clone(), ..answer },
        )?;
    }
    advance(draft)
}

/// These accounts are open, in this decision too.
fn open(draft: &mut Draft<'_>, accounts: BTreeSet<String>, tried: AccountsTried) -> Result<(), Refusal> {
    if let Some(slot) = &mut draft.slot {
        let now = draft.now;
        let standings = Arc::make_mut(&mut slot.accounts);
        let meant = standings.iter_mut().filter(|(account, _)| accounts.contains(*account));
        meant.for_each(|(_, standing)| standing.until = standing.until.min(now));
    }
    draft.emit(Event::AccountsTried(AccountsTried { accounts: accounts.into_iter().collect(), ..tried }))
}
