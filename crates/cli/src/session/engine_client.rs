//! How a command gets an engine: it becomes the engine, or hands its run to the one that is at work.
//!
//! A held lock whose socket does not answer is tried again, lock first, for two seconds: a child between fork and exec
//! holds it for a moment, and an engine that is just closing gives it back. If the engine goes away while it is followed,
//! this process takes its place and goes on.

use crate::{
    process::{
        args::{EngineArgs, SUPERVISOR},
        environment, failpoint,
        failure::{Failure, REFUSED, STOPPED},
        interrupts::{self, Mode},
        messages,
    },
    session::{
        accounts, configured_models,
        interactive::{Conversation, WAITS},
        outcome::End,
        telemetry::Telemetry,
        zygote,
    },
    store::config,
    view::{describe::how_to_answer, printer::Printer},
};
use envoi_contract::code::Code;
use envoi_engine::Notices;
use envoi_engine::{
    Client, ClientError, Host, HostError, PerAttempt, Settings,
    protocol::{Request, Response, ResumeRequest, Standing},
    retention::{CollectRequest, Collected},
};
use envoi_flow::config::Config;
use envoi_journal::{CommitError, Holder, Layout, Lease, ReadError, RunFilter, RunRow, Store, Taken};
use envoi_kernel::ids::RunId;
use envoi_step::Launcher;
use std::{
    path::Path,
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
/// What the collector of spans gets to take the last ones.
pub(crate) const LAST_SPANS: Duration = Duration::from_secs(3);
/// The message while the engine stays only to finish the request of another command.
pub(crate) const FINISHING: &str = "finishing what another command has asked of this engine";
/// Between two tries.
const PAUSE: Duration = Duration::from_millis(20);

/// What an engine of this process does beside the request of its command.
pub(crate) trait Beside {
    /// The engine is up, and has no request yet.
    fn begin(&mut self, host: &Host) -> Result<(), Failure>;
    /// The request has come to its end. Returns when the engine may go.
    fn stay(&mut self, host: &Host) -> Result<(), Failure>;
    /// The engine goes now.
    fn end(&mut self);
}

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
    let taken = Lease::try_take(layout).map_err(Failure::store)?;
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

/// After the engine that had taken it went away, a request is to go on with the run, not to begin it again.
fn go_on_with(request: Request) -> Request {
    let (run, by, caller) = match request {
        Request::Start(start) => (start.run, start.by, start.caller),
        Request::Fork(fork) => (fork.run, fork.by, fork.caller),
        Request::Resume(resume) => (resume.run, resume.by, resume.caller),
        Request::Answer(answer) => (answer.run, answer.answer.by, answer.caller),
        // Done again, it ends what was begun.
        other @ (Request::Restore(_)
        | Request::Apply(_)
        | Request::Cancel { .. }
        | Request::Collect(_)
        | Request::Ping) => return other,
    };
    Request::Resume(Box::new(ResumeRequest::follow(run, by, caller)))
}

/// Gives a decision an id, so that it is taken once even if it is sent again because no reply came. Names the step that called
/// this command and waits for the run.
pub(crate) fn identified(mut request: Request) -> Request {
    if let Some(caller) = request.caller_mut() {
        caller.within = environment::within();
    }
    let id = match &mut request {
        Request::Answer(request) => &mut request.answer.request,
        Request::Resume(request) if decides(request) => &mut request.request,
        _ => return request,
    };
    if id.is_none() {
        *id = environment::random_id("req_").ok();
    }
    request
}

/// Whether a request does more than to go on with a run: done twice, it would do that twice.
fn decides(resume: &ResumeRequest) -> bool {
    resume.choice.is_some() || resume.raise.is_some() || resume.correct.is_some()
}

/// Whether a request that is refused the second time was done the first time. An answer, or a decision, may have been made
/// by another person meanwhile: the engine knows its own by their ids, and a refusal is one.
fn was_done(request: &Request) -> bool {
    match request {
        // The engine knows a run that it has begun, and follows it.
        Request::Answer(_) | Request::Fork(_) => false,
        Request::Resume(resume) => !decides(resume),
        Request::Start(_)
        | Request::Restore(_)
        | Request::Apply(_)
        | Request::Cancel { .. }
        | Request::Collect(_)
        | Request::Ping => true,
    }
}

/// Whether there is nothing to be followed once a request is accepted.
pub(crate) fn is_enough(request: &Request) -> bool {
    matches!(request, Request::Answer(answer) if !answer.follow)
}

enum HandOver {
    Gone {
        accepted: bool,
        /// How long an engine that had answered had the request.
        worked: Duration,
        /// Why it does not take the request, if it said that it is about to end.
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
        end = on_response(response, printer);
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

/// Prints a response; returns the end, if it is the last one.
fn on_response(response: Response, printer: &mut Printer) -> Option<End> {
    match response {
        Response::Accepted { .. } => printer.accepted(),
        Response::Noted { text } => printer.note(&text),
        Response::Record { record } => printer.record(&record),
        Response::Rest { standing } => return Some(End::Rest(standing)),
        Response::Refused(refused) => return Some(End::Refused(refused.into())),
        Response::Stopped { .. } => return Some(End::Stopped),
        Response::Pong | Response::Collected { .. } => return Some(End::Silence),
    }
    None
}

/// What an engine comes up with.
#[derive(Clone, Copy)]
struct EngineSetup<'a> {
    store: &'a Arc<Store>,
    args: &'a EngineArgs,
}

/// The person at the terminal: what they see, and what they answer.
pub(crate) struct Person<'a> {
    pub(crate) printer: &'a mut Printer,
    pub(crate) conversation: &'a mut Conversation,
}

/// Is the engine until the request's run has come to rest and nothing else is under way. While the run waits for the
/// person at the terminal, the engine stays: what lapses meanwhile lapses on time.
fn be_the_engine(
    setup: EngineSetup<'_>,
    lease: Lease,
    other: Option<&Holder>,
    request: Request,
    person: Person<'_>,
    beside: Option<&mut dyn Beside>,
) -> Result<u8, Failure> {
    let (host, telemetry) = start(setup.store, lease, other, setup.args.jobs, PerAttempt::default())?;
    let run = request.run().cloned();
    let Some(beside) = beside else {
        let outcome = converse(&host, setup.store, request, person.printer, person.conversation);
        return leave(setup, host, telemetry, run.as_ref(), outcome, person.printer);
    };
    if let Err(failure) = beside.begin(&host) {
        beside.end();
        return leave(setup, host, telemetry, run.as_ref(), Some(Err(failure)), person.printer);
    }
    let mut outcome = converse(&host, setup.store, request, person.printer, person.conversation);
    if let (Some(Ok(code)), Some(run)) = (&outcome, &run) {
        let code = *code;
        outcome = Some(beside.stay(&host).and_then(|()| stands_now(setup.store, run, code, person.printer)));
    }
    beside.end();
    leave(setup, host, telemetry, run.as_ref(), outcome, person.printer)
}

/// The exit code of a run that may have gone on since it was `code`.
fn stands_now(store: &Store, run: &RunId, code: u8, printer: &mut Printer) -> Result<u8, Failure> {
    let reader = store.reader().map_err(Failure::store)?;
    match Standing::of(&envoi_engine::load_run(&reader, run)?.status()) {
        Some(standing) if standing.exit_code == code => Ok(code),
        Some(standing) => End::Rest(standing).report(printer),
        None => Ok(STOPPED),
    }
}

/// Ends the engine, and says what the request came to.
fn leave(
    setup: EngineSetup<'_>,
    host: Host,
    telemetry: Telemetry,
    run: Option<&RunId>,
    outcome: Option<Result<u8, Failure>>,
    printer: &mut Printer,
) -> Result<u8, Failure> {
    wait_for_others(setup.store, run, printer);
    if host.requests_under_way()() > 0 {
        printer.note(FINISHING);
    }
    let stopped = host.close(run);
    telemetry.end(LAST_SPANS);
    note_undelivered(setup.store, run, printer);
    let outcome = match (outcome, run) {
        // The command of a notice may have answered while the engine ended. Another engine may be at work on the run by now.
        (Some(Ok(WAITS)), Some(run)) if stopped.is_none() => {
            let now = stands_now(setup.store, run, WAITS, printer);
            Some(now.map(|code| if code == STOPPED { WAITS } else { code }))
        }
        (outcome, _) => outcome,
    };
    match (outcome, stopped) {
        (None | Some(Ok(STOPPED)), Some(error)) => Err(stopped_by(&error)),
        (Some(outcome), Some(error)) => {
            // The run of this command had come to rest; what stopped the engine concerns others.
            stopped_by(&error).say(false);
            outcome
        }
        (Some(outcome), None) => outcome,
        (None, None) => {
            printer.stopped();
            Ok(STOPPED)
        }
    }
}

/// One request after the other, as long as the person at the terminal answers; what the last one came to.
fn converse(
    host: &Host,
    store: &Store,
    request: Request,
    printer: &mut Printer,
    conversation: &mut Conversation,
) -> Option<Result<u8, Failure>> {
    let mut request = request;
    loop {
        request = identified(request);
        if let Err(failure) =
            interrupts::mean(Mode::Engine { drain: Box::new(host.drain()), run: request.run().cloned() })
        {
            return Some(Err(failure));
        }
        let (client, responses) = mpsc::channel();
        let desk = host.commands().clone();
        let asking =
            thread::Builder::new().name("desk".to_owned()).spawn(move || desk.serve(request, &client));
        let asking = match asking {
            Ok(asking) => asking,
            Err(error) => return Some(Err(Failure::machine("a thread", error))),
        };
        let end = responses.into_iter().find_map(|response| on_response(response, printer));
        // From here on only requests of others are under way. One that has panicked has said so.
        let _ = asking.join();
        let end = end?;
        match conversation.after(store, &end, printer) {
            Ok(Some(next)) => request = next,
            Ok(None) => return Some(end.report(printer)),
            Err(failure) => return Some(Err(failure)),
        }
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

pub(crate) fn stopped_by(error: &envoi_engine::EngineError) -> Failure {
    use envoi_engine::EngineError;
    if let EngineError::TakenOver | EngineError::Store(CommitError::Fenced { .. }) = error {
        return Failure::new(Code::TakenOver, error.to_string())
            .hint("the other engine goes on with the run; `envoi resume RUN` follows it");
    }
    Failure::store(error)
}

/// Comes up as the engine, with the configuration of the store. An engine that was stopped within a transaction keeps the
/// database busy: it is killed. That is always safe, because it could not commit any more and supervisors go on.
pub(crate) fn start(
    store: &Arc<Store>,
    lease: Lease,
    other: Option<&Holder>,
    jobs: Option<usize>,
    per_attempt: PerAttempt,
) -> Result<(Host, Telemetry), Failure> {
    let configured = config::load(store.layout())?;
    let settings = Settings {
        jobs: jobs.unwrap_or_else(environment::default_jobs),
        launcher: Launcher::own([SUPERVISOR]).with_zygote(zygote::of_this_process()),
        socket_dirs: environment::socket_dirs(),
        reached: failpoint::reached,
        notices: notices(&configured),
        per_attempt,
        models: configured_models::callable(&configured.models, store.layout().root()),
        accounts: accounts::usable(&configured.accounts, store.layout().root()),
        print_line: messages::say,
        stream_cap_bytes: configured.output.stream_bytes,
        too_wide: environment::home_folder().into_iter().collect(),
        waits_to_start: other.is_none(),
    };
    // A store that is locked may be waited for long: until the engine is up, the first signal ends that.
    interrupts::mean(Mode::Idle)?;
    let started = match (Host::start(Arc::clone(store), lease, &settings), other) {
        (Err((HostError::Store(CommitError::Busy), lease)), Some(other)) => {
            kill(store.layout().root(), other.pid);
            let settings = Settings { waits_to_start: true, ..settings };
            Host::start(Arc::clone(store), lease, &settings)
        }
        (started, _) => started,
    };
    let host = started.map_err(|(error, _)| Failure::store(error))?;
    let telemetry = Telemetry::begin(store, host.commands());
    Ok((host, telemetry))
}

/// How notices are sent: the targets of the configuration, and their variables of this environment.
fn notices(configured: &Config) -> Notices {
    Notices {
        keys: configured_models::key_variables(&configured.models)
            .into_iter()
            .chain(accounts::variables(&configured.accounts))
            .collect(),
        targets: configured.notify.clone(),
        env: environment::allowed(),
        variable: environment::variable,
        how_to_answer: |run, raised| how_to_answer(run, raised, false, None),
        page: configured.server.public_url.clone(),
    }
}

/// Kills the process that holds the lock of this store. Its id may have been given to another since it was written down:
/// one that has nothing of the store open is left alone.
fn kill(store: &Path, pid: u32) {
    use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
    let Some(id) = i32::try_from(pid).ok().and_then(Pid::from_raw) else { return };
    let Ok(process) = pidfd_open(id, PidfdFlags::empty()) else { return };
    let open = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let mut files = open.filter_map(|entry| std::fs::read_link(entry.path()).ok());
    if files.any(|file| file.starts_with(store)) {
        // A process that has ended in the meantime is what was wanted.
        let _ = pidfd_send_signal(&process, Signal::KILL);
    }
}

/// Prints how many notices of this run are not delivered.
fn note_undelivered(store: &Arc<Store>, run: Option<&RunId>, printer: &mut Printer) {
    let Some(run) = run else { return };
    let missed = match store.reader().and_then(|reader| reader.deliveries(run)) {
        Ok(rows) => rows.iter().filter(|row| row.delivered_at.is_none()).count(),
        // It has not begun.
        Err(ReadError::Missing { .. }) => return,
        Err(error) => {
            return printer
                .note(&format!("whether all notices of this run are delivered is not known: {error}"));
        }
    };
    if missed > 0 {
        let many = if missed == 1 { "1 notice is" } else { &format!("{missed} notices are") };
        printer
            .note(&format!("{many} not delivered; `envoi show {run}` says why, the next engine tries again"));
    }
}

/// Whether a step of the run may run in this engine. A run that is set aside is not waited for.
fn may_be_running(row: &RunRow) -> bool {
    row.live_attempts > 0 && row.aside.is_none()
}

fn wait_for_others(store: &Arc<Store>, own: Option<&RunId>, printer: &mut Printer) {
    let unfinished = RunFilter { unfinished: true, limit: None };
    let Ok(rows) = store.reader().and_then(|reader| reader.runs(unfinished)) else { return };
    let others = rows.iter().filter(|row| may_be_running(row) && Some(&row.run) != own).count();
    if others > 0 {
        let runs = if others == 1 { "another run" } else { &format!("{others} other runs") };
        printer.note(&format!(
            "waiting for the steps of this engine: {runs} of this store may still be running"
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use envoi_contract::{digest::Digest, time::Timestamp};
    use envoi_journal::Aside;
    use envoi_kernel::ids::FlowId;

    #[test]
    fn a_run_that_is_set_aside_is_not_waited_for() {
        let (run, flow) = (RunId::new("run_1").unwrap(), FlowId::new("shop").unwrap());
        let row = RunRow::begun(run, flow, Digest::of(b""), Timestamp::from_millis(0));
        let live = RunRow { live_attempts: 1, ..row.clone() };
        let (code, none) = ("STORE_FAILED".to_owned(), String::new());
        let why = Aside { since: Timestamp::from_millis(0), code, reason: none.clone(), evidence: none };
        let aside = RunRow { aside: Some(why), ..live.clone() };
        assert_eq!([row, live, aside].each_ref().map(may_be_running), [false, true, false]);
    }
}
