//! Converts texts, lists and mappings of the source into lines of text, for prompts and comments.
//!
//! Owns the layout of lists and mappings as text. Every scalar of a node is in its lines.

use crate::syntax::{
    read,
    yaml::{Kind, Node},
};

/// `key: value` if that fits on one line, else the key with the indented value below it.
pub(super) fn member(key: &str, node: &Node) -> Vec<String> {
    let mut inside = lines(node);
    match (&node.kind, inside.len()) {
        (_, 0) => vec![format!("{key}: nothing")],
        (Kind::Scalar(_), 1) => vec![format!("{key}: {}", inside.remove(0))],
        _ => {
            let below = inside.into_iter().map(|line| indented(&line));
            core::iter::once(format!("{key}:")).chain(below).collect()
        }
    }
}

/// The lines of a node, without its key. Empty for an empty node.
pub(super) fn lines(node: &Node) -> Vec<String> {
    match &node.kind {
        Kind::Scalar(_) => {
            let text = read::as_token(node).unwrap_or_default();
            text.trim_end().lines().map(str::to_owned).collect()
        }
        Kind::Sequence(items) => items.iter().flat_map(item).collect(),
        Kind::Mapping(members) => members.iter().flat_map(|(key, node)| member(&key.text, node)).collect(),
    }
}

fn item(node: &Node) -> Vec<String> {
    let inside = lines(node);
    if inside.is_empty() {
        return vec!["- nothing".to_owned()];
    }
    let marked = |(at, line): (usize, String)| if at == 0 { format!("- {line}") } else { indented(&line) };
    inside.into_iter().enumerate().map(marked).collect()
}

fn indented(line: &str) -> String {
    if line.is_empty() { String::new() } else { format!("  {line}") }
}
