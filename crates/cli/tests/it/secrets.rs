//! A secret reaches its command, and is written down nowhere.

mod models;
mod programs;
mod served;

use crate::stage::{Done, Process, Stage, lives, signal, text, wait_until};
use rustix::process::Signal;
use std::{
    fs,
    os::unix::{fs::MetadataExt as _, process::CommandExt as _},
    path::Path,
    process::Command,
};

const FROM_ENV: &str = "hunter2-from-the-environment";
const FROM_FILE: &str = "s3cr3t-from-a-file-ÄÖ";

/// Checks the secrets' lengths, and prints them everywhere that is kept.
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

/// No file of the store has a secret in it, no matter what its name is.
fn assert_written_nowhere(folder: &Path) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            assert_written_nowhere(&path);
            continue;
        }
        let bytes = match fs::read_link(&path) {
            Ok(target) => target.into_os_string().into_encoded_bytes(),
            Err(_) => fs::read(&path).unwrap(),
        };
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

/// A restore and an apply name files, and a name holds the secret.
#[test]
fn a_secret_in_the_name_of_a_file_stands_in_no_event_and_no_message_of_a_restore_or_apply() {
    let flow = "flow: named
workspace: work
secrets: { TOKEN: { env: MY_TOKEN } }
steps:
  - { id: one, run: 'echo one > kept; echo run > \"edited-$TOKEN\"; truncate -s 65M \"large-$TOKEN.bin\"' }
  - { id: two, run: 'echo two > kept; truncate -s 66M \"large-$TOKEN.bin\"' }
";
    let with_token = |stage: &Stage, arguments: &[&str]| {
        Process::spawn(stage.command(arguments).env("MY_TOKEN", FROM_ENV)).done()
    };
    let none_in = |text: &str| assert!(!text.contains(FROM_ENV), "{text}");
    let left = |stage: &Stage, run: &str| {
        let events = stage.events(run).into_iter();
        events
            .filter(|event| event["type"] == "files_restored")
            .map(|event| event["left"][0].clone())
            .collect()
    };

    let stage = Stage::with_flow(flow);
    fs::create_dir(stage.path("work")).unwrap();
    assert_eq!(with_token(&stage, &["run", "flow.yaml", "--keep-files"]).code, Some(0));
    let run = stage.run_id();
    let done = with_token(&stage, &["restore", &run, "--at", "one", "--here"]);
    assert!(done.code == Some(0) && done.err.contains("`large-***.bin` is as it was"), "{done:?}");
    // If the secret is not at hand, nothing can be masked: the event has no name then.
    stage.expect(0, &["restore", &run, "--undo"]);
    stage.expect(0, &["restore", &run, "--at", "one", "--here"]);
    let names: Vec<serde_json::Value> = left(&stage, &run);
    let unknown = "(a name that cannot be masked: a secret of the flow is not at hand)";
    assert_eq!(
        names,
        [serde_json::json!("large-***.bin"), serde_json::json!(null), serde_json::json!(unknown)]
    );
    let into = with_token(&stage, &["restore", &run, "--at", "one", "--into", "there"]);
    assert!(into.code == Some(0) && into.err.contains("`large-***.bin` is not kept"), "{into:?}");
    let shown = stage.expect(0, &["show", &run, "--events"]);
    // Files that are laid aside keep their names, for their owner alone.
    let asides: Vec<_> = fs::read_dir(stage.store().join("files/aside")).unwrap().flatten().collect();
    let laid = asides.iter().flat_map(|place| fs::read_dir(place.path()).unwrap().flatten());
    let modes: Vec<u32> = laid.map(|laid| laid.metadata().unwrap().mode() & 0o777).collect();
    assert!(!modes.is_empty() && modes.iter().all(|mode| *mode == 0o700), "{modes:?}");
    [&done.out, &done.err, &into.out, &into.err, &shown.out].into_iter().for_each(|text| none_in(text));

    let stage = Stage::with_flow(flow);
    stage.write(&format!("work/edited-{FROM_ENV}"), "zero\n");
    assert_eq!(with_token(&stage, &["run", "flow.yaml", "--isolate"]).code, Some(0));
    stage.write(&format!("work/edited-{FROM_ENV}"), "other\n");
    let done = with_token(&stage, &["apply", &stage.run_id()]);
    assert!(done.code != Some(0) && done.err.contains("both sides changed `edited-***`"), "{done:?}");
    none_in(&done.err);
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

/// Steps that leave a secret in their attempt's folder elsewhere than in its two files.
const STRAYS: &str = r#"flow: strays
secrets: { TOKEN: { env: MY_TOKEN } }
steps:
  - id: folder
    run: 'mkdir -p "$ENVOI_OUTPUT" && echo "token=$TOKEN" > "$ENVOI_OUTPUT/result.txt" && echo said'
  - id: report
    run: 'mkdir "$ENVOI_REPORT" && echo "$TOKEN" > "$ENVOI_REPORT/x" && ln -s "$TOKEN" "$ENVOI_REPORT.link"'
    continue_on_error: true
  - id: cut
    timeout: 5s
    run: 'echo "{\"ok\": \"$TOKEN\"}" > "$ENVOI_REPORT.tmp" && exec sleep 600'
    continue_on_error: true
  - id: lost
    on_in_doubt: ask
    run: 'mkdir "$ENVOI_OUTPUT" && echo "$TOKEN" | tee "$ENVOI_OUTPUT/x" > "$ENVOI_REPORT.tmp" && kill -9 $PPID && exec sleep 600'
"#;

#[test]
fn what_a_step_leaves_beside_its_output_and_report_keeps_no_secret() {
    let stage = Stage::with_flow(STRAYS);
    let asked = Process::spawn(stage.command(&["run", "flow.yaml"]).env("MY_TOKEN", FROM_ENV)).done();
    assert_eq!(asked.code, Some(5), "the supervisor of `lost` is gone: {asked:?}");
    assert_written_nowhere(&stage.store());
    let run = stage.run_id();
    let shown = stage.envoi(&["show", &run]);
    let removed = "a folder stood at `$ENVOI_OUTPUT`; it was removed: it could hold a secret";
    assert!(shown.out.contains(&format!("folder.1.1: {removed}")), "{shown:?}");
    assert!(shown.out.contains("report.1.1: a folder stood at `$ENVOI_REPORT`; it was removed"), "{shown:?}");
    assert!(shown.out.contains("a symbolic link stood at `report.json.link`; it was removed"), "{shown:?}");
    let attempts = stage.path(&format!(".envoi/runs/{run}/attempts"));
    let kept = |path: &str| fs::read_to_string(attempts.join(path)).unwrap();
    assert_eq!(kept("folder.1.1/stdout"), "said\n");
    assert_eq!(kept("cut.1.1/report.json.tmp"), "{\"ok\": \"***\"}\n");
    assert_eq!(kept("lost.1.1/report.json.tmp"), "***\n");
    let events = stage.events(&run);
    let doubt = events.iter().find(|event| !event["outcome"]["in_doubt"].is_null()).unwrap();
    assert!(doubt.to_string().contains(removed), "{doubt}");
}

/// Steps that write a secret under the names that the engine uses itself, and into the run's folder.
const OWN_NAMES: &str = r#"flow: own
secrets: { TOKEN: { env: MY_TOKEN } }
steps:
  - id: names
    continue_on_error: true
    run: 'cd "$(dirname "$ENVOI_REPORT")"; for name in stdout stderr supervisor.log before.json started.json text; do
      printf "%s" "$TOKEN" > $name; done; printf "%s" "$TOKEN" >> lock; exit 3'
  - id: links
    run: 'cd "$(dirname "$ENVOI_REPORT")"; for name in stdout stderr supervisor.log before.json started.json text; do
      ln -sf "$TOKEN" $name; done; echo said'
  - id: base
    artifacts: [made.txt]
    run: 'echo "$TOKEN" | tee $ENVOI_RUN_BASE/state.txt $ENVOI_RUN_BASE/own/x $ENVOI_RUN_BASE/attempts/names.1.1/stderr made.txt > /dev/null;
      echo "$TOKEN" >> $ENVOI_RUN_BASE/starts.log; echo fine > $ENVOI_RUN_BASE/fine.txt; mkdir -p $ENVOI_RUN_BASE/answers/x;
      for key in key own/key answers/x/answer.json; do (umask 377; echo "key $TOKEN" > $ENVOI_RUN_BASE/$key); done'
  - id: after
    run: 'cat $ENVOI_RUN_BASE/state.txt $ENVOI_RUN_BASE/fine.txt; test "$(cat $ENVOI_RUN_BASE/own/made.txt)" = "$TOKEN"'
  - id: lost
    on_in_doubt: ask
    run: 'cd "$(dirname "$ENVOI_REPORT")"; for name in stdout stderr stdout.ring supervisor.log before.json text exit.json; do
      printf "%s" "$TOKEN" > $name; done; mkdir files; echo "$TOKEN" > files/x; echo "$TOKEN" > $ENVOI_RUN_BASE/late.txt;
      (umask 377; echo "late $TOKEN" > $ENVOI_RUN_BASE/own/late.key);
      kill -9 $PPID && exec sleep 600'
"#;

#[test]
fn a_secret_under_a_name_of_the_engines_or_in_the_runs_folder_is_masked() {
    let stage = Stage::with_flow(OWN_NAMES);
    let asked = Process::spawn(stage.command(&["run", "flow.yaml"]).env("MY_TOKEN", FROM_ENV)).done();
    assert_eq!(asked.code, Some(5), "the supervisor of `lost` is gone: {asked:?}");
    let run = stage.run_id();
    let base = stage.path(&format!(".envoi/runs/{run}"));
    let read = |path: &str| fs::read_to_string(base.join(path)).unwrap();
    assert_eq!(read("own/made.txt"), format!("{FROM_ENV}\n"), "an artifact is kept byte for byte");
    let copy = base.join("attempts/base.1.1/files/made.txt");
    for artifact in [base.join("own/made.txt"), copy] {
        fs::remove_file(artifact).unwrap();
    }
    assert_not_in_files_of(&base);
    for key in ["key", "own/key", "answers/x/answer.json"] {
        assert_eq!(read(key), "key ***\n", "a step has closed it to writing, and not the engine");
    }
    let logs = stage.envoi(&["logs", &run]);
    assert!(!logs.out.contains(FROM_ENV) && logs.out.contains("after.1.1 | ***"), "{logs:?}");
    assert!(logs.out.contains("after.1.1 | fine"), "{logs:?}");
    let exit: serde_json::Value = serde_json::from_str(&read("attempts/names.1.1/exit.json")).unwrap();
    let (total, kept) = (&exit["stderr"]["total_bytes"], &exit["stderr"]["file"]["bytes"]);
    assert_eq!((total.as_u64().unwrap(), kept.as_u64().unwrap()), (FROM_ENV.len() as u64, 3), "{exit}");
    let shown = stage.envoi(&["show", &run]).out;
    for note in [
        "the command wrote to `stderr` itself: a secret in it was masked",
        "a symbolic link stood at `stderr`; an empty file is in its place: it could hold a secret",
        "a secret in `$ENVOI_RUN_BASE/state.txt` was masked",
        "a secret in `$ENVOI_RUN_BASE/attempts/names.1.1/stderr` was masked",
        "a secret in `$ENVOI_RUN_BASE/starts.log` was masked",
        "a secret in `$ENVOI_RUN_BASE/own/key` was masked",
    ] {
        assert!(shown.contains(note), "{note}: {shown}");
    }
    let doubt = stage.events(&run).into_iter().find(|event| !event["outcome"]["in_doubt"].is_null()).unwrap();
    for late in ["late.txt", "own/late.key"] {
        let note = format!("a secret in `$ENVOI_RUN_BASE/{late}` was masked");
        assert!(doubt.to_string().contains(&note), "{doubt}");
    }
}

/// Neither a file of this folder, nor a name, nor the target of a link has the secret in it.
fn assert_not_in_files_of(folder: &Path) {
    for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap()) {
        let (path, kind) = (entry.path(), entry.file_type().unwrap());
        let content = if kind.is_dir() {
            assert_not_in_files_of(&path);
            Vec::new()
        } else if kind.is_symlink() {
            fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes()
        } else {
            fs::read(&path).unwrap()
        };
        let text = format!("{} {}", path.display(), String::from_utf8_lossy(&content));
        assert!(!text.contains(FROM_ENV), "{text}");
    }
}

