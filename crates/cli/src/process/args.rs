//! The command line: every command, its arguments, and the text of `--help`.
//!
//! It names nothing of this crate: `cargo xtask generate` makes the pages in `docs/commands/` of this file.

use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
use envoi_kernel::ledger::Cost;
use std::{net::SocketAddr, path::PathBuf};

const AFTER_HELP: &str = "\
Exit codes of run, resume, approve, deny, answer and raise: 0 succeeded, 1 failed, 3 waits for a person, 4 a bound is used up, 5 in doubt, \
130 cancelled. Of plan: 4 past a given maximum. Of every command: 2 bad usage or file, 6 refused, 7 stopped by Ctrl-C with the run unfinished, \
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
    Inbox {
        /// Only those of this run
        run: Option<String>,
        /// Go on listing as questions open and close, until Ctrl-C
        #[arg(long, short)]
        follow: bool,
        /// Also those that are closed
        #[arg(long, conflicts_with = "follow")]
        all: bool,
        /// Only the N oldest [default: 200; with --json all]
        #[arg(long, value_name = "N", conflicts_with = "follow")]
        limit: Option<usize>,
    },
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
    Runs {
        /// Only unfinished runs
        #[arg(long)]
        unfinished: bool,
        /// Most rows
        #[arg(long, default_value_t = 50)]
        limit: u32,
        /// Follow the unfinished runs, until Ctrl-C: live on a terminal, one line an event elsewhere
        #[arg(short, long, conflicts_with = "limit")]
        follow: bool,
    },
    /// Show a run: its steps, what it waits for, what it has used; or a question: all that is needed to decide
    Show {
        /// Id of the run or the question, or a unique beginning or end of it [default: the newest run]
        #[arg(value_name = "RUN|INT")]
        run: Option<String>,
        /// The pipeline envelope (contract 3) as JSON
        #[arg(long, conflicts_with = "events")]
        envelope: bool,
        /// Every event, one JSON a line
        #[arg(long)]
        events: bool,
        /// The hand-off of a step's last visit as JSON: a step, an item (`0.test`), a step of an inner flow
        /// (`build.2.compile`), a visit (`test.2`)
        #[arg(long, value_name = "STEP", conflicts_with_all = ["envelope", "events"])]
        handoff: Option<String>,
        /// Only the newest N visits, or events with --events; 0 is all [default: 200 visits, all events]
        #[arg(long, value_name = "N", conflicts_with_all = ["envelope", "handoff"])]
        limit: Option<usize>,
    },
    /// Print what a run's commands wrote
    Logs {
        /// Id of the run, or a unique beginning or end of it [default: the newest]
        run: Option<String>,
        /// Only this step, item (`0.test`), step of an inner flow (`build.2.compile`), visit (`test.2`) or attempt
        #[arg(long)]
        step: Option<String>,
        /// Only stderr
        #[arg(long)]
        stderr: bool,
        /// The events of agent programs (`agent` steps) as they wrote them, with secrets masked, in place of the readable log
        #[arg(long, conflicts_with = "stderr")]
        raw: bool,
        /// Go on with what comes, until the run comes to rest
        #[arg(short, long)]
        follow: bool,
        /// Only the last N lines
        #[arg(long, value_name = "N", conflicts_with = "follow")]
        limit: Option<usize>,
    },
    /// Show what differs between two states of a run's workspace
    ///
    /// The files of the workspace are kept if the run was started with `--keep-files`.
    Diff {
        /// Id of the run, or a unique beginning or end of it [default: the newest]
        run: Option<String>,
        /// Two states, or one visit for what it changed: `start`, `end`, `now`, a step or visit for the state after it, `before:fix.2`
        /// for the state before it [default: start..end]
        #[arg(value_name = "A..B|STEP")]
        range: Option<String>,
        /// Only this file, or what is below this folder
        #[arg(value_name = "PATH")]
        path: Option<String>,
        /// A line a file, with who changed it, in place of the lines that differ
        #[arg(long)]
        stat: bool,
    },
    /// Write the files of a state of a run's workspace into a new folder, or set the workspace back to it
    ///
    /// The files are kept if the run was started with `--keep-files`. What stands in the workspace is kept before it is set back:
    /// `--undo` brings it back.
    #[command(group = clap::ArgGroup::new("where").required(true).args(["into", "here", "undo"]))]
    Restore {
        /// Id of the run, or a unique beginning or end of it [default: the newest]
        run: Option<String>,
        /// The state: `start`, `end`, a step or visit for the state after it, `before:fix.2` for the state before it
        #[arg(long, value_name = "STATE", required_unless_present = "undo", conflicts_with = "undo")]
        at: Option<String>,
        /// A new or empty folder; the workspace is not touched
        #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
        into: Option<PathBuf>,
        /// Set the workspace itself back
        #[arg(long)]
        here: bool,
        /// Bring back what stood in the workspace before the last restore
        #[arg(long)]
        undo: bool,
        /// Why
        #[arg(long, conflicts_with = "into")]
        why: Option<String>,
    },
    /// Bring what a run has changed in its own tree into the folder that it was made from
    ///
    /// For runs with `--isolate`. All of it comes, or nothing where both sides changed the same lines. What stands in the folder is kept
    /// before: `--undo` takes it back. Git is not touched: the changes are there as if you had made them.
    Apply {
        /// Id of the run, or a unique beginning or end of it [default: the newest]
        run: Option<String>,
        /// Where both sides changed the same lines, keep those of the folder
        #[arg(long, conflicts_with_all = ["theirs", "undo"])]
        ours: bool,
        /// Where both sides changed the same lines, take those of the run
        #[arg(long, conflicts_with = "undo")]
        theirs: bool,
        /// Take back what was brought last; files that were changed since stay
        #[arg(long)]
        undo: bool,
        /// Write a patch for `git apply` into a new file (`-`: to standard output), and change nothing else
        ///
        /// It has what the run had changed when it ended. It can be made of any run whose files are kept.
        #[arg(long, value_name = "FILE", conflicts_with_all = ["ours", "theirs", "undo", "why"])]
        patch: Option<PathBuf>,
        /// Make a branch with one commit of what the run has changed, and change nothing else
        ///
        /// It begins at the commit that the tree of the run was made from. It is not checked out, and nothing is pushed.
        #[arg(long, value_name = "NAME", conflicts_with_all = ["ours", "theirs", "undo", "patch"])]
        branch: Option<String>,
        /// Why
        #[arg(long)]
        why: Option<String>,
    },
    /// Remove trees of runs with `--isolate` that nobody needs any more
    ///
    /// A tree goes if its run has succeeded, nobody works there, and a snapshot has all of its files: `envoi diff` and `envoi apply` work without
    /// it. Files that git ignores go with it. The other trees are listed with the reason why they stay.
    Gc {
        /// List what would be removed, and remove nothing
        #[arg(long)]
        dry_run: bool,
        /// Remove the tree of this run whatever is in it; may be given more than once
        #[arg(long, value_name = "RUN")]
        drop: Vec<String>,
    },
    /// Write a run into one file that can be handed over and checked
    ///
    /// The file has the events, the flow, the hand-offs, the output of attempts and all contents that events name. Artifacts, output and paths go
    /// out as they are.
    Export {
        /// Id of the run, or a unique beginning or end of it [default: the newest]
        run: Option<String>,
        /// A new file; `-` for standard output [default: RUN.envoi.tar.zst]
        #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
        output: Option<PathBuf>,
        /// Sign it with this key of SSH
        #[arg(long, value_name = "KEY", value_hint = ValueHint::FilePath)]
        sign: Option<PathBuf>,
    },
    /// Check a file of `envoi export`: that it is whole, and that its events follow from its flow
    ///
    /// Exit code 0, or 1 with the place where the file differs. No store is needed.
    Verify {
        /// The file
        #[arg(value_hint = ValueHint::FilePath)]
        file: PathBuf,
        /// The head that it must have, as it was known when the run ended
        #[arg(long, value_name = "DIGEST")]
        head: Option<String>,
        /// It must be signed by one of those whom this file names (`allowed_signers` of ssh-keygen)
        #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        signers: Option<PathBuf>,
    },
    /// List, show and compare the artifacts of a run, in all their versions
    #[command(subcommand)]
    Artifacts(ArtifactsCommand),
    /// End a run; what is running is ended first
    Cancel {
        /// Id of the run, or a unique beginning or end of it [default: the only unfinished one]
        run: Option<String>,
    },
    /// Explain why a run stands as it does, and its decisions, one by one
    Why {
        /// Id of the run, or a unique beginning or end of it [default: the newest]
        run: Option<String>,
        /// Only this step, item (`0.test`), step of an inner flow (`build.2.compile`), visit (`test.2`) or attempt
        #[arg(long)]
        step: Option<String>,
        /// Only the newest N decisions
        #[arg(long, value_name = "N")]
        limit: Option<usize>,
        /// Also the rule of each decision, and the rules that did not apply
        #[arg(long)]
        all: bool,
    },
    /// Check a flow file and show every mistake at its place
    Check {
        /// Flow files
        #[arg(required = true, value_hint = ValueHint::FilePath)]
        flows: Vec<PathBuf>,
    },
    /// Show the worst case of a flow: attempts, loops, time, calls and cost, and what dominates it
    Plan(PlanArgs),
    /// Convert files of the swarm dialect to flow files, and list what is lost
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
    /// Says too which agent programs (`claude`, `codex`) are in PATH, their versions, and whether those were tried. A program that is
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
        /// Such as TOOL_TIMEOUT
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
    /// Be the engine of a store until nothing is under way (started by --detach, never by hand)
    #[command(name = "__engine", hide = true)]
    Engine {
        /// Most attempts at once
        #[arg(long)]
        jobs: Option<usize>,
    },
}

