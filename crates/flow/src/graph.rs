//! How steps lead to one another.
//!
//! Owns targets (they exist; what leads back is bounded), reachability, and which step can have run before which. It
//! knows nothing of YAML.

use crate::{
    diagnostic::{Diagnostic, Problems},
    draft::DraftStep,
    read::{Spanned, refuse},
    suggestion::nearest,
};
use std::collections::BTreeMap;

/// The steps by id and the ways between them.
#[derive(Debug)]
pub(crate) struct Graph<'d> {
    steps: &'d [DraftStep],
    places: BTreeMap<&'d str, usize>,
    /// Where each step may lead.
    ways: Vec<Vec<usize>>,
    /// All targets exist, so that reachability means something.
    whole: bool,
}

impl<'d> Graph<'d> {
    /// Checks the targets of all steps and what they reach.
    pub(crate) fn check(steps: &'d [DraftStep], problems: &mut Problems) -> Self {
        let mut places = BTreeMap::new();
        for (place, step) in steps.iter().enumerate() {
            places.entry(step.name()).or_insert(place);
        }
        let mut graph = Self { steps, places, ways: Vec::new(), whole: true };
        let before = problems.count();
        for (place, step) in steps.iter().enumerate() {
            graph.check_targets(place, step, problems);
        }
        graph.whole = problems.count() == before;
        graph.ways = steps.iter().enumerate().map(|(place, step)| graph.ways_of(place, step)).collect();
        if graph.whole {
            graph.check_reached(problems);
        }
        graph
    }

    /// The place of the step of this id in the listed order.
    pub(crate) fn place(&self, id: &str) -> Option<usize> {
        self.places.get(id).copied()
    }

    /// All ids, in the listed order.
    pub(crate) fn ids(&self) -> impl Iterator<Item = &'d str> {
        self.steps.iter().map(DraftStep::name).filter(|id| !id.is_empty())
    }

    /// Whether `earlier` can have been visited before `later` is. True where the file is too broken to know.
    pub(crate) fn may_precede(&self, earlier: usize, later: usize) -> bool {
        !self.whole || self.reached_from(earlier, Some(later)).get(later).copied().unwrap_or(true)
    }

    fn check_targets(&self, place: usize, step: &DraftStep, problems: &mut Problems) {
        if let Some(next) = step.targets.next.as_ref().filter(|next| next.value != "end")
            && let Some(target) = self.existing(next, "`next`", true, problems)
            && target <= place
        {
            problems.add(
                Diagnostic::invalid(
                    next.span,
                    format!("`next: {}` leads back, and nothing bounds it", next.value),
                )
                .expecting("a later step or `end`")
                .help("a loop has `kind: microloop`, `loop_to` and `success_values`"),
            );
        }
        if let Some(back) = &step.targets.loop_to
            && let Some(target) = self.existing(back, "`loop_to`", false, problems)
            && target > place
        {
            problems.add(
                Diagnostic::invalid(back.span, format!("`loop_to: {}` leads forward", back.value))
                    .expecting("this or an earlier step")
                    .help("`next` and `branches` lead forward"),
            );
        }
        self.check_branches(&step.targets.branches, problems);
    }

    fn check_branches(&self, branches: &[Spanned<String>], problems: &mut Problems) {
        let mut seen = BTreeMap::new();
        for branch in branches {
            if let Some(first) = seen.insert(branch.value.as_str(), branch.span) {
                problems.add(
                    Diagnostic::invalid(branch.span, format!("`{}` is named twice", branch.value))
                        .label(first, "the other time is here"),
                );
            } else {
                self.existing(branch, "`branches`", false, problems);
            }
        }
    }

    fn existing(
        &self,
        target: &Spanned<String>,
        key: &str,
        end_fits: bool,
        problems: &mut Problems,
    ) -> Option<usize> {
        if let Some(place) = self.place(&target.value) {
            return Some(place);
        }
        let message = if target.value == "end" {
            format!("{key} cannot lead to `end`, which is no step")
        } else {
            format!("there is no step `{}`", crate::yaml::shortened(&target.value))
        };
        let refusal = Diagnostic::invalid(target.span, message);
        if problems.full() {
            return refuse(problems, refusal);
        }
        let candidates = self.ids().chain(end_fits.then_some("end"));
        let help = nearest(&target.value, candidates).map(|word| format!("did you mean `{word}`?"));
        refuse(
            problems,
            refusal.maybe_help(help.or_else(|| Some(format!("the steps are {}", self.some_ids())))),
        )
    }

    fn some_ids(&self) -> String {
        const SHOWN: usize = 8;
        let mut shown: Vec<String> = self.ids().take(SHOWN).map(|id| format!("`{id}`")).collect();
        if self.steps.len() > SHOWN {
            shown.push("…".to_owned());
        }
        shown.join(", ")
    }

    fn ways_of(&self, place: usize, step: &DraftStep) -> Vec<usize> {
        let targets = &step.targets;
        let onward = match &targets.next {
            Some(next) if next.value == "end" => None,
            Some(next) => self.place(&next.value),
            None => place.checked_add(1).filter(|after| *after < self.steps.len()),
        };
        let named = targets.branches.iter().chain(&targets.loop_to);
        onward.into_iter().chain(named.filter_map(|target| self.place(&target.value))).collect()
    }

    /// Which steps can follow `start`, at any distance; itself only by a loop. Stops early once `sought` is among them.
    fn reached_from(&self, start: usize, sought: Option<usize>) -> Vec<bool> {
        let mut reached = vec![false; self.steps.len()];
        let mut open = self.ways.get(start).cloned().unwrap_or_default();
        while let Some(place) = open.pop() {
            if let Some(seen) = reached.get_mut(place).filter(|seen| !**seen) {
                *seen = true;
                if sought == Some(place) {
                    break;
                }
                open.extend(self.ways.get(place).into_iter().flatten());
            }
        }
        reached
    }

    /// A step that nothing leads to. One that is cut off only with the step before it is no mistake of its own.
    fn check_reached(&self, problems: &mut Problems) {
        let reached = self.reached_from(0, None);
        for ((before, step), reached) in
            self.steps.iter().zip(self.steps.iter().skip(1)).zip(reached.iter().skip(1))
        {
            let Some(next) = before.targets.next.as_ref().filter(|_| !reached) else { continue };
            problems.add(
                Diagnostic::invalid(step.place, format!("step `{}` is never reached", step.name()))
                    .label(next.span, format!("`{}` goes on to `{}`", before.name(), next.value))
                    .help("no `next` and no `branches` name it; add it to one of them, or remove it"),
            );
        }
    }
}
