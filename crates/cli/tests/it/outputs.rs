//! What a report has to hold.

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