/// Options of the engine.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct EngineArgs {
    /// Most attempts at once [default: 2 x cores]
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<usize>,
    /// Leave the run to an engine in the background and return
    #[arg(long, conflicts_with = "take_over")]
    pub(crate) detach: bool,
    /// Become the engine even though another holds the store; that one can then neither commit nor start anything
    #[arg(long)]
    pub(crate) take_over: bool,
}

/// `envoi serve`.
#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// Where to listen [default: the configuration's, else 127.0.0.1:7007]
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) listen: Option<SocketAddr>,
    /// Most attempts at once [default: 2 x cores]
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<usize>,
    /// Become the engine even though another holds the store; that one can then neither commit nor start anything
    #[arg(long)]
    pub(crate) take_over: bool,
    /// Log what happens to stderr: error, warn, info, debug, trace or off, or TARGET=LEVEL, with commas between several
    /// [default: $ENVOI_LOG, else off]
    #[arg(long, value_name = "LEVEL")]
    pub(crate) log: Option<String>,
    /// The form of the log's lines
    #[arg(long, value_name = "FORM", value_enum, default_value_t)]
    pub(crate) log_format: LogFormat,
}

/// `envoi page`.
#[derive(Debug, Args)]
pub(crate) struct PageArgs {
    /// In whose name: a token's [default: your own]
    #[arg(long = "for", value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// What the session may do; may be given more than once. Every session may read [default: all that the token may; of a new token,
    /// `answer`, for yourself `admin`]
    #[arg(long = "scope", value_enum, value_name = "SCOPE")]
    pub(crate) scopes: Vec<TokenScope>,
    /// The tenant of the token
    #[arg(long, default_value = "local")]
    pub(crate) tenant: String,
    /// Where the browser finds the server [default: as the server that runs says, else the configuration]
    #[arg(long, value_name = "URL")]
    pub(crate) url: Option<String>,
}

