//! Asks git which files of a folder it does not ignore. Nothing else of git is used here.

use crate::git;
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
};
use std::{
    fs,
    io::{self, Read as _},
    path::Path,
    process::{Child, ChildStdout, Stdio},
    time::{Duration, Instant},
};

/// The longest that git may take.
const LONGEST: Duration = Duration::from_secs(120);
/// The most bytes of a list of paths.
const MOST_BYTES: usize = 256 << 20;

/// When git has not answered for so long, what may stop it is looked for.
const PATIENCE: Duration = Duration::from_secs(1);
/// The most names that are looked at for that.
const MOST_NAMES: usize = 1_000_000;
/// The memory that git may use: it reads a file of rules whole. The list of a million files takes a tenth of it.
const MOST_MEMORY: u64 = 1 << 30;

/// What git knows in a folder and does not ignore, relative to it: files, and folders that are repositories of their own, some with
/// a slash behind them. `None` where git does not answer: it is not installed, the folder is in no repository or is ignored as a whole, or
/// git refuses it.
///
/// # Errors
/// Git takes too long, or its list is too large; a file that it would read is none, or far too long.
pub(crate) fn list(folder: &Path, is_top: bool) -> io::Result<Option<Vec<Vec<u8>>>> {
    if is_top {
        git::refuse_what_would_stop(folder)?;
    }
    if !is_top && answer_of(folder, &["check-ignore", "-q", "."])?.is_none_or(|answer| answer.code != Some(1))
    {
        return Ok(None);
    }
    let arguments = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    match answer_of(folder, &arguments)? {
        Some(Answer { code: Some(0), output }) => {
            let paths = output.split(|byte| *byte == 0).filter(|path| !path.is_empty());
            Ok(Some(paths.map(<[u8]>::to_vec).collect()))
        }
        _ => Ok(None),
    }
}

struct Answer {
    code: Option<i32>,
    output: Vec<u8>,
}

/// `None` where git cannot be started.
fn answer_of(folder: &Path, arguments: &[&str]) -> io::Result<Option<Answer>> {
    let mut command = git::command(folder);
    command.args(arguments);
    let spawned = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
    let Ok(mut child) = spawned else { return Ok(None) };
    bound_memory(&child);
    let read = match child.stdout.take() {
        Some(pipe) => read_for(LONGEST, pipe, || refuse_pipes_of_rules(folder)),
        None => Err(io::Error::other("git has no output")),
    };
    if read.is_err() {
        child.kill().ok();
    }
    let status = child.wait()?;
    Ok(Some(Answer { code: status.code(), output: read? }))
}

/// Without the bound, git does what it does.
#[cfg(target_os = "linux")]
fn bound_memory(git: &Child) {
    use rustix::process::{Pid, Resource, Rlimit, prlimit};
    let Some(pid) = i32::try_from(git.id()).ok().and_then(Pid::from_raw) else { return };
    let most = Rlimit { current: Some(MOST_MEMORY), maximum: Some(MOST_MEMORY) };
    prlimit(Some(pid), Resource::Data, most).ok();
}

#[cfg(not(target_os = "linux"))]
fn bound_memory(_: &Child) {}

/// Git reads `.gitignore` of every folder that it enters, and waits for one that is a pipe.
fn refuse_pipes_of_rules(top: &Path) -> io::Result<()> {
    let mut folders = vec![top.to_owned()];
    let mut names: usize = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            names = names.saturating_add(1);
            if names > MOST_NAMES {
                return Ok(());
            }
            let Ok(found) = entry.file_type() else { continue };
            if entry.file_name() == ".gitignore" && !found.is_file() && !found.is_dir() && !found.is_symlink()
            {
                let place = entry.path();
                let place = place.strip_prefix(top).unwrap_or(&place).display().to_string();
                return Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    format!("`{place}` is not a regular file"),
                ));
            }
            if found.is_dir() && entry.file_name() != ".git" {
                folders.push(entry.path());
            }
        }
    }
    Ok(())
}

/// Reads to the end. While nothing comes, `look` says whether anything will.
fn read_for(
    longest: Duration,
    mut pipe: ChildStdout,
    look: impl FnOnce() -> io::Result<()>,
) -> io::Result<Vec<u8>> {
    let began = Instant::now();
    let mut look = Some(look);
    let mut output = Vec::new();
    let mut piece = vec![0; 64 * 1024];
    loop {
        let left = longest.saturating_sub(began.elapsed());
        let left = if look.is_some() { left.min(PATIENCE) } else { left };
        let wait = Timespec { tv_sec: i64::try_from(left.as_secs()).unwrap_or(0), tv_nsec: 0 };
        match poll(&mut [PollFd::new(&pipe, PollFlags::IN)], Some(&wait)) {
            Err(Errno::INTR) => continue,
            Err(errno) => return Err(errno.into()),
            Ok(0) if let Some(look) = look.take() => {
                look()?;
                continue;
            }
            Ok(0) => return Err(io::Error::new(io::ErrorKind::TimedOut, "git has not answered in time")),
            Ok(_) => {}
        }
        match pipe.read(&mut piece) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
            Ok(0) => return Ok(output),
            Ok(count) => output.extend_from_slice(piece.get(..count).unwrap_or_default()),
        }
        if output.len() > MOST_BYTES {
            return Err(io::Error::other("the list of git has more than 256 MiB"));
        }
    }
}
