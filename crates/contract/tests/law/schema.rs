//! Compares the schemas with the codecs: a document is accepted by both or by neither, except for the differences
//! that [`exceptions`] lists.

mod documents;
mod exceptions;

use std::fs;
use std::path::Path;

use envoi_contract::conformance;
use envoi_contract::envelope::Envelope;
use envoi_contract::handoff::{self, Handoff};
use envoi_contract::json::{Number, Value};
use envoi_contract::routing::{self, Signal};
use envoi_contract::schema::{self, Schema};
use envoi_contract::skill_report::SkillReport;
use envoi_contract::user_envelope;
use jsonschema::Validator;
use proptest::prelude::*;

use crate::{cases, contracts};
use documents::Mutation;
use exceptions::EXCEPTIONS;

/// A message: its schema, and whether its codec accepts a document.
struct Message {
    name: &'static str,
    validator: Validator,
    accepts: fn(&[u8]) -> bool,
}

fn message(name: &'static str) -> Message {
    let accepts: fn(&[u8]) -> bool = match name {
        "routing-signal" | "routing-signal-resolver" => {
            |bytes| Value::parse(bytes).is_ok_and(|value| Signal::decode(&value).is_ok())
        }
        "routing-input" => |bytes| routing::decode_input(bytes).is_ok(),
        "handoff" => |bytes| Handoff::decode(bytes).is_ok(),
        "handoff-input" => |bytes| handoff::decode_draft(bytes).and_then(handoff::write).is_ok(),
        "envelope" | "envelope-dict" => |bytes| Envelope::decode(bytes).is_ok(),
        "skill-report" => |bytes| SkillReport::decode(bytes).is_ok(),
        "user-envelope" => {
            |bytes| std::str::from_utf8(bytes).is_ok_and(|text| user_envelope::parse(text, true, &[]).is_ok())
        }
        _ => |bytes| conformance::run_file(bytes).is_ok(),
    };
    let schema = Schema::named(name).unwrap_or_else(|| panic!("no schema `{name}`"));
    let validator = jsonschema::validator_for(&common(&schema.to_value())).unwrap();
    Message { name, validator, accepts }
}

impl Message {
    fn codec(&self, document: &Value) -> bool {
        (self.accepts)(document.compact().as_bytes())
    }

    fn schema(&self, document: &Value) -> bool {
        self.validator.is_valid(&common(document))
    }

    /// Checks that codec and schema agree on the document, or on the document after the exceptions are applied.
    fn agree(&self, document: &Value) -> Result<(), TestCaseError> {
        if self.codec(document) == self.schema(document) {
            return Ok(());
        }
        let rewritten = exceptions::rewritten(self.name, document);
        let (codec, schema) = (self.codec(&rewritten), self.schema(&rewritten));
        prop_assert!(
            rewritten != *document && codec == schema,
            "{}: the codec says {}, the schema {} of\n{}",
            self.name,
            self.codec(document),
            self.schema(document),
            document.pretty()
        );
        Ok(())
    }
}

/// The value as validators see it: numbers are doubles or 64-bit integers.
fn common(value: &Value) -> serde_json::Value {
    match value {
        Value::Null => serde_json::Value::Null,
        Value::Bool(truth) => (*truth).into(),
        Value::Number(number) => common_number(number),
        Value::String(text) => text.as_str().into(),
        Value::Array(elements) => elements.iter().map(common).collect(),
        Value::Object(members) => {
            members.iter().map(|(name, value)| (name.to_owned(), common(value))).collect()
        }
    }
}

fn common_number(number: &Number) -> serde_json::Value {
    serde_json::from_str(number.as_str()).unwrap_or_else(|_| {
        let largest = if number.as_str().starts_with('-') { f64::MIN } else { f64::MAX };
        largest.into()
    })
}

thread_local! {
    static MESSAGES: Vec<Message> = schema::ALL.iter().map(|schema| message(schema.name)).collect();
}

fn agree(name: &str, document: &Value, mutations: &[Mutation]) -> Result<(), TestCaseError> {
    let document = documents::mutated(document, mutations);
    MESSAGES.with(|messages| {
        messages
            .iter()
            .filter(|message| message.name == name)
            .try_for_each(|message| message.agree(&document))
    })
}

