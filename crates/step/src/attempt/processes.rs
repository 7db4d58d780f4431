//! The processes of this machine, as far as they may belong to an attempt.
//!
//! Finds and signals them. A process id may be reused, so a signal goes through a pidfd, after a check that
//! the pidfd is of the process that was found.

use std::collections::BTreeSet;
use std::path::Path;

use rustix::io::Errno;
use rustix::process::{Pid, Signal};

/// The environment variables that mark the processes of an attempt.
pub(crate) struct Marks {
    attempt: Vec<u8>,
    run_base: Vec<u8>,
}

impl Marks {
    pub(crate) fn new(attempt: &str, run_base: &Path) -> Self {
        use std::os::unix::ffi::OsStrExt;
        Self {
            attempt: [b"ENVOI_ATTEMPT=", attempt.as_bytes()].concat(),
            run_base: [b"ENVOI_RUN_BASE=", run_base.as_os_str().as_bytes()].concat(),
        }
    }

    #[cfg(target_os = "linux")]
    fn are_in(&self, environment: &[u8]) -> bool {
        let has = |mark: &[u8]| environment.split(|byte| *byte == 0).any(|entry| entry == mark);
        has(&self.attempt) && has(&self.run_base)
    }
}

/// A process that was alive when it was read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Process {
    pub(crate) id: i32,
    /// Clock ticks from the boot to the start of the process.
    pub(crate) started_ticks: u64,
    parent: i32,
    session: i32,
    over: bool,
}

impl Process {
    /// Whether the process has ended. Its parent has not reaped it yet.
    pub(crate) fn is_over(&self) -> bool {
        self.over
    }

    /// Identifies the process within this boot.
    pub(crate) fn key(&self) -> (i32, u64) {
        (self.id, self.started_ticks)
    }
}

/// The result of a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sent {
    Delivered,
    /// The process no longer exists.
    Gone,
    /// This user may not signal the process.
    Refused,
}

/// Whether the group has any process. A process that has ended counts until it is reaped.
pub(crate) fn has_members(group: Pid) -> bool {
    rustix::process::test_kill_process_group(group) != Err(Errno::SRCH)
}

/// The marks of all processes at one moment, to check many attempts.
#[derive(Debug, Default)]
pub(crate) struct AllMarks(Vec<OfOne>);

/// The marks of one process. An environment may contain a name more than once.
#[derive(Debug)]
struct OfOne {
    attempts: BTreeSet<Vec<u8>>,
    run_bases: BTreeSet<Vec<u8>>,
}

impl AllMarks {
    /// Reads the marks of every process except `me`, as [`marked`] does.
    #[cfg(target_os = "linux")]
    pub(crate) fn look(me: Pid) -> std::io::Result<Self> {
        let mut all = Self::default();
        linux::each_environment(me, |_, environment| all.add(environment))?;
        Ok(all)
    }

    /// Empty on systems without `/proc`.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn look(_me: Pid) -> std::io::Result<Self> {
        Ok(Self::default())
    }

    #[cfg(target_os = "linux")]
    fn add(&mut self, environment: &[u8]) {
        let named = |name: &'static [u8]| {
            environment.split(|byte| *byte == 0).filter(move |entry| entry.starts_with(name))
        };
        let all = |name| named(name).map(<[u8]>::to_vec).collect::<BTreeSet<_>>();
        let one = OfOne { attempts: all(b"ENVOI_ATTEMPT="), run_bases: all(b"ENVOI_RUN_BASE=") };
        if !one.attempts.is_empty() && !one.run_bases.is_empty() {
            self.0.push(one);
        }
    }

    /// Whether a process carries these marks.
    pub(crate) fn has(&self, marks: &Marks) -> bool {
        let carries =
            |one: &OfOne| one.attempts.contains(&marks.attempt) && one.run_bases.contains(&marks.run_base);
        self.0.iter().any(carries)
    }
}

#[cfg(target_os = "linux")]
pub(crate) use linux::{belonging, marked, now, signal};

