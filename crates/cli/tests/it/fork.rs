//! A run is forked: its history is there, the rest is done another way, and both keep within one limit.

use crate::stage::{Process, Stage, text, wait_until};
use serde_json::{Value, json};
use std::fs;

/// The run that was begun last.
fn newest(stage: &Stage) -> String {
    text(&stage.runs()[0]["run"])
}

fn types(stage: &Stage, run: &str) -> Vec<String> {
    stage.events(run).iter().map(|event| text(&event["type"])).collect()
}

const REPORT: &str =
    r#"printf '{"ok":true,"generatedAt":"t","skillName":"s","data":{"answer":42}}' > $ENVOI_REPORT"#;

/// `make` leaves a report and an artifact, `ask` is answered, `use` runs a script that is not pinned.
fn flow() -> String {
    format!(
        "flow: ways\nsteps:\n  - id: make\n    skill: s\n    artifacts: [out.txt]\n    \
         run: |\n      echo $ENVOI_RUN_ID make >> ledger; echo one > out.txt; echo words; {REPORT}\n  \
         - id: ok\n    ask: {{ message: Fine? }}\n  \
         - id: use\n    env: {{ REPORT: \"${{{{ steps.make.report }}}}\" }}\n    run: sh use.sh\n  \
         - id: last\n    run: echo $ENVOI_RUN_ID last >> ledger\n"
    )
}

/// A run that has failed at `use`.
fn failed(stage: &Stage) -> String {
    stage.write("use.sh", "echo broken >> ledger; exit 1");
    stage.expect(1, &["run", "flow.yaml", "--yes-to", "ok"]);
    newest(stage)
}

const MENDED: &str = "cat $REPORT >> seen; cat $ENVOI_RUN_BASE/ways/out.txt >> seen; ls $ENVOI_ANSWER >> seen; \
                      test -f $ENVOI_HANDOFF || exit 9; echo $ENVOI_RUN_ID use >> ledger";

#[test]
fn a_fork_after_a_failure_does_not_pay_for_the_beginning_again() {
    let stage = Stage::with_flow(&flow());
    let root = failed(&stage);
    let before = stage.events(&root);
    stage.write("use.sh", MENDED);
    let done = stage.expect(0, &["fork", &root, "--reason", "the script is mended"]);
    let fork = newest(&stage);
    assert_ne!(root, fork);
    assert!(done.err.contains(&format!("forked from {root} at use by")), "{done:?}");
    assert!(!done.err.contains("make.1"), "what was lived is not told again: {done:?}");
    assert_eq!(stage.events(&root), before, "the root stays as it is");
    let ledger = stage.lines("ledger");
    assert_eq!(
        ledger,
        [format!("{root} make"), "broken".into(), format!("{fork} use"), format!("{fork} last")]
    );
    // Report, artifact, answer and hand-off of what it has not done itself are all its own.
    let seen = stage.read("seen");
    assert!(seen.contains("\"answer\":42") && seen.contains("\none\n") || seen.contains("}one"), "{seen}");
    let base = stage.path(&format!(".envoi/runs/{fork}"));
    for file in ["ways/handoff/make.1.json", "attempts/make.1.1/report.json", "attempts/make.1.1/stdout"] {
        let own = fs::read(base.join(file)).unwrap();
        assert_eq!(own, fs::read(stage.path(&format!(".envoi/runs/{root}")).join(file)).unwrap(), "{file}");
    }
    assert!(seen.contains(&format!("runs/{fork}/answers/")), "{seen}");
    let shown = stage.json(&["--json", "show", &fork]);
    assert_eq!((&shown["forked_from"], &shown["root"]), (&json!(root), &json!(root)));
    let own = |name: &str| shown[name]["agent_hops"].clone();
    assert_eq!((own("used"), own("own_used")), (json!(4), json!(2)));
    let text = stage.expect(0, &["show", &fork]).out;
    assert!(text.contains(&format!("forked from {root} at step use")), "{text}");
    assert!(text.contains("other runs of its family used of these: 2 attempts"), "{text}");
    assert!(stage.expect(0, &["why", &fork]).out.contains("the script is mended"));
    assert!(stage.expect(0, &["runs"]).out.contains(&format!("(fork of {root})")));
    assert!(stage.expect(0, &["repair"]).out.is_empty() || repaired_nothing(&stage));
    // A question that both were asked is one question, and it is the root's.
    let asked = stage.json(&["--json", "inbox", "--all"]);
    assert_eq!(asked.as_array().map(Vec::len), Some(1), "{asked}");
    assert_eq!(asked[0]["run"], json!(root));
    stage.assert_nothing_left();
}

