//! Finds the setting of the flow files whose decrease by one reduces the total most.

use super::{
    Figures, Lengths, Whole,
    most::Most,
    whole::{Weights, of_visits},
};
use envoi_kernel::ids::{FlowId, StepId};

/// The limit for the search, in examined steps and loops. In larger flows only the most promising settings are tried.
const EFFORT: usize = 20_000_000;

/// A setting of a flow file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Field {
    /// `routing.max_iterations` of a step.
    MaxIterations(StepId),
    /// `retry.attempts` of a step.
    RetryAttempts(StepId),
    /// The length of the list of a step's `for_each`.
    ForEach(StepId),
    /// `goals.max_rounds`.
    MaxRounds,
    /// `limits.iterations`.
    Iterations,
    /// `limits.agent_hops`.
    AgentHops,
}

/// See the module documentation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dominant {
    /// The setting.
    pub field: Field,
    /// The flow whose file contains it.
    pub flow: FlowId,
    /// The current value.
    pub now: u64,
    /// True if a file states the value. The length of a list may be the limit for any list instead.
    pub known: bool,
    /// How much of the total is saved if the value is lower by one.
    pub saves: Most,
    /// The steps that are repeated because of the setting: one round of the loop, or the step that is retried.
    pub path: Vec<StepId>,
    /// True if these steps are part of a graph, and run in sequence only as far as they need each other.
    pub beside: bool,
    /// The part of the total that is spent on that path.
    pub spent: Most,
}

impl Field {
    /// The key, relative to the step or to the top of the file.
    #[must_use]
    pub fn key(&self) -> &'static str {
        match self {
            Self::MaxIterations(_) => "routing.max_iterations",
            Self::RetryAttempts(_) => "retry.attempts",
            Self::ForEach(_) => "for_each",
            Self::MaxRounds => "goals.max_rounds",
            Self::Iterations => "limits.iterations",
            Self::AgentHops => "limits.agent_hops",
        }
    }

    /// The step of the setting; `None` for a setting of the flow.
    #[must_use]
    pub fn step(&self) -> Option<&StepId> {
        match self {
            Self::MaxIterations(step) | Self::RetryAttempts(step) | Self::ForEach(step) => Some(step),
            Self::MaxRounds | Self::Iterations | Self::AgentHops => None,
        }
    }
}

/// A setting that can be lowered.
#[derive(Debug, Clone, Copy)]
enum Lever {
    /// The part, and the index in [`super::control_flow::ControlFlow::loops`].
    Loop(usize, usize),
    /// The part, and the position of the step.
    Retry(usize, usize),
    /// The part, the position of the step, and whether its length is known.
    Items(usize, usize, bool),
    Iterations,
    Hops,
}

impl Lever {
    /// The figures with this setting lower by one.
    fn lowered(self, figures: &Figures) -> Figures {
        let mut lower = figures.clone();
        let figure = match self {
            Self::Loop(part, place) => lower.parts.get_mut(part).and_then(|part| part.times.get_mut(place)),
            Self::Retry(part, place) => lower.parts.get_mut(part).and_then(|part| part.tries.get_mut(place)),
            Self::Items(part, place, _) => {
                lower.parts.get_mut(part).and_then(|part| part.items.get_mut(place))
            }
            Self::Iterations => lower.iterations.as_mut(),
            Self::Hops => lower.hops.as_mut(),
        };
        if let Some(figure) = figure {
            *figure = figure.saturating_sub(1);
        }
        lower
    }

    /// True if it has no known bound; it is then reported first.
    fn is_open(self) -> bool {
        matches!(self, Self::Items(_, _, false))
    }
}

/// The setting that affects the weighted total most; `None` if no setting reduces it. `weights` are the weights of
/// one attempt.
pub(super) fn dominant(
    whole: &Whole<'_>,
    figures: &Figures,
    lengths: &Lengths,
    weights: &Weights,
) -> Option<Dominant> {
    let total = whole.total(figures, weights);
    if total == u128::MAX {
        // The total is too large to show a difference of one.
        return None;
    }
    let whole_weights = whole.whole_weights(figures, &of_visits(figures, weights));
    let spent = spent(whole, figures, &whole_weights);
    let mut levers = levers(whole, figures, lengths);
    let tried = EFFORT.checked_div(spans(whole).max(1)).unwrap_or(EFFORT).max(2);
    if levers.len() > tried {
        levers.sort_by_cached_key(|lever| core::cmp::Reverse(likeliness(*lever, whole, &spent)));
        levers.truncate(tried);
    }
    let saves = |lever: Lever| total.saturating_sub(whole.total(&lever.lowered(figures), weights));
    // If several settings are equal, the first one counts. They are in the order of the files.
    let mut best: Option<((bool, u128), Lever)> = None;
    for lever in levers {
        let saved = saves(lever);
        let rank = (lever.is_open(), saved);
        if saved > 0 && best.is_none_or(|(most, _)| rank > most) {
            best = Some((rank, lever));
        }
    }
    let ((_, saved), lever) = best?;
    let lever_field = field_of(whole, lever, lengths, &whole_weights)?;
    let part = lever_field.part;
    let path = lever_field.path;
    let on_path = path.iter().filter_map(|place| spent.get(part)?.get(*place));
    let on_path =
        if path.is_empty() { total } else { on_path.fold(0, |sum, of| u128::saturating_add(sum, *of)) };
    let flow = whole.flow(part)?;
    Some(Dominant {
        field: lever_field.field,
        flow: flow.id.clone(),
        now: lever_field.now,
        known: !lever.is_open(),
        saves: Most::of(saved),
        path: path.iter().filter_map(|place| Some(flow.steps.get(*place)?.id.clone())).collect(),
        beside: flow.graph,
        spent: Most::of(on_path.min(total)),
    })
}

