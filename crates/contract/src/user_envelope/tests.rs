//! Tests that vectors cannot express: refusals with their locations, wrapping, blank answers.

use std::format;
use std::string::{String, ToString};
use std::vec::Vec;

use super::*;
use crate::envelope::InterruptKind;

const REF: &str = r#"{"artifactId":"a","representationRevisionId":"r","digest":"sha256:x","mime":"m","originKind":"upload"}"#;

fn reference() -> AttachmentRef {
    AttachmentRef::decode(&Value::parse_str(REF).unwrap()).unwrap()
}

fn reason(raw: &str) -> String {
    parse(raw, true, &[]).unwrap_err().reason
}

#[test]
fn a_refusal_says_where_and_what() {
    let no_json = "user_envelope=true but body.user is not valid JSON: ";
    let no_match = "user_envelope=true but body.user does not match {text, attachments?}: ";
    let rows = [
        ("x".to_string(), format!("{no_json}expected a value, found `x` (line 1, column 1)")),
        (
            "{\"text\":\"a\",\n\"text\":\"b\"}".to_string(),
            format!(
                "{no_json}expected each member name once, found a second member `\"text\"` at `/text` (line 2, column 1)"
            ),
        ),
        (
            "{\"text\":1}".to_string(),
            format!("{no_match}expected a string, found `1` at `/text` (line 1, column 9)"),
        ),
        ("{}".to_string(), format!("{no_match}expected a member `text`, found none (line 1, column 1)")),
        (
            "{\"text\":\"\",\"a/b\":1}".to_string(),
            format!("{no_match}expected no further member, found `a/b` at `/a~1b` (line 1, column 18)"),
        ),
        (
            format!("{{\"text\":\"\",\"attachments\":[{REF},{}]}}", REF.replace("\"m\"", "\"\"")),
            format!(
                "{no_match}expected a string that is not empty, found `\"\"` at `/attachments/1/mime` (line 1, column 206)"
            ),
        ),
    ];
    for (raw, expected) in rows {
        assert_eq!(reason(&raw), expected);
    }
    assert!(reason("{\"text\":\"\\ud800\"}").starts_with(no_json), "a lone surrogate");
    assert!(reason("\u{a0}{\"text\":\"\"}").starts_with(no_json), "white space that JSON does not know");
}

#[test]
fn twenty_is_the_limit_wherever_they_come_from() {
    let top: Vec<AttachmentRef> = core::iter::repeat_n(reference(), 21).collect();
    let with =
        |count: usize| format!("{{\"text\":\"\",\"attachments\":[{}]}}", std::vec![REF; count].join(","));
    let allowed =
        [("x".to_string(), false, 20), (with(20), true, 0), (with(7), true, 13), (with(0), true, 20)];
    for (raw, enabled, body) in allowed {
        let attachments = parse(&raw, enabled, &top[..body]).unwrap().attachments.len();
        assert_eq!(attachments, 20);
    }
    let refused = [("x".to_string(), false, 21, "0 + body 21 = 21"), (with(8), true, 13, "8 + body 13 = 21")];
    for (raw, enabled, body, sum) in refused {
        let reason = parse(&raw, enabled, &top[..body]).unwrap_err().reason;
        assert_eq!(reason, format!("merged attachments exceed the 20-ref total (envelope {sum})"));
    }
    assert!(
        reason(&with(21)).contains("does not match {text, attachments?}: expected at most 20 references")
    );
}

#[test]
fn wrapping_drops_what_is_no_reference_and_says_how_many() {
    let good = reference().to_value();
    let bad = Value::Null;
    for text in ["", " {\"text\":1} ", "é\u{0}"] {
        let alone = Wrapped { payload: text.to_string(), enveloped: false, dropped: 1 };
        assert_eq!(wrap(text, core::slice::from_ref(&bad)), Ok(alone));
        let wrapped = wrap(text, &[bad.clone(), good.clone(), bad.clone()]).unwrap();
        assert_eq!((wrapped.enveloped, wrapped.dropped), (true, 2));
        assert!(wrapped.payload.starts_with("{\"text\":"));
        let read = parse(&wrapped.payload, true, &[]).unwrap();
        assert_eq!(read, UserEnvelope { text: text.to_string(), attachments: std::vec![reference()] });
    }
    assert!(wrap("", &std::vec![good; 21]).is_err());
}

#[test]
fn a_question_is_not_answered_by_an_approval() {
    let rows = [
        (r#"{"userResponse":" a "}"#, Ok(" a "), Ok(" a ")),
        (r#"{"userResponse":" \n","approvalNote":" n "}"#, Ok("n"), Ok("n")),
        (r#"{"userResponse":7,"approved":true}"#, Ok("[Approved by operator]"), Err(BlankAnswer)),
        (r#"{"userResponse":"\u00a0"}"#, Ok("\u{a0}"), Ok("\u{a0}")),
        (r#"{"approvalNote":"","approved":false}"#, Ok("[Denied by operator]"), Err(BlankAnswer)),
        (r#"{"approved":"false"}"#, Ok("[Approved by operator]"), Err(BlankAnswer)),
    ];
    for (values, approval, clarification) in rows {
        let values = Value::parse_str(values).unwrap();
        assert_eq!(answer_text(&values, InterruptKind::Confirmation).as_deref(), approval.as_deref());
        assert_eq!(answer_text(&values, InterruptKind::Clarification).as_deref(), clarification.as_deref());
    }
}
