//! Variables that the composition root gives to the commands of one attempt alone, beside the engine's for all.

use core::fmt;
use envoi_kernel::ids::{AttemptId, RunId};
use std::sync::Arc;

/// A variable of a command's environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its value; the same each time, so that it can be masked after a restart too.
    pub value: String,
    /// Whether it is masked in what the command writes and hands over.
    pub secret: bool,
}

type Make = dyn Fn(&RunId, &AttemptId) -> Vec<Variable> + Send + Sync;

/// Makes the variables of an attempt. The default makes none.
#[derive(Clone, Default)]
pub struct PerAttempt(Option<Arc<Make>>);

impl PerAttempt {
    /// `make` is called from any thread.
    #[must_use]
    pub fn new(make: impl Fn(&RunId, &AttemptId) -> Vec<Variable> + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(make)))
    }

    pub(crate) fn of(&self, run: &RunId, attempt: &AttemptId) -> Vec<Variable> {
        self.0.as_ref().map(|make| make(run, attempt)).unwrap_or_default()
    }

    /// The values of an attempt that are secrets.
    pub(super) fn secrets(&self, run: &RunId, attempt: &AttemptId) -> impl Iterator<Item = String> {
        self.of(run, attempt).into_iter().filter(|variable| variable.secret).map(|variable| variable.value)
    }
}

impl fmt::Debug for PerAttempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "PerAttempt(..)" } else { "PerAttempt(none)" })
    }
}

/// Whether commands may see this variable of the engine's own environment.
#[must_use]
pub fn is_allowed(name: &str) -> bool {
    const NAMES: [&str; 8] = ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TERM", "TZ"];
    NAMES.contains(&name) || name == "TMPDIR" || name.starts_with("LC_") || name.starts_with("XDG_")
}
