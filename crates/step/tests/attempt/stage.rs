//! A run's folder, a workspace, and the usual spec for one attempt.

use std::cell::Cell;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use envoi_step::{
    AttemptDir, Command, Exit, Given, Launcher, LockFile, NoArtifacts, Probe, Spec, Start, Supervisor,
    boot_id, probe,
};
use envoi_zygote::{Program, Zygote};
use tempfile::TempDir;

pub(crate) const ATTEMPT: &str = "work.1.1";
pub(crate) const START: &str = "0123456789abcdef";

/// The start of [`Stage::spec`], decided in this boot.
pub(crate) fn start_in(boot_id: &str) -> Start<'_> {
    Start { id: START, boot_id }
}

pub(crate) struct Stage {
    root: TempDir,
    pub(crate) dir: AttemptDir,
}

impl Stage {
    pub(crate) fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let dir = AttemptDir::new(root.path().join("run/attempts").join(ATTEMPT));
        dir.create().unwrap();
        fs::create_dir(root.path().join("workspace")).unwrap();
        Self { root, dir }
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.root.path().join("workspace")
    }

    pub(crate) fn run_base(&self) -> PathBuf {
        self.root.path().join("run")
    }

    pub(crate) fn spec(&self, command: Command) -> Spec {
        let variable = |name: &str, path: PathBuf| (name.to_owned(), path.to_str().unwrap().to_owned());
        Spec {
            run_id: "run_1".to_owned(),
            attempt: ATTEMPT.to_owned(),
            command,
            cwd: self.workspace(),
            env: vec![
                ("PATH".to_owned(), std::env::var("PATH").unwrap()),
                ("ENVOI_ATTEMPT".to_owned(), ATTEMPT.to_owned()),
                variable("ENVOI_RUN_BASE", self.run_base()),
                variable("ENVOI_REPORT", self.dir.report()),
                variable("ENVOI_OUTPUT", self.dir.output()),
            ],
            workspace: self.workspace(),
            set_back: None,
            cache: None,
            artifacts: Vec::new(),
            never: Vec::new(),
            keep: None,
            since: None,
            if_no_artifacts: NoArtifacts::Warn,
            timeout_ms: None,
            lease_until_ms: None,
            grace_ms: Spec::GRACE_MS,
            stream_cap_bytes: Spec::STREAM_CAP_BYTES,
            text_cap_bytes: Spec::TEXT_CAP_BYTES,
            success_codes: Vec::new(),
            secrets: Vec::new(),
            boot_id: boot_id().unwrap(),
            start: START.to_owned(),
            secret_marks: Vec::new(),
            own_folder: None,
        }
    }

    pub(crate) fn shell(&self, script: &str) -> Spec {
        self.spec(Command::Shell { script: script.to_owned() })
    }

    pub(crate) fn python(&self, program: &str) -> Spec {
        self.spec(exec(&["python3", "-c", program]))
    }

    pub(crate) fn spawn(&self, spec: &Spec) -> Supervisor {
        let lock = self.dir.try_lock().unwrap().expect("the lock is free");
        launcher().spawn(&self.dir, spec, lock).unwrap()
    }

    /// Runs to the end and returns the settled record.
    pub(crate) fn run(&self, spec: &Spec) -> Exit {
        self.spawn(spec).wait().unwrap();
        self.settled()
    }

    /// The step's text, from the file that has it.
    pub(crate) fn text(&self) -> String {
        let place = self.dir.path().join(self.settled().text.path);
        assert_eq!(self.dir.place_of_text().as_ref(), Some(&place));
        if place.exists() { read(&place) } else { String::new() }
    }

    /// The names in the attempt's folder, sorted.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.dir.path()).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// The record of the end.
    pub(crate) fn settled(&self) -> Exit {
        match self.rested() {
            Probe::Settled(exit) => *exit,
            other => panic!("{other:?}: {}", read(&self.dir.supervisor_log())),
        }
    }

    /// How the attempt stands once its lock is free. A child that another test has just forked holds the lock too, for a moment.
    pub(crate) fn rested(&self) -> Probe {
        wait_for("the lock", || Some(self.probe()).filter(|found| !matches!(found, Probe::Running)))
    }

    pub(crate) fn probe(&self) -> Probe {
        let boot = boot_id().unwrap();
        probe(&self.dir, Given::Maybe, start_in(&boot), &boot).unwrap()
    }

    /// Waits until the command has written `name` into the workspace, and returns its content.
    pub(crate) fn told(&self, name: &str) -> String {
        let path = self.workspace().join(name);
        wait_for(name, || fs::read_to_string(&path).ok().filter(|text| text.ends_with('\n')))
    }
}

