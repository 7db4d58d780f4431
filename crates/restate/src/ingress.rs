//! Calls from outside: a worker, or who starts a run or answers a question, asks an object.
//!
//! A call without an answer may have arrived, and may still be done later. It is made again: an object refuses what it has taken already.

use crate::{
    contents::{FlowName, Unavailable},
    names,
    reply::{Reply, words},
};
use envoi_cluster::{
    Message,
    wire::{Posted, Unfit},
};
use envoi_http::{Client, NoAnswer};
use envoi_kernel::ids::RunId;
use std::time::Duration;
use ureq::Agent;

/// The largest answer: one of `cluster` has at most so many bytes, and a line above it.
const MAX_ANSWER: u64 = envoi_cluster::wire::MAX_BYTES as u64 + 64;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The ingress of a Restate node.
#[derive(Debug, Clone)]
pub struct Ingress {
    agent: Agent,
    base: String,
    timeout: Duration,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum NotAsked {
    /// No object takes the message.
    #[error("the message cannot be sent: {0}")]
    Unfit(#[from] Unfit),
    /// Its content has to be in the store of all machines first.
    #[error("the message names a content that it brings along: keep it in the store first")]
    Content,
    /// The store of all machines does not take its content now.
    #[error(transparent)]
    NotKept(#[from] Unavailable),
    /// Only an object sends such a message.
    #[error("there is nobody to ask: such a message is sent by an object")]
    Nobody,
    /// The call may have arrived, unless this says otherwise.
    #[error("no answer from the ingress: {}", words(.0))]
    NoAnswer(NoAnswer),
    /// The ingress refuses the call, or the object cannot do it now.
    #[error("the ingress answers {status}: {text}")]
    Status {
        /// Of HTTP.
        status: u16,
        /// The first words of the answer.
        text: String,
    },
    /// The answer is not one of an object.
    #[error("the answer cannot be read: {reason}")]
    Unreadable {
        /// What was expected.
        reason: String,
    },
}

impl Ingress {
    /// The ingress at this address, such as `http://127.0.0.1:8080`. A call without an answer in this time is given up.
    #[must_use]
    pub fn new(base: &str, timeout: Duration) -> Self {
        let client =
            Client { timeout: Some(timeout), connect_timeout: Some(CONNECT_TIMEOUT), ..Client::default() };
        Self { agent: client.agent(), base: base.trim_end_matches('/').to_owned(), timeout }
    }

    /// Sends a message to a run or to a worker's object, and waits for its answer.
    ///
    /// # Errors
    /// [`NotAsked`] says why there is none.
    pub fn ask(&self, posted: Posted) -> Result<Reply, NotAsked> {
        self.ask_keeping(posted, |_| Err(NotAsked::Content))
    }

    /// As [`Ingress::ask`]. A content that the message names and brings along is given to `keep` first.
    ///
    /// # Errors
    /// [`NotAsked`] says why there is no answer; that of `keep`, and nothing was sent.
    pub fn ask_keeping(
        &self,
        posted: Posted,
        keep: impl FnOnce(&[u8]) -> Result<(), NotAsked>,
    ) -> Result<Reply, NotAsked> {
        let (name, key) = match &posted.message {
            Message::Run(id, _) => (names::RUN, id.to_string()),
            Message::WorkerSlot(id, _) => (names::WORKER, id.to_string()),
            Message::Dispatcher(_) | Message::Commit(_) => return Err(NotAsked::Nobody),
        };
        let written = posted.written()?;
        if let Some(content) = &written.content {
            keep(content)?;
        }
        self.call(name, &key, names::ASK, written.text.as_bytes())
    }

    /// Names its flow to a run: before it is started, and before it is corrected. The flow is in the store.
    ///
    /// # Errors
    /// [`NotAsked`] says why there is no answer.
    pub fn name_flow(&self, run: &RunId, name: &FlowName) -> Result<Reply, NotAsked> {
        let text =
            serde_json::to_vec(name).map_err(|error| Unfit::Unwritable { reason: error.to_string() })?;
        self.call(names::RUN, run.as_str(), names::FLOW, &text)
    }

    /// Sends bytes to a run as they are, for those who try what it does with them.
    ///
    /// # Errors
    /// [`NotAsked`] says why there is no answer.
    pub fn ask_raw(&self, run: &RunId, bytes: &[u8]) -> Result<Reply, NotAsked> {
        self.call(names::RUN, run.as_str(), names::ASK, bytes)
    }

    /// Ids of runs and names of workers have no letter that an address would need to escape.
    fn call(&self, name: &str, key: &str, handler: &str, body: &[u8]) -> Result<Reply, NotAsked> {
        let no_answer =
            |error: &ureq::Error| NotAsked::NoAnswer(NoAnswer::of(error, self.timeout, CONNECT_TIMEOUT));
        let mut response = self
            .agent
            .post(format!("{}/{name}/{key}/{handler}", self.base))
            .content_type("application/octet-stream")
            .send(body)
            .map_err(|error| no_answer(&error))?;
        let status = response.status().as_u16();
        let body = response.body_mut().with_config().limit(MAX_ANSWER).read_to_vec();
        let body = body.map_err(|error| no_answer(&error))?;
        let text = String::from_utf8_lossy(&body);
        if status != 200 {
            return Err(NotAsked::Status { status, text: text.chars().take(300).collect() });
        }
        Reply::read(&text).map_err(|error| NotAsked::Unreadable { reason: error.to_string() })
    }
}
