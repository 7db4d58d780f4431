//! The zygote's own side: it waits, and makes a copy for each request.

#![expect(unsafe_code, reason = "fork, and what becomes of children that have ended")]

use crate::{Program, argument_area::ArgumentArea, fd_message};
use rustix::{
    fs::{Mode, OFlags},
    io::Errno,
    process::{Pid, PidfdFlags, Signal},
};
use std::{
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    panic, process,
};

/// The content of a request. There is one kind.
pub(crate) const REQUEST: [u8; 1] = [b'f'];

/// Length of an answer: the process id, or zero; then the error number, or zero.
pub(crate) const ANSWER_BYTES: usize = 8;

/// Exit code of a copy that panics, the same as of every Rust program.
const PANICKED: i32 = 101;

/// Copies this process: `None` in the copy, its id in the original.
///
/// The caller has one thread.
pub(crate) fn fork() -> Result<Option<Pid>, Errno> {
    // SAFETY: This process has one thread: `Zygote::start` has counted the threads, and the zygote never
    // starts another one. So no lock is held by a thread that is missing in the copy, and the copy may do
    // whatever the original may.
    match unsafe { libc::fork() } {
        -1 => Err(last_error()),
        id => Ok(Pid::from_raw(id)),
    }
}

fn last_error() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::AGAIN)
}

/// Sets the handling of ended children.
fn on_child(handling: libc::sighandler_t) {
    // SAFETY: Both handlings are the system's own; no function of this program is called at a signal.
    unsafe { libc::signal(libc::SIGCHLD, handling) };
}

/// The whole work of the zygote, until the other end of `socket` is closed.
pub(crate) fn serve(socket: OwnedFd, program: &Program) -> ! {
    let area = ArgumentArea::of_this_process();
    if let Some(area) = area {
        area.write(program.zygote);
    }
    if stand_alone().is_err() {
        process::exit(1);
    }
    // The kernel reaps copies that have ended.
    on_child(libc::SIG_IGN);
    let mut request = [0; REQUEST.len()];
    loop {
        let Ok((1.., fds)) = fd_message::receive(&socket, &mut request) else { process::exit(0) };
        let Ok(fds) = <[OwnedFd; 3]>::try_from(fds) else { process::exit(1) };
        match fork() {
            Ok(None) => {
                drop(socket);
                be_a_copy(fds, program, area);
            }
            forked => answer(&socket, forked),
        }
    }
}

/// Makes a session of its own, closes the original's standard streams, and leaves its working folder, which
/// it would keep in use.
fn stand_alone() -> Result<(), Errno> {
    // A stopped process does not notice that the socket is closed, and unread messages in it keep the files
    // of a request open. If the original has ended already, there is no request, and the closed socket shows
    // that. Copies do not inherit this setting.
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    rustix::process::setsid()?;
    rustix::process::chdir("/")?;
    let nothing = rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
    take_as_standard([nothing.as_fd(); 3])
}

fn take_as_standard([stdin, stdout, stderr]: [BorrowedFd<'_>; 3]) -> Result<(), Errno> {
    rustix::stdio::dup2_stdin(stdin)?;
    rustix::stdio::dup2_stdout(stdout)?;
    rustix::stdio::dup2_stderr(stderr)
}

fn be_a_copy(fds: [OwnedFd; 3], program: &Program, area: Option<ArgumentArea>) -> ! {
    // The copy's own children need the usual handling.
    on_child(libc::SIG_DFL);
    let [stdin, stdout, stderr] = &fds;
    if take_as_standard([stdin.as_fd(), stdout.as_fd(), stderr.as_fd()]).is_err() {
        process::exit(1);
    }
    drop(fds);
    if let Some(area) = area {
        area.write(program.copy);
    }
    // A panic must not return into the zygote's loop.
    let ended = panic::catch_unwind(program.main);
    process::exit(if ended.is_ok() { 0 } else { PANICKED })
}

/// The copy waits for its order, which is written only after this answer. So it cannot have ended by itself,
/// and its id cannot have been reused.
fn answer(socket: &OwnedFd, forked: Result<Option<Pid>, Errno>) {
    let opened = forked.and_then(|pid| {
        let pid = pid.ok_or(Errno::SRCH)?;
        Ok((pid, rustix::process::pidfd_open(pid, PidfdFlags::empty())?))
    });
    let reply = match &opened {
        Ok((pid, fd)) => fd_message::send(socket, &answer_bytes(pid.as_raw_pid(), 0), &[fd.as_fd()]),
        Err(error) => fd_message::send(socket, &answer_bytes(0, error.raw_os_error()), &[]),
    };
    if reply.is_err() {
        process::exit(0);
    }
}

fn answer_bytes(pid: i32, error: i32) -> [u8; ANSWER_BYTES] {
    let mut bytes = [0; ANSWER_BYTES];
    let (first, second) = bytes.split_at_mut(ANSWER_BYTES / 2);
    first.copy_from_slice(&pid.to_ne_bytes());
    second.copy_from_slice(&error.to_ne_bytes());
    bytes
}