/// The form of the lines of the log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// For people
    #[default]
    Text,
    /// One object a line
    Json,
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

/// `envoi init`.
#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    /// Where
    #[arg(default_value = ".", value_hint = ValueHint::DirPath)]
    pub(crate) dir: PathBuf,
    /// What to start from
    #[arg(long, value_enum, value_name = "NAME", default_value = "hello")]
    pub(crate) template: Template,
    /// List the templates, and write nothing
    #[arg(long, conflicts_with = "template")]
    pub(crate) list: bool,
}

/// What a flow file is to begin with. Each runs as it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Template {
    /// Three commands and a small loop
    Hello,
    /// A coding agent works until a check passes
    AgentLoop,
    /// A person reviews a draft before it is published
    Review,
    /// Parts are worked on at the same time, then gathered
    FanOut,
    /// A job of every night; prints the line for the crontab
    Nightly,
    /// A version is tested, built, approved and published
    Release,
}

/// See [`Command::Store`].
#[derive(Debug, Subcommand)]
pub(crate) enum StoreCommand {
    /// Make a copy a store of its own, so that it can be used beside the original
    Adopt {
        /// Runs that the original began may work in its workspaces outside of the project's folder
        #[arg(long)]
        share_workspaces: bool,
    },
}

/// `envoi artifacts`.
#[derive(Debug, Subcommand)]
pub(crate) enum ArtifactsCommand {
    /// List the artifacts of a run
    List {
        /// Id of the run, or a unique beginning or end of it [default: the newest]
        run: Option<String>,
        /// Every version [default: the newest of each]
        #[arg(long)]
        all: bool,
        /// Only the first N, in the order of their paths [default: 200; with --json all]
        #[arg(long, value_name = "N")]
        limit: Option<usize>,
    },
    /// Write an artifact into a new file
    Get {
        /// Id of the run, or a unique beginning or end of it
        run: String,
        /// The artifact: its path for the newest version, `PATH@STEP.N` for that of a visit
        #[arg(value_name = "PATH[@STEP.N]")]
        path: String,
        /// The new file, or a folder for it [default: its name, here]
        #[arg(long, short, value_name = "FILE", value_hint = ValueHint::AnyPath)]
        output: Option<PathBuf>,
    },
    /// Print an artifact
    Cat {
        /// Id of the run, or a unique beginning or end of it
        run: String,
        /// The artifact: its path for the newest version, `PATH@STEP.N` for that of a visit
        #[arg(value_name = "PATH[@STEP.N]")]
        path: String,
    },
    /// Show what differs between two versions of an artifact
    Diff {
        /// Id of the run, or a unique beginning or end of it
        run: String,
        /// The artifact
        path: String,
        /// Two visits that changed it [default: from before the run to the newest]
        #[arg(value_name = "A..B")]
        range: Option<String>,
    },
}

