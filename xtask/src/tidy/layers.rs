//! Layers inside a crate: a file of a lower folder names nothing of a higher one, and no files of one layer import each other
//! in a circle, unless the layer allows it.
//!
//! Sees paths that begin with `crate::`, in imports and in expressions. `super::` stays within a folder and is not looked at.

use super::{bans::Source, problem::Problem};
use std::collections::{BTreeMap, BTreeSet};

/// The folders of one crate below `src`, the lowest first.
struct Layers {
    /// The crate's folder.
    base: &'static str,
    /// Names of its layers.
    folders: &'static [&'static str],
    /// Those of them whose files may import each other in circles, because they are one set of rules.
    circular: &'static [&'static str],
}

/// The crates that have layers.
const LAYERED: &[Layers] = &[
    Layers { base: "crates/kernel/src/", folders: &["model", "state", "decide"], circular: &["decide"] },
    Layers { base: "crates/flow/src/", folders: &["syntax", "values", "parse", "check"], circular: &[] },
    Layers {
        base: "crates/cli/src/",
        folders: &["text", "process", "store", "view", "session", "command", "remote"],
        circular: &[],
    },
    Layers {
        base: "crates/journal/src/",
        folders: &["model", "folder", "tables", "log", "files", "repair"],
        circular: &[],
    },
    Layers {
        base: "crates/a2a/src/",
        folders: &[
            "base64_bytes",
            "object_writer",
            "version",
            "extension",
            "model",
            "fault",
            "request",
            "field_reader",
            "v1",
            "v03",
            "received",
            "card",
            "service_parameters",
            "json_rpc",
        ],
        circular: &[],
    },
    Layers { base: "crates/agent/src/", folders: &["input", "protocol", "files", "session"], circular: &[] },
    Layers {
        base: "crates/engine/src/",
        folders: &["model", "query", "event_loop", "observe", "attempts", "delivery", "commands", "host"],
        circular: &[],
    },
    Layers {
        base: "crates/step/src/",
        folders: &["disk", "mask", "attempt", "output", "workspace", "control", "supervisor"],
        circular: &[],
    },
    Layers {
        base: "crates/tree/src/",
        folders: &["model", "disk", "look", "keep", "restore"],
        circular: &[],
    },
    Layers {
        base: "crates/server/src/",
        folders: &[
            "http",
            "limits",
            "auth",
            "push",
            "models",
            "state",
            "admission",
            "request",
            "commands",
            "bridge",
            "a2a",
            "rest",
            "request_log",
            "cors",
            "router",
            "server",
        ],
        circular: &[],
    },
];

pub(crate) fn check(sources: &[Source]) -> Vec<Problem> {
    LAYERED.iter().flat_map(|layers| check_crate(layers, sources)).collect()
}

/// A path of modules that a line names, such as `state::control`.
struct Import {
    path: String,
    line: usize,
}

fn check_crate(layers: &Layers, sources: &[Source]) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut arrows: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    let files: BTreeSet<&str> = sources.iter().filter_map(|source| module(layers, source)).collect();
    for source in sources {
        let Some(module) = module(layers, source) else { continue };
        let folder = module.split('/').next().unwrap_or(module);
        let Some(level) = layers.folders.iter().position(|layer| *layer == folder) else { continue };
        for import in imports(source) {
            let mut segments = import.path.split("::");
            let target = segments.next().unwrap_or_default();
            if let Some(above) = layers.folders.iter().position(|layer| *layer == target)
                && above > level
            {
                let message =
                    format!("`{folder}` is below `{target}` and does not know it: `{}`", import.path);
                problems.push(Problem::new(&source.path, import.line, message));
            }
            let file = import.path.replace("::", "/");
            if let Some(file) = longest(&files, &file).filter(|file| *file != module) {
                arrows.entry(module).or_default().insert(file.to_owned());
            }
        }
    }
    for module in arrows.keys() {
        let is_circular = layers.circular.iter().any(|folder| module.starts_with(folder));
        if !is_circular && reaches(&arrows, module) {
            let path = format!("{}{module}.rs", layers.base);
            let message =
                "the file imports one that, through others, imports it; move what both need below both";
            problems.push(Problem::new(&path, 1, message));
        }
    }
    problems
}

