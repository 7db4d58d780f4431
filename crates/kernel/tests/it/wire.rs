//! A message comes out of its text as it went in, or is refused with the reason.
//!
//! [`check_travels`] sends every input of every test of this crate through its text. `wire/messages.jsonl` holds messages of each kind of
//! input; no line of it may change. `ENVOI_STORED=write cargo test -p envoi-kernel wire` writes those that are missing.

#![expect(
    clippy::disallowed_methods,
    reason = "a test reads its fixtures, and writes them when a person wants it"
)]

use crate::{
    ask::file,
    driver::{Driver, attempt, blob, doubtful, exited, person, reported, settled, slot},
    flows::{ask, flow, step, step_id},
};
use envoi_contract::{
    digest::Digest,
    json::{Object, Value},
    time::Timestamp,
};
use envoi_kernel::{
    Fork, Input,
    event::{
        CallOutcome, Change, Choice, FileChange, FilesRestored, FilesRestoring, FilesSetBack, FoundFile,
        Isolated, LateFile, Outcome, Reach, Snapshot,
    },
    family::Share,
    files::{Changed, Manifest, Many},
    ids::{CallId, InterruptId, RunId, TimerId},
    input::{Answer, AttemptResult, Correct, ModelCall, ModelCalled, ReportPlace, Slot},
    ledger::{Cost, Ledger},
    part::{Part, Selection},
    throttle::Standing,
    wire::{INLINE_BYTES, MAX_BYTES, Message, Unfit, Written},
};
use std::{collections::BTreeMap, fs, path::PathBuf, sync::Arc};

/// The texts, reports and data that a result has, as the store has them.
fn kept(input: &Input) -> Vec<Vec<u8>> {
    let Input::Settled(result) = input else { return Vec::new() };
    let text = Some(result.text.clone().into_bytes());
    [text, result.report.clone(), result.data.clone()].into_iter().flatten().collect()
}

fn read(written: &Written, mut store: Vec<Vec<u8>>) -> Result<Message, Unfit> {
    store.extend(written.content.clone());
    Message::read(&written.text, |digest| store.iter().find(|bytes| Digest::of(bytes) == *digest).cloned())
}

/// Checks that a message arrives as it was sent.
pub(crate) fn check_travels(input: &Input, slot: Option<&Slot>, at: Timestamp) {
    let message = Message { input: input.clone(), slot: slot.cloned(), at };
    let written = message.clone().written().unwrap();
    assert!(!written.text.contains('\n'), "{}", written.text);
    assert_eq!(read(&written, kept(input)).as_ref(), Ok(&message), "{}", written.text);
}

fn at(ms: i64) -> Timestamp {
    Timestamp::from_millis(ms)
}

fn share() -> Share {
    let used = Ledger { agent_hops: 3, cost: Cost::parse("0.25").unwrap(), ..Ledger::default() };
    Share { used, raised: Ledger { iterations: 1, ..Ledger::default() } }
}

fn correct() -> Correct {
    Correct {
        flow: Digest::of(b"flow"),
        language: 2,
        source: "/project/flow.yaml".to_owned(),
        from: Some(step_id("b")),
        by: person("bob"),
        why: Some("it had to".to_owned()),
        request: Some("req-1".to_owned()),
        elsewhere: share(),
        seen: Some(Digest::of(b"outlook")),
    }
}

fn late() -> LateFile {
    LateFile { path: "a".to_owned(), digest: Some(Digest::of(b"a")), size: 1 }
}

fn restoring() -> FilesRestoring {
    FilesRestoring {
        from: Digest::of(b"now"),
        to: Digest::of(b"then"),
        reach: Reach::Folder("/origin".to_owned()),
        undoes: true,
        by: person("bob"),
        why: Some("it had to".to_owned()),
        folders_gone: None,
        folders_back: None,
        found: vec![late()],
    }
}

