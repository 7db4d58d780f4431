//! Runs that are set aside because of trouble that affects only them. Other runs go on.
//!
//! Owns how such a run leaves the loop and returns. It gives up its slots and timers. A client that waits for
//! a request gets its reply once the note that sets the run aside is durable. Live attempts go on under their
//! supervisors. The run returns when a request adopts it to be tried again, after that note is durable too.

use super::Engine;
use crate::model::{
    claim::Claim,
    message::{Adopt, EngineError, Reply},
    runner::CallingAttempt,
    trouble::{Trouble, TroubleKind, guarded},
};
use envoi_journal::{Aside, Note};
use envoi_kernel::ids::{AttemptId, RunId};
use std::collections::{BTreeMap, BTreeSet};

/// Attempts, by run, that the runner still executes although no run of the loop counts them.
pub(super) type Left = BTreeMap<RunId, LeftAttempts>;

/// The attempts of one run.
pub(super) struct LeftAttempts {
    /// The claim of the run, as long as there is such an attempt.
    pub(super) claim: Claim,
    attempts: BTreeSet<AttemptId>,
}

/// A run that this engine has set aside, or is about to take up again.
pub(super) struct SetAside {
    stage: Stage,
    /// Answered when the note that sets it aside is durable.
    replies: Vec<Reply>,
    /// Requests to try it again.
    adopts: Vec<Adopt>,
    /// Requests that are noted as done together with taking it up.
    noted: Vec<String>,
}

/// A run that was not adopted, with the reason.
pub(super) struct Unadopted {
    pub(super) reply: Reply,
    pub(super) error: EngineError,
}

impl Unadopted {
    pub(super) fn tell(self) {
        (self.reply)(Err(self.error));
    }

    /// To be called when the run is aside, or cannot be.
    fn when_aside(self) -> Reply {
        Box::new(move |result| match result {
            Err(EngineError::SetAside { .. }) => self.tell(),
            other => (self.reply)(other),
        })
    }
}

enum Stage {
    /// The note that sets it aside is being written.
    Storing(Aside),
    /// It is set aside.
    Stored(Aside),
    /// The note that takes it up is being written. Holds the reason for which it was set aside.
    TakingUp(Aside),
}

impl Engine {
    /// Handles trouble that was found outside of the loop. Trouble with files can affect a run that has ended
    /// and left the loop, because files are still placed after the end. Trouble with an attempt does not
    /// matter any more after the end.
    pub(super) fn troubled(&mut self, id: &RunId, trouble: Trouble) {
        if self.runs.contains_key(id) {
            return self.set_aside(id, trouble);
        }
        // A run that is set aside already keeps its first reason. For a run being taken up, the files were
        // repaired already.
        if trouble.kind == TroubleKind::Files && !self.aside.contains_key(id) {
            self.put_aside(id, &trouble, Vec::new());
        }
    }

    /// Removes a run from the loop because of trouble. If a commit of it is in progress, the loop first waits
    /// for it, applies it, shows it and answers it.
    pub(super) fn set_aside(&mut self, id: &RunId, trouble: Trouble) {
        let Some(active) = self.runs.get_mut(id) else { return };
        if active.in_flight.is_some() {
            // The first trouble is closest to the cause.
            active.trouble.get_or_insert(trouble);
            return;
        }
        let Some(mut active) = self.runs.remove(id) else { return };
        let dropped = std::mem::take(&mut active.requests);
        self.changing.settle(id, Some(&active));
        self.leave_at_rest(id);
        self.timers.clear(id);
        self.expiries.clear(id);
        self.slots.forget(id);
        self.slots.settle_loan(id, None);
        for attempt in &active.live {
            self.slots.give_back(&active.tenant);
            self.slots.end_loans(&CallingAttempt { run: id.clone(), attempt: attempt.clone() });
        }
        // The ends of its calls no longer reach this run; they count as lost when it is taken up.
        for (call, _) in active.run.calls() {
            self.calls.remove(call);
        }
        if !active.live.is_empty() {
            let none = LeftAttempts { claim: active.claim, attempts: BTreeSet::new() };
            self.left.entry(id.clone()).or_insert(none).attempts.extend(active.live);
        }
        let replies = dropped.into_iter().filter_map(|request| request.reply).collect();
        self.put_aside(id, &trouble, replies);
    }

    /// Sets aside a run that cannot be adopted because of trouble. If the run is in the loop, it stays there,
    /// because its state in the loop is complete.
    pub(super) fn refuse_to_load(&mut self, id: &RunId, trouble: &Trouble, reply: Reply) {
        if self.runs.contains_key(id) {
            return reply(Ok(()));
        }
        match self.aside.get_mut(id) {
            Some(SetAside { stage: Stage::Storing(_), replies, .. }) => replies.push(reply),
            Some(SetAside { stage: Stage::TakingUp(_), .. }) => reply(Ok(())),
            Some(SetAside { stage: Stage::Stored(_), .. }) | None => {
                self.put_aside(id, trouble, vec![reply]);
            }
        }
    }

    fn put_aside(&mut self, id: &RunId, trouble: &Trouble, replies: Vec<Reply>) {
        self.put_aside_as(id, trouble.aside(self.world.clock.now()), replies, Vec::new());
    }

