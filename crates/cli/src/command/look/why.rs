//! `envoi why`: why a run stands as it does, then its decisions, one after the other; with `--all` also the rules that did not
//! decide. For programs they are the events themselves.

use crate::{
    process::{clock, failure::Failure, invocation, output, stderr, terminal},
    store::{home::Home, select, standing::waiting_for},
    text::{columns::prose, diff, location::Location},
    view::{
        describe::{self, flow_of, goals, has_items, model_call, stopping},
        questions::open,
    },
};
use envoi_api::{cause::failure, event, words::plain};
use envoi_contract::json::Value;
use envoi_journal::{EventFilter, Reader};
use envoi_kernel::{
    Event, Record, Run, Status,
    event::{
        AttemptSettled, CallOutcome, Correction, Course, Done, EndStatus, InterruptAnswered, Routed,
        RunEnded, StepsGivenUp, TimerSet,
    },
    ids::{RunId, Seq, StepId, VisitId},
};
use std::{collections::BTreeSet, fmt::Write as _};

pub(crate) fn why(home: &Home, run: Option<&str>, which: &Which<'_>) -> Result<u8, Failure> {
    let (_, reader) = home.reader()?;
    let id = select::run_or_newest(&reader, run)?;
    print(&reader, &id, which, home.json)
}

/// Decisions that people see without `--limit`.
const MOST_SHOWN: usize = 200;

/// Which decisions are printed, and how much of each.
pub(crate) struct Which<'a> {
    /// Only those of this place.
    pub(crate) step: Option<&'a str>,
    /// Only the newest; 0: all.
    pub(crate) limit: Option<usize>,
    /// Also the rules that decided, and those that did not.
    pub(crate) all: bool,
}

/// Prints the decisions of a run: for programs, the events that `explainRun` of REST shows. Only those of a step, and only the
/// newest, where that is wanted.
pub(crate) fn print(reader: &Reader, id: &RunId, which: &Which<'_>, json: bool) -> Result<u8, Failure> {
    let Which { step, limit, all } = *which;
    let records = reader.records(id, 0, None).map_err(Failure::store)?;
    let place = step.map(Location::new);
    let events: Vec<&Record> =
        records.iter().filter(|record| concerns(&record.event, place.as_ref())).collect();
    let most = match limit {
        // As for `envoi show`, a limit of 0 is none.
        Some(0) => usize::MAX,
        Some(limit) => limit,
        None if json => usize::MAX,
        None => MOST_SHOWN,
    };
    let newest = |mut all: Vec<String>| {
        let earlier = all.len().saturating_sub(most);
        all.drain(..earlier);
        (earlier, all)
    };
    if json {
        let wanted: BTreeSet<Seq> = events.iter().map(|record| record.seq).collect();
        let texts = reader.event_texts(id, 0, u32::MAX, usize::MAX, EventFilter::Deciding);
        let texts = texts.map_err(Failure::store)?.into_iter().filter(|text| wanted.contains(&text.seq));
        let (_, rows) = newest(texts.map(|text| event::text(text.json)).collect());
        return output::data(&format!("[{}]\n", rows.join(","))).map(|()| 0);
    }
    let texts = events.iter().map(|record| as_text(record, &records, all)).filter(|text| !text.is_empty());
    let (earlier, mut texts) = newest(texts.collect());
    // A limit that was given is known; the usual one is not, so a line says it.
    if earlier > 0 && limit.is_none() {
        texts.insert(0, format!("… and {earlier} earlier; --limit N shows more, --limit 0 all\n"));
    }
    if step.is_none() && limit.is_none_or(|limit| limit == 0) {
        let run = envoi_engine::load_run(reader, id).ok();
        let answer = run.as_ref().map(answer).unwrap_or_default();
        // The first line, the attempt and its step already state why it failed.
        if let (Some(Status::Ended(ended)), Some(last)) = (run.as_ref().map(Run::status), texts.last_mut())
            && ended.status == EndStatus::Failed
            && *last == end(&ended, true)
        {
            *last = end(&ended, false);
        }
        texts.insert(0, answer);
    }
    let text = texts.concat();
    if !all && events.iter().any(|record| matches!(record.event, Event::Routed(_))) {
        stderr::line(format_args!("{} why {id} --all shows the rule of each decision", invocation::envoi()));
    }
    output::data(&diff::lines(&text)).map(|()| 0)
}

