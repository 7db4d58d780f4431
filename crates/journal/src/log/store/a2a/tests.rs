//! The data of A2A clients, read back.

use super::*;
use crate::{
    Commit, TaskPage, TaskRow,
    tables::schema::BUSY,
    testing::{TestStore, commit, pinned, place, raised, run, started},
};
use envoi_contract::{digest::Digest, time::Timestamp};
use envoi_kernel::{
    event::{About, Event},
    ids::Seq,
};
use std::{sync::Barrier, thread, time::Instant};

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_millis(seconds * 1_000)
}

fn task(name: &str, token: &str, context: &str) -> TaskRow {
    TaskRow {
        run: run(name),
        tenant: "north".to_owned(),
        token: token.to_owned(),
        context: context.to_owned(),
        at: at(1),
    }
}

/// The message that begins `task`.
fn message(task: &TaskRow, id: &str, text: &str) -> MessageRow {
    MessageRow {
        run: task.run.clone(),
        token: task.token.clone(),
        context: task.context.clone(),
        task: String::new(),
        message_id: id.to_owned(),
        digest: Digest::of(text.as_bytes()),
        request: format!("msg_{}_{id}", task.run),
        body: text.to_owned(),
        at: at(2),
    }
}

/// A run of this tenant that has asked something.
fn asked(place: &TestStore, name: &str, tenant: &str) {
    let mut event = started(&run(name));
    if let Event::RunStarted(started) = &mut event {
        started.by.tenant = tenant.to_owned();
    }
    let begun = commit(&run(name), 0, [event, raised(name, About::Review)]);
    let writer = place.store.writer(place.store.take_epoch().unwrap()).unwrap();
    writer.commit(Commit { pinned: Some(pinned()), ..begun }).unwrap();
}

#[test]
fn a_message_is_known_by_its_token_context_task_id_and_content() {
    let place = place();
    let first = task("a", "ann", "c");
    let again = task("b", "ann", "c");
    assert_eq!(place.store.keep_task(&first, &message(&first, "0", "hello")).unwrap().run, run("a"));
    assert_eq!(place.store.keep_task(&again, &message(&again, "0", "hello")).unwrap().run, run("a"));
    assert_eq!(place.reader.task(&run("b")).unwrap(), None, "nothing was kept for the repetition");
    for (other, id, text) in [
        (task("d", "bob", "c"), "0", "hello"),
        (task("e", "ann", "c2"), "0", "hello"),
        (task("f", "ann", "c"), "1", "hello"),
        (task("g", "ann", "c"), "0", "hello!"),
    ] {
        let kept = place.store.keep_task(&other, &message(&other, id, text)).unwrap();
        assert_eq!(kept.run, other.run, "{id} {text}");
        assert_eq!(place.reader.task(&other.run).unwrap(), Some(other));
    }
    let begun = |id: &str| {
        let found = place.reader.first_message_in_context("ann", "c", id, &Digest::of(b"hello")).unwrap();
        found.map(|row| row.run)
    };
    assert_eq!((begun("0"), begun("1"), begun("2")), (Some(run("a")), Some(run("f")), None));
    for (token, context, expected) in [("ann", "c", true), ("bob", "c2", false), ("eve", "c", false)] {
        assert_eq!(place.reader.has_task_in_context(token, context).unwrap(), expected, "{token} {context}");
    }
    let answer = |run: &TaskRow, text: &str, request: &str| MessageRow {
        task: run.run.to_string(),
        request: request.to_owned(),
        ..message(run, "0", text)
    };
    assert_eq!(place.store.keep_message(&answer(&first, "hello", "r1")).unwrap().request, "r1");
    assert_eq!(place.store.keep_message(&answer(&first, "hello", "r2")).unwrap().request, "r1");
    assert_eq!(place.store.keep_message(&answer(&first, "other", "r3")).unwrap().request, "r3");
    let requests: Vec<String> =
        place.reader.messages(&run("a")).unwrap().into_iter().map(|row| row.request).collect();
    assert_eq!(requests, ["msg_run_a_0", "r1", "r3"]);
}

