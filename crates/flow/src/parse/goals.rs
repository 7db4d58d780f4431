//! `goals` of a flow, and the `marks` of its steps.
//!
//! Owns their valid values, and checks that they match: a mark is a goal, and is on a step of the rounds. The kernel
//! defines a round, and decides when a person is asked.

use crate::parse::draft::DraftGoals;
use crate::{
    parse::draft::{Draft, Rounds, Site, Usage},
    syntax::{
        diagnostic::{Diagnostic, Problems, Span},
        keys,
        list::{self, List},
        path,
        read::{self, Fields, Spanned},
        yaml::{Kind, Node},
    },
};

/// The largest number of rounds. Each round is at least one attempt of each of its steps.
const MAX_ROUNDS: u64 = 1000;

/// The default number of rounds: the seed's number of stages.
const ROUNDS: u64 = 5;

/// The default number of rounds without progress before a person decides. A single such round may be bad luck.
const STUCK_AFTER: u64 = 2;

/// Reads `goals` after the steps, because its list is evaluated where the first round begins.
pub(crate) fn read(
    place: Span,
    node: &Node,
    draft: &mut Draft,
    problems: &mut Problems,
) -> Option<DraftGoals> {
    let fields = Fields::of(node, &keys::GOALS, problems)?;
    let mut missing = |name: &str, help: &str| {
        if fields.get(name).is_none() && !fields.misspelt(name, &keys::GOALS) {
            problems.add(Diagnostic::invalid(place, format!("`goals` without `{name}`")).help(help));
        }
    };
    missing("list", "say what is to be reached: `list: [translated, checked]`");
    missing("from", "name the first step of a round: `from: STEP`");
    missing("to", "name the last step of a round: `to: STEP`");
    let mut target = |name: &str| {
        let node = fields.get(name)?;
        let value = read::text(node, &format!("`{name}`"), problems)?.to_owned();
        Some(Spanned { value, span: node.span })
    };
    let from = target("from");
    let to = target("to");
    let mut count = |name: &str, default: u64| match fields.get(name) {
        Some(node) => read::integer(node, &format!("`{name}`"), 1..=MAX_ROUNDS, problems).unwrap_or(default),
        None => default,
    };
    let max_rounds = count("max_rounds", ROUNDS);
    let stuck_after = count("stuck_after", STUCK_AFTER);
    let list = fields.get("list").map(|node| (node, list::read(node, "`list`", problems)));
    let mut goals = DraftGoals { known: None, list: None, from, to, max_rounds, stuck_after, place };
    let Some((node, Some(list))) = list else { return Some(goals) };
    goals.list = Some(list.expression());
    match list {
        List::Items(items) => goals.known = texts(items, problems),
        List::Expression(source) => {
            if let Some(Rounds { first, .. }) = goals.rounds(&draft.steps) {
                let span = node.span;
                let source = source.to_owned();
                let step = Some(first);
                let site = Site::Goals;
                draft.expressions.push(Usage { span, source, bare: true, script: None, step, site });
            }
        }
    }
    Some(goals)
}

/// The goals of a literal list: distinct texts.
fn texts(items: &[Node], problems: &mut Problems) -> Option<Vec<String>> {
    let mut known: Vec<String> = Vec::new();
    let before = problems.count();
    for item in items {
        let Some(goal) = read::text(item, "a goal", problems) else { continue };
        if known.iter().any(|other| other == goal) {
            problems.add(Diagnostic::invalid(item.span, format!("the goal `{goal}` is named twice")));
        }
        known.push(goal.to_owned());
    }
    (problems.count() == before).then_some(known)
}

/// `marks` of a step: a goal or a list of goals.
pub(crate) fn marks(node: &Node, problems: &mut Problems) -> Vec<Spanned<String>> {
    let read = match &node.kind {
        Kind::Sequence(_) => read::texts(node, "`marks`", problems),
        _ => read::text(node, "`marks`", problems)
            .map(|text| Spanned { value: text.to_owned(), span: node.span })
            .into_iter()
            .collect(),
    };
    let mut marks: Vec<Spanned<String>> = Vec::new();
    for mark in read {
        if path::without_expression(mark.span, &mark.value, "`marks`", problems).is_none() {
            continue;
        }
        if marks.iter().any(|other| other.value == mark.value) {
            problems.add(Diagnostic::invalid(mark.span, format!("the goal `{}` is named twice", mark.value)));
        }
        marks.push(mark);
    }
    marks
}
