//! What every post has in common: how it is sent, and what it means when nobody answers.
//!
//! Follows no redirect (a body and a token go where they were meant to, or nowhere) and uses no proxy of the environment.
//! Of an answer only the head is read, at most 64 KiB of it.

use crate::Outcome;
use std::time::Duration;
use ureq::{
    Agent, Error,
    config::Config,
    http::HeaderMap,
    tls::{RootCerts, TlsConfig},
};

/// For one post, which may take this long from the look-up of the name to the head of the answer.
pub(crate) fn config(timeout: Duration) -> Config {
    let trust = TlsConfig::builder().root_certs(RootCerts::PlatformVerifier).build();
    Agent::config_builder()
        .timeout_global(Some(timeout))
        .http_status_as_error(false)
        .max_redirects(0)
        .proxy(None)
        .tls_config(trust)
        .user_agent("envoi")
        .build()
}

/// Whole seconds; a date is not obeyed, the ordinary wait is.
pub(crate) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    headers.get("retry-after")?.to_str().ok()?.trim().parse().ok().map(Duration::from_secs)
}

/// Nothing of what a connection came to is final, but an address or a header that cannot be sent at all.
pub(crate) fn failure(error: &Error, timeout: Duration) -> Outcome {
    match error {
        // Both may quote what was sent.
        Error::BadUri(_) => Outcome::Refused { error: "the address cannot be used".to_owned() },
        Error::Http(_) => Outcome::Refused { error: "the address or the token cannot be sent".to_owned() },
        Error::Timeout(_) => Outcome::failed(format!("no answer within {} s", timeout.as_secs_f32())),
        other => Outcome::failed(format!("no connection: {other}")),
    }
}
