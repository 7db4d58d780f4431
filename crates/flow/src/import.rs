//! Converts flow files of the swarm dialect into our flow files.
//!
//! Owns the conversion of each key of that dialect, and ensures that nothing is lost silently: everything that is not
//! carried over unchanged becomes a [`Finding`] with its location. `docs/import.md` has the mapping. Reads and writes
//! no file. The result is checked like any flow file before it is written.

mod beside;
mod command;
mod control_flow;
mod exits;
mod finding;
mod ids;
mod order;
mod outline;
mod prompt;
mod quote;
mod routing;
mod source;
mod write;

pub use command::{Command, CommandError};
pub use finding::{Carried, Finding};

use crate::{
    Report, Span,
    syntax::{
        diagnostic::{Diagnostic, Problems},
        yaml,
    },
};
use envoi_contract::code::Code;
use finding::Notes;

/// The default command of every step.
pub const DEFAULT_COMMAND: &str = "claude -p {prompt}";

/// A flow file of ours, converted from the dialect.
#[derive(Debug, Clone, PartialEq)]
pub struct Imported {
    /// The flow's id.
    pub flow: String,
    /// The text of the flow file. [`crate::load`] has accepted it.
    pub text: String,
    /// The number of steps.
    pub steps: usize,
    /// Everything that was not carried over unchanged, in the order of the source.
    pub findings: Vec<Finding>,
}

/// The reason why there is no flow file.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ImportError {
    /// The source is invalid and has to be corrected.
    #[error("`{}` cannot be imported", .0.file)]
    Source(Report),
    /// The converted flow cannot run, which is a defect of the importer. The report is about the converted text.
    #[error("the flow made from `{}` cannot run, which is a defect of the importer", .0.file)]
    Defect(Report),
}

/// Converts the text of a file of the swarm dialect. `name` is the file's name in messages.
///
/// The same name, text and command give the same bytes.
///
/// # Errors
/// See [`ImportError`]. For an invalid source it contains all mistakes.
pub fn import(name: &str, text: &str, command: &Command) -> Result<Imported, ImportError> {
    let text = crate::syntax::document::without_mark(text);
    let mut problems = Problems::default();
    let mut notes = Notes::default();
    let made = make(name, text, command, &mut notes, &mut problems);
    let Some(made) = made.filter(|_| problems.is_empty()) else {
        return Err(ImportError::Source(refused(problems, name, text)));
    };
    let made = best(name, made, command, &mut notes);
    let findings = notes.into_findings(text);
    let written = write::write(name, &made, &findings, command);
    match crate::load(name, &written) {
        Ok(loaded) => Ok(Imported {
            flow: loaded.flow.id.as_str().to_owned(),
            text: written,
            steps: loaded.flow.steps.len(),
            findings,
        }),
        Err(report) => Err(ImportError::Defect(report)),
    }
}

/// The flow as a graph, if it has forks and the graph can run. Otherwise the branches of its forks are put in a row.
fn best(name: &str, made: Made, command: &Command, notes: &mut Notes) -> Made {
    if made.forks.is_empty() {
        return made;
    }
    let forks: Vec<beside::Fork> = made.forks.iter().map(|(_, fork)| fork.clone()).collect();
    let graph = beside::graph(&made, &forks);
    let graph = graph.filter(|graph| crate::load(name, &write::write(name, graph, &[], command)).is_ok());
    let (as_what, why) = match &graph {
        Some(_) => {
            ("steps that need the same step", "they run side by side, and what follows needs all of them")
        }
        None => (
            "a row of steps, in the order in which they are listed",
            "the flow also branches, or loops in a way that steps side by side cannot",
        ),
    };
    for (span, _) in &made.forks {
        notes.carried(*span, "a fork", as_what, why);
    }
    graph.unwrap_or(made)
}

/// A converted flow, before it is written.
#[derive(Clone)]
struct Made {
    id: String,
    title: Option<String>,
    /// Paragraphs for the top of the file.
    prose: Vec<Vec<String>>,
    steps: Vec<MadeStep>,
    /// Its forks, with their locations in the source.
    forks: Vec<(Span, beside::Fork)>,
    /// True if the steps have `needs` instead of `next`.
    graph: bool,
}

/// A converted step, before it is written.
#[derive(Clone)]
struct MadeStep {
    id: String,
    /// In a graph: the steps that it waits for.
    needs: Vec<String>,
    /// True if the flow continues after a failure of this step.
    continue_on_error: bool,
    /// Arguments of its command, as templates.
    run: Vec<String>,
    routing: Option<routing::Routing>,
}

fn make(
    name: &str,
    text: &str,
    command: &Command,
    notes: &mut Notes,
    problems: &mut Problems,
) -> Option<Made> {
    if text.len() > crate::syntax::document::MAX_BYTES {
        let message = format!("a file to import has at most {} bytes", crate::syntax::document::MAX_BYTES);
        problems.add(Diagnostic::syntax(Span::default(), message));
        return None;
    }
    let Some(root) = yaml::compose(text, problems) else {
        if problems.is_empty() {
            problems.add(Diagnostic::invalid(Span::default(), format!("`{name}` is empty")));
        }
        return None;
    };
    if !problems.is_empty() {
        return None;
    }
    let source = source::read(&root, notes, problems)?;
    let control_flow = control_flow::find(&source.steps, notes, problems)?;
    let names = ids::Names::of(&source, &control_flow, notes);
    let mut steps = routing::steps(&source, &control_flow, &names, command, notes, problems);
    let forks = forks(&control_flow, &names);
    if source.continue_all {
        let of_a_branch: Vec<&str> = control_flow
            .forks
            .iter()
            .flat_map(|fork| &fork.targets)
            .flat_map(|place| names.all(*place))
            .map(String::as_str)
            .collect();
        for step in &mut steps {
            step.continue_on_error = of_a_branch.contains(&step.id.as_str());
        }
    }
    let prose = source.prose.iter().map(|(key, node)| outline::member(&key.text, node)).collect();
    Some(Made { id: names.flow, title: source.title, prose, steps, forks, graph: false })
}

/// The reachable forks, by the ids of their steps.
fn forks(control_flow: &control_flow::ControlFlow, names: &ids::Names) -> Vec<(Span, beside::Fork)> {
    let ends = |place: usize| {
        let ids = names.all(place);
        Some((ids.first()?.clone(), ids.last()?.clone()))
    };
    let reached = control_flow.forks.iter().filter_map(|fork| {
        let (_, from) = ends(fork.place)?;
        let branches = fork.targets.iter().map(|target| ends(*target)).collect::<Option<Vec<_>>>()?;
        Some((fork.span, beside::Fork { from, branches }))
    });
    reached.collect()
}

/// Adapts the report, because the shared readers write messages about flows and not about a source.
fn refused(problems: Problems, name: &str, text: &str) -> Report {
    let mut report = problems.into_report(name, text);
    for diagnostic in &mut report.diagnostics {
        if diagnostic.code == Code::FlowInvalid {
            diagnostic.code = Code::ImportInvalid;
        }
    }
    report
}
