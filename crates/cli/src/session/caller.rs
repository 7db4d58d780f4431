//! The part of the present environment that the commands of an existing run may see.

use crate::process::{environment, failure::Failure};
use envoi_engine::{flow_folder, protocol::CallerWire};
use envoi_journal::Reader;
use envoi_kernel::{Flow, Run, ids::RunId};

/// Returns what commands of this run may see of the present environment.
pub(crate) fn caller(reader: &Reader, run: &RunId) -> Result<CallerWire, Failure> {
    Ok(caller_of(&envoi_engine::load_run(reader, run)?))
}

/// As [`caller`], for a loaded run.
pub(crate) fn caller_of(run: &Run) -> CallerWire {
    caller_under(run.flow(), run)
}

/// As [`caller_of`], under this version of its flow.
pub(crate) fn caller_under(flow: &Flow, run: &Run) -> CallerWire {
    environment::caller(flow, flow_folder(run))
}

/// As [`caller`], but returns an empty environment if the run cannot be read. The engine reports such a run
/// and sets it aside.
pub(crate) fn caller_or_none(reader: &Reader, run: &RunId) -> CallerWire {
    caller(reader, run).unwrap_or_default()
}
