//! The settings of a server, and the bounds on its clients with their defaults: sizes, times, streams, starts, the keep-alive of a
//! stream. The composition root sets them.

use crate::{auth::attempt_token::AttemptTokens, http::tls::Tls, models::catalog::Models};
use envoi_engine::protocol::{CallerWire, Isolate, WorkspaceUse};
use envoi_kernel::Flow;
use envoi_notify::EgressPolicy;
use std::{
    path::{Path, PathBuf},
    time::Duration,
};

/// What the composition root decides.
#[derive(Clone)]
pub struct Settings {
    /// Names by which clients may address the server, with their port, besides that of its address.
    pub hosts: Vec<String>,
    /// Origins of pages that may send requests, besides its own.
    pub origins: Vec<String>,
    /// Whether people can sign in to the web page.
    pub page: bool,
    /// Bounds.
    pub limits: Limits,
    /// A certificate and its key, for TLS.
    pub tls: Option<Tls>,
    /// Defaults for messages over A2A.
    pub a2a: A2a,
    /// The folder in which runs of the tenant `local` work.
    pub workspace: PathBuf,
    /// Where the trees of runs lie whose flow wants one; `None`: such a run is refused.
    pub trees: Option<Isolate>,
    /// Models that may be called through the bridge.
    pub models: Models,
    /// What tokens of attempts are made by; `None`: there are none.
    pub attempt_tokens: Option<AttemptTokens>,
    /// What commands of a run may see of this environment.
    pub caller: fn(&Flow, &Path) -> CallerWire,
    /// Each error code, and its page in Markdown.
    pub error_pages: &'static [(&'static str, &'static str)],
    /// Takes a line for the person who runs the server.
    pub log: fn(&str),
}

/// See [`Settings::a2a`].
#[derive(Debug, Clone)]
pub struct A2a {
    /// Where clients find the server; `None`: under the host that they use.
    pub url: Option<String>,
    /// The flow that a message starts.
    pub default_flow: Option<String>,
    /// How its run uses the workspace.
    pub workspace: WorkspaceUse,
    /// Where push notifications may lead.
    pub push: EgressPolicy,
}

/// Bounds on what clients may use.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Bytes of a body, other than an artifact.
    pub body_bytes: u64,
    /// Bytes of an artifact.
    pub artifact_bytes: u64,
    /// How long a request may take, streams and artifacts aside; for those it is how long nothing may come.
    pub request: Duration,
    /// Streams open at once, by one token.
    pub streams_a_token: usize,
    /// Runs started in a minute, by one token.
    pub starts_a_minute: usize,
    /// Starts under way at once, by one token.
    pub starting_a_token: usize,
    /// Bodies that are being sent at once, by one token.
    pub incoming_a_token: usize,
    /// Connections at once; further ones wait to be accepted.
    pub connections: usize,
    /// How often an idle stream sends a sign of life.
    pub keep_alive: Duration,
}

impl Default for Limits {
    /// Generous for people and their tools, and small beside what a machine has.
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
