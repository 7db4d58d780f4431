//! A typo does not throw away what is finished: the file is corrected, and the run goes on.

use crate::{
    stage::{Stage, text, wait_until},
    terminal::Terminal,
};
use serde_json::Value;

fn types(stage: &Stage, run: &str) -> Vec<String> {
    stage.events(run).iter().map(|event| text(&event["type"])).collect()
}

/// `make` is dear, `use` has a typo.
fn flow(command: &str) -> String {
    format!(
        "flow: fix\nsteps:\n  - id: make\n    run: echo made >> ledger; echo words\n  - id: use\n    run: {command}\n  - id: last\n    \
         run: echo last >> ledger\n"
    )
}

const TYPO: &str = "ehco used >> ledger";
const RIGHT: &str = "echo used >> ledger";

/// A run that has failed at `use`.
fn failed() -> (Stage, String) {
    let stage = Stage::with_flow(&flow(TYPO));
    stage.expect(1, &["run", "flow.yaml"]);
    let run = stage.run_id();
    (stage, run)
}

#[test]
fn without_a_run_the_file_is_for_a_run_of_its_own_flow() {
    let (stage, run) = failed();
    stage.write("other.yaml", "flow: other\nsteps:\n  - id: ok\n    ask: OK?\n");
    stage.expect(3, &["run", "other.yaml"]);
    stage.write("fixed.yaml", flow(RIGHT));
    let done = stage.expect(0, &["resume", "--flow", "fixed.yaml", "--yes"]);
    assert!(done.out.contains(&run), "{done:?}");
    assert_eq!(stage.lines("ledger"), ["made", "used", "last"]);
    let refused = stage.expect(2, &["resume", "--flow", "fixed.yaml", "--yes"]);
    assert!(refused.err.contains("no run is unfinished; the newest is run_"), "{refused:?}");
}

#[test]
fn a_corrected_file_lets_a_failed_run_go_on_without_doing_anything_twice() {
    let (stage, run) = failed();
    stage.write("fixed.yaml", flow(RIGHT));
    let asked = stage.expect(2, &["resume", &run, "--flow", "fixed.yaml"]);
    assert!(asked.err.contains("--flow fixed.yaml --yes"), "{asked:?}");
    for row in ["make  kept", "use   changed: run", "stays", "runs again", "the run goes on at `use`"] {
        assert!(asked.err.contains(row), "{row}: {asked:?}");
    }
    assert_eq!(stage.lines("ledger"), ["made"], "nothing has happened");
    assert!(!types(&stage, &run).contains(&"flow_corrected".to_owned()));
    let done = stage.expect(0, &["resume", &run, "--flow", "fixed.yaml", "--yes", "--reason", "a typo"]);
    assert!(done.err.contains("flow corrected by"), "{done:?}");
    assert_eq!(stage.lines("ledger"), ["made", "used", "last"]);
    let corrected = stage.events(&run).into_iter().find(|event| event["type"] == "flow_corrected").unwrap();
    assert_ne!(corrected["before"], corrected["after"]);
    assert!(text(&corrected["source"]).ends_with("/fixed.yaml"), "{corrected}");
    assert!(text(&corrected["request"]).starts_with("req_"), "sent again, it is known: {corrected}");
    let why = stage.expect(0, &["why", &run]);
    assert!(why.out.contains(": a typo") && why.out.contains(&text(&corrected["after"])), "{why:?}");
    let row: Value = serde_json::from_str(&stage.expect(0, &["--json", "show", &run]).out).unwrap();
    assert_eq!(row["flow_digest"], corrected["after"], "{row}");
    let shown = stage.expect(0, &["show", &run]).out;
    let line = shown.lines().find(|line| line.starts_with("corrected  by ")).unwrap_or_default();
    assert!(line.ends_with("/fixed.yaml"), "{shown}");
    stage.expect(0, &["repair"]);
    stage.expect(0, &["doctor"]);
}

#[test]
fn what_is_new_and_what_is_gone_is_shown_before_anything_happens() {
    let (stage, run) = failed();
    let other = "  - id: fresh\n    run: echo fresh >> ledger\n";
    let fixed =
        flow(RIGHT).replace("id: make", "id: built").replace("  - id: use", &format!("{other}  - id: use"));
    stage.write("fixed.yaml", fixed);
    let asked = stage.expect(2, &["resume", &run, "--flow", "fixed.yaml"]);
    let rows: Vec<Vec<&str>> = asked
        .err
        .lines()
        .map(|line| line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect())
        .collect();
    for row in [
        ["built", "new", "-", "does not run"],
        ["fresh", "new", "-", "does not run"],
        ["use", "changed: run", "failed", "runs again"],
        ["last", "kept", "-", "runs"],
        ["make", "gone", "succeeded", "-"],
    ] {
        assert!(rows.iter().any(|found| *found == row), "{row:?}: {asked:?}");
    }
    stage.expect(0, &["resume", &run, "--flow", "fixed.yaml", "--yes"]);
    assert_eq!(stage.lines("ledger"), ["made", "used", "last"]);
}

