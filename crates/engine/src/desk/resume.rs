//! A run goes on: from the journal, with the flow it is pinned to.

use super::{Desk, answer::says_yes, caller_of, check_secrets, read_failed, refused, tell};
use crate::{
    claim::Claim,
    message::{Adopt, Ask, EngineError, Message, Purpose},
    protocol::{CallerWire, Refused, Response, ResumeRequest, Standing},
    trouble::{Trouble, TroubleKind},
};
use envoi_journal::{
    Aside, BlobError, FileError, PinnedFlow, ReadError, Reader, RunPaths, files, with_causes,
};
use envoi_kernel::{
    Run, Status,
    event::{About, Choice, EndStatus, InterruptRaised},
    family::Share,
    ids::RunId,
    input::Answer,
};
use std::sync::{Arc, mpsc::Sender};

/// How often a run that is said to have gone on is loaded again although no event of it has come.
const MOST_IN_VAIN: u32 = 3;

impl Desk {
    pub(super) fn resume(
        &self,
        mut request: ResumeRequest,
        client: &Sender<Response>,
    ) -> Result<(), Refused> {
        if self.was_done(&request.run, request.request.as_deref())? {
            (request.choice, request.raise, request.reopen) = (None, None, false);
        }
        let aside = match request.again {
            true => self.aside_with_its_rows(&request.run)?,
            false => self.aside(&request.run)?,
        };
        if let Some(why) = aside.as_ref().filter(|_| !request.again) {
            return Err(Refused::set_aside(&request.run, &why.code, &why.reason));
        }
        let hint = "a step may cancel its run; its run goes on without `resume`";
        self.check_waits_for_other(&request.run, &request.caller, hint)?;
        let again = aside.is_some();
        // That it is tried again is all that is meant then: nothing is wrong with how it ended.
        request.reopen = request.reopen && !again;
        if let Some(choice) = request.choice {
            self.check_shown(&request.run, choice, &request.caller)?;
        }
        // Before the run is looked at, so that its rest cannot be missed. It is judged when all that is asked is decided.
        let follower = self.followers.add_held(&request.run, client.clone());
        // Until it is durable that it goes on, no other run of its family does.
        let alone = (request.reopen || request.raise.is_some()).then(|| self.families());
        let run = self.load(&request.run)?;
        // The same request may have been done by another thread since. Asked after each look at the run: what is in the
        // journal by then is in the next one, and what comes later makes this one stale.
        let wanted = |run: &Run| match self.was_done(&request.run, request.request.as_deref())? {
            true => Ok(Vec::new()),
            false => asks(run, &request, || self.elsewhere(run)),
        };
        let asked = !wanted(&run)?.is_empty();
        if let (false, false, Status::Ended(_), Some(standing)) =
            (asked, again, run.status(), Standing::of(&run.status()))
        {
            // An engine that was killed after its last commit has not shown what that says.
            self.make_good(&request.run)?;
            tell(client, Response::Accepted { run: request.run.clone() });
            tell(client, Response::Rest { standing });
            return Ok(());
        }
        check_secrets(run.flow(), &caller_of(run.flow(), &request.caller))?;
        // One that has a live attempt there is there, whatever anybody says.
        let enters = run.wants().attempts.is_empty();
        if let Some(started) = run.started().filter(|started| enters && !started.shared) {
            self.check_free(Claim::of(started), &request.caller.within, |other| other)?;
        }
        let adoption = Adoption { purpose: Purpose::GoOn, again };
        let run = match self.adopt(&request.run, &request.caller, adoption, wanted) {
            // What was decided first made the rest needless.
            Err(refused)
                if matches!(refused.code.as_str(), "QUESTION_CLOSED" | "RUN_OVER")
                    && self.was_done(&request.run, request.request.as_deref())? =>
            {
                self.load(&request.run)?
            }
            adopted => adopted?,
        };
        drop(alone);
        tell(client, Response::Accepted { run: request.run.clone() });
        // One whose time is over is closed by the loop; the run rests, if it does, after that.
        let now = crate::now().max(run.last_at());
        let lapsed = run.wants().expiries.iter().any(|(_, at)| *at <= now);
        match (asked, lapsed, Standing::of(&run.status())) {
            (false, false, Some(standing)) => tell(client, Response::Rest { standing }),
            _ => follower.release(),
        }
        Ok(())
    }

