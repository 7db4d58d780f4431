//! The order in which the steps are written.
//!
//! Each step comes after all steps that continue with it, as the flow file requires, and the run begins with the
//! first step of the source. Steps that already satisfy this keep their order. A cycle of `next` has no end, and is a
//! mistake.

use super::{exits::Exits, finding::Notes, source::Step};
use crate::syntax::diagnostic::{Diagnostic, Problems};
use std::collections::{BTreeMap, BTreeSet};

pub(super) fn of(
    steps: &[Step<'_>],
    exits: &[Exits],
    reached: &[bool],
    notes: &mut Notes,
    problems: &mut Problems,
) -> Option<Vec<usize>> {
    let wanted: Vec<usize> = (0..steps.len()).filter(|place| reached.get(*place) == Some(&true)).collect();
    let order = sorted(&wanted, exits);
    // A step that continues with the first step was itself reached from it, so this is a cycle too.
    let back = wanted.iter().find(|place| exits.get(**place).is_some_and(|exits| exits.next == Some(0)));
    let back = back.copied().or_else(|| {
        let written: BTreeSet<usize> = order.iter().copied().collect();
        let leads_back =
            |place: &usize| exits.get(*place).and_then(|exits| exits.next).is_some_and(|to| to <= *place);
        wanted.iter().copied().find(|place| !written.contains(place) && leads_back(place))
    });
    if let Some(step) = back.and_then(|place| steps.get(place)) {
        problems.add(circle(step));
        return None;
    }
    let moved = order.iter().zip(&wanted).find(|(written, listed)| written != listed);
    if let Some(step) = moved.and_then(|(_, listed)| steps.get(*listed)) {
        let what = format!("the place of `{}`", step.id.value);
        notes.carried(
            step.id.span,
            what,
            "another order of steps",
            "each step is listed after the steps that lead to it",
        );
    }
    Some(order)
}

/// Sorts the positions so that each comes after those whose `next` it is; of two candidates the smaller one comes
/// first. Positions in a cycle, and those that only a cycle leads to, are left out.
fn sorted(wanted: &[usize], exits: &[Exits]) -> Vec<usize> {
    let next = |place: &usize| exits.get(*place).and_then(|exits| exits.next);
    let mut awaited: BTreeMap<usize, usize> = BTreeMap::new();
    for to in wanted.iter().filter_map(next) {
        let count = awaited.entry(to).or_default();
        *count = count.saturating_add(1);
    }
    let mut ready: BTreeSet<usize> =
        wanted.iter().copied().filter(|place| !awaited.contains_key(place)).collect();
    let mut order = Vec::with_capacity(wanted.len());
    while let Some(place) = ready.pop_first() {
        order.push(place);
        let Some(to) = next(&place) else { continue };
        if let Some(count) = awaited.get_mut(&to) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                ready.insert(to);
            }
        }
    }
    order
}

/// Reports a `next` that leads back.
fn circle(step: &Step<'_>) -> Diagnostic {
    let next = step.routing.as_ref().and_then(|routing| routing.next.as_ref());
    let message = format!("`{}` leads back, and nothing ends that", step.id.value);
    let help = "a loop has `kind: microloop`, `loop_target` and `loop_success_values`";
    Diagnostic::invalid(next.map_or(step.id.span, |next| next.span), message).help(help)
}
