//! `flow` of a step: another flow as a part of this one.
//!
//! Owns its `inputs` and `returns`, and the list of keys that have no effect in such a step. [`crate::load`] finds
//! the other flow and checks it.

use crate::parse::draft::Outputs;
use crate::values::json_schema::Schema;
use crate::{
    parse::{
        draft::{Inner, Named, NamedFlows, Site, Usage},
        schema,
    },
    syntax::{
        diagnostic::{Diagnostic, Problems},
        keys, list, names,
        read::{self, Fields, Spanned, refuse},
        suggestion::did_you_mean,
        tree,
        yaml::{Key, Kind, Node},
    },
};
use envoi_kernel::{
    expression::{Segment, segments},
    flow::{Expression, InnerInput, InnerPlan, Template},
};
use std::rc::Rc;

/// A step that runs a flow, read.
pub(crate) struct Part {
    pub(crate) plan: InnerPlan,
    /// The values that are read from the other flow when it ends.
    pub(crate) outputs: Outputs,
}

/// The flow that `node` names, unless it was reported as invalid.
pub(crate) fn named(node: &Node, names: &NamedFlows, problems: &mut Problems) -> Option<Rc<Inner>> {
    let written = read::text(node, "`flow`", problems)?;
    match names.get(written)? {
        Named::Right(inner) => Some(Rc::clone(inner)),
        Named::Wrong => None,
        Named::Refused { message, help } => {
            refuse(problems, Diagnostic::invalid(node.span, message.clone()).maybe_help(help.clone()))
        }
    }
}

pub(crate) fn read(
    language: u32,
    fields: &Fields<'_>,
    place: usize,
    all: &NamedFlows,
    expressions: &mut Vec<Usage>,
    problems: &mut Problems,
) -> Option<Part> {
    let (key, node) = fields.pair("flow")?;
    let inner = named(node, all, problems);
    let given = fields.get("inputs").map(|node| inputs(node, place, inner.as_deref(), expressions, problems));
    if let Some(inner) = &inner {
        let given = given.as_deref().unwrap_or_default();
        missing(key, inner, given, fields.get("inputs").is_some_and(|node| !is_mapping(node)), problems);
    }
    let returned = match fields.pair("outputs") {
        // The name of this key in version 1.
        Some((_, node)) if language < 2 => Some(node),
        Some((key, _)) => {
            let message = "what a step with `flow` hands over is called `returns`";
            let help = "write `returns` in place of `outputs`; the names and expressions stay";
            refuse(problems, Diagnostic::invalid(key.span, message).help(help))
        }
        None => fields.get("returns"),
    };
    let (outputs, usages) = returned.map(|node| returns(node, problems)).unwrap_or_default();
    let of = inner?;
    let inputs = given.unwrap_or_default().into_iter().filter_map(|(name, input)| Some((name.value, input?)));
    let plan = InnerPlan { flow: of.flow.id.clone(), inputs: inputs.collect(), outputs };
    Some(Part { plan, outputs: Outputs { of, expressions: usages } })
}

fn is_mapping(node: &Node) -> bool {
    matches!(node.kind, Kind::Mapping(_))
}

type Given = (Spanned<String>, Option<InnerInput>);

fn inputs(
    node: &Node,
    place: usize,
    inner: Option<&Inner>,
    expressions: &mut Vec<Usage>,
    problems: &mut Problems,
) -> Vec<Given> {
    let mut given = Vec::new();
    for (key, node) in read::entries(node, "`inputs`", problems) {
        let name = Spanned { value: key.text.clone(), span: key.span };
        if let Some(inner) = inner.filter(|inner| !inner.draft.input_names.contains(&key.text)) {
            let message = format!("flow `{}` has no input `{}`", inner.flow.id, key.text);
            let help = did_you_mean(&key.text, inner.draft.input_names.iter().map(String::as_str));
            problems.add(Diagnostic::invalid(key.span, message).maybe_help(help));
        }
        let input = input("input", key, node, place, expressions, problems);
        if let (Some(inner), Some(InnerInput::Value(_))) = (inner, &input) {
            fits(key, node, inner, problems);
        }
        given.push((name, input));
    }
    given
}

/// Reads a value or a template. `what` is its name in messages.
pub(crate) fn input(
    what: &str,
    key: &Key,
    node: &Node,
    place: usize,
    expressions: &mut Vec<Usage>,
    problems: &mut Problems,
) -> Option<InnerInput> {
    let text = read::as_text(node).filter(|text| text.contains("${{"));
    let Some(text) = text else {
        if let Some(below) = list::expression_in(node) {
            let message = format!("{what} `{}` is a value with an expression somewhere in it", key.text);
            let help = "make one expression of the whole: `${{ [inputs.first, 'second'] }}`";
            return refuse(problems, Diagnostic::invalid(below.span, message).help(help));
        }
        return Some(InnerInput::Value(tree::value(node)));
    };
    let mut usage = Usage {
        span: node.span,
        source: text.to_owned(),
        bare: false,
        script: None,
        step: Some(place),
        site: Site::Text,
    };
    let whole = match segments(text.trim()).as_slice() {
        [Segment::Expression(source)] => Some(source.trim().to_owned()),
        _ => None,
    };
    let input = match whole {
        Some(source) => {
            usage.bare = true;
            usage.source.clone_from(&source);
            InnerInput::Expression(Expression(source))
        }
        None => InnerInput::Template(Template(text.to_owned())),
    };
    expressions.push(usage);
    Some(input)
}