#[test]
fn messages_are_kept_while_others_write() {
    let place = place();
    let engine = Store::open(place.store.layout().clone()).unwrap();
    engine.keep_push(&push()).unwrap();
    // A few at a time: a writer without a pause may be waited for longer than the longest wait.
    let turn = Barrier::new(2);
    let rounds = 0..300;
    thread::scope(|scope| {
        scope.spawn(|| {
            for n in rounds.clone() {
                turn.wait();
                for _ in 0..4 {
                    patient(|| engine.mark_push(&PushRow { next_seq: n, ..push() })).unwrap();
                }
            }
        });
        let keep = |n: u64| {
            let kept = task(&format!("n{n}"), "ann", "c");
            let message = message(&kept, &n.to_string(), "hello");
            let answer = MessageRow { task: "t".to_owned(), request: format!("r{n}"), ..message.clone() };
            turn.wait();
            patient(|| place.store.keep_task(&kept, &message))?;
            patient(|| place.store.keep_message(&answer))
        };
        let failed: Vec<_> = rounds.clone().filter_map(|n| keep(n).err()).collect();
        assert!(failed.is_empty(), "{failed:?}");
    });
}

/// Does it again if it has waited for others for the longest wait: then the disk is slow, and nothing else is wrong.
fn patient<T>(mut act: impl FnMut() -> Result<T, CommitError>) -> Result<T, CommitError> {
    loop {
        let begun = Instant::now();
        match act() {
            Err(CommitError::Busy) if begun.elapsed() >= BUSY => {}
            done => return done,
        }
    }
}

#[test]
fn a_message_that_was_refused_leaves_nothing() {
    let place = place();
    let kept = task("a", "ann", "c");
    let begun = message(&kept, "0", "hello");
    place.store.keep_task(&kept, &begun).unwrap();
    let answer = MessageRow { task: kept.run.to_string(), request: "r".to_owned(), ..begun.clone() };
    place.store.keep_message(&answer).unwrap();
    place.store.forget_message(&answer).unwrap();
    assert_eq!(place.reader.messages(&run("a")).unwrap(), std::slice::from_ref(&begun));
    assert!(place.reader.task(&run("a")).unwrap().is_some(), "an answer does not take the task with it");
    place.store.forget_message(&begun).unwrap();
    assert_eq!(place.reader.task(&run("a")).unwrap(), None);
    let other = task("b", "ann", "c");
    assert_eq!(place.store.keep_task(&other, &message(&other, "0", "hello")).unwrap().run, run("b"));
}

#[test]
fn tasks_are_listed_by_tenant_context_status_and_time_last_changed_first() {
    let place = place();
    for (name, tenant) in [("a", "north"), ("b", "north"), ("c", "north"), ("d", "south")] {
        asked(&place, name, tenant);
    }
    let kept = task("b", "ann", "talk");
    place.store.keep_task(&kept, &message(&kept, "0", "hello")).unwrap();
    let page = TaskPage { tenant: "north".to_owned(), limit: 10, ..TaskPage::default() };
    let list = |page: &TaskPage| {
        let (rows, all) = place.reader.task_page(page).unwrap();
        (rows.iter().map(|row| row.run.to_string()).collect::<Vec<_>>().join(" "), all)
    };
    assert_eq!(list(&page), ("run_c run_b run_a".to_owned(), 3));
    let first = TaskPage { limit: 2, ..page.clone() };
    assert_eq!(list(&first), ("run_c run_b".to_owned(), 3), "all are counted");
    let last = place.reader.run(&run("b")).unwrap();
    let behind = Some((last.updated_at, last.run));
    assert_eq!(list(&TaskPage { behind, ..page.clone() }), ("run_a".to_owned(), 3));
    let context = |context: &str| TaskPage { context: Some(context.to_owned()), ..page.clone() };
    assert_eq!(list(&context("talk")), ("run_b".to_owned(), 1));
    assert_eq!(list(&context("run_a")), ("run_a".to_owned(), 1), "a run without one is its own");
    assert_eq!(list(&context("run_b")).1, 0);
    assert_eq!(list(&context("run_d")).1, 0, "another tenant's");
    let flow = |flow: &str| TaskPage { flow: Some(flow.to_owned()), ..page.clone() };
    let own = place.reader.run(&run("a")).unwrap();
    assert_eq!(list(&flow(own.flow.as_str())).1, 3);
    assert_eq!(list(&flow(&own.flow_digest.to_string())).1, 3);
    assert_eq!(list(&flow("other")), (String::new(), 0));
    let statuses = |words: &[&str]| TaskPage {
        statuses: words.iter().map(|word| (*word).to_owned()).collect(),
        ..page.clone()
    };
    assert_eq!(list(&statuses(&["waiting", "failed"])).1, 3);
    assert_eq!(list(&statuses(&["running"])).1, 0);
    let late = place.reader.run(&run("c")).unwrap().updated_at;
    assert_eq!(list(&TaskPage { changed_after: Some(late), ..page.clone() }).1, 0);
    assert_eq!(list(&TaskPage { changed_after: Some(at(0)), ..page }).1, 3);
}

