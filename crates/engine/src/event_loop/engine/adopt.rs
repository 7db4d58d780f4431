//! A run comes into the loop: it begins, is forked, or is adopted from the journal.

use super::{Engine, set_aside::Unadopted};
use crate::{
    event_loop::active_run::{Active, Request},
    model::{
        claim::Claim,
        message::{self, Adopt, Begin, Branch, EngineError, Purpose},
        runner::CallingAttempt,
        trouble::{Trouble, TroubleKind, guarded},
    },
};
use envoi_contract::code::Code;
use envoi_kernel::{
    Input, Refusal, Run, Status,
    ids::{CallId, RunId},
    input::ModelCalled,
};
use std::{collections::BTreeSet, sync::Arc};

impl Engine {
    pub(super) fn begin(&mut self, begin: Begin) {
        let Begin { run, start, made, pinned, caller, reply } = begin;
        let active = Active::new(run, Claim::of_start(&start), caller, &start.by.tenant).pinned_to(pinned);
        let free = self.check_workspace(&active.claim, &active.within, |_| start.shared);
        let id = start.run.clone();
        let request = Request { reply: Some(reply), ..Request::of(Input::Start(Box::new(start))) };
        let free = if made { free } else { self.may_begin(&active.within).and(free) };
        self.open(id, free, active, request);
    }

    pub(super) fn fork(&mut self, branch: Branch) {
        let Branch { run, fork, made, pinned, caller, reply } = branch;
        let active = Active::new(run, Claim::of_fork(&fork), caller, &fork.by.tenant).pinned_to(pinned);
        let free = self.check_workspace(&active.claim, &active.within, |_| fork.shared);
        let id = fork.run.clone();
        let request = Request { reply: Some(reply), ..Request::of(Input::Fork(Box::new(fork))) };
        let free = if made { free } else { self.may_begin(&active.within).and(free) };
        self.open(id, free, active, request);
    }

    /// A stopping engine begins only runs that its live steps wait for.
    ///
    /// # Errors
    /// The engine is stopping; the request can be sent to the next one.
    pub(super) fn may_begin(&self, within: &[CallingAttempt]) -> Result<(), EngineError> {
        if self.draining && !self.is_called(within) {
            return Err(EngineError::Stopping { reason: "it was asked to start nothing new".to_owned() });
        }
        Ok(())
    }

    /// A new run, by the request that begins it, if its workspace is `free`.
    pub(super) fn open(
        &mut self,
        id: RunId,
        free: Result<(), EngineError>,
        active: Active,
        request: Request,
    ) {
        let refused = |request: Request, error: EngineError| {
            if let Some(reply) = request.reply {
                reply(Err(error));
            }
        };
        if self.runs.contains_key(&id) {
            return refused(request, Refusal::AlreadyStarted.into());
        }
        if let Err(busy) = free {
            return refused(request, busy);
        }
        let from_bytes = self.snapshot_from_bytes;
        self.runs.get_or_insert(&id, || active.snapshots_from(from_bytes));
        self.push(&id, request);
    }

    pub(super) fn adopt(&mut self, adopt: Adopt) {
        let Some(id) = adopt.run.started().map(|started| started.run.clone()) else {
            return (adopt.reply)(Err(EngineError::Stopping { reason: "the run has no events".to_owned() }));
        };
        if let Some(adopt) = self.adopt_aside(&id, adopt) {
            self.adopt_held(adopt);
        }
    }

    /// Whether a run that the loop does not hold may come into its workspace.
    ///
    /// # Errors
    /// Another run is at work there.
    pub(super) fn check_entry_of(&self, adopt: &Adopt) -> Result<(), EngineError> {
        let Some(claim) = adopt.run.started().map(Claim::of) else { return Ok(()) };
        let may_stay = adopt.purpose != Purpose::GoOn || adopt.is_inside;
        self.check_workspace(&claim, &adopt.caller.within, |other| claim.shared || other || may_stay)
    }

    /// Adopts a run that is not set aside.
    pub(super) fn adopt_held(&mut self, adopt: Adopt) {
        if let Err(unadopted) = self.try_adopt(adopt) {
            unadopted.tell();
        }
    }

