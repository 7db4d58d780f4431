//! A step that another agent does: one attempt of it, over A2A 1.0, or 0.3 if the agent has no 1.0.
//!
//! Owns what an attempt of an `a2a` step does, from its [`Order`] to its report: it finds the agent, sends one message once,
//! follows the task, and cancels the task when the attempt has to end. It runs as a command under an ordinary supervisor, and
//! knows nothing of the supervisor. What follows from the report is decided by the kernel. It reads no environment.
//!
//! ```
//! use envoi_agent::{Order, Timeouts};
//!
//! let order = r#"{
//!     "key": "run_1/ask.1", "url": "https://agent.example", "message": "Review the change.", "task": 0, "turn": 0,
//!     "record": "talk.json", "report": "report.json", "output": "output", "waits": WAITS
//! }"#;
//! // A message in doubt is searched for at most a third of the step's time: time is left for a question to a person.
//! let timeouts = Timeouts::within(Some(90_000));
//! assert_eq!((timeouts.reply_ms, timeouts.in_flight_ms), (90_000, 30_000));
//! let order = order.replace("WAITS", &serde_json::to_string(&timeouts)?);
//! let order: Order = serde_json::from_str(&order)?;
//! assert_eq!((order.timeouts, order.resend, order.secrets), (timeouts, false, 0));
//! # Ok::<(), serde_json::Error>(())
//! ```

mod files;
mod input;
mod protocol;
mod session;

pub use input::{
    mask::{Everything, Mask},
    order::{Order, Timeouts},
};

/// The argument of a program that is to call [`run`].
pub const ARGUMENT: &str = "__a2a";

/// The variable that names the file of its order.
pub const ORDER_VARIABLE: &str = "ENVOI_A2A_ORDER";

/// The variable that holds the token, if there is one.
pub const TOKEN_VARIABLE: &str = "ENVOI_A2A_TOKEN";

/// The prefix of the variables that hold the secrets to be masked. A number follows, from 0 ([`Order::secrets`]).
pub const SECRET_VARIABLES: &str = "ENVOI_A2A_SECRET_";

use files::{log, report};
use protocol::client::Client;
use session::{Session, stop::Stop};
use std::{process::ExitCode, sync::Arc};

/// Runs the attempt to its end; it is the whole of its process. The report says what went wrong, the exit code only that
/// something did. The agent's words are written to files as `mask` returns them.
#[must_use]
pub fn run(order: &Order, token: Option<String>, mask: &Arc<dyn Mask>) -> ExitCode {
    let stop = Stop::default();
    if let Err(error) = stop.listen(order, token.as_deref(), mask) {
        log::print(&format!("no handler for signals can be set: {error}"));
        return ExitCode::FAILURE;
    }
    let client = Client::new(token, order.timeouts.request_ms, Arc::clone(mask));
    let outcome = Session::run(order, client, &stop);
    stop.finish();
    match report::write(order, &outcome, &**mask) {
        Ok(code) => code,
        Err(error) => {
            log::print(&format!("the report cannot be written: {error}"));
            ExitCode::FAILURE
        }
    }
}
