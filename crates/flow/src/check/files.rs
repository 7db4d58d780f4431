//! Where a run may change files by itself (set back, merged): where no other attempt of the run can be at work in them.

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

/// Checks what depends on all of the file.
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

/// What waits for what in a graph, as far as that holds whatever happens. `None` in a list, or if that cannot be said: then other mistakes are
/// reported.
///
/// Only `join: all` puts two steps in order for good. With the others a step may begin before all that it needs is over, and what it has
/// gone on without is done again by `resume` while the steps behind it are.
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

/// A step that may be at work in the run's files at the same time as the one at `place`.
fn beside<'d>(draft: &'d Draft, order: &Order, place: usize) -> Option<&'d DraftStep> {
    let is_beside = |other: usize, step: &DraftStep| {
        // A question does nothing. An answer that leads back to an earlier step ends what is at work behind that.
        let asks =
            step.step.as_ref().is_some_and(|step| step.asks().is_some() && step.routing.loop_to.is_none());
        other != place && !asks && !order.is_before(other, place) && !order.is_before(place, other)
    };
    draft.steps.iter().enumerate().find(|(other, step)| is_beside(*other, step)).map(|(_, step)| step)
}

/// Where it stands that files are changed by the run itself, and by which key.
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

/// The key of a step of this flow, or of one within it, for which files are changed.
fn key_of(inner: &Inner) -> Option<&'static str> {
    let own = inner.flow.steps.iter().find_map(Step::needs_tree);
    own.or_else(|| inners(&inner.draft).find_map(key_of))
}

fn is_parallel(step: &Step) -> bool {
    // Items that work in separate trees cannot disturb each other.
    !step.isolate && step.for_each.as_ref().is_some_and(|each| each.max_parallel != Some(1))
}