/// `envoi token`.
#[derive(Debug, Subcommand)]
pub(crate) enum TokenCommand {
    /// Make a token and print it: it cannot be seen again
    Create {
        /// Its name: the actor of what is done with it; unique for each tenant, for ever
        name: String,
        /// What it may do; may be given more than once. Every token may read
        #[arg(long = "scope", value_enum, value_name = "SCOPE", default_value = "read")]
        scopes: Vec<TokenScope>,
        /// The tenant whose runs it may use
        #[arg(long, default_value = "local")]
        tenant: String,
        /// How long it is valid, such as 30d [default: until it is revoked]
        #[arg(long, value_name = "DURATION", value_parser = duration)]
        expires: Option<u64>,
    },
    /// List the tokens, without their secrets
    List {
        /// Only the first N, by tenant and name [default: 200; with --json all]
        #[arg(long, value_name = "N")]
        limit: Option<usize>,
    },
    /// Revoke a token, at once
    Revoke {
        /// Its id, or its name if only one tenant has one of that name
        token: String,
    },
}

/// See [`TokenCommand`].
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum TokenScope {
    /// See runs, questions, artifacts
    Read,
    /// Answer questions
    Answer,
    /// Start, resume and cancel runs
    Run,
    /// Everything, and register flows: a client with it may run commands here
    Admin,
}

/// `envoi run`.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// The flow file; at a server also a flow that is registered there, by its id or digest
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) flow: PathBuf,
    /// An input: text for inputs of type string, JSON for others
    #[arg(long = "input", short = 'i', value_name = "NAME=VALUE")]
    pub(crate) inputs: Vec<String>,
    /// Inputs as a JSON object in a file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) inputs_file: Option<PathBuf>,
    /// Run although another run has a live attempt in the workspace
    #[arg(long, conflicts_with_all = ["copy", "isolate"])]
    pub(crate) share_workspace: bool,
    /// Run in a copy of the workspace, in the run's own folder
    #[arg(long, conflicts_with = "isolate")]
    pub(crate) copy: bool,
    #[command(flatten)]
    pub(crate) isolation: IsolationArgs,
    /// Keep the files of the workspace as they are before and after each attempt: for `envoi diff`
    #[arg(long)]
    pub(crate) keep_files: bool,
    /// Show the run on a web page too, at a port of 127.0.0.1, and print a link that signs you in; the page stays until Ctrl-C
    #[arg(long, conflicts_with = "detach")]
    pub(crate) web: bool,
    /// Approve the questions of this step as soon as they are put; recorded as that
    #[arg(long, value_name = "STEP")]
    pub(crate) yes_to: Vec<String>,
    #[command(flatten)]
    pub(crate) part: PartArgs,
    /// Take the hand-offs of steps that are left out from this run: its id, or a unique beginning or end of it
    #[arg(long, value_name = "RUN", requires = "part", help_heading = "A part of the flow")]
    pub(crate) with: Option<String>,
    /// The user on whose behalf the run is started, as its envelope names them [default: your login name]
    #[arg(long, value_name = "USER")]
    pub(crate) user: Option<String>,
    /// The conversation that the run belongs to, as its envelope names it [default: the run's id]
    #[arg(long, value_name = "SESSION")]
    pub(crate) session: Option<String>,
    /// A text for the metadata of the run's envelope; may be given several times
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) metadata: Vec<String>,
    #[command(flatten)]
    pub(crate) engine: EngineArgs,
}

