//! Which files are reports, and who wins when exit code and report differ.

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
