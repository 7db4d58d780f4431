//! Streams of events (SSE): each event once, as it happens.
//!
//! A stream is only a position in the journal. It reads a bounded page from there, sends it, and continues
//! when that is sent: a slow reader needs memory for one page, and delays no other reader. When there are no
//! more events, the stream sleeps until the engine has committed something. Its ids are positions in the
//! journal. A reader that reconnects with the last id misses nothing and gets nothing twice, whatever has
//! happened to either side.

use crate::{
    auth::{session, token},
    http::{
        problem::Problem,
        response,
        sse::{self, Look, Source, Wakes},
        work::blocking,
    },
    limits::concurrency_limit::Permit,
    request::ApiRequest,
    state::app::App,
};
use axum::response::Response;
use envoi_api::event;
use envoi_contract::code::Code;
use envoi_journal::{EventFilter, Reader, RunChange};
use envoi_kernel::ids::RunId;
use std::sync::Arc;
use tokio::sync::watch;

/// A `Last-Event-ID` for a stream of questions: all events follow, from the first one on.
pub(crate) const NOTHING_SEEN: &str = "0";

/// The most events in a page.
const PAGE: u32 = 16;

/// A page of this size in bytes is full.
const PAGE_BYTES: usize = 64 * 1024;

/// The content of a stream.
#[derive(Clone)]
enum Feed {
    /// The events of a run; their ids are their `seq`. The flag: send them in the form that the journal
    /// stores.
    Run(RunId, bool),
    /// The questions of a tenant; their ids are the `RUN:SEQ` of their events. The positions among the events
    /// of all runs, which the stream uses, are not shown: they would reveal how active other tenants are.
    Questions(String),
    /// Hints about all runs of a tenant: which have changed, but not how. Ids are like those of questions.
    Hints(String),
}

/// The events of a feed, for one token.
struct FeedSource {
    app: Arc<App>,
    feed: Feed,
    token: String,
    /// The session that reads the stream in the token's name.
    session: Option<String>,
    /// The first event that was not sent yet.
    next: u64,
    _permit: Permit,
}

/// A page of the journal.
enum Page {
    /// Text of events, and the next position.
    Events(String, u64),
    /// Nothing yet, up to this position.
    Nothing(u64),
    /// The stream has ended.
    Over,
}

/// `followRun`.
pub(crate) async fn run(app: &Arc<App>, request: ApiRequest) -> Result<Response, Problem> {
    let next = match request.last_event_id() {
        None => 0,
        Some(id) => id.parse::<u64>().map_err(|_| bad_id())?.saturating_add(1),
    };
    let is_stored = request.wants_stored()?;
    let shared = Arc::clone(app);
    let (request, run, over) = blocking(move || {
        let run = request.run(&shared)?;
        let row = shared.read(|reader| reader.run(&run).map_err(Problem::from))?;
        let over = is_over(next, row.next_seq, row.ended.is_some())?;
        Ok((request, run, over))
    })
    .await?;
    if over {
        return Ok(response::empty(204));
    }
    let wake = app.commits.of_run(&run);
    open(app, &request, Feed::Run(run, is_stored), next, wake)
}

/// `followQuestions`.
pub(crate) async fn questions(app: &Arc<App>, request: ApiRequest) -> Result<Response, Problem> {
    let wake = app.commits.of_questions();
    let shared = Arc::clone(app);
    let (request, last) = blocking(move || {
        let last = shared.read(|reader| last_seen(reader, &request))?;
        Ok((request, last))
    })
    .await?;
    let next = last.saturating_add(1);
    let what = Feed::Questions(request.bearer.tenant.clone());
    open(app, &request, what, next, wake)
}

/// `followTenant`.
pub(crate) async fn tenant(app: &Arc<App>, request: ApiRequest) -> Result<Response, Problem> {
    let wake = app.commits.of_all();
    let shared = Arc::clone(app);
    let (request, last) = blocking(move || {
        let last = shared.read(|reader| last_seen(reader, &request))?;
        Ok((request, last))
    })
    .await?;
    let what = Feed::Hints(request.bearer.tenant.clone());
    open(app, &request, what, last.saturating_add(1), wake)
}

/// Whether no events follow for a reader that wants those from `next` on. An id beyond the newest event is an
/// error: otherwise the events before it would never be sent.
fn is_over(next: u64, next_seq: u64, ended: bool) -> Result<bool, Problem> {
    if next > next_seq { Err(bad_id()) } else { Ok(ended && next == next_seq) }
}

fn bad_id() -> Problem {
    Problem::bad_request("`Last-Event-ID` is not the id of an event of this stream")
}

/// The position of the last event that the reader has seen; without an id, the current one.
fn last_seen(reader: &Reader, request: &ApiRequest) -> Result<u64, Problem> {
    let Some(id) = request.last_event_id() else { return Ok(reader.position()?) };
    if id == NOTHING_SEEN {
        return Ok(0);
    }
    let (run, seq) = id.split_once(':').ok_or_else(bad_id)?;
    let run = RunId::new(run).map_err(|_| bad_id())?;
    let seq = seq.parse().map_err(|_| bad_id())?;
    reader.place_of(&request.bearer.tenant, &run, seq)?.ok_or_else(bad_id)
}

