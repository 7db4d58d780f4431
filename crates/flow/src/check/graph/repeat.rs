//! Checks the steps that a loop of a graph repeats, and the steps that wait for them.
//!
//! No step between the two ends of a loop may be entered again before the loop has reached it. A `join` must
//! therefore not be satisfied only by steps outside of the repeated part. Another check ensures that the edges lead
//! back.

use super::{Graph, order::Order};
use crate::{
    parse::draft::{Diversion, DraftStep},
    syntax::{
        diagnostic::{Diagnostic, Problems},
        read::Spanned,
    },
};
use envoi_kernel::flow::Join;

/// A step that is entered when `wanted` of its needs have succeeded, whatever happens to the others.
struct Choosing<'n> {
    place: usize,
    wanted: usize,
    needs: &'n [usize],
}

impl Graph<'_> {
    /// Checks that no step inside a loop can be entered only because of needs that the loop does not repeat. `needs`
    /// are those of all steps.
    pub(super) fn check_repeated(&self, order: &Order, needs: &[Vec<usize>], problems: &mut Problems) {
        let choosing: Vec<Choosing<'_>> =
            self.steps.iter().zip(needs).enumerate().filter_map(choosing).collect();
        for (from, step) in self.steps.iter().enumerate().filter(|_| !choosing.is_empty()) {
            let targets = &step.targets;
            let diversions = targets.diversions.iter().filter_map(Diversion::step);
            for target in targets.loop_to.iter().chain(&targets.branches).chain(diversions) {
                let Some(to) = self.place(&target.value).filter(|to| order.is_before(*to, from)) else {
                    continue;
                };
                let between = |place: usize| {
                    order.is_before(to, place) && (place == from || order.is_before(place, from))
                };
                let stands = |need: &usize| *need != to && !order.is_before(to, *need);
                let early = choosing.iter().filter(|step| between(step.place)).find_map(|step| {
                    let outside: Vec<usize> = step.needs.iter().copied().filter(stands).collect();
                    (outside.len() >= step.wanted).then_some((step.place, outside))
                });
                if let Some((place, outside)) = early {
                    self.tell_early(target, place, &outside, problems);
                }
            }
        }
    }

    /// Reports that the step at `place` would be entered at once when the loop goes back to `target`, because the
    /// needs in `outside` are enough for it.
    fn tell_early(&self, target: &Spanned<String>, place: usize, outside: &[usize], problems: &mut Problems) {
        let name = |place: usize| self.steps.get(place).map_or("", DraftStep::name);
        let to = &target.value;
        let early = name(place);
        let others: Vec<String> = outside.iter().map(|place| format!("`{}`", name(*place))).collect();
        let others = others.join(", ");
        let message = format!(
            "going back to `{to}` would enter `{early}` at once: its `join` is content with what is not repeated, {others}"
        );
        let help = format!(
            "let `{early}` join by `all` or `settled`; or choose in a step before `{to}`, or among steps that all need `{to}`"
        );
        let mut early = Diagnostic::invalid(target.span, message).help(help);
        if let Some(step) = self.steps.get(place) {
            let stands = |need: &&Spanned<String>| outside.iter().any(|place| name(*place) == need.value);
            for need in step.waits.needs.iter().filter(stands) {
                early = early.label(need.span, format!("this does not wait for `{to}`"));
            }
        }
        problems.add(early);
    }
}

/// The step if it has `join: any` or `quorum`, unless it is invalid.
fn choosing<'n>((place, (step, needs)): (usize, (&DraftStep, &'n Vec<usize>))) -> Option<Choosing<'n>> {
    let wanted = match step.step.as_ref()?.join {
        Join::All | Join::Settled => return None,
        Join::Any => 1,
        Join::Quorum(wanted) => usize::try_from(wanted).ok()?,
    };
    Some(Choosing { place, wanted, needs })
}
