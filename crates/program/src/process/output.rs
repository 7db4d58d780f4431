//! Reads the standard output of the program: its events are kept, shown to people and counted.

use super::{LEFT_OPEN, Work};
use crate::{
    EVENTS_FILE, SESSION_FILE, USED_FILE,
    events::Events,
    files::KeptEvents,
    used::{metrics, of_attempt},
};
use envoi_contract::json::Value;
use envoi_kernel::ledger::Cost;
use envoi_preset::{Class, Failure, ProgramLine, Reading, Support, Usage, Version};
use std::{
    io::{self, Read, Write as _},
    process::Child,
    sync::mpsc::{self, Receiver, RecvTimeoutError},
    thread,
    time::{Duration, Instant},
};

/// The same limit while output still arrives.
const MOST_LEFT_OPEN: Duration = Duration::from_secs(30);

/// The interval between checks whether the program has ended, while nothing arrives.
const SILENCE: Duration = Duration::from_millis(200);

/// The largest number of output pieces that wait to be read.
const WAITING_PIECES: usize = 16;

impl Work<'_> {
    /// Reads all events. Returns the reason for which the program has to be ended, if there is one.
    pub(super) fn read(&self, child: &mut Child, reading: &mut Reading<'_>) -> io::Result<Option<Failure>> {
        let file = KeptEvents::open(&self.order.folder.join(EVENTS_FILE))?;
        let mut events = Events::new(file, self.mask);
        let ended = self.read_into(&mut events, child, reading)?;
        let is_full = events.flush()?;
        self.show_full(is_full);
        Ok(ended)
    }

    fn read_into(
        &self,
        events: &mut Events<'_>,
        child: &mut Child,
        reading: &mut Reading<'_>,
    ) -> io::Result<Option<Failure>> {
        let Some(stdout) = child.stdout.take() else { return Ok(None) };
        let pieces = pieces_of(stdout)?;
        let idle = self.order.idle_ms.map(Duration::from_millis);
        let mut known = None;
        let mut noted = None;
        let mut last = Instant::now();
        let mut seen = 0;
        let mut ended: Option<Instant> = None;
        loop {
            // Incomplete lines and lines without an event do not count as a sign of work.
            let left = idle.map_or(SILENCE, |idle| idle.saturating_sub(last.elapsed()));
            let wait = if ended.is_some() { LEFT_OPEN } else { left.min(SILENCE) };
            let lines = match pieces.recv_timeout(wait) {
                _ if ended.is_some_and(|ended| ended.elapsed() > MOST_LEFT_OPEN) => break,
                Ok(piece) => reading.push(&piece?),
                Err(RecvTimeoutError::Disconnected) => break,
                // Everything that the program wrote was read.
                Err(RecvTimeoutError::Timeout) if ended.is_some() => break,
                Err(RecvTimeoutError::Timeout) if child.try_wait()?.is_some() => {
                    ended = Some(Instant::now());
                    continue;
                }
                Err(RecvTimeoutError::Timeout) if left > SILENCE || idle.is_none() => continue,
                Err(RecvTimeoutError::Timeout) => return Ok(Some(silent(idle, reading))),
            };
            self.keep(events, &lines)?;
            if reading.events() > seen {
                seen = reading.events();
                last = Instant::now();
            } else if ended.is_none() && idle.is_some_and(|idle| last.elapsed() >= idle) {
                return Ok(Some(silent(idle, reading)));
            }
            let used = reading.usage();
            if noted != Some(used) {
                let metrics = metrics(&of_attempt(used, self.order, false), &self.order.before.figures());
                // For people, and for an attempt whose end is unknown. The report overrides this file.
                envoi_durable::renew(
                    &self.order.folder.join(USED_FILE),
                    Value::Object(metrics).compact().as_bytes(),
                )?;
                noted = Some(used);
            }
            if let Some(failure) = self.cannot_ask(reading) {
                return Ok(Some(failure));
            }
            if let Some(session) = reading.session().filter(|session| known.as_deref() != Some(*session)) {
                // A session id that contains a secret cannot be stored, so the session cannot be resumed.
                if self.mask.text(session) == session {
                    envoi_durable::put(&self.order.folder.join(SESSION_FILE), session.as_bytes())?;
                }
                known = Some(session.to_owned());
            }
            if let (Some(calls), Some(most)) = (reading.calls(), self.order.max_calls)
                && calls > most
            {
                let message =
                    format!("{calls} calls of a model, and the budget is {most}: the program was ended");
                return Ok(Some(Failure::new(Class::Budget, message)));
            }
            if let Some(failure) = self.past_its_cost(used) {
                return Ok(Some(failure));
            }
        }
        let rest: Vec<ProgramLine> = reading.end().into_iter().collect();
        self.keep(events, &rest)?;
        Ok(None)
    }

    /// The failure if the cost has passed the budget. It applies to programs that report the cost of their calls but
    /// do not limit it.
    fn past_its_cost(&self, used: Usage) -> Option<Failure> {
        let most = Cost::parse(self.order.max_cost.as_deref()?).filter(|_| !self.preset.tests_cost())?;
        let cost = of_attempt(used, self.order, false).since(&self.order.before.figures()).cost?;
        (cost > most).then(|| {
            let message = format!("{cost} USD, and the budget is {most} USD: the program was ended");
            Failure::new(Class::Budget, message)
        })
    }

    /// The failure if the version of the program is untested and some calls need a decision. Such a version might not
    /// know how to defer a call, and would make it.
    fn cannot_ask(&self, reading: &Reading<'_>) -> Option<Failure> {
        let version = reading.version().filter(|_| !self.order.ask.is_empty())?;
        let found = Version::find(version);
        if found.is_some_and(|version| self.preset.support(version) != Support::Older) {
            return None;
        }
        let message = format!(
            "version {version} cannot put a call off: `ask` needs {} or a newer one",
            self.preset.tried().0
        );
        Some(Failure::new(Class::NotInstalled, message))
    }

    fn keep(&self, events: &mut Events<'_>, lines: &[ProgramLine]) -> io::Result<()> {
        for line in lines {
            let is_full = events.keep(line)?;
            self.show_full(is_full);
            self.show(&line.shown);
        }
        Ok(())
    }

    fn show_full(&self, is_full: bool) {
        if is_full {
            self.show(&[format!("warning: {EVENTS_FILE} is full: the events that follow are not kept")]);
        }
    }

    /// Prints lines for people. The supervisor masks them.
    pub(super) fn show(&self, lines: &[String]) {
        let mut out = io::stdout().lock();
        for line in lines {
            // A failed write to the log does not stop the attempt.
            let _unread = writeln!(out, "{line}");
        }
    }
}

