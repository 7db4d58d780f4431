//! The attempt of a step that talks to another agent: this program as its command.

use crate::process::stderr;
use envoi_agent::{Everything, Mask, Order, SECRET_VARIABLES};
use envoi_contract::json::Value;
use envoi_step::Secrets;
use std::{env, fs, process::ExitCode, sync::Arc};

/// The whole of the process. Its order stands in a file that the engine has written; token and secrets nowhere.
pub(crate) fn run_attempt() -> ExitCode {
    let place = env::var_os(envoi_agent::ORDER_VARIABLE).unwrap_or_default();
    let order = fs::read(&place).map_err(|error| error.to_string());
    let order: Result<Order, _> =
        order.and_then(|bytes| serde_json::from_slice(&bytes).map_err(|error| error.to_string()));
    match order {
        Ok(order) => {
            let mask = mask(&order);
            envoi_agent::run(&order, env::var(envoi_agent::TOKEN_VARIABLE).ok(), &mask)
        }
        Err(error) => {
            stderr::line(format_args!(
                "`{}`: {error}; it is started for a step with `a2a`, never by hand",
                place.display()
            ));
            ExitCode::FAILURE
        }
    }
}

/// Finds the secrets that the engine has given to this process.
struct Masked(Secrets);

impl Mask for Masked {
    fn text(&self, text: &str) -> String {
        self.0.mask_str(text)
    }

    fn value(&self, value: &Value) -> Value {
        self.0.mask_value(value)
    }
}

fn mask(order: &Order) -> Arc<dyn Mask> {
    let secrets = (0..order.secrets).map(|number| env::var(format!("{SECRET_VARIABLES}{number}")));
    match secrets.collect::<Result<Vec<String>, _>>() {
        Ok(secrets) if !order.hides => Arc::new(Masked(Secrets::new(&secrets))),
        Ok(_) | Err(_) => Arc::new(Everything),
    }
}
