//! The `envoi` command: composition root, the only reader of environment, home and terminal.
//!
//! Its layers, the lowest first: `text`, `process`, `store`, `view`, `session`, `command`, `remote`. A lower one knows no higher
//! one; `cargo xtask tidy` checks that.
//!
//! stdout is data, stderr is messages. Each command is a module of [`command`]; what it cannot do comes back as a [`Failure`]
//! with a code, a message, a hint and an exit code, and is printed in one place.

mod command;
mod process;
mod remote;
mod session;
mod store;
mod text;
mod view;

use crate::{
    process::{allocator, args, failure::Failure, file_size_limit, log, output, usage},
    session::{agent, background, model, program, zygote},
    store::home,
    text::location,
};
use args::{Cli, Command};
use clap::Parser as _;
use std::process::ExitCode;

fn main() -> ExitCode {
    // Each attempt starts this program again as its supervisor, so prepare only what a supervisor needs.
    if args::is_supervisor(std::env::args_os()) {
        allocator::allow_huge_pages();
        return envoi_step::run_supervisor(process::failpoint::supervised);
    }
    let cli = Cli::try_parse().unwrap_or_else(|error| {
        let words: Vec<String> =
            std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
        usage::explained(error, &words).exit()
    });
    if matches!(cli.command, Some(Command::Attempt | Command::Agent)) {
        allocator::allow_huge_pages();
    }
    match cli.command {
        Some(Command::Attempt) => return envoi_step::run_supervisor(process::failpoint::supervised),
        Some(Command::A2a) => return agent::run_attempt(),
        Some(Command::Agent) => return program::run_attempt(),
        Some(Command::AgentCall { policy }) => return program::decide_call(&policy),
        Some(Command::Model) => return model::run_attempt(),
        Some(Command::Merge { order }) => return envoi_engine::merge_items(&order),
        _ => {}
    }
    zygote::begin(&cli);
    output::die_quietly_on_a_closed_pipe();
    file_size_limit::fail_instead_of_ending();
    let json = cli.json;
    let done = dispatch(cli);
    zygote::end();
    match done {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            failure.say(json);
            ExitCode::from(failure.exit_code)
        }
    }
}

