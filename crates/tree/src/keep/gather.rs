//! Files from anywhere become a list: the output of a command is kept in the form of a snapshot.

use super::Order;
use crate::{
    disk::intake::Intake,
    model::list::{Entry, Tree, What},
};
use envoi_contract::digest::Digest;
use std::io;

/// A regular file, with all of its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gathered {
    /// Its path in the list.
    pub path: Vec<u8>,
    /// The nine permission bits.
    pub mode: u32,
    /// Its content.
    pub content: Vec<u8>,
}

/// Stores these files and their list. Only one file at a time is in memory. All of it is durable when this
/// returns.
///
/// # Errors
/// An error of `files`; a path cannot be in a list, or is in it twice; the store cannot be written; more than
/// [`crate::Bounds::max_new_bytes`] would be new to it.
pub fn gather(
    order: &Order,
    files: impl IntoIterator<Item = io::Result<Gathered>>,
) -> io::Result<(Digest, Tree)> {
    order.contents.create()?;
    let shelf = order.contents.shelf()?;
    let mut intake = Intake::new(&shelf);
    let mut entries = Vec::new();
    for file in files {
        let Gathered { path, mode, content } = file?;
        let size = u64::try_from(content.len()).unwrap_or(u64::MAX);
        let digest = intake.take(&content)?;
        entries.push(Entry { path, mode: mode & 0o777, what: What::File { digest, size } });
        if intake.bytes() > order.bounds.max_new_bytes {
            let most = order.bounds.max_new_bytes >> 20;
            return Err(io::Error::other(format!("more than {most} MiB of it are new to the store")));
        }
    }
    let tree = Tree::new(entries).map_err(io::Error::other)?;
    let digest = intake.take(&tree.encode())?;
    intake.finish()?;
    Ok((digest, tree))
}