/// A command that writes a secret everywhere, and then outlives its supervisor and its engine.
const ROTATES: &str = r#"flow: rotates
secrets: { TOKEN: { env: MY_TOKEN }, KEY: { file: key.txt } }
steps:
  - id: work
    on_in_doubt: POLICY
    run: 'echo "out $TOKEN" > $ENVOI_OUTPUT; echo "{\"ok\": true, \"data\": \"$TOKEN $KEY\"}" > $ENVOI_REPORT; echo "$TOKEN" > $ENVOI_REPORT.tmp;
      echo printed; echo x > hung; exec sleep 600'
"#;

/// A run whose engine and whose supervisor are killed while its step works.
fn killed(policy: &str) -> Stage {
    let stage = Stage::with_flow(&ROTATES.replace("POLICY", policy));
    stage.write("key.txt", FROM_FILE);
    let engine = Process::spawn(stage.command(&["run", "flow.yaml"]).env("MY_TOKEN", FROM_ENV));
    wait_until("the step", || stage.path("hung").exists());
    let supervisor = stage.supervisor("work.1.1").unwrap();
    let stdout = format!(".envoi/runs/{}/attempts/work.1.1/stdout", stage.run_id());
    wait_until("its output", || stage.read(&stdout) == "printed\n");
    engine.kill();
    signal(supervisor, Signal::KILL);
    wait_until("the supervisor's end", || !lives(supervisor));
    stage
}

