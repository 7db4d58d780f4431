//! The configuration of the HTTP client that every POST uses, and the meaning of its errors.
//!
//! Only the head of an answer is read, at most 64 KiB of it.

use crate::Outcome;
use envoi_http::Client;
use std::time::Duration;
use ureq::{Error, config::Config};

/// The configuration for one POST. `timeout` is from the look-up of the name to the head of the answer.
pub(crate) fn config(timeout: Duration) -> Config {
    Client { timeout: Some(timeout), ..Client::default() }.config()
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
