//! Converts names of the source into valid ids.
//!
//! Owns the id of each flow, and of each agent of each step: the source's own name if it is a valid id, else the most
//! similar one that is free. Every changed name is noted.

use super::{
    control_flow::ControlFlow,
    finding::Notes,
    source::{Source, Step},
};
use envoi_kernel::ids::is_key;
use std::collections::BTreeSet;

/// Longest id.
const LONGEST: usize = 64;

/// Words that cannot name a flow, because a run has folders with these names; below, words that cannot name a step.
const NO_FLOWS: &[&str] = &["attempts", "answers"];
const NO_STEPS: &[&str] = &["end"];

/// All ids of the flow file.
pub(super) struct Names {
    pub(super) flow: String,
    /// By step of the source: one id per agent, and at least one. Empty for steps that are left out.
    steps: Vec<Vec<String>>,
}

impl Names {
    pub(super) fn of(source: &Source<'_>, control_flow: &ControlFlow, notes: &mut Notes) -> Self {
        let flow = free(&source.key.value, NO_FLOWS, |_| false);
        if flow != source.key.value {
            renamed(&source.key, &flow, "a flow's id", notes);
        }
        let mut taken = BTreeSet::new();
        let mut steps = Vec::new();
        // Steps with a valid id keep it, even if the ids of other steps change.
        let own = |step: &Step<'_>| is_key(&step.id.value) && !NO_STEPS.contains(&&*step.id.value);
        let kept: BTreeSet<String> =
            source.steps.iter().filter(|step| own(step)).map(|step| step.id.value.clone()).collect();
        for (place, step) in source.steps.iter().enumerate() {
            let mut ids = Vec::new();
            if control_flow.rank(place).is_some() {
                ids = ids_of(step, &kept, &mut taken, notes);
            }
            steps.push(ids);
        }
        Self { flow, steps }
    }

    /// The ids of a step, one per agent.
    pub(super) fn all(&self, place: usize) -> &[String] {
        self.steps.get(place).map(Vec::as_slice).unwrap_or_default()
    }

    /// The id of a step's first agent.
    pub(super) fn entry(&self, place: usize) -> &str {
        self.all(place).first().map_or("", String::as_str)
    }
}

fn ids_of(
    step: &Step<'_>,
    kept: &BTreeSet<String>,
    taken: &mut BTreeSet<String>,
    notes: &mut Notes,
) -> Vec<String> {
    let mut give = |wanted: &str| {
        let own = step.agents.len() <= 1 && kept.contains(&step.id.value);
        let id = if own {
            step.id.value.clone()
        } else {
            free(wanted, NO_STEPS, |id| kept.contains(id) || taken.contains(id))
        };
        taken.insert(id.clone());
        id
    };
    if step.agents.len() <= 1 {
        let id = give(&step.id.value);
        if id != step.id.value {
            renamed(&step.id, &id, "a step's id", notes);
        }
        return vec![id];
    }
    let ids: Vec<String> =
        step.agents.iter().map(|agent| give(&format!("{}-{}", step.id.value, agent.value))).collect();
    let what = format!("`{}` with {} agents", step.id.value, step.agents.len());
    let why = "a step runs one command; the agents follow each other, and the last one's text decides";
    let listed: Vec<String> = ids.iter().map(|id| format!("`{id}`")).collect();
    notes.carried(step.id.span, what, format!("the steps {}", listed.join(", ")), why);
    ids
}

fn renamed(from: &crate::syntax::read::Spanned<String>, to: &str, what: &str, notes: &mut Notes) {
    let why = format!("{what} is unique, and is {}", crate::syntax::names::ID);
    notes.carried(from.span, format!("`{}`", from.value), format!("`{to}`"), why);
}

/// The id most similar to `text` that is neither reserved nor taken.
fn free(text: &str, reserved: &[&str], is_taken: impl Fn(&str) -> bool) -> String {
    let fitted = fitted(text);
    let is_free = |id: &String| !reserved.contains(&id.as_str()) && !is_taken(id);
    if is_free(&fitted) {
        return fitted;
    }
    let numbered = (2_u64..).map(|number| {
        let suffix = format!("-{number}");
        let room = LONGEST.saturating_sub(suffix.len());
        format!("{}{suffix}", fitted.get(..room).unwrap_or(&fitted))
    });
    numbered.into_iter().find(is_free).unwrap_or(fitted)
}

fn fitted(text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let allowed = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
    let spelled: String = lower.chars().map(|letter| if allowed(letter) { letter } else { '-' }).collect();
    let trimmed = spelled.trim_matches('-');
    let begins_well = trimmed.starts_with(|letter: char| letter.is_ascii_lowercase());
    let id = if begins_well { trimmed.to_owned() } else { format!("s-{trimmed}") };
    id.get(..LONGEST).unwrap_or(&id).trim_end_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_becomes_a_free_id() {
        let taken: BTreeSet<String> = ["a-b".to_owned(), "x".repeat(64)].into();
        let long = "x".repeat(70);
        let cut = format!("{}-2", "x".repeat(62));
        for (text, id) in [
            ("author_tests", "author_tests"),
            ("Build & Ship", "build---ship"),
            ("A B", "a-b-2"),
            ("3-plan", "s-3-plan"),
            ("_x", "s-_x"),
            ("日本", "s"),
            ("end", "end-2"),
            (&long, &cut),
        ] {
            let found = free(text, NO_STEPS, |id| taken.contains(id));
            assert_eq!(found, id, "{text}");
            assert!(is_key(&found), "{found}");
        }
    }
}
