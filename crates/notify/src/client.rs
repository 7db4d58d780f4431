//! What every POST has in common: the configuration of the HTTP client, and the meaning of its errors.
//!
//! Only the head of an answer is read, at most 64 KiB of it.

use crate::Outcome;
use envoi_http::Client;
use std::time::Duration;
use ureq::{Error, config::Config, http::HeaderMap};

/// The configuration for one POST. `timeout` is from the look-up of the name to the head of the answer.
pub(crate) fn config(timeout: Duration) -> Config {
    Client { timeout: Some(timeout), ..Client::default() }.config()
}

/// The wait that the receiver wants, if it gives whole seconds. A date is ignored: then the ordinary wait counts.
pub(crate) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    headers.get("retry-after")?.to_str().ok()?.trim().parse().ok().map(Duration::from_secs)
}

/// The outcome of an error. Only an address or a header that cannot be sent is final.
pub(crate) fn failure(error: &Error, timeout: Duration) -> Outcome {
    match error {
        // The text of both errors may contain the token, so it is not shown.
        Error::BadUri(_) => Outcome::Refused { error: "the address cannot be used".to_owned() },
        Error::Http(_) => Outcome::Refused { error: "the address or the token cannot be sent".to_owned() },
        Error::Timeout(_) => Outcome::failed(format!("no answer within {} s", timeout.as_secs_f32())),
        other => Outcome::failed(format!("no connection: {other}")),
    }
}
