//! `envoi serve`: a long-running engine of a store, with a network API.
//!
//! It resumes the runs that were under way when it started. `run`, `resume` and the answers of other
//! terminals are passed to it. Ctrl-C or SIGTERM ends it within a moment: running steps continue under their
//! supervisors, and the next engine finds them.

use super::{going_on, token};
use crate::process::stderr;
use crate::{
    command::reference::explain,
    process::{
        args::ServeArgs,
        environment,
        failure::Failure,
        interrupts::{self, Mode},
        messages, output,
    },
    session::{configured_models, own_engine},
    store::{config, home::Home, server_url::Announced},
};
use envoi_api::output::Listening;
use envoi_contract::code::Code;
use envoi_engine::{
    Commands, Host,
    protocol::{Isolate, WorkspaceUse},
};
use envoi_journal::{Holder, Lease, Store, Taken};
use envoi_server::{
    A2a, AttemptTokens, EgressPolicy, Limits, Models, ServeError, Server, Settings, Tls,
    scope::{Scope, Scopes},
    token::NewToken,
};
use std::{
    net::{Ipv4Addr, SocketAddr, TcpListener},
    sync::{
        Arc,
        mpsc::{self, RecvTimeoutError},
    },
    thread,
    time::{Duration, Instant},
};

pub(super) const PORT: u16 = 7007;

/// How long the start waits for an engine that is closing.
const PATIENCE: Duration = Duration::from_secs(2);
/// The polling interval for the lock, and for the engine's loop.
pub(super) const PAUSE: Duration = Duration::from_millis(50);
/// How long open requests may take to finish.
pub(super) const GRACE: Duration = Duration::from_millis(400);
/// How long the engine may take to commit its last events.
const LAST_COMMITS: Duration = Duration::from_millis(300);
/// How long the collector may take to receive the last spans.
const LAST_SPANS: Duration = Duration::from_millis(200);

pub(crate) fn serve(home: &Home, args: &ServeArgs) -> Result<u8, Failure> {
    let store = home.open()?;
    let configured = config::load(store.layout())?;
    // If this server cannot start, the present engine keeps its role and no token is printed.
    let tls = tls(&store, configured.server.tls.as_ref())?;
    let address = address(args, &configured.server);
    let listener = TcpListener::bind(address).map_err(|error| {
        Failure::new(Code::AddressUnusable, format!("{address} cannot be listened on: {error}"))
            .hint("name another with --listen; is another server there?")
    })?;
    let bridge = Bridge::of(&store, configured.models)?;
    let bound = listener.local_addr().map_err(|error| Failure::machine("the address", error))?;
    let encrypted = configured.server.tls.is_some();
    let found = configured_models::place(configured.server.public_url.as_deref(), bound, encrypted);
    let per_attempt = configured_models::per_attempt(bridge.attempt_tokens.as_ref(), &found);
    let (lease, other) = lease(&store, args.take_over)?;
    let (host, telemetry) = own_engine::start(&store, lease, other.as_ref(), args.jobs, per_attempt)?;
    let (signals, inbox) = mpsc::channel();
    let stop = signals.clone();
    interrupts::mean(Mode::Serving(Box::new(move || {
        let _ = stop.send(ServerSignal::Stop);
    })))?;
    let first = first_token(&store)?;
    let settings = settings(&store, configured.server, tls, bridge);
    let server = Server::start(listener, settings, Arc::clone(&store), host.commands().clone())
        .map_err(|ServeError(error)| Failure::machine("the server", error))?;
    let announced = Announced::new(store.layout(), &found);
    let reading = Arc::clone(&store);
    let desk = host.commands().clone();
    let going_on = thread::Builder::new().name("going on".to_owned()).spawn(move || {
        going_on::go_on(&reading, &desk);
        let _ = signals.send(ServerSignal::RunsTakenUp);
    });
    going_on.map_err(|error| Failure::machine("a thread", error))?;
    let mut is_to_stop = inbox.recv_timeout(PATIENCE) == Ok(ServerSignal::Stop);
    warning(bound, encrypted).iter().for_each(|text| messages::say(text));
    announce(&server.url(), first.as_deref(), home.json)?;
    while !is_to_stop && !host.is_over() {
        is_to_stop = match inbox.recv_timeout(PAUSE) {
            Ok(ServerSignal::RunsTakenUp) | Err(RecvTimeoutError::Timeout) => false,
            Ok(ServerSignal::Stop) | Err(RecvTimeoutError::Disconnected) => true,
        };
    }
    if let Some(announced) = announced {
        announced.end();
    }
    server.stop(GRACE);
    let left = leave(host);
    telemetry.end(LAST_SPANS);
    left
}

