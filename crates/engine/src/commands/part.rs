//! A run that does a part of its flow: the hand-offs that it takes from an earlier run, and whether these are all that it needs.
//!
//! Owns the checks that the kernel cannot make: that the earlier run is one of the same flow and tenant, and that its data fits the
//! `outputs` of the flow as it is now.

use super::handler::Commands;
use crate::model::{
    message::EngineError,
    protocol::{PartRequest, Refused},
};
use crate::query::load::flow_versions;
use envoi_contract::{
    code::Code,
    digest::Digest,
    json::{Error as JsonError, Value},
};
use envoi_flow::outputs::DataErrors;
use envoi_journal::{BlobError, ReadError, Reader};
use envoi_kernel::{
    Flow, HasOtherFiles, Refusal,
    flow::Step,
    hand_offs,
    ids::{Principal, RunId, StepId, VisitId},
    part::{Part, TakenHandOff},
};
use std::collections::BTreeMap;

/// The most bytes that are taken over. They are in the first event of the run, which is read again as a document of at most 16 MiB.
const MAX_TAKEN_BYTES: usize = 8 * 1024 * 1024;

/// The hand-offs of an earlier run, by step, or the reason why one cannot be taken.
type HandOffs = BTreeMap<StepId, Result<TakenHandOff, HasOtherFiles>>;

/// Why a hand-off of an earlier run cannot be used for a step.
#[derive(Debug, thiserror::Error)]
enum NotFitting {
    #[error("{run} has no visit of `{step}` that succeeded")]
    None { run: RunId, step: StepId },
    #[error("in {run} {source}")]
    OtherFiles { run: RunId, source: HasOtherFiles },
    #[error("of visit `{visit}` of {run} {source}")]
    Misfit { visit: VisitId, run: RunId, source: DataErrors },
    #[error("the data of visit `{visit}` cannot be read: {source}")]
    Data { visit: VisitId, source: Box<DataUnreadable> },
}

/// Why the data of a hand-off cannot be read.
#[derive(Debug, thiserror::Error)]
enum DataUnreadable {
    #[error("it names no content")]
    NoContent,
    #[error(transparent)]
    Blob(#[from] BlobError),
    #[error(transparent)]
    Json(#[from] JsonError),
}

impl Commands {
    /// The requested part of `flow`, with what it takes from an earlier run.
    ///
    /// # Errors
    /// `PART_INVALID`, `PART_INCOMPLETE`; `RUN_NOT_FOUND`: there is no such run of this tenant.
    pub(super) fn part(
        &self,
        flow: &Flow,
        wanted: &PartRequest,
        by: &Principal,
    ) -> Result<Box<Part>, Refused> {
        let PartRequest { selection, with } = wanted.clone();
        let mut part = Part { selection, with: with.clone(), taken: Vec::new() };
        part.selection.check(flow).map_err(refused)?;
        if part.selection.is_whole() {
            let message = "an earlier run is used only for steps that are left out, and no step is left out";
            return Err(invalid(message.to_owned()));
        }
        let mut reasons = BTreeMap::new();
        if let Some(with) = &with {
            let reader = self.store.reader()?;
            let given = handed_over(&reader, with, flow, by)?;
            for step in flow.steps.iter().filter(|step| !part.selection.includes(flow, &step.id)) {
                // In a whole run a later step has handed over nothing when those of the part run.
                if !part.selection.goes_past(flow, &step.id) {
                    reasons
                        .insert(step.id.clone(), format!("`{}` comes after the steps of the part", step.id));
                    continue;
                }
                match fitting(&reader, with, step, &given) {
                    Ok(taken) => part.taken.push(taken),
                    Err(why) => {
                        reasons.insert(step.id.clone(), why.to_string());
                    }
                }
            }
        }
        part.check(flow, &reasons).map_err(refused)?;
        let bytes = serde_json::to_vec(&part).map_or(usize::MAX, |bytes| bytes.len());
        if bytes > MAX_TAKEN_BYTES {
            return Err(invalid(format!(
                "the hand-offs that are taken over have {bytes} bytes, and at most {MAX_TAKEN_BYTES} can be: leave out fewer steps"
            )));
        }
        Ok(Box::new(part))
    }
}

fn invalid(message: String) -> Refused {
    Refused::new(Code::PartInvalid, message, Some("`envoi help part` says what each option takes"))
}

fn refused(refusal: Refusal) -> Refused {
    let hint = match &refusal {
        Refusal::PartIncomplete { missing } if missing.iter().all(|one| one.why.is_none()) => {
            "`--with RUN` takes it from an earlier run; or take the step into the part"
        }
        Refusal::PartIncomplete { .. } => {
            "take the step into the part, or say in the flow what holds without it: `| default('…')`"
        }
        _ => "`envoi help part` says what each option takes",
    };
    Refused::from(EngineError::Refused(refusal)).with_hint(Some(hint.to_owned()))
}

/// The hand-offs of the steps of this run.
fn handed_over(reader: &Reader, run: &RunId, flow: &Flow, by: &Principal) -> Result<HandOffs, Refused> {
    let row = reader.run(run)?;
    if row.tenant != by.tenant {
        return Err(Refused::from(ReadError::Missing { what: "run", id: run.to_string() }));
    }
    if row.flow != flow.id {
        return Err(invalid(format!(
            "run `{run}` is of flow `{}`, and this is flow `{}`",
            row.flow, flow.id
        )));
    }
    let unreadable = |error: String| Refused::failure(format!("run `{run}` cannot be read: {error}"));
    let pinned = reader.load(run)?.pinned;
    let versions = flow_versions(&pinned).map_err(|report| unreadable(report.to_string()))?;
    hand_offs(versions, &reader.records(run, 0, None)?).map_err(|error| unreadable(error.to_string()))
}

/// The run's hand-off of this step, if the step's hand-off is still the same.
fn fitting(reader: &Reader, run: &RunId, step: &Step, given: &HandOffs) -> Result<TakenHandOff, NotFitting> {
    let none = || NotFitting::None { run: run.clone(), step: step.id.clone() };
    let found = given.get(&step.id).cloned().ok_or_else(none)?;
    let taken = found.map_err(|source| NotFitting::OtherFiles { run: run.clone(), source })?;
    if let Some(schema) = &step.outputs {
        let visit = || taken.visit.clone();
        let data = whole_data(reader, &taken)
            .map_err(|source| NotFitting::Data { visit: visit(), source: Box::new(source) })?;
        envoi_flow::outputs::check(schema, &data).map_err(|source| NotFitting::Misfit {
            visit: visit(),
            run: run.clone(),
            source,
        })?;
    }
    Ok(taken)
}

/// The data of a hand-off; an event has only a reference to data that is large.
fn whole_data(reader: &Reader, taken: &TakenHandOff) -> Result<Value, DataUnreadable> {
    let Some(digest) = taken.data.get("$artifact").and_then(Value::as_str) else {
        return Ok(taken.data.clone());
    };
    let digest: Digest = Digest::parse(digest).ok_or(DataUnreadable::NoContent)?;
    let value = Value::parse(&reader.blob(&digest)?)?;
    let is_report = taken.report.as_ref().is_some_and(|report| report.digest == digest);
    Ok(if is_report { value.get("data").cloned().unwrap_or_default() } else { value })
}
