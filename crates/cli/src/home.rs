//! Where the store is, who asks, and what commands may see: all that comes from the environment.

use crate::{engine_room, failure::Failure, waiting};
use envoi_engine::{CallingAttempt, is_allowed, protocol::CallerWire};
use envoi_journal::{Layout, OpenError, Reader, Store};
use envoi_kernel::{
    Flow,
    flow::SecretSource,
    ids::{Principal, uuid_v7_text},
    notify::Address,
};
use std::{
    env, fs,
    path::{Path, PathBuf},
    sync::Arc,
};

/// See the module.
pub(crate) struct Home {
    given: Option<PathBuf>,
    pub(crate) json: bool,
}

impl Home {
    pub(crate) fn new(given: Option<PathBuf>, json: bool) -> Self {
        Self {
            given: given
                .or_else(|| env::var_os("ENVOI_HOME").filter(|home| !home.is_empty()).map(PathBuf::from)),
            json,
        }
    }

    /// The store's folder if one was named.
    pub(crate) fn given(&self) -> Option<PathBuf> {
        self.given.clone()
    }

    /// The store's folder: as given, else the nearest `.envoi` upward from the current folder, else one to be made in it.
    pub(crate) fn dir(&self) -> Result<PathBuf, Failure> {
        let here = env::current_dir().map_err(|error| Failure::machine("the current folder", error))?;
        if let Some(given) = &self.given {
            return Ok(resolved(&here.join(given)));
        }
        let nearest =
            here.ancestors().map(|folder| folder.join(".envoi")).find(|candidate| candidate.is_dir());
        Ok(resolved(&nearest.unwrap_or_else(|| here.join(".envoi"))))
    }

    /// The store, made where it is missing. One that another process keeps locked is waited for.
    pub(crate) fn open(&self) -> Result<Arc<Store>, Failure> {
        let dir = self.dir()?;
        let opened = waiting::for_the_store(|| Store::open(Layout::new(&dir)))?;
        Ok(Arc::new(opened.map_err(|error| cannot_open(&dir, &error))?))
    }

    /// The store to look at: nothing is made, migrated or locked for that. One that is not there has no runs.
    pub(crate) fn reader(&self) -> Result<(Store, Reader), Failure> {
        let dir = self.existing()?;
        let store = Store::open_read_only(Layout::new(&dir)).map_err(|error| cannot_open(&dir, &error))?;
        let reader = store.reader().map_err(Failure::store)?;
        Ok((store, reader))
    }

    /// The store to change, which must be there.
    pub(crate) fn store(&self) -> Result<(Arc<Store>, Reader), Failure> {
        self.existing()?;
        let store = self.open()?;
        let reader = store.reader().map_err(Failure::store)?;
        Ok((store, reader))
    }

    /// The folder of the store, which must be there.
    pub(crate) fn existing(&self) -> Result<PathBuf, Failure> {
        let dir = self.dir()?;
        if dir.join("envoi.db").is_file() {
            return Ok(dir);
        }
        let message = format!("there is no store at `{}`", dir.display());
        Err(Failure::new(crate::failure::BAD_INPUT, "NO_STORE", message)
            .hint("`envoi run flow.yaml` makes one; or name one with --home or ENVOI_HOME"))
    }
}

/// Why a store cannot be opened, with what the machine says about it.
pub(crate) fn cannot_open(dir: &Path, error: &OpenError) -> Failure {
    if let OpenError::Copied { original, .. } = error {
        let message = format!(
            "the store `{}` is a copy of `{}`, which is still there: it can be read and not be used",
            dir.display(),
            original.display()
        );
        return Failure::new(engine_room::REFUSED, "STORE_COPIED", message).hint(
            "go on in the original; or `envoi store adopt` makes the copy a store of its own (`envoi explain STORE_COPIED`)",
        );
    }
    Failure::store(format!("the store `{}`: {error}", dir.display())).hint(cure(error))
}

/// What may help.
fn cure(error: &OpenError) -> &'static str {
    match error {
        OpenError::Io { .. } => {
            "`envoi doctor` looks closer; the store's folder has to be one that may be written"
        }
        OpenError::Corrupt { .. } => {
            "restore it from a backup: what SQLite cannot read, `envoi repair` cannot either"
        }
        OpenError::Busy { .. } => "end that transaction (a backup, a database shell), and try again",
        _ => "`envoi doctor` looks closer",
    }
}

/// One spelling for one folder: processes of an attempt are known by it. Without links where it exists, else where its
/// parent does.
fn resolved(dir: &Path) -> PathBuf {
    if let Ok(found) = fs::canonicalize(dir) {
        return found;
    }
    match (dir.parent().and_then(|parent| fs::canonicalize(parent).ok()), dir.file_name()) {
        (Some(parent), Some(name)) => parent.join(name),
        _ => dir.to_owned(),
    }
}

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
    let (run, attempt) = (variable("ENVOI_RUN_ID"), variable("ENVOI_ATTEMPT"));
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

/// A folder for what is nobody else's and does not last.
pub(crate) fn private_dir() -> PathBuf {
    let named = env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|dir| dir.is_dir());
    named.unwrap_or_else(env::temp_dir)
}

/// Attempts at once unless told: twice the cores.
pub(crate) fn default_jobs() -> usize {
    std::thread::available_parallelism().map_or(2, |cores| cores.get().saturating_mul(2))
}
