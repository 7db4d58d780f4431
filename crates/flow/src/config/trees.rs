//! `trees:` of the configuration: limits for a snapshot of the files of a run.
//!
//! Owns its keys. The crate that takes snapshots decides what happens beyond a limit.

use super::retention::size;
use crate::syntax::{
    diagnostic::{Diagnostic, Problems},
    keys::Vocabulary,
    read::{self, Fields, refuse},
    yaml::Node,
};
use core::ops::RangeInclusive;

pub(crate) const TREES: Vocabulary =
    Vocabulary { place: "`trees`", keys: &["max_file", "max_new", "max_files"], later: &[] };

/// Limits of a snapshot. `None` uses the engine's default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trees {
    /// The largest file that is stored, in bytes.
    pub max_file_bytes: Option<u64>,
    /// The largest number of bytes that are new to the store.
    pub max_new_bytes: Option<u64>,
    /// The largest number of files.
    pub max_files: Option<u32>,
}

/// A file is held in memory while it is stored.
const FILE_BYTES: RangeInclusive<u64> = 1 << 10..=4 << 30;
/// With a smaller limit nearly every snapshot would be refused.
const NEW_BYTES: RangeInclusive<u64> = 1 << 20..=16 << 40;
/// The whole list is held in memory.
const FILES: RangeInclusive<u64> = 1..=10_000_000;

pub(crate) fn read(node: &Node, problems: &mut Problems) -> Trees {
    let Some(fields) = Fields::of(node, &TREES, problems) else { return Trees::default() };
    let mut bytes = |key: &str, bounds: &RangeInclusive<u64>, in_words: &str| {
        let node = fields.get(key)?;
        let name = format!("`{key}`");
        let found = size(node, &name, problems)?;
        if bounds.contains(&found) {
            return Some(found);
        }
        let message = format!("{name} is past its bounds");
        refuse(problems, Diagnostic::invalid(node.span, message).help(format!("{in_words} are possible")))
    };
    let max_file_bytes = bytes("max_file", &FILE_BYTES, "1KiB to 4GiB");
    let max_new_bytes = bytes("max_new", &NEW_BYTES, "1MiB to 16TiB");
    let max_files = fields.get("max_files");
    let max_files = max_files.and_then(|node| read::integer(node, "`max_files`", FILES, problems));
    Trees { max_file_bytes, max_new_bytes, max_files: max_files.and_then(|count| u32::try_from(count).ok()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{self, tests::fits_schema};

    #[test]
    fn the_bounds_of_a_snapshot_are_sizes_and_a_number_within_reason() {
        let read = |text: &str| config::load("config.yaml", text).map(|config| config.trees);
        let all = "trees: { max_file: 1GiB, max_new: 20GiB, max_files: 1000000 }";
        let found = read(all).unwrap();
        let bounds = (found.max_file_bytes, found.max_new_bytes, found.max_files);
        assert_eq!(bounds, (Some(1 << 30), Some(20 << 30), Some(1_000_000)));
        assert_eq!(read("").unwrap(), Trees::default());
        assert!([all, "trees: {}", "trees: { max_file: 1KiB }"].into_iter().all(fits_schema));
        let wrong = [
            "max_file: 5GiB",
            "max_file: 64",
            "max_new: 1KiB",
            "max_new: 17TiB",
            "max_files: 0",
            "max_files: 10000001",
            "max_fil: 1GiB",
        ];
        for text in wrong.map(|member| format!("trees: {{ {member} }}")) {
            assert_eq!(read(&text).map_err(|report| report.diagnostics.len()), Err(1), "{text}");
        }
    }
}