#[test]
fn a_finished_step_runs_again_only_on_request() {
    let (stage, run) = failed();
    stage.write("fixed.yaml", flow(RIGHT).replace("echo made", "echo better"));
    let shown = stage.expect(2, &["resume", &run, "--flow", "fixed.yaml"]);
    assert!(shown.err.contains("stays (--from runs it again)"), "{shown:?}");
    stage.expect(0, &["resume", &run, "--flow", "fixed.yaml", "--from", "make", "--yes"]);
    assert_eq!(stage.lines("ledger"), ["made", "better", "used", "last"]);
}

#[test]
fn what_cannot_take_over_is_refused_with_its_reasons() {
    let (stage, run) = failed();
    let before = stage.events(&run);
    for (what, file, expected) in [
        ("another flow", flow(RIGHT).replace("flow: fix", "flow: other"), "is of flow `other`"),
        ("the step is gone", flow(RIGHT).replace("id: use", "id: uses"), "say with `--from STEP`"),
        (
            "an input is missing",
            format!("inputs: {{ x: {{ type: string }} }}\n{}", flow(RIGHT)),
            "input `x` has no value, and no `default` in the file",
        ),
    ] {
        stage.write("fixed.yaml", &file);
        let done = stage.expect(6, &["resume", &run, "--flow", "fixed.yaml", "--yes"]);
        assert!(done.err.contains("NOT_CORRECTABLE") && done.err.contains(expected), "{what}: {done:?}");
        assert!(!done.err.contains("FROM HERE"), "{what}: nothing runs from here: {done:?}");
    }
    stage.write("fixed.yaml", "flow: fix\nsteps: []\n");
    let wrong = stage.expect(2, &["resume", &run, "--flow", "fixed.yaml", "--yes"]);
    assert!(wrong.err.contains("FLOW_INVALID"), "{wrong:?}");
    assert_eq!(stage.events(&run), before, "nothing has changed");
}

#[test]
fn a_fork_has_the_flow_and_needs_the_secrets_of_where_it_is_cut() {
    let (stage, run) = failed();
    stage.write("token", "hunter2");
    let secret = format!("secrets:\n  TOKEN: {{ file: {} }}\n", stage.path("token").display());
    stage.write("fixed.yaml", format!("{}{secret}", flow(RIGHT)));
    stage.expect(0, &["resume", &run, "--flow", "fixed.yaml", "--yes"]);
    stage.expect(0, &["fork", &run, "--from", "use"]);
    assert_eq!(stage.lines("ledger"), ["made", "used", "last", "used", "last"]);
    std::fs::remove_file(stage.path("token")).unwrap();
    let refused = stage.expect(6, &["fork", &run, "--from", "use"]);
    assert!(refused.err.contains("SECRET_MISSING"), "{refused:?}");
    // Before the correction there was no secret, and the typo.
    stage.expect(1, &["fork", &run, "--from", "make"]);
    assert_eq!(stage.lines("ledger")[5..], ["made"]);
    stage.expect(0, &["doctor"]);
    let repaired = stage.expect(0, &["repair"]).out;
    assert!(repaired.contains("everything was as it should be"), "{repaired}");
}

#[test]
fn an_open_question_of_a_changed_step_is_asked_again() {
    let asks = |words: &str| {
        format!(
            "flow: asks\nsteps:\n  - id: ok\n    ask: {{ message: {words} }}\n  - id: b\n    run: echo b >> ledger\n"
        )
    };
    let stage = Stage::with_flow(&asks("Fnie?"));
    stage.expect(3, &["run", "flow.yaml"]);
    let run = stage.run_id();
    stage.write("fixed.yaml", asks("Fine?"));
    stage.expect(3, &["resume", &run, "--flow", "fixed.yaml", "--yes"]);
    let inbox: Value = serde_json::from_str(&stage.expect(0, &["--json", "inbox"]).out).unwrap();
    let questions: Vec<String> = inbox.as_array().unwrap().iter().map(|row| text(&row["text"])).collect();
    assert_eq!(questions, ["Fine?"], "{inbox}");
    stage.expect(0, &["answer", &text(&inbox[0]["question"]), "--choice", "approve"]);
    assert_eq!(stage.lines("ledger"), ["b"]);
}

/// `q` asks before `r`, which has this command.
fn releasing(ask: &str, command: &str) -> String {
    format!("flow: asks\nsteps:\n  - id: q\n    ask: {ask}\n  - id: r\n    run: {command}\n")
}

#[test]
fn a_yes_to_what_was_shown_does_not_release_what_the_corrected_file_has_instead() {
    let stage = Stage::with_flow(&releasing("Publish?", "echo staging >> ledger"));
    stage.expect(3, &["run", "flow.yaml"]);
    let run = stage.run_id();
    let row = || stage.json(&["--json", "inbox"])[0].clone();
    let old = text(&row()["question"]);
    let seen = text(&stage.json(&["--json", "show", &old])["subject"]);
    stage.write("flow.yaml", releasing("Publish?", "echo production >> ledger"));
    stage.expect(3, &["resume", &run, "--flow", "flow.yaml", "--yes"]);
    let new = text(&row()["question"]);
    assert_ne!(new, old);
    let refused = stage.expect(6, &["approve", &old]);
    assert!(refused.err.contains("QUESTION_CLOSED"), "{refused:?}");
    let refused = stage.expect(6, &["approve", &new, "--seen", &seen]);
    assert!(refused.err.contains("SUBJECT_CHANGED"), "{refused:?}");
    assert_eq!(stage.lines("ledger"), Vec::<String>::new());
    stage.expect(0, &["approve", &new]);
    assert_eq!(stage.lines("ledger"), ["production"]);
}

