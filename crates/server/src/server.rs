//! The running server: its listener, its connections, and its shutdown.
//!
//! The server stops quickly: streams end at once, requests under way may finish within a time limit, and the
//! rest is broken off. Nothing is lost: the journal has everything that was acknowledged, and readers of
//! streams know their position.

use crate::{
    a2a::push_events::RunEventSources,
    http::tls::Tls,
    limits::connection_limit::ConnectionOwner,
    push::dispatcher::{Dispatcher, Parts},
    router::router,
    state::{app::App, desk::Desk, settings::Settings},
};
use axum::Router;
use envoi_contract::time::Timestamp;
use envoi_engine::SteadyClock;
use envoi_journal::Store;
use hyper::{
    Request,
    body::Incoming,
    server::conn::http1,
    service::{Service as _, service_fn},
};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use rustix::net::sockopt::set_socket_send_buffer_size;
use std::{
    io,
    net::{SocketAddr, TcpListener},
    pin::pin,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    runtime::{Builder, Runtime},
    sync::{Semaphore, watch},
    task::JoinSet,
};
use tokio_rustls::TlsAcceptor;

/// Time limit for the head of a request, and for the TLS handshake.
const HEAD: Duration = Duration::from_secs(10);

/// Size in bytes of the buffer for a request's head, and of the buffer for data that a slow reader has not
/// read yet.
const BUFFER: usize = 64 * 1024;

/// Threads for blocking work. Further requests wait for one.
const BLOCKING_THREADS: usize = 32;

/// The pause after the system has refused a connection, for example because there are no free file
/// descriptors.
const PAUSE: Duration = Duration::from_millis(50);

/// A running server.
pub struct Server {
    runtime: Runtime,
    stop: watch::Sender<bool>,
    stopped: tokio::task::JoinHandle<()>,
    dispatcher: Dispatcher,
    address: SocketAddr,
    encrypted: bool,
}

