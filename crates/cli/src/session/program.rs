//! The attempt of a step that runs an agent program: this program as its command.

use crate::process::stderr;
use envoi_contract::json::Value;
use envoi_program::{Mask, Order, SECRET_VARIABLES};
use envoi_step::Secrets;
use std::{env, fs, path::Path, process::ExitCode};

/// The whole of the process. Its order stands in a file that the engine has written; secrets nowhere.
pub(crate) fn run_attempt() -> ExitCode {
    let place = env::var_os(envoi_program::ORDER_VARIABLE).unwrap_or_default();
    let order = fs::read(&place).map_err(|error| error.to_string());
    let order: Result<Order, _> =
        order.and_then(|bytes| serde_json::from_slice(&bytes).map_err(|error| error.to_string()));
    match order {
        Ok(order) => envoi_program::run(&order, &Masked::of(&order)),
        Err(error) => {
            stderr::line(format_args!(
                "`{}`: {error}; it is started for a step with `agent`, never by hand",
                place.display()
            ));
            ExitCode::FAILURE
        }
    }
}

/// Whether a call of a tool is made: the whole of a process, which an agent program starts.
pub(crate) fn decide_call(policy: &Path) -> ExitCode {
    envoi_program::decide_call(policy)
}

/// Finds the secrets that the engine has given to this process; none: everything is hidden.
struct Masked(Option<Secrets>);

/// What stands in place of what cannot be masked.
const HIDDEN: &str = "(left out: a secret cannot be had, so this cannot be masked)";

impl Masked {
    fn of(order: &Order) -> Self {
        let secrets = (0..order.secrets).map(|number| env::var(format!("{SECRET_VARIABLES}{number}")));
        let secrets = secrets.collect::<Result<Vec<String>, _>>().ok();
        Self(secrets.filter(|_| !order.hides).map(|secrets| Secrets::new(&secrets)))
    }
}

impl Mask for Masked {
    fn text(&self, text: &str) -> String {
        self.0.as_ref().map_or_else(|| HIDDEN.to_owned(), |secrets| secrets.mask_str(text))
    }

    fn value(&self, value: &Value) -> Value {
        self.0.as_ref().map_or(Value::Null, |secrets| secrets.mask_value(value))
    }
}
