//! The time limit of a request, and threads for blocking work.

use super::problem::Problem;
use envoi_contract::code::Code;
use std::time::Duration;

/// Fails with a problem when `work` takes longer than `longest`.
pub(crate) async fn in_time<T, E: From<Problem>>(
    longest: Duration,
    work: impl Future<Output = Result<T, E>>,
) -> Result<T, E> {
    let late = |_| Err(timed_out(format!("it took longer than {} s", longest.as_secs())).into());
    tokio::time::timeout(longest, work).await.unwrap_or_else(late)
}

/// The request exceeded its time limit.
pub(crate) fn timed_out(detail: String) -> Problem {
    Problem::new(Code::RequestTimedOut, detail)
        .hint("it may still be done; a request with an Idempotency-Key can be made again")
        .retry_after(5)
}

/// Does blocking work of a request on a blocking thread. A panic becomes an internal problem.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    let span = tracing::Span::current();
    tokio::task::spawn_blocking(move || span.in_scope(work))
        .await
        .unwrap_or_else(|error| Err(Problem::internal(error)))
}
