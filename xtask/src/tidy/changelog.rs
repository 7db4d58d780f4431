//! Checks that CHANGELOG.md has each entry once. A merge can bring an older copy of the list back, and then
//! two entries have the same beginning.

use super::{problem::Problem, tree::Tree};
use std::collections::BTreeMap;

const CHANGELOG: &str = "CHANGELOG.md";

/// Two entries with the same beginning of this length are the same one, even if the rest of one was reworded.
const COMPARED_CHARS: usize = 60;

pub(crate) fn check(tree: &Tree) -> Vec<Problem> {
    let changelog = tree.files.iter().find(|file| file.path == CHANGELOG);
    changelog.map(|file| twice(&file.text)).unwrap_or_default()
}

fn twice(text: &str) -> Vec<Problem> {
    let mut first: BTreeMap<String, usize> = BTreeMap::new();
    let mut problems = Vec::new();
    for (line, entry) in (1..).zip(text.lines()).filter(|(_, line)| line.starts_with("- ")) {
        let beginning: String = entry.chars().take(COMPARED_CHARS).collect();
        if let Some(earlier) = first.get(&beginning) {
            let message = format!("this entry begins like the one in line {earlier}; delete one of them");
            problems.push(Problem::new(CHANGELOG, line, message));
        } else {
            first.insert(beginning, line);
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeated_entry_is_found_even_if_its_end_was_reworded() {
        let long = "- `envoi apply` compares at most 10,000 files outside of the workspace";
        let text = format!("# Changelog\n\n{long}, and 1 GiB.\n- Another one.\n{long}. It had no bound.\n");
        let found: Vec<String> = twice(&text).iter().map(ToString::to_string).collect();
        assert_eq!(found, ["CHANGELOG.md:5: this entry begins like the one in line 3; delete one of them"]);
        assert!(twice("- One.\n- Two.\n  - One.\n").is_empty());
    }
}
