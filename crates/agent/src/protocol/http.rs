//! A single HTTP request, and whether it may have arrived.
//!
//! Each request has its own connection. If the agent closed a reused connection, it would be unclear whether the
//! request arrived.

use envoi_http::Client;
pub(crate) use envoi_http::NoAnswer as RequestError;
use std::time::{Duration, Instant};
use ureq::{Agent, Error};

/// Largest response body.
const MAX_BODY_BYTES: u64 = 64 * 1024 * 1024;

/// A response with any status.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
}

/// An HTTP client with a timeout for each request.
pub(crate) struct Http {
    agent: Agent,
    timeout: Duration,
    /// The deadline for all requests together.
    deadline: Option<Instant>,
}

impl Http {
    pub(crate) fn new(timeout: Duration) -> Self {
        let client = Client {
            timeout: Some(timeout),
            connect_timeout: Some(timeout),
            is_one_request_a_connection: true,
            ..Client::default()
        };
        let agent = client.agent();
        Self { agent, timeout, deadline: None }
    }

    /// With one deadline for all requests together.
    pub(crate) fn with_deadline(deadline: Instant) -> Self {
        let left = deadline.saturating_duration_since(Instant::now());
        Self { deadline: Some(deadline), ..Self::new(left) }
    }

    /// The timeout of the next request: `timeout`, or less if the deadline is nearer.
    fn time_left(&self, timeout: Duration) -> Result<Duration, RequestError> {
        let Some(deadline) = self.deadline else { return Ok(timeout) };
        let left = deadline.saturating_duration_since(Instant::now()).min(timeout);
        if left.is_zero() { Err(RequestError::NotSent("no time is left".to_owned())) } else { Ok(left) }
    }

    pub(crate) fn get(&self, url: &str) -> Result<Answer, RequestError> {
        let timeout = self.time_left(self.timeout)?;
        let request = self.agent.get(url).config().timeout_global(Some(timeout)).build();
        answer(request.header("accept", "application/json").call(), timeout, self.timeout)
    }

    /// Sends a POST request. `timeout` replaces the client's timeout for a request that may take long; connecting
    /// still uses the client's timeout.
    pub(crate) fn post(
        &self,
        url: &str,
        headers: &[(&str, &str)],
        body: &str,
        timeout: Option<Duration>,
    ) -> Result<Answer, RequestError> {
        let timeout = self.time_left(timeout.unwrap_or(self.timeout))?;
        let request = self.agent.post(url).config().timeout_global(Some(timeout)).build();
        let mut request = request.header("content-type", "application/json");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        answer(request.send(body), timeout, self.timeout)
    }
}

fn answer(
    got: Result<ureq::http::Response<ureq::Body>, Error>,
    timeout: Duration,
    connect_timeout: Duration,
) -> Result<Answer, RequestError> {
    let mut response =
        got.map_err(|error| RequestError::of(&error, timeout, connect_timeout.min(timeout)))?;
    let status = response.status().as_u16();
    let body = response.body_mut().with_config().limit(MAX_BODY_BYTES).read_to_vec();
    let body = body.map_err(|error| RequestError::Unknown(format!("its answer cannot be read: {error}")))?;
    Ok(Answer { status, body })
}
