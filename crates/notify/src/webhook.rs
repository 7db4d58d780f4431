//! A webhook: one POST of a CloudEvent, and what the answer means. Its address is the file's: it may lead anywhere.

use crate::{
    CloudEvent, Outcome,
    client::{config, failure, retry_after},
};
use std::{fmt, time::Duration};
use ureq::http::{HeaderMap, StatusCode};

/// Where a CloudEvent is posted.
#[derive(Clone)]
pub struct Webhook {
    /// `http:` or `https:`; certificates are checked against those that the machine trusts.
    pub url: String,
    /// For `Authorization: Bearer`.
    pub token: Option<String>,
    /// For `traceparent` (W3C Trace Context): of which trace, and of which span in it, the event is.
    pub trace: Option<String>,
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
        let mut request = config(self.timeout)
            .new_agent()
            .post(&self.url)
            .header("content-type", CloudEvent::MEDIA_TYPE)
            .header("idempotency-key", &event.id);
        if let Some(token) = &self.token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        if let Some(trace) = &self.trace {
            request = request.header("traceparent", trace);
        }
        match request.send(event.to_json()) {
            Ok(response) => judge(response.status(), response.headers()),
            Err(error) => failure(&error, self.timeout),
        }
    }
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
