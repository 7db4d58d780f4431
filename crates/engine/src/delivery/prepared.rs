//! A row of the outbox prepared for sending: the target, the environment and the token.

use super::{error::NotPrepared, notice::Notice, settings::Notices};
use crate::model::{
    protocol::CallerWire,
    secret_source::{SourceError, secret_value},
};
use envoi_journal::DeliveryRow;
use envoi_kernel::{
    event,
    flow::SecretSource,
    notify::{Address, Posting},
};
use envoi_notify::{CloudEvent, Command, Outcome, Webhook};
use std::{
    path::{Path, PathBuf},
    sync::atomic::AtomicBool,
    time::Duration,
};

/// Longest duration of a command that gets a notice.
const COMMAND_LIMIT: Duration = Duration::from_secs(30);

/// A delivery that is ready to be sent.
pub(super) struct PreparedDelivery {
    event: CloudEvent,
    way: Way,
}

enum Way {
    Command(Command),
    Webhook(Webhook),
}

impl PreparedDelivery {
    /// The delivery of this row. `caller` started or resumed the run, if this engine knows it.
    ///
    /// # Errors
    /// A token cannot be read, or another version wrote the row.
    pub(super) fn of(
        row: &DeliveryRow,
        notice: Notice,
        notices: &Notices,
        caller: Option<&CallerWire>,
    ) -> Result<Self, NotPrepared> {
        let posting: Posting = serde_json::from_str(&row.delivery.target)?;
        let Notice { event, variables, trace } = notice;
        let way = match posting.to {
            Address::Command(command) => {
                let mut env = caller.map_or(&notices.env, |caller| &caller.env).clone();
                env.extend(variables);
                Way::Command(Command {
                    argv: argv(command),
                    folder: PathBuf::from(posting.folder),
                    env,
                    limit: COMMAND_LIMIT,
                })
            }
            Address::Webhook(webhook) => {
                let token = webhook.token.as_ref();
                let token = token.map(|source| self::token(source, &posting.folder, notices, caller));
                Way::Webhook(Webhook {
                    url: webhook.url,
                    token: token.transpose()?,
                    trace: trace.map(|trace| trace.to_string()),
                    timeout: Duration::from_millis(webhook.timeout_ms),
                })
            }
        };
        Ok(Self { event, way })
    }

    pub(super) fn is_command(&self) -> bool {
        matches!(self.way, Way::Command(_))
    }

    /// Sends the notice, once.
    pub(super) fn run(&self, stop: &AtomicBool) -> Outcome {
        match &self.way {
            Way::Command(command) => command.run(&self.event, stop),
            Way::Webhook(webhook) => webhook.post(&self.event),
        }
    }
}

fn argv(command: event::Command) -> Vec<String> {
    match command {
        event::Command::Exec(argv) => argv,
        event::Command::Shell(script) => vec!["sh".to_owned(), "-c".to_owned(), script],
        // Targets of `notify` are never of these kinds.
        event::Command::A2a(_)
        | event::Command::Agent(_)
        | event::Command::Model(_)
        | event::Command::Merge(_) => Vec::new(),
    }
}

/// Reads the current token. The client's variables have priority, as for a step's secrets.
fn token(
    source: &SecretSource,
    folder: &str,
    notices: &Notices,
    caller: Option<&CallerWire>,
) -> Result<String, SourceError> {
    secret_value(source, Path::new(folder), |name| {
        let mut callers = caller.into_iter().flat_map(|caller| &caller.secrets);
        let value = callers.find(|(variable, _)| variable == name).map(|(_, value)| value.clone());
        value.or_else(|| (notices.variable)(name))
    })
}
