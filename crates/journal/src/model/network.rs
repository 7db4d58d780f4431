//! What the store keeps for a server's clients, as values: tokens, registered flows, start keys, uploads, pages.

use envoi_contract::{digest::Digest, time::Timestamp};
use envoi_kernel::{
    event::Record,
    ids::{FlowId, RunId, Seq},
};
use std::collections::BTreeMap;

/// The words that [`TokenRow::scopes`] can have.
pub const TOKEN_SCOPES: [&str; 4] = ["read", "answer", "run", "admin"];

/// A token, without the token itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenRow {
    /// The part of the token by which its row is found; no secret.
    pub id: String,
    /// What its bearer is called; one a tenant, for ever.
    pub name: String,
    /// Whose runs it is about.
    pub tenant: String,
    /// What it is good for, as words with a space between them.
    pub scopes: String,
    /// Of the whole token.
    pub digest: Digest,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it ends; `None`: never.
    pub expires_at: Option<Timestamp>,
    /// When it was revoked, if it was.
    pub revoked_at: Option<Timestamp>,
}

/// A flow that a tenant may start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegisteredFlow {
    /// Of its canonical JSON.
    pub digest: Digest,
    /// The flow's id.
    pub id: FlowId,
    /// Version of the flow language.
    pub language: u32,
    /// What its file is called, without a folder.
    pub file: String,
    /// All of it.
    pub text: String,
    /// The texts of the flows that it names, directly or not, by their paths from its folder.
    pub parts: BTreeMap<String, String>,
    /// When.
    pub registered_at: Timestamp,
    /// By whom.
    pub registered_by: String,
}

/// A request to start a run that may be made twice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartKey {
    /// Whose.
    pub tenant: String,
    /// The key of the request.
    pub key: String,
    /// Digest of the request's body.
    pub body: Digest,
    /// The run that it is to start.
    pub run: RunId,
}

/// Content that a tenant has brought.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upload {
    /// Of its bytes.
    pub digest: Digest,
    /// How many.
    pub size_bytes: u64,
    /// Its media type, as the uploader gave it.
    pub mime: String,
    /// When.
    pub uploaded_at: Timestamp,
    /// By whom.
    pub uploaded_by: String,
}

/// A session of the web page, without its halves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageSession {
    /// The part of the cookie by which its row is found; no secret.
    pub id: String,
    /// The id of the token in whose name it acts.
    pub token: String,
    /// What it is good for, as [`TokenRow::scopes`]; never more than its token.
    pub scopes: String,
    /// Digests of the cookie and of the key; `None` while it is an unused code.
    pub halves: Option<(Digest, Digest)>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was last used, to the minute or so.
    pub seen_at: Timestamp,
    /// When it ends in any case.
    pub expires_at: Timestamp,
    /// When the person signed out.
    pub ended_at: Option<Timestamp>,
}

/// Which runs of a tenant are wanted, newest first.
#[derive(Debug, Clone, Default)]
pub struct RunPage {
    /// Whose.
    pub tenant: String,
    /// Only in this status: a word of [`crate::RunStatus`].
    pub status: Option<String>,
    /// Only those that are set aside.
    pub aside: bool,
    /// Only those that are not over.
    pub unfinished: bool,
    /// Only of this flow.
    pub flow: Option<String>,
    /// Only those whose id, flow, step, starter or reason has this text; capital letters do not matter.
    pub text: Option<String>,
    /// Only those that started then or later.
    pub since: Option<Timestamp>,
    /// Only this run and those that were forked from it, directly or not.
    pub root: Option<String>,
    /// Only those that are older than this one, which must be the tenant's.
    pub before: Option<RunId>,
    /// At most so many.
    pub limit: u32,
}

/// Which questions of a tenant are wanted, and in which order.
#[derive(Debug, Clone, Default)]
pub struct InboxPage {
    /// Whose.
    pub tenant: String,
    /// Only of this run.
    pub run: Option<String>,
    /// Also those that are closed.
    pub closed: bool,
    /// The newest first, not the oldest.
    pub newest_first: bool,
    /// Only those after this one, which must be the tenant's.
    pub after: Option<String>,
    /// At most so many.
    pub limit: u32,
}

/// A run that has changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunChange {
    /// Which.
    pub run: RunId,
    /// Its newest event.
    pub newest: Seq,
    /// Whether one of its new events is about a question.
    pub asks: bool,
}

/// An event about a question, and its place among the events of all runs.
#[derive(Debug, Clone, PartialEq)]
pub struct NewsItem {
    /// Grows with every event of the store.
    pub position: u64,
    /// The run.
    pub run: RunId,
    /// The event.
    pub record: Record,
}

/// How many runs and questions a tenant has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Runs that are not over.
    pub unfinished: u64,
    /// Runs that are over.
    pub ended: u64,
    /// Questions that wait.
    pub open_questions: u64,
    /// Attempts that are live.
    pub live_attempts: u64,
}
