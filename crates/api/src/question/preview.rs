//! The consequences of each possible answer. The run decides as for a real answer, but nothing is committed.

use envoi_contract::{
    envelope::InterruptKind,
    handoff::Status,
    json::{Object, Value},
};
use envoi_kernel::{
    Event, Flow, Input, Record, Refusal, Run,
    event::{About, Choice, Course, Done, InterruptRaised, Routed},
    ids::{Principal, StepId},
    input::Answer,
    ledger::{Cost, Ledger},
};

/// Each choice that the question accepts, and its consequence if this person makes it.
#[must_use]
pub fn choices(run: &Run, raised: &InterruptRaised, by: &Principal) -> Vec<(Choice, String)> {
    let with_lead = |choice| (choice, lead(run, raised, choice, by));
    run.accepts(raised).into_iter().map(with_lead).collect()
}

/// The reason why this person may not answer: the question is for others, or they have already answered.
#[must_use]
pub fn not_for(run: &Run, raised: &InterruptRaised, by: &Principal) -> Option<String> {
    let refused = |choice| tried(run, raised, choice, by).err();
    run.accepts(raised).into_iter().filter_map(refused).find_map(|refusal| match refusal {
        Refusal::NotByStarter { .. } | Refusal::AlreadyVoted { .. } => Some(refusal.to_string()),
        _ => None,
    })
}

/// The consequence if no answer is given.
#[must_use]
pub fn silence(run: &Run, raised: &InterruptRaised) -> Option<String> {
    let at = raised.expires_at?;
    let expire = Input::Expire { interrupt: raised.interrupt.clone() };
    let records = run.decide(expire, None, at).ok()?;
    leads(run, &records).or_else(|| (raised.about == About::Agent).then(|| NO_CALL.to_owned()))
}

/// The consequence if an agent may not make a tool call.
const NO_CALL: &str = "the agent is refused this call, and goes on";

/// The consequence if an attempt in doubt is run again.
const DONE_TWICE: &str = "the step runs again; what the attempt has done outside may then be done twice";

/// True if a person decides about a tool call.
fn is_of_a_call(raised: &InterruptRaised) -> bool {
    raised.about == About::Agent && raised.kind() == InterruptKind::Confirmation
}

fn lead(run: &Run, raised: &InterruptRaised, choice: Choice, by: &Principal) -> String {
    match tried(run, raised, choice, by) {
        // The step is entered again in each case. The text describes what it then does.
        Ok(_) if raised.about == About::Conflict && of_conflict(choice).is_some() => {
            of_conflict(choice).unwrap_or_default().to_owned()
        }
        // It is not known what the attempt has done, so the text warns of the possible repetition.
        Ok(_) if raised.about == About::InDoubt && choice == Choice::Rerun => DONE_TWICE.to_owned(),
        Ok(records) => leads(run, &records).unwrap_or_else(|| match choice {
            Choice::Approve if is_of_a_call(raised) => "the agent makes this call, and goes on".to_owned(),
            Choice::Deny if is_of_a_call(raised) => NO_CALL.to_owned(),
            _ => "the run goes on".to_owned(),
        }),
        Err(Refusal::PastBound { bound }) => format!("not possible: {bound} is used up"),
        Err(refusal) => format!("not possible: {refusal}"),
    }
}

/// The consequence for items in conflict.
const fn of_conflict(choice: Choice) -> Option<&'static str> {
    match choice {
        Choice::Again => Some("these items are done again, from what the others have left"),
        Choice::Ours => Some("of the lines in conflict, those that are there stay; no item is done again"),
        Choice::Theirs => {
            Some("of the lines in conflict, those of the items are taken; no item is done again")
        }
        Choice::Edit => Some("the files become what you have made of them; no item is done again"),
        Choice::Proceed => {
            Some("the run goes on without these items: all that they have changed is left out")
        }
        _ => None,
    }
}

fn tried(
    run: &Run,
    raised: &InterruptRaised,
    choice: Choice,
    by: &Principal,
) -> Result<Vec<Record>, Refusal> {
    // Both choices have the same consequence, and the edits are not known yet.
    let choice = if choice == Choice::Edit { Choice::Ours } else { choice };
    let asks = run.step(&raised.visit).and_then(|step| step.asks());
    let form = asks.filter(|_| raised.about == About::Ask).and_then(|plan| plan.schema.as_ref());
    let says_yes = matches!(choice, Choice::Approve | Choice::Respond);
    let answer = Answer {
        text: Some("?".to_owned()),
        data: form.filter(|_| says_yes).map(|_| Value::Object(Object::default())),
        raise: (choice == Choice::Raise).then(|| one_more(raised)),
        ..Answer::new(raised.interrupt.clone(), choice, by.clone())
    };
    run.decide(Input::Answer(Box::new(answer)), None, raised.raised_at)
}

