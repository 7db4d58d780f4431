//! Loads runs as tasks from the store: checks who owns them, and applies their events.

use super::{
    fold::{Fold, RunResult},
    snapshot,
    writer::{ClientMessage, ContentSource, TaskIds, TaskWriter},
};
use crate::{
    a2a::client::{Client, internal_fault, read},
    http::problem::Problem,
    state::app::App,
};
use envoi_a2a::{
    fault::Fault,
    model::{Message, Task},
    request::{Method, Params},
    version::Version,
};
use envoi_contract::{code::Code, digest::Digest, json::Value};
use envoi_engine::{check_not_aside, load_run, parsed_flow, protocol::Refused, why_unreadable};
use envoi_journal::{Aside, Loaded, MessageRow, ReadError, Reader, RunRow};
use envoi_kernel::{
    Event, Record, Run, Status,
    event::{Blob, EndStatus},
    ids::{RunId, Seq},
};
use std::{cell::Cell, collections::BTreeMap};

/// The status of a hand-off without a text.
const SKIPPED: &str = "skipped";

/// Replaces a flow that cannot be read.
const NO_FLOW: &str = "flow: none\nsteps:\n  - id: none\n    run: [\"true\"]\n";

/// How many records are read at once, unless a single moment has more.
const PAGE: u32 = 64;

/// A task, with events applied.
pub(crate) struct LoadedTask {
    pub(crate) run: RunId,
    pub(crate) ids: TaskIds,
    pub(crate) fold: Fold,
    pub(crate) client_messages: Vec<ClientMessage>,
    /// Why the run is set aside, if it is. Not known if its events are not applied yet.
    pub(crate) aside: Option<Aside>,
    /// The row of a run whose events or flow cannot be read: then it is all that is known, and `fold` is
    /// empty.
    pub(crate) unreadable: Option<RunRow>,
}

impl LoadedTask {
    /// The current task.
    pub(crate) fn task(&self, app: &App, base: &str, with_artifacts: bool) -> Task {
        self.task_within(app, base, with_artifacts, &ReplyBudget::default())
    }

    /// The current task, as one of several in a reply.
    pub(crate) fn task_within(
        &self,
        app: &App,
        base: &str,
        with_artifacts: bool,
        room: &ReplyBudget,
    ) -> Task {
        let shelf = StoredContent { app, base, room };
        let aside = self.aside.as_ref();
        let writer = TaskWriter { ids: &self.ids, content: &shelf, aside };
        match &self.unreadable {
            Some(row) => writer.unreadable(row),
            None => writer.task(&self.fold, &self.client_messages, with_artifacts),
        }
    }
}

/// The content of the store, for one client.
pub(crate) struct StoredContent<'a> {
    pub(crate) app: &'a App,
    pub(crate) base: &'a str,
    pub(crate) room: &'a ReplyBudget,
}

/// How much content one reply may still include. Other content is referenced by its URL.
pub(crate) struct ReplyBudget(Cell<u64>);

/// The most content in memory for one reply, however many files there are.
const MAX_REPLY_BYTES: u64 = 4 * 1024 * 1024;

impl Default for ReplyBudget {
    fn default() -> Self {
        Self(Cell::new(MAX_REPLY_BYTES))
    }
}

impl ReplyBudget {
    /// Takes `bytes` from the budget, if they fit.
    fn take(&self, bytes: u64) -> bool {
        let left = self.0.get().checked_sub(bytes);
        if let Some(left) = left {
            self.0.set(left);
        }
        left.is_some()
    }
}

impl ContentSource for StoredContent<'_> {
    fn bytes(&self, digest: &Digest) -> Option<Vec<u8>> {
        let read = self.app.read(|reader| reader.blob(digest).map_err(ReadError::Blob));
        read.map_err(|error| internal_fault(self.app, error)).ok()
    }

    fn has_room(&self, bytes: u64) -> bool {
        self.room.take(bytes)
    }

    fn url(&self, digest: &Digest) -> String {
        format!("{}/v1/artifacts/{digest}", self.base)
    }
}

