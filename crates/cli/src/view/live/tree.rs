//! The steps of a flow as a tree: loops of several steps are branches, in listed order.

use super::rounds::Loop;
use crate::text::columns::Charset;

/// A row of the tree: its subject, and the lines that lead to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) of: Of,
    /// The text before the row itself.
    pub(crate) branch: String,
    /// The text before the lines below the row.
    pub(crate) stem: String,
}

/// The subject of a [`Node`]. Numbers are indexes in the flow and in the list of loops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Of {
    Step(usize),
    Loop(usize),
}

/// The tree of `steps` steps. If loops cross, the one that begins first is a branch. A narrow tree uses fewer
/// columns.
pub(crate) fn tree(steps: usize, loops: &[Loop], charset: Charset, is_narrow: bool) -> Vec<Node> {
    let mut nodes = Vec::new();
    let signs = signs(charset, is_narrow);
    if let Some(last) = steps.checked_sub(1) {
        Grower { loops, signs, nodes: &mut nodes }.grow(0, last, None, "");
    }
    nodes
}

/// The signs of a branch, of the last branch, and of the lines below each of them.
pub(crate) fn signs(charset: Charset, is_narrow: bool) -> [&'static str; 4] {
    match (charset, is_narrow) {
        (Charset::Unicode, false) => ["├─ ", "└─ ", "│  ", "   "],
        (Charset::Unicode, true) => ["├ ", "└ ", "│ ", "  "],
        (Charset::Ascii, false) => ["|- ", "`- ", "|  ", "   "],
        (Charset::Ascii, true) => ["| ", "` ", "| ", "  "],
    }
}

struct Grower<'a> {
    loops: &'a [Loop],
    signs: [&'static str; 4],
    nodes: &'a mut Vec<Node>,
}

impl Grower<'_> {
    /// The rows from step `first` to `last`, which are those of the loop `within`.
    fn grow(&mut self, first: usize, last: usize, within: Option<usize>, stem: &str) {
        let mut next = first;
        while next <= last {
            let found = self.branch_at(next, last, within);
            let end = found.and_then(|at| self.loops.get(at)).map_or(next, |found| found.last);
            let [fork, corner, line, gap] = self.signs;
            let (sign, below) = if end == last { (corner, gap) } else { (fork, line) };
            let branch = format!("{stem}{sign}");
            let below = format!("{stem}{below}");
            let of = found.map_or(Of::Step(next), Of::Loop);
            self.nodes.push(Node { of, branch, stem: below.clone() });
            if found.is_some() {
                self.grow(next, end, found, &below);
            }
            next = end.saturating_add(1);
        }
    }

    /// The longest loop of several steps that begins at `first`, except the present one.
    fn branch_at(&self, first: usize, last: usize, within: Option<usize>) -> Option<usize> {
        let outer = within.and_then(|at| self.loops.get(at));
        let fits = |found: &Loop| {
            let shorter = outer.is_none_or(|outer| found.first > outer.first || found.last < outer.last);
            found.first == first && found.last > first && found.last <= last && shorter
        };
        let candidates = self.loops.iter().enumerate().filter(|(_, found)| fits(found));
        candidates.max_by_key(|(_, found)| found.last).map(|(at, _)| at)
    }
}

/// Whether a loop has a row of its own in the tree.
pub(crate) fn has_row(nodes: &[Node], at: usize) -> bool {
    nodes.iter().any(|node| node.of == Of::Loop(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(steps: usize, loops: &[(usize, usize)]) -> Vec<String> {
        let loops: Vec<_> = loops
            .iter()
            .map(|(first, last)| Loop {
                first: *first,
                last: *last,
                steps: (*first..=*last).collect(),
                iteration: 0,
                max_iterations: 3,
            })
            .collect();
        let named = |node: Node| match node.of {
            Of::Step(at) => format!("{}{at}", node.branch),
            Of::Loop(at) => format!("{}loop {at}", node.branch),
        };
        tree(steps, &loops, Charset::Ascii, false).into_iter().map(named).collect()
    }

    #[test]
    fn loops_are_branches_within_one_another() {
        assert_eq!(drawn(0, &[]), Vec::<String>::new());
        assert_eq!(drawn(2, &[(0, 0), (1, 1)]), ["|- 0", "`- 1"], "a step that repeats itself is a row");
        assert_eq!(
            drawn(5, &[(1, 2), (1, 3), (4, 4)]),
            ["|- 0", "|- loop 1", "|  |- loop 0", "|  |  |- 1", "|  |  `- 2", "|  `- 3", "`- 4"]
        );
        assert_eq!(drawn(3, &[(0, 2)]), ["`- loop 0", "   |- 0", "   |- 1", "   `- 2"]);
    }

    #[test]
    fn every_step_has_one_row_however_loops_lie() {
        for first in 0..4 {
            for last in first..4 {
                for other in 0..4 {
                    for end in other..4 {
                        let rows = drawn(4, &[(first, last), (other, end)]);
                        let steps = rows.iter().filter(|row| !row.contains("loop")).count();
                        assert_eq!(steps, 4, "{first}..{last} {other}..{end}: {rows:?}");
                    }
                }
            }
        }
    }
}
