//! The worst case of a flow: as a table, as JSON, against maxima, and beside another one.

use crate::stage::Stage;
use serde_json::{Value, json};

fn flow(rounds: u32, limits: &str) -> String {
    format!(
        "flow: fix\n{limits}steps:\n  - id: repair\n    run: go\n    timeout: 10s\n    retry: {{ attempts: 2, backoff: 1s }}\n  \
         - id: critic\n    run: go\n    timeout: 2s\n    routing:\n      kind: microloop\n      loop_to: repair\n      \
         success_values: [OK]\n      max_iterations: {rounds}\n  - id: keep\n    ask: Keep it?\n"
    )
}

#[test]
fn the_worst_case_is_a_table_that_people_can_read() {
    let stage = Stage::with_flow(&flow(3, "limits: { iterations: 2, cost_usd: \"5\" }\n"));
    let done = stage.expect(0, &["plan", "flow.yaml"]);
    let expected = "\
fix: at most 9 attempts

STEP    VISITS  EACH  ATTEMPTS  TIMEOUT  TIME
repair  3       2     6         10s      1m
critic  3       1     3         2s       6s
keep    1       asks

LOOP    BACK TO  EACH ENTRY  ENTRIES  RETURNS
critic  repair   3           1        2

attempts     9
visits       7
loop-backs   2            by `limits.iterations`, 3 without it
time         1m 6s
retry waits  3s
model calls  not bounded
cost         $5.00        by `limits.cost_usd`

most attempts  `retry.attempts` of `repair` (flow.yaml:7) is 2: one less saves 3 attempts; 6 attempts in repair
most time      `retry.attempts` of `repair` (flow.yaml:7) is 2: one less saves 30s; 1m in repair

note: model calls are not bounded: `repair`, `critic` have no `budget.llm_calls`, and the flow has no `limits.llm_calls`
note: `limits.cost_usd` is tested before a start: an attempt without a budget that reaches it may report more than was left
note: not counted, because people decide it: an attempt in doubt that is run again, a limit that `envoi raise` raises, a run \
                    that is reopened
";
    assert_eq!(done.out, expected);
    assert_eq!(done.err, "");
    assert!(!stage.store().exists(), "planning makes no store");
}

#[test]
fn graphs_lists_and_flows_within_are_counted_with_the_files_that_they_stand_in() {
    let stage = Stage::with_flow(
        "flow: top\ninputs:\n  files: { type: array, maxItems: 5, default: [a] }\nsteps:\n  - id: a\n    run: go\n    timeout: 1s\n    \
         budget: { cost_usd: \"0.10\" }\n    for_each: ${{ inputs.files }}\n    max_parallel: 2\n  - id: b\n    flow: parts/inner.yaml\n  \
         - id: c\n    needs: [a, b]\n    ask: Go on?\n",
    );
    let inner = "flow: inner\nsteps:\n  - id: x\n    run: go\n    timeout: 2s\n    budget: { cost_usd: \"0.20\" }\n    retry: { attempts: 6, backoff: \
                 0s }\n";
    stage.write("parts/inner.yaml", inner);
    let done = stage.expect(0, &["plan", "flow.yaml"]);
    let expected = "\
top: at most 11 attempts

STEP     VISITS  ITEMS  EACH        ATTEMPTS  TIMEOUT  TIME
a        1       5      1           5         1s       5s
b        1              runs inner
c        1              asks
inner/x  1              6           6         2s       12s

attempts     11
visits       4
loop-backs   0
time         17s
retry waits  0s
elapsed      12s          where nothing waits for a slot
model calls  not bounded
cost         $1.70        by budgets

most attempts  `for_each` of `a` (flow.yaml:9) has 5 items: one less saves 1 attempt; 5 attempts in a
most time      `retry.attempts` of `x` (parts/inner.yaml:7) is 6: one less saves 2s; 12s in inner/x
";
    assert!(done.out.starts_with(expected), "{}", done.out);
    let most = &stage.json(&["--json", "plan", "flow.yaml"])["most_time"];
    assert_eq!(
        (&most["file"], &most["line"], &most["flow"]),
        (&json!("parts/inner.yaml"), &json!(7), &json!("inner"))
    );
}

