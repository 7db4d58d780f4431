//! Checks the tree against ARCHITECTURE.md: dependencies between crates, layers inside them and in the web page,
//! bans, pages, links, licences.
//!
//! Each rule is a module with one `check` that gets its input as an argument, so that its tests can pass
//! small trees that break it. Rules that rustc and clippy can check are left to them.

mod arrows;
mod bans;
mod changelog;
mod circles;
mod codes;
mod imports;
mod layers;
mod layout;
mod lexer;
mod links;
mod manifest;
mod map;
mod modules;
mod page;
mod problem;
mod text;
mod tree;

use crate::Unusable;
pub(crate) use problem::Problem;
use std::path::Path;

/// All problems of the tree below `root`, in the order of its files.
pub(crate) fn check(root: &Path) -> Result<Vec<Problem>, Unusable> {
    let tree = tree::Tree::read(root)?;
    let crates = manifest::crates(root)?;
    let sources = bans::sources(&tree);
    let mut problems = [
        arrows::check(&crates),
        manifest::check(&crates),
        layout::check(&tree),
        layers::check(&sources),
        circles::check(&sources),
        page::check(&tree),
        bans::check(&sources),
        codes::check(&tree, &sources),
        changelog::check(&tree),
        links::check(&tree),
        map::check(&tree),
        text::check(&tree, root),
    ]
    .concat();
    problems.sort();
    problems.dedup();
    Ok(problems)
}
