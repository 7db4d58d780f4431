//! Nobody waits for the agent any more: its task is cancelled.
//!
//! Sends nothing that could begin something. Where a message may have been sent and the agent has named no task, the task is
//! looked for first, as long as the agent may be at work on the request.

use crate::{
    call::{CallError, Client, Sought},
    leave::End,
    order::Order,
    record::{Endpoint, Record},
    stop::{self, Stop},
};
use std::time::{Duration, Instant};

/// See the module.
pub(crate) fn withdraw(
    order: &Order,
    (client, endpoint): (&Client, &Endpoint),
    record: &Record,
    stop: &Stop,
) -> End {
    match &record.task {
        Some(task) => stop::cancelled(client, endpoint, task),
        None if record.intent.is_none() || record.reply.is_some() => {
            End::Withdrawn("that never began".to_owned())
        }
        None => match sought(order, (client, endpoint), record, stop) {
            Ok(task) => stop::cancelled(client, endpoint, &task),
            Err(why) => End::Unreached(format!("a task may go on there, and is not found: {why}")),
        },
    }
}

/// The task of a message whose reply nobody has heard.
fn sought(
    order: &Order,
    (client, endpoint): (&Client, &Endpoint),
    record: &Record,
    stop: &Stop,
) -> Result<String, String> {
    let (by, began) = (Sought::of(order, record), Instant::now());
    loop {
        let why = match client.begun(endpoint, &by) {
            Ok(Some(task)) => return Ok(task.id),
            Ok(None) => "no task of the message".to_owned(),
            Err(CallError::NotSent(why) | CallError::Unknown(why)) => why,
            Err(error) => return Err(error.to_string()),
        };
        if began.elapsed() >= Duration::from_millis(order.waits.doubt_ms) {
            return Err(why);
        }
        stop.pause(Duration::from_millis(order.waits.longest_ms));
    }
}