/// The file's place below `src`, without `.rs`; `None` if it is no source of this crate. The files in the folder of a module
/// (`check/graph/order.rs`) are parts of it and count as it.
fn module<'s>(layers: &Layers, source: &'s Source) -> Option<&'s str> {
    let path = source.path.strip_prefix(layers.base)?.strip_suffix(".rs")?;
    match path.match_indices('/').nth(1) {
        Some((end, _)) => path.get(..end),
        None => Some(path),
    }
}

/// The file that a path leads into: `state/control/Control` leads to `state/control`.
fn longest<'f>(files: &BTreeSet<&'f str>, path: &str) -> Option<&'f str> {
    let mut path = path;
    loop {
        if let Some(file) = files.get(path) {
            return Some(file);
        }
        path = path.rsplit_once('/')?.0;
    }
}

/// Whether the arrows lead from a file back to it.
fn reaches(arrows: &BTreeMap<&str, BTreeSet<String>>, start: &str) -> bool {
    let mut seen = BTreeSet::new();
    let mut left: Vec<&str> = vec![start];
    while let Some(file) = left.pop() {
        for next in arrows.get(file).into_iter().flatten() {
            if next == start {
                return true;
            }
            if seen.insert(next.as_str()) {
                left.push(next);
            }
        }
    }
    false
}

/// Everything below `crate::` that is named outside tests, with nested braces taken apart.
fn imports(source: &Source) -> Vec<Import> {
    let mut found = Vec::new();
    let mut prefixes: Vec<String> = Vec::new();
    let mut within = false;
    for (at, text) in source.code.lines.iter().enumerate() {
        let line = at.saturating_add(1);
        if source.is_test(line) {
            continue;
        }
        let mut rest = text.as_str();
        while !rest.is_empty() {
            if !within {
                let Some((_, after)) = rest.split_once("crate::") else { break };
                (within, rest, prefixes) = (true, after, vec![String::new()]);
            }
            let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':'));
            let (name, after) = rest.split_at(end.unwrap_or(rest.len()));
            let prefix = prefixes.last().cloned().unwrap_or_default();
            match after.chars().next() {
                Some('{') => prefixes.push(format!("{prefix}{name}")),
                other => {
                    if !name.is_empty() {
                        found.push(Import { path: format!("{prefix}{name}"), line });
                    }
                    if other == Some('}') {
                        prefixes.pop();
                    }
                    let ended = prefixes.len() <= 1 && !matches!(other, None | Some('}'));
                    within = !ended && (prefixes.len() > 1 || other == Some('}'));
                }
            }
            let step = after.chars().next().map_or(0, char::len_utf8);
            rest = after.get(step..).unwrap_or_default();
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::{bans, tree::Tree};

    fn problems(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<(String, &str)> =
            files.iter().map(|(path, text)| (format!("crates/kernel/src/{path}"), *text)).collect();
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        let found = check(&bans::sources(&Tree::of(&files)));
        found.iter().map(|problem| problem.to_string()).collect()
    }

    #[test]
    fn a_lower_layer_does_not_name_a_higher_one() {
        for (path, text, count) in [
            ("state/a.rs", "use crate::model::b;", 0),
            ("state/a.rs", "use crate::{model::b, decide::c};", 1),
            ("state/a.rs", "use crate::{\n    model::{b, c},\n    decide::d::{E, f},\n};", 2),
            ("model/a.rs", "fn a() { crate::state::b::c() }", 1),
            ("model/a.rs", "// crate::state::b\nconst A: &str = \"crate::state::b\";", 0),
            ("model/a.rs", "#[cfg(test)]\nmod tests {\n    use crate::decide::b;\n}", 0),
            ("decide/a.rs", "use crate::{model::b, state::c};", 0),
            ("run.rs", "use crate::decide::b;", 0),
        ] {
            assert_eq!(problems(&[(path, text)]).len(), count, "{path}: {text}");
        }
    }

    #[test]
    fn files_below_the_decisions_do_not_import_each_other_in_a_circle() {
        let circle = |folder: &str| {
            let text = |other: &str| format!("use crate::{folder}::{{{other}::X, z}};");
            let (a, b, c) = (text("b"), text("c"), text("a"));
            let paths = ["a", "b", "c"].map(|name| format!("{folder}/{name}.rs"));
            problems(&[(&paths[0], &a), (&paths[1], &b), (&paths[2], &c)])
        };
        assert_eq!(circle("state").len(), 3);
        assert_eq!(circle("model").len(), 3);
        assert_eq!(circle("decide").len(), 0);
    }
}
