//! Why a request has no answer, and whether it may have arrived.

use std::{io::ErrorKind, time::Duration};
use ureq::{Error, Timeout};

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoAnswer {
    /// There was no connection: the request was not sent.
    NotSent(String),
    /// The request may have been sent.
    Unknown(String),
}

impl NoAnswer {
    /// The meaning of this error, in words that show nothing of the request. `timeout` was for the whole
    /// request, `connect_timeout` for its connection.
    #[must_use]
    pub fn of(error: &Error, timeout: Duration, connect_timeout: Duration) -> Self {
        match error {
            // The text of both errors may contain the token, so it is not shown.
            Error::BadUri(_) => Self::NotSent("the address cannot be used".to_owned()),
            Error::Http(_) => Self::NotSent("the address or the token cannot be sent".to_owned()),
            Error::HostNotFound | Error::ConnectionFailed => Self::NotSent(format!("no connection: {error}")),
            Error::Tls(_) | Error::Rustls(_) => Self::NotSent(format!("no safe connection: {error}")),
            Error::Io(io) if io.kind() == ErrorKind::ConnectionRefused => {
                Self::NotSent("no connection: nothing listens there".to_owned())
            }
            Error::Timeout(Timeout::Resolve | Timeout::Connect) => {
                Self::NotSent(format!("no connection within {} s", connect_timeout.as_secs_f32()))
            }
            Error::Timeout(_) => Self::Unknown(format!("no answer within {} s", timeout.as_secs_f32())),
            other => Self::Unknown(format!("the connection broke: {other}")),
        }
    }
}