/// The address that the server listens on.
pub(super) fn address(args: &ServeArgs, configured: &config::Server) -> SocketAddr {
    let usual = SocketAddr::from((Ipv4Addr::LOCALHOST, PORT));
    args.listen.or(configured.listen).unwrap_or(usual)
}

/// A signal that the server waits for.
#[derive(PartialEq, Eq)]
enum ServerSignal {
    /// The runs that were under way have been handled.
    RunsTakenUp,
    /// The server has to end.
    Stop,
}

/// A server for the engine of another command, on this listener. The addresses in the configuration do not
/// apply to it.
pub(super) fn beside(store: &Arc<Store>, listener: TcpListener, desk: Commands) -> Result<Server, Failure> {
    let configured = config::load(store.layout())?;
    let models = configured_models::offered(configured.models, store.layout().root());
    let server = config::Server { public_url: None, ..configured.server };
    let settings = settings(store, server, None, Bridge { models, attempt_tokens: None });
    Server::start(listener, settings, Arc::clone(store), desk)
        .map_err(|ServeError(error)| Failure::machine("the server", error))
}

/// The parts of the bridge between commands and models.
pub(super) struct Bridge {
    models: Models,
    attempt_tokens: Option<AttemptTokens>,
}

impl Bridge {
    pub(super) fn of(store: &Store, configured: envoi_flow::models::Models) -> Result<Self, Failure> {
        let root = store.layout().root();
        let models = configured_models::offered(configured, root);
        let attempt_tokens = configured_models::attempt_tokens(&models, root)?;
        Ok(Self { models, attempt_tokens })
    }
}

/// The certificate and its key, if the configuration names any.
pub(super) fn tls(store: &Store, files: Option<&(String, String)>) -> Result<Option<Tls>, Failure> {
    let root = store.layout().root();
    let load = |(certificate, key): &(String, String)| Tls::load(&root.join(certificate), &root.join(key));
    files.map(load).transpose().map_err(|reason| {
        Failure::new(Code::TlsUnusable, reason.to_string())
            .hint("`server.tls` names a certificate and its key, both PEM files that can be read")
    })
}

pub(super) fn settings(
    store: &Store,
    configured: config::Server,
    tls: Option<Tls>,
    bridge: Bridge,
) -> Settings {
    let page = configured.has_page();
    let config::Server { mut hosts, origins, limits, mut a2a, public_url, .. } = configured;
    if let Some(url) = &public_url {
        hosts.extend(host_names_of(url));
    }
    a2a.url = a2a.url.or(public_url);
    Settings {
        hosts,
        origins,
        page,
        limits: bounds(&limits),
        a2a: over_a2a(a2a),
        tls,
        workspace: workspace(store),
        trees: environment::trees_folder().map(|trees| Isolate {
            trees,
            from_head: false,
            bring: Vec::new(),
            bring_if_there: Vec::new(),
            too_wide: environment::home_folder().into_iter().collect(),
        }),
        models: bridge.models,
        attempt_tokens: bridge.attempt_tokens,
        caller: environment::caller,
        error_pages: explain::PAGES,
        log: messages::say,
    }
}

/// The `Host` names that clients use for this address: with the port, and also without it if it is the
/// default port of the scheme.
fn host_names_of(url: &str) -> Vec<String> {
    let (host, usual) = match url.strip_prefix("https://") {
        Some(host) => (host, ":443"),
        None => (url.strip_prefix("http://").unwrap_or(url), ":80"),
    };
    let without = host.strip_suffix(usual);
    without.into_iter().chain([host]).map(str::to_owned).collect()
}

fn over_a2a(configured: config::A2a) -> A2a {
    let workspace = match configured.workspace {
        config::Workspace::Alone => WorkspaceUse::Alone,
        config::Workspace::Shared => WorkspaceUse::Shared,
        config::Workspace::Copy => WorkspaceUse::Copy,
    };
    let push = EgressPolicy::new(&configured.push.hosts, configured.push.ranges);
    A2a { url: configured.url, default_flow: configured.default_flow, workspace, push }
}

fn bounds(configured: &config::Limits) -> Limits {
    let usual = Limits::default();
    let time = |ms: Option<u64>, usual| ms.map_or(usual, Duration::from_millis);
    let count =
        |count: Option<u64>, usual| count.and_then(|count| usize::try_from(count).ok()).unwrap_or(usual);
    Limits {
        body_bytes: configured.body_bytes.unwrap_or(usual.body_bytes),
        artifact_bytes: configured.artifact_bytes.unwrap_or(usual.artifact_bytes),
        request: time(configured.request_ms, usual.request),
        streams_a_token: count(configured.streams, usual.streams_a_token),
        starts_a_minute: count(configured.starts, usual.starts_a_minute),
        starting_a_token: count(configured.starting, usual.starting_a_token),
        incoming_a_token: count(configured.incoming, usual.incoming_a_token),
        connections: count(configured.connections, usual.connections),
        keep_alive: time(configured.keep_alive_ms, usual.keep_alive),
    }
}

