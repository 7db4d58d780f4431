//! Rules about the existing files: licences, names of modules, and a first line that says what a file owns.

use super::{
    problem::Problem,
    tree::{File, Tree},
};

/// Files that a newcomer looks for.
const EXPECTED: &[&str] = &[
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "check.sh",
    ".ci/run",
];

/// Names that do not describe the content.
const NAMELESS: &[&str] = &["utils", "util", "common", "helpers", "helper", "manager", "types", "misc"];

pub(crate) fn check(tree: &Tree) -> Vec<Problem> {
    let missing = EXPECTED.iter().filter(|path| !tree.paths.iter().any(|there| there == *path));
    let mut problems: Vec<Problem> =
        missing.map(|path| Problem::new(path, 1, "the file is missing; put it there")).collect();
    problems.extend(tree.files.iter().filter(|file| file.is_rust()).flat_map(check_rust));
    problems
}

fn check_rust(file: &File) -> Vec<Problem> {
    let mut problems = Vec::new();
    if file.path.ends_with("/mod.rs") {
        problems.push(Problem::new(
            &file.path,
            1,
            "`mod.rs` is not used here; name the file after its folder, beside it",
        ));
    }
    if let Some(name) = file.path.split('/').find(|part| NAMELESS.contains(&part.trim_end_matches(".rs"))) {
        problems.push(Problem::new(
            &file.path,
            1,
            format!("`{name}` says nothing; name the module for its idea"),
        ));
    }
    if !file.text.starts_with("//!") {
        let message =
            "the file does not open with `//!`; say what it owns, and what it deliberately does not";
        problems.push(Problem::new(&file.path, 1, message));
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(path: &str, text: &str) -> String {
        let mut files: Vec<(&str, &str)> = EXPECTED.iter().map(|path| (*path, "")).collect();
        files.push((path, text));
        check(&Tree::of(&files)).iter().map(|problem| format!("{problem}\n")).collect()
    }

    #[test]
    fn a_missing_licence_is_reported() {
        let problems = check(&Tree::of(&[]));
        assert!(problems.iter().any(|problem| problem.path == "LICENSE-MIT"), "{problems:?}");
        assert_eq!(problems.len(), EXPECTED.len());
    }

    #[test]
    fn a_module_is_named_for_its_idea() {
        assert!(messages("crates/a/src/utils.rs", "//! x\n").contains("`utils.rs` says nothing"));
        assert!(messages("crates/a/src/types/x.rs", "//! x\n").contains("`types` says nothing"));
        assert!(messages("crates/a/src/x/mod.rs", "//! x\n").contains("`mod.rs` is not used"));
        assert_eq!(messages("crates/a/src/lease.rs", "//! x\n"), "");
    }

    #[test]
    fn a_file_opens_with_what_it_owns() {
        assert!(messages("crates/a/src/x.rs", "use std::fmt;\n").contains("does not open with"));
    }
}
