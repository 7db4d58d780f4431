//! This process as the engine of a store: how it starts, executes the request of its command, and ends.

use crate::{
    process::{
        args::{EngineArgs, SUPERVISOR},
        environment, failpoint,
        failure::{Failure, STOPPED},
        interrupts::{self, Mode},
        messages,
    },
    session::{
        accounts, configured_models,
        interactive::{Conversation, WAITS},
        outcome::End,
        sent_request::identified,
        telemetry::Telemetry,
        zygote,
    },
    store::config,
    view::{describe::how_to_answer, printer::Printer},
};
use envoi_contract::code::Code;
use envoi_engine::{
    Host, HostError, Notices, PerAttempt, Settings,
    protocol::{Request, Standing},
};
use envoi_flow::config::Config;
use envoi_journal::{CommitError, Holder, Lease, ReadError, RunFilter, RunRow, Store};
use envoi_kernel::ids::RunId;
use envoi_step::Launcher;
use std::{
    path::Path,
    sync::{Arc, mpsc},
    thread,
    time::Duration,
};

/// How long the collector may take to receive the last spans.
pub(crate) const LAST_SPANS: Duration = Duration::from_secs(3);
/// The message while the engine stays only to finish the request of another command.
pub(crate) const FINISHING: &str = "finishing what another command has asked of this engine";

/// Work that an engine of this process does next to the request of its command.
pub(crate) trait Beside {
    /// Called when the engine is running and has no request yet.
    fn begin(&mut self, host: &Host) -> Result<(), Failure>;
    /// Called when the request has ended. Returns when the engine may end.
    fn stay(&mut self, host: &Host) -> Result<(), Failure>;
    /// Called when the engine ends.
    fn end(&mut self);
}

/// The settings with which an engine starts.
#[derive(Clone, Copy)]
pub(super) struct EngineSetup<'a> {
    pub(super) store: &'a Arc<Store>,
    pub(super) args: &'a EngineArgs,
}

/// The person at the terminal: the output and the conversation.
pub(crate) struct Person<'a> {
    pub(crate) printer: &'a mut Printer,
    pub(crate) conversation: &'a mut Conversation,
}

/// Is the engine until the request's run is at rest and nothing else is under way. While the run waits for
/// the person at the terminal, the engine keeps running, so that questions expire on time.
pub(super) fn be_the_engine(
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

/// The exit code of a run that may have continued since `code`.
fn stands_now(store: &Store, run: &RunId, code: u8, printer: &mut Printer) -> Result<u8, Failure> {
    let reader = store.reader().map_err(Failure::store)?;
    match Standing::of(&envoi_engine::load_run(&reader, run)?.status()) {
        Some(standing) if standing.exit_code == code => Ok(code),
        Some(standing) => End::Rest(standing).report(printer),
        None => Ok(STOPPED),
    }
}

/// Ends the engine, and returns the result of the request.
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
    let ours = host.is_current();
    let stopped = host.close(run);
    telemetry.end(LAST_SPANS);
    note_undelivered(setup.store, run, printer);
    let outcome = match (outcome, run) {
        // The command of a notice may have answered while the engine ended. Another engine may be working on
        // the run now.
        (Some(Ok(WAITS)), Some(run)) if stopped.is_none() => {
            let now = stands_now(setup.store, run, WAITS, printer);
            Some(now.map(|code| if code == STOPPED { WAITS } else { code }))
        }
        (outcome, _) => outcome,
    };
    match (outcome, stopped) {
        (None | Some(Ok(STOPPED)), Some(error)) => Err(stopped_by(&error)),
        // The request noticed the takeover before the loop did.
        (Some(Ok(STOPPED)), None) if !ours => Err(taken_over(&envoi_engine::EngineError::TakenOver)),
        (Some(outcome), Some(error)) => {
            // The run of this command was at rest. The error that stopped the engine concerns other runs.
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

/// Executes requests as long as the person at the terminal answers. Returns the result of the last one.
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
        let end = responses.into_iter().find_map(|response| End::of(response, printer));
        // From here on, only requests of other commands are under way. A panic has already printed its
        // message.
        let _ = asking.join();
        let end = end?;
        match conversation.after(store, &end, printer) {
            Ok(Some(next)) => request = next,
            Ok(None) => return Some(end.report(printer)),
            Err(failure) => return Some(Err(failure)),
        }
    }
}

pub(crate) fn stopped_by(error: &envoi_engine::EngineError) -> Failure {
    use envoi_engine::EngineError;
    match error {
        EngineError::TakenOver | EngineError::Store(CommitError::Fenced { .. }) => taken_over(error),
        _ => Failure::store(error),
    }
}

/// Why the engine did not start. Another engine may have taken over.
pub(super) fn not_started(error: &HostError) -> Failure {
    match error {
        HostError::Store(CommitError::Fenced { .. }) => taken_over(error),
        HostError::Replica => Failure::new(Code::RunForeign, error.to_string())
            .hint("`envoi --server URL` reaches the server of the cluster; a run of this machine needs another folder"),
        _ => Failure::store(error),
    }
}

fn taken_over(error: &dyn std::error::Error) -> Failure {
    Failure::new(Code::TakenOver, error.to_string())
        .hint("the other engine goes on with the run; `envoi resume RUN` follows it")
}

/// Starts as the engine, with the configuration of the store. An engine that was stopped inside a transaction
/// keeps the database busy, so it is killed. That is safe: it could not commit any more, and supervisors
/// continue.
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
        bounds: config::bounds(&configured.trees),
        waits_to_start: other.is_none(),
    };
    // A locked store can take long to wait for. Until the engine is running, the first signal ends the wait.
    interrupts::mean(Mode::Idle)?;
    let started = match (Host::start(Arc::clone(store), lease, &settings), other) {
        (Err((HostError::Store(CommitError::Busy), lease)), Some(other)) => {
            kill(store.layout().root(), other.pid);
            let settings = Settings { waits_to_start: true, ..settings };
            Host::start(Arc::clone(store), lease, &settings)
        }
        (started, _) => started,
    };
    let host = started.map_err(|(error, _)| not_started(&error))?;
    let telemetry = Telemetry::begin(store, host.commands());
    Ok((host, telemetry))
}

