//! What Ctrl-C (or SIGTERM) does: it depends on whether this process is the engine or follows another's.
//!
//! The handlers are installed once; what they mean can change, because a follower may become the engine.

use crate::{called, engine_room::STOPPED, failure::Failure, keyboard, live, remote};
use envoi_kernel::ids::RunId;
use signal_hook::{
    consts::{SIGINT, SIGTERM},
    flag,
    iterator::Signals,
};
use std::{
    io, mem,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, atomic::AtomicBool},
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
    /// It answers over the network; the first signal ends that.
    Serving(Box<dyn Fn() + Send>),
    /// It is the engine; the first signal starts nothing new.
    Engine(Box<dyn Fn() + Send>),
}

const STAYS_OPEN: &[u8] = b"\nthe question stays open: `envoi inbox` lists it\n";

static MODE: Mutex<Mode> = Mutex::new(Mode::Idle);

/// Set by the first signal; the second one then ends the process in its handler, so that two in quick succession are two.
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
    for signal in [SIGINT, SIGTERM] {
        flag::register_conditional_shutdown(signal, i32::from(STOPPED), Arc::clone(&once))?;
        flag::register(signal, Arc::clone(&once))?;
    }
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    thread::Builder::new().name("signals".to_owned()).spawn(move || {
        for _ in signals.forever() {
            obey(&lock());
        }
    })?;
    Ok(())
}

/// Ends the process, in the middle of whatever it does.
fn leave(code: u8) {
    remote::forget();
    std::process::exit(i32::from(code));
}

fn obey(mode: &Mode) {
    match mode {
        Mode::Idle => leave(STOPPED),
        Mode::Following { engine, run } => {
            let run = run.as_ref().map_or("RUN", RunId::as_str);
            live::say(&format!(
                "the run goes on in process {engine}; `envoi cancel {run}` ends it, `envoi resume {run}` follows it"
            ));
            leave(STOPPED);
        }
        Mode::Afar { server, run } => {
            let envoi = called::envoi();
            live::say(&format!(
                "the run goes on at {server}; `{envoi} cancel {run}` ends it, `{envoi} resume {run}` follows it"
            ));
            leave(STOPPED);
        }
        Mode::Asking { code } => {
            // Whatever else has been locked, this gets out.
            rustix::io::write(io::stderr(), STAYS_OPEN).unwrap_or_default();
            keyboard::discard();
            leave(*code);
        }
        Mode::Serving(stop) => stop(),
        Mode::Engine(drain) => {
            live::say(
                "starting nothing new, waiting for live steps; Ctrl-C again leaves them to their supervisors, and \
                 `envoi resume` finds them",
            );
            drain();
        }
    }
}
