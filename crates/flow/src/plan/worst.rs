//! Upper bounds for one flow: returns of loops, visits of steps, and the weight of the heaviest path.
//!
//! In a list a run is a chain of sections. Within a section the run only goes forward, so it visits no step twice. A
//! section ends where a loop goes back. In a graph each step is visited once. A return visits again the steps that
//! depend on its target and cannot have waited for the step that closes the loop. [`super::control_flow`] knows which
//! loops start over. Nothing else adds a visit.

use super::control_flow::{Back, ControlFlow, Form, Graph};
use envoi_kernel::flow::Places;

/// How many times each loop is entered and goes back.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Rounds {
    pub(super) entries: u128,
    pub(super) returns: u128,
}

/// How the weights of a graph's steps are combined, because its steps can run in parallel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Measure {
    /// The sum over all steps: what they use.
    Sum,
    /// The heaviest path from a first step to a last one: how long it takes.
    Longest,
}

/// The weight of one return of a loop, and the number of returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Gain {
    pub(super) weight: u128,
    pub(super) returns: u128,
    /// True if `limits.iterations` counts it.
    pub(super) counted: bool,
}

impl ControlFlow {
    /// The rounds of each loop if the flow is entered `entered` times and `limits.iterations` is `most`.
    pub(super) fn rounds(&self, times: &[u128], entered: u128, most: Option<u128>) -> Vec<Rounds> {
        let most = most.unwrap_or(u128::MAX);
        // Rounds of `goals` are not returns for that limit. Only the outermost flow has such rounds.
        let uncounted = self.loops.iter().zip(times).filter(|(back, _)| back.rounds);
        let uncounted = uncounted.fold(0_u128, |sum, (_, times)| sum.saturating_add(*times));
        let mut rounds: Vec<Rounds> = Vec::with_capacity(self.loops.len());
        for (back, times) in self.loops.iter().zip(times) {
            let around = back.restarted_by.iter().filter_map(|at| rounds.get(at));
            let entries = around.fold(entered, |sum, other| sum.saturating_add(other.returns));
            let entries = entries.min(entered.saturating_add(most).saturating_add(uncounted));
            let returns = if back.rounds { *times } else { entries.saturating_mul(*times).min(most) };
            rounds.push(Rounds { entries, returns });
        }
        rounds
    }

    /// Returns of all loops together, without rounds of `goals`. Their limit applies to the whole run.
    pub(super) fn returns(&self, rounds: &[Rounds]) -> u128 {
        let counted = self.loops.iter().zip(rounds).filter(|(back, _)| !back.rounds);
        counted.fold(0, |sum, (_, of)| sum.saturating_add(of.returns))
    }

    /// Visits of each step: one per entry, and one more for each return of a loop that can lead to it again.
    pub(super) fn visits(&self, rounds: &[Rounds], entered: u128, most: Option<u128>) -> Vec<u128> {
        let mut visits = vec![(entered, 0_u128); self.len()];
        for (back, of) in self.loops.iter().zip(rounds).filter(|(_, of)| of.returns > 0) {
            for place in back.repeats.iter() {
                let Some((base, counted)) = visits.get_mut(place) else { continue };
                let count = if back.rounds { base } else { counted };
                *count = count.saturating_add(of.returns);
            }
        }
        let most = most.unwrap_or(u128::MAX);
        visits.into_iter().map(|(base, counted)| base.saturating_add(counted.min(most))).collect()
    }

    /// The largest weight of one entry into the flow. `weights` are the weights of one visit of each step. With
    /// `anywhere` it may be entered at any step.
    ///
    /// In a list the smaller of two bounds counts: the heaviest path forward plus what each return adds, and the sum
    /// over all steps separately.
    pub(super) fn entry(
        &self,
        times: &[u128],
        most: Option<u128>,
        weights: &[u128],
        measure: Measure,
        anywhere: bool,
    ) -> u128 {
        let rounds = self.rounds(times, 1, most);
        let by_ways =
            added(self.gains(&rounds, weights, measure), most, self.base(weights, measure, anywhere));
        if measure == Measure::Longest && matches!(self.form, Form::Graph(_)) {
            return by_ways;
        }
        let visits = self.visits(&rounds, 1, most);
        let by_steps = visits.iter().zip(weights).map(|(visits, weight)| visits.saturating_mul(*weight));
        by_ways.min(by_steps.fold(0, u128::saturating_add))
    }

    /// The weight of one entry without returns of loops.
    pub(super) fn base(&self, weights: &[u128], measure: Measure, anywhere: bool) -> u128 {
        match &self.form {
            Form::Listed(onward) => {
                let ahead = ahead(onward, weights);
                let first = ahead.first().copied().unwrap_or(0);
                if anywhere { ahead.into_iter().max().unwrap_or(0) } else { first }
            }
            Form::Graph(_) if measure == Measure::Sum => {
                weights.iter().fold(0, |sum, of| sum.saturating_add(*of))
            }
            Form::Graph(graph) => graph.longest(weights, None),
        }
    }