/// The failure if there was no sign of work for `idle`. The program's last error is then the most likely reason. A
/// rate limit of the account is such a reason, because the program waits for its end by itself.
fn silent(idle: Option<Duration>, reading: &Reading<'_>) -> Failure {
    let idle = idle.unwrap_or_default();
    let unit = if idle == Duration::from_secs(1) { "second" } else { "seconds" };
    let mut message = format!("no sign of work for {} {unit}: the program was ended", idle.as_secs_f64());
    if let Some(error) = reading.last_error() {
        message.push_str("; its last error: ");
        message.push_str(error);
    }
    let class = if reading.is_limited() { Class::Throttled } else { Class::Idle };
    Failure::new(class, message)
}

/// Reads the output in pieces on a thread of its own. A child process that the program leaves running may hold the
/// pipe open; the thread is then abandoned.
fn pieces_of(mut stdout: impl Read + Send + 'static) -> io::Result<Receiver<io::Result<Vec<u8>>>> {
    let (sender, pieces) = mpsc::sync_channel(WAITING_PIECES);
    thread::Builder::new().name("stdout".to_owned()).spawn(move || {
        let mut piece = vec![0; 64 * 1024];
        loop {
            let read = match stdout.read(&mut piece) {
                Ok(0) => break,
                Ok(bytes) => Ok(piece.get(..bytes).unwrap_or_default().to_vec()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => Err(error),
            };
            let is_over = read.is_err();
            if sender.send(read).is_err() || is_over {
                break;
            }
        }
    })?;
    Ok(pieces)
}
