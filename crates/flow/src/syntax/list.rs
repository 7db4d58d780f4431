//! A literal list in the file, or an expression whose value is a list.
//!
//! Owns both forms, for `for_each` and for `goals`. The names in the expression are checked together with all others
//! ([`crate::check::expression`]).

use crate::syntax::{
    diagnostic::{Diagnostic, Problems},
    read::{self, refuse},
    tree,
    yaml::{Kind, Node},
};
use envoi_contract::json::Value;
use envoi_kernel::{
    expression::{Segment, segments},
    flow::Expression,
};

/// Longest literal list. People do not write longer ones.
const MAX_ITEMS: usize = 1000;

/// A list as written.
#[derive(Debug)]
pub(crate) enum List<'n> {
    /// The items. None of them contains an expression.
    Items(&'n [Node]),
    /// The source of one expression.
    Expression(&'n str),
}

impl List<'_> {
    /// The list as an expression for the kernel. A literal list becomes its JSON.
    pub(crate) fn expression(&self) -> Expression {
        match self {
            List::Items(items) => Expression(Value::Array(items.iter().map(tree::value).collect()).compact()),
            List::Expression(source) => Expression((*source).to_owned()),
        }
    }
}

pub(crate) fn read<'n>(node: &'n Node, name: &str, problems: &mut Problems) -> Option<List<'n>> {
    let expected = "a list, or an expression whose value is one";
    match &node.kind {
        Kind::Sequence(items) => written_out(node, items, name, problems).map(List::Items),
        Kind::Scalar(_) if read::as_text(node).is_some() => {
            let text = read::text(node, name, problems)?.trim();
            match segments(text).as_slice() {
                [Segment::Expression(source)] => Some(List::Expression(source.trim())),
                [Segment::Unclosed(_)] => {
                    refuse(problems, Diagnostic::invalid(node.span, "`${{` has no `}}`"))
                }
                [Segment::Text(word)] => {
                    let help = format!("an expression is written `${{{{ {word} }}}}`");
                    refuse(problems, read::mismatch(node, name, expected).help(help))
                }
                _ => {
                    let message = format!("{name} is one expression, and nothing around it");
                    refuse(problems, Diagnostic::invalid(node.span, message))
                }
            }
        }
        _ => refuse(problems, read::mismatch(node, name, expected)),
    }
}

fn written_out<'n>(
    node: &Node,
    items: &'n [Node],
    name: &str,
    problems: &mut Problems,
) -> Option<&'n [Node]> {
    if items.is_empty() {
        return refuse(problems, Diagnostic::invalid(node.span, format!("{name} is an empty list")));
    }
    if items.len() > MAX_ITEMS {
        let message = format!("{name} has at most {MAX_ITEMS} items; this one has {}", items.len());
        return refuse(problems, Diagnostic::invalid(node.span, message));
    }
    if let Some(item) = items.iter().find_map(expression_in) {
        let message = format!("an item of {name} takes no expression");
        let help = "make one expression of the whole list: `${{ [inputs.first, 'second'] }}`";
        return refuse(problems, Diagnostic::invalid(item.span, message).help(help));
    }
    Some(items)
}

/// The first text in `node` with an expression.
pub(crate) fn expression_in(node: &Node) -> Option<&Node> {
    match &node.kind {
        Kind::Scalar(scalar) => scalar.text.contains("${{").then_some(node),
        Kind::Sequence(items) => items.iter().find_map(expression_in),
        Kind::Mapping(members) => members.iter().find_map(|(_, node)| expression_in(node)),
    }
}
