//! Every form of answer to every kind of question.

use super::*;
use envoi_a2a::model::{Part, Role};
use envoi_contract::time::Timestamp;
use envoi_kernel::{
    event::{About, InterruptRaised},
    ids::{InterruptId, StepId, VisitId},
};

fn question(choices: &[Choice], form: Option<&str>) -> Question {
    let step = StepId::new("approve").unwrap();
    Question {
        raised: InterruptRaised {
            interrupt: InterruptId::new("int_1").unwrap(),
            about: About::Ask,
            visit: VisitId { scope: String::new(), step, visit: 1 },
            question: "Well?".to_owned(),
            evidence: Value::Null,
            raised_at: Timestamp::from_millis(0),
            kind: None,
            expires_at: None,
            subject: None,
            found: Vec::new(),
        },
        choices: choices.to_vec(),
        form: form.map(|form| Value::parse_str(form).unwrap()),
    }
}

/// The answer in a message with this text and this data, as one line.
fn understood(question: &Question, words: Option<&str>, data: Option<&str>) -> String {
    let data = data.map(|data| Part::of(Content::Data(Value::parse_str(data).unwrap())));
    let parts = words.map(Part::text).into_iter().chain(data).collect();
    let message = Message {
        id: "m".to_owned(),
        context_id: None,
        task_id: None,
        role: Role::User,
        parts,
        metadata: Object::new(),
        extensions: Vec::new(),
        reference_task_ids: Vec::new(),
    };
    match read(question, &message, words) {
        Err(fault) => {
            let understood = fault.rest().compact();
            assert_eq!(fault.kind, Kind::InvalidParams);
            assert!(
                understood.contains("`int_1` stays open") && understood.contains("it takes `"),
                "{understood}"
            );
            "refused".to_owned()
        }
        Ok(AnswerContent { choice, text, data, raise }) => {
            let mut line = choice.word().to_owned();
            line.extend(text.map(|text| format!(" '{text}'")));
            line.extend(data.map(|data| format!(" {}", data.compact())));
            line.extend(raise.map(|more| format!(" +{}", more.iterations)));
            line
        }
    }
}

#[test]
fn only_what_is_plainly_a_yes_is_one() {
    let approval = question(&[Choice::Approve, Choice::Again, Choice::Deny], None);
    for (words, expected) in [
        ("yes", "approve"),
        (" YES\n", "approve"),
        ("approve", "approve"),
        ("proceed", "approve"),
        ("no", "deny"),
        ("deny", "deny"),
        ("stop", "deny"),
        ("again", "again"),
        ("[Approved by operator]", "approve"),
        ("[Approved by operator]  as it is ", "approve 'as it is'"),
        ("[Denied by operator] not this", "deny 'not this'"),
        ("[Approved by operator] [Denied by operator]", "refused"),
        ("yes, but", "refused"),
        ("y", "refused"),
        ("ok", "refused"),
        ("approved", "refused"),
        ("[approved by operator]", "refused"),
        ("I say [Approved by operator]", "refused"),
        ("not approve", "refused"),
        ("", "refused"),
        ("respond", "refused"),
        ("rerun", "refused"),
        ("{\"approved\": true}", "refused"),
    ] {
        assert_eq!(understood(&approval, Some(words), None), expected, "{words:?}");
    }
    let exhausted = question(&[Choice::Proceed, Choice::Stop], None);
    for (words, expected) in
        [("yes", "proceed"), ("approve", "proceed"), ("no", "stop"), ("deny", "stop"), ("again", "refused")]
    {
        assert_eq!(understood(&exhausted, Some(words), None), expected, "{words:?}");
    }
    // Neither of the two choices is a yes.
    let in_doubt = question(&[Choice::Rerun, Choice::Fail], None);
    for (words, expected) in [("rerun", "rerun"), ("fail", "fail"), ("yes", "refused"), ("no", "refused")] {
        assert_eq!(understood(&in_doubt, Some(words), None), expected, "{words:?}");
    }
    let limit = question(&[Choice::Raise, Choice::Stop], None);
    for (words, expected) in [("raise", "refused"), ("yes", "refused"), ("no", "stop")] {
        assert_eq!(understood(&limit, Some(words), None), expected, "{words:?}");
    }
}

