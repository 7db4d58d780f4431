//! What comes from the environment of this process: who gives the command, what steps may see of it, and usable folders.
//!
//! Where the store is comes from it too, and is read in [`crate::store::home`].

use crate::process::failure::Failure;
use envoi_engine::{CallingAttempt, is_allowed, protocol::CallerWire};
use envoi_kernel::{
    Flow,
    flow::SecretSource,
    ids::{Principal, uuid_v7_text},
    notify::Address,
};
use std::{
    env,
    path::{Path, PathBuf},
};

/// Who gives the command.
pub(crate) fn principal() -> Principal {
    let named = env::var("USER").or_else(|_| env::var("LOGNAME")).ok().filter(|name| !name.is_empty());
    let name = named.unwrap_or_else(|| format!("uid {}", rustix::process::getuid().as_raw()));
    Principal { tenant: "local".to_owned(), actor: name }
}

/// A prefix and a UUIDv7 of now and of random bytes.
pub(crate) fn random_id(prefix: &str) -> Result<String, Failure> {
    let mut seed = [0_u8; 32];
    rustix::rand::getrandom(&mut seed, rustix::rand::GetRandomFlags::empty())
        .map_err(|error| Failure::machine("random bytes", error))?;
    Ok(format!("{prefix}{}", uuid_v7_text(envoi_engine::now(), &seed)))
}

/// What the run's commands may see of this environment, and the variables that the flow's secrets and tokens name.
pub(crate) fn caller(flow: &Flow, flow_dir: &Path) -> CallerWire {
    let tokens = flow.notify.iter().filter_map(|target| match &target.to {
        Address::Webhook(webhook) => webhook.token.as_ref(),
        Address::Command(_) => None,
    });
    let sources = flow.secrets.iter().map(|secret| &secret.source).chain(tokens);
    let named = sources.filter_map(|source| match source {
        SecretSource::Env(name) => Some((name.clone(), variable(name)?)),
        SecretSource::File(_) => None,
    });
    let within = Vec::new();
    CallerWire { env: allowed(), secrets: named.collect(), flow_dir: flow_dir.to_owned(), within }
}

/// The attempts that wait for this process, if it is part of a step: that of the step, and those that wait for its run.
pub(crate) fn within() -> Vec<CallingAttempt> {
    let run = variable("ENVOI_RUN_ID");
    let attempt = variable("ENVOI_ATTEMPT");
    let own = run.zip(attempt).and_then(|(run, attempt)| CallingAttempt::parse(&format!("{run}:{attempt}")));
    let Some(own) = own else { return Vec::new() };
    let above = variable("ENVOI_CALLERS").unwrap_or_default();
    let above = above.split(' ').filter_map(CallingAttempt::parse);
    std::iter::once(own).chain(above).collect()
}

/// What commands may see of this environment.
pub(crate) fn allowed() -> Vec<(String, String)> {
    let unicode = env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    unicode.filter(|(name, _)| is_allowed(name)).collect()
}

/// A variable of this environment.
pub(crate) fn variable(name: &str) -> Option<String> {
    env::var(name).ok()
}

/// The path of a socket has at most 107 bytes; the engine adds 50.
const MAX_SOCKET_DIR_BYTES: usize = 56;

/// Folders for the engine's socket whose paths are short, the best one first; it may turn out not to be usable.
pub(crate) fn socket_dirs() -> Vec<PathBuf> {
    let named = env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let candidates = named.into_iter().chain([env::temp_dir(), PathBuf::from("/tmp")]);
    candidates.filter(|dir| dir.is_dir() && dir.as_os_str().len() <= MAX_SOCKET_DIR_BYTES).collect()
}

/// A folder for temporary files of this user alone.
pub(crate) fn private_dir() -> PathBuf {
    let named = env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|dir| dir.is_dir());
    named.unwrap_or_else(env::temp_dir)
}

/// Attempts at once by default: twice the cores.
pub(crate) fn default_jobs() -> usize {
    std::thread::available_parallelism().map_or(2, |cores| cores.get().saturating_mul(2))
}
