//! A folder with a store in it, the binary, and a watch over every process that was started there.

use envoi_testkit::HeldAddress;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use serde_json::Value;
use std::{
    fs,
    io::{Read as _, Write as _},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
    thread::JoinHandle,
    time::{Duration, Instant},
};
use tempfile::TempDir;

/// How long anything may take on a busy machine before it counts as not happening.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// See the module.
pub(crate) struct Stage {
    root: TempDir,
    binary: PathBuf,
    /// Those of its servers.
    addresses: Mutex<Vec<HeldAddress>>,
}

/// How a command went.
#[derive(Debug)]
pub(crate) struct Done {
    /// `None` when a signal ended it.
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Stage {
    pub(crate) fn new() -> Self {
        let root = tempfile::Builder::new().prefix("envoi-it-").tempdir().unwrap();
        fs::create_dir(root.path().join("sockets")).unwrap();
        Self { root, binary: PathBuf::from(env!("CARGO_BIN_EXE_envoi")), addresses: Mutex::default() }
    }

    /// A stage with this flow in `flow.yaml`.
    pub(crate) fn with_flow(flow: &str) -> Self {
        let stage = Self::new();
        stage.write("flow.yaml", flow);
        stage
    }

    /// From now on another binary is used.
    pub(crate) fn use_binary(&mut self, binary: PathBuf) {
        self.binary = binary;
    }

    /// An address for a server. It stays this stage's, so that the next server can have it when the first one is gone.
    pub(crate) fn address(&self) -> String {
        let held = HeldAddress::take().unwrap();
        let address = held.address().to_string();
        self.addresses.lock().unwrap().push(held);
        address
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Writes a program. It is brought to its place by another process: a program that this one writes may be busy
    /// (`ETXTBSY`) while a thread of it starts a child.
    pub(crate) fn write_program(&self, name: &str, text: impl AsRef<[u8]>) {
        let written = format!("{name}.written");
        self.write(&written, text);
        let (from, to) = (self.path(&written), self.path(name));
        let done = Command::new("install").args(["-m", "755"]).arg(&from).arg(to).status().unwrap();
        assert!(done.success());
        fs::remove_file(from).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    pub(crate) fn lines(&self, name: &str) -> Vec<String> {
        self.read(name).lines().map(str::to_owned).collect()
    }

    /// The command with the default meaning of Ctrl-C, called in the stage's folder with nothing of the environment that runs the tests but PATH.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        heed_ctrl_c();
        let mut command = Command::new(&self.binary);
        command.args(arguments).current_dir(self.root.path()).env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap());
        command
            .env("HOME", self.root.path())
            .env("XDG_RUNTIME_DIR", self.path("sockets"))
            .env("USER", "tester");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// As [`Stage::command`], for a process that believes in these authorities, one of a test's, in place of the machine's.
    pub(crate) fn believing(&self, authorities: Option<&str>, arguments: &[&str]) -> Command {
        self.write("authority.pem", include_str!("remote/authority.pem"));
        self.write("other.pem", include_str!("serve/certificate.pem"));
        let mut command = self.command(arguments);
        command.envs(authorities.map(|name| ("SSL_CERT_FILE", self.path(name))));
        command
    }

    /// Calls the command and waits for its end.
    pub(crate) fn envoi(&self, arguments: &[&str]) -> Done {
        self.start(arguments).done()
    }

    /// As [`Stage::envoi`]; the exit code is as expected.
    pub(crate) fn expect(&self, code: i32, arguments: &[&str]) -> Done {
        let done = self.envoi(arguments);
        assert_eq!(done.code, Some(code), "envoi {arguments:?}: {done:?}");
        done
    }

    /// Calls the command with this on its standard input.
    pub(crate) fn filter(&self, arguments: &[&str], input: &[u8]) -> Done {
        let mut process = Process::spawn(self.command(arguments).stdin(Stdio::piped()));
        // A command that refuses may not read to the end.
        process.child.stdin.take().unwrap().write_all(input).unwrap_or_default();
        process.done()
    }

    /// Starts the command and goes on.
    pub(crate) fn start(&self, arguments: &[&str]) -> Process {
        Process::spawn(&mut self.command(arguments))
    }

    /// The JSON output of a command.
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        let done = self.expect(0, arguments);
        serde_json::from_str(&done.out).unwrap_or_else(|error| panic!("{arguments:?}: {error}: {}", done.out))
    }

    pub(crate) fn store(&self) -> PathBuf {
        self.path(".envoi")
    }

    /// The runs of the store, newest first; none while there is no store.
    pub(crate) fn runs(&self) -> Vec<Value> {
        let done = self.envoi(&["--json", "runs"]);
        match done.code {
            Some(0) => serde_json::from_str(&done.out).unwrap(),
            _ => Vec::new(),
        }
    }

    /// The only run's id.
    pub(crate) fn run_id(&self) -> String {
        let runs = self.runs();
        assert_eq!(runs.len(), 1, "{runs:?}");
        text(&runs[0]["run"])
    }

    /// The names of the folders of runs.
    pub(crate) fn runs_made(&self) -> Vec<String> {
        let folders = children(&self.store().join("runs"));
        folders.iter().map(|folder| lossy(folder.file_name().unwrap().as_encoded_bytes())).collect()
    }

    /// The journal of a run.
    pub(crate) fn events(&self, run: &str) -> Vec<Value> {
        let done = self.expect(0, &["show", run, "--events"]);
        done.out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["event"].take()).collect()
    }

