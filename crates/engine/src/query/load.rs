//! A run from the journal, with the flow that it is pinned to.

use super::flow_cache::{self, FlowCache};
use crate::model::{
    protocol::Refused,
    trouble::{Trouble, TroubleKind, guarded},
};
use envoi_flow::Report;
use envoi_journal::{PinnedFlow, ReadError, Reader, RunPaths, Snapshot, with_causes};
use envoi_kernel::{ReplayError, Run, flow::Versions, ids::RunId};
use std::path::Path;

/// Why a run cannot be had from the journal.
#[derive(Debug)]
pub(crate) enum LoadError {
    Read(ReadError),
    Flow(String),
    Replay(String),
    /// A defect of ours.
    Panicked(Trouble),
}

impl LoadError {
    /// The run's trouble, unless the store cannot be read now, or there is no such run.
    pub(crate) fn trouble(&self) -> Option<Trouble> {
        let unreadable = |reason| Some(Trouble::new(TroubleKind::Unreadable, reason));
        match self {
            Self::Read(ReadError::Missing { .. } | ReadError::Busy | ReadError::Io { .. }) => None,
            Self::Read(error) => unreadable(with_causes(error)),
            Self::Replay(error) => unreadable(error.clone()),
            Self::Panicked(trouble) => Some(trouble.clone()),
            Self::Flow(report) => {
                let reason = "the flow that it is pinned to cannot be read by this version".to_owned();
                Some(Trouble::new(TroubleKind::Unreadable, reason).with_evidence(report.clone()))
            }
        }
    }

    pub(crate) fn refused(&self, id: &RunId) -> Refused {
        match self {
            Self::Read(error) => Refused::from(error),
            Self::Flow(report) => Refused::failure(format!(
                "the flow that run `{id}` is pinned to cannot be read by this version:\n{report}"
            )),
            Self::Replay(error) => Refused::failure(format!("run `{id}`: {error}")),
            Self::Panicked(trouble) => {
                Refused::new(trouble.kind.code(), format!("run `{id}`: {}", trouble.reason), None)
            }
        }
    }
}

/// A run from the journal: its pinned flow, the newest snapshot, and the events after it.
///
/// # Errors
/// A refusal that names what is missing or damaged.
pub fn load_run(reader: &Reader, id: &RunId) -> Result<Run, Refused> {
    load_with_weight(reader, id).map(|(run, _)| run).map_err(|error| error.refused(id))
}

/// As [`load_run`], for views of a run without its envelope: the rest of its snapshot is read. The envelope has a line for each of the
/// newest attempts, so that it takes most of the time of a long run. [`Run::envelope`] of the result is almost empty.
///
/// # Errors
/// As [`load_run`].
pub fn load_without_envelope(reader: &Reader, id: &RunId) -> Result<Run, Refused> {
    load(reader, id, Snapshots::WithoutEnvelope).map(|(run, _)| run).map_err(|error| error.refused(id))
}

/// The part of a snapshot that is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Snapshots {
    Whole,
    WithoutEnvelope,
}

impl Snapshots {
    fn restore(self, versions: Versions, state: &[u8]) -> Result<Run, ReplayError> {
        match self {
            Self::Whole => Run::restore(versions, state),
            Self::WithoutEnvelope => Run::restore_without_envelope(versions, state),
        }
    }
}

/// The folder of the file from which the flow of a run was read.
#[must_use]
pub fn flow_folder(run: &Run) -> &Path {
    let folder = run.started().and_then(|started| Path::new(&started.source).parent());
    folder.unwrap_or(Path::new("/"))
}

/// Why a run can be loaded by no engine, in a sentence; none if it can, or if the store cannot be read now.
#[must_use]
pub fn why_unreadable(reader: &Reader, id: &RunId) -> Option<String> {
    load_with_weight(reader, id).err()?.trouble().map(|trouble| trouble.reason)
}

/// Refuses what would change a run while it is set aside, before any other refusal.
///
/// # Errors
/// `RUN_SET_ASIDE` with the reason; a failure of the store.
pub fn check_not_aside(reader: &Reader, id: &RunId) -> Result<(), Refused> {
    match reader.run(id)?.aside {
        Some(why) => Err(Refused::set_aside(id, &why.code, &why.reason)),
        None => Ok(()),
    }
}

/// The run with its places as they are now, and the bytes of its events since its last snapshot.
pub(crate) fn load_with_weight(reader: &Reader, id: &RunId) -> Result<(Run, u64), LoadError> {
    load(reader, id, Snapshots::Whole)
}

fn load(reader: &Reader, id: &RunId, snapshots: Snapshots) -> Result<(Run, u64), LoadError> {
    tracing::debug!(run = %id, "a run is loaded");
    // All that is done with a run begins with this, also the start of an engine, which goes through all of them.
    let loaded = guarded("loading it", || load_as_recorded(flow_cache::of_process(), reader, id, snapshots));
    let (mut run, weight) = loaded.map_err(LoadError::Panicked).flatten()?;
    if let Some(started) = run.started() {
        let RunPaths { workspace, run_base, source, origin, .. } =
            reader.paths_of(started).map_err(LoadError::Read)?;
        run.relocate(workspace, run_base, source, origin);
    }
    Ok((run, weight))
}

/// The flow of a run, in all versions that it was pinned to.
///
/// # Errors
/// What is wrong with the first of them that cannot be read.
pub fn flow_versions(pinned: &PinnedFlow) -> Result<Versions, Report> {
    versions(flow_cache::of_process(), pinned)
}

fn versions(flows: &FlowCache, pinned: &PinnedFlow) -> Result<Versions, Report> {
    let parse = |PinnedFlow { language, name, text, parts, .. }: &PinnedFlow| {
        flows.parse(*language, name, text, parts)
    };
    let mut versions = Versions::from(parse(pinned)?.flow);
    for earlier in &pinned.earlier {
        versions.add(parse(earlier)?.flow);
    }
    Ok(versions)
}

