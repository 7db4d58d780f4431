//! Layers inside a crate: a file of a lower folder names nothing of a higher one.

use super::{bans::Source, imports::imports, problem::Problem};

/// The folders of one crate below `src`, the lowest first.
struct Layers {
    /// The crate's folder.
    base: &'static str,
    /// Names of its layers.
    folders: &'static [&'static str],
}

/// The crates that have layers.
const LAYERED: &[Layers] = &[
    Layers { base: "crates/kernel/src/", folders: &["model", "state", "decide"] },
    Layers { base: "crates/flow/src/", folders: &["syntax", "values", "parse", "check"] },
    Layers {
        base: "crates/cli/src/",
        folders: &["text", "process", "store", "view", "session", "command", "remote"],
    },
    Layers { base: "crates/journal/src/", folders: &["model", "folder", "tables", "log", "files", "repair"] },
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
    },
    Layers { base: "crates/agent/src/", folders: &["input", "protocol", "files", "session"] },
    Layers {
        base: "crates/engine/src/",
        folders: &["model", "query", "event_loop", "observe", "attempts", "delivery", "commands", "host"],
    },
    Layers {
        base: "crates/step/src/",
        folders: &["disk", "mask", "attempt", "output", "workspace", "control", "supervisor"],
    },
    Layers { base: "crates/tree/src/", folders: &["model", "disk", "look", "keep", "restore"] },
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
    },
];

pub(crate) fn check(sources: &[Source]) -> Vec<Problem> {
    LAYERED.iter().flat_map(|layers| check_crate(layers, sources)).collect()
}

fn check_crate(layers: &Layers, sources: &[Source]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for source in sources {
        let Some(file) = source.path.strip_prefix(layers.base).and_then(|file| file.strip_suffix(".rs"))
        else {
            continue;
        };
        let here: Vec<String> = file.split('/').map(str::to_owned).collect();
        let Some(folder) = here.first() else { continue };
        let level_of = |name: &String| layers.folders.iter().position(|layer| layer == name);
        let Some(level) = level_of(folder) else { continue };
        for import in imports(source, &here) {
            let Some(target) = import.path.first() else { continue };
            if level_of(target).is_some_and(|above| above > level) {
                let named = import.path.join("::");
                let message = format!("`{folder}` is below `{target}` and does not know it: `{named}`");
                problems.push(Problem::new(&source.path, import.line, message));
            }
        }
    }
    problems
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
}
