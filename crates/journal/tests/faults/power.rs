//! Power failures at any moment.

use crate::{
    check::check_left,
    life::{COMMITS, Life, Place, live, place},
};
use envoi_testkit::{Faults, Moment, Survives};

/// A life in which nothing is refused.
fn lived(place: &Place, faults: Faults) -> Life {
    let life = live(&place.store, faults);
    assert_eq!(life.told.iter().filter(|told| told.outcome.is_ok()).count(), COMMITS);
    life
}

/// The failed checks after a power failure at each of these moments.
fn broken(place: &Place, life: &Life, moments: &[(Moment, Survives)]) -> Vec<String> {
    let at = |(at, survives): &(Moment, Survives)| {
        let broken = check_left(&place.left, life, *at, *survives).err()?;
        Some(format!("{broken}, at {at:?}, {survives:?}"))
    };
    moments.iter().filter_map(at).collect()
}

#[test]
fn what_was_acknowledged_is_on_the_disk_whatever_else_was_not() {
    let place = place();
    let life = lived(&place, Faults::default());
    let moments: Vec<_> = life.disk.before_syncs().into_iter().map(|at| (at, Survives::Synced)).collect();
    assert_eq!(broken(&place, &life, &moments), [""; 0]);
}

#[test]
fn a_commit_whose_writes_are_partly_there_is_not_there_at_all() {
    let place = place();
    let life = lived(&place, Faults::default());
    let some = |at: usize| (Moment(at), Survives::Some { seed: u64::try_from(at).unwrap() });
    let moments: Vec<_> = (0..=life.disk.now().0).map(some).collect();
    assert_eq!(broken(&place, &life, &moments), [""; 0]);
}

#[test]
fn on_a_disk_that_lies_about_syncs_these_tests_fail() {
    let place = place();
    let life = lived(&place, Faults { lie_sync: true, ..Faults::default() });
    let moments: Vec<_> = life.told.iter().map(|told| (told.at, Survives::Synced)).collect();
    let broken = broken(&place, &life, &moments);
    let lost = broken.iter().filter(|broken| broken.starts_with("acknowledged")).count();
    assert_eq!(lost, COMMITS, "{broken:?}");
}
