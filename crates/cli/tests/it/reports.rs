//! What a report says is what counts, through the real supervisor. Which report is one, whatever the exit, is tried in
//! `contract`; here each kind of file is really left behind.

use crate::stage::Stage;
use serde_json::Value;

/// What a command leaves as its report, and the code of the attempt that exits 0 with it.
const LEFT: [(&str, &str, Option<&str>); 9] = [
    ("whole", r#"printf '{"ok":true,"generatedAt":"t","skillName":"s","data":1}' > "$ENVOI_REPORT""#, None),
    ("sparse", r#"printf '{"ok":true}' > "$ENVOI_REPORT""#, None),
    ("failed", r#"printf '{"ok":false,"data":2}' > "$ENVOI_REPORT""#, Some("SKILL_REPORTED_FAILURE")),
    (
        "nan",
        r#"printf '{"ok":false,"generatedAt":"t","skillName":"s","data":{"loss":NaN}}' > "$ENVOI_REPORT""#,
        Some("SKILL_REPORT_INVALID"),
    ),
    (
        "mark",
        r#"printf '\357\273\277{"ok":true,"generatedAt":"t","skillName":"s"}' > "$ENVOI_REPORT""#,
        Some("SKILL_REPORT_INVALID"),
    ),
    (
        "cut",
        r#"printf '{"ok":true,"generatedAt":"t","skillNa' > "$ENVOI_REPORT""#,
        Some("SKILL_REPORT_INVALID"),
    ),
    ("large", r#"truncate -s 17M "$ENVOI_REPORT""#, Some("SKILL_REPORT_INVALID")),
    ("folder", r#"mkdir "$ENVOI_REPORT""#, Some("SKILL_REPORT_INVALID")),
    ("pipe", r#"mkfifo "$ENVOI_REPORT""#, Some("SKILL_REPORT_INVALID")),
];

/// How the command ends after that, the end of its step's id, and the code that this has by itself.
const ENDS: [(&str, &str, Option<&str>); 4] = [
    ("exit 0", "zero", None),
    ("exit 1", "one", Some("TOOL_EXIT_NON_ZERO")),
    ("kill -9 $$", "signal", Some("TOOL_EXIT_NON_ZERO")),
    ("exec tail -f /dev/null", "timeout", Some("TOOL_TIMEOUT")),
];

#[test]
fn whatever_stands_at_the_assigned_path_is_a_report_or_a_failure() {
    let mut flow = String::from("flow: reports\nsteps:\n");
    let mut expected: Vec<(String, Option<&str>)> = Vec::new();
    for (what, leave, code) in LEFT {
        for (end, name, earlier) in ENDS {
            // Each of these lasts as long as its timeout, so that three kinds have to do.
            if name == "timeout" && !["nan", "large", "pipe"].contains(&what) {
                continue;
            }
            for declared in [false, true] {
                let id = format!("{what}-{name}{}", if declared { "-skill" } else { "" });
                let skill = if declared { "    skill: s\n" } else { "" };
                let timeout = if name == "timeout" { "    timeout: 4s\n" } else { "" };
                flow.push_str(&format!(
                    "  - id: {id}\n{skill}{timeout}    needs: []\n    continue_on_error: true\n    run: |\n      {leave}\n      {end}\n"
                ));
                expected.push((format!("{id}.1.1"), earlier.or(code)));
            }
        }
    }
    let stage = Stage::with_flow(&flow);
    stage.envoi(&["run", "flow.yaml"]);
    let events = stage.events(&stage.run_id());
    let settled: Vec<&Value> = events.iter().filter(|event| event["type"] == "attempt_settled").collect();
    assert_eq!(settled.len(), expected.len());
    for (attempt, code) in expected {
        let event = settled.iter().find(|event| event["attempt"] == attempt.as_str()).unwrap();
        assert_eq!(event["error"]["code"].as_str(), code, "{attempt}: {event}");
        assert_eq!(event["ok"], code.is_none(), "{attempt}");
        let message = event["error"]["message"].as_str().unwrap_or_default();
        let bad =
            ["nan", "mark", "cut", "large", "folder", "pipe"].iter().any(|bad| attempt.starts_with(bad));
        assert_eq!(message.contains("expected "), bad, "a bad report is named: {event}");
        let filled = if attempt.starts_with("sparse") {
            3
        } else if attempt.starts_with("failed") {
            2
        } else {
            0
        };
        assert_eq!(event["report_filled"].as_array().map_or(0, Vec::len), filled, "{event}");
    }
}

#[test]
fn a_report_behind_the_output_option_counts_in_a_script_too() {
    let write = r#"import sys; open(sys.argv[-1], "w").write("{\"ok\": false, \"generatedAt\": \"t\", \"skillName\": \"w\", \"data\": 1}")"#;
    let flow = |run: &str| {
        format!(
            "flow: option\nsteps:\n  - id: write\n    {run}\n  - id: deploy\n    run: [touch, deployed]\n"
        )
    };
    let outside = tempfile::tempdir().unwrap();
    let outside = outside.path().join("report.json");
    let rows = [
        ("run: 'python3 write.py --output out/report.json'".to_owned(), true),
        ("run: [bash, -c, 'python3 write.py --output out/report.json']".to_owned(), true),
        (format!("run: 'python3 write.py --output {}'", outside.display()), false),
        (format!("run: [python3, write.py, --output, '{}']", outside.display()), false),
        ("skill: other\n    run: 'python3 write.py --output out/report.json'".to_owned(), true),
    ];
    for (run, inside) in rows {
        let stage = Stage::with_flow(&flow(&run));
        stage.write("write.py", write);
        std::fs::create_dir(stage.path("out")).unwrap();
        let done = stage.expect(1, &["run", "flow.yaml"]);
        let code = if run.starts_with("skill") { "SKILL_REPORT_INVALID" } else { "SKILL_REPORTED_FAILURE" };
        assert!(done.err.contains(code), "{run}: {done:?}");
        assert!(!done.err.contains(&format!("{code}: {code}")), "the code stands once: {run}: {done:?}");
        assert!(!stage.path("deployed").exists(), "{run}");
        let events = stage.events(&stage.run_id());
        let settled = events.iter().find(|event| event["type"] == "attempt_settled").unwrap();
        let files = settled["files"].as_array().unwrap();
        let paths: Vec<_> = files.iter().filter_map(|file| file["path"].as_str()).collect();
        assert_eq!(paths, if inside { vec!["out/report.json"] } else { vec![] }, "{run}");
    }
}
