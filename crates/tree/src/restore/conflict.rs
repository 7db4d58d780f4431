//! Files in conflict, as a person gets them to edit: one text a file, with markers where lines are in conflict.
//!
//! A file that is not a text, or is deleted on one side, cannot be marked line by line. It is replaced by a short text between markers that
//! describes each side.

use super::{NotRestored, staged};
use crate::{
    disk::{contents::Shelf, intake::Intake},
    keep::Order,
    model::{
        list::{Entry, LeftOut, Tree, What},
        merge::{self, BETWEEN, OURS, THEIRS, Version},
    },
};
use std::{fs, path::Path};

/// A file in conflict.
#[derive(Debug, Clone)]
pub struct InConflict<'t> {
    /// Relative to the folder.
    pub path: &'t [u8],
    /// The entry in the folder.
    pub ours: Option<&'t Entry>,
    /// The entries of the other sides, one after the other.
    pub theirs: Vec<Comes<'t>>,
}

/// The entry of one other side.
#[derive(Debug, Clone)]
pub struct Comes<'t> {
    /// Its name in the markers.
    pub name: String,
    /// The entry before its changes.
    pub base: Option<&'t Entry>,
    /// The entry after its changes.
    pub theirs: Option<&'t Entry>,
}

/// Writes these files into a new folder. Durable. Only the owner may read them.
///
/// # Errors
/// The folder is not empty, cannot be written, or a content cannot be read.
pub fn lay_conflicts(folder: &Path, order: &Order, files: &[InConflict<'_>]) -> Result<(), NotRestored> {
    let shelf = order.contents.shelf().map_err(|source| staged(&order.contents.packs, source))?;
    let mut intake = Intake::new(&shelf);
    let store = |source| staged(&order.contents.files, source);
    let mut entries = Vec::new();
    for file in files {
        let text = text(file, &shelf)?;
        let size = u64::try_from(text.len()).unwrap_or(u64::MAX);
        let digest = intake.take(&text).map_err(store)?;
        entries.push(Entry { path: file.path.to_vec(), mode: 0o600, what: What::File { digest, size } });
    }
    intake.finish().map_err(store)?;
    let tree =
        Tree::new(entries).map_err(|error| NotRestored::InTheWay { paths: vec![error.to_string()] })?;
    super::write_into(folder, order, &tree)?;
    let folder_file = fs::File::open(folder).map_err(|source| staged(folder, source))?;
    rustix::fs::syncfs(&folder_file).map_err(|errno| staged(folder, errno.into()))
}

/// Several other sides are all shown beside each other, between one pair of markers.
fn text(file: &InConflict<'_>, shelf: &Shelf) -> Result<Vec<u8>, NotRestored> {
    let ours = content(file.ours, shelf)?;
    let mut bases = Vec::new();
    let mut theirs = Vec::new();
    for Comes { name, base, theirs: comes } in &file.theirs {
        bases.push(content(*base, shelf)?.unwrap_or_default());
        theirs.push((name.as_str(), *comes, content(*comes, shelf)?));
    }
    let Some(base) = bases.first() else { return Ok(ours.unwrap_or_default()) };
    let all: Option<Vec<Version<'_>>> =
        theirs.iter().map(|(name, _, content)| Some((*name, content.clone()?))).collect();
    let is_of_one_base = bases.iter().all(|other| other == base);
    let marked = ours.as_ref().zip(all).filter(|_| is_of_one_base);
    if let Some(marked) = marked.and_then(|(ours, theirs)| merge::marked(base, ours, &theirs)) {
        return Ok(marked);
    }
    let shown = |content: &Option<Vec<u8>>, entry: Option<&Entry>| match content {
        Some(text) if !text.contains(&0) => text.clone(),
        _ => described(entry).into_bytes(),
    };
    let theirs: Vec<Version<'_>> =
        theirs.iter().map(|(name, entry, content)| (*name, shown(content, *entry))).collect();
    Ok(merge::markers(&shown(&ours, file.ours), &theirs))
}

/// The content of a file. `None`: there is none, or it is no file.
fn content(entry: Option<&Entry>, shelf: &Shelf) -> Result<Option<Vec<u8>>, NotRestored> {
    match entry.map(|entry| entry.what) {
        Some(What::File { digest, .. }) => Ok(Some(shelf.read(&digest)?)),
        _ => Ok(None),
    }
}

/// The entry, in a line.
fn described(entry: Option<&Entry>) -> String {
    match entry.map(|entry| entry.what) {
        None => "(deleted)\n".to_owned(),
        Some(What::File { digest, size }) => format!("(no text: {size} bytes, {digest})\n"),
        Some(What::Link { digest, .. }) => format!("(a link: {digest})\n"),
        Some(What::EmptyFolder) => "(a folder)\n".to_owned(),
        Some(What::LeftOut { why: LeftOut::Unlisted, .. }) => "(a folder that cannot be listed)\n".to_owned(),
        Some(What::LeftOut { size, .. }) => format!("(not kept: {size} bytes)\n"),
    }
}

/// Whether this text has markers of [`lay_conflicts`], or of the web page. A line of `=` alone is no sign of one: it also underlines
/// headings.
#[must_use]
pub fn has_markers(text: &[u8]) -> bool {
    // The page writes the name of a version behind the line between the sides, if there are several.
    let markers = [format!("{OURS} "), format!("{THEIRS} "), format!("{BETWEEN} item ")];
    let begins = |line: &[u8]| markers.iter().any(|marker| line.starts_with(marker.as_bytes()));
    text.split(|byte| *byte == b'\n').any(begins)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_of_a_conflict_is_seen_and_a_heading_is_none() {
        for (text, expected) in [
            ("a\n<<<<<<< ours\nb\n", true),
            ("a\n>>>>>>> item 2\n", true),
            ("a\n======= item 2\nb\n", true),
            ("Title\n=======\n", false),
            ("=======  =======\na        b\n", false),
            ("<<<<<<<ours\n", false),
        ] {
            assert_eq!(has_markers(text.as_bytes()), expected, "{text}");
        }
    }
}
