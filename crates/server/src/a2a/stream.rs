//! A task as a stream of events (SSE), in either binding: what happens, as it happens, each thing once.
//!
//! As in [`crate::rest::event_stream`], a stream is a position in the journal: it reads a bounded page from there,
//! sends one item at a time, and sleeps when there is nothing more. It begins with the task as it stands, unless the
//! client names the last position that it knows. The stream of a message ends where the task comes to rest; the stream
//! of a task ends with the task.
//!
//! That a run is set aside stands beside its events. It is sent after all of them, with the id of the last one: a client that
//! comes back with that id gets it again if it still holds.

use super::{
    client::Client,
    message::record::{FollowFrom, Sent},
    protocol::{
        fault::{Fault, Kind},
        json_rpc::{self, Id},
        model::{StreamItem, TaskState},
        version::Version,
    },
    task::{
        fold::{StreamPosition, TaskUpdate, UpdateKind},
        loader::{self, LoadedTask, ReplyBudget, StoredContent},
        writer::TaskWriter,
    },
    wait::{on_run_thread, on_thread},
};
use crate::{
    auth::token,
    http::{problem::Problem, response},
    limits::concurrency_limit::Permit,
    state::app::App,
};
use axum::{body::Body, response::Response};
use bytes::Bytes;
use envoi_contract::time::Timestamp;
use envoi_kernel::{Event, Record, ids::RunId};
use futures_util::stream;
use std::{collections::VecDeque, convert::Infallible, sync::Arc};
use tokio::sync::watch;

/// How the things of a stream are written.
#[derive(Debug, Clone)]
pub(crate) enum Binding {
    /// Each is a response of JSON-RPC.
    Rpc(Id),
    /// Each is what it is.
    Rest,
}

impl Binding {
    fn write(&self, version: Version, item: &StreamItem) -> String {
        let value = super::protocol::write_item(version, item);
        match self {
            Self::Rpc(id) => json_rpc::result(id, value),
            Self::Rest => value.compact(),
        }
    }
}

/// An open stream.
struct Follower {
    app: Arc<App>,
    client: Client,
    frame: Binding,
    /// Whether it ends where the task waits for its client.
    until_rest: bool,
    /// `None` while it is read from, and at the end.
    reading: Option<Reading>,
    wake: watch::Receiver<u64>,
    stopping: watch::Receiver<bool>,
    _permit: Permit,
}

/// What was applied, and what of it is still to be sent.
struct Reading {
    seen: LoadedTask,
    /// Nothing up to here is handed over.
    after: StreamPosition,
    waiting: VecDeque<TaskUpdate>,
    /// Whether the task itself is handed over first.
    first: bool,
    /// Since when the run is set aside, as the client knows it.
    known_aside: Option<Timestamp>,
}

impl Reading {
    fn new(seen: LoadedTask, after: StreamPosition, waiting: VecDeque<TaskUpdate>, first: bool) -> Self {
        Self { seen, after, waiting, first, known_aside: None }
    }
}

/// What a look at the journal brought.
enum Next {
    /// A thing with its place, and whether the stream ends with it.
    Thing(StreamPosition, Box<StreamItem>, bool),
    /// Nothing yet.
    Nothing,
    /// There will be no more.
    Over,
}

/// What a message opens: from the moment that it began or moved the task, to where the task comes to rest.
pub(crate) async fn of_message(
    app: &Arc<App>,
    client: Client,
    frame: Binding,
    (sent, permit): (Sent, Permit),
) -> Result<Response, Fault> {
    let wake = app.commits.of_run(&sent.run);
    let reading =
        on_run_thread(app, &sent.run.clone(), move |app, run| applied_until(app, run, &sent.from)).await?;
    let follower = Follower {
        stopping: app.stopping.clone(),
        app: Arc::clone(app),
        client,
        frame,
        until_rest: true,
        reading: Some(reading),
        wake,
        _permit: permit,
    };
    Ok(response_of(follower))
}

/// Follows a task to its end.
pub(crate) async fn of_task(
    app: &Arc<App>,
    client: Client,
    frame: Binding,
    id: &str,
    last_seen: Option<&str>,
) -> Result<Response, Fault> {
    let after = last_seen.map(|id| StreamPosition::parse(id).ok_or_else(unknown_position)).transpose()?;
    let permit = client.permit(app)?;
    let (shared, owned, id) = (Arc::clone(app), client.clone(), id.to_owned());
    let run = on_thread(move || loader::run_of(&shared, &owned, &id)).await?;
    let wake = app.commits.of_run(&run);
    let version = client.version;
    let reading = on_run_thread(app, &run, move |app, run| followed(app, run, after, version)).await?;
    let follower = Follower {
        stopping: app.stopping.clone(),
        app: Arc::clone(app),
        client,
        frame,
        until_rest: false,
        reading: Some(reading),
        wake,
        _permit: permit,
    };
    Ok(response_of(follower))
}

fn unknown_position() -> Fault {
    Fault::new(Kind::InvalidParams).detail("`Last-Event-ID` is not the id of an event of this stream")
}

/// A task with events applied up to what `from` names; later events follow in the stream.
fn applied_until(app: &App, run: &RunId, from: &FollowFrom) -> Result<Reading, Fault> {
    let mut seen = loader::load_without_events(app, run)?;
    let records = read(app, &seen)?;
    let request = match from {
        FollowFrom::Request(request) => Some(request.as_str()),
        FollowFrom::TheStart | FollowFrom::Now => None,
    };
    let reached = match from {
        FollowFrom::TheStart => records.first(),
        FollowFrom::Now => None,
        FollowFrom::Request(_) => records.iter().find(|record| is_of(record, request)),
    };
    // Apply to the end of that moment, else all there is. The stream sends what comes after it.
    let before = match reached {
        Some(reached) => records.iter().take_while(|record| record.at <= reached.at).count(),
        None => records.len(),
    };
    apply(app, &mut seen, records.get(..before).unwrap_or_default())?;
    let after = StreamPosition::after(seen.fold.next_seq().saturating_sub(1));
    Ok(Reading::new(seen, after, VecDeque::new(), true))
}