/// One cent.
const CENT_NANO_USD: u64 = 10_000_000;

/// The smallest amount by which a limit can be raised.
fn one_more(raised: &InterruptRaised) -> Ledger {
    amount(raised, 1, Cost::from_nano_usd(CENT_NANO_USD))
}

/// The amount for the limit that the question is about.
#[must_use]
pub fn amount(raised: &InterruptRaised, count: u64, cost: Cost) -> Ledger {
    match raised.evidence.get("bound").and_then(Value::as_str).unwrap_or("") {
        "agent_hops" => Ledger { agent_hops: count, ..Ledger::default() },
        "llm_calls" => Ledger { llm_calls: count, ..Ledger::default() },
        "iterations" => Ledger { iterations: count, ..Ledger::default() },
        "rounds" => Ledger { rounds: count, ..Ledger::default() },
        "wall_time" => Ledger { wall_time_ms: count, ..Ledger::default() },
        "waiting" => Ledger { waiting_ms: count, ..Ledger::default() },
        "cost_usd" => Ledger { cost, ..Ledger::default() },
        _ => Ledger::default(),
    }
}

fn leads(run: &Run, records: &[Record]) -> Option<String> {
    let vote = records.iter().any(|record| matches!(record.event, Event::VoteCast(_)));
    if vote {
        return Some("counts as one approval; others have to approve too".to_owned());
    }
    let end = records.iter().find_map(|record| match &record.event {
        Event::RunEnded(ended) => {
            Some(format!("the run ends: {} ({})", ended.status.word(), ended.terminal_reason.word()))
        }
        _ => None,
    });
    let routed = records.iter().find_map(|record| match &record.event {
        Event::Routed(routed) => Some(routed),
        _ => None,
    });
    let Some(Routed { visit, course, .. }) = routed.map(AsRef::as_ref) else { return end };
    let flow = run.flow_of(visit);
    match course {
        Course::Enter(step) if flow.is_last_resort(step) => {
            Some(format!("goes to step `{step}`, after which the run ends as failed"))
        }
        Course::Enter(step) => Some(format!("goes on with step `{step}`{}", title(flow, step))),
        Course::Round(step) => Some(format!("begins another round at step `{step}`")),
        Course::LoopBack(step) => Some(format!("goes back to step `{step}`")),
        Course::Done(done) => end.or_else(|| beside_others(*done, records)),
        Course::Gathered => None,
        Course::Complete => Some("the run is complete".to_owned()),
        Course::Hold => Some("asks again".to_owned()),
        Course::Stop => end,
    }
}

/// The consequence of the end of a step while other steps are in progress.
fn beside_others(done: Done, records: &[Record]) -> Option<String> {
    let is_skipped = |step: &StepId| {
        records.iter().any(|record| match &record.event {
            Event::HandoffWritten(written) => {
                written.visit.step == *step && written.handoff.status == Status::Skipped
            }
            _ => false,
        })
    };
    let entered = records.iter().filter_map(|record| match &record.event {
        Event::StepEntered(entered) if !is_skipped(&entered.step) => Some(format!("`{}`", entered.step)),
        _ => None,
    });
    let entered = entered.collect::<Vec<_>>();
    let sequel = match entered.as_slice() {
        [] => None,
        [step] => Some(format!("goes on with step {step}")),
        steps => Some(format!("goes on with steps {}", steps.join(", "))),
    };
    match (done, sequel) {
        (Done::Failed, None) => Some("the step fails; other branches go on, then the run ends".to_owned()),
        (Done::Failed, Some(sequel)) => Some(format!("the step fails, and the run {sequel}")),
        (Done::Passed | Done::Skipped | Done::Taken, None) => {
            Some("is done; what needs it waits for other branches".to_owned())
        }
        (Done::Passed | Done::Skipped | Done::Taken, sequel) => sequel,
    }
}

/// A suffix for the step's name if the step asks another person.
fn title(flow: &Flow, step: &StepId) -> &'static str {
    if flow.step(step).is_some_and(|step| step.asks().is_some()) { ", which asks" } else { "" }
}
