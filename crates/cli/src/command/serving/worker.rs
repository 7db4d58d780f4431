//! `envoi worker`: executes steps of a cluster's runs on this machine.
//!
//! The folder of a worker is its own store. A signal ends the process at once. Its steps continue under their
//! supervisors as long as the lease lasts, and the restarted worker finds them.

use super::cluster;
use crate::{
    process::{args::SUPERVISOR, args::WorkerArgs, environment, failure::Failure, messages, output},
    session::zygote,
    store::{cluster_file::ClusterFile, home::Home},
};
use envoi_contract::code::Code;
use envoi_machines::{
    Replica, SharedContents, WorkerId,
    worker::{self, Settings, WorkerError},
};
use envoi_step::{Launcher, Presence};
use std::{io, path::PathBuf, thread, time::Duration};

/// The default folder of a worker.
const FOLDER: &str = ".envoi-worker";

/// The pause between two attempts to find the server.
const PAUSE: Duration = Duration::from_millis(500);

pub(crate) fn worker(home: &Home, args: &WorkerArgs) -> Result<u8, Failure> {
    let file = ClusterFile::read(&args.cluster)?;
    let name = args.name.as_deref().map(WorkerId::new).transpose();
    let name = name.map_err(|error| Failure::new(Code::ConfigInvalid, error.to_string()))?;
    let home = Home::new(Some(home.given().unwrap_or_else(|| PathBuf::from(FOLDER))), home.json);
    let store = home.open()?;
    let _lease = cluster::lock(&store, "another worker or an engine")?;
    store.sweep().map_err(Failure::store)?;
    Presence::sweep();
    let shared = file.shared()?;
    let replica = Replica::open(&store, shared.clone(), messages::say).map_err(Failure::store)?;
    file.check_lease(lease_of(&shared)?)?;
    let usual = || u32::try_from(environment::default_jobs()).unwrap_or(u32::MAX);
    let settings = Settings {
        name,
        jobs: args.jobs.unwrap_or_else(usual).max(1),
        lease: file.lease(),
        launcher: Launcher::own([SUPERVISOR]).with_zygote(zygote::of_this_process()),
        caller: environment::caller,
        random: random_number,
        print_line: messages::say,
    };
    let joined = |worker: &WorkerId| {
        // Only the caller of this command needs this line. The worker works without a reader.
        if let Err(failure) = output::data(&format!("worker {worker} has joined\n")) {
            failure.say(false);
        }
    };
    worker::work(replica, shared, file.ingress_within_lease(), settings, joined)
        .map(|()| 0)
        .map_err(|error| failed(&error))
}

/// Returns the lease of the cluster. Waits until the server has published it. With a wrong folder, a worker
/// would find no events either.
fn lease_of(shared: &SharedContents) -> Result<u64, Failure> {
    let mut has_complained = false;
    loop {
        if let Some(lease_ms) = shared.lease_ms().map_err(Failure::store)? {
            return Ok(lease_ms);
        }
        if !has_complained {
            messages::say(
                "no `envoi serve --cluster` has used the folder `contents` yet: waiting for it (is it the same folder?)",
            );
        }
        has_complained = true;
        thread::sleep(PAUSE);
    }
}

fn random_number() -> io::Result<u64> {
    let mut bytes = [0_u8; 8];
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())?;
    Ok(u64::from_le_bytes(bytes))
}

fn failed(error: &WorkerError) -> Failure {
    match error {
        WorkerError::Identity(_) => Failure::store(error)
            .hint("one folder is for one worker: name another with --home, or leave --name out"),
        WorkerError::Machine(_) => Failure::machine("the worker", error),
        WorkerError::Copied { .. } => Failure::new(Code::StoreCopied, error.to_string()).hint(
            "the folder is a copy, was restored from a backup, or is of another cluster: start the worker with a new folder",
        ),
        WorkerError::NotUnderstood { .. } => Failure::new(Code::ServerNotUnderstood, error.to_string())
            .hint("upgrade the servers first, then the workers"),
    }
}
