//! Tests the shared vectors, and that the runner detects wrong results.

use std::string::String;
use std::vec::Vec;

use super::*;

/// Runs a file and lists what failed.
fn failures(text: &str) -> Vec<String> {
    let outcomes = run_file(text.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
    assert!(!outcomes.is_empty());
    let failed = outcomes.into_iter().filter(|outcome| !outcome.passed);
    failed
        .map(|Outcome { name, expected, got, .. }| format!("{name}\n  expected {expected}\n  got      {got}"))
        .collect()
}

#[test]
fn the_shared_vectors_pass() {
    let files = [
        include_str!("../../../../spec/vectors/routing.json"),
        include_str!("../../../../spec/vectors/handoff.json"),
        include_str!("../../../../spec/vectors/skill-report.json"),
        include_str!("../../../../spec/vectors/envelope.json"),
        include_str!("../../../../spec/vectors/user-envelope.json"),
    ];
    let failed: Vec<String> = files.into_iter().flat_map(failures).collect();
    assert!(failed.is_empty(), "{} failed:\n{}", failed.len(), failed.join("\n"));
}

#[test]
fn a_case_that_is_not_understood_or_not_met_fails() {
    let cases = [
        r#"{"name":"x"}"#,
        r#"{"op":"route.guess","name":"x","input":{},"expect":{}}"#,
        r#"{"op":"route.resolve","name":"no argument","expect":{}}"#,
        r#"{"op":"route.resolve","name":"no expectation","input":{"handoff_text":"x"}}"#,
        r#"{"op":"route.resolve","name":"other code","input":{},"expect_error":"HANDOFF_INVALID"}"#,
        r#"{"op":"route.resolve","name":"other reason","input":{},"expect_error":{"code":"ROUTING_INVALID","reason_prefix":"zz"}}"#,
        r#"{"op":"route.resolve","name":"refused","input":{},"expect":{}}"#,
        r#"{"op":"route.resolve","name":"not refused","input":{"handoff_text":"x"},"expect_error":"ROUTING_INVALID"}"#,
        r#"{"op":"route.resolve","name":"a member less","input":{"handoff_text":"x"},"expect":{"decision":"proceed"}}"#,
        r#"{"op":"route.resolve","name":"other bytes","input":{"handoff_text":"x"},"expect_text":"{}"}"#,
        r#"{"op":"route.convert","name":"unknown form","input":{"signal":{"decision":"advance"},"to":"x"},"expect":{}}"#,
        r#"{"op":"envelope.apply","name":"unknown operation","input":{"operations":[{"op":"fly"}]},"expect":{"observations":[]}}"#,
        r#"{"op":"envelope.apply","name":"other state","input":{"operations":[]},"expect":{"to_dict":{}}}"#,
        r#"{"op":"envelope.roundtrip","name":"other text","input":{"metadata":{"a":1.0}},"expect":{"members":{"metadata":"{\"a\":1}"}}}"#,
        r#"{"op":"user_envelope.parse","name":"without a switch","input":{"raw":"x"},"expect":{"text":"x"}}"#,
        r#"{"op":"skill.judge","name":"other message","input":{"exit":1,"stderr":"a"},"expect":{"ok":false,"error":{"code":"TOOL_EXIT_NON_ZERO","message":"b"}}}"#,
    ];
    for case in cases {
        assert_eq!(failures(&format!("[{case}]")).len(), 1, "{case}");
    }
    assert!(run_file(b"{}").is_err());
}
