//! How a command gets an engine: it becomes the engine, or hands its run to the one that is at work.
//!
//! A held lock whose socket does not answer is tried again, lock first, for two seconds: a child between fork and exec
//! holds it for a moment, and an engine that is just closing gives it back. If the engine goes away while it is followed,
//! this process takes its place and goes on.

use crate::{
    process::{
        args::EngineArgs,
        failure::{Failure, REFUSED},
        interrupts::{self, Mode},
    },
    session::{
        interactive::Conversation,
        outcome::End,
        own_engine::{
            Beside, EngineSetup, LAST_SPANS, Person, be_the_engine, not_started, start, stopped_by,
        },
        sent_request::{go_on_with, identified, is_enough, was_done},
    },
    view::printer::Printer,
};
use envoi_contract::code::Code;
use envoi_engine::{
    Client, ClientError, HostError, PerAttempt,
    protocol::{Request, Response},
    retention::{CollectRequest, Collected},
};
use envoi_journal::{Holder, Layout, Lease, Store, Taken};
use std::{
    sync::{Arc, mpsc},
    thread,
    time::{Duration, Instant},
};

/// How long a held lock without an answer is tried again.
const PATIENCE: Duration = Duration::from_secs(2);
/// How much longer if the one that holds it has no socket yet: on a machine under load an engine takes seconds to come up.
const COMING_UP: Duration = Duration::from_secs(8);
/// How long an engine may take to answer a ping. One that is stopped still has its socket.
pub(crate) const PING_PATIENCE: Duration = Duration::from_secs(2);
/// Between two tries.
const PAUSE: Duration = Duration::from_millis(20);

/// Sends the request to the engine, prints what it answers, and returns the exit code.
pub(crate) fn ask(
    store: &Arc<Store>,
    request: Request,
    args: &EngineArgs,
    printer: &mut Printer,
    conversation: &mut Conversation,
) -> Result<u8, Failure> {
    ask_beside(store, request, args, Person { printer, conversation }, None)
}

/// As [`ask`]; if this process becomes the engine, it does this beside.
pub(crate) fn ask_beside(
    store: &Arc<Store>,
    request: Request,
    args: &EngineArgs,
    Person { printer, conversation }: Person<'_>,
    mut beside: Option<&mut dyn Beside>,
) -> Result<u8, Failure> {
    let mut request = identified(request);
    let mut take_over = args.take_over;
    let mut until = Instant::now() + PATIENCE;
    let mut sent_before = false;
    // The engine's refusal of a request that may have been done before: the run is followed then, if there is one.
    let mut refusal: Option<Failure> = None;
    loop {
        let (lease, other) = lease(store.layout(), take_over)?;
        take_over = false;
        let outcome = match lease {
            Some(lease) => {
                let setup = EngineSetup { store, args };
                let person = Person { printer, conversation };
                let beside = beside.as_mut().map(|beside| &mut **beside as &mut dyn Beside);
                be_the_engine(setup, lease, other.as_ref(), request.clone(), person, beside)
                    .map_err(HandOver::Failed)
            }
            None => hand_over(other.as_ref(), &request, printer).and_then(|end| {
                let next = conversation.after(store, &end, printer).map_err(HandOver::Failed)?;
                match next {
                    Some(next) => {
                        // A refusal of the last request does not belong to this one.
                        refusal = None;
                        (request, sent_before, until) = (identified(next), false, Instant::now() + PATIENCE);
                        Err(HandOver::Again)
                    }
                    None => end.report(printer).map_err(HandOver::Failed),
                }
            }),
        };
        let holder = other;
        match outcome {
            Ok(code) => return Ok(code),
            Err(HandOver::Again) => {}
            // An engine that went away may have done the request before it could answer.
            Err(HandOver::Failed(failure))
                if sent_before && failure.exit_code == REFUSED && was_done(&request) =>
            {
                sent_before = false;
                request = go_on_with(request);
                refusal = Some(failure);
            }
            Err(HandOver::Failed(failure)) if failure.code.known() == Some(Code::RunNotFound) => {
                return Err(refusal.unwrap_or(failure));
            }
            Err(HandOver::Failed(failure)) => return Err(failure),
            // The command does not wait for what follows.
            Err(HandOver::Gone { accepted: true, .. }) if is_enough(&request) => return Ok(0),
            Err(HandOver::Gone { accepted: true, .. }) => {
                request = go_on_with(request);
                until = Instant::now() + PATIENCE;
            }
            // The time in which it worked on the request is none in which it did not answer.
            Err(HandOver::Gone { accepted: false, worked, stopping })
                if Instant::now() > until + worked + extra(holder.as_ref()) =>
            {
                return Err(unreachable(holder.as_ref(), stopping.as_deref()));
            }
            // It may have gone between its commit and its answer: the next engine finds that the run has begun, and goes on.
            Err(HandOver::Gone { accepted: false, worked, .. }) => {
                until += worked;
                sent_before = true;
                thread::sleep(PAUSE);
            }
        }
    }
}

/// How much longer than [`PATIENCE`] the holder of the lock is waited for.
fn extra(holder: Option<&Holder>) -> Duration {
    let takes_requests = holder.is_some_and(|holder| !holder.socket.as_os_str().is_empty());
    if takes_requests { Duration::ZERO } else { COMING_UP }
}

fn lease(layout: &Layout, take_over: bool) -> Result<(Option<Lease>, Option<Holder>), Failure> {
    // Its holder, if there is one, is a server or a worker of a cluster, which takes no requests of commands.
    if layout.replica_mark().symlink_metadata().is_ok() {
        return Err(not_started(&HostError::Replica));
    }
    let taken = Lease::try_take(layout).map_err(Failure::lease)?;
    match taken {
        Taken::Lease(lease) => Ok((Some(lease), None)),
        Taken::Held(holder) if take_over => {
            Ok((Some(Lease::take_over(layout).map_err(Failure::store)?), holder))
        }
        Taken::Held(holder) => Ok((None, holder)),
    }
}

