//! Another agent does a step: one attempt of it, told over A2A 1.0, or 0.3 where the agent has no 1.0.
//!
//! Owns what an attempt of an `a2a` step does, from its [`Order`] to the report that it leaves: finding the agent, sending one
//! message and no second one, following the task, and cancelling it when it is told to end. Runs as a command under an
//! ordinary supervisor and knows nothing of it. What follows from the report is the kernel's business. It reads no
//! environment.

mod answer;
mod call;
mod card;
mod follow;
mod http;
mod leave;
mod look;
mod mask;
mod order;
mod question;
mod record;
mod silence;
mod stop;
mod talk;
mod task;
mod withdraw;

pub use mask::{Everything, Mask};
pub use order::{Order, Waits};

/// What a program is started with that is to call [`run`].
pub const ARGUMENT: &str = "__a2a";

/// The variable that names the file of its order.
pub const ORDER_VARIABLE: &str = "ENVOI_A2A_ORDER";

/// The variable that holds the token, if there is one.
pub const TOKEN_VARIABLE: &str = "ENVOI_A2A_TOKEN";

/// What the names of the variables begin with that hold the secrets to be masked; their numbers follow, from 0
/// ([`Order::secrets`]).
pub const SECRET_VARIABLES: &str = "ENVOI_A2A_SECRET_";

use call::Client;
use std::{process::ExitCode, sync::Arc};
use stop::Stop;

/// The extension by which an agent says that it takes contract 5.
const USER_ENVELOPE: &str = "urn:envoi:a2a:user-envelope:v1";

/// The extension by which an agent says that it does a message once, however often it comes.
const SENT_ONCE: &str = "urn:envoi:a2a:sent-once:v1";

/// Where an agent that is an Envoi says which question its task asks, and reads which one is answered.
const QUESTION: &str = "urn:envoi:a2a:question";

/// The whole of the attempt's process. What went wrong stands in the report; the exit code says whether it may be tried again
/// with another outcome. What the agent says is written down as `mask` leaves it.
#[must_use]
pub fn run(order: &Order, token: Option<String>, mask: &Arc<dyn Mask>) -> ExitCode {
    let stop = Stop::default();
    if let Err(error) = stop.listen(order, token.as_deref(), mask) {
        leave::say(&format!("signals cannot be heard: {error}"));
        return ExitCode::FAILURE;
    }
    let end = talk::talk(order, Client::new(token, order.waits.request_ms, Arc::clone(mask)), &stop);
    stop.over();
    match leave::leave(order, &end, &**mask) {
        Ok(code) => code,
        Err(error) => {
            leave::say(&format!("the report cannot be written: {error}"));
            ExitCode::FAILURE
        }
    }
}
