//! A provider's streamed answer on its way to the client: passed on event by event, and metered.
//!
//! Owns how the stream ends: complete, broken off by either side, or because the server stops. [`super::sse`]
//! reads the events, and [`super::meter`] charges the call.

use super::{
    meter::Meter,
    sse::{SseEvent, SseReader},
};
use crate::models::provider::{ProviderError, ProviderResponse};
use bytes::Bytes;
use envoi_kernel::event::CallOutcome;
use futures_util::stream::{self, Stream};
use std::{io, time::Duration};
use tokio::{runtime::Handle, sync::watch, time::timeout};

/// How long, and for how many bytes, a streamed answer is read for its usage after its client has
/// disconnected.
const DRAINING: Duration = Duration::from_secs(5);
const MAX_DRAINED: usize = 4 * 1024 * 1024;

/// Returns when the server stops.
pub(crate) async fn stop_requested(stopping: &mut watch::Receiver<bool>) {
    // An error means that the server no longer exists, which is a stop too.
    stopping.wait_for(|stop| *stop).await.ok();
}

/// The events of `answer` for the client. `wants_usage`: whether the client gets the event that contains only
/// usage.
pub(crate) fn stream(
    answer: ProviderResponse,
    meter: Meter,
    wants_usage: bool,
    stopping: watch::Receiver<bool>,
) -> impl Stream<Item = io::Result<Bytes>> + Send {
    let passing = PassThrough {
        answer,
        meter,
        events: SseReader::default(),
        wants_usage,
        stopping,
        state: State::Open,
    };
    stream::unfold(DrainWhenDropped(Some(passing)), async |mut passing| {
        let next = passing.0.as_mut()?.next().await?;
        Some((next, passing))
    })
}

/// A streamed answer. If its client disconnects, the answer is read a little longer, because its usage comes
/// at its end.
struct DrainWhenDropped(Option<PassThrough>);

impl Drop for DrainWhenDropped {
    fn drop(&mut self) {
        let passing = self.0.take().filter(|passing| passing.state == State::Open && passing.meter.is_open());
        if let (Some(passing), Ok(runtime)) = (passing, Handle::try_current()) {
            runtime.spawn(passing.drain());
        }
    }
}

/// A streamed answer on its way to the client. Dropping it ends the call as broken off.
struct PassThrough {
    answer: ProviderResponse,
    meter: Meter,
    events: SseReader,
    wants_usage: bool,
    stopping: watch::Receiver<bool>,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    /// The provider's answer has ended; the rest of it is passed on.
    Ended,
    Closed,
}

impl PassThrough {
    /// The next event for the client. The call is charged before the last one is passed on.
    async fn next(&mut self) -> Option<io::Result<Bytes>> {
        loop {
            let piece = match (self.state, self.events.next()) {
                (State::Closed, _) => return None,
                (_, Err(_)) => return Some(self.broken(CallOutcome::Failed, "an event is too long").await),
                (_, Ok(Some(piece))) => piece,
                (State::Ended, Ok(None)) => {
                    self.state = State::Closed;
                    let rest = self.events.rest();
                    self.meter.used(rest.as_ref().and_then(|rest| rest.usage));
                    self.meter.end(CallOutcome::Ok).await;
                    return rest.map(|rest| Ok(self.clean(rest)));
                }
                (State::Open, Ok(None)) => {
                    let came = tokio::select! {
                        came = self.answer.piece() => Some(came),
                        () = stop_requested(&mut self.stopping) => None,
                    };
                    let Some(came) = came else {
                        return Some(self.broken(CallOutcome::BrokenOff, "the server is stopping").await);
                    };
                    match came {
                        Ok(Some(bytes)) => self.events.push(&bytes),
                        Ok(None) => self.state = State::Ended,
                        Err(ProviderError(reason)) => {
                            return Some(self.broken(CallOutcome::Failed, &reason).await);
                        }
                    }
                    continue;
                }
            };
            self.count(&piece);
            if piece.last {
                self.meter.end(if piece.failed { CallOutcome::Failed } else { CallOutcome::Ok }).await;
            }
            if !piece.only_usage || self.wants_usage {
                return Some(Ok(self.clean(piece)));
            }
        }
    }

    /// Ends the call before its answer is complete. The client sees that the answer is broken off.
    async fn broken(&mut self, outcome: CallOutcome, reason: &str) -> io::Result<Bytes> {
        self.state = State::Closed;
        self.meter.end(outcome).await;
        Err(io::Error::other(reason.to_owned()))
    }

    /// The bytes of an event for the client, without the provider's key. An event is complete, so a key in it
    /// is found.
    fn clean(&self, event: SseEvent) -> Bytes {
        self.meter.chosen().provider.events_without_key(event.bytes)
    }

    fn count(&mut self, piece: &SseEvent) {
        self.meter.used(piece.usage);
        if piece.words {
            self.meter.came();
        }
    }

    /// The client has disconnected: reads on for the usage of the call, then ends it as broken off.
    async fn drain(mut self) {
        let mut stopping = self.stopping.clone();
        tokio::select! {
            // In time or not, the call ends with the usage known at that moment.
            _ = timeout(DRAINING, self.read_on()) => {}
            () = stop_requested(&mut stopping) => {}
        }
        self.meter.end(CallOutcome::BrokenOff).await;
    }

    async fn read_on(&mut self) {
        let mut left = MAX_DRAINED;
        loop {
            while let Ok(Some(piece)) = self.events.next() {
                self.count(&piece);
                if piece.last {
                    return;
                }
            }
            let Ok(Some(bytes)) = self.answer.piece().await else { return };
            let Some(after) = left.checked_sub(bytes.len()) else { return };
            left = after;
            self.events.push(&bytes);
        }
    }
}
