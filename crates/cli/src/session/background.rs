//! Hands runs to an engine in the background.

use crate::{
    process::{failure::Failure, output},
    session::{engine_client::PING_PATIENCE, own_engine},
    store::{config, home::Home},
};
use envoi_api::run::Accepted;
use envoi_contract::code::Code;
use envoi_engine::{
    Client,
    protocol::{Request, Response},
};
use envoi_journal::{Layout, Lease, Store, Taken};
use envoi_kernel::ids::RunId;
use std::{
    fs::File,
    process::{Command, Stdio},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

/// How long a new engine may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long an engine without requests keeps running.
const UNASKED: Duration = Duration::from_secs(10);

/// Sends `request` to the engine in the background, and starts one if there is none. Returns when the run is
/// accepted.
pub(crate) fn detach(store: &Arc<Store>, request: &Request, jobs: Option<usize>) -> Result<RunId, Failure> {
    // Checked here, because an engine in the background has no terminal for an error message.
    config::load(store.layout())?;
    let until = Instant::now() + PATIENCE;
    let mut started = false;
    while Instant::now() < until {
        match Lease::try_take(store.layout()).map_err(Failure::lease)? {
            Taken::Lease(lease) => {
                lease.release();
                if !started {
                    spawn(store.layout(), jobs)?;
                    started = true;
                }
            }
            Taken::Held(Some(holder)) if !holder.socket.as_os_str().is_empty() => {
                if let Some(run) = hand_over(&holder.socket, request)? {
                    return Ok(run);
                }
            }
            Taken::Held(_) => {}
        }
        thread::sleep(Duration::from_millis(20));
    }
    let log = store.layout().root().join("engine.log");
    Err(Failure::new(Code::EngineUnreachable, "no engine in the background answers")
        .hint(format!("see {}", log.display())))
}

/// Prints which run was accepted.
pub(crate) fn print_run(run: &RunId, json: bool) -> Result<u8, Failure> {
    match json {
        true => output::row(&Accepted { run: run.clone() })?,
        false => output::data(&format!("{run}\n"))?,
    }
    Ok(0)
}

fn hand_over(socket: &std::path::Path, request: &Request) -> Result<Option<RunId>, Failure> {
    // An engine that does not respond gets no request. It could execute the request later, when no command
    // expects it any more.
    if !Client::answers(socket, PING_PATIENCE) {
        return Ok(None);
    }
    let Ok(client) = Client::connect(socket) else { return Ok(None) };
    let mut outcome = Ok(None);
    let sent = client.ask(request, |response| match response {
        Response::Accepted { run } => {
            outcome = Ok(Some(run));
            false
        }
        // A run that comes to rest with its first commit may report that before its acceptance.
        Response::Rest { .. } => {
            outcome = Ok(request.run().cloned());
            false
        }
        Response::Noted { text } => {
            crate::process::messages::say(&text);
            true
        }
        Response::Refused(refused) => {
            outcome = Err(Failure::from(refused));
            false
        }
        _ => true,
    });
    match (sent, outcome) {
        (_, Err(failure)) => Err(failure),
        (Ok(()), Ok(run)) => Ok(run),
        (Err(_), Ok(_)) => Ok(None),
    }
}

fn spawn(layout: &Layout, jobs: Option<usize>) -> Result<(), Failure> {
    let failed = |error| Failure::machine("an engine in the background", error);
    let log =
        File::options().create(true).append(true).open(layout.root().join("engine.log")).map_err(failed)?;
    let mut command = Command::new("/proc/self/exe");
    command.arg("--home").arg(layout.root()).arg("__engine");
    if let Some(jobs) = jobs {
        command.arg("--jobs").arg(jobs.to_string());
    }
    let out = log.try_clone().map_err(failed)?;
    command.stdin(Stdio::null()).stdout(out).stderr(log).spawn().map(drop).map_err(failed)
}

/// Takes the lease, unless another engine keeps it. A process that only checks the lease holds it for a
/// moment.
fn lease_soon(store: &Arc<Store>) -> Result<Option<Lease>, Failure> {
    let until = Instant::now() + Duration::from_secs(2);
    loop {
        match Lease::try_take(store.layout()).map_err(Failure::lease)? {
            Taken::Lease(lease) => return Ok(Some(lease)),
            Taken::Held(_) if Instant::now() > until => return Ok(None),
            Taken::Held(_) => thread::sleep(Duration::from_millis(5)),
        }
    }
}

/// `envoi __engine`: the engine in its own session, until nothing is under way.
pub(crate) fn be_the_engine(home: &Home, jobs: Option<usize>) -> Result<u8, Failure> {
    // `setsid` fails only for a group leader, which a spawned process is not. Signals of the terminal would
    // then still arrive.
    let _ = rustix::process::setsid();
    let store = home.open()?;
    let Some(lease) = lease_soon(&store)? else { return Ok(0) };
    let (host, telemetry) =
        own_engine::start(&store, lease, None, jobs, envoi_engine::PerAttempt::default())?;
    host.wait_for_request(UNASKED);
    let stopped = host.close(None);
    telemetry.end(own_engine::LAST_SPANS);
    match stopped {
        None => Ok(0),
        Some(error) => Err(Failure::store(error)),
    }
}
