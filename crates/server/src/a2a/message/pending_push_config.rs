//! A push configuration that a message brings: kept before the engine is asked for what the message wants.
//!
//! So it hears of all that the message causes, and a server that is killed in between has it. If the message is refused it is
//! taken back, and what it had replaced is there again. The courier knows nothing of it before the message has been done.

use crate::{
    a2a::{
        client::{Client, internal_fault},
        protocol::{fault::Fault, model::PushConfig},
        push_configs,
    },
    state::app::App,
};
use envoi_journal::{PushRow, ReadError};
use envoi_kernel::ids::{RunId, Seq};

/// See the module. Most messages bring none.
#[derive(Clone, Copy)]
pub(crate) struct PendingPushConfig<'a> {
    pub(crate) app: &'a App,
    pub(crate) client: &'a Client,
    pub(crate) push: Option<&'a PushConfig>,
}

/// One that is kept, and what it has replaced.
#[must_use = "it is told once the message is done, or taken back"]
pub(crate) struct StoredPushConfig<'a> {
    app: &'a App,
    row: Option<(PushRow, Option<Box<PushRow>>)>,
}

impl<'a> PendingPushConfig<'a> {
    /// Keeps it for a run; what happens from this event on is told.
    pub(crate) fn store(&self, run: &RunId, from: Seq) -> Result<StoredPushConfig<'a>, Fault> {
        let (app, push) = (self.app, self.push);
        let row = push.map(|push| push_configs::keep(app, self.client, (run, push), from)).transpose()?;
        Ok(StoredPushConfig { app, row })
    }

    /// For a message that has been done before: `request` is what it asked for. Who is told already goes on where they are,
    /// others begin there.
    pub(crate) fn store_again(&self, run: &RunId, request: &str) -> Result<(), Fault> {
        let Some(push) = self.push else { return Ok(()) };
        let id = push_configs::id_of(&self.client.bearer.id, push);
        let from = self.app.read(|reader| match reader.push(run, &id)? {
            Some(_) => reader.next_seq(run),
            None => Ok(reader.request_seq(run, request)?.unwrap_or_default()),
        });
        self.store(run, from.map_err(|error: ReadError| internal_fault(self.app, error))?)?.announce();
        Ok(())
    }
}

impl StoredPushConfig<'_> {
    /// The message is done: what follows is told.
    pub(crate) fn announce(self) {
        if let Some((row, _)) = &self.row {
            push_configs::announce(self.app, row);
        }
    }

    /// The message was refused.
    pub(crate) fn revoke(self) {
        let Some((row, before)) = &self.row else { return };
        drop(
            self.app
                .store
                .take_back_push(row, before.as_deref())
                .map_err(|error| internal_fault(self.app, error)),
        );
    }
}
