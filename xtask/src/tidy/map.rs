//! Checks that the files, folders and names exist that ARCHITECTURE.md, CONTRIBUTING.md and docs/code/ refer
//! to.

use super::{problem::Problem, tree::Tree};

/// Pages whose paths are checked.
const PAGES: &[&str] = &[
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "docs/code/glossary.md",
    "docs/code/cluster.md",
    "docs/code/invariants.md",
    "docs/code/where-to-look.md",
];

/// Ends of the file names that a page may refer to.
const ENDS: &[&str] = &[".rs", ".json", ".md", ".sh", ".py", ".ts", ".js"];

/// Checks paths in back quotes that name a place in the repository, and names in brackets after one.
pub(crate) fn check(tree: &Tree) -> Vec<Problem> {
    let pages = tree.files.iter().filter(|file| PAGES.contains(&file.path.as_str()));
    let lines = pages.flat_map(|page| {
        page.text.lines().enumerate().map(|(at, line)| (page.path.as_str(), at.saturating_add(1), line))
    });
    lines
        .flat_map(|(page, line, text)| {
            wrong(tree, text).into_iter().map(move |message| Problem::new(page, line, message))
        })
        .collect()
}

/// The references of a line that do not exist.
fn wrong(tree: &Tree, line: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut parts = line.split('`').skip(1);
    // The file to which names in brackets belong.
    let mut file = None;
    while let Some(quoted) = parts.next() {
        let behind = parts.next().unwrap_or("").trim();
        if is_path(quoted) {
            if !tree.paths.iter().any(|there| is_named(there, quoted)) {
                wrong.push(format!("there is no `{quoted}`; name the place where it is now"));
            }
            file = (behind == "(" && quoted.ends_with(".rs")).then_some(quoted);
            continue;
        }
        if let Some(path) = file.filter(|path| !has_name(tree, path, quoted)) {
            wrong.push(format!("`{path}` has no `{quoted}`; name what has it now"));
        }
        file = file.filter(|_| behind == "," || behind == "and");
    }
    wrong
}

/// Whether the text looks like a path of this repository. Paths with `NAME` or `CODE`, which stand for any
/// name, do not count.
fn is_path(text: &str) -> bool {
    let is_plain = !text.contains([' ', '{', '*', '<']) && !text.contains("NAME") && !text.contains("CODE");
    let is_below = text.trim_end_matches('/').contains('/') && !text.starts_with(['/', '.']);
    let is_place =
        text.contains("/src/") || text.ends_with('/') || ENDS.iter().any(|end| text.ends_with(end));
    is_plain && is_below && is_place
}

/// Whether a page may use this name for `there`: the first folders may be left out.
fn is_named(there: &str, path: &str) -> bool {
    let path = path.trim_end_matches('/');
    there.strip_suffix(path).is_some_and(|before| before.is_empty() || before.ends_with('/'))
}

/// Whether the file contains this name; of `Type::name` only the last part counts.
fn has_name(tree: &Tree, path: &str, name: &str) -> bool {
    let name = name.rsplit_once("::").map_or(name, |(_, last)| last);
    tree.files.iter().any(|file| is_named(&file.path, path) && file.text.contains(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_or_a_name_that_is_gone_is_named() {
        let tree = Tree::of(&[
            ("crates/a/src/b.rs", "const MOST: u8 = 1; impl Load { fn trouble() {} }"),
            ("crates/a/src/c/d.rs", ""),
            (
                "ARCHITECTURE.md",
                "`a/src/b.rs` `a/src/NAME.rs` `envoi run x` `foo/` `.envoi/x/`\n| `a/src/gone.rs` | `crates/a/src/b.rs` |\n\
                 `c/d.rs` `src/c/` `c/gone.rs`\n`a/src/b.rs` (`MOST`, `Load::trouble`) `LEAST`\n`a/src/b.rs` (`MOST` and `LEAST`)\n",
            ),
        ]);
        let problems = check(&tree);
        let found: Vec<_> = problems
            .iter()
            .map(|problem| (problem.line, problem.message.split(';').next().unwrap()))
            .collect();
        assert_eq!(
            found,
            [
                (2, "there is no `a/src/gone.rs`"),
                (3, "there is no `c/gone.rs`"),
                (5, "`a/src/b.rs` has no `LEAST`")
            ]
        );
    }
}