#[test]
fn events_of_some_kinds_are_read_backwards() {
    let place = place();
    let writer = place.store.writer(place.store.take_epoch().unwrap()).unwrap();
    let asks = |name| raised(name, About::Review);
    writer.commit(commit(&run("a"), 0, [started(&run("a")), asks("one"), asks("two")])).unwrap();
    writer.commit(commit(&run("b"), 0, [started(&run("b"))])).unwrap();
    let all = place.reader.records(&run("a"), 0, None).unwrap();
    let seqs = |kinds: &[&'static str], before, limit| {
        let found = place.reader.records_before(&run("a"), kinds, before, limit).unwrap();
        assert!(found.iter().all(|record| all.contains(record) && kinds.contains(&record.event.name())));
        found.iter().map(|record| record.seq).collect::<Vec<_>>()
    };
    let both = ["run_started", "interrupt_raised"];
    assert_eq!(seqs(&both, 9, None), [2, 1, 0]);
    assert_eq!(seqs(&both, 2, None), [1, 0], "before the place");
    assert_eq!(seqs(&both, 9, Some(2)), [2, 1], "the newest");
    assert_eq!(seqs(&["run_started"], 9, None), [0]);
    let other = ["run_start", "interrupt", "run_started_late", "run_ended"];
    assert_eq!(seqs(&other, 9, None), [0_u64; 0], "whole words");
}

#[test]
fn who_waits_in_a_conversation_is_found_by_token() {
    let place = place();
    for (name, token, context) in
        [("a", "ann", "talk"), ("b", "ann", "talk"), ("c", "bob", "talk"), ("d", "ann", "other")]
    {
        let kept = task(name, token, context);
        place.store.keep_task(&kept, &message(&kept, "0", name)).unwrap();
    }
    assert_eq!(place.reader.waiting_in_context("ann", "talk").unwrap(), [], "none has begun");
    let newest = |tenant: &str, token: Option<&str>| {
        place.reader.newest_of_context(tenant, "talk", token).unwrap().map(|run| run.to_string())
    };
    assert_eq!(newest("north", Some("ann")), None);
    for name in ["a", "b", "c", "d"] {
        asked(&place, name, "north");
    }
    let waiting = place.reader.waiting_in_context("ann", "talk").unwrap();
    assert_eq!(waiting.iter().map(|row| row.run.as_str()).collect::<Vec<_>>(), ["run_a", "run_b"]);
    for (tenant, token, found) in [
        ("north", Some("ann"), Some("run_b")),
        ("north", Some("bob"), Some("run_c")),
        // The owner is not known: two clients use this name for a conversation.
        ("north", Some("eve"), None),
        ("north", None, None),
        ("south", Some("ann"), None),
    ] {
        assert_eq!(newest(tenant, token).as_deref(), found, "{tenant} {token:?}");
    }
    let other = place.reader.newest_of_context("north", "other", Some("eve")).unwrap();
    assert_eq!(other, Some(run("d")), "it is one client's");
}

fn push() -> PushRow {
    PushRow {
        run: run("a"),
        id: "p".to_owned(),
        url: "https://there.example/hook".to_owned(),
        token: Some("shown".to_owned()),
        scheme: None,
        credentials: None,
        client: "tok_ann".to_owned(),
        version: "1.0".to_owned(),
        base: "https://envoi.example".to_owned(),
        next_seq: 0,
        tries: 0,
        due_at: at(1),
        state: PushState::Active,
        note: None,
        at: at(1),
    }
}

