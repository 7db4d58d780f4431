//! A run goes on: from the journal, with the flow it is pinned to.

use super::{
    adopt::Adoption,
    answer::says_yes,
    handler::{Commands, check_secrets, send},
    restore::note,
};
use crate::model::{
    clock::now,
    message::{Corrected, EngineError, Purpose},
    protocol::{CallerWire, CorrectedFlow, Refused, Response, ResumeRequest, Standing},
};
use crate::{attempts::secrets::caller_of, query::flow_cache::parsed_flow};
use envoi_contract::code::Code;
use envoi_flow::LANGUAGE;
use envoi_journal::PinnedFlow;
use envoi_kernel::{
    Input, Run, Status,
    event::{About, Choice, EndStatus, InterruptRaised},
    family::Share,
    ids::RunId,
    input::{Answer, Correct},
};
use std::{collections::BTreeMap, path::Path, sync::mpsc::Sender};

impl Commands {
    pub(super) fn resume(
        &self,
        mut request: ResumeRequest,
        client: &Sender<Response>,
    ) -> Result<(), Refused> {
        // First, because rows that are wrong hide what was done.
        let aside = match request.again {
            true => self.aside_with_its_rows(&request.run)?,
            false => self.aside(&request.run)?,
        };
        if self.was_done(&request.run, request.request.as_deref())? {
            (request.choice, request.raise, request.reopen) = (None, None, false);
            (request.now, request.again) = (false, false);
            request.correct = None;
        }
        if let Some(why) = aside.as_ref().filter(|_| !request.again) {
            return Err(Refused::set_aside(&request.run, &why.code, &why.reason));
        }
        let hint = "a step may cancel its run; its run goes on without `resume`";
        self.check_waits_for_other(&request.run, &request.caller, hint)?;
        let again = aside;
        // That it is tried again is all that is meant then: nothing is wrong with how it ended.
        request.reopen = request.reopen && again.is_none();
        if let Some(choice) = request.choice {
            self.check_shown(&request.run, choice, &request.caller)?;
        }
        let corrected = request.correct.as_ref().map(parse).transpose()?;
        // Before the run is looked at, so that its rest cannot be missed. It is judged when all requests are decided.
        let follower = self.followers.add_held(&request.run, client.clone());
        // Until it is durable that it goes on, no other run of its family does.
        let alone =
            (request.reopen || request.raise.is_some() || corrected.is_some()).then(|| self.families());
        let reader = self.store.reader()?;
        let (mut run, mut tail_bytes) = self.load_with_weight(&reader, &request.run)?;
        if run.restoring().is_some() {
            let _alone = self.restores();
            let ended = self.end_open_restore(&request.run, &[], &request.caller, Purpose::Decide)?;
            note(client, ended.map(|ended| ended.remarks).unwrap_or_default());
            (run, tail_bytes) = self.load_with_weight(&reader, &request.run)?;
        }
        // The same request may have been done by another thread since. Checked after each look at the run: events that
        // are in the journal by then are in the next look, and later ones make this one stale.
        let wanted = |run: &Run| match self.was_done(&request.run, request.request.as_deref())? {
            true => Ok(Vec::new()),
            false => inputs(run, &request, corrected.as_ref(), || self.elsewhere(run)),
        };
        let has_inputs = !wanted(&run)?.is_empty();
        if let (false, false, Status::Ended(_), Some(standing)) =
            (has_inputs, again.is_some(), run.status(), Standing::of(&run.status()))
        {
            // An engine that was killed after its last commit has not written the files of it.
            self.make_good(&request.run)?;
            self.note_done(&request)?;
            send(client, Response::Accepted { run: request.run.clone() });
            send(client, Response::Rest { standing });
            return Ok(());
        }
        let flow = corrected.as_ref().map_or(run.flow(), |corrected| &corrected.flow);
        check_secrets(flow, &caller_of(flow, &request.caller))?;
        if has_inputs && (request.reopen || corrected.is_some()) {
            check_workspace(&run)?;
        }
        self.check_entry(&run, &request.caller)?;
        if let Some(files) = &request.files {
            self.set_back_for_rerun(&run, &request, files, client)?;
            (run, tail_bytes) = self.load_with_weight(&reader, &request.run)?;
        }
        // A run that went on since it was loaded is loaded again.
        let loaded = Some((run, tail_bytes));
        let adoption = Adoption {
            again,
            request: request.request.clone(),
            loaded,
            corrected: corrected.clone(),
            ..Adoption::from(Purpose::GoOn)
        };
        let run = match self.adopt(&request.run, &request.caller, adoption, wanted) {
            // The first decision made the rest needless.
            Err(refused)
                if matches!(refused.code, Code::QuestionClosed | Code::RunOver)
                    && self.was_done(&request.run, request.request.as_deref())? =>
            {
                self.load(&request.run)?
            }
            adopted => adopted?,
        };
        drop(alone);
        send(client, Response::Accepted { run: request.run.clone() });
        // The loop closes a lapsed question; the run rests, if it does, after that.
        let now = now().max(run.last_at());
        let lapsed = run.wants().expiries.iter().any(|(_, at)| *at <= now);
        match (has_inputs, lapsed, Standing::of(&run.status())) {
            (false, false, Some(standing)) => send(client, Response::Rest { standing }),
            _ => follower.release(),
        }
        Ok(())
    }