/// Why the run stands as it does, in a line or two: what most people want to know.
fn answer(run: &Run) -> String {
    let questions: Vec<String> =
        open(run).iter().map(|raised| format!("{}: {}", raised.visit, raised.question)).collect();
    match run.status() {
        Status::Ended(ended) => format!("{}: {}\n\n", ended.status.word(), failure(&ended.reason)),
        Status::Waiting { .. } if !questions.is_empty() => {
            let text = format!("waiting: {}\n\n", questions.join("\n         "));
            prose(&text, terminal::columns_of_stdout())
        }
        _ => String::new(),
    }
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

/// That the files were set back before an attempt.
fn set_back(settled: &AttemptSettled) -> String {
    settled.set_back.as_ref().map_or_else(String::new, |set_back| {
        let from = set_back.from;
        let to = set_back.to;
        format!("{}  files set back\n    from: {from}\n    to:   {to}\n", settled.attempt)
    })
}

/// One of `records` in lines.
fn as_text(record: &Record, records: &[Record], all: bool) -> String {
    let at = clock::local(record.at);
    match &record.event {
        Event::Routed(routed) => decision(routed, audit(routed, record.seq, records), all),
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
            let failed = format!("{}  failed\n    {}\n", settled.attempt, why.replace('\n', "\n    "));
            set_back(settled) + &failed
        }
        Event::AttemptSettled(settled) => set_back(settled),
        Event::ModelCallEnded(ended) if ended.outcome != CallOutcome::Ok => {
            let of = ended.attempt.as_ref().map_or_else(|| "the run".to_owned(), ToString::to_string);
            format!("{of}  {} ({})\n", model_call(ended), ended.call)
        }
        Event::TimerSet(TimerSet { visit, due, account: Some(wait), .. }) => {
            format!("{visit}  {}\n", waiting_for(&wait.account, wait.resets_at, *due))
        }
        Event::AccountsTried(tried) => {
            let why = tried.why.as_deref().map_or_else(String::new, |why| format!(": {why}"));
            format!(
                "{} tried before its time by {} at {at}{why}\n",
                tried.accounts.join(", "),
                tried.by.actor
            )
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
            let where_to = crate::view::reopening::of(records, record.seq)
                .map(|reopening| reopening.describe())
                .unwrap_or_default();
            format!("reopened {where_to} at {at}{why}\n")
        }
        Event::CorrectionRequested(wanted) => {
            format!("correction of the flow requested by {} at {}{}\n", wanted.by.actor, at, because(wanted))
        }
        Event::FlowCorrected(correction) => {
            let by = &correction.by.actor;
            let before = correction.before;
            let after = correction.after;
            let from = correction.from.as_ref().map_or_else(String::new, |step| format!(", from {step} on"));
            let why = because(correction);
            format!("flow corrected by {by} at {at}{from}{why}\n    before: {before}\n    after:  {after}\n")
        }
        Event::FilesRestoring(wanted) => {
            let why = wanted.why.as_deref().map_or_else(String::new, |why| format!(": {why}"));
            let what =
                wanted.folder.as_ref().map_or_else(|| "set back".to_owned(), |at| format!("changed in {at}"));
            format!(
                "files {what} by {} at {at}{why}\n    from: {}\n    to:   {}\n",
                wanted.by.actor, wanted.from, wanted.to
            )
        }
        Event::FilesKeptAsTheyWere(kept) => format!("files kept as they were: {}\n", kept.reason),
        Event::CorrectionDropped(dropped) => format!("correction dropped: {}\n", dropped.reason),
        Event::RunStarted(started) => started.part.as_ref().map_or_else(String::new, |part| {
            format!("a part of the flow, chosen by {} at {at}: {}\n", started.by.actor, describe::part(part))
        }),
        Event::RunForked(forked) => {
            let why = forked.why.as_deref().map_or_else(String::new, |why| format!(": {why}"));
            let by = &forked.by.actor;
            format!("forked from {} at {} by {by} at {at}{why}\n", forked.from, forked.step)
        }
        Event::RunEnded(ended) => end(ended, true),
        _ => String::new(),
    }
}

fn end(ended: &RunEnded, with_reason: bool) -> String {
    let reason = if with_reason { format!(": {}", ended.reason) } else { String::new() };
    format!("{} ({}){reason}\n", ended.status.word(), ended.terminal_reason)
}

fn because(correction: &Correction) -> String {
    correction.why.as_deref().map_or_else(String::new, |why| format!(": {why}"))
}

fn without(given: &StepsGivenUp) -> String {
    let steps = given.steps.iter().map(StepId::as_str).collect::<Vec<_>>().join(", ");
    let dot = if given.scope.is_empty() { "" } else { "." };
    format!("{}{dot}{}  goes on without {steps}", given.scope, given.by)
}

/// Why a visit leads where it does: the hand-off that follows has it, unless the event itself does.
fn audit<'r>(routed: &'r Routed, seq: Seq, records: &'r [Record]) -> &'r Value {
    let later = records.iter().filter(|record| record.seq > seq);
    let of_visit = |record: &'r Record| match &record.event {
        Event::HandoffWritten(written) if written.visit == routed.visit => {
            Some(&written.handoff.routing_audit)
        }
        _ => None,
    };
    if routed.audit.is_null() {
        later.filter_map(of_visit).next().unwrap_or(&routed.audit)
    } else {
        &routed.audit
    }
}

fn decision(routed: &Routed, audit: &Value, all: bool) -> String {
    let signal = &routed.signal;
    let mut text = format!("{}  {}: {}\n", routed.visit, course(&routed.course), signal.reason);
    if !all {
        return text;
    }
    if let Some(row) = audit.get("row").and_then(Value::as_str) {
        let because = audit.get("fired_because").map(plain).unwrap_or_default();
        // A String takes everything that is written to it.
        let decision = signal.decision.orchestrator_word();
        let confidence = signal.confidence.as_str();
        let _ = writeln!(text, "    rule {row} applies ({decision}, confidence {confidence}): {because}");
    }
    let passed = audit.get("passed_over").and_then(Value::as_object);
    for (row, why) in passed.into_iter().flat_map(|members| members.iter()) {
        let _ = writeln!(text, "      rule {row} does not: {}", plain(why));
    }
    text
}

/// What follows from a decision, in words.
pub(crate) fn course(course: &Course) -> String {
    match course {
        Course::Enter(step) => format!("on to {step}"),
        Course::Round(step) => format!("the next round, from {step}"),
        Course::LoopBack(step) => format!("back to {step}"),
        Course::Done(Done::Passed) => "done".to_owned(),
        Course::Done(Done::Skipped) => "not to be done".to_owned(),
        Course::Done(Done::Taken) => "done in another run".to_owned(),
        Course::Done(Done::Failed) => "failed".to_owned(),
        Course::Gathered => "done".to_owned(),
        Course::Complete => "the end".to_owned(),
        Course::Hold => "waits for a person".to_owned(),
        Course::Stop => "stops".to_owned(),
    }
}
