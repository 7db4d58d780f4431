//! The location of a plan's figure in the file.

use super::Field;
use crate::syntax::{
    diagnostic::{LineColumn, Problems},
    yaml::{self, Key, Kind, Node},
};
use envoi_kernel::ids::FlowId;
use std::collections::BTreeMap;

/// The line of `text` with a field, from 1. If the field has its default, the line of the mapping that would contain
/// it. `None` if the text is not the flow of the field.
#[must_use]
pub fn line_of(text: &str, field: &Field) -> Option<usize> {
    let root = yaml::compose(text, &mut Problems::default())?;
    let mut at: Option<&Key> = None;
    let mut node = &root;
    if let Some(step) = field.step() {
        let Kind::Sequence(items) = &member(&root, "steps")?.1.kind else { return None };
        let is_it = |item: &&Node| match member(item, "id").map(|(_, node)| &node.kind) {
            Some(Kind::Scalar(scalar)) => scalar.text == step.as_str(),
            _ => false,
        };
        node = items.iter().find(is_it)?;
        at = member(node, "id").map(|(key, _)| key);
    }
    for key in field.key().split('.') {
        let Some((found, value)) = member(node, key) else { break };
        (at, node) = (Some(found), value);
    }
    at.map(|key| LineColumn::of(text, key.span.start).line)
}

/// True if `text` is the file of a flow with this id.
#[must_use]
pub fn is_flow(text: &str, id: &FlowId) -> bool {
    let root = yaml::compose(text, &mut Problems::default());
    let found = root.as_ref().and_then(|root| member(root, "flow")).map(|(_, node)| &node.kind);
    matches!(found, Some(Kind::Scalar(scalar)) if scalar.text == id.as_str())
}

/// The id of the flow in `text`, and the first line of each of its steps, from 1. `None` if the text is not a flow.
#[must_use]
pub fn step_lines(text: &str) -> Option<(String, BTreeMap<String, usize>)> {
    let root = yaml::compose(text, &mut Problems::default())?;
    let Kind::Scalar(id) = &member(&root, "flow")?.1.kind else { return None };
    let Kind::Sequence(items) = &member(&root, "steps")?.1.kind else { return None };
    let line = |item: &Node| {
        let (key, node) = member(item, "id")?;
        let Kind::Scalar(step) = &node.kind else { return None };
        Some((step.text.to_string(), LineColumn::of(text, key.span.start).line))
    };
    Some((id.text.to_string(), items.iter().filter_map(line).collect()))
}

fn member<'n>(node: &'n Node, name: &str) -> Option<(&'n Key, &'n Node)> {
    let Kind::Mapping(members) = &node.kind else { return None };
    members.iter().find(|(key, _)| key.text == name).map(|(key, node)| (key, node))
}