/// The largest contribution of each step, including the flows that it runs.
fn spent(whole: &Whole<'_>, figures: &Figures, weights: &Weights) -> Weights {
    let of_part = |(counts, weights): (&super::Counts, &Vec<u128>)| {
        counts.visits.iter().zip(weights).map(|(visits, weight)| visits.saturating_mul(*weight)).collect()
    };
    whole.counts(figures).iter().zip(weights).map(of_part).collect()
}

fn levers(whole: &Whole<'_>, figures: &Figures, lengths: &Lengths) -> Vec<Lever> {
    let mut all = Vec::new();
    for (at, (part, of)) in whole.parts.iter().zip(&figures.parts).enumerate() {
        let mut levers: Vec<(usize, Lever)> = Vec::new();
        for (place, back) in part.control_flow.loops.iter().enumerate().filter(|(_, back)| back.times > 0) {
            levers.push((back.end, Lever::Loop(at, place)));
        }
        let retried = of.tries.iter().enumerate().filter(|(_, tries)| **tries > 1);
        levers.extend(retried.map(|(place, _)| (place, Lever::Retry(at, place))));
        let lists = lengths.get(at).into_iter().flatten().enumerate();
        let lists = lists.filter_map(|(place, items)| Some((place, (*items)?)));
        levers.extend(
            lists
                .filter(|(_, items)| items.most > 0)
                .map(|(place, items)| (place, Lever::Items(at, place, items.known))),
        );
        levers.sort_by_key(|(place, _)| *place);
        all.extend(levers.into_iter().map(|(_, lever)| lever));
    }
    let limits = [
        figures.iterations.filter(|count| *count > 0).map(|_| Lever::Iterations),
        figures.hops.filter(|count| *count > 0).map(|_| Lever::Hops),
    ];
    all.into_iter().chain(limits.into_iter().flatten()).collect()
}

/// The number of steps, edges and loops that are examined to compute one total.
fn spans(whole: &Whole<'_>) -> usize {
    let of_part = |ways: &super::control_flow::ControlFlow| {
        let loops = ways.loops.iter().map(|back| back.repeats.len().saturating_add(back.restarted_by.len()));
        loops.fold(ways.len().saturating_mul(4), usize::saturating_add)
    };
    whole
        .parts
        .iter()
        .map(|part| of_part(&part.control_flow))
        .fold(0, usize::saturating_add)
        .saturating_mul(2)
}

fn likeliness(lever: Lever, whole: &Whole<'_>, spent: &Weights) -> u128 {
    let of =
        |part: usize, place: usize| spent.get(part).and_then(|spent| spent.get(place)).copied().unwrap_or(0);
    match lever {
        Lever::Loop(part, place) => {
            let back = whole.parts.get(part).and_then(|part| part.control_flow.loops.get(place));
            back.map_or(0, |back| {
                let body = back.repeats.iter().map(|place| of(part, place));
                let sum = body.fold(0, u128::saturating_add);
                sum.checked_div(u128::from(back.times).saturating_add(1)).unwrap_or(0)
            })
        }
        Lever::Items(_, _, false) | Lever::Iterations | Lever::Hops => u128::MAX,
        Lever::Retry(part, place) | Lever::Items(part, place, _) => of(part, place),
    }
}

/// The setting of the flow file that belongs to a lever.
struct LeverField {
    part: usize,
    field: Field,
    now: u64,
    /// The positions of the steps that are repeated because of it.
    path: Vec<usize>,
}

fn field_of(whole: &Whole<'_>, lever: Lever, lengths: &Lengths, weights: &Weights) -> Option<LeverField> {
    let step = |part: usize, place: usize| whole.flow(part)?.steps.get(place);
    Some(match lever {
        Lever::Loop(part, place) => {
            let of = whole.parts.get(part)?;
            let back = of.control_flow.loops.get(place)?;
            let path = of.control_flow.round_of(back, weights.get(part)?);
            if back.rounds {
                LeverField { part, field: Field::MaxRounds, now: of.flow.goals.as_ref()?.max_rounds, path }
            } else {
                let field = Field::MaxIterations(step(part, back.end)?.id.clone());
                LeverField { part, field, now: back.times, path }
            }
        }
        Lever::Retry(part, place) => {
            let step = step(part, place)?;
            let now = u64::from(step.retry.attempts);
            LeverField { part, field: Field::RetryAttempts(step.id.clone()), now, path: vec![place] }
        }
        Lever::Items(part, place, _) => {
            let now = lengths.get(part)?.get(place).copied().flatten()?.most;
            LeverField { part, field: Field::ForEach(step(part, place)?.id.clone()), now, path: vec![place] }
        }
        Lever::Iterations => {
            let now = whole.flow(0)?.limits.iterations?;
            LeverField { part: 0, field: Field::Iterations, now, path: Vec::new() }
        }
        Lever::Hops => {
            let now = whole.flow(0)?.limits.agent_hops?;
            LeverField { part: 0, field: Field::AgentHops, now, path: Vec::new() }
        }
    })
}