    /// The weight that a return of each loop adds.
    pub(super) fn gains(&self, rounds: &[Rounds], weights: &[u128], measure: Measure) -> Vec<Gain> {
        let weight: Box<dyn Fn(&Back) -> u128> = match &self.form {
            Form::Listed(onward) => {
                let ahead = ahead(onward, weights);
                Box::new(move |back| {
                    let at = |place: &usize| ahead.get(*place).copied().unwrap_or(0);
                    let heaviest = back.targets.iter().map(at).max().unwrap_or(0);
                    heaviest.saturating_sub(behind(onward, &ahead, back.end))
                })
            }
            Form::Graph(_) if measure == Measure::Sum => Box::new(|back| {
                let again = back.repeats.iter().filter_map(|place| weights.get(place));
                again.fold(0, |sum, of| sum.saturating_add(*of))
            }),
            Form::Graph(graph) => Box::new(|back| graph.longest(weights, Some(&back.repeats))),
        };
        let each = self.loops.iter().zip(rounds);
        let gain = |(back, of): (&Back, &Rounds)| Gain {
            weight: if of.returns == 0 { 0 } else { weight(back) },
            returns: of.returns,
            counted: !back.rounds,
        };
        each.map(gain).collect()
    }

    /// The steps of the heaviest round of a loop: in a list the heaviest path from its target, in a graph everything
    /// that it repeats.
    pub(super) fn round_of(&self, back: &Back, weights: &[u128]) -> Vec<usize> {
        match &self.form {
            Form::Listed(onward) => heaviest_way(onward, back, weights),
            Form::Graph(_) => back.repeats.iter().collect(),
        }
    }
}

impl Graph {
    /// The heaviest chain of steps in which each step needs the one before it, directly or indirectly. Only the steps
    /// in `among` have a weight.
    pub(super) fn longest(&self, weights: &[u128], among: Option<&Places>) -> u128 {
        let mut up_to = vec![0_u128; self.needs.len()];
        let mut longest = 0;
        for place in &self.order {
            let needs = self.needs.get(*place).into_iter().flatten();
            let before = needs.filter_map(|need| up_to.get(*need)).copied().max().unwrap_or(0);
            let weighs = among.is_none_or(|among| among.has(*place));
            let own = weights.get(*place).copied().filter(|_| weighs).unwrap_or(0);
            let here = before.saturating_add(own);
            longest = here.max(longest);
            if let Some(up_to) = up_to.get_mut(*place) {
                *up_to = here;
            }
        }
        longest
    }
}

/// `base` plus the weights of all returns. If the limit does not allow all counted returns, the heaviest ones are
/// used.
pub(super) fn added(mut gains: Vec<Gain>, most: Option<u128>, base: u128) -> u128 {
    gains.sort_unstable_by(|one, other| other.cmp(one));
    let mut left = most.unwrap_or(u128::MAX);
    let mut sum = base;
    for Gain { weight, returns, counted } in gains {
        let taken = if counted { returns.min(left) } else { returns };
        if counted {
            left = left.saturating_sub(taken);
        }
        sum = sum.saturating_add(weight.saturating_mul(taken));
    }
    sum
}

/// The weight of the heaviest path forward from each step, including the step.
fn ahead(onward: &[Vec<usize>], weights: &[u128]) -> Vec<u128> {
    let mut ahead = weights.to_vec();
    for place in (0..onward.len()).rev() {
        let behind = behind(onward, &ahead, place);
        if let Some(here) = ahead.get_mut(place) {
            *here = here.saturating_add(behind);
        }
    }
    ahead
}

/// The weight of the heaviest path forward from a step, without the step.
fn behind(onward: &[Vec<usize>], ahead: &[u128], place: usize) -> u128 {
    let next = onward.get(place).into_iter().flatten();
    next.filter_map(|next| ahead.get(*next)).copied().max().unwrap_or(0)
}

/// The heaviest path from a target of this loop to the step that closes it.
fn heaviest_way(onward: &[Vec<usize>], back: &Back, weights: &[u128]) -> Vec<usize> {
    let span = back.end.saturating_sub(back.start).saturating_add(1);
    // For each step of the loop from its first: the weight of the path to the end, and the next step on it.
    let mut ways: Vec<Option<(u128, usize)>> = vec![None; span];
    for place in (back.start..=back.end).rev() {
        let index = place.saturating_sub(back.start);
        let weight = weights.get(place).copied().unwrap_or(0);
        let known = |next: usize| ways.get(next.checked_sub(back.start)?).copied().flatten();
        let nexts = onward.get(place).into_iter().flatten();
        let best = nexts.filter_map(|next| Some((known(*next)?.0, *next))).max_by_key(|(sum, next)| {
            // If several paths are equally heavy, the one that skips the fewest steps.
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
    let Some((_, mut place)) = first.max_by_key(|(sum, target)| (*sum, core::cmp::Reverse(*target))) else {
        return Vec::new();
    };
    let mut path = vec![place];
    while let Some((_, next)) = way(place).filter(|(_, next)| *next != place) {
        path.push(next);
        place = next;
    }
    path
}
