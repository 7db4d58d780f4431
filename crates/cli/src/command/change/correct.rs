//! `envoi resume RUN --flow FILE`: shows what a corrected flow means for a run, and asks for confirmation.
//!
//! The kernel decides what it means ([`Run::correction`]). Nothing is changed here.

use crate::{
    process::{args::ResumeArgs, environment, failure::Failure, invocation, messages::say, output, terminal},
    store::flow_files::{load, read_flow},
    text::shell,
};
use envoi_api::{
    comparison::{ComparedStep, Comparison, FromHere, StepChange},
    handoff::HandoffStatus,
};
use envoi_contract::code::Code;
use envoi_engine::protocol::{CallerWire, CorrectedFlow};
use envoi_journal::{Layout, Reader};
use envoi_kernel::{
    Flow, Run, Status as RunStatus,
    event::EndStatus,
    ids::{AttemptId, RunId},
};
use std::{path::Path, sync::Arc};

/// A corrected flow that a person has confirmed.
pub(crate) struct Corrected {
    pub(crate) wanted: CorrectedFlow,
    flow: Arc<Flow>,
}

impl Corrected {
    pub(crate) fn flow(&self) -> Arc<Flow> {
        Arc::clone(&self.flow)
    }

    /// The environment that commands of the corrected flow may see.
    pub(crate) fn caller(&self) -> CallerWire {
        environment::caller(&self.flow, Path::new(&self.wanted.name).parent().unwrap_or(Path::new("/")))
    }
}

/// Loads the flow of a file.
pub(crate) fn of_file(file: &Path) -> Result<Corrected, Failure> {
    let (path, text) = read_flow(file)?;
    let loaded = load(file, &path, &text)?;
    let name = path.to_string_lossy().into_owned();
    let wanted = CorrectedFlow {
        name,
        text,
        parts: loaded.parts.as_ref().clone(),
        language: None,
        from: None,
        seen: None,
    };
    Ok(Corrected { wanted, flow: loaded.flow })
}

/// Returns the flow of the file after the person has seen what it means for the run and has confirmed it.
///
/// # Errors
/// The file has a mistake, the run cannot take over the corrected flow, or the person does not agree.
pub(crate) fn agreed(
    layout: &Layout,
    reader: &Reader,
    run: &RunId,
    file: &Path,
    args: &ResumeArgs,
) -> Result<Corrected, Failure> {
    let mut corrected = of_file(file)?;
    let from = args.from.as_deref().map(super::run::from_step).transpose()?;
    corrected.wanted.from.clone_from(&from);
    let lived = envoi_engine::load_run(reader, run)?;
    let outlook = lived.correction(&corrected.flow, from.as_ref());
    let comparison = Comparison::of(run, (lived.flow(), &corrected.flow), from.as_ref(), &outlook);
    if comparison.is_same {
        say_same(file);
        return Ok(corrected);
    }
    if matches!(lived.status(), RunStatus::Ended(ended) if ended.status == EndStatus::Succeeded) {
        return Err(succeeded(run, file));
    }
    let over = if comparison.waits { over(layout, run, &lived) } else { Vec::new() };
    if agree(&comparison, &over, file, args)? == Agreed::AsShown {
        corrected.wanted.seen = Some(comparison.subject);
    }
    Ok(corrected)
}

/// Returns the open attempts if none of them has a supervisor: no engine has looked at them yet. Otherwise
/// returns an empty list.
fn over(layout: &Layout, id: &RunId, run: &Run) -> Vec<AttemptId> {
    let wants = run.wants();
    let under_way: Vec<AttemptId> = wants.attempts.into_iter().chain(wants.ending).collect();
    let lives = |attempt: &AttemptId| envoi_engine::is_alive(layout, id, attempt);
    if under_way.iter().any(lives) { Vec::new() } else { under_way }
}

pub(crate) fn say_same(file: &Path) {
    say(&format!("{} says what the run is pinned to: there is nothing to correct", file.display()));
}

pub(crate) fn succeeded(run: &RunId, file: &Path) -> Failure {
    let message = format!("run `{run}` has succeeded: there is nothing left to correct");
    let path = shell::word(&file.to_string_lossy());
    let hint = format!("to do the work again as the file says: {} run {path}", invocation::envoi());
    Failure::new(Code::NotReopenable, message).hint(hint)
}

