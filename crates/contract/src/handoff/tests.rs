//! Tests that vectors cannot express: the engine's identity, decoding, refusals with their locations.

use std::format;
use std::string::ToString;
use std::vec;

use super::*;
use crate::json::{Number, Value};
use crate::routing::{Decision, Route};

const WHOLE: &str = r#"{"step_id":"s","flow_key":"f","run_id":"r","routing_signal":{"decision":"advance","next_step_id":null,"route":null,"reason":"","confidence":0.90,"needs_human":false},"summary":"","artifacts":{"b":"f/b","a":"f/a"},"status":"failed","error":"e","duration_ms":7,"timestamp":"2026-01-02T03:04:05","file_changes":{"files":[1.00],"total":1},"prompt_hash":"h","verification_passed":false,"verification_details":{"x":1},"routing_audit":{"row":"3"},"assumptions_made":[{"text":"a"}],"decisions_made":[{"text":"d"}],"z":null,"y":-0}"#;

fn draft() -> Draft {
    Draft {
        step_id: Some("s".to_string()),
        flow_key: Some("f".to_string()),
        run_id: Some("r".to_string()),
        status: Some(Status::Succeeded),
        ..Draft::default()
    }
}

#[test]
fn a_whole_handoff_comes_out_as_it_went_in() {
    let handoff = Handoff::decode(WHOLE.as_bytes()).unwrap_or_else(|refusal| panic!("{refusal}"));
    assert_eq!(handoff.to_value().compact(), WHOLE);
    assert_eq!(Handoff::from_value(&handoff.to_value()), Ok(handoff));
}

