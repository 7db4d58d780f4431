//! `for_each` and `max_parallel` of a step.
//!
//! Owns their forms, and which steps can run several times at once. `syntax/list.rs` has the rules for literal lists.
//! The kernel checks a list that an expression gives (`decide/step/for_each.rs`).

use crate::{
    parse::draft::{Site, Usage},
    syntax::{
        diagnostic::{Diagnostic, Problems},
        keys,
        list::{self, List},
        read::{self, Fields},
    },
};
use envoi_kernel::flow::{ForEach, RoutingPlan};

/// The largest number of items in progress at once, because each of them uses a slot of the engine.
const MAX_PARALLEL: u64 = 1000;

pub(crate) fn read(
    fields: &Fields<'_>,
    place: usize,
    expressions: &mut Vec<Usage>,
    problems: &mut Problems,
) -> Option<ForEach> {
    let max_parallel = fields.pair("max_parallel");
    let Some(node) = fields.get("for_each") else {
        if let Some((key, _)) = max_parallel.filter(|_| !fields.misspelt("for_each", &keys::STEP)) {
            let message = "`max_parallel` does nothing without `for_each`";
            let help = "steps that do not need each other are bounded by `envoi run --jobs`";
            problems.add(Diagnostic::invalid(key.span, message).help(help));
        }
        return None;
    };
    let max_parallel = max_parallel
        .and_then(|(_, node)| read::integer(node, "`max_parallel`", 1..=MAX_PARALLEL, problems))
        .and_then(|many| u32::try_from(many).ok());
    let list = list::read(node, "`for_each`", problems)?;
    if let List::Expression(source) = list {
        let source = source.to_owned();
        expressions.push(Usage {
            span: node.span,
            source,
            bare: true,
            script: None,
            step: Some(place),
            site: Site::List,
        });
    }
    Some(ForEach { items: list.expression(), max_parallel })
}

/// Reports a `routing`, because each item has its own text, but a step is routed once.
pub(crate) fn not_routed(fields: &Fields<'_>, routing: Option<&RoutingPlan>, problems: &mut Problems) {
    let (Some((each, _)), Some((key, _))) = (fields.pair("for_each"), fields.pair("routing")) else { return };
    if routing.is_some_and(|routing| routing.declared) {
        let message = "a step with `for_each` is not routed: each item has a text of its own";
        problems.add(
            Diagnostic::invalid(key.span, message)
                .label(each.span, "its items come from here")
                .help("let a step after it judge the results, with this `routing`"),
        );
    }
}
