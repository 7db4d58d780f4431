//! The updates of runs that go through the kernel. Applied in order, they give the task.

use super::*;
use crate::a2a::task::{
    snapshot,
    writer::{ContentSource, TaskIds, TaskWriter},
};
use envoi_a2a::model::{Artifact, Content, StreamItem, Task, TaskState};
use envoi_contract::{digest::Digest, json::Object};
use envoi_kernel::{
    Input,
    event::{Change, FileChange, Outcome},
    ids::{AttemptId, Principal},
    input::{Answer, AttemptResult, ReportPlace, Slot, Start},
    requester::Requester,
};
use std::cell::RefCell;

/// Content by its digest.
#[derive(Default)]
struct Shelved(RefCell<BTreeMap<Digest, Vec<u8>>>);

impl Shelved {
    fn put(&self, bytes: &[u8]) -> Blob {
        let digest = Digest::of(bytes);
        self.0.borrow_mut().insert(digest, bytes.to_vec());
        Blob { digest, size: bytes.len().try_into().unwrap() }
    }
}

impl ContentSource for Shelved {
    fn bytes(&self, digest: &Digest) -> Option<Vec<u8>> {
        self.0.borrow().get(digest).cloned()
    }

    fn url(&self, digest: &Digest) -> String {
        format!("https://envoi.example/v1/artifacts/{digest}")
    }
}

/// A run that is executed. Every input has its own time.
struct Life {
    run: Run,
    records: Vec<Record>,
    content: Shelved,
    now: i64,
}

impl Life {
    fn begun(text: &str) -> Self {
        let flow = Arc::new(envoi_flow::load("flow.yaml", text).unwrap().flow);
        let run = Run::new(flow);
        let content = Shelved::default();
        let mut life = Self { run, records: Vec::new(), content, now: 1_795_219_200_000 };
        life.feed(Input::Start(Box::new(Start {
            run: RunId::new("run_1").unwrap(),
            inputs: Object::new(),
            source: "/w/flow.yaml".to_owned(),
            workspace: "/w".to_owned(),
            shared: false,
            keep_files: false,
            no_cache: false,
            isolated: None,
            run_base: "/w/.envoi/runs/run_1".to_owned(),
            language: 1,
            by: ann(),
            yes_to: Vec::new(),
            trace: None,
            env: envoi_contract::json::Object::new(),
            requester: Requester::default(),
            part: None,
        })));
        life
    }

    fn feed(&mut self, input: Input) {
        self.now += 10;
        let records = self.run.decide(input, slot(), Timestamp::from_millis(self.now)).unwrap();
        for record in &records {
            self.run.apply(record).unwrap();
        }
        self.records.extend(records);
    }

    /// Ends an attempt with this exit code, text and files. Content of `None` means that the file was
    /// deleted.
    fn settled(&mut self, attempt: &str, code: i32, text: &str, files: &[(&str, Option<&str>)]) {
        self.settle(attempt, code, text, files, None);
    }