#[test]
fn a_maximum_that_a_run_could_pass_is_exit_4_and_says_by_how_much() {
    let stage = Stage::with_flow(&flow(3, "limits: { cost_usd: \"5\" }\n"));
    let within = ["plan", "flow.yaml", "--max-attempts", "12", "--max-time", "88s", "--max-cost", "5.00"];
    assert_eq!(stage.expect(0, &within).err, "");
    let past = [
        "plan",
        "flow.yaml",
        "--max-attempts",
        "11",
        "--max-time",
        "1m",
        "--max-cost",
        "4.5",
        "--max-calls",
        "9",
    ];
    let done = stage.expect(4, &past);
    assert!(done.out.contains("attempts     12\n"), "the plan is shown all the same: {done:?}");
    let expected = "error[PLAN_PAST_MAXIMUM]: the worst case of flow.yaml is past --max-attempts 11 by 1 (12 attempts); \
                    --max-calls 9 (not bounded); --max-time 1m by 28s (1m 28s); --max-cost 4.50 by 0.50 ($5.00)\n  \
                    hint: `retry.attempts` of `repair` (flow.yaml:7): one less saves 4 attempts\n";
    assert_eq!(done.err, expected);
    for (maximum, hint) in [
        (["--max-time", "1m"], "one less saves 40s"),
        (["--max-calls", "1"], "`limits` of the flow bound a run"),
    ] {
        let done = stage.expect(4, &[&["plan", "flow.yaml"][..], &maximum].concat());
        assert!(done.err.contains(hint), "{done:?}");
    }
    stage.write("untimed.yaml", "flow: f\nsteps:\n  - id: a\n    run: go\n");
    let done = stage.expect(4, &["plan", "untimed.yaml", "--max-time", "1d"]);
    assert!(done.err.contains("--max-time 1d (not bounded)") && done.err.contains("`timeout`"), "{done:?}");
}

#[test]
fn programs_get_everything_as_json() {
    let stage = Stage::with_flow(&flow(3, ""));
    let plan = stage.json(&["--json", "plan", "flow.yaml"]);
    assert_eq!(
        (&plan["flow"], &plan["file"], &plan["attempts"]),
        (&json!("fix"), &json!("flow.yaml"), &json!(12))
    );
    assert_eq!(
        (&plan["wall_time_ms"], &plan["waits_ms"], &plan["llm_calls"]),
        (&json!(88_000), &json!(4_000), &Value::Null)
    );
    let repair = json!({"flow": "fix", "step": "repair", "asks": false, "inner_flow": null, "visits": 4, "items": null, "attempts_each": 2,
                        "doubt_each": 0, "attempts": 8,
                        "timeout_ms": 10_000, "wall_time_ms": 80_000});
    assert_eq!(plan["steps"][0], repair);
    let critic = json!({"flow": "fix", "step": "critic", "back_to": "repair", "each_entry": 3, "entries": 1, "returns": 3, "by_people": false,
                        "by_rounds": false});
    assert_eq!(plan["loops"], json!([critic]));
    let most = json!({"key": "retry.attempts", "flow": "fix", "step": "repair", "now": 2, "known": true, "one_less_saves": 4, "path": ["repair"],
                      "spent_there": 8, "file": "flow.yaml", "line": 6});
    assert_eq!((&plan["most_attempts"], &plan["past"]), (&most, &json!([])));
    let done = stage.expect(4, &["--json", "plan", "flow.yaml", "--max-attempts", "2", "--max-calls", "7"]);
    let plan: Value = serde_json::from_str(&done.out).unwrap();
    let past = json!([{"figure": "attempts", "allowed": 2, "planned": 12},
                      {"figure": "llm_calls", "allowed": 7, "planned": null}]);
    assert_eq!(plan["past"], past);
    let refused: Value = serde_json::from_str(&done.err).unwrap();
    assert_eq!(refused["code"], "PLAN_PAST_MAXIMUM");
}