/// The secrets are as they are given when another engine takes the run up.
fn rotated(policy: &str, token: Option<&str>, key: &str) -> (Stage, Done) {
    let stage = killed(policy);
    stage.write("key.txt", key);
    let run = stage.run_id();
    let mut command = stage.command(&["cancel", &run]);
    if let Some(token) = token {
        command = stage.command(&["resume", &run]);
        command.env("MY_TOKEN", token);
    }
    let done = Process::spawn(&mut command).done();
    (stage, done)
}

#[test]
fn what_a_killed_attempt_left_is_not_kept_where_its_secret_has_another_value_now() {
    let env = "secret `TOKEN`: the variable `MY_TOKEN` has another value than when the attempt began";
    let file = "secret `KEY`: the file `key.txt` has another value than when the attempt began";
    let unset = "secret `TOKEN`: the variable `MY_TOKEN` is not set";
    let removed = "removed, because it cannot be masked: `output`, `report.json`, 1 other names in the attempt's folder";
    for (policy, token, key, why) in [
        ("ask", Some("another-value-of-it"), FROM_FILE, env),
        ("fail", Some("another-value-of-it"), FROM_FILE, env),
        ("ask", Some(FROM_ENV), "another key", file),
        ("ask", None, FROM_FILE, unset),
    ] {
        let (stage, done) = rotated(policy, token, key);
        assert_written_nowhere(&stage.store());
        let run = stage.run_id();
        let doubt = stage.events(&run).into_iter().find(|event| !event["outcome"]["in_doubt"].is_null());
        let doubt = doubt.unwrap_or_else(|| panic!("{done:?}")).to_string();
        assert!(doubt.contains(removed) && doubt.contains(why), "{policy} {why}: {doubt}");
        let shown = stage.envoi(&["show", &run]);
        let logs = stage.envoi(&["logs", &run]);
        assert!(logs.out.contains("printed"), "what the supervisor masked stays: {logs:?}");
        for said in [&done, &shown, &logs] {
            assert!(!format!("{said:?}").contains(FROM_ENV), "{said:?}");
        }
    }
}

