//! The input of an attempt's process for an agent, an agent program or a model: its order, in a file of the
//! engine, and the secrets to mask, each in its own variable.

use crate::process::stderr;
use envoi_contract::json::Value;
use envoi_step::Secrets;
use serde::de::DeserializeOwned;
use std::{env, fs, path::Path};

/// Reads the order from the file that this variable names. If there is none, prints an error: `key` is the
/// key of a step that needs such a process.
pub(crate) fn read<O: DeserializeOwned>(variable: &str, key: &str) -> Option<O> {
    let place = env::var_os(variable).unwrap_or_default();
    let place = Path::new(&place);
    let order = fs::read(place).map_err(|error| error.to_string());
    let order = order.and_then(|bytes| serde_json::from_slice(&bytes).map_err(|error| error.to_string()));
    let say = |error: &String| {
        stderr::line(format_args!(
            "`{}`: {error}; it is started for a step with `{key}`, never by hand",
            place.display()
        ));
    };
    order.inspect_err(say).ok()
}

/// Returns the secrets that the engine has given to this process.
pub(crate) fn given_secrets(prefix: &str, count: usize) -> Option<Secrets> {
    let secrets = (0..count).map(|number| env::var(format!("{prefix}{number}")));
    secrets.collect::<Result<Vec<String>, _>>().ok().map(|secrets| Secrets::new(&secrets))
}

/// The replacement for text that cannot be masked.
const HIDDEN: &str = "(left out: a secret cannot be had, so this cannot be masked)";

/// Masks the known secrets. If the secrets are missing, it hides everything.
pub(crate) struct Masked(pub(crate) Option<Secrets>);

impl Masked {
    pub(crate) fn text(&self, text: &str) -> String {
        self.0.as_ref().map_or_else(|| HIDDEN.to_owned(), |secrets| secrets.mask_str(text))
    }

    pub(crate) fn value(&self, value: &Value) -> Value {
        self.0.as_ref().map_or(Value::Null, |secrets| secrets.mask_value(value))
    }

    pub(crate) fn hides(&self) -> bool {
        self.0.as_ref().is_none_or(|secrets| !secrets.is_empty())
    }
}
