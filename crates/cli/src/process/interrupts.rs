//! Handles Ctrl-C and SIGTERM. The effect depends on whether this process is the engine or follows another
//! one.
//!
//! The handlers are installed once. Their meaning can change, because a follower may become the engine. A
//! command that is started with SIGINT ignored (`nohup envoi run … &` in a script) must survive a Ctrl-C for
//! the foreground command: SIGINT stays ignored, and SIGTERM ends the command.

use crate::process::{
    failure::{Failure, STOPPED},
    invocation, messages, pager, terminal,
};
use envoi_kernel::ids::RunId;
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    flag,
    iterator::Signals,
};
use std::{
    io, mem,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

/// The role of this process for a run.
pub(crate) enum Mode {
    /// No role: the first signal ends it.
    Idle,
    /// Another process is the engine.
    Following {
        /// The process id of the engine.
        engine: u32,
        /// The run.
        run: Option<RunId>,
        /// Whether this command ends the run.
        cancels: bool,
    },
    /// The engine is a remote server.
    Afar {
        /// Its address.
        server: String,
        /// The run.
        run: RunId,
    },
    /// The command waits for an answer of the person who sends the signal. The question stays open.
    Asking {
        /// The exit code of the command.
        code: u8,
    },
    /// Another program has the terminal, and Ctrl-C is for that program. A signal that ends this process
    /// works as in `Asking`.
    Editing {
        /// The exit code of the command.
        code: u8,
    },
    /// The process serves the network. The first signal ends that.
    Serving(Box<dyn Fn() + Send>),
    /// The process is the engine. After the first signal it starts nothing new.
    Engine {
        /// Stops starting new work.
        drain: Box<dyn Fn() + Send>,
        /// The run of the command.
        run: Option<RunId>,
    },
}

const STAYS_OPEN: &[u8] = b"\nthe question stays open: `envoi inbox` lists it\n";

static MODE: Mutex<Mode> = Mutex::new(Mode::Idle);

/// A signal sets this until it is handled. A further signal then ends the process in its handler, so that two
/// quick signals count as two.
static ONCE: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// Sets the meaning of a signal.
pub(crate) fn mean(mode: Mode) -> Result<(), Failure> {
    *lock() = mode;
    installed()
}

/// Sets the meaning of a signal while `work` runs, then restores the previous one.
pub(crate) fn meanwhile<T>(mode: Mode, work: impl FnOnce() -> T) -> Result<T, Failure> {
    let before = mem::replace(&mut *lock(), mode);
    let done = installed().map(|()| work());
    *lock() = before;
    done
}

fn installed() -> Result<(), Failure> {
    if ONCE.get().is_none() {
        install().map_err(|error| Failure::machine("signals", error))?;
    }
    Ok(())
}

fn lock() -> MutexGuard<'static, Mode> {
    MODE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn install() -> std::io::Result<()> {
    let once = Arc::clone(ONCE.get_or_init(Arc::default));
    let heeded: &[i32] = if ignores_ctrl_c() { &[SIGTERM] } else { &[SIGINT, SIGTERM] };
    // Until all handlers are installed, a signal has its default effect. A registration returns when no
    // handler that lacks it is running, so after the last one each signal goes through all of them once.
    let is_incomplete = Arc::new(AtomicBool::new(true));
    for signal in heeded {
        flag::register_conditional_default(*signal, Arc::clone(&is_incomplete))?;
    }
    for signal in heeded {
        flag::register_conditional_shutdown(*signal, i32::from(STOPPED), Arc::clone(&once))?;
        flag::register(*signal, Arc::clone(&once))?;
    }
    let mut signals = Signals::new(heeded)?;
    is_incomplete.store(false, Ordering::SeqCst);
    thread::Builder::new().name("signals".to_owned()).spawn(move || {
        let mut is_first = true;
        for signal in signals.forever() {
            let mode = lock();
            if !(signal == SIGINT && matches!(*mode, Mode::Editing { .. })) {
                obey(&mode, is_first);
                is_first = false;
            }
            drop(mode);
            // The next signal is handled here too, and prints the last message.
            once.store(false, Ordering::SeqCst);
        }
    })?;
    Ok(())
}

/// From now on, a signal that ends this process also ends the Git processes that it waits for: they have
/// their own process group, to which a terminal sends no signal. For commands that handle no other signals.
/// If listening fails, signals work as without it.
pub(crate) fn end_git_with_this_process() {
    let ending: &[i32] = if ignores_ctrl_c() { &[SIGTERM, SIGHUP] } else { &[SIGINT, SIGTERM, SIGHUP] };
    let Ok(mut signals) = Signals::new(ending) else { return };
    let listen = move || {
        for signal in signals.forever() {
            // A pager has the terminal, and Ctrl-C is for the pager.
            if signal == SIGINT && pager::is_shown() {
                continue;
            }
            envoi_tree::git::end_all();
            signal_hook::low_level::emulate_default_handler(signal).ok();
        }
    };
    thread::Builder::new().name("ending".to_owned()).spawn(listen).ok();
}

/// Whether this process was started with SIGINT ignored. Without `/proc` this needs unsafe code, so Ctrl-C is
/// then handled.
fn ignores_ctrl_c() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    ignored(&status).is_some_and(|mask| mask & (1 << (SIGINT - 1)) != 0)
}