#[test]
fn a_yes_in_advance_is_void_for_a_question_that_the_corrected_file_has_otherwise() {
    let stage = Stage::with_flow(
        &(releasing("Staging?", "echo r >> ledger")
            .replace("steps:\n", "steps:\n  - id: p\n    run: test -e there\n")),
    );
    stage.expect(1, &["run", "flow.yaml", "--yes-to", "q"]);
    stage.write("there", "");
    let other = stage.lines("flow.yaml").join("\n").replace("Staging?", "Delete production?");
    stage.write("other.yaml", other);
    let run = stage.run_id();
    let asked = stage.expect(3, &["resume", &run, "--flow", "other.yaml", "--yes"]);
    assert!(asked.err.contains("approval of step `q` that was given in advance does not count"), "{asked:?}");
    assert_eq!(stage.lines("ledger"), Vec::<String>::new());
    stage.expect(0, &["approve", &run]);
    assert_eq!(stage.lines("ledger"), ["r"]);
}

#[test]
fn an_expired_question_closes_before_a_corrected_run_is_shown_as_waiting() {
    let asks = |command: &str| {
        let ask = "{ message: 'Fine?', expires_in: 50ms, on_expire: late }";
        releasing(ask, command) + "    routing: { next: end }\n  - id: late\n    run: echo late >> ledger\n"
    };
    let stage = Stage::with_flow(&asks("echo r >> ledger"));
    let first = stage.envoi(&["run", "flow.yaml"]);
    assert!(matches!(first.code, Some(1 | 3)), "{first:?}");
    let run = stage.run_id();
    // Whether the first engine still closes it is a matter of luck.
    wait_until("the time to be over", || {
        let state = stage.json(&["--json", "inbox", "--all"])[0]["state"].clone();
        state == "lapsed" || state == "expired"
    });
    if stage.json(&["--json", "show", &run])["status"] != "failed" {
        stage.write("flow.yaml", asks("echo other >> ledger"));
        let done = stage.expect(1, &["resume", &run, "--flow", "flow.yaml", "--yes"]);
        assert!(!done.out.contains("waiting") && done.out.contains("failed"), "{done:?}");
    }
    assert_eq!(stage.lines("ledger"), ["late"]);
}

#[test]
fn a_step_that_runs_settles_first_and_the_next_one_is_the_corrected_one() {
    let waits = |command: &str| {
        flow(command)
            .replace("echo made >> ledger;", "echo made >> ledger; while [ ! -e go ]; do sleep 0.05; done;")
    };
    let stage = Stage::with_flow(&waits(TYPO));
    stage.write("fixed.yaml", waits(RIGHT));
    let process = stage.start(&["run", "flow.yaml"]);
    wait_until("the first step runs", || stage.path("ledger").exists());
    let run = stage.run_id();
    let wanted = stage.expect(0, &["resume", &run, "--flow", "fixed.yaml", "--yes", "--detach"]);
    assert!(wanted.err.contains("takes over when it has settled"), "{wanted:?}");
    wait_until("the wish is recorded", || types(&stage, &run).contains(&"correction_requested".to_owned()));
    stage.write("go", "");
    assert_eq!(process.done().code, Some(0));
    assert_eq!(stage.lines("ledger"), ["made", "used", "last"]);
}

#[test]
fn a_step_that_outlived_its_engine_settles_first_and_the_next_one_is_the_corrected_one() {
    let waits = |command: &str| {
        flow(command)
            .replace("echo made >> ledger;", "echo made >> ledger; while [ ! -e go ]; do sleep 0.05; done;")
    };
    let stage = Stage::with_flow(&waits(TYPO));
    let engine = stage.start(&["run", "flow.yaml"]);
    wait_until("the first step runs", || stage.path("ledger").exists());
    let supervisor = stage.supervisor("make.1.1").unwrap();
    engine.kill();
    assert!(crate::stage::lives(supervisor));
    let row = &stage.runs()[0];
    assert_eq!((&row["activity"], &row["step_works"]), (&"working".into(), &true.into()));
    let run = stage.run_id();
    stage.write("fixed.yaml", waits(RIGHT));
    let corrected = stage.start(&["resume", &run, "--flow", "fixed.yaml", "--yes"]);
    wait_until("the wish is recorded", || types(&stage, &run).contains(&"correction_requested".to_owned()));
    assert!(!types(&stage, &run).contains(&"flow_corrected".to_owned()), "the step still works");
    stage.write("go", "");
    assert_eq!(corrected.done().code, Some(0));
    assert_eq!(stage.lines("ledger"), ["made", "used", "last"]);
    let begun = types(&stage, &run).into_iter().filter(|kind| kind == "attempt_started");
    assert_eq!(begun.count(), 3, "each step has begun once");
}

