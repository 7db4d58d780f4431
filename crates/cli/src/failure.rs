//! What a command could not do: one shape, said in one place.

use envoi_contract::{
    error::Diagnostic,
    json::{Object, Value},
};
use envoi_engine::protocol::Refused;
use std::fmt::Display;

/// Exit code for bad usage or a bad file.
pub(crate) const BAD_INPUT: u8 = 2;
/// Exit code when the store or the machine failed.
pub(crate) const MACHINE: u8 = 8;

/// See the module.
#[derive(Debug, Clone)]
pub(crate) struct Failure {
    /// Has a page in `spec/errors/`.
    pub(crate) code: String,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
    pub(crate) exit_code: u8,
}

impl Failure {
    pub(crate) fn new(exit_code: u8, code: &str, message: impl Into<String>) -> Self {
        Self { code: code.to_owned(), message: message.into(), hint: None, exit_code }
    }

    /// The machine failed at `what`.
    pub(crate) fn machine(what: impl Display, error: impl Display) -> Self {
        Self::new(MACHINE, "MACHINE_FAILED", format!("{what}: {error}"))
    }

    /// The store failed.
    pub(crate) fn store(error: impl Display) -> Self {
        Self::new(MACHINE, "STORE_FAILED", error.to_string())
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Says it: to stderr, as words or as one JSON object.
    pub(crate) fn say(&self, json: bool) {
        if json {
            let mut members = Object::default();
            members.insert("code".to_owned(), Value::from(self.code.as_str()));
            members.insert("message".to_owned(), Value::from(self.message.as_str()));
            members.insert("hint".to_owned(), self.hint.as_deref().map_or(Value::Null, Value::from));
            eprintln!("{}", Value::Object(members).compact());
            return;
        }
        eprintln!("error[{}]: {}", self.code, self.message);
        if let Some(hint) = &self.hint {
            eprintln!("  hint: {hint}");
        }
    }
}

impl From<Refused> for Failure {
    fn from(refused: Refused) -> Self {
        let Refused { code, message, hint, exit_code } = refused;
        Self { code, message, hint, exit_code }
    }
}

impl From<Diagnostic> for Failure {
    fn from(diagnostic: Diagnostic) -> Self {
        Self::new(BAD_INPUT, diagnostic.code, diagnostic.to_string())
    }
}
