//! Long work for a request. It stops when its client has disconnected. It keeps its slot until the whole body
//! is sent, or the client has stopped reading.

use axum::{
    body::{Body, HttpBody as _},
    http::{HeaderValue, header},
    response::Response,
};
use bytes::Bytes;
use envoi_tree::Stop;
use futures_util::{StreamExt as _, stream};
use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use tokio::sync::mpsc;

/// Size of the pieces that a client gets, in bytes.
const PIECE: usize = 64 * 1024;

/// How long a client may take to read a piece before it loses its slot. 64 KiB per minute is 1 KiB per
/// second, the same limit as for uploads, and half a minute without any reading is tolerated.
const LONGEST_UNREAD: Duration = Duration::from_secs(90);

/// Dropped with the request: when it is answered, when it takes too long, or when its client disconnects.
#[derive(Debug, Default)]
pub(crate) struct GivenUp(Arc<AtomicBool>);

impl GivenUp {
    /// A stop that is requested as soon as this is dropped.
    pub(crate) fn stop(&self) -> Stop {
        let is_given_up = Arc::clone(&self.0);
        Stop::when(move || is_given_up.load(Ordering::Relaxed))
    }
}

impl Drop for GivenUp {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A message to the client's side of the body.
enum Passed {
    Piece(Result<Bytes, axum::Error>),
    End,
}

/// Keeps `place` until the body is sent or given up, or is not read for too long. Then the rest is dropped,
/// and the response breaks off. A body of one piece no longer needs its slot.
pub(crate) fn until_sent(response: Response, place: impl Send + Sync + 'static) -> Response {
    sent_within(LONGEST_UNREAD, response, place)
}

fn sent_within(longest: Duration, mut response: Response, place: impl Send + Sync + 'static) -> Response {
    if let Some(size) = response.body().size_hint().exact() {
        if usize::try_from(size).is_ok_and(|size| size <= PIECE) {
            return response;
        }
        response.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(size));
    }
    response.map(|body| {
        let (sender, receiver) = mpsc::channel(1);
        tokio::spawn(pass_on(longest, body, sender, place));
        Body::from_stream(stream::unfold(Some(receiver), move |receiver| async move {
            let mut receiver = receiver?;
            match receiver.recv().await {
                Some(Passed::Piece(piece)) => Some((piece, Some(receiver))),
                Some(Passed::End) => None,
                None => Some((Err(not_read(longest)), None)),
            }
        }))
    })
}

fn not_read(longest: Duration) -> axum::Error {
    let message = format!("no piece of it was read for {} s", longest.as_secs());
    axum::Error::new(io::Error::new(io::ErrorKind::TimedOut, message))
}

/// A body is polled for its next piece only while its client reads. So this task waits separately, and can
/// give the client up.
async fn pass_on(longest: Duration, body: Body, client: mpsc::Sender<Passed>, _place: impl Send + Sync) {
    let give = |passed| client.send_timeout(passed, longest);
    let mut pieces = body.into_data_stream();
    while let Some(piece) = pieces.next().await {
        let mut piece = match piece {
            Ok(piece) => piece,
            Err(error) => {
                give(Passed::Piece(Err(error))).await.ok();
                return;
            }
        };
        while !piece.is_empty() {
            let next = piece.split_to(piece.len().min(PIECE));
            if give(Passed::Piece(Ok(next))).await.is_err() {
                return;
            }
        }
    }
    give(Passed::End).await.ok();
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::BodyExt as _;

    const SIZE: usize = 5 * PIECE + 1;

    /// A body like that of a file: its size is not known in advance.
    fn stream_of(size: usize) -> Body {
        let pieces = (0..size).step_by(PIECE).map(move |at| vec![b'x'; PIECE.min(size - at)]);
        Body::from_stream(stream::iter(pieces.map(|piece| Ok::<_, io::Error>(Bytes::from(piece)))))
    }

    fn block_on<T>(work: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(work)
    }

    /// Waits until only this reference to the slot is left.
    async fn is_given_back(place: &Arc<()>) {
        while Arc::strong_count(place) > 1 {
            tokio::task::yield_now().await;
        }
    }

    #[test]
    fn a_place_is_held_until_the_body_is_read_whatever_it_is_made_of() {
        for body in [|| Body::from(vec![b'x'; SIZE]), || stream_of(SIZE)] {
            block_on(async {
                let place = Arc::new(());
                let mut sent = until_sent(Response::new(body()), Arc::clone(&place)).into_body();
                let mut read = 0;
                while read < SIZE - PIECE {
                    read += sent.frame().await.unwrap().unwrap().into_data().unwrap().len();
                    assert_eq!(Arc::strong_count(&place), 2, "after {read} bytes");
                }
                read += sent.collect().await.unwrap().to_bytes().len();
                assert_eq!(read, SIZE);
                is_given_back(&place).await;
            });
        }
    }

    #[test]
    fn a_small_body_in_memory_has_no_place_and_a_large_one_says_how_long_it_is() {
        block_on(async {
            let place = Arc::new(());
            let _small = until_sent(Response::new(Body::from("in memory")), Arc::clone(&place));
            assert_eq!(Arc::strong_count(&place), 1);
            let large = until_sent(Response::new(Body::from(vec![0; SIZE])), Arc::clone(&place));
            assert_eq!(large.headers()[header::CONTENT_LENGTH], SIZE.to_string());
        });
    }

    #[test]
    fn a_client_that_goes_away_gives_its_place_back() {
        block_on(async {
            let place = Arc::new(());
            drop(until_sent(Response::new(stream_of(SIZE)), Arc::clone(&place)));
            is_given_back(&place).await;
        });
    }

    #[test]
    fn a_client_that_stops_to_read_gives_its_place_back_and_its_body_breaks_off() {
        block_on(async {
            let place = Arc::new(());
            // Without any time to wait.
            let response = Response::new(stream_of(SIZE));
            let sent = sent_within(Duration::ZERO, response, Arc::clone(&place));
            is_given_back(&place).await;
            let mut rest = sent.into_body();
            assert_eq!(rest.frame().await.unwrap().unwrap().into_data().unwrap().len(), PIECE);
            let broken = rest.collect().await.unwrap_err();
            assert!(
                broken.to_string().contains("no piece of it was read"),
                "it does not look whole: {broken}"
            );
        });
    }

    #[test]
    fn work_is_to_stop_when_its_request_is_gone() {
        let request = GivenUp::default();
        let stop = request.stop();
        assert!(!stop.is_wanted());
        drop(request);
        assert!(stop.is_wanted());
    }
}
