//! The engine with steps that settle immediately: alone, many at the same time, in memory, on disk.

use crate::{
    Outcome, processes, raw,
    row::{Row, median, spread},
    stage::{Stage, Steps},
};
use std::{fs, path::Path, time::Instant};

/// Rounds of each measurement. The median is the result.
const ROUNDS: u32 = 5;
/// Raw commits before and after each round.
const RAW_COMMITS: u32 = 150;
/// Steps of a single run.
const STEPS_ALONE: u32 = 200;
/// The result of a no-op step.
const NOOP: Steps = Steps::Settle { text_bytes: 20 };

/// The folder for databases: the system's temporary folder, so that TMPDIR chooses the disk to measure.
fn dir() -> std::path::PathBuf {
    std::env::temp_dir()
}

/// Seconds per step, from the start of `runs` runs of `steps` steps to their ends.
fn step_s(runs: u32, steps: u32) -> Outcome<f64> {
    let mut stage = Stage::new(&dir(), usize::try_from(runs)?, steps, NOOP)?;
    stage.begin(runs)?;
    let began = Instant::now();
    stage.play_to_the_end()?;
    Ok(raw::each_s(began.elapsed(), runs.saturating_mul(steps)))
}

/// The times of the rounds of one measurement.
struct Rounds {
    /// Seconds per step.
    steps: Vec<f64>,
    /// Seconds per raw commit.
    commits: Vec<f64>,
}

impl Rounds {
    /// Runs [`ROUNDS`] rounds, each between raw commits.
    fn of(mut step_s: impl FnMut() -> Outcome<f64>) -> Outcome<Self> {
        let (mut steps, mut commits) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let before = raw::commit_s(&dir(), RAW_COMMITS)?;
            steps.push(step_s()?);
            commits.push(f64::midpoint(before, raw::commit_s(&dir(), RAW_COMMITS)?));
        }
        Ok(Self { steps, commits })
    }

    /// The time of a step in raw commits, in each round.
    fn costs(&self) -> Vec<f64> {
        self.steps.iter().zip(&self.commits).map(|(step, commit)| step / commit).collect()
    }

    /// How many steps take the time of a raw commit, in each round.
    fn rates(&self) -> Vec<f64> {
        self.costs().into_iter().map(f64::recip).collect()
    }
}

/// A run alone, one step after the other.
pub(crate) fn alone() -> Outcome<Row> {
    let rounds = Rounds::of(|| step_s(1, STEPS_ALONE))?;
    Ok(Row {
        what: "one durable no-op step, alone".to_owned(),
        figure: format!("{:.2} x", median(rounds.costs())),
        spread: spread(&rounds.costs()),
        value: format!("{:.2} ms", median(rounds.steps) * 1e3),
        raw: format!("{:.2} ms a commit", median(rounds.commits) * 1e3),
        target: "<= 2 x",
    })
}

/// `runs` runs at the same time, each of `steps` steps.
pub(crate) fn many(runs: u32, steps: u32) -> Outcome<Row> {
    let rounds = Rounds::of(|| step_s(runs, steps))?;
    let target = if runs > 200 { "no lower than at 200" } else { ">= 3 x" };
    Ok(rate(format!("{runs} runs at once, {steps} steps each"), rounds, target))
}

/// A rate of steps, compared with that of raw commits.
fn rate(what: String, rounds: Rounds, target: &'static str) -> Row {
    Row {
        what,
        figure: format!("{:.2} x", median(rounds.rates())),
        spread: spread(&rounds.rates()),
        value: format!("{:.0} steps/s", median(rounds.steps).recip()),
        raw: format!("{:.0} commits/s", median(rounds.commits).recip()),
        target,
    }
}

/// Raw commits per second, for alternating comparisons.
pub(crate) fn commits() -> Outcome<()> {
    println!("{:.0}", raw::commit_s(&dir(), RAW_COMMITS)?.recip());
    Ok(())
}

