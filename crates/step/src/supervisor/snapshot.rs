//! Snapshots of the workspace, before and after the command, where the order asks for them.
//!
//! The supervisor takes them, because it is there when the engine is not. One that cannot be taken never stops an attempt.

use crate::attempt::record::Snapshot;
use crate::attempt::spec::Spec;
use crate::control::presence;
use envoi_contract::digest::Digest;
use envoi_tree::{ContentError, ListError, NotKept, Order, Tree};
use std::io;

/// Takes a snapshot. `None`: the order asks for none.
///
/// # Errors
/// It cannot be taken.
pub(crate) fn take(spec: &Spec) -> Option<Result<Snapshot, NotKept>> {
    let order = spec.keep.as_ref()?;
    let was_moving = presence::is_beside_others(&spec.workspace);
    Some(envoi_tree::keep(&spec.workspace, order).map(|kept| Snapshot {
        digest: kept.digest.to_string(),
        moving: was_moving || presence::is_beside_others(&spec.workspace),
    }))
}

/// Why a snapshot of the store cannot be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unreadable {
    #[error("it has no digest")]
    NoDigest,
    #[error(transparent)]
    Packs(#[from] io::Error),
    #[error(transparent)]
    Content(#[from] ContentError),
    #[error(transparent)]
    List(#[from] ListError),
}

/// Reads a snapshot of the store.
///
/// # Errors
/// See [`Unreadable`].
pub(super) fn read(order: &Order, digest: &str) -> Result<Tree, Unreadable> {
    let digest = Digest::parse(digest).ok_or(Unreadable::NoDigest)?;
    let list = order.contents.shelf()?.read(&digest)?;
    Ok(Tree::parse(&list)?)
}
