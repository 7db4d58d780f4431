//! Watches a command: one loop that reads its pipes, reaps its processes, and ends it when it is due.
//!
//! The only place that reaps. Every descendant is, or becomes, a child of this process, so "no child is left"
//! and "no descendant is left" are the same.

use std::collections::BTreeSet;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::process::{ChildStderr, ChildStdout};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, getpid, wait};

use super::Attempt;
use super::signals::Signals;
use crate::attempt::lease::{PIPES_END_MS, boot_ms};
use crate::attempt::processes::{self, Marks, Process, Sent};
use crate::attempt::record::Outcome;
use crate::disk::pieces;
use crate::output::stream::StreamFile;

/// How long to wait for the end of the pipes when the command has ended: a left-over process may hold them
/// for ever.
const PIPES_END: Duration = Duration::from_millis(PIPES_END_MS);

/// How long after the grace to wait for a child that is in no list and so cannot be ended. After that it is
/// left.
const UNSEEN: Duration = Duration::from_secs(5);

/// How often to check for left-over processes while they are being ended: this process does not reap all of
/// them.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// How often the end of a lease is checked. A wait does not count the time in which the machine sleeps, but a
/// lease does.
const LEASE_LOOK: Duration = Duration::from_secs(1);

/// A pipe of the command and the destination of its bytes.
struct Pipe<'w, 'a> {
    from: Option<std::fs::File>,
    to: &'w mut StreamFile<'a>,
}

impl Pipe<'_, '_> {
    /// Reads once. Returns 0 if nothing is available now.
    fn read(&mut self, buffer: &mut [u8]) -> usize {
        let Some(from) = &mut self.from else { return 0 };
        match from.read(buffer) {
            Ok(read) if read > 0 => {
                self.to.push(buffer.get(..read).unwrap_or_default());
                read
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => 0,
            // The end, or an error that counts as the end.
            Ok(_) | Err(_) => {
                self.from = None;
                0
            }
        }
    }

    /// Reads the bytes that are in the pipe at this moment.
    fn read_present(&mut self, buffer: &mut [u8]) {
        let present = self.from.as_ref().and_then(|from| rustix::io::ioctl_fionread(from).ok()).unwrap_or(0);
        let mut left = present;
        while left > 0 {
            let read = self.read(buffer);
            left = if read == 0 { 0 } else { left.saturating_sub(read as u64) };
        }
    }
}

/// Why the command is being ended, and when it gets KILL.
struct Ending {
    why: Outcome,
    kill_at: Instant,
    killed: bool,
}

/// The processes that are left, by the result of signalling them.
#[derive(Default)]
struct Leftovers {
    ending: BTreeSet<(i32, u64)>,
    refused: BTreeSet<(i32, u64)>,
}

impl Leftovers {
    fn count(&self) -> u32 {
        u32::try_from(self.ending.len()).unwrap_or(u32::MAX)
    }
}

/// A running command.
pub(super) struct Watch<'w, 'a> {
    attempt: &'a Attempt,
    signals: &'w Signals,
    marks: Marks,
    leader: Pid,
    started: Instant,
    pipes: [Pipe<'w, 'a>; 2],
    buffer: Vec<u8>,
    ending: Option<Ending>,
    over: Option<(WaitStatus, Instant)>,
    any_child: bool,
    /// The end of the lease when it was last read.
    lease_until_ms: Option<u64>,
}

impl<'w, 'a> Watch<'w, 'a> {
    pub(super) fn new(
        attempt: &'a Attempt,
        signals: &'w Signals,
        leader: Pid,
        started: Instant,
        pipes: (Option<ChildStdout>, Option<ChildStderr>),
        streams: [&'w mut StreamFile<'a>; 2],
    ) -> io::Result<Self> {
        let [stdout, stderr] = streams;
        let pipes = [
            Pipe { from: pipes.0.map(|pipe| without_waiting(pipe.into())).transpose()?, to: stdout },
            Pipe { from: pipes.1.map(|pipe| without_waiting(pipe.into())).transpose()?, to: stderr },
        ];
        let run_base = attempt.spec.variable("ENVOI_RUN_BASE").unwrap_or_default();
        let marks = Marks::new(&attempt.spec.attempt, run_base.as_ref());
        let buffer = pieces::chunk();
        Ok(Self {
            attempt,
            signals,
            marks,
            leader,
            started,
            pipes,
            buffer,
            ending: None,
            over: None,
            any_child: true,
            lease_until_ms: attempt.spec.lease_until_ms,
        })
    }

