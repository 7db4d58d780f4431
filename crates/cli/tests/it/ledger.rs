//! The use of a run is kept, and shown.

use crate::stage::{Stage, wait_until};
use serde_json::json;

/// A command that reports its use.
const REPORTS: &str = r#"echo $ENVOI_ATTEMPT >> ledger; printf '{"ok":true,"generatedAt":"t","skillName":"s","metrics":{"llm_calls":2,"tokens_in":100,"tokens_out":7,"cost_usd":0.05}}' > $ENVOI_REPORT"#;

fn two_steps() -> String {
    format!(
        "flow: uses\nlimits: {{ llm_calls: 3, agent_hops: 9, cost_usd: \"1.00\" }}\nsteps:\n  \
         - id: first\n    run: |\n      {REPORTS}\n  \
         - id: second\n    run: |\n      {REPORTS}; test -e hold || exit 0; until test -e go; do sleep 0.01; done\n  \
         - id: third\n    run: |\n      {REPORTS}\n"
    )
}

#[test]
fn the_usage_of_a_run_survives_a_kill_and_is_shown_for_each_limit_and_each_step() {
    let stage = Stage::with_flow(&two_steps());
    stage.write("hold", "");
    let engine = stage.start(&["run", "flow.yaml"]);
    wait_until("the second step", || stage.lines("ledger").len() == 2);
    engine.kill();
    stage.write("go", "");
    let exhausted = stage.expect(4, &["resume"]);
    assert!(exhausted.err.contains("llm_calls 4 of 3 is used up"), "{exhausted:?}");
    let run = stage.run_id();
    stage.expect(0, &["raise", &run, "--llm-calls", "2"]);

    let shown = stage.json(&["--json", "show", &run]);
    let used = |hops: u64, calls: u64, tokens_in: u64, tokens_out: u64, cost: &str| {
        json!([hops, calls, tokens_in, tokens_out, cost])
    };
    let told = |value: &serde_json::Value| {
        let names = ["agent_hops", "llm_calls", "tokens_in", "tokens_out", "cost_usd"];
        json!(names.map(|name| value[name].clone()))
    };
    assert_eq!(told(&shown["used"]), used(3, 6, 300, 21, "0.15"));
    for step in ["first", "second", "third"] {
        assert_eq!(told(&shown["by_step"][step]), used(1, 2, 100, 7, "0.05"), "{step}");
    }
    assert_eq!(told(&shown["reserved"]), used(0, 0, 0, 0, "0.00"));
    assert_eq!(told(&shown["raised"]), used(0, 2, 0, 0, "0.00"));
    assert_eq!((&shown["limits"]["llm_calls"], &shown["limits"]["agent_hops"]), (&json!(5), &json!(9)));

    let text = stage.expect(0, &["show", &run]).out;
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
    for row in [
        &["BOUND", "USED", "RESERVED", "LIMIT"][..],
        &["attempts", "3", "-", "9"],
        &["model", "calls", "6", "-", "5,", "raised", "by", "2"],
        &["tokens", "in", "300", "-", "none"],
        &["cost", "$0.15", "-", "$1.00"],
        &["STEP", "ATTEMPTS", "CALLS", "TOK", "IN", "TOK", "OUT", "COST", "TIME"],
    ] {
        assert!(rows.iter().any(|told| told == row), "{row:?} in {text}");
    }
    let steps = rows.iter().filter(|row| row.len() > 6 && row[1..6] == ["1", "2", "100", "7", "$0.05"]);
    assert_eq!(steps.map(|row| row[0]).collect::<Vec<_>>(), ["first", "second", "third"]);
    assert!(!text.contains("loop-backs"), "what stands at nothing and has no limit is left out: {text}");
}

#[test]
fn a_budget_is_reserved_before_a_start_handed_over_and_held_to() {
    let stage = Stage::with_flow(
        "flow: budget\nlimits: { llm_calls: 6, on_reached: ask }\nsteps:\n  - id: draft\n    budget: { llm_calls: 4, cost_usd: \"0.30\" }\n    \
         retry: { attempts: 3, backoff: 0s..0s }\n    \
         run: |\n      echo $ENVOI_BUDGET_LLM_CALLS $ENVOI_BUDGET_COST_USD >> ledger\n      \
         test -e hold && while [ ! -e go ]; do sleep 0.01; done\n      \
         printf '{\"ok\":true,\"generatedAt\":\"t\",\"skillName\":\"s\",\"metrics\":{\"llm_calls\":%s}}' $(cat calls) > $ENVOI_REPORT\n  \
         - id: after\n    run: echo ${ENVOI_BUDGET_LLM_CALLS-none} >> ledger\n",
    );
    stage.write("calls", "5");
    stage.write("hold", "");
    let engine = stage.start(&["run", "flow.yaml"]);
    wait_until("the step", || !stage.lines("ledger").is_empty());
    let run = stage.run_id();
    let reserved = |run: &str| stage.json(&["--json", "show", run])["reserved"].clone();
    let held = reserved(&run);
    assert_eq!((&held["llm_calls"], &held["cost_usd"]), (&json!(4), &json!("0.30")));
    engine.kill();
    assert_eq!(reserved(&run), held, "what is live is reserved, engine or not");
    stage.write("go", "");
    let failed = stage.expect(1, &["resume", &run]);
    assert!(failed.err.contains("BUDGET_OVERRUN: it used llm_calls 5 of a budget of 4"), "{failed:?}");
    assert_eq!(stage.lines("ledger"), ["4 0.30"], "it is not tried again");
    assert_eq!(stage.json(&["--json", "show", &run])["used"]["llm_calls"], 5);
    // 5 are used, and 4 are wanted of 6.
    let asked = stage.expect(3, &["resume", &run]);
    assert!(asked.err.contains("llm_calls 5 used, 0 reserved, 4 wanted, 6 is the limit"), "{asked:?}");
    stage.write("calls", "3");
    stage.expect(0, &["raise", &run, "--llm-calls", "3"]);
    assert_eq!(stage.lines("ledger"), ["4 0.30", "4 0.30", "none"]);
    assert_eq!(stage.json(&["--json", "show", &run])["used"]["llm_calls"], 8);
}
