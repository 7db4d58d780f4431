//! Checks the snapshots of workspaces: every list and content that a run names must exist unchanged.

use super::{Finding, finding};
use envoi_engine::snapshots;
use envoi_journal::{ReadError, RunFilter, Store, with_causes};
use std::collections::BTreeSet;

/// The most findings that are listed. The others are counted.
const MOST_LISTED: usize = 50;

pub(super) fn look(store: &Store) -> Vec<Finding> {
    let what = "snapshot that is damaged";
    let bad = |line: String| {
        finding(
            what,
            Err(format!(
                "{line}; `diff` and `restore` work for undamaged files; restore the others from a backup"
            )),
        )
    };
    let named = match named(store) {
        Err(error) => return vec![bad(with_causes(&error))],
        Ok(named) => named,
    };
    match envoi_tree::damage(&snapshots::contents(store.layout()), &named) {
        Err(error) => vec![bad(error.to_string())],
        Ok(lines) => {
            let more = lines.len().saturating_sub(MOST_LISTED);
            let rest = (more > 0).then(|| bad(format!("{more} more")));
            lines.into_iter().take(MOST_LISTED).map(bad).chain(rest).collect()
        }
    }
}

/// All snapshots that runs name. An unreadable run has its own finding.
fn named(store: &Store) -> Result<BTreeSet<envoi_contract::digest::Digest>, ReadError> {
    let reader = store.reader()?;
    let mut named = BTreeSet::new();
    for row in reader.all_runs(RunFilter::default())? {
        if let Ok(records) = reader.records(&row.run, 0, None) {
            named.extend(snapshots::named(&records));
        }
    }
    Ok(named)
}