/// Checks that our own documents fit the schema without exceptions.
fn ours(name: &str, document: &Value, mutations: &[Mutation]) -> Result<(), TestCaseError> {
    let fits = MESSAGES.with(|messages| {
        messages.iter().filter(|message| message.name == name).all(|message| message.schema(document))
    });
    prop_assert!(fits, "{name} refuses what is written:\n{}", document.pretty());
    agree(name, document, mutations)
}

proptest! {
    #![proptest_config(cases(128))]

    #[test]
    fn signals_are_accepted_by_codec_and_schema_or_by_neither(
        signal in contracts::signal(),
        mutations in documents::mutations(),
    ) {
        ours("routing-signal", &signal.orchestrator(None), &mutations)?;
        ours("routing-signal-resolver", &signal.resolver(), &mutations)?;
        agree("routing-signal", &signal.resolver(), &mutations)?;
    }

    #[test]
    fn resolver_inputs_are_accepted_by_codec_and_schema_or_by_neither(
        input in documents::routing_input(),
        mutations in documents::mutations(),
    ) {
        agree("routing-input", &input, &mutations)?;
    }

    #[test]
    fn handoffs_are_accepted_by_codec_and_schema_or_by_neither(
        handoff in contracts::handoff(),
        mutations in documents::mutations(),
    ) {
        ours("handoff", &handoff.to_value(), &mutations)?;
    }

    #[test]
    fn writer_inputs_are_accepted_by_codec_and_schema_or_by_neither(
        input in documents::handoff_input(),
        mutations in documents::mutations(),
    ) {
        agree("handoff-input", &input, &mutations)?;
    }

    #[test]
    fn reports_are_accepted_by_codec_and_schema_or_by_neither(
        report in contracts::report(),
        mutations in documents::mutations(),
    ) {
        ours("skill-report", &report.to_value(), &mutations)?;
    }

    #[test]
    fn answers_are_accepted_by_codec_and_schema_or_by_neither(
        answer in contracts::answer(),
        mutations in documents::mutations(),
    ) {
        ours("user-envelope", &answer.to_value(), &mutations)?;
    }

    #[test]
    fn envelopes_are_accepted_by_codec_and_schema_or_by_neither(
        envelope in contracts::envelope(),
        mutations in documents::mutations(),
    ) {
        ours("envelope", &envelope.to_state_dict(), &mutations)?;
        ours("envelope-dict", &envelope.to_dict(), &mutations)?;
    }
}

/// Tests every single change systematically. Generated documents reach these cases only sometimes.
#[test]
fn every_member_is_accepted_at_every_edge_by_codec_and_schema_or_by_neither() {
    let written = documents::whole_values().into_iter().filter(|(_, part, _)| part.is_none());
    let written = written.map(|(name, _, document)| (name, document));
    let more = [("envelope", documents::whole_envelope()), ("handoff", documents::branching_handoff())];
    let mut checked = 0;
    for (name, document) in written.chain(documents::whole_inputs()).chain(more) {
        let message = message(name);
        for changed in documents::each_edge(&document) {
            message.agree(&changed).unwrap_or_else(|error| panic!("{error}"));
            checked += 1;
        }
    }
    assert!(checked > 10_000, "{checked}");
}

#[test]
fn every_exception_is_one() {
    for exception in EXCEPTIONS {
        let message = message(exception.message);
        let document = Value::parse_str(exception.example).unwrap();
        assert_eq!(message.codec(&document), exception.codec_accepts, "{}", exception.why);
        assert_eq!(message.schema(&document), !exception.codec_accepts, "{}", exception.why);
        message.agree(&document).unwrap_or_else(|error| panic!("{}: {error}", exception.why));
    }
}

#[test]
fn two_members_of_one_name_are_seen_by_the_codec_alone() {
    let text = r#"{"ok":true,"ok":true,"generatedAt":"","skillName":""}"#;
    let report = message("skill-report");
    assert!(!(report.accepts)(text.as_bytes()));
    assert!(report.validator.is_valid(&serde_json::from_str(text).unwrap()));
}

