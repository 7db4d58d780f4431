//! The attempt of a step that runs an agent program. This program is the command of the attempt.

use super::attempt_order::{Masked, given_secrets, read};
use envoi_contract::json::Value;
use envoi_program::{Mask, Order, SECRET_VARIABLES};
use std::{path::Path, process::ExitCode};

/// The main function of the process. The engine writes the order to a file. The secrets are in no file.
pub(crate) fn run_attempt() -> ExitCode {
    let Some(order) = read::<Order>(envoi_program::ORDER_VARIABLE, "agent") else { return ExitCode::FAILURE };
    let secrets = given_secrets(SECRET_VARIABLES, order.secrets).filter(|_| !order.hides);
    envoi_program::run(&order, &Masked(secrets))
}

/// Decides whether a tool call is allowed. This is the main function of a process that an agent program
/// starts.
pub(crate) fn decide_call(policy: &Path) -> ExitCode {
    envoi_program::decide_call(policy)
}

impl Mask for Masked {
    fn text(&self, text: &str) -> String {
        self.text(text)
    }

    fn value(&self, value: &Value) -> Value {
        self.value(value)
    }

    fn hides(&self) -> bool {
        self.hides()
    }
}
