//! The files and folders that ARCHITECTURE.md, CONTRIBUTING.md and docs/code/ send a reader to are there.

use super::{problem::Problem, tree::Tree};

/// Pages whose paths are looked at.
const PAGES: &[&str] = &[
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "docs/code/glossary.md",
    "docs/code/invariants.md",
    "docs/code/where-to-look.md",
];

/// Paths in back quotes that name a place of the repository; those of crates may leave `crates/` out.
pub(crate) fn check(tree: &Tree) -> Vec<Problem> {
    let pages = tree.files.iter().filter(|file| PAGES.contains(&file.path.as_str()));
    let named = pages.flat_map(|page| {
        page.text.lines().enumerate().flat_map(move |(at, line)| {
            paths(line).map(move |path| (page.path.as_str(), at.saturating_add(1), path))
        })
    });
    named
        .filter(|(_, _, path)| !is_there(tree, path))
        .map(|(page, line, path)| {
            Problem::new(page, line, format!("there is no `{path}`; name the place where it is now"))
        })
        .collect()
}

/// What is in back quotes on a line and looks like a path of ours: `NAME` and `CODE` stand for any name.
fn paths(line: &str) -> impl Iterator<Item = &str> {
    let quoted = line.split('`').skip(1).step_by(2);
    quoted.filter(|text| {
        let is_path = text.contains("/src/") || text.ends_with("/migrations/");
        is_path && !text.contains([' ', '{', '*']) && !text.contains("NAME") && !text.contains("CODE")
    })
}

fn is_there(tree: &Tree, path: &str) -> bool {
    let path = path.trim_end_matches('/');
    let of_crate = format!("crates/{path}");
    tree.paths.iter().any(|there| there == path || *there == of_crate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_that_is_gone_is_named() {
        let tree = Tree::of(&[
            ("crates/a/src/b.rs", ""),
            (
                "ARCHITECTURE.md",
                "`a/src/b.rs` `a/src/NAME.rs` `envoi run x`\n| `a/src/gone.rs` | `crates/a/src/b.rs` |\n",
            ),
        ]);
        let problems = check(&tree);
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert_eq!((problems[0].path.as_str(), problems[0].line), ("ARCHITECTURE.md", 2));
    }
}
