//! The state that all requests share: the store, the engine's desk, and the limits.

use super::{
    commit_watch::CommitWatch, desk::Desk, digest_cache::DigestCache, head_cache::HeadCache,
    request_counts::RequestCounts, settings::Settings, shown_events::ShownEvents, so_far::SoFarCache,
    step_rows::StepRowCache,
};
use crate::{
    auth::token::Bearer,
    http::problem::Problem,
    limits::{
        byte_limit::ByteLimit,
        concurrency_limit::{ConcurrencyLimit, Permit},
        connection_limit::ConnectionLimit,
        fair_semaphore::{FairPermit, FairSemaphore},
        key_lock::KeyLocks,
        rate_limit::RateLimit,
    },
    models::provider::ProviderClient,
    push::scheduler::Scheduler,
};
use envoi_contract::{code::Code, time::Timestamp};
use envoi_journal::{Layout, ReadError, Reader, Store};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{Semaphore, watch};

/// The shared state of the server.
pub(crate) struct App {
    pub(crate) settings: Settings,
    pub(crate) hosts: Vec<String>,
    /// The port of the listener.
    pub(crate) port: u16,
    pub(crate) store: Arc<Store>,
    pub(crate) desk: Desk,
    pub(crate) commits: Arc<CommitWatch>,
    pub(crate) push_scheduler: Arc<Scheduler>,
    pub(crate) connections: ConnectionLimit,
    pub(crate) open_streams: ConcurrencyLimit,
    /// Bodies that are being received, by token.
    incoming_bodies: ConcurrencyLimit,
    /// Starts under way, by token.
    pub(crate) starts_under_way: ConcurrencyLimit,
    /// Turns of starts, by tenant.
    pub(crate) start_turns: FairSemaphore,
    /// Turns of requests that start a run with the same key.
    pub(crate) same_key_turns: FairSemaphore,
    /// Turns for parsing large bodies, by tenant.
    pub(crate) parse_turns: FairSemaphore,
    /// Patches and bundles, by tenant.
    pub(crate) files: ReadingPlaces,
    /// Comparisons, by tenant. Separate, so that a client that waits for a patch can view differences
    /// meanwhile.
    pub(crate) comparisons: ReadingPlaces,
    /// Model calls under way, by token or attempt.
    pub(crate) model_calls: ConcurrencyLimit,
    /// Bytes of kept requests for models, by tenant and token.
    pub(crate) model_bodies: ByteLimit,
    /// Limits the messages whose files are read at the same time.
    pub(crate) file_reads: Semaphore,
    pub(crate) start_rate: RateLimit,
    /// Locks for runs that are being started, and for tasks that are being answered.
    pub(crate) key_locks: KeyLocks,
    pub(crate) request_counts: RequestCounts,
    pub(crate) checked_digests: DigestCache,
    pub(crate) heads: HeadCache,
    pub(crate) step_rows: StepRowCache,
    pub(crate) so_far: SoFarCache,
    pub(crate) shown_events: ShownEvents,
    /// When the server started.
    pub(crate) started_at: Timestamp,
    pub(crate) stopping: watch::Receiver<bool>,
    pub(crate) providers: ProviderClient,
    readers: Mutex<Vec<Reader>>,
}

/// The most starts at the same time, in total and for one tenant. A start may copy a workspace. There are
/// more threads than this, so that a request that starts nothing never waits for a start.
const MAX_STARTS: usize = 16;
const MAX_STARTS_A_TENANT: usize = 4;

/// The most model calls under way, by token or attempt: as many as streams, unless that is configured.
const MAX_CALLS: usize = 32;

/// The most bytes of requests for models that are kept until their providers answer. A single token may use
/// 96 MiB of them: a message with the largest allowed files, 64 MiB, fits. Files are sent as base64.
const MAX_MODEL_BYTES: u64 = 256 * 1024 * 1024;

/// The most messages whose files are read at the same time: each may need tens of megabytes.
const MAX_READINGS: usize = 4;

/// The most large bodies that are parsed at the same time: 16 MB of JSON need hundreds of megabytes
/// meanwhile.
const MAX_PARSINGS: usize = 2;

