//! The command line: every command, and the text of `--help`. The arguments of a command with more than two are a file of
//! this folder.
//!
//! It names nothing of this crate: `cargo xtask generate` makes the pages in `docs/commands/` of these files.

mod answer;
mod apply;
mod artifacts;
mod backtest;
mod cache;
mod diff;
mod export;
mod fork;
mod gc;
mod import;
mod inbox;
mod init;
mod logs;
mod options;
mod page;
mod plan;
mod raise;
mod restore;
mod resume;
mod run;
mod runs;
mod serve;
mod show;
mod store;
mod token;
mod verify;
mod why;
mod worker;

pub(crate) use answer::{AnswerArgs, ApproveArgs, Decision, DenyArgs};
pub(crate) use apply::ApplyArgs;
pub(crate) use artifacts::ArtifactsCommand;
pub(crate) use backtest::BacktestArgs;
pub(crate) use cache::{CacheCommand, CachedOf};
pub(crate) use diff::DiffArgs;
pub(crate) use export::ExportArgs;
pub(crate) use fork::ForkArgs;
pub(crate) use gc::GcArgs;
pub(crate) use import::ImportArgs;
pub(crate) use inbox::InboxArgs;
pub(crate) use init::{InitArgs, Template};
pub(crate) use logs::LogsArgs;
pub(crate) use options::{EngineArgs, Files, Form, IsolationArgs, PartArgs, Reply};
pub(crate) use page::PageArgs;
pub(crate) use plan::PlanArgs;
pub(crate) use raise::RaiseArgs;
pub(crate) use restore::RestoreArgs;
pub(crate) use resume::{InDoubt, ResumeArgs, Review};
pub(crate) use run::RunArgs;
pub(crate) use runs::RunsArgs;
pub(crate) use serve::{LogFormat, ServeArgs};
pub(crate) use show::ShowArgs;
pub(crate) use store::StoreCommand;
pub(crate) use token::{TokenCommand, TokenScope};
pub(crate) use verify::VerifyArgs;
pub(crate) use why::WhyArgs;
pub(crate) use worker::WorkerArgs;

use clap::{Parser, Subcommand, ValueHint};
use std::path::PathBuf;

const AFTER_HELP: &str = "\
Exit codes of run, resume, approve, deny, answer and raise: 0 succeeded, 1 failed, 3 waits for a person, 4 a limit is used up, 5 in doubt, \
130 cancelled. Of plan: 4 past a given maximum. Of backtest: 1 if a decision would differ, 6 if none could be compared. Of every command: 2 bad usage or file, 6 refused, 7 stopped by Ctrl-C with the run unfinished, \
8 the store or the machine failed.";

