//! Measures Envoi, each figure beside a raw measurement of the same minute: the machine is shared and noisy, ratios are not.
//!
//! `bench/run.sh` builds it and calls one subcommand after the other, each in a process of its own. Nothing here is a test:
//! no figure fails a build.

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

/// What is wrong is told as it is; nobody handles it.
pub(crate) type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

const USAGE: &str = "usage: envoi-bench alone|many RUNS STEPS|commits|steady RUNS ALL|memory RUNS|bytes|files COUNT|filters|spawn|start|asked|\
fsyncs RUNS STEPS|asked-fsyncs RUNS|store RUNS STEPS|grow VISITS|shown VISITS|killed RUNS|finished RUNS";

/// What one thread has allocated is often freed by another one, at which the allocator of the C library is slow (docs/figures.md).
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
