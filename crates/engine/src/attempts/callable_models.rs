//! The models that steps may ask, as the composition root knows them.

use core::fmt;
use envoi_kernel::event::Command;
use envoi_model::{Access, Problem};
use std::{collections::BTreeMap, sync::Arc};

/// A model that can be called, or why it cannot be.
pub type Callable = Result<CallableModel, Problem>;

/// How a model is called.
#[derive(Clone, PartialEq, Eq)]
pub struct CallableModel {
    /// Without the key.
    pub access: Access,
    /// The key of its provider, if that needs one.
    pub key: Option<String>,
}

/// Its key is not shown.
impl fmt::Debug for CallableModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallableModel").field("access", &self.access).finish_non_exhaustive()
    }
}

/// By the names that flows use. The default has none.
#[derive(Debug, Clone, Default)]
pub struct CallableModels(Arc<BTreeMap<String, Callable>>);

impl CallableModels {
    /// These.
    #[must_use]
    pub fn new(models: BTreeMap<String, Callable>) -> Self {
        Self(Arc::new(models))
    }

    /// The model of this name, if the configuration has it.
    pub(super) fn get(&self, name: &str) -> Option<&Callable> {
        self.0.get(name)
    }

    /// The key that an attempt with this model is given.
    pub(super) fn key(&self, name: &str) -> Option<&str> {
        self.get(name)?.as_ref().ok()?.key.as_deref()
    }

    /// The key that a command is given, if it asks a model whose provider needs one.
    pub(super) fn key_for(&self, command: &Command) -> Option<&str> {
        match command {
            Command::Model(call) => self.key(&call.model),
            Command::Exec(_)
            | Command::Shell(_)
            | Command::A2a(_)
            | Command::Agent(_)
            | Command::Merge(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_not_shown() {
        let access = Access {
            provider: "lab".to_owned(),
            protocol: "chat".to_owned(),
            url: "http://x".to_owned(),
            name: "m".to_owned(),
            timeout_ms: 1,
            price: None,
        };
        let model = CallableModel { access, key: Some("sk-secret".to_owned()) };
        let models = CallableModels::new(BTreeMap::from([("m".to_owned(), Ok(model))]));
        assert_eq!(models.key("m"), Some("sk-secret"));
        assert!(!format!("{models:?}").contains("sk-"));
    }
}
