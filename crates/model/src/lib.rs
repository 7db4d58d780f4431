//! A step that asks a model: one attempt of it.
//!
//! Owns what an attempt of a `model` step does, from its [`Order`] to its report: it reads the files that are given to the model,
//! makes the calls, asks again where an answer does not fit, and says what the calls came to. It runs as a command under an ordinary
//! supervisor, and knows nothing of the supervisor. What a call is on the wire is known to `preset`; what follows from the report is
//! decided by the kernel. It reads no environment.
//!
//! A call whose end is not known leaves [`UNANSWERED_FILE`] behind, also if this process is killed.

mod asking;
mod calling;
mod material;
mod order;
mod report;

pub use order::{Access, Order, Price, Problem};

/// The argument of a program that is to call [`run`].
pub const ARGUMENT: &str = "__model";

/// The variable that names the file of its order.
pub const ORDER_VARIABLE: &str = "ENVOI_MODEL_ORDER";

/// The variable that holds the key of the provider, if it has one.
pub const KEY_VARIABLE: &str = "ENVOI_MODEL_KEY";

/// The prefix of the variables that hold the secrets to be masked. A number follows, from 0 ([`Order::secrets`]).
pub const SECRET_VARIABLES: &str = "ENVOI_MODEL_SECRET_";

/// The file that is in the folder of an attempt while a call has no answer. It says so in words.
pub const UNANSWERED_FILE: &str = "unanswered";

/// The file in the folder of an attempt that has the number of calls that were sent and that the provider has not refused. It is
/// written before a call is sent: an attempt that is killed has sent at most that many, and at least one fewer.
pub const CALLS_FILE: &str = "calls";

use envoi_contract::json::Value;
use std::process::ExitCode;

/// What the caller of [`run`] knows and this crate does not.
pub trait Around {
    /// The text, without secrets.
    fn mask_text(&self, text: &str) -> String;
    /// The value, without secrets.
    fn mask_value(&self, value: &Value) -> Value;
    /// Whether the data fits the schema.
    ///
    /// # Errors
    /// What does not fit.
    fn check(&self, schema: &Value, data: &Value) -> Result<(), Misfit>;
}

/// What of some data does not fit its schema, in words for the model and for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misfit(pub String);

/// Runs the attempt to its end; it is the whole of its process. The report says what went wrong, the exit code only that
/// something did.
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
