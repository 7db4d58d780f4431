//! Calls from outside: a worker, or a client that starts a run or answers a question, calls an object.
//!
//! A call without an answer may have arrived, and may still be carried out later. The caller repeats it: an
//! object refuses a message that it has taken already.

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

/// The largest answer. An answer of `cluster` has at most so many bytes, after a line with its kind.
const MAX_ANSWER: u64 = envoi_cluster::wire::MAX_BYTES as u64 + 64;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Client of the ingress of a Restate node.
#[derive(Debug, Clone)]
pub struct Ingress {
    agent: Agent,
    base: String,
    timeout: Duration,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum NotAsked {
    /// No object takes this message.
    #[error("the message cannot be sent: {0}")]
    Unfit(#[from] Unfit),
    /// The content of the message must be in the shared store first.
    #[error("the message names a content that it brings along: keep it in the store first")]
    Content,
    /// The shared store does not take the content now.
    #[error(transparent)]
    NotKept(#[from] Unavailable),
    /// Only objects send such a message.
    #[error("there is nobody to ask: such a message is sent by an object")]
    Nobody,
    /// The call may have arrived, unless the variant says otherwise.
    #[error("no answer from the ingress: {}", words(.0))]
    NoAnswer(NoAnswer),
    /// The ingress refuses the call, or the object cannot carry it out now.
    #[error("the ingress answers {status}: {text}")]
    Status {
        /// HTTP status.
        status: u16,
        /// The beginning of the answer.
        text: String,
    },
    /// The answer does not have the form of an object's answer.
    #[error("the answer cannot be read: {reason}")]
    Unreadable {
        /// The expected form.
        reason: String,
    },
}

impl Ingress {
    /// A client of the ingress at this address, such as `http://127.0.0.1:8080`. `timeout` is the time limit
    /// of a call.
    #[must_use]
    pub fn new(base: &str, timeout: Duration) -> Self {
        let client =
            Client { timeout: Some(timeout), connect_timeout: Some(CONNECT_TIMEOUT), ..Client::default() };
        Self { agent: client.agent(), base: base.trim_end_matches('/').to_owned(), timeout }
    }

    /// Sends a message to a run or to a worker's object, and waits for the answer.
    ///
    /// # Errors
    /// [`NotAsked`] says why there is no answer.
    pub fn ask(&self, posted: Posted) -> Result<Reply, NotAsked> {
        self.ask_keeping(posted, |_| Err(NotAsked::Content))
    }

    /// Like [`Ingress::ask`]. If the message refers to a content and brings it along, `keep` gets that
    /// content first.
    ///
    /// # Errors
    /// [`NotAsked`] says why there is no answer. An error of `keep` is returned too; then nothing was sent.
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

    /// Gives a run the name of its flow: before it is started, and before it is corrected. The flow must be
    /// in the store.
    ///
    /// # Errors
    /// [`NotAsked`] says why there is no answer.
    pub fn name_flow(&self, run: &RunId, name: &FlowName) -> Result<Reply, NotAsked> {
        let text =
            serde_json::to_vec(name).map_err(|error| Unfit::Unwritable { reason: error.to_string() })?;
        self.call(names::RUN, run.as_str(), names::FLOW, &text)
    }

    /// Sends bytes to a run unchanged, to test how it handles them.
    ///
    /// # Errors
    /// [`NotAsked`] says why there is no answer.
    pub fn ask_raw(&self, run: &RunId, bytes: &[u8]) -> Result<Reply, NotAsked> {
        self.call(names::RUN, run.as_str(), names::ASK, bytes)
    }

    /// Run ids and worker names contain no character that a URL would need to escape.
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
