//! An engine that is killed while it commits.

use crate::child::{Committer, check};
use envoi_journal::{Layout, Lease, RepairOptions, RunFilter, Store, Taken, repair};
use std::collections::BTreeMap;

/// How many engines are killed, each after a different number of acknowledgements, so that each kill
/// interrupts another moment.
const KILLS: usize = 25;

#[test]
fn what_a_killed_engine_acknowledged_is_there_and_nothing_is_half_there() {
    let folder = tempfile::tempdir().unwrap();
    let layout = Layout::new(folder.path().join(".envoi"));
    let mut all = BTreeMap::new();
    for kill in 0..KILLS {
        let mut committer = Committer::start(&layout, &format!("k{kill}x"));
        committer.acknowledge(1 + kill * 7 % 40);
        let acknowledged = committer.kill();
        check(&layout, &acknowledged);
        all.extend(acknowledged);
    }
    let store = Store::open(layout.clone()).unwrap();
    let listed = store.reader().unwrap().runs(RunFilter::default()).unwrap();
    assert!(all.keys().all(|run| listed.iter().any(|row| row.run == *run)));
    check(&layout, &all);
    let report = repair(&store, store.take_epoch().unwrap(), RepairOptions::default()).unwrap();
    assert!(report.is_clean(), "{report:?}");
}

#[test]
fn a_killed_engine_leaves_its_lease_free() {
    let folder = tempfile::tempdir().unwrap();
    let layout = Layout::new(folder.path().join(".envoi"));
    let committer = Committer::start(&layout, "a");
    match Lease::try_take(&layout).unwrap() {
        Taken::Held(holder) => assert_eq!(holder.unwrap().pid, committer.pid()),
        Taken::Lease(_) => panic!("two engines"),
    }
    committer.kill();
    assert!(matches!(Lease::try_take(&layout).unwrap(), Taken::Lease(_)));
}
