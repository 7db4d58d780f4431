//! Reads the environment of this process: the user, the variables that steps may see, and usable folders.
//!
//! The location of the store also depends on it, and is read in [`crate::store::home`].

use crate::process::{failpoint, failure::Failure};
use envoi_engine::{CallingAttempt, is_allowed, protocol::CallerWire};
use envoi_kernel::{
    Flow,
    flow::SecretSource,
    ids::{Principal, uuid_v7_text},
    notify::Address,
};
use envoi_preset::Preset;
use envoi_step::plain;
use std::{
    env, io,
    path::{Path, PathBuf},
};

/// The user that gives the command.
pub(crate) fn principal() -> Principal {
    let named = env::var("USER").or_else(|_| env::var("LOGNAME")).ok().filter(|name| !name.is_empty());
    let name = named.unwrap_or_else(|| format!("uid {}", rustix::process::getuid().as_raw()));
    Principal { tenant: "local".to_owned(), actor: name }
}

/// The file that this name starts: the first executable one in `PATH`.
pub(crate) fn in_path(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path)
        .map(|dir| dir.join(name))
        .find(|file| file.is_file() && rustix::fs::access(file, rustix::fs::Access::EXEC_OK).is_ok())
}

/// The user's editor, as a shell command.
pub(crate) fn editor() -> String {
    let named = ["VISUAL", "EDITOR"].into_iter().filter_map(|name| env::var(name).ok());
    named.into_iter().find(|command| !command.trim().is_empty()).unwrap_or_else(|| "vi".to_owned())
}

/// A prefix and a UUIDv7 of the current time and random bytes.
pub(crate) fn random_id(prefix: &str) -> Result<String, Failure> {
    let mut seed = [0_u8; 32];
    rustix::rand::getrandom(&mut seed, rustix::rand::GetRandomFlags::empty())
        .map_err(|error| Failure::machine("random bytes", error))?;
    Ok(format!("{prefix}{}", uuid_v7_text(envoi_engine::now(), &seed)))
}

/// The variables that the run's commands may see, and those that the flow's secrets and tokens name.
pub(crate) fn caller(flow: &Flow, flow_dir: &Path) -> CallerWire {
    failpoint::reading_for(flow.id.as_str());
    let tokens = flow.notify.iter().filter_map(|target| match &target.to {
        Address::Webhook(webhook) => webhook.token.as_ref(),
        Address::Command(_) => None,
    });
    let sources = flow.secrets.iter().map(|secret| &secret.source).chain(tokens);
    let (of_files, env_file_problem) = match env_files(flow, flow_dir) {
        Ok(variables) => (variables, None),
        Err(problem) => (Vec::new(), Some(problem.to_string())),
    };
    let in_file =
        |name: &str| of_files.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value.clone());
    let named = sources.filter_map(|source| match source {
        SecretSource::Env(name) => Some((name.clone(), variable(name).or_else(|| in_file(name))?)),
        SecretSource::File(_) => None,
    });
    let secrets: Vec<(String, String)> = named.collect();
    let read = flow.env_read.iter().filter_map(|name| Some((name.clone(), variable(name)?))).collect();
    // A variable that is set and passed has priority over a file, as is usual for such files.
    let passed = unicode_variables().filter(|(name, _)| flow.passes(name));
    let env: Vec<(String, String)> = allowed().into_iter().chain(of_files).chain(passed).collect();
    let is_seen = |name: &&str| {
        let is_declared = flow.secrets.iter().any(|secret| secret.name == **name)
            || flow.env.iter().any(|(known, _)| known == *name);
        is_declared || env.iter().any(|(known, _)| known == *name)
    };
    let not_passed = unicode_variables().filter(|(name, value)| is_well_known(name) && !value.is_empty());
    let not_passed = not_passed.map(|(name, _)| name).filter(|name| !is_seen(&name.as_str())).collect();
    let flow_dir = flow_dir.to_owned();
    CallerWire { env, secrets, flow_dir, within: Vec::new(), read, not_passed, env_file_problem }
}

/// Variables that programs expect. Without them, programs fail with unclear messages.
fn is_well_known(name: &str) -> bool {
    const NAMES: &str = "SSH_AUTH_SOCK GPG_TTY HTTP_PROXY HTTPS_PROXY NO_PROXY ALL_PROXY http_proxy https_proxy no_proxy all_proxy \
                         VIRTUAL_ENV CONDA_PREFIX GITHUB_TOKEN GH_TOKEN ANTHROPIC_API_KEY OPENAI_API_KEY \
                         GOOGLE_APPLICATION_CREDENTIALS KUBECONFIG DOCKER_HOST SSL_CERT_FILE";
    // Folders with all settings of a user are not logins.
    let is_login = |preset: &Preset| preset.login_variables().contains(&name) && !name.starts_with("XDG_");
    NAMES.split(' ').any(|known| known == name)
        || name.starts_with("AWS_")
        || Preset::ALL.iter().any(is_login)
}

