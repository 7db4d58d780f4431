//! A store with many finished runs: does a step, the start of a run, or a query take longer than in an empty
//! store?

use crate::{
    Outcome, processes, raw,
    row::{Row, median},
    stage::{Stage, Steps},
};
use std::{path::Path, time::Instant};

/// Runs at the same time, while the store is filled.
const AT_ONCE: u32 = 200;
/// Runs whose steps are measured, at the beginning and at the end.
const MEASURED: u32 = 2_000;
/// Steps of each run.
const STEPS: u32 = 3;
/// Calls of each command.
const CALLS: usize = 21;

/// Fills a store with `runs` runs of three steps, in one process; then calls commands on it.
pub(crate) fn finished(runs: u32) -> Outcome<Vec<Row>> {
    let mut small = stage()?;
    fill(&mut small, MEASURED)?;
    // A command that starts a run takes over the store, so it can no longer be filled.
    let few = Looks::at(small.root())?;
    let mut large = stage()?;
    // The first runs make the tables and the folders, so they are not measured.
    fill(&mut large, MEASURED)?;
    let first = fill(&mut large, MEASURED)?;
    fill(&mut large, runs.saturating_sub(MEASURED.saturating_mul(3)))?;
    let last = fill(&mut large, MEASURED)?;
    let many = Looks::at(large.root())?;
    let row = |what: &str, many: String, few: String, ratio: f64| Row {
        what: format!("{what}, {runs} finished runs in the store"),
        value: many,
        raw: format!("{few} at {MEASURED}"),
        figure: format!("{ratio:.2} x"),
        spread: String::new(),
        target: "no slower",
    };
    let rate = |runs_s: f64| runs_s.recip() * f64::from(STEPS);
    let ms = |seconds: f64| format!("{:.1} ms", seconds * 1e3);
    Ok(vec![
        row(
            "200 runs at once",
            format!("{:.0} steps/s", rate(last)),
            format!("{:.0} steps/s", rate(first)),
            first / last,
        ),
        row("`envoi runs`", ms(many.runs), ms(few.runs), many.runs / few.runs),
        row("`envoi show`", ms(many.show), ms(few.show), many.show / few.show),
        row("start to run done", ms(many.first_run), ms(few.first_run), many.first_run / few.first_run),
    ])
}

fn stage() -> Outcome<Stage> {
    Stage::new(&std::env::temp_dir(), usize::try_from(AT_ONCE)?, STEPS, Steps::Settle { text_bytes: 20 })
}

/// Adds this many runs, [`AT_ONCE`] at a time. Returns the seconds per run.
fn fill(stage: &mut Stage, runs: u32) -> Outcome<f64> {
    let began = Instant::now();
    let mut left = runs;
    while left > 0 {
        let now = left.min(AT_ONCE);
        stage.begin(now)?;
        stage.play_to_the_end()?;
        left = left.saturating_sub(now);
    }
    Ok(raw::each_s(began.elapsed(), runs.max(1)))
}

/// Durations of commands, in seconds.
struct Looks {
    runs: f64,
    show: f64,
    first_run: f64,
}

impl Looks {
    fn at(home: &Path) -> Outcome<Self> {
        let call = |words: &[&str]| -> Outcome<f64> {
            (0..CALLS).map(|_| processes::call_s(home, words)).collect::<Outcome<Vec<_>>>().map(median)
        };
        Ok(Self {
            runs: call(&["runs"])?,
            show: call(&["show", "run_bench000007"])?,
            first_run: (0..CALLS)
                .map(|_| processes::run_in_s(home, 1))
                .collect::<Outcome<Vec<_>>>()
                .map(median)?,
        })
    }
}
