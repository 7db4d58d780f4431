//! Finds the time at which the rate limit that stopped a program ends.
//!
//! The sources are, in this order: the event that states it, a file of the program, and the program's message if its
//! times are in UTC. The time may be wrong, and the kernel allows for that.

use crate::Order;
use envoi_contract::time::Timestamp;
use envoi_durable::open_regular;
use envoi_preset::{Class, Outcome, Preset, reset};
use std::{
    ffi::OsString,
    fs,
    io::{self, Read as _, Seek as _, SeekFrom},
    path::{Path, PathBuf},
};

/// Bytes that are read at the end of a rollout file. The newest limits are there.
const TAIL_BYTES: u64 = 1024 * 1024;

/// Most folders of days to search, newest first. A resumed session stays in the folder of the day on which it began.
const MOST_DAYS: usize = 400;

/// See the module documentation. `None` when the failure is not a rate limit, or when no source states its end.
pub(crate) fn until(order: &Order, preset: Preset, outcome: &Outcome, now: Timestamp) -> Option<Timestamp> {
    let failure = outcome.failure.as_ref().filter(|failure| failure.class == Class::Throttled)?;
    let kept = || {
        let home = order.home.as_deref()?;
        let session = outcome.session.as_deref()?;
        reset::of_rollout(&tail(&rollout(home, session)?).ok()?)
    };
    let stated = outcome.throttled_until.or_else(|| preset.limits_in().and_then(|_| kept()));
    match stated {
        Some(seconds) => {
            Some(Timestamp::from_millis(i64::try_from(seconds).unwrap_or(0).saturating_mul(1_000)))
        }
        None => order.is_utc.then(|| reset::of_message(&failure.message, now)).flatten(),
    }
}

/// The path of the rollout file: `HOME/sessions/Y/M/D/rollout-…-SESSION.jsonl`.
fn rollout(home: &Path, session: &str) -> Option<PathBuf> {
    let end = format!("-{session}.jsonl");
    let mut days = vec![home.join("sessions")];
    for _ in 0..3 {
        days = days.iter().flat_map(|folder| newest_first(folder)).take(MOST_DAYS).collect();
    }
    days.iter().flat_map(|day| newest_first(day)).find(|file| file.to_string_lossy().ends_with(&end))
}

fn newest_first(folder: &Path) -> Vec<PathBuf> {
    let mut names: Vec<OsString> =
        fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.file_name()).collect();
    names.sort_unstable_by(|a, b| b.cmp(a));
    names.into_iter().map(|name| folder.join(name)).collect()
}

/// Reads the end of a file. Commands can put anything at this path, even a pipe without a writer, so only a regular
/// file is opened.
fn tail(path: &Path) -> io::Result<String> {
    let mut file = open_regular(path)?;
    let len = file.metadata()?.len();
    file.seek(SeekFrom::Start(len.saturating_sub(TAIL_BYTES)))?;
    let mut bytes = Vec::new();
    file.take(TAIL_BYTES).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "what is not as a test expects ends it")]
mod tests {
    use super::*;
    use rustix::fs::{CWD, FileType, Mode, mknodat};

    #[test]
    fn a_pipe_in_the_place_of_a_rollout_is_not_waited_for() {
        let home = tempfile::tempdir().unwrap();
        let day = home.path().join("sessions/2026/11/28");
        fs::create_dir_all(&day).unwrap();
        let path = day.join("rollout-2026-11-28T10-00-00-one.jsonl");
        mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        assert_eq!(rollout(home.path(), "one").as_ref(), Some(&path));
        assert!(envoi_durable::is_not_regular(&tail(&path).unwrap_err()));
        fs::remove_file(&path).unwrap();
        fs::write(&path, "the last line\n").unwrap();
        assert_eq!(tail(&path).unwrap(), "the last line\n");
    }
}
