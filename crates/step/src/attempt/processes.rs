//! The processes of this machine, as far as they may belong to an attempt.
//!
//! Finds and signals them. A process id is never trusted over time: a signal goes through a pidfd, after it was made
//! sure that the pidfd is for the process that was seen.

use std::path::Path;

use rustix::io::Errno;
use rustix::process::{Pid, Signal};

/// What a process of an attempt carries in its environment.
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

/// A process that was seen alive.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Process {
    pub(crate) id: i32,
    /// Clock ticks from the boot to its start.
    pub(crate) started_ticks: u64,
    parent: i32,
    session: i32,
    over: bool,
}

impl Process {
    /// Whether it has ended, and its parent has not reaped it yet.
    pub(crate) fn is_over(&self) -> bool {
        self.over
    }

    /// What no other process of this boot shares.
    pub(crate) fn key(&self) -> (i32, u64) {
        (self.id, self.started_ticks)
    }
}

/// What became of a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sent {
    Delivered,
    /// The process is gone.
    Gone,
    /// The system does not let us.
    Refused,
}

#[cfg(target_os = "linux")]
pub(crate) use linux::{belonging, marked, now, signal};

#[cfg(target_os = "linux")]
mod linux {
    use std::collections::BTreeMap;
    use std::{fs, io};

    use rustix::process::{PidfdFlags, pidfd_open, pidfd_send_signal};

    use super::{Errno, Marks, Pid, Process, Sent, Signal};

    /// Places in `/proc/<pid>/stat`, counted from the state, which follows the name.
    mod field {
        pub(super) const PARENT: usize = 1;
        pub(super) const SESSION: usize = 3;
        pub(super) const THREADS: usize = 17;
        pub(super) const STARTED: usize = 19;
    }

    /// The process with this id, if there is one now.
    pub(crate) fn now(id: i32) -> Option<Process> {
        let stat = fs::read(format!("/proc/{id}/stat")).ok()?;
        // The name may hold anything, also spaces and brackets; nothing after it does.
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
            // The first thread of a process can be a zombie while others run.
            over: is_zombie && number(field::THREADS)? <= 1,
        })
    }

    /// Everything that runs, zombies aside.
    fn all() -> io::Result<Vec<Process>> {
        let entries = fs::read_dir("/proc")?;
        let ids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        Ok(ids.filter_map(now).filter(|process| !process.over).collect())
    }

    /// Every process, `me` aside, that is in the session of `me`, descends from it, or carries the marks.
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
        // Bounded, because a listing that is not of one moment could have a ring in it.
        for _ in 0..parents.len() {
            match parents.get(&at) {
                Some(parent) if *parent == ancestor => return true,
                Some(parent) => at = *parent,
                None => return false,
            }
        }
        false
    }

    /// Every process, `me` aside, that carries the marks.
    pub(crate) fn marked(me: Pid, marks: &Marks) -> io::Result<Vec<Process>> {
        let others = all()?.into_iter().filter(|process| process.id != me.as_raw_pid());
        Ok(others.filter(|process| carries(process, marks)).collect())
    }

    /// A process that we may not look into is of another user, and none of ours.
    fn carries(process: &Process, marks: &Marks) -> bool {
        fs::read(format!("/proc/{}/environ", process.id)).is_ok_and(|environment| marks.are_in(&environment))
    }

    /// Sends a signal to the process that was seen, and to no other that may have got its id since.
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

/// Systems that do not list their processes in files: what cannot be found is not ended.
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
