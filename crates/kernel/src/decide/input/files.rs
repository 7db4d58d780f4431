//! The files of the workspace are set back to a snapshot: nothing of the run starts until they are.
//!
//! Owns when that is allowed and what holds meanwhile. It does not touch a file: `tree` makes a restore, and the engine calls it
//! between these events.

use crate::{
    decide::{advance::advance, draft::Draft},
    model::{
        event::{Event, FilesKeptAsTheyWere, FilesRestored, FilesRestoring},
        input::Refusal,
    },
};

/// Input: the files are to be set back. The present files are kept.
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
