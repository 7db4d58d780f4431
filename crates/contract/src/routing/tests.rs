//! Tests that vectors cannot express: audits, members that only the engine may set, and that reading never fails.

use std::format;
use std::string::{String, ToString};
use std::vec::Vec;

use super::*;
use crate::json::Value;

fn microloop() -> Routing {
    Routing { kind: Kind::Microloop, loop_target: Some("VERIFIED".to_string()), ..Routing::default() }
}

fn input(text: &str) -> Input {
    Input { handoff_text: text.to_string(), routing: Some(microloop()), ..Input::default() }
}

fn resolved(input: &Input) -> Resolution {
    resolve(input).unwrap_or_else(|refusal| panic!("{refusal}"))
}

fn reason(input: &Input) -> String {
    resolved(input).signal.reason
}

#[test]
fn the_audit_names_each_row_up_to_the_one_that_fired() {
    let branch = Routing { kind: Kind::Branch, ..Routing::default() };
    let rows: [(Input, &str, &[&str]); 9] = [
        (input("Go to step a"), "1", &[]),
        (input("Go to step a. Go to step b."), "1a", &["1"]),
        (Input { routing: None, ..input("") }, "2", &["1", "1a", "1b"]),
        (input("Status: VERIFIED"), "3", &["1", "1a", "1b", "2"]),
        (Input { iteration: 3, ..input("Status: NO") }, "4", &["1", "1a", "1b", "2", "3"]),
        (input("Status: NO\nCan further iteration help: no"), "5", &["1", "1a", "1b", "2", "3", "4"]),
        (input("Status: NO"), "6", &["1", "1a", "1b", "2", "3", "4", "5"]),
        (Input { routing: Some(branch), ..input("") }, "7", &["1", "1a", "1b", "2", "3", "4", "5", "6"]),
        (input("Hm"), "8", &["1", "1a", "1b", "2", "3", "4", "5", "6", "7"]),
    ];
    for (input, row, passed) in rows {
        let audit = resolved(&input).audit;
        let passed_over: Vec<&str> = audit.passed_over.iter().map(|(row, _)| *row).collect();
        assert_eq!((audit.row, passed_over.as_slice()), (row, passed));
        assert!(!audit.fired_because.is_empty() && audit.passed_over.iter().all(|(_, why)| !why.is_empty()));
        assert_eq!(Audit::from_value(&audit.to_value()), Some(audit));
    }
}

/// A text of 1 MiB with distinct statuses, hints or values. Each test is fast, and would take minutes if the search
/// were not linear.
#[test]
fn many_different_statuses_hints_and_values_are_read_once() {
    let lines = |line: fn(usize) -> String| (0..50_000).map(line).collect::<Vec<_>>().join("\n");
    let statuses = reason(&input(&lines(|nth| format!("Status: W{nth}"))));
    assert!(statuses.starts_with("Conflicting statuses: W0, W1, ") && statuses.ends_with(", W49999"));
    let hints = reason(&input(&lines(|nth| format!("Go to step x{nth}"))));
    assert!(hints.starts_with("Conflicting routing hints: x0, x1, ") && hints.ends_with(", x49999"));
    let values = (0..20_000).map(|nth| format!("done {nth}"));
    let routing = Routing { loop_target: None, success_values: values.collect(), ..microloop() };
    let text = |end: &str| format!("{}{end}", "hello done world ".repeat(40_000));
    let inferred =
        |end: &str| resolved(&Input { routing: Some(routing.clone()), ..input(&text(end)) }).signal;
    assert_eq!(inferred("it is Done 19999.").reason, "Loop target reached");
    assert_eq!(inferred("it is not yet DONE 7.").decision, Decision::Loop);
    assert_eq!(inferred("done 20000, done 7x").reason, "Handoff does not state a status");
}

#[test]
fn an_unknown_hint_is_kept_beside_the_row_that_fired() {
    let audit = resolved(&Input { steps: Some(Vec::new()), ..input("Status: VERIFIED. Go to step z") }).audit;
    assert_eq!((audit.row, audit.unknown_hint.as_deref()), ("3", Some("z")));
    assert_eq!(Audit::from_value(&audit.to_value()), Some(audit));
}

#[test]
fn a_hint_leads_to_listed_steps_only_whatever_flow_it_names() {
    let steps = Some(["a", "g/b"].map(ToString::to_string).to_vec());
    let hint = |text: &str, flow: Option<&str>| {
        let flow = flow.map(ToString::to_string);
        resolved(&Input { steps: steps.clone(), flow, ..input(text) }).audit
    };
    for (text, unknown) in [
        ("Go to step a", None),
        ("Go to flow f step a", None),
        ("Go to flow g step b", None),
        ("Go to flow g step a", Some("g/a")),
        ("Go to step b", Some("b")),
    ] {
        let audit = hint(text, Some("f"));
        assert_eq!(audit.unknown_hint.as_deref(), unknown, "{text}");
        assert_eq!(audit.row == "1", unknown.is_none(), "{text}");
    }
    assert_eq!(hint("Go to flow g step a", None).row, "1", "which flow is ours is not known");
}

