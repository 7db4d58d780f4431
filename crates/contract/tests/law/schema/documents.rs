//! Documents: the seeds' examples, whole values, inputs of the filters, and mutations of any of them.

use envoi_contract::envelope::{Envelope, FlowInterrupt, InterruptKind, InterruptResponse, ProcessingRecord};
use envoi_contract::json::{Number, Object, Value};
use envoi_contract::routing::{Decision, Route, Signal};
use envoi_contract::schema;
use envoi_contract::skill_report::SkillReport;
use envoi_contract::time::Timestamp;
use envoi_contract::user_envelope::{AttachmentRef, OriginKind, UserEnvelope};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use crate::contracts;
use crate::values::{text, value};

/// The example of seed 1.
pub(super) const SEED_SIGNAL: &str = r#"{"decision": "proceed", "next_step_id": null, "route": null,
    "reason": "Loop target reached", "confidence": 0.9}"#;

/// The example of seed 0.
pub(super) const SEED_HANDOFF: &str = r#"{
    "step_id": "analyze_requirements", "flow_key": "signal", "run_id": "run-20251228-010000-abc123",
    "routing_signal": {"decision": "advance", "next_step_id": "design_system", "route": null,
        "reason": "requirements_complete", "confidence": 0.9, "needs_human": false},
    "summary": "Analyzed 15 user stories. Identified 3 high-priority features.",
    "artifacts": {"requirements.md": "signal/requirements.md", "user_stories.json": "signal/user_stories.json"},
    "status": "succeeded", "error": null, "duration_ms": 45000, "timestamp": "2025-12-28T01:00:45.000Z"}"#;

/// The example of seed 3.
pub(super) const SEED_REPORT: &str = r#"{"ok": true, "generatedAt": "2026-02-20T05:30:00.000Z", "skillName": "mail-triage",
    "data": {"totals": {"billing": 1, "work": 1, "personal": 1, "spam": 1}, "items": []}, "metrics": {"emailCount": 4}}"#;

/// The example of seed 4.
pub(super) const SEED_ANSWER: &str = r#"{"text": "Approved with edits to draft #4.", "attachments": [{"artifactId": "art_1",
    "representationRevisionId": "rep_1", "digest": "sha256:0", "mime": "application/pdf", "originKind": "upload"}]}"#;

/// Values with every member, each with its schema and the part of it.
pub(super) fn whole_values() -> Vec<(&'static str, Option<&'static str>, Value)> {
    let signal = Signal {
        decision: Decision::Branch,
        route: Route::parse("f/s"),
        needs_human: true,
        ..Signal::default()
    };
    let content = || Value::Object(Object::from([("x", Value::from("x"))]));
    let records = || Value::Array(vec![content()]);
    let now = Timestamp::from_millis(0);
    let handoff = envoi_contract::handoff::Handoff {
        timestamp: Some(now.to_string()),
        file_changes: content(),
        prompt_hash: Some("x".to_owned()),
        verification_passed: Some(true),
        verification_details: content(),
        routing_audit: content(),
        assumptions_made: records(),
        decisions_made: records(),
        ..envoi_contract::handoff::Handoff::decode(SEED_HANDOFF.as_bytes()).unwrap()
    };
    let response = InterruptResponse {
        text: Some(String::new()),
        approved: Some(true),
        decision: Some(String::new()),
        data: Some(Object::new()),
        received_at: Some(now.to_string()),
        unknown: Object::new(),
    };
    let report = SkillReport {
        data: Some(Value::Null),
        metrics: Some(Object::new()),
        error: Some(Value::Null),
        ..SkillReport::default()
    };
    let reference = AttachmentRef {
        artifact_id: "a".to_owned(),
        representation_revision_id: "r".to_owned(),
        digest: "d".to_owned(),
        mime: "m".to_owned(),
        origin_kind: OriginKind::Upload,
        title: Some(String::new()),
        filename: Some(String::new()),
        size: Some(1),
    };
    let answer = UserEnvelope { text: String::new(), attachments: vec![reference.clone()] };
    let interrupt = FlowInterrupt::new("i", InterruptKind::Checkpoint, now);
    vec![
        ("routing-signal", None, signal.orchestrator(None)),
        ("routing-signal-resolver", None, signal.resolver()),
        ("handoff", None, handoff.to_value()),
        ("handoff", Some("signal"), signal.orchestrator(None)),
        ("envelope", None, Envelope::default().to_state_dict()),
        ("envelope-dict", None, Envelope::default().to_dict()),
        ("envelope", Some("interrupt"), interrupt.to_value()),
        ("envelope", Some("response"), response.to_value()),
        ("envelope", Some("record"), ProcessingRecord::default().to_value()),
        ("skill-report", None, report.to_value()),
        ("user-envelope", None, answer.to_value()),
        ("user-envelope", Some("reference"), reference.to_value()),
    ]
}

