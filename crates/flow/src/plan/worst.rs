//! How often, at most: returns of loops, visits of steps, and what the heaviest run weighs.
//!
//! A run is a chain of stretches. On each it only goes onward, so that it visits no step twice; one ends where a loop goes
//! back. A loop's count starts over when the run comes into it from before its first step, which takes a return of a loop
//! that begins earlier and ends inside or behind it, or when a loop around it goes back into it. Nothing else adds a visit.

use super::ways::{Back, Ways};

/// The figures of a flow that bound a run. What dominates is found by lowering one of them.
#[derive(Debug, Clone)]
pub(super) struct Figures {
    /// Of each loop, as in [`Ways::loops`].
    pub(super) times: Vec<u128>,
    /// Attempts of one visit, of each step.
    pub(super) tries: Vec<u128>,
    /// Returns of all loops.
    pub(super) iterations: Option<u128>,
    /// Attempts of the run.
    pub(super) hops: Option<u128>,
}

/// How often each loop is entered and goes back.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Rounds {
    pub(super) entries: u128,
    pub(super) returns: u128,
}

impl Ways {
    /// Of each loop, as in [`Ways::loops`]. Those that begin earlier, or begin with it and end later, come before it.
    pub(super) fn rounds(&self, figures: &Figures) -> Vec<Rounds> {
        let most = figures.iterations.unwrap_or(u128::MAX);
        let mut rounds: Vec<Rounds> = Vec::with_capacity(self.loops.len());
        for (back, times) in self.loops.iter().zip(&figures.times) {
            let around = self.loops.iter().zip(&rounds).filter(|(other, _)| other.end >= back.start);
            let entries = around.fold(1_u128, |sum, (_, other)| sum.saturating_add(other.returns));
            let entries = entries.min(most.saturating_add(1));
            rounds.push(Rounds { entries, returns: entries.saturating_mul(*times).min(most) });
        }
        rounds
    }

    /// Returns of all loops together.
    pub(super) fn returns(figures: &Figures, rounds: &[Rounds]) -> u128 {
        let sum = rounds.iter().fold(0_u128, |sum, of| sum.saturating_add(of.returns));
        sum.min(figures.iterations.unwrap_or(u128::MAX))
    }

    /// Visits of each step: one, and one more for each return of a loop around it that can lead to it again.
    pub(super) fn visits(&self, figures: &Figures, rounds: &[Rounds]) -> Vec<u128> {
        let mut visits = vec![1_u128; self.onward.len()];
        for (back, of) in self.loops.iter().zip(rounds).filter(|(_, of)| of.returns > 0) {
            let repeated = self.repeated_by(back);
            let body = visits.get_mut(back.start..=back.end).unwrap_or_default();
            for (count, _) in body.iter_mut().zip(repeated).filter(|(_, repeated)| *repeated) {
                *count = count.saturating_add(of.returns);
            }
        }
        let most = figures.iterations.map_or(u128::MAX, |returns| returns.saturating_add(1));
        visits.into_iter().map(|count| count.min(most)).collect()
    }

    /// Of each step of a loop: whether the run can come to it from where the loop goes back to, also by way of other loops
    /// that close before it.
    fn repeated_by(&self, back: &Back) -> Vec<bool> {
        let steps = back.end.saturating_sub(back.start).saturating_add(1);
        let follows = |place: usize| {
            self.onward.get(place).is_some_and(|next| next.contains(&(place.saturating_add(1))))
        };
        if (back.start..back.end).all(follows) {
            return vec![true; steps];
        }
        let mut reached = vec![false; back.end.saturating_add(1)];
        let mut open = back.targets.clone();
        while let Some(place) = open.pop() {
            let Some(seen) = reached.get_mut(place).filter(|seen| !**seen) else { continue };
            *seen = true;
            open.extend(self.onward.get(place).into_iter().flatten().filter(|next| **next <= back.end));
            let inner = self.back_from(place).filter(|inner| inner.times > 0);
            open.extend(inner.into_iter().flat_map(|inner| &inner.targets));
        }
        reached.split_off(back.start)
    }

