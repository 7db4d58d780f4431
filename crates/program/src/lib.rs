//! Runs one attempt of an `agent` step.
//!
//! Owns an attempt of an `agent` step, from its [`Order`] to its report. It starts the program with the prompt as
//! standard input, reads its events while it works, prints them for people on standard output, keeps them in a file,
//! and writes the report. It runs as a command under an ordinary supervisor, and does not depend on the supervisor.
//! `preset` knows how a program is started and how its events are read. If the step asks about some tool calls, the
//! program starts [`decide_call`] before each call. The kernel decides what follows from the report. This crate reads
//! no environment variables.

mod events;
mod files;
mod hook;
mod limit;
mod order;
mod process;
mod prompt;
mod report;
mod used;

pub use hook::decide_call;
pub use order::{Before, Order};

/// The argument that tells a program to call [`run`].
pub const ARGUMENT: &str = "__agent";

/// The argument that tells a program to call [`decide_call`]. The path of the policy file follows it.
pub const HOOK_ARGUMENT: &str = "__agent_call";

/// The variable with the path of the order file.
pub const ORDER_VARIABLE: &str = "ENVOI_AGENT_ORDER";

/// The prefix of the variables with the secrets to mask. A number from 0 follows ([`Order::secrets`] is their count).
pub const SECRET_VARIABLES: &str = "ENVOI_AGENT_SECRET_";

/// The file with the events of the program, in the attempt's folder.
pub const EVENTS_FILE: &str = "events.jsonl";

/// The file with the session id, in the attempt's folder. It is written as soon as the id is known.
pub const SESSION_FILE: &str = "session";

/// The file with the usage so far, in the attempt's folder. It has the members of the report's `metrics`; a member
/// that the program did not report is null.
pub const USED_FILE: &str = "used.json";

use envoi_contract::json::Value;
use envoi_preset::Preset;
use process::Work;
use std::process::ExitCode;

/// Masks secrets in output that is written to files.
pub trait Mask: Send + Sync {
    /// Returns the text with secrets masked.
    fn text(&self, text: &str) -> String;
    /// Returns the value with secrets masked.
    fn value(&self, value: &Value) -> Value;
    /// True if there is a secret to mask.
    fn hides(&self) -> bool;
}

/// Runs the attempt to its end, as the only work of its process. The report contains the error; the exit code says
/// only whether the attempt succeeded.
#[must_use]
pub fn run(order: &Order, mask: &dyn Mask) -> ExitCode {
    let Some(preset) = Preset::named(&order.preset) else {
        eprintln!("there is no agent program `{}`", order.preset);
        return ExitCode::FAILURE;
    };
    let finished = Work { order, preset, mask }.to_the_end();
    match finished.and_then(|finished| report::write(order, preset, &finished, mask)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("a file of the attempt cannot be read or written: {error}");
            ExitCode::FAILURE
        }
    }
}
