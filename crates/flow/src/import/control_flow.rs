//! The control flow between the steps of the source.
//!
//! Owns targets: that they exist, the default target, forks put in a row (which may become a graph later), and the
//! reachable steps. A target that does not exist is a mistake, because the right one cannot be guessed.

use super::{
    exits::Exits,
    finding::Notes,
    order,
    source::{Kind, Routing, Step},
};
use crate::{
    Span,
    check::graph::reached,
    syntax::{
        diagnostic::{Diagnostic, Problems},
        read::{Spanned, refuse},
        suggestion::did_you_mean,
    },
};
use std::collections::BTreeMap;

/// The exits of all steps, and the order in which the steps are written.
pub(super) struct ControlFlow {
    exits: Vec<Exits>,
    /// The positions of the reachable steps, each after all steps that continue with it.
    pub(super) order: Vec<usize>,
    /// The rank of each position; `None` if it is not reachable.
    ranks: Vec<Option<usize>>,
    /// The forks that were put in a row.
    pub(super) forks: Vec<ForkPlaces>,
}

/// A fork of the source.
pub(super) struct ForkPlaces {
    pub(super) span: Span,
    /// The step that forks.
    pub(super) place: usize,
    /// The steps to which it leads.
    pub(super) targets: Vec<usize>,
}

impl ControlFlow {
    pub(super) fn of(&self, place: usize) -> Exits {
        self.exits.get(place).cloned().unwrap_or_default()
    }

    /// The position in the written order; `None` if the step is not reachable.
    pub(super) fn rank(&self, place: usize) -> Option<usize> {
        self.ranks.get(place).copied().flatten()
    }
}

pub(super) fn find(steps: &[Step<'_>], notes: &mut Notes, problems: &mut Problems) -> Option<ControlFlow> {
    let places = places(steps, problems);
    let before = problems.count();
    let finder = Finder { steps, places };
    let mut exits: Vec<Exits> =
        steps.iter().enumerate().map(|(place, step)| finder.exits_of(place, step, problems)).collect();
    let mut forks = Vec::new();
    for (place, step) in steps.iter().enumerate() {
        if let Some(routing) = step.routing.as_ref().filter(|routing| routing.kind == Kind::Fork) {
            forks.extend(finder.lay_in_a_row(place, routing, &mut exits, problems));
        }
    }
    if problems.count() != before {
        return None;
    }
    let ways: Vec<Vec<usize>> = exits.iter().map(|exits| exits.targets().collect()).collect();
    let reached = reached(&ways, vec![0], None);
    for (step, _) in steps.iter().zip(&reached).filter(|(_, reached)| !**reached) {
        let what = format!("the step `{}`", step.id.value);
        notes.lost(step.id.span, what, "no step leads there, so that it never runs");
    }
    let order = order::of(steps, &exits, &reached, notes, problems)?;
    let mut ranks = vec![None; steps.len()];
    for (rank, place) in order.iter().enumerate() {
        if let Some(slot) = ranks.get_mut(*place) {
            *slot = Some(rank);
        }
    }
    let control_flow = ControlFlow { exits, order, ranks, forks };
    check_backs(steps, &control_flow, problems);
    Some(control_flow)
}

fn places<'s>(steps: &'s [Step<'_>], problems: &mut Problems) -> BTreeMap<&'s str, usize> {
    let mut places = BTreeMap::new();
    for (place, step) in steps.iter().enumerate() {
        let first = *places.entry(step.id.value.as_str()).or_insert(place);
        if let Some(first) = steps.get(first).filter(|_| first != place) {
            let message = format!("two steps are called `{}`", step.id.value);
            let help = "rename one of them: what leads there may mean the one or the other";
            let twice =
                Diagnostic::invalid(step.id.span, message).label(first.id.span, "the first one is here");
            problems.add(twice.help(help));
        }
    }
    places
}

/// Reports a loop that leads forward.
fn check_backs(steps: &[Step<'_>], control_flow: &ControlFlow, problems: &mut Problems) {
    for place in &control_flow.order {
        let Some(back) = control_flow.of(*place).back else { continue };
        let target = steps.get(*place).and_then(|step| step.routing.as_ref()?.loop_target.as_ref());
        if let Some(target) = target.filter(|_| control_flow.rank(back) > control_flow.rank(*place)) {
            let message =
                format!("`loop_target: {}` leads forward, to a step that has not run", target.value);
            problems.add(Diagnostic::invalid(target.span, message).help("`next` leads forward"));
        }
    }
}

struct Finder<'s, 'n> {
    steps: &'s [Step<'n>],
    places: BTreeMap<&'s str, usize>,
}

impl Finder<'_, '_> {
    fn exits_of(&self, place: usize, step: &Step<'_>, problems: &mut Problems) -> Exits {
        let Some(routing) = &step.routing else {
            let next = place.checked_add(1).filter(|next| *next < self.steps.len());
            return Exits { next, ..Exits::default() };
        };
        let next = routing.next.as_ref().filter(|_| routing.kind != Kind::Terminal);
        let mut exits = Exits { next: next.and_then(|next| self.place(next, problems)), ..Exits::default() };
        match routing.kind {
            Kind::Microloop => {
                let back = routing.loop_target.as_ref();
                exits.back =
                    Some(back.map_or(Some(place), |back| self.place(back, problems)).unwrap_or(place));
            }
            Kind::Branch => {
                exits.branches =
                    routing.branches.iter().filter_map(|(_, step)| self.place(step, problems)).collect();
            }
            Kind::Linear | Kind::Terminal | Kind::Fork | Kind::Join => {}
        }
        exits
    }

    fn place(&self, target: &Spanned<String>, problems: &mut Problems) -> Option<usize> {
        if let Some(place) = self.places.get(target.value.as_str()) {
            return Some(*place);
        }
        let message = format!("there is no step `{}`", crate::syntax::yaml::shortened(&target.value));
        let wrong = Diagnostic::invalid(target.span, message);
        if problems.full() {
            return refuse(problems, wrong);
        }
        refuse(problems, wrong.maybe_help(did_you_mean(&target.value, self.places.keys().copied())))
    }

    /// Puts the targets of a fork in a row. The last one continues with the common next step.
    fn lay_in_a_row(
        &self,
        place: usize,
        routing: &Routing,
        exits: &mut [Exits],
        problems: &mut Problems,
    ) -> Option<ForkPlaces> {
        let targets: Vec<usize> =
            routing.fork_targets.iter().filter_map(|target| self.place(target, problems)).collect();
        let ends: Vec<Option<Exits>> = targets.iter().map(|target| exits.get(*target).cloned()).collect();
        let simple = |exits: &Option<Exits>| {
            exits.as_ref().is_some_and(|exits| exits.back.is_none() && exits.branches.is_empty())
        };
        let join = ends.first().cloned().flatten();
        let distinct = targets
            .iter()
            .enumerate()
            .all(|(at, target)| !targets.iter().take(at).any(|other| other == target));
        let alike = ends.iter().all(|exits| *exits == join && simple(exits));
        if targets.is_empty() || !alike || !distinct || targets.contains(&place) {
            let message = "a fork whose branches are more than one step each cannot be imported";
            let help =
                "list single steps that all lead to one step, or make the order yourself with `linear`";
            return refuse(problems, Diagnostic::invalid(routing.span, message).help(help));
        }
        let mut from = place;
        for target in &targets {
            if let Some(exits) = exits.get_mut(from) {
                exits.next = Some(*target);
            }
            from = *target;
        }
        Some(ForkPlaces { span: routing.span, place, targets })
    }
}
