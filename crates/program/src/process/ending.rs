//! Ends the program: on a TERM that this process gets, or because it has to stop.

use rustix::process::{Pid, Signal, kill_process};
use signal_hook::{consts::SIGTERM, iterator::Signals};
use std::{
    io,
    process::Child,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

/// How long a program may take to end after TERM.
const GRACE: Duration = Duration::from_secs(5);

/// The interval between checks whether it has ended after TERM.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// Forwards TERM to the program and keeps running, because the program may still report how far it came.
pub(super) struct Ending {
    pub(super) is_over: Arc<AtomicBool>,
}

impl Ending {
    pub(super) fn of(child: &Child) -> io::Result<Self> {
        let is_over = Arc::new(AtomicBool::new(false));
        let over = Arc::clone(&is_over);
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let mut signals = Signals::new([SIGTERM])?;
        thread::Builder::new().name("ending".to_owned()).spawn(move || {
            for _ in signals.forever() {
                // The program may already have got the signal through its process group.
                if let Some(pid) = pid.filter(|_| !over.load(Ordering::SeqCst)) {
                    let _gone = kill_process(pid, Signal::TERM);
                }
            }
        })?;
        Ok(Self { is_over })
    }
}

impl Ending {
    /// Ends the program, by force if needed. The supervisor ends the processes that its tools started.
    pub(super) fn end(&self, child: &mut Child) -> io::Result<()> {
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        if let Some(pid) = pid {
            let _gone = kill_process(pid, Signal::TERM);
        }
        let from = Instant::now();
        while child.try_wait()?.is_none() {
            if from.elapsed() > GRACE {
                return child.kill();
            }
            thread::sleep(LOOK_AGAIN);
        }
        Ok(())
    }
}
