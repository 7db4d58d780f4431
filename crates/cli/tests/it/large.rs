//! Steps that leave more files than an event lists: nothing is lost, nothing is cut, and an engine that dies on the way is
//! made up for.

use crate::stage::{Stage, wait_for, wait_until};
use std::{fs, path::Path};

const MANY: usize = 2500;

fn flow() -> String {
    let make = format!(
        "import os\\nos.makedirs('out', exist_ok=True)\\nfor n in range({MANY}):\\n    open(f'out/{{n:04}}', 'w').write(f'content {{n}}')\\n"
    );
    format!(
        "flow: big\nsteps:\n  - id: make\n    run: [\"python3\", \"-c\", \"{make}\"]\n    artifacts: [\"out/**\", \"dist/*\"]\n  \
         - id: count\n    run: [\"sh\", \"-c\", \"find \\\"$ENVOI_RUN_BASE/big/out\\\" -type f | wc -l\"]\n"
    )
}

/// How many files lie in `folder`; none if it is not there.
fn count(folder: &Path) -> usize {
    fs::read_dir(folder).map_or(0, Iterator::count)
}

#[test]
fn many_artifacts_are_a_manifest_and_lie_in_their_places_before_the_next_step() {
    let stage = Stage::with_flow(&flow());
    let done = stage.expect(0, &["run", "flow.yaml"]);
    assert!(done.err.contains("no file matches `artifacts: dist/*`"), "{done:?}");
    let run = stage.run_id();
    let handoff: serde_json::Value =
        serde_json::from_str(&stage.read(&format!(".envoi/runs/{run}/big/handoff/make.json"))).unwrap();
    assert_eq!(handoff["artifacts"], serde_json::json!({"manifest": "big/make.files.json"}));
    assert_eq!(handoff["file_changes"]["total"], MANY);
    let count = stage.expect(0, &["show", "--handoff", "count", "--json"]).out;
    assert!(count.contains(&MANY.to_string()), "{count}");
    let list: serde_json::Value =
        serde_json::from_str(&stage.read(&format!(".envoi/runs/{run}/big/make.files.json"))).unwrap();
    assert_eq!(list["files"].as_array().unwrap().len(), MANY);
    assert_eq!(stage.read(&format!(".envoi/runs/{run}/big/out/2499")), "content 2499");
    // What was lost is made again from the store, and nothing else is found wrong.
    fs::remove_file(stage.path(&format!(".envoi/runs/{run}/big/out/0007"))).unwrap();
    fs::remove_file(stage.path(&format!(".envoi/runs/{run}/big/make.files.json"))).unwrap();
    stage.expect(0, &["repair"]);
    assert_eq!(stage.read(&format!(".envoi/runs/{run}/big/out/0007")), "content 7");
    assert_eq!(stage.read(&format!(".envoi/runs/{run}/big/make.files.json")).lines().count(), MANY + 2);
    assert!(stage.expect(0, &["repair"]).out.contains("everything was as it should be"));
}

#[test]
fn an_engine_that_dies_while_a_large_set_is_settled_or_placed_is_made_up_for() {
    // Ends it as soon as the attempt is settled, then as soon as some files are in their places.
    for placed in [false, true] {
        let stage = Stage::with_flow(&flow());
        let engine = stage.start(&["run", "flow.yaml"]);
        let base = wait_for("the run's folder", || {
            Some(fs::read_dir(stage.path(".envoi/runs")).ok()?.flatten().next()?.path())
        });
        wait_until("the moment", || match placed {
            true => count(&base.join("big/out")) > 10,
            false => base.join("attempts/make.1.1/exit.json").exists(),
        });
        engine.kill();
        stage.expect(0, &["resume"]);
        assert_eq!(count(&base.join("big/out")), MANY, "{placed}");
        assert!(stage.expect(0, &["repair"]).out.contains("everything was as it should be"), "{placed}");
        assert_eq!(fs::read_to_string(base.join("big/out/1234")).unwrap(), "content 1234");
    }
}

/// One step makes many files, and puts a file where they belong; what follows it, if anything, comes behind it.
fn in_the_way(then: &str) -> String {
    let blocked = "], artifacts: [\"out/**\"] }";
    let make = format!(
        "import os, pathlib, shutil\\nos.makedirs('out', exist_ok=True)\\nfor n in range({MANY}):\\n    \
         open(f'out/{{n:04}}', 'w').write(f'content {{n}}')\\nbase = pathlib.Path(os.environ['ENVOI_RUN_BASE'], 'big')\\n\
         shutil.rmtree(base, ignore_errors=True)\\nbase.write_text('in the way')\\n"
    );
    format!("flow: big\nsteps:\n  - {{ id: make, run: [\"python3\", \"-c\", \"{make}\"{blocked}\n{then}")
}

#[test]
fn a_run_whose_large_set_cannot_be_placed_is_set_aside_though_no_attempt_waits_for_it() {
    let asks = "  - { id: sure, ask: { message: Go on? } }\n";
    for (then, code) in [("", 0), (asks, 3)] {
        let stage = Stage::with_flow(&in_the_way(then));
        let done = stage.expect(8, &["run", "flow.yaml"]);
        assert!(done.out.contains("set_aside") && done.err.contains("RUN_FILES_FAILED"), "{done:?}");
        let run = stage.run_id();
        assert_eq!(stage.runs()[0]["set_aside"]["code"], "RUN_FILES_FAILED");
        stage.expect(8, &["resume", &run]);
        let base = stage.path(&format!(".envoi/runs/{run}/big"));
        fs::remove_file(&base).unwrap();
        stage.expect(code, &["resume", &run]);
        assert_eq!(count(&base.join("out")), MANY);
        assert_eq!(stage.runs()[0]["set_aside"], serde_json::Value::Null);
        assert!(stage.expect(0, &["repair"]).out.contains("everything was as it should be"));
    }
}

#[test]
fn an_expression_over_artifacts_that_a_manifest_has_fails_and_says_why() {
    let flow = flow().replace("\"sh\", \"-c\"", "\"echo\", \"${{ steps.make.artifacts }}\", \"-c\"");
    let stage = Stage::with_flow(&flow);
    let done = stage.expect(1, &["run", "flow.yaml"]);
    assert!(done.err.contains("VALUE_TOO_LARGE") && done.err.contains("make.files.json"), "{done:?}");
}
