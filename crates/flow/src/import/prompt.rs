//! The instructions of an agent.
//!
//! Owns the prompt: who it is, what the source says of the step, and how its answer has to end so that the resolver can
//! read where to go. It is plain text; quoting and expressions are not known here.

use super::{outline, source::Step};
use crate::syntax::yaml::{Kind, Node};

/// What the last lines of an answer have to say.
pub(super) enum Ending {
    /// Nothing decides on it.
    Free,
    /// A status ends a loop.
    Status {
        /// What the status is read of.
        field: String,
        /// Value of the field, and the word that states it.
        words: Vec<(String, String)>,
        /// States that it is not reached.
        otherwise: &'static str,
    },
    /// A value chooses the next step.
    Branch {
        field: String,
        /// Value and step.
        cases: Vec<(String, String)>,
        /// Where every other value leads.
        otherwise: Option<String>,
    },
}

/// The prompt of one agent of a step; `id` is the step's own in the flow file.
pub(super) fn of(flow: &str, step: &Step<'_>, agent: Option<&str>, id: &str, ending: &Ending) -> String {
    let who = agent.map(|agent| format!("You are the agent `{agent}`. ")).unwrap_or_default();
    let mut parts = vec![format!("{who}Your step is `{id}` of the flow \"{flow}\".")];
    parts.extend(step.prose.iter().map(|(_, node)| prose(node)).filter(|part| !part.is_empty()));
    let paths = parts.iter().any(|part| part.contains("RUN_BASE/"));
    parts.push(surroundings(paths));
    parts.extend(ending.prose());
    parts.join("\n\n")
}

/// A text as it is; the members of a mapping each under a heading.
fn prose(node: &Node) -> String {
    let lines = match &node.kind {
        Kind::Mapping(members) => {
            let filled = members.iter().filter(|(_, node)| !outline::lines(node).is_empty());
            filled.flat_map(|(key, node)| outline::member(&heading(&key.text), node)).collect()
        }
        _ => outline::lines(node),
    };
    lines.join("\n").trim_matches('\n').to_owned()
}

fn heading(key: &str) -> String {
    let mut letters = key.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(letters).map(|letter| if letter == '_' { ' ' } else { letter }).collect()
}

fn surroundings(paths: bool) -> String {
    let mut text = "The file that ENVOI_HANDOFF names holds the hand-off of the step before; the one that \
                    ENVOI_FEEDBACK names, where it is set, what the critic of the last round said."
        .to_owned();
    if paths {
        text.push_str(" RUN_BASE in a path is the folder that ENVOI_RUN_BASE names.");
    }
    text
}

impl Ending {
    fn prose(&self) -> Option<String> {
        match self {
            Self::Free => None,
            Self::Status { field, words, otherwise } => {
                let mut lines = vec!["End your answer with exactly one of these lines:".to_owned()];
                lines.extend(words.iter().map(|(value, word)| {
                    let condition =
                        if field == STATUS { String::new() } else { format!("if `{field}` is `{value}`: ") };
                    format!("- {condition}Status: {word}")
                }));
                lines.push(format!("- in every other case: Status: {otherwise}"));
                lines.push(
                    "If another round cannot help, add the line: Can further iteration help: no".to_owned(),
                );
                Some(lines.join("\n"))
            }
            Self::Branch { field, cases, otherwise } => {
                let mut lines = vec!["End your answer with exactly one of these lines:".to_owned()];
                lines.extend(
                    cases
                        .iter()
                        .map(|(value, step)| format!("- if `{field}` is `{value}`: Go to step '{step}'")),
                );
                lines.extend(
                    otherwise.iter().map(|step| format!("- in every other case: Go to step '{step}'")),
                );
                Some(lines.join("\n"))
            }
        }
    }
}

/// The field that the resolver reads anyway.
pub(super) const STATUS: &str = "status";