fn members(members: Vec<(&str, Option<Value>)>) -> Value {
    Value::Object(members.into_iter().filter_map(|(name, value)| value.map(|value| (name, value))).collect())
}

fn maybe(of: BoxedStrategy<Value>) -> BoxedStrategy<Option<Value>> {
    option::of(of).boxed()
}

fn some_text() -> BoxedStrategy<Value> {
    text().prop_map(Value::from).boxed()
}

/// Inputs of the resolver.
pub(super) fn routing_input() -> BoxedStrategy<Value> {
    let kind = select(vec!["linear", "microloop", "branch"]).prop_map(Value::from).boxed();
    let target = select(vec!["VERIFIED", "a b", " "]).prop_map(Value::from).boxed();
    let routing = (maybe(kind), maybe(target.clone()), option::of(vec(target, 0..3)), option::of(0..9_u64));
    let routing = routing.prop_map(|(kind, target, values, most)| {
        members(vec![
            ("routing_kind", kind),
            ("loop_target", target),
            ("success_values", values.map(Value::Array)),
            ("max_iterations", most.map(Value::from)),
        ])
    });
    let steps = vec(text(), 0..3).prop_map(Value::from).boxed();
    let whole = (text(), maybe(routing.boxed()), option::of(0..9_u64), maybe(some_text()), maybe(steps));
    whole
        .prop_map(|(text, routing, iteration, flow, steps)| {
            members(vec![
                ("handoff_text", Some(Value::from(text))),
                ("routing", routing),
                ("iteration", iteration.map(Value::from)),
                ("flow", flow),
                ("steps", steps),
            ])
        })
        .boxed()
}

/// Inputs of the writer: hand-offs, and members that only an input has.
pub(super) fn handoff_input() -> BoxedStrategy<Value> {
    let time = select(vec!["2026-01-02T03:04:05Z", "2024-02-29T23:59:60+05:30", "2026-01-02T03:04:05"]);
    let listed = vec(select(vec!["a.md", "b/c", "../x", "", "C:/x", "a//b", ".."]), 0..3);
    let extra = (option::of(time.clone()), option::of(time), maybe(some_text()), option::of(listed));
    (contracts::handoff(), extra)
        .prop_map(|(handoff, (timestamp, started_at, output, listed))| {
            let Value::Object(mut input) = handoff.to_value() else {
                unreachable!("a hand-off is an object")
            };
            input.remove("timestamp");
            let listed = listed.map(|names| names.into_iter().map(Value::from).collect());
            for (name, value) in [
                ("timestamp", timestamp.map(Value::from)),
                ("started_at", started_at.map(Value::from)),
                ("output", output),
                ("artifacts", listed.map(Value::Array)),
            ] {
                if let Some(value) = value {
                    input.insert(name, value);
                }
            }
            Value::Object(input)
        })
        .boxed()
}

/// A change at one location of a document.
#[derive(Clone, Debug)]
pub(super) struct Mutation {
    place: prop::sample::Index,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    Replace(Value),
    Remove,
    Add(String, Value),
    Repeat(usize),
}

/// None to three changes.
pub(super) fn mutations() -> BoxedStrategy<Vec<Mutation>> {
    let known = prop_oneof![4 => select(known_names()), 1 => text()];
    let kind = prop_oneof![
        5 => edge().prop_map(Kind::Replace),
        2 => Just(Kind::Remove),
        3 => (known, edge()).prop_map(|(name, value)| Kind::Add(name, value)),
        1 => (2..25_usize).prop_map(Kind::Repeat),
    ];
    vec((any::<prop::sample::Index>(), kind).prop_map(|(place, kind)| Mutation { place, kind }), 0..4).boxed()
}

/// Every name that a schema contains.
fn known_names() -> Vec<String> {
    fn collect(schema: &Value, names: &mut Vec<String>) {
        for (keyword, inner) in schema.as_object().into_iter().flatten() {
            if keyword == "properties" {
                names.extend(inner.as_object().into_iter().flat_map(Object::keys).map(str::to_owned));
            }
            collect(inner, names);
        }
        schema.as_array().unwrap_or_default().iter().for_each(|inner| collect(inner, names));
    }
    let mut names = Vec::new();
    schema::ALL.iter().for_each(|schema| collect(&schema.to_value(), &mut names));
    names.sort();
    names.dedup();
    names
}

