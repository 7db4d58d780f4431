//! A task as a stream of events (SSE), in either binding: each event once, as it happens.
//!
//! Like in [`crate::rest::event_stream`], a stream is a position in the journal: it reads a bounded page from
//! there, sends one item at a time, and sleeps when there are no more. It begins with the current task,
//! unless the client names the last position that it knows. The stream of a message ends when the task comes
//! to rest; the stream of a task ends with the task.
//!
//! The fact that a run is set aside is stored beside its events. It is sent after all of them, with the id of
//! the last one: a client that returns with that id gets it again if it is still true.

use super::{
    client::Client,
    message::record::{FollowFrom, Sent},
    task::{
        fold::{StreamPosition, TaskUpdate, UpdateKind},
        loader::{self, LoadedTask, ReplyBudget, StoredContent},
        writer::TaskWriter,
    },
    wait::{on_run_thread, on_thread},
};
use crate::{
    auth::token,
    http::{
        problem::Problem,
        sse::{self, Look, Source, Wakes},
    },
    limits::concurrency_limit::Permit,
    state::app::App,
};
use axum::response::Response;
use envoi_a2a::{
    fault::{Fault, Kind},
    json_rpc::{self, Id},
    model::{StreamItem, TaskState},
    version::Version,
};
use envoi_contract::{code::Code, time::Timestamp};
use envoi_kernel::{Event, Record, ids::RunId};
use std::{collections::VecDeque, sync::Arc};
use tokio::sync::watch;

/// The form of a stream's items.
#[derive(Debug, Clone)]
pub(crate) enum Binding {
    /// JSON-RPC responses with this id.
    Rpc(Id),
    /// Plain items.
    Rest,
}

impl Binding {
    fn write(&self, version: Version, item: &StreamItem) -> String {
        let value = envoi_a2a::write_item(version, item);
        match self {
            Self::Rpc(id) => json_rpc::result(id, value),
            Self::Rest => value.compact(),
        }
    }
}

/// The items of a task, for one client.
struct TaskSource {
    app: Arc<App>,
    client: Client,
    binding: Binding,
    /// Whether the stream ends when the task waits for its client.
    until_rest: bool,
    /// `None` while another thread has it, and at the end.
    reading: Option<Reading>,
    _permit: Permit,
}

/// The applied events, and the updates that are still to be sent.
struct Reading {
    seen: LoadedTask,
    /// Everything up to this position was sent.
    after: StreamPosition,
    waiting: VecDeque<TaskUpdate>,
    /// Whether the task itself is to be sent first.
    first: bool,
    /// Since when the run is set aside, as the client knows it.
    known_aside: Option<Timestamp>,
}

impl Reading {
    fn new(seen: LoadedTask, after: StreamPosition, waiting: VecDeque<TaskUpdate>, first: bool) -> Self {
        Self { seen, after, waiting, first, known_aside: None }
    }
}

/// The next thing to send.
enum Next {
    /// An item.
    Item {
        position: StreamPosition,
        item: Box<StreamItem>,
        /// Whether the stream ends after it.
        last: bool,
    },
    /// Nothing yet.
    Nothing,
    /// The stream has ended.
    Over,
}

/// The stream of a message: from the moment when it started or changed the task, until the task comes to
/// rest.
pub(crate) async fn of_message(
    app: &Arc<App>,
    client: Client,
    binding: Binding,
    sent: Sent,
    permit: Permit,
) -> Result<Response, Fault> {
    let commits = app.commits.of_run(&sent.run);
    let reading =
        on_run_thread(app, &sent.run.clone(), move |app, run| applied_until(app, run, &sent.from)).await?;
    let source = TaskSource {
        app: Arc::clone(app),
        client,
        binding,
        until_rest: true,
        reading: Some(reading),
        _permit: permit,
    };
    Ok(sse::follow(source, wakes(app, commits)))
}

/// Follows a task to its end.
pub(crate) async fn of_task(
    app: &Arc<App>,
    client: Client,
    binding: Binding,
    id: &str,
    last_seen: Option<&str>,
) -> Result<Response, Fault> {
    let after = last_seen.map(|id| StreamPosition::parse(id).ok_or_else(unknown_position)).transpose()?;
    let permit = client.permit(app)?;
    let shared = Arc::clone(app);
    let owned = client.clone();
    let id = id.to_owned();
    let run = on_thread(move || loader::run_of(&shared, &owned, &id)).await?;
    let commits = app.commits.of_run(&run);
    let version = client.version;
    let reading = on_run_thread(app, &run, move |app, run| followed(app, run, after, version)).await?;
    let source = TaskSource {
        app: Arc::clone(app),
        client,
        binding,
        until_rest: false,
        reading: Some(reading),
        _permit: permit,
    };
    Ok(sse::follow(source, wakes(app, commits)))
}

