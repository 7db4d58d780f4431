//! A run is cancelled.

use super::{
    adopt::Adoption,
    handler::{Commands, send},
};
use crate::model::{
    message::Purpose,
    protocol::{CallerWire, Refused, Response, Standing},
};
use envoi_contract::code::Code;
use envoi_kernel::{
    Input, Run, Status,
    event::EndStatus,
    ids::{Principal, RunId},
};
use std::sync::mpsc::Sender;

impl Commands {
    pub(super) fn cancel(
        &self,
        run: &RunId,
        by: Principal,
        caller: &CallerWire,
        client: &Sender<Response>,
    ) -> Result<(), Refused> {
        // Before the run is looked at, so that its end cannot be missed.
        self.followers.add(run, client.clone());
        // Whatever is wrong with it, it is tried to end it.
        let again = self.aside_with_its_rows(run)?;
        let cancel = |loaded: &Run| match loaded.status() {
            Status::Ended(_) => Ok(Vec::new()),
            _ => Ok(vec![Input::Cancel { by: by.clone() }]),
        };
        let found = match self.adopt(run, caller, Adoption { again, ..Adoption::from(Purpose::End) }, cancel)
        {
            // Another request has cancelled it already; this one waits for its end all the same.
            Err(refused) if refused.code == Code::Cancelling => None,
            adopted => Some(adopted?.status()),
        };
        match found {
            Some(Status::Ended(ended)) if ended.status != EndStatus::Cancelled => Err(Refused::new(
                Code::RunOver,
                format!("run `{run}` is over ({})", ended.status.word()),
                None,
            )),
            Some(status @ Status::Ended(_)) => {
                send(client, Response::Accepted { run: run.clone() });
                Standing::of(&status)
                    .into_iter()
                    .for_each(|standing| send(client, Response::Rest { standing }));
                Ok(())
            }
            _ => {
                send(client, Response::Accepted { run: run.clone() });
                Ok(())
            }
        }
    }
}
