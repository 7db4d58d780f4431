//! Notes of the loop about a run, and the actions after a note is durable.
//!
//! Owns the order: a note is written before any later commit of the run. The module `set_aside` owns the
//! handling of runs that are set aside or tried again.

use super::Engine;
use crate::model::message::{EngineError, Reply};
use envoi_journal::{CommitError, Note, Receipt};
use envoi_kernel::ids::RunId;

/// An accepted request with nothing to decide, until its note is durable.
pub(super) struct DoneSoon {
    run: RunId,
    request: String,
    reply: Reply,
}

impl Engine {
    pub(super) fn note(&mut self, note: Note) {
        self.commits_under_way = self.commits_under_way.saturating_add(1);
        self.world.log.note(note);
    }

    /// Notes that this engine works on the run from now on.
    pub(super) fn note_held(&mut self, id: &RunId) {
        let at = self.world.clock.now();
        self.note(Note::Hold { run: id.clone(), at });
    }

    /// Notes that this engine only decides requests of the run and expires its questions. `envoi runs` shows such a run as
    /// stopped if one of its steps could begin.
    pub(super) fn note_released(&mut self, id: &RunId) {
        self.note(Note::Release { run: id.clone() });
    }

    /// Replies to a request that has nothing to decide. If it has an id, it is first noted as done: no event
    /// of the run has its id, so the same request, sent again after the run has failed, would reopen the run.
    pub(super) fn reply_when_noted(&mut self, run: &RunId, request: Option<String>, reply: Reply) {
        let Some(request) = request else { return reply(Ok(())) };
        let at = self.world.clock.now();
        self.done_soon.push(DoneSoon { run: run.clone(), request: request.clone(), reply });
        self.note(Note::Done { run: run.clone(), request, at });
    }

    /// The result of a note. If it is not durable, the journal's disk has failed or another engine has taken
    /// over.
    pub(super) fn noted(&mut self, note: Note, result: Result<Receipt, CommitError>) {
        self.commits_under_way = self.commits_under_way.saturating_sub(1);
        if let Err(error) = result {
            let error = EngineError::from(error);
            self.refuse_aside(note.run(), &error);
            if let Note::Done { run, request, .. } = &note {
                self.reply_to_done(run, request, &Err(error.clone()));
            }
            return self.stop(error);
        }
        match note {
            Note::SetAside { run, .. } => self.is_aside(&run),
            Note::TakeUp { run, .. } => self.is_taken_up(&run),
            Note::Done { run, request, .. } => self.reply_to_done(&run, &request, &Ok(())),
            Note::Hold { .. } | Note::Release { .. } => {}
        }
    }

    fn reply_to_done(&mut self, run: &RunId, request: &str, result: &Result<(), EngineError>) {
        let is_meant = |soon: &mut DoneSoon| soon.run == *run && soon.request == request;
        for soon in self.done_soon.extract_if(.., is_meant) {
            (soon.reply)(result.clone());
        }
    }
}
