//! `envoi why`: the decisions of a run, one after the other, with the rows of the table that did not fire.

use crate::{diff, failure::Failure, home::Home, narrate::plain, output, select};
use envoi_contract::json::Value;
use envoi_kernel::{
    Event, Record,
    event::{Course, Done, InterruptAnswered, Routed},
    ids::StepId,
};
use serde_json::json;
use std::fmt::Write as _;

pub(crate) fn why(home: &Home, run: Option<&str>, step: Option<&str>) -> Result<u8, Failure> {
    let (_, reader) = home.reader()?;
    let id = select::run_or_newest(&reader, run)?;
    let records = reader.records(&id, 0, None).map_err(Failure::store)?;
    let told: Vec<&Record> = records.iter().filter(|record| concerns(&record.event, step)).collect();
    let text = if home.json {
        let decisions: Vec<_> = told.iter().filter_map(|record| as_json(record, &records)).collect();
        format!("{}\n", serde_json::Value::from(decisions))
    } else {
        diff::lines(&told.iter().map(|record| as_text(record, &records)).collect::<String>())
    };
    output::data(&text).map(|()| 0)
}

fn concerns(event: &Event, step: Option<&str>) -> bool {
    let Some(step) = step else { return true };
    let is = |id: &StepId| id.as_str() == step;
    match event {
        Event::Routed(routed) => is(&routed.visit.step),
        Event::AttemptSettled(settled) => is(&settled.attempt.visit.step),
        Event::TimerSet(timer) => is(&timer.visit.step),
        Event::InterruptRaised(raised) => is(&raised.visit.step),
        Event::RunReopened(reopened) => is(&reopened.step),
        _ => false,
    }
}

/// One of `records` in lines.
fn as_text(record: &Record, records: &[Record]) -> String {
    match &record.event {
        Event::Routed(routed) => decision(routed),
        Event::AttemptSettled(settled) if !settled.ok => {
            let error = settled.error.as_ref();
            let why = error.map_or_else(String::new, |error| format!("{}: {}", error.code, error.message));
            format!("{}  failed\n    {}\n", settled.attempt, why.replace('\n', "\n    "))
        }
        Event::TimerSet(timer) => format!("{}  is tried again at {}\n", timer.visit, timer.due),
        Event::InterruptRaised(raised) => format!("{}  asked: {}\n", raised.visit, raised.question),
        Event::InterruptAnswered(answered) => {
            let InterruptAnswered { choice, by, channel, .. } = answered.as_ref();
            format!("answered: {} by {} ({channel}) at {}\n", choice.word(), by.actor, record.at)
        }
        Event::InterruptExpired(_) => format!("nobody answered in time, at {}\n", record.at),
        Event::LimitsRaised(raised) => {
            let why = raised.why.as_deref().map_or_else(String::new, |why| format!(": {why}"));
            format!("limits raised by {} at {}{why}\n", raised.by.actor, record.at)
        }
        Event::CancelRequested(cancel) => format!("cancel asked by {} at {}\n", cancel.by.actor, record.at),
        Event::RunReopened(reopened) => {
            let why = reopened.why.as_deref().map_or_else(String::new, |why| format!(": {why}"));
            let told = crate::reopening::of(records, record.seq)
                .map(|reopening| reopening.told())
                .unwrap_or_default();
            format!("reopened {told} at {}{why}\n", record.at)
        }
        Event::RunEnded(ended) => {
            format!("{} ({}): {}\n", ended.status.word(), ended.terminal_reason, ended.reason)
        }
        _ => String::new(),
    }
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
        Course::Gathered => "one item of several".to_owned(),
        Course::Complete => "the end".to_owned(),
        Course::Hold => "waits for a person".to_owned(),
        Course::Stop => "stops".to_owned(),
    }
}

fn as_json(record: &Record, records: &[Record]) -> Option<serde_json::Value> {
    let parsed =
        |value: &Value| serde_json::from_str::<serde_json::Value>(&value.compact()).unwrap_or_default();
    Some(match &record.event {
        Event::Routed(routed) => json!({
            "event": "routed", "at": record.at.to_string(), "visit": routed.visit.to_string(),
            "signal": parsed(&routed.signal.orchestrator(None)), "then": course(&routed.course),
            "audit": parsed(&routed.audit),
        }),
        Event::RunEnded(ended) => json!({
            "event": "run_ended", "at": record.at.to_string(), "status": ended.status.word(),
            "terminal_reason": ended.terminal_reason, "reason": ended.reason,
        }),
        Event::AttemptSettled(settled) if !settled.ok => json!({
            "event": "attempt_failed", "at": record.at.to_string(), "attempt": settled.attempt.to_string(),
            "code": settled.error.as_ref().map(|error| error.code.clone()),
            "message": settled.error.as_ref().map(|error| error.message.clone()),
        }),
        Event::InterruptRaised(raised) => json!({
            "event": "asked", "at": record.at.to_string(), "visit": raised.visit.to_string(), "question": raised.question,
        }),
        Event::InterruptAnswered(answered) => json!({
            "event": "answered", "at": record.at.to_string(), "choice": answered.choice.word(), "by": answered.by.actor,
            "channel": answered.channel,
        }),
        Event::InterruptExpired(expired) => json!({
            "event": "expired", "at": record.at.to_string(), "interrupt": expired.interrupt.as_str(),
        }),
        Event::LimitsRaised(raised) => json!({
            "event": "limits_raised", "at": record.at.to_string(), "by": raised.by.actor, "why": raised.why,
        }),
        Event::RunReopened(reopened) => json!({
            "event": "reopened", "at": record.at.to_string(), "step": reopened.step.as_str(), "by": reopened.by.actor,
            "why": reopened.why, "steps": crate::reopening::of(records, record.seq).map(|reopening| reopening.steps),
        }),
        _ => return None,
    })
}