#[test]
fn what_a_killed_attempt_left_is_masked_and_kept_where_its_secrets_are_the_same() {
    let (stage, done) = rotated("ask", Some(FROM_ENV), FROM_FILE);
    assert_eq!(done.code, Some(5), "{done:?}");
    assert_written_nowhere(&stage.store());
    let folder = stage.path(&format!(".envoi/runs/{}/attempts/work.1.1", stage.run_id()));
    assert_eq!(fs::read_to_string(folder.join("output")).unwrap(), "out ***\n");
    let key = fs::metadata(stage.path(".envoi/secrets.key")).unwrap();
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&key.permissions()) & 0o777, 0o600);
}

/// The attempt was started under the flow of before: its secrets are known, whatever the corrected flow names.
#[test]
fn a_correction_that_takes_a_secret_out_masks_what_a_killed_attempt_left() {
    for secrets in [
        "",
        "secrets: { TOKEN: { env: OTHER }, KEY: { file: key.txt } }\n",
        "secrets: { OTHER: { env: MY_TOKEN } }\n",
    ] {
        let stage = killed("ask");
        let steps = &ROTATES[ROTATES.find("steps:").unwrap()..];
        stage.write("corrected.yaml", format!("flow: rotates\n{secrets}{}", steps.replace("POLICY", "ask")));
        let run = stage.run_id();
        let mut command = stage.command(&["resume", &run, "--flow", "corrected.yaml", "--yes"]);
        let done =
            Process::spawn(command.env("MY_TOKEN", FROM_ENV).env("OTHER", "another-value-of-it")).done();
        assert_eq!(done.code, Some(5), "{secrets}: {done:?}");
        assert_written_nowhere(&stage.store());
        let folder = stage.path(&format!(".envoi/runs/{run}/attempts/work.1.1"));
        assert_eq!(fs::read_to_string(folder.join("output")).unwrap(), "out ***\n", "{secrets}");
    }
}

/// The rows of `envoi doctor` about keys of the store.
fn said_of_keys(stage: &Stage, code: i32) -> Vec<String> {
    let said = stage.expect(code, &["doctor"]).out;
    said.lines().filter(|line| line.contains("  key of the store  ")).map(str::to_owned).collect()
}