/// The extent of a person's confirmation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Agreed {
    /// Exactly the comparison that was shown.
    AsShown,
    /// Any outcome, also one that differs by then (`--yes`).
    Whatever,
}

/// Shows what the corrected flow means, and asks for confirmation. `over` lists attempts that have no
/// supervisor.
///
/// # Errors
/// The run cannot take over the flow, or the person does not agree.
pub(crate) fn agree(
    comparison: &Comparison,
    over: &[AttemptId],
    file: &Path,
    args: &ResumeArgs,
) -> Result<Agreed, Failure> {
    say(shown(file, comparison, over).trim_end());
    if !comparison.refusals.is_empty() {
        let message = format!("the corrected flow cannot take over: {}", comparison.refusals.join("; "));
        return Err(Failure::new(Code::NotCorrectable, message).hint("nothing has changed"));
    }
    if args.yes {
        return Ok(Agreed::Whatever);
    }
    if terminal::agrees("Go on with the corrected flow? [y/N] ")? {
        return Ok(Agreed::AsShown);
    }
    let path = shell::word(&file.to_string_lossy());
    let from = args.from.as_ref().map_or_else(String::new, |step| format!(" --from {step}"));
    let why = args.reason.as_ref().map_or_else(String::new, |why| format!(" --reason {}", shell::word(why)));
    let envoi = invocation::envoi();
    let hint = format!("to agree: {envoi} resume {} --flow {path}{from}{why} --yes", comparison.run);
    Err(Failure::new(Code::RequestInvalid, "nothing has changed: the corrected flow was not agreed to")
        .hint(hint))
}

/// Formats the comparison for people.
pub(crate) fn shown(file: &Path, comparison: &Comparison, over: &[AttemptId]) -> String {
    let head = ["STEP", "IN THE FILE", "SO FAR", "FROM HERE"].map(str::to_owned).to_vec();
    let mut rows: Vec<Vec<String>> = core::iter::once(head).chain(comparison.steps.iter().map(row)).collect();
    if !comparison.refusals.is_empty() {
        // A refused correction runs nothing, so the column `FROM HERE` is left out.
        rows.iter_mut().for_each(|row| row.truncate(3));
    }
    let mut text = format!("{} for run {}:\n{}", file.display(), comparison.run, output::table(&rows));
    let goes_on = comparison.goes_on_at.as_ref().filter(|_| comparison.refusals.is_empty());
    if let Some(step) = goes_on {
        text.push_str(&format!("the run goes on at `{step}`\n"));
    }
    for limit in &comparison.limits {
        text.push_str(&format!("limit {limit}\n"));
    }
    for note in comparison.notes.iter().filter(|_| comparison.refusals.is_empty()) {
        text.push_str(&format!("{note}\n"));
    }
    match over {
        [] if comparison.waits => {
            text.push_str("an attempt is running: the corrected flow takes over when it has settled\n");
        }
        [] => {}
        over => {
            let names: Vec<String> = over.iter().map(|attempt| format!("`{attempt}`")).collect();
            text.push_str(&format!(
                "nothing supervises {} any more: its result is taken first, and if the result is not known, it is in doubt\n",
                names.join(", ")
            ));
        }
    }
    text
}

fn row(step: &ComparedStep) -> Vec<String> {
    let change = match step.change {
        StepChange::Changed => format!("changed: {}", step.differs_in.join(", ")),
        other => other.word().to_owned(),
    };
    let done = step.status.map_or_else(|| "-".to_owned(), |status| status.word().to_owned());
    vec![step.step.to_string(), change, done, from_here(step).to_owned()]
}

fn from_here(step: &ComparedStep) -> &'static str {
    match (step.from_here, step.change, step.status) {
        (FromHere::Runs, ..) => "runs",
        (FromHere::RunsAgain, ..) => "runs again",
        (FromHere::Stays, StepChange::Changed, Some(HandoffStatus::Succeeded)) => {
            "stays (--from runs it again)"
        }
        (FromHere::Stays, ..) => "stays",
        (FromHere::DoesNotRun, StepChange::Gone, _) => "-",
        (FromHere::DoesNotRun, ..) => "does not run",
    }
}