/// The most answers of one kind that are made at the same time, in total and for one tenant: each may read
/// all files of a run.
const MAX_READINGS_OF_FILES: usize = 4;
const MAX_READINGS_OF_FILES_A_TENANT: usize = 2;

/// The most such answers that are made or sent at the same time, in total and for one tenant: each is a file
/// without a name, or megabytes of memory, as long as a slow client reads it.
const MAX_FILE_BODIES: usize = 32;
const MAX_FILE_BODIES_A_TENANT: usize = 8;

/// The limits of requests that read many files.
pub(crate) struct ReadingPlaces {
    turns: FairSemaphore,
    bodies: FairSemaphore,
}

impl ReadingPlaces {
    fn new() -> Self {
        Self {
            turns: FairSemaphore::new(MAX_READINGS_OF_FILES, MAX_READINGS_OF_FILES_A_TENANT),
            bodies: FairSemaphore::new(MAX_FILE_BODIES, MAX_FILE_BODIES_A_TENANT),
        }
    }

    /// Waits for a slot for an answer that is made or sent, and for a turn to make it.
    pub(crate) async fn acquire(&self, tenant: &str) -> (FairPermit, FairPermit) {
        let body = self.bodies.acquire(tenant).await;
        (body, self.turns.acquire(tenant).await)
    }
}

/// The most idle database connections. More are opened while they are needed.
const MAX_IDLE_READERS: usize = 16;

impl App {
    pub(crate) fn new(
        settings: Settings,
        hosts: Vec<String>,
        port: u16,
        store: Arc<Store>,
        desk: Desk,
        stopping: watch::Receiver<bool>,
    ) -> Self {
        let commits = Arc::new(CommitWatch::default());
        let open_streams = ConcurrencyLimit::new(settings.limits.streams_a_token);
        let start_rate = RateLimit::new(settings.limits.starts_a_minute);
        Self {
            hosts,
            port,
            store,
            desk,
            commits,
            push_scheduler: Arc::default(),
            connections: ConnectionLimit::new(settings.limits.connections),
            open_streams,
            incoming_bodies: ConcurrencyLimit::new(settings.limits.incoming_a_token),
            starts_under_way: ConcurrencyLimit::new(settings.limits.starting_a_token),
            start_turns: FairSemaphore::new(MAX_STARTS, MAX_STARTS_A_TENANT),
            same_key_turns: FairSemaphore::new(Semaphore::MAX_PERMITS, 1),
            parse_turns: FairSemaphore::new(MAX_PARSINGS, 1),
            files: ReadingPlaces::new(),
            comparisons: ReadingPlaces::new(),
            model_calls: ConcurrencyLimit::new(MAX_CALLS),
            model_bodies: ByteLimit::new(MAX_MODEL_BYTES),
            file_reads: Semaphore::new(MAX_READINGS),
            start_rate,
            key_locks: KeyLocks::default(),
            request_counts: RequestCounts::default(),
            shown_events: ShownEvents::default(),
            checked_digests: DigestCache::default(),
            heads: HeadCache::default(),
            step_rows: StepRowCache::default(),
            so_far: SoFarCache::default(),
            started_at: envoi_engine::now(),
            stopping,
            providers: ProviderClient::default(),
            readers: Mutex::default(),
            settings,
        }
    }

    /// Reads from the store. Call it on a blocking thread.
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

    /// Permission to send one more body, until it is read.
    pub(crate) fn incoming_body(&self, bearer: &Bearer) -> Result<Permit, Problem> {
        self.incoming_bodies.acquire(&bearer.id).ok_or_else(|| {
            let detail = "as many bodies as may be are being sent with this token";
            Problem::new(Code::TooManyRequests, detail).retry_after(1)
        })
    }

    pub(crate) fn layout(&self) -> &Layout {
        self.store.layout()
    }

    #[expect(clippy::unused_self, reason = "the clock belongs to the app")]
    pub(crate) fn now(&self) -> Timestamp {
        envoi_engine::now()
    }

    /// Logs the cause of a problem, which the client does not get.
    pub(crate) fn note(&self, problem: &Problem) {
        if let Some(cause) = problem.cause() {
            (self.settings.log)(&format!("{}: {cause}", problem.code));
            tracing::error!(code = problem.code.as_str(), "failed");
        }
    }
}
