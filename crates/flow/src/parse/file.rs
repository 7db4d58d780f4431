//! The top level of a flow file.
//!
//! Owns the keys beside `steps`: their valid values and what they become. [`crate::parse::step`] reads steps, and
//! [`crate::parse::schema`] the schemas of inputs.

use crate::parse::draft::NamedFlows;
use crate::{
    parse::{
        bounds,
        draft::Draft,
        goals, notify, schema, secret,
        shell::{self, Shell},
        step, subflow, workspace,
    },
    syntax::{
        diagnostic::{Diagnostic, Problems},
        keys,
        names::{self, Names},
        path,
        read::{self, Fields, Spanned, refuse},
        yaml::{Kind, Node},
    },
};
use envoi_kernel::{
    flow::{InputDecl, Secret},
    ids::{FlowId, StepId},
};

/// The largest number of steps of a flow. The limit matters because checks compare pairs of steps.
const MAX_STEPS: usize = 10_000;

/// Folder names of a run that a flow id may not use, because each flow has its own folder for artifacts.
const RESERVED: &[&str] = &["attempts", "answers"];

pub(crate) fn read(root: &Node, language: u32, named: NamedFlows, problems: &mut Problems) -> Draft {
    let shell = Shell::of_language(language);
    let mut draft = Draft { language, shell, named, ..Draft::default() };
    let Some(fields) = Fields::of(root, &keys::FLOW, problems) else { return draft };
    match fields.get("flow") {
        Some(node) => draft.id = id(node, problems),
        None if fields.misspelt("flow", &keys::FLOW) => {}
        None => problems.add(missing(root, "flow", "a flow has a name: `flow: my-flow`")),
    }
    let title = fields.get("title").and_then(|node| read::text(node, "`title`", problems));
    draft.title = title.map(str::to_owned);
    if let Some(node) = fields.get("inputs") {
        inputs(node, &mut draft, problems);
    }
    if let Some(node) = fields.get("limits") {
        draft.limits = bounds::limits(node, problems);
    }
    if let Some(node) = fields.get("secrets") {
        secrets(node, &mut draft, problems);
    }
    if let Some(node) = fields.get("pass_env") {
        draft.pass_env = pass_env(node, problems);
    }
    if let Some(text) = fields.get("env_file").and_then(|node| path::fixed(node, "`env_file`", problems)) {
        draft.env_file = Some(text.to_owned());
    }
    draft.workspace = workspace::read(fields.get("workspace"), problems);
    if let Some(node) = fields.get("env") {
        draft.env = step::environment(node, None, &draft.secret_names, &mut draft.expressions, problems);
    }
    if let Some(shell) = fields.get("shell").and_then(|node| shell::read(node, problems)) {
        draft.shell = shell;
    }
    let notify = fields.get("notify").map(|node| notify::read(node, &draft.shell, problems));
    draft.notify = notify.unwrap_or_default();
    if let Some(node) = fields.get("flows") {
        flows(node, &draft.named, problems);
    }
    match fields.get("steps") {
        Some(node) => steps(node, &mut draft, problems),
        None if fields.misspelt("steps", &keys::FLOW) => {}
        None => problems.add(missing(root, "steps", "a flow has at least one step")),
    }
    if let Some((key, node)) = fields.pair("goals") {
        draft.goals = goals::read(key.span, node, &mut draft, problems);
    }
    draft.goals_unclear =
        draft.goals.is_none() && (fields.get("goals").is_some() || fields.misspelt("goals", &keys::FLOW));
    draft
}

fn missing(root: &Node, key: &str, help: &str) -> Diagnostic {
    Diagnostic::invalid(root.span, format!("`{key}` is missing")).help(help)
}

fn id(node: &Node, problems: &mut Problems) -> Option<String> {
    let text = read::text(node, "`flow`", problems)?;
    match FlowId::new(text) {
        Err(error) => refuse(problems, names::bad_id(node.span, text, error.expected)),
        Ok(_) if RESERVED.contains(&text) => {
            let message = format!("`{text}` cannot name a flow: a run keeps its {text} under that name");
            refuse(problems, Diagnostic::invalid(node.span, message))
        }
        Ok(_) => Some(text.to_owned()),
    }
}

