//! What dominates: the figure of the flow file whose lowering by one lowers the total most.

use super::{most::Most, ways::Ways, worst::Figures};
use envoi_kernel::{flow::Flow, ids::StepId};

/// How much work may go into looking for it, in steps and loops looked at; in larger flows only the likeliest are tried.
const EFFORT: usize = 20_000_000;

/// A figure of the flow file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Field {
    /// `routing.max_iterations` of a step.
    MaxIterations(StepId),
    /// `retry.attempts` of a step.
    RetryAttempts(StepId),
    /// `limits.iterations`.
    Iterations,
    /// `limits.agent_hops`.
    AgentHops,
}

/// See the module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dominant {
    /// Which figure.
    pub field: Field,
    /// What it is now.
    pub now: u64,
    /// What one less saves of the total.
    pub saves: Most,
    /// The steps that are repeated because of it: one round of the loop, or the step that is tried again.
    pub path: Vec<StepId>,
    /// How much of the total is spent on that path.
    pub spent: Most,
}

impl Field {
    /// Its key, from the step or the top of the file.
    #[must_use]
    pub fn key(&self) -> &'static str {
        match self {
            Self::MaxIterations(_) => "routing.max_iterations",
            Self::RetryAttempts(_) => "retry.attempts",
            Self::Iterations => "limits.iterations",
            Self::AgentHops => "limits.agent_hops",
        }
    }

    /// Whose it is; `None`: the flow's.
    #[must_use]
    pub fn step(&self) -> Option<&StepId> {
        match self {
            Self::MaxIterations(step) | Self::RetryAttempts(step) => Some(step),
            Self::Iterations | Self::AgentHops => None,
        }
    }
}

/// A figure that can be lowered.
#[derive(Debug, Clone, Copy)]
enum Lever {
    /// By its place in [`Ways::loops`].
    Loop(usize),
    /// By the place of the step.
    Retry(usize),
    Iterations,
    Hops,
}

impl Lever {
    /// The figures with this one lower by one.
    fn lowered(self, figures: &Figures) -> Figures {
        let mut lower = figures.clone();
        let figure = match self {
            Self::Loop(place) => lower.times.get_mut(place),
            Self::Retry(place) => lower.tries.get_mut(place),
            Self::Iterations => lower.iterations.as_mut(),
            Self::Hops => lower.hops.as_mut(),
        };
        if let Some(figure) = figure {
            *figure = figure.saturating_sub(1);
        }
        lower
    }
}

/// The figure that dominates the total of what `weights` says an attempt weighs; none where none lowers it.
pub(super) fn dominant(flow: &Flow, ways: &Ways, figures: &Figures, weights: &[u128]) -> Option<Dominant> {
    let total = ways.total(figures, weights);
    if total == u128::MAX {
        // Too large for one less to be seen.
        return None;
    }
    let spent = spent(ways, figures, weights);
    let mut levers = levers(flow, ways, figures);
    let each = ways.loops.len().saturating_mul(ways.loops.len()).saturating_add(spans(ways));
    let tried = EFFORT.checked_div(each.max(1)).unwrap_or(EFFORT).max(2);
    if levers.len() > tried {
        levers.sort_by_cached_key(|lever| core::cmp::Reverse(likeliness(*lever, ways, &spent)));
        levers.truncate(tried);
    }
    let saves = |lever: Lever| total.saturating_sub(ways.total(&lever.lowered(figures), weights));
    // The first of equals, which are in the order of the file.
    let mut best: Option<(u128, Lever)> = None;
    for lever in levers {
        let saved = saves(lever);
        if saved > best.map_or(0, |(most, _)| most) {
            best = Some((saved, lever));
        }
    }
    let (saved, lever) = best?;
    told(flow, ways, lever, &weights_of_visits(figures, weights)).map(|(field, now, path)| {
        let on_path = path.iter().filter_map(|place| spent.get(*place));
        let on_path =
            if path.is_empty() { total } else { on_path.fold(0, |sum, of| u128::saturating_add(sum, *of)) };
        let path = path.iter().filter_map(|place| Some(flow.steps.get(*place)?.id.clone())).collect();
        Dominant { field, now, saves: Most::of(saved), path, spent: Most::of(on_path.min(total)) }
    })
}

/// What each step contributes at most.
fn spent(ways: &Ways, figures: &Figures, weights: &[u128]) -> Vec<u128> {
    let visits = ways.visits(figures, &ways.rounds(figures));
    let of_visits = weights_of_visits(figures, weights);
    visits.iter().zip(of_visits).map(|(visits, weight)| visits.saturating_mul(weight)).collect()
}

fn weights_of_visits(figures: &Figures, weights: &[u128]) -> Vec<u128> {
    figures.tries.iter().zip(weights).map(|(tries, weight)| tries.saturating_mul(*weight)).collect()
}

fn levers(flow: &Flow, ways: &Ways, figures: &Figures) -> Vec<Lever> {
    let mut levers: Vec<(usize, Lever)> = Vec::new();
    for (place, back) in ways.loops.iter().enumerate().filter(|(_, back)| back.times > 0) {
        levers.push((back.end, Lever::Loop(place)));
    }
    let retried = flow.steps.iter().enumerate();
    for (place, _) in retried.filter(|(_, step)| step.asks().is_none() && step.retry.attempts > 1) {
        levers.push((place, Lever::Retry(place)));
    }
    levers.sort_by_key(|(place, _)| *place);
    let limits = [
        figures.iterations.filter(|count| *count > 0).map(|_| Lever::Iterations),
        figures.hops.filter(|count| *count > 0).map(|_| Lever::Hops),
    ];
    levers.into_iter().map(|(_, lever)| lever).chain(limits.into_iter().flatten()).collect()
}

/// Steps and ways that are looked at for one total.
fn spans(ways: &Ways) -> usize {
    let of_loops = ways.loops.iter().map(|back| back.end.saturating_sub(back.start));
    let onward = ways.onward.iter().map(Vec::len);
    of_loops.chain(onward).fold(0, usize::saturating_add)
}

fn likeliness(lever: Lever, ways: &Ways, spent: &[u128]) -> u128 {
    match lever {
        Lever::Loop(place) => ways.loops.get(place).map_or(0, |back| {
            let body = spent.get(back.start..=back.end).unwrap_or_default();
            let sum = body.iter().fold(0, |sum: u128, of| sum.saturating_add(*of));
            sum.checked_div(u128::from(back.times).saturating_add(1)).unwrap_or(0)
        }),
        Lever::Retry(place) => spent.get(place).copied().unwrap_or(0),
        Lever::Iterations | Lever::Hops => u128::MAX,
    }
}

/// The field, its value now, and the steps that are repeated because of it.
fn told(flow: &Flow, ways: &Ways, lever: Lever, of_visits: &[u128]) -> Option<(Field, u64, Vec<usize>)> {
    Some(match lever {
        Lever::Loop(place) => {
            let back = ways.loops.get(place)?;
            let step = flow.steps.get(back.end)?;
            (Field::MaxIterations(step.id.clone()), back.times, ways.round_of(back, of_visits))
        }
        Lever::Retry(place) => {
            let step = flow.steps.get(place)?;
            (Field::RetryAttempts(step.id.clone()), u64::from(step.retry.attempts), vec![place])
        }
        Lever::Iterations => (Field::Iterations, flow.limits.iterations?, Vec::new()),
        Lever::Hops => (Field::AgentHops, flow.limits.agent_hops?, Vec::new()),
    })
}
