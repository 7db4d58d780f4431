//! Tests which files are reports, and the verdict when exit code and report differ.

use std::format;
use std::string::ToString;

use super::*;

const HEAD: &str = r#""generatedAt":"2026-02-20T05:30:00.000Z","skillName":"s""#;

fn failure(observed: Observed<'_>) -> Option<(String, String)> {
    let verdict = judge(&observed);
    assert_eq!(verdict.ok, verdict.error.is_none());
    verdict.error.map(|error| (error.code, error.message))
}

#[test]
fn a_file_is_a_report_by_three_members_alone() {
    let reports = [
        format!("{{\"ok\":true,{HEAD}}}"),
        format!("{{\"ok\":false,{HEAD},\"metrics\":5,\"error\":null,\"data\":null}}"),
        format!("{{\"x\":1.00,\"ok\":true,{HEAD},\"metrics\":{{}},\"data\":[1e400]}}"),
    ];
    for text in &reports {
        let report = SkillReport::decode(text.as_bytes()).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(SkillReport::from_value(&report.to_value()), Ok(report));
    }
    let others = ["", "[]", "{}", "{\"ok\":true}", "null"];
    let wrong = ["\"ok\":1", "\"ok\":\"true\"", "\"ok\":null"].map(|ok| format!("{{{ok},{HEAD}}}"));
    for text in others.into_iter().chain(wrong.iter().map(String::as_str)) {
        assert!(SkillReport::decode(text.as_bytes()).is_err(), "{text}");
    }
}

#[test]
fn a_report_comes_out_in_the_order_of_the_contract() {
    let text = format!("{{\"z\":1,\"error\":\"e\",\"metrics\":{{\"b\":1.0}},\"data\":0,{HEAD},\"ok\":true}}");
    let written = SkillReport::decode(text.as_bytes()).unwrap().to_value().compact();
    assert_eq!(
        written,
        format!("{{\"ok\":true,{HEAD},\"data\":0,\"metrics\":{{\"b\":1.0}},\"error\":\"e\",\"z\":1}}")
    );
}

#[test]
fn an_error_of_any_shape_keeps_its_words() {
    let rows = [
        ("\"boom\"", "SKILL_ERROR", "boom"),
        ("{\"code\":\"A\",\"message\":\"b\"}", "A", "b"),
        ("{\"message\":\"b\"}", "SKILL_ERROR", "b"),
        ("{\"code\":\"A\"}", "A", "{\"code\":\"A\"}"),
        ("{\"code\":7,\"message\":\"b\"}", "SKILL_ERROR", "b"),
        ("[1.0]", "SKILL_ERROR", "[1.0]"),
        ("{}", "SKILL_ERROR", "{}"),
    ];
    for (error, code, message) in rows {
        let text = format!("{{\"ok\":true,{HEAD},\"error\":{error}}}");
        let observed = Observed { exit: Some(0), report_text: Some(text.as_bytes()), ..Observed::default() };
        assert_eq!(failure(observed), Some((code.to_string(), message.to_string())), "{error}");
    }
}

#[test]
fn the_verdict_follows_the_table() {
    let ok = format!("{{\"ok\":true,{HEAD},\"error\":null}}");
    let failed = format!("{{\"ok\":false,{HEAD}}}");
    let explained = format!("{{\"ok\":true,{HEAD},\"error\":{{\"code\":\"HALF\",\"message\":\"m\"}}}}");
    let rows: [(_, _, Option<&str>, _, _); 14] = [
        (Some(0), None, None, false, None),
        (Some(0), None, Some(&ok), true, None),
        (Some(0), None, Some(&explained), false, Some("HALF")),
        (Some(0), None, Some(&failed), false, Some("SKILL_REPORTED_FAILURE")),
        (Some(0), None, Some("nonsense"), false, None),
        (Some(0), None, Some("nonsense"), true, Some("SKILL_REPORT_INVALID")),
        (Some(0), None, None, true, Some("SKILL_REPORT_MISSING")),
        (Some(2), None, None, true, Some("TOOL_EXIT_NON_ZERO")),
        (Some(2), None, Some(&ok), true, Some("TOOL_EXIT_NON_ZERO")),
        (Some(2), None, Some(&failed), true, Some("TOOL_EXIT_NON_ZERO")),
        (Some(2), None, Some(&explained), true, Some("HALF")),
        (None, Some(9), Some(&ok), true, Some("TOOL_EXIT_NON_ZERO")),
        (Some(0), Some(9), Some(&ok), true, Some("TOOL_EXIT_NON_ZERO")),
        (None, None, Some(&ok), true, Some("TOOL_EXIT_NON_ZERO")),
    ];
    for (exit, signal, report, declared, code) in rows {
        let report_text = report.map(str::as_bytes);
        let observed = Observed { exit, signal, report_text, declared, ..Observed::default() };
        assert_eq!(failure(observed).map(|(code, _)| code).as_deref(), code, "{observed:?}");
        for (timed_out, cancelled, code) in [(true, false, "TOOL_TIMEOUT"), (false, true, "TOOL_CANCELLED")] {
            let ended = Observed { timed_out, cancelled, ..observed };
            assert_eq!(failure(ended).map(|(code, _)| code).as_deref(), Some(code), "{ended:?}");
        }
    }
}

