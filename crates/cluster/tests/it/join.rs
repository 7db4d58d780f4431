//! Rules for joining as a worker: the next incarnation of the same worker may join, but never a second one at
//! the same time.

use crate::faults::LEASE_MS;
use envoi_cluster::{
    Message, WorkerId,
    message::ToWorkerSlot,
    worker_slot::{Reply, State, handle},
};

fn join(state: &State, last: u64, request: u64, instance: &str) -> (State, Reply) {
    let message = ToWorkerSlot::Join { last, request, instance: instance.to_owned() };
    let (state, _, reply) = handle(&worker(), state.clone(), message, LEASE_MS);
    (state, reply)
}

fn worker() -> WorkerId {
    WorkerId::new("w").unwrap()
}

/// The incarnation in an answer.
fn joined(reply: &Reply) -> Option<u64> {
    match reply {
        Reply::Joined { place, .. } => Some(place.incarnation),
        _ => None,
    }
}

#[test]
fn a_worker_of_another_instance_waits_until_the_life_before_is_lost() {
    let (lives, reply) = join(&State::default(), 0, 1, "here");
    assert_eq!(joined(&reply), Some(1));
    assert_eq!(joined(&join(&lives, 1, 2, "here").1), Some(2), "its own next life");
    // A container on the same host with a copy of the disk.
    assert_eq!(join(&lives, 1, 3, "beside"), (lives.clone(), Reply::Wait));
    let check = ToWorkerSlot::Check { incarnation: 1, beats: 1 };
    let (lost, sent, _) = handle(&worker(), lives, check, LEASE_MS);
    assert!(matches!(&sent.last().unwrap().message, Message::Dispatcher(_)), "{sent:?}");
    assert_eq!(joined(&join(&lost, 1, 3, "beside").1), Some(2));
}

#[test]
fn an_older_copy_of_its_disk_is_refused_and_a_call_made_again_is_not() {
    let (first, _) = join(&State::default(), 0, 1, "here");
    let (second, reply) = join(&first, 1, 2, "here");
    assert_eq!(join(&second, 1, 3, "here"), (second.clone(), Reply::Copied));
    assert_eq!(join(&second, 1, 2, "here"), (second, reply));
}

#[test]
fn a_copy_made_before_the_answer_came_does_not_share_the_life() {
    let (first, _) = join(&State::default(), 0, 1, "here");
    assert_eq!(
        join(&first, 0, 1, "beside"),
        (first.clone(), Reply::Wait),
        "the life is that of the other one"
    );
    let check = ToWorkerSlot::Check { incarnation: 1, beats: 1 };
    let (lost, _, _) = handle(&worker(), first, check, LEASE_MS);
    // A machine that rebooted while it was joining has the number, but is another instance too.
    let (second, reply) = join(&lost, 0, 1, "beside");
    assert!(matches!(reply, Reply::Joined { lost: 1, .. }), "nothing of the life before is begun: {reply:?}");
    assert_eq!(joined(&reply), Some(2));
    assert_eq!(join(&second, 0, 1, "here").1, Reply::Wait, "now it is the copy");
    assert_eq!(join(&second, 1, 2, "here").1, Reply::Copied);
}