/// The run with this id, if it belongs to the tenant and to the flow in the path. Another tenant's run gives
/// the same answer as a missing one.
pub(crate) fn run_of(app: &App, client: &Client, id: &str) -> Result<RunId, Fault> {
    let run = RunId::new(id).map_err(|_| Fault::task_not_found())?;
    let is_theirs = |reader: &Reader| {
        let row = reader.run(&run)?;
        let of_flow = client.flow.as_ref().map_or(Ok(true), |flow| reader.is_of_flow(&row, flow))?;
        Ok(row.tenant == client.bearer.tenant && of_flow)
    };
    let found = match app.read(is_theirs) {
        Ok(found) => found,
        Err(ReadError::Missing { .. }) => false,
        Err(error) => return Err(internal_fault(app, error)),
    };
    if found { Ok(run) } else { Err(Fault::task_not_found()) }
}

/// The context id of a run.
pub(crate) fn context_of(reader: &Reader, run: &RunId) -> Result<String, ReadError> {
    Ok(reader.task(run)?.map_or_else(|| run.to_string(), |task| task.context))
}

/// The current task from the journal, to which later events cannot be applied. If the run cannot be read, the
/// task follows from its row: a problem of one run is not a failure of the server, and does not remove other
/// tasks from a list.
pub(crate) fn load(app: &App, run: &RunId) -> Result<LoadedTask, Fault> {
    let row = read(app, |reader| reader.run(run))?;
    load_whole(app, run, &row).or_else(|fault| or_row(app, run, fault))
}

/// The task as the run's row describes it, if the run cannot be read. If it can be read, returns `fault`.
pub(crate) fn or_row(app: &App, run: &RunId, fault: Fault) -> Result<LoadedTask, Fault> {
    let row = read(app, |reader| reader.run(run))?;
    match unreadable(app, run, &row) {
        Some(aside) => load_row(app, run, row, aside),
        None => Err(fault),
    }
}

/// A run for a request that changes it. An unreadable run is refused like one that is set aside, which is
/// what its task shows.
pub(crate) fn load_to_change(app: &App, run: &RunId) -> Result<Run, Fault> {
    let loaded = app.read(|reader| {
        check_not_aside(reader, run)?;
        load_run(reader, run).map_err(Problem::from)
    });
    loaded.or_else(|problem| {
        let row = read(app, |reader| reader.run(run))?;
        let aside = unreadable(app, run, &row).filter(|_| row.aside.is_none());
        let refused = aside.map(|why| Refused::set_aside(run, &why.code, &why.reason));
        Err(refused.map_or(problem, Problem::from).into())
    })
}

/// Why a run cannot be read; `None` if it can.
fn unreadable(app: &App, run: &RunId, row: &RunRow) -> Option<Aside> {
    // If the store cannot be read now, the run is not damaged.
    let reason = app.read(|reader| Ok::<_, Problem>(why_unreadable(reader, run))).ok().flatten()?;
    Some(row.aside.clone().unwrap_or_else(|| Aside::new(row.updated_at, Code::RunUnreadable, &reason, "")))
}

/// The task of an unreadable run, from its row.
fn load_row(app: &App, run: &RunId, row: RunRow, aside: Aside) -> Result<LoadedTask, Fault> {
    let context = read(app, |reader| context_of(reader, run))?;
    let nothing = parsed_flow(envoi_flow::LANGUAGE, "none.yaml", NO_FLOW, &BTreeMap::new())
        .map_err(|report| internal_fault(app, report))?;
    Ok(LoadedTask {
        run: run.clone(),
        ids: TaskIds { task: run.to_string(), context },
        fold: Fold::new(nothing.flow),
        client_messages: Vec::new(),
        aside: Some(aside),
        unreadable: Some(row),
    })
}

