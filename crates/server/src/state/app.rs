//! What every request shares: the store, the engine's desk, and the bounds that hold for all of them.

use super::{commit_watch::Wakes, digest_cache::Verified};
use crate::{
    auth::{attempt_token::Seal, token::Bearer},
    http::{problem::Problem, tls::Tls},
    limits::{
        concurrency_limit::{Permit, Streams},
        connection_limit::Crowd,
        fair_semaphore::Lanes,
        rate_limit::Starts,
    },
    models::{catalog::Models, provider::Upstream},
    push::scheduler::Board,
    rest::metrics::Metrics,
};
use envoi_contract::time::Timestamp;
use envoi_engine::{
    Desk,
    protocol::{CallerWire, WorkspaceUse},
};
use envoi_journal::{Layout, ReadError, Reader, Store};
use envoi_kernel::Flow;
use envoi_notify::Reach;
use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::sync::{Semaphore, watch};

/// What the composition root decides.
#[derive(Clone)]
pub struct Settings {
    /// Names under which the server may be asked for, with their port, besides that of its address.
    pub hosts: Vec<String>,
    /// Origins of pages that may ask, besides its own.
    pub origins: Vec<String>,
    /// Bounds.
    pub limits: Limits,
    /// A certificate and its key, for TLS.
    pub tls: Option<Tls>,
    /// What messages over A2A mean where they do not say it.
    pub a2a: A2a,
    /// The folder in which runs of the tenant `local` work.
    pub workspace: PathBuf,
    /// Models that may be called through the bridge.
    pub models: Models,
    /// What tokens of attempts are made by; `None`: there are none.
    pub seal: Option<Seal>,
    /// What commands of a run may see of this environment.
    pub caller: fn(&Flow, &Path) -> CallerWire,
    /// Takes a line for the person who runs the server.
    pub log: fn(&str),
}

/// See [`Settings::a2a`].
#[derive(Debug, Clone)]
pub struct A2a {
    /// Where clients find the server; `None`: as they ask.
    pub url: Option<String>,
    /// The flow that a message starts.
    pub default_flow: Option<String>,
    /// How its run uses the workspace.
    pub workspace: WorkspaceUse,
    /// Where push notifications may lead.
    pub push: Reach,
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
    /// A stream on which nothing happens says so this often.
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

/// See the module.
pub(crate) struct App {
    pub(crate) settings: Settings,
    pub(crate) hosts: Vec<String>,
    pub(crate) store: Arc<Store>,
    pub(crate) desk: Desk,
    pub(crate) wakes: Arc<Wakes>,
    pub(crate) pushes: Arc<Board>,
    pub(crate) crowd: Crowd,
    pub(crate) streams: Streams,
    /// Bodies that are being sent, by one token.
    incoming: Streams,
    /// Starts under way, by one token.
    pub(crate) starting: Streams,
    /// Turns of starts, by tenant.
    pub(crate) beginnings: Lanes,
    /// Turns of those who begin a run with the same key.
    pub(crate) same_key: Lanes,
    /// Turns of large bodies that are read, by tenant.
    pub(crate) parsings: Lanes,
    /// Calls of models under way, by one token or attempt.
    pub(crate) calls: Streams,
    /// Messages whose files may be read now.
    pub(crate) readings: Semaphore,
    pub(crate) starts: Starts,
    pub(crate) metrics: Metrics,
    pub(crate) verified: Verified,
    /// When the server came up.
    pub(crate) since: Timestamp,
    pub(crate) stopping: watch::Receiver<bool>,
    pub(crate) upstream: Upstream,
    readers: Mutex<Vec<Reader>>,
}

/// Starts that are worked on at once, and of those of one tenant: a start may copy a workspace, and there are more threads
/// than this, so that a request that starts nothing never waits for a start.
const MAX_STARTS: usize = 16;
const MAX_STARTS_A_TENANT: usize = 4;

/// Model calls under way at once, by one token or attempt: as many as it may have streams, unless that is configured.
const MAX_CALLS: usize = 32;

/// Messages whose files are read at once: each may hold tens of megabytes.
const MAX_READINGS: usize = 4;

/// Large bodies that are parsed at once: 16 MB of JSON take hundreds of megabytes meanwhile.
const MAX_PARSINGS: usize = 2;

/// Connections to the database that are kept; more are opened while more are needed.
const MAX_IDLE_READERS: usize = 16;

impl App {
    pub(crate) fn new(
        settings: Settings,
        hosts: Vec<String>,
        store: Arc<Store>,
        desk: Desk,
        stopping: watch::Receiver<bool>,
    ) -> Self {
        let wakes = Arc::new(Wakes::default());
        let (streams, starts) =
            (Streams::new(settings.limits.streams_a_token), Starts::new(settings.limits.starts_a_minute));
        Self {
            hosts,
            store,
            desk,
            wakes,
            pushes: Arc::default(),
            crowd: Crowd::new(settings.limits.connections),
            streams,
            incoming: Streams::new(settings.limits.incoming_a_token),
            starting: Streams::new(settings.limits.starting_a_token),
            beginnings: Lanes::new(MAX_STARTS, MAX_STARTS_A_TENANT),
            same_key: Lanes::new(Semaphore::MAX_PERMITS, 1),
            parsings: Lanes::new(MAX_PARSINGS, 1),
            calls: Streams::new(MAX_CALLS),
            readings: Semaphore::new(MAX_READINGS),
            starts,
            metrics: Metrics::default(),
            verified: Verified::default(),
            since: envoi_engine::now(),
            stopping,
            upstream: Upstream::default(),
            readers: Mutex::default(),
            settings,
        }
    }

    /// Reads from the store, on a thread that may block.
    pub(crate) fn read<T, E: From<ReadError>>(
        &self,
        read: impl FnOnce(&Reader) -> Result<T, E>,
    ) -> Result<T, E> {
        let idle = self.lock().pop();
        let reader = match idle {
            Some(reader) => reader,
            None => self.store.reader()?,
        };
        let result = read(&reader);
        let mut idle = self.lock();
        if idle.len() < MAX_IDLE_READERS {
            idle.push(reader);
        }
        result
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Reader>> {
        self.readers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The right to send one more body; until it is read.
    pub(crate) fn incoming(&self, bearer: &Bearer) -> Result<Permit, Problem> {
        self.incoming.open(&bearer.id).ok_or_else(|| {
            let detail = "as many bodies as may be are being sent with this token";
            Problem::too_many("TOO_MANY_REQUESTS", detail).retry_after(1)
        })
    }

    pub(crate) fn layout(&self) -> &Layout {
        self.store.layout()
    }

    #[expect(clippy::unused_self, reason = "the clock belongs to the app, whoever it is")]
    pub(crate) fn now(&self) -> Timestamp {
        envoi_engine::now()
    }

    /// Says to whoever runs the server what a client is not told.
    pub(crate) fn note(&self, problem: &Problem) {
        if let Some(cause) = problem.cause() {
            (self.settings.log)(&format!("{}: {cause}", problem.code));
            tracing::error!(code = problem.code, "failed");
        }
    }
}

/// Does blocking work of a request on a thread for it. What panics is a problem of ours, told as such.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    let span = tracing::Span::current();
    tokio::task::spawn_blocking(move || span.in_scope(work))
        .await
        .unwrap_or_else(|error| Err(Problem::internal(error)))
}
