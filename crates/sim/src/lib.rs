//! The real engine in a simulated world: clock, store and step runner driven by a seed.
//!
//! Owns worlds in which everything can go wrong at any point (an engine dies or is replaced, supervisors die, the machine
//! boots again, the disk fails) and the promises that hold all the same. The loop, the kernel and the reader of flows are the
//! real ones; processes, files, sockets and SQLite are not here.

mod books;
mod budgets;
mod calls;
mod corrections;
mod driver;
mod faults;
mod finished;
mod flows;
mod instance;
mod models;
mod night;
mod plan;
mod questions;
pub mod store;
mod uses;
mod violation;
mod work;
mod world;

pub use violation::Violation;

use driver::{Driver, End};
use faults::Faults;
use plan::Plan;

/// Lines of a trace that a failure shows.
const TAIL: usize = 60;

/// Statistics of all worlds of a seed in which no promise was broken.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Report {
    /// Worlds: a calm one, and those with mishaps.
    pub worlds: u64,
    /// Runs of each world.
    pub runs: u64,
    /// Things that happened.
    pub happenings: u64,
    /// Commits that met the disk.
    pub commits: u64,
    /// Commands that were started.
    pub starts: u64,
    /// Engines that came up.
    pub engines: u64,
    /// Engines that were replaced in their sleep.
    pub take_overs: u64,
    /// Attempts whose end was not known.
    pub in_doubt: u64,
    /// Approvals of several that a question needed.
    pub votes: u64,
    /// Questions that were not answered in time.
    pub expired: u64,
    /// Runs that were loaded from a snapshot.
    pub snapshots: u64,
    /// Attempts that were ended because the run does without them.
    pub given_up: u64,
    /// Hand-offs of items.
    pub items: u64,
    /// Flows that were entered as a part of a run.
    pub inner: u64,
    /// Hand-offs of steps that runs left out.
    pub left_out: u64,
    /// Runs whose flow was corrected.
    pub corrected: u64,
    /// In the world where engines die after every commit: commits by which a corrected flow took over, each with such a death.
    pub died_correcting: u64,
    /// In the same world: commits by which steps were left out, each with such a death.
    pub died_leaving_out: u64,
    /// Calls of models that were counted.
    pub model_calls: u64,
    /// Runs that were set aside, and gone on with later.
    pub set_aside: u64,
}

/// A broken promise, and how to see it again.
#[derive(Debug, Clone, thiserror::Error)]
#[error("seed {seed}, world `{world}`: {violation}\n{}\nagain: ENVOI_SIM_SEED={seed} cargo test -p envoi-sim --test seeds", tail(.trace))]
pub struct Failure {
    /// The seed; [`check`] with it fails again.
    pub seed: u64,
    /// Which of its worlds.
    pub world: &'static str,
    /// Which promise.
    pub violation: Violation,
    /// All that happened there, oldest first, with milliseconds since the beginning.
    pub trace: Vec<String>,
}

fn tail(trace: &[String]) -> String {
    let skipped = trace.len().saturating_sub(TAIL);
    trace.iter().skip(skipped).map(String::as_str).collect::<Vec<_>>().join("\n")
}

/// Lives through all worlds of this seed: one without mishaps, and several with, which must end like the first.
///
/// The same seed does the same each time.
///
/// # Errors
/// The first broken promise.
pub fn check(seed: u64) -> Result<Report, Box<Failure>> {
    let nowhere = |violation| Box::new(Failure { seed, world: "none", violation, trace: Vec::new() });
    let plan = Plan::of(seed)
        .ok_or_else(|| nowhere(Violation::new("there is a flow to run", "none could be read")))?;
    let mut report = Report { runs: u64::try_from(plan.runs.len()).unwrap_or(0), ..Report::default() };
    let calm = live(&plan, faults::CALM, None, &mut report)?;
    for faults in faults::WORLDS {
        live(&plan, faults, Some(&calm), &mut report)?;
    }
    Ok(report)
}

/// How often each situation was reached in one world of a night, and under `MINUTES` its duration.
pub type Reached = std::collections::BTreeMap<&'static str, u64>;

/// How long a night was, in [`Reached`].
pub const MINUTES: &str = "minutes";