#[cfg(target_os = "linux")]
mod linux {
    use std::collections::BTreeMap;
    use std::{fs, io};

    use rustix::fs::{Mode, OFlags, openat};
    use rustix::process::{PidfdFlags, pidfd_open, pidfd_send_signal};

    use super::{Errno, Marks, Pid, Process, Sent, Signal};

    /// Indexes of the fields in `/proc/<pid>/stat`, counted from the state, which follows the name.
    mod field {
        pub(super) const PARENT: usize = 1;
        pub(super) const SESSION: usize = 3;
        pub(super) const THREADS: usize = 17;
        pub(super) const STARTED: usize = 19;
    }

    /// The process with this id, if it exists now.
    pub(crate) fn now(id: i32) -> Option<Process> {
        let stat = fs::read(format!("/proc/{id}/stat")).ok()?;
        // The name may contain spaces and brackets; no later field does.
        let after_name = stat.iter().rposition(|byte| *byte == b')')?;
        let rest = String::from_utf8_lossy(stat.get(after_name.checked_add(2)?..)?).into_owned();
        let fields: Vec<&str> = rest.split_whitespace().collect();
        let number = |at: usize| fields.get(at)?.parse::<i32>().ok();
        let is_zombie = matches!(*fields.first()?, "Z" | "X");
        Some(Process {
            id,
            started_ticks: fields.get(field::STARTED)?.parse().ok()?,
            parent: number(field::PARENT)?,
            session: number(field::SESSION)?,
            // The first thread of a process can be a zombie while other threads run.
            over: is_zombie && number(field::THREADS)? <= 1,
        })
    }

    /// All processes except zombies.
    fn all() -> io::Result<Vec<Process>> {
        Ok(ids()?.filter_map(now).filter(|process| !process.over).collect())
    }