    /// What the heaviest run weighs, where a visit of a step weighs what `weights` says.
    ///
    /// What is still ahead of a step is at most its heaviest way onward; a return adds at most what is ahead of its target
    /// beyond what was still ahead anyway. The other bound is each step by itself; the lower one counts.
    pub(super) fn heaviest(&self, figures: &Figures, rounds: &[Rounds], weights: &[u128]) -> u128 {
        let ahead = self.ahead(weights);
        let behind = |place: usize| self.behind(&ahead, place);
        let at = |place: usize| ahead.get(place).copied().unwrap_or(0);
        let mut gains: Vec<(u128, u128)> = self
            .loops
            .iter()
            .zip(rounds)
            .map(|(back, of)| {
                let heaviest = back.targets.iter().map(|target| at(*target)).max().unwrap_or(0);
                (heaviest.saturating_sub(behind(back.end)), of.returns)
            })
            .collect();
        gains.sort_unstable_by(|one, other| other.cmp(one));
        let mut left = figures.iterations.unwrap_or(u128::MAX);
        let mut by_ways = at(0);
        for (gain, returns) in gains {
            let taken = returns.min(left);
            left = left.saturating_sub(taken);
            by_ways = by_ways.saturating_add(gain.saturating_mul(taken));
        }
        let visits = self.visits(figures, rounds);
        let by_steps = visits.iter().zip(weights).map(|(visits, weight)| visits.saturating_mul(*weight));
        by_ways.min(by_steps.fold(0, u128::saturating_add))
    }

    /// What the heaviest way onward from each step weighs, with the step.
    fn ahead(&self, weights: &[u128]) -> Vec<u128> {
        let mut ahead = weights.to_vec();
        for place in (0..self.onward.len()).rev() {
            let behind = self.behind(&ahead, place);
            if let Some(here) = ahead.get_mut(place) {
                *here = here.saturating_add(behind);
            }
        }
        ahead
    }

    /// The same without the step.
    fn behind(&self, ahead: &[u128], place: usize) -> u128 {
        let next = self.onward.get(place).into_iter().flatten();
        next.filter_map(|next| ahead.get(*next)).copied().max().unwrap_or(0)
    }

    /// The heaviest way from a target of this loop to the step that closes it.
    pub(super) fn round_of(&self, back: &Back, weights: &[u128]) -> Vec<usize> {
        let span = back.end.saturating_sub(back.start).saturating_add(1);
        // Of each step of the loop, from its first: what the way to the end weighs, and the next step on it.
        let mut ways: Vec<Option<(u128, usize)>> = vec![None; span];
        for place in (back.start..=back.end).rev() {
            let index = place.saturating_sub(back.start);
            let weight = weights.get(place).copied().unwrap_or(0);
            let known = |next: usize| ways.get(next.checked_sub(back.start)?).copied().flatten();
            let nexts = self.onward.get(place).into_iter().flatten();
            let best = nexts.filter_map(|next| Some((known(*next)?.0, *next))).max_by_key(|(sum, next)| {
                // Of equal ways the one that leaves out least.
                (*sum, core::cmp::Reverse(*next))
            });
            let here = match best {
                _ if place == back.end => Some((weight, place)),
                Some((sum, next)) => Some((weight.saturating_add(sum), next)),
                None => None,
            };
            if let Some(way) = ways.get_mut(index) {
                *way = here;
            }
        }
        let way = |place: usize| ways.get(place.checked_sub(back.start)?).copied().flatten();
        let first = back.targets.iter().filter_map(|target| Some((way(*target)?.0, *target)));
        let Some((_, mut place)) = first.max_by_key(|(sum, target)| (*sum, core::cmp::Reverse(*target)))
        else {
            return Vec::new();
        };
        let mut path = vec![place];
        while let Some((_, next)) = way(place).filter(|(_, next)| *next != place) {
            path.push(next);
            place = next;
        }
        path
    }

    /// The most of a run, where one attempt of a step weighs what `weights` says: attempts for 1, time for its limit.
    pub(super) fn total(&self, figures: &Figures, weights: &[u128]) -> u128 {
        let of_visit: Vec<u128> =
            figures.tries.iter().zip(weights).map(|(tries, weight)| tries.saturating_mul(*weight)).collect();
        let heaviest = self.heaviest(figures, &self.rounds(figures), &of_visit);
        let most = figures.hops.map(|hops| hops.saturating_mul(weights.iter().copied().max().unwrap_or(0)));
        heaviest.min(most.unwrap_or(u128::MAX))
    }
}