    /// Refuses to follow a run for a live step of its own, or for a run that such a step waits for: both would wait for ever. `hint`
    /// says what can be done in place of that.
    pub(super) fn check_waits_for_other(
        &self,
        id: &RunId,
        caller: &CallerWire,
        hint: &str,
    ) -> Result<(), Refused> {
        let mut own = caller.within.iter().filter(|waiting| waiting.run == *id).peekable();
        if own.peek().is_none() {
            return Ok(());
        }
        let run = self.load(id)?;
        let Some(waiting) = own.find(|waiting| run.is_live(&waiting.attempt)) else { return Ok(()) };
        let message = format!(
            "attempt `{}` of run `{id}` would wait for its own run, which waits for that attempt",
            waiting.attempt
        );
        Err(Refused::new("REFUSED", message, Some(hint)))
    }

    /// A yes to what an attempt has left is one to what was shown. Before anybody follows the run: what a refusal causes is no
    /// answer.
    fn check_shown(&self, id: &RunId, choice: Choice, caller: &CallerWire) -> Result<(), Refused> {
        let run = self.load(id)?;
        for raised in to_be_answered(&run, Some(choice)).filter(|raised| says_yes(choice, raised)) {
            if let Some(refused) = self.put_again_if_changed(&run, raised, caller) {
                return Err(refused);
            }
        }
        Ok(())
    }

    /// The run as the journal has it. One that cannot be read is set aside.
    pub(super) fn load(&self, id: &RunId) -> Result<Run, Refused> {
        let reader = self.store.reader().map_err(|error| read_failed(&error))?;
        self.load_with_weight(&reader, id).map(|(run, _)| run)
    }

    fn load_with_weight(&self, reader: &Reader, id: &RunId) -> Result<(Run, u64), Refused> {
        load_with_weight(reader, id).map_err(|error| match error.trouble() {
            Some(trouble) => self.unloadable(id, trouble),
            None => error.refused(id),
        })
    }

    /// Has the run set aside, durably, and says so. One that the loop holds goes on: what is there in memory is whole.
    fn unloadable(&self, id: &RunId, trouble: Trouble) -> Refused {
        let message = trouble.reason.clone();
        let unloadable = |reply| Message::Unloadable { run: id.clone(), trouble, reply };
        match self.exchange(unloadable) {
            Ok(()) => Refused::failure(message),
            Err(error) => refused(error),
        }
    }

    /// Why a run is set aside, if it is.
    pub(super) fn aside(&self, id: &RunId) -> Result<Option<Aside>, Refused> {
        let reader = self.store.reader().map_err(|error| read_failed(&error))?;
        Ok(reader.run(id).map_err(|error| read_failed(&error))?.aside)
    }

    /// As [`Desk::aside`], for one that is tried again: what is wrong may be its rows alone, which are made again first.
    pub(super) fn aside_with_its_rows(&self, id: &RunId) -> Result<Option<Aside>, Refused> {
        let aside = self.aside(id)?;
        if aside.is_none() {
            return Ok(None);
        }
        match self.store.mend_rows(id) {
            Ok(true) => self.aside(id),
            Ok(false) => Ok(aside),
            Err(error) => Err(refused(EngineError::Store(error))),
        }
    }

