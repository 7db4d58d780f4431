//! Runs one attempt of a `model` step.
//!
//! Owns an attempt of a `model` step, from its [`Order`] to its report: it reads the files for the model, makes the
//! calls, asks again when an answer does not fit, and reports the result. It runs as a command under an ordinary
//! supervisor, and does not depend on the supervisor. `preset` owns the wire format of a call. The kernel decides
//! what follows from the report. This crate reads no environment variables.
//!
//! If the result of a call is unknown, [`UNANSWERED_FILE`] stays in the folder, even when this process is killed.

mod asking;
mod calling;
mod material;
mod order;
mod report;

pub use order::{Access, Order, Price, Problem};

/// The argument that tells a program to call [`run`].
pub const ARGUMENT: &str = "__model";

/// The variable with the path of the order file.
pub const ORDER_VARIABLE: &str = "ENVOI_MODEL_ORDER";

/// The variable with the provider's key, if it has one.
pub const KEY_VARIABLE: &str = "ENVOI_MODEL_KEY";

/// The prefix of the variables with the secrets to mask. A number from 0 follows ([`Order::secrets`] is their count).
pub const SECRET_VARIABLES: &str = "ENVOI_MODEL_SECRET_";

/// A file in the attempt's folder that exists while a call has no answer. Its text says so.
pub const UNANSWERED_FILE: &str = "unanswered";

/// A file in the attempt's folder with the number of calls that were sent and not refused by the provider.
///
/// The number is written before a call is sent. An attempt that was killed therefore sent that many calls, or one
/// fewer.
pub const CALLS_FILE: &str = "calls";

use envoi_contract::json::Value;
use std::process::ExitCode;

/// Functions that the caller of [`run`] supplies.
pub trait Around {
    /// Returns the text with secrets masked.
    fn mask_text(&self, text: &str) -> String;
    /// Returns the value with secrets masked.
    fn mask_value(&self, value: &Value) -> Value;
    /// Checks the data against the schema.
    ///
    /// # Errors
    /// [`Misfit`] says which parts of the data do not fit.
    fn check(&self, schema: &Value, data: &Value) -> Result<(), Misfit>;
}

/// The reason why data does not fit its schema, in words for the model and for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misfit(pub String);

/// Runs the attempt to its end, as the only work of its process. The report contains the error; the exit code says
/// only whether the attempt succeeded.
#[must_use]
pub fn run(order: &Order, key: Option<&str>, around: &dyn Around) -> ExitCode {
    let finished = asking::ask(order, key, around);
    match finished.and_then(|finished| report::write(order, &finished, around)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("a file of the attempt cannot be read or written: {error}");
            ExitCode::FAILURE
        }
    }
}
