//! Questions that are asked in place, on a pseudo-terminal: the output, the typed answer, and its effect.

use crate::{
    stage::{Stage, signal, state, wait_until},
    terminal::Terminal,
};
use rustix::process::Signal;
use std::io::Read as _;

const FLOW: &str = "
flow: notes
title: Notes of a release
steps:
  - id: draft
    run: echo words > notes.md; echo Drafted 1 page
    artifacts: [notes.md]
  - id: approve
    ask:
      message: Publish these notes?
      schema:
        type: object
        required: [channel]
        properties: { channel: { enum: [blog, mail], title: Where to }, urgent: { type: boolean, default: false } }
  - id: publish
    run: [sh, -c, 'echo $0 $1 > did.txt', '${{ steps.approve.data.channel }}', '${{ steps.approve.data.urgent }}']
";

fn plain() -> Stage {
    Stage::with_flow(
        "
flow: plain
steps:
  - { id: draft, run: 'echo words > notes.md', artifacts: [notes.md] }
  - { id: approve, ask: 'Publish it?' }
  - { id: publish, run: 'echo published > did.txt' }
",
    )
}

pub(crate) fn waits_for(terminal: &Terminal, text: &str) {
    wait_until(text, || terminal.shows().contains(text));
}

/// The prompt is the last thing on the screen.
pub(crate) fn prompts(terminal: &Terminal, prompt: &str) {
    wait_until(prompt, || terminal.shows().trim_end().ends_with(prompt));
}

#[test]
fn a_question_looks_the_same_at_every_width_and_takes_a_form_field_by_field() {
    for columns in [40, 80, 120] {
        let stage = Stage::with_flow(FLOW);
        let terminal = Terminal::start(&stage, &["run", "flow.yaml"], columns, &[]);
        prompts(&terminal, "approve, deny, show, later?");
        terminal.wait_for_golden(&stage, &format!("asked-{columns}.txt"));
        terminal.types("approve\n");
        prompts(&terminal, "Where to (blog, mail):");
        terminal.types("fax\n");
        waits_for(&terminal, "\"fax\"");
        terminal.types("mail\n\nurgent it is not\n");
        let (text, code, _) = terminal.done();
        assert_eq!(code, Some(0), "{text}");
        assert_eq!(stage.lines("did.txt"), ["mail false"]);
    }
}

#[test]
fn what_is_left_for_later_stays_open() {
    for leave in ["later\n", "\u{4}"] {
        let stage = plain();
        let terminal = Terminal::start(&stage, &["run", "flow.yaml"], 100, &[]);
        prompts(&terminal, "show, later?");
        terminal.types(leave);
        let (text, code, emulator) = terminal.done();
        assert_eq!(code, Some(3), "{text}");
        assert!(emulator.shows().contains("answer: envoi approve int_"), "{}", emulator.shows());
        stage.expect(0, &["approve"]);
    }
}

#[test]
fn a_question_that_is_answered_elsewhere_is_not_asked_any_more() {
    let stage = plain();
    let terminal = Terminal::start(&stage, &["run", "flow.yaml"], 100, &[]);
    prompts(&terminal, "show, later?");
    // Its engine is the one at the terminal, which takes the answer through its socket.
    stage.expect(0, &["approve"]);
    let (text, code, _) = terminal.done();
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("the question is closed: answered: approve by tester"), "{text}");
    assert_eq!(stage.lines("did.txt"), ["published"]);
}

#[test]
fn a_question_lapses_on_time_while_a_person_thinks() {
    let stage = Stage::with_flow(
        "
flow: lapses
steps:
  - id: approve
    ask: { message: 'Publish it?', expires_in: 1500ms }
  - { id: publish, run: 'echo published > did.txt' }
",
    );
    let terminal = Terminal::start(&stage, &["run", "flow.yaml"], 100, &[]);
    let (text, code, _) = terminal.done();
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("Nobody answered step `approve` in time"), "{text}");
    assert_eq!(stage.lines("did.txt"), Vec::<String>::new());
}

#[test]
fn an_answer_that_is_refused_is_asked_again() {
    let stage = plain();
    let terminal = Terminal::start(&stage, &["run", "flow.yaml"], 100, &[]);
    prompts(&terminal, "show, later?");
    stage.write("notes.md", "other words\n");
    terminal.types("y\n");
    prompts(&terminal, "note (Enter for none):");
    terminal.types("\n");
    waits_for(&terminal, "SUBJECT_CHANGED");
    prompts(&terminal, "show, later?");
    terminal.types("n\ntoo late\n");
    let (text, code, _) = terminal.done();
    assert_eq!(code, Some(1), "{text}");
    assert_eq!(stage.lines("did.txt"), Vec::<String>::new());
}

