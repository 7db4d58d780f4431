//! A changed flow is tried on the texts of recorded runs: the differences are listed, and nothing is started.

use crate::stage::{Stage, text};
use serde_json::Value;

/// A loop that its second text ends. The first text is longer than the one in a hand-off.
const FLOW: &str = "
flow: review
steps:
  - id: write
    run: 'true'
  - id: look
    run: 'if test -e seen; then echo \"Status: VERIFIED\"; else touch seen; seq 1000; echo \"Status: UNVERIFIED\"; seq 1000; fi'
    routing: { kind: microloop, loop_to: write, success_values: [VERIFIED], max_iterations: 3 }
  - id: done
    run: 'true'
";

fn found(stage: &Stage, code: i32, arguments: &[&str]) -> Value {
    let done = stage.expect(code, &[&["--json", "backtest"][..], arguments].concat());
    serde_json::from_str(&done.out).unwrap()
}

#[test]
fn what_a_changed_flow_would_decide_otherwise_is_listed_with_the_reason() {
    let stage = Stage::with_flow(FLOW);
    stage.expect(0, &["run", "flow.yaml"]);
    let run = stage.run_id();
    let events = stage.events(&run);
    let same = found(&stage, 0, &["flow.yaml"]);
    assert_eq!(same["runs"][0]["run"], run.as_str());
    assert_eq!(
        (&same["runs"][0]["decisions"], &same["runs"][0]["unknown"]),
        (&5.into(), &0.into()),
        "{same:#}"
    );
    assert_eq!(same["runs"][0]["differences"], serde_json::json!([]));
    stage.write("changed.yaml", FLOW.replace("max_iterations: 3", "max_iterations: 0"));
    let other = found(&stage, 1, &["changed.yaml"]);
    let differences = other["runs"][0]["differences"].as_array().unwrap();
    assert_eq!(differences.len(), 1, "{other:#}");
    let only = &differences[0];
    assert_eq!(
        (text(&only["visit"]), text(&only["then"]["what"])),
        ("look.1".to_owned(), "back to write".to_owned())
    );
    assert_eq!(text(&only["now"]["what"]), "waits for a person (exhausted)", "{other:#}");
    assert!(text(&only["now"]["reason"]).contains("exhausted"), "{other:#}");
    assert_ne!(only["then"]["rule"], only["now"]["rule"]);
    let told = stage.expect(1, &["backtest", "changed.yaml", "--runs", &run]).out;
    let expected =
        format!("{run}  5 decisions from texts, 1 would differ\n  look.1\n    then: back to write: ");
    assert!(told.starts_with(&expected), "{told}");
    assert!(told.contains("\n    now:  waits for a person (exhausted): "), "{told}");
    // Nothing was started or written.
    assert_eq!((stage.runs_made(), stage.events(&run)), (vec![run], events));
}

#[test]
fn runs_are_those_of_the_flow_or_those_that_are_named() {
    let stage = Stage::with_flow(FLOW);
    stage.write("other.yaml", "flow: other\nsteps:\n  - { id: a, run: 'true' }\n");
    let none = stage.envoi(&["backtest", "flow.yaml"]);
    assert_eq!(none.code, Some(2), "{none:?}");
    for _ in 0..2 {
        stage.expect(0, &["run", "flow.yaml"]);
    }
    stage.expect(0, &["run", "other.yaml"]);
    let runs: Vec<String> = stage.runs().iter().map(|run| text(&run["run"])).collect();
    let ids = |found: &Value| {
        found["runs"].as_array().unwrap().iter().map(|run| text(&run["run"])).collect::<Vec<_>>()
    };
    assert_eq!(ids(&found(&stage, 0, &["flow.yaml"])), runs[1..]);
    assert_eq!(ids(&found(&stage, 0, &["flow.yaml", "--limit", "1"])), runs[1..2]);
    assert_eq!(
        ids(&found(&stage, 0, &["flow.yaml", "--runs", &runs[2], &runs[1]])),
        [runs[2].clone(), runs[1].clone()]
    );
    // The flow does not have the steps of a run of another flow.
    let told = stage.expect(1, &["backtest", "flow.yaml", "--runs", &runs[0]]).out;
    assert!(told.contains("now:  the flow has no such step"), "{told}");
    stage.write("bad.yaml", "flow: x\nsteps: []\n");
    let bad = stage.envoi(&["backtest", "bad.yaml"]);
    assert_eq!(bad.code, Some(2), "{bad:?}");
    let unknown = stage.envoi(&["backtest", "flow.yaml", "--runs", "run_unknown"]);
    assert_eq!(unknown.code, Some(2), "{unknown:?}");
}

#[test]
fn if_no_decision_can_be_compared_the_command_does_not_report_success() {
    let stage = Stage::with_flow("flow: long\nsteps:\n  - { id: only, run: seq 10000 }\n");
    stage.expect(0, &["run", "flow.yaml"]);
    assert_eq!(found(&stage, 0, &["flow.yaml"])["runs"][0]["unknown"], 0);
    // The text is gone, and the hand-off does not have all of it.
    std::fs::remove_dir_all(stage.path(".envoi/artifacts")).unwrap();
    let done = stage.expect(6, &["backtest", "flow.yaml"]);
    assert!(done.out.contains("  1 decision from texts, 0 would differ, 1 unknown"), "{done:?}");
    assert!(done.err.starts_with("no decision could be compared"), "{done:?}");
    let row = found(&stage, 6, &["flow.yaml"]);
    assert_eq!((&row["runs"][0]["decisions"], &row["runs"][0]["unknown"]), (&1.into(), &1.into()));
}
