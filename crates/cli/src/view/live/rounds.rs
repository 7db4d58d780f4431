//! The loops of a flow for display: the steps of each loop, and its present round.
//!
//! The kernel decides the steps of a loop. The rounds are counted here, because a person sees a new loop as
//! soon as the run goes back to a step before it. The iteration of an attempt in the journal has priority.
//! Loops of questions are left out, because the question itself says that a person can send the run back.

use envoi_kernel::{Flow, Run, flow};
use std::collections::BTreeSet;

/// A loop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Loop {
    /// The row of its first step in the flow, from 0.
    pub(crate) first: usize,
    /// The row of the step that closes it.
    pub(crate) last: usize,
    /// The rows of all its steps.
    pub(crate) steps: BTreeSet<usize>,
    /// How often it has gone back since it was entered.
    pub(crate) iteration: u64,
    /// How often it may go back.
    pub(crate) max_iterations: u64,
}

impl Loop {
    pub(crate) fn contains(&self, step: usize) -> bool {
        self.steps.contains(&step)
    }

    /// `loop 2 of 4`: the present round, and the maximum.
    pub(crate) fn label(&self) -> String {
        format!("loop {} of {}", self.iteration.saturating_add(1), self.max_iterations.saturating_add(1))
    }
}

/// The loops of a flow, by the step that closes them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rounds {
    pub(crate) loops: Vec<Loop>,
    graph: bool,
}

impl Rounds {
    pub(crate) fn of(flow: &Flow) -> Self {
        let shown = flow.structure().loops().filter(|found| found.is_closed() && !found.asks);
        let one = |found: &flow::Loop| {
            let steps: BTreeSet<usize> = found.span.iter().collect();
            let max_iterations = flow.steps.get(found.end)?.routing.max_iterations;
            Some(Loop { first: *steps.first()?, last: found.end, steps, iteration: 0, max_iterations })
        };
        Self { loops: shown.filter_map(one).collect(), graph: flow.graph }
    }

    /// The run continues with this flow. The loops get their iterations from the run.
    pub(crate) fn correct(&mut self, flow: &Flow, run: &Run) {
        *self = Self::of(flow);
        for found in &mut self.loops {
            let closing = flow.steps.get(found.last);
            found.iteration = closing.map_or(0, |closing| run.iteration("", &closing.id));
        }
    }

    /// The run continued from one step to another.
    pub(crate) fn enter(&mut self, from: usize, to: usize) {
        let entered = |found: &&mut Loop| !found.contains(from) && found.contains(to);
        self.loops.iter_mut().filter(entered).for_each(|found| found.iteration = 0);
    }

    /// The run went back: the loop that `from` closes starts another round, and inner loops start over.
    pub(crate) fn go_back(&mut self, from: usize, to: usize) {
        let Some(outer) = self.loops.iter().find(|found| found.last == from).cloned() else { return };
        for found in &mut self.loops {
            let nested = found.steps.is_subset(&outer.steps);
            if found.last == from {
                found.iteration = found.iteration.saturating_add(1);
            } else if nested && !found.contains(from) && (self.graph || found.last >= to) {
                found.iteration = 0;
            }
        }
    }

    /// All of these steps are executed again for open goals. So are their loops.
    pub(crate) fn begin(&mut self, steps: &BTreeSet<usize>) {
        self.loops
            .iter_mut()
            .filter(|found| !found.steps.is_disjoint(steps))
            .for_each(|found| found.iteration = 0);
    }

    /// An attempt of this step was started in this iteration of its innermost loop.
    pub(crate) fn started(&mut self, step: usize, iteration: u64) {
        let around = self.loops.iter_mut().filter(|found| found.contains(step));
        if let Some(innermost) = around.min_by_key(|found| found.steps.len()) {
            innermost.iteration = iteration;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Loops over these steps, in the given iterations.
    fn rounds(loops: &[(usize, usize, u64)]) -> Rounds {
        let loop_of = |(first, last, iteration): &(usize, usize, u64)| Loop {
            first: *first,
            last: *last,
            iteration: *iteration,
            steps: (*first..=*last).collect(),
            max_iterations: 3,
        };
        Rounds { loops: loops.iter().map(loop_of).collect(), graph: false }
    }

    fn iterations(rounds: &Rounds) -> Vec<u64> {
        rounds.loops.iter().map(|found| found.iteration).collect()
    }

    #[test]
    fn a_loop_counts_its_returns_until_it_is_entered_again() {
        let mut rounds = rounds(&[(1, 2, 0), (0, 4, 1)]);
        rounds.go_back(2, 1);
        rounds.enter(1, 2);
        assert_eq!(iterations(&rounds), [1, 1], "going on within a loop is not entering it");
        assert_eq!(rounds.loops[0].label(), "loop 2 of 4");
        rounds.go_back(4, 0);
        assert_eq!(iterations(&rounds), [0, 2], "the inner one starts over");
        rounds.started(1, 3);
        assert_eq!(iterations(&rounds), [3, 2], "the journal knows better");
        rounds.enter(0, 1);
        assert_eq!(iterations(&rounds), [0, 2]);
    }

    #[test]
    fn a_round_for_goals_begins_the_loops_within_it_anew() {
        let mut rounds = rounds(&[(1, 2, 3), (2, 5, 1), (5, 5, 1)]);
        rounds.begin(&(0..=4).collect());
        assert_eq!(iterations(&rounds), [0, 0, 1]);
    }

    #[test]
    fn loops_that_cross_keep_their_count() {
        let mut rounds = rounds(&[(0, 2, 1), (1, 3, 1)]);
        rounds.go_back(3, 1);
        assert_eq!(iterations(&rounds), [1, 2]);
    }
}
