//! Registers an endpoint with Restate.

use crate::reply::words;
use envoi_http::{Client, NoAnswer};
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(30);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The admin address of a Restate node, such as `http://127.0.0.1:9070`. It has no access control: any client
/// that reaches it may do everything.
#[derive(Debug, Clone)]
pub struct Admin {
    base: String,
}

/// Why an endpoint was not registered.
#[derive(Debug, thiserror::Error)]
pub enum NotRegistered {
    /// No answer came from the address.
    #[error("no answer from the admin address: {}", words(.0))]
    NoAnswer(NoAnswer),
    /// Restate refuses the endpoint, or cannot reach it.
    #[error("the endpoint is refused ({status}): {text}")]
    Refused {
        /// HTTP status.
        status: u16,
        /// The beginning of the answer.
        text: String,
    },
}

impl Admin {
    /// The node with this admin address.
    #[must_use]
    pub fn new(base: &str) -> Self {
        Self { base: base.trim_end_matches('/').to_owned() }
    }

    /// Registers the objects of an endpoint, by the address at which the node reaches it. New messages go
    /// there; invocations that began at an earlier address finish there. Safe to repeat.
    ///
    /// # Errors
    /// [`NotRegistered`] says why the registration failed.
    pub fn register(&self, endpoint: &str) -> Result<(), NotRegistered> {
        let client =
            Client { timeout: Some(TIMEOUT), connect_timeout: Some(CONNECT_TIMEOUT), ..Client::default() };
        let no_answer =
            |error: &ureq::Error| NotRegistered::NoAnswer(NoAnswer::of(error, TIMEOUT, CONNECT_TIMEOUT));
        let body = serde_json::json!({ "uri": endpoint }).to_string();
        let mut response = client
            .agent()
            .post(format!("{}/deployments", self.base))
            .content_type("application/json")
            .send(body.as_bytes())
            .map_err(|error| no_answer(&error))?;
        let status = response.status().as_u16();
        if (200..300).contains(&status) {
            return Ok(());
        }
        let text = response.body_mut().read_to_string().map_err(|error| no_answer(&error))?;
        Err(NotRegistered::Refused { status, text: text.chars().take(300).collect() })
    }
}
