//! `envoi serve --cluster`: the server of a cluster. A Restate node keeps the runs, and workers execute them.
//!
//! It gives the node the objects of runs, workers and the dispatcher, keeps a replica of the runs in its
//! store, and accepts REST requests. It executes no step and makes no decision. After a crash it restarts
//! with its store, and the node delivers the events that it missed.

use super::serve::{self, Bridge, GRACE};
use crate::{
    process::{
        args::ServeArgs,
        failure::Failure,
        interrupts::{self, Mode},
        messages,
    },
    session::own_engine,
    store::{cluster_file::ClusterFile, config, home::Home},
};
use envoi_contract::code::Code;
use envoi_journal::{Holder, Lease, Store, Taken};
use envoi_machines::{Admin, ClusterCommands, Contents, Endpoint, Replica, Serving, SharedContents};
use envoi_server::{Desk, ServeError, Server};
use std::{
    net::{SocketAddr, TcpListener},
    path::Path,
    sync::{Arc, mpsc},
    thread,
    time::Duration,
};

/// The name of the replica. A cluster has one server.
const REPLICA: &str = "main";
/// The pause between two attempts to register this server with the node.
const PAUSE: Duration = Duration::from_secs(1);

pub(crate) fn serve(home: &Home, args: &ServeArgs, file: &Path) -> Result<u8, Failure> {
    let file = ClusterFile::read(file)?;
    let store = home.open()?;
    let configured = config::load(store.layout())?;
    let tls = serve::tls(&store, configured.server.tls.as_ref())?;
    let address = serve::address(args, &configured.server);
    let listener = listen(address, "name another with --listen; is another server there?")?;
    let calls = listen(file.cluster.listen, "`listen` of the file names it; is another server there?")?;
    let bound = listener.local_addr().map_err(|error| Failure::machine("the address", error))?;
    let lease = lock(&store, "another engine or server")?;
    let shared = file.shared()?;
    file.check_lease(shared.agree_on_lease_ms(file.cluster.lease_ms).map_err(Failure::store)?)?;
    let replica = Replica::open(&store, shared.clone(), messages::say).map_err(Failure::store)?;
    let replica = Arc::new(replica);
    let _serving = answer_the_node(&file, calls, shared.clone(), &replica)?;
    make_known(&file)?;
    let (signals, inbox) = mpsc::channel();
    interrupts::mean(Mode::Serving(Box::new(move || {
        // If the server is already ending, no further signal is needed.
        let _ = signals.send(());
    })))?;
    let first = serve::first_token(&store)?;
    let notices = own_engine::notices(&configured);
    let bridge = Bridge::of(&store, configured.models)?;
    let settings = serve::settings(&store, configured.server, tls, bridge);
    let encrypted = settings.tls.is_some();
    let commands = ClusterCommands::new(replica, shared, file.ingress(), notices);
    let server = Server::start(listener, settings, Arc::clone(&store), Desk::Remote(Arc::new(commands)))
        .map_err(|ServeError(error)| Failure::machine("the server", error))?;
    unguarded(file.cluster.listen).iter().for_each(|text| messages::say(text));
    serve::warning(bound, encrypted).iter().for_each(|text| messages::say(text));
    serve::announce(&server.url(), first.as_deref(), home.json)?;
    // The signal handler keeps the sender, so this waits until a signal arrives.
    let _ = inbox.recv();
    server.stop(GRACE);
    lease.release();
    Ok(0)
}

/// The warning that others than the node can reach the objects.
fn unguarded(listen: SocketAddr) -> Option<String> {
    (!listen.ip().is_loopback()).then(|| {
        format!(
            "warning: whoever reaches {listen} or the addresses of the node can change every run, and run any command as the user of \
             each worker: nobody is asked for a token there. Keep them in a private network"
        )
    })
}

fn listen(address: SocketAddr, hint: &str) -> Result<TcpListener, Failure> {
    TcpListener::bind(address).map_err(|error| {
        Failure::new(Code::AddressUnusable, format!("{address} cannot be listened on: {error}")).hint(hint)
    })
}

/// Becomes the only process that writes to the store.
pub(super) fn lock(store: &Store, other: &str) -> Result<Lease, Failure> {
    match Lease::try_take(store.layout()).map_err(Failure::lease)? {
        Taken::Lease(lease) => {
            let holder = Holder { pid: std::process::id(), socket: std::path::PathBuf::new() };
            lease.announce(&holder).map_err(Failure::lease)?;
            Ok(lease)
        }
        Taken::Held(holder) => {
            let who = holder.map_or_else(String::new, |holder| format!(" (process {})", holder.pid));
            let folder = store.layout().root().display();
            Err(Failure::new(Code::EngineBusy, format!("{other}{who} holds the store `{folder}`"))
                .hint("end that one first, or name another folder with --home"))
        }
    }
}

fn answer_the_node(
    file: &ClusterFile,
    calls: TcpListener,
    shared: SharedContents,
    replica: &Arc<Replica>,
) -> Result<Serving, Failure> {
    let settings = envoi_machines::Settings { lease: file.lease(), replicas: vec![REPLICA.to_owned()] };
    let contents: Arc<dyn Contents> = Arc::new(shared);
    let endpoint = Endpoint::new(&settings, contents, Some((REPLICA, Arc::clone(replica) as _)));
    let endpoint = endpoint.map_err(|error| Failure::machine("the endpoint", error))?;
    endpoint.start(calls).map_err(|error| Failure::machine("the endpoint", error))
}

/// Registers this server with the node. Retries until the node is up, because it may start later.
fn make_known(file: &ClusterFile) -> Result<(), Failure> {
    let admin = Admin::new(&file.cluster.admin);
    let endpoint = file.cluster.endpoint.clone();
    let known = thread::Builder::new().name("making known".to_owned()).spawn(move || {
        let mut has_complained = false;
        while let Err(error) = admin.register(&endpoint) {
            if !has_complained {
                messages::say(&format!(
                    "the node of Restate does not know this server yet: {error}; trying on"
                ));
            }
            has_complained = true;
            thread::sleep(PAUSE);
        }
        if has_complained {
            messages::say("the node of Restate knows this server now");
        }
    });
    known.map(drop).map_err(|error| Failure::machine("a thread", error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_answers_the_node_off_the_loopback_is_warned_in_a_line() {
        for (listen, warned) in [("0.0.0.0:9080", true), ("192.0.2.1:9080", true), ("127.0.0.1:9080", false)]
        {
            let text = unguarded(listen.parse().unwrap());
            assert_eq!(text.is_some(), warned, "{listen}");
            assert!(text.is_none_or(|text| text.contains("any command") && !text.contains('\n')));
        }
    }
}
