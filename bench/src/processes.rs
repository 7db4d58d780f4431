//! The binary itself: a step with a command compared with a bare spawn, and its start to the end of a first
//! run.

use crate::{
    Outcome, raw,
    row::{Row, extremes, median, spread},
};
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Instant,
};

const ROUNDS: u32 = 5;
/// Steps of the longer run.
const STEPS: u32 = 50;

/// `envoi` in the folder of this program, or the path in ENVOI.
pub(crate) fn binary() -> Outcome<PathBuf> {
    if let Some(named) = std::env::var_os("ENVOI") {
        return Ok(named.into());
    }
    Ok(std::env::current_exe()?.with_file_name("envoi"))
}

/// Seconds of a whole `envoi run` in a fresh folder with a fresh store.
fn run_s(steps: u32) -> Outcome<f64> {
    run_in_s(Path::new(".envoi"), steps)
}

/// Seconds of a whole `envoi run` in a fresh folder: `steps` steps with the command `true`.
pub(crate) fn run_in_s(home: &Path, steps: u32) -> Outcome<f64> {
    let folder = folder_of(steps)?;
    envoi_s(&folder, &["run", "flow.yaml", "--home", &home.to_string_lossy()])
}

/// Seconds of a command that reads a store.
pub(crate) fn call_s(home: &Path, words: &[&str]) -> Outcome<f64> {
    let home = home.to_string_lossy();
    envoi_s(&std::env::temp_dir(), &[words, &["--home", &home]].concat())
}

/// A fresh folder with a flow.
fn folder_of(steps: u32) -> Outcome<PathBuf> {
    let folder = tempfile::tempdir()?.keep();
    let step = |number| format!("  - id: s{number}\n    run: [\"true\"]\n");
    let text = format!("flow: bench\nsteps:\n{}", (1..=steps).map(step).collect::<String>());
    fs::write(folder.join("flow.yaml"), text)?;
    Ok(folder)
}

/// Seconds of one call of the binary.
fn envoi_s(folder: &Path, words: &[&str]) -> Outcome<f64> {
    let began = Instant::now();
    let status = Command::new(binary()?)
        .args(words)
        .current_dir(folder)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()?;
    let took = began.elapsed().as_secs_f64();
    if status.success() {
        Ok(took)
    } else {
        Err(format!("`envoi {}` ended with {status}", words.join(" ")).into())
    }
}

/// The difference between a long and a short run, per step.
pub(crate) fn step_against_spawn() -> Outcome<Row> {
    let (mut ours, mut bare, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let before = raw::spawn_s(100)?;
        let step = (run_s(STEPS.saturating_add(1))? - run_s(1)?) / f64::from(STEPS);
        let spawn = f64::midpoint(before, raw::spawn_s(100)?);
        ours.push(step);
        bare.push(spawn);
        ratios.push(step / spawn);
    }
    Ok(Row {
        what: "a step with the command `true`".to_owned(),
        value: format!("{:.2} ms", median(ours) * 1e3),
        raw: format!("{:.2} ms a bare spawn", median(bare) * 1e3),
        spread: spread(&ratios),
        figure: format!("{:.2} x", median(ratios)),
        target: "<= 3 x",
    })
}

/// The times that a person waits: the binary without any work, the check of a flow, the end of a first run.
pub(crate) fn start() -> Outcome<Vec<Row>> {
    let folder = folder_of(100)?;
    Ok(vec![
        started("`envoi --version`", "<= 3 ms", || envoi_s(&folder, &["--version"]))?,
        started("`envoi check` of 100 steps", "<= 3 ms", || envoi_s(&folder, &["check", "flow.yaml"]))?,
        started("binary start to first run done", "<= 20 ms", || run_s(1))?,
    ])
}

/// The median of many calls in each round, and the median round.
fn started(what: &str, target: &'static str, mut call_s: impl FnMut() -> Outcome<f64>) -> Outcome<Row> {
    let (mut medians, mut bare) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        bare.push(raw::spawn_s(40)?);
        medians.push(median((0..40).map(|_| call_s()).collect::<Outcome<_>>()?));
    }
    let (least, most) = extremes(&medians);
    Ok(Row {
        what: what.to_owned(),
        value: format!("{:.2} ms", median(medians) * 1e3),
        raw: format!("{:.2} ms a bare spawn", median(bare) * 1e3),
        figure: String::new(),
        spread: format!("{:.2} to {:.2} ms", least * 1e3, most * 1e3),
        target,
    })
}

/// Commands that read one long run from the store: seconds of each.
pub(crate) fn looks(home: &Path, run: &str, commands: &[&[&str]]) -> Outcome<Vec<(String, f64)>> {
    let look = |words: &&[&str]| -> Outcome<_> {
        let words = [*words, &[run]].concat();
        let calls = (0..ROUNDS).map(|_| call_s(home, &words)).collect::<Outcome<Vec<_>>>()?;
        let command = words.split_last().map_or(String::new(), |(_, rest)| rest.join(" "));
        Ok((command, median(calls)))
    };
    commands.iter().map(look).collect()
}