/// `runs` runs of ten steps at any time, until `all` have ended: when one ends, the next one begins. A single
/// round, without a raw measurement: for alternating comparisons (`bench/restate`).
pub(crate) fn steady(runs: u32, all: u32) -> Outcome<()> {
    const STEPS: u32 = 10;
    let mut stage = Stage::new(&dir(), usize::try_from(runs)?, STEPS, NOOP)?;
    let began = Instant::now();
    stage.begin(runs)?;
    for begun in runs..all {
        let ended = u64::from(begun.saturating_sub(runs));
        stage.play_until(|stage| stage.ended() > ended)?;
        stage.begin(1)?;
    }
    stage.play_to_the_end()?;
    println!("{:.0}", raw::each_s(began.elapsed(), all.saturating_mul(STEPS)).recip());
    Ok(())
}

/// Resident memory of this process with `runs` live attempts.
pub(crate) fn memory(runs: u32) -> Outcome<Row> {
    let mut stage = Stage::new(&dir(), usize::try_from(runs)?, 10, Steps::Hang)?;
    let before = resident_kib()?;
    stage.begin(runs)?;
    stage.play_until_all_are_live()?;
    let after = resident_kib()?;
    Ok(Row {
        what: format!("resident memory, {runs} runs in flight"),
        value: format!("{:.1} MiB", f64::from(after) / 1024.0),
        raw: format!("{:.1} MiB before", f64::from(before) / 1024.0),
        figure: format!("{:.1} KiB a run", f64::from(after.saturating_sub(before)) / f64::from(runs)),
        spread: String::new(),
        target: "<= 50 MiB",
    })
}

fn resident_kib() -> Outcome<u32> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line =
        status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no VmRSS in /proc/self/status")?;
    Ok(line.trim_end_matches("kB").trim().parse()?)
}

/// Bytes on disk per step, with texts of 100 KB, for runs of increasing length.
pub(crate) fn bytes() -> Outcome<Vec<Row>> {
    const TEXT_BYTES: usize = 100_000;
    let row = |steps: u32| -> Outcome<Row> {
        let mut stage = Stage::new(&dir(), 1, steps, Steps::Settle { text_bytes: TEXT_BYTES })?;
        stage.begin(1)?;
        let began = Instant::now();
        stage.play_to_the_end()?;
        let step_s = raw::each_s(began.elapsed(), steps);
        let total = size_of(stage.root())?;
        let per_step = total.checked_div(u64::from(steps)).unwrap_or(0);
        Ok(Row {
            what: format!("bytes a step, {steps} steps with 100 KB outputs"),
            value: format!("{per_step} bytes"),
            raw: format!("{TEXT_BYTES} bytes of text"),
            figure: format!("{:.2} ms a step", step_s * 1e3),
            spread: String::new(),
            target: "flat",
        })
    };
    [125, 250, 500, 1000].into_iter().map(row).collect()
}

/// The size of everything below a folder, except the write-ahead log, which is bounded.
fn size_of(folder: &Path) -> Outcome<u64> {
    let mut total: u64 = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        let name = entry.file_name();
        total = total.saturating_add(match () {
            () if kind.is_dir() => size_of(&entry.path())?,
            () if name.to_string_lossy().contains(".db-") => 0,
            () => entry.metadata()?.len(),
        });
    }
    Ok(total)
}

/// Runs between two look-ups of missing files, which mark the range for a system call trace
/// (`bench/engine-fsyncs.sh`).
pub(crate) fn between_marks(runs: u32, steps: u32) -> Outcome<()> {
    let mut stage = Stage::new(&dir(), usize::try_from(runs)?, steps, NOOP)?;
    stage.begin(runs)?;
    drop(fs::metadata("/envoi-bench-begins"));
    stage.play_to_the_end()?;
    drop(fs::metadata("/envoi-bench-ends"));
    Ok(())
}

