//! Every command: its output, its exit code, and its reaction to wrong arguments and files.

use crate::stage::{Done, Process, Stage, text, wait_until};
use serde_json::Value;
use std::{fs, path::PathBuf, process::Command};

const TWO: &str = "flow: two\ninputs: { word: { type: string, default: hello }, n: { type: integer, default: 1 } }\nsteps:\n  \
                   - id: a\n    run: [\"echo\", \"${{ inputs.word }} ${{ inputs.n }}\"]\n  - id: b\n    run: echo err >&2; echo out\n";

fn vectors(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../spec/vectors").join(name)
}

/// Nothing on stdout, a coded message on stderr, and exit 2.
fn refused_as_input(done: &Done, what: &str) {
    assert_eq!((done.code, done.out.as_str()), (Some(2), ""), "{what}: {done:?}");
    assert!(done.err.starts_with("error"), "{what}: {done:?}");
}

#[test]
fn a_first_run_needs_nothing_but_init_and_run() {
    let stage = Stage::new();
    stage.expect(0, &["init"]);
    assert!(stage.read(".envoi/.gitignore").contains('*'));
    let again = stage.expect(2, &["init"]);
    assert!(again.err.contains("FILE_EXISTS"), "{again:?}");
    let done = stage.expect(0, &["run", "flow.yaml", "-i", "name=you"]);
    assert!(done.out.ends_with("succeeded\n") && done.out.lines().count() == 1, "stdout is data: {done:?}");
    assert!(done.err.contains("Hello, you"), "{done:?}");
}

#[test]
fn each_command_prints_json_where_it_is_asked_to() {
    let stage = Stage::with_flow(TWO);
    let done = stage.expect(0, &["--json", "run", "flow.yaml"]);
    let lines: Vec<Value> = done.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.last().unwrap()["result"]["status"], "succeeded");
    assert_eq!(lines[0]["event"]["type"], "run_started");
    assert_eq!(stage.events(&stage.run_id()).len(), lines.len() - 1, "every record once");
    for arguments in [
        &["runs"][..],
        &["show"],
        &["show", "--envelope"],
        &["show", "--handoff", "a"],
        &["why"],
        &["logs"],
        &["check", "flow.yaml"],
        &["plan", "flow.yaml"],
        &["repair"],
        &["doctor"],
        &["explain", "TOOL_TIMEOUT"],
        &["resume", &text(&lines[0]["event"]["run"])],
    ] {
        let whole = [&["--json"], arguments].concat();
        let done = stage.expect(0, &whole);
        let each_line = || done.out.lines().all(|line| serde_json::from_str::<Value>(line).is_ok());
        assert!(!done.out.is_empty(), "{whole:?}");
        assert!(serde_json::from_str::<Value>(&done.out).is_ok() || each_line(), "{whole:?}: {}", done.out);
    }
    // Failures are JSON too, on stderr.
    let failed = stage.envoi(&["--json", "show", "nonsense"]);
    assert_eq!(failed.code, Some(2));
    assert_eq!(serde_json::from_str::<Value>(&failed.err).unwrap()["code"], "RUN_NOT_FOUND");
}

#[test]
fn a_run_s_outcome_is_the_exit_code() {
    let critic = |extra: &str| {
        format!(
            "flow: loops\n{extra}\nsteps:\n  - id: critic\n    run: \"echo 'Status: UNVERIFIED'\"\n    \
             routing: {{ kind: microloop, success_values: [VERIFIED], max_iterations: 2 }}\n"
        )
    };
    for (code, flow) in [
        (0, TWO.to_owned()),
        (1, "flow: fails\nsteps:\n  - id: a\n    run: exit 3\n".to_owned()),
        (2, "flow: bad\nsteps: []\n".to_owned()),
        (3, critic("")),
        (4, critic("limits: { iterations: 1 }")),
    ] {
        let stage = Stage::with_flow(&flow);
        stage.expect(code, &["run", "flow.yaml"]);
        if code != 2 {
            let shown = stage.json(&["--json", "show"]);
            assert_eq!(shown["exit_code"], code);
            if code != 3 {
                // Commands that only look do not report it by their exit code.
                stage.expect(0, &["show"]);
                stage.expect(0, &["why"]);
            }
        }
    }
}

