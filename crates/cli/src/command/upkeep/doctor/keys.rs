//! Checks the key files of the store. A step could have put anything in their place.

use super::{Finding, finding};
use core::fmt::Display;
use envoi_journal::Layout;
use std::path::Path;

/// Each file, and what fails without it.
const KEYS: [(&str, &str); 2] = [
    ("secrets.key", "no step of a flow with `secrets` starts"),
    ("bridge.key", "`envoi serve` does not come up where models are configured"),
];

/// The length of both keys. A missing key is made when it is needed.
const KEY_BYTES: usize = 32;
/// A larger file is not a key.
const MOST_BYTES: u64 = 1024;

/// Returns a finding for each file that is not a key.
pub(super) fn look(layout: &Layout) -> Vec<Finding> {
    let look = |(name, consequence): &(&str, &str)| wrong(&layout.root().join(name), consequence);
    KEYS.iter().filter_map(look).collect()
}

fn wrong(path: &Path, consequence: &str) -> Option<Finding> {
    let bad = |reason: &dyn Display| {
        let text =
            format!("`{}`: {reason}, and {consequence}: remove it; another one is made", path.display());
        Some(finding("key of the store", Err(text)))
    };
    match envoi_durable::read_plain(path, MOST_BYTES) {
        Ok(Some(key)) if key.len() != KEY_BYTES => bad(&format_args!("it is not {KEY_BYTES} bytes long")),
        Ok(_) => None,
        Err(error) => bad(&error),
    }
}
