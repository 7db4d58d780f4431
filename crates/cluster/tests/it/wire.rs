//! A message between machines is the same after writing and parsing, or is refused with the reason.
//!
//! In one world of four, every message and every answer goes through its text form ([`check_travels`],
//! [`check_answers`]). `wire/messages.txt` contains one of each kind, separated by empty lines; none of them
//! may change. `ENVOI_STORED=write cargo test -p envoi-cluster wire` writes the missing ones.

use crate::{flows, objects::time, world::start};
use envoi_cluster::{
    Message, Place, Wanted, WorkerId,
    message::{Caller, Commit, FreeSlot, ToDispatcher, ToRun, ToWorkerSlot},
    run,
    wire::{Answer, MAX_BYTES, Posted, Said, Unfit},
    worker_slot::Reply,
};
use envoi_contract::json::{Object, Value};
use envoi_kernel::{
    Input,
    event::{AttemptStarted, Outcome},
    ids::{AttemptId, RunId},
    input::AttemptResult,
    throttle::Standing,
};
use std::{fs, path::PathBuf, sync::Arc};

/// Checks that a parsed message equals the written one.
pub(crate) fn check_travels(message: &Message, now: u64) {
    let posted = Posted { message: message.clone(), at: time(now) };
    let text = posted.clone().written().unwrap().text;
    assert_eq!(Posted::read(&text, |_| None).as_ref(), Ok(&posted), "{text}");
}

pub(crate) fn check_answers(answer: &Answer) {
    let text = answer.clone().written().unwrap();
    assert_eq!(Answer::read(&text).as_ref(), Ok(answer), "{text}");
}

fn run_id() -> RunId {
    RunId::new("run_0demo").unwrap()
}

fn worker() -> WorkerId {
    WorkerId::new("gpu-1").unwrap()
}

fn place() -> Place {
    Place { worker: worker(), incarnation: 3, instance: "5e0c.f0.1.2".to_owned() }
}

fn caller() -> Caller {
    Caller { place: place(), lost: 2 }
}

fn slot() -> FreeSlot {
    let standing = Standing { until: time(9_000), resets_at: None, refusals: 1, is_tried: false };
    let accounts = Arc::new([("claude".to_owned(), standing)].into_iter().collect());
    FreeSlot { place: place(), offer: 7, floor: 5, accounts }
}

/// The commit of a run that has used a slot, and the attempt.
fn granted() -> (Commit, Arc<AttemptStarted>) {
    let (_, flow) = flows::flow(0);
    let take = |state, message| run::handle(&run_id(), state, &flow, message, time(1)).unwrap();
    let begin = Input::Start(Box::new(start(&run_id(), "red")));
    let begun = take(run::State::default(), ToRun::Input(Box::new(begin)));
    let granted = take(begun.state, ToRun::SlotFree(Box::new(slot())));
    let commit = granted.sent.iter().find_map(|sent| match &sent.message {
        Message::Commit(commit) => Some(commit.clone()),
        _ => None,
    });
    let looked = take(granted.state, ToRun::Look { caller: caller() });
    (commit.unwrap(), Arc::clone(&looked.wanted.run[0]))
}

fn messages() -> Vec<Message> {
    let (run, worker) = (run_id(), worker());
    let (commit, started) = granted();
    let attempt = started.attempt.clone();
    let evidence = Value::Object(Object::from([("output_tail", Value::from("half a line"))]));
    let result = AttemptResult {
        text: "done\n".to_owned(),
        ..AttemptResult::empty(attempt.clone(), Outcome::Exited { code: 0 }, time(2))
    };
    let to_run = [
        ToRun::Input(Box::new(Input::Start(Box::new(start(&run, "red"))))),
        ToRun::SlotFree(Box::new(slot())),
        ToRun::Settled { caller: caller(), result: Box::new(result) },
        ToRun::InDoubt { caller: caller(), attempt, evidence },
        ToRun::Look { caller: caller() },
        ToRun::Lost { worker: worker.clone(), incarnation: 3 },
    ];
    let to_dispatcher = [
        ToDispatcher::Ready { run: run.clone(), tenant: "red".to_owned() },
        ToDispatcher::Offer { place: place(), offer: 7, floor: 5 },
        ToDispatcher::Withdraw { worker: worker.clone(), incarnation: 3 },
    ];
    let to_worker = [
        ToWorkerSlot::Join { last: 2, request: 9, instance: place().instance },
        ToWorkerSlot::Beat { incarnation: 3, number: 4, free: 2, read: 1 },
        ToWorkerSlot::Check { incarnation: 3, beats: 12 },
        ToWorkerSlot::Granted { run: run.clone(), seq: 5, place: place(), offer: 7 },
        ToWorkerSlot::Unused { offer: 7 },
        ToWorkerSlot::Left { run: run.clone(), seq: 8 },
        ToWorkerSlot::Changed { run: run.clone() },
    ];
    let to_run = to_run.into_iter().map(|message| Message::Run(run.clone(), message));
    let to_worker = to_worker.into_iter().map(|message| Message::WorkerSlot(worker.clone(), message));
    to_run
        .chain(to_dispatcher.into_iter().map(Message::Dispatcher))
        .chain(to_worker)
        .chain([Message::Commit(commit)])
        .collect()
}