#[test]
fn the_end_of_stderr_is_the_message() {
    let long = format!("{}é{}", "a".repeat(10), "b".repeat(1999));
    let rows = [
        (Some(1), None, " boom \n", "boom".to_string()),
        (Some(3), None, " \n", "exit code 3".to_string()),
        (None, Some(15), "", "signal 15".to_string()),
        (Some(1), None, long.as_str(), format!("é{}", "b".repeat(1999))),
    ];
    for (exit, signal, stderr, message) in rows {
        let observed = Observed { exit, signal, stderr, ..Observed::default() };
        assert_eq!(failure(observed), Some(("TOOL_EXIT_NON_ZERO".to_string(), message)));
    }
}

#[test]
fn metrics_are_read_by_value() {
    let text = format!(
        "{{\"ok\":true,{HEAD},\"metrics\":{{\"llm_calls\":3.0,\"tokens_in\":-1,\"tokens_out\":7,\"cost_usd\":0.10}}}}"
    );
    let report = SkillReport::decode(text.as_bytes()).unwrap();
    assert_eq!((report.llm_calls(), report.tokens_in(), report.tokens_out()), (Some(3), None, Some(7)));
    assert_eq!(report.cost_usd(), Some("0.10"));
}

/// Contents of a report file that are not valid reports.
const MALFORMED: [(&str, &[u8]); 16] = [
    ("nothing in it", b""),
    ("not JSON", b"done\n"),
    ("NaN", br#"{"ok": true, "generatedAt": "t", "skillName": "s", "data": NaN}"#),
    ("Infinity", br#"{"ok": true, "generatedAt": "t", "skillName": "s", "data": -Infinity}"#),
    ("a byte-order mark", b"\xef\xbb\xbf{\"ok\": true, \"generatedAt\": \"t\", \"skillName\": \"s\"}"),
    ("UTF-16", b"\xff\xfe{\0}\0"),
    ("another byte", b"{\"ok\": true, \"data\": \"\xff\"}"),
    ("truncated", br#"{"ok": true, "generatedAt": "t", "skillName": "s", "data": {"n""#),
    ("two documents", br#"{"ok": true} {"ok": false}"#),
    ("a member twice", br#"{"ok": false, "ok": true}"#),
    ("a lone surrogate", br#"{"ok": true, "data": "\ud800"}"#),
    ("an array", br#"[{"ok": true}]"#),
    ("ok is missing", br#"{"generatedAt": "t", "skillName": "s", "data": 1}"#),
    ("ok is a text", br#"{"ok": "true", "generatedAt": "t", "skillName": "s"}"#),
    ("ok is a number", br#"{"ok": 1, "generatedAt": "t", "skillName": "s"}"#),
    ("ok is null", br#"{"ok": null, "generatedAt": "t", "skillName": "s"}"#),
];

/// Every ending that takes precedence over the report, and its code.
fn ends() -> [(Observed<'static>, Option<&'static str>); 6] {
    let ended = Observed { stderr: "boom", ..Observed::default() };
    [
        (Observed { exit: Some(0), ..ended }, None),
        (Observed { exit: Some(1), ..ended }, Some("TOOL_EXIT_NON_ZERO")),
        (Observed { signal: Some(9), ..ended }, Some("TOOL_EXIT_NON_ZERO")),
        (Observed { exit: Some(0), timed_out: true, ..ended }, Some("TOOL_TIMEOUT")),
        (Observed { signal: Some(15), timed_out: true, ..ended }, Some("TOOL_TIMEOUT")),
        (Observed { signal: Some(15), cancelled: true, ..ended }, Some("TOOL_CANCELLED")),
    ]
}

#[test]
fn what_stands_at_the_assigned_path_is_a_report_or_a_failure() {
    let large =
        [br#"{"ok": true, "generatedAt": "t", "skillName": "s", "data": ""#, [b' '; 17 << 20].as_slice()]
            .concat();
    let deep = format!("{{\"ok\": true, \"data\": {}", "[".repeat(200));
    let malformed =
        MALFORMED.into_iter().chain([("17 MiB", large.as_slice()), ("too deep", deep.as_bytes())]);
    for (what, bytes) in malformed {
        refused_whatever_the_end(what, Observed { report_text: Some(bytes), ..Observed::default() });
    }
    for what in ["a folder", "a named pipe", "a symbolic link"] {
        refused_whatever_the_end(what, Observed { report_unreadable: Some(what), ..Observed::default() });
    }
}

fn refused_whatever_the_end(what: &str, left: Observed<'_>) {
    for (declared, (end, earlier)) in
        [false, true].into_iter().flat_map(|declared| ends().map(|end| (declared, end)))
    {
        let seen = Observed {
            report_text: left.report_text,
            report_unreadable: left.report_unreadable,
            declared,
            assigned: true,
            ..end
        };
        let (code, message) = failure(seen).unwrap_or_else(|| panic!("{what}: a success, {declared}"));
        assert_eq!(code, earlier.unwrap_or("SKILL_REPORT_INVALID"), "{what}: {seen:?}");
        assert!(message.contains("expected "), "{what}: {message} does not name the report");
        assert!(
            !message.contains("SKILL_REPORT_INVALID"),
            "{what}: the code stands beside the message: {message}"
        );
        assert_eq!(judge(&seen).report, None, "{what}");
        // A text of unknown origin is not a report of a plain command, and is not mentioned.
        let unknown = failure(Observed { assigned: false, declared: false, ..seen });
        assert_eq!(unknown.map(|(code, _)| code).as_deref(), earlier, "{what}: {seen:?}");
    }
}

#[test]
fn the_engine_fills_what_a_report_at_the_assigned_path_lacks() {
    let fill = Fill { skill_name: "work", generated_at: "2026-02-20T05:30:00.000Z" };
    let rows: [(&str, &[&str], &str); 5] = [
        (
            r#"{"ok":true}"#,
            &["generatedAt", "skillName", "data"],
            r#"{"ok":true,"generatedAt":"2026-02-20T05:30:00.000Z","skillName":"work","data":null}"#,
        ),
        (
            r#"{"x":1.0,"data":[1],"ok":false,"generatedAt":"t"}"#,
            &["skillName"],
            r#"{"ok":false,"generatedAt":"t","skillName":"work","data":[1],"x":1.0}"#,
        ),
        (
            r#"{"ok":true,"skillName":"s","data":null}"#,
            &["generatedAt"],
            r#"{"ok":true,"generatedAt":"2026-02-20T05:30:00.000Z","skillName":"s","data":null}"#,
        ),
        (
            r#"{"ok":true,"skillName":7,"generatedAt":null,"data":0}"#,
            &["generatedAt", "skillName"],
            r#"{"ok":true,"generatedAt":"2026-02-20T05:30:00.000Z","skillName":"work","data":0}"#,
        ),
        (
            r#"{"ok":true,"generatedAt":"t","skillName":"s","data":1}"#,
            &[],
            r#"{"ok":true,"generatedAt":"t","skillName":"s","data":1}"#,
        ),
    ];
    for (text, filled, whole) in rows {
        let seen =
            Observed { exit: Some(0), report_text: Some(text.as_bytes()), fill, ..Observed::default() };
        let verdict = judge(&Observed { assigned: true, ..seen });
        assert_eq!(verdict.filled, filled, "{text}");
        assert_eq!(verdict.report.unwrap().to_value().compact(), whole);
        let unknown = judge(&seen);
        assert_eq!(unknown.report.is_some(), filled.is_empty() || *filled == ["data"], "{text}");
        assert!(unknown.filled.is_empty());
    }
}

#[test]
fn the_report_of_another_skill_is_not_that_of_the_step() {
    let rows: [(&str, bool, Option<&str>); 5] = [
        (r#"{"ok":true,"generatedAt":"t","skillName":"triage"}"#, true, None),
        (r#"{"ok":true,"generatedAt":"t"}"#, true, None),
        (r#"{"ok":true,"generatedAt":"t","skillName":"Triage"}"#, true, Some("SKILL_REPORT_INVALID")),
        (r#"{"ok":true,"generatedAt":"t","skillName":7}"#, true, Some("SKILL_REPORT_INVALID")),
        (r#"{"ok":false,"generatedAt":"t","skillName":"other"}"#, false, Some("SKILL_REPORT_INVALID")),
    ];
    for (text, assigned, code) in rows {
        let seen = Observed {
            exit: Some(0),
            report_text: Some(text.as_bytes()),
            assigned,
            declared: true,
            skill: Some("triage"),
            ..Observed::default()
        };
        assert_eq!(failure(seen).map(|(code, _)| code).as_deref(), code, "{text}");
        let ended = failure(Observed { exit: Some(3), ..seen }).unwrap();
        assert_eq!(ended.0, "TOOL_EXIT_NON_ZERO", "{text}");
        assert_eq!(ended.1.contains("its report is invalid too"), code.is_some(), "{}", ended.1);
    }
}
