//! `envoi why`: the decisions of a run, one after the other, with the rows of the table that did not fire. For programs they are
//! the events themselves.

use crate::{
    process::{clock, failure::Failure, output},
    store::{home::Home, select},
    text::{diff, location::Location, words::plain},
    view::describe::{flow_of, goals, has_items, model_call, stopping},
};
use envoi_api::event;
use envoi_contract::json::Value;
use envoi_journal::{EventFilter, Reader};
use envoi_kernel::{
    Event, Record,
    event::{CallOutcome, Correction, Course, Done, InterruptAnswered, Routed, StepsGivenUp},
    ids::{RunId, Seq, StepId, VisitId},
};
use std::{collections::BTreeSet, fmt::Write as _};

pub(crate) fn why(
    home: &Home,
    run: Option<&str>,
    which: (Option<&str>, Option<usize>),
) -> Result<u8, Failure> {
    let (_, reader) = home.reader()?;
    let id = select::run_or_newest(&reader, run)?;
    print(&reader, &id, which, home.json)
}

/// Prints the decisions of a run: for programs, the events that `explainRun` of REST shows. Only those of a step, and only the
/// newest, where that is wanted.
pub(crate) fn print(
    reader: &Reader,
    id: &RunId,
    (step, limit): (Option<&str>, Option<usize>),
    json: bool,
) -> Result<u8, Failure> {
    let records = reader.records(id, 0, None).map_err(Failure::store)?;
    let place = step.map(Location::new);
    let told: Vec<&Record> =
        records.iter().filter(|record| concerns(&record.event, place.as_ref())).collect();
    let newest = |mut all: Vec<String>| {
        all.drain(..all.len().saturating_sub(limit.unwrap_or(usize::MAX)));
        all
    };
    if json {
        let wanted: BTreeSet<Seq> = told.iter().map(|record| record.seq).collect();
        let texts = reader.event_texts(id, 0, u32::MAX, usize::MAX, EventFilter::Deciding);
        let texts = texts.map_err(Failure::store)?.into_iter().filter(|text| wanted.contains(&text.seq));
        let rows = newest(texts.map(|text| event::text(text.json)).collect());
        return output::data(&format!("[{}]\n", rows.join(","))).map(|()| 0);
    }
    let texts = told.iter().map(|record| as_text(record, &records)).filter(|text| !text.is_empty());
    output::data(&diff::lines(&newest(texts.collect()).concat())).map(|()| 0)
}

fn concerns(event: &Event, place: Option<&Location>) -> bool {
    let Some(place) = place else { return true };
    let of_step = |scope: &str, step: &StepId| {
        place.names(&VisitId { scope: scope.to_owned(), step: step.clone(), visit: 1 })
    };
    match event {
        Event::Routed(routed) => place.has_visit(&routed.visit),
        Event::AttemptSettled(settled) => place.has_attempt(&settled.attempt),
        Event::ModelCallEnded(ended) => {
            ended.attempt.as_ref().is_some_and(|attempt| place.has_attempt(attempt))
        }
        Event::TimerSet(timer) => place.has_visit(&timer.visit),
        Event::InterruptRaised(raised) => place.has_visit(&raised.visit),
        Event::FannedOut(fanned) => place.has_visit(&fanned.visit),
        Event::FlowEntered(entered) => place.has_visit(&entered.visit),
        Event::GoalsReached(reached) => place.has_visit(&reached.visit),
        Event::StepsGivenUp(given) => {
            given.steps.iter().chain([&given.by]).any(|step| of_step(&given.scope, step))
        }
        Event::RunReopened(reopened) => of_step("", &reopened.step),
        Event::RunForked(forked) => of_step("", &forked.step),
        _ => false,
    }
}

