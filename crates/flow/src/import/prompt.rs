//! The instructions of an agent.
//!
//! Owns the prompt: the role of the agent, the source's description of the step, and the required form of the answer,
//! so that the resolver can read the next step. It is plain text; quoting and expressions are handled elsewhere.

use super::{outline, source::Step};
use crate::syntax::yaml::{Kind, Node};

/// The required content of the last lines of an answer.
pub(super) enum Ending {
    /// No requirement, because nothing depends on it.
    Free,
    /// A status ends a loop.
    Status {
        /// The field that the status describes.
        field: String,
        /// Each value of the field, with the word that states it.
        words: Vec<(String, String)>,
        /// The word that states that the status is not reached.
        otherwise: &'static str,
    },
    /// A value selects the next step.
    Branch {
        field: String,
        /// Each value with its step.
        cases: Vec<(String, String)>,
        /// The step for every other value.
        otherwise: Option<String>,
    },
}

/// The prompt of one agent of a step. `id` is the id of the step in the flow file.
pub(super) fn of(flow: &str, step: &Step<'_>, agent: Option<&str>, id: &str, ending: &Ending) -> String {
    let who = agent.map_or_else(String::new, |agent| format!("You are the agent `{agent}`. "));
    let mut parts = vec![format!("{who}Your step is `{id}` of the flow \"{flow}\".")];
    parts.extend(step.prose.iter().map(|(_, node)| prose(node)).filter(|part| !part.is_empty()));
    let paths = parts.iter().any(|part| part.contains("RUN_BASE/"));
    parts.push(surroundings(paths));
    parts.extend(ending.prose());
    parts.join("\n\n")
}

/// A text unchanged, or the members of a mapping, each under a heading.
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
