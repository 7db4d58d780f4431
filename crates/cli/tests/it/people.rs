//! Questions to people, from the flow file to the file that a later step reads, over restarts and `kill -9`.

use crate::{
    serve::APPROVAL,
    stage::{Dice, Done, Process, Stage, text, wait_for, wait_until},
};
use serde_json::Value;
use std::fs;

fn asked(flow: &str) -> Stage {
    let stage = Stage::with_flow(flow);
    stage.expect(3, &["run", "flow.yaml"]);
    stage
}

/// The open questions, oldest first.
fn open(stage: &Stage) -> Vec<Value> {
    stage.json(&["--json", "inbox"]).as_array().unwrap().clone()
}

fn only_question(stage: &Stage) -> String {
    let questions = open(stage);
    assert_eq!(questions.len(), 1, "{questions:?}");
    text(&questions[0]["question"])
}

fn names(stage: &Stage, run: &str) -> Vec<String> {
    stage.events(run).iter().map(|event| text(&event["type"])).collect()
}

fn count(stage: &Stage, run: &str, name: &str) -> usize {
    names(stage, run).iter().filter(|found| *found == name).count()
}

fn by(stage: &Stage, who: &str, arguments: &[&str]) -> Done {
    Process::spawn(stage.command(arguments).env("USER", who)).done()
}

/// The code of a refusal, which with `--json` is a JSON object on stderr.
fn refused(done: &Done) -> String {
    let line =
        done.err.lines().rev().find(|line| line.starts_with('{')).unwrap_or_else(|| panic!("{done:?}"));
    text(&serde_json::from_str::<Value>(line).unwrap()["code"])
}

#[test]
fn an_answer_parses_its_flow_once_and_loads_the_run_once_in_the_command_and_once_in_the_engine() {
    let stage = asked(APPROVAL);
    let mut command = stage.command(&["approve"]);
    let done = Process::spawn(command.env("ENVOI_LOG", "envoi_engine::query=debug")).done();
    assert_eq!(done.code, Some(0), "{done:?}");
    let said = done.err;
    let count = |what: &str| said.lines().filter(|line| line.contains(what)).count();
    // The command loads it for the answer; the engine does to look at the answer, and takes up the same run.
    assert_eq!((count("a run is loaded"), count("a flow is parsed")), (2, 1), "{said}");
}

#[test]
fn a_run_waits_for_a_person_and_goes_on_with_the_answer() {
    let stage = asked(APPROVAL);
    assert_eq!(stage.lines("did.txt"), ["draft"]);
    let shown = stage.expect(0, &["show", &only_question(&stage)]).out;
    for expected in
        ["Publish it?", "draft.1 succeeded", "created notes.md", "+words", "goes on with step `publish`"]
    {
        assert!(shown.contains(expected), "{expected}: {shown}");
    }
    stage.expect(0, &["approve", "--note", "  fine  "]);
    assert_eq!(stage.lines("did.txt"), ["draft", "publish"]);
    assert_eq!(open(&stage), Vec::<Value>::new());
    let run = stage.run_id();
    let answered: Vec<_> =
        stage.events(&run).into_iter().filter(|event| event["type"] == "interrupt_answered").collect();
    assert_eq!(answered.len(), 1);
    assert_eq!(
        [&answered[0]["choice"], &answered[0]["text"], &answered[0]["by"]["actor"], &answered[0]["channel"]],
        ["approve", "fine", "tester", "cli"]
    );
    let handoff = stage.json(&["show", &run, "--handoff", "approve"]);
    assert_eq!(handoff["summary"], "fine");
    assert_eq!(handoff["routing_signal"]["reason"], "Answered");
}

#[test]
fn a_denial_ends_the_run_and_nothing_after_it_runs() {
    let stage = asked(APPROVAL);
    let denied = stage.expect(1, &["deny", "--reason", "not this week"]);
    assert!(denied.err.contains("Denied at step `approve` by tester"), "{denied:?}");
    assert_eq!(stage.lines("did.txt"), ["draft"]);
    let run = stage.run_id();
    assert_eq!(stage.json(&["--json", "show", &run])["terminal_reason"], "policy_violation");
}