#[test]
fn a_person_at_the_terminal_sees_the_comparison_and_must_say_yes() {
    let (stage, run) = failed();
    stage.write("fixed.yaml", flow(RIGHT));
    for (typed, code, done) in [("\r", 2, &["made"][..]), ("y\r", 0, &["made", "used", "last"])] {
        let terminal = Terminal::start(&stage, &["resume", &run, "--flow", "fixed.yaml"], 200, &[]);
        wait_until("the question", || terminal.shows().contains("Go on with the corrected flow? [y/N]"));
        let shows = terminal.shows();
        assert!(shows.contains("changed: run") && shows.contains("the run goes on at `use`"), "{shows}");
        assert_eq!(stage.lines("ledger"), ["made"], "nothing happens before the answer");
        terminal.types(typed);
        let (said, exited, _) = terminal.done();
        assert_eq!(exited, Some(code), "{said}");
        assert_eq!(stage.lines("ledger"), done);
    }
    assert_eq!(types(&stage, &run).iter().filter(|kind| *kind == "flow_corrected").count(), 1);
}

#[test]
fn a_repair_leaves_a_correction_that_waits_as_it_is() {
    let waits = |command: &str| {
        flow(command)
            .replace("echo made >> ledger;", "echo made >> ledger; while [ ! -e go ]; do sleep 0.05; done;")
    };
    let stage = Stage::with_flow(&waits(TYPO));
    stage.write("fixed.yaml", waits(RIGHT));
    let process = stage.start(&["run", "flow.yaml"]);
    wait_until("the first step runs", || stage.path("ledger").exists());
    let run = stage.run_id();
    stage.expect(0, &["resume", &run, "--flow", "fixed.yaml", "--yes", "--detach"]);
    wait_until("the wish is recorded", || types(&stage, &run).contains(&"correction_requested".to_owned()));
    process.kill();
    stage.expect(0, &["doctor"]);
    let repaired = stage.expect(0, &["repair"]).out;
    assert!(repaired.contains("everything was as it should be"), "{repaired}");
    stage.write("go", "");
    stage.expect(0, &["resume", &run]);
    assert_eq!(stage.lines("ledger"), ["made", "used", "last"]);
}

#[test]
fn a_correction_that_the_running_attempt_leaves_no_way_for_is_dropped_and_the_run_says_so() {
    let looping = |routing: &str| {
        format!(
            "flow: fix\nlimits: {{ iterations: 3 }}\nsteps:\n  - {{ id: a, run: 'echo a >> ledger' }}\n  - id: b\n    \
             run: 'echo b >> ledger; until [ -e go ]; do sleep 0.02; done; cat verdict'\n{routing}"
        )
    };
    const GOES_BACK: &str = "    routing: { kind: microloop, loop_to: a, success_values: [VERIFIED] }\n";
    let stage = Stage::with_flow(&looping(GOES_BACK));
    stage.write("verdict", "Status: UNVERIFIED\n");
    stage.write("straight.yaml", looping(""));
    let process = stage.start(&["run", "flow.yaml"]);
    wait_until("the critic runs", || stage.lines("ledger").len() == 2);
    let run = stage.run_id();
    stage.expect(0, &["resume", &run, "--flow", "straight.yaml", "--yes", "--detach"]);
    wait_until("the wish is recorded", || types(&stage, &run).contains(&"correction_requested".to_owned()));
    stage.write("go", "");
    let done = process.done();
    assert_eq!(done.code, Some(1), "{done:?}");
    assert!(done.err.contains("The corrected flow cannot take over"), "{done:?}");
    assert_eq!(stage.lines("ledger"), ["a", "b"], "nothing has begun after it");
    let dropped = stage.events(&run).into_iter().find(|event| event["type"] == "correction_dropped");
    assert!(dropped.is_some_and(|event| !text(&event["reason"]).is_empty()));
    for command in ["show", "why"] {
        let told = stage.expect(0, &[command, &run]).out;
        assert!(told.contains("cannot take over"), "{command}: {told}");
    }
    // Another correction, with the ends of the loop, is taken.
    stage.write("verdict", "Status: VERIFIED\n");
    stage.write("fixed.yaml", looping(GOES_BACK).replace("echo a", "echo better"));
    stage.expect(0, &["resume", &run, "--flow", "fixed.yaml", "--yes"]);
    assert_eq!(stage.lines("ledger"), ["a", "b", "better", "b"]);
    stage.expect(0, &["doctor"]);
}