/// The server cannot start: the address, a thread, or the system is the reason.
#[derive(Debug, thiserror::Error)]
#[error("the server cannot come up: {0}")]
pub struct ServeError(#[from] pub io::Error);

impl Server {
    /// Serves `listener` from now on, for the engine behind `desk`.
    ///
    /// # Errors
    /// [`ServeError`].
    pub fn start(
        listener: TcpListener,
        settings: Settings,
        store: Arc<Store>,
        desk: impl Into<Desk>,
    ) -> Result<Self, ServeError> {
        let desk = desk.into();
        let address = listener.local_addr()?;
        let acceptor = settings.tls.as_ref().map(Tls::acceptor);
        let encrypted = acceptor.is_some();
        listener.set_nonblocking(true)?;
        let runtime = Builder::new_multi_thread()
            .worker_threads(2)
            .max_blocking_threads(BLOCKING_THREADS)
            .thread_name("envoi-server")
            .enable_all()
            .build()?;
        let (stop, stopping) = watch::channel(false);
        let hosts = host_names(address, encrypted, &settings.hosts);
        let app = Arc::new(App::new(settings, hosts, address.port(), store, desk.clone(), stopping.clone()));
        let wakes = Arc::clone(&app.commits);
        let pushes = Arc::clone(&app.push_scheduler);
        desk.watch(Arc::new(move |run, records| {
            wakes.committed(run, records);
            pushes.committed(run, envoi_engine::now());
        }));
        let dispatcher = Dispatcher::start(Parts {
            store: Arc::clone(&app.store),
            scheduler: Arc::clone(&app.push_scheduler),
            sources: Box::new(RunEventSources(Arc::clone(&app))),
            egress: app.settings.a2a.push.clone(),
            clock: SteadyClock::new(Timestamp::default()),
            log: app.settings.log,
        })?;
        let router = router(&app);
        let places = Arc::clone(&app.connections.permits);
        let stopped = runtime.spawn(async move {
            match tokio::net::TcpListener::from_std(listener) {
                Ok(listener) => accept(Listener { listener, acceptor, router, stopping }, places).await,
                Err(error) => (app.settings.log)(&format!("the server cannot listen: {error}")),
            }
        });
        Ok(Self { runtime, stop, stopped, dispatcher, address, encrypted })
    }

    /// The address of the server.
    #[must_use]
    pub fn url(&self) -> String {
        let scheme = if self.encrypted { "https" } else { "http" };
        format!("{scheme}://{}", self.address)
    }

    /// Stops accepting, ends the streams, gives requests under way `patience` to finish, and breaks off the rest.
    pub fn stop(self, patience: Duration) {
        let Self { runtime, stop, stopped, dispatcher, .. } = self;
        let until = Instant::now() + patience;
        stop.send_replace(true);
        dispatcher.close();
        // Requests that take longer are broken off below.
        runtime.block_on(async { tokio::time::timeout(patience, stopped).await.ok() });
        runtime.shutdown_background();
        dispatcher.wait(until);
    }
}

/// The names by which clients may address the server: its address, and for loopback also its names.
fn host_names(address: SocketAddr, encrypted: bool, configured: &[String]) -> Vec<String> {
    let port = address.port();
    let mut names = vec![address.to_string()];
    if address.ip().is_loopback() || address.ip().is_unspecified() {
        names.extend(["127.0.0.1", "localhost", "[::1]"].map(|host| format!("{host}:{port}")));
    }
    names.extend(configured.iter().cloned());
    // Clients leave out the default port of their scheme.
    let usual = if encrypted { ":443" } else { ":80" };
    let without: Vec<String> =
        names.iter().filter_map(|name| name.strip_suffix(usual)).map(str::to_owned).collect();
    names.extend(without);
    names
}

struct Listener {
    listener: tokio::net::TcpListener,
    acceptor: Option<TlsAcceptor>,
    router: Router,
    stopping: watch::Receiver<bool>,
}

async fn accept(mut door: Listener, places: Arc<Semaphore>) {
    let mut connections = JoinSet::new();
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { break };
        let accepted = tokio::select! {
            accepted = door.listener.accept() => accepted,
            _ = door.stopping.changed() => break,
        };
        while connections.try_join_next().is_some() {}
        let Ok((stream, _)) = accepted else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        // Events are small and should be sent at once. If this fails, the connection still works, but is
        // slower.
        stream.set_nodelay(true).ok();
        // The kernel's send buffer for a slow reader is bounded too; by default it grows to megabytes. If
        // this fails, the connection only uses more memory.
        set_socket_send_buffer_size(&stream, BUFFER).ok();
        let acceptor = door.acceptor.clone();
        let router = door.router.clone();
        let stopping = door.stopping.clone();
        connections.spawn(async move {
            let _place = place;
            match acceptor {
                None => serve_connection(stream, router, stopping).await,
                Some(acceptor) => {
                    if let Ok(Ok(stream)) = tokio::time::timeout(HEAD, acceptor.accept(stream)).await {
                        serve_connection(stream, router, stopping).await;
                    }
                }
            }
        });
    }
    drop(door.listener);
    while connections.join_next().await.is_some() {}
}

/// Serves one connection to its end. When the server stops, the request under way is the last one.
async fn serve_connection(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    router: Router,
    mut stopping: watch::Receiver<bool>,
) {
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEAD).max_buf_size(BUFFER);
    let router = TowerToHyperService::new(router);
    let seat = ConnectionOwner::default();
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(seat.clone());
        router.call(request)
    });
    let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service));
    tokio::select! {
        // The client sees an error of the connection, so it is not reported here.
        _ = connection.as_mut() => return,
        _ = stopping.wait_for(|stop| *stop) => connection.as_mut().graceful_shutdown(),
    }
    // The client sees an error of the connection, so it is not reported here.
    connection.await.ok();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_answers_to_its_address_and_to_its_configured_names() {
        let names = |address: &str, encrypted, configured: &[&str]| {
            let configured: Vec<String> = configured.iter().map(|name| (*name).to_owned()).collect();
            host_names(address.parse().unwrap(), encrypted, &configured)
        };
        let loopback = names("127.0.0.1:7007", false, &[]);
        assert!(
            loopback.contains(&"localhost:7007".to_owned()) && !loopback.contains(&"localhost".to_owned())
        );
        assert_eq!(names("10.0.0.2:7007", false, &["envoi.example"]), ["10.0.0.2:7007", "envoi.example"]);
        assert!(names("10.0.0.2:443", true, &[]).contains(&"10.0.0.2".to_owned()));
        assert!(!names("10.0.0.2:443", false, &[]).contains(&"10.0.0.2".to_owned()));
    }
}