fn wakes(app: &App, commits: watch::Receiver<u64>) -> Wakes {
    Wakes { commits, stopping: app.stopping.clone(), keep_alive: app.settings.limits.keep_alive }
}

fn unknown_position() -> Fault {
    Fault::new(Kind::InvalidParams).detail("`Last-Event-ID` is not the id of an event of this stream")
}

/// A task with the events applied up to the one that `from` names. Later events follow in the stream.
fn applied_until(app: &App, run: &RunId, from: &FollowFrom) -> Result<Reading, Fault> {
    let (mut seen, records) = match unapplied(app, run)? {
        Unapplied::Run(seen, records) => (*seen, records),
        Unapplied::Row(reading) => return Ok(*reading),
    };
    let request = match from {
        FollowFrom::Request(request) => Some(request.as_str()),
        FollowFrom::TheStart | FollowFrom::Now => None,
    };
    let reached = match from {
        FollowFrom::TheStart => records.first(),
        FollowFrom::Now => None,
        FollowFrom::Request(_) => records.iter().find(|record| is_of(record, request)),
    };
    // Apply to the end of that moment, or all events if it was not found. The stream sends later events.
    let before = match reached {
        Some(reached) => records.iter().take_while(|record| record.at <= reached.at).count(),
        None => records.len(),
    };
    if let Err(fault) = apply(app, &mut seen, records.get(..before).unwrap_or_default()) {
        return row_alone(app, run, fault);
    }
    let after = StreamPosition::after(seen.fold.next_seq().saturating_sub(1));
    Ok(Reading::new(seen, after, VecDeque::new(), true))
}

fn is_of(record: &Record, request: Option<&str>) -> bool {
    match &record.event {
        Event::InterruptAnswered(answer) | Event::VoteCast(answer) => answer.request.as_deref() == request,
        _ => false,
    }
}

/// The current task; or, for a client that names a position, the updates after it.
///
/// 1.0 refuses a subscription to a finished task (3.1.6). 0.3 does not specify it, and its reference server
/// sends the task and ends the stream: so a client that lost its stream just before the end gets the result.
fn followed(
    app: &App,
    run: &RunId,
    after: Option<StreamPosition>,
    version: Version,
) -> Result<Reading, Fault> {
    let (mut seen, records) = match unapplied(app, run)? {
        Unapplied::Run(seen, records) => (*seen, records),
        Unapplied::Row(reading) => return Ok(*reading),
    };
    let updates = match apply(app, &mut seen, &records) {
        Ok(updates) => updates,
        // The events contradict each other.
        Err(fault) => return row_alone(app, run, fault),
    };
    let newest = StreamPosition::after(seen.fold.next_seq().saturating_sub(1));
    let state = seen.fold.standing().state;
    let unknown: VecDeque<TaskUpdate> = updates
        .into_iter()
        .filter(|update| after.is_some_and(|after| update.position.is_after(after)))
        .collect();
    let yields_the_task = version == Version::V03 && after.is_none_or(|after| !after.is_after(newest));
    if state.is_terminal() && unknown.is_empty() && !yields_the_task {
        let detail = "the task is over; `GetTask` has it as it ended";
        return Err(Fault::new(Kind::UnsupportedOperation).detail(detail).code(Code::RunOver));
    }
    match after {
        Some(after) if after.is_after(newest) => Err(unknown_position()),
        Some(_) if state.is_terminal() && unknown.is_empty() => Ok(Reading::new(seen, newest, unknown, true)),
        Some(after) => Ok(Reading::new(seen, after, unknown, false)),
        None => Ok(Reading::new(seen, newest, VecDeque::new(), true)),
    }
}

/// A run before its events are applied.
enum Unapplied {
    Run(Box<LoadedTask>, Vec<Record>),
    /// The run cannot be read: the stream sends the task as its row describes it, and ends.
    Row(Box<Reading>),
}

fn unapplied(app: &App, run: &RunId) -> Result<Unapplied, Fault> {
    let loaded = || {
        let seen = loader::load_without_events(app, run)?;
        let records = read(app, &seen)?;
        Ok((seen, records))
    };
    match loaded() {
        Ok((seen, records)) => Ok(Unapplied::Run(Box::new(seen), records)),
        Err(fault) => Ok(Unapplied::Row(Box::new(row_alone(app, run, fault)?))),
    }
}

/// The task of an unreadable run, as its row describes it. The stream ends after it.
fn row_alone(app: &App, run: &RunId, fault: Fault) -> Result<Reading, Fault> {
    let seen = loader::or_row(app, run, fault)?;
    Ok(Reading::new(seen, StreamPosition::after(0), VecDeque::new(), true))
}

