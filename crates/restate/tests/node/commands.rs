//! Stories with the commands that people type: `envoi serve --cluster`, `envoi worker`, `envoi run --server`.

use crate::cluster::{Cluster, kill};
use std::{
    fs,
    io::{BufRead as _, BufReader},
    net::{Ipv4Addr, TcpListener},
    path::PathBuf,
    process::{Child, Command, Output, Stdio},
};

pub(crate) const ALL: &[(&str, fn())] = &[
    ("a_run_of_commands_goes_on_when_its_worker_and_its_server_are_killed", killed),
    ("a_worker_that_is_stopped_has_ended_its_step_before_another_begins_it", stopped),
    ("what_a_cluster_cannot_do_is_refused_and_a_run_is_cancelled", refused),
];

/// Two steps that end when the story creates a file, a question, and a step that reads the hand-offs.
const FLOW: &str = "
flow: story
steps:
  - id: one
    run: |
      echo one began >> did.txt
      while [ ! -e go1 ]; do sleep 0.05; done
      echo one >> did.txt
      head -c 50000 /dev/zero | tr '\\0' n > notes.md
      head -c 100000 /dev/zero | tr '\\0' t
    artifacts: [notes.md]
  - id: two
    run: echo two began >> did.txt; while [ ! -e go2 ]; do sleep 0.05; done; echo two >> did.txt
  - id: sure
    ask: Go on?
  - id: last
    run: cat \"$ENVOI_HANDOFF\" > handed.md; echo last $SECRET_WORD | wc -w >> did.txt
secrets:
  SECRET_WORD: { env: STORY_WORD }
";

/// The commands of a cluster, in a folder of the story. Processes that still run at the end are killed.
struct Commands {
    cluster: Cluster,
    binary: PathBuf,
    /// The server's address for clients.
    address: String,
    serve: Option<Child>,
    worker: Option<Child>,
}

impl Drop for Commands {
    fn drop(&mut self) {
        self.kill_worker();
        self.kill_serve();
    }
}

impl Commands {
    /// Starts everything, and waits until the worker has joined.
    fn begin() -> Self {
        Self::begin_with("10m", FLOW)
    }