    /// Writes the files of a run that are missing or are not what the journal says. A run for which that fails is set aside,
    /// unless it is the store that cannot be read now.
    fn make_good(&self, id: &RunId) -> Result<(), Refused> {
        let reader = self.store.reader().map_err(|error| read_failed(&error))?;
        let Err(error) = files::restore_run(&self.layout, &reader, id) else { return Ok(()) };
        match &error {
            FileError::Read(read @ (ReadError::Busy | ReadError::Io { .. } | ReadError::Missing { .. })) => {
                Err(read_failed(read))
            }
            FileError::Blob(BlobError::Store { .. }) => Err(Refused::failure(with_causes(&error))),
            error => Err(self.unloadable(id, Trouble::new(TroubleKind::Files, with_causes(error)))),
        }
    }

    /// Has the loop go on with a run, and returns it as it was loaded. Its files are made good first. What is `wanted` of it
    /// is decided before anything of it is started, and is durable when this returns. A run that went on while it was loaded
    /// is loaded again.
    pub(super) fn adopt(
        &self,
        id: &RunId,
        caller: &CallerWire,
        adoption: Adoption,
        wanted: impl Fn(&Run) -> Result<Vec<Ask>, Refused>,
    ) -> Result<Run, Refused> {
        let Adoption { purpose, again } = adoption;
        if let Some(why) = self.aside(id)?.filter(|_| !again) {
            return Err(Refused::set_aside(id, &why.code, &why.reason));
        }
        // A run is ended also where its files cannot be written.
        if purpose != Purpose::End {
            self.make_good(id)?;
        }
        let reader = self.store.reader().map_err(|error| read_failed(&error))?;
        let (mut stale_at, mut in_vain) = (None, 0_u32);
        loop {
            let (run, tail_bytes) = self.load_with_weight(&reader, id)?;
            if purpose == Purpose::GoOn {
                check_places(&reader, id)?;
            }
            self.callers.learn(id, run.flow(), caller);
            let (asks, caller) = (wanted(&run)?, caller_of(run.flow(), caller));
            let adopt = |reply| Adopt { run: run.clone(), asks, purpose, again, tail_bytes, caller, reply };
            match self.exchange(|reply| Message::Adopt(Box::new(adopt(reply)))) {
                Ok(()) => return Ok(run),
                // What makes it stale is in the journal: the next look sees more, unless the journal contradicts itself.
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
                Err(error) => return Err(refused(error)),
            }
        }
    }
}

/// Refuses to go on with a run whose workspace is the original's, if the store is a copy that was adopted: both would work
/// there.
pub(super) fn check_places(reader: &Reader, run: &RunId) -> Result<(), Refused> {
    let Some(workspace) = reader.workspace_of_original(run).map_err(|error| read_failed(&error))? else {
        return Ok(());
    };
    let message = format!(
        "run `{run}` works in `{workspace}`, which was not copied with the project: the store that this one was copied from \
         works there"
    );
    let hint = "`envoi store adopt --share-workspaces` lets both work there; or start a new run";
    Err(Refused::new("STORE_COPIED", message, Some(hint)))
}

/// How a run is adopted.
#[derive(Debug, Clone, Copy)]
pub(super) struct Adoption {
    pub(super) purpose: Purpose,
    /// Whether it is tried again if it is set aside.
    pub(super) again: bool,
}

impl From<Purpose> for Adoption {
    fn from(purpose: Purpose) -> Self {
        Self { purpose, again: false }
    }
}

/// Why a run cannot be had from the journal.
#[derive(Debug)]
enum LoadError {
    Read(ReadError),
    Flow(String),
    Replay(String),
}

impl LoadError {
    /// What is wrong with the run, unless it is the store that cannot be read now, or there is no such run.
    fn trouble(&self) -> Option<Trouble> {
        let unreadable = |reason| Some(Trouble::new(TroubleKind::Unreadable, reason));
        match self {
            Self::Read(ReadError::Missing { .. } | ReadError::Busy | ReadError::Io { .. }) => None,
            Self::Read(error) => unreadable(with_causes(error)),
            Self::Replay(error) => unreadable(error.clone()),
            Self::Flow(report) => {
                let reason = "the flow that it is pinned to cannot be read by this version".to_owned();
                Some(Trouble::new(TroubleKind::Unreadable, reason).with_evidence(report.clone()))
            }
        }
    }