fn fits(key: &Key, node: &Node, inner: &Inner, problems: &mut Problems) {
    let Some(decl) = inner.flow.inputs.iter().find(|decl| decl.name == key.text) else { return };
    let Ok(schema) = Schema::new(&decl.schema) else { return };
    for mismatch in schema.check(&tree::value(node)) {
        let message =
            format!("input `{}` of flow `{}` does not fit: {}", key.text, inner.flow.id, mismatch.reason);
        problems.add(Diagnostic::invalid(schema::at(node, &mismatch.path).span, message));
    }
}

/// Reports missing inputs that have no default.
fn missing(key: &Key, inner: &Inner, given: &[Given], unclear: bool, problems: &mut Problems) {
    for decl in inner.flow.inputs.iter().filter(|decl| decl.default.is_none() && !unclear) {
        if !given.iter().any(|(name, _)| name.value == decl.name) {
            let message = format!("flow `{}` needs the input `{}`", inner.flow.id, decl.name);
            let help = format!("give it: `inputs: {{ {}: … }}`", decl.name);
            problems.add(Diagnostic::invalid(key.span, message).help(help));
        }
    }
}

type Read = (Vec<(String, Expression)>, Vec<Usage>);

/// Reads names and expressions. The expressions are recorded separately, because they are evaluated in the other
/// flow.
fn returns(node: &Node, problems: &mut Problems) -> Read {
    let mut read = Read::default();
    for (key, node) in read::entries(node, "`returns`", problems) {
        if !names::is_input(&key.text) {
            let message = format!("`{}` cannot name a value of `returns`", key.text);
            problems.add(Diagnostic::invalid(key.span, message).expecting(names::INPUT));
        }
        let source = match read::as_text(node).map(str::trim).map(segments).as_deref() {
            Some([Segment::Expression(source)]) => source.trim().to_owned(),
            _ => {
                let expected = "one expression, `${{ … }}`";
                let help = "they are expressions over the steps of that flow";
                problems
                    .add(read::mismatch(node, &format!("`{}` of `returns`", key.text), expected).help(help));
                continue;
            }
        };
        let span = node.span;
        let usage =
            Usage { span, source: source.clone(), bare: true, script: None, step: None, site: Site::Outputs };
        read.1.push(usage);
        read.0.push((key.text.clone(), Expression(source)));
    }
    read
}

/// Reports keys of a step that runs a command, in a step that runs a flow.
pub(crate) fn keys_beside(fields: &Fields<'_>, problems: &mut Problems) {
    for key in fields.keys() {
        let name = key.text.as_str();
        let action = keys::ACTIONS.contains(&name);
        if action || !keys::STEP.keys.contains(&name) || keys::BESIDE_FLOW.contains(&name) {
            continue;
        }
        let message = format!("`{name}` does nothing in a step that runs a flow: it runs no command");
        let help = format!("`{name}` stands at the steps of that flow");
        problems.add(Diagnostic::invalid(key.span, message).help(help));
    }
}

/// Reads a branch into another flow, `flow/step`.
pub(crate) fn branch(
    branch: &Spanned<String>,
    all: &NamedFlows,
    problems: &mut Problems,
) -> Option<(envoi_kernel::ids::FlowId, envoi_kernel::ids::StepId)> {
    let (flow, step) = branch.value.split_once('/')?;
    let inners = || {
        all.values().filter_map(|named| match named {
            Named::Right(inner) => Some(inner),
            Named::Wrong | Named::Refused { .. } => None,
        })
    };
    let wrong = |message: String| Diagnostic::invalid(branch.span, message);
    let Some(inner) = inners().find(|inner| inner.flow.id.as_str() == flow) else {
        if all.values().any(|named| !matches!(named, Named::Right(_))) {
            return None;
        }
        let help = did_you_mean(flow, inners().map(|inner| inner.flow.id.as_str()))
            .unwrap_or_else(|| "name its file: `flows: [./that.yaml]`".to_owned());
        return refuse(problems, wrong(format!("this file names no flow `{flow}`")).help(help));
    };
    if inner.flow.graph {
        let message = format!("flow `{flow}` is a graph, which cannot be entered in its middle");
        let help = "name a flow in listed order, one whose steps have no `needs`; or run this one by a step with `flow`";
        return refuse(problems, wrong(message).help(help));
    }
    let Some(target) = inner.flow.steps.iter().find(|known| known.id.as_str() == step) else {
        let help = did_you_mean(step, inner.flow.steps.iter().map(|step| step.id.as_str()));
        return refuse(problems, wrong(format!("flow `{flow}` has no step `{step}`")).maybe_help(help));
    };
    if let Some(decl) = inner.flow.inputs.iter().find(|decl| decl.default.is_none()) {
        let message = format!("flow `{flow}` needs the input `{}`, and a hint gives none", decl.name);
        return refuse(problems, wrong(message).help("give the input a default there"));
    }
    Some((inner.flow.id.clone(), target.id.clone()))
}
