//! The information for a person who has to decide, or to go on: the last words of a step, the command to type, the state of the run.

use crate::{
    stage::{Stage, wait_until},
    terminal::Terminal,
};
use rustix::process::Signal;

const LOOP: &str = "flow: f\nsteps:\n  - id: fix\n    run: echo x >> code.txt\n  - id: critic\n    run: |\n      echo 'Test 3 failed'\n      echo 'trace at line 5' >&2\n      exit 1\n    routing: { kind: microloop, loop_to: fix, status_from_exit: { 0: OK, 1: NO }, success_values: [OK], max_iterations: 1 }\n";

#[test]
fn who_decides_about_a_loop_sees_what_the_critic_wrote_and_how_to_get_more_rounds() {
    let stage = Stage::with_flow(LOOP);
    let begun = stage.expect(3, &["run", "flow.yaml"]);
    let (run, question) = (stage.run_id(), stage.json(&["--json", "inbox"])[0]["question"].clone());
    let question = question.as_str().unwrap();
    let shown = [
        begun.err,
        stage.expect(3, &["resume"]).err,
        stage.expect(0, &["show"]).out,
        stage.expect(0, &["show", question]).out,
    ];
    let more = format!("higher `max_iterations` in the flow file, then envoi resume {run} --flow FILE");
    for text in shown {
        let words = "  critic.2.1 ends its text with:\n    Test 3 failed\n  critic.2.1 ends its stderr with:\n    trace at line 5\n";
        assert!(text.contains(words) && text.contains(&more), "{text}");
        assert!(text.contains(&format!("all of it: envoi logs {run} --step critic.2.1")), "{text}");
    }
    let refused = stage.expect(6, &["resume", "--review", "again"]).err;
    assert!(refused.contains("PAST_BOUND") && refused.contains("set a higher `max_iterations`"), "{refused}");
    // The hint is right.
    stage.write("flow.yaml", LOOP.replace("max_iterations: 1", "max_iterations: 2"));
    stage.expect(3, &["resume", &run, "--flow", "flow.yaml", "--yes"]);
    assert_eq!(stage.lines("code.txt").len(), 3);
}

#[test]
fn why_gives_the_answer_first_and_the_rules_on_request() {
    let stage = Stage::with_flow(LOOP);
    stage.expect(3, &["run", "flow.yaml"]);
    let why = stage.expect(0, &["why"]);
    assert!(
        why.out.starts_with("waiting: critic.2: The loop of step `critic` has had its last round"),
        "{why:?}"
    );
    assert!(
        why.out.contains("\ncritic.1  back to fix: Loop target not reached (iteration 0 of 1)\n"),
        "{why:?}"
    );
    assert!(
        !why.out.contains("rule ") && why.err.contains("--all shows the rule of each decision"),
        "{why:?}"
    );
    let all = stage.expect(0, &["why", "--all"]);
    assert!(
        all.out.contains("\n    rule 4 applies (")
            && all.out.contains("\n      rule 3 does not: ")
            && all.err.is_empty(),
        "{all:?}"
    );
    let run = stage.run_id();
    stage.expect(1, &["resume", &run, "--review", "stop"]);
    let over = stage.expect(0, &["why"]).out;
    assert!(over.starts_with("failed: "), "{over}");
}

#[test]
fn the_command_for_a_question_names_the_fields_that_its_form_needs() {
    let stage = Stage::with_flow(
        "flow: f\nsteps:\n  - id: approve\n    ask:\n      message: Ship?\n      schema:\n        type: object\n        required: [channel, copies, note]\n        properties: { channel: { enum: [blog, mail] }, copies: { type: integer }, note: { type: string, default: x }, other: { type: string } }\n",
    );
    let begun = stage.expect(3, &["run", "flow.yaml"]).err;
    let question = stage.json(&["--json", "inbox"])[0]["question"].as_str().unwrap().to_owned();
    let command =
        format!("envoi approve {question} --field channel=… --field copies=…, or envoi deny {question}");
    for text in [begun, stage.expect(0, &["show"]).out, stage.expect(0, &["show", &question]).out] {
        assert!(text.contains(&command), "{text}");
    }
    stage.expect(0, &["approve", &question, "--field", "channel=mail", "--field", "copies=2"]);
}

#[test]
fn a_question_that_can_send_its_loop_back_says_how_with_words() {
    let stage = Stage::with_flow(
        "flow: f\nsteps:\n  - { id: draft, run: 'cat $ENVOI_FEEDBACK 2>/dev/null; echo x >> drafts' }\n  - id: review\n    ask: Good?\n    routing: { loop_to: draft }\n",
    );
    let begun = stage.expect(3, &["run", "flow.yaml"]).err;
    let question = stage.json(&["--json", "inbox"])[0]["question"].as_str().unwrap().to_owned();
    let again = format!("envoi answer {question} --choice again --text …");
    let command = format!("answer: envoi approve {question}, or {again}, or envoi deny {question}");
    for text in [begun, stage.expect(0, &["show"]).out, stage.expect(0, &["show", &question]).out] {
        assert!(text.contains(&command), "{text}");
    }
    stage.expect(3, &["answer", &question, "--choice", "again", "--text", "shorter"]);
    assert_eq!(stage.lines("drafts").len(), 2);
}

