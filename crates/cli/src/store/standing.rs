//! Describes the state of a run for people.

use crate::{
    process::{clock, invocation},
    text::duration::between,
};
use envoi_api::run::Stands;
use envoi_contract::time::Timestamp;
use envoi_journal::{RunRow, Standing, Store};
use std::path::{Path, PathBuf};

/// Describes the state of a run: the same word as for programs, and since or until when.
pub(crate) fn stands(row: &RunRow, now: Timestamp) -> String {
    let stands = Stands::from(row);
    let word = stands.word().replace('_', " ");
    match (stands, row.doing, &row.waits_for) {
        (Stands::SetAside | Stands::Stopped, Some(doing), _) => {
            format!("{word} {} ago", between(doing.since, now))
        }
        (Stands::WaitingForAccount, _, Some(wait)) => waiting_for(&wait.account, wait.resets_at, wait.due),
        _ => word,
    }
}

/// Describes the wait of a step whose account is closed for now: until the reset, or until the next attempt if no
/// reset time is known.
pub(crate) fn waiting_for(account: &str, resets_at: Option<Timestamp>, due: Timestamp) -> String {
    match resets_at {
        Some(at) => format!("waiting for {account} until {}", clock::local_short(at)),
        None => format!("waiting for {account}, next try at {}", clock::local_short(due)),
    }
}

/// The original store, if this one is a copy. Runs of a copy do not continue until it is adopted.
pub(crate) fn copy_of(store: &Store) -> Option<PathBuf> {
    match store.standing() {
        Ok(Standing::Copy { of }) => Some(of),
        // Another fault of the store is reported by the code that reads it.
        Ok(Standing::Home | Standing::Moved { .. }) | Err(_) => None,
    }
}

/// The message about the runs of a copy.
pub(crate) fn of_a_copy(of: &Path) -> String {
    format!(
        "this store is a copy of `{}`: nothing goes on here until `{} store adopt` makes it a store of its own",
        of.display(),
        invocation::envoi()
    )
}
