//! Being told to end: TERM comes from the supervisor, when the run is cancelled or the time is over.
//!
//! A thread of its own asks the agent to cancel the task, leaves a report and ends the process, all within the supervisor's
//! grace. What else goes on stops where it waits, or where it would send.
//!
//! A TERM that is neither, as a machine that shuts down or a service manager sends it to every process, ends nothing: the task
//! is nobody's to cancel then, and whoever is killed after it finds the record and goes on.

use crate::{
    call::{CallError, Client},
    leave::{self, End},
    mask::Mask,
    order::Order,
    record::Endpoint,
};
use signal_hook::{consts::SIGTERM, iterator::Signals};
use std::{
    io,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant, SystemTime},
};

/// How long a message that is on its way may take before the task that it begins is given up for lost.
const SENDING: Duration = Duration::from_secs(2);

/// How long everything may take, from the signal on: less than the grace, with a rest for the report.
const ENDING: Duration = Duration::from_secs(4);

/// See the module.
#[derive(Clone, Default)]
pub(crate) struct Stop {
    shared: Arc<(Mutex<Known>, Condvar)>,
}

#[derive(Default)]
struct Known {
    endpoint: Option<Endpoint>,
    task: Option<String>,
    sending: bool,
    ending: bool,
    over: bool,
}

impl Stop {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.shared.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins to listen.
    pub(crate) fn listen(&self, order: &Order, token: Option<&str>, mask: &Arc<dyn Mask>) -> io::Result<()> {
        let mut signals = Signals::new([SIGTERM])?;
        let (stop, order, token) = (self.clone(), order.clone(), token.map(str::to_owned));
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
        let last = Instant::now() + ENDING;
        let mut known = self.known();
        if known.over {
            return;
        }
        known.ending = true;
        let until = Instant::now() + SENDING;
        while known.sending && Instant::now() < until {
            let left = until.saturating_duration_since(Instant::now());
            known = self.shared.1.wait_timeout(known, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        let place = known.endpoint.clone().zip(known.task.clone());
        drop(known);
        let end = match place {
            None => End::Unreached("told to end before the agent had a task".to_owned()),
            Some((endpoint, task)) => {
                cancelled(&Client::hurried(token, last, Arc::clone(mask)), &endpoint, &task)
            }
        };
        // Whoever reads the report sees how far it came; that it was cancelled is known without it.
        drop(leave::leave(order, &end, &**mask));
        std::process::exit(1);
    }

    /// Where the agent is spoken to.
    pub(crate) fn found(&self, endpoint: &Endpoint) {
        self.known().endpoint = Some(endpoint.clone());
    }

    /// The task that is to be cancelled.
    pub(crate) fn follows(&self, task: &str) {
        self.known().task = Some(task.to_owned());
    }

    /// Sends, unless it is being ended. What comes of it is known to the one who ends it.
    pub(crate) fn sending<T>(&self, send: impl FnOnce() -> T, task: impl FnOnce(&T) -> Option<String>) -> T {
        let mut known = self.known();
        if known.ending {
            drop(known);
            wait_for_the_end();
        }
        known.sending = true;
        drop(known);
        let sent = send();
        let mut known = self.known();
        known.sending = false;
        if let Some(task) = task(&sent) {
            known.task = Some(task);
        }
        let ending = known.ending;
        drop(known);
        self.shared.1.notify_all();
        if ending {
            wait_for_the_end();
        }
        sent
    }

    /// Waits so long.
    pub(crate) fn pause(&self, wait: Duration) {
        thread::sleep(wait);
        if self.known().ending {
            wait_for_the_end();
        }
    }

    /// Nothing is to be cancelled any more.
    pub(crate) fn over(&self) {
        let mut known = self.known();
        if known.ending {
            drop(known);
            wait_for_the_end();
        }
        known.over = true;
    }
}

fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// The process is being ended by another thread.
fn wait_for_the_end() -> ! {
    loop {
        thread::park();
    }
}

/// Asks the agent to cancel a task, and says what came of it.
pub(crate) fn cancelled(client: &Client, endpoint: &Endpoint, task: &str) -> End {
    match client.cancel(endpoint, task) {
        Ok(_) | Err(CallError::NoTask) => {
            leave::say(&format!("task {task} is cancelled"));
            End::Withdrawn(task.to_owned())
        }
        // It was over before.
        Err(error) => match client.get(endpoint, task) {
            Ok(known) if !known.state.waits() && known.state != crate::task::State::Going => {
                End::Withdrawn(task.to_owned())
            }
            _ => End::Unreached(format!("task {task} cannot be cancelled: {error}")),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Everything, record::Version};
    use std::net::TcpListener;

    #[test]
    fn one_deadline_is_for_all_that_is_asked_at_the_end() {
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/rpc", silent.local_addr().unwrap());
        let endpoint = Endpoint { url, version: Version::V1, tenant: None, envelope: false, once: false };
        let client = Client::hurried(None, Instant::now() + Duration::from_millis(200), Arc::new(Everything));
        assert!(matches!(cancelled(&client, &endpoint, "task-1"), End::Unreached(_)));
        silent.set_nonblocking(true).unwrap();
        let asked = std::iter::from_fn(|| silent.accept().ok()).count();
        assert!(
            asked <= 1,
            "the time is over with the first request, and a second one is not begun: {asked}"
        );
    }
}