/// The folder for runs of the person at the terminal: the parent of the store.
fn workspace(store: &Store) -> std::path::PathBuf {
    let root = store.layout().root();
    root.parent().unwrap_or(root).to_owned()
}

/// Becomes the engine. Waits for an engine that is closing.
fn lease(store: &Store, take_over: bool) -> Result<(Lease, Option<Holder>), Failure> {
    let until = Instant::now() + PATIENCE;
    loop {
        match Lease::try_take(store.layout()).map_err(Failure::lease)? {
            Taken::Lease(lease) => return Ok((lease, None)),
            Taken::Held(holder) if take_over => {
                return Ok((Lease::take_over(store.layout()).map_err(Failure::store)?, holder));
            }
            Taken::Held(_) if Instant::now() < until => thread::sleep(PAUSE),
            Taken::Held(holder) => {
                let who = holder.map_or_else(String::new, |holder| format!(" (process {})", holder.pid));
                return Err(Failure::new(Code::EngineBusy, format!("another engine{who} holds the store"))
                    .hint(
                        "wait until its runs are over, or replace it with --take-over; running steps go on",
                    ));
            }
        }
    }
}

/// Makes a token with all rights if the store never had a token. It is printed now and never again.
pub(super) fn first_token(store: &Store) -> Result<Option<String>, Failure> {
    let reader = store.reader().map_err(Failure::store)?;
    if reader.has_tokens().map_err(Failure::store)? {
        return Ok(None);
    }
    let new_token = NewToken {
        name: "first".to_owned(),
        tenant: environment::principal().tenant,
        scopes: Scopes::new([Scope::Admin]),
        expires_at: None,
    };
    envoi_server::token::create(store, &new_token, envoi_engine::now()).map(Some).map_err(token::failed)
}

/// The warning that the network can read the tokens.
pub(super) fn warning(bound: SocketAddr, encrypted: bool) -> Option<String> {
    let seen = !encrypted && !bound.ip().is_loopback();
    seen.then(|| {
        format!(
            "warning: tokens come to {bound} in the clear, for everybody on the way to read, unless a proxy before it speaks \
             TLS; `server.tls` of the configuration names a certificate"
        )
    })
}

/// Prints the address and the first token.
pub(super) fn announce(url: &str, first: Option<&str>, as_json: bool) -> Result<(), Failure> {
    if as_json {
        return output::row(&Listening { listening: url.to_owned(), token: first.map(str::to_owned) });
    }
    output::data(&format!("listening on {url}\n"))?;
    stderr::line(format_args!("`envoi page` prints a link that signs you in to the web page"));
    let Some(token) = first else { return Ok(()) };
    stderr::line(format_args!(
        "this is the only time that the first token is shown; `envoi token create` makes others"
    ));
    output::data(&format!("{token}\n"))
}

/// Ends the engine if nothing is under way. Otherwise the engine ends with the process: running steps
/// continue, and everything acknowledged is durable. Accepted requests are finished first.
fn leave(host: Host) -> Result<u8, Failure> {
    host.drain()();
    let under_way = host.requests_under_way();
    let (signals, inbox) = mpsc::channel();
    let closing = thread::Builder::new().name("closing".to_owned()).spawn(move || {
        let _ = signals.send(host.close(None));
    });
    closing.map_err(|error| Failure::machine("a thread", error))?;
    let mut is_announced = false;
    loop {
        match inbox.recv_timeout(LAST_COMMITS) {
            Ok(Some(error)) => return Err(own_engine::stopped_by(&error)),
            Err(RecvTimeoutError::Timeout) if under_way() > 0 => {
                if !is_announced {
                    messages::say(own_engine::FINISHING);
                }
                is_announced = true;
            }
            Ok(None) | Err(_) => return Ok(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_listens_off_the_loopback_without_tls_is_warned_in_a_line() {
        for (bound, encrypted, warned) in [
            ("0.0.0.0:7007", false, true),
            ("[::]:7007", false, true),
            ("192.0.2.1:7007", false, true),
            ("192.0.2.1:7007", true, false),
            ("127.0.0.1:7007", false, false),
            ("[::1]:7007", false, false),
        ] {
            let text = warning(bound.parse().unwrap(), encrypted);
            assert_eq!(text.is_some(), warned, "{bound}");
            assert!(text.is_none_or(|text| text.contains(bound) && !text.contains('\n')));
        }
    }
}
