//! Where a run may change files by itself (set back, merged): where no other attempt of the run can be at work in them.

use crate::{
    parse::draft::{Draft, DraftStep, Inner, Named},
    syntax::diagnostic::{Diagnostic, Problems, Span},
};
use envoi_kernel::flow::Step;

/// Checks what depends on all of the file.
pub(crate) fn check(draft: &Draft, problems: &mut Problems) {
    let needs = draft.steps.iter().find(|step| step.waits.named);
    for step in &draft.steps {
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
        if let Some(other) = needs {
            let help = "the steps of a flow with `needs` run side by side; put the loop into a flow whose steps are a list";
            problems.add(wrong(other.place, "`needs` stands here", help));
        } else if is_parallel(read) {
            problems.add(wrong(
                step.place,
                "its items run side by side",
                "`max_parallel: 1` does one item after the other",
            ));
        }
    }
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
