//! How a run stands, in words for people.

use crate::{
    process::{clock, invocation},
    text::duration::between,
};
use envoi_contract::time::Timestamp;
use envoi_journal::{Activity, Doing, RunRow, RunStatus, Standing, Store};
use std::path::{Path, PathBuf};

/// How a run stands, for people: `running` alone only where an engine goes on with it.
pub(crate) fn stands(row: &RunRow, now: Timestamp) -> String {
    match (row.status(), row.doing) {
        (_, Some(Doing { activity: Activity::SetAside, since, .. })) => {
            format!("set aside {} ago", between(since, now))
        }
        (RunStatus::Running, Some(Doing { activity: Activity::Stopped, since, .. })) => {
            format!("stopped {} ago", between(since, now))
        }
        (RunStatus::Running, Some(Doing { step_works: true, .. })) => "running without an engine".to_owned(),
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

/// The store that this one is a copy of, if it is one: nothing goes on in a copy until it is adopted.
pub(crate) fn copy_of(store: &Store) -> Option<PathBuf> {
    match store.standing() {
        Ok(Standing::Copy { of }) => Some(of),
        // Another fault of the store is reported by the code that reads it.
        Ok(Standing::Home | Standing::Moved { .. }) | Err(_) => None,
    }
}

/// What people are told of the runs of a copy.
pub(crate) fn of_a_copy(of: &Path) -> String {
    format!(
        "this store is a copy of `{}`: nothing goes on here until `{} store adopt` makes it a store of its own",
        of.display(),
        invocation::envoi()
    )
}