#[test]
fn a_pipe_that_a_step_puts_in_the_place_of_the_key_is_named_and_only_runs_with_secrets_wait_for_its_removal()
{
    let secret = "secrets: { TOKEN: { env: MY_TOKEN } }";
    let stage = Stage::with_flow(&format!(
        "flow: bad\n{secret}\nsteps:\n  - {{ id: a, run: 'rm .envoi/secrets.key && mkfifo .envoi/secrets.key' }}\n"
    ));
    stage.write("good.yaml", format!("flow: good\n{secret}\nsteps:\n  - {{ id: a, run: 'true' }}\n"));
    stage.write("plain.yaml", "flow: plain\nsteps:\n  - { id: a, run: 'true' }\n");
    let envoi =
        |arguments: &[&str]| Process::spawn(stage.command(arguments).env("MY_TOKEN", "hunter22")).done();
    assert_eq!(envoi(&["run", "flow.yaml"]).code, Some(0));
    let stopped = envoi(&["run", "good.yaml"]);
    assert_eq!(stopped.code, Some(8), "{stopped:?}");
    assert!(stopped.err.contains("secrets.key`: it is not a plain file: remove it"), "{stopped:?}");
    assert_eq!(envoi(&["run", "plain.yaml"]).code, Some(0), "a run without secrets needs no key");
    let said = said_of_keys(&stage, 8);
    assert!(said.len() == 1 && said[0].starts_with("BAD"), "{said:?}");
    assert!(
        said[0].contains(".envoi/secrets.key`: it is not a plain file, and no step of a flow"),
        "{said:?}"
    );
    let run = stage.runs().into_iter().find(|run| run["flow"] == "good").unwrap();
    let run = text(&run["run"]);
    fs::remove_file(stage.path(".envoi/secrets.key")).unwrap();
    assert_eq!(envoi(&["resume", &run]).code, Some(0), "it goes on once the pipe is removed");
    assert_eq!(said_of_keys(&stage, 0), [""; 0]);
    // A bad file in the place of the other key is reported too.
    stage.write(".envoi/bridge.key", "short");
    let said = said_of_keys(&stage, 8);
    assert!(said.len() == 1 && said[0].contains("bridge.key`: it is not 32 bytes long"), "{said:?}");
}

const HELPERS: [(&str, &str); 6] = [
    ("agent.py", include_str!("secrets/agent.py")),
    ("provider.py", include_str!("secrets/provider.py")),
    ("forms.py", include_str!("secrets/forms.py")),
    ("leak.py", include_str!("secrets/leak.py")),
    ("tell.py", include_str!("secrets/tell.py")),
    ("search.py", include_str!("secrets/search.py")),
];

/// The token of another agent.
const BEARER: &str = "b3arer/of&the-agent";

/// Every way out, and every way in which what came out goes on: values, items, questions, notices, the next step's inputs.
pub(crate) const EVERY_WAY: &str = r#"flow: leaky
secrets: { TOKEN: { env: MY_TOKEN }, KEY: { file: key.txt } }
notify: { command: [python3, tell.py] }
steps:
  - id: out
    skill: leak
    run: [python3, leak.py, out]
    artifacts: ["out/**"]
    envelope: true
  - id: again
    for_each: ${{ steps.out.data.all }}
    run: [python3, leak.py, print, "${{ item }}", "${{ steps.out.data.document }}", "${{ steps.out.artifacts }}"]
    env: { SEEN: "${{ item }}" }
  - id: fail
    skill: leak
    run: [python3, leak.py, fail]
    continue_on_error: true
  - id: say
    run: [python3, leak.py, say]
    routing: { kind: microloop, success_values: [VERIFIED] }
  - id: given
    run: [python3, leak.py, given]
  - id: spoken
    run: [python3, leak.py, spoken]
    data: json
  - id: sure
    ask: "Is ${{ steps.out.data.first }} right? ${{ steps.given.data.first }} ${{ steps.spoken.data.all[1] }} ${{ steps.fail.summary }} ${{ steps.out.data.document }}"
  - id: crash
    run: [python3, leak.py, crash]
"#;

/// A stage with the secrets of a seed, which are in a file and in the environment of [`Leaky::command`].
pub(crate) struct Leaky {
    pub(crate) stage: Stage,
    seed: u64,
    pub(crate) token: String,
    key: String,
}

impl Leaky {
    pub(crate) fn new(seed: u64, flow: &str) -> Self {
        let stage = Stage::with_flow(flow);
        HELPERS.iter().for_each(|(name, text)| stage.write(name, text));
        let secret = |seed: u64| {
            let program =
                format!("import sys, forms; sys.stdout.buffer.write(forms.secret({seed}).encode())");
            let mut python = std::process::Command::new("python3");
            let made = python.args(["-c", &program]).current_dir(stage.path("")).output().unwrap();
            assert!(made.status.success(), "{made:?}");
            String::from_utf8(made.stdout).unwrap()
        };
        let (token, key) = (secret(seed), secret(seed + 1000));
        stage.write("key.txt", format!("{key}\n"));
        Self { stage, seed, token, key }
    }

