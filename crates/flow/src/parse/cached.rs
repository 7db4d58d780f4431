//! `cache` of a step: when its result is taken from an earlier run.
//!
//! Owns its form, and the keys that cannot be combined with it. `check/cached.rs` checks that the files of the run
//! are kept, when the whole flow was read.

use crate::syntax::{
    diagnostic::{Diagnostic, Problems},
    keys, path,
    read::{self, Fields, Spanned, refuse},
    yaml::{Kind, Node},
};
use envoi_kernel::flow::CachePlan;

/// The largest age of an entry; `envoi gc` removes older ones.
const MOST_MS: u64 = 366 * 24 * 60 * 60 * 1_000;

/// Keys of a step that have no effect with `cache`, or would be missing in the cache key, each with the reason.
const NOT_BESIDE: [(&str, &str); 2] = [
    ("envelope", "the envelope is another one in each run, so no result would ever fit"),
    ("budget", "what a model answers is no part of the key"),
];

/// `None` if it is `false` or invalid.
pub(crate) fn read(node: &Node, fields: &Fields<'_>, problems: &mut Problems) -> Option<CachePlan> {
    let plan = match &node.kind {
        Kind::Mapping(_) => of_mapping(node, problems)?,
        _ if read::as_token(node).is_none_or(|token| !["true", "false"].contains(&token)) => {
            let expected = "`true`, `false` or a mapping such as `{ inputs: [\"src/**\"] }`";
            return refuse(problems, read::mismatch(node, "`cache`", expected));
        }
        _ => read::boolean(node, "`cache`", problems)?.then(CachePlan::default)?,
    };
    for (key, why) in NOT_BESIDE {
        if let Some((other, _)) = fields.pair(key) {
            let message = format!("`{key}` in a step with `cache`: {why}");
            problems.add(Diagnostic::invalid(other.span, message).label(node.span, "its `cache` is here"));
        }
    }
    Some(plan)
}

fn of_mapping(node: &Node, problems: &mut Problems) -> Option<CachePlan> {
    let fields = Fields::of(node, &keys::CACHE, problems)?;
    let inputs = fields.get("inputs").map(|node| path::globs(node, "`inputs`", problems));
    let is_empty = |node: &&Node| matches!(&node.kind, Kind::Sequence(items) if items.is_empty());
    if let Some(node) = fields.get("inputs").filter(is_empty) {
        let message = "`inputs` names no file: a change of any file would be missed";
        let help = "leave `inputs` out: then every file counts";
        problems.add(Diagnostic::invalid(node.span, message).help(help));
    }
    let env = fields.get("env").map(|node| {
        let names = read::texts(node, "`env`", problems);
        names.into_iter().map(|Spanned { value, .. }| value).collect::<Vec<_>>()
    });
    let max_age_ms = match fields.get("for") {
        None => CachePlan::MAX_AGE_MS,
        Some(node) => match read::duration(node, "`for`", problems)? {
            most if most > MOST_MS => {
                let message = "`for` is longer than 366 days: nothing is kept in the cache for so long";
                return refuse(problems, Diagnostic::invalid(node.span, message));
            }
            age => age,
        },
    };
    Some(CachePlan { inputs, env, max_age_ms })
}
