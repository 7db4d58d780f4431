//! Parses bodies: a small one at once, a large one on a blocking thread, in turns.
//!
//! A large body takes long, and uses many times its size of memory. Only two threads serve sockets, so it
//! must not block one.

use super::refusal::Refusal;
use crate::{
    http::work::{blocking, in_time},
    limits::fair_semaphore::FairSemaphore,
};
use bytes::Bytes;
use std::time::Duration;

/// The largest body, in bytes, that is parsed on the thread of its connection.
const SMALL: usize = 64 * 1024;

/// The result of `read`. A client whose turn does not come within `longest` is refused.
pub(super) async fn parse<T: Send + 'static>(
    turns: &FairSemaphore,
    client: &str,
    longest: Duration,
    body: Bytes,
    read: impl FnOnce(&[u8]) -> Result<T, Refusal> + Send + 'static,
) -> Result<T, Refusal> {
    if body.len() <= SMALL {
        return read(&body);
    }
    let turn = in_time(longest, async { Ok::<_, Refusal>(turns.acquire(client).await) }).await?;
    let read = move || {
        let _turn = turn;
        Ok(read(&body))
    };
    blocking(read).await?
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn a_large_body_keeps_no_socket_waiting() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let turns = FairSemaphore::new(1, 1);
        for (bytes, here) in [(0, true), (SMALL, true), (SMALL + 1, false)] {
            let read = move |body: &[u8]| Ok((thread::current().id(), body.len()));
            let body = Bytes::from(vec![0; bytes]);
            let read = parse(&turns, "north", Duration::from_secs(60), body, read);
            let (thread, read) = runtime.block_on(read).unwrap();
            assert_eq!((thread == thread::current().id(), read), (here, bytes));
        }
    }
}
