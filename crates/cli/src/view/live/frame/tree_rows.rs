//! The rows of the picture: the steps of a flow as a tree, with the parts of a step below it.
//!
//! Of a `for_each`, only items that run or wait have a row. The row of its step counts the others. Loops of a
//! graph have no row, because their steps need not be listed together: the step that closes the loop shows
//! its round.

use super::{Look, NARROW};
use crate::view::live::{
    level::{Level, Parts},
    model::{State, StepView},
    tree::{Of, has_row, tree},
};

/// A row of the tree.
pub(super) struct TreeRow<'a> {
    pub(super) of: Subject<'a>,
    /// The text before the row itself.
    pub(super) branch: String,
    /// The text before the lines below the row.
    pub(super) stem: String,
    /// Whether it is one item of several.
    pub(super) is_of_item: bool,
}

/// The subject of a row.
pub(super) enum Subject<'a> {
    /// A step, with the round of the loop that it closes.
    Step {
        step: &'a StepView,
        round: Option<String>,
    },
    Loop {
        level: &'a Level,
        at: usize,
    },
}

/// The rows of a flow, below `stem`.
pub(super) fn tree_rows<'a>(level: &'a Level, stem: &str, look: Look) -> Vec<TreeRow<'a>> {
    let mut all = Vec::new();
    flow(level, (stem, false), look, &mut all);
    all
}

fn flow<'a>(level: &'a Level, (stem, is_of_item): (&str, bool), look: Look, all: &mut Vec<TreeRow<'a>>) {
    let loops = if level.flow.graph { &[] } else { level.rounds.loops.as_slice() };
    let nodes = tree(level.steps.len(), loops, look.charset, look.width < NARROW);
    for node in &nodes {
        let branch = format!("{stem}{}", node.branch);
        let stem = format!("{stem}{}", node.stem);
        let step = match node.of {
            Of::Loop(at) => {
                all.push(TreeRow { of: Subject::Loop { level, at }, branch, stem, is_of_item });
                continue;
            }
            Of::Step(at) => level.steps.get(at).map(|step| (at, step)),
        };
        let Some((at, step)) = step else { continue };
        let mut closed = level.rounds.loops.iter().enumerate();
        let own = closed
            .find(|(_, found)| found.last == at)
            .filter(|(at, _)| step.visit > 0 && !has_row(&nodes, *at));
        let round = own.map(|(_, found)| found.label());
        all.push(TreeRow { of: Subject::Step { step, round }, branch, stem: stem.clone(), is_of_item });
        parts(step, (&stem, is_of_item), look, all);
    }
}

fn parts<'a>(step: &'a StepView, (stem, is_of_item): (&str, bool), look: Look, all: &mut Vec<TreeRow<'a>>) {
    if step.state != State::Running {
        return;
    }
    match &step.parts {
        Parts::None => {}
        Parts::Flow(level) => flow(level, (stem, is_of_item), look, all),
        Parts::Items { begun, .. } => {
            let live: Vec<&StepView> =
                begun.values().filter(|item| has_row_of_its_own(item.stands())).collect();
            for (nth, item) in live.iter().enumerate() {
                let [fork, corner, line, gap] = signs(look);
                let is_last = nth.saturating_add(1) == live.len();
                let (sign, below) = if is_last { (corner, gap) } else { (fork, line) };
                let branch = format!("{stem}{sign}");
                let stem = format!("{stem}{below}");
                let of = Subject::Step { step: item, round: None };
                all.push(TreeRow { of, branch, stem: stem.clone(), is_of_item: true });
                parts(item, (&stem, true), look, all);
            }
        }
    }
}

fn has_row_of_its_own(state: State) -> bool {
    state.matters() && !matches!(state, State::Ready | State::Failed)
}

fn signs(look: Look) -> [&'static str; 4] {
    crate::view::live::tree::signs(look.charset, look.width < NARROW)
}
