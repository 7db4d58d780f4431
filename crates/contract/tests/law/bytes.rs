//! Tests with any bytes and any text: no decoder panics, and the strict reader accepts only documents that a common
//! reader accepts too.

use envoi_contract::conformance;
use envoi_contract::handoff::{self, Draft, Status, summarize};
use envoi_contract::json::{Value, locate};
use envoi_contract::routing::{self, Decision, Input, Kind, Routing, Signal};
use envoi_contract::skill_report::{Observed, judge};
use envoi_contract::time::Timestamp;
use envoi_contract::user_envelope;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use crate::{ANSWER, ENVELOPE, HANDOFF, INTERRUPT, JSON, ORCHESTRATOR, REPORT, cases, values};

/// Texts built from pieces that have a meaning for some reader.
fn pieces() -> impl Strategy<Value = String> {
    let known = [
        "{",
        "}",
        "[",
        "]",
        ":",
        ",",
        "\"",
        "\\",
        "\\u",
        "\\ud83d\\ude00",
        "null",
        "true",
        "-",
        "0",
        "1.5e3",
        "\n",
        " ",
        "\r\n",
        "Status:",
        "**Status:**",
        "status",
        "VERIFIED",
        "UNVERIFIED",
        "NOT",
        "YET",
        "|",
        "/",
        " or ",
        "```",
        "```yaml",
        "~~~",
        "> ",
        "Go to step ",
        "Go to flow 'f' step ",
        "route_to: ",
        "'a'",
        "`b`",
        "é",
        "🧪",
        "Step ID:",
        "Output: \"",
        "Handoff text:",
        "Step routing: loop_target=",
        "success_values=[",
        "Can further iteration help: no",
        "\"status\": \"",
        "\"handoff_text\":\"",
        "\"text\":\"\"",
        "_",
        "-",
        "x".repeat(300).leak(),
        "words ".repeat(400).leak(),
    ];
    let odd = vec(any::<char>(), 0..3).prop_map(String::from_iter);
    let piece = prop_oneof![8 => select(known.to_vec()).prop_map(str::to_owned), 1 => odd];
    vec(piece, 0..30).prop_map(|pieces| pieces.concat())
}

fn every_decoder(bytes: &[u8]) -> Result<(), TestCaseError> {
    JSON.keeps_what_it_reads(bytes)?;
    ORCHESTRATOR.keeps_what_it_reads(bytes)?;
    HANDOFF.keeps_what_it_reads(bytes)?;
    REPORT.keeps_what_it_reads(bytes)?;
    ENVELOPE.keeps_what_it_reads(bytes)?;
    INTERRUPT.keeps_what_it_reads(bytes)?;
    ANSWER.keeps_what_it_reads(bytes)?;
    if let Ok(draft) = handoff::decode_draft(bytes)
        && let Ok(written) = handoff::write(draft)
    {
        HANDOFF.keeps(&written)?;
    }
    if let Ok(input) = routing::decode_input(bytes) {
        let _ = routing::resolve(&input);
    }
    let _ = conformance::run_file(bytes);
    let verdict = judge(&Observed { exit: Some(0), report_text: Some(bytes), ..Observed::default() });
    prop_assert_eq!(verdict.ok, verdict.error.is_none());
    Ok(())
}

fn routing_of(kind: Kind) -> Routing {
    Routing { kind, loop_target: Some("VERIFIED".to_owned()), ..Routing::default() }
}

/// Checks the properties of every decision.
fn holds(input: &Input) -> Result<(), TestCaseError> {
    let resolution = routing::resolve(input).map_err(|refusal| TestCaseError::fail(refusal.to_string()))?;
    prop_assert_eq!(&routing::resolve(input), &Ok(resolution.clone()));
    let signal = &resolution.signal;
    prop_assert!(["0.7", "0.8", "0.9", "1.0"].contains(&signal.confidence.as_str()));
    let read = Signal::decode(&signal.resolver());
    prop_assert_eq!(read.as_ref(), Ok(signal));
    let gate = input.routing.as_ref().is_some_and(|routing| routing.kind != Kind::Branch);
    let passed = signal.decision == Decision::Advance && !signal.needs_human;
    prop_assert!(!(gate && passed) || resolution.audit.row == "3", "a gate passed unseen: {resolution:?}");
    prop_assert_eq!(routing::Audit::from_value(&resolution.audit.to_value()), Some(resolution.audit.clone()));
    Ok(())
}

proptest! {
    #![proptest_config(cases(1000))]

    #[test]
    fn no_bytes_make_a_decoder_panic(bytes in vec(any::<u8>(), 0..60)) {
        every_decoder(&bytes)?;
    }

    #[test]
    fn no_text_makes_a_decoder_panic(text in pieces()) {
        every_decoder(text.as_bytes())?;
        let _ = Timestamp::parse(&text);
        let _ = Timestamp::of_run_id(&format!("run-{text}"));
        let _ = locate(text.as_bytes(), &text);
    }

    #[test]
    fn a_cut_document_is_never_read_as_a_whole_one(value in values::value(), cut in 0.0..1.0_f64) {
        let text = Value::Array(vec![value]).compact();
        let places: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
        let index = (0..places.len()).find(|index| *index as f64 >= cut * places.len() as f64);
        let end = index.and_then(|index| places.get(index)).copied().unwrap_or_default();
        prop_assert!(Value::parse(text.as_bytes().get(..end).unwrap_or_default()).is_err());
    }

    #[test]
    fn what_is_read_here_a_common_reader_reads_too(text in pieces()) {
        let common = serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok();
        match Value::parse_str(&text) {
            Ok(_) => prop_assert!(common),
            Err(error) if serde_json::from_str::<serde_json::Value>(&text).is_ok() => {
                prop_assert_eq!(error.expected, "each member name once");
            }
            Err(_) => {}
        }
    }

    #[test]
    fn every_decision_is_sure_of_itself_and_no_gate_passes_unseen(
        text in pieces(),
        kind in select(Kind::ALL.as_slice()),
        iteration in 0..5_u64,
        steps in proptest::option::of(Just(vec!["a".to_owned()])),
    ) {
        let input = Input { handoff_text: text, routing: Some(routing_of(kind)), iteration, steps, ..Input::default() };
        holds(&input)?;
        holds(&Input { hints: false, ..input.clone() })?;
        holds(&Input { stated: Some("VERIFIED".to_owned()), ..input.clone() })?;
        holds(&Input { reported: Some("NOT VERIFIED".to_owned()), ..input })?;
    }

    #[test]
    fn a_written_handoff_is_a_handoff(text in pieces(), value in values::value()) {
        prop_assert!(summarize(&text).chars().count() <= 2000);
        let id = || Some("run-20260102-030405-x".to_owned());
        let draft = Draft {
            step_id: id(),
            flow_key: id(),
            run_id: id(),
            output: Some(text),
            status: Some(Status::Succeeded),
            verification_details: value.clone(),
            file_changes: value,
            ..Draft::default()
        };
        let written = handoff::write(draft).map_err(|refusal| TestCaseError::fail(refusal.to_string()))?;
        let read = handoff::Handoff::from_value(&written.to_value());
        let read = read.map_err(|refusal| TestCaseError::fail(refusal.to_string()))?;
        prop_assert_eq!(read.to_value(), written.to_value());
    }

    #[test]
    fn an_answer_that_was_not_opted_in_is_passed_through(text in pieces()) {
        let read = user_envelope::parse(&text, false, &[]);
        prop_assert_eq!(read.map(|answer| answer.text), Ok(text));
    }
}