#[test]
fn a_file_that_has_changed_since_is_named_with_the_command() {
    let (stage, run) = failed();
    let shown = || stage.expect(0, &["show", &run]).out;
    assert!(!shown().contains("has changed since"), "{}", shown());
    stage.write("flow.yaml", format!("# a comment is no change\n{}", flow(TYPO)));
    assert!(!shown().contains("has changed since"), "{}", shown());
    stage.write("flow.yaml", flow(RIGHT));
    let command = format!("To go on with the file: envoi resume {run} --flow ");
    assert!(shown().contains(&command), "{}", shown());
    let resumed = stage.expect(1, &["resume", &run]);
    assert!(resumed.err.contains(&command), "{resumed:?}");
    stage.write("flow.yaml", "steps: 1");
    assert!(shown().contains("has changed since, and cannot be run"), "{}", shown());
    // The hint below a failed run has it, too; and without a run the newest is meant, if it has not succeeded.
    stage.write("flow.yaml", flow(RIGHT));
    let resumed = stage.expect(1, &["resume", &run]);
    assert!(resumed.err.contains(&format!("go on: envoi resume {run} --flow ")), "{resumed:?}");
    stage.expect(0, &["resume", "--flow", "flow.yaml", "--yes"]);
    let none = stage.expect(2, &["resume", "--flow", "flow.yaml", "--yes"]);
    assert!(none.err.contains("no run is unfinished"), "{none:?}");
    let row: Value = serde_json::from_str(&stage.expect(0, &["--json", "show", &run]).out).unwrap();
    let corrected = row["corrected"].as_array().unwrap();
    assert_eq!((corrected.len(), &corrected[0]["after_digest"]), (1, &row["flow_digest"]), "{row}");
    // The file changes while the run goes on: its own end shows it.
    let stage = Stage::with_flow(
        "flow: own\nsteps:\n  - id: a\n    run: echo '# x' > seen; sed -i s/nope/yes/ flow.yaml; nope\n",
    );
    let ended = stage.expect(1, &["run", "flow.yaml"]);
    assert!(ended.err.contains("has changed since") && ended.err.contains(" --flow "), "{ended:?}");
    stage.write("flow.yaml", flow(RIGHT).replace("flow: fix", "flow: own"));
    let corrected = stage.expect(6, &["resume", &stage.run_id(), "--flow", "flow.yaml", "--yes"]);
    assert!(corrected.err.contains("step `a` is gone"), "{corrected:?}");
}

#[test]
fn a_step_that_has_another_name_takes_the_place_of_the_one_that_failed() {
    let (stage, run) = failed();
    stage.write("fixed.yaml", flow(RIGHT).replace("id: use", "id: uses"));
    let refused = stage.expect(6, &["resume", &run, "--flow", "fixed.yaml", "--from", "last", "--yes"]);
    assert!(refused.err.contains("has not come to step `last` yet"), "{refused:?}");
    assert!(!refused.err.contains("goes on at"), "{refused:?}");
    stage.expect(0, &["resume", &run, "--flow", "fixed.yaml", "--from", "uses", "--yes"]);
    assert_eq!(stage.lines("ledger"), ["made", "used", "last"]);
    let shown = stage.expect(0, &["show", &run]).out;
    assert!(shown.contains(", from uses on: "), "{shown}");
}

#[test]
fn a_succeeded_run_is_not_shown_as_running_again() {
    let stage = Stage::with_flow(&flow(RIGHT));
    stage.expect(0, &["run", "flow.yaml"]);
    stage.write("flow.yaml", flow("echo other >> ledger"));
    let refused = stage.expect(6, &["resume", &stage.run_id(), "--flow", "flow.yaml"]);
    assert!(
        refused.err.contains("NOT_REOPENABLE") && refused.err.contains("envoi run flow.yaml"),
        "{refused:?}"
    );
    assert!(!refused.err.contains("runs again") && !refused.err.contains("--yes"), "{refused:?}");
}

#[test]
fn the_command_that_agrees_can_be_given_to_a_shell_as_it_is() {
    let (stage, run) = failed();
    stage.write("my fix.yaml", flow(RIGHT));
    let asked = stage.expect(2, &["resume", &run, "--flow", "my fix.yaml", "--reason", "a typo"]);
    assert!(asked.err.contains("--flow 'my fix.yaml' --reason 'a typo' --yes"), "{asked:?}");
}

#[test]
fn a_fork_goes_on_under_a_corrected_file_and_the_old_run_is_as_it_was() {
    let (stage, run) = failed();
    let before = stage.events(&run);
    stage.write("fixed.yaml", flow(RIGHT));
    stage.write("gone.yaml", flow(RIGHT).replace("id: use", "id: uses"));
    let refused = stage.expect(6, &["fork", &run, "--flow", "gone.yaml"]);
    assert!(
        refused.err.contains("NOT_CORRECTABLE") && refused.err.contains("step `use` is gone"),
        "{refused:?}"
    );
    stage.write("wrong.yaml", "flow: fix\nsteps: []\n");
    let wrong = stage.expect(2, &["fork", &run, "--flow", "wrong.yaml"]);
    assert!(wrong.err.contains("FLOW_INVALID"), "{wrong:?}");
    assert_eq!(stage.runs().len(), 1, "nothing has begun");
    let done = stage.expect(0, &["fork", &run, "--flow", "fixed.yaml", "--reason", "a typo"]);
    assert!(done.err.contains("flow corrected by"), "{done:?}");
    assert_eq!(stage.lines("ledger"), ["made", "used", "last"]);
    assert_eq!(stage.events(&run), before);
    let fork = text(&stage.runs()[0]["run"]);
    let row: Value = serde_json::from_str(&stage.expect(0, &["--json", "show", &fork]).out).unwrap();
    assert_eq!(row["forked_from"], *run);
    let types = types(&stage, &fork);
    assert!(
        types.contains(&"run_forked".to_owned()) && types.contains(&"flow_corrected".to_owned()),
        "{types:?}"
    );
    stage.expect(0, &["repair"]);
    stage.expect(0, &["doctor"]);
}

