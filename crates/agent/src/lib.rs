//! Runs one attempt of an `a2a` step: another agent does the work, over A2A 1.0, or 0.3 if the agent has no 1.0.
//!
//! Owns an attempt of an `a2a` step, from its [`Order`] to its report: it finds the agent, sends one message once,
//! follows the task, and cancels the task when the attempt has to end. It runs as a command under an ordinary
//! supervisor, and does not depend on the supervisor. The kernel decides what follows from the report. This crate
//! reads no environment variables.
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

/// The argument that tells a program to call [`run`].
pub const ARGUMENT: &str = "__a2a";

/// The variable with the path of the order file.
pub const ORDER_VARIABLE: &str = "ENVOI_A2A_ORDER";

/// The variable with the token, if there is one.
pub const TOKEN_VARIABLE: &str = "ENVOI_A2A_TOKEN";

/// The prefix of the variables with the secrets to mask. A number from 0 follows ([`Order::secrets`] is their count).
pub const SECRET_VARIABLES: &str = "ENVOI_A2A_SECRET_";

use files::{log, report};
use protocol::client::Client;
use session::{Session, stop::Stop};
use std::{process::ExitCode, sync::Arc};

/// Runs the attempt to its end, as the only work of its process. The report contains the error; the exit code says
/// only whether the attempt succeeded. The agent's words are written to files as `mask` returns them.
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
