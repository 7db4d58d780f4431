//! `files: restore`: a step that is done again begins with the files that it began with the first time.
//!
//! Owns which snapshot the next attempt gets, and that only a tree of the run's own is set back. `state/files_at_entry.rs` has the
//! first files of a visit; [`crate::decide::files`] owns a restore that a person requests.

use crate::{
    decide::draft::Draft,
    model::{
        files::Snapshot,
        flow::{FilesAgain, Flow, Step},
        input::Refusal,
    },
    state::{files_at_entry::Began, visit::OpenVisit},
};
use envoi_contract::{code::Code, digest::Digest, skill_report::SkillError};

/// The snapshot that the workspace gets before the next attempt of a visit, if its step wants that and is done again.
///
/// # Errors
/// There is none, or none of a state that the folder certainly had.
pub(crate) fn of_next(
    draft: &Draft<'_>,
    step: &Step,
    open: Option<&OpenVisit>,
) -> Result<Option<Digest>, SkillError> {
    // A merge that was killed is done again from its beginning.
    let wants = |open: &&OpenVisit| step.files == FilesAgain::Restore || open.for_each.is_some();
    let wanted = open.filter(wants).filter(|open| open.files.is_done_again);
    let Some(open) = wanted else { return Ok(None) };
    let refuse = |code, why: &str| Err(SkillError::new(code, format!("`files: restore`: {why}")));
    // Without a tree of its own a run would overwrite files of the user.
    if draft.control.phase.started().is_none_or(|started| started.isolated.is_none()) {
        return refuse(Code::NotIsolated, "the run has no tree of its own");
    }
    match open.files.state {
        Began::NotYet => Ok(None),
        Began::Unknown => refuse(
            Code::FilesNotKept,
            "the files that the step began with were not kept; the warnings of its attempts say why",
        ),
        Began::With(Snapshot { moving: true, .. }) => {
            refuse(Code::FilesMoving, "another attempt was at work there when the step began")
        }
        Began::With(Snapshot { digest, moving: false }) => Ok(Some(digest)),
    }
}

/// A flow that changes files by itself does so in a tree of the run alone.
pub(crate) fn check_isolated(flow: &Flow, isolated: bool) -> Result<(), Refusal> {
    let step = flow.needs_tree().filter(|_| !isolated);
    match step.and_then(|step| Some((step, step.needs_tree()?))) {
        Some((step, key)) => Err(Refusal::NotIsolated { step: step.id.clone(), key }),
        None => Ok(()),
    }
}