    fn refused(&self, id: &RunId) -> Refused {
        match self {
            Self::Read(error) => read_failed(error),
            Self::Flow(report) => Refused::failure(format!(
                "the flow that run `{id}` is pinned to cannot be read by this version:\n{report}"
            )),
            Self::Replay(error) => Refused::failure(format!("run `{id}`: {error}")),
        }
    }
}

/// A run from the journal: its pinned flow, the newest snapshot, and the events after it.
///
/// # Errors
/// A refusal that says what is missing or damaged.
pub fn load_run(reader: &Reader, id: &RunId) -> Result<Run, Refused> {
    load_with_weight(reader, id).map(|(run, _)| run).map_err(|error| error.refused(id))
}

/// The run with its places as they are now, and the bytes of its events since its last snapshot.
fn load_with_weight(reader: &Reader, id: &RunId) -> Result<(Run, u64), LoadError> {
    let (mut run, weight) = load_as_recorded(reader, id)?;
    if let Some(started) = run.started() {
        let RunPaths { workspace, run_base, source, .. } =
            reader.paths_of(started).map_err(LoadError::Read)?;
        run.relocate(workspace, run_base, source);
    }
    Ok((run, weight))
}

fn load_as_recorded(reader: &Reader, id: &RunId) -> Result<(Run, u64), LoadError> {
    let loaded = reader.load(id).map_err(LoadError::Read)?;
    let PinnedFlow { name, text, parts, .. } = &loaded.pinned;
    let flow =
        envoi_flow::load_with(name, text, parts).map_err(|report| LoadError::Flow(report.to_string()))?;
    let flow = Arc::new(flow.flow);
    let had_one = loaded.snapshot.is_some();
    let restored = loaded.snapshot.and_then(|snapshot| Run::restore(Arc::clone(&flow), &snapshot.state).ok());
    let Some(mut run) = restored else {
        // No snapshot, or one of another version: the events are the truth.
        let records = reader.records(id, 0, None).map_err(LoadError::Read)?;
        let run = Run::replay(flow, records).map_err(|error| LoadError::Replay(error.to_string()))?;
        // One that cannot be read is replaced with the next commit.
        return Ok((run, if had_one { u64::MAX } else { loaded.tail_bytes }));
    };
    let applied = loaded.records.iter().try_for_each(|record| run.apply(record));
    applied.map_err(|error| LoadError::Replay(error.to_string()))?;
    Ok((run, loaded.tail_bytes))
}

/// What is to be decided first, checked against how the run stands.
fn asks(
    run: &Run,
    request: &ResumeRequest,
    elsewhere: impl FnOnce() -> Result<Share, Refused>,
) -> Result<Vec<Ask>, Refused> {
    let by = &request.by;
    if let Some(more) = request.raise.clone() {
        let (why, request) = (request.why.clone(), request.request.clone());
        return Ok(vec![Ask::Raise { more, by: by.clone(), why, request, elsewhere: elsewhere()? }]);
    }
    let stopped = matches!(run.status(), Status::Ended(ended) if ended.status != EndStatus::Succeeded);
    // One that has succeeded may have come to its end just as its engine was killed: that is then what there is to tell.
    if stopped && request.choice.is_none() && request.reopen {
        return Ok(vec![Ask::Reopen { by: by.clone(), why: request.why.clone(), elsewhere: elsewhere()? }]);
    }
    let Some(choice) = request.choice else { return Ok(Vec::new()) };
    let in_doubt = matches!(choice, Choice::Rerun | Choice::Fail);
    let open: Vec<_> = to_be_answered(run, request.choice).collect();
    if open.is_empty() {
        let kind = if in_doubt { "about an attempt in doubt" } else { "that waits for a review" };
        let message = format!("run `{}` has no question {kind}", request.run);
        return Err(Refused::new("WRONG_ANSWER", message, Some("`envoi show RUN` says what it waits for")));
    }
    if in_doubt && open.len() > 1 {
        return Err(several_in_doubt(&request.run, &open));
    }
    let answer = |raised: &InterruptRaised| {
        let answer = Answer::new(raised.interrupt.clone(), choice, by.clone());
        let request = request.request.clone();
        Ask::Answer(Box::new(Answer { channel: "resume".to_owned(), request, ..answer }))
    };
    Ok(open.into_iter().map(answer).collect())
}