#[test]
fn every_refusal_says_what_to_do() {
    let unknown_word = Signal::decode(&Value::parse_str(r#"{"decision":"yolo"}"#).unwrap()).unwrap_err();
    let refusals = [decode_input(b"{}").unwrap_err(), decode_input(b"x").unwrap_err(), unknown_word];
    assert!(refusals.iter().all(|refusal| !refusal.hint.is_empty()), "{refusals:?}");
    let inside =
        crate::handoff::decode_draft(br#"{"routing_signal":{"decision":"advance","reason":1}}"#).unwrap_err();
    assert_eq!(&*inside.hint, "correct the hand-off (CONTRACTS 2)");
}

#[test]
fn the_same_input_has_the_same_digest_and_another_one_another() {
    let first = resolved(&input("Status: VERIFIED"));
    assert_eq!(resolved(&input("Status: VERIFIED")), first);
    let others = [
        input("Status: VERIFIED "),
        Input { iteration: 1, ..input("Status: VERIFIED") },
        Input { hints: false, ..input("Status: VERIFIED") },
        Input { steps: Some(Vec::new()), ..input("Status: VERIFIED") },
        Input { flow: Some(String::new()), ..input("Status: VERIFIED") },
        Input { stated: Some("VERIFIED".to_string()), ..input("Status: VERIFIED") },
        Input { reported: Some("VERIFIED".to_string()), ..input("Status: VERIFIED") },
        Input { cut: true, ..input("Status: VERIFIED") },
    ];
    for other in others {
        assert_ne!(resolved(&other).audit.input_digest, first.audit.input_digest, "{other:?}");
    }
}

#[test]
fn a_status_stated_by_the_exit_code_silences_the_labels() {
    let stated = |text: &str, status: &str| Input { stated: Some(status.to_string()), ..input(text) };
    assert_eq!(reason(&stated("Status: UNVERIFIED", "VERIFIED")), "Loop target reached");
    assert_eq!(
        reason(&stated("Status: VERIFIED", "UNVERIFIED")),
        "Loop target not reached (iteration 0 of 3)"
    );
    assert_eq!(resolved(&stated("", "verified")).signal.confidence.as_str(), "0.9");
    let denied = stated("Can further iteration help: no", "UNVERIFIED");
    assert_eq!(reason(&denied), "Further iteration cannot help");
    assert_eq!(resolved(&stated("Go to step a", "VERIFIED")).audit.row, "1");
}

#[test]
fn a_reported_status_is_one_more_label() {
    let reported = |text: &str, status: &str| Input { reported: Some(status.to_string()), ..input(text) };
    assert_eq!(reason(&reported("", "VERIFIED")), "Loop target reached");
    assert_eq!(reason(&reported("", "not yet VERIFIED")), "Loop target not reached (iteration 0 of 3)");
    assert_eq!(reason(&reported("Status: verified", "VERIFIED")), "Loop target reached");
    assert_eq!(
        reason(&reported("Status: UNVERIFIED", "VERIFIED")),
        "Conflicting statuses: UNVERIFIED, VERIFIED"
    );
    assert_eq!(reason(&reported("", "VERIFIED | UNVERIFIED")), "Handoff does not state a status");
    assert_eq!(reason(&reported("", "")), "Handoff does not state a status");
}

/// The explicit status is inside, and the success value elsewhere names only what was expected.
#[test]
fn no_status_is_inferred_from_json_in_which_an_inner_member_states_another() {
    let rows = [
        (r#"{"result":{"status":"UNVERIFIED"},"target":"VERIFIED"}"#, false),
        (r#"{"routing":{"Status":"failed","loop_targt":"VERIFIED"}}"#, false),
        (r#"{"all":[{"status":"not verified"}],"expected":"VERIFIED"}"#, false),
        (r#"{"result":{"status":"verified"},"target":"VERIFIED"}"#, true),
        (r#"{"result":{"status":200},"verdict":"VERIFIED"}"#, true),
        (r#"{"status":"VERIFIED","tests":[{"status":"failed"}]}"#, true),
    ];
    for (text, passes) in rows {
        for text in [text.to_string(), text.replace(',', ",\n  ")] {
            assert_eq!(reason(&input(&text)) == "Loop target reached", passes, "{text}");
        }
    }
}

#[test]
fn nothing_is_read_from_a_text_that_is_cut() {
    let cut = |input: Input| Input { cut: true, ..input };
    let verified = || input("Status: VERIFIED");
    let reported = || Input { reported: Some("VERIFIED".to_string()), hints: false, ..input("") };
    let branch = || Routing { kind: Kind::Branch, ..Routing::default() };
    for read in [
        verified(),
        Input { hints: false, ..verified() },
        input("Status: UNVERIFIED"),
        input("the work is VERIFIED"),
        input("Go to step a"),
        reported(),
        Input { stated: Some("VERIFIED".to_string()), ..input("Go to step a") },
        Input { routing: Some(branch()), ..input("Go to step a") },
    ] {
        let Resolution { signal, audit } = resolved(&cut(read.clone()));
        assert_eq!(
            (signal.decision, signal.needs_human, audit.row),
            (Decision::Advance, true, "8"),
            "{read:?}"
        );
        assert_eq!(signal.reason, "Handoff is cut, and nothing is read from it");
        assert!(signal.next_step_id.is_none() && audit.passed_over.len() == 9, "{audit:?}");
    }
    // A cut text does not matter if nothing in the text would count.
    let stated = Input { stated: Some("VERIFIED".to_string()), hints: false, ..input("Status: UNVERIFIED") };
    let plain = Input { routing: Some(Routing::default()), hints: false, ..verified() };
    for unread in [stated, plain] {
        assert_eq!(resolved(&cut(unread.clone())).signal, resolved(&unread).signal);
    }
}

#[test]
fn a_loop_that_nothing_could_end_is_refused_by_the_resolver_too() {
    let endless = Routing { kind: Kind::Microloop, ..Routing::default() };
    let refusal = resolve(&Input { routing: Some(endless), ..Input::default() }).unwrap_err();
    assert_eq!((refusal.code, refusal.pointer.as_str()), (ROUTING_INVALID, "/routing"));
}

#[test]
fn a_refusal_points_at_its_place() {
    let rows = [
        (
            "{\"handoff_text\": \"x\",\n \"routing\": {\"routing_kind\": \"spiral\"}}",
            "/routing/routing_kind",
            (2, 30),
        ),
        (
            "{\"handoff_text\": \"x\", \"routing\": {\"success_values\": [\"a\", 1]}}",
            "/routing/success_values/1",
            (1, 59),
        ),
        (" {\"routing\": null}", "", (1, 2)),
        ("{\"handoff_text\": \"x\", \"steps\": [null]}", "/steps/0", (1, 33)),
        ("Handoff text: \"x\"\nIteration: two", "/iteration", (2, 1)),
        ("Handoff text: \"x\"\n\nBlue: y", "", (3, 1)),
    ];
    for (text, pointer, (line, column)) in rows {
        let refusal = decode_input(text.as_bytes()).unwrap_err();
        assert_eq!(refusal.code, ROUTING_INVALID);
        let place = (refusal.line.unwrap_or(0), refusal.column.unwrap_or(0));
        assert_eq!((refusal.pointer.as_str(), place), (pointer, (line, column)), "{refusal}");
    }
}

#[test]
fn the_word_that_was_read_is_kept_and_does_not_count() {
    let read = |word: &str| {
        Signal::decode(&Value::parse_str(&format!("{{\"decision\":\"{word}\"}}")).unwrap()).unwrap()
    };
    assert_eq!(read("advance").raw_decision, None);
    for word in ["proceed", "Continue", "ADVANCE", "next"] {
        assert_eq!(read(word).raw_decision.as_deref(), Some(word));
        assert_eq!(read(word), read("advance"));
    }
}

#[test]
fn a_confidence_keeps_its_digits() {
    let text = r#"{"decision":"advance","next_step_id":null,"route":null,"reason":"","confidence":0.90,"needs_human":false}"#;
    let signal = Signal::decode(&Value::parse_str(text).unwrap()).unwrap();
    assert_eq!(signal.orchestrator(None).compact(), text);
    assert_eq!(Signal::new(Decision::Advance, "", "2").confidence.as_str(), "0.7");
}

#[test]
fn a_route_is_the_same_in_both_forms() {
    let refused = [
        r#""""#,
        r#""/a""#,
        r#""a/""#,
        "7",
        r#"{"step_id":""}"#,
        r#"{"step_id":"a/b"}"#,
        r#"{"flow":"a/b","step_id":"c"}"#,
    ];
    for route in refused {
        let text = format!("{{\"decision\":\"route\",\"route\":{route}}}");
        assert!(Signal::decode(&Value::parse_str(&text).unwrap()).is_err(), "{route}");
    }
    let text = r#"{"decision":"branch","next_step_id":"design","route":"fast_path"}"#;
    let named = Signal::decode(&Value::parse_str(text).unwrap()).unwrap();
    assert_eq!(named.next_step_id.as_deref(), Some("design"));
    for form in [named.orchestrator(None), named.resolver()] {
        assert_eq!(Signal::decode(&form).as_ref(), Ok(&named));
    }
}
