//! The flow file: YAML text in, the kernel's checked [`Flow`] out, or everything that is wrong with it.
//!
//! Owns the language: its keys, its values, its rules, and where in the file each mistake stands. Reads no file, no
//! environment and no clock: text is an argument. It does not run anything and does not evaluate expressions.
//!
//! ```
//! let loaded = envoi_flow::load("hello.yaml", "flow: hello\nsteps:\n  - id: greet\n    run: [echo, hello]\n")?;
//! assert_eq!(loaded.flow.steps.len(), 1);
//!
//! let report = envoi_flow::load("hello.yaml", "flow: hello\nstpes: []\n").unwrap_err();
//! assert_eq!(report.diagnostics[0].help.as_deref(), Some("did you mean `steps`?"));
//! # Ok::<(), envoi_flow::Report>(())
//! ```

mod agent;
pub mod answers;
mod ask;
mod bounds;
pub mod config;
mod diagnostic;
mod draft;
mod each;
mod editor;
mod expression;
mod file;
mod files;
mod goals;
mod graph;
pub mod import;
mod inner;
pub mod inputs;
mod json_schema;
mod keys;
mod list;
pub mod models;
mod names;
mod notify;
pub mod outputs;
mod path;
pub mod plan;
mod read;
mod routing;
mod schema;
mod secret;
pub mod server;
mod step;
mod suggestion;
mod tree;
mod waits;
mod warnings;
mod yaml;

pub use diagnostic::{
    CONFIG_INVALID, CONFIG_SYNTAX, Colour, Diagnostic, FLOW_INVALID, FLOW_SYNTAX, Label, NOT_YET_SUPPORTED,
    Place, Report, Span,
};

pub use editor::SCHEMA;
pub use files::Files;
pub use read::parse_duration;
pub use warnings::warnings;

use diagnostic::Problems;
use draft::Draft;
use envoi_kernel::{
    flow::{Flow, InputCheck},
    ids::FlowId,
};
use graph::Graph;
use std::collections::BTreeMap;
use yaml::Node;

/// The version of the flow language that this crate reads; pinned to each run.
pub const LANGUAGE: u32 = 1;

/// The largest flow file or configuration.
pub const MAX_BYTES: usize = 1024 * 1024;

/// A flow that can run.
#[derive(Debug, Clone, PartialEq)]
pub struct Loaded {
    /// Checked: what it names exists, its loops are bounded, its expressions parse.
    pub flow: Flow,
    /// The version of the language it is written in: [`LANGUAGE`].
    pub language: u32,
    /// The texts of the flows that it names, directly or not, by their paths from its folder: with its own text they are all
    /// that it was read from, and [`load_with`] reads it from them again.
    pub parts: BTreeMap<String, String>,
}

/// Reads a flow that names no other from the text of a file; `name` is how messages call that file.
///
/// # Errors
/// Everything that is wrong with it, in the order of the file. Text that is not YAML is one mistake, the first. A flow that
/// it names cannot be read: that takes [`load_with`].
pub fn load(name: &str, text: &str) -> Result<Loaded, Report> {
    load_with(name, text, &BTreeMap::new())
}

/// As [`load`], with the flows that it names from `files`.
///
/// # Errors
/// As [`load`]; the mistakes of other files are in [`Report::others`], at their places there.
pub fn load_with(name: &str, text: &str, files: &dyn Files) -> Result<Loaded, Report> {
    let files::Whole { flow, parts } = files::load(name, text, files)?;
    Ok(Loaded { flow, language: LANGUAGE, parts })
}

/// As [`load`], from the bytes of a file.
///
/// # Errors
/// As [`load`]; bytes that are not UTF-8 are a mistake at their place.
pub fn load_bytes(name: &str, bytes: &[u8]) -> Result<Loaded, Report> {
    match core::str::from_utf8(bytes) {
        Ok(text) => load(name, text),
        Err(error) => {
            let mut problems = Problems::default();
            let at = error.valid_up_to();
            problems.add(Diagnostic::syntax(Span::new(at, at), "the file is not UTF-8"));
            let valid = bytes.get(..at.min(MAX_BYTES)).map(String::from_utf8_lossy).unwrap_or_default();
            Err(problems.into_report(name, &valid))
        }
    }
}

/// The text of a file after its byte order mark, which editors on Windows write and which says nothing. It is taken off before
/// anything is read, so that the first line has the columns that an editor shows.
fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// The tree of a file; `None` if it is empty or cannot be read at all, which is then told.
fn root(text: &str, problems: &mut Problems) -> Option<Node> {
    if text.len() > MAX_BYTES {
        let message = format!("a file has at most {MAX_BYTES} bytes; this one has {}", text.len());
        problems.add(Diagnostic::syntax(Span::default(), message));
        return None;
    }
    yaml::compose(text, problems)
}

/// One file, with the flows that it names. `None`: it is wrong, or one of those is.
fn reading(root: &Node, named: files::Names, text: &str, problems: &mut Problems) -> Option<(Draft, Flow)> {
    let draft = file::read(root, named, problems);
    goals::check(&draft, problems);
    let rounds = draft.goals.as_ref().and_then(|goals| goals.rounds(&draft.steps));
    let graph = Graph::check(&draft.steps, rounds, problems);
    expression::check(&draft, &graph, text, problems);
    let flow = finish(&draft, root);
    if flow.is_none() && problems.is_empty() && !draft.leans_on_wrong_ones() {
        problems.add(Diagnostic::invalid(root.span, "this flow cannot be read, and Envoi cannot say why"));
    }
    flow.map(|flow| (draft, flow))
}

/// The kernel's flow, unless a part is absent because it is wrong.
fn finish(draft: &Draft, root: &Node) -> Option<Flow> {
    let goals = match &draft.goals {
        Some(goals) => Some(goals.plan()?),
        None => None,
    };
    Some(Flow {
        id: FlowId::new(draft.id.as_deref()?).ok()?,
        title: draft.title.clone(),
        inputs: draft.inputs.clone(),
        limits: draft.limits.clone(),
        secrets: draft.secrets.clone(),
        workspace: draft.workspace.clone()?,
        env: draft.env.clone(),
        notify: draft.notify.clone(),
        steps: draft.steps.iter().map(|step| step.step.clone()).collect::<Option<_>>()?,
        graph: draft.steps.iter().any(|step| step.waits.named),
        goals,
        input_check: InputCheck(inputs::check_all),
        flows: BTreeMap::new(),
        digest: tree::digest(root),
    })
}
