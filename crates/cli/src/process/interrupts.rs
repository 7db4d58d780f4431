//! What Ctrl-C (or SIGTERM) does: it depends on whether this process is the engine or follows another's.
//!
//! The handlers are installed once; what they mean can change, because a follower may become the engine. A command that is started
//! with SIGINT ignored (`nohup envoi run … &` in a script) outlives a Ctrl-C that is meant for the command in front: SIGINT stays
//! ignored, and SIGTERM ends the command.

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

/// What this process is to a run.
pub(crate) enum Mode {
    /// Neither: the first signal ends it.
    Idle,
    /// Another process is the engine.
    Following {
        /// That process.
        engine: u32,
        /// The run.
        run: Option<RunId>,
        /// It ends the run.
        cancels: bool,
    },
    /// The engine is a server, elsewhere.
    Afar {
        /// Its address.
        server: String,
        /// The run.
        run: RunId,
    },
    /// It waits for the person who gives the signal: the question stays open.
    Asking {
        /// What the command exits with.
        code: u8,
    },
    /// A program at the terminal has the keyboard: Ctrl-C is for that one, and the end of this process is as with `Asking`.
    Editing {
        /// What the command exits with.
        code: u8,
    },
    /// It answers over the network; the first signal ends that.
    Serving(Box<dyn Fn() + Send>),
    /// It is the engine; the first signal starts nothing new.
    Engine {
        /// Starts nothing new.
        drain: Box<dyn Fn() + Send>,
        /// The run of the command.
        run: Option<RunId>,
    },
}

const STAYS_OPEN: &[u8] = b"\nthe question stays open: `envoi inbox` lists it\n";

static MODE: Mutex<Mode> = Mutex::new(Mode::Idle);

/// Set by a signal until it is obeyed; another one then ends the process in its handler, so that two in quick succession are two.
static ONCE: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// From now on a signal means this.
pub(crate) fn mean(mode: Mode) -> Result<(), Failure> {
    *lock() = mode;
    installed()
}

/// A signal means this while `work` is under way, and then what it meant before.
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
    // Until all of it is installed, a signal does what it did before. A registration returns when no handler is at work that does not
    // know of it: after the last one each signal goes through all of them, once.
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
            // The next one is obeyed here too, with its last words.
            once.store(false, Ordering::SeqCst);
        }
    })?;
    Ok(())
}

/// Until the process ends, a signal that ends it ends the git too that it waits for: that one is in a group of its own, which a terminal sends
/// nothing. For commands that heed no signal otherwise. A failure to listen leaves things as they are without it.
pub(crate) fn end_git_with_this_process() {
    let ending: &[i32] = if ignores_ctrl_c() { &[SIGTERM, SIGHUP] } else { &[SIGINT, SIGTERM, SIGHUP] };
    let Ok(mut signals) = Signals::new(ending) else { return };
    let listen = move || {
        for signal in signals.forever() {
            // A pager is in front, and Ctrl-C is for that.
            if signal == SIGINT && pager::is_shown() {
                continue;
            }
            envoi_tree::git::end_all();
            signal_hook::low_level::emulate_default_handler(signal).ok();
        }
    };
    thread::Builder::new().name("ending".to_owned()).spawn(listen).ok();
}

/// Whether this process was started with SIGINT ignored. Without `/proc` this cannot be read without unsafe code, and Ctrl-C
/// is heeded.
fn ignores_ctrl_c() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    ignored(&status).is_some_and(|mask| mask & (1 << (SIGINT - 1)) != 0)
}

/// The signals that a process ignores, as `/proc/PID/status` has them: the lowest bit is signal 1.
fn ignored(status: &str) -> Option<u64> {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"))?;
    u64::from_str_radix(mask.trim(), 16).ok()
}

/// What has to be removed before a signal ends the process.
static CLEANUP: OnceLock<fn()> = OnceLock::new();

/// Runs `cleanup` before a signal ends the process. Only the first caller counts.
pub(crate) fn before_exit(cleanup: fn()) {
    CLEANUP.get_or_init(|| cleanup);
}

/// Ends the process, in the middle of whatever it does.
fn leave(code: u8) {
    if let Some(cleanup) = CLEANUP.get() {
        cleanup();
    }
    std::process::exit(i32::from(code));
}

/// The last lines about a run that is not at rest.
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
            // Whatever else has been locked, this gets out.
            let _ = rustix::io::write(io::stderr(), STAYS_OPEN);
            terminal::discard();
            leave(*code);
        }
        Mode::Serving(stop) => stop(),
        Mode::Engine { drain, run } => {
            // First the order, then the words: what ends after a person has read them starts nothing.
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
