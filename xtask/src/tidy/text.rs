//! Rules for every text file: no white space at the end of a line, one newline at the end, no path of a
//! particular machine.

use super::{
    problem::Problem,
    tree::{File, Tree},
};
use std::path::Path;

/// Home folders. `concat!` keeps this file from breaking its own rule.
const HOMES: &[&str] = &[concat!("/ho", "me/"), concat!("/ro", "ot/"), concat!("/Us", "ers/")];

/// `root` is the path of the tree on this machine. Files must not contain it either.
pub(crate) fn check(tree: &Tree, root: &Path) -> Vec<Problem> {
    let root = format!("{}/", root.display());
    let machine: Vec<&str> = HOMES.iter().copied().chain([root.as_str()]).collect();
    tree.files
        .iter()
        .filter(|file| !is_written_by_tools(file))
        .flat_map(|file| check_file(file, &machine))
        .collect()
}

fn is_written_by_tools(file: &File) -> bool {
    file.path.ends_with(".snap") || file.path.ends_with("Cargo.lock")
}

fn check_file(file: &File, machine: &[&str]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (at, line) in file.text.split('\n').enumerate() {
        let number = at.saturating_add(1);
        if line.ends_with([' ', '\t', '\r']) {
            problems.push(Problem::new(&file.path, number, "white space at the end of the line; remove it"));
        }
        if let Some(path) = machine.iter().find(|path| names_path(line, path)) {
            let message = format!("`{path}` is a place on one machine; name it relative to the repository");
            problems.push(Problem::new(&file.path, number, message));
        }
    }
    if !file.text.is_empty() && (!file.text.ends_with('\n') || file.text.ends_with("\n\n")) {
        let last = file.text.split('\n').count();
        problems.push(Problem::new(
            &file.path,
            last,
            "the file does not end with exactly one newline; end it so",
        ));
    }
    problems
}

/// Whether the line has this path. A longer path that only ends like it, such as `docs/home/`, does not
/// count.
fn names_path(line: &str, path: &str) -> bool {
    line.match_indices(path).any(|(at, _)| {
        let before = line.get(..at).and_then(|text| text.chars().next_back());
        !before.is_some_and(|c| c.is_alphanumeric() || "._-$}".contains(c))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<usize> {
        let tree = Tree::of(&[("a.md", text)]);
        check(&tree, Path::new("/somewhere/envoi")).iter().map(|problem| problem.line).collect()
    }

    #[test]
    fn white_space_at_the_end_of_a_line_is_reported() {
        assert_eq!(lines("one\ntwo \nthree\t\n"), [2, 3]);
    }

    #[test]
    fn a_file_ends_with_exactly_one_newline() {
        assert_eq!(lines("one"), [1]);
        assert_eq!(lines("one\n\n"), [3]);
        assert_eq!(lines(""), [0_usize; 0]);
    }

    #[test]
    fn a_path_of_a_machine_is_reported() {
        assert_eq!(lines(concat!("see /ho", "me/ada/envoi\n")), [1]);
        assert_eq!(lines("cd /somewhere/envoi/crates\n"), [1]);
        assert_eq!(lines("see docs/home/page and /tmp/tour\n"), [0_usize; 0]);
    }
}
