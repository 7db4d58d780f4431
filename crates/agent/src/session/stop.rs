//! Ends an attempt from outside: the supervisor sends TERM when the run is cancelled or the time limit is reached.
//!
//! A separate thread then cancels the task, writes the report and ends the process, within the supervisor's grace
//! period. The other threads stop at their next wait, and before they would send.
//!
//! A TERM for another reason does not end the attempt. A service manager, or a machine that shuts down, sends TERM to
//! every process. The task must go on then: after the KILL that follows, the next attempt reads the record and
//! continues.

use super::{cancel::cancel_task, now_ms};
use crate::{
    files::report::{self, Outcome},
    input::{mask::Mask, order::Order},
    protocol::{client::Client, endpoint::Endpoint},
};
use signal_hook::{consts::SIGTERM, iterator::Signals};
use std::{
    io,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

/// How long the end waits for a message that is being sent. Its reply names the task to cancel.
const SENDING: Duration = Duration::from_secs(2);

/// The longest time for the whole end after the signal. It is shorter than the grace period, so that there is time
/// for the report.
const ENDING: Duration = Duration::from_secs(4);

/// Connects the attempt with the thread that ends it.
#[derive(Clone, Default)]
pub(crate) struct Stop {
    shared: Arc<(Mutex<State>, Condvar)>,
}

#[derive(Default)]
struct State {
    endpoint: Option<Endpoint>,
    task: Option<String>,
    /// A message is being sent.
    is_sending: bool,
    /// The process is being ended.
    is_ending: bool,
    /// The attempt has its outcome, so there is nothing to cancel.
    is_finished: bool,
}

impl Stop {
    fn state(&self) -> MutexGuard<'_, State> {
        self.shared.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts the thread that ends the attempt.
    pub(crate) fn listen(&self, order: &Order, token: Option<&str>, mask: &Arc<dyn Mask>) -> io::Result<()> {
        let mut signals = Signals::new([SIGTERM])?;
        let stop = self.clone();
        let order = order.clone();
        let token = token.map(str::to_owned);
        let mask = Arc::clone(mask);
        thread::Builder::new().name("stop".to_owned()).spawn(move || {
            for _ in signals.forever() {
                if order.is_to_end(now_ms()) {
                    stop.end(&order, token.as_deref(), &mask);
                }
            }
        })?;
        Ok(())
    }

    fn end(&self, order: &Order, token: Option<&str>, mask: &Arc<dyn Mask>) {
        let deadline = Instant::now() + ENDING;
        let mut state = self.state();
        if state.is_finished {
            return;
        }
        state.is_ending = true;
        let until = Instant::now() + SENDING;
        while state.is_sending && Instant::now() < until {
            let left = until.saturating_duration_since(Instant::now());
            state = self.shared.1.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        let known_task = state.endpoint.clone().zip(state.task.clone());
        drop(state);
        let outcome = match known_task {
            None => Outcome::Unreachable("the attempt had to end before the agent had a task".to_owned()),
            Some((endpoint, task)) => {
                let client = Client::with_deadline(token, deadline, Arc::clone(mask));
                cancel_task(&client, &endpoint, &task)
            }
        };
        // If the report cannot be written, the run still knows that the attempt was cancelled.
        let _written = report::write(order, &outcome, &**mask);
        std::process::exit(1);
    }

    /// Sets the agent whose task has to be cancelled.
    pub(super) fn set_endpoint(&self, endpoint: &Endpoint) {
        self.state().endpoint = Some(endpoint.clone());
    }

    /// Sets the task that has to be cancelled.
    pub(super) fn set_task(&self, task: &str) {
        self.state().task = Some(task.to_owned());
    }

    /// Runs `send`, unless the process is being ended. `task` gets the task from the result of `send`, for the thread
    /// that ends the process.
    pub(super) fn sending<T>(&self, send: impl FnOnce() -> T, task: impl FnOnce(&T) -> Option<String>) -> T {
        let mut state = self.state();
        if state.is_ending {
            drop(state);
            wait_for_the_end();
        }
        state.is_sending = true;
        drop(state);
        let sent = send();
        let mut state = self.state();
        state.is_sending = false;
        if let Some(task) = task(&sent) {
            state.task = Some(task);
        }
        let is_ending = state.is_ending;
        drop(state);
        self.shared.1.notify_all();
        if is_ending {
            wait_for_the_end();
        }
        sent
    }

    /// Waits for `wait`. Does not return if the process is being ended.
    pub(super) fn pause(&self, wait: Duration) {
        thread::sleep(wait);
        if self.state().is_ending {
            wait_for_the_end();
        }
    }

    /// Records that the attempt has its outcome. A later signal cancels nothing.
    pub(crate) fn finish(&self) {
        let mut state = self.state();
        if state.is_ending {
            drop(state);
            wait_for_the_end();
        }
        state.is_finished = true;
    }
}

/// Blocks while another thread ends the process.
fn wait_for_the_end() -> ! {
    loop {
        thread::park();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::mask::Everything;
    use envoi_a2a::version::Version;
    use std::net::TcpListener;

    #[test]
    fn all_calls_at_the_end_share_one_deadline() {
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/rpc", silent.local_addr().unwrap());
        let endpoint = Endpoint { url, version: Version::V10, tenant: None, envelope: false, once: false };
        let client =
            Client::with_deadline(None, Instant::now() + Duration::from_millis(200), Arc::new(Everything));
        assert!(matches!(cancel_task(&client, &endpoint, "task-1"), Outcome::Unreachable(_)));
        silent.set_nonblocking(true).unwrap();
        let calls = std::iter::from_fn(|| silent.accept().ok()).count();
        assert!(calls <= 1, "the time is over with the first request, and no second one is made: {calls}");
    }
}
