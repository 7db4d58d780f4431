//! `retention:` of the configuration: how long finished runs are kept.
//!
//! Owns its keys. Without them nothing is deleted by age. The engine decides what is never deleted.

use crate::syntax::{
    diagnostic::{Diagnostic, Problems},
    keys::Vocabulary,
    read::{self, Fields, refuse},
    yaml::Node,
};
use std::collections::BTreeMap;

pub(crate) const RETENTION: Vocabulary = Vocabulary {
    place: "`retention`",
    keys: &["older", "keep_last", "max_size", "trash", "archive", "tenants"],
    later: &[],
};

pub(crate) const OF_TENANT: Vocabulary =
    Vocabulary { place: "a tenant of `retention`", keys: &["older", "keep_last"], later: &[] };

/// How long finished runs are kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Retention {
    /// The rule for tenants without their own rule.
    pub all: Rule,
    /// The size of the store in bytes above which the oldest runs are deleted.
    pub max_bytes: Option<u64>,
    /// How long unreferenced contents stay in the trash before they are removed.
    pub trash_ms: Option<u64>,
    /// The folder for the bundle of each deleted run, relative to the store's folder.
    pub archive: Option<String>,
    /// The rules of single tenants.
    pub tenants: BTreeMap<String, Rule>,
}

/// Selects the runs to delete.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rule {
    /// Runs that ended at least this long ago, in milliseconds.
    pub older_ms: Option<u64>,
    /// The number of runs of each flow that are kept anyway.
    pub keep_last: Option<u32>,
}

const KEEP_LAST: core::ops::RangeInclusive<u64> = 0..=u32::MAX as u64;

pub(crate) fn read(node: &Node, problems: &mut Problems) -> Retention {
    let Some(fields) = Fields::of(node, &RETENTION, problems) else { return Retention::default() };
    let mut tenants = BTreeMap::new();
    let named = fields.get("tenants").and_then(|node| read::mapping(node, "`tenants`", problems));
    for (name, node) in named.unwrap_or_default() {
        if let Some(fields) = Fields::of(node, &OF_TENANT, problems) {
            tenants.insert(name.text.clone(), rule(&fields, problems));
        }
    }
    let archive = fields.get("archive").and_then(|node| read::text(node, "`archive`", problems));
    Retention {
        all: rule(&fields, problems),
        max_bytes: fields.get("max_size").and_then(|node| size(node, "`max_size`", problems)),
        trash_ms: fields.get("trash").and_then(|node| read::duration_or_zero(node, "`trash`", problems)),
        archive: archive.map(str::to_owned),
        tenants,
    }
}

fn rule(fields: &Fields<'_>, problems: &mut Problems) -> Rule {
    let keep_last = fields.get("keep_last");
    let keep_last = keep_last.and_then(|node| read::integer(node, "`keep_last`", KEEP_LAST, problems));
    Rule {
        older_ms: fields.get("older").and_then(|node| read::duration(node, "`older`", problems)),
        keep_last: keep_last.and_then(|count| u32::try_from(count).ok()),
    }
}

/// A size such as `5GiB`.
pub(super) fn size(node: &Node, name: &str, problems: &mut Problems) -> Option<u64> {
    let token = read::token(node, name, problems)?;
    parse_size(token).or_else(|| {
        let message = format!("{name} is `{token}`");
        refuse(
            problems,
            Diagnostic::invalid(node.span, message).help("write a size such as `500MiB` or `5GiB`"),
        )
    })
}

/// Bytes of a size such as `500MiB` or `5GiB`; `None` for anything else.
///
/// ```
/// assert_eq!(envoi_flow::parse_size("5GiB"), Some(5 << 30));
/// assert_eq!(envoi_flow::parse_size("5GB"), None);
/// ```
#[must_use]
pub fn parse_size(text: &str) -> Option<u64> {
    let units = [("KiB", 1_u64 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("TiB", 1 << 40)];
    let (number, unit) = units.iter().find_map(|(name, unit)| Some((text.strip_suffix(name)?, unit)))?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    number.parse::<u64>().ok().filter(|_| is_number)?.checked_mul(*unit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config;

    #[test]
    fn a_rule_says_how_long_runs_are_kept() {
        let text = "retention:\n  older: 30d\n  keep_last: 20\n  max_size: 5GiB\n  trash: 2h\n  archive: ../old\n  \
                    tenants: { acme: { older: 7d }, Other: {} }\n";
        let found = config::load("config.yaml", text).unwrap().retention;
        let of = |older_ms, keep_last| Rule { older_ms, keep_last };
        assert_eq!(
            found,
            Retention {
                all: of(Some(2_592_000_000), Some(20)),
                max_bytes: Some(5 << 30),
                trash_ms: Some(7_200_000),
                archive: Some("../old".to_owned()),
                tenants: BTreeMap::from([
                    ("acme".to_owned(), of(Some(604_800_000), None)),
                    ("Other".to_owned(), of(None, None)),
                ]),
            }
        );
        assert_eq!(config::load("config.yaml", "").unwrap().retention, Retention::default());
        // Like `envoi gc --trash 0s`.
        let none = config::load("config.yaml", "retention: { trash: 0s }").unwrap().retention;
        assert_eq!(none.trash_ms, Some(0));
    }

    #[test]
    fn what_could_delete_too_much_is_refused() {
        let wrong = [
            "{ older: 30 }",
            "{ older: 30days }",
            "{ older: 0s }",
            "{ trash: 0 }",
            "{ trash: -1s }",
            "{ keep_last: -1 }",
            "{ keep_last: many }",
            "{ max_size: 5GB }",
            "{ max_size: 5 }",
            "{ max_size: GiB }",
            "{ max_size: +5GiB }",
            "{ keeplast: 5 }",
            "{ archive: {} }",
            "{ tenants: { acme: { max_size: 5GiB } } }",
            "30d",
        ];
        for text in wrong.map(|value| format!("retention: {value}")) {
            assert!(config::load("config.yaml", &text).is_err(), "{text}");
        }
    }
}
