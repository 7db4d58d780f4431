//! Runs the command of an attempt: starts it, watches it, and ends all its processes.

use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use rustix::process::Pid;

use super::signals::Signals;
use super::watch::Watch;
use super::{Attempt, now_ms};
use crate::attempt::record::Outcome;
use crate::output::stream::{Kept, StreamFile};

/// The result of the command. The streams are on disk.
pub(super) struct Ended {
    pub(super) outcome: Outcome,
    /// Whether there was a process. If not, no later change is from it.
    pub(super) ran: bool,
    pub(super) started_at_ms: u64,
    pub(super) duration_ms: u64,
    pub(super) stdout: Kept,
    pub(super) stderr: Kept,
    pub(super) leftovers: u32,
}

impl Ended {
    pub(super) fn without_start(outcome: Outcome) -> Self {
        Self {
            outcome,
            ran: false,
            started_at_ms: now_ms(),
            duration_ms: 0,
            stdout: Kept::default(),
            stderr: Kept::default(),
            leftovers: 0,
        }
    }
}

impl Attempt {
    /// Runs the command to its end. After an error the result of the attempt is unknown.
    pub(super) fn run_command(&self, signals: &Signals) -> io::Result<Ended> {
        let [mut stdout, mut stderr] = match self.streams() {
            Ok(streams) => streams,
            Err(error) => {
                let reason = format!("there is no place for its output: {error}");
                return Ok(Ended::without_start(self.cannot_start(&reason, false)));
            }
        };
        let started_at_ms = now_ms();
        let started = Instant::now();
        let mut child = match self.start() {
            Ok(child) => child,
            Err(error) => return Ok(Ended::without_start(self.why_not(&error))),
        };
        let leader = Pid::from_child(&child);
        let pipes = (child.stdout.take(), child.stderr.take());
        // From here on the watch reaps; the standard library must not wait for this child too.
        drop(child);
        let mut watch = Watch::new(self, signals, leader, started, pipes, [&mut stdout, &mut stderr])?;
        let outcome = watch.until_over()?;
        let duration_ms = watch.duration_ms();
        watch.drain()?;
        let leftovers = watch.end_leftovers()?;
        let [stdout, stderr] = [stdout, stderr].map(StreamFile::finish);
        Ok(Ended { outcome, ran: true, started_at_ms, duration_ms, stdout, stderr, leftovers })
    }

    fn streams(&self) -> io::Result<[StreamFile<'_>; 2]> {
        let create = |path| StreamFile::create(path, self.spec.stream_cap_bytes, &self.secrets);
        Ok([create(self.dir.stdout())?, create(self.dir.stderr())?])
    }

    fn start(&self) -> io::Result<Child> {
        let argv = self.spec.command.argv();
        let (program, arguments) =
            argv.split_first().ok_or_else(|| io::Error::other("the command is empty"))?;
        Command::new(program)
            .args(arguments)
            .current_dir(&self.spec.cwd)
            .env_clear()
            .envs(self.spec.env.iter().map(|(key, value)| (key, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // A script that signals its own group (`kill 0`) must not signal its supervisor.
            .process_group(0)
            .spawn()
    }

    fn why_not(&self, error: &io::Error) -> Outcome {
        let program = self.spec.command.argv().first().copied().unwrap_or_default().to_owned();
        if !self.spec.cwd.is_dir() {
            return self.cannot_start(&format!("there is no folder {:?} to run it in", self.spec.cwd), false);
        }
        if error.kind() != io::ErrorKind::NotFound {
            return self.cannot_start(&format!("`{program}` cannot be started: {error}"), false);
        }
        let reason = match (program.contains('/'), self.spec.cwd.join(Path::new(&program)).exists()) {
            (true, true) => format!("the interpreter that `{program}` names was not found"),
            (true, false) => format!("there is no `{program}`"),
            (false, _) => format!("`{program}` was not found in PATH"),
        };
        self.cannot_start(&reason, true)
    }
}