    fn begin_with(lease: &str, flow: &str) -> Self {
        let binary = std::env::var_os("ENVOI").expect("ENVOI names the command: call tests/restate/check.sh");
        let cluster = Cluster::node_alone();
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap();
        let file = format!(
            "ingress: {}\nadmin: {}\nlisten: 127.0.0.1:{}\ncontents: contents\nlease: {lease}\n",
            cluster.ingress_address(),
            cluster.admin_address(),
            cluster.endpoint_port(),
        );
        fs::write(cluster.folder().join("cluster.yaml"), file).unwrap();
        let address = free.to_string();
        let mut commands = Self { cluster, binary: binary.into(), address, serve: None, worker: None };
        commands.write("flow.yaml", flow);
        commands.start_serve();
        commands.start_worker();
        commands
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.cluster.folder().join(name), text).unwrap();
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.binary);
        command.args(arguments).current_dir(self.cluster.folder()).env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", self.cluster.folder());
        command.env("USER", "tester").stdin(Stdio::null());
        command
    }

    fn start_serve(&mut self) {
        let mut command =
            self.command(&["--json", "serve", "--cluster", "cluster.yaml", "--listen", &self.address]);
        let mut serve = command
            .stdout(Stdio::piped())
            .stderr(self.cluster.log("serve.log"))
            .spawn()
            .expect("`envoi` starts");
        let line = first_line(&mut serve);
        self.serve = Some(serve);
        assert!(line.contains(&self.address), "the server says where it listens: {line:?}");
        // Only the first server of a store prints a token.
        if let Some((_, rest)) = line.split_once("\"token\":\"") {
            self.write("token", rest.split('"').next().unwrap());
        }
    }

    fn start_worker(&mut self) {
        self.worker = Some(self.worker("w1"));
    }

    /// Starts a worker with this name, in a folder of this name, and waits until it has joined.
    fn worker(&self, name: &str) -> Child {
        let mut command =
            self.command(&["worker", "--cluster", "cluster.yaml", "--name", name, "--home", name]);
        command.env("STORY_WORD", "swordfish");
        let mut worker = command
            .stdout(Stdio::piped())
            .stderr(self.cluster.log("worker.log"))
            .spawn()
            .expect("`envoi` starts");
        let line = first_line(&mut worker);
        assert_eq!(line, format!("worker {name} has joined\n"));
        worker
    }

    fn kill_serve(&mut self) {
        kill(self.serve.take());
    }

    fn kill_worker(&mut self) {
        kill(self.worker.take());
    }

    /// Runs a client command.
    fn client(&self, arguments: &[&str]) -> Output {
        let url = format!("http://{}", self.address);
        let options = ["--server", &url, "--token-file", "token"];
        self.command(&[&options, arguments].concat()).output().unwrap()
    }

    /// Like [`Commands::client`], and checks the exit code.
    fn expect(&self, code: i32, arguments: &[&str]) -> String {
        let Output { status, stdout, stderr } = self.client(arguments);
        let said = String::from_utf8_lossy(&stdout).into_owned();
        let wrong = String::from_utf8_lossy(&stderr).into_owned();
        assert_eq!(
            status.code(),
            Some(code),
            "envoi {arguments:?}: {said}\n{wrong}\n{}",
            self.cluster.logs()
        );
        said + &wrong
    }

    fn did(&self) -> Vec<String> {
        let text = fs::read_to_string(self.cluster.folder().join("did.txt")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    fn wait_until_did(&self, line: &str) {
        self.cluster.wait_until(line, |_| self.did().iter().any(|did| did == line));
    }

    fn started(&self, run: &str) -> Vec<String> {
        let events = self.expect(0, &["--json", "show", run, "--events"]);
        let started = events.lines().filter(|line| line.contains("\"attempt_started\""));
        let attempt = |line: &str| {
            line.split("\"attempt\":\"").nth(1).and_then(|rest| rest.split('"').next()).map(str::to_owned)
        };
        started.filter_map(attempt).collect()
    }
}

fn first_line(child: &mut Child) -> String {
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    line
}

fn killed() {
    let mut commands = Commands::begin();
    let run = commands.expect(0, &["run", "flow.yaml", "--share-workspace", "--detach"]);
    let run = run.split_whitespace().find(|word| word.starts_with("run_")).expect("an id").to_owned();
    // The worker is restarted while the step runs.
    commands.wait_until_did("one began");
    commands.kill_worker();
    commands.start_worker();
    commands.write("go1", "");
    // The step ends while both the worker and the server are down.
    commands.wait_until_did("two began");
    commands.kill_worker();
    commands.kill_serve();
    commands.write("go2", "");
    commands.wait_until_did("two");
    commands.start_serve();
    commands.start_worker();
    commands.cluster.wait_until("the question is put", |_| {
        String::from_utf8_lossy(&commands.client(&["inbox"]).stdout).contains("Go on?")
    });
    // Then the node is killed, with all messages that it has not delivered.
    commands.cluster.kill_node();
    commands.cluster.start_node();
    commands.expect(0, &["approve", &run]);
    assert_eq!(commands.did(), ["one began", "one", "two began", "two", "2"]);
    assert_eq!(commands.started(&run), ["one.1.1", "two.1.1", "last.1.1"]);
    let shown = commands.expect(0, &["show", &run]);
    assert!(shown.contains("succeeded"), "{shown}");
    let handed = fs::read_to_string(commands.cluster.folder().join("handed.md")).unwrap();
    assert!(!handed.is_empty(), "the last step reads what was handed over");
    // Both are too large for a message.
    assert_eq!(commands.expect(0, &["artifacts", "cat", &run, "notes.md"]), "n".repeat(50_000));
    let first = commands.expect(0, &["show", &run, "--handoff", "one"]);
    assert!(first.contains(&"t".repeat(1_000)), "its text is there: {} bytes", first.len());
    // A run of the server cannot be taken over by a local engine.
    commands.kill_serve();
    let local = commands.command(&["resume", &run, "--reopen", "--take-over"]).output().unwrap();
    assert!(!local.status.success(), "{local:?}");
    let local = commands.command(&["run", "flow.yaml"]).output().unwrap();
    assert!(String::from_utf8_lossy(&local.stderr).contains("RUN_FOREIGN"), "{local:?}");
    // Only the worker knows the secret: no shared content has its value.
    assert!(!holds(&commands.cluster.folder().join("contents"), b"swordfish"));
}

/// The first attempt does not end by itself.
const ENDLESS: &str = "
flow: endless
steps:
  - id: one
    run: |
      trap 'echo ended >> did.txt; exit 1' TERM
      echo began >> did.txt
      if [ -e second ]; then exit 0; fi
      touch second
      while :; do sleep 0.05; done
    on_in_doubt: rerun
";

fn stopped() {
    let commands = Commands::begin_with("30s", ENDLESS);
    let run = commands.expect(0, &["run", "flow.yaml", "--share-workspace", "--detach"]);
    let run = run.split_whitespace().find(|word| word.starts_with("run_")).expect("an id").to_owned();
    commands.wait_until_did("began");
    let first = commands.worker.as_ref().unwrap().id().to_string();
    let signal = |name: &str| assert!(Command::new("kill").args([name, &first]).status().unwrap().success());
    signal("-STOP");
    let second = commands.worker("w2");
    commands.cluster.wait_until("the run is over", |_| {
        String::from_utf8_lossy(&commands.client(&["show", &run]).stdout).contains("succeeded")
    });
    // Only the supervisor was left to end it.
    assert_eq!(commands.did(), ["began", "ended", "began"]);
    signal("-CONT");
    commands.cluster.wait_until("it learns that it was given up", |_| {
        let log = fs::read_to_string(commands.cluster.folder().join("worker.log")).unwrap();
        log.contains("has given this worker up")
    });
    kill(Some(second));
    // The worker works again.
    let next = commands.expect(0, &["run", "flow.yaml", "--share-workspace"]);
    assert!(next.contains("succeeded"), "{next}");
    assert_eq!(commands.did(), ["began", "ended", "began", "began"]);
}

/// Whether a file below the folder has these bytes.
fn holds(folder: &std::path::Path, bytes: &[u8]) -> bool {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).any(|path| match path.is_dir() {
        true => holds(&path, bytes),
        false => fs::read(&path).unwrap().windows(bytes.len()).any(|window| window == bytes),
    })
}