#[test]
fn questions_that_follow_each_other_are_asked_by_the_answering_command_too() {
    let stage = Stage::with_flow(
        "
flow: two
steps:
  - { id: first, ask: { kind: clarification, message: 'What is it called?' } }
  - { id: second, ask: 'Really?' }
  - { id: say, run: [sh, -c, 'echo $0 > did.txt', '${{ steps.first.summary }}'] }
",
    );
    stage.expect(3, &["run", "flow.yaml"]);
    let terminal = Terminal::start(&stage, &["answer", "--text", "Envoi"], 100, &[]);
    waits_for(&terminal, "Really?");
    prompts(&terminal, "show, later?");
    terminal.types("ap\n\n");
    let (text, code, _) = terminal.done();
    assert_eq!(code, Some(0), "{text}");
    assert_eq!(stage.lines("did.txt"), ["Envoi"]);
}

/// Plain lines: text typed ahead stays on the screen.
const DUMB: &[(&str, &str)] = &[("TERM", "dumb")];

#[test]
fn what_was_typed_before_the_question_was_seen_is_no_answer() {
    let stage = Stage::with_flow(
        "
flow: ahead
steps:
  - { id: work, run: 'until [ -e go ]; do sleep 0.02; done' }
  - { id: approve, ask: 'Publish it?' }
  - { id: publish, run: 'echo published > did.txt' }
",
    );
    let terminal = Terminal::start(&stage, &["run", "flow.yaml"], 100, DUMB);
    waits_for(&terminal, "work.1.1");
    terminal.types("y\nunseen\n\n");
    waits_for(&terminal, "unseen");
    stage.write("go", "");
    prompts(&terminal, "show, later?");
    terminal.types("deny\nseen\n");
    let (text, code, _) = terminal.done();
    assert_eq!(code, Some(1), "{text}");
    assert_eq!(stage.lines("did.txt"), Vec::<String>::new());
}

#[test]
fn what_is_left_after_an_answer_does_not_answer_the_next_question() {
    let stage = Stage::with_flow(
        "
flow: two
steps:
  - { id: first, ask: { kind: clarification, message: 'What is it called?' } }
  - { id: second, ask: 'Really?' }
  - { id: say, run: 'echo published > did.txt' }
",
    );
    let terminal = Terminal::start(&stage, &["run", "flow.yaml"], 100, DUMB);
    prompts(&terminal, "show, later?");
    terminal.types("respond\nline one\nyes\nline three\n");
    waits_for(&terminal, "Really?");
    prompts(&terminal, "approve, deny, show, later?");
    terminal.types("deny\n\n");
    let (text, code, _) = terminal.done();
    assert_eq!(code, Some(1), "{text}");
    assert_eq!(stage.lines("did.txt"), Vec::<String>::new());
}

#[test]
fn a_signal_at_the_prompt_leaves_the_question_open_at_once() {
    for what in [Signal::INT, Signal::TERM] {
        let stage = plain();
        let terminal = Terminal::start(&stage, &["run", "flow.yaml"], 100, DUMB);
        prompts(&terminal, "show, later?");
        signal(terminal.pid(), what);
        let (text, code, _) = terminal.done();
        assert_eq!(code, Some(3), "{text}");
        assert!(text.contains("the question stays open"), "{text}");
        stage.expect(0, &["approve"]);
    }
}

#[test]
fn what_was_half_typed_when_the_asking_ends_does_not_reach_the_shell() {
    let closings: [fn(&Stage, &Terminal); 2] =
        [|stage, _| drop(stage.expect(0, &["approve"])), |_, terminal| signal(terminal.pid(), Signal::TERM)];
    for close in closings {
        let stage = plain();
        let terminal = Terminal::start(&stage, &["run", "flow.yaml"], 100, DUMB);
        let mut shell = terminal.shell();
        prompts(&terminal, "show, later?");
        terminal.types("echo half typed");
        waits_for(&terminal, "half typed");
        close(&stage, &terminal);
        wait_until("the command's end", || state(terminal.pid()) == Some('Z'));
        terminal.types("\n");
        let mut line = [0; 100];
        let length = shell.read(&mut line).unwrap();
        assert_eq!(String::from_utf8_lossy(&line[..length]), "\n");
        drop(shell);
        terminal.done();
    }
}

