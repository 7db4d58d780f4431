//! A copy is adopted while the process is killed or the power fails. Afterwards it is either a copy or a
//! store of its own, never half of each.

use crate::life::{empty, place};
use envoi_journal::{Delivery, Layout, Standing, Store, Undelivered, conformance};
use envoi_kernel::notify::Moment as Told;
use envoi_testkit::{Moment, Survives};
use std::{fs, path::PathBuf};

/// Makes a store with a run and an undelivered notice, and closes it.
fn original(layout: &Layout) {
    let store = Store::open(layout.clone()).unwrap();
    let writer = store.writer(store.take_epoch().unwrap()).unwrap();
    let run = conformance::run("a").unwrap();
    let commit = conformance::commit(&run, 0, [conformance::started(&run).unwrap()]);
    let delivery = Delivery { seq: 0, kind: Told::End, id: "x".to_owned(), target: "{}".to_owned() };
    writer.commit(envoi_journal::Commit { deliveries: vec![delivery], ..commit }).unwrap();
    writer.close();
}

/// Everything that an adoption changes.
#[derive(Debug, PartialEq)]
struct Seen {
    id: String,
    folder: Option<PathBuf>,
    adopted_from: Option<PathBuf>,
    shares_workspaces: bool,
    notices: Undelivered,
}

fn seen(store: &Store) -> Seen {
    let identity = store.identity().unwrap();
    Seen {
        id: identity.id,
        folder: identity.folder,
        adopted_from: identity.adopted_from,
        shares_workspaces: identity.shares_workspaces,
        notices: store.reader().unwrap().undelivered().unwrap(),
    }
}

#[test]
fn a_copy_whose_adoption_is_cut_off_at_any_moment_is_a_copy_or_adopted() {
    let folder = tempfile::tempdir().unwrap();
    let from = Layout::new(folder.path().join("original"));
    original(&from);
    let place = place();
    let disk = empty(&place.store);
    fs::copy(from.db(), place.store.db()).unwrap();
    let store = Store::open_any(place.store.clone()).unwrap();
    assert_eq!(store.standing().unwrap(), Standing::Copy { of: from.root().to_owned() });
    let (copy, began) = (seen(&store), disk.now());
    assert_eq!(store.adopt(true).unwrap().as_deref(), Some(from.root()));
    let (adopted, ended) = (seen(&store), disk.now());
    assert!(adopted.id != copy.id && adopted.shares_workspaces && !copy.shares_workspaces, "{adopted:?}");
    assert_eq!((adopted.notices.open, adopted.notices.given_up), (0, 1));
    let left = |at: usize, survives: Survives| {
        let _disk = empty(&place.left);
        disk.power_loss(Moment(at), survives, place.left.root()).unwrap();
        seen(&Store::open_any(place.left.clone()).unwrap())
    };
    let (mut copies, mut whole) = (0, 0);
    for at in began.0..=ended.0 {
        let seed = u64::try_from(at).unwrap();
        for survives in [Survives::Everything, Survives::Synced, Survives::Some { seed }] {
            let found = left(at, survives);
            assert!(found == copy || found == adopted, "at {at}, {survives:?}: {found:?}");
            copies += usize::from(found == copy);
            whole += usize::from(found == adopted);
        }
    }
    assert!(copies > 0 && whole > 0, "{copies} copies, {whole} adopted");
    assert_eq!(left(ended.0, Survives::Synced), adopted, "what was acknowledged lasts");
}