    /// The folder of an attempt of any run.
    pub(crate) fn attempt(&self, attempt: &str) -> Option<PathBuf> {
        let runs = fs::read_dir(self.store().join("runs")).ok()?;
        runs.flatten().map(|run| run.path().join("attempts").join(attempt)).find(|path| path.is_dir())
    }

    /// The supervisor of an attempt, once it has reported its start.
    pub(crate) fn supervisor(&self, attempt: &str) -> Option<u32> {
        let started = fs::read(self.attempt(attempt)?.join("started.json")).ok()?;
        let started: Value = serde_json::from_slice(&started).ok()?;
        u32::try_from(started["supervisor_pid"].as_u64()?).ok()
    }

    /// Every process started from here, directly or not, as far as it did not hide its environment.
    pub(crate) fn processes(&self) -> Vec<u32> {
        marked(&[b"HOME=", path_bytes(self.root.path())].concat())
    }

    /// Every supervisor of this stage.
    pub(crate) fn supervisors(&self) -> Vec<u32> {
        let is_one = |pid: &u32| arguments(*pid).get(1).is_some_and(|argument| argument == "__attempt");
        self.processes().into_iter().filter(is_one).collect()
    }

    /// Every process that carries the mark of an attempt of this stage.
    pub(crate) fn step_processes(&self) -> Vec<u32> {
        let has_mark = |pid: &u32| environment(*pid).iter().any(|entry| entry.starts_with(b"ENVOI_ATTEMPT="));
        self.processes().into_iter().filter(has_mark).collect()
    }

    /// Ends every attempt with `kill -9`, as the end of the machine would. What has just been forked is found by the next look.
    pub(crate) fn kill_attempts(&self) {
        wait_until("the end of the attempts", || {
            let left = [self.supervisors(), self.step_processes()].concat();
            left.iter().for_each(|pid| signal(*pid, Signal::KILL));
            left.is_empty()
        });
    }

    /// Nothing of any attempt lives.
    pub(crate) fn assert_nothing_left(&self) {
        let left: Vec<_> = self.step_processes().into_iter().map(|pid| (pid, arguments(pid))).collect();
        assert!(left.is_empty(), "left behind: {left:?}");
    }