/// The set of ignored signals from `/proc/PID/status`. The lowest bit is signal 1.
fn ignored(status: &str) -> Option<u64> {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"))?;
    u64::from_str_radix(mask.trim(), 16).ok()
}

/// The cleanup before a signal ends the process.
static CLEANUP: OnceLock<fn()> = OnceLock::new();

/// Runs `cleanup` before a signal ends the process. Only the first call has an effect.
pub(crate) fn before_exit(cleanup: fn()) {
    CLEANUP.get_or_init(|| cleanup);
}

/// Ends the process immediately.
fn leave(code: u8) {
    if let Some(cleanup) = CLEANUP.get() {
        cleanup();
    }
    std::process::exit(i32::from(code));
}

/// The last lines about an unfinished run.
pub(crate) fn how_to_go_on(run: &RunId) -> String {
    let envoi = invocation::envoi();
    format!("stopped: run {run} is not finished\nlook: {envoi} show {run}   go on: {envoi} resume {run}")
}

fn obey(mode: &Mode, is_first: bool) {
    match mode {
        Mode::Idle => leave(STOPPED),
        Mode::Serving(_) if !is_first => leave(STOPPED),
        Mode::Engine { run, .. } if !is_first => {
            messages::say_last(&run.as_ref().map_or_else(|| "stopped".to_owned(), how_to_go_on));
            leave(STOPPED);
        }
        Mode::Following { engine, run, cancels } => {
            let run = run.as_ref().map_or("RUN", RunId::as_str);
            messages::say_last(&match cancels {
                true => format!(
                    "process {engine} continues to cancel the run, which ends when its live steps have ended; \
                     `envoi show {run}` lists them"
                ),
                false => format!(
                    "the run goes on in process {engine}; `envoi cancel {run}` ends it, `envoi resume {run}` follows it"
                ),
            });
            leave(STOPPED);
        }
        Mode::Afar { server, run } => {
            let envoi = invocation::envoi();
            messages::say_last(&format!(
                "the run goes on at {server}; `{envoi} cancel {run}` ends it, `{envoi} resume {run}` follows it"
            ));
            leave(STOPPED);
        }
        Mode::Asking { code } | Mode::Editing { code } => {
            // Written directly, so that a lock of another thread cannot block it.
            let _ = rustix::io::write(io::stderr(), STAYS_OPEN);
            terminal::discard();
            leave(*code);
        }
        Mode::Serving(stop) => stop(),
        Mode::Engine { drain, run } => {
            // Drain before printing: a process that is killed after the message must start nothing new.
            drain();
            let run = run.as_ref().map_or_else(String::new, |run| format!(" {run}"));
            messages::say(&format!(
                "starting nothing new, waiting for live steps; Ctrl-C again leaves them to their supervisors, and \
                 `envoi resume{run}` goes on"
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_signals_are_read_as_linux_writes_them() {
        let status =
            |mask: &str| format!("Name:\tenvoi\nSigBlk:\t0000000000000002\nSigIgn:\t{mask}\nSigCgt:\t0\n");
        for (mask, found) in
            [("0000000000000000", Some(0)), ("0000000000001002", Some(0x1002)), ("nothing", None)]
        {
            assert_eq!(ignored(&status(mask)), found, "{mask}");
        }
        assert_eq!(ignored(""), None);
    }
}
