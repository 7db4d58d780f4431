//! Snapshots of a folder in git: the first one, one of an unchanged folder, one after some changes, and a
//! restore.

use crate::{
    Outcome,
    row::{Row, median},
};
use envoi_tree::{Bounds, Contents, Kept, Order, Stop, keep, restore};
use std::{fs, path::Path, process::Command, time::Instant};

/// Rounds of repeated measurements.
const ROUNDS: usize = 9;
/// Files that change between two snapshots.
const CHANGED: usize = 20;
/// Files per folder.
const A_FOLDER: usize = 25;

/// A row for each measurement.
pub(crate) fn snapshots(count: usize) -> Outcome<Vec<Row>> {
    let base = tempfile::tempdir()?;
    let root = base.path().join("work");
    fs::create_dir(&root)?;
    git(&root, &["init", "-q"])?;
    for nth in 0..count {
        write(&root, nth, "first")?;
    }
    git(&root, &["add", "-A"])?;
    let store = base.path().join("store");
    let order = Order {
        contents: Contents {
            files: store.join("sha256"),
            temporary: store.join("tmp"),
            packs: store.join("packs"),
        },
        caches: store.join("caches"),
        never: vec![store.clone()],
        too_wide: Vec::new(),
        scope: envoi_tree::Scope::default(),
        bounds: Bounds::default(),
        stop: Stop::default(),
    };
    let listing = median(
        (0..ROUNDS)
            .map(|_| timed(|| git(&root, &["ls-files", "-co", "--exclude-standard"])))
            .collect::<Outcome<_>>()?,
    );
    let mut first = None;
    let first_s = timed(|| keep_into(&mut first, &root, &order))?;
    // Files that were written a moment ago are read a second time, so take one snapshot before measuring.
    keep(&root, &order)?;
    let unchanged =
        median((0..ROUNDS).map(|_| timed(|| Ok(keep(&root, &order).map(drop)?))).collect::<Outcome<_>>()?);
    let mut changed = Vec::new();
    let mut back = Vec::new();
    let first = first.ok_or("no snapshot")?;
    for round in 0..ROUNDS {
        for nth in 0..CHANGED.min(count) {
            write(&root, nth.saturating_mul(7) % count, &format!("round {round}"))?;
        }
        changed.push(timed(|| Ok(keep(&root, &order).map(drop)?))?);
        back.push(timed(|| Ok(restore(&root, &order, &first.tree).map(drop)?))?);
    }
    let row = |what: &str, seconds: f64, target| Row {
        what: format!("{what}, {count} files"),
        value: format!("{:.1} ms", seconds * 1e3),
        raw: format!("{:.1} ms (git ls-files)", listing * 1e3),
        figure: format!("{:.1}", seconds / listing.max(1e-9)),
        spread: String::new(),
        target,
    };
    Ok(vec![
        row("first snapshot", first_s, ""),
        row("snapshot, nothing changed", unchanged, "40 ms at 5,000 files"),
        row("snapshot, 20 files changed", median(changed), ""),
        row("restore, 20 files back", median(back), ""),
    ])
}

fn keep_into(kept: &mut Option<Kept>, root: &Path, order: &Order) -> Outcome<()> {
    *kept = Some(keep(root, order)?);
    Ok(())
}

fn write(root: &Path, nth: usize, word: &str) -> Outcome<()> {
    let folder = root.join(format!("folder-{}", nth / A_FOLDER));
    fs::create_dir_all(&folder)?;
    Ok(fs::write(folder.join(format!("file-{nth}")), format!("{word} {nth}\n").repeat(300))?)
}

fn git(root: &Path, arguments: &[&str]) -> Outcome<()> {
    let output = Command::new("git").args(arguments).current_dir(root).output()?;
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into()) }
}

fn timed(work: impl FnOnce() -> Outcome<()>) -> Outcome<f64> {
    let began = Instant::now();
    work()?;
    Ok(began.elapsed().as_secs_f64())
}