/// Like [`between_marks`]; also prints the path of the store, which is closed then (`bench/counts.sh`).
pub(crate) fn store(runs: u32, steps: u32) -> Outcome<()> {
    let mut stage = Stage::new(&dir(), usize::try_from(runs)?, steps, NOOP)?;
    stage.begin(runs)?;
    drop(fs::metadata("/envoi-bench-begins"));
    stage.play_to_the_end()?;
    drop(fs::metadata("/envoi-bench-ends"));
    println!("{}", stage.root().display());
    Ok(())
}

/// A run that goes round a loop: how time, memory, bytes and the longest turn of the engine's loop grow with
/// its visits, and how long the commands take that show it.
pub(crate) fn grow(visits: u32) -> Outcome<()> {
    let mut stage = Stage::of(&dir(), 1, &loop_of(visits), Steps::GoRound)?;
    stage.begin(1)?;
    println!(
        "| visits | us a visit | resident memory | bytes a visit | longest turn of the loop |\n|---|---|---|---|---|"
    );
    let part = (visits / 10).max(1);
    let mut before = 0;
    for reached in (1..=10_u32).map(|nth| nth.saturating_mul(part)) {
        let began = Instant::now();
        stage.play_until(|stage| stage.settled() >= u64::from(reached))?;
        let visit_s = raw::each_s(began.elapsed(), part);
        let now = size_of(stage.root())?;
        let bytes = now.saturating_sub(before) / u64::from(part);
        before = now;
        let memory = f64::from(resident_kib()?) / 1024.0;
        let longest = stage.take_longest_turn().as_secs_f64() * 1e3;
        println!("| {reached} | {:.0} | {memory:.1} MiB | {bytes} | {longest:.1} ms |", visit_s * 1e6);
    }
    Ok(())
}

/// Like [`grow`], without a table; then runs the commands that show the run.
pub(crate) fn shown(visits: u32) -> Outcome<Vec<Row>> {
    let mut stage = Stage::of(&dir(), 1, &loop_of(visits), Steps::GoRound)?;
    let run = stage.begin_one()?;
    stage.play_until(|stage| stage.settled() >= u64::from(visits))?;
    let mut looks = processes::looks(stage.root(), run.as_str(), &[&["show"], &["why"], &["logs"]])?;
    write_outputs(stage.root(), run.as_str(), visits)?;
    looks.extend(processes::looks(stage.root(), run.as_str(), &[&["logs", "--limit", "200"]])?);
    let row = |(command, seconds): (String, f64)| -> Outcome<Row> {
        Ok(Row {
            what: format!("`envoi {command}` of a run of {visits} visits"),
            value: format!("{:.1} ms", seconds * 1e3),
            raw: format!("{:.2} ms a bare spawn", raw::spawn_s(100)? * 1e3),
            figure: String::new(),
            spread: String::new(),
            target: "<= 50 ms",
        })
    };
    looks.into_iter().map(row).collect()
}

/// A line that each attempt of the run has written, as if its steps were commands.
fn write_outputs(home: &Path, run: &str, visits: u32) -> Outcome<()> {
    let attempts = home.join("runs").join(run).join("attempts");
    for nth in 0..visits {
        let (visit, step) = (nth / LOOP_STEPS, nth % LOOP_STEPS);
        let folder = attempts.join(format!("s{}.{}.1", step.saturating_add(1), visit.saturating_add(1)));
        fs::create_dir_all(&folder)?;
        fs::write(folder.join("stdout"), "a line\n")?;
    }
    Ok(())
}

/// Steps of [`loop_of`].
const LOOP_STEPS: u32 = 20;

/// A loop of twenty steps with more than `visits` visits: a loop has at most 10,000 rounds.
fn loop_of(visits: u32) -> String {
    let rounds = visits.div_ceil(LOOP_STEPS).max(1);
    let step = |number| format!("  - id: s{number}\n    run: [\"true\"]\n");
    let steps: String = (1..=LOOP_STEPS).map(step).collect();
    format!(
        "flow: bench\nlimits: {{ iterations: {rounds} }}\nsteps:\n{steps}    routing: {{ kind: microloop, loop_to: s1, \
         success_values: [VERIFIED], max_iterations: {rounds} }}\n"
    )
}
