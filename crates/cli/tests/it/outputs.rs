//! The required contents of a report.

use crate::stage::Stage;

#[test]
fn a_report_whose_data_is_not_what_the_step_says_fails_it_and_is_tried_again() {
    let stage = Stage::with_flow(
        r#"flow: outputs
steps:
  - id: count
    skill: counts
    outputs: { type: object, required: [n], properties: { n: { type: integer } } }
    retry: { attempts: 2, backoff: 1ms..2ms }
    run: |
      case $ENVOI_ATTEMPT in *.1) n='"many"';; *) n=3;; esac
      printf '{"ok":true,"generatedAt":"t","skillName":"counts","data":{"n":%s}}' "$n" > $ENVOI_REPORT
  - id: tell
    run: ["echo", "${{ steps.count.data.n }}"]
"#,
    );
    let told = stage.expect(0, &["run", "flow.yaml"]);
    assert!(told.err.contains("OUTPUT_INVALID: the data does not fit `outputs`: at `/n`"), "{told:?}");
    let shown = stage.json(&["--json", "show", &stage.run_id(), "--envelope"]);
    assert_eq!(shown["outputs"]["tell"]["summary"], "3");
}

/// As of a build that comes to the same twice.
#[test]
fn a_file_with_the_content_that_it_had_before_is_handed_over_and_is_no_change() {
    let stage = Stage::with_flow(
        "flow: same\nsteps:\n  - { id: build, run: 'printf same > app.bin', artifacts: [app.bin] }\n  \
         - { id: use, run: [echo, '${{ steps.build.artifacts }}'] }\n",
    );
    for changed in [1, 0] {
        stage.expect(0, &["run", "flow.yaml"]);
        let run = crate::stage::text(&stage.runs()[0]["run"]);
        let handoff = stage.json(&["show", &run, "--handoff", "build"]);
        assert_eq!(handoff["artifacts"]["app.bin"], "same/app.bin", "{handoff}");
        let changes = handoff["file_changes"]["files"].as_array().map_or(0, Vec::len);
        assert_eq!(changes, changed, "{handoff}");
        let used = stage.json(&["show", &run, "--handoff", "use"]);
        assert!(used["summary"].as_str().unwrap().contains("app.bin"), "{used}");
    }
}
