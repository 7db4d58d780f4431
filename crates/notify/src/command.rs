//! A command that is told: the CloudEvent on its stdin, the essentials in its environment.
//!
//! Runs in a process group of its own, which is ended with it: nothing of a try outlives it, but what made a session of
//! its own. It is no step: it has no supervisor, and an engine that dies leaves it to itself.

use crate::{CloudEvent, Outcome};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use std::{
    io::{self, PipeReader, Read as _, Write as _},
    os::unix::process::{CommandExt as _, ExitStatusExt as _},
    path::PathBuf,
    process::{Child, ExitStatus, Stdio},
    sync::{
        atomic::{AtomicBool, Ordering},
        mpsc::{self, Receiver},
    },
    thread,
    time::{Duration, Instant},
};

/// How much of what a command said is shown when it fails.
const TAIL_BYTES: usize = 512;
/// How long the end of its output is awaited once its group is ended; who left the group may hold it open.
const DRAIN: Duration = Duration::from_secs(1);
/// Between two looks at a command.
const LOOK: Duration = Duration::from_millis(5);
/// Stack of the threads that copy what goes in and out.
const STACK_BYTES: usize = 128 * 1024;

/// What is to be executed.
#[derive(Debug, Clone)]
pub struct Command {
    /// The program, then its arguments; no shell.
    pub argv: Vec<String>,
    /// Its folder.
    pub folder: PathBuf,
    /// All that it sees of an environment.
    pub env: Vec<(String, String)>,
    /// Longest duration.
    pub limit: Duration,
}

impl Command {
    /// Runs it once with this event on its stdin. Exit code 0 is delivered. It is ended when `stop` is set.
    #[must_use]
    pub fn run(&self, event: &CloudEvent, stop: &AtomicBool) -> Outcome {
        match self.try_run(event, stop) {
            Ok(outcome) => outcome,
            Err(error) => Outcome::failed(format!("the command cannot be started: {error}")),
        }
    }

    fn try_run(&self, event: &CloudEvent, stop: &AtomicBool) -> io::Result<Outcome> {
        let (output, said) = io::pipe()?;
        let mut child = self.spawn(said)?;
        let stdin = child.stdin.take();
        let body = event.to_json();
        // A command need not read what it is told.
        spawn_copier(move || stdin.map(|mut stdin| stdin.write_all(body.as_bytes())))?;
        let tail = read_tail(output)?;
        let over = wait(&child, self.limit, stop);
        end_group(&child);
        let status = child.wait()?;
        let said = tail.recv_timeout(DRAIN).unwrap_or_default();
        Ok(judge(over?, status, self.limit, &said))
    }

    fn spawn(&self, said: io::PipeWriter) -> io::Result<Child> {
        let program = self.argv.first().ok_or_else(|| io::Error::other("it names no program"))?;
        let errors = said.try_clone()?;
        std::process::Command::new(program)
            .args(self.argv.iter().skip(1))
            .current_dir(&self.folder)
            .env_clear()
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(said)
            .stderr(errors)
            .process_group(0)
            .spawn()
    }
}

/// Why a command is no longer waited for.
enum Over {
    Exited,
    TooLong,
    Stopped,
}

/// Leaves an ended command unreaped, so that its group's number is not given to others before the group is ended.
fn wait(child: &Child, limit: Duration, stop: &AtomicBool) -> io::Result<Over> {
    let until = Instant::now() + limit;
    let pid = pid(child)?;
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    loop {
        match waitid(WaitId::Pid(pid), look) {
            Ok(Some(_)) => return Ok(Over::Exited),
            Ok(None) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        if stop.load(Ordering::Relaxed) {
            return Ok(Over::Stopped);
        }
        if Instant::now() >= until {
            return Ok(Over::TooLong);
        }
        thread::sleep(LOOK);
    }
}

fn pid(child: &Child) -> io::Result<Pid> {
    let id = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    id.ok_or_else(|| io::Error::other("its process has no number"))
}

fn end_group(child: &Child) {
    if let Ok(pid) = pid(child) {
        // A group that is gone is what was wanted.
        kill_process_group(pid, Signal::KILL).unwrap_or_default();
    }
}

fn judge(over: Over, status: ExitStatus, limit: Duration, said: &str) -> Outcome {
    let how = match over {
        Over::Exited if status.success() => return Outcome::Delivered,
        Over::Exited => match (status.code(), status.signal()) {
            (Some(code), _) => format!("the command exited with {code}"),
            (None, signal) => format!("the command was ended by signal {}", signal.unwrap_or_default()),
        },
        Over::TooLong => format!("the command took longer than {} s", limit.as_secs_f32()),
        Over::Stopped => "the command was cut short when the engine closed".to_owned(),
    };
    Outcome::failed(if said.is_empty() { how } else { format!("{how}: {said}") })
}

fn spawn_copier<T>(copy: impl FnOnce() -> T + Send + 'static) -> io::Result<()> {
    let copy = move || drop(copy());
    thread::Builder::new().name("notice".to_owned()).stack_size(STACK_BYTES).spawn(copy).map(drop)
}

/// The last of what comes through the pipe, on one line, once it has ended.
fn read_tail(mut output: PipeReader) -> io::Result<Receiver<String>> {
    let (tell, told) = mpsc::channel();
    spawn_copier(move || {
        let (mut tail, mut chunk) = (Vec::new(), [0_u8; 4096]);
        while let Ok(count @ 1..) = output.read(&mut chunk) {
            tail.extend_from_slice(chunk.get(..count).unwrap_or_default());
            let beyond = tail.len().saturating_sub(TAIL_BYTES);
            tail.drain(..beyond);
        }
        tell.send(one_line(&tail)).unwrap_or_default();
    })?;
    Ok(told)
}

/// Words with single spaces between them; control characters are none of a message.
fn one_line(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let plain: String = text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}