#[test]
fn a_corrected_limit_holds_for_the_family_and_what_any_of_it_has_used_stays_used() {
    let bounded = |hops: u32| {
        let step = |id: &str| format!("  - {{ id: {id}, run: 'echo {id} >> ledger' }}\n");
        let steps: String = ["a", "b", "c", "d", "e"].map(step).concat();
        format!("flow: fix\nlimits: {{ agent_hops: {hops} }}\nsteps:\n{steps}")
    };
    let stage = Stage::with_flow(&bounded(2));
    stage.expect(4, &["run", "flow.yaml"]);
    let root = stage.run_id();
    for hops in [3, 4] {
        stage.write(&format!("{hops}.yaml"), bounded(hops));
    }
    // The fork uses the third, and nothing is left of three for the root.
    stage.expect(4, &["fork", &root, "--flow", "3.yaml"]);
    assert_eq!(stage.lines("ledger"), ["a", "b", "c"]);
    stage.expect(4, &["resume", &root, "--flow", "3.yaml", "--yes"]);
    assert_eq!(stage.lines("ledger"), ["a", "b", "c"]);
    // The limit of four leaves one for the root, and then none for the fork.
    stage.expect(4, &["resume", &root, "--flow", "4.yaml", "--yes"]);
    assert_eq!(stage.lines("ledger"), ["a", "b", "c", "c"]);
    let fork = text(&stage.runs()[0]["run"]);
    stage.expect(4, &["resume", &fork, "--flow", "4.yaml", "--yes"]);
    assert_eq!(stage.lines("ledger").len(), 4);
    // A limit that a person raises counts for all of them, too.
    stage.expect(4, &["raise", &fork, "--agent-hops", "1"]);
    assert_eq!(stage.lines("ledger"), ["a", "b", "c", "c", "d"]);
    stage.expect(4, &["resume", &root, "--flow", "4.yaml", "--yes"]);
    assert_eq!(stage.lines("ledger").len(), 5);
}

#[test]
fn a_cancelled_run_goes_on_under_a_corrected_file() {
    let with = |typo: &str| {
        format!(
            "flow: fix\nsteps:\n  - {{ id: a, run: 'echo a >> ledger' }}\n  - {{ id: ok, ask: Go on? }}\n  - {{ id: b, run: 'echo {typo} >> ledger' }}\n"
        )
    };
    let stage = Stage::with_flow(&with("wrong"));
    stage.expect(3, &["run", "flow.yaml"]);
    let run = stage.run_id();
    stage.expect(0, &["cancel"]);
    stage.write("flow.yaml", with("right"));
    let asks = stage.expect(3, &["resume", &run, "--flow", "flow.yaml", "--yes"]);
    assert!(asks.err.contains("Go on?"), "{asks:?}");
    stage.expect(0, &["approve"]);
    assert_eq!(stage.lines("ledger"), ["a", "right"]);
    let corrected = stage.json(&["--json", "show", &run]);
    assert_eq!(
        (&corrected["status"], corrected["corrected"].as_array().unwrap().len()),
        (&Value::from("succeeded"), 1)
    );
}

#[test]
fn the_end_of_a_run_that_goes_on_corrected_has_no_notice() {
    let told = |command: &str| {
        format!("notify: {{ command: 'echo $ENVOI_STATUS >> told', on: [end] }}\n{}", flow(command)).replace(
            "echo made >> ledger;",
            "echo made >> ledger; while [ ! -e go ]; do sleep 0.05; done; test -e ok;",
        )
    };
    let stage = Stage::with_flow(&told(TYPO));
    stage.write("fixed.yaml", told(RIGHT).replace("test -e ok;", ""));
    let process = stage.start(&["run", "flow.yaml"]);
    wait_until("the first step runs", || stage.path("ledger").exists());
    let run = stage.run_id();
    stage.expect(0, &["resume", &run, "--flow", "fixed.yaml", "--yes", "--detach"]);
    wait_until("the wish is recorded", || types(&stage, &run).contains(&"correction_requested".to_owned()));
    stage.write("go", "");
    assert_eq!(process.done().code, Some(0));
    let ends = types(&stage, &run).iter().filter(|kind| *kind == "run_ended").count();
    assert_eq!(
        (ends, stage.lines("told")),
        (2, vec!["succeeded".to_owned()]),
        "it failed, and went on at once"
    );
}

#[test]
fn a_changed_inner_flow_is_shown_and_what_it_has_finished_stays() {
    let inner = |command: &str| {
        format!(
            "flow: inner\nsteps:\n  - id: one\n    run: echo one >> ledger\n  - id: two\n    run: {command}\n"
        )
    };
    let stage = Stage::with_flow(
        "flow: outer\nsteps:\n  - id: a\n    run: echo a >> ledger\n  - id: sub\n    flow: ./inner.yaml\n  - id: z\n    run: echo z >> ledger\n",
    );
    stage.write("inner.yaml", inner("ehco two"));
    stage.expect(1, &["run", "flow.yaml"]);
    let run = stage.run_id();
    stage.write("inner.yaml", inner("echo two >> ledger"));
    let shown = stage.expect(0, &["show", &run]).out;
    assert!(shown.contains("/inner.yaml has changed since"), "{shown}");
    assert!(!shown.contains("/flow.yaml has changed"), "{shown}");
    let ended = stage.expect(2, &["resume", &run, "--flow", "flow.yaml"]);
    for row in ["a     kept", "sub   changed: flow inner (two)", "z     kept", "goes on at `sub`"] {
        assert!(ended.err.contains(row), "{row}: {ended:?}");
    }
    stage.expect(0, &["resume", &run, "--flow", "flow.yaml", "--yes"]);
    assert_eq!(stage.lines("ledger"), ["a", "one", "two", "z"], "the inner flow goes on where it stopped");
    // A step of it that has no place any more is named.
    stage.write("inner.yaml", inner("ehco two"));
    stage.expect(1, &["run", "flow.yaml"]);
    let run = text(&stage.runs()[0]["run"]);
    stage.write("inner.yaml", inner("echo two").replace("id: two", "id: other"));
    let refused = stage.expect(6, &["resume", &run, "--flow", "flow.yaml", "--yes"]);
    assert!(refused.err.contains("step `two` of flow `inner` is gone"), "{refused:?}");
}