fn dispatch(cli: Cli) -> Result<u8, Failure> {
    let Some(command) = cli.command else {
        log::begin(None, args::LogFormat::default())?;
        return command::next::next(&home::Home::new(cli.home, cli.json));
    };
    let (level, format) = command.log();
    log::begin(level, format)?;
    if remote::concerns(&command) {
        let options = remote::Options {
            server: cli.server,
            token_file: cli.token_file,
            ca: cli.server_ca,
            has_home: cli.home.is_some(),
        };
        if let Some(address) = remote::Address::of(&options)? {
            return remote::dispatch(&address, cli.json, command);
        }
    }
    let home = home::Home::new(cli.home, cli.json);
    match command {
        Command::Init(args) => command::init::init(&home, &args),
        Command::Run(args) => command::run::run(&home, &args),
        Command::Resume(args) => command::resume::resume(&home, &args),
        Command::Inbox(args::InboxArgs { run, follow: true, .. }) => {
            command::inbox::follow(&home, run.as_deref())
        }
        Command::Inbox(args::InboxArgs { run, all, limit, .. }) => {
            command::inbox::inbox(&home, run.as_deref(), all, limit)
        }
        Command::Approve(args) => command::answer::approve(&home, &args),
        Command::Deny(args) => command::answer::deny(&home, &args),
        Command::Answer(args) => command::answer::answer(&home, &args),
        Command::Fork(args) => command::fork::fork(&home, &args),
        Command::Raise(args) => command::raise::raise(&home, &args),
        Command::Runs(args::RunsArgs { follow: true, .. }) => command::runs::follow(&home),
        Command::Runs(args::RunsArgs { unfinished, limit, .. }) => {
            command::runs::runs(&home, unfinished, limit)
        }
        Command::Show(args::ShowArgs { run, envelope, events, handoff, limit }) => {
            let view = command::show::View::of(envelope, events, handoff, limit);
            command::show::show(&home, run.as_deref(), &view)
        }
        Command::Logs(args::LogsArgs { run, step, stderr, raw, follow, limit }) => {
            let place = step.as_deref().map(location::Location::new);
            let view = command::logs::View { place, stderr, raw, json: home.json, limit };
            command::logs::logs(&home, run.as_deref(), &view, follow)
        }
        Command::Cancel { run } => command::cancel::cancel(&home, run.as_deref()),
        Command::Diff(args::DiffArgs { run, range, path, stat }) => {
            let view = command::diff::View { path: path.as_deref(), stat };
            command::diff::diff(&home, run.as_deref(), range.as_deref(), &view)
        }
        Command::Restore(args::RestoreArgs { run, paths, at, into: Some(into), .. }) => {
            command::restore::into(&home, run.as_deref(), at.as_deref().unwrap_or("end"), &into, &paths)
        }
        Command::Restore(args::RestoreArgs { run, paths, at, reason, .. }) => {
            command::restore::here(&home, run.as_deref(), at.as_deref(), &paths, reason)
        }
        Command::Apply(args::ApplyArgs { run, patch: Some(file), .. }) => {
            command::patch::patch(&home, run.as_deref(), &command::patch::Form::Patch(&file), None)
        }
        Command::Apply(args::ApplyArgs { run, branch: Some(name), reason, .. }) => {
            let form = command::patch::Form::Branch(&name);
            command::patch::patch(&home, run.as_deref(), &form, reason.as_deref())
        }
        Command::Apply(args::ApplyArgs { run, pr: true, reason, .. }) => {
            command::pull_request::pull_request(&home, run.as_deref(), reason)
        }
        Command::Apply(args) => {
            let what = command::apply::what(&args);
            command::apply::apply(&home, args.run.as_deref(), what, args.reason)
        }
        Command::Export(args) => command::export::export(&home, &args),
        Command::Verify(args::VerifyArgs { file, head, signers }) => {
            command::verify::verify(&file, head.as_deref(), signers.as_deref(), cli.json)
        }
        Command::Gc(args) => command::gc::gc(&home, &args),
        Command::Cache(command) => command::cache::cache(&home, &command),
        Command::Artifacts(command) => command::artifacts::artifacts(&home, &command),
        Command::Why(args::WhyArgs { run, step, limit, all }) => {
            let which = command::why::Which { step: step.as_deref(), limit, all };
            command::why::why(&home, run.as_deref(), &which)
        }
        Command::Check { flows } => command::check::check(&home, &flows, cli.json),
        Command::Backtest(args) => command::backtest::backtest(&home, &args),
        Command::Plan(args) => command::plan::show(&args, cli.json),
        Command::Import(args) => match command::bring::bundle(&args.files) {
            Some(file) => command::bring::bring(&home, file, &args),
            None => command::import::import(&args, cli.json),
        },
        Command::Handoff { file, compact } => command::filter::handoff(file.as_deref(), compact),
        Command::Route { file, compact } => command::filter::route(file.as_deref(), compact),
        Command::Serve(args) => match &args.cluster {
            Some(file) => command::cluster::serve(&home, &args, file),
            None => command::serve::serve(&home, &args),
        },
        Command::Worker(args) => command::worker::worker(&home, &args),
        Command::Page(args) => command::page::page(&home, &args),
        Command::Token(args) => command::token::token(&home, args),
        Command::Conformance { files } => command::conformance::conformance(&files, cli.json),
        Command::Repair { run: Some(run) } => command::repair::look(&home, &run),
        Command::Repair { run: None } => command::repair::repair(&home),
        Command::Doctor => command::doctor::doctor(&home),
        Command::Store(args::StoreCommand::Adopt { share_workspaces }) => {
            command::store::adopt(&home, share_workspaces)
        }
        Command::Help { topic, document } => command::help::help(&topic, document, cli.json),
        Command::Explain { code } => command::explain::explain(&code, cli.json),
        Command::Schema { name } => command::schema::schema(name.as_deref(), cli.json),
        Command::Completions { shell } => command::completions::completions(shell),
        Command::Manual { folder } => command::manual::manual(&folder),
        Command::Engine { jobs } => background::be_the_engine(&home, jobs),
        Command::Attempt
        | Command::A2a
        | Command::Agent
        | Command::AgentCall { .. }
        | Command::Model
        | Command::Merge { .. } => Ok(0),
    }
}
