//! Snapshots of the workspace, before and after the command, if the order wants them.
//!
//! The supervisor takes them, because the engine may not be running. A failed snapshot never stops an
//! attempt.

use crate::attempt::dir::AttemptDir;
use crate::attempt::record::Snapshot;
use crate::attempt::spec::Spec;
use crate::control::{cancel, presence};
use envoi_contract::digest::Digest;
use envoi_tree::{ContentError, ListError, NotKept, Order, Stop, Tree};
use std::io;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// How long a cancelled attempt waits for git, to record the files that its command has left.
const AFTER_CANCEL: Duration = Duration::from_secs(2);

/// A snapshot that was taken.
pub(crate) struct Taken {
    pub(crate) snapshot: Snapshot,
    /// The parts that the snapshot lacks, in a sentence.
    pub(crate) lack: Option<String>,
    /// The list of the snapshot.
    pub(crate) tree: Tree,
}

/// Takes a snapshot, unless `stop` is requested before git has listed the files. `None`: the order wants
/// none.
///
/// # Errors
/// The snapshot cannot be taken.
pub(crate) fn take(spec: &Spec, stop: Stop) -> Option<Result<Taken, NotKept>> {
    let order = Order { stop, ..spec.keep.clone()? };
    let was_moving = presence::is_beside_others(&spec.workspace);
    Some(envoi_tree::keep(&spec.workspace, &order).map(|kept| Taken {
        lack: kept.lack(),
        snapshot: Snapshot {
            digest: kept.digest.to_string(),
            moving: was_moving || presence::is_beside_others(&spec.workspace),
        },
        tree: kept.tree,
    }))
}

/// Before the command: stops at once if the attempt is cancelled, because then nothing starts any more.
pub(super) fn stop_before(dir: &AttemptDir) -> Stop {
    let dir = dir.clone();
    Stop::when(move || cancel::is_wanted(&dir))
}

/// After the command: stops only [`AFTER_CANCEL`] after a cancel, because the files that the command has left
/// are worth a short wait.
pub(super) fn stop_after(dir: &AttemptDir) -> Stop {
    let dir = dir.clone();
    let seen = OnceLock::new();
    Stop::when(move || cancel::is_wanted(&dir) && seen.get_or_init(Instant::now).elapsed() >= AFTER_CANCEL)
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
