//! `files`, `isolate` and `if_no_artifacts` of a step: the files with which a repeated step begins, whether its items
//! work in separate trees, and what happens if it leaves no file.
//!
//! Owns their forms. `check/files.rs` checks where they may be used, when the whole file was read.

use crate::syntax::{
    diagnostic::{Diagnostic, Problems},
    keys,
    read::{self, Fields},
    yaml::{Key, Node},
};
use envoi_kernel::flow::{FilesAgain, NoArtifacts, OnConflict};

pub(crate) fn read(node: &Node, problems: &mut Problems) -> Option<FilesAgain> {
    let words = [("keep", FilesAgain::Keep), ("restore", FilesAgain::Restore)];
    read::choice(node, "`files`", &words, problems)
}

pub(crate) fn isolate(key: &Key, node: &Node, fields: &Fields<'_>, problems: &mut Problems) -> Option<bool> {
    let isolate = read::boolean(node, "`isolate`", problems)?;
    let has_items = fields.get("for_each").is_some() || fields.misspelt("for_each", &keys::STEP);
    if isolate && !has_items {
        let message = "`isolate` does nothing without `for_each`: a step alone works in the tree of the run";
        let help = "`workspace: { isolate: tree }` gives each run a tree of its own";
        problems.add(Diagnostic::invalid(key.span, message).help(help));
    }
    Some(isolate)
}

pub(crate) fn if_no_artifacts(
    key: &Key,
    node: &Node,
    fields: &Fields<'_>,
    problems: &mut Problems,
) -> Option<NoArtifacts> {
    let words = [("warn", NoArtifacts::Warn), ("ignore", NoArtifacts::Ignore), ("fail", NoArtifacts::Fail)];
    let chosen = read::choice(node, "`if_no_artifacts`", &words, problems)?;
    if fields.get("artifacts").is_none() && !fields.misspelt("artifacts", &keys::STEP) {
        let message = "`if_no_artifacts` does nothing without `artifacts`: no file is expected";
        problems
            .add(Diagnostic::invalid(key.span, message).help("`artifacts: [\"out/**\"]` names the files"));
    }
    Some(chosen)
}

pub(crate) fn on_conflict(
    key: &Key,
    node: &Node,
    fields: &Fields<'_>,
    problems: &mut Problems,
) -> Option<OnConflict> {
    let words = [
        ("ask", OnConflict::Ask),
        ("again", OnConflict::Again),
        ("fail", OnConflict::Fail),
        ("ours", OnConflict::Ours),
        ("theirs", OnConflict::Theirs),
    ];
    let chosen = read::choice(node, "`on_conflict`", &words, problems)?;
    if fields.get("isolate").is_none() && !fields.misspelt("isolate", &keys::STEP) {
        let message = "`on_conflict` does nothing without `isolate`: nothing is merged";
        problems.add(
            Diagnostic::invalid(key.span, message).help("`isolate: true` gives each item a tree of its own"),
        );
    }
    Some(chosen)
}