    fn command(&self, arguments: &[&str]) -> Process {
        let mut command = self.stage.command(arguments);
        Process::spawn(command.env("MY_TOKEN", &self.token).env("BEARER", BEARER))
    }

    /// A helper that serves on the loopback, and its address.
    fn serving(&self, helper: &str) -> (Process, String) {
        let mut python = std::process::Command::new("python3");
        let python = python.arg(helper).current_dir(self.stage.path(""));
        let serving = Process::spawn(python.env("MY_TOKEN", &self.token).env("BEARER", BEARER));
        wait_until(helper, || self.stage.path("port").exists());
        let url = format!("http://127.0.0.1:{}", self.stage.read("port"));
        fs::remove_file(self.stage.path("port")).unwrap();
        (serving, url)
    }

    /// Kills the engine and the supervisor of an attempt, so that the next engine finds what they left.
    fn kill(&self, engine: Process, attempt: &str) {
        let supervisor = self.stage.supervisor(attempt).unwrap();
        engine.kill();
        signal(supervisor, Signal::KILL);
        wait_until("the supervisor's end", || !lives(supervisor));
    }

    /// Nothing of the store, and nothing that was printed, has a secret in it.
    fn assert_clean(&self, printed: &[&Done]) {
        for done in printed {
            self.assert_clean_text(format!("{}\n{}", done.out, done.err).as_bytes());
        }
        self.search();
    }

    /// As [`Leaky::assert_clean`], of everything that commands show of the only run.
    fn assert_shown_clean(&self) {
        let run = self.stage.run_id();
        let shown = [
            &["show", &run][..],
            &["show", &run, "--events"],
            &["show", &run, "--envelope"],
            &["logs", &run],
            &["logs", &run, "--raw"],
            &["logs", &run, "--stderr"],
            &["why", &run],
        ]
        .map(|arguments| self.stage.expect(0, arguments));
        assert!(shown[3].out.contains("***"), "a secret was printed, and masked: {:?}", shown[3]);
        self.assert_clean(&shown.each_ref());
    }

    /// As [`Leaky::assert_clean`], of what came of it in another way.
    pub(crate) fn assert_clean_text(&self, text: &[u8]) {
        self.stage.write(".envoi/printed", text);
        self.search();
    }

    fn search(&self) {
        let mut search = std::process::Command::new("python3");
        search.args(["search.py", ".envoi", "TOKEN", "KEY", "BEARER"]).current_dir(self.stage.path(""));
        let found =
            search.env("TOKEN", &self.token).env("KEY", &self.key).env("BEARER", BEARER).output().unwrap();
        let told = String::from_utf8_lossy(&found.stdout);
        let clean = found.status.success() && told.starts_with("looked at");
        assert!(clean, "SECRETS_SEED={}, {:?} and {:?}: {found:?}\n{told}", self.seed, self.token, self.key);
    }
}

/// Secrets of 8 and of 400 bytes, which have every hard character between them, and others each time. `SECRETS_SEED` tries these again.
pub(crate) fn seeds() -> Vec<u64> {
    match std::env::var("SECRETS_SEED") {
        Ok(seed) => vec![seed.parse().unwrap()],
        Err(_) => {
            let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap();
            vec![SHORT, HARD, u64::from(now.subsec_micros())]
        }
    }
}

const SHORT: u64 = 104;
const HARD: u64 = 263;

#[test]
fn no_spelling_of_a_secret_reaches_the_disk_by_any_way_out() {
    for seed in seeds() {
        let leaky = Leaky::new(seed, EVERY_WAY);
        let asked = leaky.command(&["--json", "run", "flow.yaml"]).done();
        assert_eq!(asked.code, Some(3), "{asked:?}");
        leaky.assert_clean(&[&asked]);
        let run = leaky.stage.run_id();
        let ended = leaky.command(&["--json", "approve", &run]).done();
        assert_eq!(ended.code, Some(1), "{ended:?}");
        let shown = [
            leaky.stage.expect(0, &["show", &run]),
            leaky.stage.expect(0, &["show", &run, "--events"]),
            leaky.stage.expect(0, &["logs", &run]),
            leaky.stage.expect(0, &["why", &run]),
        ];
        assert!(shown[0].out.contains("its name holds a secret") || seed % 4 != 0, "{:?}", shown[0]);
        let printed: Vec<&Done> = shown.iter().chain([&ended]).collect();
        leaky.assert_clean(&printed);
    }
}

