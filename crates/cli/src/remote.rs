//! `envoi --server URL …`: the same commands for a remote engine.
//!
//! A command shows a run from the run's events, as it does locally. The events are copied into a temporary
//! store that lasts as long as the command ([`mirror`]), and the printers of the local commands read that
//! store. A change to a run is a request ([`request`]), and the progress of the run comes from its stream
//! ([`tail`]). Owns no output format, and makes no decision about a run. docs/code/invariants.md names every
//! HTTP client.

mod address;
mod answer;
mod attend;
mod call;
mod correct;
#[cfg(test)]
mod fake;
mod files;
mod follow;
mod inbox;
mod logs;
mod look;
mod mirror;
mod names;
mod problem;
mod pull;
mod request;
mod rows;
mod runs;
mod start;
mod stream;
mod tail;

pub(crate) use address::{Address, Options};

use crate::command::why::Which;
use crate::process::{
    args::{self, Command, EngineArgs, Files},
    failure::Failure,
    interrupts::{self, Mode},
};
use call::Server;
use envoi_contract::code::Code;
use envoi_kernel::ids::Principal;
use mirror::{Mirror, forget};
use std::sync::{Arc, OnceLock};

/// A server, as the owner of a token sees it.
pub(crate) struct Remote {
    server: Server,
    /// The principal of the token.
    by: Principal,
    json: bool,
    mirror: OnceLock<Arc<Mirror>>,
}

impl Remote {
    /// Connects, and checks the token before anything else.
    fn connect(address: &Address, json: bool) -> Result<Self, Failure> {
        let server = Server::at(address)?;
        // An interrupted command must leave nothing behind.
        interrupts::before_exit(forget);
        interrupts::mean(Mode::Idle)?;
        mirror::sweep();
        let by = rows::bearer(&server.get("/v1/token")?)?;
        Ok(Self { server, by, json, mirror: OnceLock::new() })
    }

    /// The mirror of the server's runs. It is created at the first use.
    fn mirror(&self) -> Result<&Arc<Mirror>, Failure> {
        match self.mirror.get() {
            Some(mirror) => Ok(mirror),
            None => {
                let mirror = Arc::new(Mirror::new()?);
                Ok(self.mirror.get_or_init(|| mirror))
            }
        }
    }
}

/// Executes a command at the server, or reports that it is not possible there.
pub(crate) fn dispatch(address: &Address, json: bool, command: Command) -> Result<u8, Failure> {
    let done = at_the_server(address, json, command);
    // A thread that reads a stream may still hold the mirror, so it is removed here, before the process ends.
    forget();
    done
}

