//! When a snapshot goes to the journal, and of which state it is.

use super::*;

const STEPS: &str = "\
flow: one
steps:
  - { id: a, run: [work] }
  - { id: b, run: [work] }
  - { id: c, run: [work] }
  - { id: d, run: [work] }
";

#[test]
fn a_snapshot_is_of_the_state_that_is_durable_and_goes_with_a_later_commit() {
    let (engine, doings) = engine(1);
    let mut engine = engine.with_snapshots_within_loop(0);
    let weighing = |events_bytes| Message::Committed { run: id("r"), result: Ok(Receipt { events_bytes }) };
    engine.handle(begin_of("r", STEPS));
    assert!(doings.snapshots.borrow().is_empty(), "there is no state yet");
    engine.handle(weighing(1));
    let before = engine.run(&id("r")).unwrap().clone();
    engine.handle(settled("r", "a.1.1"));
    let (first, snapshot) = doings.snapshots.borrow_mut().pop().unwrap();
    assert_eq!((snapshot.seq + 1, first), (before.next_seq(), before.next_seq()));
    assert_eq!(Run::restore(Arc::clone(before.flow()), &snapshot.state).unwrap(), before);

    let weight = u64::try_from(snapshot.state.len()).unwrap();
    engine.handle(weighing(weight));
    engine.handle(settled("r", "b.1.1"));
    assert!(doings.snapshots.borrow().is_empty(), "the events since then weigh no more than the state");
    engine.handle(weighing(1));
    engine.handle(settled("r", "c.1.1"));
    assert_eq!(doings.snapshots.borrow().len(), 1, "now they do");
}