#[test]
fn a_line_that_the_terminal_cut_or_that_is_no_text_is_asked_for_again() {
    let stage = plain();
    let terminal = Terminal::start(&stage, &["run", "flow.yaml"], 100, DUMB);
    prompts(&terminal, "show, later?");
    terminal.types("approve\n");
    prompts(&terminal, "note (Enter for none):");
    terminal.types("x".repeat(5000) + "\n");
    waits_for(&terminal, "envoi answer --text -");
    prompts(&terminal, "note (Enter for none):");
    terminal.types(b"caf\xe9\n");
    waits_for(&terminal, "that is not UTF-8");
    prompts(&terminal, "note (Enter for none):");
    terminal.types("short\n");
    let (text, code, _) = terminal.done();
    assert_eq!(code, Some(0), "{text}");
    let run = stage.run_id();
    assert!(stage.expect(0, &["show", &run, "--handoff", "approve"]).out.contains("\"short\""));
}

#[test]
fn a_note_that_was_not_sent_is_no_answer() {
    let stage = plain();
    let terminal = Terminal::start(&stage, &["run", "flow.yaml"], 100, DUMB);
    prompts(&terminal, "show, later?");
    terminal.types("approve\n");
    prompts(&terminal, "note (Enter for none):");
    terminal.types("half a no\u{4}\u{4}");
    let (text, code, _) = terminal.done();
    assert_eq!(code, Some(3), "{text}");
    stage.expect(0, &["approve"]);
}

#[test]
fn a_person_who_may_not_answer_or_has_answered_gets_a_message_and_no_prompt() {
    let with = |ask: &str| {
        Stage::with_flow(&format!(
            "flow: others\nsteps:\n  - {{ id: approve, ask: {{ message: 'Publish it?', {ask} }} }}\n"
        ))
    };
    let stage = with("not_by: starter");
    let terminal = Terminal::start(&stage, &["run", "flow.yaml"], 100, &[]);
    let (text, code, _) = terminal.done();
    assert_eq!(code, Some(3), "{text}");
    assert!(text.contains("anybody but tester") && !text.contains("show, later?"), "{text}");
    assert!(text.contains("cost: nothing; "), "no step ran: {text}");
    let stage = with("quorum: 2");
    let terminal = Terminal::start(&stage, &["run", "flow.yaml"], 100, DUMB);
    prompts(&terminal, "show, later?");
    terminal.types("approve\n\n");
    let (text, code, _) = terminal.done();
    assert_eq!(code, Some(3), "{text}");
    assert!(text.contains("so far: tester") && text.contains("has approved already"), "{text}");
    assert_eq!(text.matches("show, later?").count(), 1, "{text}");
}

#[test]
fn an_answer_that_came_second_is_no_failure_and_the_run_is_shown_as_it_is() {
    let stage = plain();
    stage.write(
        "busy.yaml",
        "flow: busy\nsteps:\n  - { id: work, run: 'until [ -e go ]; do sleep 0.02; done' }\n",
    );
    let engine = stage.start(&["run", "--share-workspace", "busy.yaml"]);
    wait_until("the other engine", || stage.attempt("work.1.1").is_some());
    let terminal = Terminal::start(&stage, &["run", "--share-workspace", "flow.yaml"], 100, &[]);
    prompts(&terminal, "show, later?");
    terminal.types("approve\n");
    prompts(&terminal, "note (Enter for none):");
    signal(terminal.pid(), Signal::STOP);
    wait_until("it to be stopped", || state(terminal.pid()) == Some('T'));
    stage.expect(0, &["approve"]);
    terminal.types("mine\n");
    signal(terminal.pid(), Signal::CONT);
    let (text, code, emulator) = terminal.done();
    assert_eq!(code, Some(0), "{text}");
    assert!(!text.contains("QUESTION_CLOSED") && !text.contains("answer: envoi approve"), "{text}");
    assert!(emulator.shows().contains("plain  succeeded"), "{}", emulator.shows());
    stage.write("go", "");
    assert_eq!(engine.done().code, Some(0));
}

#[test]
fn after_later_a_signal_means_what_it_meant_before() {
    let stage = plain();
    stage.write(
        "busy.yaml",
        "flow: busy\nsteps:\n  - { id: work, run: 'until [ -e go ]; do sleep 0.02; done' }\n",
    );
    let terminal = Terminal::start(&stage, &["run", "--share-workspace", "flow.yaml"], 100, DUMB);
    prompts(&terminal, "show, later?");
    let other = stage.start(&["run", "--share-workspace", "busy.yaml"]);
    wait_until("the other run", || stage.attempt("work.1.1").is_some());
    terminal.types("later\n");
    waits_for(&terminal, "waiting for the steps of this engine");
    signal(terminal.pid(), Signal::INT);
    waits_for(&terminal, "starting nothing new");
    stage.write("go", "");
    let (text, code, _) = terminal.done();
    assert_eq!(code, Some(3), "{text}");
    assert_eq!(text.matches("the question stays open").count(), 0, "{text}");
    assert_eq!(other.done().code, Some(0));
}