#[test]
fn a_data_part_says_it_exactly() {
    let approval = question(&[Choice::Approve, Choice::Deny], None);
    for (words, data, expected) in [
        (None, r#"{"choice":"approve"}"#, "approve"),
        (None, r#"{"choice":"deny","text":"not yet"}"#, "deny 'not yet'"),
        (None, r#"{"approved":true}"#, "approve"),
        (None, r#"{"approved":false}"#, "deny"),
        (Some("because"), r#"{"approved":true}"#, "approve 'because'"),
        (Some("aside"), r#"{"approved":true,"text":"because"}"#, "approve 'because'"),
        (Some("yes"), r#"{"approved":false}"#, "deny 'yes'"),
        (Some("deny"), r#"{"approved":true}"#, "refused"),
        (Some("no"), r#"{"choice":"approve","text":"x"}"#, "refused"),
        (Some("[Denied by operator] never"), r#"{"approved":true}"#, "refused"),
        (Some("[Approved by operator] [Denied by operator]"), r#"{"approved":true}"#, "refused"),
        (Some(r#"{"approved":false}"#), r#"{"approved":true}"#, "refused"),
        (Some("yes"), r#"{"approved":true}"#, "approve 'yes'"),
        (None, r#"{"approved":"true"}"#, "refused"),
        (None, r#"{"approved":true,"choice":"deny"}"#, "refused"),
        (None, r#"{"approved":true,"other":1}"#, "refused"),
        (None, r#"{"choice":"perhaps"}"#, "refused"),
        (None, r#"{"choice":"approve","text":1}"#, "refused"),
        (None, r#"{"text":"approve"}"#, "refused"),
        (None, r#"true"#, "refused"),
        (Some("yes"), r#"{}"#, "refused"),
    ] {
        assert_eq!(understood(&approval, words, Some(data)), expected, "{words:?} {data}");
    }
    let limit = question(&[Choice::Raise, Choice::Stop], None);
    for (data, expected) in [
        (r#"{"choice":"raise","raise":{"iterations":2}}"#, "raise +2"),
        (r#"{"choice":"raise","raise":{"iterations":"2"}}"#, "refused"),
        (r#"{"choice":"raise","raise":2}"#, "refused"),
    ] {
        assert_eq!(understood(&limit, None, Some(data)), expected, "{data}");
    }
}

#[test]
fn words_stand_as_they_are_where_words_are_wanted() {
    let words = question(&[Choice::Respond, Choice::Deny], None);
    for content in ["no", " two\n lines ", "{\"choice\":\"deny\"}", ""] {
        assert_eq!(understood(&words, Some(content), None), format!("respond '{content}'"));
    }
    for (data, expected) in [
        (r#"{"choice":"deny"}"#, "deny"),
        (r#"{"approved":false,"text":"no time"}"#, "deny 'no time'"),
        (r#"{"choice":"respond","text":"so"}"#, "respond 'so'"),
    ] {
        assert_eq!(understood(&words, None, Some(data)), expected, "{data}");
    }
    assert_eq!(understood(&words, None, None), "refused");
}

#[test]
fn a_form_is_what_fits_it() {
    let form = r#"{"type":"object","required":["choice"],"properties":{"choice":{"enum":["red","blue"]}}}"#;
    let with_form = question(&[Choice::Respond, Choice::Deny], Some(form));
    for (words, data, expected) in [
        (None, Some(r#"{"choice":"red"}"#), r#"respond {"choice":"red"}"#),
        (Some("note"), Some(r#"{"choice":"red"}"#), r#"respond 'note' {"choice":"red"}"#),
        (Some("deny"), Some(r#"{"choice":"red"}"#), "refused"),
        (Some(r#"{"choice":"blue"}"#), None, r#"respond {"choice":"blue"}"#),
        (None, Some(r#"{"choice":"deny"}"#), "deny"),
        (None, Some(r#"{"choice":"respond","data":{"choice":"red"}}"#), r#"respond {"choice":"red"}"#),
        // A form that does not fit is passed on: the engine reports what is wrong.
        (None, Some(r#"{"colour":"red"}"#), r#"respond {"colour":"red"}"#),
        (Some("[Denied by operator] no colours"), None, "deny 'no colours'"),
        (Some("deny"), None, "deny"),
        (Some("red"), None, "refused"),
        // The engine fills in the defaults, or names the missing field.
        (Some("yes"), None, "respond"),
        (Some("[1]"), None, "refused"),
    ] {
        assert_eq!(understood(&with_form, words, data), expected, "{words:?} {data:?}");
    }
}

#[test]
fn a_decision_never_passes_for_a_form_that_would_take_it() {
    let with_form = question(&[Choice::Respond, Choice::Deny], Some(r#"{"type":"object"}"#));
    for (content, expected) in [
        (r#"{"choice":"deny"}"#, "refused"),
        (r#"{"choice":"no"}"#, "refused"),
        (r#"{"approved":false}"#, "refused"),
        (r#"{"approved":true}"#, "refused"),
        (r#"{"approved":false,"choice":"deny"}"#, "refused"),
        (r#"{"choice":"deny","data":null}"#, "deny"),
        (r#"{"choice":"respond","data":{"approved":false}}"#, r#"respond {"approved":false}"#),
        (r#"{"choice":"red"}"#, r#"respond {"choice":"red"}"#),
        (r#"{"colour":"red"}"#, r#"respond {"colour":"red"}"#),
    ] {
        assert_eq!(understood(&with_form, None, Some(content)), expected, "data {content}");
        assert_eq!(understood(&with_form, Some(content), None), expected, "text {content}");
    }
    let strict = r#"{"type":"object","required":["colour"],"properties":{"colour":{"type":"string"}}}"#;
    let with_form = question(&[Choice::Respond, Choice::Deny], Some(strict));
    for content in [r#"{"choice":"deny"}"#, r#"{"approved":false}"#] {
        assert_eq!(understood(&with_form, None, Some(content)), "deny", "data {content}");
        assert_eq!(understood(&with_form, Some(content), None), "deny", "text {content}");
    }
}

#[test]
fn a_decision_is_read_the_same_for_every_question() {
    let message = |words: &str| Message {
        id: "m".to_owned(),
        context_id: None,
        task_id: None,
        role: Role::User,
        parts: vec![Part::text(words)],
        metadata: Object::new(),
        extensions: Vec::new(),
        reference_task_ids: Vec::new(),
    };
    for words in [
        "yes",
        " No\n",
        "approve",
        "again",
        "rerun",
        "[Approved by operator]",
        "[Denied by operator] not this",
        r#"{"approved":true}"#,
        r#"{"choice":"deny","text":"no"}"#,
    ] {
        assert!(is_decision(&message(words)), "{words}");
    }
    for words in
        ["", "hello", "yes, but", "approve the budget", r#"{"count":7}"#, r#"{"choice":"deny","n":1}"#]
    {
        assert!(!is_decision(&message(words)), "{words}");
    }
}
