//! A webhook: one POST of a CloudEvent, and what the answer means.
//!
//! Follows no redirect (a body and a token go where the file says, or nowhere) and uses no proxy of the environment.

use crate::{CloudEvent, Outcome};
use std::{fmt, time::Duration};
use ureq::{
    Agent, Error,
    http::{HeaderMap, StatusCode},
    tls::{RootCerts, TlsConfig},
};

/// Where a CloudEvent is posted.
#[derive(Clone)]
pub struct Webhook {
    /// `http:` or `https:`; certificates are checked against those that the machine trusts.
    pub url: String,
    /// For `Authorization: Bearer`.
    pub token: Option<String>,
    /// Longest duration of a try, from the look-up of the name to the head of the answer.
    pub timeout: Duration,
}

/// Without the token, and without the path, which for some receivers is a secret too.
impl fmt::Debug for Webhook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Webhook").field("timeout", &self.timeout).finish_non_exhaustive()
    }
}

impl Webhook {
    /// Posts this event once. The id goes along as `Idempotency-Key`.
    #[must_use]
    pub fn post(&self, event: &CloudEvent) -> Outcome {
        let mut request = agent(self.timeout)
            .post(&self.url)
            .header("content-type", CloudEvent::MEDIA_TYPE)
            .header("idempotency-key", &event.id);
        if let Some(token) = &self.token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        match request.send(event.to_json()) {
            Ok(response) => judge(response.status(), response.headers()),
            Err(error) => failure(&error, self.timeout),
        }
    }
}

fn agent(timeout: Duration) -> Agent {
    let trust = TlsConfig::builder().root_certs(RootCerts::PlatformVerifier).build();
    Agent::config_builder()
        .timeout_global(Some(timeout))
        .http_status_as_error(false)
        .max_redirects(0)
        .proxy(None)
        .tls_config(trust)
        .user_agent("envoi")
        .build()
        .new_agent()
}

fn judge(status: StatusCode, headers: &HeaderMap) -> Outcome {
    let told = format!("the receiver answered {}", status.as_u16());
    match status.as_u16() {
        200..=299 => Outcome::Delivered,
        // Request timeout, too early, too many requests: about now, not about the request.
        408 | 425 | 429 | 500..=599 => Outcome::Failed { error: told, wait: retry_after(headers) },
        300..=399 => {
            Outcome::Refused { error: format!("{told}: redirects are not followed, name the place itself") }
        }
        410 => Outcome::Refused { error: format!("{told}: it is gone") },
        _ => Outcome::Refused { error: told },
    }
}

/// Whole seconds; a date is not obeyed, the ordinary wait is.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    headers.get("retry-after")?.to_str().ok()?.trim().parse().ok().map(Duration::from_secs)
}

/// Nothing of what a connection came to is final, but an address or a header that cannot be sent at all.
fn failure(error: &Error, timeout: Duration) -> Outcome {
    match error {
        // Both may quote what was sent.
        Error::BadUri(_) => Outcome::Refused { error: "the address cannot be used".to_owned() },
        Error::Http(_) => Outcome::Refused { error: "the address or the token cannot be sent".to_owned() },
        Error::Timeout(_) => Outcome::failed(format!("no answer within {} s", timeout.as_secs_f32())),
        other => Outcome::failed(format!("no connection: {other}")),
    }
}
