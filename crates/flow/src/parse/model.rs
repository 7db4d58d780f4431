//! `model` of a step: the model and its prompt.
//!
//! Owns its keys, and the list of keys that have no effect in such a step. The configuration of the store defines the
//! models; it is not known here.

use crate::{
    parse::{
        draft::{self, Usage},
        program, subflow,
    },
    syntax::{
        diagnostic::{Diagnostic, Problems},
        keys,
        read::{self, Fields, refuse},
        yaml::{Key, Kind, Node},
    },
};
use envoi_contract::json::Value;
use envoi_kernel::flow::{InnerInput, ModelPlan, Template};

/// The largest token limit.
const MAX_TOKENS: u64 = 10_000_000;

/// A larger number would hide a mistake in the prompt or the schema.
const MAX_REPAIRS: u64 = 10;

/// The longest name of a model, as in the configuration.
const MAX_MODEL_NAME: usize = 200;

/// Reads the plan of a step.
pub(crate) fn read(
    key: &Key,
    node: &Node,
    place: usize,
    step: &Fields<'_>,
    expressions: &mut Vec<Usage>,
    problems: &mut Problems,
) -> Option<ModelPlan> {
    let fields = Fields::of(node, &keys::MODEL, problems)?;
    let before = problems.count();
    let mut required = |name: &str, example: &str| match fields.get(name) {
        Some(node) => Some(node),
        None if fields.misspelt(name, &keys::MODEL) => None,
        None => {
            let message = format!("`model` without a `{name}`");
            refuse(problems, Diagnostic::invalid(key.span, message).help(format!("add `{name}: {example}`")))
        }
    };
    let model = required("use", "small");
    let prompt = required("prompt", "\"what it is asked\"");
    let model = model.and_then(|node| name(node, problems));
    let mut template = |node: &Node, text: &str| {
        draft::note(expressions, node.span, text, Some(place));
        Template(text.to_owned())
    };
    let prompt = prompt.and_then(|node| Some(template(node, read::text(node, "`prompt`", problems)?)));
    let system =
        fields.get("system").and_then(|node| Some(template(node, read::text(node, "`system`", problems)?)));
    let files = fields.pair("files").map(|(key, node)| files(key, node, place, expressions, problems));
    let temperature = fields.get("temperature").and_then(|node| temperature(node, problems));
    let max_tokens = fields
        .get("max_tokens")
        .and_then(|node| read::integer(node, "`max_tokens`", 1..=MAX_TOKENS, problems));
    let repair = fields
        .pair("repair")
        .and_then(|(key, node)| Some((key, read::integer(node, "`repair`", 0..=MAX_REPAIRS, problems)?)));
    if let Some((key, _)) = repair.filter(|_| step.get("outputs").is_none()) {
        let message = "`repair` without `outputs`: there is nothing that an answer has to fit";
        let help = "describe the answer by `outputs`, a JSON Schema";
        problems.add(Diagnostic::invalid(key.span, message).help(help));
    }
    let on_throttled = step
        .get("on_throttled")
        .and_then(|node| program::throttled_model(node, model.as_deref(), name, problems));
    if problems.count() != before {
        return None;
    }
    Some(ModelPlan {
        model: model?,
        on_throttled: on_throttled.unwrap_or_default(),
        prompt: prompt?,
        system,
        files: files.unwrap_or_default(),
        temperature,
        max_tokens,
        repair: repair.and_then(|(_, repair)| u32::try_from(repair).ok()).unwrap_or(0),
    })
}

fn name(node: &Node, problems: &mut Problems) -> Option<String> {
    let text = read::token(node, "`use`", problems)?;
    if text.contains("${{") {
        let message = "`use` names a model of the configuration, and nothing is filled in";
        return refuse(problems, Diagnostic::invalid(node.span, message));
    }
    if text.len() > MAX_MODEL_NAME || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        let message = format!("`use`: `{text}` cannot be the name of a model");
        let problem = Diagnostic::invalid(node.span, message);
        return refuse(problems, problem.expecting("up to 200 printable characters without spaces"));
    }
    Some(text.to_owned())
}

/// A number from 0 to 2, with its digits.
fn temperature(node: &Node, problems: &mut Problems) -> Option<String> {
    let token = read::as_token(node).unwrap_or_default();
    let is_plain = token.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let is_in_range = token.parse::<f64>().is_ok_and(|number| (0.0..=2.0).contains(&number));
    let number = envoi_contract::json::Number::parse(token);
    match number.filter(|_| is_plain && is_in_range) {
        Some(_) => Some(token.to_owned()),
        None => refuse(problems, read::mismatch(node, "`temperature`", "a number from 0 to 2, such as 0.2")),
    }
}

/// Reads one file or a list of files.
fn files(
    key: &Key,
    node: &Node,
    place: usize,
    expressions: &mut Vec<Usage>,
    problems: &mut Problems,
) -> Vec<InnerInput> {
    let items = match &node.kind {
        Kind::Sequence(items) => items.iter().collect(),
        _ => vec![node],
    };
    let mut read = Vec::new();
    for item in items {
        if read::as_text(item).is_none_or(str::is_empty) {
            problems.add(read::mismatch(item, "a file of `files`", "a path, or an expression"));
            continue;
        }
        let input = subflow::input("a file of", key, item, place, expressions, problems);
        match input {
            Some(InnerInput::Value(Value::String(path))) => {
                read.push(InnerInput::Template(Template(path)));
            }
            other => read.extend(other),
        }
    }
    read
}

/// Reports keys of a step that runs a command or an agent program, in a step that asks a model.
pub(crate) fn keys_beside(fields: &Fields<'_>, problems: &mut Problems) {
    for key in fields.keys().filter(|key| keys::NOT_BESIDE_MODEL.contains(&key.text.as_str())) {
        let message = format!("`{}` does nothing in a step with `model`", key.text);
        let help = match key.text.as_str() {
            "data" | "returns" => {
                "what a model hands over is described by `outputs`, a JSON Schema; its answer is the text of the step"
            }
            "files" => "files that are given to a model stand in `model: { use: …, files: … }`",
            "inputs" => "a model is given values by expressions such as `${{ inputs.NAME }}` in `prompt`",
            "idle" => {
                "how long an answer may take is `timeout` of the step, or of the provider in the configuration"
            }
            "denials" => "a model has no tools that could be refused; remove it",
            _ => "it says something of a command alone; remove it",
        };
        problems.add(Diagnostic::invalid(key.span, message).help(help));
    }
}