    /// Ends a successful attempt with this data in its report.
    fn reported(&mut self, attempt: &str, text: &str, data: &str) {
        let report = format!(r#"{{"ok":true,"generatedAt":"x","skillName":"s","data":{data}}}"#);
        self.settle(attempt, 0, text, &[], Some(&report));
    }

    /// Replaces the data of all attempts, as an earlier version accepted it from a step.
    fn made_up(&mut self, data: &str) {
        for record in &mut self.records {
            if let Event::AttemptSettled(settled) = &mut record.event {
                settled.data = Value::parse_str(data).unwrap();
            }
        }
        self.run = Run::replay(Arc::clone(self.run.flow()), self.records.iter().cloned()).unwrap();
    }

    fn settle(
        &mut self,
        attempt: &str,
        code: i32,
        text: &str,
        files: &[(&str, Option<&str>)],
        report: Option<&str>,
    ) {
        let files = files
            .iter()
            .map(|(path, content)| FileChange {
                path: (*path).to_owned(),
                change: if content.is_some() { Change::Modified } else { Change::Deleted },
                blob: content.map(|content| self.content.put(content.as_bytes())),
                before: None,
            })
            .collect();
        let result = AttemptResult {
            duration_ms: 1,
            text: text.to_owned(),
            text_blob: (!text.is_empty()).then(|| self.content.put(text.as_bytes())),
            report: report.map(|report| report.as_bytes().to_vec()),
            report_blob: report.map(|report| self.content.put(report.as_bytes())),
            report_place: ReportPlace { assigned: true, unreadable: None },
            files,
            ..AttemptResult::empty(
                AttemptId::parse(attempt).unwrap(),
                Outcome::Exited { code },
                Timestamp::from_millis(self.now),
            )
        };
        self.feed(Input::Settled(Box::new(result)));
    }

    /// Ends an attempt that has written this to `$ENVOI_DATA`.
    fn filed(&mut self, attempt: &str, (bytes, blob): (Vec<u8>, Blob)) {
        let result = AttemptResult {
            data: Some(bytes),
            data_blob: Some(blob),
            ..AttemptResult::empty(
                AttemptId::parse(attempt).unwrap(),
                Outcome::Exited { code: 0 },
                Timestamp::from_millis(self.now),
            )
        };
        self.feed(Input::Settled(Box::new(result)));
    }

    fn answered(&mut self, step: &str, choice: Choice, text: Option<&str>) {
        let raised = self.run.interrupts().find(|raised| raised.visit.step.as_str() == step).unwrap();
        let answer =
            Answer { text: text.map(str::to_owned), ..Answer::new(raised.interrupt.clone(), choice, ann()) };
        self.feed(Input::Answer(Box::new(answer)));
    }

    fn fold(&self, records: &[Record]) -> (Fold, Vec<TaskUpdate>) {
        let mut fold = Fold::new(Arc::clone(self.run.flow()));
        let updates = fold.apply(records).unwrap();
        (fold, updates)
    }

    /// All updates of the run, one line each, with their positions.
    fn updates(&self) -> Vec<String> {
        let (_, updates) = self.fold(&self.records);
        updates.iter().map(|update| format!("{} {}", update.position, self.line(update))).collect()
    }

    fn line(&self, update: &TaskUpdate) -> String {
        match &update.kind {
            UpdateKind::File(made) => {
                let bytes = made.blob.as_ref().and_then(|blob| self.content.bytes(&blob.digest));
                let text = bytes.map_or_else(|| "gone".to_owned(), |bytes| String::from_utf8(bytes).unwrap());
                format!("{} = {text}", made.path)
            }
            UpdateKind::Status(standing) => {
                let questions: Vec<&str> =
                    standing.questions.iter().map(|question| question.raised.question.as_str()).collect();
                format!("{:?} {}", standing.state, questions.join(" ")).trim_end().to_owned()
            }
        }
    }

    fn task(&self, fold: &Fold) -> Task {
        let ids = TaskIds { task: "run_1".to_owned(), context: "c".to_owned() };
        TaskWriter { ids: &ids, content: &self.content, aside: None }.task(fold, &[], true)
    }

    /// The task of a client that applies the updates to an earlier task.
    fn applied(&self, mut task: Task, updates: &[TaskUpdate]) -> Task {
        let ids = TaskIds { task: "run_1".to_owned(), context: "c".to_owned() };
        let writer = TaskWriter { ids: &ids, content: &self.content, aside: None };
        for update in updates {
            match writer.item(update, false) {
                StreamItem::Status(update) => task.status = update.status,
                StreamItem::Artifact(update) => {
                    let Artifact { id, .. } = &update.artifact;
                    match task.artifacts.iter_mut().find(|artifact| artifact.id == *id) {
                        Some(there) => *there = update.artifact,
                        None => task.artifacts.push(update.artifact),
                    }
                }
                StreamItem::Task(_) | StreamItem::Message(_) => unreachable!("{update:?}"),
            }
        }
        task.artifacts.sort_by(|one, other| one.id.cmp(&other.id));
        task
    }

    /// The same as [`Life::fold`], from the state of the run.
    fn glance(&self, records: &[Record], page: usize) -> Fold {
        let run = Run::replay(Arc::clone(self.run.flow()), records.iter().cloned()).unwrap();
        let run = Run::restore(Arc::clone(self.run.flow()), &run.snapshot().unwrap()).unwrap();
        let conversation =
            records.iter().filter(|record| snapshot::CONVERSATION.contains(&record.event.name()));
        let conversation: Vec<Record> = conversation.cloned().collect();
        let contents = self.content.0.borrow();
        let sizes = contents.iter().map(|(digest, bytes)| (*digest, bytes.len().try_into().unwrap()));
        let concluded = records.iter().rev().filter_map(|record| match &record.event {
            Event::HandoffWritten(written) if written.handoff.status != HandoffStatus::Skipped => {
                Some(written.visit.clone())
            }
            _ => None,
        });
        let settled = records.iter().rev().filter(|record| snapshot::SETTLED.contains(&record.event.name()));
        let mut settled = settled.cloned();
        let before = || Ok::<Vec<Record>, std::convert::Infallible>(settled.by_ref().take(page).collect());
        let last_text = snapshot::last_text(concluded, before).unwrap();
        let settled = records.iter().rev().filter(|record| snapshot::SETTLED.contains(&record.event.name()));
        let mut settled = settled.cloned();
        let before = || Ok::<Vec<Record>, std::convert::Infallible>(settled.by_ref().take(page).collect());
        let large = snapshot::place_of_last_data(&run, before).unwrap();
        snapshot::standing(run, &conversation, &sizes.collect(), RunResult { last_text, large })
    }

    /// Wherever a client begins, stops and returns, its updates result in the task.
    fn adds_up(&self) {
        let (whole, updates) = self.fold(&self.records);
        let last = self.task(&whole);
        let ends: Vec<usize> = (1..=self.records.len())
            .filter(|end| self.records.get(*end).is_none_or(|next| next.at != self.records[end - 1].at))
            .collect();
        for end in ends {
            let (fold, before) = self.fold(&self.records[..end]);
            for page in [1, 64] {
                let glanced = self.glance(&self.records[..end], page);
                assert_eq!(self.task(&glanced), self.task(&fold), "at {end}, by {page}");
            }
            let mut later = Fold::new(Arc::clone(self.run.flow()));
            later.apply(&self.records[..end]).unwrap();
            let after = later.apply(&self.records[end..]).unwrap();
            let at_once: Vec<String> = updates.iter().map(|update| self.line(update)).collect();
            let in_two: Vec<String> = before.iter().chain(&after).map(|update| self.line(update)).collect();
            assert_eq!(at_once, in_two, "broken off at {end}");
            let applied = self.applied(self.task(&fold), &after);
            assert_eq!(applied.artifacts, last.artifacts, "from {end}");
            let status = &applied.status;
            let expected = &last.status;
            assert_eq!((status.state, &status.message), (expected.state, &expected.message), "from {end}");
        }
    }
}

fn slot() -> Option<Slot> {
    Some(Slot::new("boot"))
}

fn ann() -> Principal {
    Principal { tenant: "north".to_owned(), actor: "ann".to_owned() }
}

fn talk(task: &Task) -> Vec<String> {
    let text = |message: &envoi_a2a::model::Message| match &message.parts[0].content {
        Content::Text(text) => format!("{:?}: {text}", message.role),
        other => format!("{other:?}"),
    };
    task.history.iter().map(text).collect()
}

const REVIEW: &str = "
flow: review
steps:
  - id: draft
    run: 'true'
    artifacts: ['*']
  - id: approve
    ask: 'Publish it?'
  - id: publish
    run: 'true'
    artifacts: ['*']
";

#[test]
fn files_states_and_the_end_are_sent_once_each_in_order() {
    let mut life = Life::begun(REVIEW);
    life.settled("draft.1.1", 0, "drafted\n", &[("a", Some("1")), ("b", Some("1")), ("c", Some("1"))]);
    life.answered("approve", Choice::Approve, Some("go"));
    life.settled("publish.1.1", 0, "published\n", &[("b", None), ("a", Some("2"))]);
    assert_eq!(
        life.updates(),
        [
            "2.1 a = 1",
            "2.2 b = 1",
            "2 c = 1",
            "5 InputRequired Publish it?",
            "9 Working",
            "10.1 b = gone",
            "10 a = 2",
            "13 Completed"
        ]
    );
    life.adds_up();
    let task = life.task(&life.fold(&life.records).0);
    assert_eq!(talk(&task), ["Agent: Publish it?", "User: go", "Agent: published"]);
    let made: Vec<&str> = task.artifacts.iter().map(|artifact| artifact.id.as_str()).collect();
    assert_eq!(made, ["a", "b", "c"]);
    let deleted = |artifact: &Artifact| artifact.metadata.contains_key("urn:envoi:a2a:deleted");
    assert_eq!(task.artifacts.iter().map(deleted).collect::<Vec<_>>(), [false, true, false]);
}

/// The data and the metadata of a task's last message.
fn end_of(task: &Task) -> (Vec<String>, String) {
    let message = task.status.message.as_ref().unwrap();
    let data = message.parts.iter().filter_map(|part| match &part.content {
        Content::Data(value) => Some(value.compact()),
        _ => None,
    });
    (data.collect(), Value::Object(message.metadata.clone()).compact())
}

#[test]
fn the_data_of_the_last_step_that_has_some_goes_out_with_the_last_message() {
    const FLOW: &str = "flow: f\nsteps:\n  - { id: a, run: x }\n  - { id: b, run: x, if: '1 > 0' }\n  - { id: c, run: x, continue_on_error: true }\n";
    let ends = |settle: &dyn Fn(&mut Life)| {
        let mut life = Life::begun(FLOW);
        settle(&mut life);
        life.adds_up();
        let (fold, _) = life.fold(&life.records);
        end_of(&life.task(&fold))
    };
    let of = |a: &str, b: &str, c: &str| {
        let (data, metadata) = ends(&|life| {
            for (attempt, data) in [("a.1.1", a), ("b.1.1", b), ("c.1.1", c)] {
                match data {
                    "-" => life.settled(attempt, 0, "said", &[]),
                    data => life.reported(attempt, "said", data),
                }
            }
        });
        assert_eq!(metadata, "{}");
        data
    };
    assert_eq!(of("-", "-", "-"), [""; 0]);
    assert_eq!(of(r#"{"n":1.00}"#, "-", "-"), [r#"{"n":1.00}"#], "as it was written, from an earlier step");
    assert_eq!(of(r#"{"n":1}"#, "[2]", "-"), ["[2]"], "the last one, of any kind");
    assert_eq!(of(r#"{"n":1}"#, "[2]", "null"), ["[2]"]);
    let failed = ends(&|life| {
        life.reported("a.1.1", "", r#"{"n":1}"#);
        life.settled("b.1.1", 0, "", &[]);
        let report = r#"{"ok":false,"generatedAt":"x","skillName":"s","data":{"n":3}}"#;
        life.settle("c.1.1", 1, "", &[], Some(report));
    });
    assert_eq!(failed.0, [r#"{"n":1}"#], "not of a step that has failed");
}

#[test]
fn data_too_large_for_the_journal_is_read_from_its_report_and_never_from_a_reference_that_a_step_made_up() {
    const FLOW: &str = "flow: f\nsteps:\n  - { id: a, run: x }\n";
    let end = |data: &str| {
        let mut life = Life::begun(FLOW);
        // Another tenant's content in the same store.
        let others = life.content.put(br#"{"ok":true,"data":{"secret":1}}"#);
        let data = data.replace("OTHERS", &others.digest.to_string());
        match data.starts_with(r#"{"$artifact""#) {
            true => {
                life.reported("a.1.1", "", "1");
                life.made_up(&data);
            }
            false => life.reported("a.1.1", "", &data),
        }
        life.adds_up();
        let (fold, _) = life.fold(&life.records);
        (end_of(&life.task(&fold)), data)
    };
    let large = format!(r#"{{"n":"{}"}}"#, "x".repeat(100 * 1024));
    assert_eq!(end(&large).0.0, std::slice::from_ref(&large), "over 64 KiB the journal has a reference");
    // The same at `$ENVOI_DATA`.
    let mut life = Life::begun(FLOW);
    let file = (large.as_bytes().to_vec(), life.content.put(large.as_bytes()));
    life.filed("a.1.1", file);
    life.adds_up();
    let (fold, _) = life.fold(&life.records);
    assert_eq!(end_of(&life.task(&fold)).0, std::slice::from_ref(&large));
    let ((data, _), made_up) = end(r#"{"$artifact":"OTHERS","size":31}"#);
    assert_eq!(data, [made_up], "it goes out as the data that it is");
    // Data that a message cannot carry is left out, and marked.
    for (data, why) in [
        (format!(r#"{{"n":"{}"}}"#, "x".repeat(2 * 1024 * 1024)), "size"),
        (format!("{}{}", "[".repeat(110), "]".repeat(110)), "depth"),
    ] {
        let ((carried, metadata), _) = end(&data);
        assert_eq!(
            (carried.len(), metadata),
            (0, format!(r#"{{"urn:envoi:a2a:data_left_out":{}}}"#, data.len())),
            "{why}"
        );
    }
}

#[test]
fn files_are_sent_as_data_as_text_as_bytes_or_as_a_link() {
    const FLOW: &str = "flow: f\nsteps:\n  - { id: a, run: x, artifacts: ['*'] }\n";
    let deep = format!("{}{}", "[".repeat(110), "]".repeat(110));
    for (path, content, name, media_type, expected) in [
        ("d/data.json", r#"{"n":1.00}"#, "data.json", "application/json", r#"data {"n":1.00}"#),
        ("list.json", " [1, 2]\n", "list.json", "application/json", "data [1,2]"),
        ("twice.json", r#"{"n":1,"n":2}"#, "twice.json", "application/json", r#"text {"n":1,"n":2}"#),
        ("nan.json", "NaN", "nan.json", "application/json", "text NaN"),
        ("deep.json", deep.as_str(), "deep.json", "application/json", &format!("text {deep}")),
        ("note.md", "{}", "note.md", "text/markdown", "text {}"),
        ("out.txt.uri", "https://example.com/x\n", "out.txt", "text/plain", "url https://example.com/x"),
        ("out.txt.uri", "file:///etc/passwd", "out.txt.uri", "text/uri-list", "text file:///etc/passwd"),
        ("out.txt.uri", "https://a b", "out.txt.uri", "text/uri-list", "text https://a b"),
        (".uri", "https://a", ".uri", "application/octet-stream", "text https://a"),
    ] {
        let mut life = Life::begun(FLOW);
        life.settled("a.1.1", 0, "", &[(path, Some(content))]);
        life.adds_up();
        let (fold, _) = life.fold(&life.records);
        let task = life.task(&fold);
        let [Artifact { id, parts, .. }] = task.artifacts.as_slice() else { panic!("{path}") };
        let [part] = parts.as_slice() else { panic!("{path}") };
        let shown = match &part.content {
            Content::Data(value) => format!("data {}", value.compact()),
            Content::Text(text) => format!("text {text}"),
            Content::Url(url) => format!("url {url}"),
            Content::Raw(bytes) => format!("raw {bytes:?}"),
        };
        assert_eq!((id.as_str(), shown.as_str()), (path, expected));
        assert_eq!(
            (part.filename.as_deref(), part.media_type.as_deref()),
            (Some(name), Some(media_type)),
            "{path}"
        );
    }
}

#[test]
fn a_question_has_one_notice_while_the_run_goes_on_beside_it() {
    let mut life = Life::begun(
        "
flow: beside
steps:
  - id: ask
    needs: []
    ask: 'One?'
  - id: work
    needs: []
    run: 'true'
  - id: more
    needs: [work]
    run: 'true'
  - id: last
    needs: [ask, more]
    run: 'true'
",
    );
    life.settled("work.1.1", 0, "", &[]);
    life.answered("ask", Choice::Approve, None);
    life.settled("more.1.1", 0, "", &[]);
    life.settled("last.1.1", 0, "", &[]);
    let states: Vec<String> =
        life.updates().iter().map(|line| line.split_once(' ').unwrap().1.to_owned()).collect();
    assert_eq!(states, ["InputRequired One?", "Working", "Completed"]);
    life.adds_up();
    let task = life.task(&life.fold(&life.records).0);
    assert_eq!(task.status.state, TaskState::Completed);
    // The step has no text, so the message states how the run ended.
    assert_eq!(talk(&task).len(), 3, "{:?}", talk(&task));
}

#[test]
fn each_question_is_sent_although_the_task_waits_all_the_time() {
    let mut life = Life::begun(
        "
flow: twice
steps:
  - id: one
    ask: 'One?'
  - id: two
    ask: { kind: clarification, message: 'Two?' }
",
    );
    life.answered("one", Choice::Approve, None);
    life.answered("two", Choice::Respond, Some("words"));
    let states: Vec<String> =
        life.updates().iter().map(|line| line.split_once(' ').unwrap().1.to_owned()).collect();
    assert_eq!(states, ["InputRequired One?", "InputRequired Two?", "Completed"]);
    life.adds_up();
    let task = life.task(&life.fold(&life.records).0);
    let talk = talk(&task);
    assert_eq!(talk[..4], ["Agent: One?", "User: [Approved by operator]", "Agent: Two?", "User: words"]);
}

#[test]
fn each_of_several_approvals_is_a_turn() {
    let mut life = Life::begun("flow: two\nsteps:\n  - id: a\n    ask: { message: 'Go on?', quorum: 2 }\n");
    for actor in ["ann", "bob"] {
        let question = life.run.interrupts().next().unwrap().interrupt.clone();
        let by = Principal { actor: actor.to_owned(), ..ann() };
        let answer = Answer::new(question, Choice::Approve, by);
        life.feed(Input::Answer(Box::new(answer)));
    }
    life.adds_up();
    let turns = talk(&life.task(&life.fold(&life.records).0));
    assert_eq!(turns.iter().filter(|turn| turn.starts_with("User: ")).count(), 2, "{turns:?}");
}

#[test]
fn a_failure_says_why_and_a_run_that_is_reopened_is_at_work_again() {
    let mut life = Life::begun(REVIEW);
    life.settled("draft.1.1", 7, "half", &[("a", Some("1"))]);
    let failed = life.task(&life.fold(&life.records).0);
    assert_eq!(failed.status.state, TaskState::Failed);
    let conversation = talk(&failed);
    assert!(conversation[0].contains("Step `draft` failed"), "{conversation:?}");
    life.feed(Input::Reopen { by: ann(), why: None, request: None, elsewhere: Default::default() });
    life.settled("draft.2.1", 0, "", &[]);
    life.answered("approve", Choice::Deny, None);
    let states: Vec<String> =
        life.updates().iter().map(|line| line.split(' ').nth(1).unwrap().to_owned()).collect();
    assert_eq!(states, ["a", "Failed", "Working", "InputRequired", "Failed"]);
    life.adds_up();
}

/// Numbers that look random, and are the same for the same seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, high: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap() % high
    }
}

#[test]
fn the_notices_of_a_run_add_up_whatever_its_end() {
    let text = "
flow: any
steps:
  - id: plan
    needs: []
    run: 'true'
    artifacts: ['*']
  - id: ask
    needs: [plan]
    ask: 'Go on?'
    routing: { loop_to: plan, max_iterations: 2 }
  - id: left
    needs: [plan]
    run: 'true'
    artifacts: ['*']
    retry: { attempts: 2, backoff: 1s..2s }
  - id: words
    needs: [left]
    ask: { kind: clarification, message: 'How?' }
  - id: last
    needs: [ask, words]
    run: 'true'
    artifacts: ['*']
";
    let mut ended = 0;
    let mut waited = 0;
    for seed in 1..=150_u64 {
        let mut life = Life::begun(text);
        let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        for turn in 0..40 {
            let wants = life.run.wants();
            let attempts = wants.attempts.clone();
            let questions = wants.interrupts.clone();
            let kinds = attempts.len() + questions.len();
            if !wants.ready.is_empty() && (kinds == 0 || dice.below(2) == 0) {
                life.feed(Input::SlotFree);
            } else if kinds == 0 {
                let Some((timer, due)) = wants.timers.first().cloned() else { break };
                life.now = life.now.max(due.as_millis());
                life.feed(Input::TimerDue { timer });
            } else if let Some(attempt) = attempts.get(dice.below(kinds)) {
                let content = format!("{turn}");
                let file = ["a", "b"][dice.below(2)];
                let change = (dice.below(4) > 0).then_some(content.as_str());
                let code = i32::from(dice.below(4) == 0);
                life.settled(&attempt.to_string(), code, "said", &[(file, change)]);
            } else {
                let question = &questions[dice.below(questions.len())];
                let raised =
                    life.run.interrupts().find(|raised| raised.interrupt == *question).unwrap().clone();
                let choices = life.run.accepts(&raised);
                let choice = choices[dice.below(choices.len())];
                let text = (choice == Choice::Respond).then(|| "so".to_owned());
                let answer = Answer { text, ..Answer::new(question.clone(), choice, ann()) };
                let now = Timestamp::from_millis(life.now + 1);
                // Another round may exceed its limit.
                if life.run.decide(Input::Answer(Box::new(answer.clone())), slot(), now).is_ok() {
                    life.feed(Input::Answer(Box::new(answer)));
                }
            }
        }
        let (whole, updates) = life.fold(&life.records);
        let state = whole.standing().state;
        ended += usize::from(state.is_terminal());
        waited += updates.iter().filter(|update| life.line(update).starts_with("InputRequired")).count();
        life.adds_up();
    }
    assert!(ended > 75 && waited > 100, "{ended} ended, {waited} waited");
}

#[test]
fn places_are_read_as_they_are_written_and_ordered_as_they_are_shown() {
    let place = |text: &str| StreamPosition::parse(text);
    for text in ["0", "12", "12.1", "12.34"] {
        assert_eq!(place(text).map(|place| place.to_string()).as_deref(), Some(text));
    }
    for bad in ["", ".", "1.", ".1", "+1", "1.+1", "-1", "1.2.3", "x", "99999999999999999999"] {
        assert_eq!(place(bad), None, "{bad}");
    }
    let order = ["3", "4.1", "4.2", "4", "5.1"].map(|text| place(text).unwrap());
    for (at, one) in order.iter().enumerate() {
        for (other_at, other) in order.iter().enumerate() {
            assert_eq!(one.is_after(*other), at > other_at, "{one} {other}");
        }
    }
}