/// A command that has written everything, and then outlives its supervisor and its engine.
const HANGS: &str = r#"flow: hangs
secrets: { TOKEN: { env: MY_TOKEN }, KEY: { file: key.txt } }
steps:
  - id: work
    run: [python3, leak.py, hang]
    artifacts: ["out/**"]
    on_in_doubt: ask
"#;

fn killed_both(seed: u64) -> Leaky {
    let leaky = Leaky::new(seed, HANGS);
    let engine = leaky.command(&["run", "flow.yaml"]);
    wait_until("the step", || leaky.stage.path("hung").exists());
    leaky.kill(engine, "work.1.1");
    leaky
}

#[test]
fn what_a_killed_attempt_left_is_masked_by_the_next_engine() {
    for seed in seeds() {
        let leaky = killed_both(seed);
        let run = leaky.stage.run_id();
        let asked = leaky.command(&["--json", "resume", &run]).done();
        assert_eq!(asked.code, Some(5), "{asked:?}");
        let shown = leaky.stage.expect(0, &["show", &run]);
        leaky.assert_clean(&[&asked, &shown]);
    }
}

#[test]
fn what_cannot_be_masked_because_the_secret_is_gone_is_not_kept() {
    let leaky = killed_both(4);
    let run = leaky.stage.run_id();
    fs::remove_file(leaky.stage.path("key.txt")).unwrap();
    let cancelled = leaky.stage.envoi(&["cancel", &run]);
    let shown = leaky.stage.expect(0, &["show", &run]);
    leaky.assert_clean(&[&cancelled, &shown]);
}

/// Another agent that cannot keep a secret to itself.
fn with_agent(seed: u64, steps: &str) -> (Leaky, Process) {
    let leaky = Leaky::new(seed, "");
    let (agent, agent_url) = leaky.serving("agent.py");
    let head = "flow: talk\nsecrets: { TOKEN: { env: MY_TOKEN }, KEY: { file: key.txt } }\nsteps:\n";
    leaky.stage.write("flow.yaml", format!("{head}{}", steps.replace("AGENT", &agent_url)));
    (leaky, agent)
}

#[test]
fn what_another_agent_says_of_a_secret_reaches_the_disk_masked() {
    for seed in seeds() {
        let (leaky, _agent) = with_agent(
            seed,
            "  - { id: reply, a2a: { url: 'AGENT', message: reply, token: { env: BEARER } } }
  - { id: fail, a2a: { url: 'AGENT', message: fail, token: { env: BEARER } }, continue_on_error: true }
  - { id: ask, a2a: { url: 'AGENT', message: ask, token: { env: BEARER } }, artifacts: ['a2a/ask/**'] }
  - { id: stuck, a2a: { url: 'AGENT', message: ask, token: { env: BEARER } } }
",
        );
        let asked = leaky.command(&["--json", "run", "flow.yaml"]).done();
        assert_eq!(asked.code, Some(3), "{asked:?}");
        let run = leaky.stage.run_id();
        let record = |visit: &str| leaky.stage.read(&format!(".envoi/runs/{run}/_a2a/{visit}.1.0.json"));
        assert!(record("reply").contains("***") && record("ask").contains("\"question\":{"));
        leaky.assert_clean(&[&asked]);
        // Its question is the one that was shown, though what is compared was masked: the answer is sent.
        let again = leaky.command(&["--json", "answer", "--text", "the left one"]).done();
        assert_eq!(again.code, Some(3), "{again:?}");
        let shown = leaky.stage.expect(0, &["show", &run, "--events"]);
        assert!(shown.out.contains("stuck"), "{shown:?}");
        leaky.assert_clean(&[&again, &shown]);
        let cancelled = leaky.command(&["cancel", &run]).done();
        let place = format!(".envoi/runs/{run}/attempts/stuck.1.1/withdrawn.json");
        wait_until("what came of the task", || {
            serde_json::from_str::<serde_json::Value>(&leaky.stage.read(&place)).is_ok()
        });
        assert!(
            leaky.stage.read(&place).contains("cannot be cancelled: no: [***]"),
            "{}",
            leaky.stage.read(&place)
        );
        leaky.assert_clean(&[&cancelled]);
    }
}

