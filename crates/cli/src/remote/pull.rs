//! Copies a run from the server: its flow, its events so far, and contents of its files.

use super::{
    Remote,
    call::{Server, good, read, segment},
    mirror::Mirror,
    problem::not_understood,
    rows,
};
use crate::{
    process::failure::Failure,
    view::{question, questions::open},
};
use envoi_contract::digest::Digest;
use envoi_engine::{load_run, protocol::Refused};
use envoi_journal::{PinnedFlow, Reader, RunRow};
use envoi_kernel::{
    Event, Record, Run,
    event::{Blob, Correction},
    ids::{InterruptId, RunId},
};
use serde::Deserialize;

/// The events per request, which is the maximum of the server.
pub(super) const PAGE: u32 = 200;
/// Larger files are not copied for display.
const MAX_SHOWN_BYTES: u64 = 16 * 1024 * 1024;

#[derive(Deserialize)]
pub(super) struct Events {
    pub(super) events: Vec<StoredEvent>,
}

/// An event with its journal text, from which a run is rebuilt.
#[derive(Deserialize)]
pub(super) struct StoredEvent {
    stored: String,
}

impl StoredEvent {
    pub(super) fn record(&self) -> Result<Record, Failure> {
        read(self.stored.as_bytes())
    }
}

fn flow_of(server: &Server, run: &RunId) -> Result<PinnedFlow, Failure> {
    let body = server.get(&format!("/v1/runs/{}/flow", segment(run.as_str())))?;
    Ok(PinnedFlow::from(read::<envoi_api::flow::PinnedFlow>(&body)?))
}

/// Stores these events in the mirror. If one of them corrects the flow of the run, the corrected flow is
/// copied first.
pub(super) fn take(server: &Server, mirror: &Mirror, run: &RunId, records: &[Record]) -> Result<(), Failure> {
    let is_known = |pinned: &PinnedFlow, of: &Correction| {
        core::iter::once(pinned)
            .chain(&pinned.earlier)
            .any(|flow| (flow.digest, flow.language) == (of.after, of.language))
    };
    let is_new = |record: &Record| match &record.event {
        Event::FlowCorrected(of) => !mirror.flow(run).is_some_and(|pinned| is_known(&pinned, of)),
        _ => false,
    };
    if records.iter().any(is_new) {
        mirror.learn(run, flow_of(server, run)?);
    }
    mirror.take(run, records)
}

impl Remote {
    /// The present row of a run.
    pub(crate) fn row(&self, run: &RunId) -> Result<RunRow, Failure> {
        Ok(self.row_with_head(run)?.0)
    }

    /// The present row of a run, and the head of its event chain if it has ended. Some servers do not send
    /// the head.
    pub(crate) fn row_with_head(&self, run: &RunId) -> Result<(RunRow, Option<Digest>), Failure> {
        rows::run(&self.server.get(&format!("/v1/runs/{}", segment(run.as_str())))?)
    }

    /// Copies the flow of a run.
    pub(crate) fn begin(&self, run: &RunId) -> Result<PinnedFlow, Failure> {
        let mirror = self.mirror()?;
        if let Some(pinned) = mirror.flow(run) {
            return Ok(pinned);
        }
        let pinned = flow_of(&self.server, run)?;
        mirror.begin(run, pinned.clone());
        Ok(pinned)
    }

    /// Copies all events of a run so far, and returns a reader of them.
    pub(crate) fn pull(&self, run: &RunId) -> Result<Reader, Failure> {
        self.begin(run)?;
        let mirror = self.mirror()?;
        let until = self.row(run)?.next_seq;
        while mirror.next(run) < until {
            let after = match mirror.next(run) {
                0 => String::new(),
                next => format!("&after={}", next.saturating_sub(1)),
            };
            let path = format!("/v1/runs/{}/events?form=stored&limit={PAGE}{after}", segment(run.as_str()));
            let Events { events } = read(&self.server.get(&path)?)?;
            if events.is_empty() {
                return Err(not_understood("it has fewer events than its row counts"));
            }
            let records = events.iter().map(StoredEvent::record).collect::<Result<Vec<_>, _>>()?;
            take(&self.server, mirror, run, &records)?;
        }
        mirror.reader()
    }

    /// As [`Remote::pull`], and also builds the run from its events.
    pub(crate) fn loaded(&self, run: &RunId) -> Result<(Reader, Run), Failure> {
        let reader = self.pull(run)?;
        let loaded = load_run(&reader, run)?;
        Ok((reader, loaded))
    }

    /// Refuses to answer a run that is set aside, as the remote engine does.
    pub(crate) fn check_not_aside(&self, run: &RunId) -> Result<(), Failure> {
        match self.row(run)?.aside {
            Some(why) => Err(Refused::set_aside(run, &why.code, &why.reason).into()),
            None => Ok(()),
        }
    }

    /// Copies the contents that the open questions of a run show.
    pub(crate) fn bring_files_of_questions(&self, reader: &Reader, run: &RunId) -> Result<(), Failure> {
        for raised in open(&load_run(reader, run)?) {
            self.bring_what_is_shown(reader, run, &raised.interrupt)?;
        }
        Ok(())
    }

    /// Copies the contents that a question shows. Contents that the server lacks are left out.
    pub(crate) fn bring_what_is_shown(
        &self,
        reader: &Reader,
        run: &RunId,
        interrupt: &InterruptId,
    ) -> Result<(), Failure> {
        for Blob { digest, size } in question::contents(reader, run, interrupt, &self.by)? {
            if size <= MAX_SHOWN_BYTES && reader.write_blob(&digest, &mut std::io::sink()).is_err() {
                self.bring(run, &digest)?;
            }
        }
        Ok(())
    }

    /// Copies a content of a run. Does nothing if the server lacks it.
    pub(super) fn bring(&self, run: &RunId, digest: &Digest) -> Result<(), Failure> {
        let path = format!("/v1/runs/{}/contents/{digest}", segment(run.as_str()));
        let reply = self.server.any_reply(&path, &[])?;
        match reply.status {
            404 => Ok(()),
            _ => {
                let bytes = good(reply)?;
                self.mirror()?.store().blobs().put(&bytes).map(drop).map_err(Failure::store)
            }
        }
    }
}