fn at_the_server(address: &Address, json: bool, command: Command) -> Result<u8, Failure> {
    let remote = || Remote::connect(address, json);
    match command {
        Command::Run(args) => {
            not_an_engine(&args.engine)?;
            if args.keep_files {
                return Err(not_here("--keep-files"));
            }
            if args.isolation.isolate {
                return Err(not_here("--isolate"));
            }
            crate::command::run::check_no_tree(&args.isolation)?;
            if args.web {
                return Err(not_here("--web"));
            }
            start::run(&remote()?, &args)
        }
        Command::Fork(args) => {
            not_an_engine(&args.engine)?;
            if args.files == Files::Then {
                return Err(not_here("--files then"));
            }
            if args.isolation.isolate {
                return Err(not_here("--isolate"));
            }
            crate::command::run::check_no_tree(&args.isolation)?;
            start::fork(&remote()?, &args)
        }
        Command::Resume(args) => {
            not_an_engine(&args.engine)?;
            if args.files == Files::Then {
                return Err(not_here("--files then"));
            }
            crate::command::resume::check_from(&args)?;
            match &args.flow {
                Some(file) => correct::resume(&remote()?, &args, file),
                None => runs::resume(&remote()?, &args),
            }
        }
        Command::Raise(args) => {
            not_an_engine(&args.engine)?;
            runs::raise(&remote()?, &args)
        }
        Command::Approve(args) => answer::approve(remote, &args),
        Command::Deny(args) => answer::deny(remote, &args),
        Command::Answer(args) => answer::answer(remote, &args),
        Command::Cancel { run } => runs::cancel(&remote()?, run.as_deref()),
        Command::Inbox(args::InboxArgs { run, follow: true, .. }) => {
            inbox::follow(&remote()?, run.as_deref())
        }
        Command::Inbox(args::InboxArgs { run, all, limit, .. }) => {
            inbox::inbox(&remote()?, run.as_deref(), all, limit)
        }
        Command::Runs(args::RunsArgs { follow: true, .. }) => follow::follow(&remote()?),
        Command::Runs(args::RunsArgs { unfinished, limit, .. }) => runs::list(&remote()?, unfinished, limit),
        Command::Show(args::ShowArgs { run, envelope, events, handoff, limit }) => {
            let view = crate::command::show::View::of(envelope, events, handoff, limit);
            look::show(&remote()?, run.as_deref(), &view)
        }
        Command::Why(args::WhyArgs { run, step, limit, all }) => {
            look::why(&remote()?, run.as_deref(), &Which { step: step.as_deref(), limit, all })
        }
        Command::Logs(args::LogsArgs { raw: true, .. }) => Err(not_here("logs --raw")),
        Command::Logs(args::LogsArgs { run, step, stderr, raw, follow, limit }) => {
            let place = step.as_deref().map(crate::text::location::Location::new);
            let view = crate::command::logs::View { place, stderr, raw, json, limit };
            logs::logs(&remote()?, run.as_deref(), &view, follow)
        }
        Command::Diff(args) => files::diff(&remote()?, &args),
        Command::Apply(args::ApplyArgs { run, patch: Some(file), .. }) => {
            files::patch(&remote()?, run.as_deref(), &file)
        }
        Command::Apply(args) => Err(not_here(match (args.branch.is_some(), args.pr) {
            (true, _) => "apply --branch",
            (_, true) => "apply --pr",
            _ => "apply",
        })
            .hint("`--patch FILE` writes what the run has changed as a patch; `git apply FILE` brings it into a checkout")),
        Command::Gc(_) => Err(not_here("gc")),
        Command::Cache(_) => Err(not_here("cache")),
        Command::Export(args::ExportArgs { sign: Some(_), .. }) => Err(not_here("export --sign")),
        Command::Export(args) => files::export(&remote()?, &args),
        Command::Backtest(_) => Err(not_here("backtest").hint(BROUGHT_HERE)),
        Command::Restore(_) => Err(not_here("restore").hint(BROUGHT_HERE)),
        Command::Artifacts(command) => files::artifacts(&remote()?, &command),
        Command::Init(_) => Err(not_here("init")),
        Command::Serve(_) => Err(not_here("serve")),
        Command::Worker(_) => Err(not_here("worker")),
        Command::Page(_) => Err(not_here("page")),
        Command::Token(_) => Err(not_here("token")),
        Command::Repair { .. } => Err(not_here("repair")),
        Command::Doctor => Err(not_here("doctor")),
        Command::Store(_) => Err(not_here("store")),
        // These need neither a store nor a server; see [`concerns`].
        _ => Err(not_here("this")),
    }
}

/// Whether a command concerns the runs of a store. Other commands are executed locally.
pub(crate) fn concerns(command: &Command) -> bool {
    !matches!(
        command,
        Command::Check { .. }
            | Command::Plan(_)
            | Command::Verify(_)
            | Command::Import(_)
            | Command::Handoff { .. }
            | Command::Route { .. }
            | Command::Conformance { .. }
            | Command::Help { .. }
            | Command::Explain { .. }
            | Command::Schema { .. }
            | Command::Completions { .. }
            | Command::Manual { .. }
            | Command::Attempt
            | Command::Engine { .. }
    )
}

/// The hint for commands that need the run in a local store.
const BROUGHT_HERE: &str = "`envoi export RUN` fetches the run, and `envoi import FILE` takes it into a store here; there `backtest` and \
                            `restore RUN --at STEP --into FOLDER` work, without --server and with ENVOI_SERVER unset";

fn not_here(command: &str) -> Failure {
    let message = format!("`{command}` cannot be done at a server; nothing was done");
    Failure::new(Code::NotRemote, message)
        .hint("give it where the store is, without --server and with ENVOI_SERVER unset")
}

/// Refuses engine options, because the engine belongs to the server.
fn not_an_engine(args: &EngineArgs) -> Result<(), Failure> {
    match (args.jobs, args.take_over) {
        (Some(_), _) => Err(not_here("--jobs")),
        (_, true) => Err(not_here("--take-over")),
        (None, false) => Ok(()),
    }
}