/// An attempt that has left everything that one can leave.
fn full() -> AttemptResult {
    let changed = |path: &str| FileChange {
        path: path.to_owned(),
        change: Change::Modified,
        blob: Some(blob(b"after")),
        before: Some(blob(b"before")),
    };
    let manifest = |total| Manifest { list: blob(b"list"), total, bytes: 7 };
    AttemptResult {
        text: "done: 1.00 ≠ \"1\"\n".to_owned(),
        text_unreadable: Some("byte 3 is no text".to_owned()),
        text_blob: Some(blob(b"done")),
        stderr_tail: "warning".to_owned(),
        report: Some(vec![0xff, 0x00, 0x7f]),
        report_blob: Some(blob(&[0xff, 0x00, 0x7f])),
        data: Some(b"{\"n\": 1.00}".to_vec()),
        data_blob: Some(blob(b"{\"n\": 1.00}")),
        data_unreadable: Some("a folder".to_owned()),
        session: Some("s-1".to_owned()),
        report_place: ReportPlace { assigned: true, unreadable: Some("a folder".to_owned()) },
        files: vec![changed("src/a.rs")],
        manifest: Some(Many { all: manifest(2000), changed: Changed::Listed(vec![changed("b")]) }),
        warnings: vec!["a secret was seen".to_owned()],
        misfit: Some("`n` is no number".to_owned()),
        excess: Some("too many files".to_owned()),
        workspace_before: Some(Snapshot { digest: Digest::of(b"tree"), moving: false }),
        workspace_after: Some(Snapshot { digest: Digest::of(b"tree 2"), moving: true }),
        set_back: Some(Box::new(set_back())),
        ..exited("a.1.1", 0)
    }
}

fn set_back() -> FilesSetBack {
    FilesSetBack {
        from: Digest::of(b"now"),
        to: Digest::of(b"then"),
        folders_gone: None,
        late: vec![late()],
        left: vec!["b".to_owned()],
    }
}

