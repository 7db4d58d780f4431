//! How long snapshots of a folder take, and what they need in the store: `snapshots FOLDER [ROUNDS]`. The folder is copied first.
//!
//! A line a round: milliseconds of the first snapshot, of one where nothing has changed, of one where 20 files have, of one where 200 have
//! (a pack of its own), of a restore of all files into an empty folder; then bytes of the files, and bytes of the store after the first
//! snapshot.
#![allow(clippy::print_stdout, reason = "it is what this program is for")]

use envoi_tree::{Bounds, Contents, Entry, Order, Stop, keep, write_into};
use std::{
    env,
    error::Error,
    fs, io,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
    process::Command,
    time::Instant,
};

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let mut arguments = env::args_os().skip(1);
    let folder = PathBuf::from(arguments.next().ok_or("usage: snapshots FOLDER [ROUNDS]")?);
    let rounds = arguments.next().and_then(|text| text.to_str()?.parse().ok()).unwrap_or(5);
    println!("first unchanged 20-changed 200-changed restored | files bytes store-bytes");
    (0..rounds).try_for_each(|_| round(&folder))
}

fn round(folder: &Path) -> Outcome<()> {
    let base = tempfile::tempdir()?;
    let root = base.path().join("work");
    let copied = Command::new("cp").arg("-a").arg("--").args([folder, &root]).status()?;
    if !copied.success() {
        return Err("the folder cannot be copied".into());
    }
    // What is written back later would be counted as the time of a snapshot.
    rustix::fs::sync();
    let store = base.path().join("store");
    let place = |name: &str| store.join(name);
    let order = Order {
        contents: Contents { files: place("sha256"), temporary: place("tmp"), packs: place("packs") },
        caches: place("caches"),
        never: vec![store.clone()],
        too_wide: Vec::new(),
        scope: envoi_tree::Scope::default(),
        bounds: Bounds::default(),
        stop: Stop::default(),
    };
    let (first_ms, first) = timed(|| Ok(keep(&root, &order)?))?;
    let store_bytes = bytes_in(&store)?;
    // Files that were written just now are read a second time.
    keep(&root, &order)?;
    let (unchanged_ms, _) = timed(|| Ok(keep(&root, &order)?))?;
    let files: Vec<&Entry> = first.tree.entries().iter().filter(|entry| entry.content().is_some()).collect();
    let change = |count: usize, word: &str| {
        for entry in files.iter().step_by((files.len() / count).max(1)).take(count) {
            let path = root.join(std::ffi::OsStr::from_bytes(&entry.path));
            if fs::symlink_metadata(&path)?.is_file() {
                let mut content = fs::read(&path)?;
                content.extend_from_slice(word.as_bytes());
                fs::write(&path, content)?;
            }
        }
        io::Result::Ok(())
    };
    change(20, "\none more line\n")?;
    let (few_ms, _) = timed(|| Ok(keep(&root, &order)?))?;
    change(200, "\nanother line\n")?;
    let (many_ms, _) = timed(|| Ok(keep(&root, &order)?))?;
    let there = base.path().join("there");
    let (restored_ms, _) = timed(|| Ok(write_into(&there, &order, &first.tree)?))?;
    let bytes: u64 = files.iter().filter_map(|entry| Some(entry.content()?.1)).sum();
    println!(
        "{first_ms:.1} {unchanged_ms:.1} {few_ms:.1} {many_ms:.1} {restored_ms:.1} | {} {bytes} {store_bytes}",
        files.len()
    );
    Ok(())
}

fn timed<T>(work: impl FnOnce() -> Outcome<T>) -> Outcome<(f64, T)> {
    let began = Instant::now();
    let done = work()?;
    Ok((began.elapsed().as_secs_f64() * 1e3, done))
}

/// What the disk has for the packs and single files, in blocks.
fn bytes_in(folder: &Path) -> io::Result<u64> {
    use std::os::unix::fs::MetadataExt as _;
    let mut bytes = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let found = entry.metadata()?;
        bytes += if found.is_dir() { bytes_in(&entry.path())? } else { found.blocks() * 512 };
    }
    Ok(bytes)
}
