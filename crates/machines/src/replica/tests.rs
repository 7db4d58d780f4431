//! Replicas of one run, on one machine and on two.

use super::*;
use crate::blob_store::Folder;
use envoi_contract::{json::Object as Members, time::Timestamp};
use envoi_journal::Layout;
use envoi_kernel::{
    Input,
    event::Outcome,
    ids::{AttemptId, Principal},
    input::{AttemptResult, Slot, Start},
    requester::Requester,
};
use envoi_restate::Replica as _;
use std::path::Path;

const FLOW: &str = "flow: two\nsteps:\n  - id: one\n    run: [work]\n  - id: two\n    run: [work]\n";

fn shared(folder: &Path) -> SharedContents {
    SharedContents::new(Arc::new(Folder::open(&folder.join("contents")).unwrap()))
}

fn store(folder: &Path, name: &str) -> Arc<Store> {
    Arc::new(Store::open(Layout::new(folder.join(name))).unwrap())
}

fn replica(folder: &Path, name: &str) -> Replica {
    Replica::open(&store(folder, name), shared(folder), |line| panic!("{line}")).unwrap()
}

/// The commits of a finished run of two steps, one for each input. The text of the first step is large.
fn lived(shared: &SharedContents, id: &RunId, text: &str) -> Vec<Commit> {
    let loaded = envoi_flow::load("flow.yaml", FLOW).unwrap();
    let flow = Arc::new(loaded.flow);
    shared
        .keep_flow(&PinnedFlow {
            digest: flow.digest,
            language: loaded.language,
            name: "flow.yaml".to_owned(),
            text: FLOW.to_owned(),
            parts: loaded.parts,
            earlier: Vec::new(),
        })
        .unwrap();
    let at = Timestamp::from_millis(1_000);
    let start = Start {
        run: id.clone(),
        inputs: Members::default(),
        source: "/project/flow.yaml".to_owned(),
        workspace: "/work".to_owned(),
        shared: true,
        keep_files: false,
        no_cache: false,
        isolated: None,
        run_base: "/base".to_owned(),
        language: loaded.language,
        by: Principal { tenant: "local".to_owned(), actor: "ada".to_owned() },
        yes_to: Vec::new(),
        trace: None,
        env: Members::default(),
        requester: Requester::default(),
        part: None,
    };
    let settled = |attempt: &str, text: &str| {
        let attempt = AttemptId::parse(attempt).unwrap();
        let result = AttemptResult::empty(attempt, Outcome::Exited { code: 0 }, at);
        let text_blob = (!text.is_empty()).then(|| {
            shared.keep(text.as_bytes()).unwrap();
            envoi_kernel::event::Blob { digest: Digest::of(text.as_bytes()), size: text.len() as u64 }
        });
        Input::Settled(Box::new(AttemptResult { text: text.to_owned(), text_blob, ..result }))
    };
    let inputs = [Input::Start(Box::new(start)), settled("one.1.1", text), settled("two.1.1", "")];
    let mut run = Run::new(flow);
    let commits = inputs.map(|input| {
        let records = run.decide(input, Some(Slot::new("w#1@boot.0.0.0")), at).unwrap();
        records.iter().for_each(|record| run.apply(record).unwrap());
        Commit { run: id.clone(), records }
    });
    assert!(matches!(run.status(), Status::Ended(_)));
    commits.into()
}

fn is_over(replica: &Replica, id: &RunId) -> Option<bool> {
    replica.with_run(id, |run| matches!(run.status(), Status::Ended(_))).unwrap()
}

#[test]
fn commits_in_any_order_and_twice_are_a_journal_without_gaps() {
    let id = RunId::new("run_1").unwrap();
    for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2], [2, 0, 1]] {
        let folder = tempfile::tempdir().unwrap();
        let commits = lived(&shared(folder.path()), &id, "words");
        let replica = replica(folder.path(), "one");
        for place in order.into_iter().flat_map(|place| [place, place]) {
            replica.put(commits[place].clone()).unwrap();
        }
        let all: Vec<Record> = commits.iter().flat_map(|commit| commit.records.clone()).collect();
        let reader = replica.store().reader().unwrap();
        assert_eq!(reader.records(&id, 0, None).unwrap(), all, "{order:?}");
        assert_eq!(is_over(&replica, &id), Some(true));
    }
}

#[test]
fn a_commit_that_came_too_early_is_there_after_a_kill() {
    let id = RunId::new("run_1").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let commits = lived(&shared(folder.path()), &id, "words");
    let before = replica(folder.path(), "one");
    before.put(commits[1].clone()).unwrap();
    before.put(commits[2].clone()).unwrap();
    assert_eq!(is_over(&before, &id), None);
    drop(before);
    let after = replica(folder.path(), "one");
    after.put(commits[0].clone()).unwrap();
    assert_eq!(is_over(&after, &id), Some(true));
}

