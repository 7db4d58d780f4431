//! Flows that name other flows: read from the disk once, and pinned to the run with their texts.

use crate::stage::Stage;
use std::fs;

const ROOT: &str = "
flow: outer
flows: [./parts/repair.yaml]
steps:
  - { id: draft, run: 'echo words > notes.md' }
  - { id: approve, ask: 'Publish it?' }
  - { id: publish, run: 'echo published > did.txt' }
";

const REPAIR: &str = "flow: repair\nsteps:\n  - { id: fix, run: 'true' }\n";

#[test]
fn a_run_goes_on_from_the_texts_that_it_is_pinned_to() {
    let stage = Stage::with_flow(ROOT);
    stage.write("parts/repair.yaml", REPAIR);
    stage.expect(0, &["check", "flow.yaml"]);
    stage.expect(3, &["run", "flow.yaml"]);
    fs::remove_file(stage.path("parts/repair.yaml")).unwrap();
    stage.expect(2, &["run", "flow.yaml"]);
    stage.expect(0, &["approve"]);
    assert_eq!(stage.read("did.txt"), "published\n");
}

#[test]
fn mistakes_of_a_named_file_are_shown_with_its_name() {
    let stage = Stage::with_flow(ROOT);
    stage.write("parts/repair.yaml", REPAIR.replace("run:", "rnu:"));
    let done = stage.expect(2, &["check", "flow.yaml"]);
    assert!(
        done.err.contains("parts/repair.yaml:3:") && done.err.contains("did you mean `run`?"),
        "{done:?}"
    );
    let json = stage.expect(2, &["--json", "check", "flow.yaml"]).out;
    assert!(json.contains("parts/repair.yaml"), "{json}");
    let run = stage.expect(2, &["run", "flow.yaml"]);
    assert!(run.err.contains("parts/repair.yaml:3:"), "{run:?}");
    fs::remove_file(stage.path("parts/repair.yaml")).unwrap();
    let gone = stage.expect(2, &["check", "flow.yaml"]);
    assert!(gone.err.contains("`parts/repair.yaml` cannot be read: No such file"), "{gone:?}");
    assert!(!stage.store().exists());
}

#[test]
fn a_value_that_does_not_fit_an_input_of_the_named_flow_fails_the_step() {
    let stage = Stage::with_flow(
        "flow: outer\nsteps:\n  - id: find\n    run: echo many\n  - id: build\n    flow: ./inner.yaml\n    \
         inputs: { workers: \"${{ steps.find.summary }}\" }\n",
    );
    stage.write(
        "inner.yaml",
        "flow: inner\ninputs:\n  workers: { type: integer }\nsteps:\n  - id: a\n    run: echo a >> ran\n",
    );
    let failed = stage.expect(1, &["run", "flow.yaml"]);
    assert!(failed.err.contains("INPUT_INVALID: flow `inner`: input `workers`"), "{failed:?}");
    assert!(stage.lines("ran").is_empty());
}