    /// Tries to adopt a run.
    ///
    /// # Errors
    /// [`Unadopted`] with the reason. Nothing was changed.
    pub(super) fn try_adopt(&mut self, adopt: Adopt) -> Result<(), Unadopted> {
        let Adopt { run, inputs, corrected, purpose, again, request, is_inside, tail_bytes, caller, reply } =
            adopt;
        let begun = run.started().map(|started| (Claim::of(started), started.by.tenant.clone()));
        let Some((claim, tenant)) = begun else { return Ok(()) };
        let id = claim.run.clone();
        let goes_on_by_itself = purpose == Purpose::GoOn && inputs.is_empty();
        if let Err(trouble) = guarded("what the run wants", || check_wants(&run, goes_on_by_itself)).flatten()
        {
            match self.runs.contains_key(&id) {
                true => self.reply_when_noted(&id, request, reply),
                false => self.refuse_to_load(&id, &trouble, reply),
            }
            return Ok(());
        }
        // A run that this engine does not hold may have ended here since it was loaded, so the journal is
        // checked.
        let known = match self.runs.get(&id) {
            Some(active) => Ok(active.run.next_seq()),
            None => self.world.log.next_seq(&id),
        };
        match known {
            Ok(next) if run.next_seq() < next => {
                return Err(Unadopted { reply, error: EngineError::Stale { run: id } });
            }
            Ok(_) => {}
            Err(error) => {
                let error = EngineError::Unread { run: id, reason: error.to_string() };
                return Err(Unadopted { reply, error });
            }
        }
        let is_inside = is_inside || self.runs.get(&id).is_some_and(Active::is_at_work);
        let may_stay = purpose != Purpose::GoOn || is_inside;
        let free = self.check_workspace(&claim, &caller.within, |other| claim.shared || other || may_stay);
        let changed = changes(&run, &claim, &inputs);
        let still = |changed: &Claim| self.check_workspace(changed, &caller.within, |_| false);
        if let Err(error) = free.and(changed.as_ref().map_or(Ok(()), still)) {
            return Err(Unadopted { reply, error });
        }
        self.changing.begin(changed);
        let decides = !inputs.is_empty() && purpose == Purpose::GoOn;
        let is_new = !self.runs.contains_key(&id);
        let rests = self.runs.get(&id).is_none_or(|active| active.comes_to_rest(&run));
        let from_bytes = self.snapshot_from_bytes;
        let active = self.runs.get_or_insert(&id, || {
            Active::new(run, claim, Arc::clone(&caller), &tenant)
                .snapshots_from(from_bytes)
                .weighing(tail_bytes)
        });
        let goes_on = purpose != Purpose::Decide && (is_new || active.halted);
        let was_halted = active.halted;
        active.halted = purpose == Purpose::Decide && (rests || active.halted);
        let is_released = active.halted && !was_halted && !matches!(active.run.status(), Status::Ended(_));
        active.inside = purpose != Purpose::Decide || (active.inside && !is_new);
        if !caller.within.is_empty() {
            active.within.clone_from(&caller.within);
        }
        // A request without decisions does not change the variables that commands of a running run may see.
        if decides {
            active.caller = caller;
        }
        if is_new {
            let lost = lost_calls(&active.run, &self.calls);
            active.requests.extend(lost.map(|call| Request::of(Input::ModelCalled(Box::new(call)))));
        }
        // Before the run commits anything: it may fail at once.
        let replies = match inputs.is_empty() {
            true => {
                self.reply_when_noted(&id, request, reply);
                Vec::new()
            }
            false => message::all_of(reply, inputs.len()),
        };
        let Some(active) = self.runs.get_mut(&id) else { return Ok(()) };
        for (input, reply) in inputs.into_iter().zip(replies) {
            let corrected = corrected.clone().filter(|_| matches!(input, Input::Correct(_)));
            active.requests.push_back(Request { corrected, reply: Some(reply), ..Request::of(input) });
        }
        // For a run that is tried again, that note also records the holder.
        if goes_on && again.is_none() {
            self.note_held(&id);
        }
        if is_released {
            self.note_released(&id);
        }
        match guarded("what the run wants", || self.arm(&id)) {
            Ok(()) => self.turn(&id),
            Err(trouble) => self.set_aside(&id, trouble),
        }
        Ok(())
    }