/// Why the variables of the flow's files are not available.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EnvFileError {
    /// A file cannot be read.
    #[error("`env_file`: {}: {source}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    /// A line of the file is not an assignment.
    #[error("`env_file`: {}: {reason}", path.display())]
    Invalid { path: PathBuf, reason: String },
    /// An expression reads one of the names, so its value would be stored.
    #[error(
        "`env.{name}` in an expression reads a variable of `env_file`, whose values are never stored; a command reads it from its \
         environment: `${name}`"
    )]
    InExpression { name: String },
}

/// The variables of the flow's files.
///
/// # Errors
/// See [`EnvFileError`].
pub(crate) fn env_files(flow: &Flow, flow_dir: &Path) -> Result<Vec<(String, String)>, EnvFileError> {
    let mut variables = Vec::new();
    for file in &flow.env_files {
        let path = flow_dir.join(file);
        let text = match plain::read_named(&path, plain::MOST_BYTES_OF_SECRETS) {
            Ok(text) => text,
            Err(source) => return Err(EnvFileError::Unreadable { path, source }),
        };
        match envoi_flow::env_file::parse(&text) {
            Ok(found) => variables.extend(found),
            Err(error) => return Err(EnvFileError::Invalid { path, reason: error.to_string() }),
        }
    }
    match variables.iter().find(|(name, _)| flow.env_read.contains(name)) {
        None => Ok(variables),
        Some((name, _)) => Err(EnvFileError::InExpression { name: name.clone() }),
    }
}

fn unicode_variables() -> impl Iterator<Item = (String, String)> {
    env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}

/// The attempts that wait for this process, if it is part of a step: the attempt of the step, and those that
/// wait for its run.
pub(crate) fn within() -> Vec<CallingAttempt> {
    let run = variable("ENVOI_RUN_ID");
    let attempt = variable("ENVOI_ATTEMPT");
    let own = run.zip(attempt).and_then(|(run, attempt)| CallingAttempt::parse(&format!("{run}:{attempt}")));
    let Some(own) = own else { return Vec::new() };
    let above = variable("ENVOI_CALLERS").unwrap_or_default();
    let above = above.split(' ').filter_map(CallingAttempt::parse);
    std::iter::once(own).chain(above).collect()
}

/// The variables of this environment that commands may see.
pub(crate) fn allowed() -> Vec<(String, String)> {
    unicode_variables().filter(|(name, _)| is_allowed(name)).collect()
}

/// A variable of this environment. It may be empty, because an empty value has a meaning too.
pub(crate) fn set_or_empty(name: &str) -> Option<String> {
    env::var_os(name).map(|value| value.to_string_lossy().into_owned())
}

/// A variable of this environment.
pub(crate) fn variable(name: &str) -> Option<String> {
    env::var(name).ok()
}

/// The path of a socket has at most 107 bytes, of which the engine adds 50.
const MAX_SOCKET_DIR_BYTES: usize = 56;

/// Candidate folders with short paths for the engine's socket, best first. A candidate may be unusable.
pub(crate) fn socket_dirs() -> Vec<PathBuf> {
    let named = env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let candidates = named.into_iter().chain([env::temp_dir(), PathBuf::from("/tmp")]);
    candidates.filter(|dir| dir.is_dir() && dir.as_os_str().len() <= MAX_SOCKET_DIR_BYTES).collect()
}

/// A folder for temporary files that only this user can read.
pub(crate) fn private_dir() -> PathBuf {
    let named = env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|dir| dir.is_dir());
    named.unwrap_or_else(env::temp_dir)
}

/// The home of the user.
pub(crate) fn home_folder() -> Option<PathBuf> {
    env::var_os("HOME").filter(|home| !home.is_empty()).map(PathBuf::from)
}

/// The permanent folder of the user for the trees of runs.
pub(crate) fn trees_folder() -> Option<PathBuf> {
    let named = env::var_os("XDG_STATE_HOME").map(PathBuf::from).filter(|folder| folder.is_absolute());
    let state = named.or_else(|| home_folder().map(|home| home.join(".local/state")))?;
    Some(state.join("envoi/trees"))
}

/// The default number of attempts at once: twice the number of cores.
pub(crate) fn default_jobs() -> usize {
    std::thread::available_parallelism().map_or(2, |cores| cores.get().saturating_mul(2))
}