#[test]
fn the_vectors_fit_their_schema() {
    let vectors = message("conformance-vectors");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec/vectors");
    let mut seen = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|end| end == "json") {
            let file = common(&Value::parse(&fs::read(&path).unwrap()).unwrap());
            let errors: Vec<String> = vectors.validator.iter_errors(&file).map(|e| e.to_string()).collect();
            assert_eq!(errors, Vec::<String>::new(), "{}", path.display());
            assert!(!vectors.validator.is_valid(&serde_json::json!([{"op": "route.resolve", "name": "x"}])));
            seen += 1;
        }
    }
    assert!(seen >= 5, "the vectors have moved");
}

/// The vectors contain examples of what systems send. Codec and schema must agree on them, and accept the expected
/// ones.
#[test]
fn the_arguments_of_the_vectors_are_accepted_by_codec_and_schema_or_by_neither() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec/vectors");
    let mut seen = 0;
    for (file, op, name) in [
        ("routing", "route.resolve", "routing-input"),
        ("handoff", "handoff.write", "handoff-input"),
        ("envelope", "envelope.roundtrip", "envelope"),
    ] {
        let message = message(name);
        let file = Value::parse(&fs::read(folder.join(format!("{file}.json"))).unwrap()).unwrap();
        for case in file.as_array().unwrap() {
            let text =
                case.get("input_text").and_then(Value::as_str).and_then(|text| Value::parse_str(text).ok());
            let argument = case.get("input").cloned().or(text);
            if let Some(argument) = argument.filter(|_| case.get("op").and_then(Value::as_str) == Some(op)) {
                message.agree(&argument).unwrap_or_else(|error| panic!("{}: {error}", case.compact()));
                seen += 1;
            }
        }
    }
    assert!(seen > 200, "{seen}");
}

#[test]
fn the_seeds_examples_fit() {
    for (name, example) in [
        ("routing-signal-resolver", documents::SEED_SIGNAL),
        ("handoff", documents::SEED_HANDOFF),
        ("skill-report", documents::SEED_REPORT),
        ("user-envelope", documents::SEED_ANSWER),
    ] {
        let message = message(name);
        let document = Value::parse_str(example).unwrap();
        assert!(message.schema(&document) && message.codec(&document), "{name}");
    }
    let empty = Envelope::default();
    assert!(message("envelope").schema(&empty.to_state_dict()));
    assert!(message("envelope-dict").schema(&empty.to_dict()));
}

/// The names of the properties of a schema at `pointer`, in order.
fn properties(name: &str, part: Option<&str>) -> Vec<String> {
    let schema = Schema::named(name).unwrap().to_value();
    let place = part.map_or(&schema, |part| schema.get("$defs").unwrap().get(part).unwrap());
    place.get("properties").unwrap().as_object().unwrap().keys().map(str::to_owned).collect()
}

fn names(value: &Value) -> Vec<String> {
    value.as_object().unwrap().keys().map(str::to_owned).collect()
}

#[test]
fn a_schema_has_the_members_that_are_written_in_their_order_and_no_others() {
    for (name, part, written) in documents::whole_values() {
        assert_eq!(properties(name, part), names(&written), "{name} {part:?}");
    }
}

#[test]
fn every_member_of_every_schema_is_described() {
    for schema in &schema::ALL {
        let value = schema.to_value();
        assert!(!schema.title().is_empty());
        undescribed(&value, schema.name);
    }
}

/// Finds members without a description, also in parts. Conditions (`if`, `then`) need none.
fn undescribed(schema: &Value, place: &str) {
    if let Some(members) = schema.get("properties").and_then(Value::as_object) {
        for (name, member) in members {
            let description = member.get("description").and_then(Value::as_str);
            assert!(description.is_some_and(|text| text.ends_with('.')), "{place}/{name}");
            undescribed(member, &format!("{place}/{name}"));
        }
    }
    let inner = ["items", "additionalProperties"].into_iter().filter_map(|keyword| schema.get(keyword));
    let choices = schema.get("anyOf").and_then(Value::as_array).unwrap_or_default();
    let parts = schema.get("$defs").and_then(Value::as_object).into_iter().flat_map(|parts| parts.values());
    inner.chain(choices).chain(parts).for_each(|inner| undescribed(inner, place));
}
