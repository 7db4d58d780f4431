//! Answers the calls of Restate: which objects exist, and what a message does to one.
//!
//! Connections are HTTP/2 without TLS and without authentication. The address belongs in a network where only
//! Restate can reach it.

use crate::{
    contents::{Contents, Replica},
    objects::{BadName, DispatcherObject, ReplicaService, RunObject, WorkerObject},
    turn::{Dispatchers, Runs, Workers},
};
use hyper::server::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use restate_sdk::{
    hyper::HyperEndpoint,
    prelude::{Endpoint as Objects, IntoServiceDefinition as _, ServiceOptions},
};
use std::{io, sync::Arc, time::Duration};
use tokio::{
    net::{TcpListener, TcpStream},
    runtime::{Builder, Runtime},
};

/// How long Restate keeps the journal of a finished invocation, and the answer to a call. Runs have their own
/// journal.
const RETENTION: Duration = Duration::from_secs(5 * 60);

/// Bounds of Restate's retry interval. An error may end at any moment, and the object is blocked meanwhile.
const FIRST_RETRY: Duration = Duration::from_millis(100);
const LONGEST_RETRY: Duration = Duration::from_secs(10);

/// Pause after a failed accept, so that a file descriptor may become free.
const AFTER_FAILED_ACCEPT: Duration = Duration::from_millis(100);

/// A handler of a replica waits for the disk, and blocks a thread meanwhile.
const THREADS: usize = 4;

/// The settings that decide the effects of a message. They belong to the address of an endpoint: changed
/// settings need another address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// A worker is lost after this time without a heartbeat.
    pub lease: Duration,
    /// The names of the replicas: letters, digits and `-`. Each replica gets all commits.
    pub replicas: Vec<String>,
}

/// The objects of `cluster`, for Restate to call.
#[derive(Clone)]
pub struct Endpoint(HyperEndpoint);

impl Endpoint {
    /// Makes all objects. If one of the replicas runs here, `replica` is its name, and takes the commits sent
    /// to it.
    ///
    /// # Errors
    /// [`BadName`]: the name of the replica is not allowed.
    pub fn new(
        settings: &Settings,
        contents: Arc<dyn Contents>,
        replica: Option<(&str, Arc<dyn Replica>)>,
    ) -> Result<Self, BadName> {
        let lease_ms = u64::try_from(settings.lease.as_millis()).unwrap_or(u64::MAX);
        let runs = Runs { contents, replicas: settings.replicas.clone() };
        let mut objects = Objects::builder()
            .bind(RunObject(Arc::new(runs)).into_service_definition().options(options()))
            .bind(WorkerObject(Arc::new(Workers { lease_ms })).into_service_definition().options(options()))
            .bind(DispatcherObject(Arc::new(Dispatchers)).into_service_definition().options(options()));
        if let Some((name, replica)) = replica {
            objects = objects.bind(ReplicaService(replica).named(name)?.options(options()));
        }
        Ok(Self(HyperEndpoint::new(objects.build())))
    }

    /// Serves `listener` on its own threads, until the returned value is dropped.
    ///
    /// # Errors
    /// The system cannot create threads, or the listener cannot be used.
    pub fn start(self, listener: std::net::TcpListener) -> io::Result<Serving> {
        listener.set_nonblocking(true)?;
        let runtime = Builder::new_multi_thread()
            .worker_threads(THREADS)
            .thread_name("envoi-endpoint")
            .enable_all()
            .build()?;
        let entered = runtime.enter();
        let listener = TcpListener::from_std(listener)?;
        drop(entered);
        runtime.spawn(self.serve(listener));
        Ok(Serving(Some(runtime)))
    }

    /// Serves for ever. To stop, drop the future: Restate repeats the interrupted calls.
    pub async fn serve(self, listener: TcpListener) {
        loop {
            match listener.accept().await {
                Ok((stream, _)) => self.clone().answer(stream),
                Err(_) => tokio::time::sleep(AFTER_FAILED_ACCEPT).await,
            }
        }
    }

    fn answer(self, stream: TcpStream) {
        tokio::spawn(async move {
            // Send small frames at once: with Nagle's algorithm each answer waits for an acknowledgement.
            if stream.set_nodelay(true).is_ok() {
                let connection =
                    http2::Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(stream), self.0);
                // Restate opens a broken connection again, and repeats its calls.
                let _ = connection.await;
            }
        });
    }
}

/// A running endpoint. Dropping it stops it at once: Restate repeats the interrupted calls.
#[derive(Debug)]
pub struct Serving(Option<Runtime>);

impl Drop for Serving {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

fn options() -> ServiceOptions {
    ServiceOptions::new()
        .idempotency_retention(RETENTION)
        .journal_retention(RETENTION)
        .retry_policy_initial_interval(FIRST_RETRY)
        .retry_policy_exponentiation_factor(2.0)
        .retry_policy_max_interval(LONGEST_RETRY)
}
