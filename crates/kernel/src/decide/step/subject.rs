//! The contents that a question shows, as one digest.
//!
//! The flow, the last hand-off that was not skipped, and the newest version of every artifact. An answer counts for the
//! contents that were shown: if they have changed, the question is raised again.

use crate::{
    decide::draft::Draft,
    model::{event::FoundFile, input::Refusal},
    state::step_result::StepResult,
};
use core::fmt::Write as _;
use envoi_contract::digest::Digest;

/// The digest now; `found` are artifacts that lie otherwise in the workspace than they were handed over.
///
/// # Errors
/// [`Refusal::Inconsistent`] if the last hand-off cannot be written as JSON. A digest of anything else in its place would be the
/// same for different hand-offs, and an approval of one would count for another.
pub(crate) fn digest(draft: &Draft<'_>, found: &[FoundFile]) -> Result<Digest, Refusal> {
    let control = &draft.control;
    let mut text = format!("flow {}\n", draft.flow.digest);
    let last = control.last_handoff.as_ref().and_then(|visit| {
        let step = control.flow_state(visit.flow_scope()).steps.get(&visit.step)?;
        Some((visit, step.last.as_deref()?))
    });
    if let Some((visit, result)) = last {
        // As earlier versions wrote it: a question that they put is still about the same.
        let result = StepResult { report_blob: None, text: None, text_cut: false, ..result.clone() };
        let bytes = serde_json::to_vec(&result).map_err(|error| Refusal::Inconsistent {
            reason: format!("the hand-off of `{visit}` cannot be written: {error}"),
        })?;
        text.push_str(&format!("handoff {visit} {}\n", Digest::of(&bytes)));
    }
    let mut files = control.files.as_ref().clone();
    files.extend(found.iter().map(|file| (file.path.clone(), file.digest)));
    for (path, digest) in files {
        let digest = digest.map_or_else(|| "deleted".to_owned(), |digest| digest.to_string());
        // Writing to a string cannot fail. The path comes last: it may have anything in it.
        let _ = writeln!(text, "file {digest} {} {path}", path.len());
    }
    for handed in control.manifests.iter() {
        let _ = writeln!(text, "manifest {}", handed.list.digest);
    }
    Ok(Digest::of(text.as_bytes()))
}