#[test]
fn a_run_that_goes_on_after_a_kill_knows_its_items_and_when_they_began() {
    // The first item takes a tenth of a second before the kill: a whole that is shown with 0.0s was counted from the resume.
    let stage = Stage::with_flow(
        "flow: f\nsteps:\n  - id: a\n    for_each: [api, web]\n    max_parallel: 1\n    run: 'if [ ${{ item }} = api ]; then sleep 0.1; else while [ ! -e go-web ]; do sleep 0.01; done; fi; echo \"done ${{ item }}\"'\n",
    );
    let engine = stage.start(&["run", "flow.yaml"]);
    wait_until("the second item", || stage.supervisor("1.a.1.1").is_some());
    engine.kill();
    stage.write("go-web", "");
    let resumed = stage.expect(0, &["resume"]).err;
    assert!(resumed.contains("(web); done web"), "{resumed}");
    let whole = resumed.lines().find(|line| line.starts_with("  a.1  ")).unwrap_or_default();
    assert!(whole.ends_with("; 2 items: api, web") && !whole.contains("done in 0.0s"), "{resumed}");
}

#[test]
fn a_command_that_ctrl_c_has_stopped_says_how_the_run_stands_and_how_to_go_on() {
    let stage = Stage::with_flow(
        "flow: f\nsteps:\n  - { id: a, run: 'while [ ! -e go ]; do sleep 0.05; done' }\n  - { id: b, run: 'true' }\n",
    );
    let engine = stage.start(&["run", "flow.yaml"]);
    wait_until("the step", || stage.supervisor("a.1.1").is_some());
    let run = stage.run_id();
    engine.signal(Signal::INT);
    let note = format!("Ctrl-C again leaves them to their supervisors, and `envoi resume {run}` goes on");
    wait_until("the note", || engine.said().contains(&note));
    stage.write("go", "");
    let done = engine.done();
    let last =
        format!("stopped: run {run} is not finished\nlook: envoi show {run}   go on: envoi resume {run}\n");
    assert!(done.code == Some(7) && done.err.ends_with(&last), "{done:?}");
    stage.expect(0, &["resume"]);
}

#[test]
fn where_several_runs_may_be_meant_each_is_listed_with_its_state_and_command() {
    let stage = Stage::with_flow("flow: asks\nsteps:\n  - { id: q, ask: Go on? }\n");
    stage.expect(3, &["run", "flow.yaml"]);
    let waits = stage.run_id();
    stage.write(
        "flow.yaml",
        "flow: works\nsteps:\n  - { id: a, run: 'while [ ! -e go ]; do sleep 0.05; done' }\n",
    );
    let engine = stage.start(&["run", "flow.yaml"]);
    wait_until("the step", || stage.supervisor("a.1.1").is_some());
    engine.kill();
    let stopped = crate::stage::text(&stage.runs()[0]["run"]);
    let refused = stage.expect(6, &["cancel"]).err;
    for words in [
        format!("{stopped} (works, running without an engine at `a`, since "),
        format!("\n    envoi cancel {stopped}\n"),
        format!("{waits} (asks, waiting"),
        format!("\n    envoi cancel {waits}\n"),
    ] {
        assert!(refused.contains(&words), "{words}\n{refused}");
    }
    // Only one of them goes on if it is resumed.
    stage.write("go", "");
    assert!(stage.expect(0, &["resume"]).err.contains(&stopped));
}

#[test]
fn a_person_at_the_terminal_may_say_that_the_newest_failed_run_is_resumed() {
    let stage = Stage::with_flow("flow: f\nsteps:\n  - { id: a, run: 'echo x >> tried; test -e ready' }\n");
    stage.expect(1, &["run", "flow.yaml"]);
    stage.expect(1, &["run", "flow.yaml"]);
    let newest = crate::stage::text(&stage.runs()[0]["run"]);
    // Without a terminal no question is asked.
    let listed = stage.expect(2, &["resume"]).err;
    assert!(listed.contains("these have not succeeded") && listed.contains(&newest), "{listed}");
    stage.write("ready", "");
    for (typed, code, tries) in [("\r", 2, 2), ("y\r", 0, 3)] {
        let terminal = Terminal::start(&stage, &["resume"], 200, &[]);
        wait_until("the question", || terminal.shows().contains("[y/N]"));
        let shows = terminal.shows();
        assert!(shows.contains(&format!("the newest is {newest} (f, failed at `a`, since")), "{shows}");
        terminal.types(typed);
        assert_eq!(terminal.done().1, Some(code));
        assert_eq!(stage.lines("tried").len(), tries);
    }
}

#[test]
fn an_inbox_that_is_cut_says_so() {
    let stage = Stage::with_flow("flow: f\nsteps:\n  - { id: q, ask: Go on? }\n");
    (0..3).for_each(|_| drop(stage.expect(3, &["run", "flow.yaml"])));
    let some = stage.expect(0, &["inbox", "--limit", "2"]);
    assert_eq!(some.out.lines().count(), 3, "{some:?}");
    assert!(some.err.contains("1 later questions are left out; --limit N shows more"), "{some:?}");
    assert_eq!(stage.json(&["--json", "inbox"]).as_array().unwrap().len(), 3);
    assert_eq!(stage.json(&["--json", "inbox", "--limit", "1"]).as_array().unwrap().len(), 1);
}
