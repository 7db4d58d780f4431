//! Starts the program as a process, reads its output line by line, and waits for it.

use crate::{
    EVENTS_FILE, Mask, ORDER_VARIABLE, Order, SECRET_VARIABLES, SESSION_FILE, USED_FILE,
    events::Events,
    files::{self, KeptEvents},
    hook::{self, Policy},
    prompt,
    used::{metrics, of_attempt},
};
use envoi_contract::json::Value;
use envoi_kernel::{event::CallAnswer, ledger::Cost};
use envoi_preset::{
    Asks, Class, Exit, Failure, Invocation, Masking, May, NO_BACKGROUND_WORK, Outcome, Preset, ProgramLine,
    Reading, Resume, Support, Usage, Version,
};
use rustix::process::{Pid, Signal, kill_process};
use signal_hook::{consts::SIGTERM, iterator::Signals};
use std::{
    io::{self, Read, Write as _},
    os::unix::process::ExitStatusExt as _,
    process::{Child, Command, ExitStatus, Stdio},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc::{self, Receiver, RecvTimeoutError},
    },
    thread,
    time::{Duration, Instant},
};

/// The file with the prompt, in the attempt's folder.
const PROMPT_FILE: &str = "prompt.txt";

/// Bytes that are kept of the end of standard error. They show why a program failed.
const STDERR_BYTES: usize = 16 * 1024;

/// How long to wait for the end of the output after the program has ended, while nothing arrives. A child process
/// that it left running may hold the pipe open.
const LEFT_OPEN: Duration = Duration::from_secs(2);

/// The same limit while output still arrives.
const MOST_LEFT_OPEN: Duration = Duration::from_secs(30);

/// The interval between checks whether the program has ended, while nothing arrives.
const SILENCE: Duration = Duration::from_millis(200);

/// How long a program may take to end after TERM.
const GRACE: Duration = Duration::from_secs(5);

/// The interval between checks whether it has ended after TERM.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// The largest number of output pieces that wait to be read.
const WAITING_PIECES: usize = 16;

/// One running attempt.
pub(crate) struct Work<'o> {
    pub(crate) order: &'o Order,
    pub(crate) preset: Preset,
    pub(crate) mask: &'o dyn Mask,
}

/// The result of an attempt.
pub(crate) enum Finished {
    /// The program ran.
    Ran {
        /// Its result.
        outcome: Box<Outcome>,
        /// True if the session to resume did not exist, so that a new one began.
        began_anew: bool,
    },
    /// The program could not be started.
    NotStarted(io::Error),
}