/// Runs pipelines of agents, scripts and people, and never loses or repeats an acknowledged step.
#[derive(Debug, Parser)]
#[command(name = "envoi", version = option_env!("ENVOI_VERSION").unwrap_or_default())]
#[command(after_help = AFTER_HELP, max_term_width = 100, disable_help_subcommand = true)]
pub(crate) struct Cli {
    /// Print data as JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// The store [default: $ENVOI_HOME, else the nearest .envoi upward from here, else ./.envoi]
    #[arg(long, global = true, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) home: Option<PathBuf>,
    /// Use the engine of this server, in place of one of this machine [default: $ENVOI_SERVER]; its token is
    /// $ENVOI_TOKEN
    #[arg(long, global = true, value_name = "URL", value_hint = ValueHint::Url)]
    pub(crate) server: Option<String>,
    /// Read the server's token from a file [default: $ENVOI_TOKEN]
    #[arg(long, global = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) token_file: Option<PathBuf>,
    /// Trust the certificates in this file (PEM) for the server, and no others [default: those that the machine trusts]
    #[arg(long, global = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) server_ca: Option<PathBuf>,
    /// Without a command `envoi` says what to do next in this folder.
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// Every command.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Write a flow file to start from, and make the store
    Init(InitArgs),
    /// Start a run of a flow and follow it to its end
    Run(RunArgs),
    /// Go on with a run: after a crash, after its failure, or with a decision
    Resume(ResumeArgs),
    /// List the questions that wait for a person
    Inbox(InboxArgs),
    /// Approve a question, and go on with its run
    Approve(ApproveArgs),
    /// Deny a question, and go on with its run
    Deny(DenyArgs),
    /// Answer a question with words, a form, files or a decision, and go on with its run
    Answer(AnswerArgs),
    /// Start a new run from a step of a finished run
    Fork(ForkArgs),
    /// Raise the limits of a run, and go on with it
    Raise(RaiseArgs),
    /// List the runs
    Runs(RunsArgs),
    /// Show a run: its steps, what it waits for, what it has used; or a question: all that is needed to decide
    Show(ShowArgs),
    /// Print what a run's commands wrote
    Logs(LogsArgs),
    /// Show what differs between two states of a run's workspace
    ///
    /// The files of the workspace are kept if the run was started with `--keep-files`.
    Diff(DiffArgs),
    /// Write the files of a state of a run's workspace into a new folder, or set the workspace back to it
    ///
    /// The files are kept if the run was started with `--keep-files`. The workspace's present files are saved before it is set back:
    /// `--undo` restores them.
    Restore(RestoreArgs),
    /// Bring what a run has changed in its own tree into the folder that it was made from
    ///
    /// For runs with `--isolate`. All changes are applied, or none if both sides changed the same lines. The folder's present files are saved
    /// first: `--undo` restores them. Git is not touched: the changes are there as if you had made them.
    Apply(ApplyArgs),
    /// Remove the trees of `--isolate` runs that are no longer needed
    ///
    /// A tree is removed if its run succeeded, nothing works in it, and a snapshot has all of its files: `envoi diff` and `envoi apply` work without
    /// it. Files that git ignores are removed with it. The other trees are listed with the reason why they stay.
    ///
    /// Copies of artifacts that the attempts of a run left behind are removed once the run has ended. Runs are deleted only by a rule: an option here, or
    /// `retention` of config.yaml. Rules given here replace those.
    Gc(GcArgs),
    /// List and remove the results of steps that later runs may get
    #[command(subcommand)]
    Cache(CacheCommand),
    /// Write a run into one file that can be handed over and checked
    ///
    /// The file has the events, the flow, the hand-offs, the output of attempts, all contents that events name, and the snapshots of the
    /// workspace. Artifacts, files, output and paths go out as they are.
    Export(ExportArgs),
    /// Check a file of `envoi export`: that it is whole, and that its events follow from its flow
    ///
    /// Exit code 0, or 1 with the place where the file differs. No store is needed.
    Verify(VerifyArgs),
    /// List, show and compare the artifacts of a run, in all their versions
    #[command(subcommand)]
    Artifacts(ArtifactsCommand),
    /// End a run; what is running is ended first
    Cancel {
        /// Id of the run, or a unique beginning or end of it [default: the only unfinished one]
        run: Option<String>,
    },
    /// Explain the present state of a run, and its decisions, one by one
    Why(WhyArgs),
    /// Check a flow file and show every mistake at its place
    Check {
        /// Flow files
        #[arg(required = true, value_hint = ValueHint::FilePath)]
        flows: Vec<PathBuf>,
    },
    /// List the decisions of recorded runs that a changed flow would make otherwise, and why
    ///
    /// The routing of the changed flow is applied to the recorded texts. Each decision is evaluated separately, with the run's state at that time.
    /// Nothing is started. Exit code 0, 1 if a decision would differ, or 6 if none could be compared.
    Backtest(BacktestArgs),
    /// Show the worst case of a flow: attempts, loops, time, calls and cost, and what dominates it
    Plan(PlanArgs),
    /// Bring a run from a file of `envoi export` into the store; or convert files of the swarm dialect to flow files, and list what is lost
    ///
    /// A file of `envoi export` is verified first. In this store its run has ended: it can be read and forked, but never continued.
    Import(ImportArgs),
    /// Make a hand-off (contract 2) of a step's result; a filter
    Handoff {
        /// JSON or labelled text [default: stdin]
        #[arg(value_hint = ValueHint::FilePath)]
        file: Option<PathBuf>,
        /// One line
        #[arg(long)]
        compact: bool,
    },
    /// Resolve a hand-off text to a routing signal (contract 1); a filter
    Route {
        /// JSON or labelled text [default: stdin]
        #[arg(value_hint = ValueHint::FilePath)]
        file: Option<PathBuf>,
        /// One line
        #[arg(long)]
        compact: bool,
    },
    /// Answer over the network: REST, event streams; the engine of the store until Ctrl-C
    Serve(ServeArgs),
    /// Run the steps of a cluster's runs on this machine, until Ctrl-C
    ///
    /// `envoi serve --cluster` has the runs. The worker asks for steps when it has a free slot. It needs a folder of its own: `--home`, else
    /// `.envoi-worker` here. If it is killed, start it again with that folder, and it goes on with the steps that it had. See `envoi help cluster`.
    Worker(WorkerArgs),
    /// Print a link that signs in, one time, to the web page of `envoi serve`
    ///
    /// The link is good for five minutes. The session acts in the name of a token; without one of that name, one is made that no
    /// program can use. `envoi token revoke NAME` ends its sessions.
    Page(PageArgs),
    /// Make, list and revoke the tokens that `envoi serve` takes
    #[command(subcommand)]
    Token(TokenCommand),
    /// Run conformance vectors against this binary
    Conformance {
        /// Vector files
        #[arg(required = true, value_hint = ValueHint::FilePath)]
        files: Vec<PathBuf>,
    },
    /// Rebuild everything that can be rebuilt from the events, and print what differed; with RUN, only check it
    Repair {
        /// Check this run alone, and change nothing
        run: Option<String>,
    },
    /// Check the machine and the store
    ///
    /// Also lists which agent programs (`claude`, `codex`, `gemini`, `opencode`) are in PATH, their versions, and whether Envoi was tested with these versions. A program that is
    /// missing is marked `-` and is no fault.
    Doctor,
    /// Decide about a store that was copied
    #[command(subcommand)]
    Store(StoreCommand),
    /// Show the help of a command, a document or an error code; alone, list them
    Help {
        /// A command (`run`, `token create`), a document (`limits`) or an error code; a word after a document shows only
        /// the sections with that word in their title
        #[arg(value_name = "TOPIC")]
        topic: Vec<String>,
        /// Only a document, where a command has the same name
        #[arg(long)]
        document: bool,
    },
    /// Explain an error code and what to do
    Explain {
        /// The code, such as TOOL_TIMEOUT
        code: String,
    },
    /// Print the JSON Schema of a message or of a flow file
    Schema {
        /// Such as handoff [default: list the names]
        name: Option<String>,
    },
    /// Print a completion script for a shell
    Completions {
        /// Which shell
        shell: clap_complete::Shell,
    },
    /// Write the manual pages of all commands into a folder, for `man`
    Manual {
        /// The folder; it is made if it is missing. Pages that are there are replaced
        #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
        folder: PathBuf,
    },
    /// Supervise one attempt (started by the engine, never by hand)
    #[command(name = SUPERVISOR, hide = true)]
    Attempt,
    /// Talk to another agent (started for a step with `a2a`, never by hand)
    #[command(name = "__a2a", hide = true)]
    A2a,
    /// Run an agent program (started for a step with `agent`, never by hand)
    #[command(name = "__agent", hide = true)]
    Agent,
    /// Decide a call of a tool (started by an agent program, never by hand)
    #[command(name = "__agent_call", hide = true)]
    AgentCall {
        /// The file with what it decides by
        policy: PathBuf,
    },
    /// Ask a model (started for a step with `model`, never by hand)
    #[command(name = "__model", hide = true)]
    Model,
    /// Merge what the items of a step have changed (started for a step with `isolate: true`, never by hand)
    #[command(name = "__merge", hide = true)]
    Merge {
        /// The file with what is to be merged
        order: PathBuf,
    },
    /// Be the engine of a store until nothing is under way (started by --detach, never by hand)
    #[command(name = "__engine", hide = true)]
    Engine {
        /// The most attempts at the same time
        #[arg(long)]
        jobs: Option<usize>,
    },
}

/// The one argument of the program as the engine starts it for an attempt.
pub(crate) const SUPERVISOR: &str = "__attempt";

/// Whether these are the arguments with which the engine starts a supervisor; the first one is the program.
pub(crate) fn is_supervisor(arguments: impl IntoIterator<Item = std::ffi::OsString>) -> bool {
    let mut arguments = arguments.into_iter().skip(1);
    arguments.next().is_some_and(|argument| argument == SUPERVISOR) && arguments.next().is_none()
}

impl Command {
    /// The options of the log.
    pub(crate) fn log(&self) -> (Option<&str>, LogFormat) {
        match self {
            Self::Serve(args) => (args.log.as_deref(), args.log_format),
            _ => (None, LogFormat::default()),
        }
    }
}
