//! Flow files of another dialect: imported, checked, and one of them run to its end.

use crate::stage::{Stage, text};
use serde_json::Value;

const RELEASE: &str = include_str!("../../../flow/tests/import/release.yaml");
const INCIDENT: &str = include_str!("../../../flow/tests/import/incident.yaml");
const TRANSLATE: &str = include_str!("../../../flow/tests/import/translate.yaml");

/// Answers as the prompt of each step asks it to: notes are reviewed twice, installed at once, and shipped at the second gate.
const AGENT: &str = r#"
agent=$1; step=$2; prompt=$3
echo "$agent $step" >> did
printf '%s' "$prompt" > "prompt.$step"
visits=$(grep -c " $step\$" did)
says() { case $prompt in *"$1"*) echo "$1";; *) echo "the prompt of $step does not ask for: $1" >&2; exit 1;; esac; }
echo "this is $step"
case $step.$visits in
  review_notes.1) says 'Status: UNVERIFIED';;
  review_notes.*) says 'Status: VERIFIED';;
  try_out.*) says 'Status: INSTALLED';;
  gate.1) says "Go to step 'write_notes'";;
  gate.*) says "Go to step 'publish'";;
esac
"#;

#[test]
fn an_imported_flow_runs_through_its_loop_and_its_branch_to_its_end() {
    let stage = Stage::new();
    stage.write("release.yaml", RELEASE);
    stage.write("agent.sh", AGENT);
    let command = "sh agent.sh {agent} {step} {prompt}";
    let imported = stage.expect(0, &["import", "release.yaml", "--command", command]);
    stage.write("flow.yaml", &imported.out);
    stage.expect(0, &["check", "flow.yaml"]);
    stage.expect(0, &["run", "flow.yaml"]);
    let review = ["notes-author write_notes", "notes-critic review_notes"];
    let gate = ["packager package", "installer try_out", "gatekeeper gate"];
    let expected = [
        &["history-reader collect", "editor sort"][..],
        &review,
        &review,
        &gate,
        &review,
        &gate,
        &["publisher publish", "scribe announce"],
    ];
    assert_eq!(stage.lines("did"), expected.concat());
    let prompt = stage.read("prompt.package");
    assert!(
        prompt.contains(
            "In CI the version is `${{ github.ref_name }}`; write it as \"v1.2.3\", not 'latest'.\n"
        ),
        "{prompt}"
    );
}

#[test]
fn the_flow_goes_to_stdout_and_the_report_to_stderr() {
    let stage = Stage::new();
    stage.write("release.yaml", RELEASE);
    let done = stage.expect(0, &["import", "release.yaml"]);
    assert!(done.out.starts_with("# Made by `envoi import` from release.yaml.\n"), "{done:?}");
    assert!(done.err.contains("release.yaml:119:1: `cross_cutting`: clarifier, risk-reader: not carried: "));
    assert!(
        done.err
            .ends_with("release.yaml: flow `release`, 10 steps; 6 converted with changes, 1 not converted\n")
    );
    assert_eq!(stage.expect(0, &["import", "release.yaml"]).out, done.out, "the same bytes");
    let json = stage.expect(0, &["--json", "import", "release.yaml"]);
    assert_eq!(json.out, done.out);
    let report: Value = serde_json::from_str(&json.err).unwrap();
    let last = report.as_array().unwrap().last().unwrap();
    let expected = serde_json::json!({
        "file": "release.yaml", "line": 119, "column": 1, "what": "`cross_cutting`: clarifier, risk-reader",
        "carried_as": null, "reason": "a flow runs its steps and nothing beside them",
    });
    assert_eq!(last, &expected);
    assert!(!stage.store().exists(), "importing makes no store");
}

#[test]
fn several_files_go_into_a_folder_and_nothing_is_overwritten() {
    let stage = Stage::new();
    stage.write("in/release.yaml", RELEASE);
    stage.write("in/incident.yaml", INCIDENT);
    stage.write("in/translate.yaml", TRANSLATE);
    let files = ["in/release.yaml", "in/incident.yaml", "in/translate.yaml"];
    let import = |more: &[&'static str]| [&["import"], &files[..], more].concat();
    assert!(stage.expect(2, &import(&[])).err.contains("OUTPUT_NEEDED"));
    let done = stage.expect(0, &import(&["--output", "out"]));
    assert_eq!(done.out, "");
    let flows = ["out/release.yaml", "out/incident-triage.yaml", "out/translate.yaml"];
    stage.expect(0, &[&["check"], &flows[..]].concat());
    stage.write("out/release.yaml", "mine");
    std::fs::remove_file(stage.path("out/translate.yaml")).unwrap();
    assert!(stage.expect(2, &import(&["--output", "out"])).err.contains("FILE_EXISTS"));
    assert_eq!(stage.read("out/release.yaml"), "mine");
    assert!(!stage.path("out/translate.yaml").exists(), "all or nothing");
    let list = stage.expect(0, &[&["--json"], &import(&["--output", "out", "--force"])[..]].concat());
    let list: Value = serde_json::from_str(&list.out).unwrap();
    let of = |file: &str| list.as_array().unwrap().iter().filter(|found| found["file"] == file).count();
    assert!(files.iter().all(|file| of(file) > 5), "{list:#}");
    stage.expect(0, &[&["check"], &flows[..]].concat());
    let twice = stage.expect(2, &["import", files[0], files[0], "--output", "twice"]);
    assert!(twice.err.contains("FILE_EXISTS") && !stage.path("twice").exists(), "{twice:?}");
}

#[test]
fn what_is_refused_writes_nothing_and_says_why() {
    let stage = Stage::new();
    stage.write("release.yaml", RELEASE);
    stage.write("broken.yaml", "key: b\nsteps:\n  - id: a\n    routing: { kind: linear, next: aa }\n");
    stage.write("plain.yaml", "key: p\nsteps:\n  - id: a\n    agents: [b]\n    role: x\n");
    stage.write("bytes.yaml", b"key: \xff");
    let strict = stage.expect(6, &["import", "--strict", "release.yaml", "--output", "out"]);
    assert!(strict.err.contains("IMPORT_INCOMPLETE") && strict.err.contains(":119:1: "), "{strict:?}");
    assert_eq!(stage.expect(6, &["import", "--strict", "release.yaml"]).out, "");
    assert!(stage.expect(0, &["import", "--strict", "plain.yaml"]).out.contains("flow: p\n"));
    let mistake = stage.expect(2, &["import", "plain.yaml", "broken.yaml", "--output", "out"]);
    assert!(
        mistake.err.contains("IMPORT_INVALID") && mistake.err.contains("broken.yaml:4:36"),
        "{mistake:?}"
    );
    let list = stage.expect(2, &["--json", "import", "broken.yaml"]);
    let list: Value = serde_json::from_str(&list.out).unwrap();
    assert_eq!((text(&list[0]["code"]).as_str(), &list[0]["line"]), ("IMPORT_INVALID", &Value::from(4)));
    for (file, code) in [("missing.yaml", "FILE_UNREADABLE"), ("bytes.yaml", "FLOW_SYNTAX")] {
        assert!(stage.expect(2, &["import", file]).err.contains(code), "{file}");
    }
    let command = stage.expect(2, &["import", "plain.yaml", "--command", "claude -p {promt}"]);
    assert!(command.err.contains("COMMAND_INVALID") && command.err.contains("{promt}"), "{command:?}");
    assert!(!stage.path("out").exists());
}
