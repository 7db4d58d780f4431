//! A secret reaches its command, and is written down nowhere.

use crate::stage::{Process, Stage, wait_until};
use std::{fs, path::Path};

const FROM_ENV: &str = "hunter2-from-the-environment";
const FROM_FILE: &str = "s3cr3t-from-a-file-ÄÖ";

/// Checks the secrets' lengths, and says them everywhere that is kept.
const FLOW: &str = "flow: secret
secrets: { TOKEN: { env: MY_TOKEN }, KEY: { file: key.txt } }
steps:
  - id: leak
    artifacts: [\"out.txt\"]
    run: |
      test -n \"$TOKEN\" && test -n \"$KEY\" || exit 3
      echo \"$TOKEN and $KEY\"; echo \"err $KEY $TOKEN\" >&2
      printf 'half %s' \"${TOKEN%????}\"; sleep 0.05; printf '%s whole\\n' \"${TOKEN#${TOKEN%????}}\"
      echo '{\"ok\": true, \"generatedAt\": \"2026-01-01T00:00:00Z\", \"skillName\": \"x\", \"data\": {\"status\": \"'\"$TOKEN\"'\"}}' > $ENVOI_REPORT
      printf '%s' \"$TOKEN\" | cut -c1-3 > out.txt
  - id: fail
    run: \"echo $TOKEN; echo $KEY >&2; exit 4\"
";

fn stage() -> Stage {
    let stage = Stage::with_flow(FLOW);
    stage.write("key.txt", format!("{FROM_FILE}\n"));
    stage
}

/// No file of the store has a secret in it, whatever it is called.
fn assert_written_nowhere(folder: &Path) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            assert_written_nowhere(&path);
            continue;
        }
        let bytes = fs::read(&path).unwrap();
        for secret in [FROM_ENV, FROM_FILE] {
            let found = bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
            assert!(!found, "`{secret}` stands in {}", path.display());
        }
    }
}

#[test]
fn secrets_reach_the_command_and_stand_nowhere_in_the_store() {
    let stage = stage();
    let done =
        Process::spawn(stage.command(&["--json", "run", "flow.yaml"]).env("MY_TOKEN", FROM_ENV)).done();
    assert_eq!(done.code, Some(1), "{done:?}");
    for secret in [FROM_ENV, FROM_FILE] {
        assert!(!done.out.contains(secret) && !done.err.contains(secret), "{done:?}");
    }
    assert!(done.out.contains("\"code\":4"), "both steps had them: {done:?}");
    assert_written_nowhere(&stage.store());
    assert!(stage.expect(0, &["logs"]).out.contains("*** and ***"));
    assert!(stage.expect(0, &["show", "--events"]).out.contains("***"));
}

#[test]
fn a_missing_secret_refuses_the_start_before_anything_is_committed() {
    let stage = stage();
    let refused = stage.expect(6, &["run", "flow.yaml"]);
    assert!(refused.err.contains("SECRET_MISSING") && refused.err.contains("MY_TOKEN"), "{refused:?}");
    assert!(stage.runs().is_empty());
    fs::remove_file(stage.path("key.txt")).unwrap();
    let refused = Process::spawn(stage.command(&["run", "flow.yaml"]).env("MY_TOKEN", FROM_ENV)).done();
    assert!(refused.code == Some(6) && refused.err.contains("key.txt"), "{refused:?}");
    assert!(stage.runs().is_empty());
}

#[test]
fn a_run_that_is_handed_over_brings_its_own_secrets_and_environment() {
    let stage = Stage::with_flow(
        "flow: guest\nsecrets: { TOKEN: { env: MY_TOKEN } }\nsteps:\n  - id: a\n    run: \"echo $TOKEN $LC_TEST $NOT_ALLOWED > seen\"\n",
    );
    stage.write("hold.yaml", "flow: hold\nsteps:\n  - id: hold\n    run: \"echo x > held; while [ ! -e go ]; do sleep 0.01; done\"\n");
    let engine = stage.start(&["run", "hold.yaml"]);
    wait_until("the holder", || stage.path("held").exists());
    let mut guest = stage.command(&["run", "flow.yaml", "--share-workspace"]);
    guest.env("MY_TOKEN", FROM_ENV).env("LC_TEST", "mine").env("NOT_ALLOWED", "hidden");
    assert_eq!(Process::spawn(&mut guest).done().code, Some(0));
    assert_eq!(stage.read("seen"), format!("{FROM_ENV} mine\n"));
    assert_written_nowhere(&stage.store());
    stage.write("go", "");
    assert_eq!(engine.done().code, Some(0));
}