/// Numbers at the limits of some member.
const NUMBERS: &[&str] = &[
    "0",
    "-0",
    "1",
    "-1",
    "0.5",
    "1.5",
    "4096.0",
    "4.096e3",
    "1e400",
    "-1e400",
    "1e-400",
    "9007199254740991",
    "9007199254740992",
    "9007199254740991.0",
    "9007199254740990.5",
    "1e15",
    "90071992547409910e-1",
    "1.0000000000000000000001",
    "18446744073709551616",
    "123456789012345678901234567890",
];

/// Texts at the limits of some member.
const TEXTS: &[&str] = &[
    "",
    " ",
    "\t\n",
    "\u{b}",
    "\u{a0}",
    "a",
    "a/b",
    "a/b/c",
    "/a",
    "a/",
    "/",
    "..",
    "../a",
    "a/..",
    "a/../b",
    "..a",
    "a..",
    "a\\b",
    "a\u{0}",
    "a//b",
    "C:/x",
    "C:x",
    "./a",
    "a\n",
    "..\n",
    "é/ü",
    "advance",
    "ADVANCE",
    "Branch",
    "branch",
    "route",
    "bRanch",
    "advanced",
    "reroute",
    "proceed",
    "succeeded",
    "failed",
    "skipped",
    "SUCCEEDED",
    "success",
    "error",
    "running",
    "completed",
    "COMPLETED",
    "Time_Limit_Exceeded",
    "break_requested",
    "done",
    "pending",
    "clarification",
    "system_error",
    "upload",
    "linear",
    "microloop",
    "Linear",
    "2026-01-02T03:04:05Z",
    "2026-01-02T03:04:05",
    "2026-01-02 03:04:05.5+01:00",
    "2026-02-29T00:00:00Z",
    "2024-02-29t00:00:00z",
    "2000-02-29T00:00:00Z",
    "2100-02-29T00:00:00Z",
    "2026-04-31T00:00:00Z",
    "2026-01-02T24:00:00Z",
    "2026-01-02T23:59:60Z",
    "2026-01-02T23:59:61Z",
    "2026-01-02T03:04:05+00:00Z",
    "2026-01-02T03:04:05-00:00Z",
    "2026-01-02T03:04:05+24:00",
    "2026-01-02T03:04:05.Z",
    "9999-12-31T23:59:59-00:01",
    "0000-01-01T00:00:00+00:01",
    "2026-01-02T03:04:05Z\n",
    "٢٠٢٦-01-02T03:04:05Z",
    "2026-00-10T00:00:00Z",
    "2026-01-00T00:00:00Z",
    "2026-01-02",
];

/// Values at the limits of some member.
fn edges() -> Vec<Value> {
    let numbers = NUMBERS.iter().filter_map(|token| Number::parse(token)).map(Value::Number);
    let texts = TEXTS.iter().map(|text| Value::from(*text));
    let long = [2000, 2001].map(|scalars| Value::from("é".repeat(scalars)));
    let list = |text: &str| Value::Array(vec![Value::from(text)]);
    let route = |flow: Option<&str>, step_id: &str| {
        Value::Object(Object::from([("flow", Value::from(flow)), ("step_id", Value::from(step_id))]))
    };
    let routes =
        ["", "s", "a/b"].map(|step| [None, Some(""), Some("f"), Some("f/g")].map(|flow| route(flow, step)));
    let map = |value: Value| Value::Object(Object::from([("a", value)]));
    let plain = [
        Value::Null,
        Value::Bool(true),
        Value::Bool(false),
        Value::Array(vec![]),
        Value::Object(Object::new()),
    ];
    let lists = ["", " ", "a", "..", "C:/x", "a/b"].map(list);
    let maps =
        [Value::Null, Value::Bool(true), Value::from("x"), Value::from("/x"), Value::from(1_u64)].map(map);
    let odd = [list("x"), map(list("x"))].map(|value| Value::Array(vec![value]));
    let made = lists.into_iter().chain(maps).chain(odd).chain(routes.into_iter().flatten());
    plain.into_iter().chain(numbers).chain(texts).chain(long).chain(made).collect()
}

fn edge() -> BoxedStrategy<Value> {
    prop_oneof![9 => select(edges()), 1 => value()].boxed()
}

/// `document` with each member in turn removed or replaced by each limit value.
pub(super) fn each_edge(document: &Value) -> impl Iterator<Item = Value> {
    let edges = edges();
    let surplus = Kind::Add("surplus".to_owned(), Value::Null);
    let kinds: Vec<Kind> =
        edges.into_iter().map(Kind::Replace).chain([Kind::Remove, Kind::Repeat(21), surplus]).collect();
    (0..=below(document)).flat_map(move |place| {
        let changed = |kind: &Kind| {
            let mut document = document.clone();
            mutate(&mut document, place, kind);
            document
        };
        kinds.iter().map(changed).collect::<Vec<_>>()
    })
}