/// Lives through all nights of this seed: agents whose accounts have limits, and mishaps of another kind in each world. All runs are over in the
/// end, without any action of a person.
///
/// # Errors
/// The first broken promise.
pub fn check_nights(seed: u64) -> Result<Vec<(&'static str, Reached)>, Box<Failure>> {
    let nowhere = |violation| Box::new(Failure { seed, world: "none", violation, trace: Vec::new() });
    let plan = Plan::of_a_night(seed)
        .ok_or_else(|| nowhere(Violation::new("there are flows of a night", "they cannot be read")))?;
    faults::NIGHTS
        .iter()
        .map(|faults| {
            let mut driver = Driver::new(&plan, *faults);
            let reached = driver.live().and_then(|_| driver.night_is_over());
            let trace = core::mem::take(&mut driver.trace);
            let failed = |violation| Box::new(Failure { seed, world: faults.name, violation, trace });
            reached.map(|reached| (faults.name, reached)).map_err(failed)
        })
        .collect()
}

fn live(plan: &Plan, faults: Faults, calm: Option<&End>, report: &mut Report) -> Result<End, Box<Failure>> {
    let mut driver = Driver::new(plan, faults);
    let lived = driver.live().and_then(|end| {
        calm.map_or(Ok(()), |calm| same_end(calm, &end))?;
        Ok(end)
    });
    let end = lived.map_err(|violation| {
        let trace = core::mem::take(&mut driver.trace);
        Box::new(Failure { seed: plan.seed, world: faults.name, violation, trace })
    })?;
    report.worlds = report.worlds.saturating_add(1);
    report.happenings = report.happenings.saturating_add(end.tally.happenings);
    report.commits = report.commits.saturating_add(end.tally.commits);
    report.starts = report.starts.saturating_add(end.tally.starts);
    report.engines = report.engines.saturating_add(end.tally.engines);
    report.take_overs = report.take_overs.saturating_add(end.tally.take_overs);
    report.in_doubt = report.in_doubt.saturating_add(end.tally.in_doubt);
    report.votes = report.votes.saturating_add(end.tally.votes);
    report.expired = report.expired.saturating_add(end.tally.expired);
    report.snapshots = report.snapshots.saturating_add(end.tally.snapshots);
    report.given_up = report.given_up.saturating_add(end.tally.given_up);
    report.items = report.items.saturating_add(end.tally.items);
    report.inner = report.inner.saturating_add(end.tally.inner);
    report.left_out = report.left_out.saturating_add(end.tally.left_out);
    report.corrected = report.corrected.saturating_add(end.tally.corrected);
    if faults.has_a_crash_after_every_commit() {
        report.died_correcting = report.died_correcting.saturating_add(end.tally.died_correcting);
        report.died_leaving_out = report.died_leaving_out.saturating_add(end.tally.died_leaving_out);
    }
    report.model_calls = report.model_calls.saturating_add(end.tally.model_calls);
    report.set_aside = report.set_aside.saturating_add(end.tally.set_aside);
    Ok(end)
}

/// A run has the same events in both worlds, unless it was cancelled or corrected, had an attempt in doubt, had parallel attempts,
/// called models, or had a question that could lapse.
fn same_end(calm: &End, end: &End) -> Result<(), Violation> {
    for (id, run) in &end.runs {
        let Some(expected) = calm.runs.get(id) else { continue };
        // Whether the answer or the expiry of a question comes first differs between worlds.
        if run.parallel
            || run.in_doubt > 0
            || run.timed
            || expected.timed
            || run.cancelled
            || expected.cancelled
            // How much is done when the corrected flow takes over differs.
            || run.may_be_corrected
            // A call that breaks off with an engine costs nothing.
            || run.calls_models
            || expected.calls_models
        {
            continue;
        }
        let differs = expected.story.iter().zip(&run.story).position(|(a, b)| a != b);
        let differs = differs.unwrap_or(expected.story.len().min(run.story.len()));
        violation::holds(
            expected.word == run.word && expected.story == run.story,
            "mishaps change no outcome",
            || {
                let calm = expected.story.get(differs);
                let here = run.story.get(differs);
                format!("{id}: {} and {}; event {differs}: {calm:?} and {here:?}", expected.word, run.word)
            },
        )?;
    }
    Ok(())
}