#[test]
fn two_flows_are_compared_figure_by_figure() {
    let stage = Stage::with_flow(&(flow(5, "") + "  - id: z\n    run: go\n    timeout: 1s\n"));
    stage.write("before.yaml", flow(3, ""));
    let done = stage.expect(0, &["plan", "flow.yaml", "--compare", "before.yaml"]);
    let expected = "
             before.yaml  flow.yaml    DIFFERENCE
attempts     12           19           +7
visits       9            14           +5
loop-backs   3            5            +2
time         1m 28s       2m 13s       +45s
retry waits  4s           6s           +2s
model calls  not bounded  not bounded
cost         not bounded  not bounded
step repair  8            12           +4
step critic  4            6            +2
step z       -            1            +1
";
    assert!(done.out.ends_with(expected), "{}", done.out);
    let back = stage.expect(0, &["plan", "before.yaml", "--compare", "flow.yaml"]);
    for line in ["attempts     19           12           -7\n", "step z       1            -            -1\n"]
    {
        assert!(back.out.contains(line), "{}", back.out);
    }
    let plan = stage.json(&["--json", "plan", "flow.yaml", "--compare", "before.yaml"]);
    assert_eq!(plan["compared_with"]["attempts"], 12);
    let differences = plan["differences"].as_array().unwrap();
    let attempts = json!({"flow": null, "step": null, "figure": "attempts", "this": 19, "other": 12});
    let new = json!({"flow": "fix", "step": "z", "figure": "attempts", "this": 1, "other": null});
    assert!(differences.contains(&attempts) && differences.contains(&new), "{differences:?}");
    let same = stage.json(&["--json", "plan", "flow.yaml", "--compare", "flow.yaml"]);
    assert_eq!(same["differences"], json!([]));
}

#[test]
fn what_cannot_be_planned_is_bad_input() {
    let stage = Stage::with_flow(&flow(3, ""));
    stage.write(
        "bad.yaml",
        "flow: f\nsteps:\n  - id: a\n    run: go\n  - id: b\n    run: go\n    routing: { next: a }\n",
    );
    for arguments in [
        &["plan", "bad.yaml"][..],
        &["plan", "flow.yaml", "--compare", "bad.yaml"],
        &["plan", "missing.yaml"],
        &["plan", "flow.yaml", "--max-time", "soon"],
        &["plan", "flow.yaml", "--max-cost", "-5"],
        &["plan", "flow.yaml", "--max-attempts", "many"],
    ] {
        let done = stage.expect(2, arguments);
        assert!(done.out.is_empty() && done.err.starts_with("error"), "{arguments:?}: {done:?}");
    }
    let unbounded = stage.expect(2, &["plan", "bad.yaml"]);
    assert!(unbounded.err.contains("nothing bounds it"), "{unbounded:?}");
}

#[test]
fn what_is_probably_not_meant_is_said_as_by_check() {
    let stage = Stage::with_flow("flow: f\nsteps:\n  - id: a\n    run: \"true\"\n    files: restore\n");
    let checked = stage.expect(0, &["check", "flow.yaml"]).err;
    let warning = checked.lines().find(|line| line.contains("needs a tree of its own")).expect("a warning");
    assert!(stage.expect(0, &["plan", "flow.yaml"]).err.lines().any(|line| line == warning), "{checked}");
    let planned = stage.expect(0, &["--json", "plan", "flow.yaml"]);
    assert!(planned.err.contains(warning) && !planned.out.contains("warning"), "{planned:?}");
}

#[test]
fn every_example_has_a_worst_case() {
    let examples = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let stage = Stage::new();
    let mut planned = 0;
    for entry in std::fs::read_dir(examples).unwrap().flatten() {
        let flow = entry.path().join("flow.yaml");
        if flow.exists() {
            let plan = stage.json(&["--json", "plan", flow.to_str().unwrap()]);
            assert!(plan["attempts"].as_u64().unwrap() > 0, "{plan:#}");
            planned += 1;
        }
    }
    assert!(planned >= 3, "{planned} examples");
}
