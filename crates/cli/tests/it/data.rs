//! Data from one step to the next, as commands really hand it over.

use crate::stage::{Stage, text};

#[test]
fn a_step_hands_over_data_on_its_stdout_in_a_file_or_in_a_report() {
    let stage = Stage::with_flow(
        r#"flow: data
steps:
  - id: out
    data: json
    outputs: { type: object, required: [n] }
    run: |
      echo '{"n": 1.00}'
  - id: file
    outputs: { type: array }
    run: echo '[2, "x"]' > "$ENVOI_DATA"; echo words
  - id: report
    run: |
      echo '{"ok": true, "data": 3}' > "$ENVOI_REPORT"
  - id: tell
    run: ["sh", "-c", "echo \"$*\" > told", "-", "${{ steps.out.data.n }}", "${{ steps.file.data[1] }}", "${{ steps.report.data }}"]
"#,
    );
    stage.expect(0, &["run", "flow.yaml"]);
    assert_eq!(stage.lines("told"), ["1.00 x 3"]);
}

#[test]
fn data_as_deep_as_a_document_may_be_leaves_a_run_that_can_be_read() {
    let stage = Stage::with_flow(
        r#"flow: deep
steps:
  - id: file
    run: python3 -c "print('{\"status\":\"VERIFIED\",\"x\":' + '[' * 126 + ']' * 126 + '}')" > "$ENVOI_DATA"
  - id: report
    run: python3 -c "print('{\"ok\":true,\"data\":' + '[' * 126 + ']' * 126 + '}')" > "$ENVOI_REPORT"
  - id: tell
    envelope: true
    run: ["sh", "-c", "cp $ENVOI_ENVELOPE seen.json"]
"#,
    );
    stage.expect(0, &["run", "flow.yaml"]);
    // A reader of the contracts takes 127 levels.
    for envelope in [stage.read("seen.json"), stage.expect(0, &["show", "--envelope"]).out] {
        let envelope = envoi_contract::json::Value::parse_str(&envelope).unwrap();
        let of = |step: &str| envelope.get("outputs").and_then(|outputs| outputs.get(step)?.get("data"));
        assert!(of("file").is_some_and(|data| data.get("$artifact").is_some()), "{envelope:?}");
        assert!(of("report").is_some_and(|data| data.get("$artifact").is_some()), "{envelope:?}");
    }
    let events = stage.expect(0, &["--json", "show", "--events"]).out;
    for event in events.lines() {
        envoi_contract::json::Value::parse_str(&format!("{{\"events\":[{event}]}}")).unwrap();
    }
}

#[test]
fn data_in_two_places_or_that_does_not_fit_fails_the_step() {
    for (step, words) in [
        ("data: json\n    run: echo 1 | tee \"$ENVOI_DATA\"", "DATA_INVALID: the step hands over data twice"),
        ("data: json\n    run: echo one", "DATA_INVALID: the data in its text (`data: json`) cannot be read"),
        (
            "run: mkdir \"$ENVOI_DATA\"",
            "DATA_INVALID: the data at `$ENVOI_DATA` cannot be read: there is a folder",
        ),
        (
            "outputs: { type: integer }\n    run: echo '\"one\"' > \"$ENVOI_DATA\"",
            "OUTPUT_INVALID: the data does not fit",
        ),
        (
            "outputs: { type: integer }\n    run: |\n      echo '{\"ok\": true, \"data\": \"one\"}' > \"$ENVOI_REPORT\"",
            "OUTPUT_INVALID: the data does not fit",
        ),
        (
            "data: json\n    outputs: { type: integer }\n    run: echo '\"one\"'",
            "OUTPUT_INVALID: the data does not fit",
        ),
        ("outputs: { type: integer }\n    run: 'true'", "OUTPUT_INVALID: the data does not fit"),
    ] {
        let stage = Stage::with_flow(&format!("flow: data\nsteps:\n  - id: a\n    {step}\n"));
        let told = stage.expect(1, &["run", "flow.yaml"]).err;
        assert!(told.contains(words), "{step}\n{told}");
    }
}

#[test]
fn secrets_in_a_data_file_are_masked() {
    let stage = Stage::with_flow(
        "flow: data\nsecrets: { KEY: { file: key } }\nsteps:\n  - id: a\n    run: |\n      printf '{\"key\": \"%s\"}' \"$KEY\" > \"$ENVOI_DATA\"\n",
    );
    stage.write("key", "correct-horse-battery");
    stage.expect(0, &["run", "flow.yaml"]);
    let run = stage.run_id();
    let settled = stage.events(&run).into_iter().find(|event| event["type"] == "attempt_settled").unwrap();
    assert_eq!(text(&settled["data"]["key"]), "***");
    assert!(!stage.expect(0, &["show", &run, "--events"]).out.contains("correct-horse"));
    let kept = stage.attempt("a.1.1").unwrap().join("data.json");
    let kept = std::fs::read_to_string(kept).unwrap();
    assert!(kept.contains("\"***\"") && !kept.contains("correct-horse"), "{kept}");
}