fn load_as_recorded(
    flows: &FlowCache,
    reader: &Reader,
    id: &RunId,
    snapshots: Snapshots,
) -> Result<(Run, u64), LoadError> {
    let loaded = reader.load(id).map_err(LoadError::Read)?;
    let versions = versions(flows, &loaded.pinned).map_err(|report| LoadError::Flow(report.to_string()))?;
    let had_one = loaded.snapshot.is_some();
    let restored = loaded.snapshot.and_then(|snapshot| restored(&versions, id, &snapshot, snapshots));
    let Some(mut run) = restored else {
        // No snapshot, or one of another version: the events are the truth.
        let records = reader.records(id, 0, None).map_err(LoadError::Read)?;
        let run = Run::replay(versions, records).map_err(|error| LoadError::Replay(error.to_string()))?;
        if run.started().is_none() {
            return Err(LoadError::Replay("its events are missing".to_owned()));
        }
        // A snapshot that cannot be read is replaced with the next commit.
        return Ok((run, if had_one { u64::MAX } else { loaded.tail_bytes }));
    };
    let applied = loaded.records.iter().try_for_each(|record| run.apply(record));
    applied.map_err(|error| LoadError::Replay(error.to_string()))?;
    Ok((run, loaded.tail_bytes))
}

/// The run of a snapshot. A snapshot of another run, or of another position in it, counts as none.
fn restored(versions: &Versions, id: &RunId, snapshot: &Snapshot, snapshots: Snapshots) -> Option<Run> {
    let run = snapshots.restore(versions.clone(), &snapshot.state).ok()?;
    let is_its_own = run.started().is_some_and(|started| started.run == *id);
    (is_its_own && run.next_seq() == snapshot.seq.saturating_add(1)).then_some(run)
}

#[cfg(test)]
mod tests {
    use super::*;
    use envoi_journal::{Commit, Layout, Store, Writer};
    use envoi_kernel::Input;
    use std::sync::Arc;

    const FLOW: &str = "flow: f\nsteps:\n  - id: a\n    run: [\"true\"]\n";

    /// Commits the start of a run, with this state as its snapshot; the run as it is then.
    fn begun(writer: &Writer, id: &RunId, state: Option<&[u8]>) -> Run {
        let loaded = envoi_flow::load("f.yaml", FLOW).unwrap();
        let flow = Arc::new(loaded.flow);
        let start = crate::model::sample::start(id, loaded.language);
        let lived = Run::new(Arc::clone(&flow));
        let records = lived.decide(Input::Start(Box::new(start)), None, crate::model::clock::now()).unwrap();
        let lived = Run::replay(Arc::clone(&flow), records.clone()).unwrap();
        let pinned = PinnedFlow {
            digest: flow.digest,
            language: loaded.language,
            name: "f.yaml".to_owned(),
            text: FLOW.to_owned(),
            parts: loaded.parts,
            earlier: Vec::new(),
        };
        let seq = records.last().unwrap().seq;
        let snapshot = state.map(|state| Snapshot { seq, state: state.to_vec() });
        let commit = Commit {
            run: id.clone(),
            expected: 0,
            records,
            pinned: Some(pinned),
            blobs: Vec::new(),
            deliveries: Vec::new(),
            snapshot,
        };
        writer.commit(commit).unwrap();
        lived
    }

    #[test]
    fn a_snapshot_of_another_version_is_no_reason_to_lose_the_run() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(Layout::new(folder.path())).unwrap();
        let writer = store.writer(store.take_epoch().unwrap()).unwrap();
        let id = RunId::new("run_a").unwrap();
        let lived = begun(&writer, &id, Some(b"{\"of\": \"another version\"}"));
        let reader = store.reader().unwrap();
        assert_eq!(
            load_with_weight(&reader, &id).unwrap(),
            (lived.clone(), u64::MAX),
            "and a new snapshot is due"
        );
        // Nor is one of another place in the run, or of another run.
        let flow = lived.versions().clone();
        let whole = lived.snapshot().unwrap();
        let seq = lived.next_seq() - 1;
        for (run, seq, taken) in
            [(&id, seq, false), (&id, seq + 1, true), (&RunId::new("run_b").unwrap(), seq, true)]
        {
            let snapshot = Snapshot { seq, state: if taken { whole.clone() } else { b"{}".to_vec() } };
            for snapshots in [Snapshots::Whole, Snapshots::WithoutEnvelope] {
                assert!(restored(&flow, run, &snapshot, snapshots).is_none(), "{run} {seq}");
            }
        }
        let whole = Snapshot { seq, state: whole };
        assert_eq!(restored(&flow, &id, &whole, Snapshots::Whole), Some(lived));
        assert!(restored(&flow, &id, &whole, Snapshots::WithoutEnvelope).is_some());
    }

    #[test]
    fn a_flow_is_parsed_once_however_often_its_runs_are_loaded() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(Layout::new(folder.path())).unwrap();
        let writer = store.writer(store.take_epoch().unwrap()).unwrap();
        let ids = ["run_a", "run_b", "run_c"].map(|id| RunId::new(id).unwrap());
        let lived = ids.each_ref().map(|id| begun(&writer, id, None));
        let reader = store.reader().unwrap();
        let flows = FlowCache::new(usize::MAX);
        for _ in 0..3 {
            for (id, lived) in ids.iter().zip(&lived) {
                assert_eq!(load_as_recorded(&flows, &reader, id, Snapshots::Whole).unwrap().0, *lived);
            }
        }
        assert_eq!(flows.parses(), 1);
    }
}