/// The free lock of an attempt. A child that another test has just forked holds it too, for a moment.
pub(crate) fn free_lock(dir: &AttemptDir) -> LockFile {
    wait_for("the lock", || dir.try_lock().unwrap())
}

pub(crate) fn exec(argv: &[&str]) -> Command {
    Command::Exec { argv: argv.iter().map(|word| (*word).to_owned()).collect() }
}

/// How the supervisors of a test are made.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Making {
    /// This program is started again.
    Start,
    /// A zygote forks itself.
    Fork,
}

/// The zygote of this program, which was started before its threads.
static ZYGOTE: OnceLock<Arc<Zygote>> = OnceLock::new();

thread_local! {
    static MAKING: Cell<Making> = const { Cell::new(Making::Start) };
}

/// Starts the zygote. Its copies are supervisors.
pub(crate) fn start_zygote() {
    let supervise = || {
        envoi_step::run_supervisor(crate::cached::reached);
    };
    let program = Program { main: supervise, copy: &["t", "__attempt"], zygote: &["t", "__zygote"] };
    assert!(ZYGOTE.set(Arc::new(Zygote::start(&program).unwrap())).is_ok());
}

/// Sets how this thread makes supervisors. The thread of a test calls it.
pub(crate) fn make_supervisors(making: Making) {
    MAKING.set(making);
}

pub(crate) fn launcher() -> Launcher {
    let zygote = (MAKING.get() == Making::Fork).then(|| Arc::clone(ZYGOTE.get().unwrap()));
    Launcher { exe: std::env::current_exe().unwrap(), args: vec!["__attempt".to_owned()], zygote }
}

pub(crate) fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

/// Runs a script in another process.
pub(crate) fn shell(script: &str) {
    assert!(std::process::Command::new("sh").args(["-c", script]).status().unwrap().success());
}

/// Polls until there is a result; gives up after three minutes.
pub(crate) fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begun.elapsed() < Duration::from_secs(180), "gave up waiting for {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Whether a process with this id runs (a zombie does not).
pub(crate) fn lives(id: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", id.trim())).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| !rest.is_empty() && !rest.trim_start().starts_with('Z'))
}

pub(crate) fn assert_gone(id: &str) {
    assert!(id.trim().parse::<u32>().is_ok(), "`{id}` is a process id");
    assert!(!lives(id), "process {id} still runs");
}

pub(crate) fn kill(id: u32, signal: &str) {
    let status =
        std::process::Command::new("kill").args([&format!("-{signal}"), &id.to_string()]).status().unwrap();
    assert!(status.success());
}

/// Starts a supervisor like a program that embeds the engine, and is killed at once: `__engine <attempt dir>
/// <spec as JSON> <fork|start>`. A copy of this program removes itself first.
pub(crate) fn short_lived_engine() -> ExitCode {
    let words: Vec<String> = std::env::args().collect();
    let program = std::env::current_exe().unwrap();
    if program.ends_with("engine") {
        fs::remove_file(program).unwrap();
    }
    let dir = AttemptDir::new(&words[2]);
    let spec: Spec = serde_json::from_str(&words[3]).unwrap();
    if words[4] == "fork" {
        start_zygote();
    }
    let launcher = Launcher::own(["__attempt"]).with_zygote(ZYGOTE.get().cloned());
    let lock = dir.try_lock().unwrap().unwrap();
    let _supervisor = launcher.spawn(&dir, &spec, lock).unwrap();
    kill(std::process::id(), "KILL");
    unreachable!("killed");
}

/// Lets an engine start `spec` and die.
pub(crate) fn start_by_an_engine_that_dies(program: &Path, stage: &Stage, spec: &Spec) {
    let status = std::process::Command::new(program)
        .arg("__engine")
        .arg(stage.dir.path())
        .arg(serde_json::to_string(spec).unwrap())
        .arg(if MAKING.get() == Making::Fork { "fork" } else { "start" })
        .status()
        .unwrap();
    assert_eq!(status.signal(), Some(9));
}