#[test]
fn a_form_is_asked_with_its_question_and_not_after_it_is_closed() {
    let stage = Stage::with_flow(FLOW);
    stage.expect(3, &["run", "flow.yaml"]);
    let terminal = Terminal::start(&stage, &["approve"], 100, DUMB);
    prompts(&terminal, "Where to (blog, mail):");
    assert!(terminal.shows().contains("Publish these notes?"), "{}", terminal.shows());
    assert!(terminal.shows().contains("created notes.md"), "{}", terminal.shows());
    stage.expect(0, &["approve", "--field", "channel=mail"]);
    let (text, code, _) = terminal.done();
    assert_eq!(code, Some(6), "{text}");
    assert!(text.contains("the question is closed: answered: approve by tester"), "{text}");
}

#[test]
fn nothing_that_a_step_says_does_anything_to_the_terminal_it_is_approved_on() {
    let nasty = |text: &str| {
        let shown = ["\x1b[2J", "\x1b]0;", "\u{7}", "\u{202e}"];
        shown.into_iter().find(|sign| text.contains(sign)).map(|sign| format!("{sign:?} in {text:?}"))
    };
    let flow = r#"
flow: forged
title: "A \e[2J title"
steps:
  - id: draft
    run: cp said.json $ENVOI_REPORT
  - { id: approve, ask: { message: "Publish ${{ steps.draft.data.words }}\nand \e[2J this?" } }
"#;
    let said = r#"{"ok": true, "generatedAt": "2026-01-01T00:00:00Z", "skillName": "x", "data": {"words": "these \u001b[2J\u001b]0;title\u0007 \u202eseton\nand more"}}"#;
    let stage = Stage::with_flow(flow);
    stage.write("said.json", said);
    let piped = stage.expect(3, &["run", "flow.yaml"]);
    assert_eq!(nasty(&(piped.out + &piped.err)), None);
    let run = stage.run_id();
    let question = stage.json(&["--json", "inbox"])[0]["question"].as_str().unwrap().to_owned();
    let views: [&[&str]; 6] =
        [&["inbox"], &["inbox", "--all"], &["show", &question], &["show", &run], &["why"], &["runs"]];
    for view in views {
        let done = stage.expect(0, view);
        assert_eq!(nasty(&(done.out + &done.err)), None, "{view:?}");
    }
    assert!(stage.expect(0, &["show", &question]).out.contains("these \\u{1b}[2J"));
    stage.expect(1, &["deny", "--reason", "no \u{1b}[2J"]);
    for view in [&["show", &question][..], &["show", &run], &["why"]] {
        let done = stage.expect(0, view);
        assert_eq!(nasty(&(done.out + &done.err)), None, "{view:?}");
    }
    for term in ["dumb", "xterm-256color"] {
        let stage = Stage::with_flow(flow);
        stage.write("said.json", said);
        let terminal =
            Terminal::start(&stage, &["run", "flow.yaml"], 100, &[("TERM", term), ("NO_COLOR", "1")]);
        prompts(&terminal, "show, later?");
        terminal.types("show\n");
        waits_for(&terminal, "last hand-off");
        prompts(&terminal, "show, later?");
        terminal.types("later\n");
        let (text, code, _) = terminal.done();
        assert_eq!(code, Some(3), "{text}");
        assert_eq!(nasty(&text), None);
    }
}

#[test]
fn an_answer_is_shown_with_its_channel() {
    let stage = Stage::with_flow(FLOW);
    stage.expect(3, &["run", "flow.yaml"]);
    let question = stage.json(&["--json", "inbox"])[0]["question"].as_str().unwrap().to_owned();
    stage.write("page.txt", "a page");
    stage.expect(0, &["approve", "--field", "channel=mail", "--note", "well done", "--file", "page.txt"]);
    let shown = stage.expect(0, &["show", &question]).out;
    for expected in
        ["approve by tester (cli) at 20", "  well done\n", "  channel: mail\n", "  file page.txt (sha256:"]
    {
        assert!(shown.contains(expected), "{expected}: {shown}");
    }
    let listed = stage.expect(0, &["inbox", "--all"]).out;
    assert!(listed.contains("answered: approve by tester (cli) at 20"), "{listed}");
    let why = stage.expect(0, &["why"]).out;
    assert!(why.contains("answered: approve by tester (cli) at 20"), "{why}");
}
