//! The configuration of a store: `config.yaml` in its folder.
//!
//! Owns its keys, and makes every message distinguish it from a flow. Reads no file: the text is an argument. An
//! empty file configures nothing.

pub mod accounts;
pub mod cluster;
mod missing;
pub mod models;
pub mod retention;
pub mod server;
pub mod trees;

use crate::{
    parse::{notify, shell::Shell},
    syntax::{
        diagnostic::{Problems, Report},
        document::root,
        keys,
        read::{self, Fields},
        yaml::Node,
    },
};
use accounts::Account;
use envoi_contract::code::Code;
use envoi_kernel::notify::Target;
pub use missing::missing;
use models::Models;
use retention::Retention;
use server::Server;
use std::collections::BTreeMap;
use trees::Trees;

/// The name of the file.
pub const FILE: &str = "config.yaml";

/// The JSON Schema (draft 2020-12) of a configuration, for editors. It checks less than [`load`].
pub const SCHEMA: &str = include_str!("../../../spec/schemas/config.schema.json");

/// Settings for every run of a store.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Config {
    /// Recipients of notices, in addition to those of a flow.
    pub notify: Vec<Target>,
    /// The settings of `envoi serve`.
    pub server: Server,
    /// The models that steps and commands may call.
    pub models: Models,
    /// The accounts of agent programs, by the names that flows use.
    pub accounts: BTreeMap<String, Account>,
    /// Limits for the stored output of commands.
    pub output: Output,
    /// How long finished runs are kept.
    pub retention: Retention,
    /// Limits for a snapshot of the files of a run.
    pub trees: Trees,
}

/// See [`Config::output`]. `None` uses the engine's default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Output {
    /// Bytes that are kept of each of stdout and stderr of an attempt: half from the beginning and half from the end.
    pub stream_bytes: Option<u64>,
}

/// A smaller number would leave nothing to read. A larger one is probably a mistake in the unit.
const STREAM_BYTES: core::ops::RangeInclusive<u64> = 4096..=1 << 40;

/// Reads a configuration from the text of a file. `name` is the file's name in messages.
///
/// # Errors
/// All mistakes of the file, in their order.
pub fn load(name: &str, text: &str) -> Result<Config, Report> {
    let text = crate::syntax::document::without_mark(text);
    let mut problems = Problems::default();
    let config = read(text, &mut problems);
    if problems.is_empty() { Ok(config) } else { Err(as_configuration(problems.into_report(name, text))) }
}

fn read(text: &str, problems: &mut Problems) -> Config {
    let Some(root) = root(text, problems) else { return Config::default() };
    let Some(fields) = Fields::of(&root, &keys::CONFIG, problems) else { return Config::default() };
    Config {
        notify: fields
            .get("notify")
            .map(|node| notify::read(node, &Shell::default(), problems))
            .unwrap_or_default(),
        server: fields.get("server").map(|node| server::read(node, problems)).unwrap_or_default(),
        models: fields.get("models").map(|node| models::read(node, problems)).unwrap_or_default(),
        accounts: fields.get("accounts").map(|node| accounts::read(node, problems)).unwrap_or_default(),
        output: fields.get("output").map(|node| output(node, problems)).unwrap_or_default(),
        retention: fields.get("retention").map(|node| retention::read(node, problems)).unwrap_or_default(),
        trees: fields.get("trees").map(|node| trees::read(node, problems)).unwrap_or_default(),
    }
}

fn output(node: &Node, problems: &mut Problems) -> Output {
    let Some(fields) = Fields::of(node, &keys::OUTPUT, problems) else { return Output::default() };
    let stream = fields.get("stream");
    Output { stream_bytes: stream.and_then(|node| read::integer(node, "`stream`", STREAM_BYTES, problems)) }
}

/// Adapts the report, because the shared readers write messages about flows.
fn as_configuration(mut report: Report) -> Report {
    report.wanted = "a configuration that can be used";
    for diagnostic in &mut report.diagnostics {
        diagnostic.code = match diagnostic.code {
            Code::FlowInvalid => Code::ConfigInvalid,
            Code::FlowSyntax => Code::ConfigSyntax,
            other => other,
        };
    }
    report
}

#[cfg(test)]
pub(crate) mod tests {
    use super::{SCHEMA, load};
    use crate::{
        syntax::{diagnostic::Problems, tree, yaml},
        values::json_schema::Schema,
    };
    use envoi_contract::json::Value;

    /// True if the schema of configurations accepts this text.
    pub(crate) fn fits_schema(text: &str) -> bool {
        let root = yaml::compose(text, &mut Problems::default()).unwrap();
        let schema = Value::parse_str(SCHEMA).unwrap();
        Schema::new(&schema).unwrap().check(&tree::value(&root)).is_empty()
    }

    #[test]
    fn the_size_of_a_kept_stream_is_a_number_of_bytes_within_reason() {
        let kept = |text: &str| load("config.yaml", text).map(|config| config.output.stream_bytes);
        for (text, expected) in [
            ("", None),
            ("output: {}", None),
            ("output: { stream: 4096 }", Some(4096)),
            ("output: { stream: 1099511627776 }", Some(1 << 40)),
        ] {
            assert_eq!(kept(text).ok(), Some(expected), "{text}");
        }
        let wrong = ["{ stream: 4095 }", "{ stream: 64MiB }", "{ streams: 5000 }", "5000"];
        for text in wrong.map(|value| format!("output: {value}")) {
            assert_eq!(kept(&text).map_err(|report| report.diagnostics.len()), Err(1), "{text}");
        }
    }
}
