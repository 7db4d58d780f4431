//! A task as a stream of events (SSE), in either binding: what happens, as it happens, each thing once.
//!
//! As [`crate::rest::event_stream`]: a stream is a place in the journal, reads a bounded page from there, hands one thing over at a time, and
//! sleeps when there is nothing more. It begins with the task as it stands, unless the client says up to where it knows it. The
//! one that a message opens ends where the task comes to rest; the one that follows a task, at the task's end.

use super::{
    client::Asking,
    message::record::{From, Sent},
    protocol::{
        fault::{Fault, Kind},
        json_rpc::{self, Id},
        model::{StreamItem, TaskState},
        version::Version,
    },
    task::{
        fold::{Place, Told, What},
        loader::{self, Room, Seen, Store},
        writer::Scribe,
    },
    wait::{aside, off},
};
use crate::{
    auth::token,
    http::{problem::Problem, response},
    limits::concurrency_limit::Permit,
    state::app::App,
};
use axum::{body::Body, response::Response};
use bytes::Bytes;
use envoi_kernel::{Event, Record, ids::RunId};
use futures_util::stream;
use std::{collections::VecDeque, convert::Infallible, sync::Arc};
use tokio::sync::watch;

/// How the things of a stream are written.
#[derive(Debug, Clone)]
pub(crate) enum Frame {
    /// Each is a response of JSON-RPC.
    Rpc(Id),
    /// Each is what it is.
    Rest,
}

impl Frame {
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
    asking: Asking,
    frame: Frame,
    /// Whether it ends where the task waits for its client.
    until_rest: bool,
    /// `None` while it is read from, and at the end.
    reading: Option<Reading>,
    wake: watch::Receiver<u64>,
    stopping: watch::Receiver<bool>,
    _permit: Permit,
}

/// What was heard, and what of it is still to be handed over.
struct Reading {
    seen: Seen,
    /// Nothing up to here is handed over.
    after: Place,
    waiting: VecDeque<Told>,
    /// Whether the task itself is handed over first.
    first: bool,
}

/// What a look at the journal brought.
enum Next {
    /// A thing with its place, and whether the stream ends with it.
    Thing(Place, Box<StreamItem>, bool),
    /// Nothing yet.
    Nothing,
    /// There will be no more.
    Over,
}

/// What a message opens: from the moment that it began or moved the task, to where the task comes to rest.
pub(crate) async fn of_message(
    app: &Arc<App>,
    asking: Asking,
    frame: Frame,
    (sent, permit): (Sent, Permit),
) -> Result<Response, Fault> {
    let wake = app.wakes.of_run(&sent.run);
    let reading = off(app, &sent.run.clone(), move |app, run| heard_until(app, run, &sent.from)).await?;
    let follower = Follower {
        stopping: app.stopping.clone(),
        app: Arc::clone(app),
        asking,
        frame,
        until_rest: true,
        reading: Some(reading),
        wake,
        _permit: permit,
    };
    Ok(begun(follower))
}

/// Follows a task to its end.
pub(crate) async fn of_task(
    app: &Arc<App>,
    asking: Asking,
    frame: Frame,
    id: &str,
    last_seen: Option<&str>,
) -> Result<Response, Fault> {
    let after = last_seen.map(|id| Place::parse(id).ok_or_else(no_place)).transpose()?;
    let permit = asking.permit(app)?;
    let (shared, client, id) = (Arc::clone(app), asking.clone(), id.to_owned());
    let run = aside(move || loader::run_of(&shared, &client, &id)).await?;
    let wake = app.wakes.of_run(&run);
    let version = asking.version;
    let reading = off(app, &run, move |app, run| followed(app, run, after, version)).await?;
    let follower = Follower {
        stopping: app.stopping.clone(),
        app: Arc::clone(app),
        asking,
        frame,
        until_rest: false,
        reading: Some(reading),
        wake,
        _permit: permit,
    };
    Ok(begun(follower))
}

fn no_place() -> Fault {
    Fault::new(Kind::InvalidParams).detail("`Last-Event-ID` is not the id of an event of this stream")
}

/// A task of which as much was heard as there is up to what `from` says; the rest waits.
fn heard_until(app: &App, run: &RunId, from: &From) -> Result<Reading, Fault> {
    let mut seen = loader::unheard(app, run)?;
    let records = read(app, &seen)?;
    let request = match from {
        From::Request(request) => Some(request.as_str()),
        From::TheStart | From::Now => None,
    };
    let reached = match from {
        From::TheStart => records.first(),
        From::Now => None,
        From::Request(_) => records.iter().find(|record| is_of(record, request)),
    };
    // To the end of that moment, else of all there is; what is behind it is told as to whoever had waited.
    let before = match reached {
        Some(reached) => records.iter().take_while(|record| record.at <= reached.at).count(),
        None => records.len(),
    };
    hear(app, &mut seen, records.get(..before).unwrap_or_default())?;
    let after = Place::after(seen.fold.next_seq().saturating_sub(1));
    Ok(Reading { seen, after, waiting: VecDeque::new(), first: true })
}

