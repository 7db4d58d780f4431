//! `a2a` of a step: the message to another agent, and its address.
//!
//! Owns its keys, and the list of keys that have no effect in such a step. Sends nothing: whether the agent exists is
//! checked when the step runs.

use crate::{
    parse::{
        draft::{self, Usage},
        notify, secret, subflow,
    },
    syntax::{
        diagnostic::{Diagnostic, Problems},
        keys, path,
        read::{self, Fields, Spanned, refuse},
        yaml::{Key, Node},
    },
};
use envoi_kernel::flow::{AGENT_TOKEN_PREFIX, AgentPlan, InnerInput, Secret, Template};

/// The flow and the id of a step, for its expressions and the name of its token.
pub(crate) struct StepContext<'p> {
    pub(crate) flow: Option<&'p str>,
    pub(crate) step: Option<&'p Spanned<String>>,
    pub(crate) place: usize,
}

/// Reads the plan, and the secret that it needs.
pub(crate) fn read(
    key: &Key,
    node: &Node,
    at: &StepContext<'_>,
    expressions: &mut Vec<Usage>,
    problems: &mut Problems,
) -> Option<(AgentPlan, Option<Secret>)> {
    let fields = Fields::of(node, &keys::A2A, problems)?;
    let mut required = |name: &str, example: &str| match fields.get(name) {
        Some(node) => read::text(node, &format!("`{name}`"), problems).map(|text| (node, text)),
        None if fields.misspelt(name, &keys::A2A) => None,
        None => {
            let message = format!("`a2a` without a `{name}`");
            refuse(problems, Diagnostic::invalid(key.span, message).help(format!("add `{name}: {example}`")))
        }
    };
    let url = required("url", "https://agent.example");
    let message = required("message", "\"what it is to do\"");
    let url =
        url.and_then(|(node, text)| address("url", node, text, &fields, problems).then_some((node, text)));
    let interface = fields.get("interface").map(|node| {
        let text = read::text(node, "`interface`", problems)?;
        address("interface", node, text, &fields, problems).then_some((node, text))
    });
    let mut template = |(node, text): (&Node, &str)| {
        draft::note(expressions, node.span, text, Some(at.place));
        Template(text.to_owned())
    };
    let url = url.map(&mut template);
    let message = message.map(&mut template);
    let interface = interface.map(|interface| interface.map(&mut template));
    let tenant = fields.get("tenant").map(|node| Some((node, read::text(node, "`tenant`", problems)?)));
    let tenant = tenant.map(|tenant| tenant.map(&mut template));
    let data = fields.get("data").map(|node| data(node, at.place, expressions, problems));
    let token = fields.pair("token").map(|(key, node)| {
        let source = secret::source(node, "`token`", "NAME", key.span, problems)?;
        let name = format!("{AGENT_TOKEN_PREFIX}{}.{}", at.flow?, at.step?.value);
        Some(Secret { name, source })
    });
    // An invalid value was already reported.
    let token = token.map_or(Some(None), |token| token.map(Some))?;
    let tenant = tenant.map_or(Some(None), |t| t.map(Some))?;
    let interface = interface.map_or(Some(None), |interface| interface.map(Some))?;
    let plan = AgentPlan {
        url: url?,
        message: message?,
        data: data.unwrap_or_default(),
        tenant,
        interface,
        token: token.as_ref().map(|secret| secret.name.clone()),
        resends: false,
    };
    Some((plan, token))
}

/// Checks the address under this key, as far as it contains no expression.
fn address(name: &str, node: &Node, text: &str, fields: &Fields<'_>, problems: &mut Problems) -> bool {
    let what = format!("`{name}`");
    if text.contains("${{") {
        return true;
    }
    if path::without_expression(node.span, text, &what, problems).is_none() {
        return false;
    }
    if let Some(problem) = notify::bad_url(node.span, text, &what) {
        problems.add(problem);
        return false;
    }
    // If there is an `interface`, `url` is only used to get the card, without the token.
    let takes_token = name == "interface" || fields.get("interface").is_none();
    if let Some((key, _)) = fields.pair("token").filter(|_| takes_token && !notify::keeps_secrets(text)) {
        problems.add(notify::in_clear_text(key.span));
        return false;
    }
    true
}

fn data(
    node: &Node,
    place: usize,
    expressions: &mut Vec<Usage>,
    problems: &mut Problems,
) -> Vec<(String, InnerInput)> {
    let members = read::entries(node, "`data`", problems);
    let mut all = Vec::new();
    for (key, node) in members {
        if let Some(value) = subflow::input("member", key, node, place, expressions, problems) {
            all.push((key.text.clone(), value));
        }
    }
    all
}

/// Reports keys of a step that runs a command, in a step that calls an agent.
pub(crate) fn keys_beside(fields: &Fields<'_>, problems: &mut Problems) {
    for key in fields.keys().filter(|key| keys::NOT_BESIDE_A2A.contains(&key.text.as_str())) {
        let message =
            format!("`{}` does nothing in a step that talks to an agent: it runs no command", key.text);
        problems.add(Diagnostic::invalid(key.span, message));
    }
}