/// A message of each kind of input, with every member somewhere.
fn sample() -> Vec<(Input, Option<Slot>)> {
    let (a, b) = (step("a"), ask("b"));
    let mut driver = Driver::started_with(&flow([a, b]), r#"{"n": 1.00, "deep": {"list": [1, "x"]}}"#);
    driver.exit("a.1.1", 0);
    let answer = Answer {
        text: Some("go on".to_owned()),
        data: Some(Value::parse_str(r#"{"n": 2.50}"#).unwrap()),
        attachments: vec![file("a")],
        raise: Some(Ledger { rounds: 1, ..Ledger::default() }),
        seen: Some(Digest::of(b"seen")),
        request: Some("req-2".to_owned()),
        channel: "cli".to_owned(),
        ..driver.answer(Choice::Approve, "bob")
    };
    let mut start = driver.start();
    if let Input::Start(start) = &mut start {
        start.trace = Some("00-trace".to_owned());
        start.isolated = Some(Box::new(Isolated {
            of: "/origin".to_owned(),
            place: "/tree".to_owned(),
            branch: Some("envoi/run".to_owned()),
            head: Some("c0ffee".to_owned()),
            base: Digest::of(b"base"),
            remarks: Vec::new(),
        }));
        start.env = Object::from([("CI", Value::from("yes"))]);
        let selection = Selection { from: Some(step_id("b")), ..Selection::default() };
        start.part = Some(Box::new(Part { selection, with: None, taken: Vec::new() }));
    }
    let fork = Fork {
        run: RunId::new("run_0fork").unwrap(),
        run_base: "/base".to_owned(),
        workspace: "/work".to_owned(),
        shared: true,
        yes_to: vec![step_id("b")],
        by: person("bob"),
        why: Some("another way".to_owned()),
        from: Some(step_id("b")),
        lived: driver.records.clone(),
        family: share(),
        correct: Some(Box::new(correct())),
        isolated: None,
        files: Some(Box::new(restoring())),
    };
    let interrupt = InterruptId::new("int_1").unwrap();
    let call = CallId::new("call_1").unwrap();
    let standing = Standing { until: at(9), resets_at: Some(at(8)), refusals: 2, is_tried: true };
    let closed = Slot {
        boot_id: "w1#3@boot-1".to_owned(),
        accounts: Arc::new(BTreeMap::from([("claude".to_owned(), standing)])),
    };
    let (by, why, request) = (person("bob"), Some("why".to_owned()), Some("req-3".to_owned()));
    let elsewhere = share();
    vec![
        (start, slot()),
        (Input::Fork(Box::new(fork)), slot()),
        (Input::SlotFree, Some(closed)),
        (settled(full()), None),
        (settled(reported("a.1.1", r#""summary":"fine""#)), slot()),
        (settled(AttemptResult::empty(attempt("a.1.1"), Outcome::TimedOut, at(1))), None),
        (doubtful("a.1.1", 5), None),
        (
            Input::ModelCall(Box::new(ModelCall {
                call: call.clone(),
                attempt: Some(attempt("a.1.1")),
                model: "m".to_owned(),
                provider: "p".to_owned(),
            })),
            None,
        ),
        (Input::ModelCalled(Box::new(ModelCalled::lost(call.clone()))), None),
        (
            Input::ModelCalled(Box::new(ModelCalled {
                call,
                outcome: CallOutcome::Ok,
                tokens_in: Some(10),
                tokens_out: Some(20),
                cost: Cost::parse("0.01"),
                duration_ms: 7,
                refused_until: Some(at(10)),
            })),
            None,
        ),
        (Input::Answer(Box::new(answer)), slot()),
        (
            Input::Changed {
                interrupt: interrupt.clone(),
                found: vec![FoundFile { path: "a".to_owned(), digest: Some(Digest::of(b"a")) }],
            },
            None,
        ),
        (Input::Expire { interrupt }, None),
        (Input::TimerDue { timer: TimerId::new("tim_1").unwrap() }, slot()),
        (
            Input::Raise {
                more: Ledger { agent_hops: 5, ..Ledger::default() },
                by: by.clone(),
                why: why.clone(),
                request: request.clone(),
                elsewhere: elsewhere.clone(),
            },
            None,
        ),
        (Input::Correct(Box::new(correct())), None),
        (
            Input::TryNow {
                by: by.clone(),
                why: why.clone(),
                request: request.clone(),
                elsewhere: elsewhere.clone(),
            },
            None,
        ),
        (Input::RestoreFiles(Box::new(restoring())), None),
        (
            Input::FilesRestored(Box::new(FilesRestored {
                to: Digest::of(b"then"),
                late: vec![late()],
                left: vec!["b".to_owned()],
            })),
            None,
        ),
        (Input::FilesKept { reason: "disk full".to_owned() }, None),
        (Input::Cancel { by: by.clone() }, None),
        (Input::Reopen { by, why, request, elsewhere }, None),
    ]
}

fn fixture() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/it/wire/messages.jsonl")
}

fn message((input, slot): (Input, Option<Slot>)) -> Message {
    Message { input, slot, at: at(1_795_219_200_000) }
}

#[test]
fn a_message_of_each_kind_is_written_as_it_always_was() {
    let now: Vec<String> =
        sample().into_iter().map(|row| message(row).written().unwrap().text + "\n").collect();
    let stored = fs::read_to_string(fixture()).unwrap_or_default();
    if std::env::var("ENVOI_STORED").is_ok_and(|value| value == "write") {
        assert!(now.concat().starts_with(&stored), "lines may be added at the end, none may change");
        fs::write(fixture(), now.concat()).unwrap();
        return;
    }
    assert_eq!(now.concat(), stored, "a message of another form needs another version");
    for (input, slot) in sample() {
        check_travels(&input, slot.as_ref(), at(5));
    }
}

/// Every place of every message where a member could be that its reader does not know.
#[test]
fn a_member_that_is_not_known_is_refused_at_every_depth() {
    let mut tried = 0;
    for row in sample() {
        let store = kept(&row.0);
        let written = message(row).written().unwrap();
        for (place, _) in written.text.match_indices('{') {
            let (before, after) = written.text.split_at(place + 1);
            let comma = if after.starts_with('}') { "" } else { "," };
            // A member of `inputs`, `env` and other data may have any name, and escaped text is a text.
            let is_data =
                ["\"inputs\":{", "\"deep\":{", "\"env\":{", "\"data\":{", "\"accounts\":{", "\"evidence\":{"];
            if is_data.iter().any(|data| before.ends_with(data)) || before.ends_with(['\\', '"']) {
                continue;
            }
            let text = format!("{before}\"later\":1{comma}{after}");
            let written = Written { text, content: written.content.clone() };
            let refused = read(&written, store.clone());
            assert!(
                matches!(refused, Err(Unfit::Unreadable { .. } | Unfit::Foreign { .. })),
                "{refused:?}: {}",
                written.text
            );
            tried += 1;
        }
    }
    assert!(tried > 60, "{tried}");
}

fn error(text: &str) -> String {
    Message::read(text, |_| None).unwrap_err().to_string()
}

#[test]
fn what_is_no_message_is_refused_with_its_reason() {
    let cancel = message((Input::Cancel { by: person("bob") }, None)).written().unwrap().text;
    assert_eq!(
        cancel,
        r#"{"version":1,"at":1795219200000,"input":{"cancel":{"by":{"tenant":"local","actor":"bob"}}}}"#
    );
    let later = cancel.replace("\"version\":1", "\"version\":2").replace("cancel", "pause");
    assert_eq!(
        error(&later),
        "the message is of version 2; version 1 is read: upgrade its reader before its sender"
    );
    let spaced = cancel.replace("\"at\":", "\"at\": ");
    assert_eq!(
        error(&spaced),
        "byte 18 of the message is not what version 1 writes there:  1795219200000,\"input\":{\"cancel\":{\"by\":{"
    );
    let unknown = cancel.replace("cancel", "pause");
    assert!(
        error(&unknown).starts_with("the message cannot be read: unknown variant `pause`, expected one of")
    );
    let large = " ".repeat(MAX_BYTES + 1);
    assert_eq!(error(&large), "the message has 16777217 bytes; at most 16777216 are taken");
    let written = message((Input::FilesKept { reason: large }, None)).written();
    assert!(
        matches!(written, Err(Unfit::TooLarge { bytes }) if bytes > MAX_BYTES),
        "it is refused where it is made"
    );
    let named =
        cancel.replace("}}}}", &format!("}}}}}},\"by_digest\":{{\"text\":\"{}\"}}}}", Digest::of(b"x")));
    assert_eq!(
        error(&named),
        "the message cannot be read: `by_digest`: this input has nothing that travels by its digest"
    );
}

#[test]
fn what_is_large_and_kept_travels_by_its_digest_and_what_is_not_kept_as_itself() {
    let large = "x".repeat(INLINE_BYTES + 1);
    let of = |blob_of: Option<&[u8]>, bytes: &str| AttemptResult {
        text: bytes.to_owned(),
        text_blob: blob_of.map(blob),
        report: Some(bytes.as_bytes().to_vec()),
        report_blob: blob_of.map(blob),
        data: Some(bytes.as_bytes().to_vec()),
        data_blob: blob_of.map(blob),
        ..exited("a.1.1", 0)
    };
    let small = large.get(1..).unwrap();
    for (result, is_short) in [
        (of(Some(large.as_bytes()), &large), true),
        (of(Some(small.as_bytes()), small), false),
        (of(None, &large), false),
        // It is what the bytes could be read as.
        (of(Some(b"other bytes"), &large), false),
    ] {
        let input = settled(result);
        check_travels(&input, None, at(1));
        let written = message((input, None)).written().unwrap();
        assert_eq!(written.text.len() < INLINE_BYTES, is_short, "{}", written.text.len());
        assert_eq!(written.content, None);
        let refused = read(&written, Vec::new());
        let missing = Unfit::Missing { digest: Digest::of(large.as_bytes()) };
        assert_eq!(refused.err(), is_short.then_some(missing), "nothing is taken for an empty text");
    }
}

#[test]
fn a_fork_is_not_read_without_what_it_has_lived() {
    let (fork, slot) = sample().swap_remove(1);
    let written = message((fork.clone(), slot.clone())).written().unwrap();
    let lived = written.content.clone().unwrap();
    let digest = Digest::of(&lived);
    let nothing = Written { content: None, ..written.clone() };
    assert_eq!(read(&nothing, Vec::new()), Err(Unfit::Missing { digest }));
    let other = Message::read(&written.text, |_| Some(b"other".to_vec()));
    assert_eq!(other, Err(Unfit::Content { digest, expected: "of its digest" }));
    assert!(serde_json::to_string(&fork).is_err(), "no other writer leaves out what was lived");
    // A fork that names none would have no history.
    let text = written.text.replace(&format!(",\"by_digest\":{{\"lived\":\"{digest}\"}}"), "");
    assert!(matches!(Message::read(&text, |_| None), Err(Unfit::Unreadable { .. })), "{text}");
    let garbled = b"{}\n".to_vec();
    let garbled_digest = Digest::of(&garbled);
    let text = written.text.replace(&digest.to_string(), &garbled_digest.to_string());
    let refused = Message::read(&text, |_| Some(garbled.clone()));
    assert!(matches!(refused, Err(Unfit::Content { digest, .. }) if digest == garbled_digest), "{refused:?}");
}
