//! A push configuration in a message: stored before the engine receives the message's request.
//!
//! So its receiver gets everything that the message causes, even if the server is killed in between. If the
//! message is refused, the configuration is removed and the one that it had replaced is restored. The
//! dispatcher learns of it only when the message is accepted.

use crate::{
    a2a::{
        client::{Client, internal_fault, read},
        push_configs,
    },
    state::app::App,
};
use envoi_a2a::{fault::Fault, model::PushConfig};
use envoi_journal::PushRow;
use envoi_kernel::ids::{RunId, Seq};

/// The push configuration of a message. Most messages have none.
#[derive(Clone, Copy)]
pub(crate) struct PendingPushConfig<'a> {
    pub(crate) app: &'a App,
    pub(crate) client: &'a Client,
    pub(crate) push: Option<&'a PushConfig>,
}

/// A stored configuration, and the one that it has replaced.
#[must_use = "it is announced once the message is done, or revoked"]
pub(crate) struct StoredPushConfig<'a> {
    app: &'a App,
    row: Option<(PushRow, Option<Box<PushRow>>)>,
}

impl<'a> PendingPushConfig<'a> {
    /// Stores the configuration for a run. Notifications begin with the event `from`.
    pub(crate) fn store(&self, run: &RunId, from: Seq) -> Result<StoredPushConfig<'a>, Fault> {
        let app = self.app;
        let push = self.push;
        let row = push.map(|push| push_configs::keep(app, self.client, run, push, from)).transpose()?;
        Ok(StoredPushConfig { app, row })
    }

    /// For a message that was accepted before under the id `request`. A receiver that has begun continues at
    /// its position; a new one begins at that request.
    pub(crate) fn store_again(&self, run: &RunId, request: &str) -> Result<(), Fault> {
        let Some(push) = self.push else { return Ok(()) };
        let id = push_configs::id_of(&self.client.bearer.id, push);
        let from = read(self.app, |reader| match reader.push(run, &id)? {
            Some(_) => reader.next_seq(run),
            None => Ok(reader.request_seq(run, request)?.unwrap_or_default()),
        })?;
        self.store(run, from)?.announce();
        Ok(())
    }
}

impl StoredPushConfig<'_> {
    /// The message was accepted: from now on notifications are sent.
    pub(crate) fn announce(self) {
        if let Some((row, _)) = &self.row {
            push_configs::announce(self.app, row);
        }
    }

    /// The message was refused: restores the earlier state.
    pub(crate) fn revoke(self) {
        let Some((row, before)) = &self.row else { return };
        if let Err(error) = self.app.store.take_back_push(row, before.as_deref()) {
            // Only logged, because the client gets the refusal of its message.
            internal_fault(self.app, error);
        }
    }
}
