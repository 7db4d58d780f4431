//! `workspace` of a flow: the folder in which commands run, and whether a run gets its own tree.
//!
//! Owns its forms. `setup` becomes a step that runs before all others.

use crate::syntax::{
    diagnostic::{Diagnostic, Problems, Span},
    keys, path,
    read::{self, Fields, refuse},
    yaml::{Key, Kind, Node, Scalar},
};
use envoi_kernel::{flow::Isolation, ids::StepId};

/// The id of the step for `setup`.
const SETUP: &str = "setup";

/// See the module documentation.
#[derive(Debug, Default)]
pub(crate) struct Workspace {
    /// `None` if it has a mistake.
    pub(crate) folder: Option<String>,
    pub(crate) isolation: Option<Isolation>,
    /// Whether snapshots of the files are kept.
    pub(crate) keep: bool,
    /// Patterns of paths that are kept although git ignores them.
    pub(crate) keep_also: Vec<String>,
    /// The step for `setup`, and its location.
    pub(crate) setup: Option<(Span, Node)>,
}

/// Reads the key. Without it, commands run in the folder of the file.
pub(crate) fn read(node: Option<&Node>, problems: &mut Problems) -> Workspace {
    let here = || Some(".".to_owned());
    let Some(node) = node else { return Workspace { folder: here(), ..Workspace::default() } };
    if !matches!(node.kind, Kind::Mapping(_)) {
        return Workspace { folder: path::workspace(node, problems), ..Workspace::default() };
    }
    let Some(fields) = Fields::of(node, &keys::WORKSPACE, problems) else { return Workspace::default() };
    let folder = match fields.get("folder") {
        Some(node) => path::workspace(node, problems),
        None => here(),
    };
    let modes = [("tree", true), ("none", false)];
    let isolate = fields.get("isolate").and_then(|node| read::choice(node, "`isolate`", &modes, problems));
    let (keep, keep_also) = fields.get("keep").map(|node| keep(node, problems)).unwrap_or_default();
    let bring = fields.get("bring").map(|node| bring(node, problems)).unwrap_or_default();
    let setup = fields.pair(SETUP).map(|(key, node)| (key.span, step(key, node)));
    for key in fields.keys().filter(|key| ["bring", SETUP].contains(&key.text.as_str())) {
        if isolate != Some(true) && !fields.misspelt("isolate", &keys::WORKSPACE) {
            let message = format!("`{}` does nothing without a tree of its own", key.text);
            let help = "`workspace: { isolate: tree, … }` gives each run one";
            problems.add(Diagnostic::invalid(key.span, message).help(help));
        }
    }
    let isolation = isolate
        .filter(|isolate| *isolate)
        .map(|_| Isolation { bring, setup: setup.as_ref().and_then(|_| StepId::new(SETUP).ok()) });
    Workspace { folder, isolation, keep, keep_also, setup }
}

/// Whether files are kept, and what is kept although git ignores it.
fn keep(node: &Node, problems: &mut Problems) -> (bool, Vec<String>) {
    if !matches!(node.kind, Kind::Mapping(_)) {
        return (read::boolean(node, "`keep`", problems).unwrap_or(false), Vec::new());
    }
    let Some(fields) = Fields::of(node, &keys::KEEP, problems) else { return (true, Vec::new()) };
    let also = fields.get("also").map(|node| path::globs(node, "`also`", problems)).unwrap_or_default();
    (true, also)
}

/// Ignored files and folders that are copied into a new tree.
fn bring(node: &Node, problems: &mut Problems) -> Vec<String> {
    let expected = "a list of paths such as `[.env, node_modules]`";
    let mut paths = Vec::new();
    for item in read::items(node, "`bring`", expected, problems) {
        let Some(text) = path::inside(item, "a path of `bring`", problems) else { continue };
        let Some(text) = path::without_expression(item.span, text, "`bring`", problems) else { continue };
        let first = text.split('/').find(|part| !part.is_empty() && *part != ".");
        match first {
            None | Some(".git" | ".envoi") => {
                let message = format!("`{text}` cannot be brought into a tree");
                let _: Option<()> = refuse(problems, Diagnostic::invalid(item.span, message));
            }
            Some(_) => paths.push(text.to_owned()),
        }
    }
    paths
}

/// Converts `setup` into a step.
fn step(key: &Key, command: &Node) -> Node {
    let named = |text: &str| Key { span: key.span, text: text.to_owned() };
    let id = Kind::Scalar(Scalar { text: SETUP.to_owned(), plain: true });
    let members = vec![(named("id"), Node { span: key.span, kind: id }), (named("run"), command.clone())];
    Node { span: key.span, kind: Kind::Mapping(members) }
}