fn refused() {
    let commands = Commands::begin();
    let alone = commands.expect(2, &["run", "flow.yaml", "--detach"]);
    assert!(alone.contains("NOT_YET_SUPPORTED") && alone.contains("--share-workspace"), "{alone}");
    commands.write("agent.yaml", "flow: agent\nsteps:\n  - id: one\n    agent: { use: claude, prompt: x }\n");
    let agent = commands.expect(2, &["run", "agent.yaml", "--share-workspace", "--detach"]);
    assert!(agent.contains("NOT_YET_SUPPORTED") && agent.contains("`agent`"), "{agent}");
    let run = commands.expect(0, &["run", "flow.yaml", "--share-workspace", "--detach"]);
    let run = run.split_whitespace().find(|word| word.starts_with("run_")).expect("an id").to_owned();
    commands.wait_until_did("one began");
    let raised = commands.expect(2, &["resume", &run]);
    assert!(raised.contains("NOT_YET_SUPPORTED"), "{raised}");
    let logs = commands.expect(2, &["logs", &run]);
    assert!(logs.contains("NOT_YET_SUPPORTED"), "{logs}");
    commands.expect(0, &["cancel", &run]);
    commands.cluster.wait_until("the run is cancelled", |_| {
        String::from_utf8_lossy(&commands.client(&["show", &run]).stdout).contains("cancelled")
    });
    assert_eq!(commands.did(), ["one began"], "its command was ended");
}
