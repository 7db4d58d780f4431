//! The files of the workspace are set back to a snapshot: nothing of the run starts until they are.
//!
//! Owns when that is allowed and what holds meanwhile. It does not touch a file: what a restore does is `tree`'s, and the engine
//! does it between these events.

use crate::{
    decide::{advance::advance, draft::Draft},
    model::{
        event::{Event, FilesKeptAsTheyWere, FilesRestored, FilesRestoring},
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
pub(crate) fn set_back(
    draft: &Draft<'_>,
    step: &Step,
    open: Option<&OpenVisit>,
) -> Result<Option<Digest>, SkillError> {
    let wanted = open.filter(|open| step.files == FilesAgain::Restore && open.files.is_done_again);
    let Some(open) = wanted else { return Ok(None) };
    let refuse = |code, why: &str| Err(SkillError::new(code, format!("`files: restore`: {why}")));
    match open.files.state {
        _ if !draft.control.phase.started().is_some_and(|started| started.isolated.is_some()) => {
            refuse(Code::NotIsolated, "the run has no tree of its own")
        }
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

/// A flow that sets files back by itself does so in a tree of the run alone.
pub(crate) fn check_isolated(flow: &Flow, isolated: bool) -> Result<(), Refusal> {
    match flow.sets_back() {
        Some(step) if !isolated => Err(Refusal::NotIsolated { step: step.id.clone() }),
        _ => Ok(()),
    }
}

/// Input: the files are to be set back. What stands there is kept.
pub(crate) fn restore(mut draft: Draft<'_>, wanted: FilesRestoring) -> Result<Draft<'_>, Refusal> {
    if draft.control.restoring.is_some() {
        return Err(Refusal::Restoring);
    }
    if draft.control.has_live() {
        return Err(Refusal::StillAtWork);
    }
    draft.emit(Event::FilesRestoring(Box::new(wanted)))?;
    Ok(draft)
}

/// Input: they are set back.
pub(crate) fn restored(mut draft: Draft<'_>, restored: FilesRestored) -> Result<Draft<'_>, Refusal> {
    let is_wanted = draft.control.restoring.as_ref().is_some_and(|wanted| wanted.to == restored.to);
    if !is_wanted {
        return Err(Refusal::NotRestoring);
    }
    draft.emit(Event::FilesRestored(Box::new(restored)))?;
    advance(draft)
}

/// Input: they could not be, and are as they were.
pub(crate) fn kept(mut draft: Draft<'_>, reason: String) -> Result<Draft<'_>, Refusal> {
    if draft.control.restoring.is_none() {
        return Err(Refusal::NotRestoring);
    }
    draft.emit(Event::FilesKeptAsTheyWere(FilesKeptAsTheyWere { reason }))?;
    advance(draft)
}