    /// The ids of all processes.
    fn ids() -> io::Result<impl Iterator<Item = i32>> {
        let entries = fs::read_dir("/proc")?;
        Ok(entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()))
    }

    /// Every process except `me` that is in the session of `me`, descends from it, or has the marks.
    pub(crate) fn belonging(me: Pid, marks: &Marks) -> io::Result<Vec<Process>> {
        let me = me.as_raw_pid();
        let all = all()?;
        let parents: BTreeMap<i32, i32> = all.iter().map(|process| (process.id, process.parent)).collect();
        let belongs = |process: &Process| {
            process.session == me || descends(&parents, process.id, me) || carries(process, marks)
        };
        Ok(all.iter().filter(|process| process.id != me && belongs(process)).copied().collect())
    }

    fn descends(parents: &BTreeMap<i32, i32>, from: i32, ancestor: i32) -> bool {
        let mut at = from;
        // Bounded: the list is not of one moment, so it could contain a cycle.
        for _ in 0..parents.len() {
            match parents.get(&at) {
                Some(parent) if *parent == ancestor => return true,
                Some(parent) => at = *parent,
                None => return false,
            }
        }
        false
    }

    /// Every process except `me` that has the marks. It reads only the environment of other processes,
    /// because a machine has hundreds.
    pub(crate) fn marked(me: Pid, marks: &Marks) -> io::Result<Vec<Process>> {
        let mut found = Vec::new();
        each_environment(me, |id, environment| {
            if marks.are_in(environment) {
                found.extend(now(id.as_raw_pid()).filter(|process| !process.over));
            }
        })?;
        Ok(found)
    }

    /// Calls `look` with the environment of every process except `me` that this user may read.
    pub(super) fn each_environment(me: Pid, mut look: impl FnMut(Pid, &[u8])) -> io::Result<()> {
        let folder = fs::File::open("/proc")?;
        let mut environment = Vec::new();
        for id in ids()?.filter_map(Pid::from_raw).filter(|id| *id != me) {
            if read_environment(&folder, id, &mut environment).is_ok() {
                look(id, &environment);
            }
        }
        Ok(())
    }

    /// A process whose environment this user may not read belongs to another user, so it does not have the
    /// marks.
    fn carries(process: &Process, marks: &Marks) -> bool {
        fs::read(format!("/proc/{}/environ", process.id)).is_ok_and(|environment| marks.are_in(&environment))
    }

    /// Size of the first read: larger than most environments.
    const ENVIRONMENT_BYTES: usize = 16 * 1024;

    /// Fills `bytes` with the environment of a process. `proc` is the folder of all processes.
    fn read_environment(proc: &fs::File, id: Pid, bytes: &mut Vec<u8>) -> io::Result<()> {
        let flags = OFlags::RDONLY.union(OFlags::CLOEXEC);
        let path = format!("{}/environ", id.as_raw_pid());
        read_whole(&mut fs::File::from(openat(proc, path, flags, Mode::empty())?), bytes)
    }

    /// Fills `bytes` with the content of a file of `/proc`. Such a file fills every read until its end, so a
    /// short read is the end and no further read is needed.
    pub(super) fn read_whole(file: &mut impl io::Read, bytes: &mut Vec<u8>) -> io::Result<()> {
        bytes.resize(ENVIRONMENT_BYTES, 0);
        let mut filled = 0_usize;
        loop {
            match file.read(bytes.get_mut(filled..).unwrap_or_default()) {
                Ok(read) => filled = filled.saturating_add(read),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            }
            if filled < bytes.len() {
                break;
            }
            bytes.resize(filled.saturating_mul(2), 0);
        }
        bytes.truncate(filled);
        Ok(())
    }

    /// Sends a signal to the process that was read, not to another one that has its id now.
    pub(crate) fn signal(process: &Process, signal: Signal) -> io::Result<Sent> {
        let Some(id) = Pid::from_raw(process.id) else { return Ok(Sent::Gone) };
        let opened = match pidfd_open(id, PidfdFlags::empty()) {
            Err(Errno::SRCH | Errno::INVAL) => return Ok(Sent::Gone),
            opened => opened?,
        };
        let still = now(process.id).is_some_and(|seen| seen.started_ticks == process.started_ticks);
        if !still {
            return Ok(Sent::Gone);
        }
        match pidfd_send_signal(&opened, signal) {
            Ok(()) => Ok(Sent::Delivered),
            Err(Errno::SRCH) => Ok(Sent::Gone),
            Err(Errno::PERM) => Ok(Sent::Refused),
            Err(errno) => Err(errno.into()),
        }
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) use elsewhere::{belonging, marked, now, signal};

/// Systems without `/proc`: processes cannot be found, so none is ended.
#[cfg(not(target_os = "linux"))]
mod elsewhere {
    use std::io;

    use super::{Errno, Marks, Pid, Process, Sent, Signal};

    pub(crate) fn now(id: i32) -> Option<Process> {
        let pid = Pid::from_raw(id)?;
        let lives = rustix::process::test_kill_process(pid).is_ok();
        lives.then_some(Process { id, started_ticks: 0, parent: 0, session: 0, over: false })
    }

    pub(crate) fn belonging(_me: Pid, _marks: &Marks) -> io::Result<Vec<Process>> {
        Ok(Vec::new())
    }

    pub(crate) fn marked(_me: Pid, _marks: &Marks) -> io::Result<Vec<Process>> {
        Ok(Vec::new())
    }

