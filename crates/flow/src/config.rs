//! The configuration of a store: `config.yaml` in its folder.
//!
//! Owns its keys, and that it is told apart from a flow in every message. Reads no file: text is an argument. An empty
//! file configures nothing.

use crate::{
    CONFIG_INVALID, CONFIG_SYNTAX,
    diagnostic::{FLOW_INVALID, FLOW_SYNTAX, Problems, Report},
    keys,
    models::{self, Models},
    notify,
    read::Fields,
    root,
    server::{self, Server},
};
use envoi_kernel::notify::Target;

/// The name of the file.
pub const FILE: &str = "config.yaml";

/// The JSON Schema (draft 2020-12) of a configuration, for editors. It says less than [`load`].
pub const SCHEMA: &str = include_str!("../../../spec/schemas/config.schema.json");

/// What holds for every run of a store.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Config {
    /// Who is told, besides those whom a flow names.
    pub notify: Vec<Target>,
    /// How `envoi serve` answers.
    pub server: Server,
    /// Which models commands may call through it.
    pub models: Models,
}

/// Reads a configuration from the text of a file; `name` is how messages call that file.
///
/// # Errors
/// Everything that is wrong with it, in the order of the file.
pub fn load(name: &str, text: &str) -> Result<Config, Report> {
    let text = crate::without_mark(text);
    let mut problems = Problems::default();
    let config = read(text, &mut problems);
    if problems.is_empty() { Ok(config) } else { Err(told(problems.into_report(name, text))) }
}

fn read(text: &str, problems: &mut Problems) -> Config {
    let Some(root) = root(text, problems) else { return Config::default() };
    let Some(fields) = Fields::of(&root, &keys::CONFIG, problems) else { return Config::default() };
    Config {
        notify: fields.get("notify").map(|node| notify::read(node, problems)).unwrap_or_default(),
        server: fields.get("server").map(|node| server::read(node, problems)).unwrap_or_default(),
        models: fields.get("models").map(|node| models::read(node, problems)).unwrap_or_default(),
    }
}

/// The readers of the language know of flows only.
fn told(mut report: Report) -> Report {
    report.wanted = "a configuration that can be used";
    for diagnostic in &mut report.diagnostics {
        diagnostic.code = match diagnostic.code {
            FLOW_INVALID => CONFIG_INVALID,
            FLOW_SYNTAX => CONFIG_SYNTAX,
            other => other,
        };
    }
    report
}