fn inputs(node: &Node, draft: &mut Draft, problems: &mut Problems) {
    for (key, node) in read::entries(node, "`inputs`", problems) {
        draft.input_names.push(key.text.clone());
        if !names::is_input(&key.text) {
            let message = format!("`{}` cannot name an input", key.text);
            problems.add(Diagnostic::invalid(key.span, message).expecting(names::INPUT));
        }
        if let Some(declared) = schema::declaration(key, node, problems) {
            let schema::Declaration { schema, default } = declared;
            draft.inputs.push(InputDecl { name: key.text.clone(), schema, default });
        }
    }
}

fn secrets(node: &Node, draft: &mut Draft, problems: &mut Problems) {
    for (key, node) in read::entries(node, "`secrets`", problems) {
        draft.secret_names.push(Spanned { value: key.text.clone(), span: key.span });
        let named = names::variable(key, "a secret", problems);
        let what = format!("secret `{}`", key.text);
        let source = secret::source(node, &what, &key.text, key.span, problems);
        if let (Some(name), Some(source)) = (named, source) {
            draft.secrets.push(Secret { name, source });
        }
    }
}

/// Variables of the caller's environment that commands get.
fn pass_env(node: &Node, problems: &mut Problems) -> Vec<Spanned<String>> {
    let expected = "a list of names such as `[SSH_AUTH_SOCK, \"AWS_*\"]`";
    let mut names = Vec::new();
    for item in read::items(node, "`pass_env`", expected, problems) {
        let Some(text) = read::text(item, "a name of `pass_env`", problems) else { continue };
        let wrong = |message: String| Diagnostic::invalid(item.span, message);
        let beginning = text.strip_suffix('*').unwrap_or(text);
        if text == "*" {
            let message = "`*` would pass every variable, and with them secrets that the flow does not name";
            problems.add(wrong(message.to_owned()).help("name them, or their beginnings: `AWS_*`"));
        } else if !names::is_variable(beginning) {
            let message = format!("`{text}` cannot name variables");
            problems.add(wrong(message).expecting("a name, or the beginning of names and `*`"));
        } else if beginning.starts_with("ENVOI_") {
            let message =
                format!("`{text}` cannot be passed: variables that begin `ENVOI_` are set by Envoi");
            problems.add(wrong(message));
        } else if names.iter().any(|known: &Spanned<String>| known.value == text) {
            problems.add(wrong(format!("`{text}` stands twice in `pass_env`")));
        } else {
            names.push(Spanned { value: text.to_owned(), span: item.span });
        }
    }
    names
}

/// Files of flows that hints may lead to.
fn flows(node: &Node, named: &NamedFlows, problems: &mut Problems) {
    let items = read::items(node, "`flows`", "a list of flow files", problems);
    if items.is_empty() && matches!(node.kind, Kind::Sequence(_)) {
        problems.add(Diagnostic::invalid(node.span, "`flows` names no file"));
    }
    for item in items {
        subflow::named(item, named, problems);
    }
}

fn steps(node: &Node, draft: &mut Draft, problems: &mut Problems) {
    let Some(items) = read::list(node, "`steps`", "a list of steps", problems) else { return };
    if items.is_empty() {
        problems.add(Diagnostic::invalid(node.span, "a flow has at least one step"));
    }
    if items.len() > MAX_STEPS {
        problems.add(Diagnostic::invalid(node.span, format!("a flow has at most {MAX_STEPS} steps")));
        return;
    }
    let mut names = Names::default();
    let setup = draft.workspace.setup.as_ref().map(|(_, step)| step.clone());
    for (place, item) in setup.iter().chain(items).enumerate() {
        let read = step::read(item, place, draft, problems);
        if let Some(id) = &read.id {
            names.claim(id, problems);
        }
        draft.steps.push(read);
    }
    if setup.is_some() {
        wait_for_setup(draft);
    }
}

/// In a graph, makes every step without `needs` wait for `setup`. In a list `setup` comes first anyway.
fn wait_for_setup(draft: &mut Draft) {
    if !draft.steps.iter().any(|step| step.waits.named) {
        return;
    }
    let mut steps = draft.steps.iter_mut();
    let Some(setup) = steps.next().and_then(|setup| setup.id.clone()) else { return };
    for step in steps.filter(|step| step.waits.needs.is_empty() && !step.waits.unclear) {
        step.waits.needs.push(Spanned { value: setup.value.clone(), span: setup.span });
        let needs = step.step.as_mut().map(|step| &mut step.needs);
        needs.into_iter().for_each(|needs| needs.extend(StepId::new(setup.value.as_str()).ok()));
    }
}
