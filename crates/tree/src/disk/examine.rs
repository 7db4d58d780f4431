//! Whether the snapshots of a store are whole: their lists, and each content that a list names.

use crate::{
    disk::contents::{ContentError, Contents},
    model::list::Tree,
};
use envoi_contract::digest::Digest;
use std::{collections::BTreeSet, io};

/// The damage of these snapshots, a sentence each. Every content is read and compared with its digest, each once.
///
/// # Errors
/// The store cannot be read.
pub fn damage(contents: &Contents, snapshots: &BTreeSet<Digest>) -> io::Result<Vec<String>> {
    let mut lines: Vec<String> = Vec::new();
    for (path, error) in contents.broken_packs()? {
        lines.push(format!("pack `{}`: {error}; what it held counts as missing", path.display()));
    }
    let shelf = contents.shelf()?;
    let mut seen = BTreeSet::new();
    for snapshot in snapshots {
        let tree = match shelf.read(snapshot) {
            Err(error) => {
                lines.push(format!("the list of snapshot `{snapshot}`: {}", in_words(&error)));
                continue;
            }
            Ok(bytes) => Tree::parse(&bytes),
        };
        let tree = match tree {
            Err(error) => {
                lines.push(format!("the list of snapshot `{snapshot}`: {error}"));
                continue;
            }
            Ok(tree) => tree,
        };
        for entry in tree.entries() {
            let Some((digest, _)) = entry.content().filter(|(digest, _)| seen.insert(*digest)) else {
                continue;
            };
            if let Err(error) = shelf.read(&digest) {
                lines.push(format!("`{}` in snapshot `{snapshot}`: {}", entry.shown(), in_words(&error)));
            }
        }
    }
    Ok(lines)
}

fn in_words(error: &ContentError) -> String {
    error.to_string()
}