fn is_of(record: &Record, request: Option<&str>) -> bool {
    match &record.event {
        Event::InterruptAnswered(answer) | Event::VoteCast(answer) => answer.request.as_deref() == request,
        _ => false,
    }
}

/// A task as it stands; or, for a client that knows it up to a place, what it does not know yet.
///
/// 1.0 refuses a subscription to a task that is over (3.1.6). 0.3 says nothing about it, and its reference server yields
/// the task and ends: a client that lost its stream just before the end learns the result that way.
fn followed(app: &App, run: &RunId, after: Option<Place>, version: Version) -> Result<Reading, Fault> {
    let mut seen = loader::unheard(app, run)?;
    let records = read(app, &seen)?;
    let told = hear(app, &mut seen, &records)?;
    let newest = Place::after(seen.fold.next_seq().saturating_sub(1));
    let state = seen.fold.standing().state;
    let unknown: VecDeque<Told> =
        told.into_iter().filter(|told| after.is_some_and(|after| told.place.is_after(after))).collect();
    let yields_the_task = version == Version::V03 && after.is_none_or(|after| !after.is_after(newest));
    if state.is_terminal() && unknown.is_empty() && !yields_the_task {
        let detail = "the task is over; `GetTask` has it as it ended";
        return Err(Fault::new(Kind::UnsupportedOperation).detail(detail).code("RUN_OVER"));
    }
    match after {
        Some(after) if after.is_after(newest) => Err(no_place()),
        Some(_) if state.is_terminal() && unknown.is_empty() => {
            Ok(Reading { seen, after: newest, waiting: unknown, first: true })
        }
        Some(after) => Ok(Reading { seen, after, waiting: unknown, first: false }),
        None => Ok(Reading { seen, after: newest, waiting: VecDeque::new(), first: true }),
    }
}

fn read(app: &App, seen: &Seen) -> Result<Vec<Record>, Fault> {
    let records = app.read(|reader| reader.records(&seen.run, 0, None).map_err(Problem::from));
    records.map_err(|problem| {
        app.note(&problem);
        problem.into()
    })
}

fn hear(app: &App, seen: &mut Seen, records: &[Record]) -> Result<Vec<Told>, Fault> {
    seen.fold.hear(records).map_err(|error| super::client::broken(app, error))
}

fn begun(follower: Follower) -> Response {
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
            // Seen before the look, so that what is committed during it wakes at once.
            self.wake.borrow_and_update();
            match self.look().await {
                Ok(Next::Thing(place, item, last)) => {
                    if last {
                        self.reading = None;
                    }
                    let data = self.frame.write(self.asking.version, &item);
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
        let (app, asking, until_rest) = (Arc::clone(&self.app), self.asking.clone(), self.until_rest);
        let looked = aside(move || {
            let next = reading.next(&app, &asking, until_rest)?;
            Ok((reading, next))
        });
        let (reading, next) = looked.await?;
        self.reading = Some(reading);
        Ok(next)
    }
}

impl Reading {
    fn next(&mut self, app: &App, asking: &Asking, until_rest: bool) -> Result<Next, Fault> {
        let ends = |state: TaskState| state.is_terminal() || (until_rest && state.is_interrupted());
        if self.first {
            self.first = false;
            let task = self.seen.task(app, &asking.base, true);
            let last = ends(task.status.state);
            return Ok(Next::Thing(self.after, Box::new(StreamItem::Task(task)), last));
        }
        if self.waiting.is_empty() && !self.hear_more(app, asking)? {
            return Ok(Next::Over);
        }
        let Some(told) = self.waiting.pop_front() else { return Ok(Next::Nothing) };
        let last = matches!(&told.what, What::Stands(standing) if ends(standing.state));
        let shelf = Store { app, base: &asking.base, room: &Room::default() };
        let item = Scribe { names: &self.seen.names, shelf: &shelf }.item(&told, last);
        self.after = told.place;
        Ok(Next::Thing(told.place, Box::new(item), last))
    }

    /// Hears what is new until something of it is to be told. `false` if the client may see no more.
    fn hear_more(&mut self, app: &App, asking: &Asking) -> Result<bool, Fault> {
        loop {
            let Seen { run, fold, .. } = &self.seen;
            let read = app.read(|reader| {
                // A token that is good no more sees nothing more.
                if !token::still_good(reader, &asking.bearer.id, app.now())? {
                    return Ok::<_, Problem>(None);
                }
                Ok(Some(loader::news(reader, run, fold)?))
            });
            let read = read.map_err(|problem| {
                app.note(&problem);
                Fault::from(problem)
            })?;
            let Some(records) = read else { return Ok(false) };
            let told = hear(app, &mut self.seen, &records)?;
            self.waiting.extend(told);
            if !self.waiting.is_empty() || records.is_empty() {
                return Ok(true);
            }
        }
    }
}
