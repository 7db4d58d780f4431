//! Makes an endpoint known to Restate.

use crate::reply::words;
use envoi_http::{Client, NoAnswer};
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(30);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The admin address of a Restate node, such as `http://127.0.0.1:9070`. It has no rights of its own: who reaches it may do everything.
#[derive(Debug, Clone)]
pub struct Admin {
    base: String,
}

/// Why an endpoint is not registered.
#[derive(Debug, thiserror::Error)]
pub enum NotRegistered {
    /// No answer came from the address.
    #[error("no answer from the admin address: {}", words(.0))]
    NoAnswer(NoAnswer),
    /// Restate refuses it, or cannot reach it.
    #[error("the endpoint is refused ({status}): {text}")]
    Refused {
        /// Of HTTP.
        status: u16,
        /// The first words of the answer.
        text: String,
    },
}

impl Admin {
    /// The node with this admin address.
    #[must_use]
    pub fn new(base: &str) -> Self {
        Self { base: base.trim_end_matches('/').to_owned() }
    }

    /// Makes the objects of an endpoint known, by its address as the node reaches it. New messages go there; what was begun at an earlier
    /// address is finished there. Safe to do again.
    ///
    /// # Errors
    /// [`NotRegistered`] says why it is not known.
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
