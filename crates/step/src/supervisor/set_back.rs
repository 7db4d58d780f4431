//! Restores the files of the workspace to a snapshot before the command, if the order says so.
//!
//! It happens before the start is claimed: a supervisor that is killed meanwhile has started nothing, and the
//! next one repeats the restore. `before.json` names the original state before the first file changes. If the
//! files cannot be restored, the attempt is not started.

use super::snapshot;
use crate::attempt::dir::AttemptDir;
use crate::attempt::displaced::LateFile;
use crate::attempt::record::SetBack;
use crate::attempt::spec::Spec;
use crate::control::presence;
use crate::mask::Secrets;
use crate::workspace::before::Before;
use core::fmt::Display;
use envoi_tree::{Late, Order, Tree};
use std::io;

/// The most paths of unchanged files in a record.
const MOST_LEFT: usize = 100;

/// Why files are not restored.
#[derive(Debug, thiserror::Error)]
pub(super) enum NotSetBack {
    /// Another attempt works in the workspace, and its changes could be undone.
    #[error("another attempt is at work in the same folder")]
    Beside,
    #[error("the snapshot {digest} cannot be read: {source}")]
    Snapshot { digest: String, source: snapshot::Unreadable },
    /// A text without secrets. It may name files.
    #[error("{0}")]
    Files(String),
    #[error("`before.json`: {0}")]
    Announced(io::Error),
}

/// Restores the files. `None`: the order does not say so, or the files are in that state already.
///
/// # Errors
/// See [`NotSetBack`]: the attempt must not start.
pub(super) fn set_back(
    spec: &Spec,
    dir: &AttemptDir,
    secrets: &Secrets,
) -> Result<Option<SetBack>, NotSetBack> {
    let (Some(order), Some(to)) = (&spec.keep, &spec.set_back) else { return Ok(None) };
    let order = &Order { stop: snapshot::stop_before(dir), ..order.clone() };
    let masked = |error: &dyn Display| NotSetBack::Files(secrets.mask_str(&error.to_string()));
    if presence::is_beside_others(&spec.workspace) {
        return Err(NotSetBack::Beside);
    }
    let target = tree(order, to)?;
    let begun = Before::read(dir).ok().and_then(|before| before.set_back).filter(|begun| begun.to == *to);
    let stood = envoi_tree::stand(&spec.workspace, order, &target);
    let stood = stood.map_err(|error| masked(&error))?;
    let now = stood.kept.digest.to_string();
    if begun.is_none() && now == *to {
        return Ok(None);
    }
    // A state that an earlier supervisor has half restored is not the original one.
    let mut set_back = match begun.clone() {
        Some(begun) => begun,
        None => {
            let gone = envoi_tree::keep_folders(order, &stood.folders).map_err(|error| masked(&error))?;
            let folders_gone = gone.map(|digest| digest.to_string());
            SetBack { from: now, to: to.clone(), folders_gone, late: Vec::new(), left: Vec::new() }
        }
    };
    set_back.late.extend(late(&stood.found, secrets));
    if begun.is_some() {
        let from = tree(order, &set_back.from)?;
        let written = envoi_tree::written_since(&stood.kept.tree, &from, &target);
        set_back.late.extend(late(&written, secrets));
    }
    Before::announce(spec, dir, &set_back).map_err(NotSetBack::Announced)?;
    let restored = envoi_tree::restore(&spec.workspace, order, &target);
    let restored = restored.map_err(|error| masked(&error))?;
    set_back.late.extend(late(&restored.late, secrets));
    let left = restored.left.iter().take(MOST_LEFT);
    set_back.left = left.map(|path| name(path, secrets)).collect();
    Ok(Some(set_back))
}

fn tree(order: &Order, digest: &str) -> Result<Tree, NotSetBack> {
    snapshot::read(order, digest).map_err(|source| NotSetBack::Snapshot { digest: digest.to_owned(), source })
}

/// In the form of a record.
pub(super) fn late(found: &[Late], secrets: &Secrets) -> Vec<LateFile> {
    let of = |late: &Late| LateFile {
        path: name(&late.path, secrets),
        digest: late.digest.map(|digest| digest.to_string()),
        size: late.size,
    };
    found.iter().map(of).collect()
}

fn name(path: &[u8], secrets: &Secrets) -> String {
    secrets.mask_str(&String::from_utf8_lossy(path))
}