/// A tree of its own.
#[derive(Debug, Args)]
pub(crate) struct IsolationArgs {
    /// Work in a tree of its own, outside the workspace: in git a worktree with the branch `envoi/RUN`, elsewhere a folder. Keeps files
    #[arg(long, help_heading = "A tree of its own")]
    pub(crate) isolate: bool,
    /// Begin with the commit that is checked out, without what was changed since
    #[arg(long, requires = "isolate", help_heading = "A tree of its own")]
    pub(crate) from_head: bool,
    /// Copy this ignored file or folder of the workspace too; may be given several times. `.worktreeinclude` is honoured
    #[arg(long, value_name = "PATH", requires = "isolate", value_hint = ValueHint::AnyPath, help_heading = "A tree of its own")]
    pub(crate) bring: Vec<PathBuf>,
    /// Where trees lie [default: envoi/trees in $XDG_STATE_HOME or ~/.local/state]
    #[arg(long, value_name = "DIR", requires = "isolate", value_hint = ValueHint::DirPath, help_heading = "A tree of its own")]
    pub(crate) trees: Option<PathBuf>,
}

/// Which steps of a flow are run.
#[derive(Debug, Default, Args)]
#[group(id = "part", multiple = true)]
pub(crate) struct PartArgs {
    /// Run only this step; may be given several times
    #[arg(
        long,
        value_name = "STEP",
        conflicts_with_all = ["from", "until", "skip"],
        help_heading = "A part of the flow"
    )]
    pub(crate) only: Vec<String>,
    /// Run this step and what follows it: all later ones, or in a graph those that need it
    #[arg(long, value_name = "STEP", help_heading = "A part of the flow")]
    pub(crate) from: Option<String>,
    /// Run this step and what comes before it: all earlier ones, or in a graph those that it needs
    #[arg(long, value_name = "STEP", help_heading = "A part of the flow")]
    pub(crate) until: Option<String>,
    /// Leave this step out; may be given several times
    #[arg(long, value_name = "STEP", help_heading = "A part of the flow")]
    pub(crate) skip: Vec<String>,
}

/// `envoi fork`.
#[derive(Debug, Args)]
pub(crate) struct ForkArgs {
    /// Id of the run, or a unique beginning or end of it [default: the newest, if it is over]
    pub(crate) run: Option<String>,
    /// Where the new run begins: a step of the run's own flow, as it was entered last [default: the step that stopped it]
    #[arg(long, value_name = "STEP")]
    pub(crate) from: Option<String>,
    /// Go on from there under this corrected flow file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) flow: Option<PathBuf>,
    /// Why
    #[arg(long)]
    pub(crate) why: Option<String>,
    /// Run although another run has a live attempt in the workspace
    #[arg(long, conflicts_with_all = ["copy", "isolate"])]
    pub(crate) share_workspace: bool,
    /// Run in a copy of the workspace, in the new run's own folder
    #[arg(long, conflicts_with = "isolate")]
    pub(crate) copy: bool,
    #[command(flatten)]
    pub(crate) isolation: IsolationArgs,
    /// The files of the workspace: as they are now, or first set back to what they were when the step was entered. The source run
    /// needs `--keep-files` for that
    #[arg(long, value_enum, default_value = "now")]
    pub(crate) files: Files,
    /// Approve the questions of this step as soon as they are put; recorded as that
    #[arg(long, value_name = "STEP")]
    pub(crate) yes_to: Vec<String>,
    #[command(flatten)]
    pub(crate) engine: EngineArgs,
}

/// See [`ForkArgs`] and [`ResumeArgs`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Files {
    /// As they are
    Now,
    /// As they were. What stands there is kept: `envoi restore RUN --undo` brings it back
    Then,
}

