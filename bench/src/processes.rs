//! The binary itself: a step with a command against a bare spawn, and its start to the end of a first run.

use crate::{
    Outcome, raw,
    row::{Row, median},
};
use std::{
    fs,
    path::PathBuf,
    process::{Command, Stdio},
    time::Instant,
};

const ROUNDS: u32 = 5;
/// Steps of the longer run.
const STEPS: u32 = 50;

/// `envoi` beside this program, or what ENVOI names.
fn binary() -> Outcome<PathBuf> {
    if let Some(named) = std::env::var_os("ENVOI") {
        return Ok(named.into());
    }
    Ok(std::env::current_exe()?.with_file_name("envoi"))
}

/// Seconds of a whole `envoi run` in a fresh folder: `steps` steps with the command `true`.
fn run_s(steps: u32) -> Outcome<f64> {
    let folder = tempfile::tempdir()?.keep();
    let step = |number| format!("  - id: s{number}\n    run: [\"true\"]\n");
    let text = format!("flow: bench\nsteps:\n{}", (1..=steps).map(step).collect::<String>());
    fs::write(folder.join("flow.yaml"), text)?;
    let began = Instant::now();
    let status = Command::new(binary()?)
        .args(["run", "flow.yaml", "--home", ".envoi"])
        .current_dir(&folder)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()?;
    let took = began.elapsed().as_secs_f64();
    if status.success() { Ok(took) } else { Err(format!("`envoi run` ended with {status}").into()) }
}

/// The difference between a long and a short run, by the step.
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
        figure: format!("{:.2} x", median(ratios)),
        target: "none set",
    })
}

/// From the start of the binary in an empty folder to the end of a run of one step.
pub(crate) fn start_to_first_run() -> Outcome<Row> {
    let rounds = (0..ROUNDS.saturating_mul(3)).map(|_| run_s(1)).collect::<Outcome<Vec<_>>>()?;
    Ok(Row {
        what: "binary start to first run done".to_owned(),
        value: format!("{:.3} s", median(rounds)),
        raw: format!("{:.2} ms a bare spawn", raw::spawn_s(100)? * 1e3),
        figure: String::new(),
        target: "<= 0.2 s",
    })
}
