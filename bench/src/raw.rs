//! The machine's performance without Envoi: durable commits of one row, and bare spawns.

use crate::Outcome;
use rusqlite::Connection;
use std::{
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

/// The size of a small event.
const BODY_BYTES: usize = 200;

/// Seconds per commit of one row, WAL and synchronous=FULL, on average over `commits` in a fresh database in
/// `dir`.
pub(crate) fn commit_s(dir: &Path, commits: u32) -> Outcome<f64> {
    let folder = tempfile::tempdir_in(dir)?.keep();
    let conn = Connection::open(folder.join("raw.db"))?;
    conn.pragma_update(None, "journal_mode", "WAL")?;
    conn.pragma_update(None, "synchronous", "FULL")?;
    conn.execute_batch("CREATE TABLE rows (id INTEGER PRIMARY KEY, body TEXT NOT NULL) STRICT")?;
    let body = "x".repeat(BODY_BYTES);
    let mut insert = conn.prepare("INSERT INTO rows (body) VALUES (?1)")?;
    let began = Instant::now();
    for _ in 0..commits {
        insert.execute([&body])?;
    }
    Ok(each_s(began.elapsed(), commits))
}

/// Seconds per spawn of `true`, including the wait, on average.
pub(crate) fn spawn_s(times: u32) -> Outcome<f64> {
    let began = Instant::now();
    for _ in 0..times {
        Command::new("true").status()?;
    }
    Ok(each_s(began.elapsed(), times))
}

/// Seconds per item, of `times` items.
pub(crate) fn each_s(all: Duration, times: u32) -> f64 {
    all.as_secs_f64() / f64::from(times.max(1))
}