/// Whether something has happened outside is known of each attempt by itself: one decision is never about several of them.
fn several_in_doubt(run: &RunId, open: &[&InterruptRaised]) -> Refused {
    let each: Vec<String> =
        open.iter().map(|raised| format!("{} ({})", raised.interrupt, raised.visit)).collect();
    let message = format!("run `{run}` has {} attempts in doubt: {}", each.len(), each.join(", "));
    Refused::new("AMBIGUOUS_ID", message, Some("decide about each: `envoi answer INT --choice rerun|fail`"))
}

/// The questions that a choice is about: those in doubt, or those that wait for a review. What a step asks, and what a bound
/// holds up, is answered by its own commands.
fn to_be_answered(run: &Run, choice: Option<Choice>) -> impl Iterator<Item = &InterruptRaised> {
    let in_doubt = matches!(choice, Some(Choice::Rerun | Choice::Fail));
    run.interrupts().filter(move |raised| match raised.about {
        About::InDoubt => in_doubt,
        About::Exhausted | About::Blocked | About::Review | About::Stuck => choice.is_some() && !in_doubt,
        About::Limit | About::Ask | About::Agent => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use envoi_journal::{Commit, Layout, Snapshot, Store};
    use envoi_kernel::{Input, ids::Principal, input::Start};

    const FLOW: &str = "flow: f\nsteps:\n  - id: a\n    run: [\"true\"]\n";

    #[test]
    fn a_snapshot_of_another_version_is_no_reason_to_lose_the_run() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(Layout::new(folder.path())).unwrap();
        let writer = store.writer(store.take_epoch().unwrap()).unwrap();
        let loaded = envoi_flow::load("f.yaml", FLOW).unwrap();
        let (flow, id) = (Arc::new(loaded.flow), RunId::new("run_a").unwrap());
        let start = Start {
            run: id.clone(),
            inputs: envoi_contract::json::Object::new(),
            source: "/f.yaml".to_owned(),
            workspace: "/".to_owned(),
            shared: false,
            run_base: "/".to_owned(),
            language: loaded.language,
            by: Principal { tenant: "local".to_owned(), actor: "tester".to_owned() },
            yes_to: Vec::new(),
            trace: None,
            requester: envoi_kernel::requester::Requester::default(),
            slot: None,
        };
        let lived = Run::new(Arc::clone(&flow));
        let records = lived.decide(Input::Start(Box::new(start)), crate::now()).unwrap();
        let lived = Run::replay(Arc::clone(&flow), records.clone()).unwrap();
        let pinned = PinnedFlow {
            digest: flow.digest,
            language: loaded.language,
            name: "f.yaml".to_owned(),
            text: FLOW.to_owned(),
            parts: loaded.parts,
        };
        let seq = records.last().unwrap().seq;
        let snapshot = Some(Snapshot { seq, state: b"{\"of\": \"another version\"}".to_vec() });
        let commit = Commit {
            run: id.clone(),
            expected: 0,
            records,
            pinned: Some(pinned),
            blobs: Vec::new(),
            deliveries: Vec::new(),
            snapshot,
        };
        writer.commit(commit).unwrap();
        let reader = store.reader().unwrap();
        assert_eq!(load_with_weight(&reader, &id).unwrap(), (lived, u64::MAX), "and a new snapshot is due");
    }
}