#[test]
fn a_review_is_answered_once_and_only_as_asked() {
    let flow = "flow: loops\nsteps:\n  - id: critic\n    run: \"echo $ENVOI_ATTEMPT >> ledger; echo 'Status: UNVERIFIED'\"\n    \
                routing: { kind: microloop, success_values: [VERIFIED], max_iterations: 1 }\n  - id: after\n    run: echo after >> ledger\n";
    let stage = Stage::with_flow(flow);
    let waits = stage.expect(3, &["run", "flow.yaml"]);
    assert!(waits.err.contains("--review"), "{waits:?}");
    let run = stage.run_id();
    let before = stage.events(&run);
    stage.expect(6, &["resume", &run, "--in-doubt", "rerun"]);
    stage.expect(6, &["resume", &run, "--review", "again"]);
    assert_eq!(stage.events(&run), before, "a refused answer changes nothing");
    stage.expect(3, &["resume", &run]);
    stage.expect(0, &["resume", &run, "--review", "proceed"]);
    assert_eq!(stage.lines("ledger"), ["critic.1.1", "critic.2.1", "after"]);
    stage.expect(6, &["resume", &run, "--review", "stop"]);
    let stage = Stage::with_flow(flow);
    stage.expect(3, &["run", "flow.yaml"]);
    stage.expect(1, &["resume", "--review", "stop"]);
}

