//! A step that an agent program does: one attempt of it.
//!
//! Owns what an attempt of an `agent` step does, from its [`Order`] to its report. It starts the program with the prompt as its
//! standard input, reads its events while it works, shows them to people on standard output, keeps them in a file, and writes what
//! the program came to. It runs as a command under an ordinary supervisor, and knows nothing of the supervisor. How a program
//! is started and read is known to `preset`. Before each call of a tool the program starts [`decide_call`], where the step asks about
//! some of them. What follows from the report is decided by the kernel. It reads no environment.

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

/// The argument of a program that is to call [`run`].
pub const ARGUMENT: &str = "__agent";

/// The argument of a program that is to call [`decide_call`], before the file with what it decides by.
pub const HOOK_ARGUMENT: &str = "__agent_call";

/// The variable that names the file of its order.
pub const ORDER_VARIABLE: &str = "ENVOI_AGENT_ORDER";

/// The prefix of the variables that hold the secrets to be masked. A number follows, from 0 ([`Order::secrets`]).
pub const SECRET_VARIABLES: &str = "ENVOI_AGENT_SECRET_";

/// The file with the events of the program, in the folder of an attempt.
pub const EVENTS_FILE: &str = "events.jsonl";

/// The file with the id of the session, in the folder of an attempt. It is there as soon as the id is known.
pub const SESSION_FILE: &str = "session";

/// The file with what the program has used so far, in the folder of an attempt: the members of `metrics` of its report. What it has not
/// reported is null.
pub const USED_FILE: &str = "used.json";

use envoi_contract::json::Value;
use envoi_preset::Preset;
use process::Work;
use std::process::ExitCode;

/// Hides secrets in what is written to files.
pub trait Mask: Send + Sync {
    /// The text, without them.
    fn text(&self, text: &str) -> String;
    /// The value, without them.
    fn value(&self, value: &Value) -> Value;
    /// Whether there is anything to hide.
    fn hides(&self) -> bool;
}

/// Runs the attempt to its end; it is the whole of its process. The report says what went wrong, the exit code only that
/// something did.
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
