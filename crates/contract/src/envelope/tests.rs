//! Tests that vectors cannot express: locations of refusals, interpretations, times to live, defaults of
//! constructors.

use std::format;
use std::string::ToString;
use std::vec::Vec;

use super::*;
use crate::json::Value;
use crate::time::Timestamp;

fn value(text: &str) -> Value {
    Value::parse_str(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn now() -> Timestamp {
    Timestamp::parse("2026-01-02T03:04:05.006Z").unwrap()
}

#[test]
fn the_two_forms_have_37_and_22_members() {
    let state = Envelope::default().to_state_dict();
    let exchanged = Envelope::default().to_dict();
    assert_eq!(state.as_object().map(Members::len), Some(37));
    assert_eq!(exchanged.as_object().unwrap().keys().collect::<Vec<_>>(), DICT_MEMBERS);
}

#[test]
fn a_wrong_type_is_refused_with_its_place_and_nothing_is_built() {
    let rows = [
        ("{\"envelope_id\": null}", "/envelope_id"),
        ("{\"outputs\": []}", "/outputs"),
        ("{\"current_stage\": null}", "/current_stage"),
        ("{\"stage_order\": [\"a\", 1]}", "/stage_order/1"),
        ("{\"iteration\": 1.5}", "/iteration"),
        ("{\"max_stages\": 9007199254740992}", "/max_stages"),
        ("{\"terminal_reason\": \"tired\"}", "/terminal_reason"),
        ("{\"terminal_reason\": 7}", "/terminal_reason"),
        ("{\"terminated\": 1}", "/terminated"),
        ("{\"active_stages\": {\"a/b\": \"yes\"}}", "/active_stages/a~1b"),
        ("{\"failed_stages\": {\"a\": null}}", "/failed_stages/a"),
        ("{\"completed_stages\": [{}, 1]}", "/completed_stages/1"),
        ("{\"errors\": {}}", "/errors"),
        ("{\"processing_history\": [{\"status\": \"done\"}]}", "/processing_history/0/status"),
        ("{\"processing_history\": [{}, {\"started_at\": \"noon\"}]}", "/processing_history/1/started_at"),
        ("{\"interrupt\": \"x\"}", "/interrupt"),
        ("{\"interrupt\": {}}", "/interrupt"),
        ("{\"interrupt\": {\"kind\": \"poke\"}}", "/interrupt/kind"),
        ("{\"interrupt\": {\"kind\": \"timeout\", \"status\": \"open\"}}", "/interrupt/status"),
        (
            "{\"interrupt\": {\"kind\": \"timeout\", \"response\": {\"approved\": \"yes\"}}}",
            "/interrupt/response/approved",
        ),
        ("{\"received_at\": \"2026-01-26\"}", "/received_at"),
        ("{\"received_at\": 1769419800}", "/received_at"),
    ];
    for (text, pointer) in rows {
        let refusal = Envelope::decode(text.as_bytes()).unwrap_err();
        assert_eq!((refusal.code, refusal.pointer.as_str()), (ENVELOPE_INVALID, pointer), "{refusal}");
        let column = crate::json::locate(text.as_bytes(), pointer).map(|place| place.column);
        assert_eq!((refusal.line, refusal.column), (Some(1), column), "{refusal}");
    }
}

#[test]
fn reading_says_what_it_interpreted_and_nothing_else() {
    let foreign = value(
        r#"{"terminal_reason":"COMPLETED","iteration":2.0,"max_stages":5,"received_at":"2026-01-26T09:30:00.1+00:00Z",
            "created_at":"2026-01-26T09:30:00","request_context":{"n":1.0},"outputs":{"a":1.0},
            "interrupt":{"kind":"timeout","response":{"text":null},"extra":[1e0]},
            "processing_history":[{"duration_ms":1e3}]}"#,
    );
    let (envelope, interpretations) = Envelope::import(&foreign).unwrap();
    let lines: Vec<_> =
        interpretations.iter().map(|one| format!("{} {} {}", one.pointer, one.read, one.taken_as)).collect();
    let expected = [
        "/terminal_reason `\"COMPLETED\"` `\"completed\"`",
        "/iteration `2.0` `2`",
        "/received_at `\"2026-01-26T09:30:00.1+00:00Z\"` `\"2026-01-26T09:30:00.1Z\"`",
        "/processing_history/0/duration_ms `1e3` `1000`",
    ];
    assert_eq!(lines, expected);
    assert_eq!(Envelope::import(&envelope.to_state_dict()), Ok((envelope, Vec::new())));
}

#[test]
fn members_that_another_system_groups_are_reported() {
    let foreign = value(
        r#"{"identity":{"envelope_id":"env-1","user_id":"u","tenant":"t"},"user_id":"top","termination_reason":null,
            "a/b":{"termination_reason":"r","iteration":null},"bounds":{"llm_call_count":2,"deep":{"iteration":1}},"pipeline":[]}"#,
    );
    let (envelope, interpretations) = Envelope::import(&foreign).unwrap();
    assert_eq!((envelope.envelope_id.as_str(), envelope.user_id.as_str()), ("", "top"));
    let lines: Vec<_> =
        interpretations.iter().map(|one| format!("{} {} {}", one.pointer, one.read, one.taken_as)).collect();
    let expected = [
        "/identity/envelope_id `\"env-1\"` a part of the unknown member, not `envelope_id`",
        "/a~1b/termination_reason `\"r\"` a part of the unknown member, not `termination_reason`",
        "/bounds/llm_call_count `2` a part of the unknown member, not `llm_call_count`",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn a_new_envelope_is_received_when_it_is_made() {
    let [envelope_id, raw_input, user_id, session_id, request_id] =
        ["e", "i", "u", "s", "r"].map(ToString::to_string);
    let metadata = Object::from([("n", value("1.00"))]);
    let request = Request {
        envelope_id,
        raw_input,
        user_id,
        session_id,
        request_id,
        metadata: metadata.clone(),
        now: now(),
    };
    let envelope = create_envelope(request);
    assert_eq!(envelope.received_at.as_deref(), Some("2026-01-02T03:04:05.006Z"));
    assert_eq!(envelope.created_at, envelope.received_at);
    let Envelope { metadata: kept, max_iterations, max_llm_calls, max_agent_hops, max_stages, .. } = envelope;
    assert_eq!((kept, max_iterations, max_llm_calls, max_agent_hops, max_stages), (metadata, 3, 10, 21, 5));
}

#[test]
fn a_stage_context_is_a_copy() {
    let mut envelope = Envelope::default();
    let goals = ["a", "b", "a"].map(ToString::to_string);
    envelope.initialize_goals(&goals);
    let context = envelope.get_stage_context();
    envelope.mark_goal_complete("a");
    assert_eq!(context.remaining_goals, goals);
    assert_eq!(envelope.remaining_goals, ["b", "a"], "only the first occurrence goes");
    assert_eq!(context.to_value().as_object().map(Members::len), Some(6));
}

#[test]
fn interrupts_made_here_expire_by_their_kind() {
    let rows = [
        (InterruptKind::Clarification, Some("2026-01-03T03:04:05.006Z")),
        (InterruptKind::Confirmation, Some("2026-01-02T04:04:05.006Z")),
        (InterruptKind::AgentReview, Some("2026-01-02T03:34:05.006Z")),
        (InterruptKind::Checkpoint, None),
        (InterruptKind::ResourceExhausted, Some("2026-01-02T03:09:05.006Z")),
        (InterruptKind::Timeout, Some("2026-01-02T03:09:05.006Z")),
        (InterruptKind::SystemError, Some("2026-01-02T04:04:05.006Z")),
    ];
    for (kind, expires_at) in rows {
        let interrupt = FlowInterrupt::new("i", kind, now());
        assert_eq!(
            (interrupt.status, interrupt.data.clone()),
            (Some(InterruptStatus::Pending), Some(Object::new()))
        );
        assert_eq!(interrupt.expires_at, None, "in a run nothing expires by itself");
        assert_eq!(interrupt.with_default_expiry(now()).expires_at.as_deref(), expires_at);
    }
}

#[test]
fn every_word_is_read_as_itself_and_reasons_in_any_case() {
    for reason in TerminalReason::ALL {
        assert_eq!(TerminalReason::parse(reason.word()), Some(*reason));
        assert_eq!(TerminalReason::parse_ignoring_case(&reason.word().to_uppercase()), Some(*reason));
    }
    assert_eq!(TerminalReason::ALL.len(), 20);
    assert_eq!(RecordStatus::parse("SUCCESS"), None);
}