/// How notices are sent: the targets of the configuration, and their variables from this environment.
pub(crate) fn notices(configured: &Config) -> Notices {
    Notices {
        keys: configured_models::key_variables(&configured.models)
            .into_iter()
            .chain(accounts::variables(&configured.accounts))
            .collect(),
        targets: configured.notify.clone(),
        env: environment::allowed(),
        variable: environment::variable,
        how_to_answer: |run, raised| how_to_answer(run, raised, false, None),
        page: configured.server.public_url.clone().filter(|_| configured.server.has_page()),
    }
}

/// Kills the process that holds the lock of this store. Its id may have been reused, so a process that has no
/// file of the store open is left alone.
fn kill(store: &Path, pid: u32) {
    use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
    let Some(id) = i32::try_from(pid).ok().and_then(Pid::from_raw) else { return };
    let Ok(process) = pidfd_open(id, PidfdFlags::empty()) else { return };
    let open = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let mut files = open.filter_map(|entry| std::fs::read_link(entry.path()).ok());
    if files.any(|file| file.starts_with(store)) {
        // If the process has already ended, nothing is left to do.
        let _ = pidfd_send_signal(&process, Signal::KILL);
    }
}

/// Prints how many notices of this run are not delivered.
fn note_undelivered(store: &Arc<Store>, run: Option<&RunId>, printer: &mut Printer) {
    let Some(run) = run else { return };
    let missed = match store.reader().and_then(|reader| reader.deliveries(run)) {
        Ok(rows) => rows.iter().filter(|row| row.delivered_at.is_none()).count(),
        // The run has not started.
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

/// Whether a step of the run may run in this engine. A run that is set aside does not keep the engine
/// running.
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
    fn an_engine_that_was_taken_over_says_so_whenever_it_learns_it() {
        let fenced = || CommitError::Fenced { ours: 1, current: 2 };
        let told = [
            not_started(&HostError::Store(fenced())),
            not_started(&HostError::Store(CommitError::Busy)),
            stopped_by(&envoi_engine::EngineError::Store(fenced())),
        ];
        let codes = told.map(|failure| failure.code.known());
        assert_eq!(codes, [Some(Code::TakenOver), Some(Code::StoreFailed), Some(Code::TakenOver)]);
    }

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