/// `envoi plan`.
#[derive(Debug, Args)]
pub(crate) struct PlanArgs {
    /// The flow file
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) flow: PathBuf,
    #[command(flatten)]
    pub(crate) part: PartArgs,
    /// Exit 4 if a run could make more attempts than this
    #[arg(long, value_name = "N")]
    pub(crate) max_attempts: Option<u64>,
    /// Exit 4 if a run could cost more dollars than this, as far as reports tell, or its cost is not bounded
    #[arg(long, value_name = "DOLLARS", value_parser = dollars)]
    pub(crate) max_cost: Option<Cost>,
    /// Exit 4 if attempts could be live for longer than this, or their time is not bounded
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub(crate) max_time: Option<u64>,
    /// Exit 4 if a run could make more model calls than this, as far as reports tell, or they are not bounded
    #[arg(long, value_name = "N")]
    pub(crate) max_calls: Option<u64>,
    /// Show what differs from the worst case of another flow file
    #[arg(long, value_name = "FLOW", value_hint = ValueHint::FilePath)]
    pub(crate) compare: Option<PathBuf>,
}

fn dollars(text: &str) -> Result<Cost, String> {
    Cost::parse(text).ok_or_else(|| "expected dollars such as 5 or 0.50".to_owned())
}

fn duration(text: &str) -> Result<u64, String> {
    envoi_flow::parse_duration(text).ok_or_else(|| "expected a duration such as 90s, 30m or 2h".to_owned())
}

/// `envoi resume`.
#[derive(Debug, Args)]
pub(crate) struct ResumeArgs {
    /// Id of the run, or a unique beginning or end of it [default: the one that is not over; with --flow also the newest, if it
    /// has not succeeded]
    pub(crate) run: Option<String>,
    /// What to do about an attempt in doubt
    #[arg(long, value_enum, conflicts_with = "review")]
    pub(crate) in_doubt: Option<InDoubt>,
    /// The files of the workspace, with `--in-doubt rerun`: as they are now, or first set back to what they were when that attempt
    /// began. The run needs `--keep-files` for that
    #[arg(long, value_enum, default_value = "now", requires = "in_doubt")]
    pub(crate) files: Files,
    /// What to do where a review is needed
    #[arg(long, value_enum)]
    pub(crate) review: Option<Review>,
    /// Go on under this corrected flow file: what is finished stays, the rest is done as the file says
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with_all = ["in_doubt", "review"])]
    pub(crate) flow: Option<PathBuf>,
    /// Run from this step on again, finished steps too
    #[arg(long, value_name = "STEP", requires = "flow")]
    pub(crate) from: Option<String>,
    /// Try steps whose account is closed by a limit now, before its reset; also of a run that failed at it
    #[arg(long, conflicts_with_all = ["in_doubt", "review", "flow"])]
    pub(crate) now: bool,
    /// Do not ask before the corrected flow takes over
    #[arg(long, requires = "flow")]
    pub(crate) yes: bool,
    /// Why a run that is over is reopened, or its flow corrected
    #[arg(long)]
    pub(crate) why: Option<String>,
    #[command(flatten)]
    pub(crate) engine: EngineArgs,
}

/// See [`ResumeArgs`].
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum InDoubt {
    /// A new attempt of the same visit
    Rerun,
    /// The visit has failed
    Fail,
}

/// See [`ResumeArgs`].
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Review {
    /// Go on
    Proceed,
    /// Another round of the loop
    Again,
    /// The run fails
    Stop,
}

/// `envoi import`.
#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    /// Files of the swarm dialect
    #[arg(required = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) files: Vec<PathBuf>,
    /// Write DIR/<flow>.yaml for each file [default: the flow of one file goes to stdout]
    #[arg(long, short, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) output: Option<PathBuf>,
    /// Overwrite files that exist
    #[arg(long, requires = "output")]
    pub(crate) force: bool,
    /// What each step runs; {prompt}, {agent} and {step} are filled in, no shell is involved
    #[arg(long, value_name = "COMMAND", default_value = envoi_flow::import::DEFAULT_COMMAND)]
    pub(crate) command: String,
    /// Write nothing, and exit with 6, if anything is not carried
    #[arg(long)]
    pub(crate) strict: bool,
}