fn read(app: &App, seen: &LoadedTask) -> Result<Vec<Record>, Fault> {
    let records = app.read(|reader| reader.records(&seen.run, 0, None).map_err(Problem::from));
    records.map_err(|problem| {
        app.note(&problem);
        problem.into()
    })
}

fn apply(app: &App, seen: &mut LoadedTask, records: &[Record]) -> Result<Vec<TaskUpdate>, Fault> {
    loader::learn_versions(app, seen, records);
    seen.fold.apply(records).map_err(|error| super::client::internal_fault(app, error))
}

impl Source for TaskSource {
    async fn look(&mut self) -> Look {
        match self.next().await {
            Ok(Next::Item { position, item, last }) => {
                if last {
                    self.reading = None;
                }
                let mut text = String::new();
                sse::event(&mut text, position, None, &self.binding.write(self.client.version, &item));
                Look::Events(text)
            }
            Ok(Next::Nothing) => Look::Nothing,
            // An error was logged; the client knows its position.
            Ok(Next::Over) | Err(_) => Look::Over,
        }
    }
}

impl TaskSource {
    async fn next(&mut self) -> Result<Next, Fault> {
        let Some(mut reading) = self.reading.take() else { return Ok(Next::Over) };
        let app = Arc::clone(&self.app);
        let client = self.client.clone();
        let until_rest = self.until_rest;
        let looked = on_thread(move || {
            let next = reading.next(&app, &client, until_rest)?;
            Ok((reading, next))
        });
        let (reading, next) = looked.await?;
        self.reading = Some(reading);
        Ok(next)
    }
}

impl Reading {
    fn next(&mut self, app: &App, client: &Client, until_rest: bool) -> Result<Next, Fault> {
        let ends = |state: TaskState| state.is_terminal() || (until_rest && state.is_interrupted());
        if self.first {
            self.first = false;
            let task = self.seen.task(app, &client.base, true);
            let last = ends(task.status.state) || self.seen.unreadable.is_some();
            return Ok(Next::Item { position: self.after, item: Box::new(StreamItem::Task(task)), last });
        }
        if self.waiting.is_empty() && !self.read_more(app, client)? {
            return Ok(Next::Over);
        }
        let Some(update) = self.waiting.pop_front() else {
            return Ok(self.set_aside_or_taken_up(app, client, until_rest));
        };
        let last = matches!(&update.kind, UpdateKind::Status(standing) if ends(standing.state));
        let shelf = StoredContent { app, base: &client.base, room: &ReplyBudget::default() };
        let item = TaskWriter { ids: &self.seen.ids, content: &shelf, aside: None }.item(&update, last);
        self.after = update.position;
        if matches!(update.kind, UpdateKind::Status(_)) {
            // A status does not include this.
            self.known_aside = None;
        }
        Ok(Next::Item { position: update.position, item: Box::new(item), last })
    }

    /// An item that the run was set aside, or is no longer set aside, if the client does not know it.
    fn set_aside_or_taken_up(&mut self, app: &App, client: &Client, until_rest: bool) -> Next {
        let standing = self.seen.fold.standing();
        let aside = self.seen.aside.as_ref().filter(|_| !standing.state.is_terminal());
        let since = aside.map(|why| why.since);
        if since == self.known_aside {
            return Next::Nothing;
        }
        self.known_aside = since;
        let last = until_rest && since.is_some();
        let shelf = StoredContent { app, base: &client.base, room: &ReplyBudget::default() };
        let item = TaskWriter { ids: &self.seen.ids, content: &shelf, aside }.status_item(&standing, last);
        Next::Item { position: self.after, item: Box::new(item), last }
    }

    /// Applies new records until there is something to send. `false` if the client's token is no longer
    /// valid.
    fn read_more(&mut self, app: &App, client: &Client) -> Result<bool, Fault> {
        loop {
            let LoadedTask { run, fold, .. } = &self.seen;
            let read = app.read(|reader| {
                // A token that is no longer valid gets nothing more.
                if !token::still_good(reader, &client.bearer.id, app.now())? {
                    return Ok::<_, Problem>(None);
                }
                // Read before the events, so that the events that led to it are sent first.
                let aside = reader.run(run)?.aside;
                Ok(Some((loader::next_records(reader, run, fold)?, aside)))
            });
            let read = read.map_err(|problem| {
                app.note(&problem);
                Fault::from(problem)
            })?;
            let Some((records, aside)) = read else { return Ok(false) };
            self.seen.aside = aside;
            let updates = apply(app, &mut self.seen, &records)?;
            self.waiting.extend(updates);
            if !self.waiting.is_empty() || records.is_empty() {
                return Ok(true);
            }
        }
    }
}
