//! How a run stands, in words for people.

use crate::{
    process::{clock, invocation},
    text::duration::between,
};
use envoi_api::run::Stands;
use envoi_contract::time::Timestamp;
use envoi_journal::{RunRow, Standing, Store};
use std::path::{Path, PathBuf};

/// How a run stands, for people: the word that programs have too, and since or until when.
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