/// Rows: a member, an input value, and the kept value.
#[test]
fn members_of_another_shape_are_brought_into_theirs_and_lose_nothing() {
    let whole = Value::parse_str(WHOLE).unwrap();
    for (name, given, kept) in [
        ("file_changes", r#"[{"path":"a"},7]"#, r#"{"files":[{"path":"a"},7],"total":2}"#),
        ("file_changes", r#""a""#, r#"{"details":"a"}"#),
        ("file_changes", r#"{"manifest":"m"}"#, r#"{"manifest":"m"}"#),
        ("verification_details", "[7]", r#"{"details":[7]}"#),
        ("verification_details", "false", r#"{"details":false}"#),
        ("routing_audit", r#""not routed""#, r#"{"reason":"not routed"}"#),
        ("assumptions_made", r#"["a",{"b":1},null]"#, r#"[{"text":"a"},{"b":1},{"text":null}]"#),
        ("assumptions_made", r#"{"b":1}"#, r#"[{"b":1}]"#),
        ("decisions_made", r#""d""#, r#"[{"text":"d"}]"#),
        ("decisions_made", "[]", "null"),
        ("file_changes", "[]", "null"),
        ("routing_audit", r#""""#, "null"),
    ] {
        let given = Value::parse_str(given).unwrap();
        let member = |handoff: &Handoff| {
            handoff.to_value().get(name).map_or_else(|| "null".to_string(), Value::compact)
        };
        let Value::Object(mut members) = whole.clone() else { panic!("a hand-off is an object") };
        members.insert(name, given.clone());
        let read = Handoff::from_value(&Value::Object(members)).unwrap();
        assert_eq!(member(&read), kept, "{name} is read");
        let mut draft = draft();
        match name {
            "file_changes" => draft.file_changes = given,
            "verification_details" => draft.verification_details = given,
            "routing_audit" => draft.routing_audit = given,
            "assumptions_made" => draft.assumptions_made = given,
            _ => draft.decisions_made = given,
        }
        assert_eq!(member(&write(draft).unwrap()), kept, "{name} is written");
    }
}

#[test]
fn the_engines_identity_overrules_and_the_difference_is_recorded() {
    let [step_id, flow_key, run_id] = ["s", "g", "r2"].map(ToString::to_string);
    let identity = Some(Identity { step_id, flow_key, run_id });
    let recorded = |details: &str| {
        let verification_details = Value::parse_str(details).unwrap();
        let handoff = write(Draft { identity: identity.clone(), verification_details, ..draft() }).unwrap();
        assert_eq!(
            (handoff.step_id.as_str(), handoff.flow_key.as_str(), handoff.run_id.as_str()),
            ("s", "g", "r2")
        );
        handoff.verification_details.compact()
    };
    let overruled =
        r#""identity_overruled":{"flow_key":{"stated":"f","used":"g"},"run_id":{"stated":"r","used":"r2"}}"#;
    assert_eq!(recorded("null"), format!("{{{overruled}}}"));
    assert_eq!(recorded(r#"{"n":1.0}"#), format!("{{\"n\":1.0,{overruled}}}"));
    assert_eq!(recorded("[7]"), format!("{{\"details\":[7],{overruled}}}"));
    let silent = Draft { identity, status: Some(Status::Skipped), ..Draft::default() };
    assert_eq!(write(silent).unwrap().verification_details, Value::Null);
}

#[test]
fn an_engine_without_an_id_is_refused_like_anyone() {
    let identity = Identity { step_id: "s".to_string(), flow_key: " ".to_string(), run_id: "r".to_string() };
    assert_eq!(write(Draft { identity: Some(identity), ..draft() }).unwrap_err().pointer, "/flow_key");
}

#[test]
fn artifacts_of_a_list_stand_in_the_engines_flow() {
    let identity = Identity { step_id: "s".to_string(), flow_key: "g".to_string(), run_id: "r".to_string() };
    let artifacts = Artifacts::Names(std::vec!["a".to_string()]);
    let handoff = write(Draft { identity: Some(identity), artifacts, ..draft() }).unwrap();
    assert_eq!(handoff.artifacts, Members::from([("a", "g/a".to_string())]));
}

#[test]
fn a_written_handoff_can_be_read() {
    let signal =
        Signal::decode(&Value::parse_str(r#"{"decision":"switch","next_step_id":"g/v"}"#).unwrap()).unwrap();
    let handoff =
        write(Draft { routing_signal: Some(signal), output: Some("x ".repeat(3000)), ..draft() }).unwrap();
    assert_eq!(Handoff::decode(handoff.to_value().pretty().as_bytes()), Ok(handoff));
}

#[test]
fn a_foreign_handoff_is_held_to_the_rules() {
    let changes = [
        ("\"step_id\":\"s\"", "\"step_id\":\" \"", "/step_id"),
        ("\"step_id\":\"s\"", "\"step\":\"s\"", ""),
        ("\"decision\":\"advance\"", "\"decision\":\"go\"", "/routing_signal/decision"),
        ("\"reason\":\"\"", "\"reason\":null", "/routing_signal/reason"),
        ("\"summary\":\"\"", "\"summary\":7", "/summary"),
        ("\"f/b\"", "\"../b\"", "/artifacts/b"),
        ("\"failed\"", "\"VERIFIED\"", "/status"),
        ("\"failed\"", "\"succeeded\"", "/error"),
        ("\"error\":\"e\"", "\"error\":{}", "/error"),
        ("\"duration_ms\":7", "\"duration_ms\":7.5", "/duration_ms"),
        ("2026-01-02T03:04:05", "today", "/timestamp"),
        ("\"verification_passed\":false", "\"verification_passed\":0", "/verification_passed"),
    ];
    for (from, to, pointer) in changes {
        let text = WHOLE.replacen(from, to, 1);
        assert_ne!(text, WHOLE, "{from}");
        let refusal = Handoff::decode(text.as_bytes()).unwrap_err();
        assert_eq!((refusal.code, refusal.pointer.as_str()), (HANDOFF_INVALID, pointer), "{refusal}");
        let column = crate::json::locate(text.as_bytes(), pointer).map(|place| place.column);
        assert_eq!((refusal.line, refusal.column), (Some(1), column), "{refusal}");
    }
    let long = WHOLE.replacen("\"summary\":\"\"", &format!("\"summary\":\"{}\"", "é".repeat(2001)), 1);
    assert_eq!(Handoff::decode(long.as_bytes()).unwrap_err().pointer, "/summary");
}

#[test]
fn a_summary_never_passes_2000_scalars_and_keeps_both_ends() {
    let rows = ["a", "é", "word ", "line\n", "Status: X\n", "Go to step 'x'\n", "a\n\n", "😀 "];
    for unit in rows {
        for count in [400, 1999, 2000, 2001, 7000] {
            let text = unit.repeat(count);
            let summary = summarize(&text);
            let scalars = summary.chars().count();
            assert!(scalars <= 2000, "{scalars} of {unit:?}");
            if text.trim_ascii().chars().count() <= 2000 {
                assert_eq!(summary, text.trim_ascii());
            } else {
                assert!(summary.contains(" characters omitted] …\n"), "{unit:?}");
                assert!(scalars > 1800, "{scalars} of {unit:?}");
            }
        }
    }
}

#[test]
fn the_status_of_a_long_json_text_is_kept() {
    let text = format!("{{\n  \"log\": \"{}\",\n  \"status\": \"VERIFIED\"\n}}", "x ".repeat(3000));
    assert!(summarize(&text).starts_with("  \"status\": \"VERIFIED\"\n{\n"));
    let fenced = format!("```yaml\nstatus: VERIFIED\nlog:\n{}```", "  - status: no\n".repeat(300));
    assert!(summarize(&fenced).starts_with("status: VERIFIED\n```yaml\n"));
}

#[test]
fn a_refused_label_is_found_again_in_its_line() {
    let text = "Step ID: s\nOutput: a\nb\nStatus: done\n";
    let refused = decode_draft(text.as_bytes()).unwrap_err();
    assert_eq!((refused.pointer.as_str(), refused.line, refused.column), ("/status", Some(4), Some(1)));
    let inner = "Status: failed\nRouting: decision=advance, confidence=7\n";
    let refused = decode_draft(inner.as_bytes()).unwrap_err();
    assert_eq!((refused.pointer.as_str(), refused.line), ("/routing_signal/confidence", Some(2)));
}

#[test]
fn a_check_refuses_exactly_what_the_reader_would() {
    let whole = Handoff::decode(WHOLE.as_bytes()).unwrap();
    let branch = Signal { decision: Decision::Branch, ..whole.routing_signal.clone() };
    let route = |flow: Option<&str>, step: &str| {
        Some(Route { flow: flow.map(String::from), step_id: step.to_string(), unknown: Object::new() })
    };
    let with = |change: &dyn Fn(&mut Handoff)| {
        let mut handoff = whole.clone();
        change(&mut handoff);
        handoff
    };
    let rows: Vec<(&str, bool, Handoff)> = vec![
        ("whole", true, whole.clone()),
        ("no step", false, with(&|it| it.step_id = " ".to_string())),
        ("no flow", false, with(&|it| it.flow_key.clear())),
        ("no run", false, with(&|it| it.run_id.clear())),
        ("confidence", false, with(&|it| it.routing_signal.confidence = Number::from(2_u64))),
        ("a branch to nowhere", false, with(&|it| it.routing_signal = branch.clone())),
        (
            "a branch",
            true,
            with(&|it| {
                it.routing_signal = Signal { route: route(Some("f"), "s"), ..branch.clone() };
            }),
        ),
        (
            "no name",
            false,
            with(&|it| {
                it.routing_signal = Signal { route: route(None, ""), ..branch.clone() };
            }),
        ),
        (
            "a flow without a name",
            false,
            with(&|it| {
                it.routing_signal = Signal { route: route(Some(""), "s"), ..branch.clone() };
            }),
        ),
        ("a summary of 2000", true, with(&|it| it.summary = "é".repeat(2000))),
        ("a longer summary", false, with(&|it| it.summary = "é".repeat(2001))),
        (
            "a path to elsewhere",
            false,
            with(&|it| {
                it.artifacts.insert("a", "f/../../etc".to_string());
            }),
        ),
        ("an error beside a success", false, with(&|it| it.status = Status::Succeeded)),
        ("2^53", false, with(&|it| it.duration_ms = 1 << 53)),
        ("no time", false, with(&|it| it.timestamp = Some("soon".to_string()))),
        ("an empty time", true, with(&|it| it.timestamp = Some(String::new()))),
        (
            "a known member that is not",
            false,
            with(&|it| {
                it.prompt_hash = None;
                it.unknown.insert("prompt_hash", Value::from(7_u64));
            }),
        ),
    ];
    for (what, is_read, handoff) in rows {
        assert_eq!(handoff.compact(), handoff.to_value().compact(), "{what}");
        assert_eq!(handoff.check().is_ok(), is_read, "{what}: {:?}", handoff.check());
        assert_eq!(Handoff::decode(handoff.compact().as_bytes()).is_ok(), is_read, "{what}");
    }
}
