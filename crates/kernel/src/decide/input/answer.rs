//! A person decides when a run could not.
//!
//! One answer, one question. A refused answer changes nothing: the question stays open. An answer counts while its question
//! is open and has not lapsed, if it is of a kind that the question takes, and, if it has a digest of what its giver saw,
//! if that is the subject of the question. Answers to questions of the engine's own are carried out here, those to a step
//! that asks in [`crate::decide::verdict`].

use crate::state::limits::Bound;
use crate::{
    decide::{
        advance::advance,
        conclude::{self, Conclusion},
        draft::{At, Draft},
        ending, expire, rounds,
        route::{self, Decided},
        verdict,
    },
    model::{
        event::{About, Choice, Course, EndStatus, Event, InterruptAnswered, InterruptRaised, RunEnded},
        flow::{AskPlan, Step},
        input::{Answer, Refusal},
        size::{RESERVED, is_reference},
    },
    state::{bounds, conflict, limit_question, loops},
};
use envoi_contract::envelope::TerminalReason;
use envoi_contract::{
    envelope::InterruptKind,
    json::{MAX_PART_DEPTH, Object, Value},
    routing::{Decision, Signal},
    user_envelope::{MAX_ATTACHMENTS, answer_text},
};
use std::sync::Arc;

/// Longest text of an answer; more belongs into a file.
const MAX_TEXT_BYTES: usize = 1024 * 1024;

/// Longest text where several people have to approve: all of theirs come together.
const MAX_VOTE_BYTES: usize = 8 * 1024;

/// Largest response in the journal itself (contract 3).
const MAX_DATA_BYTES: usize = 64 * 1024;

impl Choice {
    /// The choice in a person's words.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Choice::Rerun => "rerun",
            Choice::Fail => "fail",
            Choice::Proceed => "proceed",
            Choice::Again => "again",
            Choice::Ours => "ours",
            Choice::Theirs => "theirs",
            Choice::Edit => "edit",
            Choice::Stop => "stop",
            Choice::Approve => "approve",
            Choice::Deny => "deny",
            Choice::Respond => "respond",
            Choice::Raise => "raise",
        }
    }

    /// The choice that is meant: for the question of a step, to proceed is to approve and to stop is to deny; elsewhere it is the other way
    /// round. A yes to items in conflict could mean any of several things, and to proceed leaves out their work: the choice has to be
    /// explicit.
    fn meant(self, about: About) -> Self {
        match (about, self) {
            (About::Ask, Choice::Proceed) => Choice::Approve,
            (About::Ask, Choice::Stop) => Choice::Deny,
            (About::Agent, Choice::Stop) => Choice::Deny,
            (About::Agent, Choice::Proceed) => Choice::Approve,
            (About::Ask | About::Agent | About::InDoubt | About::Throttled, other) => other,
            (_, Choice::Deny) => Choice::Stop,
            (About::Limit | About::Conflict, other) => other,
            (_, Choice::Approve) => Choice::Proceed,
            (_, other) => other,
        }
    }
}

/// The choices of a question, the most usual first. Another round may still be past a limit.
pub(crate) fn accepts(step: &Step, raised: &InterruptRaised) -> Vec<Choice> {
    match raised.about {
        About::Throttled if limit_question::bound(&raised.evidence).is_some() => {
            vec![Choice::Rerun, Choice::Raise, Choice::Fail]
        }
        About::InDoubt | About::Throttled => vec![Choice::Rerun, Choice::Fail],
        About::Exhausted => vec![Choice::Proceed, Choice::Stop],
        About::Blocked | About::Review => vec![Choice::Proceed, Choice::Again, Choice::Stop],
        About::Conflict => {
            let edit = conflict::may_be_edited(&raised.evidence).then_some(Choice::Edit);
            let others = [Choice::Again, Choice::Ours, Choice::Theirs];
            others.into_iter().chain(edit).chain([Choice::Proceed, Choice::Stop]).collect()
        }
        About::Limit => vec![Choice::Raise, Choice::Stop],
        About::Agent if raised.kind() == InterruptKind::Confirmation => vec![Choice::Approve, Choice::Deny],
        About::Agent => vec![Choice::Respond, Choice::Deny],
        About::Stuck => vec![Choice::Again, Choice::Proceed, Choice::Stop],
        About::Ask => {
            let yes =
                if raised.kind() == InterruptKind::Clarification { Choice::Respond } else { Choice::Approve };
            let again = step.routing.loop_to.as_ref().map(|_| Choice::Again);
            [Some(yes), again, Some(Choice::Deny)].into_iter().flatten().collect()
        }
    }
}

