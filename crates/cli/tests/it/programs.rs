//! `agent` steps, with a program that writes what the real one wrote (the transcripts of `preset`).

use crate::{
    serve::client::{Client, Served, token},
    stage::{Process, Stage, lives, signal, text, wait_until},
};
use rustix::process::Signal;
use std::{fs, path::PathBuf};

/// A stage with a `claude`, a `codex`, a `gemini` and an `opencode` that note how they were started, and write the transcript that `next` names, else
/// `hello`, with the id of their session. If there is a file `leaves`, they leave a process that holds their output. A transcript `wait`
/// writes its first line and waits until it is ended.
fn stage(steps: &str) -> Stage {
    let stage = Stage::new();
    let bin = stage.path("bin");
    let transcripts = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../preset/tests/transcripts");
    let script = format!(
        r#"#!/bin/sh
kind=${{0##*/}}
id=$(echo "$*" | sed -n 's/.*\(--session-id\|resume\| -r\| -s\) \([^ ]*\).*/\2/p')
as_named() {{
  if [ -s {root}/resets ]; then sed 's/"resetsAt":[0-9]*/"resetsAt":'"$(cat {root}/resets)"'/g'; else cat; fi | named
}}
named() {{
  if [ -s {root}/last ]; then sed 's/"type":"assistant"/"uuid":"'"$(cat {root}/last)"'",&/'; else cat; fi | of_session
}}
of_session() {{
  if [ -n "$id" ]; then sed 's/\("session_id"\|"thread_id"\|"sessionID"\):"[^"]*"/\1:"'"$id"'"/'; else cat; fi
}}
echo "$@" >> {root}/started
echo "$OPENCODE_PERMISSION" >> {root}/permissions
cat > {root}/prompt
name=hello
if [ -s {root}/next ]; then
  read -r name < {root}/next
  tail -n +2 {root}/next > {root}/rest; mv {root}/rest {root}/next
fi
if [ "$name" = wait ]; then
  grep -v '^# ' {transcripts}/$kind/hello.jsonl | head -n 1 | as_named
  exec tail -f /dev/null
fi
sed -n 's/^# stderr //p' {transcripts}/$kind/$name.jsonl >&2
grep -v '^# ' {transcripts}/$kind/$name.jsonl | as_named
if [ -e {root}/leaves ]; then sleep 600 & fi
exit $(sed -n 's/^# exit //p' {transcripts}/$kind/$name.jsonl)
"#,
        root = stage.path("").display(),
        transcripts = transcripts.display()
    );
    for kind in ["claude", "codex", "gemini", "opencode"] {
        stage.write_program(&format!("bin/{kind}"), &script);
    }
    let path = std::env::var("PATH").unwrap();
    stage.write(
        "flow.yaml",
        format!("flow: agents\nenv: {{ PATH: '{}:{path}' }}\nsteps:\n{steps}", bin.display()),
    );
    stage
}

const FIX: &str = "  - id: fix\n    agent: { use: claude, prompt: 'Say hello.', may: run, model: m }\n";

/// The session of an attempt, as it was committed with its start.
fn session(stage: &Stage, attempt: &str) -> String {
    let events = stage.events(&stage.run_id());
    let started =
        events.iter().find(|event| event["type"] == "attempt_started" && event["attempt"] == attempt);
    text(&started.unwrap()["command"]["agent"]["session"])
}

#[test]
fn an_agent_program_does_a_step_and_what_it_used_is_charged() {
    let stage = stage(FIX);
    stage.expect(0, &["run", "flow.yaml"]);
    let id = session(&stage, "fix.1.1");
    assert_eq!(
        stage.lines("started"),
        [format!(
            "-p --output-format stream-json --verbose --session-id {id} --permission-mode acceptEdits --allowedTools Bash --model m"
        )]
    );
    assert_eq!(stage.read("prompt"), "Say hello.\n");
    let run = stage.run_id();
    let shown = stage.json(&["--json", "show", &run, "--envelope"]);
    assert_eq!(shown["outputs"]["fix"]["summary"], "Hello from the stub.");
    let row = stage.json(&["--json", "show", &run]);
    let used = &row["used"];
    assert_eq!(
        (&used["llm_calls"], &used["tokens_in"], &used["tokens_out"]),
        (&1.into(), &120.into(), &10.into())
    );
    let logs = stage.expect(0, &["logs", &run]);
    assert!(logs.out.contains("Hello from the stub."), "{logs:?}");
    let events = stage.attempt("fix.1.1").unwrap().join("events.jsonl");
    let events = fs::read_to_string(events).unwrap();
    assert!(events.contains(r#""type":"result""#));
    for arguments in [&["logs", &run, "--raw"][..], &["logs", &run, "--raw", "--follow", "--step", "fix"]] {
        assert_eq!(stage.expect(0, arguments).out, events, "{arguments:?}");
    }
    let first = stage.expect(0, &["--json", "logs", &run, "--raw"]).out;
    let first: serde_json::Value = serde_json::from_str(first.lines().next().unwrap()).unwrap();
    let expected = (&"fix.1.1".into(), &"events".into(), &events.lines().next().unwrap().into());
    assert_eq!((&first["attempt"], &first["stream"], &first["line"]), expected);
}

#[test]
fn a_fork_forks_the_session_where_the_run_is_cut_and_says_which_it_does_not_take_over() {
    let polish = "  - id: polish\n    agent: { use: claude, prompt: Go on, session: fix }\n  - id: other\n    agent: { use: codex, prompt: p }\n";
    let stage = stage(&format!("{FIX}{polish}  - id: judge\n    run: test -e good\n"));
    stage.write("last", "11111111-0000-4000-8000-000000000000");
    stage.expect(1, &["run", "flow.yaml"]);
    let (run, id) = (stage.run_id(), session(&stage, "fix.1.1"));
    stage.write("good", "");
    let done = stage.expect(0, &["fork", &run, "--from", "polish"]);
    let said = "a fork begins new sessions of its agents: fix@claude is forked where the original run is cut; other@codex is not taken over";
    assert!(done.err.contains(said), "{done:?}");
    let started = stage.lines("started");
    assert_eq!(started.len(), 5, "{started:?}");
    let fork = format!(
        "--resume {id} --resume-session-at 11111111-0000-4000-8000-000000000000 --fork-session --session-id "
    );
    assert!(started[3].contains(&fork), "{started:?}");
    assert!(!started[4].contains("resume"), "{started:?}");
    // The original session is gone: it begins anew, and reports that.
    stage.write("next", "lost\n");
    let fork = stage.expect(0, &["fork", &run, "--from", "polish"]);
    let logs = stage.expect(0, &["logs", &text(&stage.json(&["--json", "runs"])[0]["run"])]);
    assert!(
        logs.out.contains(&format!("session {id} is not there any more: a new one begins")),
        "{fork:?} {logs:?}"
    );
    assert!(stage.lines("started")[6].contains("--session-id"), "{:?}", stage.lines("started"));
    // If the session had not begun yet, a new one begins.
    let done = stage.expect(0, &["fork", &run, "--from", "fix"]);
    assert!(done.err.contains("fix@claude, other@codex are not taken over"), "{done:?}");
}

#[test]
fn without_a_server_with_models_nothing_is_started_that_is_to_call_through_the_bridge() {
    let stage = stage("  - id: fix\n    agent: { use: claude, bridge: true, model: small, prompt: p }\n");
    let done = stage.expect(1, &["run", "flow.yaml"]);
    assert!(done.err.contains("TOOL_CANNOT_START") && done.err.contains("needs `envoi serve`"), "{done:?}");
    assert!(!stage.path("started").exists());
}

#[test]
fn a_failure_has_its_class_and_is_tried_again_only_where_that_helps() {
    for (transcript, code, starts) in
        [("overloaded", "AGENT_OVERLOADED", 2), ("credit", "AGENT_BILLING", 1), ("denied", "AGENT_DENIED", 1)]
    {
        let stage = stage(&format!("{FIX}    retry: {{ attempts: 2, backoff: 1ms..2ms }}\n"));
        stage.write("next", format!("{transcript}\n{transcript}\n"));
        let done = stage.expect(1, &["run", "flow.yaml"]);
        assert!(done.err.contains(code), "{done:?}");
        let started = stage.lines("started");
        assert_eq!(started.len(), starts, "{transcript}: {started:?}");
        if let Some(again) = started.get(1) {
            assert!(again.contains(&format!("--resume {}", session(&stage, "fix.1.1"))), "{again}");
            assert!(
                stage.read("prompt").contains("Your last try failed:\n\nAGENT_OVERLOADED"),
                "{}",
                stage.read("prompt")
            );
        }
    }
}

#[test]
fn calls_that_are_refused_are_no_failure_where_the_step_allows_so_many() {
    for program in ["claude", "gemini", "opencode"] {
        let step = format!("  - id: fix\n    agent: {{ use: {program}, prompt: p }}\n    denials: 1\n");
        let stage = stage(&step);
        stage.write("next", "denied\n");
        let done = stage.expect(0, &["run", "flow.yaml"]);
        let warning = "1 call of a tool was refused (`denials` allows 1): ";
        assert!(done.err.contains(warning), "{done:?}");
        let shown = stage.expect(0, &["show", &stage.run_id()]);
        assert!(shown.out.contains(warning), "{shown:?}");
    }
}

#[test]
fn what_opencode_may_do_is_a_variable_unless_the_flow_has_its_own() {
    for (keys, permissions) in [
        ("may: read }", r#"{"bash":"deny","edit":"deny","webfetch":"deny","websearch":"deny"}"#),
        ("may: edit }", r#"{"bash":"deny","webfetch":"deny","websearch":"deny"}"#),
        ("may: run }", ""),
        ("may: read }\n    env: { OPENCODE_PERMISSION: '{}' }", "{}"),
    ] {
        let stage = stage(&format!("  - id: fix\n    agent: {{ use: opencode, prompt: p, {keys}\n"));
        stage.expect(0, &["run", "flow.yaml"]);
        assert_eq!(stage.lines("permissions"), [permissions], "{keys}");
    }
}

#[test]
fn data_is_what_outputs_say_or_the_step_has_failed() {
    let outputs = "    outputs: { type: object, required: [verdict] }\n  - id: tell\n    run: [echo, '${{ steps.fix.data.verdict }}']\n";
    for (kind, transcript, code) in [
        ("claude", "data", 0),
        ("claude", "no-data", 1),
        ("codex", "data", 0),
        ("codex", "hello", 1),
        ("gemini", "data", 0),
        ("gemini", "no-data", 1),
        ("opencode", "data", 0),
        ("opencode", "no-data", 1),
    ] {
        let step = format!("  - id: fix\n    agent: {{ use: {kind}, prompt: p }}\n{outputs}");
        let stage = stage(&step);
        stage.write("next", format!("{transcript}\n"));
        let done = stage.expect(code, &["run", "flow.yaml"]);
        assert_eq!(done.err.contains("AGENT_SCHEMA"), code == 1, "{kind} {transcript}: {done:?}");
        if code == 0 {
            let shown = stage.json(&["--json", "show", &stage.run_id(), "--envelope"]);
            assert_eq!(shown["outputs"]["tell"]["summary"], "good");
        }
    }
}

#[test]
fn an_agent_that_is_silent_for_too_long_is_ended_and_its_session_goes_on() {
    let stage = stage(&format!("{FIX}    idle: 5s\n    retry: {{ attempts: 2, backoff: 1ms..2ms }}\n"));
    stage.write("next", "wait\nhello\n");
    let done = stage.expect(0, &["run", "flow.yaml"]);
    assert!(
        done.err.contains("AGENT_IDLE: no sign of work for 5 seconds: the program was ended"),
        "{done:?}"
    );
    let started = stage.lines("started");
    assert!(started.len() == 2 && started[1].contains("--resume"), "{started:?}");
    stage.assert_nothing_left();
}

#[test]
fn what_an_agent_leaves_running_does_not_hold_up_its_success() {
    let stage = stage(&format!("{FIX}    idle: 30s\n"));
    stage.write("leaves", "");
    let done = stage.expect(0, &["run", "flow.yaml"]);
    assert!(!done.err.contains("AGENT_IDLE"), "{done:?}");
    assert_eq!(stage.lines("started").len(), 1);
    stage.assert_nothing_left();
}

#[test]
fn an_agent_is_ended_at_the_first_call_past_its_budget() {
    let stage = stage(&format!(
        "{FIX}    budget: {{ llm_calls: 1, cost_usd: '0.50' }}\n    retry: {{ attempts: 2 }}\n"
    ));
    stage.write("next", "tool\n");
    let done = stage.expect(1, &["run", "flow.yaml"]);
    assert!(done.err.contains("AGENT_BUDGET: 2 calls of a model, and the budget is 1"), "{done:?}");
    let started = stage.lines("started");
    assert!(started.len() == 1 && started[0].contains("--max-budget-usd 0.50"), "{started:?}");
    let used = &stage.json(&["--json", "show", &stage.run_id()])["used"];
    assert_eq!(used["llm_calls"], 2, "what it made past its budget is charged");
}

#[test]
fn an_agent_that_says_what_its_calls_cost_is_ended_at_the_first_call_past_its_budget() {
    let stage = stage(
        "  - id: fix\n    agent: { use: opencode, prompt: 'Say hello.', may: run, model: stub/m }\n    budget: { cost_usd: '0.00015' }\n",
    );
    stage.write("next", "tool\n");
    let done = stage.expect(1, &["run", "flow.yaml"]);
    assert!(done.err.contains("AGENT_BUDGET: 0.0002 USD, and the budget is 0.00015 USD"), "{done:?}");
    let used = &stage.json(&["--json", "show", &stage.run_id()])["used"];
    assert_eq!(used["cost_usd"], "0.0002", "what it made past its budget is charged");
}

#[test]
fn a_missing_program_is_reported() {
    let stage = stage(FIX);
    let flow = stage.read("flow.yaml").replace(&stage.path("bin").display().to_string(), "/nowhere");
    let path = std::env::var("PATH").unwrap();
    stage.write("flow.yaml", flow.replace(&path, "/nowhere-else"));
    let done = stage.expect(1, &["run", "flow.yaml"]);
    assert!(done.err.contains("AGENT_NOT_INSTALLED: `claude` cannot be started"), "{done:?}");
}

#[test]
fn a_critic_sends_the_agent_back_into_its_session_with_its_words() {
    let stage = stage(&format!(
        "{FIX}  - id: judge\n    run: 'if test -e second; then echo STATUS: VERIFIED; else echo STATUS: UNVERIFIED; echo tests fail; touch second; fi'\n    \
         routing: {{ kind: microloop, loop_to: fix, success_values: [VERIFIED] }}\n"
    ));
    stage.write("next", "hello\nresume\n");
    stage.expect(0, &["run", "flow.yaml"]);
    let (id, started) = (session(&stage, "fix.1.1"), stage.lines("started"));
    assert_eq!((started.len(), session(&stage, "fix.2.1")), (2, id.clone()), "{started:?}");
    assert!(started[1].contains(&format!("--resume {id}")), "{started:?}");
    assert!(stage.read("prompt").contains("Feedback on your last result:\n\nSTATUS: UNVERIFIED\ntests fail"));
    // The second process reports the sum of the session: only what is new is charged.
    let row = stage.json(&["--json", "show", &stage.run_id()]);
    assert!(row.to_string().contains("0.001208"), "{row}");
}

#[test]
fn a_lost_session_begins_anew_with_a_warning() {
    let stage = stage(&format!("{FIX}    retry: {{ attempts: 2, backoff: 1ms..2ms }}\n"));
    stage.write("next", "overloaded\nlost\nhello\n");
    stage.expect(0, &["run", "flow.yaml"]);
    let (id, started) = (session(&stage, "fix.1.1"), stage.lines("started"));
    let with: Vec<&str> = started.iter().map(|line| line.split(' ').nth(4).unwrap()).collect();
    assert_eq!(with, ["--session-id", "--resume", "--session-id"]);
    assert!(started.iter().all(|line| line.contains(&id)), "{started:?}");
    let logs = stage.expect(0, &["logs", &stage.run_id()]);
    assert!(logs.out.contains(&format!("session {id} is not there any more: a new one begins")), "{logs:?}");
}

#[test]
fn an_agent_with_an_unknown_end_is_ended_asked_about_and_resumed() {
    for (kind, policy) in [
        ("claude", ""),
        ("codex", ""),
        ("claude", "    on_in_doubt: continue\n"),
        ("codex", "    on_in_doubt: continue\n"),
    ] {
        let stage =
            stage(&format!("  - id: fix\n    agent: {{ use: {kind}, prompt: 'Say hello.' }}\n{policy}"));
        stage.write("next", "wait\n");
        let engine = stage.start(&["run", "flow.yaml"]);
        let of_attempt = |name: &str| stage.attempt("fix.1.1").map(|folder| folder.join(name));
        wait_until("the session", || of_attempt("session").is_some_and(|file| file.is_file()));
        let supervisor = stage.supervisor("fix.1.1").unwrap();
        engine.kill();
        signal(supervisor, Signal::KILL);
        wait_until("the supervisor's end", || !lives(supervisor));
        let run = stage.run_id();
        if policy.is_empty() {
            let done = stage.expect(5, &["resume", &run]);
            assert!(done.err.contains("--in-doubt"), "{done:?}");
            stage.assert_nothing_left();
            assert_eq!(stage.lines("started").len(), 1);
            stage.expect(0, &["resume", &run, "--in-doubt", "rerun"]);
        } else {
            stage.expect(0, &["resume", &run]);
        }
        stage.assert_nothing_left();
        let started = stage.lines("started");
        let id = session(&stage, "fix.1.2");
        assert_eq!(started.len(), 2, "{started:?}");
        assert!(started[1].contains(&format!("resume {id}")), "{kind}: {started:?}");
        assert!(stage.read("prompt").starts_with("You have worked on this task before, and were cut off."));
        if kind == "claude" {
            assert_eq!(session(&stage, "fix.1.1"), id, "it was committed before the start");
        } else {
            // The program reports the sum of the thread, which includes the use of the killed one.
            let used = &stage.json(&["--json", "show", &run])["used"];
            assert_eq!((&used["tokens_in"], &used["tokens_out"]), (&100.into(), &10.into()));
        }
    }
}

#[test]
fn an_adopted_copy_begins_sessions_anew_and_the_original_goes_on_with_its_own() {
    for kind in ["claude", "codex", "gemini", "opencode"] {
        let stage = stage(&format!("  - id: fix\n    agent: {{ use: {kind}, prompt: 'Say hello.' }}\n"));
        stage.write("next", "wait\n");
        let engine = stage.start(&["run", "flow.yaml"]);
        let session = || stage.attempt("fix.1.1").map(|folder| folder.join("session"));
        wait_until("the session", || session().is_some_and(|file| file.is_file()));
        let id = fs::read_to_string(session().unwrap()).unwrap();
        let supervisor = stage.supervisor("fix.1.1").unwrap();
        engine.kill();
        signal(supervisor, Signal::KILL);
        wait_until("the supervisor's end", || !lives(supervisor));
        let run = stage.run_id();
        stage.expect(5, &["resume", &run]);
        fs::create_dir(stage.path("copy")).unwrap();
        let copied =
            std::process::Command::new("cp").arg("-r").args([stage.store(), stage.path("copy")]).status();
        assert!(copied.unwrap().success());
        let in_copy = ["--home", "copy/.envoi"];
        stage.expect(0, &[&in_copy[..], &["store", "adopt"]].concat());
        stage.expect(0, &[&in_copy[..], &["resume", &run, "--in-doubt", "rerun"]].concat());
        stage.expect(0, &["resume", &run, "--in-doubt", "rerun"]);
        let started = stage.lines("started");
        assert_eq!(started.len(), 3, "{started:?}");
        assert!(!started[1].contains("resume") && !started[1].contains(&id), "{kind}: {started:?}");
        let resumes = match kind {
            "gemini" => "-r",
            "opencode" => "-s",
            _ => "resume",
        };
        assert!(started[2].contains(&format!("{resumes} {id}")), "{kind}: {started:?}");
    }
}

#[test]
fn a_cancelled_run_ends_the_program_and_charges_what_is_known() {
    let stage = stage(FIX);
    stage.write("next", "wait\n");
    let engine = stage.start(&["run", "flow.yaml"]);
    wait_until("the session", || {
        stage.attempt("fix.1.1").is_some_and(|folder| folder.join("session").is_file())
    });
    stage.expect(0, &["cancel", &stage.run_id()]);
    assert_eq!(engine.done().code, Some(130));
    stage.assert_nothing_left();
    let report = stage.attempt("fix.1.1").unwrap().join("report.json");
    assert!(fs::read_to_string(report).unwrap().contains("AGENT_CRASHED"));
}

/// In so many hours, in seconds of the Unix time.
fn in_hours(hours: u64) -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    now + hours * 3_600
}

/// Runs that wait for the account.
fn waits(stage: &Stage) -> Vec<serde_json::Value> {
    let runs = stage.runs();
    let of_claude = |account: &str| account.starts_with("claude");
    runs.into_iter().filter(|run| run["waits_for"]["account"].as_str().is_some_and(of_claude)).collect()
}

#[test]
fn a_refused_agent_waits_until_the_reset_and_so_does_every_run_that_uses_its_account() {
    let stage = stage(FIX);
    stage.write("resets", in_hours(2).to_string());
    stage.write("next", "limit\n");
    let engine = stage.start(&["run", "flow.yaml"]);
    wait_until("the wait", || waits(&stage).len() == 1);
    let row = &waits(&stage)[0];
    assert_eq!(
        (text(&row["status"]), text(&row["stands"])),
        ("running".to_owned(), "waiting_for_account".to_owned())
    );
    let run = text(&row["run"]);
    let used = &stage.json(&["--json", "show", &run])["used"];
    assert_eq!(used["agent_hops"], 0, "a refused attempt uses up nothing");
    for arguments in [&["runs"][..], &["show", &run], &["why", &run]] {
        let done = stage.expect(0, arguments);
        assert!(done.out.contains("waiting for claude of flow agents until "), "{arguments:?}: {done:?}");
    }
    wait_until("the engine to say so", || engine.said().contains("waiting for claude of flow agents until "));
    // Another run of the store does not start the program.
    let second = stage.start(&["run", "flow.yaml", "--share-workspace"]);
    wait_until("both to wait", || waits(&stage).len() == 2);
    assert_eq!(stage.lines("started").len(), 1);
    // After a crash the same time holds, for those that wait and for one that begins.
    let until = text(&row["waits_for"]["next_try"]);
    second.kill();
    engine.kill();
    let third = stage.start(&["run", "flow.yaml", "--share-workspace"]);
    wait_until("all to wait", || waits(&stage).len() == 3);
    assert!(waits(&stage).iter().all(|row| text(&row["waits_for"]["next_try"])[..16] == until[..16]));
    assert_eq!(stage.lines("started").len(), 1);
    third.kill();
    // A person does not wait. The session goes on.
    let done = stage.expect(0, &["resume", &run, "--now", "--why", "the limit was raised"]);
    assert!(done.err.contains("claude of flow agents tried before its time"), "{done:?}");
    let started = stage.lines("started");
    assert_eq!(started.len(), 2, "{started:?}");
    assert!(started[1].contains("--resume"), "{started:?}");
    assert!(
        stage.read("prompt").starts_with("You have worked on this task before, and a limit of the account")
    );
    let used = &stage.json(&["--json", "show", &run])["used"];
    assert_eq!(used["agent_hops"], 1);
}

#[test]
fn another_program_goes_on_where_the_flow_says_so() {
    let stage =
        stage(&format!("{FIX}    on_throttled: {{ wait: 1h, then: {{ use: codex, model: other }} }}\n"));
    stage.write("resets", in_hours(2).to_string());
    stage.write("next", "limit\nhello\n");
    stage.expect(0, &["run", "flow.yaml"]);
    let started = stage.lines("started");
    assert_eq!(started.len(), 2, "{started:?}");
    assert!(started[1].starts_with("exec --json") && started[1].contains("-m other"), "{started:?}");
    assert!(stage.read("prompt").starts_with("Say hello."));
}

/// The server of a stage, which finds the programs of the stage itself.
fn served(stage: &Stage) -> Served {
    let path = format!("{}:{}", stage.path("bin").display(), std::env::var("PATH").unwrap());
    Served::with_variable(stage, "PATH", &path)
}

/// A token of this tenant.
fn token_of(stage: &Stage, tenant: &str) -> String {
    token(stage, &[tenant, "--scope", "admin", "--tenant", tenant])
}

/// The account that a run waits for.
fn waits_for(client: &Client, run: &str) -> Option<String> {
    let run = client.json(&format!("/v1/runs/{run}"));
    run["waits_for"]["account"].as_str().map(str::to_owned)
}

#[test]
fn a_limit_that_a_run_of_one_tenant_meets_closes_the_account_for_no_other_tenant() {
    let stage = stage(FIX);
    let plain = format!("flow: plain\nsteps:\n{FIX}");
    stage.write("resets", in_hours(2).to_string());
    let first = served(&stage);
    let tokens = ["north", "south"].map(|tenant| token_of(&stage, tenant));
    let [north, south] = tokens.each_ref().map(|token| first.client(token));
    stage.write("next", "limit\n");
    let refused = north.run(&plain);
    wait_until("north to wait", || waits_for(&north, &refused).as_deref() == Some("claude"));
    let later = north.run(&plain);
    wait_until("north to wait again", || waits_for(&north, &later).as_deref() == Some("claude"));
    assert_eq!(stage.lines("started").len(), 1, "north knows that its account is closed");
    south.wait_until_run_is(&south.run(&plain), "succeeded");
    assert_eq!(stage.lines("started").len(), 2);
    // The next engine knows as much.
    first.process.kill();
    let second = served(&stage);
    let [north, south] = tokens.each_ref().map(|token| second.client(token));
    let last = north.run(&plain);
    wait_until("north to wait still", || waits_for(&north, &last).as_deref() == Some("claude"));
    south.wait_until_run_is(&south.run(&plain), "succeeded");
    assert_eq!(stage.lines("started").len(), 3);
}

#[test]
fn a_limit_of_a_login_that_a_flow_brings_closes_an_account_of_its_own() {
    let stage = stage(FIX);
    let plain = format!("flow: plain\nsteps:\n{FIX}");
    stage.write("resets", in_hours(2).to_string());
    let served = served(&stage);
    let north = served.client(&token_of(&stage, "north"));
    // Another program by the flow's own `PATH`, and another key.
    let flows = [
        (stage.read("flow.yaml"), "claude of flow agents"),
        (
            format!("flow: keyed\nsecrets: {{ ANTHROPIC_API_KEY: {{ env: PATH }} }}\nsteps:\n{FIX}"),
            "claude of flow keyed",
        ),
        (format!("{plain}    env: {{ CLAUDE_CONFIG_DIR: /of/mine }}\n"), "claude of step fix in flow plain"),
    ];
    for (number, (flow, account)) in flows.iter().enumerate() {
        stage.write("next", "limit\n");
        let refused = north.run(flow);
        wait_until("it to wait", || waits_for(&north, &refused).as_deref() == Some(*account));
        north.wait_until_run_is(&north.run(&plain), "succeeded");
        assert_eq!(stage.lines("started").len(), 2 * (number + 1), "{account}");
    }
}

/// Two accounts of `claude` and one of `codex`; their program notes with which variables it was started.
const ACCOUNTS: &str = "accounts:\n  work:\n    use: claude\n    program: noting\n    env: { CLAUDE_CONFIG_DIR: /of/work, PLACE: account }\n  spare:\n    use: \
                        claude\n    program: noting\n    secrets: { ANTHROPIC_API_KEY: { file: ../spare.key } }\n  other: { use: codex }\n";

fn with_accounts(step: &str) -> Stage {
    let stage = stage(step);
    let root = stage.path("");
    let script = format!(
        "#!/bin/sh\necho \"$CLAUDE_CONFIG_DIR $ANTHROPIC_API_KEY $PLACE\" >> {0}/logins\necho \"key $ANTHROPIC_API_KEY\" >&2\nexec {0}/bin/claude \"$@\"\n",
        root.display()
    );
    stage.write_program("bin/noting", script);
    stage.write("spare.key", "sk-of-the-spare-account\n");
    stage.write(".envoi/config.yaml", ACCOUNTS);
    stage
}

#[test]
fn a_step_works_with_the_account_that_it_names_and_goes_on_with_another_one() {
    let step = "  - id: fix\n    agent: { use: claude, account: work, prompt: 'Say hello.', may: run }\n    env: { PLACE: flow }\n    on_throttled: { use: \
                claude, account: spare }\n";
    let stage = with_accounts(step);
    stage.write("resets", in_hours(2).to_string());
    stage.write("next", "limit\nhello\n");
    let done = stage.expect(0, &["run", "flow.yaml"]);
    let logins = stage.lines("logins");
    assert_eq!(logins, ["/of/work  account", " sk-of-the-spare-account flow"]);
    let (first, second) = (session(&stage, "fix.1.1"), session(&stage, "fix.1.2"));
    assert_ne!(first, second, "each account has a session of its own");
    let run = stage.run_id();
    let events = stage.events(&run);
    let told = serde_json::Value::from(events).to_string();
    assert!(told.contains("claude/work") && told.contains("claude/spare"), "{done:?}");
    let logs = stage.expect(0, &["logs", &run, "--stderr"]);
    assert!(logs.out.contains("key ") && !logs.out.contains("sk-of-the-spare"), "{logs:?}");
    assert!(!told.contains("sk-of-the-spare"));
}

#[test]
fn an_account_brings_a_model_and_arguments_and_bounds_what_a_step_may_do() {
    let stage =
        with_accounts("  - id: fix\n    agent: { use: claude/look, prompt: p, may: read, args: [--own] }\n");
    let config = "accounts:\n  look: { use: claude, program: noting, model: small, may: read, args: [--bare, --more] }\n";
    stage.write(".envoi/config.yaml", config);
    stage.expect(0, &["run", "flow.yaml"]);
    let started = stage.lines("started").join(" ");
    assert!(started.ends_with("--model small --bare --more --own"), "{started}");
    let flow = stage.read("flow.yaml");
    for (step, expected) in [
        ("may: read, model: large", Ok("--model large --bare --more --own")),
        ("may: edit", Err("account `look` is for at most `may: read`, and the step says `may: edit`")),
        (
            "may: read, ask: [Bash]",
            Err("account `look` has the argument `--bare`, which takes the questions away"),
        ),
    ] {
        stage.write("flow.yaml", flow.replace("may: read", step));
        let before = stage.lines("started").len();
        match expected {
            Ok(arguments) => {
                stage.expect(0, &["run", "flow.yaml"]);
                assert!(stage.lines("started").last().unwrap().ends_with(arguments), "{step}");
            }
            Err(message) => {
                let done = stage.expect(1, &["run", "flow.yaml"]);
                assert!(done.err.contains("TOOL_CANNOT_START") && done.err.contains(message), "{done:?}");
                assert_eq!(stage.lines("started").len(), before, "{step}");
            }
        }
    }
}

#[test]
fn only_the_account_that_was_refused_is_closed() {
    let step = |account: &str| {
        format!("  - id: fix\n    agent: {{ use: claude, account: {account}, prompt: 'Say hello.' }}\n")
    };
    let stage = with_accounts(&step("work"));
    let spare = stage
        .read("flow.yaml")
        .replace("account: work", "account: spare")
        .replace("flow: agents", "flow: spare");
    stage.write("spare.yaml", spare);
    stage.write("resets", in_hours(2).to_string());
    stage.write("next", "limit\nhello\n");
    let waiting = stage.start(&["run", "flow.yaml", "--share-workspace"]);
    wait_until("the account to be closed", || waits(&stage).len() == 1);
    assert_eq!(waits(&stage)[0]["waits_for"]["account"], "claude/work of flow agents");
    stage.expect(0, &["run", "spare.yaml", "--share-workspace"]);
    assert_eq!(stage.lines("logins").len(), 2);
    waiting.kill();
}

#[test]
fn an_unusable_account_is_reported_before_anything_is_started() {
    for (account, expected) in [
        ("home", "`accounts` of config.yaml has no account `home`"),
        ("other", "account `other` is for `codex`, and the step uses `claude`"),
        ("spare", "account `spare`: secret `ANTHROPIC_API_KEY`: "),
    ] {
        let stage = with_accounts(&format!(
            "  - id: fix\n    agent: {{ use: claude, account: {account}, prompt: x }}\n    retry: {{ attempts: 3, backoff: 1ms..2ms }}\n"
        ));
        fs::remove_file(stage.path("spare.key")).unwrap();
        let checked = stage.expect(0, &["check", "flow.yaml"]);
        let done = stage.expect(1, &["run", "flow.yaml"]);
        assert!(done.err.contains("TOOL_CANNOT_START") && done.err.contains(expected), "{done:?}");
        // A mistake that can be known before is reported before.
        let is_known = account != "spare";
        assert_eq!(checked.err.contains("warning: step `fix`: "), is_known, "{checked:?}");
        assert_eq!(done.err.contains("warning: step `fix`: "), is_known, "{done:?}");
        assert!(!stage.path("started").exists() && !stage.path("logins").exists());
        let doctor = stage.json(&["--json", "doctor"]).to_string();
        assert!(doctor.contains("work (of claude); ") || doctor.contains("; work (of claude)"), "{doctor}");
        assert!(doctor.contains("so it cannot be used"), "{doctor}");
        stage.write("spare.key", "sk-of-the-spare-account\n");
        let config =
            ACCOUNTS.replace("other: { use: codex }", "other: { use: claude }\n  home: { use: claude }");
        stage.write(".envoi/config.yaml", config);
        stage.expect(0, &["resume", &stage.run_id()]);
        assert_eq!(stage.lines("started").len(), 1, "{account}");
    }
}

#[test]
fn a_limit_whose_reset_is_too_far_away_fails_the_step_and_says_so() {
    let stage = stage(&format!("{FIX}    retry: {{ attempts: 3, backoff: 1ms..2ms }}\n"));
    stage.write("resets", in_hours(30).to_string());
    stage.write("next", "limit\n");
    let done = stage.expect(1, &["run", "flow.yaml"]);
    assert!(done.err.contains("AGENT_THROTTLED: You've hit your limit"), "{done:?}");
    assert_eq!(stage.lines("started").len(), 1, "it is not tried again within the limit");
    // With another login the limit of the first one does not apply, and a person states that.
    let run = stage.run_id();
    stage.expect(1, &["resume", &run]);
    assert_eq!(stage.lines("started").len(), 1, "it is closed");
    let done = stage.expect(0, &["resume", &run, "--now", "--why", "another login"]);
    assert!(done.err.contains("claude of flow agents tried before its time"), "{done:?}");
    assert_eq!(stage.lines("started").len(), 2);
    stage.expect(0, &["run", "flow.yaml"]);
}

#[test]
fn a_reset_that_cannot_be_is_none_and_the_account_is_tried_soon() {
    let stage = stage(FIX);
    // A value in milliseconds in place of seconds.
    stage.write("resets", (in_hours(2) * 1_000).to_string());
    stage.write("next", "limit\n");
    let engine = stage.start(&["run", "flow.yaml"]);
    wait_until("it to wait", || waits(&stage).len() == 1);
    let row = &waits(&stage)[0];
    assert!(row["waits_for"]["resets_at"].is_null(), "{row}");
    engine.kill();
}

/// The report of `doctor` on a program whose file is this script; `None`: without a program.
fn examined(stage: &Stage, script: Option<&str>) -> serde_json::Value {
    fs::create_dir_all(stage.path("bin")).unwrap();
    if let Some(script) = script {
        stage.write_program("bin/codex", format!("#!/bin/sh\nPATH=/usr/bin:/bin\n{script}\n"));
    }
    let doctor = |arguments: &[&str]| {
        let mut command = stage.command(arguments);
        Process::spawn(command.env("PATH", stage.path("bin"))).done()
    };
    let done = doctor(&["--json", "doctor"]);
    assert_eq!(done.code, Some(0), "what is wrong with a program is no fault of the store: {done:?}");
    let rows: serde_json::Value = serde_json::from_str(&done.out).unwrap();
    let of = |program: &str| {
        let row = rows.as_array().unwrap().iter().find(|row| row["agent"]["program"] == program);
        row.unwrap_or_else(|| panic!("no row for {program}: {rows:#}")).clone()
    };
    assert_eq!(of("claude")["agent"]["path"], serde_json::Value::Null);
    of("codex")
}

#[test]
fn doctor_says_which_programs_are_there_and_whether_their_versions_were_tried() {
    let unknown = serde_json::Value::Null;
    for (script, version, support, words) in [
        (
            Some("echo codex-cli 0.169.0"),
            "0.169.0".into(),
            "tried".into(),
            "among those that were tried (0.169.0)",
        ),
        (Some("echo codex-cli 9.0.1"), "9.0.1".into(), "newer".into(), "newer than those that were tried"),
        (Some("echo 0.1.2"), "0.1.2".into(), "older".into(), "older than those that were tried"),
        (
            Some("echo usage: codex FILE"),
            unknown.clone(),
            unknown.clone(),
            "`codex --version` prints no version",
        ),
        (Some("exec yes"), unknown.clone(), unknown.clone(), "`codex --version` prints no version"),
        (None, unknown.clone(), unknown.clone(), "not found in PATH"),
    ] {
        let stage = Stage::new();
        let row = examined(&stage, script);
        let (agent, detail) = (&row["agent"], text(&row["detail"]));
        assert_eq!((&agent["version"], &agent["support"]), (&version, &support), "{script:?}: {row:#}");
        assert_eq!((&agent["tried_from"], &agent["tried_to"]), (&"0.169.0".into(), &"0.169.0".into()));
        assert!(detail.contains(words), "{script:?}: {detail}");
        let path = script.map(|_| stage.path("bin/codex").display().to_string());
        assert_eq!(agent["path"], serde_json::json!(path), "{row:#}");
        assert!(path.is_none_or(|path| detail.starts_with(&path)), "{detail}");
        let is_said = detail.ends_with("; `may` of a step is its own permission system, not a sandbox");
        assert_eq!(is_said, !version.is_null(), "{detail}");
    }
}

#[test]
fn doctor_does_not_wait_for_a_program_that_hangs_and_leaves_nothing_of_it() {
    let stage = Stage::new();
    let pids = stage.path("pids").display().to_string();
    let row = examined(&stage, Some(&format!("sleep 1000000 & echo $$ $! > {pids}; wait")));
    assert!(text(&row["detail"]).contains("`codex --version` has not ended after 10 seconds"), "{row:#}");
    assert_eq!(row["agent"]["version"], serde_json::Value::Null);
    let pids: Vec<u32> = stage.read("pids").split_whitespace().map(|pid| pid.parse().unwrap()).collect();
    assert_eq!(pids.len(), 2);
    wait_until("the end of what hangs", || pids.iter().all(|pid| !lives(*pid)));
}

#[test]
fn a_program_that_is_missing_is_marked_for_people_and_is_no_fault() {
    let stage = Stage::new();
    fs::create_dir(stage.path("bin")).unwrap();
    let mut command = stage.command(&["doctor"]);
    let done = Process::spawn(command.env("PATH", stage.path("bin"))).done();
    assert_eq!(done.code, Some(0), "{done:?}");
    for program in ["claude", "codex", "gemini", "opencode"] {
        let row = done.out.lines().find(|line| line.contains(&format!("agent program {program}"))).unwrap();
        assert!(row.starts_with("- ") && row.contains("not found in PATH"), "{row}");
    }
}