fn unreachable(holder: Option<&Holder>, stopping: Option<&str>) -> Failure {
    let failure = |message| Failure::new(Code::EngineUnreachable, message);
    match (holder.filter(|holder| !holder.socket.as_os_str().is_empty()), stopping) {
        (Some(holder), Some(reason)) => {
            failure(format!("another engine (process {}) holds the store: {reason}", holder.pid)).hint(
                "try again when its live steps have ended; --take-over replaces it at once, and running steps go on",
            )
        }
        (Some(holder), None) => failure(format!(
            "another engine (process {}) holds the store and does not answer",
            holder.pid
        ))
        .hint(
            "--take-over replaces it: it can then neither commit nor start anything, and running steps go on",
        ),
        (None, _) => {
            let who =
                holder.map_or_else(|| "a process".to_owned(), |holder| format!("process {}", holder.pid));
            failure(format!(
                "{who} holds the store and takes no requests: a repair, or an engine that is coming up"
            ))
            .hint("wait for it; an engine that was stopped while it came up is replaced by --take-over")
        }
    }
}

enum HandOver {
    Gone {
        accepted: bool,
        /// How long an engine that had answered had the request.
        worked: Duration,
        /// Why it does not take the request, if it is about to end.
        stopping: Option<String>,
    },
    Failed(Failure),
    /// The person at the terminal has answered; the request is now another one.
    Again,
}

fn hand_over(holder: Option<&Holder>, request: &Request, printer: &mut Printer) -> Result<End, HandOver> {
    let gone = HandOver::Gone { accepted: false, worked: Duration::ZERO, stopping: None };
    let Some(holder) = holder.filter(|holder| !holder.socket.as_os_str().is_empty()) else {
        return Err(gone);
    };
    // An engine that does not answer gets no request: it could do it later, when no command expects it any more.
    if !Client::answers(&holder.socket, PING_PATIENCE) {
        return Err(gone);
    }
    let Ok(client) = Client::connect(&holder.socket) else { return Err(gone) };
    let cancels = matches!(request, Request::Cancel { .. });
    interrupts::mean(Mode::Following { engine: holder.pid, run: request.run().cloned(), cancels })
        .map_err(HandOver::Failed)?;
    let mut accepted = false;
    let mut end = None;
    let mut stopping = None;
    let began = Instant::now();
    let sent = client.ask(request, |response| {
        accepted = accepted || matches!(response, Response::Accepted { .. } | Response::Record { .. });
        if let Response::Stopped { reason } = &response {
            stopping = Some(reason.clone());
        }
        end = End::of(response, printer);
        true
    });
    match (sent, end) {
        (Ok(()), Some(End::Stopped)) | (Err(ClientError::Gone), _) => {
            Err(HandOver::Gone { accepted, worked: began.elapsed(), stopping })
        }
        (Ok(()), Some(end)) => Ok(end),
        (Ok(()), None) => Ok(End::Silence),
        (Err(ClientError::NoAnswer { .. }), _) => Err(gone),
        (Err(error), _) => Err(HandOver::Failed(Failure::store(error))),
    }
}

/// Has the engine collect the store: the engine that is at work, or this process. It may be killed at any time.
pub(crate) fn collect(store: &Arc<Store>, request: &CollectRequest) -> Result<Collected, Failure> {
    let until = Instant::now() + PATIENCE + COMING_UP;
    let request = Request::Collect(Box::new(request.clone()));
    loop {
        let (lease, holder) = lease(store.layout(), false)?;
        let Some(lease) = lease else {
            let gone = match collected_by(holder.as_ref(), &request) {
                Ok(collected) => return collected,
                Err(NotThere) => Instant::now() > until,
            };
            if gone {
                return Err(unreachable(holder.as_ref(), None));
            }
            thread::sleep(PAUSE);
            continue;
        };
        let (host, telemetry) = start(store, lease, None, None, PerAttempt::default())?;
        let (client, responses) = mpsc::channel();
        host.commands().serve(request, &client);
        drop(client);
        let collected = responses.into_iter().find_map(collected);
        let stopped = host.close(None);
        telemetry.end(LAST_SPANS);
        return match (collected, stopped) {
            (Some(collected), _) => collected,
            (None, Some(error)) => Err(stopped_by(&error)),
            (None, None) => Err(Failure::new(Code::EngineStopping, "the engine was stopped".to_owned())),
        };
    }
}

/// No engine takes requests there.
struct NotThere;

fn collected_by(holder: Option<&Holder>, request: &Request) -> Result<Result<Collected, Failure>, NotThere> {
    let holder = holder.filter(|holder| !holder.socket.as_os_str().is_empty()).ok_or(NotThere)?;
    if !Client::answers(&holder.socket, PING_PATIENCE) {
        return Err(NotThere);
    }
    let client = Client::connect(&holder.socket).map_err(|_| NotThere)?;
    let mut found = None;
    let sent = client.ask(request, |response| {
        found = collected(response);
        found.is_none()
    });
    match (sent, found) {
        (_, Some(found)) => Ok(found),
        (Err(error @ ClientError::Foreign { .. }), None) => Ok(Err(Failure::store(error))),
        (_, None) => Err(NotThere),
    }
}

fn collected(response: Response) -> Option<Result<Collected, Failure>> {
    match response {
        Response::Collected { report } => Some(Ok(*report)),
        Response::Refused(refused) => Some(Err(refused.into())),
        _ => None,
    }
}