    /// Runs until the leader has exited, by itself or not.
    pub(super) fn until_over(&mut self) -> io::Result<Outcome> {
        loop {
            if let Some((status, _)) = self.over {
                return Ok(self.ending.take().map_or_else(|| own_outcome(status), |ending| ending.why));
            }
            self.end_if_due()?;
            self.turn(self.next_deadline())?;
        }
    }

    /// From the start of the command to the exit of its leader, in milliseconds.
    pub(super) fn duration_ms(&self) -> u64 {
        let to = self.over.map_or_else(Instant::now, |(_, at)| at);
        u64::try_from(to.duration_since(self.started).as_millis()).unwrap_or(u64::MAX)
    }

    /// Reads what the command has left in its pipes, waits at most [`PIPES_END`] for their end, and closes
    /// them.
    pub(super) fn drain(&mut self) -> io::Result<()> {
        for pipe in &mut self.pipes {
            pipe.read_present(&mut self.buffer);
        }
        let until = Instant::now() + PIPES_END;
        while self.pipes.iter().any(|pipe| pipe.from.is_some()) && Instant::now() < until {
            self.turn(Some(until))?;
        }
        for pipe in &mut self.pipes {
            pipe.from = None;
        }
        Ok(())
    }

    /// Ends every remaining process of the attempt: TERM, the grace period, then KILL. Returns how many there
    /// were.
    pub(super) fn end_leftovers(&mut self) -> io::Result<u32> {
        let kill_at = Instant::now() + Duration::from_millis(self.attempt.spec.grace_ms);
        let mut leftovers = Leftovers::default();
        // If processes cannot be listed, only the leader's group can be reached.
        #[cfg(not(target_os = "linux"))]
        let _ = rustix::process::kill_process_group(self.leader, Signal::KILL);
        loop {
            self.reap();
            let mut left = self.left()?;
            left.retain(|process| !leftovers.refused.contains(&process.key()));
            self.reap();
            let out_of_reach = !leftovers.refused.is_empty() || Instant::now() > kill_at + UNSEEN;
            if left.is_empty() && (!self.any_child || out_of_reach) {
                return Ok(leftovers.count());
            }
            let kill = Instant::now() >= kill_at;
            for process in left {
                self.signal_to_end(&process, kill, &mut leftovers)?;
            }
            self.turn(Some(Instant::now() + LOOK_AGAIN))?;
        }
    }

    /// Sends TERM once, or KILL at every call.
    fn signal_to_end(&self, process: &Process, kill: bool, leftovers: &mut Leftovers) -> io::Result<()> {
        let is_new = leftovers.ending.insert(process.key());
        let signal = if kill { Signal::KILL } else { Signal::TERM };
        if (kill || is_new) && processes::signal(process, signal)? == Sent::Refused {
            leftovers.ending.remove(&process.key());
            leftovers.refused.insert(process.key());
            self.attempt.log(&format!("process {} cannot be ended: not permitted", process.id));
        }
        Ok(())
    }

    /// Waits for an event and handles it.
    fn turn(&mut self, deadline: Option<Instant>) -> io::Result<()> {
        if self.wait_for_event(deadline)? {
            self.signals.clear();
            self.reap();
        }
        for pipe in &mut self.pipes {
            pipe.read(&mut self.buffer);
        }
        Ok(())
    }

    /// True if there was a signal.
    fn wait_for_event(&self, deadline: Option<Instant>) -> io::Result<bool> {
        let left = deadline.map(|at| at.saturating_duration_since(Instant::now()));
        // A little longer than the deadline, so as not to wake up just before it again and again.
        let timeout = left.and_then(|left| Timespec::try_from(left + Duration::from_micros(100)).ok());
        let mut fds = vec![PollFd::new(self.signals, PollFlags::IN)];
        let open = self.pipes.iter().filter_map(|pipe| pipe.from.as_ref());
        fds.extend(open.map(|from| PollFd::from_borrowed_fd(from.as_fd(), PollFlags::IN)));
        match poll(&mut fds, timeout.as_ref()) {
            Ok(_) => Ok(fds.first().is_some_and(|signals| !signals.revents().is_empty())),
            Err(Errno::INTR) => Ok(true),
            Err(errno) => Err(errno.into()),
        }
    }

