//! The JSON Schemas of all rows and bodies, as components of the OpenAPI document.
//!
//! Data that the server and the commands output is closed: it has exactly the listed members. Data that clients send
//! may omit members with a default. Members have no `default` in the schema, because some generators make such
//! members required.

use crate::{
    backtest, bridge, bundle, cache, comparison, event, file, flow, handoff, log, mistake, output, plan,
    problem, question, request, retention, run, shape, step, store, token,
};
use schemars::{
    JsonSchema, SchemaGenerator,
    generate::{Contract, SchemaSettings},
};
use serde_json::{Map, Value, json};

/// The prefix of references between schemas.
const PATH: &str = "/components/schemas";

/// The largest number that every JSON reader represents exactly.
const MAX_NUMBER: u64 = (1 << 53) - 1;

/// The schemas of everything that REST sends and accepts, by name.
#[must_use]
pub fn of_rest() -> Map<String, Value> {
    let mut shown = generator(Contract::Serialize);
    add::<bridge::BridgeAnswer>(&mut shown);
    add::<bridge::BridgeRefusal>(&mut shown);
    add::<bridge::ChatModels>(&mut shown);
    add::<bridge::ChatRefusal>(&mut shown);
    add::<bridge::MessagesRefusal>(&mut shown);
    add::<comparison::Comparison>(&mut shown);
    add::<event::Events>(&mut shown);
    add::<file::Artifacts>(&mut shown);
    add::<file::Differences>(&mut shown);
    add::<flow::Flows>(&mut shown);
    add::<flow::PinnedFlow>(&mut shown);
    add::<handoff::Handoffs>(&mut shown);
    add::<log::Logs>(&mut shown);
    add::<output::ErrorPage>(&mut shown);
    add::<plan::FlowPlan>(&mut shown);
    add::<problem::Forbidden>(&mut shown);
    add::<problem::Health>(&mut shown);
    add::<problem::Problem>(&mut shown);
    add::<problem::Refused>(&mut shown);
    add::<question::ChangedFiles>(&mut shown);
    add::<question::QuestionDetail>(&mut shown);
    add::<question::Questions>(&mut shown);
    add::<run::Forked>(&mut shown);
    add::<run::RunLedger>(&mut shown);
    add::<run::Runs>(&mut shown);
    add::<shape::FlowShape>(&mut shown);
    add::<step::Steps>(&mut shown);
    add::<token::NewSession>(&mut shown);
    add::<token::Token>(&mut shown);
    let mut sent = generator(Contract::Deserialize);
    add::<bridge::BridgeTurn>(&mut sent);
    add::<bridge::Chat>(&mut sent);
    add::<request::Answer>(&mut sent);
    add::<request::Compare>(&mut sent);
    add::<request::Correct>(&mut sent);
    add::<request::FlowFiles>(&mut sent);
    add::<request::Fork>(&mut sent);
    add::<request::Raise>(&mut sent);
    add::<request::Resume>(&mut sent);
    add::<request::SignIn>(&mut sent);
    add::<request::Start>(&mut sent);
    let mut all = definitions(shown, true);
    all.extend(definitions(sent, false));
    all.insert("ChatCompletion".to_owned(), open("As the provider gives it"));
    all.insert("Document".to_owned(), open("An OpenAPI 3.1 document"));
    all
}

/// The schemas of the output of commands with `--json`, except those of [`of_rest`], by name.
#[must_use]
pub fn of_commands() -> Map<String, Value> {
    let mut shown = generator(Contract::Serialize);
    add::<backtest::Backtest>(&mut shown);
    add::<bundle::Exported>(&mut shown);
    add::<bundle::ImportedRun>(&mut shown);
    add::<bundle::Verified>(&mut shown);
    add::<cache::CachedStep>(&mut shown);
    add::<file::ArtifactVersion>(&mut shown);
    add::<file::FileDifference>(&mut shown);
    add::<log::LogLine>(&mut shown);
    add::<mistake::ImportFinding>(&mut shown);
    add::<mistake::Mistake>(&mut shown);
    add::<output::Advice>(&mut shown);
    add::<output::CaseCounts>(&mut shown);
    add::<output::FailedCase>(&mut shown);
    add::<output::HelpPage>(&mut shown);
    add::<output::HelpTopics>(&mut shown);
    add::<output::Initialized>(&mut shown);
    add::<output::Listening>(&mut shown);
    add::<output::NewBranch>(&mut shown);
    add::<output::PullRequest>(&mut shown);
    add::<output::RunEvent>(&mut shown);
    add::<output::RunSetAside>(&mut shown);
    add::<output::RunUnreadable>(&mut shown);
    add::<output::Titled>(&mut shown);
    add::<output::WrittenPatch>(&mut shown);
    add::<plan::Plan>(&mut shown);
    add::<problem::Failure>(&mut shown);
    add::<retention::Collection>(&mut shown);
    add::<run::Accepted>(&mut shown);
    add::<run::RunDetail>(&mut shown);
    add::<run::Ended>(&mut shown);
    add::<run::UnreadableRun>(&mut shown);
    add::<store::Adopted>(&mut shown);
    add::<store::Checkup>(&mut shown);
    add::<store::Examined>(&mut shown);
    add::<store::Repaired>(&mut shown);
    add::<token::NewToken>(&mut shown);
    add::<token::PageLink>(&mut shown);
    add::<token::RevokedToken>(&mut shown);
    add::<token::TokenRow>(&mut shown);
    definitions(shown, true)
}