fn answers() -> Vec<Answer> {
    let started = granted().1;
    let end = vec![AttemptId { attempt: 2, ..started.attempt.clone() }];
    let nothing = Wanted::default();
    vec![
        Answer::Run { said: Said::Taken, wanted: Wanted { run: vec![started], end } },
        Answer::Run { said: Said::Refused { reason: "it is over".to_owned() }, wanted: nothing.clone() },
        Answer::Run { said: Said::Elsewhere, wanted: nothing },
        Answer::WorkerSlot(Reply::Joined { place: place(), lost: 2 }),
        Answer::WorkerSlot(Reply::Copied),
        Answer::WorkerSlot(Reply::Wait),
        Answer::WorkerSlot(Reply::Lives { mail: vec![(4, run_id())] }),
        Answer::WorkerSlot(Reply::Lost),
        Answer::WorkerSlot(Reply::Taken),
    ]
}

fn texts() -> Vec<String> {
    let message = |message| Posted { message, at: time(5) }.written().unwrap().text;
    let answers = answers().into_iter().map(|answer| answer.written().unwrap());
    messages().into_iter().map(message).chain(answers).collect()
}

fn read(text: &str) -> Result<(), Unfit> {
    match text.contains("\"answer\":") {
        true => Answer::read(text).map(|_| ()),
        false => Posted::read(text, |_| None).map(|_| ()),
    }
}

#[test]
fn a_message_of_each_kind_is_written_as_it_always_was() {
    let now = texts().join("\n\n") + "\n";
    let fixture = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/it/wire/messages.txt");
    let stored = fs::read_to_string(&fixture).unwrap_or_default();
    if std::env::var("ENVOI_STORED").is_ok_and(|value| value == "write") {
        assert!(now.starts_with(&stored), "messages may be added at the end, none may change");
        fs::write(fixture, now).unwrap();
        return;
    }
    assert_eq!(now, stored, "a message of another form needs another version");
    messages().iter().for_each(|message| check_travels(message, 5));
    answers().iter().for_each(check_answers);
}

/// Every position in every message where an unknown member could be.
#[test]
fn a_member_that_is_not_known_is_refused_at_every_depth() {
    let mut tried = 0;
    for text in texts() {
        for (place, _) in text.match_indices('{') {
            let (before, after) = text.split_at(place + 1);
            let comma = if after.starts_with('}') { "" } else { "," };
            // These contain arbitrary names, and escaped text is not structure.
            let is_data = ["\"inputs\":{", "\"env\":{", "\"accounts\":{", "\"evidence\":{", "\"with\":{"];
            if is_data.iter().any(|data| before.ends_with(data)) || before.ends_with(['\\', '"']) {
                continue;
            }
            let changed = format!("{before}\"later\":1{comma}{after}");
            let refused = read(&changed);
            assert!(
                matches!(refused, Err(Unfit::Unreadable { .. } | Unfit::Foreign { .. } | Unfit::Input(_))),
                "{refused:?}: {changed}"
            );
            tried += 1;
        }
    }
    assert!(tried > 60, "{tried}");
}

#[test]
fn a_later_version_says_that_its_reader_is_to_be_upgraded() {
    for text in texts() {
        let later = text.replacen("{\"version\":1,", "{\"version\":2,\"later\":true,", 1);
        let refused = read(&later).unwrap_err();
        assert_eq!(refused, Unfit::Version { version: 2 }, "{later}");
        assert!(refused.to_string().contains("upgrade its reader before its sender"), "{refused}");
    }
}

#[test]
fn what_is_cut_off_put_together_wrongly_or_too_large_is_refused() {
    for text in texts() {
        for end in (0..text.len()).filter(|end| text.is_char_boundary(*end)) {
            assert!(read(&text[..end]).is_err(), "{}", &text[..end]);
        }
        assert!(read(&format!("{text}\n")).is_err() && read(&format!("{text} ")).is_err(), "{text}");
        assert!(read(&format!("{text}\n{{}}")).is_err(), "{text}");
        assert!(read(&text.replacen("\"version\":1,", "\"version\": 1,", 1)).is_err(), "{text}");
    }
    let large = "x".repeat(MAX_BYTES + 1);
    assert_eq!(read(&large), Err(Unfit::TooLarge { bytes: MAX_BYTES + 1 }));
    let texts = texts();
    let [start, slot, settled] = [&texts[0], &texts[1], &texts[2]];
    let (head, input) = settled.split_once('\n').unwrap();
    let line_2 = |text: &str| matches!(read(text), Err(Unfit::Unreadable { line: 2, .. }));
    assert!(line_2(&format!("{slot}\n{input}")), "a slot has no input");
    assert!(line_2(head), "a result was expected");
    let (_, other) = start.split_once('\n').unwrap();
    assert!(line_2(&format!("{head}\n{other}")), "another input than a result");
    let early = settled.replacen(&time(5).as_millis().to_string(), &time(4).as_millis().to_string(), 1);
    assert!(line_2(&early), "two times");
    let commit = texts.iter().find(|text| text.contains("\"commit\"")).unwrap();
    assert!(read(&commit.replacen("\"events\":1", "\"events\":2", 1)).is_err(), "an event is missing");
    let mut lines: Vec<&str> = commit.split('\n').collect();
    let last = lines.pop().unwrap();
    let again = [&lines[..], &[last, last]].concat().join("\n");
    assert!(matches!(read(&again), Err(Unfit::Unreadable { .. })), "an event twice");
}
