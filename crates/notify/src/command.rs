//! A command that receives a notice: the CloudEvent on its stdin, the essentials in its environment.
//!
//! Runs in a process group of its own, which is ended with it. Only a process that has begun a session of its
//! own can outlive the try. The command is not a step: it has no supervisor, and continues if the engine
//! dies.

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

/// How much of a command's output is shown when it fails.
const TAIL_BYTES: usize = 512;
/// How long to wait for the end of the output after the group has ended. A process outside the group may keep
/// it open.
const DRAIN: Duration = Duration::from_secs(1);
/// Pause between two checks whether the command has ended.
const CHECK_EVERY: Duration = Duration::from_millis(5);
/// Stack size of the threads that copy stdin and the output.
const STACK_BYTES: usize = 128 * 1024;

/// A command that receives notices.
#[derive(Debug, Clone)]
pub struct Command {
    /// The program, then its arguments; no shell.
    pub argv: Vec<String>,
    /// The working folder.
    pub folder: PathBuf,
    /// The whole environment; nothing is inherited.
    pub env: Vec<(String, String)>,
    /// Time limit of one try.
    pub limit: Duration,
}

impl Command {
    /// Runs the command once with this event on its stdin. Exit code 0 means delivered. The command is ended
    /// when `stop` is set.
    #[must_use]
    pub fn run(&self, event: &CloudEvent, stop: &AtomicBool) -> Outcome {
        match self.try_run(event, stop) {
            Ok(outcome) => outcome,
            Err(error) => Outcome::failed(format!("the command cannot be started: {error}")),
        }
    }

    fn try_run(&self, event: &CloudEvent, stop: &AtomicBool) -> io::Result<Outcome> {
        let (output, output_end) = io::pipe()?;
        let mut child = self.spawn(output_end)?;
        let stdin = child.stdin.take();
        // A line, so that `cat >> log` makes a file of lines.
        let body = event.to_json() + "\n";
        // The command may ignore its stdin, so an error of writing is not a failure.
        spawn_copier(move || {
            if let Some(mut stdin) = stdin {
                let _not_read = stdin.write_all(body.as_bytes());
            }
        })?;
        let tail = read_tail(output)?;
        let end = wait(&child, self.limit, stop);
        end_group(&child);
        let status = child.wait()?;
        let output = tail.recv_timeout(DRAIN).unwrap_or_default();
        Ok(judge(end?, status, self.limit, &output))
    }

    fn spawn(&self, output: io::PipeWriter) -> io::Result<Child> {
        let program = self.argv.first().ok_or_else(|| io::Error::other("it names no program"))?;
        let errors = output.try_clone()?;
        std::process::Command::new(program)
            .args(self.argv.iter().skip(1))
            .current_dir(&self.folder)
            .env_clear()
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(output)
            .stderr(errors)
            .process_group(0)
            .spawn()
    }
}

/// How the wait for a command ended.
enum End {
    Exited,
    TooLong,
    Stopped,
}

/// Does not reap the command, so that the system cannot reuse the id of its group before the group is ended.
fn wait(child: &Child, limit: Duration, stop: &AtomicBool) -> io::Result<End> {
    let until = Instant::now() + limit;
    let pid = pid(child)?;
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    loop {
        match waitid(WaitId::Pid(pid), look) {
            Ok(Some(_)) => return Ok(End::Exited),
            Ok(None) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        if stop.load(Ordering::Relaxed) {
            return Ok(End::Stopped);
        }
        if Instant::now() >= until {
            return Ok(End::TooLong);
        }
        thread::sleep(CHECK_EVERY);
    }
}

fn pid(child: &Child) -> io::Result<Pid> {
    let id = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    id.ok_or_else(|| io::Error::other("its process has no number"))
}

fn end_group(child: &Child) {
    if let Ok(pid) = pid(child) {
        // The only error is that the group has ended already.
        let _ended_already = kill_process_group(pid, Signal::KILL);
    }
}

fn judge(end: End, status: ExitStatus, limit: Duration, output: &str) -> Outcome {
    let how = match end {
        End::Exited if status.success() => return Outcome::Delivered,
        End::Exited => match (status.code(), status.signal()) {
            (Some(code), _) => format!("the command exited with {code}"),
            (None, signal) => format!("the command was ended by signal {}", signal.unwrap_or_default()),
        },
        End::TooLong => format!("the command took longer than {} s", limit.as_secs_f32()),
        End::Stopped => "the command was cut short when the engine closed".to_owned(),
    };
    Outcome::failed(if output.is_empty() { how } else { format!("{how}: {output}") })
}

fn spawn_copier(copy: impl FnOnce() + Send + 'static) -> io::Result<()> {
    thread::Builder::new().name("notice".to_owned()).stack_size(STACK_BYTES).spawn(copy)?;
    Ok(())
}

/// The end of the output, on one line, once the pipe is closed.
fn read_tail(mut output: PipeReader) -> io::Result<Receiver<String>> {
    let (sender, tail) = mpsc::channel();
    spawn_copier(move || {
        let mut tail = Vec::new();
        let mut chunk = [0_u8; 4096];
        loop {
            let count = match output.read(&mut chunk) {
                Ok(count @ 1..) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Ok(_) | Err(_) => break,
            };
            tail.extend_from_slice(chunk.get(..count).unwrap_or_default());
            let beyond = tail.len().saturating_sub(TAIL_BYTES);
            tail.drain(..beyond);
        }
        // After the drain time the receiver is gone.
        let _too_late = sender.send(one_line(&tail));
    })?;
    Ok(tail)
}

/// The words with single spaces between them. A control character counts as a space.
fn one_line(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let plain: String = text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}
