//! Checks the layers inside a crate: a file uses nothing of a higher layer of its crate, nor of another part
//! of its own layer. An item that `lib.rs` or another file re-exports belongs to the layer of the file that
//! defines it.

use super::{
    bans::Source,
    modules::{Crate, crates},
    problem::Problem,
};
use std::collections::BTreeSet;

/// Each crate with its layers, the lowest first. A layer is a string with its files and folders in `src`.
/// `lib.rs` and `main.rs` are above all layers.
const LAYERS: &[(&str, &[&str])] = &[
    (
        "a2a",
        &[
            "base64_bytes extension model object_writer version",
            "fault",
            "card field_reader json_rpc request service_parameters",
            "v03 v1",
            "received",
        ],
    ),
    ("agent", &["input", "protocol", "files", "session"]),
    (
        "api",
        &[
            "problem scalar words",
            "event from_flow",
            "flow question request step",
            "bridge run",
            "from_journal store",
            "schema",
        ],
    ),
    (
        "bundle",
        &["event_pages manifest named", "archive", "wrong", "entries", "verify", "export import", "outgoing"],
    ),
    ("changes", &["lines location", "error", "git states versions", "comparison", "patch"]),
    ("cli", &["text", "process", "store", "view", "session", "command", "remote"]),
    ("cluster", &["place seen", "message", "dispatcher run worker_slot", "wire"]),
    (
        "contract",
        &[
            "code digest quoted suggestion time vocabulary",
            "json",
            "error stored",
            "decode interpretation labelled",
            "envelope routing skill_report",
            "handoff user_envelope",
            "conformance row",
            "schema",
        ],
    ),
    ("durable", &["copied folder mounts plain regular", "temporary", "publish"]),
    ("engine", &["model", "observe query", "attempts event_loop", "delivery", "commands", "host"]),
    ("flow", &["syntax", "plan values", "editor parse", "check config", "load", "import"]),
    ("http", &["no_answer retry_after"]),
    ("journal", &["model testing", "folder", "tables", "log", "conformance files", "repair"]),
    ("kernel", &["model", "state", "decide", "run"]),
    ("machines", &["blob_store", "shared", "replica", "commands worker"]),
    ("model", &["order", "calling material", "asking", "report"]),
    (
        "notify",
        &[
            "event fair_share ip_ranges outcome",
            "client command egress_policy retry turns",
            "http_post webhook",
            "delivery_loop",
        ],
    ),
    (
        "preset",
        &[
            "failure feedback lines may member usage",
            "ask protocol reset",
            "outcome pieces preset",
            "events invocation",
            "reading",
        ],
    ),
    ("program", &["files order", "limit prompt used", "events hook", "process", "report"]),
    ("restate", &["contents names reply", "turn", "objects", "admin endpoint ingress"]),
    (
        "server",
        &[
            "auth http limits models",
            "operation push request_log",
            "openapi state",
            "admission commands request",
            "a2a bridge page rest",
            "cors",
            "router",
            "server",
        ],
    ),
    (
        "sim",
        &[
            "dice faults finished store uses violation",
            "budgets flows instance questions work",
            "books corrections models night world",
            "plan",
            "calls",
            "driver",
        ],
    ),
    ("step", &["disk mask", "attempt", "output", "workspace", "control", "supervisor"]),
    ("testkit", &["dice held image", "state", "watched", "shim", "disk"]),
    ("tree", &["model", "disk git", "look", "keep", "restore"]),
    ("zygote", &["argument_area fd_message unsupported", "server", "client"]),
];

pub(crate) fn check(sources: &[Source]) -> Vec<Problem> {
    let ours = crates(sources).into_iter().filter_map(|(base, of)| {
        let name = base.strip_prefix("crates/")?.strip_suffix("/src/")?;
        Some(check_crate(name, &of))
    });
    ours.flatten().collect()
}

fn check_crate(name: &str, of: &Crate<'_>) -> Vec<Problem> {
    let layers = LAYERS.iter().find(|(of, _)| *of == name).map_or(&[][..], |(_, layers)| *layers);
    let level_of = |part: &str| layers.iter().position(|layer| layer.split(' ').any(|name| name == part));
    let mut problems = Vec::new();
    let mut unlisted = BTreeSet::new();
    for (module, source) in &of.files {
        // `lib.rs` and `main.rs` have no first component.
        let Some(part) = module.first() else { continue };
        let Some(level) = level_of(part) else {
            if part != "tests" && unlisted.insert(part) {
                let message =
                    format!("`{part}` has no layer in `{name}`: add it to xtask/src/tidy/layers.rs");
                problems.push(Problem::new(&source.path, 1, message));
            }
            continue;
        };
        for import in of.imports(module) {
            // In a test of this check the imported file may not exist.
            let has_it = of.target(&import.path).filter(|found| !found.is_empty()).unwrap_or(&import.path);
            let Some(target) = has_it.first().filter(|target| *target != part) else { continue };
            let relation = match level_of(target) {
                Some(above) if above > level => "is below",
                Some(beside) if beside == level => "stands beside",
                _ => continue,
            };
            let named = import.path.join("::");
            let message = format!("`{part}` {relation} `{target}` and does not know it: `{named}`");
            problems.push(Problem::new(&source.path, import.line, message));
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
            ("decide/a.rs", "use crate::run::b;", 1),
            ("other.rs", "use crate::decide::b;", 1),
            ("other/a.rs", "", 1),
            ("lib.rs", "use crate::decide::b;", 0),
        ] {
            assert_eq!(problems(&[(path, text)]).len(), count, "{path}: {text}");
        }
    }

    #[test]
    fn what_a_file_passes_on_belongs_to_the_layer_that_has_it() {
        let passes_on = ("lib.rs", "mod decide;\npub use decide::c::Decision;");
        let has_it = ("decide/c.rs", "pub struct Decision;");
        for (path, count) in [("state/a.rs", 1), ("run.rs", 0), ("decide/d.rs", 0)] {
            let found = problems(&[passes_on, has_it, (path, "use crate::Decision;")]);
            assert_eq!(found.len(), count, "{path}: {found:?}");
        }
    }
}