#[test]
fn what_is_replaced_leaves_what_it_had_to_tell_to_the_new_one() {
    let place = place();
    let kept = |next_seq: Seq| {
        place.store.keep_push(&PushRow { next_seq, ..push() }).unwrap();
        place.reader.push(&run("a"), "p").unwrap().unwrap().next_seq
    };
    assert_eq!((kept(3), kept(7), kept(2)), (3, 3, 2));
    place.store.mark_push(&PushRow { next_seq: 5, state: PushState::Failed, ..push() }).unwrap();
    assert_eq!(kept(9), 9, "what was given up is not told after all");
}

#[test]
fn a_push_configuration_of_another_client_is_replaced_only_when_it_tells_nothing_more() {
    let place = place();
    let mine = push();
    let other = PushRow { client: "tok_bob".to_owned(), next_seq: 4, ..push() };
    assert_eq!(place.store.keep_push(&mine).unwrap(), KeptPush::Kept(None));
    assert_eq!(place.store.keep_push(&other).unwrap(), KeptPush::Anothers);
    assert_eq!(place.reader.pushes(&run("a")).unwrap(), std::slice::from_ref(&mine));
    let over = PushRow { state: PushState::Done, next_seq: 3, ..mine };
    place.store.mark_push(&over).unwrap();
    assert_eq!(place.store.keep_push(&other).unwrap(), KeptPush::Kept(Some(Box::new(over))));
    assert_eq!(place.reader.pushes(&run("a")).unwrap(), [other]);
}

#[test]
fn a_push_configuration_that_is_taken_back_leaves_what_it_had_replaced() {
    let place = place();
    let at_first = PushRow { next_seq: 2, ..push() };
    let brought = PushRow { at: at(5), url: "https://other.example".to_owned(), next_seq: 7, ..push() };
    let there = || place.reader.pushes(&run("a")).unwrap();
    place.store.keep_push(&brought).unwrap();
    place.store.take_back_push(&brought, None).unwrap();
    assert_eq!(there(), []);
    place.store.keep_push(&at_first).unwrap();
    let KeptPush::Kept(before) = place.store.keep_push(&brought).unwrap() else {
        panic!("it is the same client's")
    };
    place.store.mark_push(&PushRow { next_seq: 9, ..brought.clone() }).unwrap();
    place.store.take_back_push(&brought, before.as_deref()).unwrap();
    assert_eq!(
        there(),
        std::slice::from_ref(&at_first),
        "what was not told to its receiver is told after all"
    );
    // A configuration that has been replaced or deleted since cannot be taken back.
    place.store.keep_push(&brought).unwrap();
    place.store.keep_push(&at_first).unwrap();
    place.store.take_back_push(&brought, None).unwrap();
    assert_eq!(there(), std::slice::from_ref(&at_first));
    place.store.forget_push(&run("a"), "p").unwrap();
    place.store.take_back_push(&brought, Some(&at_first)).unwrap();
    assert_eq!(there(), []);
}

#[test]
fn a_push_configuration_is_marked_only_while_it_is_the_same() {
    let place = place();
    let push = push();
    place.store.keep_push(&push).unwrap();
    assert_eq!(place.reader.active_pushes().unwrap(), std::slice::from_ref(&push));
    let further = PushRow { next_seq: 3, ..push.clone() };
    place.store.mark_push(&further).unwrap();
    place.store.mark_push(&PushRow { next_seq: 2, tries: 1, ..push.clone() }).unwrap();
    assert_eq!(place.reader.push(&run("a"), "p").unwrap(), Some(further), "nothing is taken back");
    let failed = PushRow {
        tries: 9,
        next_seq: 4,
        state: PushState::Failed,
        note: Some("refused".to_owned()),
        ..push.clone()
    };
    place.store.mark_push(&failed).unwrap();
    place.store.mark_push(&PushRow { next_seq: 9, ..push.clone() }).unwrap();
    assert_eq!(place.reader.push(&run("a"), "p").unwrap(), Some(failed.clone()), "it is over");
    assert_eq!(place.reader.active_pushes().unwrap(), []);
    let again = PushRow { at: at(5), url: "https://other.example".to_owned(), ..push };
    place.store.keep_push(&again).unwrap();
    place.store.mark_push(&failed).unwrap();
    assert_eq!(
        place.reader.pushes(&run("a")).unwrap(),
        [again],
        "what is told of the old one is not the new one's"
    );
    assert!(place.store.forget_push(&run("a"), "p").unwrap());
    assert!(!place.store.forget_push(&run("a"), "p").unwrap());
}
