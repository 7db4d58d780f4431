//! Values that the store keeps for a server's clients: tokens, registered flows, start keys, uploads, pages.

use envoi_contract::{digest::Digest, time::Timestamp};
use envoi_kernel::{
    event::Record,
    ids::{FlowId, RunId, Seq},
};
use std::collections::BTreeMap;

/// The words that [`TokenRow::scopes`] can have.
pub const TOKEN_SCOPES: [&str; 4] = ["read", "answer", "run", "admin"];

/// A token's row. It does not contain the token itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenRow {
    /// The part of the token by which its row is found; not secret.
    pub id: String,
    /// The name of its bearer. A tenant never uses a name twice.
    pub name: String,
    /// The tenant whose runs it gives access to.
    pub tenant: String,
    /// Its scopes (see [`TOKEN_SCOPES`]), separated by spaces.
    pub scopes: String,
    /// SHA-256 of the whole token.
    pub digest: Digest,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it expires; `None`: never.
    pub expires_at: Option<Timestamp>,
    /// When it was revoked, if it was.
    pub revoked_at: Option<Timestamp>,
}

/// A flow that a tenant may start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegisteredFlow {
    /// SHA-256 of its canonical JSON.
    pub digest: Digest,
    /// The flow's id.
    pub id: FlowId,
    /// Version of the flow language.
    pub language: u32,
    /// The name of its file, without a folder.
    pub file: String,
    /// The complete text.
    pub text: String,
    /// The texts of the flows that it refers to, directly or indirectly, by path relative to its folder.
    pub parts: BTreeMap<String, String>,
    /// The time.
    pub registered_at: Timestamp,
    /// The client that registered it.
    pub registered_by: String,
}

/// An idempotency key of a request to start a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartKey {
    /// The tenant.
    pub tenant: String,
    /// The key of the request.
    pub key: String,
    /// Digest of the request's body.
    pub body: Digest,
    /// The run that the request starts.
    pub run: RunId,
}

/// Content that a tenant has uploaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upload {
    /// SHA-256 of its bytes.
    pub digest: Digest,
    /// Its size in bytes.
    pub size_bytes: u64,
    /// Its media type, as the uploader gave it.
    pub mime: String,
    /// The time.
    pub uploaded_at: Timestamp,
    /// The client that uploaded it.
    pub uploaded_by: String,
}

/// A session of the web page, without its cookie and its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageSession {
    /// The part of the cookie by which its row is found; not secret.
    pub id: String,
    /// The id of the token on whose behalf it acts.
    pub token: String,
    /// Its scopes, as in [`TokenRow::scopes`]; never more than those of its token.
    pub scopes: String,
    /// Digests of the cookie and of the key; `None` while it is an unused code.
    pub halves: Option<(Digest, Digest)>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was last used, accurate to about a minute.
    pub seen_at: Timestamp,
    /// When it expires, whether it is used or not.
    pub expires_at: Timestamp,
    /// When the person signed out.
    pub ended_at: Option<Timestamp>,
}

/// A filter for the runs of a tenant. Results are sorted newest first.
#[derive(Debug, Clone, Default)]
pub struct RunPage {
    /// The tenant.
    pub tenant: String,
    /// Only runs in this status: a word of [`crate::RunStatus`].
    pub status: Option<String>,
    /// Only runs that are set aside.
    pub aside: bool,
    /// Only runs that have not ended.
    pub unfinished: bool,
    /// Only runs of this flow.
    pub flow: Option<String>,
    /// Only runs whose id, flow, step, starter or reason contains this text, ignoring case.
    pub text: Option<String>,
    /// Only runs that started at this time or later.
    pub since: Option<Timestamp>,
    /// Only this run and its direct and indirect forks.
    pub root: Option<String>,
    /// Only runs that are older than this one, which must belong to the tenant.
    pub before: Option<RunId>,
    /// Maximum number of runs.
    pub limit: u32,
}

/// A filter for the questions of a tenant, and their order.
#[derive(Debug, Clone, Default)]
pub struct InboxPage {
    /// The tenant.
    pub tenant: String,
    /// Only questions of this run.
    pub run: Option<String>,
    /// Whether to include closed questions.
    pub closed: bool,
    /// Newest first; otherwise oldest first.
    pub newest_first: bool,
    /// Only questions after this one, which must belong to the tenant.
    pub after: Option<String>,
    /// Maximum number of questions.
    pub limit: u32,
}

/// A run that has changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunChange {
    /// The run.
    pub run: RunId,
    /// Its newest event.
    pub newest: Seq,
    /// Whether one of its new events concerns a question.
    pub asks: bool,
}

/// An event that concerns a question, and its position among the events of all runs.
#[derive(Debug, Clone, PartialEq)]
pub struct NewsItem {
    /// The position. It grows with every event of the store.
    pub position: u64,
    /// The run.
    pub run: RunId,
    /// The event.
    pub record: Record,
}

/// Numbers of runs and questions of a tenant.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Runs that have not ended.
    pub unfinished: u64,
    /// Runs that have ended.
    pub ended: u64,
    /// Open questions.
    pub open_questions: u64,
    /// Attempts that are live.
    pub live_attempts: u64,
}
