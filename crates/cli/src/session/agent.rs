//! The attempt of a step that calls another agent. This program is the command of the attempt.

use super::attempt_order::{given_secrets, read};
use envoi_agent::{Everything, Mask, Order, SECRET_VARIABLES};
use envoi_contract::json::Value;
use envoi_step::Secrets;
use std::{env, process::ExitCode, sync::Arc};

/// The main function of the process. The engine writes the order to a file. The token and the secrets are in
/// no file.
pub(crate) fn run_attempt() -> ExitCode {
    let Some(order) = read::<Order>(envoi_agent::ORDER_VARIABLE, "a2a") else { return ExitCode::FAILURE };
    envoi_agent::run(&order, env::var(envoi_agent::TOKEN_VARIABLE).ok(), &mask(&order))
}

/// Masks the secrets that the engine has given to this process.
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
    match given_secrets(SECRET_VARIABLES, order.secrets).filter(|_| !order.hides) {
        Some(secrets) => Arc::new(Masked(secrets)),
        None => Arc::new(Everything),
    }
}
