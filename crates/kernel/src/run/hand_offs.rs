//! The hand-offs of a run, for another run that does only a part of the flow.

use super::{ReplayError, Run};
use crate::model::{
    event::{AttemptSettled, Event, HandoffWritten, Record},
    files::{FileChange, is_manifest},
    flow::Versions,
    ids::{StepId, VisitId},
    part::TakenHandOff,
};
use envoi_contract::handoff::Status;
use std::collections::BTreeMap;

/// Why a hand-off cannot be used in another run: files of it were attached by a person, or are those of many items.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("visit `{visit}` has files that cannot be taken over: attachments, or those of many items")]
pub struct HasOtherFiles {
    /// The visit that has handed over.
    pub visit: VisitId,
}

/// The hand-off of the last visit that succeeded, of each step of the run's own flow that has one, or why it cannot be used in another
/// run.
///
/// # Errors
/// As [`Run::replay`].
pub fn hand_offs(
    versions: impl Into<Versions>,
    records: &[Record],
) -> Result<BTreeMap<StepId, Result<TakenHandOff, HasOtherFiles>>, ReplayError> {
    let mut run = Run::new(versions);
    let mut settled: BTreeMap<VisitId, Vec<&AttemptSettled>> = BTreeMap::new();
    let mut found = BTreeMap::new();
    for record in records {
        run.apply(record)?;
        match &record.event {
            Event::AttemptSettled(event) if !event.late => {
                settled.entry(event.attempt.visit.whole()).or_default().push(event);
            }
            Event::HandoffWritten(event) if is_of_a_step(event) => {
                let attempts = settled.remove(&event.visit).unwrap_or_default();
                found.insert(event.visit.step.clone(), taken(&run, event, &attempts));
            }
            _ => {}
        }
    }
    Ok(found)
}

/// Whether a step of the run's own flow has succeeded, and not only an item of it.
fn is_of_a_step(event: &HandoffWritten) -> bool {
    event.visit.scope.is_empty() && event.handoff.status == Status::Succeeded
}

fn taken(
    run: &Run,
    event: &HandoffWritten,
    attempts: &[&AttemptSettled],
) -> Result<TakenHandOff, HasOtherFiles> {
    let state = run.control.top.steps.get(&event.visit.step);
    let data = state.and_then(|state| state.last.as_ref()).map(|last| last.data.clone());
    let last = attempts.last().filter(|last| last.attempt.visit == event.visit && last.ok);
    let mut by_path: BTreeMap<&str, &FileChange> = BTreeMap::new();
    match last {
        Some(last) => by_path.extend(last.files.iter().map(|file| (file.path.as_str(), file))),
        None => {
            let files = attempts.iter().filter(|attempt| attempt.ok).flat_map(|attempt| &attempt.files);
            by_path.extend(files.map(|file| (file.path.as_str(), file)));
        }
    }
    let manifest = last.and_then(|last| last.manifest.clone());
    let artifacts = || event.handoff.artifacts.iter();
    let named =
        |path: &str| path.strip_prefix(&format!("{}/", run.flow.id)).and_then(|path| by_path.get(path));
    let is_many = is_manifest(artifacts().map(|(name, path)| (name, path.as_str())));
    if manifest.is_none() && (is_many || artifacts().any(|(_, path)| named(path).is_none())) {
        return Err(HasOtherFiles { visit: event.visit.clone() });
    }
    Ok(TakenHandOff {
        visit: event.visit.clone(),
        summary: event.handoff.summary.clone(),
        data: data.unwrap_or_default(),
        data_kept: last.and_then(|last| last.data_kept.clone()),
        text: last.and_then(|last| last.text.clone()),
        report: last.and_then(|last| last.report.clone()),
        files: by_path.into_values().cloned().collect(),
        manifest,
    })
}
