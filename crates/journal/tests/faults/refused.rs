//! A disk that refuses writes or syncs: every acknowledged commit is there, no failed commit was
//! acknowledged, and the store goes on.

use crate::{
    check::{check, check_left},
    life::{COMMITS, Life, Place, live, place},
};
use envoi_journal::{Class, CommitError};
use envoi_testkit::{Faults, Survives};

/// Runs lives with the fault at the first place, the second, and so on, until a life ends before its fault
/// occurs. Each time checks the store when the disk works again, and after a power failure instead. Returns
/// the number of places.
fn at_every_place(fault: impl Fn(u64) -> Faults, mut also: impl FnMut(&Place, &Life)) -> u64 {
    let place = place();
    for number in 1.. {
        let faults = fault(number);
        let life = live(&place.store, faults);
        if life.disk.refused() == 0 {
            assert_eq!(life.told.iter().filter(|told| told.outcome.is_ok()).count(), COMMITS);
            return number - 1;
        }
        also(&place, &life);
        let end = life.disk.now();
        let survives = match number % 3 {
            0 => Survives::Synced,
            1 => Survives::Everything,
            _ => Survives::Some { seed: number },
        };
        check_left(&place.left, &life, end, survives)
            .unwrap_or_else(|broken| panic!("{broken}, with {faults:?}, {survives:?}"));
        life.disk.plan(Faults::default());
        check(&place.store, &life, end).unwrap_or_else(|broken| panic!("{broken}, with {faults:?}"));
    }
    0
}

fn errors(life: &Life) -> Vec<&CommitError> {
    life.told.iter().filter_map(|told| told.outcome.as_ref().err()).collect()
}

/// The fault occurs once: one transaction or one open fails, and everything else succeeds.
fn see_one_failure(life: &Life) -> usize {
    let errors = errors(life);
    assert!(errors.iter().all(|error| error.class() == Class::Retry), "{errors:?}");
    assert!(errors.len() <= 2, "one transaction failed, not others: {errors:?}");
    assert!(life.refused.len() <= 1, "{:?}", life.refused);
    errors.len()
}

#[test]
fn after_any_sync_that_fails_what_was_acknowledged_is_there_and_the_store_goes_on() {
    let mut failed = 0;
    let fault = |place| Faults { fail_sync_at: Some(place), ..Faults::default() };
    let syncs = at_every_place(fault, |place, life| {
        failed += see_one_failure(life);
        for at in life.disk.before_syncs() {
            check_left(&place.left, life, at, Survives::Synced).unwrap();
        }
        assert!(errors(life).iter().all(|error| error.is_unknown()), "a sync fails within COMMIT only");
    });
    assert_eq!(failed, COMMITS, "every commit is once one whose sync failed, of {syncs}");
}

#[test]
fn while_all_syncs_fail_nothing_is_acknowledged() {
    let fault = |place| Faults { fail_sync_at: Some(place), for_good: true, ..Faults::default() };
    at_every_place(fault, |_, life| {
        let acknowledged = life.told.iter().take_while(|told| told.outcome.is_ok()).count();
        assert_eq!(acknowledged, life.told.len() - errors(life).len(), "none after the first that failed");
    });
}

#[test]
fn after_any_write_that_fails_what_was_acknowledged_is_there_and_the_store_goes_on() {
    let mut failed = 0;
    let writes = at_every_place(
        |place| Faults { fail_write_at: Some(place), ..Faults::default() },
        |_, life| failed += see_one_failure(life),
    );
    assert!(failed >= COMMITS, "{failed} of {writes}");
}

#[test]
fn after_any_write_that_was_cut_short_what_was_acknowledged_is_there_and_the_store_goes_on() {
    let mut failed = 0;
    let writes = at_every_place(
        |place| Faults { short_write_at: Some(place), ..Faults::default() },
        |_, life| failed += see_one_failure(life),
    );
    assert!(failed >= COMMITS, "{failed} of {writes}");
}

/// Not a multiple of a page or of a frame, so that each write is cut at a different byte.
const MORE_ROOM_BYTES: u64 = 2_999;

#[test]
fn however_much_room_there_is_what_was_acknowledged_is_there_and_what_was_refused_is_not() {
    let fault = |place| Faults { full_after_bytes: Some(place * MORE_ROOM_BYTES), ..Faults::default() };
    let places = at_every_place(fault, |_, life| {
        let errors = errors(life);
        assert!(errors.iter().all(|error| matches!(error, CommitError::Full { .. })), "{errors:?}");
    });
    assert!(places > 50, "{places}");
}
