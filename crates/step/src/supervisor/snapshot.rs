//! Snapshots of the workspace, before and after the command, where the order asks for them.
//!
//! The supervisor takes them, because it is there when the engine is not. One that cannot be taken never stops an attempt.

use crate::attempt::record::Snapshot;
use crate::attempt::spec::Spec;
use crate::control::presence;
use envoi_contract::digest::Digest;
use envoi_tree::{Order, Tree};

/// Takes a snapshot. `None`: the order asks for none.
///
/// # Errors
/// Why there is none, for a person.
pub(crate) fn take(spec: &Spec) -> Option<Result<Snapshot, String>> {
    let order = spec.keep.as_ref()?;
    let was_moving = presence::is_beside_others(&spec.workspace);
    let kept = envoi_tree::keep(&spec.workspace, order).map_err(|error| error.to_string());
    Some(kept.map(|kept| Snapshot {
        digest: kept.digest.to_string(),
        moving: was_moving || presence::is_beside_others(&spec.workspace),
    }))
}

/// Reads a snapshot of the store.
///
/// # Errors
/// Why it cannot be read, for a person.
pub(super) fn read(order: &Order, digest: &str) -> Result<Tree, String> {
    let digest = Digest::parse(digest).ok_or_else(|| "it has no digest".to_owned())?;
    let shelf = order.contents.shelf().map_err(|error| error.to_string())?;
    let list = shelf.read(&digest).map_err(|error| error.to_string())?;
    Tree::parse(&list).map_err(|error| error.to_string())
}
