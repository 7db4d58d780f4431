//! Answers the calls of Restate: which objects there are, and what a message does to one.
//!
//! Connections are HTTP/2 without TLS and without a proof of who calls. The address belongs into a network where only Restate can reach it.

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

/// How long Restate keeps what a finished message did, and the answer to a call. Runs keep their own journal.
const RETENTION: Duration = Duration::from_secs(5 * 60);

/// An error may pass at any moment, and the object waits meanwhile.
const FIRST_RETRY: Duration = Duration::from_millis(100);
const LONGEST_RETRY: Duration = Duration::from_secs(10);

/// After a connection could not be accepted; then a file may be free again.
const AFTER_FAILED_ACCEPT: Duration = Duration::from_millis(100);

/// A handler waits for the disk of who shows runs, and holds up a thread meanwhile.
const THREADS: usize = 4;

/// What a message leads to depends on these. They hold for an address: a change of one takes another address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// A worker is lost after so long without a beat.
    pub lease: Duration,
    /// The names of those who show runs: letters, digits and `-`. Each gets all commits.
    pub replicas: Vec<String>,
}

/// The objects of `cluster`, to be called by Restate.
#[derive(Clone)]
pub struct Endpoint(HyperEndpoint);

impl Endpoint {
    /// All objects. `replica` takes the commits that go to its name, if one of those who show runs is here.
    ///
    /// # Errors
    /// [`BadName`]: the replica cannot have its name.
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

    /// Answers what comes to `listener`, on threads of its own, until what is returned is dropped.
    ///
    /// # Errors
    /// The machine has no threads, or the listener cannot be used.
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

    /// Answers what comes in, for ever. To stop, drop the future: what was under way is called again.
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
            // Small frames go out at once: with Nagle's algorithm each answer waits for an acknowledgement.
            if stream.set_nodelay(true).is_ok() {
                let connection =
                    http2::Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(stream), self.0);
                // A connection that breaks is made again by Restate, which calls again.
                let _ = connection.await;
            }
        });
    }
}

/// An endpoint at work. When it is dropped, it stops at once: Restate calls again what was under way.
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
