//! Lists become one although both sides have changed the same lines: the file then has both versions, between markers.

use super::{
    bring::{Merged, NotMerged, merge},
    has_markers,
};
use crate::{
    disk::{contents::Shelf, intake::Intake},
    keep::Order,
    model::{
        conflict::Why,
        list::{Entry, Tree, What},
        merge::marked,
    },
};
use std::collections::BTreeMap;

/// Three lists as one, with the paths of files that have markers.
#[derive(Debug, Clone)]
pub struct Marked {
    /// The list.
    pub merged: Merged,
    /// Files with markers; none if there was no conflict.
    pub paths: Vec<Vec<u8>>,
}

/// Like [`merge`]. If both sides have changed the same lines of a text, both versions are put between markers; `name` is the name of the
/// other side in them.
///
/// # Errors
/// See [`NotMerged`]. The conflicts are those that markers cannot show: a file that is not a text, is deleted on one side, is a link or a
/// folder, or has markers already.
pub fn merge_marked(
    order: &Order,
    base: &Tree,
    ours: &Tree,
    theirs: &Tree,
    name: &str,
) -> Result<Marked, NotMerged> {
    let conflicts = match merge(order, base, ours, theirs, None) {
        Ok(merged) => return Ok(Marked { merged, paths: Vec::new() }),
        Err(NotMerged::Conflict { conflicts }) => conflicts,
        Err(error) => return Err(error),
    };
    let shelf = order.contents.shelf()?;
    let mut intake = Intake::new(&shelf);
    let mut files = BTreeMap::new();
    let mut others = Vec::new();
    for conflict in conflicts {
        let path = conflict.path.as_slice();
        let sides = [base.get(path), ours.get(path), theirs.get(path)];
        let text = match conflict.why {
            Why::Changed => text(sides, name, &shelf)?,
            Why::Clash { .. } | Why::Unlisted | Why::NotKept => None,
        };
        match text {
            Some((text, mode)) => {
                let size = u64::try_from(text.len()).unwrap_or(u64::MAX);
                let what = What::File { digest: intake.take(&text)?, size };
                files.insert(conflict.path.clone(), Entry { path: conflict.path, mode, what });
            }
            None => others.push(conflict),
        }
    }
    if !others.is_empty() {
        return Err(NotMerged::Conflict { conflicts: others });
    }
    intake.finish()?;
    // Both sides have the file with the markers now, so nothing is in conflict there.
    let with_files = |tree: &Tree| {
        let rest = tree.entries().iter().filter(|entry| !files.contains_key(&entry.path));
        Tree::new(rest.chain(files.values()).cloned().collect())
    };
    let merged = merge(order, base, &with_files(ours)?, &with_files(theirs)?, None)?;
    Ok(Marked { merged, paths: files.into_keys().collect() })
}

/// The text with markers, and the mode of the file. `None`: one side is no text, or has markers.
fn text(
    [base, ours, theirs]: [Option<&Entry>; 3],
    name: &str,
    shelf: &Shelf,
) -> Result<Option<(Vec<u8>, u32)>, NotMerged> {
    let file = |entry: &Entry| match entry.what {
        What::File { digest, .. } => Some(digest),
        _ => None,
    };
    let (Some(ours), Some(theirs)) = (ours, theirs) else { return Ok(None) };
    let (Some(one), Some(other)) = (file(ours), file(theirs)) else { return Ok(None) };
    // Two new files of one name have an empty text in common.
    let (common, mode) = match base.map(|base| (file(base), base.mode)) {
        Some((None, _)) => return Ok(None),
        Some((Some(digest), mode)) => (shelf.read(&digest)?, Some(mode)),
        None => (Vec::new(), None),
    };
    let (one, other) = (shelf.read(&one)?, shelf.read(&other)?);
    if has_markers(&one) || has_markers(&other) {
        return Ok(None);
    }
    let mode = if mode == Some(theirs.mode) { ours.mode } else { theirs.mode };
    Ok(marked(&common, &one, &[(name, other)]).map(|text| (text, mode)))
}