    /// Notes that a request with an id finds nothing to decide. No event of the run has its id then; sent again, after the run has failed, it
    /// would reopen it.
    fn note_done(&self, request: &ResumeRequest) -> Result<(), Refused> {
        let Some(id) = &request.request else { return Ok(()) };
        if self.was_done(&request.run, Some(id))? {
            return Ok(());
        }
        let closing = || Refused::new(Code::EngineStopping, "the engine is closing".to_owned(), None);
        let writer = self.writer.upgrade().ok_or_else(closing)?;
        let noted = writer.note_done(request.run.clone(), id.clone(), now());
        noted.map_err(|error| Refused::from(EngineError::Store(error)))
    }

    /// Refuses to follow a run for a live step of its own, or for a run that such a step waits for: both would wait for ever. `hint`
    /// names the alternative.
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
        Err(Refused::waits_for_itself(id, &waiting.attempt, hint))
    }

    /// A yes to the output of an attempt is a yes to the shown output. Checked before the client follows the run: the events of a refusal
    /// are no answer.
    fn check_shown(&self, id: &RunId, choice: Choice, caller: &CallerWire) -> Result<(), Refused> {
        let run = self.load(id)?;
        for raised in to_be_answered(&run, Some(choice)).filter(|raised| says_yes(choice, raised)) {
            if let Some(refused) = self.put_again_if_changed(&run, raised, caller) {
                return Err(refused);
            }
        }
        Ok(())
    }
}

/// The corrected flow, checked.
pub(super) fn parse(wanted: &CorrectedFlow) -> Result<Corrected, Refused> {
    let CorrectedFlow { name, text, parts, language, .. } = wanted;
    let parsed = parsed_flow(language.unwrap_or(LANGUAGE), name, text, parts)
        .map_err(|report| Refused::new(Code::FlowInvalid, report.to_string(), Some("run `envoi check`")))?;
    let pinned = PinnedFlow {
        digest: parsed.flow.digest,
        language: parsed.language,
        name: name.clone(),
        text: text.clone(),
        parts: BTreeMap::clone(&parsed.parts),
        earlier: Vec::new(),
    };
    Ok(Corrected { flow: parsed.flow, pinned })
}

