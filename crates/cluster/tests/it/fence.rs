//! An attempt of a lost incarnation is never given to the next one, whichever message arrives first.

use crate::{flows, objects::time, world::start};
use envoi_cluster::{
    Place,
    message::{Caller, FreeSlot, ToRun},
    run,
};
use envoi_kernel::{Input, ids::RunId};
use std::sync::Arc;

fn place(incarnation: u64) -> Place {
    Place::parse(&format!("w#{incarnation}@instance")).unwrap()
}

#[test]
fn a_worker_that_was_lost_gets_nothing_of_its_life_before() {
    let id = RunId::new("run_0").unwrap();
    let (_, flow) = flows::flow(0);
    let take = |state, message| run::handle(&id, state, &flow, message, time(1)).unwrap();
    let begun =
        take(run::State::default(), ToRun::Input(Box::new(Input::Start(Box::new(start(&id, "red"))))));
    let slot = FreeSlot { place: place(1), offer: 1, floor: 1, accounts: Arc::default() };
    let granted = take(begun.state, ToRun::SlotFree(Box::new(slot.clone())));
    let look = |lost| ToRun::Look { caller: Caller { place: place(2), lost } };
    // The worker came back in time, so it may start the attempt.
    assert_eq!(take(granted.state.clone(), look(0)).wanted.run.len(), 1);
    // The worker was lost. The run learns it from the worker, before the message about it arrives.
    let lost = take(granted.state.clone(), look(1));
    assert_eq!(lost.wanted, envoi_cluster::Wanted::default());
    assert_eq!(lost.state.run(&flow).unwrap().interrupts().count(), 1, "whether it was started is asked");
    let told = take(lost.state.clone(), ToRun::Lost { worker: place(1).worker, incarnation: 1 });
    assert_eq!(told.state, lost.state, "and that is all");
    // The same slot has no effect a second time.
    assert_eq!(take(granted.state.clone(), ToRun::SlotFree(Box::new(slot))).state, granted.state);
}
