//! Questions that are asked in place, on a pseudo-terminal: what a person reads, types, and what comes of it.

use crate::{
    stage::{Stage, wait_until},
    terminal::Terminal,
};

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

fn waits_for(terminal: &Terminal, text: &str) {
    wait_until(text, || terminal.shows().contains(text));
}

/// The prompt is the last thing on the screen.
fn prompts(terminal: &Terminal, prompt: &str) {
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
