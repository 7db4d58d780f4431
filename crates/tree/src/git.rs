//! How git is started: by its command line, as the folder has it, and never with a program of the repository's own.

use rustix::process::{Pid, Signal, kill_process_group};
use std::{
    fs,
    io::{self, Read},
    os::unix::process::CommandExt as _,
    path::Path,
    process::{Child, Command, Output, Stdio},
    sync::mpsc::{Receiver, channel},
    thread,
    time::{Duration, Instant},
};

/// What git reads of a repository before it does anything.
const READ_BY_GIT: &[&str] =
    &[".git/HEAD", ".git/config", ".git/index", ".git/info/exclude", ".git/packed-refs", ".gitignore"];
/// Git itself passes over files of rules that are longer, from version 2.45 on, after it has read them.
pub(crate) const MOST_BYTES_OF_RULES: u64 = 100 << 20;

/// Variables that would lead git elsewhere: those of `git rev-parse --local-env-vars`, and configuration.
const GIT_VARIABLES: [&str; 17] = [
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_CEILING_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_CONFIG",
    "GIT_CONFIG_COUNT",
    "GIT_CONFIG_PARAMETERS",
    "GIT_DIR",
    "GIT_GRAFT_FILE",
    "GIT_ICASE_PATHSPECS",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_INTERNAL_SUPER_PREFIX",
    "GIT_NAMESPACE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_REPLACE_REF_BASE",
    "GIT_WORK_TREE",
];

/// Git for a folder, without arguments yet.
///
/// No variable of this process leads it to another repository. No hook and no monitor of the repository runs, because a step may have put it
/// there. It takes no lock that it can do without, prints English, and has no input.
#[must_use]
pub fn command(folder: &Path) -> Command {
    let mut command = Command::new("git");
    command.args(["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"]);
    for name in GIT_VARIABLES {
        command.env_remove(name);
    }
    command.env("GIT_OPTIONAL_LOCKS", "0").env("LC_ALL", "C").current_dir(folder).stdin(Stdio::null());
    command
}

/// Git waits for a pipe where it expects a file, and reads a file of rules whole into memory. A step can make both.
///
/// # Errors
/// One of the files that git reads at the root `folder` of a checkout is none, or far too long.
pub fn refuse_what_would_stop(folder: &Path) -> io::Result<()> {
    for name in READ_BY_GIT {
        // What cannot be looked at is git's to judge. In a linked worktree `.git` is a file, and these stand elsewhere.
        let Ok(found) = fs::metadata(folder.join(name)) else { continue };
        let wrong = match (found.is_file(), *name) {
            (false, _) if !found.is_dir() => format!("`{name}` is not a regular file"),
            (true, ".gitignore" | ".git/info/exclude") if found.len() > MOST_BYTES_OF_RULES => {
                format!("`{name}` has more than {MOST_BYTES_OF_RULES} bytes")
            }
            _ => continue,
        };
        return Err(io::Error::new(io::ErrorKind::InvalidData, wrong));
    }
    Ok(())
}

/// What a command prints, and how it ends. After `longest` it is killed, with all that it has started: git waits for what a step has put
/// into the repository, such as a pipe that the configuration includes, for as long as nobody writes to it.
///
/// # Errors
/// It cannot be started, or was killed ([`io::ErrorKind::TimedOut`]).
pub fn output(command: &mut Command, longest: Duration) -> io::Result<Output> {
    let until = Instant::now() + longest;
    let piped = command.process_group(0).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn()?;
    let out = read(child.stdout.take());
    let err = read(child.stderr.take());
    let wait = |piece: &Receiver<io::Result<Vec<u8>>>| {
        let left = until.saturating_duration_since(Instant::now());
        piece.recv_timeout(left).map_err(|_| late(longest))?
    };
    match wait(&out).and_then(|out| Ok((out, wait(&err)?))) {
        Ok((stdout, stderr)) => Ok(Output { status: child.wait()?, stdout, stderr }),
        Err(error) => {
            end(&mut child)?;
            Err(error)
        }
    }
}

fn late(longest: Duration) -> io::Error {
    let text = format!("git has not answered within {} seconds", longest.as_secs());
    io::Error::new(io::ErrorKind::TimedOut, text)
}

/// All that comes out of a pipe, from a thread that ends with it.
fn read(pipe: Option<impl Read + Send + 'static>) -> Receiver<io::Result<Vec<u8>>> {
    let (done, whole) = channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = pipe.map_or(Ok(0), |mut pipe| pipe.read_to_end(&mut bytes));
        // Whoever waited may have given up.
        done.send(read.map(|_| bytes)).ok();
    });
    whole
}

fn end(child: &mut Child) -> io::Result<()> {
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        kill_process_group(group, Signal::KILL).ok();
    }
    child.kill().ok();
    child.wait().map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn what_does_not_end_is_killed_with_all_that_it_has_started() {
        let place = tempfile::tempdir().unwrap();
        let pipe = place.path().join("pipe");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let mut hangs = Command::new("sh");
        hangs.args(["-c", "sleep 1000 & cat \"$0\"; wait"]).arg(&pipe);
        let error = output(&mut hangs, Duration::from_millis(100)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut, "{error}");
        let mut says = Command::new("sh");
        let said =
            output(says.args(["-c", "echo out; echo err >&2; exit 3"]), Duration::from_secs(600)).unwrap();
        assert_eq!((said.stdout, said.stderr), (b"out\n".to_vec(), b"err\n".to_vec()));
        assert_eq!(said.status.code(), Some(3));
    }

    #[test]
    fn no_program_of_the_repository_runs() {
        let place = tempfile::tempdir().unwrap();
        let git = |arguments: &[&str]| {
            let done = command(place.path())
                .args(["-c", "user.name=t", "-c", "user.email=t@t"])
                .args(arguments)
                .output()
                .unwrap();
            assert!(done.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
        };
        git(&["init", "--quiet"]);
        let hook = place.path().join(".git/hooks/pre-commit");
        fs::create_dir_all(hook.parent().unwrap()).unwrap();
        fs::write(&hook, "#!/bin/sh\ntouch ran\n").unwrap();
        fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
        git(&["commit", "--quiet", "--allow-empty", "-m", "x"]);
        assert!(!place.path().join("ran").exists());
    }
}
