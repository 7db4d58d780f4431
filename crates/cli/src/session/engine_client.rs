//! Gets an engine for a command: the command becomes the engine, or sends its run to the running one.
//!
//! If the lock is held and its socket does not respond, both are tried again for two seconds, the lock first:
//! a child between fork and exec holds the lock for a moment, and a closing engine releases it. If the engine
//! ends while this command follows it, this process becomes the engine and continues.

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

/// How long a held lock without a response is tried again.
const PATIENCE: Duration = Duration::from_secs(2);
/// The additional time if the holder has no socket yet: on a busy machine an engine takes seconds to start.
const COMING_UP: Duration = Duration::from_secs(8);
/// How long an engine may take to answer a ping. A stopped engine still has its socket.
pub(crate) const PING_PATIENCE: Duration = Duration::from_secs(2);
/// The pause between two attempts.
const PAUSE: Duration = Duration::from_millis(20);

/// Sends the request to the engine, prints its responses, and returns the exit code.
pub(crate) fn ask(
    store: &Arc<Store>,
    request: Request,
    args: &EngineArgs,
    printer: &mut Printer,
    conversation: &mut Conversation,
) -> Result<u8, Failure> {
    ask_beside(store, request, args, Person { printer, conversation }, None)
}

/// As [`ask`]. If this process becomes the engine, `beside` runs next to it.
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
    // A refusal of a request that may already have been executed. The run is then followed, if there is one.
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
                        // A refusal of the previous request does not apply to this one.
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
            // The previous engine may have executed the request before it ended without a response.
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
            // The command does not wait for later events.
            Err(HandOver::Gone { accepted: true, .. }) if is_enough(&request) => return Ok(0),
            Err(HandOver::Gone { accepted: true, .. }) => {
                request = go_on_with(request);
                until = Instant::now() + PATIENCE;
            }
            // The time that the engine worked on the request does not count as time without a response.
            Err(HandOver::Gone { accepted: false, worked, stopping })
                if Instant::now() > until + worked + extra(holder.as_ref()) =>
            {
                return Err(unreachable(holder.as_ref(), stopping.as_deref()));
            }
            // The engine may have ended between its commit and its response. The next engine finds the
            // started run and continues it.
            Err(HandOver::Gone { accepted: false, worked, .. }) => {
                until += worked;
                sent_before = true;
                thread::sleep(PAUSE);
            }
        }
    }
}

/// The additional time, beyond [`PATIENCE`], for the holder of the lock.
fn extra(holder: Option<&Holder>) -> Duration {
    let takes_requests = holder.is_some_and(|holder| !holder.socket.as_os_str().is_empty());
    if takes_requests { Duration::ZERO } else { COMING_UP }
}

fn lease(layout: &Layout, take_over: bool) -> Result<(Option<Lease>, Option<Holder>), Failure> {
    // Its holder, if any, is the server or a worker of a cluster, which accepts no requests of commands.
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
        /// How long a responding engine had the request.
        worked: Duration,
        /// Why it refuses the request, if it is about to end.
        stopping: Option<String>,
    },
    Failed(Failure),
    /// The person at the terminal has answered, so there is a new request.
    Again,
}

fn hand_over(holder: Option<&Holder>, request: &Request, printer: &mut Printer) -> Result<End, HandOver> {
    let gone = HandOver::Gone { accepted: false, worked: Duration::ZERO, stopping: None };
    let Some(holder) = holder.filter(|holder| !holder.socket.as_os_str().is_empty()) else {
        return Err(gone);
    };
    // An engine that does not respond gets no request. It could execute the request later, when no command
    // expects it any more.
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

/// Collects garbage in the store, by the running engine or by this process. The process may be killed at any
/// time.
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

/// No engine accepts requests there.
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