#[test]
fn another_machine_finds_the_commits_and_what_they_name() {
    let id = RunId::new("run_1").unwrap();
    for text in ["few words".to_owned(), "many words ".repeat(10_000)] {
        let folder = tempfile::tempdir().unwrap();
        let server = replica(folder.path(), "server");
        for commit in lived(&shared(folder.path()), &id, &text) {
            server.put(commit).unwrap();
        }
        let worker = replica(folder.path(), "worker");
        assert_eq!(is_over(&worker, &id), Some(true), "it asks for no list");
        let reader = worker.store().reader().unwrap();
        assert_eq!(reader.blob(&Digest::of(text.as_bytes())).unwrap(), text.as_bytes());
    }
}

#[test]
fn followers_learn_of_each_commit_once() {
    let id = RunId::new("run_1").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let replica = replica(folder.path(), "one");
    let seen = Arc::new(Mutex::new(Vec::new()));
    let watched = Arc::clone(&seen);
    replica.watch(Arc::new(move |_, records| {
        watched.lock().unwrap().extend(records.iter().map(|record| record.seq))
    }));
    let commits = lived(&shared(folder.path()), &id, "words");
    for commit in commits.iter().chain(&commits) {
        replica.put(commit.clone()).unwrap();
    }
    let count = commits.iter().map(|commit| commit.records.len() as u64).sum();
    assert_eq!(*seen.lock().unwrap(), (0..count).collect::<Vec<_>>());
}

#[test]
fn a_message_is_sent_when_what_it_names_is_shared() {
    let folder = tempfile::tempdir().unwrap();
    let replica = replica(folder.path(), "one");
    let large = "x".repeat(20_000);
    replica.store().blobs().put(large.as_bytes()).unwrap();
    let digest = Digest::of(large.as_bytes());
    let attempt = AttemptId::parse("one.1.1").unwrap();
    let result = AttemptResult::empty(attempt, Outcome::Exited { code: 0 }, Timestamp::from_millis(1));
    let data_blob = Some(envoi_kernel::event::Blob { digest, size: 20_000 });
    let result = Box::new(AttemptResult { data_blob, ..result });
    let message = Message::Run(RunId::new("run_1").unwrap(), ToRun::Input(Box::new(Input::Settled(result))));
    let posted = Posted { message, at: Timestamp::from_millis(1) };
    assert_eq!(shared(folder.path()).content(&digest).unwrap(), None);
    replica.share(&posted).unwrap();
    assert_eq!(shared(folder.path()).content(&digest).unwrap().as_deref(), Some(large.as_bytes()));
}

#[test]
fn no_engine_goes_on_with_the_runs_of_a_replica_and_no_replica_takes_those_of_an_engine() {
    let folder = tempfile::tempdir().unwrap();
    drop(replica(folder.path(), "one"));
    let store = store(folder.path(), "one");
    let settings = envoi_engine::Settings {
        jobs: 1,
        launcher: envoi_step::Launcher::own(["never"]),
        socket_dirs: Vec::new(),
        reached: |_| {},
        notices: envoi_engine::Notices {
            targets: Vec::new(),
            env: Vec::new(),
            keys: Vec::new(),
            variable: |_| None,
            how_to_answer: |_, _| String::new(),
            page: None,
        },
        per_attempt: envoi_engine::PerAttempt::default(),
        models: envoi_engine::CallableModels::default(),
        accounts: envoi_engine::AgentAccounts::default(),
        print_line: |_| {},
        stream_cap_bytes: None,
        too_wide: Vec::new(),
        bounds: envoi_tree::Bounds::default(),
        waits_to_start: false,
    };
    let envoi_journal::Taken::Lease(lease) = envoi_journal::Lease::try_take(store.layout()).unwrap() else {
        panic!("nobody has it")
    };
    let started = envoi_engine::Host::start(Arc::clone(&store), lease, &settings);
    assert!(matches!(started, Err((envoi_engine::HostError::Replica, _))));
    assert!(envoi_journal::Lease::take_over(store.layout()).is_err(), "nor does one that takes over");
    // The mark is the first thing that a replica writes.
    let id = RunId::new("run_1").unwrap();
    let one = replica(folder.path(), "one");
    for commit in lived(&shared(folder.path()), &id, "words") {
        one.put(commit).unwrap();
    }
    drop(one);
    std::fs::remove_file(store.layout().replica_mark()).unwrap();
    let opened = Replica::open(&store, shared(folder.path()), |line| panic!("{line}"));
    assert!(matches!(opened, Err(ReplicaError::Own)));
}
