//! `envoi --server URL`: the same commands against a real server: their output, their exit codes, and what survives the end
//! of the server.

mod alike;
mod files;
mod following;
mod refused;
mod runs;

use crate::{
    serve::client::{Served, token},
    stage::{Done, Process, Stage},
};
use rustix::fs::{FlockOperation, flock};
use std::{fs::File, path::PathBuf, process::Command};

/// A client of a server: the binary, with the server's address in its environment.
pub(crate) struct Afar<'s> {
    stage: &'s Stage,
    url: String,
    token: String,
}

impl<'s> Afar<'s> {
    /// With the token of the first start.
    pub(crate) fn of(stage: &'s Stage, served: &Served) -> Self {
        Self { stage, url: served.url.clone(), token: served.first.clone().unwrap() }
    }

    /// With a token that is made with these arguments of `token create`.
    pub(crate) fn with(stage: &'s Stage, served: &Served, arguments: &[&str]) -> Self {
        Self { stage, url: served.url.clone(), token: token(stage, arguments) }
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.stage.command(arguments);
        command.env("ENVOI_SERVER", &self.url).env("ENVOI_TOKEN", &self.token);
        command
    }

    pub(crate) fn start(&self, arguments: &[&str]) -> Process {
        Process::spawn(&mut self.command(arguments))
    }

    pub(crate) fn envoi(&self, arguments: &[&str]) -> Done {
        let done = self.start(arguments).done();
        // Files that were brought here do not outlive the command; files of other processes are theirs.
        assert_eq!(abandoned(self.stage), Vec::<PathBuf>::new(), "{arguments:?}");
        done
    }

    pub(crate) fn expect(&self, code: i32, arguments: &[&str]) -> Done {
        let done = self.envoi(arguments);
        assert_eq!(done.code, Some(code), "envoi {arguments:?}: {done:?}");
        done
    }

    /// The environment for a terminal.
    pub(crate) fn env(&self) -> [(&str, &str); 2] {
        [("ENVOI_SERVER", &self.url), ("ENVOI_TOKEN", &self.token)]
    }
}

/// Folders with what was brought from a server.
pub(crate) fn mirrors(stage: &Stage) -> Vec<PathBuf> {
    let folders = std::fs::read_dir(stage.path("sockets")).unwrap().flatten().map(|entry| entry.path());
    folders.filter(|folder| folder.to_string_lossy().contains("mirror")).collect()
}

/// The mirrors that no process holds any more. A mirror without a lock file is just being made.
pub(crate) fn abandoned(stage: &Stage) -> Vec<PathBuf> {
    let is_free = |folder: &PathBuf| {
        let lock = File::open(folder.join("mirror.lock"));
        lock.is_ok_and(|lock| flock(&lock, FlockOperation::NonBlockingLockShared).is_ok())
    };
    mirrors(stage).into_iter().filter(is_free).collect()
}

/// A server, and a client with a token that may do everything.
pub(crate) fn served(stage: &Stage) -> (Served, Afar<'_>) {
    let served = Served::start(stage);
    let afar = Afar::of(stage, &served);
    (served, afar)
}
