//! What the commands of a run that exists may see of the present environment.

use crate::process::{environment, failure::Failure};
use envoi_engine::{flow_folder, protocol::CallerWire};
use envoi_journal::Reader;
use envoi_kernel::{Flow, Run, ids::RunId};

/// What commands of this run may see of the present environment.
pub(crate) fn caller(reader: &Reader, run: &RunId) -> Result<CallerWire, Failure> {
    Ok(caller_of(&envoi_engine::load_run(reader, run)?))
}

/// As [`caller`], for a run that is loaded.
pub(crate) fn caller_of(run: &Run) -> CallerWire {
    caller_under(run.flow(), run)
}

/// As [`caller_of`], under this version of its flow.
pub(crate) fn caller_under(flow: &Flow, run: &Run) -> CallerWire {
    environment::caller(flow, flow_folder(run))
}

/// As [`caller`]. A run that cannot be read gets an empty environment: the engine reports it, and sets it aside.
pub(crate) fn caller_or_none(reader: &Reader, run: &RunId) -> CallerWire {
    caller(reader, run).unwrap_or_default()
}