fn load_whole(app: &App, run: &RunId, row: &RunRow) -> Result<LoadedTask, Fault> {
    let (mut seen, Loaded { snapshot, records, .. }) = opened(app, run)?;
    seen.aside.clone_from(&row.aside);
    let versions = seen.fold.run().versions();
    let state = snapshot.as_ref().map(|kept| Run::restore(versions.clone(), &kept.state));
    match state {
        Some(Ok(mut state)) => {
            records
                .iter()
                .try_for_each(|record| state.apply(record))
                .map_err(|error| internal_fault(app, error))?;
            seen.fold = app
                .read(|reader| from_snapshot(reader, run, state))
                .map_err(|error| internal_fault(app, error))?;
        }
        None => {
            seen.fold.apply(&records).map_err(|error| internal_fault(app, error))?;
        }
        // The state was written by another version; the events are always readable.
        Some(Err(_)) => {
            let all = read(app, |reader| reader.records(run, 0, None))?;
            seen.fold.apply(&all).map_err(|error| internal_fault(app, error))?;
        }
    }
    Ok(seen)
}

/// A task with no event applied yet.
pub(crate) fn load_without_events(app: &App, run: &RunId) -> Result<LoadedTask, Fault> {
    opened(app, run).map(|(seen, _)| seen)
}

/// Adds the flow versions to which the task's run was pinned, if one of these records names a corrected one.
pub(crate) fn learn_versions(app: &App, seen: &mut LoadedTask, records: &[Record]) {
    if !records.iter().any(|record| matches!(record.event, Event::FlowCorrected(_))) {
        return;
    }
    // An unreadable version becomes an error when the event is applied, below.
    let pinned = app.read(|reader| reader.pinned(&seen.run).map_err(Problem::from));
    if let Some(versions) = pinned.ok().and_then(|pinned| envoi_engine::flow_versions(&pinned).ok()) {
        seen.fold.learn(&versions);
    }
}

/// A task with no event applied, and its run as the journal has it.
fn opened(app: &App, run: &RunId) -> Result<(LoadedTask, Loaded), Fault> {
    let read = app.read(|reader| {
        let loaded = reader.load(run)?;
        let ids = TaskIds { task: run.to_string(), context: context_of(reader, run)? };
        Ok::<_, Problem>((loaded, ids, reader.messages(run)?))
    });
    let (loaded, ids, rows) = read.map_err(|problem| {
        app.note(&problem);
        Fault::from(problem)
    })?;
    let versions = envoi_engine::flow_versions(&loaded.pinned)
        .map_err(|report| internal_fault(app, format!("the flow of run `{run}`: {report}")))?;
    let fold = Fold::new(versions);
    let client_messages = rows.iter().filter_map(client_message).collect();
    Ok((LoadedTask { run: run.clone(), ids, fold, client_messages, aside: None, unreadable: None }, loaded))
}

/// A run in this state. Earlier events never change, so all of it counts as one moment.
fn from_snapshot(reader: &Reader, run: &RunId, state: Run) -> Result<Fold, ReadError> {
    let mut shown = reader.records_before(run, &snapshot::CONVERSATION, state.next_seq(), None)?;
    shown.reverse();
    let result = match state.status() {
        // Only a successful run has text and data.
        Status::Ended(ended) if ended.status == EndStatus::Succeeded => {
            let last_text = last_text(reader, run, state.next_seq())?;
            let mut place = state.next_seq();
            let large = snapshot::place_of_last_data(&state, || settled_before(reader, run, &mut place))?;
            RunResult { last_text, large }
        }
        _ => RunResult::default(),
    };
    let places = if state.files().is_empty() { Vec::new() } else { reader.listed_artifacts(run)? };
    let sizes = places.into_iter().filter_map(|place| place.digest.zip(place.size_bytes)).collect();
    Ok(snapshot::standing(state, &shown, &sizes, result))
}

