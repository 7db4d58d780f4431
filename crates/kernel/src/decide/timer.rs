//! The time of a timer has come, or a person does not wait for it.

use crate::{
    decide::{advance::advance, draft::Draft},
    model::{
        event::{AccountsTried, Event, TimerFired},
        ids::{Principal, TimerId, VisitId},
        input::Refusal,
    },
};
use std::{collections::BTreeSet, sync::Arc};

/// Input: timer due.
pub(crate) fn due(mut draft: Draft<'_>, timer: TimerId) -> Result<Draft<'_>, Refusal> {
    let Some((due, _)) = draft.control.timers.get(&timer) else { return Err(Refusal::NoTimer { timer }) };
    if draft.now < *due {
        return Err(Refusal::NotDue { timer });
    }
    draft.emit(Event::TimerFired(TimerFired { timer }))?;
    advance(draft)
}

/// Input: try now what waits for an account.
pub(crate) fn try_now(
    mut draft: Draft<'_>,
    by: Principal,
    why: Option<String>,
) -> Result<Draft<'_>, Refusal> {
    let awaited = |(timer, (_, visit)): (&TimerId, &(_, VisitId))| {
        let wait = draft.control.open.get(visit)?.waited.wait.as_ref()?;
        Some((timer.clone(), wait.account.clone()))
    };
    let awaited: Vec<(TimerId, String)> = draft.control.timers.iter().filter_map(awaited).collect();
    if awaited.is_empty() || draft.control.winds_down() {
        return Err(Refusal::NoAccountAwaited);
    }
    let accounts: BTreeSet<String> = awaited.iter().map(|(_, account)| account.clone()).collect();
    if let Some(slot) = &mut draft.slot {
        let now = draft.now;
        let standings = Arc::make_mut(&mut slot.accounts);
        let meant = standings.iter_mut().filter(|(account, _)| accounts.contains(*account));
        meant.for_each(|(_, standing)| standing.until = standing.until.min(now));
    }
    let accounts = accounts.into_iter().collect();
    draft.emit(Event::AccountsTried(AccountsTried { accounts, by, why }))?;
    for (timer, _) in awaited {
        draft.emit(Event::TimerFired(TimerFired { timer }))?;
    }
    advance(draft)
}