#[test]
fn what_an_agent_says_is_not_kept_where_a_secret_cannot_be_had_any_more() {
    let (leaky, _agent) =
        with_agent(1, "  - { id: ask, a2a: { url: 'AGENT', message: ask, token: { env: BEARER } } }\n");
    let asked = leaky.command(&["--json", "run", "flow.yaml"]).done();
    assert_eq!(asked.code, Some(3), "{asked:?}");
    std::fs::rename(leaky.stage.path("key.txt"), leaky.stage.path("gone")).unwrap();
    let run = leaky.stage.run_id();
    let cancelled = leaky.command(&["cancel", &run]).done();
    let place = format!(".envoi/runs/{run}/attempts/ask.1.1/withdrawn.json");
    wait_until("what came of the task", || {
        serde_json::from_str::<serde_json::Value>(&leaky.stage.read(&place)).is_ok()
    });
    assert!(leaky.stage.read(&place).contains("a secret cannot be had"), "{}", leaky.stage.read(&place));
    leaky.assert_clean(&[&cancelled]);
}

#[test]
fn a_secret_that_is_a_common_word_is_named_where_masking_it_changes_reports() {
    let report = r#"{"ok": true, "data": {"n": 12345, "s": "none"}}"#;
    for (secret, common, reshaped) in [
        ("true", true, true),
        ("data", true, true),
        ("12345", true, true),
        ("null", true, false),
        ("none", false, false),
    ] {
        let stage = Stage::with_flow(&format!(
            "flow: common\nsecrets: {{ TOKEN: {{ env: MY_TOKEN }} }}\nsteps:\n  - id: a\n    continue_on_error: true\n    \
             run: 'echo ''{report}'' > $ENVOI_REPORT'\n"
        ));
        let done = Process::spawn(stage.command(&["run", "flow.yaml"]).env("MY_TOKEN", secret)).done();
        assert_eq!(done.code, Some(0), "{done:?}");
        let shown = stage.expect(0, &["show"]).out;
        assert_eq!(shown.contains("secret `TOKEN` is a number, or a word"), common, "{secret}: {shown}");
        let told = shown.contains("has changed more of the report than the content of strings");
        assert_eq!(told, reshaped, "{secret}: {shown}");
    }
}

/// Leaves the secret in folders and files that are closed to their owner.
const CLOSES: &str = "flow: closes
secrets: { TOKEN: { env: MY_TOKEN } }
steps:
  - id: leak
    on_in_doubt: fail
    run: |
      cd $ENVOI_RUN_BASE
      for mode in 0500 0300 0000; do
        mkdir -p $mode/below
        echo $TOKEN > $mode/file; echo $TOKEN > $mode/below/file; echo $TOKEN > $mode/unreadable
        chmod 0000 $mode/unreadable; chmod $mode $mode/below; chmod $mode $mode
      done
      own=$ENVOI_RUN_BASE/attempts/$ENVOI_ATTEMPT
      mkdir $own/more; echo $TOKEN > $own/more/file; echo $TOKEN > $own/file
      chmod 0000 $own/more; chmod OWN $own; MORE
";

/// An administrator is kept out by no permission, so that only an ordinary user shows what such permissions do.
#[test]
fn what_a_step_has_closed_to_its_owner_is_masked_for_ordinary_users_too() {
    let is_root = rustix::process::geteuid().is_root();
    for (user, own, more, killed) in [
        (0, "0500", "", false),
        (65534, "0500", "", false),
        (65534, "0000", "", false),
        (65534, "0700", "", false),
        (65534, "0500", "kill -9 $PPID", true),
    ] {
        if !is_root && user == 0 {
            continue;
        }
        let stage = Stage::with_flow(&CLOSES.replace("OWN", own).replace("MORE", more));
        let mut command = stage.command(&["run", "flow.yaml"]);
        command.env("MY_TOKEN", FROM_ENV);
        if is_root {
            let given = Command::new("chown").args(["-R", &user.to_string()]).arg(stage.path("")).status();
            assert!(given.unwrap().success());
            command.uid(user).gid(user);
        }
        let done = Process::spawn(&mut command).done();
        assert_eq!(done.code, Some(i32::from(killed)), "{own} {more}: {done:?}");
        let run = fs::read_dir(stage.store().join("runs")).unwrap().next().unwrap().unwrap().path();
        let modes =
            ["0500", "0300", "0000"].map(|mode| fs::metadata(run.join(mode)).unwrap().mode() & 0o7777);
        assert_eq!(modes, [0o500, 0o300, 0], "they are closed again");
        if !is_root {
            let opened = Command::new("chmod").args(["-R", "u+rwX"]).arg(stage.store()).status();
            assert!(opened.unwrap().success());
        }
        assert_written_nowhere(&stage.store());
        assert!(fs::read_to_string(run.join("0000/below/file")).unwrap().contains("***"), "{own}");
    }
}
