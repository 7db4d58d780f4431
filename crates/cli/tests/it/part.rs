//! A run does a part of its flow, with the hand-offs of an earlier run for the rest.

use crate::stage::{Stage, text};
use serde_json::{Value, json};

/// `build` leaves a file, data and a report's worth of words; a person approves; `publish` uses what `build` left.
const FLOW: &str = "\
flow: ship
steps:
  - id: build
    run: |
      echo built >> ledger
      mkdir -p out && echo binary > out/app
      echo '{\"version\": \"1.4\"}'
    data: json
    artifacts: [\"out/*\"]
  - id: sign
    ask: { message: Sign it? }
  - id: publish
    run: |
      echo \"published ${{ steps.build.data.version }}\" >> ledger
      cat \"$ENVOI_RUN_BASE/${{ steps.build.artifacts['out/app'] }}\" >> ledger
      sed -n 's/.*\"step_id\": //p' \"$ENVOI_HANDOFF\" >> ledger
  - id: tell
    run: echo told >> ledger
";

/// A whole run that was approved.
fn whole() -> (Stage, String) {
    let stage = Stage::with_flow(FLOW);
    stage.expect(0, &["run", "flow.yaml", "--yes-to", "sign"]);
    let run = stage.run_id();
    stage.write("ledger", "");
    (stage, run)
}

fn newest(stage: &Stage) -> String {
    text(&runs(stage)[0]["run"])
}

fn runs(stage: &Stage) -> Vec<Value> {
    let rows: Value = serde_json::from_str(&stage.expect(0, &["--json", "runs"]).out).unwrap();
    rows.as_array().unwrap().clone()
}

#[test]
fn a_part_takes_what_it_needs_from_an_earlier_run_and_nothing_else_runs() {
    let (stage, earlier) = whole();
    let done = stage.expect(0, &["run", "flow.yaml", "--only", "publish", "--with", &earlier]);
    assert!(
        done.err.contains(&format!("part: --only publish (taken from {earlier}: build, sign)")),
        "{done:?}"
    );
    assert!(done.err.contains("the question of `sign` is not asked: left out of the part"), "{done:?}");
    assert_eq!(stage.lines("ledger"), ["published 1.4", "binary", "\"sign\","]);
    let run = newest(&stage);
    let shown = stage.expect(0, &["show", &run]).out;
    assert!(shown.contains("part       --only publish (taken from"), "{shown}");
    assert!(shown.contains("the question of `sign` is not asked: left out by "), "{shown}");
    let part = json!({"only": ["publish"], "from": null, "until": null, "skip": [], "with": earlier});
    let rows = runs(&stage);
    assert_eq!((&rows[0]["part"], &rows[1]["part"]), (&part, &Value::Null));
    assert_eq!(stage.json(&["--json", "show", &run])["part"], part);
    let why = stage.expect(0, &["why", &run]).out;
    assert!(
        why.contains("a part of the flow, chosen by ") && why.contains("Taken from visit build.1"),
        "{why}"
    );
    let handoff: Value =
        serde_json::from_str(&stage.expect(0, &["show", &run, "--handoff", "build"]).out).unwrap();
    assert_eq!(handoff["routing_audit"]["taken_from"]["run"], earlier.as_str());
    assert_eq!((text(&handoff["run_id"]), text(&handoff["status"])), (run.clone(), "succeeded".to_owned()));
    let envelope: Value = serde_json::from_str(&stage.expect(0, &["show", &run, "--envelope"]).out).unwrap();
    assert_eq!(envelope["outputs"]["build"]["data"]["version"], "1.4");
    assert_eq!(envelope["processing_history"].as_array().unwrap().len(), 1);
    stage.expect(0, &["repair"]);
    stage.expect(0, &["doctor"]);
    // From a step on, and up to one.
    stage.expect(0, &["run", "flow.yaml", "--from", "publish", "--with", &earlier]);
    assert_eq!(stage.lines("ledger")[3..], ["published 1.4", "binary", "\"sign\",", "told"]);
    stage.expect(0, &["run", "flow.yaml", "--from", "publish", "--until", "publish", "--with", &earlier]);
    assert_eq!(stage.lines("ledger")[7..], ["published 1.4", "binary", "\"sign\","]);
    stage.write("ledger", "published 1.4\nbinary\n\"sign\",\n");
    // A part of a part: its taken hand-off is taken again.
    stage.expect(0, &["run", "flow.yaml", "--only", "publish", "--with", &run]);
    assert_eq!(stage.lines("ledger").len(), 6);
}

#[test]
fn what_is_missing_is_asked_for_with_its_line_and_nothing_begins() {
    let (stage, earlier) = whole();
    let refused = stage.expect(2, &["run", "flow.yaml", "--only", "publish"]).err;
    assert!(refused.contains("PART_INCOMPLETE") && refused.contains("--with RUN"), "{refused}");
    assert!(refused.contains("line 14: step `publish` reads `steps.build.data.version`"), "{refused}");
    assert!(
        refused.contains("line 15: step `publish` reads `steps.build.artifacts['out/app']`"),
        "{refused}"
    );
    // The data of the earlier run is not what the step hands over now.
    let outputs = "    outputs: { type: object, required: [number] }\n    artifacts:";
    stage.write("stricter.yaml", FLOW.replacen("    artifacts:", outputs, 1));
    let refused = stage.expect(2, &["run", "stricter.yaml", "--from", "publish", "--with", &earlier]).err;
    assert!(refused.contains("the data does not fit `outputs`"), "{refused}");
    stage.write(
        "other.yaml",
        "flow: other\nsteps:\n  - { id: a, run: [\"true\"] }\n  - { id: b, run: [\"true\"] }\n",
    );
    let refused = stage.expect(2, &["run", "other.yaml", "--only", "b", "--with", &earlier]).err;
    assert!(refused.contains("is of flow `ship`, and this is flow `other`"), "{refused}");
    for (arguments, said) in [
        (&["--only", "pubish"][..], "did you mean `publish`?"),
        (&["--only", "build.compile"], "`build` stands for all that its flow does"),
        (&["--from", "tell", "--until", "build"], "nothing is left to run"),
        (&["--with", "run_nowhere", "--only", "tell"], "run_nowhere"),
        (&["--with", &earlier], "required"),
        (&["--only", "tell", "--skip", "build"], "cannot be used with"),
    ] {
        let refused = stage.expect(2, &[&["run", "flow.yaml"], arguments].concat()).err;
        assert!(refused.contains(said), "{arguments:?}: {refused}");
    }
    assert_eq!(runs(&stage).len(), 1, "no run was started");
}

#[test]
fn a_step_is_left_out_and_a_default_stands_for_it() {
    let stage = Stage::with_flow(
        "flow: f\nsteps:\n  - { id: a, run: echo a >> ledger, data: json }\n  - id: b\n    if: success()\n    run: echo ${{ \
         steps.a.data.version | default('dev') }} ${{ steps.a.status }} >> ledger\n  - { id: c, run: echo c >> ledger }\n",
    );
    stage.expect(0, &["run", "flow.yaml", "--skip", "a", "--until", "b"]);
    assert_eq!(stage.lines("ledger"), ["dev skipped"]);
}
