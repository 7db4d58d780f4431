//! The endpoint of the stories: one flow from a file, and a replica that appends each commit to a file.

use envoi_cluster::{Message, message::Commit, wire::Posted};
use envoi_contract::{digest::Digest, time::Timestamp};
use envoi_kernel::Flow;
use envoi_restate::{Contents, Endpoint, FlowName, Replica, Settings, Unavailable};
use std::{
    fs::{self, File, OpenOptions},
    io::Write as _,
    net::Ipv4Addr,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::{net::TcpListener, runtime::Builder};

struct Store(Arc<Flow>);

impl Contents for Store {
    fn content(&self, _: &Digest) -> Result<Option<Vec<u8>>, Unavailable> {
        Ok(None)
    }
    fn flow(&self, name: &FlowName) -> Result<Option<Arc<Flow>>, Unavailable> {
        Ok((FlowName::of(&self.0) == *name).then(|| Arc::clone(&self.0)))
    }
}

struct Log(Mutex<File>);

impl Replica for Log {
    fn put(&self, commit: Commit) -> Result<(), Unavailable> {
        let posted = Posted { message: Message::Commit(commit), at: Timestamp::from_millis(0) };
        let line = serde_json::to_string(&posted.written().unwrap().text).unwrap() + "\n";
        let written = self.0.lock().unwrap().write_all(line.as_bytes());
        written.map_err(|error| Unavailable { reason: error.to_string() })
    }
}

pub(crate) fn load(path: &str) -> Arc<Flow> {
    let text = fs::read_to_string(path).unwrap();
    Arc::new(envoi_flow::load("flow.yaml", &text).unwrap().flow)
}

/// Runs until it is killed.
pub(crate) fn serve(port: u16, lease: Duration, flow: &str, commits: &str) {
    let log = OpenOptions::new().create(true).append(true).open(commits).unwrap();
    let settings = Settings { lease, replicas: vec!["story".to_owned()] };
    let replica: Arc<dyn Replica> = Arc::new(Log(Mutex::new(log)));
    let endpoint = Endpoint::new(&settings, Arc::new(Store(load(flow))), Some(("story", replica))).unwrap();
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await.unwrap();
        endpoint.serve(listener).await;
    });
}
