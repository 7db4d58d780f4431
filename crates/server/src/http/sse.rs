//! Server-sent events: the form of an event, and a response that follows a source of events.
//!
//! Owns the form, the keep-alive comments (their interval is in the server's settings) and the end of a
//! stream. The source decides what the events are, and which one is next.

use super::response;
use axum::{body::Body, response::Response};
use bytes::Bytes;
use futures_util::stream;
use std::{convert::Infallible, fmt::Display, time::Duration};
use tokio::sync::watch;

/// Approximate size of an event without its data, in bytes.
pub(crate) const FRAME_BYTES: usize = 80;

/// A comment that shows proxies and clients that the connection is alive.
const SIGN_OF_LIFE: &[u8] = b":\n\n";

/// Events for one client. The source keeps its position.
pub(crate) trait Source: Send + 'static {
    /// Looks for the next events. An error ends the stream: its cause is logged, and the client reconnects
    /// with its position.
    fn look(&mut self) -> impl Future<Output = Look> + Send;
}

/// The result of one look.
pub(crate) enum Look {
    /// Text of events ([`event`]).
    Events(String),
    /// No events, but the source has moved on: look again.
    Moved,
    /// Nothing new.
    Nothing,
    /// The source has ended.
    Over,
}

/// The signals that wake a stream.
pub(crate) struct Wakes {
    /// Changes with every commit that may have new events.
    pub(crate) commits: watch::Receiver<u64>,
    /// Becomes true when the server stops, which ends the stream.
    pub(crate) stopping: watch::Receiver<bool>,
    /// How often an idle stream sends a keep-alive comment.
    pub(crate) keep_alive: Duration,
}

/// A response that sends the events of `source` as they occur.
pub(crate) fn follow(source: impl Source, wakes: Wakes) -> Response {
    let events = stream::unfold((source, wakes), |(mut source, mut wakes)| async move {
        let chunk = next(&mut source, &mut wakes).await?;
        Some((Ok::<_, Infallible>(chunk), (source, wakes)))
    });
    response::of(200, "text/event-stream", Body::from_stream(events))
}

/// Writes one event to `text`. `data` must be one line.
pub(crate) fn event(text: &mut String, id: impl Display, name: Option<&str>, data: &str) {
    text.push_str(&format!("id: {id}\n"));
    if let Some(name) = name {
        text.push_str(&format!("event: {name}\n"));
    }
    text.push_str("data: ");
    text.push_str(data);
    text.push_str("\n\n");
}

/// The next bytes for the client; `None` at the end.
async fn next(source: &mut impl Source, wakes: &mut Wakes) -> Option<Bytes> {
    loop {
        if *wakes.stopping.borrow_and_update() {
            return None;
        }
        // Marked as seen before `look`, so that a commit during `look` wakes the stream at once.
        wakes.commits.borrow_and_update();
        match source.look().await {
            Look::Events(text) => return Some(text.into()),
            Look::Moved => {}
            Look::Nothing => {
                tokio::select! {
                    _ = wakes.commits.changed() => {}
                    _ = wakes.stopping.changed() => {}
                    () = tokio::time::sleep(wakes.keep_alive) => return Some(Bytes::from_static(SIGN_OF_LIFE)),
                }
            }
            Look::Over => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_has_its_id_its_name_and_one_line_of_data() {
        let mut text = String::new();
        event(&mut text, 7, Some("run_started"), "{}");
        event(&mut text, "8.1", None, "[1]");
        assert_eq!(text, "id: 7\nevent: run_started\ndata: {}\n\nid: 8.1\ndata: [1]\n\n");
    }

    /// Returns these results in order, and then the end.
    struct Looks(Vec<Look>, usize);

    impl Source for Looks {
        async fn look(&mut self) -> Look {
            self.1 += 1;
            self.0.pop().unwrap_or(Look::Over)
        }
    }

    #[test]
    fn an_idle_stream_sends_a_sign_of_life_and_one_that_moved_looks_again() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let (commit, commits) = watch::channel(0);
            let (stop, stopping) = watch::channel(false);
            let mut wakes = Wakes { commits, stopping, keep_alive: Duration::ZERO };
            let mut source =
                Looks(vec![Look::Over, Look::Events("e".to_owned()), Look::Moved, Look::Nothing], 0);
            assert_eq!(next(&mut source, &mut wakes).await.as_deref(), Some(SIGN_OF_LIFE));
            assert_eq!(source.1, 1);
            assert_eq!(next(&mut source, &mut wakes).await.as_deref(), Some(&b"e"[..]), "moved, then events");
            assert_eq!(next(&mut source, &mut wakes).await, None, "over");
            stop.send_replace(true);
            source.0.push(Look::Events("late".to_owned()));
            assert_eq!(next(&mut source, &mut wakes).await, None, "a server that stops ends its streams");
            drop(commit);
        });
    }
}