    /// Must be called before a rested run starts anything, because another run may have entered its workspace
    /// meanwhile.
    ///
    /// # Errors
    /// The trouble for which the run must be set aside.
    pub(super) fn enter(&mut self, id: &RunId) -> Result<(), Trouble> {
        let Some(active) = self.runs.get(id).filter(|active| !active.inside) else { return Ok(()) };
        let shared = active.claim.shared;
        let free = self.check_workspace(&active.claim, &active.within, |other| shared || other);
        // Only the other run's own tenant may learn which run that is.
        let busy = |_| {
            let reason = "another run is at work in its workspace";
            Trouble::new(TroubleKind::Outside(Code::WorkspaceBusy), reason)
        };
        free.map_err(busy)?;
        self.runs.get_mut(id).into_iter().for_each(|active| active.inside = true);
        Ok(())
    }

    /// A run that is not at work frees its workspace for others.
    pub(super) fn leave_at_rest(&mut self, id: &RunId) {
        match self.runs.get_mut(id) {
            Some(active) if active.is_at_work() => return,
            Some(active) => active.inside = false,
            None => {}
        }
        self.world.runner.leave(id);
    }

    /// Refuses a run that would work where another one works, unless sharing is `agreed` (its argument:
    /// whether the other run shares). A new run has to share knowingly; for continuing runs it is enough that
    /// either run agreed once. A run that was called by a step of the other one works for it, and is allowed.
    pub(super) fn check_workspace(
        &self,
        claim: &Claim,
        within: &[CallingAttempt],
        agreed: impl Fn(bool) -> bool,
    ) -> Result<(), EngineError> {
        // Shortcut: most runs share their workspace or may stay in it, so no other run has to be searched.
        if agreed(true) && agreed(false) {
            return Ok(());
        }
        let near = self.runs.near(&claim.workspace);
        let at_work = near.filter(|active| active.is_at_work()).map(|active| &active.claim);
        let changing = self.changing.claims();
        // An attempt that was left to its supervisor works there too, even if the supervisor is only about to
        // be started.
        let left = self.left.values().map(|left| &left.claim);
        let is_in_the_way = |other: &&Claim| {
            !Claim::is_called_by(within, &other.run) && claim.collides(other) && !agreed(other.shared)
        };
        let in_the_way = at_work.filter(is_in_the_way).min_by(|one, other| one.run.cmp(&other.run));
        match in_the_way.or_else(|| left.chain(changing).find(is_in_the_way)) {
            Some(other) => Err(EngineError::WorkspaceBusy {
                run: other.run.clone(),
                workspace: other.workspace.clone(),
                wanted: claim.workspace.clone(),
            }),
            None => Ok(()),
        }
    }
}

/// Detects a journal whose end is missing: no valid run is in such a state, and nothing would ever wake it.
///
/// # Errors
/// The run is not over and wants nothing, although it `goes_on_by_itself`.
fn check_wants(run: &Run, goes_on_by_itself: bool) -> Result<(), Trouble> {
    let is_open = !matches!(run.status(), Status::Ended(_));
    if run.wants().is_empty() && is_open && goes_on_by_itself {
        let reason = "its events end where it is not over and nothing can go on: its last events are missing";
        return Err(Trouble::new(TroubleKind::Inconsistent, reason));
    }
    Ok(())
}

/// The folder that is about to change with these requests of the run, or that changes already: without a request, a restore goes on that an
/// earlier engine has begun.
fn changes(run: &Run, claim: &Claim, inputs: &[Input]) -> Option<Claim> {
    let wanted = match inputs {
        [] => run.restoring()?,
        inputs => inputs.iter().find_map(|input| match input {
            Input::RestoreFiles(wanted) => Some(&**wanted),
            _ => None,
        })?,
    };
    let mut changed = Claim { shared: false, ..claim.clone() };
    if let Some(folder) = wanted.reach.folder() {
        folder.clone_into(&mut changed.workspace);
    }
    Some(changed)
}

/// Calls of a run from the journal that an earlier engine began: how they ended is unknown.
fn lost_calls(run: &Run, begun_here: &BTreeSet<CallId>) -> impl Iterator<Item = ModelCalled> {
    let lost = run.calls().filter(|(call, _)| !begun_here.contains(call));
    lost.map(|(call, _)| ModelCalled::lost(call.clone()))
}