fn last_text(reader: &Reader, run: &RunId, end: Seq) -> Result<Option<Blob>, ReadError> {
    let handoffs = reader.handoffs(run)?;
    let newest = handoffs.into_iter().rev().filter(|row| row.status != SKIPPED).map(|row| row.visit);
    let mut place = end;
    snapshot::last_text(newest, || settled_before(reader, run, &mut place))
}

/// A page of the events that settled attempts, the newest first. Moves `place` back by the page.
fn settled_before(reader: &Reader, run: &RunId, place: &mut Seq) -> Result<Vec<Record>, ReadError> {
    let page = reader.records_before(run, &snapshot::SETTLED, *place, Some(PAGE))?;
    *place = page.last().map_or(*place, |oldest| oldest.seq);
    Ok(page)
}

/// Whole moments of a run, from the first record that `fold` has not applied; empty if there is nothing new.
/// The last moment is left out if more of it may follow, unless it is the only one.
pub(crate) fn next_records(reader: &Reader, run: &RunId, fold: &Fold) -> Result<Vec<Record>, ReadError> {
    let mut limit = PAGE;
    loop {
        let records = reader.records(run, fold.next_seq(), Some(limit))?;
        let full = u32::try_from(records.len()).is_ok_and(|found| found >= limit);
        if let Some(whole) = whole_moments(records, full) {
            return Ok(whole);
        }
        limit = limit.saturating_mul(4);
    }
}

/// Whole moments: without the records of the last moment, if more of it may follow. `None` if all records
/// belong to that moment.
fn whole_moments(mut records: Vec<Record>, more_behind: bool) -> Option<Vec<Record>> {
    if more_behind {
        let last = records.last().map(|record| record.at);
        let whole = records.iter().take_while(|record| Some(record.at) != last).count();
        records.truncate(whole);
        return (whole > 0).then_some(records);
    }
    Some(records)
}

/// A client's message, from its row.
pub(crate) fn client_message(row: &MessageRow) -> Option<ClientMessage> {
    let message = read_message(&row.body)?;
    Some(ClientMessage { request: row.request.clone(), begins: row.task.is_empty(), message })
}

/// A message, from its stored form.
fn read_message(body: &str) -> Option<Message> {
    let Ok(Value::Object(params)) = Value::parse_str(body) else { return None };
    match envoi_a2a::read(Version::V10, Method::Send, &params).ok()?.params {
        Params::Send(request) => Some(request.message),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_carries_so_much_and_no_more() {
        let room = ReplyBudget::default();
        assert!(room.take(MAX_REPLY_BYTES - 1));
        assert!(!room.take(2), "what does not fit takes nothing");
        assert!(room.take(1));
        assert!(!room.take(1) && room.take(0));
    }
    use envoi_contract::time::Timestamp;
    use envoi_kernel::{Event, event::TimerFired, ids::TimerId};

    #[test]
    fn all_events_of_a_moment_arrive_with_any_size_of_page() {
        let records = |times: &[i64]| -> Vec<Record> {
            let event = Event::TimerFired(TimerFired { timer: TimerId::new("tim_1").unwrap() });
            let record = |(seq, at): (u64, &i64)| Record {
                seq,
                at: Timestamp::from_millis(*at),
                event: event.clone(),
            };
            (0..).zip(times).map(record).collect()
        };
        for (times, more_behind, whole) in [
            (&[][..], false, Some(0)),
            (&[1, 1, 2], false, Some(3)),
            (&[1, 1, 2], true, Some(2)),
            (&[1, 2, 2, 2], true, Some(1)),
            (&[1, 1, 1], true, None),
            (&[1, 1, 1], false, Some(3)),
        ] {
            let found = whole_moments(records(times), more_behind).map(|records| records.len());
            assert_eq!(found, whole, "{times:?} {more_behind}");
        }
    }
}
