//! Attempts of small programs in the place of an agent program.

use super::*;
use envoi_contract::json::Value;
use envoi_preset::ToolCall;
use std::process::ExitCode;

struct Plain;

impl Mask for Plain {
    fn text(&self, text: &str) -> String {
        text.to_owned()
    }

    fn value(&self, value: &Value) -> Value {
        value.clone()
    }

    fn hides(&self) -> bool {
        false
    }
}

/// An order for a program that runs `first` in the attempt's folder, and then reports success.
fn attempt(folder: &std::path::Path, first: &str, idle_ms: Option<u64>) -> Order {
    let (program, text) = (folder.join("program"), folder.join("program.sh"));
    let hello = concat!(env!("CARGO_MANIFEST_DIR"), "/../preset/tests/transcripts/claude/hello.jsonl");
    let script =
        format!("#!/bin/sh\ncat > /dev/null\ncd {}\n{first}\ngrep -v '^# ' {hello}\n", folder.display());
    std::fs::write(&text, script).unwrap();
    // Another process writes the file. If this process wrote it, a child that another thread forks at that moment
    // could inherit the open file, and the program could not be executed.
    let made = Command::new("install").args(["-m", "755"]).args([&text, &program]).status();
    assert!(made.unwrap().success());
    let order = serde_json::json!({
        "preset": "claude", "program": program, "prompt": "Say hello.", "may": "run", "folder": folder,
        "report": folder.join("report.json"), "output": folder.join("output"), "idle_ms": idle_ms, "ask": ["Bash(git push *)"],
    });
    serde_json::from_value(order).unwrap()
}

#[test]
fn what_a_program_leaves_in_the_place_of_a_file_is_neither_followed_nor_waited_for() {
    for name in
        ["report.json", "output", "used.json", "session", "call-put-off", "calls-refused", "events.jsonl"]
    {
        for odd in ["ln -s victim", "mkfifo", "mkdir"] {
            let folder = tempfile::tempdir().unwrap();
            std::fs::write(folder.path().join("victim"), "as it was").unwrap();
            let order = attempt(folder.path(), &format!("rm -rf {name}; {odd} {name}"), None);
            let code = crate::run(&order, &Plain);
            assert_eq!(std::fs::read(folder.path().join("victim")).unwrap(), b"as it was", "{odd} {name}");
            let report = std::fs::symlink_metadata(folder.path().join("report.json"));
            let is_whole = report.is_ok_and(|report| report.is_file());
            assert_eq!(code == ExitCode::SUCCESS, is_whole, "{odd} {name}");
            if ["report.json", "output"].contains(&name) {
                assert_eq!(is_whole, odd != "mkdir", "{odd} {name}");
            }
        }
    }
}