    pub(crate) fn signal(process: &Process, signal: Signal) -> io::Result<Sent> {
        let Some(id) = Pid::from_raw(process.id) else { return Ok(Sent::Gone) };
        match rustix::process::kill_process(id, signal) {
            Ok(()) => Ok(Sent::Delivered),
            Err(Errno::SRCH) => Ok(Sent::Gone),
            Err(Errno::PERM) => Ok(Sent::Refused),
            Err(errno) => Err(errno.into()),
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::process::{Child, Command, Stdio};

    /// A child that holds none of the test's streams, so that nothing waits for it if the test fails.
    fn sleep() -> Command {
        let mut command = Command::new("sleep");
        command.arg("600").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    #[test]
    fn a_mark_is_seen_however_long_an_environment_is() {
        // A process with these marks, after an environment of so many bytes.
        let sleeper = |attempt: &str, run_base: &str, bytes: usize| {
            let mut command = sleep();
            command.env_clear().env("A_LONG_ONE", "x".repeat(bytes));
            command.env("ENVOI_ATTEMPT", attempt).env("ENVOI_RUN_BASE", run_base).spawn().unwrap()
        };
        let run_base = format!("/runs/run_of_{}", std::process::id());
        let marks = Marks::new("work.1.1", run_base.as_ref());
        // Environments of less than one read, of exactly one, and of more.
        let mut ours =
            [0, 16 * 1024 - 100, 40 * 1024, 100 * 1024].map(|bytes| sleeper("work.1.1", &run_base, bytes));
        let mut others = [("work.1.2", run_base.as_str()), ("work.1.1", "/runs/run_of_another")]
            .map(|(attempt, run_base)| sleeper(attempt, run_base, 20_000));
        let me = rustix::process::getpid();
        let ids = |all: &[Child]| all.iter().map(|child| i32::try_from(child.id()).unwrap()).collect();
        let expected: std::collections::BTreeSet<i32> = ids(&ours);
        let found: std::collections::BTreeSet<i32> =
            marked(me, &marks).unwrap().iter().map(|process| process.id).collect();
        assert_eq!(found, expected);
        for child in ours.iter_mut().chain(&mut others) {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        assert!(marked(me, &marks).unwrap().is_empty());
    }

    #[test]
    fn an_environment_is_read_at_once_and_a_longer_one_in_as_few_reads_as_it_takes() {
        /// Fills every read until its end, as `environ` does.
        struct Environ {
            left: usize,
            reads: u32,
        }
        impl std::io::Read for Environ {
            fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
                let given = self.left.min(into.len());
                into[..given].fill(b'x');
                (self.left, self.reads) = (self.left - given, self.reads + 1);
                Ok(given)
            }
        }
        let mut bytes = Vec::new();
        for (length, reads) in [(0, 1), (1, 1), (16_383, 1), (16_384, 2), (16_385, 2), (100_000, 4)] {
            let mut environ = Environ { left: length, reads: 0 };
            linux::read_whole(&mut environ, &mut bytes).unwrap();
            assert_eq!((bytes.len(), environ.reads), (length, reads));
            assert!(bytes.iter().all(|byte| *byte == b'x'));
        }
    }

    #[test]
    fn one_look_at_all_processes_finds_the_marks_of_each() {
        // The tests run at the same time and see each other's children, so this test uses names of its own.
        let run_base = format!("/runs/run_of_all_{}", std::process::id());
        let another = format!("/runs/run_of_no_process_{}", std::process::id());
        let names = ["work.1.1", "work.1.2"];
        let sleeper = |attempt: &str| {
            sleep().env("ENVOI_ATTEMPT", attempt).env("ENVOI_RUN_BASE", &run_base).spawn().unwrap()
        };
        let mut children = names.map(sleeper);
        let me = rustix::process::getpid();
        let has = |all: &AllMarks, attempt: &str, base: &str| all.has(&Marks::new(attempt, base.as_ref()));
        let all = AllMarks::look(me).unwrap();
        assert!(names.iter().all(|attempt| has(&all, attempt, &run_base)));
        assert!(!has(&all, "work.1.3", &run_base) && !has(&all, "work.1.1", &another));
        for child in &mut children {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        let all = AllMarks::look(me).unwrap();
        assert!(!names.iter().any(|attempt| has(&all, attempt, &run_base)));
    }

    #[test]
    fn a_group_is_there_as_long_as_it_has_a_member() {
        use std::os::unix::process::CommandExt as _;
        let mut leader = sleep().process_group(0).spawn().unwrap();
        let group = Pid::from_child(&leader);
        assert!(has_members(group));
        let mut member = sleep().process_group(group.as_raw_pid()).spawn().unwrap();
        leader.kill().unwrap();
        leader.wait().unwrap();
        assert!(has_members(group));
        member.kill().unwrap();
        member.wait().unwrap();
        assert!(!has_members(group));
    }
}