/// The document with the schemas of the output of all commands with `--json`: `spec/commands.json`. `$defs` contains
/// each row by name. The table in `docs/api.md` says which command prints which row.
#[must_use]
pub fn document_of_commands() -> String {
    let mut all = of_rest();
    all.extend(of_commands());
    let document = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "What envoi prints with --json",
        "description": "docs/api.md says which command prints which row",
        "$defs": all,
    });
    // References in the JSON text always have this form, and no other text in a schema does.
    format!("{document:#}\n").replace(&format!("\"#{PATH}/"), "\"#/$defs/")
}

fn generator(contract: Contract) -> SchemaGenerator {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = PATH.into();
        settings.meta_schema = None;
        settings.contract = contract;
    });
    settings.into_generator()
}

fn add<T: JsonSchema>(generator: &mut SchemaGenerator) {
    generator.subschema_for::<T>();
}

fn definitions(mut generator: SchemaGenerator, closed: bool) -> Map<String, Value> {
    let mut all = generator.take_definitions(true);
    all.values_mut().for_each(|schema| settle(schema, closed));
    all
}

/// An object with any members.
fn open(description: &str) -> Value {
    json!({"type": "object", "additionalProperties": true, "description": description})
}

/// Adds limits to numbers, closes objects, and removes keywords that only Rust needs.
fn settle(schema: &mut Value, closed: bool) {
    let Some(members) = schema.as_object_mut() else { return };
    members.remove("default");
    members.remove("title");
    if let Some(format) = members.get("format").and_then(Value::as_str)
        && format.starts_with("uint")
    {
        members.remove("format");
        members.entry("maximum").or_insert(MAX_NUMBER.into());
    }
    if let Some(Value::String(text)) = members.get_mut("description") {
        *text = text.trim_end_matches('.').replace('\n', " ");
    }
    if closed && members.contains_key("properties") {
        members.entry("additionalProperties").or_insert(false.into());
    }
    for (name, member) in members {
        match (name.as_str(), member) {
            ("properties", Value::Object(properties)) => {
                properties.values_mut().for_each(|property| settle(property, closed));
            }
            ("examples" | "enum" | "required", _) => {}
            (_, Value::Array(schemas)) => schemas.iter_mut().for_each(|schema| settle(schema, closed)),
            (_, schema) => settle(schema, closed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_closed_and_has_every_member() {
        let all = of_rest();
        let run = &all["Run"];
        assert_eq!(run["additionalProperties"], json!(false));
        assert_eq!(run["required"].as_array().unwrap().len(), run["properties"].as_object().unwrap().len());
        assert_eq!(run["properties"]["open_questions"]["maximum"], json!(MAX_NUMBER));
        assert_eq!(run["properties"]["activity"]["enum"], json!(["working", "stopped", "set_aside", null]));
        assert_eq!(run["properties"]["set_aside"]["type"], json!(["object", "null"]));
        assert!(all["Forked"]["properties"]["open_questions"].is_object(), "{}", all["Forked"]);
    }

    #[test]
    fn what_is_sent_needs_only_what_has_no_default() {
        let all = of_rest();
        for (name, required) in [
            ("Start", json!(["flow"])),
            ("Raise", json!(["more"])),
            ("FlowFiles", json!(["flow", "files"])),
            ("Resume", Value::Null),
            ("Fork", Value::Null),
            ("Answer", Value::Null),
        ] {
            assert_eq!(all[name]["required"], required, "{name}");
            assert_eq!(all[name]["additionalProperties"], json!(false), "{name}");
        }
        assert_eq!(all["Answer"]["properties"]["choice"]["type"], json!("string"));
        assert_eq!(all["Answer"]["properties"]["text"]["type"], json!(["string", "null"]));
    }

    #[test]
    fn the_document_of_the_commands_refers_to_what_it_has() {
        fn references(value: &Value, found: &mut Vec<String>) {
            match value {
                Value::Object(members) => {
                    found.extend(members.get("$ref").and_then(Value::as_str).map(str::to_owned));
                    members.values().for_each(|member| references(member, found));
                }
                Value::Array(items) => items.iter().for_each(|item| references(item, found)),
                _ => {}
            }
        }
        let document: Value = serde_json::from_str(&document_of_commands()).unwrap();
        let mut found = Vec::new();
        references(&document, &mut found);
        assert!(found.len() > 100);
        for reference in found {
            assert!(document.pointer(reference.trim_start_matches('#')).is_some(), "{reference}");
        }
        for name in ["RunDetail", "Question", "Plan"] {
            assert_eq!(document["$defs"][name]["additionalProperties"], json!(false), "{name}");
        }
    }

    #[test]
    fn the_page_of_the_rows_names_each_row_that_stands_in_no_other() {
        let page = include_str!("../../../docs/api.md");
        let all: Value = serde_json::from_str(&document_of_commands()).unwrap();
        let text = all.to_string();
        let commands = of_commands();
        let alone = commands.keys().filter(|name| !text.contains(&format!("\"#/$defs/{name}\"")));
        let missing: Vec<&String> = alone.filter(|name| !page.contains(&format!("`{name}`"))).collect();
        assert_eq!(missing, Vec::<&String>::new());
    }

    #[test]
    fn an_example_is_one() {
        fn of<T: serde::de::DeserializeOwned>(name: &str) {
            let all = of_rest();
            let examples = all[name]["examples"].as_array().unwrap();
            assert!(!examples.is_empty());
            for example in examples {
                let read = serde_json::from_value::<T>(example.clone());
                assert!(read.is_ok(), "{name}: {example}: {:?}", read.err());
            }
        }
        of::<request::Start>("Start");
        of::<request::Resume>("Resume");
        of::<request::Raise>("Raise");
        of::<request::Fork>("Fork");
        of::<request::Answer>("Answer");
        of::<request::FlowFiles>("FlowFiles");
    }
}
