//! Where the steps of the source lead.
//!
//! Owns targets: that they exist, what a step without one leads to, forks laid in a row (a graph is made of that later), and
//! which steps are reached at all. A target that does not exist is a mistake; it cannot be guessed where the run should go.

use super::{
    finding::Notes,
    order,
    source::{Kind, Routing, Step},
};
use crate::{
    Span,
    syntax::{
        diagnostic::{Diagnostic, Problems},
        read::{Spanned, refuse},
        suggestion::did_you_mean,
    },
};
use std::collections::BTreeMap;

/// Where one step leads. Places are those of the source's list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Way {
    /// `None`: the flow ends.
    pub(super) next: Option<usize>,
    /// For a loop, where it goes back to.
    pub(super) back: Option<usize>,
    /// For a branch, where each value leads, in the order of the file.
    pub(super) branches: Vec<usize>,
}

impl Way {
    fn targets(&self) -> impl Iterator<Item = usize> {
        self.next.into_iter().chain(self.back).chain(self.branches.iter().copied())
    }
}

/// Where all steps lead, and in which order they are written.
pub(super) struct Ways {
    ways: Vec<Way>,
    /// Places of the steps that are reached: each after all that go on to it.
    pub(super) order: Vec<usize>,
    /// By place; `None`: not reached.
    ranks: Vec<Option<usize>>,
    /// The forks that were laid in a row.
    pub(super) forks: Vec<ForkPlaces>,
}

/// A fork of the source.
pub(super) struct ForkPlaces {
    pub(super) span: Span,
    /// The step that forks.
    pub(super) place: usize,
    /// The steps that it leads to.
    pub(super) targets: Vec<usize>,
}

impl Ways {
    pub(super) fn of(&self, place: usize) -> Way {
        self.ways.get(place).cloned().unwrap_or_default()
    }

    /// The place in the written order; `None` if the step is not reached.
    pub(super) fn rank(&self, place: usize) -> Option<usize> {
        self.ranks.get(place).copied().flatten()
    }
}

pub(super) fn find(steps: &[Step<'_>], notes: &mut Notes, problems: &mut Problems) -> Option<Ways> {
    let places = places(steps, problems);
    let before = problems.count();
    let finder = Finder { steps, places };
    let mut ways: Vec<Way> =
        steps.iter().enumerate().map(|(place, step)| finder.way(place, step, problems)).collect();
    let mut forks = Vec::new();
    for (place, step) in steps.iter().enumerate() {
        if let Some(routing) = step.routing.as_ref().filter(|routing| routing.kind == Kind::Fork) {
            forks.extend(finder.lay_in_a_row(place, routing, &mut ways, problems));
        }
    }
    if problems.count() != before {
        return None;
    }
    let reached = reached(&ways);
    for (step, _) in steps.iter().zip(&reached).filter(|(_, reached)| !**reached) {
        let what = format!("the step `{}`", step.id.value);
        notes.lost(step.id.span, what, "no step leads there, so that it never runs");
    }
    let order = order::of(steps, &ways, &reached, notes, problems)?;
    let mut ranks = vec![None; steps.len()];
    for (rank, place) in order.iter().enumerate() {
        if let Some(slot) = ranks.get_mut(*place) {
            *slot = Some(rank);
        }
    }
    let ways = Ways { ways, order, ranks, forks };
    check_backs(steps, &ways, problems);
    Some(ways)
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

/// A loop goes back; one that leads forward is none.
fn check_backs(steps: &[Step<'_>], ways: &Ways, problems: &mut Problems) {
    for place in &ways.order {
        let Some(back) = ways.of(*place).back else { continue };
        let target = steps.get(*place).and_then(|step| step.routing.as_ref()?.loop_target.as_ref());
        if let Some(target) = target.filter(|_| ways.rank(back) > ways.rank(*place)) {
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
    fn way(&self, place: usize, step: &Step<'_>, problems: &mut Problems) -> Way {
        let Some(routing) = &step.routing else {
            let next = place.checked_add(1).filter(|next| *next < self.steps.len());
            return Way { next, ..Way::default() };
        };
        let next = routing.next.as_ref().filter(|_| routing.kind != Kind::Terminal);
        let mut way = Way { next: next.and_then(|next| self.place(next, problems)), ..Way::default() };
        match routing.kind {
            Kind::Microloop => {
                let back = routing.loop_target.as_ref();
                way.back = Some(back.map_or(Some(place), |back| self.place(back, problems)).unwrap_or(place));
            }
            Kind::Branch => {
                way.branches =
                    routing.branches.iter().filter_map(|(_, step)| self.place(step, problems)).collect();
            }
            Kind::Linear | Kind::Terminal | Kind::Fork | Kind::Join => {}
        }
        way
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

    /// The targets of a fork follow one another; the last one goes on to where they all lead, as it did.
    fn lay_in_a_row(
        &self,
        place: usize,
        routing: &Routing,
        ways: &mut [Way],
        problems: &mut Problems,
    ) -> Option<ForkPlaces> {
        let targets: Vec<usize> =
            routing.fork_targets.iter().filter_map(|target| self.place(target, problems)).collect();
        let ends: Vec<Option<Way>> = targets.iter().map(|target| ways.get(*target).cloned()).collect();
        let simple =
            |way: &Option<Way>| way.as_ref().is_some_and(|way| way.back.is_none() && way.branches.is_empty());
        let join = ends.first().cloned().flatten();
        let distinct = targets
            .iter()
            .enumerate()
            .all(|(at, target)| !targets.iter().take(at).any(|other| other == target));
        let alike = ends.iter().all(|way| *way == join && simple(way));
        if targets.is_empty() || !alike || !distinct || targets.contains(&place) {
            let message = "a fork whose branches are more than one step each cannot be imported";
            let help =
                "list single steps that all lead to one step, or make the order yourself with `linear`";
            return refuse(problems, Diagnostic::invalid(routing.span, message).help(help));
        }
        let mut from = place;
        for target in &targets {
            if let Some(way) = ways.get_mut(from) {
                way.next = Some(*target);
            }
            from = *target;
        }
        Some(ForkPlaces { span: routing.span, place, targets })
    }
}

/// Which steps a run can come to, from the first one listed.
fn reached(ways: &[Way]) -> Vec<bool> {
    let mut reached = vec![false; ways.len()];
    let mut open = vec![0];
    while let Some(place) = open.pop() {
        if let Some(seen) = reached.get_mut(place).filter(|seen| !**seen) {
            *seen = true;
            open.extend(ways.get(place).into_iter().flat_map(Way::targets));
        }
    }
    reached
}
