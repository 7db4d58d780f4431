//! `envoi resume RUN --flow FILE`: shows what a corrected flow means for a run, and asks whether it is meant.
//!
//! What it means is the kernel's to say ([`Run::correction`]); nothing is changed here.

use super::run::{load, read_flow};
use crate::{
    process::{args::ResumeArgs, environment, failure::Failure, messages::say, output},
    text::shell,
};
use envoi_contract::{code::Code, handoff::Status};
use envoi_engine::protocol::{CallerWire, CorrectedFlow};
use envoi_journal::Reader;
use envoi_kernel::{
    Flow, Outlook, Status as RunStatus, StepOutlook, event::EndStatus, flow::Change, ids::RunId,
};
use std::{
    io::{self, BufRead as _, IsTerminal as _, Write as _},
    path::Path,
};

/// A corrected flow that a person has agreed to.
pub(crate) struct Corrected {
    pub(crate) wanted: CorrectedFlow,
    flow: Flow,
}

impl Corrected {
    /// What commands of the corrected flow may see.
    pub(crate) fn caller(&self) -> CallerWire {
        environment::caller(&self.flow, Path::new(&self.wanted.name).parent().unwrap_or(Path::new("/")))
    }
}

/// The flow of the file, once it is shown what it means for the run and that is agreed to.
///
/// # Errors
/// The file has a mistake, the run cannot take over the corrected flow, or the person does not agree.
pub(crate) fn agreed(
    reader: &Reader,
    run: &RunId,
    file: &Path,
    args: &ResumeArgs,
) -> Result<Corrected, Failure> {
    let (path, text) = read_flow(file)?;
    let loaded = load(file, &path, &text)?;
    let from = args.from.as_deref().map(super::fork::step).transpose()?;
    let lived = envoi_engine::load_run(reader, run)?;
    let outlook = lived.correction(&loaded.flow, from.as_ref());
    let name = path.to_string_lossy().into_owned();
    let now = lived.flow();
    let is_same = (now.digest, now.language) == (loaded.flow.digest, loaded.flow.language) && from.is_none();
    let wanted = CorrectedFlow { name, text, parts: loaded.parts, from };
    let corrected = Corrected { wanted, flow: loaded.flow };
    if is_same {
        say(&format!("{} says what the run is pinned to: there is nothing to correct", file.display()));
        return Ok(corrected);
    }
    let path = shell::word(&file.to_string_lossy());
    if matches!(lived.status(), RunStatus::Ended(ended) if ended.status == EndStatus::Succeeded) {
        let message = format!("run `{run}` has succeeded: there is nothing left to correct");
        let hint = format!("to do the work again as the file says: envoi run {path}");
        return Err(Failure::new(Code::NotReopenable, message).hint(hint));
    }
    say(shown(run, file, &outlook).trim_end());
    if !outlook.refusals.is_empty() {
        let message = format!("the corrected flow cannot take over: {}", outlook.refusals.join("; "));
        return Err(Failure::new(Code::NotCorrectable, message).hint("nothing has changed"));
    }
    if args.yes || confirmed()? {
        return Ok(corrected);
    }
    let from = corrected.wanted.from.as_ref().map_or_else(String::new, |step| format!(" --from {step}"));
    let why = args.why.as_ref().map_or_else(String::new, |why| format!(" --why {}", shell::word(why)));
    let hint = format!("to agree: envoi resume {run} --flow {path}{from}{why} --yes");
    Err(Failure::new(Code::RequestInvalid, "nothing has changed: the corrected flow was not agreed to")
        .hint(hint))
}

/// Whether a person at the terminal says yes; without a terminal there is none to ask.
fn confirmed() -> Result<bool, Failure> {
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return Ok(false);
    }
    let mut stderr = io::stderr().lock();
    write!(stderr, "Go on with the corrected flow? [y/N] ")
        .and_then(|()| stderr.flush())
        .map_err(Failure::store)?;
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line).map_err(Failure::store)?;
    Ok(matches!(line.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
}

/// The comparison, for people.
fn shown(run: &RunId, file: &Path, outlook: &Outlook) -> String {
    let head = ["STEP", "IN THE FILE", "SO FAR", "FROM HERE"].map(str::to_owned).to_vec();
    let rows: Vec<Vec<String>> = core::iter::once(head).chain(outlook.steps.iter().map(row)).collect();
    let mut text = format!("{} for run {run}:\n{}", file.display(), output::table(&rows));
    let goes_on = outlook.goes_on_at.as_ref().filter(|_| outlook.refusals.is_empty());
    if let Some(step) = goes_on {
        text.push_str(&format!("the run goes on at `{step}`\n"));
    }
    for limit in &outlook.limits {
        text.push_str(&format!("limit {limit}\n"));
    }
    if outlook.waits {
        text.push_str("an attempt is running: the corrected flow takes over when it has settled\n");
    }
    text
}

fn row(step: &StepOutlook) -> Vec<String> {
    let change = match &step.change {
        Change::Changed(what) => format!("changed: {}", what.join(", ")),
        other => other.word().to_owned(),
    };
    let done = step.done.map_or_else(|| "-".to_owned(), |status| status.word().to_owned());
    vec![step.step.to_string(), change, done, from_here(step).to_owned()]
}

fn from_here(step: &StepOutlook) -> &'static str {
    match (step.to_run, &step.change, step.done) {
        (true, _, None) => "runs",
        (true, _, Some(_)) => "runs again",
        (false, Change::Gone, _) => "-",
        (false, Change::Changed(_), Some(Status::Succeeded)) => "stays (--from runs it again)",
        (false, _, Some(_)) => "stays",
        (false, _, None) => "does not run",
    }
}