fn is_of(record: &Record, request: Option<&str>) -> bool {
    match &record.event {
        Event::InterruptAnswered(answer) | Event::VoteCast(answer) => answer.request.as_deref() == request,
        _ => false,
    }
}

/// A task as it stands; or, for a client that knows it up to a place, what it does not know yet.
///
/// 1.0 refuses a subscription to a task that is over (3.1.6). 0.3 leaves it open, and its reference server sends the
/// task and ends: a client that lost its stream just before the end gets the result that way.
fn followed(
    app: &App,
    run: &RunId,
    after: Option<StreamPosition>,
    version: Version,
) -> Result<Reading, Fault> {
    let mut seen = loader::load_without_events(app, run)?;
    let records = read(app, &seen)?;
    let updates = apply(app, &mut seen, &records)?;
    let newest = StreamPosition::after(seen.fold.next_seq().saturating_sub(1));
    let state = seen.fold.standing().state;
    let unknown: VecDeque<TaskUpdate> = updates
        .into_iter()
        .filter(|update| after.is_some_and(|after| update.position.is_after(after)))
        .collect();
    let yields_the_task = version == Version::V03 && after.is_none_or(|after| !after.is_after(newest));
    if state.is_terminal() && unknown.is_empty() && !yields_the_task {
        let detail = "the task is over; `GetTask` has it as it ended";
        return Err(Fault::new(Kind::UnsupportedOperation).detail(detail).code("RUN_OVER"));
    }
    match after {
        Some(after) if after.is_after(newest) => Err(unknown_position()),
        Some(_) if state.is_terminal() && unknown.is_empty() => Ok(Reading::new(seen, newest, unknown, true)),
        Some(after) => Ok(Reading::new(seen, after, unknown, false)),
        None => Ok(Reading::new(seen, newest, VecDeque::new(), true)),
    }
}

fn read(app: &App, seen: &LoadedTask) -> Result<Vec<Record>, Fault> {
    let records = app.read(|reader| reader.records(&seen.run, 0, None).map_err(Problem::from));
    records.map_err(|problem| {
        app.note(&problem);
        problem.into()
    })
}

fn apply(app: &App, seen: &mut LoadedTask, records: &[Record]) -> Result<Vec<TaskUpdate>, Fault> {
    seen.fold.apply(records).map_err(|error| super::client::internal_fault(app, error))
}

fn response_of(follower: Follower) -> Response {
    let events = stream::unfold(follower, |mut follower| async move {
        let chunk = follower.chunk().await?;
        Some((Ok::<_, Infallible>(chunk), follower))
    });
    response::of(200, "text/event-stream", Body::from_stream(events))
}

impl Follower {
    /// What is handed over next; `None` at the end.
    async fn chunk(&mut self) -> Option<Bytes> {
        loop {
            if *self.stopping.borrow_and_update() {
                return None;
            }
            // Marked as seen before the journal is read, so that a commit during the reading wakes the stream at once.
            self.wake.borrow_and_update();
            match self.look().await {
                Ok(Next::Thing(place, item, last)) => {
                    if last {
                        self.reading = None;
                    }
                    let data = self.frame.write(self.client.version, &item);
                    return Some(format!("id: {place}\ndata: {data}\n\n").into());
                }
                Ok(Next::Nothing) => {
                    if let Some(sign) = self.sleep().await {
                        return Some(sign);
                    }
                }
                // What went wrong is in the log; the client knows its place.
                Ok(Next::Over) | Err(_) => return None,
            }
        }
    }

    /// Until something is committed; a sign of life if nothing is for long.
    async fn sleep(&mut self) -> Option<Bytes> {
        tokio::select! {
            _ = self.wake.changed() => None,
            _ = self.stopping.changed() => None,
            () = tokio::time::sleep(self.app.settings.limits.keep_alive) => Some(Bytes::from_static(b":\n\n")),
        }
    }

    async fn look(&mut self) -> Result<Next, Fault> {
        let Some(mut reading) = self.reading.take() else { return Ok(Next::Over) };
        let (app, client, until_rest) = (Arc::clone(&self.app), self.client.clone(), self.until_rest);
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
            let last = ends(task.status.state);
            return Ok(Next::Thing(self.after, Box::new(StreamItem::Task(task)), last));
        }
        if self.waiting.is_empty() && !self.hear_more(app, client)? {
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
            // It said nothing of that.
            self.known_aside = None;
        }
        Ok(Next::Thing(update.position, Box::new(item), last))
    }

    /// That the run is set aside, or is not any more, if the client does not know it.
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
        Next::Thing(self.after, Box::new(item), last)
    }

    /// Applies new records until there is something to send. `false` if the client's token is good no more.
    fn hear_more(&mut self, app: &App, client: &Client) -> Result<bool, Fault> {
        loop {
            let LoadedTask { run, fold, .. } = &self.seen;
            let read = app.read(|reader| {
                // A token that is good no more sees nothing more.
                if !token::still_good(reader, &client.bearer.id, app.now())? {
                    return Ok::<_, Problem>(None);
                }
                // Before the events: what led to its being set aside is told before it.
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