/// What every answer may have.
#[derive(Debug, Args)]
pub(crate) struct Reply {
    /// Id of the question, or of a run that asks one, or a unique beginning or end of it [default: the only open one]
    #[arg(value_name = "INT|RUN")]
    pub(crate) question: Option<String>,
    /// A file to attach; may be given up to 20 times
    #[arg(long = "file", short = 'f', value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) files: Vec<PathBuf>,
    /// Refuse the answer unless this digest, which `envoi show` prints, is still that of what is shown
    #[arg(long, value_name = "DIGEST")]
    pub(crate) seen: Option<String>,
    /// Only record the answer; the run goes on with the next `envoi resume`
    #[arg(long, conflicts_with_all = ["detach", "take_over"])]
    pub(crate) no_resume: bool,
    #[command(flatten)]
    pub(crate) engine: EngineArgs,
}

/// A form that is filled in.
#[derive(Debug, Args)]
pub(crate) struct Form {
    /// The form as a JSON object, or @FILE
    #[arg(long, value_name = "JSON|@FILE", conflicts_with = "fields")]
    pub(crate) data: Option<String>,
    /// One field of the form; text as it is, other types as JSON or yes and no
    #[arg(long = "field", value_name = "NAME=VALUE")]
    pub(crate) fields: Vec<String>,
}

/// `envoi approve`.
#[derive(Debug, Args)]
pub(crate) struct ApproveArgs {
    #[command(flatten)]
    pub(crate) reply: Reply,
    /// A note for the steps that follow
    #[arg(long, value_name = "TEXT")]
    pub(crate) note: Option<String>,
    #[command(flatten)]
    pub(crate) form: Form,
}

/// `envoi deny`.
#[derive(Debug, Args)]
pub(crate) struct DenyArgs {
    #[command(flatten)]
    pub(crate) reply: Reply,
    /// Why
    #[arg(long, value_name = "TEXT", visible_alias = "note")]
    pub(crate) reason: Option<String>,
}

/// `envoi answer`.
#[derive(Debug, Args)]
pub(crate) struct AnswerArgs {
    #[command(flatten)]
    pub(crate) reply: Reply,
    /// The answer in words, every byte of it; `-` for stdin
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) text: Option<String>,
    /// The decision [default: words or the form, where the question takes them]
    #[arg(long, value_enum, value_name = "CHOICE")]
    pub(crate) choice: Option<Decision>,
    /// A user envelope (contract 5) as it came: a file, or `-` for stdin
    #[arg(long, value_name = "FILE", conflicts_with = "text", value_hint = ValueHint::FilePath)]
    pub(crate) envelope: Option<PathBuf>,
    /// How much a bound is raised by: a number, a duration such as 10m, or dollars
    #[arg(long, value_name = "MORE", conflicts_with = "choice")]
    pub(crate) raise: Option<String>,
    #[command(flatten)]
    pub(crate) form: Form,
}

/// See [`AnswerArgs`].
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Decision {
    /// Yes
    Approve,
    /// No
    Deny,
    /// Words or a form
    Respond,
    /// Go on
    Proceed,
    /// Another round
    Again,
    /// The run fails
    Stop,
    /// In doubt: a new attempt of the same visit
    Rerun,
    /// In doubt: the visit has failed
    Fail,
}

/// `envoi raise`.
#[derive(Debug, Args)]
pub(crate) struct RaiseArgs {
    /// Id of the run, or a unique beginning or end of it [default: the only unfinished one, or the newest if a limit ended it]
    pub(crate) run: Option<String>,
    /// More attempts
    #[arg(long, value_name = "N")]
    pub(crate) agent_hops: Option<u64>,
    /// More loop-backs
    #[arg(long, value_name = "N")]
    pub(crate) iterations: Option<u64>,
    /// More rounds, of a run with goals
    #[arg(long, value_name = "N")]
    pub(crate) rounds: Option<u64>,
    /// More model calls
    #[arg(long, value_name = "N")]
    pub(crate) llm_calls: Option<u64>,
    /// More time of work, such as 10m
    #[arg(long, value_name = "DURATION")]
    pub(crate) wall_time: Option<String>,
    /// More dollars, such as 2.50
    #[arg(long, value_name = "DOLLARS")]
    pub(crate) cost_usd: Option<String>,
    /// Why
    #[arg(long)]
    pub(crate) why: Option<String>,
    #[command(flatten)]
    pub(crate) engine: EngineArgs,
}
