//! Long work for a request. It is told when its client has gone, and it keeps its place until the whole body is sent.

use axum::{
    body::{Body, HttpBody as _},
    response::Response,
};
use envoi_tree::Stop;
use futures_util::StreamExt as _;
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

/// Dropped with the request: when it is answered, when it takes too long, and when its client goes away.
#[derive(Debug, Default)]
pub(crate) struct GivenUp(Arc<AtomicBool>);

impl GivenUp {
    /// Wanted as soon as this is dropped.
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

/// Keeps `place` until the body is sent, or given up. A body that is in memory does not need one.
pub(crate) fn until_sent(response: Response, place: impl Send + Sync + 'static) -> Response {
    if response.body().size_hint().exact().is_some() {
        return response;
    }
    response.map(|body| {
        let pieces = body.into_data_stream().map(move |piece| {
            let _held = &place;
            piece
        });
        Body::from_stream(pieces)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use futures_util::stream;

    #[test]
    fn a_place_is_held_as_long_as_a_stream_is_sent_and_not_for_a_body_in_memory() {
        let place = Arc::new(());
        let sent = until_sent(Response::new(Body::from("in memory")), Arc::clone(&place));
        assert_eq!(Arc::strong_count(&place), 1);
        drop(sent);
        let pieces = stream::iter([Ok::<_, std::io::Error>(Bytes::from_static(b"piece"))]);
        let sent = until_sent(Response::new(Body::from_stream(pieces)), Arc::clone(&place));
        assert_eq!(Arc::strong_count(&place), 2);
        drop(sent);
        assert_eq!(Arc::strong_count(&place), 1);
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