    fn reap(&mut self) {
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((child, status))) if child == self.leader => {
                    self.over = Some((status, Instant::now()))
                }
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Ok(None) => return,
                Err(_) => {
                    self.any_child = false;
                    return;
                }
            }
        }
    }

    fn next_deadline(&self) -> Option<Instant> {
        match &self.ending {
            None => self.times_out_at().into_iter().chain(self.looks_at_lease_at()).min(),
            Some(ending) => (!ending.killed).then_some(ending.kill_at),
        }
    }

    fn times_out_at(&self) -> Option<Instant> {
        self.started.checked_add(Duration::from_millis(self.attempt.spec.timeout_ms?))
    }

    fn looks_at_lease_at(&self) -> Option<Instant> {
        let left = Duration::from_millis(self.lease_until_ms?.saturating_sub(boot_ms()));
        Instant::now().checked_add(left.min(LEASE_LOOK))
    }

    /// Whether the lease has ended. It is read again only when the known end has passed.
    fn lease_is_over(&mut self) -> bool {
        let is_past = |until: Option<u64>| until.is_some_and(|until| boot_ms() >= until);
        if is_past(self.lease_until_ms) {
            self.lease_until_ms = self.attempt.lease_until_ms();
        }
        is_past(self.lease_until_ms)
    }

    fn end_if_due(&mut self) -> io::Result<()> {
        let now = Instant::now();
        let lease_is_over = self.ending.is_none() && self.lease_is_over();
        match &mut self.ending {
            Some(ending) if !ending.killed && now >= ending.kill_at => {
                ending.killed = true;
                self.signal_all(Signal::KILL)
            }
            Some(_) => Ok(()),
            None => match self.reason_to_end(now, lease_is_over) {
                Some(why) => {
                    let kill_at = now + Duration::from_millis(self.attempt.spec.grace_ms);
                    self.ending = Some(Ending { why, kill_at, killed: false });
                    self.signal_all(Signal::TERM)
                }
                None => Ok(()),
            },
        }
    }

    fn reason_to_end(&self, now: Instant, lease_is_over: bool) -> Option<Outcome> {
        if self.attempt.cancel_wanted() {
            return Some(Outcome::Cancelled);
        }
        if lease_is_over {
            return Some(Outcome::LeaseOver);
        }
        self.times_out_at().filter(|at| now >= *at).map(|_| Outcome::TimedOut)
    }

    fn signal_all(&self, signal: Signal) -> io::Result<()> {
        // The leader is not reaped yet, so its id still names it and its group.
        let _ = rustix::process::kill_process_group(self.leader, signal);
        for process in self.others()? {
            if processes::signal(&process, signal)? == Sent::Refused {
                self.attempt.log(&format!("process {} cannot be signalled: not permitted", process.id));
            }
        }
        Ok(())
    }

    /// The remaining processes of the attempt.
    ///
    /// If no child is left, no descendant is left; then only the marks of each process of the machine are
    /// checked. A process that has joined another process namespace may have lost its ancestors, but is still
    /// in the group.
    fn left(&self) -> io::Result<Vec<Process>> {
        match self.any_child || processes::has_members(self.leader) {
            true => self.others(),
            false => processes::marked(getpid(), &self.marks),
        }
    }

    fn others(&self) -> io::Result<Vec<Process>> {
        processes::belonging(getpid(), &self.marks)
    }
}

fn without_waiting(pipe: OwnedFd) -> io::Result<std::fs::File> {
    rustix::io::ioctl_fionbio(&pipe, true)?;
    Ok(std::fs::File::from(pipe))
}

/// The outcome of a command that ended by itself.
fn own_outcome(status: WaitStatus) -> Outcome {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => Outcome::Exited { code },
        (None, signal) => Outcome::Signalled { signal: signal.unwrap_or(0) },
    }
}
