//! A flow file's mistakes, all at once and each at its place.

use crate::stage::Stage;

const SEVEN: &str = "flow: Seven Mistakes
inputs:
  package: { type: strin }
limits: { iterations: lots }
steps:
  - id: build
    rum: make
  - id: test
    run: [\"make\", \"${{ inputs.pakage }}\"]
    timeout: soon
  - id: TEST
    run: make
    routing: { kind: microloop, loop_to: biuld, success_values: [OK] }
";

/// Line of each mistake, and a word that its message has.
const PLACES: [(u64, &str); 8] = [
    (1, "Seven Mistakes"),
    (3, "strin"),
    (4, "lots"),
    (7, "rum"),
    (9, "pakage"),
    (10, "soon"),
    (11, "TEST"),
    (13, "biuld"),
];

#[test]
fn a_flow_file_with_many_mistakes_shows_them_all_at_their_places() {
    let stage = Stage::with_flow(SEVEN);
    let done = stage.expect(2, &["check", "flow.yaml"]);
    assert_eq!(done.out, "");
    for (line, word) in PLACES {
        let place = format!("flow.yaml:{line}:");
        let near = done
            .err
            .find(&place)
            .map(|at| done.err[at.saturating_sub(300)..].chars().take(600).collect::<String>());
        assert!(near.is_some_and(|near| near.contains(word)), "{place} {word}:\n{}", done.err);
    }
    let json: serde_json::Value =
        serde_json::from_str(&stage.expect(2, &["--json", "check", "flow.yaml"]).out).unwrap();
    let found: Vec<_> = json.as_array().unwrap().iter().collect();
    for (line, word) in PLACES {
        let told = found.iter().any(|found| {
            found["line"] == line && found["column"].as_u64() > Some(0) && found.to_string().contains(word)
        });
        assert!(told, "{line} {word}: {json:#}");
    }
    assert!(found.len() >= 7);
    // `run` reports the same, and starts nothing.
    let refused = stage.expect(2, &["run", "flow.yaml"]);
    assert!(refused.err.contains("flow.yaml:13:") && refused.err.contains("FLOW_INVALID"), "{refused:?}");
    assert!(!stage.store().exists());
}

#[test]
fn a_key_that_is_not_built_yet_is_refused_and_not_ignored() {
    let stage = Stage::with_flow("flow: early\nsteps:\n  - id: a\n    http: { url: x }\n");
    let done = stage.expect(2, &["--json", "check", "flow.yaml"]);
    assert!(done.out.contains("NOT_YET_SUPPORTED"), "{done:?}");
}

#[test]
fn every_example_passes() {
    let examples = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let stage = Stage::new();
    let mut checked = 0;
    for entry in std::fs::read_dir(examples).unwrap().flatten() {
        let flow = entry.path().join("flow.yaml");
        if flow.exists() {
            stage.expect(0, &["check", flow.to_str().unwrap()]);
            checked += 1;
        }
    }
    assert!(checked >= 3, "{checked} examples");
    stage.expect(0, &["init", "here"]);
    stage.expect(0, &["check", "here/flow.yaml"]);
    assert!(!stage.store().exists(), "checking makes no store");
}

#[test]
fn a_pipe_or_a_huge_file_in_the_place_of_a_file_is_refused_and_a_pipe_that_was_given_is_read() {
    let stage = Stage::with_flow("flow: one\nsteps:\n  - { id: a, run: ./inner.yaml }\n");
    let pipe = stage.path("pipe.yaml");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    for arguments in [
        vec!["check", "pipe.yaml"],
        vec!["run", "pipe.yaml"],
        vec!["plan", "pipe.yaml"],
        vec!["route", "pipe.yaml"],
        vec!["import", "pipe.yaml"],
        vec!["verify", "pipe.yaml"],
        vec!["run", "flow.yaml", "--inputs-file", "pipe.yaml"],
    ] {
        let refused = stage.expect(2, &arguments);
        assert!(refused.err.contains("it is no regular file"), "{refused:?}");
    }
    stage.write("outer.yaml", "flow: outer\nsteps:\n  - { id: a, flow: ./pipe.yaml }\n");
    let refused = stage.expect(2, &["check", "outer.yaml"]);
    assert!(refused.err.contains("it is no regular file"), "{refused:?}");
    let large = std::fs::File::create(stage.path("large.yaml")).unwrap();
    large.set_len(64 * 1024 * 1024).unwrap();
    stage.write("outer.yaml", "flow: outer\nsteps:\n  - { id: a, flow: ./large.yaml }\n");
    stage.write("fails.yaml", "flow: fails\nsteps:\n  - { id: a, run: 'false' }\n");
    stage.expect(1, &["run", "fails.yaml"]);
    for arguments in [
        vec!["check", "large.yaml"],
        vec!["check", "outer.yaml"],
        vec!["run", "large.yaml"],
        vec!["plan", "large.yaml"],
        vec!["backtest", "large.yaml"],
        vec!["import", "large.yaml"],
        vec!["resume", "--flow", "large.yaml", "--yes"],
        vec!["fork", "--flow", "large.yaml"],
        vec!["handoff", "large.yaml"],
    ] {
        let refused = stage.expect(2, &arguments);
        assert!(refused.err.contains("it has more than 32 MiB"), "{refused:?}");
    }
    let given = stage.filter(&["route", "/dev/stdin"], b"Handoff text: done");
    assert_eq!(given.code, Some(0), "{given:?}");
}