/// The inputs that the run is to decide first, checked against its state.
fn inputs(
    run: &Run,
    request: &ResumeRequest,
    corrected: Option<&Corrected>,
    elsewhere: impl FnOnce() -> Result<Share, Refused>,
) -> Result<Vec<Input>, Refused> {
    let by = &request.by;
    if let (Some(wanted), Some(corrected)) = (&request.correct, corrected) {
        let now = run.flow();
        let then = &corrected.flow;
        let is_same = (now.digest, now.language) == (then.digest, then.language);
        let holds = is_same && run.requested_correction().is_none();
        if !holds || wanted.from.is_some() {
            return Ok(vec![Input::Correct(Box::new(Correct {
                flow: corrected.flow.digest,
                language: corrected.pinned.language,
                source: corrected.pinned.name.clone(),
                from: wanted.from.clone(),
                by: by.clone(),
                why: request.why.clone(),
                request: request.request.clone(),
                elsewhere: elsewhere()?,
                seen: wanted.seen,
            }))]);
        }
    }
    if let Some(more) = request.raise.clone() {
        let why = request.why.clone();
        let request = request.request.clone();
        return Ok(vec![Input::Raise { more, by: by.clone(), why, request, elsewhere: elsewhere()? }]);
    }
    let stopped = matches!(run.status(), Status::Ended(ended) if ended.status != EndStatus::Succeeded);
    let asks = || run.interrupts().any(|raised| raised.about == About::Throttled);
    let meant = match stopped {
        true => request.choice.is_none() && request.reopen,
        false => run.account_waits().next().is_some() || asks(),
    };
    if request.now && meant {
        let (why, request) = (request.why.clone(), request.request.clone());
        return Ok(vec![Input::TryNow { by: by.clone(), why, request, elsewhere: elsewhere()? }]);
    }
    // A run that has succeeded may have ended just as its engine was killed: that end is then the response.
    if stopped && request.choice.is_none() && request.reopen {
        let (why, request) = (request.why.clone(), request.request.clone());
        return Ok(vec![Input::Reopen { by: by.clone(), why, request, elsewhere: elsewhere()? }]);
    }
    let Some(choice) = request.choice else { return Ok(Vec::new()) };
    let in_doubt = matches!(choice, Choice::Rerun | Choice::Fail);
    let open: Vec<_> = to_be_answered(run, request.choice).collect();
    if open.is_empty() {
        let kind = if in_doubt { "about an attempt in doubt" } else { "that waits for a review" };
        if let Some(attempt) = run.wants().attempts.first().filter(|_| in_doubt) {
            let message = format!(
                "the end of `{attempt}` of run `{}` is not known yet: no engine has checked it",
                request.run
            );
            let hint = "`envoi resume RUN` looks, and asks if that is not known";
            return Err(Refused::new(Code::WrongAnswer, message, Some(hint)));
        }
        let message = format!("run `{}` has no question {kind}", request.run);
        return Err(Refused::new(
            Code::WrongAnswer,
            message,
            Some("`envoi show RUN` says what it waits for"),
        ));
    }
    if in_doubt && open.len() > 1 {
        return Err(several_in_doubt(&request.run, &open));
    }
    let answer = |raised: &InterruptRaised| {
        let answer = Answer::new(raised.interrupt.clone(), choice, by.clone());
        let request = request.request.clone();
        Input::Answer(Box::new(Answer { channel: "resume".to_owned(), request, ..answer }))
    };
    Ok(open.into_iter().map(answer).collect())
}

/// Whether something has happened outside is known of each attempt by itself: one decision is never about several of them.
fn several_in_doubt(run: &RunId, open: &[&InterruptRaised]) -> Refused {
    let each: Vec<String> =
        open.iter().map(|raised| format!("{} ({})", raised.interrupt, raised.visit)).collect();
    let message = format!("run `{run}` has {} attempts in doubt: {}", each.len(), each.join(", "));
    Refused::new(
        Code::AmbiguousId,
        message,
        Some("decide about each: `envoi answer INT --choice rerun|fail`"),
    )
}

/// The questions that a choice is about: those in doubt, or those that wait for a review. A step's own question, and one
/// about a limit, have commands of their own.
fn to_be_answered(run: &Run, choice: Option<Choice>) -> impl Iterator<Item = &InterruptRaised> {
    let in_doubt = matches!(choice, Some(Choice::Rerun | Choice::Fail));
    run.interrupts().filter(move |raised| match raised.about {
        About::InDoubt => in_doubt,
        About::Throttled => false,
        About::Exhausted | About::Blocked | About::Review | About::Stuck | About::Conflict => {
            choice.is_some() && !in_doubt
        }
        About::Limit | About::Ask | About::Agent => false,
    })
}

/// Refuses to go on where the workspace is gone: each attempt would fail to start, and be spent.
fn check_workspace(run: &Run) -> Result<(), Refused> {
    let Some(started) = run.started() else { return Ok(()) };
    if Path::new(&started.workspace).is_dir() {
        return Ok(());
    }
    let message =
        format!("the workspace of the run is not there: `{}`; nothing was changed", started.workspace);
    Err(Refused::new(Code::WorkspaceMissing, message, Some("put the folder back, or start a new run")))
}
