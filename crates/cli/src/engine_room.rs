//! How a command gets an engine: by being it, or by handing its run to the one that is.
//!
//! A held lock whose socket does not answer is tried again, lock first, for two seconds: a child between fork and exec
//! holds it for a moment, and an engine that is just closing gives it back. If the engine goes away while it is followed,
//! this process takes its place and goes on.

use crate::{args::EngineArgs, failpoint, failure::Failure, home, narrate::Narrator};
use envoi_engine::{
    Client, ClientError, Host, HostError, Settings,
    protocol::{Request, Response, ResumeRequest},
};
use envoi_journal::{CommitError, Holder, Layout, Lease, RunFilter, Store, Taken};
use envoi_kernel::ids::RunId;
use envoi_step::Launcher;
use signal_hook::{
    consts::{SIGINT, SIGTERM},
    flag,
    iterator::Signals,
};
use std::{
    sync::{Arc, atomic::AtomicBool, mpsc},
    thread,
    time::{Duration, Instant},
};

/// How long a held lock without an answer is tried again.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long an engine may take to say that it is there. One that is stopped still has its socket.
pub(crate) const PING_PATIENCE: Duration = Duration::from_secs(2);
/// Between two tries.
const PAUSE: Duration = Duration::from_millis(20);
/// Exit code after Ctrl-C with the run unfinished.
const STOPPED: u8 = 7;

/// Makes the request of whoever is the engine, tells `narrator` what is heard, and returns the exit code.
pub(crate) fn ask(
    store: &Arc<Store>,
    request: Request,
    args: &EngineArgs,
    narrator: &mut Narrator,
) -> Result<u8, Failure> {
    let mut request = request;
    let mut take_over = args.take_over;
    let mut until = Instant::now() + PATIENCE;
    loop {
        let (lease, other) = lease(store.layout(), take_over)?;
        take_over = false;
        let holder = match lease {
            Some(lease) => return be_the_engine(store, lease, other.as_ref(), request, args, narrator),
            None => other,
        };
        match hand_over(holder.as_ref(), &request, narrator) {
            Ok(code) => return Ok(code),
            Err(Handing::Failed(failure)) => return Err(failure),
            Err(Handing::Gone { accepted: true }) => {
                request = go_on_with(request);
                until = Instant::now() + PATIENCE;
            }
            Err(Handing::Gone { accepted: false }) if Instant::now() > until => {
                return Err(unreachable(holder.as_ref()));
            }
            // It may have gone between its commit and its answer: who is asked next finds the run begun, and goes on.
            Err(Handing::Gone { accepted: false }) => thread::sleep(PAUSE),
        }
    }
}

fn lease(layout: &Layout, take_over: bool) -> Result<(Option<Lease>, Option<Holder>), Failure> {
    let taken = Lease::try_take(layout).map_err(Failure::store)?;
    match taken {
        Taken::Lease(lease) => Ok((Some(lease), None)),
        Taken::Held(holder) if take_over => {
            Ok((Some(Lease::take_over(layout).map_err(Failure::store)?), holder))
        }
        Taken::Held(holder) => Ok((None, holder)),
    }
}

fn unreachable(holder: Option<&Holder>) -> Failure {
    let pid = holder.map_or_else(|| "unknown".to_owned(), |holder| holder.pid.to_string());
    let message = format!("another engine (process {pid}) holds the store and does not answer");
    Failure::new(crate::failure::MACHINE, "ENGINE_UNREACHABLE", message).hint(
        "--take-over replaces it: it can then neither commit nor start anything, and running steps go on",
    )
}

/// After the engine that had taken it went away, a request is to go on with the run, not to begin it again.
fn go_on_with(request: Request) -> Request {
    let (run, by, caller) = match request {
        Request::Start(start) => (start.run, start.by, start.caller),
        Request::Resume(resume) => (resume.run, resume.by, resume.caller),
        other @ (Request::Cancel { .. } | Request::Ping) => return other,
    };
    Request::Resume(Box::new(ResumeRequest { run, choice: None, reopen: false, why: None, by, caller }))
}

enum Handing {
    Gone { accepted: bool },
    Failed(Failure),
}

fn hand_over(holder: Option<&Holder>, request: &Request, narrator: &mut Narrator) -> Result<u8, Handing> {
    let gone = Handing::Gone { accepted: false };
    let Some(holder) = holder.filter(|holder| !holder.socket.as_os_str().is_empty()) else {
        return Err(gone);
    };
    // Nothing is asked of an engine that does not answer: it could do it later, when nobody expects it any more.
    if !Client::answers(&holder.socket, PING_PATIENCE) {
        return Err(gone);
    }
    let Ok(client) = Client::connect(&holder.socket) else { return Err(gone) };
    stop_following_on_ctrl_c(holder.pid);
    let mut accepted = false;
    let mut outcome = None;
    let asked = client.ask(request, |response| {
        accepted = accepted || matches!(response, Response::Accepted { .. } | Response::Record { .. });
        outcome = conclude(response, narrator);
        true
    });
    match (asked, outcome) {
        (Ok(()), Some(Ok(STOPPED))) | (Err(ClientError::Gone), _) => Err(Handing::Gone { accepted }),
        (Ok(()), Some(outcome)) => outcome.map_err(Handing::Failed),
        (Ok(()), None) => Ok(0),
        (Err(ClientError::NoAnswer { .. }), _) => Err(gone),
        (Err(error), _) => Err(Handing::Failed(Failure::store(error))),
    }
}