fn repaired_nothing(stage: &Stage) -> bool {
    let report = stage.json(&["--json", "repair"]);
    report["mended_rows"].as_array().is_none_or(Vec::is_empty)
}

#[test]
fn an_engine_killed_right_after_the_first_commit_leaves_a_whole_fork() {
    for point in ["before-show", "before-probe"] {
        let stage = Stage::with_flow(&flow());
        let root = failed(&stage);
        stage.write("use.sh", MENDED);
        let engine =
            Process::spawn(stage.command(&["fork", &root]).env("ENVOI_FAILPOINT", format!("{point}:stop")));
        wait_until("the stop", || crate::stage::state(engine.pid()) == Some('T'));
        let fork = newest(&stage);
        assert_eq!(
            types(&stage, &fork).last().map(String::as_str),
            Some("attempt_started"),
            "all or nothing"
        );
        engine.kill();
        stage.expect(0, &["resume", &fork]);
        let ledger = stage.lines("ledger");
        assert_eq!(ledger[2..], [format!("{fork} use"), format!("{fork} last")], "{point}");
        assert!(stage.read("seen").contains("\"answer\":42"), "{point}");
        let base = stage.path(&format!(".envoi/runs/{fork}"));
        assert!(
            base.join("ways/handoff/make.1.json").is_file()
                && base.join("attempts/make.1.1/report.json").is_file()
        );
        stage.assert_nothing_left();
    }
}

#[test]
fn only_one_run_of_a_family_goes_on_at_a_time() {
    let stage = Stage::with_flow(&flow());
    let root = failed(&stage);
    let count = || stage.runs().len();
    // The fork waits for a person: it is not over.
    stage.expect(3, &["fork", &root, "--from", "ok"]);
    let fork = newest(&stage);
    let events = stage.events(&root);
    for arguments in [&["fork", &root][..], &["resume", &root], &["fork", &fork, "--from", "make"]] {
        let refused = stage.expect(6, arguments);
        assert!(refused.err.contains("FAMILY_BUSY") && refused.err.contains(&fork), "{refused:?}");
    }
    assert_eq!((count(), stage.events(&root)), (2, events), "nothing has changed");
    // The fork goes on by itself; the root is not affected.
    stage.expect(1, &["approve", &fork]);
    // Of several that ask at once, one is first.
    let asks = ["fork", root.as_str(), "--from", "ok"];
    let racers: Vec<_> = (0..4).map(|_| stage.start(&asks)).collect();
    let mut codes: Vec<_> =
        racers.into_iter().map(|racer| racer.done_when_heard(&stage, &asks).code).collect();
    codes.sort_unstable();
    assert_eq!((codes, count()), (vec![Some(3), Some(6), Some(6), Some(6)], 3));
    stage.expect(1, &["approve", &newest(&stage)]);
    stage.write("use.sh", MENDED);
    stage.expect(0, &["resume", &root]);
    for (arguments, told) in [
        (&["fork", &root][..], "no step stopped it"),
        (&["fork", &root, "--from", "nowhere"], "no step `nowhere`"),
    ] {
        let refused = stage.expect(6, arguments);
        assert!(refused.err.contains("NOT_FORKABLE") && refused.err.contains(told), "{refused:?}");
    }
    assert_eq!(count(), 3);
    // In the background it rests with its first commit.
    let detached = stage.expect(0, &["fork", &root, "--from", "ok", "--detach"]);
    assert_eq!(detached.out.trim(), newest(&stage));
    assert_eq!(count(), 4);
}