fn open(
    app: &Arc<App>,
    request: &ApiRequest,
    what: Feed,
    next: u64,
    wake: watch::Receiver<u64>,
) -> Result<Response, Problem> {
    let permit = app.open_streams.acquire(&request.bearer.id).ok_or_else(|| {
        let detail = "this token has as many streams open as it may";
        Problem::new(Code::TooManyStreams, detail).retry_after(5)
    })?;
    let wakes =
        Wakes { commits: wake, stopping: app.stopping.clone(), keep_alive: app.settings.limits.keep_alive };
    let source = FeedSource {
        app: Arc::clone(app),
        feed: what,
        token: request.bearer.id.clone(),
        session: request.bearer.session.clone(),
        next,
        _permit: permit,
    };
    Ok(sse::follow(source, wakes))
}

impl Source for FeedSource {
    async fn look(&mut self) -> Look {
        match self.page().await {
            Ok(Page::Events(text, next)) => {
                self.next = next;
                Look::Events(text)
            }
            Ok(Page::Nothing(next)) if next > self.next => {
                self.next = next;
                Look::Moved
            }
            Ok(Page::Nothing(_)) => Look::Nothing,
            Ok(Page::Over) => Look::Over,
            Err(problem) => {
                self.app.note(&problem);
                Look::Over
            }
        }
    }
}

impl FeedSource {
    async fn page(&self) -> Result<Page, Problem> {
        let app = Arc::clone(&self.app);
        let feed = self.feed.clone();
        let token = self.token.clone();
        let session = self.session.clone();
        let next = self.next;
        blocking(move || {
            let now = app.now();
            app.read(|reader| {
                // A token or a session that is no longer valid gets nothing more.
                let is_signed_out = match &session {
                    Some(id) => !session::still_good(reader, id, now)?,
                    None => false,
                };
                if is_signed_out || !token::still_good(reader, &token, now)? {
                    return Ok(Page::Over);
                }
                match feed {
                    Feed::Run(run, is_stored) => run_page(&app, reader, &run, next, is_stored),
                    Feed::Questions(tenant) => question_page(reader, &tenant, next),
                    Feed::Hints(tenant) => hint_page(reader, &tenant, next),
                }
            })
        })
        .await
    }
}

fn run_page(app: &App, reader: &Reader, run: &RunId, next: u64, is_stored: bool) -> Result<Page, Problem> {
    // Read before the records, so that a run that is reopened in between does not end the stream.
    let row = reader.run(run)?;
    let events = reader.event_texts(run, next, PAGE, PAGE_BYTES, EventFilter::All)?;
    let Some(last) = events.last() else {
        let over = row.ended.is_some() && next >= row.next_seq;
        return Ok(if over { Page::Over } else { Page::Nothing(next) });
    };
    let after = last.seq.saturating_add(1);
    // Allocate memory for the whole text at once: it is held until the text is sent.
    let bytes = events
        .iter()
        .fold(0_usize, |sum, event| sum.saturating_add(event.json.len()).saturating_add(sse::FRAME_BYTES));
    let mut text = String::with_capacity(bytes);
    for item in events {
        let data = match is_stored {
            true => event::text_and_stored(item.json).into(),
            false => app.shown_events.text(item.json),
        };
        sse::event(&mut text, item.seq, Some(&item.name), &data);
    }
    Ok(Page::Events(text, after))
}

fn question_page(reader: &Reader, tenant: &str, next: u64) -> Result<Page, Problem> {
    let (news, seen) = reader.news(tenant, next.saturating_sub(1), PAGE)?;
    let mut after = seen.saturating_add(1).max(next);
    if news.is_empty() {
        return Ok(Page::Nothing(after));
    }
    let mut text = String::new();
    for item in &news {
        if text.len() >= PAGE_BYTES {
            after = item.position;
            break;
        }
        let event = event::shown(&item.record);
        let data = format!("{{\"run\":\"{}\",\"record\":{event}}}", item.run);
        let id = format!("{}:{}", item.run, item.record.seq);
        sse::event(&mut text, id, Some(item.record.event.name()), &data);
    }
    Ok(Page::Events(text, after))
}

/// Each run once, however many events it has had, in the order of their newest events.
fn hint_page(reader: &Reader, tenant: &str, next: u64) -> Result<Page, Problem> {
    let (changes, seen) = reader.changes(tenant, next.saturating_sub(1))?;
    let after = seen.saturating_add(1).max(next);
    if changes.is_empty() {
        return Ok(Page::Nothing(after));
    }
    let mut text = String::new();
    for RunChange { run, newest, asks } in changes {
        let data = format!("{{\"run\":\"{run}\",\"newest\":{newest},\"question\":{asks}}}");
        sse::event(&mut text, format!("{run}:{newest}"), Some("change"), &data);
    }
    Ok(Page::Events(text, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_goes_on_after_an_event_that_is_there() {
        let over = |next, ended| is_over(next, 5, ended).map_err(|problem| problem.code);
        assert_eq!(
            [over(4, false), over(5, false), over(4, true), over(5, true)].map(Result::ok),
            [Some(false), Some(false), Some(false), Some(true)]
        );
        assert!(over(6, false).is_err_and(|code| code == Code::RequestInvalid));
        assert!(over(6, true).is_err_and(|code| code == Code::RequestInvalid));
    }
}
