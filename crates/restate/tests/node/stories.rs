//! The stories, each with the checks at its end.

use crate::{cluster::Cluster, worker::Worker};
use envoi_cluster::{
    Message, WorkerId,
    message::{ToRun, ToWorkerSlot},
    wire::{MAX_BYTES, Posted},
};
use envoi_http::Client;
use envoi_kernel::ids::RunId;
use envoi_restate::Reply;
use std::{sync::atomic::Ordering::SeqCst, time::Duration};

pub(crate) const ALL: &[(&str, fn())] = &[
    ("a_run_of_two_steps_ends_with_a_worker_that_pulls", two_steps),
    ("what_is_killed_comes_back_and_nothing_is_started_twice", kills),
    ("a_worker_that_is_lost_leaves_its_run_to_another_one", lost),
    ("a_message_that_is_not_as_it_must_be_is_answered_and_the_run_goes_on", unfit),
];

/// Each run has succeeded, and the worker has started each step exactly once, which the events confirm.
fn check_ended(cluster: &Cluster, worker: &Worker, runs: &[RunId]) {
    cluster.wait_until("all runs are over", |cluster| {
        let journals = cluster.journals();
        assert!(!worker.is_broken(), "the worker has stopped");
        runs.iter().all(|run| journals.is_over(run))
    });
    let journals = cluster.journals();
    for run in runs {
        assert_eq!(journals.check_succeeded(run, cluster.flow()), 0, "{run}: in doubt");
        assert_eq!(journals.started(run), ["one.1.1", "two.1.1"], "{run}");
        assert_eq!(worker.starts_of(run), ["one.1.1", "two.1.1"], "{run}");
    }
}

fn two_steps() {
    let cluster = Cluster::start();
    let worker = Worker::begin("w1", cluster.ingress());
    worker.shared.may_end.store(true, SeqCst);
    let run = cluster.begin("0two");
    check_ended(&cluster, &worker, &[run]);
}

fn kills() {
    let mut cluster = Cluster::start();
    let worker = Worker::begin("w1", cluster.ingress());
    let runs: Vec<RunId> = ["0a", "0b", "0c"].map(|name| cluster.begin(name)).into();
    // Their first steps run; then nothing is left that could take their results.
    cluster.wait_until("three attempts run", |_| worker.started() == 3);
    cluster.kill_node();
    cluster.kill_endpoint();
    worker.shared.may_end.store(true, SeqCst);
    cluster.start_endpoint();
    cluster.start_node();
    // In the middle of the work, at an arbitrary moment.
    cluster.wait_until("a second step runs", |_| worker.started() >= 4);
    cluster.kill_endpoint();
    cluster.start_endpoint();
    cluster.kill_node();
    cluster.start_node();
    check_ended(&cluster, &worker, &runs);
    // The objects still work: another run succeeds afterwards.
    let next = cluster.begin("0next");
    check_ended(&cluster, &worker, &[next]);
}

fn lost() {
    let cluster = Cluster::with_lease(Duration::from_secs(10));
    let first = Worker::begin("w1", cluster.ingress());
    let run = cluster.begin("0lost");
    cluster.wait_until("its first attempt runs", |_| first.started() == 1);
    drop(first);
    // Restate delivers the check of the lease later; only that shows that the worker is gone.
    let second = Worker::begin("w2", cluster.ingress());
    second.shared.may_end.store(true, SeqCst);
    cluster.wait_until("the run is over", |cluster| {
        assert!(!second.is_broken(), "the worker has stopped");
        cluster.journals().is_over(&run)
    });
    let journals = cluster.journals();
    let in_doubt = journals.check_succeeded(&run, cluster.flow());
    // A slot that the lost worker had offered may still have been granted once; that attempt is in doubt too,
    // and runs nowhere.
    let last = format!("one.1.{}", in_doubt + 1);
    let tries = (1..=in_doubt + 1).map(|number| format!("one.1.{number}"));
    let all: Vec<String> = tries.chain(["two.1.1".to_owned()]).collect();
    assert!(in_doubt > 0, "nobody has asked what became of the first attempt");
    assert_eq!(journals.started(&run), all);
    assert_eq!(second.starts_of(&run), [last, "two.1.1".to_owned()]);
}

fn unfit() {
    let cluster = Cluster::start();
    let worker = Worker::begin("w1", cluster.ingress());
    let run = cluster.begin("0run");
    cluster.wait_until("its first attempt runs", |_| worker.started() == 1);
    let ingress = cluster.ingress();
    let lost = ToRun::Lost { worker: WorkerId::new("w1").unwrap(), incarnation: 1 };
    let posted = |message| Posted { message, at: crate::worker::now() };
    let internal = posted(Message::Run(run.clone(), lost)).written().unwrap().text;
    let rows: [(Vec<u8>, &str); 5] = [
        (vec![b'x'; MAX_BYTES + 1], "bytes; at most"),
        (vec![0xff, 0xfe], "no text"),
        (b"{}".to_vec(), "line 1"),
        (internal.clone().into_bytes(), "from another object alone"),
        (internal.replacen("0run", "0other", 1).into_bytes(), "not to this run"),
    ];
    for (bytes, expected) in rows {
        match ingress.ask_raw(&run, &bytes) {
            Ok(Reply::Unfit { reason }) => assert!(reason.contains(expected), "{reason}"),
            other => panic!("{expected}: {other:?}"),
        }
    }
    // Messages between objects are refused from outside.
    let agent = Client::default().agent();
    let told = agent
        .post(format!("{}/EnvoiRun/{run}/tell", cluster.ingress_address()))
        .content_type("application/octet-stream")
        .send(internal.as_bytes());
    assert_eq!(told.unwrap().status(), 400);
    // The run has no flow.
    let unknown = RunId::new("run_0unknown").unwrap();
    let look = ToRun::Input(Box::new(envoi_kernel::Input::SlotFree));
    let unknown = ingress.ask(posted(Message::Run(unknown, look))).unwrap();
    assert!(matches!(&unknown, Reply::Unfit { reason } if reason.contains("name it first")), "{unknown:?}");
    let unused = ToWorkerSlot::Unused { offer: 1 };
    let unused = ingress.ask(posted(Message::WorkerSlot(WorkerId::new("w1").unwrap(), unused))).unwrap();
    assert!(matches!(unused, Reply::Unfit { .. }), "{unused:?}");
    worker.shared.may_end.store(true, SeqCst);
    check_ended(&cluster, &worker, &[run]);
}