/// A loop of `make` and `check`, which fails; `check` has run as often as the file has lines.
fn looping(rounds: u32, then: &str) -> String {
    format!(
        "flow: fix\nsteps:\n  - id: make\n    run: echo made >> ledger\n  - id: check\n    run: echo checked >> ledger; exit 1\n    \
         routing: {{ kind: microloop, loop_to: make, status_from_exit: {{ 0: YES, 1: NO }}, success_values: [YES], \
         max_iterations: {rounds}, on_exhausted: {then} }}\n"
    )
}

#[test]
fn a_loop_without_a_round_left_goes_back_under_a_higher_bound_and_its_critic_does_not_run_again() {
    for (then, code) in [("ask", 3), ("fail", 4)] {
        let stage = Stage::with_flow(&looping(0, then));
        stage.expect(code, &["run", "flow.yaml"]);
        let run = stage.run_id();
        assert_eq!(stage.lines("ledger"), ["made", "checked"]);
        stage.write("flow.yaml", looping(1, then));
        let asked = stage.expect(2, &["resume", &run, "--flow", "flow.yaml"]);
        assert!(asked.err.contains("the run goes on at `make`"), "{then}: {asked:?}");
        stage.expect(code, &["resume", &run, "--flow", "flow.yaml", "--yes"]);
        assert_eq!(stage.lines("ledger"), ["made", "checked", "made", "checked"], "{then}");
    }
    // Without room the true number is asked about, and the step stays as it is.
    let stage = Stage::with_flow(&looping(1, "ask"));
    stage.expect(3, &["run", "flow.yaml"]);
    let run = stage.run_id();
    stage.write("flow.yaml", looping(0, "ask"));
    let asked = stage.expect(2, &["resume", &run, "--flow", "flow.yaml"]);
    assert!(asked.err.contains("stays") && !asked.err.contains("runs again"), "{asked:?}");
    assert!(!asked.err.contains("goes on at"), "{asked:?}");
    stage.expect(3, &["resume", &run, "--flow", "flow.yaml", "--yes"]);
    let inbox: Value = serde_json::from_str(&stage.expect(0, &["--json", "inbox"]).out).unwrap();
    let texts: Vec<String> = inbox.as_array().unwrap().iter().map(|row| text(&row["text"])).collect();
    assert_eq!(texts.len(), 1, "{inbox}");
    assert!(texts[0].contains("max_iterations 1 of 0 is used up"), "{inbox}");
    assert_eq!(stage.lines("ledger").len(), 4);
}

/// The step `work`.
fn work(script: &str) -> String {
    format!("flow: fix\nsteps:\n  - id: work\n    run: {script}\n")
}

/// A run whose attempt nothing supervises any more, and the file differs.
fn lost() -> (Stage, String) {
    let stage = Stage::with_flow(&work("echo began >> ledger; test -e go || sleep 600"));
    let engine = stage.start(&["run", "flow.yaml"]);
    wait_until("the step", || !stage.lines("ledger").is_empty());
    let supervisor = stage.supervisor("work.1.1").unwrap();
    engine.kill();
    crate::stage::signal(supervisor, rustix::process::Signal::KILL);
    wait_until("the supervisor's end", || !crate::stage::lives(supervisor));
    stage.write("go", "");
    let run = stage.run_id();
    stage.write("flow.yaml", work("echo again >> ledger"));
    (stage, run)
}

#[test]
fn a_correction_that_goes_back_waits_for_the_decision_about_an_attempt_that_is_lost() {
    for decision in ["rerun", "fail"] {
        let (stage, run) = lost();
        let asked = stage.expect(5, &["resume", &run, "--flow", "flow.yaml", "--from", "work", "--yes"]);
        assert_eq!(asked.err.matches("nobody knows whether it finished").count(), 1, "{asked:?}");
        stage.expect(0, &["resume", &run, "--in-doubt", decision]);
        assert_eq!(stage.lines("ledger"), ["began", "again"], "{decision}");
        assert_eq!(types(&stage, &run).iter().filter(|kind| *kind == "flow_corrected").count(), 1);
    }
}

