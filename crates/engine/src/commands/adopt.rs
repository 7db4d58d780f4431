//! A run is loaded from the journal and given to the loop.

use super::handler::Commands;
use crate::{
    attempts::{presence::Manner, secrets::caller_of},
    model::{
        claim::Claim,
        message::{Adopt, Corrected, EngineError, Message, Purpose},
        protocol::{CallerWire, Refused},
        trouble::{Trouble, TroubleKind},
    },
    query::{activity::is_at_work, load::load_with_weight},
};
use envoi_contract::code::Code;
use envoi_journal::{Aside, BlobError, FileError, ReadError, Reader, files, with_causes};
use envoi_kernel::{Input, Run, ids::RunId};
use std::sync::Arc;

/// How often a stale run is loaded again although the journal has no new event of it.
const MOST_IN_VAIN: u32 = 3;

impl Commands {
    /// The run as the journal has it. A run that cannot be read is set aside.
    pub(super) fn load(&self, id: &RunId) -> Result<Run, Refused> {
        let reader = self.store.reader()?;
        self.load_with_weight(&reader, id).map(|(run, _)| run)
    }

    /// As [`Self::load`], with the bytes of the events after the snapshot.
    pub(super) fn load_with_weight(&self, reader: &Reader, id: &RunId) -> Result<(Run, u64), Refused> {
        load_with_weight(reader, id).map_err(|error| match error.trouble() {
            Some(trouble) => self.unloadable(id, trouble),
            None => error.refused(id),
        })
    }

    /// Has the run set aside, durably. A run that the loop holds goes on: its state in memory is whole.
    fn unloadable(&self, id: &RunId, trouble: Trouble) -> Refused {
        let code = trouble.kind.code();
        let message = trouble.reason.clone();
        let unloadable = |reply| Message::Unloadable { run: id.clone(), trouble, reply };
        match self.exchange(unloadable) {
            Ok(()) => {
                let hint = format!("nothing was done; `envoi repair {id}` says what it finds");
                Refused::new(code, message, Some(&hint))
            }
            Err(error) => Refused::from(error),
        }
    }

    /// Sets a run aside that this engine does not go on with because something outside of it is missing, so that everybody
    /// sees why. Returns whether it is set aside with that. For any other refusal nothing is done.
    #[must_use]
    pub fn set_aside_for(&self, id: &RunId, refused: &Refused) -> bool {
        let reason = match refused.code {
            Code::SecretMissing | Code::StoreCopied => refused.message.clone(),
            // Whose run that is, its tenant alone may know.
            Code::WorkspaceBusy => "another run is at work in its workspace".to_owned(),
            _ => return false,
        };
        let trouble = Trouble::new(TroubleKind::Outside(refused.code), reason);
        let unloadable = |reply| Message::Unloadable { run: id.clone(), trouble, reply };
        matches!(self.exchange(unloadable), Err(EngineError::SetAside { .. }))
    }

    /// Why a run is set aside, if it is.
    pub(super) fn aside(&self, id: &RunId) -> Result<Option<Aside>, Refused> {
        let reader = self.store.reader()?;
        Ok(reader.run(id)?.aside)
    }

    /// As [`Commands::aside`], for a run that is tried again: perhaps only its rows are wrong, which are made again first.
    pub(super) fn aside_with_its_rows(&self, id: &RunId) -> Result<Option<Aside>, Refused> {
        let aside = self.aside(id)?;
        if aside.is_none() {
            return Ok(None);
        }
        match self.store.mend_rows(id) {
            Ok(true) => self.aside(id),
            Ok(false) => Ok(aside),
            Err(error) => Err(Refused::from(EngineError::Store(error))),
        }
    }

    /// Writes the files of a run that are missing or differ from the journal. A run for which that fails is set aside,
    /// unless it is the store that cannot be read now.
    pub(super) fn make_good(&self, id: &RunId) -> Result<(), Refused> {
        let reader = self.store.reader()?;
        let Err(error) = files::restore_run(&self.layout, &reader, id) else { return Ok(()) };
        match &error {
            FileError::Read(read @ (ReadError::Busy | ReadError::Io { .. } | ReadError::Missing { .. })) => {
                Err(Refused::from(read))
            }
            FileError::Blob(BlobError::Store { .. }) => Err(Refused::failure(with_causes(&error))),
            error => Err(self.unloadable(id, Trouble::new(TroubleKind::Files, with_causes(error)))),
        }
    }

