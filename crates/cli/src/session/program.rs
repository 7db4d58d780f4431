//! The attempt of a step that runs an agent program: this program as its command.

use super::attempt_order::{Masked, given_secrets, read};
use envoi_contract::json::Value;
use envoi_program::{Mask, Order, SECRET_VARIABLES};
use std::{path::Path, process::ExitCode};

/// The whole of the process. Its order stands in a file that the engine has written; secrets nowhere.
pub(crate) fn run_attempt() -> ExitCode {
    let Some(order) = read::<Order>(envoi_program::ORDER_VARIABLE, "agent") else { return ExitCode::FAILURE };
    let secrets = given_secrets(SECRET_VARIABLES, order.secrets).filter(|_| !order.hides);
    envoi_program::run(&order, &Masked(secrets))
}

/// Whether a call of a tool is made: the whole of a process, which an agent program starts.
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