    /// Every hand-off file with its bytes.
    pub(crate) fn handoffs(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let mut found = Vec::new();
        for run in children(&self.store().join("runs")) {
            for flow in children(&run) {
                for file in children(&flow.join("handoff")) {
                    if file.extension().is_some_and(|extension| extension == "json") {
                        let bytes = fs::read(&file).unwrap();
                        found.push((file, bytes));
                    }
                }
            }
        }
        found
    }
}

/// Gives the processes that are started from here the default meaning of SIGINT, also where the tests themselves run with SIGINT
/// ignored (`nohup cargo test &` in a script). A signal with a handler is set back to its default in a new program; one that is
/// ignored stays ignored. The handler does to the tests what the default does.
fn heed_ctrl_c() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let always = Arc::new(std::sync::atomic::AtomicBool::new(true));
        signal_hook::flag::register_conditional_default(signal_hook::consts::SIGINT, always).unwrap();
    });
}

impl Drop for Stage {
    fn drop(&mut self) {
        // More than once: a process may have forked just before its kill.
        for _ in 0..20 {
            let left = self.processes();
            if left.is_empty() {
                return;
            }
            left.into_iter().for_each(|pid| signal(pid, Signal::KILL));
            std::thread::yield_now();
        }
    }
}

/// A command that was started; killed when dropped.
pub(crate) struct Process {
    child: Child,
    started: Instant,
    /// Read from the start: a pipe that is full would stop who writes.
    errors: Option<JoinHandle<()>>,
    /// Its output on standard error so far.
    said: Arc<Mutex<Vec<u8>>>,
}

impl Process {
    pub(crate) fn spawn(command: &mut Command) -> Self {
        let mut child = command.spawn().unwrap();
        let said: Arc<Mutex<Vec<u8>>> = Arc::default();
        let errors = child.stderr.take().map(|mut err| {
            let said = Arc::clone(&said);
            std::thread::spawn(move || {
                let mut piece = [0; 4096];
                while let length @ 1.. = err.read(&mut piece).unwrap() {
                    said.lock().unwrap().extend_from_slice(&piece[..length]);
                }
            })
        });
        Self { child, started: Instant::now(), errors, said }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, what: Signal) {
        signal(self.pid(), what);
    }

    /// The next line that it prints, as soon as it is whole.
    pub(crate) fn line(&mut self) -> String {
        let out = self.child.stdout.as_mut().unwrap();
        let mut line = Vec::new();
        let mut byte = [0];
        while out.read(&mut byte).unwrap() == 1 && byte != *b"\n" {
            line.extend(byte);
        }
        lossy(&line)
    }

    /// Its output on standard error so far.
    pub(crate) fn said(&self) -> String {
        lossy(&self.said.lock().unwrap())
    }