#[test]
fn a_denied_run_that_is_reopened_asks_again() {
    let stage = asked(APPROVAL);
    stage.expect(1, &["deny"]);
    let run = stage.run_id();
    stage.expect(3, &["resume", &run]);
    stage.expect(0, &["approve"]);
    assert_eq!(stage.lines("did.txt"), ["draft", "publish"]);
}

#[test]
fn a_denial_goes_its_own_way_and_the_run_still_ends_as_denied() {
    let flow = APPROVAL.replace("ask: 'Publish it?'", "ask: { message: 'Publish it?', on_deny: undo }")
        + "    routing: { next: end }
  - id: undo
    run: echo undo >> did.txt
";
    let stage = asked(&flow);
    let shown = stage.expect(0, &["show", &only_question(&stage)]).out;
    assert!(shown.contains("goes to step `undo`, after which the run ends as failed"), "{shown}");
    stage.expect(1, &["deny"]);
    assert_eq!(stage.lines("did.txt"), ["draft", "undo"]);
    let stage = asked(&flow);
    stage.expect(0, &["approve"]);
    assert_eq!(stage.lines("did.txt"), ["draft", "publish"]);
}

#[test]
fn an_answer_that_is_refused_changes_nothing() {
    let stage = asked(
        "
flow: form
steps:
  - id: ask
    ask:
      message: Where to?
      schema:
        type: object
        required: [channel]
        properties: { channel: { enum: [blog, mail] }, copies: { type: integer, default: 1 } }
  - id: publish
    run: [sh, -c, 'echo $0 $1 > did.txt', '${{ steps.ask.data.channel }}', '${{ steps.ask.data.copies }}']
",
    );
    let (run, question) = (stage.run_id(), only_question(&stage));
    let before = stage.events(&run);
    let many_files =
        [&["approve", &question, "--field", "channel=mail"], ["--file", "flow.yaml"].repeat(21).as_slice()]
            .concat();
    let large_form = format!(r#"{{"channel": "mail", "note": "{}"}}"#, "x".repeat(64 * 1024));
    let rows: [(i32, &str, &[&str]); 13] = [
        (2, "ANSWER_INVALID", &many_files),
        (2, "ANSWER_INVALID", &["approve", &question, "--data", &large_form]),
        (2, "ANSWER_INVALID", &["approve", &question, "--field", "channel=mail", "--field", "channel=blog"]),
        (2, "ANSWER_INVALID", &["approve", &question, "--data", r#"{"channel": "mail", "channel": "blog"}"#]),
        (2, "ANSWER_INVALID", &["approve", &question]),
        (2, "ANSWER_INVALID", &["approve", &question, "--field", "channel=fax"]),
        (2, "ANSWER_INVALID", &["approve", &question, "--field", "copies=many"]),
        (2, "ANSWER_INVALID", &["approve", &question, "--data", "{channel: mail}"]),
        (2, "ANSWER_INVALID", &["approve", &question, "--data", r#"{"channel": "mail", "copies": "2"}"#]),
        (
            2,
            "ATTACHMENT_UNREADABLE",
            &["approve", &question, "--field", "channel=mail", "--file", "nothing.pdf"],
        ),
        (6, "WRONG_ANSWER", &["answer", &question, "--choice", "rerun"]),
        (
            6,
            "SUBJECT_CHANGED",
            &[
                "approve",
                &question,
                "--field",
                "channel=mail",
                "--seen",
                "sha256:0000000000000000000000000000000000000000000000000000000000000000",
            ],
        ),
        (2, "RUN_NOT_FOUND", &["approve", "int_nobody"]),
    ];
    for (code, word, arguments) in rows {
        let done = stage.expect(code, &[&["--json"], arguments].concat());
        assert_eq!(refused(&done), word, "{arguments:?}: {done:?}");
        assert_eq!(stage.events(&run), before, "{arguments:?}");
    }
    stage.expect(0, &["approve", &question, "--field", "channel=mail"]);
    assert_eq!(stage.lines("did.txt"), ["mail 1"]);
    let late = stage.expect(6, &["--json", "approve", &question, "--field", "channel=blog"]);
    assert_eq!(refused(&late), "QUESTION_CLOSED");
    assert!(late.err.contains("was answered") && late.err.contains("approve by tester"), "{late:?}");
}

#[test]
fn the_files_of_an_answer_are_there_for_the_next_steps() {
    let stage = asked(
        "
flow: files
steps:
  - id: ask
    ask: { kind: clarification, message: 'Which logo?' }
  - id: use
    run: ls $ENVOI_ANSWER_FILES > names.txt; cp $ENVOI_ANSWER answer.json; cat $ENVOI_ANSWER_FILES/a-2.bin > second.bin
",
    );
    stage.write("in/a.bin", b"first\0");
    stage.write("other/a.bin", vec![7_u8; 70_000]);
    stage
        .expect(0, &["answer", "--text", " the second one\n", "--file", "in/a.bin", "--file", "other/a.bin"]);
    assert_eq!(stage.lines("names.txt"), ["a-2.bin", "a.bin"]);
    assert_eq!(fs::read(stage.path("second.bin")).unwrap(), vec![7_u8; 70_000]);
    let answer: Value = serde_json::from_str(&stage.read("answer.json")).unwrap();
    assert_eq!(answer["text"], " the second one\n", "every byte of it");
    assert_eq!(answer["attachments"][1]["filename"], "a.bin");
    assert_eq!(answer["attachments"][1]["size"], 70_000);
    assert_eq!(answer["choice"], "respond");
    assert!(text(&answer["files"][0]["path"]).ends_with("/files/a.bin"), "{answer}");
    let run = stage.run_id();
    let handoff = stage.json(&["show", &run, "--handoff", "ask"]);
    let place = text(&handoff["artifacts"]["a-2.bin"]);
    assert_eq!(fs::read(stage.store().join("runs").join(&run).join(place)).unwrap(), vec![7_u8; 70_000]);
}

#[test]
fn a_user_envelope_is_taken_as_it_came_or_refused_whole() {
    let flow = "
flow: envelope
steps:
  - id: ask
    ask: { kind: clarification, message: 'What next?' }
  - id: use
    run: cat $ENVOI_ANSWER > answer.json
";
    let stage = asked(flow);
    stage.write("bad.json", r#"{"text": "hello", "attachment": []}"#);
    let done = stage.expect(2, &["--json", "answer", "--envelope", "bad.json"]);
    assert_eq!(refused(&done), "INVALID_USER_ENVELOPE");
    assert_eq!(open(&stage).len(), 1);
    stage.write(
        "good.json",
        r#"{"text": "hello", "attachments": [{"artifactId": "art_1", "representationRevisionId": "rep_1", "digest":
            "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", "mime": "text/plain",
            "originKind": "external_link", "filename": "abc.txt"}]}"#,
    );
    let done = stage.expect(0, &["answer", "--envelope", "good.json"]);
    assert!(done.err.contains("does not have `abc.txt`"), "{done:?}");
    let answer: Value = serde_json::from_str(&stage.read("answer.json")).unwrap();
    assert_eq!(answer["text"], "hello");
    assert_eq!(answer["attachments"][0]["originKind"], "external_link");
    assert!(answer["files"][0]["unreadable"].is_string(), "{answer}");
}

#[test]
fn what_was_shown_is_what_an_approval_counts_for() {
    let stage = asked(APPROVAL);
    let first = only_question(&stage);
    stage.write("notes.md", "other words\n");
    let done = stage.expect(6, &["--json", "approve", &first]);
    assert_eq!(refused(&done), "SUBJECT_CHANGED");
    assert!(done.err.contains("`notes.md` changed"), "{done:?}");
    let second = only_question(&stage);
    assert_ne!(first, second, "the question is put again");
    assert_eq!(refused(&stage.expect(6, &["--json", "approve", &first])), "QUESTION_CLOSED");
    let shown = stage.expect(0, &["show", &second]).out;
    assert!(shown.contains("changed_in_the_workspace") && shown.contains("notes.md"), "{shown}");
    assert_eq!(stage.lines("did.txt"), ["draft"], "nothing went on");
    stage.expect(0, &["approve", &second]);
    assert_eq!(stage.lines("did.txt"), ["draft", "publish"]);
}

#[test]
fn a_no_needs_no_second_look() {
    let stage = asked(APPROVAL);
    stage.write("notes.md", "other words\n");
    stage.expect(1, &["deny"]);
}

#[test]
fn another_round_gets_the_words_of_the_person() {
    let stage = asked(
        "
flow: rounds
steps:
  - id: draft
    run: cat ${ENVOI_FEEDBACK:-/dev/null} >> told.txt; echo $ENVOI_ITERATION >> rounds.txt
  - id: approve
    ask: Good?
    routing: { loop_to: draft, max_iterations: 1 }
",
    );
    stage.expect(3, &["answer", "--choice", "again", "--text", "shorter, please"]);
    assert_eq!(stage.lines("told.txt"), ["shorter, please"]);
    assert_eq!(stage.lines("rounds.txt"), ["0", "1"]);
    let done = stage.expect(6, &["--json", "answer", "--choice", "again"]);
    assert_eq!(refused(&done), "PAST_BOUND");
    stage.expect(0, &["approve"]);
}

#[test]
fn the_starter_of_a_run_may_be_kept_from_answering_and_several_people_may_have_to() {
    let stage = asked(
        &APPROVAL
            .replace("ask: 'Publish it?'", "ask: { message: 'Publish it?', not_by: starter, quorum: 2 }"),
    );
    let question = only_question(&stage);
    let done = stage.expect(6, &["--json", "approve", &question]);
    assert_eq!(refused(&done), "NOT_YOURS_TO_ANSWER");
    assert_eq!(by(&stage, "ben", &["approve", &question, "--note", "yes"]).code, Some(3));
    let again = by(&stage, "ben", &["--json", "approve", &question]);
    assert_eq!((again.code, refused(&again).as_str()), (Some(6), "NOT_YOURS_TO_ANSWER"));
    let shown = stage.expect(0, &["show", &question]).out;
    assert!(shown.contains("2 different people have to approve (so far: ben)"), "{shown}");
    assert_eq!(by(&stage, "cleo", &["approve", &question, "--note", "fine"]).code, Some(0));
    let handoff = stage.json(&["show", &stage.run_id(), "--handoff", "approve"]);
    assert_eq!(handoff["summary"], "ben: yes\ncleo: fine");
}

#[test]
fn a_yes_in_advance_is_recorded_as_that() {
    let stage = Stage::with_flow(APPROVAL);
    stage.expect(0, &["run", "flow.yaml", "--yes-to", "approve"]);
    assert_eq!(stage.lines("did.txt"), ["draft", "publish"]);
    let events = stage.events(&stage.run_id());
    let answered = events.iter().find(|event| event["type"] == "interrupt_answered").unwrap();
    assert_eq!(
        [&answered["choice"], &answered["channel"], &answered["by"]["actor"]],
        ["approve", "yes_to", "tester"]
    );
    for (step, why) in [("publish", "asks nothing"), ("nobody", "no step")] {
        let done = stage.expect(2, &["--json", "run", "flow.yaml", "--yes-to", step]);
        assert_eq!(refused(&done), "YES_TO_INVALID");
        assert!(done.err.contains(why), "{done:?}");
    }
    assert_eq!(stage.runs().len(), 1, "a refused start leaves nothing");
}

#[test]
fn an_answer_can_be_recorded_without_going_on() {
    let stage = asked(APPROVAL);
    stage.expect(0, &["approve", "--no-resume"]);
    assert_eq!(stage.lines("did.txt"), ["draft"]);
    let run = stage.run_id();
    assert_eq!(count(&stage, &run, "interrupt_answered"), 1);
    assert_eq!(count(&stage, &run, "attempt_started"), 1, "nothing was announced either");
    stage.expect(0, &["resume", &run]);
    assert_eq!(stage.lines("did.txt"), ["draft", "publish"]);
}

#[test]
fn a_question_lapses_without_an_engine_and_is_closed_when_one_looks() {
    let flow = APPROVAL
        .replace("ask: 'Publish it?'", "ask: { message: 'Publish it?', expires_in: 50ms, on_expire: late }")
        + "    routing: { next: end }
  - id: late
    run: echo late >> did.txt
";
    // Whether it lapses before the first engine has gone is a matter of luck; the run ends the same way.
    let stage = Stage::with_flow(&flow);
    let first = stage.envoi(&["run", "flow.yaml"]);
    assert!(matches!(first.code, Some(1 | 3)), "{first:?}");
    let run = stage.run_id();
    let question = text(&stage.json(&["--json", "inbox", "--all"])[0]["question"]);
    wait_until("the time to be over", || {
        let states = stage.json(&["--json", "inbox", "--all"]);
        states[0]["state"] == "lapsed" || states[0]["state"] == "expired"
    });
    let done = stage.envoi(&["--json", "approve", &question]);
    assert_eq!(done.code, Some(6), "{done:?}");
    assert!(["QUESTION_EXPIRED", "QUESTION_CLOSED"].contains(&refused(&done).as_str()), "{done:?}");
    wait_for("the run to be over", || {
        let over = stage.json(&["--json", "show", &run])["status"] == "failed";
        over.then_some(()).or_else(|| {
            stage.envoi(&["resume", &run]);
            None
        })
    });
    assert_eq!(count(&stage, &run, "interrupt_expired"), 1);
    assert_eq!(count(&stage, &run, "interrupt_answered"), 0);
    assert_eq!(stage.lines("did.txt"), ["draft", "late"]);
}

/// Three runs of one store wait at once; in each of the six orders every answer goes to its own run, with a new engine for
/// each.
#[test]
fn three_open_questions_take_their_answers_in_any_order() {
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let stage = Stage::with_flow(
            "
flow: three
inputs: { n: { type: string } }
steps:
  - id: ask
    ask: { kind: clarification, message: 'What is ${{ inputs.n }}?' }
  - id: say
    run: [sh, -c, 'echo $0=$1 >> said.txt', '${{ inputs.n }}', '${{ steps.ask.summary }}']
",
        );
        for n in ["a", "b", "c"] {
            stage.expect(3, &["run", "flow.yaml", "-i", &format!("n={n}")]);
        }
        let questions = open(&stage);
        assert_eq!(questions.len(), 3);
        let ambiguous = stage.expect(6, &["--json", "answer", "--text", "to whom?"]);
        assert_eq!(refused(&ambiguous), "AMBIGUOUS_ID");
        for place in order {
            let question = text(&questions[place]["question"]);
            stage.expect(0, &["answer", &question, "--text", &place.to_string()]);
        }
        let mut said = stage.lines("said.txt");
        said.sort();
        assert_eq!(said, ["a=0", "b=1", "c=2"], "{order:?}");
    }
}

/// As above, in one run: its branches each wait for their own answer.
#[test]
fn three_questions_of_one_run_take_their_answers_in_any_order() {
    let branch = |name: &str| {
        format!(
            "  - {{ id: ask_{name}, needs: [start], ask: {{ kind: clarification, message: 'What is {name}?' }} }}\n  \
             - {{ id: say_{name}, needs: [ask_{name}], run: [sh, -c, 'echo $0=$1 >> said.txt', {name}, '${{{{ steps.ask_{name}.summary }}}}'] }}\n"
        )
    };
    let branches = ["a", "b", "c"].map(branch).concat();
    let flow = format!(
        "flow: three\nsteps:\n  - {{ id: start, run: 'true' }}\n{branches}  \
         - {{ id: finish, needs: [say_a, say_b, say_c], run: 'echo end >> said.txt' }}\n"
    );
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let stage = asked(&flow);
        let (run, questions) = (stage.run_id(), open(&stage));
        let ids: Vec<String> = questions.iter().map(|row| text(&row["question"])).collect();
        let steps: Vec<String> = questions.iter().map(|row| text(&row["step"])).collect();
        assert_eq!(steps, ["ask_a", "ask_b", "ask_c"]);
        for arguments in [
            &["--json", "answer", "--text", "to whom?"][..],
            &["--json", "approve"],
            &["--json", "deny", &run],
        ] {
            let ambiguous = stage.expect(6, arguments);
            assert_eq!(refused(&ambiguous), "AMBIGUOUS_ID");
            assert!(ids.iter().all(|id| ambiguous.err.contains(id)), "{ambiguous:?}");
        }
        for (nth, place) in order.into_iter().enumerate() {
            let left = 2 - nth;
            let code = if left == 0 { 0 } else { 3 };
            let done = stage.expect(code, &["answer", &ids[place], "--text", &place.to_string()]);
            assert_eq!(open(&stage).len(), left, "{order:?}");
            let counted = format!("{left} questions are open: envoi inbox {run}");
            assert_eq!(done.err.contains(&counted), left > 1, "{done:?}");
            assert_eq!(stage.lines("said.txt").len(), nth + if left == 0 { 2 } else { 1 });
            let again = stage.expect(6, &["--json", "answer", &ids[place], "--text", "again"]);
            assert!(["QUESTION_CLOSED", "RUN_OVER"].contains(&refused(&again).as_str()), "{again:?}");
        }
        let mut said = stage.lines("said.txt");
        assert_eq!(said.pop().as_deref(), Some("end"));
        said.sort();
        assert_eq!(said, ["a=0", "b=1", "c=2"], "{order:?}");
    }
}

/// The first answer of several may make the others needless: that is no refusal of what was decided.
#[test]
fn a_review_of_all_that_waits_is_done_when_the_first_yes_is_enough() {
    let judge = |name: &str| {
        format!(
            "  - {{ id: {name}, needs: [start], run: \"echo 'Status: POOR'\", \
             routing: {{ kind: microloop, success_values: [GOOD], max_iterations: 0 }} }}\n"
        )
    };
    let judges = ["a", "b"].map(judge).concat();
    let stage = asked(&format!(
        "flow: enough\nsteps:\n  - {{ id: start, run: 'true' }}\n{judges}  \
         - {{ id: first, needs: [a, b], join: any, run: 'echo first > did.txt' }}\n"
    ));
    let run = stage.run_id();
    assert_eq!(open(&stage).len(), 2);
    let done = stage.expect(0, &["resume", &run, "--review", "proceed"]);
    assert!(!done.err.contains("closed"), "{done:?}");
    assert_eq!(stage.lines("did.txt"), ["first"]);
    assert_eq!(count(&stage, &run, "interrupt_answered"), 1);
    assert_eq!(count(&stage, &run, "interrupt_cancelled"), 1);
}

/// While another branch writes a file that it will hand over, that file makes no question out of date; any other one does.
#[test]
fn what_a_live_step_is_writing_does_not_put_a_question_again() {
    let stage = Stage::with_flow(
        "
flow: beside
steps:
  - { id: draft, run: 'echo words > notes.md; echo x > other.txt', artifacts: ['*.md', '*.txt'] }
  - { id: polish, needs: [draft], run: 'echo half > notes.md; touch at-it; until [ -e go ]; do sleep 0.01; done', artifacts: ['*.md'] }
  - { id: approve, needs: [draft], ask: 'Publish it?' }
  - { id: sure, needs: [draft], ask: 'Sure?' }
  - { id: publish, needs: [approve, sure], run: echo publish >> did.txt }
",
    );
    let engine = stage.start(&["run", "flow.yaml"]);
    wait_until("the other branch", || stage.path("at-it").exists());
    let ids: Vec<String> = wait_for("both questions", || {
        let rows = open(&stage);
        (rows.len() == 2).then(|| rows.iter().map(|row| text(&row["question"])).collect())
    });
    stage.expect(0, &["approve", &ids[0], "--no-resume"]);
    stage.write("other.txt", "changed by somebody");
    let done = stage.expect(6, &["--json", "approve", &ids[1], "--no-resume"]);
    assert_eq!(refused(&done), "SUBJECT_CHANGED");
    assert!(done.err.contains("other.txt") && !done.err.contains("notes.md"), "{done:?}");
    stage.expect(0, &["approve", "--no-resume"]);
    stage.write("go", "");
    assert_eq!(engine.done().code, Some(0));
    assert_eq!(stage.lines("did.txt"), ["publish"]);
}

/// Whatever is killed between the question, the answer and the next step: the question is there, one answer counts, and
/// each step runs once.
#[test]
fn killed_between_question_answer_and_next_step_nothing_is_lost_or_repeated() {
    let mut dice = Dice::new();
    for round in 0..12 {
        let stage = Stage::with_flow(APPROVAL);
        // The question.
        drop(stage.start(&["run", "flow.yaml"]).done_within(dice.micros(1_000, 60_000)));
        wait_until("the run to be known, or never to have begun", || stage.step_processes().is_empty());
        if stage.runs().is_empty() {
            continue;
        }
        let run = stage.run_id();
        wait_for("the question", || {
            stage.envoi(&["resume", &run]);
            (count(&stage, &run, "interrupt_raised") > 0).then_some(())
        });
        let question = text(&stage.json(&["--json", "inbox", "--all"])[0]["question"]);
        // The answer, again and again, each time killed a little later, until a response reports that it was taken.
        for attempt in 0_u64.. {
            let at = dice.micros(2_000 + attempt * 2_000, 8_000 + attempt * 4_000);
            let done = stage.start(&["--json", "approve", &question]).done_within(at);
            let Some(done) = done else { continue };
            match done.code {
                Some(0) => break,
                Some(6) if refused(&done) == "QUESTION_CLOSED" => break,
                other => panic!("round {round}: {other:?} {done:?}"),
            }
        }
        wait_for("the end", || {
            stage.envoi(&["resume", &run]);
            (stage.json(&["--json", "show", &run])["status"] == "succeeded").then_some(())
        });
        assert_eq!(stage.lines("did.txt"), ["draft", "publish"], "round {round}");
        assert_eq!(count(&stage, &run, "interrupt_raised"), 1, "round {round}");
        assert_eq!(count(&stage, &run, "interrupt_answered"), 1, "round {round}");
        stage.assert_nothing_left();
    }
}

/// The run rests after the first of two answers and goes on with the second: the client that gave both follows it to its end.
#[test]
fn a_review_of_two_questions_is_followed_until_the_run_rests_after_both() {
    let judge = |name: &str| {
        format!(
            "  - {{ id: {name}, needs: [start], run: \"echo 'Status: POOR'\", \
             routing: {{ kind: microloop, success_values: [GOOD], max_iterations: 0 }} }}\n"
        )
    };
    let judges = ["a", "b"].map(judge).concat();
    let stage = asked(&format!(
        "flow: both\nsteps:\n  - {{ id: start, run: 'true' }}\n{judges}  \
         - {{ id: last, needs: [a, b], run: 'echo last > did.txt' }}\n"
    ));
    let run = stage.run_id();
    assert_eq!(open(&stage).len(), 2);
    let done = stage.expect(0, &["resume", &run, "--review", "proceed"]);
    assert_eq!(done.out, format!("{run} succeeded\n"));
    assert_eq!(stage.lines("did.txt"), ["last"]);
    assert_eq!(count(&stage, &run, "interrupt_answered"), 2);
}

#[test]
fn a_bound_that_is_reached_can_be_raised_by_a_person() {
    let stage = asked(
        "
flow: bound
limits: { agent_hops: 1, on_reached: ask }
steps:
  - { id: a, run: echo a >> did.txt }
  - { id: b, run: echo b >> did.txt }
",
    );
    assert_eq!(stage.lines("did.txt"), ["a"]);
    let done = stage.expect(2, &["--json", "answer", "--raise", "lots"]);
    assert_eq!(refused(&done), "ANSWER_INVALID");
    let done = stage.expect(2, &["--json", "answer", "--raise", "0"]);
    assert_eq!(refused(&done), "ANSWER_INVALID");
    stage.expect(0, &["answer", "--raise", "+1"]);
    assert_eq!(stage.lines("did.txt"), ["a", "b"]);
    let stage = asked(
        "
flow: bound
limits: { agent_hops: 1, on_reached: ask }
steps:
  - { id: a, run: 'true' }
  - { id: b, run: 'true' }
",
    );
    let done = stage.expect(4, &["deny"]);
    assert!(done.err.contains("agent_hops 1 of 1 is used up"), "{done:?}");
}

#[test]
fn a_run_that_a_bound_ended_goes_on_when_the_bound_is_raised() {
    let stage = Stage::with_flow(
        "
flow: bound
limits: { agent_hops: 1 }
steps:
  - { id: a, run: echo a >> did.txt }
  - { id: b, run: echo b >> did.txt }
",
    );
    stage.expect(4, &["run", "flow.yaml"]);
    let run = stage.run_id();
    for arguments in [&["--json", "raise", &run][..], &["--json", "raise", &run, "--llm-calls", "5"]] {
        let done = stage.expect(6, arguments);
        assert_eq!(refused(&done), "NOT_RAISED");
    }
    stage.expect(2, &["raise", &run, "--wall-time", "long"]);
    stage.expect(0, &["raise", &run, "--agent-hops", "+1", "--reason", "one more"]);
    assert_eq!(stage.lines("did.txt"), ["a", "b"]);
    let why = stage.expect(0, &["why", &run]).out;
    assert!(why.contains("limits raised by tester") && why.contains("one more"), "{why}");
    let shown = stage.expect(0, &["show", &run]).out;
    let rows = shown.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    assert!(rows.into_iter().any(|row| row == ["attempts", "2", "-", "2,", "raised", "by", "1"]), "{shown}");
}

/// Two people decide at once: one decision counts, and the other person gets a refusal.
#[test]
fn of_two_answers_at_once_one_counts_and_the_other_is_refused() {
    for round in 0..10 {
        let stage = asked(APPROVAL);
        let (run, question) = (stage.run_id(), only_question(&stage));
        let ask = |word| ["--json", word, question.as_str(), "--no-resume"];
        let (yes, no) = (stage.start(&ask("approve")), stage.start(&ask("deny")));
        let (yes, no) =
            (yes.done_when_heard(&stage, &ask("approve")), no.done_when_heard(&stage, &ask("deny")));
        let codes = [yes.code, no.code];
        assert!(codes == [Some(0), Some(6)] || codes == [Some(6), Some(0)], "round {round}: {yes:?} {no:?}");
        let events = stage.events(&run);
        let counted: Vec<_> = events.iter().filter(|event| event["type"] == "interrupt_answered").collect();
        assert_eq!(counted.len(), 1);
        assert_eq!(counted[0]["choice"], if codes[0] == Some(0) { "approve" } else { "deny" });
        assert_eq!(stage.lines("did.txt"), ["draft"], "nothing was started");
    }
}

#[test]
fn a_review_is_a_yes_to_what_was_shown_and_no_answer_to_a_step() {
    let stage = asked(APPROVAL);
    let run = stage.run_id();
    assert_eq!(refused(&stage.expect(6, &["--json", "resume", &run, "--review", "proceed"])), "WRONG_ANSWER");
    let stage = asked(
        "
flow: looked-at
steps:
  - id: work
    run: \"echo words > notes.md; echo 'Status: POOR'\"
    artifacts: [notes.md]
    routing: { kind: microloop, success_values: [GOOD], max_iterations: 0 }
  - id: publish
    run: echo publish >> did.txt
",
    );
    let run = stage.run_id();
    stage.write("notes.md", "evil\n");
    let done = stage.expect(6, &["--json", "resume", &run, "--review", "proceed"]);
    assert_eq!(refused(&done), "SUBJECT_CHANGED");
    assert_eq!(stage.lines("did.txt"), Vec::<String>::new());
    stage.expect(0, &["resume", &run, "--review", "proceed"]);
    assert_eq!(stage.lines("did.txt"), ["publish"]);
}

#[test]
fn a_question_that_is_put_again_shows_what_is_there_now() {
    let stage = asked(APPROVAL);
    stage.write("notes.md", "evil\n");
    stage.expect(6, &["approve"]);
    let shown = stage.expect(0, &["show", &only_question(&stage)]).out;
    assert!(shown.contains("+evil") && !shown.contains("+words"), "{shown}");
    // The subject of the question is kept, also if the file changes afterwards.
    stage.write("notes.md", "worse\n");
    let shown = stage.expect(0, &["show", &only_question(&stage)]).out;
    assert!(shown.contains("+evil"), "{shown}");
    stage.expect(6, &["approve"]);
}

#[test]
fn who_cannot_go_on_with_a_run_can_still_answer() {
    let flow = APPROVAL.replace("steps:", "secrets: { TOKEN: { env: THE_TOKEN } }\nsteps:");
    let stage = Stage::with_flow(&flow);
    let run =
        |arguments: &[&str]| Process::spawn(stage.command(arguments).env("THE_TOKEN", "sesame-open")).done();
    assert_eq!(run(&["run", "flow.yaml"]).code, Some(3));
    let done = stage.expect(6, &["--json", "approve"]);
    assert_eq!(refused(&done), "SECRET_MISSING");
    assert!(done.err.contains("--no-resume"), "{done:?}");
    stage.expect(0, &["approve", "--no-resume"]);
    assert_eq!(run(&["resume"]).code, Some(0));
    assert_eq!(stage.lines("did.txt"), ["draft", "publish"]);
}
