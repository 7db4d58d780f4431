//! Checks where a run may change files by itself (restore, merge): only where no other attempt of the run can be
//! working in the same files.

use crate::{
    check::graph::order::Order,
    parse::draft::{Draft, DraftStep, Inner, Named},
    syntax::diagnostic::{Diagnostic, Problems, Span},
};
use envoi_kernel::{
    flow::{Join, Step},
    ids::StepId,
};
use std::collections::BTreeMap;

/// Runs the checks that need the whole file.
pub(crate) fn check(draft: &Draft, problems: &mut Problems) {
    let order = order(draft);
    for (place, step) in draft.steps.iter().enumerate() {
        let (Some(read), Some(what)) = (&step.step, sets_back(draft, step)) else { continue };
        let message = match what {
            SetsBack::Itself(key) => format!("`{key}` where other steps may be at work in the same files"),
            SetsBack::Within(flow, key) => {
                format!("flow `{flow}` has `{key}`, and other steps may be at work in the same files")
            }
        };
        let wrong = |place: Span, label: &str, help: &str| {
            Diagnostic::invalid(step.place, message.clone()).label(place, label).help(help)
        };
        if let Some(other) = order.as_ref().and_then(|order| beside(draft, order, place)) {
            let help = "one of the two has to wait for the other: by `needs`, also through steps between them, with `join: all` (the default)";
            problems.add(wrong(other.place, "this step may be at work at the same time", help));
        } else if is_parallel(read) {
            problems.add(wrong(
                step.place,
                "its items run side by side",
                "`max_parallel: 1` does one item after the other",
            ));
        }
    }
}

/// The order of the steps of a graph that always holds. `None` for a flow that is a list, or if the order cannot be
/// determined because of other mistakes, which are reported elsewhere.
///
/// Only `join: all` orders two steps permanently. With other joins a step may begin before all of its needs have
/// ended, and `resume` may repeat a need that it went on without, while the steps after it run.
fn order(draft: &Draft) -> Option<Order> {
    if !draft.steps.iter().any(|step| step.waits.named) {
        return None;
    }
    let steps: Vec<&Step> = draft.steps.iter().map(|step| step.step.as_ref()).collect::<Option<_>>()?;
    let places: BTreeMap<&StepId, usize> =
        steps.iter().enumerate().map(|(place, step)| (&step.id, place)).collect();
    let needs = |step: &&Step| match step.join {
        Join::All => step.needs.iter().filter_map(|need| places.get(need).copied()).collect(),
        Join::Any | Join::Settled | Join::Quorum(_) => Vec::new(),
    };
    Order::of(&steps.iter().map(needs).collect::<Vec<Vec<usize>>>()).ok()
}

/// A step that may be working in the run's files at the same time as the step at `place`.
fn beside<'d>(draft: &'d Draft, order: &Order, place: usize) -> Option<&'d DraftStep> {
    let is_beside = |other: usize, step: &DraftStep| {
        // A question does no work. If an answer can lead back to an earlier step, it ends the work of the steps after
        // that one.
        let stays = step.targets.diversions.iter().all(|diversion| diversion.step().is_none());
        let is_question = |step: &Step| step.asks().is_some() && step.routing.loop_to.is_none();
        let asks = stays && step.step.as_ref().is_some_and(is_question);
        other != place && !asks && !order.is_before(other, place) && !order.is_before(place, other)
    };
    draft.steps.iter().enumerate().find(|(other, step)| is_beside(*other, step)).map(|(_, step)| step)
}

/// The place at which the run itself changes files, and the key that causes it.
enum SetsBack {
    Itself(&'static str),
    /// In a flow that the step runs.
    Within(String, &'static str),
}

fn sets_back(draft: &Draft, step: &DraftStep) -> Option<SetsBack> {
    let read = step.step.as_ref()?;
    if let Some(key) = read.needs_tree() {
        return Some(SetsBack::Itself(key));
    }
    let id = &read.inner()?.flow;
    let inner = inners(draft).find(|inner| inner.flow.id == *id)?;
    Some(SetsBack::Within(id.to_string(), key_of(inner)?))
}

fn inners(draft: &Draft) -> impl Iterator<Item = &Inner> {
    draft.named.values().filter_map(|named| match named {
        Named::Right(inner) => Some(inner.as_ref()),
        Named::Wrong | Named::Refused { .. } => None,
    })
}

/// The key by which a step of this flow, or of a flow within it, lets the run change files.
fn key_of(inner: &Inner) -> Option<&'static str> {
    let own = inner.flow.steps.iter().find_map(Step::needs_tree);
    own.or_else(|| inners(&inner.draft).find_map(key_of))
}

fn is_parallel(step: &Step) -> bool {
    // Items with separate trees cannot disturb each other.
    !step.isolate && step.for_each.as_ref().is_some_and(|each| each.max_parallel != Some(1))
}
