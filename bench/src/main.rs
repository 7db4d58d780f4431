//! Measures Envoi. Each figure is compared with a raw measurement from the same minute: the machine is shared
//! and noisy, but ratios are stable.
//!
//! `bench/run.sh` builds it and calls the subcommands one after the other, each in its own process. This is
//! not a test: no figure fails a build.

mod crowded;
mod engine;
mod files;
mod filters;
mod killed;
mod people;
mod processes;
mod raw;
mod row;
mod stage;

use row::Row;
use std::process::ExitCode;

/// Errors are only printed, so any error type will do.
pub(crate) type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

const USAGE: &str = "usage: envoi-bench alone|many RUNS STEPS|commits|steady RUNS ALL|memory RUNS|bytes|files COUNT|filters|spawn|start|asked|\
fsyncs RUNS STEPS|asked-fsyncs RUNS|store RUNS STEPS|grow VISITS|shown VISITS|killed RUNS|finished RUNS";

/// Memory that one thread has allocated is often freed by another one, which is slow with the C library's
/// allocator (docs/figures.md).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match measure(&words) {
        Ok(rows) => {
            rows.iter().for_each(|row| println!("{row}"));
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("envoi-bench: {error}");
            ExitCode::FAILURE
        }
    }
}

fn measure(words: &[&str]) -> Outcome<Vec<Row>> {
    match words {
        ["alone"] => Ok(vec![engine::alone()?]),
        ["many", runs, steps] => Ok(vec![engine::many(runs.parse()?, steps.parse()?)?]),
        ["memory", runs] => Ok(vec![engine::memory(runs.parse()?)?]),
        ["bytes"] => engine::bytes(),
        ["files", count] => files::snapshots(count.parse()?),
        ["filters"] => filters::both(),
        ["spawn"] => Ok(vec![processes::step_against_spawn()?]),
        ["start"] => processes::start(),
        ["commits"] => engine::commits().map(|()| Vec::new()),
        ["steady", runs, all] => engine::steady(runs.parse()?, all.parse()?).map(|()| Vec::new()),
        ["shown", visits] => engine::shown(visits.parse()?),
        ["killed", runs] => Ok(vec![killed::known_again(runs.parse()?)?]),
        // The engine that `killed` kills.
        ["hold", runs] => killed::hold(runs.parse()?).map(|()| Vec::new()),
        ["finished", runs] => crowded::finished(runs.parse()?),
        ["asked"] => people::pause_and_resume(),
        ["asked-fsyncs", runs] => people::between_marks(runs.parse()?).map(|()| Vec::new()),
        ["grow", visits] => engine::grow(visits.parse()?).map(|()| Vec::new()),
        ["store", runs, steps] => engine::store(runs.parse()?, steps.parse()?).map(|()| Vec::new()),
        ["fsyncs", runs, steps] => engine::between_marks(runs.parse()?, steps.parse()?).map(|()| Vec::new()),
        _ => Err(USAGE.into()),
    }
}
