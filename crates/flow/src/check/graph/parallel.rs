//! Checks targets in a flow in which `needs` determines the order.
//!
//! A target that leads back must be a step that this one waits for, and only `needs` leads forward. [`super::order`]
//! owns the order itself.

use super::{Graph, order::Order};
use crate::{
    parse::draft::{Diversion, DraftStep},
    syntax::{
        diagnostic::{Diagnostic, Problems},
        read::Spanned,
    },
};
use std::collections::BTreeMap;

/// The number of steps of a cycle that a message names. A longer cycle is shortened.
const SHOWN: usize = 8;

/// An edge from a step back to an earlier one, or to itself.
#[derive(Debug, Clone, Copy)]
pub(super) struct Return {
    from: usize,
    to: usize,
}

impl Graph<'_> {
    /// Checks `needs`, and then all other targets.
    pub(super) fn check_parallel(&mut self, problems: &mut Problems) {
        let before = problems.count();
        let steps = self.steps;
        let needs: Vec<Vec<usize>> =
            steps.iter().enumerate().map(|(place, step)| self.check_needs(place, step, problems)).collect();
        if problems.count() == before && !steps.iter().any(|step| step.waits.unclear) {
            match Order::of(&needs) {
                Ok(order) => self.order = Some(order),
                Err(circles) => {
                    for circle in circles {
                        self.tell_circle(&circle, problems);
                    }
                }
            }
        }
        let before = problems.count();
        for (place, step) in steps.iter().enumerate() {
            self.check_ways(place, step, &needs, problems);
            self.check_question(place, step, problems);
        }
        self.whole = self.order.is_some()
            && problems.count() == before
            && !steps.iter().any(|step| step.targets.unclear);
        self.returns = self.find_returns();
        if let Some(order) = &self.order {
            self.check_repeated(order, &needs, problems);
        }
    }

    fn check_needs(&self, place: usize, step: &DraftStep, problems: &mut Problems) -> Vec<usize> {
        let mut seen = BTreeMap::new();
        let mut places = Vec::new();
        for need in &step.waits.needs {
            if let Some(first) = seen.insert(need.value.as_str(), need.span) {
                problems.add(
                    Diagnostic::invalid(need.span, format!("`{}` is named twice", need.value))
                        .label(first, "the other time is here"),
                );
            } else if let Some(target) = self.existing(need, "`needs`", &[], problems) {
                if target == place {
                    let message = format!("step `{}` waits for itself", need.value);
                    problems.add(Diagnostic::invalid(need.span, message));
                } else {
                    places.push(target);
                }
            }
        }
        places
    }

    fn tell_circle(&self, circle: &[usize], problems: &mut Problems) {
        let step = |place: Option<&usize>| place.and_then(|place| self.steps.get(*place));
        let name = |place: &usize| step(Some(place)).map_or("", DraftStep::name);
        let Some(first) = step(circle.first()) else { return };
        let mut names: Vec<&str> = circle.iter().take(SHOWN).map(name).collect();
        if circle.len() > SHOWN {
            names.push("…");
        }
        names.push(first.name());
        let next = circle.get(1).map_or("", name);
        let span =
            first.waits.needs.iter().find(|need| need.value == next).map_or(first.place, |need| need.span);
        let message = format!("`needs` goes in a circle: `{}`", names.join(" -> "));
        problems.add(
            Diagnostic::invalid(span, message)
                .help("each of them waits for the next, so that none can begin; leave one of the needs out"),
        );
    }

    fn check_ways(&self, place: usize, step: &DraftStep, needs: &[Vec<usize>], problems: &mut Problems) {
        if let Some(next) = &step.targets.next {
            let message = "`next` has no place in a flow with `needs`";
            let help = format!("a step that is to follow says so itself: `needs: [{}]`", step.name());
            problems.add(Diagnostic::invalid(next.span, message).help(help));
        }
        if let Some(back) = &step.targets.loop_to {
            self.check_loop(place, step, back, problems);
        }
        self.check_branches(&step.targets.branches, problems);
        for branch in &step.targets.branches {
            let Some(target) = self.place(&branch.value) else { continue };
            let waits = needs.get(target).is_some_and(|needs| needs.contains(&place));
            if target != place && !waits && !self.leads_back(place, target) {
                let from = step.name();
                let to = &branch.value;
                let message = format!("`{to}` does not wait for `{from}`, nor `{from}` for `{to}`");
                let help = format!(
                    "a branch leads on to a step that needs this one (add `{from}` to the `needs` of `{to}`), or back to \
                     one that this one waits for"
                );
                problems.add(Diagnostic::invalid(branch.span, message).help(help));
            }
        }
    }

    fn check_loop(&self, place: usize, step: &DraftStep, back: &Spanned<String>, problems: &mut Problems) {
        let Some(target) = self.existing(back, "`loop_to`", &[], problems) else { return };
        let wrong = |message: String| Diagnostic::invalid(back.span, message);
        if target == place && step.targets.asks {
            let message = format!("`loop_to: {}` leads to the question itself", back.value);
            problems.add(wrong(message).expecting("a step that this one waits for"));
        } else if target != place && !self.leads_back(place, target) {
            let from = step.name();
            let to = &back.value;
            let message = format!("`loop_to: {to}` does not lead back: `{from}` does not wait for `{to}`");
            let help = "a loop goes back to a step that this one waits for, directly or not";
            problems.add(wrong(message).help(help));
        }
    }

    pub(super) fn check_way_back(&self, place: usize, diversion: &Diversion, problems: &mut Problems) {
        let Some(target) = diversion.step() else { return };
        if self.place(&target.value).is_none_or(|to| to == place || self.leads_back(place, to)) {
            return;
        }
        let Diversion { key, what, .. } = diversion;
        let message = format!(
            "`{key}: {}` does not lead back, and in a flow with `needs` nothing else leads on",
            target.value
        );
        let help = format!(
            "what is to be done after {what} is a step that needs this one and says `if: failure()`; only a step that this \
             one waits for can be gone back to"
        );
        problems.add(Diagnostic::invalid(target.span, message).help(help));
    }

    fn find_returns(&self) -> Vec<Return> {
        let mut returns = Vec::new();
        for (from, step) in self.steps.iter().enumerate() {
            let targets = &step.targets;
            let diversions = targets.diversions.iter().filter_map(Diversion::step);
            let named = targets.branches.iter().chain(&targets.loop_to).chain(diversions);
            let places = named.filter_map(|target| self.place(&target.value));
            returns.extend(
                places.filter(|to| *to == from || self.leads_back(from, *to)).map(|to| Return { from, to }),
            );
        }
        returns
    }

    /// True if `read` has always ended when `reader` is entered, in this round or in the previous one. A step that
    /// runs beside it in the same round may or may not have ended, so it does not count.
    pub(super) fn settled_before(&self, order: &Order, read: usize, reader: usize) -> bool {
        let up_to = |a: usize, b: usize| a == b || order.is_before(a, b);
        order.is_before(read, reader)
            || up_to(reader, read)
                && self.returns.iter().any(|way| up_to(way.to, reader) && up_to(read, way.from))
    }
}
