//! A push configuration that comes with a message: stored before the engine receives the message's request.
//!
//! So its receiver gets everything that the message causes, also if the server is killed in between. If the message is
//! refused, the configuration is removed and the one that it had replaced is restored. The dispatcher does not know it
//! before the message is done.

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

/// See the module. Most messages have none.
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
    /// Stores it for a run; notifications begin with the event `from`.
    pub(crate) fn store(&self, run: &RunId, from: Seq) -> Result<StoredPushConfig<'a>, Fault> {
        let app = self.app;
        let push = self.push;
        let row = push.map(|push| push_configs::keep(app, self.client, run, push, from)).transpose()?;
        Ok(StoredPushConfig { app, row })
    }

    /// For a message that was done before under the id `request`. A receiver that has begun goes on where it is; a new
    /// one begins at that request.
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
    /// The message is done: notifications are sent from now on.
    pub(crate) fn announce(self) {
        if let Some((row, _)) = &self.row {
            push_configs::announce(self.app, row);
        }
    }

    /// The message was refused.
    pub(crate) fn revoke(self) {
        let Some((row, before)) = &self.row else { return };
        if let Err(error) = self.app.store.take_back_push(row, before.as_deref()) {
            // Logged only: the client gets the refusal of its message.
            internal_fault(self.app, error);
        }
    }
}
