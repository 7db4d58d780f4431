//! One request, and whether it can have been taken.
//!
//! Follows no redirect (a token goes where the flow says, or nowhere) and uses no proxy of the environment. Each request has a
//! connection of its own: one that the agent closes meanwhile would leave open whether it was heard.

use std::{
    io::ErrorKind,
    time::{Duration, Instant},
};
use ureq::{
    Agent, Error, Timeout,
    tls::{RootCerts, TlsConfig},
};

/// The most of an answer that is read.
const MAX_BODY_BYTES: u64 = 64 * 1024 * 1024;

/// An answer, whatever its status.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
}

/// Why there is none.
#[derive(Debug)]
pub(crate) enum NoAnswer {
    /// Nobody was there: it was not sent.
    NotSent(String),
    /// It was sent, or may have been.
    Unknown(String),
}

/// Who asks, with this much patience for each request.
pub(crate) struct Http {
    agent: Agent,
    timeout: Duration,
    /// When nothing is asked any more.
    until: Option<Instant>,
}

impl Http {
    pub(crate) fn new(timeout: Duration) -> Self {
        let trust = TlsConfig::builder().root_certs(RootCerts::PlatformVerifier).build();
        let agent = Agent::config_builder()
            .timeout_global(Some(timeout))
            .http_status_as_error(false)
            .timeout_connect(Some(timeout))
            .max_redirects(0)
            .max_idle_connections(0)
            .max_idle_connections_per_host(0)
            .proxy(None)
            .tls_config(trust)
            .user_agent("envoi")
            .build()
            .new_agent();
        Self { agent, timeout, until: None }
    }

    /// With one deadline for all requests together.
    pub(crate) fn until(until: Instant) -> Self {
        let left = until.saturating_duration_since(Instant::now());
        Self { until: Some(until), ..Self::new(left) }
    }

    /// For the next request, where it is worth so much.
    fn patience(&self, timeout: Duration) -> Result<Duration, NoAnswer> {
        let Some(until) = self.until else { return Ok(timeout) };
        let left = until.saturating_duration_since(Instant::now()).min(timeout);
        if left.is_zero() { Err(NoAnswer::NotSent("no time is left".to_owned())) } else { Ok(left) }
    }

    pub(crate) fn get(&self, url: &str) -> Result<Answer, NoAnswer> {
        let patience = self.patience(self.timeout)?;
        let request = self.agent.get(url).config().timeout_global(Some(patience)).build();
        answer(request.header("accept", "application/json").call(), patience, self.timeout)
    }

    /// With a patience of its own, if it is one that may take long; a connection is not worth more for that.
    pub(crate) fn post(
        &self,
        url: &str,
        headers: &[(&str, &str)],
        body: &str,
        patience: Option<Duration>,
    ) -> Result<Answer, NoAnswer> {
        let patience = self.patience(patience.unwrap_or(self.timeout))?;
        let request = self.agent.post(url).config().timeout_global(Some(patience)).build();
        let mut request = request.header("content-type", "application/json");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        answer(request.send(body), patience, self.timeout)
    }
}

fn answer(
    got: Result<ureq::http::Response<ureq::Body>, Error>,
    patience: Duration,
    connecting: Duration,
) -> Result<Answer, NoAnswer> {
    let mut response = got.map_err(|error| no_answer(&error, patience, connecting.min(patience)))?;
    let status = response.status().as_u16();
    let body = response.body_mut().with_config().limit(MAX_BODY_BYTES).read_to_vec();
    let body = body.map_err(|error| NoAnswer::Unknown(format!("its answer cannot be read: {error}")))?;
    Ok(Answer { status, body })
}

fn no_answer(error: &Error, timeout: Duration, connecting: Duration) -> NoAnswer {
    match error {
        // Both may quote what was sent.
        Error::BadUri(_) => NoAnswer::NotSent("the address cannot be used".to_owned()),
        Error::Http(_) => NoAnswer::NotSent("the address or the token cannot be sent".to_owned()),
        Error::HostNotFound | Error::ConnectionFailed => NoAnswer::NotSent(format!("no connection: {error}")),
        Error::Tls(_) | Error::Rustls(_) => NoAnswer::NotSent(format!("no safe connection: {error}")),
        Error::Io(io) if io.kind() == ErrorKind::ConnectionRefused => {
            NoAnswer::NotSent("no connection: nobody listens there".to_owned())
        }
        Error::Timeout(Timeout::Resolve | Timeout::Connect) => {
            NoAnswer::NotSent(format!("no connection within {} s", connecting.as_secs_f32()))
        }
        Error::Timeout(_) => NoAnswer::Unknown(format!("no answer within {} s", timeout.as_secs_f32())),
        other => NoAnswer::Unknown(format!("the connection broke: {other}")),
    }
}