#[test]
fn inputs_are_checked_before_anything_is_made() {
    let stage = Stage::with_flow(TWO);
    for arguments in [
        ["-i", "n=one"],
        ["-i", "unknown=1"],
        ["-i", "n"],
        ["--inputs-file", "missing.json"],
        ["--inputs-file", "flow.yaml"],
    ] {
        let done = stage.envoi(&[&["run", "flow.yaml"], &arguments[..]].concat());
        refused_as_input(&done, &format!("{arguments:?}"));
        assert!(done.err.contains("INPUT_INVALID"), "{done:?}");
    }
    assert!(!stage.store().exists());
    stage.write("inputs.json", r#"{"n": 12345678901234567890123, "word": "ab\"c $HOME"}"#);
    stage.expect(0, &["run", "flow.yaml", "--inputs-file", "inputs.json"]);
    let logs = stage.expect(0, &["logs", "--step", "a"]);
    assert!(logs.out.contains("ab\"c $HOME 12345678901234567890123"), "{logs:?}");
    let errors = stage.expect(0, &["logs", "--stderr"]);
    assert!(errors.out.contains("err") && !errors.out.contains("hello"), "{errors:?}");
}

#[test]
fn a_run_is_named_by_a_beginning_or_an_end_that_only_it_has() {
    let stage = Stage::with_flow(TWO);
    let none = stage.envoi(&["runs"]);
    assert!(none.err.contains("NO_STORE"), "{none:?}");
    stage.expect(0, &["run", "flow.yaml"]);
    let first = stage.run_id();
    stage.expect(0, &["run", "flow.yaml"]);
    let end = &first[first.len() - 8..];
    assert_eq!(stage.json(&["--json", "show", end])["run"], first.as_str());
    let length = (5..first.len()).find(|length| stage.envoi(&["show", &first[..*length]]).code == Some(0));
    assert!(length.is_some_and(|length| length < first.len()), "a beginning that is enough");
    let ambiguous = stage.expect(6, &["show", "run_"]);
    assert!(ambiguous.err.contains("AMBIGUOUS_ID") && ambiguous.err.contains(&first), "{ambiguous:?}");
    for wrong in ["", "%", "run_%", "'; drop table runs", "RUN_", "nope", "😀"] {
        let done = stage.envoi(&["show", wrong]);
        assert_eq!((done.code, done.out.as_str()), (Some(2), ""), "{wrong}: {done:?}");
    }
    let finished = stage.expect(2, &["resume"]);
    assert!(finished.err.contains("RUN_NOT_FOUND"), "{finished:?}");
}

#[test]
fn several_unfinished_runs_are_listed_and_none_is_chosen() {
    let stage = Stage::with_flow(
        "flow: waits\nsteps:\n  - id: c\n    run: \"echo 'Status: NO'\"\n    routing: { kind: microloop, success_values: [YES], max_iterations: 1 }\n",
    );
    stage.expect(3, &["run", "flow.yaml"]);
    stage.expect(3, &["resume"]);
    stage.expect(3, &["run", "flow.yaml"]);
    let refused = stage.expect(6, &["resume"]);
    assert!(stage.runs().iter().all(|row| refused.err.contains(&text(&row["run"]))), "{refused:?}");
    assert_eq!(stage.json(&["--json", "runs", "--unfinished", "--limit", "1"]).as_array().unwrap().len(), 1);
}

#[test]
fn wrong_files_are_bad_input_for_every_command() {
    let stage = Stage::new();
    stage.write("empty", "");
    stage.write("binary", [0_u8, 159, 146, 150, 0, 1, 2]);
    stage.write("large", vec![b'x'; 20 << 20]);
    stage.write("spaces", vec![b' '; 20 << 20]);
    fs::create_dir(stage.path("folder")).unwrap();
    for file in ["missing", "folder", "binary", "empty", "large", "spaces"] {
        for command in [&["check"][..], &["plan"], &["run"], &["handoff"], &["route"], &["conformance"]] {
            let done = stage.envoi(&[command, &[file]].concat());
            let what = format!("{command:?} {file}");
            assert_eq!((done.code, done.out.as_str()), (Some(2), ""), "{what}: {done:?}");
            assert!(done.err.len() < 4_000 && !done.err.is_empty(), "{what}: {}", done.err.len());
            assert!(done.err.contains("error["), "{what}: {done:?}");
        }
    }
    assert!(!stage.store().exists());
}

#[test]
fn the_filters_write_the_seeds_examples_byte_for_byte() {
    let stage = Stage::new();
    for (command, file) in [("handoff", "handoff.json"), ("route", "routing.json")] {
        let all: Value = serde_json::from_slice(&fs::read(vectors(file)).unwrap()).unwrap();
        let example = all.as_array().unwrap().iter().find(|vector| !vector["expect_text"].is_null()).unwrap();
        let input = text(&example["input_text"]);
        let done = stage.filter(&[command], input.as_bytes());
        assert_eq!(
            (done.code, done.out.as_str(), done.err.as_str()),
            (Some(0), text(&example["expect_text"]).as_str(), "")
        );
        stage.write("input", &input);
        assert_eq!(stage.expect(0, &[command, "input"]).out, done.out, "from a file as well");
        let compact = stage.filter(&[command, "--compact"], input.as_bytes());
        assert_eq!(compact.out.lines().count(), 1);
        assert_eq!(
            serde_json::from_str::<Value>(&compact.out).unwrap(),
            serde_json::from_str::<Value>(&done.out).unwrap()
        );
    }
    assert!(!stage.store().exists());
}

#[test]
fn a_filter_given_bad_input_writes_nothing_and_says_why() {
    let stage = Stage::new();
    let deep = "[".repeat(500);
    for input in [
        "",
        "{",
        "nonsense",
        "{\"status\": \"succeeded\", \"status\": \"failed\"}",
        "{\"step_id\": \"a\", \"flow_key\": \"f\", \"run_id\": \"r\", \"status\": \"done\"}",
        "{\"handoff_text\": \"x\", \"routing\": {\"routing_kind\": \"microloop\"}}",
        "{\"handoff_text\": \"x\", \"routing\": {\"max_iterations\": 1.5}}",
        "{\"handoff_text\": \"\\ud800\"} ",
        "{} trailing",
        deep.as_str(),
    ] {
        for command in ["handoff", "route"] {
            refused_as_input(&stage.filter(&[command], input.as_bytes()), &format!("{command} {input:.60}"));
        }
    }
    refused_as_input(&stage.filter(&["route"], b"{\"handoff_text\": \"\xff\"}"), "bytes that are not UTF-8");
}

#[test]
fn the_vectors_pass_and_a_wrong_one_fails() {
    let stage = Stage::new();
    let names = ["routing.json", "handoff.json", "skill-report.json", "envelope.json", "user-envelope.json"];
    let paths: Vec<_> = names.iter().map(|name| vectors(name).to_str().unwrap().to_owned()).collect();
    let arguments: Vec<&str> =
        ["--json", "conformance"].into_iter().chain(paths.iter().map(String::as_str)).collect();
    let told = stage.json(&arguments);
    assert!(told["failed"] == 0 && told["passed"].as_u64() > Some(100), "{told}");
    let wrong = fs::read_to_string(vectors("routing.json"))
        .unwrap()
        .replace("\"Loop target reached\"", "\"Loop target reached!\"");
    stage.write("wrong.json", wrong);
    let done = stage.expect(1, &["conformance", "wrong.json"]);
    assert!(done.out.contains("expected"), "{done:?}");
    let told: Value = serde_json::from_str(
        stage.expect(1, &["--json", "conformance", "wrong.json"]).out.lines().last().unwrap(),
    )
    .unwrap();
    assert!(told["failed"].as_u64() > Some(0));
}

/// A shell line, with the binary as `$ENVOI`.
fn shell(stage: &Stage, line: &str) -> Done {
    let mut command = Command::new("sh");
    command.args(["-c", line]).current_dir(stage.path("")).env("ENVOI", env!("CARGO_BIN_EXE_envoi"));
    command.env("HOME", stage.path("")).env("XDG_RUNTIME_DIR", stage.path("sockets"));
    command
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    Process::spawn(&mut command).done()
}

#[test]
fn a_closed_pipe_is_no_reason_for_a_message() {
    let stage = Stage::with_flow(TWO);
    stage.expect(0, &["run", "flow.yaml"]);
    for line in [
        "$ENVOI show --events | head -1",
        "$ENVOI completions bash | head -1",
        "$ENVOI --help | head -1",
        "$ENVOI runs | true",
        "$ENVOI --json run flow.yaml 2>/dev/null | true",
        "$ENVOI explain TOOL_TIMEOUT | true",
    ] {
        let done = shell(&stage, line);
        assert_eq!(done.err, "", "{line}");
    }
    assert!(stage.runs().iter().all(|row| row["status"] == "succeeded"), "and no reason to end a run");
}

#[test]
fn a_closed_stderr_ends_no_command_and_no_run() {
    let stage = Stage::with_flow(TWO);
    for (arguments, code) in [
        (["run", "flow.yaml"].as_slice(), 0),
        (&["inbox"], 0),
        (&["check", "flow.yaml"], 0),
        (&["show", "nosuch"], 2),
    ] {
        // The reader is gone before the command starts.
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = stage.command(arguments);
        command.stdin(std::process::Stdio::null()).stdout(std::process::Stdio::null()).stderr(writer);
        assert_eq!(command.status().unwrap().code(), Some(code), "{arguments:?}");
    }
    assert!(stage.runs().iter().all(|row| row["status"] == "succeeded"));
}

#[test]
fn the_store_is_where_home_says_else_upward_else_here() {
    let stage = Stage::with_flow(TWO);
    fs::create_dir_all(stage.path("deep/er")).unwrap();
    let named =
        Process::spawn(stage.command(&["run", "flow.yaml"]).env("ENVOI_HOME", stage.path("named"))).done();
    assert_eq!(named.code, Some(0), "{named:?}");
    assert!(stage.path("named/envoi.db").exists() && !stage.store().exists());
    stage.expect(0, &["--home", "other", "run", "flow.yaml"]);
    assert!(stage.path("other/envoi.db").exists() && !stage.store().exists());
    stage.expect(0, &["run", "flow.yaml"]);
    let below = Process::spawn(stage.command(&["--json", "runs"]).current_dir(stage.path("deep/er"))).done();
    assert_eq!(serde_json::from_str::<Value>(&below.out).unwrap().as_array().unwrap().len(), 1, "{below:?}");
    stage.write("file", "");
    let wrong = stage.envoi(&["--home", "file", "run", "flow.yaml"]);
    assert!(matches!(wrong.code, Some(2 | 8)) && wrong.err.starts_with("error["), "{wrong:?}");
}

#[test]
fn every_code_has_a_page_and_every_shell_its_completions() {
    let stage = Stage::new();
    for shell in ["bash", "zsh", "fish"] {
        assert!(stage.expect(0, &["completions", shell]).out.contains("envoi"));
    }
    refused_as_input(&stage.envoi(&["completions", "tcsh-nonsense"]), "a shell that is none");
    for code in [
        "TAKEN_OVER",
        "ENGINE_UNREACHABLE",
        "WORKSPACE_BUSY",
        "SECRET_MISSING",
        "RUN_OVER",
        "WRONG_ANSWER",
        "PAST_BOUND",
        "RUN_NOT_FOUND",
        "AMBIGUOUS_ID",
        "NO_STORE",
        "FLOW_INVALID",
        "INPUT_INVALID",
        "NOT_YET_SUPPORTED",
        "IN_DOUBT",
        "TOOL_EXIT_NON_ZERO",
        "TOOL_TIMEOUT",
        "TOOL_CANNOT_START",
        "TOOL_CANCELLED",
        "STORE_FAILED",
        "MACHINE_FAILED",
        "ENGINE_BUSY",
        "FILE_EXISTS",
        "FILE_UNREADABLE",
        "FLOW_UNREADABLE",
        "HANDOFF_NOT_FOUND",
        "WORKSPACE_MISSING",
        "ROUTING_INVALID",
        "VALUE_TOO_LARGE",
        "SKILL_REPORT_MISSING",
        "SKILL_REPORT_INVALID",
        "EXPRESSION_FAILED",
    ] {
        let done = stage.envoi(&["explain", code]);
        assert_eq!(done.code, Some(0), "{code}: {done:?}");
        assert!(done.out.contains(code), "{code}: {done:?}");
    }
    refused_as_input(&stage.envoi(&["explain", "NO_SUCH_CODE"]), "a code that is none");
}

#[test]
fn a_failure_that_the_flow_file_may_cause_is_explained_with_the_command_that_takes_the_corrected_file() {
    let stage = Stage::new();
    for code in [
        "AGENT_AUTH",
        "AGENT_BUDGET",
        "AGENT_DENIED",
        "AGENT_IDLE",
        "AGENT_MODEL",
        "AGENT_OVERLOADED",
        "AGENT_REFUSED",
        "AGENT_REJECTED",
        "AGENT_SCHEMA",
        "AGENT_TOO_LONG",
        "AGENT_TURNS",
        "BUDGET_EXHAUSTED",
        "BUDGET_OVERRUN",
        "DATA_INVALID",
        "DENIED",
        "EXPRESSION_FAILED",
        "FLOW_FAILED",
        "FOR_EACH_INVALID",
        "GOALS_INVALID",
        "ITEMS_FAILED",
        "JOIN_NOT_MET",
        "OUTPUT_INVALID",
        "PAST_BOUND",
        "SKILL_REPORT_MISSING",
        "TOOL_CANNOT_START",
        "TOOL_EXIT_NON_ZERO",
        "TOOL_TIMEOUT",
        "VALUE_TOO_LARGE",
    ] {
        let page = stage.expect(0, &["explain", code]).out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(page.contains("envoi resume RUN --flow FILE"), "{code}: {page}");
    }
}

#[test]
fn usage_mistakes_exit_with_2_and_the_wrong_command_is_named() {
    let stage = Stage::new();
    for arguments in [
        &["rum"][..],
        &["--nonsense"],
        &["run"],
        &["show", "--nonsense"],
        &["run", "f", "--copy", "--share-workspace"],
        &["resume", "--review", "maybe"],
    ] {
        let done = stage.envoi(arguments);
        assert_eq!((done.code, done.out.as_str()), (Some(2), ""), "{arguments:?}: {done:?}");
    }
    let version = stage.expect(0, &["--version"]);
    assert_eq!(version.out, format!("envoi {} (development build)\n", env!("CARGO_PKG_VERSION")));
    assert!(!stage.store().exists());
}

#[test]
fn logs_of_a_silent_run_say_so_on_stderr() {
    let stage = Stage::with_flow(
        "flow: s\nsteps:\n  - id: a\n    run: \"true\"\n  - id: b\n    run: echo heard >&2\n",
    );
    stage.expect(0, &["run", "flow.yaml"]);
    let silent = stage.expect(0, &["logs", "--step", "a"]);
    assert_eq!((silent.out.as_str(), silent.err.as_str()), ("", "nothing was written there\n"));
    let heard = stage.expect(0, &["logs"]);
    assert_eq!((heard.out.as_str(), heard.err.as_str()), ("b.1.1 ! heard\n", ""));
}

#[test]
fn every_command_has_a_manual_page() {
    let stage = Stage::with_flow(TWO);
    let folder = stage.path("man/man1");
    stage.expect(0, &["manual", folder.to_str().unwrap()]);
    for name in ["envoi.1", "envoi-run.1", "envoi-store-adopt.1"] {
        let page = std::fs::read_to_string(folder.join(name)).unwrap();
        assert!(page.contains(".TH envoi"), "{name}: {page}");
    }
    assert!(!folder.join("envoi-__attempt.1").exists(), "a command that is not for people");
    let failed = stage.expect(2, &["manual", "flow.yaml/x"]);
    assert!(failed.err.contains("flow.yaml"), "{failed:?}");
}

#[test]
fn why_names_the_rule_that_fired() {
    let stage = Stage::with_flow(
        "flow: w\nsteps:\n  - id: c\n    run: \"echo 'Status: OK'\"\n    routing: { kind: microloop, success_values: [OK] }\n",
    );
    stage.expect(0, &["run", "flow.yaml"]);
    let why = stage.expect(0, &["why"]);
    assert!(why.out.contains("Loop target reached"), "{why:?}");
    assert!(stage.expect(0, &["why", "--step", "c"]).out.contains("Loop target reached"));
}

#[test]
fn an_empty_variable_names_no_store() {
    let stage = Stage::with_flow(TWO);
    let mut command = stage.command(&["run", "flow.yaml"]);
    let done = Process::spawn(command.env("ENVOI_HOME", "")).done();
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(stage.path(".envoi/envoi.db").exists() && !stage.path("envoi.db").exists());
}

#[test]
fn a_store_inside_the_workspace_is_no_part_of_it() {
    let flow = "flow: all\nsteps:\n  - id: a\n    run: echo x > made.txt\n    artifacts: [\"**/*\"]\n";
    let stage = Stage::with_flow(flow);
    stage.expect(0, &["--home", "state", "run", "flow.yaml", "--copy"]);
    let handoff = stage.expect(0, &["--home", "state", "show", "--handoff", "a"]);
    let made: Value = serde_json::from_str(&handoff.out).unwrap();
    let expected = serde_json::json!({"flow.yaml": "all/flow.yaml", "made.txt": "all/made.txt"});
    assert_eq!(made["artifacts"], expected, "what matches is handed over, changed or not; the store is not");
    let run = text(&stage.json(&["--home", "state", "--json", "show"])["run"]);
    assert!(!stage.path(&format!("state/runs/{run}/workspace/state")).exists());
}

#[test]
fn an_artifact_that_no_hand_off_can_name_is_a_warning_and_stops_nothing() {
    let flow = "flow: odd\nsteps:\n  - id: a\n    run: \"mkdir -p handoff; echo x > handoff/x.txt; echo y > 'a\\\\b.txt'; echo z > good.txt\"\n    \
                artifacts: [\"**/*.txt\"]\n  - id: b\n    run: echo b\n";
    let stage = Stage::with_flow(flow);
    let done = stage.expect(0, &["run", "flow.yaml"]);
    assert!(done.err.contains("warning"), "{done:?}");
    stage.expect(0, &["resume", &stage.run_id()]);
    stage.expect(0, &["repair"]);
    let handoff = stage.json(&["show", "--handoff", "a"]);
    assert_eq!(handoff["artifacts"], serde_json::json!({"good.txt": "odd/good.txt"}));
}

#[test]
fn a_run_that_is_detached_is_named_as_json_too() {
    let stage = Stage::with_flow(TWO);
    let named = stage.json(&["--json", "run", "flow.yaml", "--detach"]);
    let run = text(&named["run"]);
    wait_until("its end", || stage.json(&["--json", "show", &run])["status"] == "succeeded");
}

/// The event names one of the steps; a person wants to know of all that start again.
#[test]
fn a_reopened_graph_says_every_step_that_starts_again() {
    let stage = Stage::with_flow(
        "
flow: two
steps:
  - { id: start, run: 'true' }
  - { id: left, needs: [start], run: 'touch left; until [ -e right ]; do sleep 0.01; done; test -e go' }
  - { id: right, needs: [start], run: 'touch right; until [ -e left ]; do sleep 0.01; done; test -e go' }
  - { id: last, needs: [left, right], run: 'true' }
",
    );
    stage.expect(1, &["run", "flow.yaml", "--jobs", "2"]);
    let run = stage.run_id();
    assert!(!stage.expect(0, &["show", &run]).out.contains("reopened"));
    stage.write("go", "");
    stage.expect(0, &["resume", &run, "--reason", "it is there now"]);
    let why = stage.expect(0, &["why", &run]).out;
    let told = why.lines().find(|line| line.starts_with("reopened")).unwrap();
    assert!(told.starts_with("reopened at left, right by "), "{told}");
    assert!(told.ends_with(": it is there now"), "{told}");
    let steps = serde_json::json!(["left", "right"]);
    let why = stage.json(&["--json", "why", &run]);
    let reopened = why.as_array().unwrap().iter().find(|row| row["event"]["type"] == "run_reopened").unwrap();
    assert_eq!(reopened["event"]["why"], "it is there now");
    let shown = stage.expect(0, &["show", &run]).out;
    assert!(shown.contains("\nreopened   at left, right by "), "{shown}");
    let shown = stage.json(&["--json", "show", &run]);
    assert_eq!(shown["reopened"].as_array().unwrap().len(), 1);
    assert_eq!(shown["reopened"][0]["steps"], steps);
}

/// Steps in listed order are not entered one by one: the one that the event names is it.
#[test]
fn a_reopened_list_says_the_step_that_starts_again() {
    let stage = Stage::with_flow("flow: one\nsteps:\n  - { id: only, run: 'test -e go' }\n");
    stage.expect(1, &["run", "flow.yaml"]);
    stage.write("go", "");
    stage.expect(0, &["resume", &stage.run_id()]);
    assert!(stage.expect(0, &["why"]).out.contains("reopened at only by "));
    assert_eq!(stage.json(&["--json", "show"])["reopened"][0]["steps"][0], "only");
}

#[test]
fn output_beyond_its_limit_is_cut_with_a_warning_and_the_limit_can_be_set() {
    let stage = Stage::with_flow(
        "flow: loud\nsteps:\n  - id: work\n    run: \"head -c 20000 /dev/zero | tr '\\\\0' x; echo end; echo quiet >&2\"\n",
    );
    let warned = "warning: stdout is cut: of 20004 bytes";
    for (limit, cut) in
        [("", false), ("output: { stream: 4096 }", true), ("output: { stream: 40960 }", false)]
    {
        stage.write(".envoi/config.yaml", limit);
        let done = stage.expect(0, &["run", "flow.yaml"]);
        assert_eq!(done.err.contains(warned) || done.out.contains(warned), cut, "{limit}: {done:?}");
        let run = text(&stage.runs()[0]["run"]);
        let shown = stage.expect(0, &["show", &run]);
        assert_eq!(shown.out.replace("work.1.1: ", "").contains(warned), cut, "{limit}: {shown:?}");
        let settled =
            stage.events(&run).into_iter().find(|event| event["type"] == "attempt_settled").unwrap();
        // A warning for the stream, and a warning for the text that is made of it.
        let count = settled["warnings"].as_array().map_or(0, Vec::len);
        assert_eq!((count, &settled["text_cut"] == true), (if cut { 2 } else { 0 }, cut), "{settled}");
        let logged = stage.expect(0, &["logs", &run]).out;
        assert_eq!(logged.contains("15908 bytes left out"), cut, "{limit}");
    }
    stage.write(".envoi/config.yaml", "output: { stream: 64MiB }");
    let refused = stage.envoi(&["run", "flow.yaml"]);
    assert!(refused.code == Some(2) && refused.err.contains("CONFIG_INVALID"), "{refused:?}");
}