    fn put_aside_as(&mut self, id: &RunId, aside: Aside, replies: Vec<Reply>, undone: Vec<String>) {
        if let Err(gone) = self.world.log.check_place() {
            let error = EngineError::Moved { reason: gone.to_string() };
            replies.into_iter().for_each(|reply| reply(Err(error.clone())));
            return self.stop(error);
        }
        let stage = Stage::Storing(aside.clone());
        let set_aside = SetAside { stage, replies, adopts: Vec::new(), noted: Vec::new() };
        self.aside.insert(id.clone(), set_aside);
        self.note(Note::SetAside { run: id.clone(), aside, undone });
    }

    /// Handles a request for a run that is or may be set aside: tries the run again, or does nothing with it.
    /// Returns the request if neither applies.
    pub(super) fn adopt_aside(&mut self, id: &RunId, mut adopt: Adopt) -> Option<Adopt> {
        // Another request may have taken it up since it was loaded.
        let again = adopt.again.clone().filter(|_| !self.runs.contains_key(id));
        // Checks for a refusal before the note is written, because a refused request must not be noted as
        // done.
        if again.is_some()
            && let Err(busy) = self.check_entry_of(&adopt)
        {
            (adopt.reply)(Err(busy));
            return None;
        }
        let Some(aside) = self.aside.get_mut(id) else {
            let Some(why) = again else {
                adopt.again = None;
                return Some(adopt);
            };
            let stage = Stage::TakingUp(why);
            let set_aside = SetAside { stage, replies: Vec::new(), adopts: vec![adopt], noted: Vec::new() };
            self.aside.insert(id.clone(), set_aside);
            self.note_taken_up(id);
            return None;
        };
        match &aside.stage {
            Stage::Storing(why) | Stage::Stored(why) if again.is_none() => {
                (adopt.reply)(Err(set_aside(id, why)));
            }
            Stage::Storing(_) | Stage::TakingUp(_) => aside.adopts.push(adopt),
            Stage::Stored(why) => {
                aside.stage = Stage::TakingUp(why.clone());
                aside.adopts.push(adopt);
                self.note_taken_up(id);
            }
        }
        None
    }

    /// Notes a request that only wants this as done in the same commit. If it were noted later and the engine
    /// were killed before, the same request, sent again after the run has failed, would reopen the run.
    fn note_taken_up(&mut self, id: &RunId) {
        let at = self.world.clock.now();
        let adopts = self.aside.get_mut(id).into_iter().flat_map(|aside| &mut aside.adopts);
        let wants_no_more = adopts.filter(|adopt| adopt.inputs.is_empty());
        let requests: Vec<String> = wants_no_more.filter_map(|adopt| adopt.request.take()).collect();
        if let Some(aside) = self.aside.get_mut(id) {
            aside.noted.clone_from(&requests);
        }
        self.note(Note::TakeUp { run: id.clone(), at, requests });
    }

    /// A note of the run is not durable: everyone who waits for it gets the error.
    pub(super) fn refuse_aside(&mut self, id: &RunId, error: &EngineError) {
        let Some(aside) = self.aside.remove(id) else { return };
        let replies = aside.replies.into_iter().chain(aside.adopts.into_iter().map(|adopt| adopt.reply));
        replies.for_each(|reply| reply(Err(error.clone())));
    }

    /// The note that takes the run up is durable.
    pub(super) fn is_taken_up(&mut self, id: &RunId) {
        // If showing fails here, it fails again at the next commit, which then sets the run aside.
        let _ = guarded("showing that a run is taken up", || self.world.observer.taken_up(id));
        let Some(SetAside { stage, adopts, noted, .. }) = self.aside.remove(id) else { return };
        let mut refused = Vec::new();
        for adopt in adopts {
            refused.extend(self.try_adopt(adopt).err());
        }
        let stays = !self.runs.contains_key(id) && !self.aside.contains_key(id);
        if let (Stage::TakingUp(why), true, false) = (stage, stays, refused.is_empty()) {
            // No request could be executed, so the run is set aside again with its old reason. The requests
            // are answered once that is durable. They no longer count as done: if they are sent again, they
            // are tried again.
            let replies = refused.into_iter().map(Unadopted::when_aside).collect();
            return self.put_aside_as(id, why, replies, noted);
        }
        refused.into_iter().for_each(Unadopted::tell);
        // If the run had ended, its files were the trouble, and they have been repaired.
        self.forget_if_over(id);
    }

    /// The note that sets the run aside is durable.
    pub(super) fn is_aside(&mut self, id: &RunId) {
        let Some(aside) = self.aside.get_mut(id) else { return };
        let Stage::Storing(why) = &aside.stage else { return };
        let why = why.clone();
        aside.stage = Stage::Stored(why.clone());
        // If showing fails: the run is set aside already, and its row shows that.
        let _ = guarded("showing that a run is set aside", || self.world.observer.set_aside(id, &why));
        let replies = std::mem::take(&mut aside.replies);
        replies.into_iter().for_each(|reply| reply(Err(set_aside(id, &why))));
        if !aside.adopts.is_empty() {
            aside.stage = Stage::TakingUp(why);
            self.note_taken_up(id);
        }
    }
}

/// Whether the attempt was left to its supervisor when its run was set aside. Removes it from that list.
pub(super) fn was_left(all: &mut Left, id: &RunId, attempt: &AttemptId) -> bool {
    let Some(left) = all.get_mut(id) else { return false };
    let was_left = left.attempts.remove(attempt);
    if left.attempts.is_empty() {
        all.remove(id);
    }
    was_left
}

fn set_aside(id: &RunId, why: &Aside) -> EngineError {
    EngineError::SetAside { run: id.clone(), code: why.code.clone(), reason: why.reason.clone() }
}
