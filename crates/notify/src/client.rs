//! What every POST has in common: the configuration of the HTTP client, and the meaning of its errors.
//!
//! Follows no redirect, because a body and a token must not go to another address, and uses no proxy of the environment. Only
//! the head of an answer is read, at most 64 KiB of it.

use crate::Outcome;
use std::time::Duration;
use ureq::{
    Agent, Error,
    config::Config,
    http::HeaderMap,
    tls::{RootCerts, TlsConfig},
};

/// The configuration for one POST. `timeout` is from the look-up of the name to the head of the answer.
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
