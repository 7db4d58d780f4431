//! Where files may be set back: where no other attempt of the run can be at work in them.

use crate::{
    parse::draft::{Draft, DraftStep, Inner, Named},
    syntax::diagnostic::{Diagnostic, Problems, Span},
};
use envoi_kernel::flow::{FilesAgain, Step};

/// Checks what depends on all of the file.
pub(crate) fn check(draft: &Draft, problems: &mut Problems) {
    let needs = draft.steps.iter().find(|step| step.waits.named);
    for step in &draft.steps {
        let (Some(read), Some(what)) = (&step.step, sets_back(draft, step)) else { continue };
        let message = match what {
            SetsBack::Itself => {
                "`files: restore` where other steps may be at work in the same files".to_owned()
            }
            SetsBack::Within(flow) => {
                format!(
                    "flow `{flow}` has `files: restore`, and other steps may be at work in the same files"
                )
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

/// Where it stands that files are set back.
enum SetsBack {
    Itself,
    /// In a flow that the step runs.
    Within(String),
}

fn sets_back(draft: &Draft, step: &DraftStep) -> Option<SetsBack> {
    let read = step.step.as_ref()?;
    if read.files == FilesAgain::Restore {
        return Some(SetsBack::Itself);
    }
    let id = &read.inner()?.flow;
    let inner = inners(draft).find(|inner| inner.flow.id == *id)?;
    has_restore(inner).then(|| SetsBack::Within(id.to_string()))
}

fn inners(draft: &Draft) -> impl Iterator<Item = &Inner> {
    draft.named.values().filter_map(|named| match named {
        Named::Right(inner) => Some(inner.as_ref()),
        Named::Wrong | Named::Refused { .. } => None,
    })
}

/// Whether a step of this flow, or of one within it, sets files back.
fn has_restore(inner: &Inner) -> bool {
    inner.flow.steps.iter().any(|step| step.files == FilesAgain::Restore)
        || inners(&inner.draft).any(has_restore)
}

fn is_parallel(step: &Step) -> bool {
    step.for_each.as_ref().is_some_and(|each| each.max_parallel != Some(1))
}
