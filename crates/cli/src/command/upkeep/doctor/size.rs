//! The size of the store, the part that is about to be removed, and the free space of the disk.

use super::Finding;
use crate::process::invocation;
use envoi_journal::Store;
use std::{fs, io, path::PathBuf};

/// A store of at least this size is a warning.
const LARGE_BYTES: u64 = 5 << 30;

/// The least free space of the disk without a warning, in per cent.
const LITTLE_FREE: u64 = 10;

pub(super) fn look(store: &Store) -> Finding {
    let finding = |ok, is_warning, detail| Finding { what: "size", ok, detail, agent: None, is_warning };
    let layout = store.layout();
    let bytes = below(vec![layout.root().to_owned()]);
    let old = below(vec![layout.old_contents(), layout.old_packs(), layout.trash()]);
    let deleted = store.reader().and_then(|reader| reader.tombstones()).map_or(0, |left| left.len());
    let room = match rustix::fs::statvfs(layout.root()) {
        Ok(room) => room,
        Err(error) => {
            return finding(false, false, format!("{}: {}", layout.root().display(), io::Error::from(error)));
        }
    };
    let (free, all) =
        (room.f_bavail.saturating_mul(room.f_frsize), room.f_blocks.saturating_mul(room.f_frsize));
    let percent = free.saturating_mul(100).checked_div(all).unwrap_or(100);
    let mut detail = format!("the store has {} MiB, the disk {percent} % free", bytes >> 20);
    if old > 0 {
        detail.push_str(&format!("; {} MiB are about to go", old >> 20));
    }
    if deleted > 0 {
        detail.push_str(&format!("; {deleted} runs were deleted"));
    }
    let envoi = invocation::envoi();
    let warning = warning(bytes, percent);
    if let Some(why) = warning {
        detail.push_str(&format!("; {why}: `{envoi} gc --dry-run` says what can go"));
    }
    finding(true, warning.is_some(), detail)
}

fn warning(bytes: u64, percent_free: u64) -> Option<&'static str> {
    match (bytes, percent_free) {
        (LARGE_BYTES.., _) => Some("5 GiB or more"),
        (_, ..LITTLE_FREE) => Some("little room"),
        _ => None,
    }
}

/// The bytes that regular files below these folders use on disk, without holes. Links are not followed.
fn below(mut folders: Vec<PathBuf>) -> u64 {
    let mut bytes = 0_u64;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.metadata() {
                Ok(found) if found.is_dir() => folders.push(entry.path()),
                Ok(found) if found.is_file() => {
                    bytes = bytes.saturating_add(envoi_durable::without_holes(&found));
                }
                _ => {}
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_store_and_a_disk_with_little_room_are_warnings() {
        let rows = [
            (LARGE_BYTES - 1, 10, None),
            (LARGE_BYTES, 10, Some("5 GiB or more")),
            (LARGE_BYTES, 9, Some("5 GiB or more")),
            (0, 9, Some("little room")),
            (0, 100, None),
        ];
        for (bytes, percent, expected) in rows {
            assert_eq!(warning(bytes, percent), expected, "{bytes} {percent}");
        }
    }
}