    /// `kill -9`, and its end.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Whether it is over.
    pub(crate) fn is_over(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Waits until it is over by itself, or until `at` after its start: then it is killed, and `None`.
    pub(crate) fn done_within(mut self, at: Duration) -> Option<Done> {
        while self.started.elapsed() < at {
            if self.is_over() {
                return Some(self.done());
            }
            std::thread::park_timeout(Duration::from_micros(300));
        }
        self.kill();
        None
    }

    /// Waits for its end. If the engine did not get a command, because the machine is busy, it is given again: its request was not done,
    /// and will not be.
    pub(crate) fn done_when_heard(self, stage: &Stage, arguments: &[&str]) -> Done {
        let mut done = self.done();
        wait_until("an engine hears the command", || {
            let is_unheard = done.code == Some(8) && done.err.contains("ENGINE_UNREACHABLE");
            if is_unheard {
                done = stage.start(arguments).done();
            }
            !is_unheard
        });
        done
    }

    /// Waits for its end.
    pub(crate) fn done(self) -> Done {
        self.done_after(LONG)
    }

    /// As [`Process::done`], for one that does so much that it takes longer than [`LONG`] on a busy machine.
    pub(crate) fn done_after(mut self, longest: Duration) -> Done {
        let (mut out, errors) = (self.child.stdout.take().unwrap(), self.errors.take().unwrap());
        let pid = self.pid();
        let watch = Watchdog::new(pid, longest);
        let mut bytes = Vec::new();
        out.read_to_end(&mut bytes).unwrap();
        errors.join().unwrap();
        let err = self.said();
        let status = self.child.wait().unwrap();
        drop(watch);
        Done { code: status.code(), out: lossy(&bytes), err }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Kills a process that does not end in good time, so that a test fails instead of hanging.
struct Watchdog {
    over: std::sync::mpsc::Sender<()>,
}

impl Watchdog {
    fn new(pid: u32, longest: Duration) -> Self {
        let (over, heard) = std::sync::mpsc::channel::<()>();
        std::thread::spawn(move || {
            if heard.recv_timeout(longest) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
                eprintln!("process {pid} ({:?}) did not end", arguments(pid));
                signal(pid, Signal::KILL);
            }
        });
        Self { over }
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.over.send(()).unwrap_or_default();
    }
}

/// Looks again and again until there is something; fails after [`LONG`].
pub(crate) fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let until = Instant::now() + LONG;
    while Instant::now() < until {
        if let Some(found) = look() {
            return found;
        }
        std::thread::park_timeout(Duration::from_millis(3));
    }
    panic!("still waiting for {what}");
}

/// Waits until something holds.
pub(crate) fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    wait_for(what, || holds().then_some(()));
}

/// Sends a signal to a process, if it is still there.
pub(crate) fn signal(pid: u32, what: Signal) {
    let Some(id) = i32::try_from(pid).ok().and_then(Pid::from_raw) else { return };
    if let Ok(process) = pidfd_open(id, PidfdFlags::empty()) {
        pidfd_send_signal(&process, what).unwrap_or_default();
    }
}

/// The state letter of a process; `None` when it is gone.
pub(crate) fn state(pid: u32) -> Option<char> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.trim_start().chars().next()
}

/// Whether a process lives; a zombie does not.
pub(crate) fn lives(pid: u32) -> bool {
    !matches!(state(pid), None | Some('Z' | 'X'))
}

/// Every living process whose environment has this entry.
fn marked(entry: &[u8]) -> Vec<u32> {
    let ids =
        fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let me = std::process::id();
    ids.filter(|pid| *pid != me && lives(*pid) && environment(*pid).iter().any(|found| found == entry))
        .collect()
}

/// The arguments of a process.
pub(crate) fn arguments(pid: u32) -> Vec<String> {
    let bytes = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    lossy(&bytes).split_terminator('\0').map(str::to_owned).collect()
}

fn environment(pid: u32) -> Vec<Vec<u8>> {
    let bytes = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    bytes.split(|byte| *byte == 0).map(<[u8]>::to_vec).collect()
}

fn children(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

fn path_bytes(path: &Path) -> &[u8] {
    use std::os::unix::ffi::OsStrExt as _;
    path.as_os_str().as_bytes()
}

pub(crate) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("not a string: {value}")).to_owned()
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Numbers that look random and are the same for the same seed. The seed is printed: `ENVOI_TEST_SEED` repeats it.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new() -> Self {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        let given = std::env::var("ENVOI_TEST_SEED").ok().and_then(|seed| seed.parse().ok());
        let seed = given.unwrap_or(u64::from(now.subsec_nanos()) | 1);
        eprintln!("ENVOI_TEST_SEED={seed}");
        Self(seed)
    }

    /// From `low` to below `high`.
    pub(crate) fn between(&mut self, low: u64, high: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        low + (self.0 >> 11) % (high - low)
    }

    pub(crate) fn micros(&mut self, low: u64, high: u64) -> Duration {
        Duration::from_micros(self.between(low, high))
    }
}
