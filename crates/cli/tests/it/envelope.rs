//! The envelope of a run is true after each of its steps.

use crate::stage::{Stage, wait_until};
use serde_json::{Value, json};

/// A loop that is gone round once, a retry, and at the end a failure. Each attempt waits to be let through.
const FLOW: &str = "flow: told
limits: { iterations: 5, agent_hops: 20 }
steps:
  - id: work
    retry: { attempts: 2, backoff: 10ms..20ms }
    run: \"echo $ENVOI_ATTEMPT > at; while [ ! -e go-$ENVOI_ATTEMPT ]; do sleep 0.01; done; test $ENVOI_ATTEMPT != work.1.1\"
  - id: critic
    run: \"echo $ENVOI_ATTEMPT > at; while [ ! -e go-$ENVOI_ATTEMPT ]; do sleep 0.01; done; test $ENVOI_VISIT = 2\"
    routing: { kind: microloop, loop_to: work, status_from_exit: { 0: VERIFIED, 1: UNVERIFIED }, success_values: [VERIFIED] }
  - id: last
    run: \"echo $ENVOI_ATTEMPT > at; while [ ! -e go-$ENVOI_ATTEMPT ]; do sleep 0.01; done; exit 9\"
";

type Row = (&'static str, &'static str, u64, u64, usize, &'static [&'static str]);

/// While this attempt runs: the stage, attempts started, loop-backs, attempts settled, and the stages that are complete.
const TRUTH: [Row; 6] = [
    ("work.1.1", "work", 1, 0, 0, &[]),
    ("work.1.2", "work", 2, 0, 1, &[]),
    ("critic.1.1", "critic", 3, 0, 2, &["work"]),
    ("work.2.1", "work", 4, 1, 3, &[]),
    ("critic.2.1", "critic", 5, 1, 4, &["work"]),
    ("last.1.1", "last", 6, 1, 5, &["critic", "work"]),
];

fn keys(value: &Value) -> Vec<&str> {
    let mut keys: Vec<_> = value.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    keys
}

#[test]
fn the_envelope_says_on_whose_behalf_a_run_was_started() {
    let stage = Stage::with_flow(
        "flow: who\nsteps:\n  - id: say\n    run: echo ${{ run.user_id }} ${{ run.metadata.team }}\n",
    );
    let who = ["--user", "u-7", "--session", "s-7", "--metadata", "team=press", "--metadata", "empty="];
    stage.expect(0, &[&["run", "flow.yaml"], &who[..]].concat());
    let envelope = stage.json(&["show", "--envelope"]);
    assert_eq!((&envelope["user_id"], &envelope["session_id"]), (&json!("u-7"), &json!("s-7")));
    assert_eq!(
        (&envelope["metadata"]["team"], &envelope["metadata"]["empty"]),
        (&json!("press"), &json!(""))
    );
    assert_eq!(envelope["outputs"]["say"]["summary"], "u-7 press");
    for wrong in [&["--metadata", "no-sign"][..], &["--metadata", "run_id=x"], &["--user", ""]] {
        let refused = stage.expect(2, &[&["run", "flow.yaml"], wrong].concat());
        assert!(refused.err.contains("INPUT_INVALID"), "{wrong:?}");
    }
}

#[test]
fn the_envelope_is_true_after_each_step_of_a_looping_failing_retried_run() {
    let stage = Stage::with_flow(FLOW);
    let engine = stage.start(&["run", "flow.yaml"]);
    for (attempt, step, hops, iterations, settled, complete) in TRUTH {
        wait_until(attempt, || stage.read("at").trim() == attempt);
        let envelope = stage.json(&["show", "--envelope"]);
        assert_eq!(envelope.as_object().unwrap().len(), 37, "{attempt}");
        assert_eq!(envelope["current_stage"], step, "{attempt}");
        assert_eq!(envelope["agent_hop_count"], hops, "{attempt}");
        assert_eq!(envelope["iteration"], iterations, "{attempt}");
        // A record per attempt in the history: those that have ended, and perhaps the running one.
        let history = envelope["processing_history"].as_array().unwrap();
        let over = history.iter().filter(|record| !record["completed_at"].is_null()).count();
        assert_eq!(over, settled, "{attempt}: {history:#?}");
        assert_eq!(keys(&envelope["completed_stage_set"]), complete, "{attempt}");
        assert_eq!(keys(&envelope["active_stages"]), [step], "{attempt}");
        assert_eq!(envelope["stage_order"], json!(["work", "critic", "last"]));
        assert_eq!(
            (&envelope["terminated"], &envelope["terminal_reason"]),
            (&json!(false), &Value::Null),
            "{attempt}"
        );
        assert_eq!((&envelope["max_iterations"], &envelope["max_agent_hops"]), (&json!(5), &json!(20)));
        stage.write(&format!("go-{attempt}"), "");
    }
    assert_eq!(engine.done().code, Some(1));
    let envelope = stage.json(&["show", "--envelope"]);
    assert_eq!(
        (&envelope["terminated"], &envelope["terminal_reason"]),
        (&json!(true), &json!("tool_failed_fatally"))
    );
    assert_eq!(keys(&envelope["failed_stages"]), ["last"], "{envelope:#}");
    assert!(!envelope["completed_at"].is_null());
    let statuses: Vec<_> = envelope["processing_history"]
        .as_array()
        .unwrap()
        .iter()
        .map(|record| record["status"].clone())
        .collect();
    assert_eq!(statuses, ["error", "success", "success", "success", "success", "error"]);
    assert!(!envelope["errors"].as_array().unwrap().is_empty());
    // A run that goes on is not over any more.
    let reopened = stage.start(&["resume", &stage.run_id()]);
    wait_until("the new visit", || stage.read("at").trim() == "last.2.1");
    let envelope = stage.json(&["show", "--envelope"]);
    assert_eq!((&envelope["terminated"], &envelope["terminal_reason"]), (&json!(false), &Value::Null));
    assert_eq!(envelope["agent_hop_count"], 7);
    stage.write("go-last.2.1", "");
    assert_eq!(reopened.done().code, Some(1));
}