#[test]
fn what_a_cancelled_run_left_in_doubt_is_asked_about_before_its_step_runs_again() {
    let two = |script: &str| {
        format!(
            "flow: fix\nsteps:\n  - id: first\n    run: echo first >> ledger\n  - id: work\n    run: {script}\n"
        )
    };
    let stage = Stage::with_flow(&two("echo began >> ledger; test -e go || sleep 600"));
    let engine = stage.start(&["run", "flow.yaml"]);
    wait_until("the step", || stage.lines("ledger").len() == 2);
    let supervisor = stage.supervisor("work.1.1").unwrap();
    engine.kill();
    crate::stage::signal(supervisor, rustix::process::Signal::KILL);
    wait_until("the supervisor's end", || !crate::stage::lives(supervisor));
    stage.write("go", "");
    let run = stage.run_id();
    stage.expect(5, &["resume", &run]);
    stage.expect(0, &["cancel", &run]);
    stage.write("flow.yaml", two("echo again >> ledger"));
    let back = ["resume", &run, "--flow", "flow.yaml", "--from", "first"];
    let shown = stage.expect(2, &back);
    assert!(shown.err.contains("`work.1.1` is in doubt: you are asked"), "{shown:?}");
    let asked = stage.expect(5, &[&back[..], &["--yes"]].concat());
    assert!(asked.err.contains("`work.1.1` was started and nobody knows whether it finished"), "{asked:?}");
    assert_eq!(stage.lines("ledger"), ["first", "began", "first"]);
    stage.expect(0, &["resume", &run, "--in-doubt", "rerun"]);
    assert_eq!(stage.lines("ledger"), ["first", "began", "first", "again"]);
}

#[test]
fn an_attempt_without_a_supervisor_is_not_shown_as_running_and_is_asked_about_once() {
    let (stage, run) = lost();
    let shown = stage.expect(2, &["resume", &run, "--flow", "flow.yaml"]);
    assert!(shown.err.contains("nothing supervises `work.1.1` any more"), "{shown:?}");
    assert!(!shown.err.contains("is running"), "{shown:?}");
    let asked = stage.expect(5, &["resume", &run, "--flow", "flow.yaml", "--yes"]);
    assert_eq!(asked.err.matches("nobody knows whether it finished").count(), 1, "{asked:?}");
    stage.expect(0, &["resume", &run, "--in-doubt", "rerun"]);
    assert_eq!(stage.lines("ledger"), ["began", "again"]);
}

#[test]
fn a_list_that_is_under_way_is_not_replaced_in_silence() {
    let over = |list: &str| {
        format!(
            "flow: each\nsteps:\n  - id: x\n    for_each: {list}\n    flow: ./inner.yaml\n    inputs: {{ v: '${{{{ item }}}}' }}\n"
        )
    };
    let stage = Stage::with_flow(&over("[a, b]"));
    let inner =
        "flow: inner\ninputs: { v: { type: string } }\nsteps:\n  - { id: q, ask: 'go ${{ inputs.v }}?' }\n";
    stage.write("inner.yaml", inner);
    stage.expect(3, &["run", "flow.yaml"]);
    let run = stage.run_id();
    stage.write("flow.yaml", over("[d]"));
    let refused = stage.expect(6, &["resume", &run, "--flow", "flow.yaml", "--yes"]);
    assert!(
        refused.err.contains("NOT_CORRECTABLE") && refused.err.contains("`--from x` does it anew"),
        "{refused:?}"
    );
    let texts = || {
        let inbox = stage.json(&["--json", "inbox"]);
        inbox.as_array().unwrap().iter().map(|row| text(&row["text"])).collect::<Vec<_>>()
    };
    assert_eq!(texts(), ["go a?", "go b?"]);
    stage.expect(3, &["resume", &run, "--flow", "flow.yaml", "--from", "x", "--yes"]);
    assert_eq!(texts(), ["go d?"]);
}

#[test]
fn from_without_a_file_says_what_to_do() {
    let (stage, run) = failed();
    let refused = stage.expect(2, &["resume", &run, "--from", "make"]);
    let way = format!("`envoi resume {run} --flow FILE --from make`");
    assert!(refused.err.contains(&way) && refused.err.contains("envoi fork"), "{refused:?}");
    assert_eq!(stage.lines("ledger"), ["made"]);
    // The file may be as it was.
    stage.expect(1, &["resume", &run, "--flow", "flow.yaml", "--from", "make", "--yes"]);
    assert_eq!(stage.lines("ledger"), ["made", "made"]);
}

#[test]
fn a_run_that_is_set_aside_says_so_before_the_comparison() {
    let (stage, run) = failed();
    let folder = stage.store().join("runs").join(&run);
    let kept = stage.path("kept");
    std::fs::rename(&folder, &kept).unwrap();
    std::os::unix::fs::symlink("/nonexistent", &folder).unwrap();
    stage.write("flow.yaml", flow(RIGHT));
    stage.expect(8, &["resume", &run]);
    let refused = stage.expect(8, &["resume", &run, "--flow", "flow.yaml", "--yes"]);
    let place = |words: &str| refused.err.find(words).unwrap_or_else(|| panic!("{words}: {refused:?}"));
    assert!(place("is set aside (RUN_FILES_FAILED)") < place("FROM HERE"), "{refused:?}");
    assert!(refused.err.contains("this tries again"), "{refused:?}");
    std::fs::remove_file(&folder).unwrap();
    std::fs::rename(&kept, &folder).unwrap();
    stage.expect(0, &["resume", &run, "--flow", "flow.yaml", "--yes"]);
    assert_eq!(stage.lines("ledger"), ["made", "used", "last"]);
}
