//! A webhook: one POST of a CloudEvent, and the meaning of the answer. The flow file names its address, so
//! every address is allowed.

use crate::{
    CloudEvent, Outcome,
    client::{config, failure},
};
use envoi_http::retry_after;
use std::{fmt, time::Duration};
use ureq::http::{HeaderMap, StatusCode};

/// A receiver of CloudEvents.
#[derive(Clone)]
pub struct Webhook {
    /// `http:` or `https:`. Certificates are checked against those that the machine trusts.
    pub url: String,
    /// The token for `Authorization: Bearer`.
    pub token: Option<String>,
    /// The header `traceparent` (W3C Trace Context): the trace and the span to which the event belongs.
    pub trace: Option<String>,
    /// Time limit of a try, from the look-up of the name to the head of the answer.
    pub timeout: Duration,
}

/// Shows neither the token nor the path, which is a secret of some receivers.
impl fmt::Debug for Webhook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Webhook").field("timeout", &self.timeout).finish_non_exhaustive()
    }
}

impl Webhook {
    /// Posts this event once, with its id as `Idempotency-Key`.
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
    let answered = format!("the receiver answered {}", status.as_u16());
    match status.as_u16() {
        200..=299 => Outcome::Delivered,
        // Request timeout, too early, too many requests: the same request may succeed later.
        408 | 425 | 429 | 500..=599 => Outcome::Failed { error: answered, wait: retry_after(headers) },
        300..=399 => Outcome::Refused {
            error: format!("{answered}: redirects are not followed; give the final address"),
        },
        410 => Outcome::Refused { error: format!("{answered}: it is gone") },
        _ => Outcome::Refused { error: answered },
    }
}
