//! A run begins.

use crate::{
    decide::{advance::advance, draft::Draft, set_back},
    model::{
        event::{Event, RunStarted, SnapshotScope},
        input::{Refusal, Start},
    },
};
use std::collections::BTreeMap;

/// Input: start.
pub(crate) fn start(mut draft: Draft<'_>, start: Start) -> Result<Draft<'_>, Refusal> {
    if let Some(part) = &start.part {
        part.check(draft.flow, &BTreeMap::new())?;
    }
    set_back::check_isolated(draft.flow, start.isolated.is_some())?;
    draft.emit(Event::RunStarted(Box::new(RunStarted {
        run: start.run,
        flow: draft.flow.id.clone(),
        flow_digest: draft.flow.digest,
        language: start.language,
        source: start.source,
        inputs: start.inputs,
        workspace: start.workspace,
        shared: start.shared,
        keep_files: start.keep_files,
        snapshots: SnapshotScope::of_new_run(start.keep_files, &draft.flow.keep_also),
        no_cache: start.no_cache,
        isolated: start.isolated,
        run_base: start.run_base,
        by: start.by,
        yes_to: start.yes_to,
        trace: start.trace,
        env: start.env,
        requester: start.requester,
        part: start.part,
    })))?;
    advance(draft)
}
