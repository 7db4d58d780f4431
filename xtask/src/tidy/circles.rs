//! Checks that files of one crate do not import each other in a circle.
//!
//! A module and the modules below it count as one: a file may name modules below it and above it. If a module
//! re-exports an item from below, an import of it leads to the file that defines the item.

use super::{
    bans::Source,
    modules::{Crate, crates},
    problem::Problem,
};
use std::collections::{BTreeMap, BTreeSet};

/// Folders whose files may import each other in circles, because they are one set of rules.
const ONE_SET_OF_RULES: &[&str] = &["crates/kernel/src/decide/"];

pub(crate) fn check(sources: &[Source]) -> Vec<Problem> {
    crates(sources).values().flat_map(circles).collect()
}

fn circles(of: &Crate<'_>) -> Vec<Problem> {
    let arrow = |file: &[String]| -> BTreeSet<&[String]> {
        let targets = of.imports(file).iter().filter_map(|import| of.target(&import.path));
        targets.filter(|target| !target.starts_with(file) && !file.starts_with(target)).collect()
    };
    let arrows: BTreeMap<&[String], BTreeSet<&[String]>> =
        of.files.keys().map(|file| (file.as_slice(), arrow(file))).collect();
    let in_circles = of.files.iter().filter(|(file, _)| reaches(&arrows, file.as_slice()));
    let forbidden = in_circles
        .filter(|(_, source)| !ONE_SET_OF_RULES.iter().any(|folder| source.path.starts_with(folder)));
    forbidden
        .map(|(_, source)| {
            let message =
                "the file imports one that, through others, imports it; move what both need below both";
            Problem::new(&source.path, 1, message)
        })
        .collect()
}

/// Whether following the imports from a file leads back to it.
pub(crate) fn reaches<File: Ord + Copy>(arrows: &BTreeMap<File, BTreeSet<File>>, start: File) -> bool {
    let mut seen = BTreeSet::new();
    let mut left = vec![start];
    while let Some(file) = left.pop() {
        for next in arrows.get(&file).into_iter().flatten() {
            if *next == start {
                return true;
            }
            if seen.insert(*next) {
                left.push(*next);
            }
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::{bans, tree::Tree};

    fn in_circles(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<(String, &str)> =
            files.iter().map(|(path, text)| (format!("crates/{path}"), *text)).collect();
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        let found = check(&bans::sources(&Tree::of(&files)));
        found.iter().map(|problem| problem.path.trim_start_matches("crates/").to_owned()).collect()
    }

    #[test]
    fn files_do_not_import_each_other_in_a_circle_in_whatever_way_they_are_named() {
        let (a, b, c) = ("x/src/a.rs", "x/src/b.rs", "x/src/c.rs");
        assert_eq!(
            in_circles(&[
                (a, "use crate::{b::X, d};"),
                (b, "use super::c;"),
                (c, "fn f() { crate::a::g() }")
            ]),
            [a, b, c]
        );
        assert!(in_circles(&[(a, "use crate::b;"), (b, "use crate::c;"), (c, "")]).is_empty());
    }

    #[test]
    fn what_a_module_passes_on_counts_as_the_file_that_has_it() {
        let (face, one, two) = ("x/src/m.rs", "x/src/m/one.rs", "x/src/m/two.rs");
        let passes_on = "mod one;\nmod two;\npub(crate) use one::One;\npub(crate) use two::{Two, other};";
        assert_eq!(
            in_circles(&[(face, passes_on), (one, "use crate::m::Two;"), (two, "use super::One;")]),
            [one, two]
        );
        assert!(in_circles(&[(face, passes_on), (one, "use crate::m::Two;"), (two, "")]).is_empty());
    }

    #[test]
    fn a_module_and_those_below_it_may_name_each_other_and_so_may_decisions() {
        assert!(in_circles(&[("x/src/a.rs", "use b::X;"), ("x/src/a/b.rs", "use super::Y;")]).is_empty());
        let decisions = ["kernel/src/decide/a.rs", "kernel/src/decide/b.rs"];
        assert!(in_circles(&[(decisions[0], "use super::b;"), (decisions[1], "use super::a;")]).is_empty());
    }
}
