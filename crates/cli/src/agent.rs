//! The attempt of a step that talks to another agent: this program as its command.

use std::{env, fs, process::ExitCode};

/// The whole of the process. Its order stands in a file that the engine has written; its token nowhere.
pub(crate) fn talk() -> ExitCode {
    let place = env::var_os(envoi_agent::ORDER_VARIABLE).unwrap_or_default();
    let order = fs::read(&place).map_err(|error| error.to_string());
    let order = order.and_then(|bytes| serde_json::from_slice(&bytes).map_err(|error| error.to_string()));
    match order {
        Ok(order) => envoi_agent::run(&order, env::var(envoi_agent::TOKEN_VARIABLE).ok()),
        Err(error) => {
            eprintln!("`{}`: {error}; it is started for a step with `a2a`, never by hand", place.display());
            ExitCode::FAILURE
        }
    }
}