/// One of `records` in lines.
fn as_text(record: &Record, records: &[Record]) -> String {
    let at = clock::local(record.at);
    match &record.event {
        Event::Routed(routed) => decision(routed),
        Event::StepsGivenUp(given) => format!("{}\n", without(given)),
        Event::FannedOut(fanned) => format!("{}  {}\n", fanned.visit, has_items(fanned)),
        Event::FlowEntered(entered) => format!("{}  {}\n", entered.visit, flow_of(entered)),
        Event::RunStopping(end) => format!("{}\n", stopping(end)),
        Event::GoalsReached(reached) => format!("{}  {}\n", reached.visit, goals(&reached.goals)),
        Event::AttemptSettled(settled) if settled.given_up => {
            format!("{}  ended: it had been given up\n", settled.attempt)
        }
        Event::AttemptSettled(settled) if !settled.ok => {
            let error = settled.error.as_ref();
            let why = error.map_or_else(String::new, |error| format!("{}: {}", error.code, error.message));
            format!("{}  failed\n    {}\n", settled.attempt, why.replace('\n', "\n    "))
        }
        Event::ModelCallEnded(ended) if ended.outcome != CallOutcome::Ok => {
            let of = ended.attempt.as_ref().map_or_else(|| "the run".to_owned(), ToString::to_string);
            format!("{of}  {} ({})\n", model_call(ended), ended.call)
        }
        Event::TimerSet(timer) => format!("{}  is tried again at {}\n", timer.visit, clock::local(timer.due)),
        Event::InterruptRaised(raised) => format!("{}  asked: {}\n", raised.visit, raised.question),
        Event::InterruptAnswered(answered) => {
            let InterruptAnswered { choice, by, channel, .. } = answered.as_ref();
            format!("answered: {} by {} ({channel}) at {at}\n", choice.word(), by.actor)
        }
        Event::InterruptExpired(_) => format!("nobody answered in time, at {at}\n"),
        Event::LimitsRaised(raised) => {
            let why = raised.why.as_deref().map_or_else(String::new, |why| format!(": {why}"));
            format!("limits raised by {} at {at}{why}\n", raised.by.actor)
        }
        Event::CancelRequested(cancel) => {
            format!("cancel requested by {} at {at}\n", cancel.by.actor)
        }
        Event::RunReopened(reopened) => {
            let why = reopened.why.as_deref().map_or_else(String::new, |why| format!(": {why}"));
            let told = crate::view::reopening::of(records, record.seq)
                .map(|reopening| reopening.describe())
                .unwrap_or_default();
            format!("reopened {told} at {at}{why}\n")
        }
        Event::CorrectionRequested(wanted) => {
            format!("correction of the flow requested by {} at {}{}\n", wanted.by.actor, at, because(wanted))
        }
        Event::FlowCorrected(correction) => {
            let (by, before, after) = (&correction.by.actor, correction.before, correction.after);
            let from = correction.from.as_ref().map_or_else(String::new, |step| format!(", from {step} on"));
            let why = because(correction);
            format!("flow corrected by {by} at {at}{from}{why}\n    before: {before}\n    after:  {after}\n")
        }
        Event::CorrectionDropped(dropped) => format!("correction dropped: {}\n", dropped.reason),
        Event::RunForked(forked) => {
            let why = forked.why.as_deref().map_or_else(String::new, |why| format!(": {why}"));
            let by = &forked.by.actor;
            format!("forked from {} at {} by {by} at {at}{why}\n", forked.from, forked.step)
        }
        Event::RunEnded(ended) => {
            format!("{} ({}): {}\n", ended.status.word(), ended.terminal_reason, ended.reason)
        }
        _ => String::new(),
    }
}

fn because(correction: &Correction) -> String {
    correction.why.as_deref().map_or_else(String::new, |why| format!(": {why}"))
}

fn without(given: &StepsGivenUp) -> String {
    let steps = given.steps.iter().map(StepId::as_str).collect::<Vec<_>>().join(", ");
    let dot = if given.scope.is_empty() { "" } else { "." };
    format!("{}{dot}{}  goes on without {steps}", given.scope, given.by)
}

fn decision(routed: &Routed) -> String {
    let mut text = format!(
        "{}  {} ({}): {}\n    then: {}\n",
        routed.visit,
        routed.signal.decision.orchestrator_word(),
        routed.signal.confidence.as_str(),
        routed.signal.reason,
        course(&routed.course),
    );
    let audit = &routed.audit;
    if let Some(row) = audit.get("row").and_then(Value::as_str) {
        let because = audit.get("fired_because").map(plain).unwrap_or_default();
        // A String takes everything that is written to it.
        writeln!(text, "    row {row} of the table: {because}").unwrap_or_default();
    }
    let passed = audit.get("passed_over").and_then(Value::as_object);
    for (row, why) in passed.into_iter().flat_map(|members| members.iter()) {
        writeln!(text, "      not {row}: {}", plain(why)).unwrap_or_default();
    }
    text
}

fn course(course: &Course) -> String {
    match course {
        Course::Enter(step) => format!("on to {step}"),
        Course::Round(step) => format!("the next round, from {step}"),
        Course::LoopBack(step) => format!("back to {step}"),
        Course::Done(Done::Passed) => "done".to_owned(),
        Course::Done(Done::Skipped) => "not to be done".to_owned(),
        Course::Done(Done::Failed) => "failed".to_owned(),
        Course::Gathered => "one of several items".to_owned(),
        Course::Complete => "the end".to_owned(),
        Course::Hold => "waits for a person".to_owned(),
        Course::Stop => "stops".to_owned(),
    }
}