/// What a last response means for the command; `None` for one that others follow.
fn conclude(response: Response, narrator: &mut Narrator) -> Option<Result<u8, Failure>> {
    match response {
        Response::Accepted { .. } => narrator.accepted(),
        Response::Record { record } => narrator.record(&record),
        Response::Rest { standing } => {
            narrator.rest(&standing);
            return Some(Ok(standing.exit_code));
        }
        Response::Refused(refused) => return Some(Err(refused.into())),
        Response::Stopped { .. } => return Some(Ok(STOPPED)),
        Response::Pong => return Some(Ok(0)),
    }
    None
}

fn be_the_engine(
    store: &Arc<Store>,
    lease: Lease,
    other: Option<&Holder>,
    request: Request,
    args: &EngineArgs,
    narrator: &mut Narrator,
) -> Result<u8, Failure> {
    let host = start(store, lease, other, args.jobs)?;
    drain_on_ctrl_c(host.drain())?;
    let (client, heard) = mpsc::channel();
    let run = run_of(&request).cloned();
    let desk = host.desk().clone();
    let asking = thread::Builder::new().name("desk".to_owned()).spawn(move || desk.serve(request, &client));
    asking.map_err(|error| Failure::machine("a thread", error))?;
    let outcome = heard.into_iter().find_map(|response| conclude(response, narrator));
    wait_for_others(store, run.as_ref(), narrator);
    let stopped = host.close();
    match (outcome, stopped) {
        (_, Some(error)) => Err(stopped_by(&error)),
        (Some(outcome), None) => outcome,
        (None, None) => Ok(STOPPED),
    }
}

fn stopped_by(error: &envoi_engine::EngineError) -> Failure {
    use envoi_engine::EngineError;
    if let EngineError::Store(CommitError::Fenced { .. }) = error {
        return Failure::new(crate::failure::MACHINE, "TAKEN_OVER", error.to_string())
            .hint("the other engine goes on with the run; `envoi show` follows it up");
    }
    Failure::store(error)
}

/// Comes up as the engine. An engine that was stopped within a transaction keeps the database busy: it is killed, which is
/// always safe, because it could not commit any more and supervisors go on.
pub(crate) fn start(
    store: &Arc<Store>,
    lease: Lease,
    other: Option<&Holder>,
    jobs: Option<usize>,
) -> Result<Host, Failure> {
    let settings = Settings {
        jobs: jobs.unwrap_or_else(home::default_jobs),
        launcher: Launcher::own(["__attempt"]),
        socket_dir: home::socket_dir(),
        reached: failpoint::reached,
    };
    match (Host::start(Arc::clone(store), lease, &settings), other) {
        (Err((HostError::Store(CommitError::Busy), lease)), Some(other)) => {
            kill(other.pid);
            Host::start(Arc::clone(store), lease, &settings).map_err(|(error, _)| Failure::store(error))
        }
        (started, _) => started.map_err(|(error, _)| Failure::store(error)),
    }
}

fn kill(pid: u32) {
    use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
    let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) else { return };
    if let Ok(process) = pidfd_open(pid, PidfdFlags::empty()) {
        // A process that has ended in the meantime is what was wanted.
        pidfd_send_signal(&process, Signal::KILL).unwrap_or_default();
    }
}

fn run_of(request: &Request) -> Option<&RunId> {
    match request {
        Request::Start(start) => Some(&start.run),
        Request::Resume(resume) => Some(&resume.run),
        Request::Cancel { run, .. } => Some(run),
        Request::Ping => None,
    }
}

fn wait_for_others(store: &Arc<Store>, own: Option<&RunId>, narrator: &mut Narrator) {
    let rows = store.reader().and_then(|reader| reader.runs(RunFilter { unfinished: true, limit: None }));
    let others =
        rows.unwrap_or_default().iter().filter(|row| row.live_attempts > 0 && Some(&row.run) != own).count();
    if others > 0 {
        narrator.note(&format!(
            "{others} other runs of this store may have live attempts; waiting for those of this engine"
        ));
    }
}

/// The first signal drains; the second one ends the process in its handler, so that two in quick succession are two.
fn drain_on_ctrl_c(drain: impl Fn() + Send + 'static) -> Result<(), Failure> {
    let failed = |error| Failure::machine("signals", error);
    let once = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        flag::register_conditional_shutdown(signal, i32::from(STOPPED), Arc::clone(&once)).map_err(failed)?;
        flag::register(signal, Arc::clone(&once)).map_err(failed)?;
    }
    let mut signals = Signals::new([SIGINT, SIGTERM]).map_err(failed)?;
    let watch = thread::Builder::new().name("signals".to_owned()).spawn(move || {
        if signals.forever().next().is_some() {
            eprintln!(
                "starting nothing new, waiting for live steps; Ctrl-C again leaves them to their supervisors, and \
                 `envoi resume` finds them"
            );
            drain();
        }
    });
    watch.map(drop).map_err(|error| Failure::machine("a thread", error))
}

fn stop_following_on_ctrl_c(engine: u32) {
    let Ok(mut signals) = Signals::new([SIGINT, SIGTERM]) else { return };
    let watch = thread::Builder::new().name("signals".to_owned()).spawn(move || {
        if signals.forever().next().is_some() {
            eprintln!("the run goes on in process {engine}; `envoi cancel` ends it");
            std::process::exit(i32::from(STOPPED));
        }
    });
    drop(watch);
}