    /// Has the loop go on with a run, and returns it as it was loaded. Its files are made good first. The `wanted` inputs
    /// are decided before anything of it is started, and are durable when this returns. A run that went on while it was
    /// loaded is loaded again.
    pub(super) fn adopt(
        &self,
        id: &RunId,
        caller: &CallerWire,
        adoption: Adoption,
        wanted: impl Fn(&Run) -> Result<Vec<Input>, Refused>,
    ) -> Result<Run, Refused> {
        let Adoption { purpose, again, request, mut loaded, corrected } = adoption;
        if let Some(why) = self.aside(id)?.filter(|_| again.is_none()) {
            return Err(Refused::set_aside(id, &why.code, &why.reason));
        }
        // A run is ended also where its files cannot be written.
        if purpose != Purpose::End {
            self.make_good(id)?;
        }
        let reader = self.store.reader()?;
        let mut stale_at = None;
        let mut in_vain = 0_u32;
        loop {
            let (mut run, tail_bytes) = match loaded.take() {
                Some(loaded) => loaded,
                None => self.load_with_weight(&reader, id)?,
            };
            if purpose == Purpose::GoOn {
                check_places(&reader, id)?;
            }
            if let Some(corrected) = &corrected {
                run.learn(Arc::clone(&corrected.flow));
            }
            // Commands see what the flow that they are started under has them see.
            let flow = corrected.as_ref().map_or(run.flow(), |corrected| &corrected.flow);
            self.callers.learn(id, flow, caller);
            let inputs = wanted(&run)?;
            let caller = caller_of(flow, caller);
            let is_inside = self.is_inside(id, &run);
            let adopt = |reply| Adopt {
                run: run.clone(),
                inputs,
                corrected: corrected.clone(),
                purpose,
                again: again.clone(),
                request: request.clone(),
                is_inside,
                tail_bytes,
                caller,
                reply,
            };
            match self.exchange(|reply| Message::Adopt(Box::new(adopt(reply)))) {
                Ok(()) => return Ok(run),
                // The journal has the newer events: the next look sees more, unless the journal contradicts itself.
                Err(EngineError::Stale { .. }) => {
                    let next = run.next_seq();
                    in_vain =
                        if stale_at.replace(next) == Some(next) { in_vain.saturating_add(1) } else { 0 };
                    if in_vain >= MOST_IN_VAIN {
                        let reason =
                            format!("the store says that it has more events than the {next} that are there");
                        return Err(self.unloadable(id, Trouble::new(TroubleKind::Inconsistent, reason)));
                    }
                }
                Err(error) => return Err(Refused::from(error)),
            }
        }
    }
}

impl Commands {
    /// Refuses to go on with a run while another one is at work in its workspace, unless it is inside already or either shares.
    pub(super) fn check_entry(&self, run: &Run, caller: &CallerWire) -> Result<(), Refused> {
        let Some(started) = run.started() else { return Ok(()) };
        let claim = Claim::of(started);
        if started.shared || self.is_inside(&started.run, run) {
            return self.enter_for_now(&claim, Manner::Beside);
        }
        self.check_free(&claim, &caller.within, |other| other)?;
        self.enter_for_now(&claim, Manner::of(false, &caller.within))
    }

    /// Whether the run can enter. It enters when something of it is started: it may rest before that.
    pub(super) fn enter_for_now(&self, claim: &Claim, manner: Manner) -> Result<(), Refused> {
        if self.enter(claim, manner)? {
            self.presences.leave(&claim.run);
        }
        Ok(())
    }

    /// Whether an attempt of the run lives: it works in its workspace already.
    fn is_inside(&self, id: &RunId, run: &Run) -> bool {
        let wants = run.wants();
        let mut live = wants.attempts.iter().chain(&wants.ending);
        live.any(|attempt| is_at_work(&self.layout, id, attempt))
    }
}

/// Refuses to go on with a run whose workspace is the original's, if the store is a copy that was adopted: both would work
/// there.
pub(super) fn check_places(reader: &Reader, run: &RunId) -> Result<(), Refused> {
    let Some(workspace) = reader.workspace_of_original(run)? else {
        return Ok(());
    };
    let message = format!(
        "run `{run}` works in `{workspace}`, which was not copied with the project: the store that this one was copied from \
         works there"
    );
    let hint = "`envoi store adopt --share-workspaces` lets both work there; or start a new run";
    Err(Refused::new(Code::StoreCopied, message, Some(hint)))
}

/// How a run is adopted.
pub(super) struct Adoption {
    pub(super) purpose: Purpose,
    /// Why it is set aside, if it is tried again.
    pub(super) again: Option<Aside>,
    /// As in [`Adopt::request`].
    pub(super) request: Option<String>,
    /// The run, if it was loaded already, and the bytes of its events after the snapshot. If it has gone on since then, it is loaded
    /// again.
    pub(super) loaded: Option<(Run, u64)>,
    /// The corrected flow, if it is corrected with that.
    pub(super) corrected: Option<Corrected>,
}

impl From<Purpose> for Adoption {
    fn from(purpose: Purpose) -> Self {
        Self { purpose, again: None, request: None, loaded: None, corrected: None }
    }
}
