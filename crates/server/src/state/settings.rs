//! The settings of a server, and the limits of its clients with their defaults: sizes, times, streams,
//! starts, the keep-alive of a stream. The main program chooses them.

use crate::{auth::attempt_token::AttemptTokens, http::tls::Tls, models::catalog::Models};
use envoi_engine::protocol::{CallerWire, Isolate, WorkspaceUse};
use envoi_kernel::Flow;
use envoi_notify::EgressPolicy;
use std::{
    path::{Path, PathBuf},
    time::Duration,
};

/// The settings that the main program chooses.
#[derive(Clone)]
pub struct Settings {
    /// Names by which clients may address the server, with their port, besides the server's address.
    pub hosts: Vec<String>,
    /// Allowed origins of pages, besides the server's own.
    pub origins: Vec<String>,
    /// Whether people can sign in to the web page.
    pub page: bool,
    /// Limits of clients.
    pub limits: Limits,
    /// A certificate and its key, for TLS.
    pub tls: Option<Tls>,
    /// Defaults for messages over A2A.
    pub a2a: A2a,
    /// The folder in which runs of the tenant `local` work.
    pub workspace: PathBuf,
    /// The folder for the trees of runs whose flow wants one. `None`: such a run is refused.
    pub trees: Option<Isolate>,
    /// Models that may be called through the bridge.
    pub models: Models,
    /// Makes tokens of attempts. `None`: there are none.
    pub attempt_tokens: Option<AttemptTokens>,
    /// The part of the environment that commands of a run may see.
    pub caller: fn(&Flow, &Path) -> CallerWire,
    /// Each error code, and its page in Markdown.
    pub error_pages: &'static [(&'static str, &'static str)],
    /// Prints a line for the person who runs the server.
    pub log: fn(&str),
}

/// Defaults for messages over A2A.
#[derive(Debug, Clone)]
pub struct A2a {
    /// The server's address for clients. `None`: the host of each request.
    pub url: Option<String>,
    /// The flow that a message starts if it names none.
    pub default_flow: Option<String>,
    /// How its run uses the workspace.
    pub workspace: WorkspaceUse,
    /// The addresses to which push notifications may be sent.
    pub push: EgressPolicy,
}

/// Limits of what clients may use.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Maximum size of a body in bytes, except of an artifact.
    pub body_bytes: u64,
    /// Maximum size of an artifact in bytes.
    pub artifact_bytes: u64,
    /// Time limit of a request, except of streams and artifacts; for those it limits the time without any
    /// data.
    pub request: Duration,
    /// The most open streams of one token.
    pub streams_a_token: usize,
    /// The most runs that one token starts per minute.
    pub starts_a_minute: usize,
    /// The most starts under way of one token.
    pub starting_a_token: usize,
    /// The most bodies that one token sends at the same time.
    pub incoming_a_token: usize,
    /// The most connections; further ones wait to be accepted.
    pub connections: usize,
    /// The interval of keep-alive comments in an idle stream.
    pub keep_alive: Duration,
}

impl Default for Limits {
    /// Enough for people and their tools, and small compared with the resources of a machine.
    fn default() -> Self {
        Self {
            body_bytes: 1024 * 1024,
            artifact_bytes: 256 * 1024 * 1024,
            request: Duration::from_secs(30),
            streams_a_token: 32,
            starts_a_minute: 120,
            starting_a_token: 16,
            incoming_a_token: 64,
            connections: 1024,
            keep_alive: Duration::from_secs(15),
        }
    }
}
