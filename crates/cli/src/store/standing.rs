//! How a run stands, in words for people.

use crate::{process::clock, text::duration::between};
use envoi_contract::time::Timestamp;
use envoi_journal::{Activity, Doing, RunRow, RunStatus};

/// How a run stands, for people: `running` only where an engine goes on with it.
pub(crate) fn stands(row: &RunRow, now: Timestamp) -> String {
    match (row.status(), row.doing) {
        (_, Some(Doing { activity: Activity::SetAside, since, .. })) => {
            format!("set aside {} ago", between(since, now))
        }
        (RunStatus::Running, Some(Doing { activity: Activity::Stopped, since, step_works })) => {
            let step = if step_works { ", its step still works" } else { "" };
            format!("stopped {} ago{step}", between(since, now))
        }
        (RunStatus::Running, _) if row.live_attempts == 0 && row.waits_for.is_some() => {
            let wait = row.waits_for.as_ref();
            wait.map(|wait| waiting_for(&wait.account, wait.resets_at, wait.due)).unwrap_or_default()
        }
        (status, _) => status.word().to_owned(),
    }
}

/// What a step waits for whose account is closed: the time is that of the reset, or of the next try where no reset is known.
pub(crate) fn waiting_for(account: &str, resets_at: Option<Timestamp>, due: Timestamp) -> String {
    match resets_at {
        Some(at) => format!("waiting for {account} until {}", clock::local_short(at)),
        None => format!("waiting for {account}, next try at {}", clock::local_short(due)),
    }
}