/// Input: answer.
pub(crate) fn answer(mut draft: Draft<'_>, answer: Answer) -> Result<Draft<'_>, Refusal> {
    take(&mut draft, answer)?;
    advance(draft)
}

/// Takes one answer, and does what follows from it up to the next visit.
pub(crate) fn take(draft: &mut Draft<'_>, answer: Answer) -> Result<(), Refusal> {
    let Some(raised) = draft.control.interrupts.get(&answer.interrupt).map(Arc::clone) else {
        return Err(Refusal::NotOpen { interrupt: answer.interrupt });
    };
    if let Some(at) = expire::lapsed(&raised, draft.now) {
        return Err(Refusal::Expired { interrupt: answer.interrupt, at });
    }
    if answer.seen.is_some() && answer.seen != raised.subject {
        return Err(Refusal::Changed { interrupt: answer.interrupt });
    }
    let at = &draft.at(&raised.visit)?;
    let step = at.step;
    let answer = Answer { choice: answer.choice.meant(raised.about), ..answer };
    check_choice(draft, at, &raised, answer.choice)?;
    let plan = step.asks().filter(|_| raised.about == About::Ask);
    check_person(draft, plan, &answer)?;
    check_content(draft, plan, &raised, &answer)?;
    let answered = answered(plan, &raised, answer)?;
    if let Some(plan) = plan.filter(|_| answered.choice == Choice::Approve)
        && missing(draft, plan, &answered) > 0
    {
        // Approvals are missing: the vote is recorded, and the question stays open.
        return draft.emit(Event::VoteCast(Box::new(answered)));
    }
    let answered = with_votes(draft, plan, answered);
    draft.emit(Event::InterruptAnswered(Box::new(answered.clone())))?;
    match answered.choice {
        _ if raised.about == About::Ask => verdict::conclude(draft, &raised, &answered),
        // The next attempt informs the agent.
        _ if raised.about == About::Agent => Ok(()),
        // The event itself makes the visit ready again.
        Choice::Rerun => Ok(()),
        Choice::Raise => {
            raise(draft, &raised, at, &answered)?;
            others_have_room(draft, limit_question::bound(&raised.evidence), &answered)
        }
        Choice::Fail => fail(draft, &raised),
        Choice::Stop if raised.about == About::Limit => stop_at_bound(draft, &raised, &answered),
        _ => {
            let decided = about_rounds(draft, &raised, decided(at, raised.about, &answered)).naming_next();
            conclude::close(draft, &raised.visit, decided, None)
        }
    }
}

fn check_choice(
    draft: &Draft<'_>,
    at: &At<'_>,
    raised: &InterruptRaised,
    choice: Choice,
) -> Result<(), Refusal> {
    let accepted = accepts(at.step, raised);
    if choice == Choice::Again && raised.about == About::Conflict {
        return route::may_repeat(draft, at, at.id());
    }
    if choice == Choice::Again && raised.about == About::Stuck {
        return rounds::may_go_again(draft);
    }
    let of_a_loop = matches!(raised.about, About::Exhausted | About::Blocked | About::Review | About::Ask);
    let closes_one = raised.about != About::Ask || at.step.routing.loop_to.is_some();
    if choice == Choice::Again && of_a_loop && closes_one {
        return route::may_go_again(draft, at);
    }
    if accepted.contains(&choice) {
        return Ok(());
    }
    let words: Vec<&str> = accepted.iter().map(|choice| choice.word()).collect();
    Err(Refusal::WrongChoice { choice: choice.word(), accepted: either(&words) })
}

/// `a`, `a or b`, `a, b or c`.
fn either(words: &[&str]) -> String {
    match words {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [rest @ .., last] => format!("{} or {last}", rest.join(", ")),
    }
}

/// Checks that this person may answer.
fn check_person(draft: &Draft<'_>, plan: Option<&AskPlan>, answer: &Answer) -> Result<(), Refusal> {
    let Some(plan) = plan else { return Ok(()) };
    let started = draft.control.phase.started();
    let forked = draft.control.forked.as_deref();
    let starts = started.is_some_and(|started| started.by == answer.by)
        || forked.is_some_and(|forked| forked.by == answer.by);
    if plan.not_by_starter && starts {
        return Err(Refusal::NotByStarter { actor: answer.by.actor.clone() });
    }
    let votes = draft.control.votes.get(&answer.interrupt).map(Vec::as_slice).unwrap_or_default();
    if answer.choice == Choice::Approve && votes.iter().any(|vote| vote.by == answer.by) {
        let cast = u32::try_from(votes.len()).unwrap_or(u32::MAX);
        let missing = plan.quorum.saturating_sub(cast);
        return Err(Refusal::AlreadyVoted { actor: answer.by.actor.clone(), missing });
    }
    Ok(())
}

/// Checks the contents of an answer.
fn check_content(
    draft: &Draft<'_>,
    plan: Option<&AskPlan>,
    raised: &InterruptRaised,
    answer: &Answer,
) -> Result<(), Refusal> {
    let misfit = |reason: String| Err(Refusal::Misfit { reason });
    let schema = plan.is_some_and(|plan| plan.schema.is_some());
    let says_yes = matches!(answer.choice, Choice::Approve | Choice::Respond);
    let may_have_data = schema || raised.about == About::Agent;
    let edits = answer.choice == Choice::Edit;
    if edits {
        let data = answer.data.as_ref().unwrap_or(&Value::Null);
        if let Err(error) = conflict::edited(&raised.evidence, data, &answer.attachments) {
            return misfit(error.to_string());
        }
    }
    if answer.data.is_some() && !(may_have_data && says_yes || edits) {
        return misfit("this choice takes no form".to_owned());
    }
    if answer.data.is_none() && schema && says_yes {
        return misfit("this question takes a form, and none was given".to_owned());
    }
    if answer.data.as_ref().is_some_and(is_reference) {
        return misfit(format!("a form has no member `{}`: only Envoi writes such", RESERVED.join("` or `")));
    }
    if answer.data.as_ref().is_some_and(|data| data.compact().len() > MAX_DATA_BYTES) {
        return misfit(format!("the form has over {MAX_DATA_BYTES} bytes; attach a file"));
    }
    if answer.data.as_ref().is_some_and(|data| data.depth() > MAX_PART_DEPTH) {
        return misfit(format!("the form has over {MAX_PART_DEPTH} levels of nesting; attach a file"));
    }
    let several = plan.is_some_and(|plan| plan.quorum > 1);
    let longest = if several { MAX_VOTE_BYTES } else { MAX_TEXT_BYTES };
    if answer.text.as_ref().is_some_and(|text| text.len() > longest) {
        return misfit(format!("the text has over {longest} bytes; attach a file"));
    }
    // Only an approval is merged with those before it.
    let votes = draft.control.votes.get(&answer.interrupt).filter(|_| answer.choice == Choice::Approve);
    let voted = votes.into_iter().flatten().map(|vote| vote.attachments.len()).fold(0, usize::saturating_add);
    let files = voted.saturating_add(answer.attachments.len());
    if files > MAX_ATTACHMENTS {
        return misfit(format!("an answer has at most {MAX_ATTACHMENTS} attachments, these are {files}"));
    }
    let bound = limit_question::bound(&raised.evidence);
    match (&answer.raise, answer.choice) {
        (Some(more), Choice::Raise) if bound.is_some_and(|bound| bound.is_all_of(more)) => Ok(()),
        (_, Choice::Raise) => {
            misfit(format!("say by how much `{}` is raised, and nothing else", bound.map_or("", Bound::name)))
        }
        (Some(_), _) => misfit("only `raise` raises a bound".to_owned()),
        (None, _) => Ok(()),
    }
}

/// The answer as it is recorded, its text as contract 5 has it.
fn answered(
    plan: Option<&AskPlan>,
    raised: &InterruptRaised,
    answer: Answer,
) -> Result<InterruptAnswered, Refusal> {
    let Answer { interrupt, choice, text, data, attachments, raise, by, channel, request, .. } = answer;
    let asks = plan.is_some() || raised.about == About::Agent;
    // A form or a file is enough without words.
    let wordless = match plan {
        Some(plan) => plan.schema.is_some(),
        None => data.is_some() || !attachments.is_empty(),
    };
    let text = match asks {
        true => words(wordless, raised.kind(), choice, text)?,
        false => text.unwrap_or_default(),
    };
    let data = data.unwrap_or_else(|| response(plan.is_some(), choice, &text));
    Ok(InterruptAnswered { interrupt, choice, by, channel, text, data, attachments, raise, request })
}

fn words(
    may_be_wordless: bool,
    kind: InterruptKind,
    choice: Choice,
    text: Option<String>,
) -> Result<String, Refusal> {
    let mut values = Object::default();
    let wordless = text.as_ref().is_none_or(|text| text.trim_ascii().is_empty());
    let name = if choice == Choice::Respond { "userResponse" } else { "approvalNote" };
    if let Some(text) = text {
        values.insert(name, Value::from(text));
    }
    values.insert("approved", Value::from(choice != Choice::Deny));
    // A form that is filled in, a refusal and a request for another round are enough without words.
    let required = match choice {
        Choice::Respond if !may_be_wordless => kind,
        _ => InterruptKind::Confirmation,
    };
    let text = answer_text(&Value::Object(values), required).map_err(|_| Refusal::Blank)?;
    Ok(match choice {
        Choice::Respond if wordless => "[Answered by operator]".to_owned(),
        Choice::Again if wordless => "[Sent back by operator]".to_owned(),
        _ => text,
    })
}

/// Contract 3's response, as far as there is one. A long text is in the answer alone.
fn response(asks: bool, choice: Choice, text: &str) -> Value {
    if !asks {
        return Value::Null;
    }
    let mut members = Object::default();
    if text.len() <= MAX_DATA_BYTES / 4 {
        members.insert("text", Value::from(text));
    }
    match choice {
        Choice::Approve | Choice::Deny => {
            members.insert("approved", Value::from(choice == Choice::Approve));
        }
        _ => {}
    }
    members.insert("decision", Value::from(choice.word()));
    Value::Object(members)
}

/// How many approvals are still wanted after this one.
fn missing(draft: &Draft<'_>, plan: &AskPlan, answered: &InterruptAnswered) -> u32 {
    let cast = draft.control.votes.get(&answered.interrupt).map_or(0, Vec::len);
    plan.quorum.saturating_sub(u32::try_from(cast).unwrap_or(u32::MAX)).saturating_sub(1)
}

/// The last approval of several speaks for all of them: everybody's words, each after a name, and everybody's files.
fn with_votes(
    draft: &Draft<'_>,
    plan: Option<&AskPlan>,
    mut answered: InterruptAnswered,
) -> InterruptAnswered {
    let votes = draft.control.votes.get(&answered.interrupt).map(Vec::as_slice).unwrap_or_default();
    if votes.is_empty() || answered.choice != Choice::Approve {
        return answered;
    }
    let all = votes.iter().map(AsRef::as_ref).chain([&answered]);
    let lines: Vec<String> = all.clone().map(|vote| format!("{}: {}", vote.by.actor, vote.text)).collect();
    let attachments = all.flat_map(|vote| vote.attachments.iter().cloned()).collect();
    (answered.text, answered.attachments) = (lines.join("\n"), attachments);
    if plan.is_some_and(|plan| plan.schema.is_none()) {
        answered.data = response(true, answered.choice, &answered.text);
    }
    answered
}

fn fail(draft: &mut Draft<'_>, raised: &InterruptRaised) -> Result<(), Refusal> {
    let open = draft.control.open.get(&raised.visit);
    let known = open.and_then(|open| open.error.clone());
    let unknown = || Refusal::Inconsistent { reason: format!("nothing of `{}` is in doubt", raised.visit) };
    let error = known.ok_or_else(unknown)?;
    conclude::conclude(draft, &raised.visit, Conclusion::Failed(error))
}

/// Other questions about the same bound are answered by what was added, while there is room.
fn others_have_room(
    draft: &mut Draft<'_>,
    bound: Option<Bound>,
    answered: &InterruptAnswered,
) -> Result<(), Refusal> {
    let same = |raised: &&Arc<InterruptRaised>| limit_question::of(raised) == bound;
    let others: Vec<_> = draft.control.interrupts.values().filter(same).cloned().collect();
    for raised in others {
        let starts = draft.control.open.contains_key(&raised.visit);
        let full = match bound {
            Some(Bound::Rounds) => bounds::for_a_round(draft.flow, &draft.control),
            Some(Bound::Iterations) => route::loop_bound(draft),
            _ => None,
        };
        if full.is_some() && !starts {
            break;
        }
        let also = InterruptAnswered { interrupt: raised.interrupt.clone(), raise: None, ..answered.clone() };
        draft.emit(Event::InterruptAnswered(Box::new(also.clone())))?;
        let at = &draft.at(&raised.visit)?;
        raise(draft, &raised, at, &also)?;
    }
    Ok(())
}

/// The limit is higher now: the start or loop-back that it held up goes on.
fn raise(
    draft: &mut Draft<'_>,
    raised: &InterruptRaised,
    at: &At<'_>,
    answered: &InterruptAnswered,
) -> Result<(), Refusal> {
    if draft.control.open.contains_key(&raised.visit) {
        return Ok(());
    }
    if limit_question::bound(&raised.evidence) == Some(Bound::Rounds) {
        let signal = Signal::new(Decision::Loop, "Answered: raise", "1.0");
        let course = rounds::next(draft).unwrap_or(Course::Stop);
        let mut decided = Decided::new(signal, course, verdict::audit(answered));
        decided.answer = Some(answered.interrupt.clone());
        return conclude::close(draft, &raised.visit, decided, None);
    }
    let target =
        limit_question::back_to(&raised.evidence).unwrap_or_else(|| loops::back_target(at.step).clone());
    let signal = Signal::new(Decision::Loop, "Answered: raise", "1.0");
    let mut decided = Decided::new(signal, Course::LoopBack(target), verdict::audit(answered));
    decided.answer = Some(answered.interrupt.clone());
    conclude::close(draft, &raised.visit, decided, None)
}

fn stop_at_bound(
    draft: &mut Draft<'_>,
    raised: &InterruptRaised,
    answered: &InterruptAnswered,
) -> Result<(), Refusal> {
    let reached = raised.evidence.get("reached").and_then(Value::as_str).unwrap_or("");
    let unknown = || format!("question `{}` names no limit of a run", raised.interrupt);
    let bound =
        limit_question::bound(&raised.evidence).ok_or_else(|| Refusal::Inconsistent { reason: unknown() })?;
    let end = RunEnded::new(
        EndStatus::Exhausted,
        bound.terminal_reason(),
        format!("{reached}, and {} did not raise it", answered.by.actor),
        Some(ending::step_at_the_top(draft, &raised.visit)),
    );
    ending::stop(draft, end)
}

/// Another round is more than another time at the step that ended one; going on leaves the goals as they are.
fn about_rounds(draft: &Draft<'_>, raised: &InterruptRaised, mut decided: Decided) -> Decided {
    if raised.about == About::Stuck {
        if let (Course::LoopBack(_), Some(round)) = (&decided.course, rounds::next(draft)) {
            decided.course = round;
        }
        decided.past_rounds = true;
    }
    decided
}

fn decided(at: &At<'_>, about: About, answered: &InterruptAnswered) -> Decided {
    let choice = answered.choice;
    let audit = verdict::audit(answered);
    let signal = |decision| Signal::new(decision, format!("Answered: {}", choice.word()), "1.0");
    let mut decided = match choice {
        Choice::Again => {
            let target = if about == About::Conflict { at.id() } else { loops::back_target(at.step) };
            Decided::new(signal(Decision::Loop), Course::LoopBack(target.clone()), audit)
        }
        Choice::Ours | Choice::Theirs | Choice::Edit => {
            Decided::new(signal(Decision::Loop), Course::LoopBack(at.id().clone()), audit)
        }
        Choice::Stop => {
            let mut decided = Decided::new(signal(Decision::Terminate), Course::Stop, audit);
            decided.end = Some(stopped(at.step, &answered.by.actor));
            decided
        }
        _ => Decided::new(signal(Decision::Advance), route::onward(at), audit),
    };
    decided.answer = Some(answered.interrupt.clone());
    decided
}

fn stopped(step: &Step, actor: &str) -> RunEnded {
    RunEnded::new(
        EndStatus::Failed,
        TerminalReason::ToolFailedFatally,
        format!("Stopped at step `{}` by {actor}", step.id),
        Some(step.id.clone()),
    )
}
