//! The command line: every command, its arguments, and what `--help` says of them.

use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
use std::path::PathBuf;

const AFTER_HELP: &str = "\
Exit codes of run and resume: 0 succeeded, 1 failed, 3 waits for a person, 4 a bound is used up, 5 in doubt, \
130 cancelled. Of every command: 2 bad usage or file, 6 refused, 7 stopped by Ctrl-C with the run unfinished, \
8 the store or the machine failed.";

/// Runs pipelines of agents, scripts and people, and never loses or repeats an acknowledged step.
#[derive(Debug, Parser)]
#[command(name = "envoi", version, after_help = AFTER_HELP, max_term_width = 100)]
pub(crate) struct Cli {
    /// Print data as JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// The store [default: $ENVOI_HOME, else the nearest .envoi upward from here, else ./.envoi]
    #[arg(long, global = true, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) home: Option<PathBuf>,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Every command.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Write a small flow file to start from, and make the store
    Init {
        /// Where
        #[arg(default_value = ".", value_hint = ValueHint::DirPath)]
        dir: PathBuf,
    },
    /// Start a run of a flow and follow it to its end
    Run(RunArgs),
    /// Go on with a run: after a crash, after its failure, or with a decision
    Resume(ResumeArgs),
    /// List the runs
    Runs {
        /// Only those that are not over
        #[arg(long)]
        unfinished: bool,
        /// Most rows
        #[arg(long, default_value_t = 50)]
        limit: u32,
        /// Follow the runs that are not over, until Ctrl-C: live on a terminal, one line an event elsewhere
        #[arg(short, long, conflicts_with = "limit")]
        follow: bool,
    },
    /// Show a run: its steps, what it waits for, what it has used
    Show {
        /// Id of the run, or a unique beginning or end of it [default: the newest]
        run: Option<String>,
        /// The pipeline envelope (contract 3) as JSON
        #[arg(long, conflicts_with = "events")]
        envelope: bool,
        /// Every event, one JSON a line
        #[arg(long)]
        events: bool,
        /// The hand-off of a step's last visit as JSON
        #[arg(long, value_name = "STEP", conflicts_with_all = ["envelope", "events"])]
        handoff: Option<String>,
    },
    /// Print what a run's commands wrote
    Logs {
        /// Id of the run, or a unique beginning or end of it [default: the newest]
        run: Option<String>,
        /// Only this step
        #[arg(long)]
        step: Option<String>,
        /// Only stderr
        #[arg(long)]
        stderr: bool,
        /// Go on with what comes, until the run comes to rest
        #[arg(short, long)]
        follow: bool,
    },
    /// End a run; what is running is ended first
    Cancel {
        /// Id of the run, or a unique beginning or end of it
        run: String,
    },
    /// Say why a run went the way it went, decision by decision
    Why {
        /// Id of the run, or a unique beginning or end of it [default: the newest]
        run: Option<String>,
        /// Only this step
        #[arg(long)]
        step: Option<String>,
    },
    /// Check a flow file and show every mistake at its place
    Check {
        /// Flow files
        #[arg(required = true, value_hint = ValueHint::FilePath)]
        flows: Vec<PathBuf>,
    },
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
    /// Run conformance vectors against this binary
    Conformance {
        /// Vector files
        #[arg(required = true, value_hint = ValueHint::FilePath)]
        files: Vec<PathBuf>,
    },
    /// Rebuild everything that can be rebuilt from the events, and say what differed
    Repair,
    /// Check the machine and the store
    Doctor,
    /// Say what an error code means and what to do
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
    /// Supervise one attempt (started by the engine, never by hand)
    #[command(name = "__attempt", hide = true)]
    Attempt,
    /// Be the engine of a store until nothing is under way (started by --detach, never by hand)
    #[command(name = "__engine", hide = true)]
    Engine {
        /// Most attempts at once
        #[arg(long)]
        jobs: Option<usize>,
    },
}

/// How the engine is had.
#[derive(Debug, Clone, Args)]
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

/// `envoi run`.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// The flow file
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) flow: PathBuf,
    /// An input: text for inputs of type string, JSON for others
    #[arg(long = "input", short = 'i', value_name = "NAME=VALUE")]
    pub(crate) inputs: Vec<String>,
    /// Inputs as a JSON object in a file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) inputs_file: Option<PathBuf>,
    /// Run although another run has a live attempt in the workspace
    #[arg(long, conflicts_with = "copy")]
    pub(crate) share_workspace: bool,
    /// Run in a copy of the workspace, in the run's own folder
    #[arg(long)]
    pub(crate) copy: bool,
    #[command(flatten)]
    pub(crate) engine: EngineArgs,
}

/// `envoi resume`.
#[derive(Debug, Args)]
pub(crate) struct ResumeArgs {
    /// Id of the run, or a unique beginning or end of it [default: the one that is not over]
    pub(crate) run: Option<String>,
    /// What to do about an attempt in doubt
    #[arg(long, value_enum, conflicts_with = "review")]
    pub(crate) in_doubt: Option<InDoubt>,
    /// What to do where a review is needed
    #[arg(long, value_enum)]
    pub(crate) review: Option<Review>,
    /// Why a run that is over is reopened
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
