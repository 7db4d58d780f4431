//! Finds the installed agent programs and their versions.
//!
//! Starts each with `--version` and waits a bounded time. It does not check logins, because that would need a
//! call. Its findings are never faults, because a flow without `agent` steps needs no such program.

use super::Finding;
use crate::process::environment;
use envoi_api::store::AgentProgram;
use envoi_preset::{Preset, Support, Version};
use rustix::process::{Pid, Signal, kill_process_group};
use std::{
    io::{self, Read as _},
    os::unix::process::CommandExt as _,
    path::Path,
    process::{Child, Command, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

/// How long a program may take to print its version. The programs are large, and the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(10);

/// The note after each usable program.
const NO_SANDBOX: &str = "; `may` of a step is its own permission system, not a sandbox";

/// The most bytes that are read of a program's output.
const MAX_BYTES: u64 = 4_096;

/// Returns a finding for each known program.
pub(super) fn look() -> Vec<Finding> {
    thread::scope(|scope| {
        let looks = Preset::ALL.map(|preset| scope.spawn(move || of(preset)));
        looks.into_iter().filter_map(|look| look.join().ok()).collect()
    })
}

fn of(preset: Preset) -> Finding {
    let (first, last) = preset.tried();
    let mut agent = AgentProgram {
        program: preset.name().to_owned(),
        path: None,
        version: None,
        support: None,
        tried_from: first.to_string(),
        tried_to: last.to_string(),
    };
    let detail = match environment::in_path(preset.program()) {
        None => format!("not found in PATH; only a step with `agent: {{ use: {} }}` needs it", preset.name()),
        Some(path) => {
            agent.path = Some(path.display().to_string());
            let found = match version(preset, &path) {
                Ok(version) => {
                    let (word, words) = support(preset.support(version));
                    agent.version = Some(version.to_string());
                    agent.support = Some(word.to_owned());
                    format!("version {version}, {words} ({}){NO_SANDBOX}", range(first, last))
                }
                Err(error) => error.to_string(),
            };
            format!("{}: {found}", path.display())
        }
    };
    let what = match preset {
        Preset::Claude => "agent program claude",
        Preset::Codex => "agent program codex",
        Preset::Gemini => "agent program gemini",
        Preset::OpenCode => "agent program opencode",
    };
    Finding { what, ok: true, detail, agent: Some(agent), is_warning: false }
}

/// The word in JSON and the words for people.
fn support(support: Support) -> (&'static str, &'static str) {
    match support {
        Support::Tried => ("tried", "among those that were tried"),
        Support::Older => ("older", "older than those that were tried: it may not work"),
        Support::Newer => ("newer", "newer than those that were tried: it may work"),
    }
}

fn range(first: Version, last: Version) -> String {
    if first == last { first.to_string() } else { format!("{first} to {last}") }
}

/// Why the version of a program is not known.
#[derive(Debug, thiserror::Error)]
enum VersionError {
    #[error("it cannot be started: {0}")]
    NotStarted(io::Error),
    #[error("what it prints cannot be read: {0}")]
    Unreadable(io::Error),
    #[error("`{program} --version` has not ended after {} seconds: it cannot be used", PATIENCE.as_secs())]
    Endless { program: &'static str },
    #[error("cannot wait for the program to exit: {0}")]
    EndUnseen(io::Error),
    #[error("`{program} --version` prints no version: is it another program?")]
    NoVersion { program: &'static str },
}

/// Returns the version that the program prints.
fn version(preset: Preset, path: &Path) -> Result<Version, VersionError> {
    let program = preset.program();
    let mut child = start(preset, path).map_err(VersionError::NotStarted)?;
    let printed = printed(&mut child);
    let ended = end(&mut child);
    let text = printed.map_err(VersionError::Unreadable)?.ok_or(VersionError::Endless { program })?;
    ended.map_err(VersionError::EndUnseen)?;
    Version::find(&text).ok_or(VersionError::NoVersion { program })
}

fn start(preset: Preset, path: &Path) -> io::Result<Child> {
    Command::new(path)
        .arg("--version")
        .envs(preset.variables().iter().copied())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        // It gets its own process group, so that it is ended together with its children.
        .process_group(0)
        .spawn()
}

/// Returns its output, at most [`MAX_BYTES`], or `None` if it takes too long.
fn printed(child: &mut Child) -> io::Result<Option<String>> {
    let Some(stdout) = child.stdout.take() else { return Ok(Some(String::new())) };
    let (sender, receiver) = mpsc::channel();
    // The thread may outlive this function: a process outside the group can keep the pipe open.
    let reader = thread::Builder::new().name("version".to_owned()).spawn(move || {
        let mut bytes = Vec::new();
        let read = stdout.take(MAX_BYTES).read_to_end(&mut bytes);
        let _gone = sender.send(read.map(|_| String::from_utf8_lossy(&bytes).into_owned()));
    });
    reader?;
    match receiver.recv_timeout(PATIENCE) {
        Ok(Ok(text)) => Ok(Some(text)),
        Ok(Err(error)) => Err(error),
        Err(_too_long) => Ok(None),
    }
}

/// Kills the process group and waits for the program. Its output was read, or its time is over.
fn end(child: &mut Child) -> io::Result<()> {
    // The process id is not reused before this process has waited for the child.
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        let _gone = kill_process_group(group, Signal::KILL);
    }
    child.wait().map(drop)
}
