//! Git is waited for no longer than a bound, and ended with all that it has started.
//!
//! What a repository holds can keep git waiting for ever: a pipe where it expects a file, a program that it is to run, a file system that
//! does not answer. So it works in a process group of its own, and nothing of that group is left when it is not waited for any more.

use crate::model::stop::Stop;
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid},
};
use std::{
    collections::BTreeSet,
    fs::File,
    io::{self, Read as _},
    os::{fd::OwnedFd, unix::process::CommandExt as _},
    process::{Child, Command, Stdio},
    sync::{Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

/// The longest that git may take over the files of a checkout.
pub const LONGEST_WORK: Duration = Duration::from_secs(10 * 60);

/// The most bytes that git may print.
const MOST_BYTES: usize = 256 << 20;

/// The time after which the obstacle of a git that has not ended is looked for.
const PATIENCE: Duration = Duration::from_secs(1);

/// How often [`Stop`] is looked at while git runs.
const TICK: Duration = Duration::from_millis(50);

/// The first wait for a git that has closed its output, and is almost over.
const LAST_MOMENT: Duration = Duration::from_micros(100);

/// How long to wait for a process after TERM, and again after KILL.
const END: Duration = Duration::from_secs(2);

/// How long a git has to end when this process ends.
const LAST_WORDS: Duration = Duration::from_millis(300);

/// The limits of a git process.
#[derive(Debug)]
pub struct Limits<'l> {
    /// How long.
    pub longest: Duration,
    /// Ends it before.
    pub stop: &'l Stop,
    /// How many bytes of memory; `None`: as many as there are.
    pub memory: Option<u64>,
}

/// A git that has ended by itself.
#[derive(Debug)]
pub struct Finished {
    /// `None`: by a signal.
    pub code: Option<i32>,
    /// Its output.
    pub stdout: Vec<u8>,
    /// Its output on stderr.
    pub stderr: Vec<u8>,
}

/// Why git has not ended by itself. Nothing of it is at work any more.
#[derive(Debug, thiserror::Error)]
pub enum NotFinished {
    /// For example, it is not installed.
    #[error("git cannot be started: {0}")]
    NotStarted(io::Error),
    /// The bound of [`Limits`].
    #[error("git has not answered in {} seconds, and was ended", longest.as_secs())]
    TooLong {
        /// The limit.
        longest: Duration,
    },
    /// See [`Stop`].
    #[error("git was ended before it had answered: it is not waited for any more")]
    Stopped,
    /// It prints without end, or the system failed, or something is there that it would wait for.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Runs git to its end. `look` is called once, when git has not ended after a second: its error names the thing that git
/// waits for.
///
/// # Errors
/// See [`NotFinished`].
pub fn finish(
    command: &mut Command,
    limits: &Limits<'_>,
    look: impl FnOnce() -> io::Result<()>,
) -> Result<Finished, NotFinished> {
    if limits.stop.is_wanted() {
        return Err(NotFinished::Stopped);
    }
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let (mut child, at_work) = AtWork::spawned(command).map_err(NotFinished::NotStarted)?;
    let group = at_work.group;
    limits.memory.into_iter().for_each(|most| bound_memory(group, most));
    let pipes = [child.stdout.take().map(OwnedFd::from), child.stderr.take().map(OwnedFd::from)];
    let mut pipes = pipes.map(|pipe| Pipe { from: pipe.map(File::from), bytes: Vec::new() });
    let waited = wait(group, &mut pipes, limits, look);
    if waited.is_err() {
        // On TERM it removes its lock files.
        kill_process_group(group, Signal::TERM).ok();
        has_ended_in(END, group)?;
    }
    // It was not reaped, so that the number of its group is still its own. Its other processes end with it.
    kill_process_group(group, Signal::KILL).ok();
    let has_ended = has_ended_in(END, group)?;
    // Before it is reaped, after which the number may be another's.
    drop(at_work);
    let code = if has_ended { child.wait()?.code() } else { None };
    waited?;
    let [stdout, stderr] = pipes.map(|pipe| pipe.bytes);
    Ok(Finished { code, stdout, stderr })
}

/// The groups of git that this process waits for.
static GROUPS: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

/// Ends every git that this process waits for, with all that it has started. To be called when the process is to end at once: a git in a group
/// of its own gets no Ctrl-C from the terminal.
pub fn end_all() {
    // Held to the end: none is reaped meanwhile, so that each number is still its own.
    let groups = GROUPS.lock().unwrap_or_else(PoisonError::into_inner);
    end(&groups.iter().filter_map(|group| Pid::from_raw(*group)).collect::<Vec<_>>());
}

fn end(groups: &[Pid]) {
    for signal in [Signal::TERM, Signal::KILL] {
        for group in groups {
            kill_process_group(*group, signal).ok();
        }
        for group in groups {
            // This process ends, in any case.
            has_ended_in(LAST_WORDS, *group).ok();
        }
    }
}

/// A group that is to be ended with this process.
struct AtWork {
    group: Pid,
}

impl AtWork {
    fn spawned(command: &mut Command) -> io::Result<(Child, Self)> {
        // Held over the start: none is missed by `end_all`.
        let mut groups = GROUPS.lock().unwrap_or_else(PoisonError::into_inner);
        let child = command.spawn()?;
        let group = Pid::from_child(&child);
        groups.insert(group.as_raw_nonzero().get());
        Ok((child, Self { group }))
    }
}

impl Drop for AtWork {
    fn drop(&mut self) {
        let mut groups = GROUPS.lock().unwrap_or_else(PoisonError::into_inner);
        groups.remove(&self.group.as_raw_nonzero().get());
    }
}

struct Pipe {
    /// `None`: it has ended.
    from: Option<File>,
    bytes: Vec<u8>,
}

impl Pipe {
    /// Reads once from a pipe that has output.
    fn read(&mut self, piece: &mut [u8]) -> io::Result<()> {
        let Some(from) = &mut self.from else { return Ok(()) };
        match from.read(piece) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
            Ok(0) => self.from = None,
            Ok(count) => self.bytes.extend_from_slice(piece.get(..count).unwrap_or_default()),
        }
        match self.bytes.len() > MOST_BYTES {
            true => Err(io::Error::other("what git prints has more than 256 MiB")),
            false => Ok(()),
        }
    }
}

/// Until git has exited and all that it has printed is read.
fn wait(
    git: Pid,
    pipes: &mut [Pipe; 2],
    limits: &Limits<'_>,
    look: impl FnOnce() -> io::Result<()>,
) -> Result<(), NotFinished> {
    let began = Instant::now();
    let mut look = Some(look);
    let mut piece = vec![0; 64 * 1024];
    let mut pause = LAST_MOMENT;
    loop {
        let took = began.elapsed();
        if limits.stop.is_wanted() {
            return Err(NotFinished::Stopped);
        }
        if took >= limits.longest {
            return Err(NotFinished::TooLong { longest: limits.longest });
        }
        if took >= PATIENCE
            && let Some(look) = look.take()
        {
            look()?;
        }
        let mut open: Vec<&mut Pipe> = pipes.iter_mut().filter(|pipe| pipe.from.is_some()).collect();
        if open.is_empty() {
            if has_exited(git)? {
                return Ok(());
            }
            thread::sleep(pause);
            pause = pause.saturating_mul(2).min(TICK);
            continue;
        }
        // Checked before the pipes: all its output is in them then, and nothing of its own comes after that.
        let is_over = has_exited(git)?;
        let left = if is_over { Duration::ZERO } else { TICK.min(limits.longest.saturating_sub(took)) };
        let Some(ready) = readable(&open, left)? else { continue };
        // A process that it has left behind may hold the pipes.
        if is_over && !ready.contains(&true) {
            return Ok(());
        }
        for (pipe, is_ready) in open.iter_mut().zip(ready) {
            if is_ready {
                pipe.read(&mut piece)?;
            }
        }
    }
}

/// The pipes that have output, or have ended; `None`: a signal came, and nothing is known of them.
fn readable(pipes: &[&mut Pipe], longest: Duration) -> io::Result<Option<Vec<bool>>> {
    let mut looks: Vec<PollFd<'_>> = pipes
        .iter()
        .filter_map(|pipe| pipe.from.as_ref())
        .map(|from| PollFd::new(from, PollFlags::IN))
        .collect();
    let wait = Timespec {
        tv_sec: i64::try_from(longest.as_secs()).unwrap_or(0),
        tv_nsec: longest.subsec_nanos().into(),
    };
    match poll(&mut looks, Some(&wait)) {
        Err(Errno::INTR) => Ok(None),
        Err(errno) => Err(errno.into()),
        Ok(_) => Ok(Some(looks.iter().map(|look| !look.revents().is_empty()).collect())),
    }
}

/// Whether it is over. It stays to be reaped.
fn has_exited(git: Pid) -> io::Result<bool> {
    match waitid(WaitId::Pid(git), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG) {
        Ok(found) => Ok(found.is_some()),
        Err(Errno::INTR) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}

/// Waits for its end, but not for ever: a process that the system itself holds, on a file system that does not answer, is left.
fn has_ended_in(longest: Duration, git: Pid) -> io::Result<bool> {
    let began = Instant::now();
    let mut pause = LAST_MOMENT;
    while !has_exited(git)? {
        if began.elapsed() > longest {
            return Ok(false);
        }
        thread::sleep(pause);
        pause = pause.saturating_mul(2).min(TICK);
    }
    Ok(true)
}

/// Without the bound, git does what it does.
#[cfg(target_os = "linux")]
fn bound_memory(git: Pid, most: u64) {
    use rustix::process::{Resource, Rlimit, prlimit};
    prlimit(Some(git), Resource::Data, Rlimit { current: Some(most), maximum: Some(most) }).ok();
}

#[cfg(not(target_os = "linux"))]
fn bound_memory(_: Pid, _: u64) {}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        fs,
        os::unix::fs::FileTypeExt as _,
        path::Path,
        sync::Arc,
        sync::atomic::{AtomicBool, Ordering},
    };

    fn pipe(path: &Path) {
        assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
        assert!(fs::metadata(path).unwrap().file_type().is_fifo());
    }

    /// A repository whose configuration includes a pipe: git waits for it in every command.
    fn hanging() -> tempfile::TempDir {
        let place = tempfile::tempdir().unwrap();
        let git = |arguments: &[&str]| {
            let done = crate::git::command(place.path()).args(arguments).output().unwrap();
            assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        };
        git(&["init", "--quiet"]);
        git(&["config", "include.path", "../behind"]);
        pipe(&place.path().join("behind"));
        place
    }

    fn ask(place: &Path, longest: Duration, stop: &Stop) -> Result<Finished, NotFinished> {
        let limits = Limits { longest, stop, memory: None };
        finish(crate::git::command(place).args(["rev-parse", "--show-toplevel"]), &limits, || Ok(()))
    }

    #[test]
    fn git_that_waits_is_ended_at_the_bound() {
        let place = hanging();
        let ended = ask(place.path(), Duration::from_millis(200), &Stop::default());
        assert!(matches!(ended, Err(NotFinished::TooLong { .. })), "{ended:?}");
    }

    #[test]
    fn git_is_ended_when_its_caller_is_gone() {
        let place = hanging();
        let asked = Arc::new(AtomicBool::new(false));
        // Not at the first look, which is before the start.
        let stop = Stop::when(move || asked.swap(true, Ordering::Relaxed));
        let ended = ask(place.path(), LONGEST_WORK, &stop);
        assert!(matches!(ended, Err(NotFinished::Stopped)), "{ended:?}");
    }

    #[test]
    fn a_process_that_ends_at_once_ends_the_git_that_it_waits_for() {
        let place = hanging();
        let own = fs::canonicalize(place.path()).unwrap();
        let is_own = |group: &Pid| {
            fs::read_link(format!("/proc/{}/cwd", group.as_raw_nonzero())).is_ok_and(|cwd| cwd == own)
        };
        let waits = thread::scope(|scope| {
            let waits = scope.spawn(|| {
                let limits = Limits { longest: LONGEST_WORK, stop: &Stop::default(), memory: None };
                finish(crate::git::command(place.path()).args(["rev-parse", "HEAD"]), &limits, || Ok(()))
            });
            // Not those of the other tests.
            while !waits.is_finished() {
                let groups = GROUPS.lock().unwrap();
                end(&groups
                    .iter()
                    .filter_map(|group| Pid::from_raw(*group))
                    .filter(is_own)
                    .collect::<Vec<_>>());
                drop(groups);
                thread::yield_now();
            }
            waits.join().unwrap()
        });
        assert!(matches!(waits, Ok(Finished { code: None, .. })), "{waits:?}");
    }

    #[test]
    fn git_is_asked_to_end_before_it_is_killed() {
        let place = tempfile::tempdir().unwrap();
        let [locked, ready] = ["lock", "ready"].map(|name| place.path().join(name));
        let stop = Stop::when(move || ready.exists());
        let limits = Limits { longest: LONGEST_WORK, stop: &stop, memory: None };
        // As git does with a lock.
        let script = "trap 'rm lock; exit 1' TERM; touch lock ready; while :; do sleep 0.01; done";
        let ended =
            finish(Command::new("sh").args(["-c", script]).current_dir(place.path()), &limits, || Ok(()));
        assert!(matches!(ended, Err(NotFinished::Stopped)), "{ended:?}");
        assert!(!locked.exists());
    }

    #[test]
    fn what_git_has_started_ends_with_it_and_is_not_waited_for() {
        let place = tempfile::tempdir().unwrap();
        let stop = Stop::default();
        let limits = Limits { longest: LONGEST_WORK, stop: &stop, memory: None };
        // It holds the output, and outlives the process that has started it.
        let script = "sleep 1000 & echo $!; echo said >&2; exit 3";
        let finished = finish(
            Command::new("sh").args(["-c", script]).current_dir(place.path()).stdin(Stdio::null()),
            &limits,
            || Ok(()),
        )
        .unwrap();
        assert_eq!((finished.code, finished.stderr.as_slice()), (Some(3), b"said\n".as_slice()));
        let left: i32 = String::from_utf8(finished.stdout).unwrap().trim().parse().unwrap();
        // Another process reaps it at some moment; it does nothing until then.
        let state = || {
            let stat = fs::read_to_string(format!("/proc/{left}/stat")).ok()?;
            stat.rsplit(") ").next()?.chars().next()
        };
        while state().is_some_and(|state| state != 'Z') {
            thread::yield_now();
        }
    }

    #[test]
    fn what_git_waits_for_is_looked_for_while_it_waits() {
        let place = hanging();
        let stop = Stop::default();
        let limits = Limits { longest: LONGEST_WORK, stop: &stop, memory: None };
        let ended =
            finish(crate::git::command(place.path()).args(["rev-parse", "--show-toplevel"]), &limits, || {
                Err(io::Error::other("a pipe"))
            });
        assert_eq!(ended.unwrap_err().to_string(), "a pipe");
    }
}