#[test]
fn a_call_that_was_refused_beside_a_question_counts_as_a_denial() {
    let call = r#"{"id":"toolu_1","name":"Bash","input":{"command":"git push a"}}"#;
    let input = Value::parse_str(r#"{"command":"git push a"}"#).unwrap();
    let digest = ToolCall { id: "toolu_1".to_owned(), tool: "Bash".to_owned(), input }.digest();
    let refused =
        r#"{"tool_name":"WebFetch","tool_use_id":"toolu_0","tool_input":{"url":"https://a.example"}}"#;
    for (refused, denials, failure) in [
        (vec![], 0, None),
        (vec![refused], 0, Some("a tool was refused: WebFetch https://a.example")),
        (vec![refused], 1, None),
        (
            vec![refused; 2],
            1,
            Some(
                "2 calls of a tool were refused, and `denials` allows 1: WebFetch https://a.example; WebFetch https://a.example",
            ),
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let result = format!(
            r#"{{"type":"result","subtype":"success","is_error":false,"session_id":"s","stop_reason":"tool_deferred","terminal_reason":"tool_deferred","deferred_tool_use":{call},"permission_denials":[{}]}}"#,
            refused.join(",")
        );
        let first = format!("printf %s '{digest}' > call-put-off\necho '{result}'\nexit 0");
        let mut order = attempt(folder.path(), &first, None);
        order.denials = denials;
        let work = Work { order: &order, preset: Preset::Claude, mask: &Plain };
        let Finished::Ran { outcome, .. } = work.to_the_end().unwrap() else { unreachable!() };
        assert_eq!(outcome.failure.map(|failure| failure.message).as_deref(), failure, "{denials}");
        assert!(outcome.deferred.is_some());
    }
}

#[test]
fn lines_that_are_no_events_do_not_count_as_a_sign_of_work() {
    let retry =
        r#"{"type":"system","subtype":"api_retry","error":"overloaded","attempt":2,"max_retries":10}"#;
    let warning = r#"{"type":"item.completed","item":{"id":"item_0","type":"error","message":"slow"}}"#;
    let limited = r#"{"type":"error","message":"Reconnecting... 1/5 (exceeded retry limit, last status: 429 Too Many Requests)"}"#;
    let reconnects =
        "; its last error: Reconnecting... 1/5 (exceeded retry limit, last status: 429 Too Many Requests)";
    for (preset, line, class, error) in [
        (Preset::Claude, "{}", Class::Idle, None),
        (Preset::Claude, r#"{"type":1}"#, Class::Idle, None),
        (Preset::Claude, retry, Class::Idle, Some("; its last error: retry 2 of 10: overloaded")),
        (Preset::Codex, warning, Class::Idle, Some("; its last error: slow")),
        (Preset::Codex, limited, Class::Throttled, Some(reconnects)),
    ] {
        // On a busy machine a short time may be over before the program has written its first line.
        let run = |idle_ms: u64, words: &str| {
            let folder = tempfile::tempdir().unwrap();
            let mut order = attempt(folder.path(), &format!("yes '{line}'"), Some(idle_ms));
            if preset == Preset::Codex {
                order.ask = Vec::new();
            }
            let work = Work { order: &order, preset, mask: &Plain };
            let Finished::Ran { outcome, .. } = work.to_the_end().unwrap() else { unreachable!() };
            let expected = format!("no sign of work for {words}: the program was ended");
            let failure = Failure::new(class, format!("{expected}{}", error.unwrap_or_default()));
            (outcome.failure, Some(failure))
        };
        let mut tries = [(300, "0.3 seconds"), (3_000, "3 seconds"), (30_000, "30 seconds")].into_iter();
        let is_as_expected = tries.any(|(idle_ms, words)| {
            let (found, expected) = run(idle_ms, words);
            let is_one = found == expected;
            if !is_one {
                eprintln!("{line}: {found:?}");
            }
            is_one
        });
        assert!(is_as_expected, "{line}");
    }
}

#[test]
fn a_session_that_cannot_be_resumed_begins_anew_under_an_id_that_is_free() {
    for (preset, new) in [("claude", "--session-id s-1"), ("gemini", "")] {
        let folder = tempfile::tempdir().unwrap();
        let lost = match preset {
            "claude" => {
                r#"{"type":"result","subtype":"error_during_execution","is_error":true,"errors":["No conversation found with session ID: s-1"]}"#
            }
            _ => "",
        };
        let first = format!(
            "echo \"$*\" >> started\ncase \"$*\" in *-r*) echo '{lost}'; echo 'Error resuming session: Invalid session identifier.' >&2; exit 42 ;; esac"
        );
        let mut order = attempt(folder.path(), &first, None);
        order.preset = preset.to_owned();
        order.ask = Vec::new();
        order.session = Some("s-1".to_owned());
        order.resumes = true;
        let _code = crate::run(&order, &Plain);
        let started = std::fs::read_to_string(folder.path().join("started")).unwrap();
        let starts: Vec<&str> = started.lines().collect();
        assert_eq!(starts.len(), 2, "{preset}: {starts:?}");
        assert!(
            starts[1].contains(new) && starts[1].contains("s-1") != new.is_empty(),
            "{preset}: {starts:?}"
        );
    }
}

#[test]
fn a_program_that_takes_no_schema_reads_it_in_its_prompt() {
    for (preset, is_in_prompt) in [("claude", false), ("codex", false), ("gemini", true), ("opencode", true)]
    {
        let folder = tempfile::tempdir().unwrap();
        let mut order = attempt(folder.path(), "", None);
        order.preset = preset.to_owned();
        order.ask = Vec::new();
        order.schema = Some(Value::parse_str(r#"{"type":"object"}"#).unwrap());
        let _code = crate::run(&order, &Plain);
        let prompt = std::fs::read_to_string(folder.path().join(PROMPT_FILE)).unwrap();
        assert!(prompt.starts_with("Say hello."), "{prompt}");
        assert_eq!(prompt.contains(r#"{"type":"object"}"#), is_in_prompt, "{preset}: {prompt}");
    }
}

#[test]
fn an_order_with_a_permission_that_is_not_known_starts_nothing() {
    let order = |may: &str| -> Order {
        let order = serde_json::json!({"preset": "claude", "program": "claude", "prompt": "", "may": may, "folder": ".", "report": "r", "output": "o"});
        serde_json::from_value(order).unwrap()
    };
    let begin = |may: &str| {
        let order = order(may);
        let work = Work { order: &order, preset: Preset::Claude, mask: &Plain };
        work.command(Resume::New(None), None).map(|_| ())
    };
    let error = begin("look").unwrap_err();
    assert!(error.to_string().contains("`may: look`"), "{error}");
}
