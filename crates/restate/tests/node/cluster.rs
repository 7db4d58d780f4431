//! A node and an endpoint, with their own folder and ports. Both can be killed and started again.

use crate::{endpoint, journal::Journals, worker::now};
use envoi_cluster::{Message, message::ToRun, wire::Posted};
use envoi_contract::json::Object;
use envoi_http::Client;
use envoi_kernel::{
    Flow, Input,
    ids::{Principal, RunId},
    input::Start,
    requester::Requester,
};
use envoi_restate::{Admin, FlowName, Ingress, NotAsked, Reply};
use std::{
    fs::{self, File},
    net::{Ipv4Addr, TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};
use tempfile::TempDir;

/// A step in doubt is run again automatically.
const FLOW: &str =
    "flow: two\nsteps:\n  - id: one\n    run: [work]\n    on_in_doubt: rerun\n  - id: two\n    run: [work]\n";

/// Longer than any test, so that no worker is lost because this machine is slow.
const LONG_LEASE: Duration = Duration::from_secs(600);

/// Longer than any wait of a test, even on a busy machine.
const TOO_LONG: Duration = Duration::from_secs(120);

/// Time limit of a call, after which it is repeated.
const CALL: Duration = Duration::from_secs(60);

pub(crate) struct Cluster {
    folder: TempDir,
    ports: Ports,
    lease: Duration,
    node: Option<Child>,
    endpoint: Option<Child>,
    flow: Arc<Flow>,
}

struct Ports {
    ingress: u16,
    admin: u16,
    node: u16,
    endpoint: u16,
}

impl Ports {
    /// Free ports. All listeners are kept until the last port is known, so that the ports differ.
    fn free() -> Self {
        let kept = [(); 4].map(|()| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap());
        let [ingress, admin, node, endpoint] = kept.each_ref().map(|kept| kept.local_addr().unwrap().port());
        Self { ingress, admin, node, endpoint }
    }
}

impl Cluster {
    /// Starts everything, and registers the endpoint with the node.
    pub(crate) fn start() -> Self {
        Self::with_lease(LONG_LEASE)
    }

    /// Starts only a node, for other endpoints.
    pub(crate) fn node_alone() -> Self {
        let folder = TempDir::new().unwrap();
        fs::write(folder.path().join("flow.yaml"), FLOW).unwrap();
        let flow = endpoint::load(folder.path().join("flow.yaml").to_str().unwrap());
        let ports = Ports::free();
        let mut cluster = Self { folder, ports, lease: LONG_LEASE, node: None, endpoint: None, flow };
        cluster.configure();
        cluster.start_node();
        cluster
    }

    pub(crate) fn with_lease(lease: Duration) -> Self {
        let mut cluster = Self::node_alone();
        cluster.lease = lease;
        cluster.start_endpoint();
        let admin = Admin::new(&cluster.admin_address());
        let address = format!("http://127.0.0.1:{}", cluster.ports.endpoint);
        admin.register(&address).unwrap();
        admin.register(&address).expect("safe to do again");
        cluster
    }

    pub(crate) fn flow(&self) -> &Arc<Flow> {
        &self.flow
    }

    fn configure(&self) {
        let Ports { ingress, admin, node, .. } = self.ports;
        let data = self.folder.path().join("data");
        let address = |port: u16| {
            format!(
                "bind-address = \"127.0.0.1:{port}\"\nadvertised-address = \"http://127.0.0.1:{port}/\"\n"
            )
        };
        let text = format!(
            "node-name = \"one\"\ncluster-name = \"story\"\nbase-dir = {data:?}\nlisten-mode = \"tcp\"\n{}\
             default-num-partitions = 2\ndisable-telemetry = true\nrocksdb-total-memory-size = \"256 MiB\"\n\
             log-disable-ansi-codes = true\n[ingress]\n{}[admin]\ndisable-web-ui = true\n{}",
            address(node),
            address(ingress),
            address(admin),
        );
        fs::write(self.folder.path().join("node.toml"), text).unwrap();
    }

    /// The output of the test's processes goes to this file.
    pub(crate) fn log(&self, name: &str) -> Stdio {
        let path = self.folder.path().join(name);
        File::options().create(true).append(true).open(path).unwrap().into()
    }

    pub(crate) fn start_node(&mut self) {
        let server = std::env::var_os("RESTATE_SERVER")
            .expect("RESTATE_SERVER names the server of Restate: call tests/restate/check.sh");
        let child = Command::new(server)
            .arg("--no-logo")
            .arg("--config-file")
            .arg(self.folder.path().join("node.toml"))
            .stdout(self.log("node.log"))
            .stderr(self.log("node.log"))
            .spawn()
            .expect("the server of Restate starts");
        self.node = Some(child);
        let agent = Client { timeout: Some(CALL), ..Client::default() }.agent();
        for (port, path) in [(self.ports.admin, "health"), (self.ports.ingress, "restate/health")] {
            let url = format!("http://127.0.0.1:{port}/{path}");
            self.wait_until("the node is there", |_| {
                agent.get(&url).call().is_ok_and(|response| response.status() == 200)
            });
        }
    }

    pub(crate) fn start_endpoint(&mut self) {
        let path = |name: &str| self.folder.path().join(name);
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["endpoint", &self.ports.endpoint.to_string(), &self.lease.as_millis().to_string()])
            .args([path("flow.yaml"), path("commits")])
            .stdout(self.log("endpoint.log"))
            .stderr(self.log("endpoint.log"))
            .spawn()
            .unwrap();
        self.endpoint = Some(child);
        let port = self.ports.endpoint;
        self.wait_until("the endpoint is there", |_| TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok());
    }

    /// With SIGKILL, so that nothing more is written.
    pub(crate) fn kill_node(&mut self) {
        kill(self.node.take());
    }

    pub(crate) fn kill_endpoint(&mut self) {
        kill(self.endpoint.take());
    }

    pub(crate) fn ingress(&self) -> Ingress {
        Ingress::new(&self.ingress_address(), CALL)
    }

    pub(crate) fn ingress_address(&self) -> String {
        format!("http://127.0.0.1:{}", self.ports.ingress)
    }

    pub(crate) fn admin_address(&self) -> String {
        format!("http://127.0.0.1:{}", self.ports.admin)
    }

    /// The port of the endpoint, reserved for it.
    pub(crate) fn endpoint_port(&self) -> u16 {
        self.ports.endpoint
    }

    /// The folder of this test.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn journals(&self) -> Journals {
        Journals::read(&self.folder.path().join("commits"))
    }

    /// Gives a run its flow, and starts it.
    pub(crate) fn begin(&self, name: &str) -> RunId {
        let run = RunId::new(format!("run_{name}")).unwrap();
        let named = self.ingress().name_flow(&run, &FlowName::of(&self.flow)).unwrap();
        assert_eq!(named, Reply::Done);
        let reply = self.ask(&run, Input::Start(Box::new(start(&run)))).unwrap();
        assert!(matches!(reply, Reply::Answer(_)), "{reply:?}");
        run
    }

    pub(crate) fn ask(&self, run: &RunId, input: Input) -> Result<Reply, NotAsked> {
        let message = Message::Run(run.clone(), ToRun::Input(Box::new(input)));
        self.ingress().ask(Posted { message, at: now() })
    }

    pub(crate) fn wait_until(&self, what: &str, is: impl Fn(&Self) -> bool) {
        let began = Instant::now();
        while !is(self) {
            assert!(began.elapsed() < TOO_LONG, "not yet: {what}\n{}", self.logs());
            wait_a_moment();
        }
    }

    pub(crate) fn logs(&self) -> String {
        let end = |name: &str| {
            let path: PathBuf = self.folder.path().join(name);
            let text = fs::read_to_string(path).unwrap_or_default();
            let lines: Vec<&str> = text.lines().collect();
            format!("== {name}\n{}\n", lines[lines.len().saturating_sub(40)..].join("\n"))
        };
        ["node.log", "endpoint.log", "serve.log", "worker.log"].map(end).concat()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.kill_node();
        self.kill_endpoint();
    }
}

/// With SIGKILL.
pub(crate) fn kill(child: Option<Child>) {
    if let Some(mut child) = child {
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

/// The pause between two checks of another process.
pub(crate) fn wait_a_moment() {
    thread::sleep(Duration::from_millis(20));
}

fn start(run: &RunId) -> Start {
    Start {
        run: run.clone(),
        inputs: Object::default(),
        source: "/project/flow.yaml".to_owned(),
        workspace: "/work".to_owned(),
        shared: true,
        keep_files: false,
        no_cache: false,
        isolated: None,
        run_base: "/base".to_owned(),
        language: 1,
        by: Principal { tenant: "red".to_owned(), actor: "ada".to_owned() },
        yes_to: Vec::new(),
        trace: None,
        env: Object::default(),
        requester: Requester::default(),
        part: None,
    }
}