/// Whole documents of the messages that are only read.
pub(super) fn whole_inputs() -> Vec<(&'static str, Value)> {
    let routing = r#"{"handoff_text": "", "routing": {"routing_kind": "microloop", "loop_target": "A", "success_values": ["A"],
        "max_iterations": 1, "can_further_iteration_help": true}, "iteration": 0, "flow": "f", "steps": ["a"], "hints": true}"#;
    let draft = r#"{"step_id": "s", "flow_key": "f", "run_id": "r", "routing_signal": {"decision": "branch", "next_step_id": "a",
        "route": "f/a", "reason": "", "confidence": 1, "needs_human": false}, "summary": "", "output": "", "artifacts": ["a"],
        "status": "succeeded", "error": null, "duration_ms": 1, "timestamp": "2026-01-02T03:04:05Z",
        "started_at": "2026-01-02T03:04:05Z", "prompt_hash": "", "verification_passed": true}"#;
    let read = |text: &str| Value::parse_str(text).unwrap();
    vec![("routing-input", read(routing)), ("handoff-input", read(draft))]
}

/// A hand-off whose signal has an object as its route.
pub(super) fn branching_handoff() -> Value {
    let text = r#"{"step_id": "s", "flow_key": "f", "run_id": "r", "routing_signal": {"decision": "route",
        "route": {"flow": null, "step_id": "a"}}, "summary": "", "artifacts": {"a": "b"}, "status": "failed", "error": "x"}"#;
    Value::parse_str(text).unwrap()
}

/// An envelope with one element in each collection.
pub(super) fn whole_envelope() -> Value {
    let text = r#"{"outputs": {"a": {}}, "terminal_reason": "completed", "interrupt": {"id": "i", "kind": "checkpoint",
        "data": {}, "response": {"text": "", "approved": true, "data": {}, "received_at": "2026-01-02T03:04:05"},
        "status": "pending", "created_at": null}, "active_stages": {"a": true}, "failed_stages": {"a": ""},
        "completed_stages": [{}], "goal_completion_status": {"a": ""}, "processing_history": [{"agent": "a", "stage_order": 0,
        "started_at": "2026-01-02T03:04:05Z", "status": "success", "error": null, "llm_calls": 0}]}"#;
    Value::parse_str(text).unwrap()
}

/// Applies the changes one after the other. Locations near the root are chosen as often as all locations below them.
pub(super) fn mutated(document: &Value, mutations: &[Mutation]) -> Value {
    let mut document = document.clone();
    for Mutation { place, kind } in mutations {
        let places = 1 + below(&document);
        mutate(&mut document, place.index(places), kind);
    }
    document
}

/// The number of values in `value`, three levels deep. Deeper values are free-form.
fn below(value: &Value) -> usize {
    children(value)
        .map(|child| 1 + children(child).map(|inner| 1 + children(inner).count()).sum::<usize>())
        .sum()
}

fn children(value: &Value) -> Box<dyn Iterator<Item = &Value> + '_> {
    match value {
        Value::Array(elements) => Box::new(elements.iter()),
        Value::Object(members) => Box::new(members.values()),
        _ => Box::new(std::iter::empty()),
    }
}

/// Changes the value at `place`, counted in document order.
fn mutate(value: &mut Value, place: usize, kind: &Kind) {
    if place == 0 {
        return mutate_here(value, kind);
    }
    let mut left = place - 1;
    let depth = |child: &Value| 1 + below(child);
    let names: Vec<String> =
        value.as_object().into_iter().flat_map(Object::keys).map(str::to_owned).collect();
    let count = names.len().max(value.as_array().map_or(0, <[Value]>::len));
    for index in 0..count {
        let child = match value {
            Value::Array(elements) => &mut elements[index],
            Value::Object(members) => members.get_mut(&names[index]).unwrap(),
            _ => return,
        };
        let size = depth(child);
        if left >= size {
            left -= size;
            continue;
        }
        if left > 0 || !matches!(kind, Kind::Remove) {
            return mutate(child, left, kind);
        }
        match value {
            Value::Array(elements) => drop(elements.remove(index)),
            Value::Object(members) => drop(members.remove(&names[index])),
            _ => {}
        }
        return;
    }
}

fn mutate_here(value: &mut Value, kind: &Kind) {
    match (value, kind) {
        (value, Kind::Replace(other)) => *value = other.clone(),
        (Value::Object(members), Kind::Add(name, other)) => drop(members.insert(name.clone(), other.clone())),
        (Value::Array(elements), Kind::Add(_, other)) => elements.push(other.clone()),
        (Value::Array(elements), Kind::Repeat(times)) => *elements = vec![elements.clone(); *times].concat(),
        (Value::String(text), Kind::Repeat(times)) => *text = text.repeat(*times),
        _ => {}
    }
}