impl Work<'_> {
    /// Runs the program to its end. If its session no longer exists, the same attempt begins a new session.
    pub(crate) fn to_the_end(&self) -> io::Result<Finished> {
        let order = self.order;
        let answer = order.answer.as_deref().filter(|_| order.resumes);
        let feedback = order.feedback.as_deref().map(files::text).transpose()?;
        let task = match order.schema.as_ref().filter(|_| !self.preset.takes_schema()) {
            Some(schema) => &prompt::with_schema(&order.prompt, &schema.compact()),
            None => &order.prompt,
        };
        let prompt =
            prompt::compose(task, prompt::Before::of(order), order.failure.as_deref(), feedback.as_deref());
        // The decided call is the only input with which the session goes on.
        put_prompt(order, if answer.is_some() { "" } else { &prompt })?;
        if let Some(schema) = &order.schema {
            envoi_durable::renew(&order.folder.join("schema.json"), schema.compact().as_bytes())?;
        }
        let id = order.session.as_deref();
        let session = match id {
            Some(id) if order.resumes => Resume::From(id),
            id => self.beginning(id),
        };
        let mut first = self.run(session, answer)?;
        if let (Finished::Ran { outcome, .. }, Resume::From(id)) = (&first, session)
            && outcome.nothing_waits
        {
            self.show(&[
                "the call that was decided is not in the session any more: the agent goes on, and asks again"
                    .to_owned(),
            ]);
            let before = prompt::Before::CutOff;
            let feedback = feedback.as_deref();
            let prompt = prompt::compose(task, before, order.failure.as_deref(), feedback);
            put_prompt(order, &prompt)?;
            first = self.run(Resume::From(id), None)?;
        }
        let Finished::Ran { outcome, .. } = &first else { return Ok(first) };
        let mut lost = match session {
            Resume::From(id) | Resume::Fork { of: id, .. } if outcome.lost => id,
            _ => return Ok(first),
        };
        put_prompt(order, &prompt)?;
        let new = id.filter(|_| self.preset.frees_lost_id());
        if let (Resume::From(_), Resume::Fork { of, .. }) = (session, self.beginning(new)) {
            // The earlier attempt was interrupted before the fork began, so the fork is made again.
            let again = self.run(self.beginning(new), None)?;
            match &again {
                Finished::Ran { outcome, .. } if outcome.lost => lost = of,
                _ => return Ok(again),
            }
        }
        self.show(&[format!("session {lost} is not there any more: a new one begins")]);
        let again = self.run(Resume::New(new), None)?;
        Ok(match again {
            Finished::Ran { outcome, .. } => Finished::Ran { outcome, began_anew: true },
            not_started => not_started,
        })
    }

    /// Begins the session with this id.
    fn beginning<'a>(&'a self, id: Option<&'a str>) -> Resume<'a> {
        match (id, &self.order.fork_of) {
            (Some(id), Some(fork)) => Resume::Fork { id, of: &fork.id, last: &fork.last },
            (id, _) => Resume::New(id),
        }
    }

    fn run(&self, session: Resume<'_>, answer: Option<&CallAnswer>) -> io::Result<Finished> {
        let hook = match self.order.ask.is_empty() && answer.is_none() {
            true => None,
            false => Some(Policy::write(self.order, answer)?),
        };
        let mut child = match self.command(session, hook.as_deref())?.spawn() {
            Ok(child) => child,
            Err(error) => return Ok(Finished::NotStarted(error)),
        };
        let ending = Ending::of(&child)?;
        let stderr = child.stderr.take().map(Tail::of);
        let mask = |text: &str| self.mask.text(text);
        let mut reading = Reading::of(self.preset, Masking::with(&mask));
        let read = self.read(&mut child, &mut reading);
        if let Ok(Some(_)) | Err(_) = &read {
            ending.end(&mut child)?;
        }
        let status = child.wait()?;
        ending.is_over.store(true, Ordering::SeqCst);
        let ended = read?;
        let stderr = stderr.map(Tail::text).unwrap_or_default();
        let (put_off, refused) = match hook {
            Some(_) => hook::decided(&self.order.folder)?,
            None => Default::default(),
        };
        refused.iter().for_each(|call| reading.excuse(call));
        reading.allow_denials(self.order.denials);
        let mut outcome = reading.finish(exit(status), &stderr, self.order.schema.is_some());
        settle_put_off_call(&mut outcome, put_off.as_deref(), exit(status), self.order.denials);
        if let Some(failure) = ended {
            outcome.failure = Some(failure);
        }
        Ok(Finished::Ran { outcome: Box::new(outcome), began_anew: false })
    }

    fn command(&self, session: Resume<'_>, hook: Option<&str>) -> io::Result<Command> {
        let order = self.order;
        let schema = order.schema.as_ref().map(|schema| schema.compact());
        let schema_file = order.folder.join("schema.json").to_string_lossy().into_owned();
        let invocation = Invocation {
            session,
            may: May::of(&order.may).ok_or_else(|| {
                io::Error::other(format!(
                    "the order says `may: {}`, which this program does not know",
                    order.may
                ))
            })?,
            model: order.model.as_deref(),
            turns: order.turns,
            max_cost: order.max_cost.as_deref(),
            schema: schema.as_deref().map(|schema| (schema, schema_file.as_str())),
            bridge: order.bridge.as_deref(),
            asks: hook.map(|hook| Asks { hook, own_questions: hook::has_own_questions(order) }),
            args: &order.args,
        };
        let mut command = Command::new(&order.program);
        if hook.is_some() {
            // Background work would go on after a call was deferred, and the deferred call would be lost.
            command.env(NO_BACKGROUND_WORK, "1");
        }
        command.args(invocation.arguments(self.preset));
        // This process writes the report and the text itself.
        command
            .env_remove(ORDER_VARIABLE)
            .env_remove("ENVOI_REPORT")
            .env_remove("ENVOI_OUTPUT")
            .env_remove("ENVOI_DATA");
        for number in 0..order.secrets {
            command.env_remove(format!("{SECRET_VARIABLES}{number}"));
        }
        // An open pipe would make some programs wait for ever; a file has an end.
        command.stdin(envoi_durable::open_regular(&order.folder.join(PROMPT_FILE))?);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        Ok(command)
    }

    /// Reads all events. Returns the reason for which the program has to be ended, if there is one.
    fn read(&self, child: &mut Child, reading: &mut Reading<'_>) -> io::Result<Option<Failure>> {
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
    fn show(&self, lines: &[String]) {
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

/// Writes the file that the program gets as standard input.
fn put_prompt(order: &Order, prompt: &str) -> io::Result<()> {
    envoi_durable::renew(&order.folder.join(PROMPT_FILE), prompt.as_bytes())
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

/// Corrects the outcome for a deferred call. A deferred call is not a failure. A success that ignored a deferred call
/// is not a success. Other calls that were refused count as in a success.
fn settle_put_off_call(outcome: &mut Outcome, put_off: Option<&str>, exit: Exit, denials: u32) {
    let Some(digest) = put_off else { return };
    let is_last = outcome.deferred.as_ref().is_some_and(|call| call.digest().to_string() == digest);
    match (is_last, exit) {
        (true, Exit::Code(0)) => outcome.failure = outcome.refused_too_often(denials),
        _ => {
            outcome.deferred = None;
            let message = "a call that a person is to decide was passed over by the program";
            outcome.failure.get_or_insert_with(|| Failure::new(Class::Denied, message));
        }
    }
}

fn exit(status: ExitStatus) -> Exit {
    match (status.code(), status.signal()) {
        (Some(code), _) => Exit::Code(code),
        (None, signal) => Exit::Signal(signal.unwrap_or(0)),
    }
}

/// Forwards TERM to the program and keeps running, because the program may still report how far it came.
struct Ending {
    is_over: Arc<AtomicBool>,
}

impl Ending {
    fn of(child: &Child) -> io::Result<Self> {
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
    fn end(&self, child: &mut Child) -> io::Result<()> {
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

/// Standard error of the program. It is forwarded as it arrives, and its end is kept.
struct Tail {
    end: Arc<Mutex<End>>,
    is_over: Receiver<()>,
}

impl Tail {
    fn of(mut stderr: impl Read + Send + 'static) -> Self {
        let end = Arc::new(Mutex::new(End::default()));
        let kept = Arc::clone(&end);
        let (over, is_over) = mpsc::channel();
        let reader = thread::Builder::new().name("stderr".to_owned()).spawn(move || {
            let mut piece = vec![0; 8 * 1024];
            loop {
                let bytes = match stderr.read(&mut piece) {
                    Ok(bytes @ 1..) => bytes,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Ok(_) | Err(_) => break,
                };
                let piece = piece.get(..bytes).unwrap_or_default();
                let _unread = io::stderr().write_all(piece);
                kept.lock().unwrap_or_else(PoisonError::into_inner).push(piece);
            }
            let _gone = over.send(());
        });
        // If the thread could not start, the channel is closed and nothing waits.
        drop(reader);
        Self { end, is_over }
    }

    /// The text at the end of the program. A process that it left running may hold the pipe open, so the wait is
    /// limited.
    fn text(self) -> String {
        let _left_open = self.is_over.recv_timeout(LEFT_OPEN);
        let end = self.end.lock().unwrap_or_else(PoisonError::into_inner);
        end.text()
    }
}

/// The last bytes of some output.
#[derive(Default)]
struct End {
    bytes: Vec<u8>,
    is_cut: bool,
}

impl End {
    fn push(&mut self, piece: &[u8]) {
        self.bytes.extend_from_slice(piece);
        let surplus = self.bytes.len().saturating_sub(STDERR_BYTES);
        self.is_cut |= surplus > 0;
        self.bytes.drain(..surplus);
    }

    /// The complete lines. A secret in the line that was cut may have lost its beginning, and would not be masked.
    fn text(&self) -> String {
        let cut = self.is_cut.then(|| self.bytes.iter().position(|byte| *byte == b'\n'));
        let from = cut.map_or(0, |line_end| line_end.map_or(self.bytes.len(), |at| at + 1));
        String::from_utf8_lossy(self.bytes.get(from..).unwrap_or_default()).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use envoi_preset::ToolCall;
    use std::process::ExitCode;

    #[test]
    fn the_end_of_some_output_begins_with_a_whole_line() {
        let mut end = End::default();
        end.push(b"one\ntwo");
        assert_eq!(end.text(), "one\ntwo");
        end.push(&[b'x'; STDERR_BYTES - 2]);
        assert_eq!(end.text(), "", "of one long line only the end is kept");
        end.push(b"\nlast\n");
        assert_eq!(end.text(), "last\n");
    }

    struct Plain;

    impl Mask for Plain {
        fn text(&self, text: &str) -> String {
            text.to_owned()
        }

        fn value(&self, value: &Value) -> Value {
            value.clone()
        }

        fn hides(&self) -> bool {
            false
        }
    }

    /// An order for a program that runs `first` in the attempt's folder, and then reports success.
    fn attempt(folder: &std::path::Path, first: &str, idle_ms: Option<u64>) -> Order {
        let (program, text) = (folder.join("program"), folder.join("program.sh"));
        let hello = concat!(env!("CARGO_MANIFEST_DIR"), "/../preset/tests/transcripts/claude/hello.jsonl");
        let script =
            format!("#!/bin/sh\ncat > /dev/null\ncd {}\n{first}\ngrep -v '^# ' {hello}\n", folder.display());
        std::fs::write(&text, script).unwrap();
        // Another process writes the file. If this process wrote it, a child that another thread forks at that moment
        // could inherit the open file, and the program could not be executed.
        let made = Command::new("install").args(["-m", "755"]).args([&text, &program]).status();
        assert!(made.unwrap().success());
        let order = serde_json::json!({
            "preset": "claude", "program": program, "prompt": "Say hello.", "may": "run", "folder": folder,
            "report": folder.join("report.json"), "output": folder.join("output"), "idle_ms": idle_ms, "ask": ["Bash(git push *)"],
        });
        serde_json::from_value(order).unwrap()
    }

    #[test]
    fn what_a_program_leaves_in_the_place_of_a_file_is_neither_followed_nor_waited_for() {
        for name in
            ["report.json", "output", "used.json", "session", "call-put-off", "calls-refused", "events.jsonl"]
        {
            for odd in ["ln -s victim", "mkfifo", "mkdir"] {
                let folder = tempfile::tempdir().unwrap();
                std::fs::write(folder.path().join("victim"), "as it was").unwrap();
                let order = attempt(folder.path(), &format!("rm -rf {name}; {odd} {name}"), None);
                let code = crate::run(&order, &Plain);
                assert_eq!(
                    std::fs::read(folder.path().join("victim")).unwrap(),
                    b"as it was",
                    "{odd} {name}"
                );
                let report = std::fs::symlink_metadata(folder.path().join("report.json"));
                let is_whole = report.is_ok_and(|report| report.is_file());
                assert_eq!(code == ExitCode::SUCCESS, is_whole, "{odd} {name}");
                if ["report.json", "output"].contains(&name) {
                    assert_eq!(is_whole, odd != "mkdir", "{odd} {name}");
                }
            }
        }
    }

    #[test]
    fn a_call_that_was_refused_beside_a_question_counts_as_a_denial() {
        let call = r#"{"id":"toolu_1","name":"Bash","input":{"command":"git push a"}}"#;
        let input = Value::parse_str(r#"{"command":"git push a"}"#).unwrap();
        let digest = ToolCall { id: "toolu_1".to_owned(), tool: "Bash".to_owned(), input }.digest();
        let refused =
            r#"{"tool_name":"WebFetch","tool_use_id":"toolu_0","tool_input":{"url":"https://a.example"}}"#;
        for (refused, denials, failure) in [
            (vec![], 0, None),
            (vec![refused], 0, Some("a tool was refused: WebFetch https://a.example")),
            (vec![refused], 1, None),
            (
                vec![refused; 2],
                1,
                Some(
                    "2 calls of a tool were refused, and `denials` allows 1: WebFetch https://a.example; WebFetch https://a.example",
                ),
            ),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let result = format!(
                r#"{{"type":"result","subtype":"success","is_error":false,"session_id":"s","stop_reason":"tool_deferred","terminal_reason":"tool_deferred","deferred_tool_use":{call},"permission_denials":[{}]}}"#,
                refused.join(",")
            );
            let first = format!("printf %s '{digest}' > call-put-off\necho '{result}'\nexit 0");
            let mut order = attempt(folder.path(), &first, None);
            order.denials = denials;
            let work = Work { order: &order, preset: Preset::Claude, mask: &Plain };
            let Finished::Ran { outcome, .. } = work.to_the_end().unwrap() else { unreachable!() };
            assert_eq!(outcome.failure.map(|failure| failure.message).as_deref(), failure, "{denials}");
            assert!(outcome.deferred.is_some());
        }
    }

    #[test]
    fn lines_that_are_no_events_do_not_count_as_a_sign_of_work() {
        let retry =
            r#"{"type":"system","subtype":"api_retry","error":"overloaded","attempt":2,"max_retries":10}"#;
        let warning = r#"{"type":"item.completed","item":{"id":"item_0","type":"error","message":"slow"}}"#;
        let limited = r#"{"type":"error","message":"Reconnecting... 1/5 (exceeded retry limit, last status: 429 Too Many Requests)"}"#;
        let reconnects = "; its last error: Reconnecting... 1/5 (exceeded retry limit, last status: 429 Too Many Requests)";
        for (preset, line, class, error) in [
            (Preset::Claude, "{}", Class::Idle, None),
            (Preset::Claude, r#"{"type":1}"#, Class::Idle, None),
            (Preset::Claude, retry, Class::Idle, Some("; its last error: retry 2 of 10: overloaded")),
            (Preset::Codex, warning, Class::Idle, Some("; its last error: slow")),
            (Preset::Codex, limited, Class::Throttled, Some(reconnects)),
        ] {
            // On a busy machine a short time may be over before the program has written its first line.
            let run = |idle_ms: u64, words: &str| {
                let folder = tempfile::tempdir().unwrap();
                let mut order = attempt(folder.path(), &format!("yes '{line}'"), Some(idle_ms));
                if preset == Preset::Codex {
                    order.ask = Vec::new();
                }
                let work = Work { order: &order, preset, mask: &Plain };
                let Finished::Ran { outcome, .. } = work.to_the_end().unwrap() else { unreachable!() };
                let expected = format!("no sign of work for {words}: the program was ended");
                let failure = Failure::new(class, format!("{expected}{}", error.unwrap_or_default()));
                (outcome.failure, Some(failure))
            };
            let mut tries = [(300, "0.3 seconds"), (3_000, "3 seconds"), (30_000, "30 seconds")].into_iter();
            let is_as_expected = tries.any(|(idle_ms, words)| {
                let (found, expected) = run(idle_ms, words);
                let is_one = found == expected;
                if !is_one {
                    eprintln!("{line}: {found:?}");
                }
                is_one
            });
            assert!(is_as_expected, "{line}");
        }
    }

    #[test]
    fn a_session_that_cannot_be_resumed_begins_anew_under_an_id_that_is_free() {
        for (preset, new) in [("claude", "--session-id s-1"), ("gemini", "")] {
            let folder = tempfile::tempdir().unwrap();
            let lost = match preset {
                "claude" => {
                    r#"{"type":"result","subtype":"error_during_execution","is_error":true,"errors":["No conversation found with session ID: s-1"]}"#
                }
                _ => "",
            };
            let first = format!(
                "echo \"$*\" >> started\ncase \"$*\" in *-r*) echo '{lost}'; echo 'Error resuming session: Invalid session identifier.' >&2; exit 42 ;; esac"
            );
            let mut order = attempt(folder.path(), &first, None);
            order.preset = preset.to_owned();
            order.ask = Vec::new();
            order.session = Some("s-1".to_owned());
            order.resumes = true;
            let _code = crate::run(&order, &Plain);
            let started = std::fs::read_to_string(folder.path().join("started")).unwrap();
            let starts: Vec<&str> = started.lines().collect();
            assert_eq!(starts.len(), 2, "{preset}: {starts:?}");
            assert!(
                starts[1].contains(new) && starts[1].contains("s-1") != new.is_empty(),
                "{preset}: {starts:?}"
            );
        }
    }

    #[test]
    fn a_program_that_takes_no_schema_reads_it_in_its_prompt() {
        for (preset, is_in_prompt) in
            [("claude", false), ("codex", false), ("gemini", true), ("opencode", true)]
        {
            let folder = tempfile::tempdir().unwrap();
            let mut order = attempt(folder.path(), "", None);
            order.preset = preset.to_owned();
            order.ask = Vec::new();
            order.schema = Some(Value::parse_str(r#"{"type":"object"}"#).unwrap());
            let _code = crate::run(&order, &Plain);
            let prompt = std::fs::read_to_string(folder.path().join(PROMPT_FILE)).unwrap();
            assert!(prompt.starts_with("Say hello."), "{prompt}");
            assert_eq!(prompt.contains(r#"{"type":"object"}"#), is_in_prompt, "{preset}: {prompt}");
        }
    }

    #[test]
    fn an_order_with_a_permission_that_is_not_known_starts_nothing() {
        let order = |may: &str| -> Order {
            let order = serde_json::json!({"preset": "claude", "program": "claude", "prompt": "", "may": may, "folder": ".", "report": "r", "output": "o"});
            serde_json::from_value(order).unwrap()
        };
        let begin = |may: &str| {
            let order = order(may);
            let work = Work { order: &order, preset: Preset::Claude, mask: &Plain };
            work.command(Resume::New(None), None).map(|_| ())
        };
        let error = begin("look").unwrap_err();
        assert!(error.to_string().contains("`may: look`"), "{error}");
    }
}
