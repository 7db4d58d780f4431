//! Flow files of the swarm dialect, made into flow files of ours.
//!
//! Owns what each key of that dialect becomes, and that nothing of it is lost unseen: whatever is not carried as it is
//! becomes a [`Finding`] with its place. The mapping stands in `docs/import.md`. Reads and writes no file; what it writes
//! is checked as any flow file is, before it is written.

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

/// The command of every step unless another one is given.
pub const DEFAULT_COMMAND: &str = "claude -p {prompt}";

/// A flow file of ours, made from one of the dialect.
#[derive(Debug, Clone, PartialEq)]
pub struct Imported {
    /// The flow's id.
    pub flow: String,
    /// The text of the flow file; [`crate::load`] has accepted it.
    pub text: String,
    /// How many steps it has.
    pub steps: usize,
    /// All that was not carried as it is, in the order of the source.
    pub findings: Vec<Finding>,
}

/// Why there is no flow file.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ImportError {
    /// The source is wrong; it is to be corrected.
    #[error("`{}` cannot be imported", .0.file)]
    Source(Report),
    /// What was made of the source is no flow that can run: a defect of the importer. The report is about its text.
    #[error("the flow made from `{}` cannot run, which is a defect of the importer", .0.file)]
    Defect(Report),
}

/// Makes a flow file of the text of a file of the swarm dialect; `name` is how messages call that file.
///
/// The same name, text and command give the same bytes.
///
/// # Errors
/// See [`ImportError`]; of a source, everything that is wrong with it.
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

/// The flow as a graph, if it forks and a graph of it can run, else with the branches of its forks in a row.
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

/// A flow that is ready to be written.
#[derive(Clone)]
struct Made {
    id: String,
    title: Option<String>,
    /// Paragraphs for the top of the file.
    prose: Vec<Vec<String>>,
    steps: Vec<MadeStep>,
    /// Its forks, with their places in the source.
    forks: Vec<(Span, beside::Fork)>,
    /// Whether the steps say what they need, rather than what follows them.
    graph: bool,
}

/// A step that is ready to be written.
#[derive(Clone)]
struct MadeStep {
    id: String,
    /// Of a graph: the steps that it waits for.
    needs: Vec<String>,
    /// When it fails, what follows goes on all the same.
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

/// The forks that are reached, by the ids of their steps.
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

/// The readers that the importer shares with the flow file speak of a flow; here it is a source.
fn refused(problems: Problems, name: &str, text: &str) -> Report {
    let mut report = problems.into_report(name, text);
    for diagnostic in &mut report.diagnostics {
        if diagnostic.code == Code::FlowInvalid {
            diagnostic.code = Code::ImportInvalid;
        }
    }
    report
}