#[test]
fn a_fork_and_its_root_end_at_one_bound() {
    let stage = Stage::with_flow(
        "flow: bounded\nlimits: { agent_hops: 4 }\nsteps:\n  - id: a\n    run: echo a >> ledger\n  \
         - id: b\n    run: echo b >> ledger; exit 1\n  - id: c\n    run: echo c >> ledger\n",
    );
    stage.expect(1, &["run", "flow.yaml"]);
    let root = newest(&stage);
    stage.expect(1, &["fork", &root]);
    let fork = newest(&stage);
    stage.expect(1, &["resume", &root]);
    // Four of four are used: a resumed run is exhausted.
    for run in [&fork, &root] {
        let exhausted = stage.expect(4, &["resume", run]);
        assert!(exhausted.err.contains("agent_hops 4 of 4 is used up"), "{exhausted:?}");
        // To resume it once more would end in the same way.
        assert!(exhausted.err.contains(&format!("go on: envoi raise {run} --agent-hops N")), "{exhausted:?}");
    }
    let exhausted = stage.expect(4, &["fork", &root, "--from", "a"]);
    assert!(exhausted.err.contains("agent_hops 4 of 4 is used up"), "{exhausted:?}");
    assert_eq!(stage.lines("ledger"), ["a", "b", "b", "b"]);
    // More for one is more for all, once.
    stage.expect(1, &["raise", &root, "--agent-hops", "1"]);
    let exhausted = stage.expect(4, &["resume", &fork]);
    assert!(exhausted.err.contains("agent_hops 5 of 5 is used up"), "{exhausted:?}");
    assert_eq!(stage.lines("ledger").len(), 5);
    let sum: u64 = stage
        .runs()
        .iter()
        .map(|row| {
            stage.json(&["--json", "show", &text(&row["run"])])["own_used"]["agent_hops"].as_u64().unwrap()
        })
        .sum();
    assert_eq!(sum, 5);
}

#[test]
fn the_workspace_is_unchanged_and_the_message_says_so() {
    let stage = Stage::with_flow(&flow());
    let root = failed(&stage);
    stage.write("out.txt", "changed\n");
    stage.write("use.sh", "cat out.txt >> seen");
    let done = stage.expect(0, &["fork", &root]);
    assert!(done.err.contains("the workspace is as it is now") && done.err.contains("`out.txt`"), "{done:?}");
    assert_eq!(stage.read("seen"), "changed\n");
    stage.write("out.txt", "one\n");
    let copied = stage.expect(0, &["fork", &root, "--from", "use", "--copy"]);
    assert!(!copied.err.contains("the workspace is as it is now"), "{copied:?}");
    assert_eq!(stage.read("seen"), "changed\n", "it worked in a copy");
    let records: Vec<Value> = {
        let out = stage.expect(0, &["--json", "fork", &newest(&stage), "--from", "last"]).out;
        out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    assert!(records.iter().any(|record| record["event"]["type"] == "run_forked"), "{records:?}");
}

#[test]
fn a_fork_of_the_newest_run_is_refused_as_such_while_that_is_not_over() {
    let stage = Stage::with_flow("flow: asks\nsteps:\n  - { id: a, ask: Go on? }\n");
    stage.expect(3, &["run", "flow.yaml"]);
    let refused = stage.expect(6, &["fork"]);
    assert!(
        refused.err.contains("NOT_FORKABLE") && refused.err.contains("the newest run is not over"),
        "{refused:?}"
    );
}
