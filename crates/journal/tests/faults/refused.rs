//! A disk that refuses: nobody is told success who has none, everybody who was told has it, and the store goes on.

use crate::{
    check::check,
    life::{COMMITS, Life, layout, live},
};
use envoi_journal::{Class, CommitError};
use envoi_testkit::Faults;

/// Lives with the fault at the first place, the second, and so on, until a life ends before it comes to pass.
fn at_every_place(fault: impl Fn(u64) -> Faults, mut also: impl FnMut(&Life)) -> u64 {
    let mut place = 1;
    loop {
        let faults = fault(place);
        let life = live(faults);
        if life.disk.refused() == 0 {
            assert_eq!(life.told.iter().filter(|told| told.outcome.is_ok()).count(), COMMITS);
            return place - 1;
        }
        also(&life);
        life.disk.plan(Faults::default());
        if let Err(broken) = check(&layout(life.folder.path()), &life.told, life.disk.now()) {
            panic!("{broken}, with {faults:?}");
        }
        place += 1;
    }
}

fn errors(life: &Life) -> Vec<&CommitError> {
    life.told.iter().filter_map(|told| told.outcome.as_ref().err()).collect()
}

#[test]
fn after_any_sync_that_fails_what_was_acknowledged_is_there_and_the_store_goes_on() {
    let mut unknown = 0;
    let syncs = at_every_place(
        |place| Faults { fail_sync_at: Some(place), ..Faults::default() },
        |life| {
            let errors = errors(life);
            assert!(
                errors.iter().all(|error| error.is_unknown() && error.class() == Class::Retry),
                "{errors:?}"
            );
            assert!(errors.len() <= 2, "one transaction failed, not others: {errors:?}");
            unknown += errors.len();
        },
    );
    assert!(unknown >= COMMITS, "every commit is once one whose sync failed: {unknown} in {syncs}");
}
