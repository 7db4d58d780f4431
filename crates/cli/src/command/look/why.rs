//! `envoi why`: explains the state of a run, then lists its decisions in order. With `--all`, also the rules
//! that did not apply. Programs get the events themselves.

use crate::{
    process::{clock, failure::Failure, invocation, output, stderr, terminal},
    store::{home::Home, select, standing::waiting_for},
    text::{
        columns::prose,
        diff::{self, printable},
        location::Location,
    },
    view::{
        describe::{self, flow_of, goals, has_items, model_call, stopping},
        questions::open,
        reopening,
    },
};
use envoi_api::{cause::failure, event, words::plain};
use envoi_contract::json::Value;
use envoi_journal::{EventFilter, EventText, ReadError, Reader};
use envoi_kernel::{
    Event, Record, Run, Status,
    event::{
        AttemptSettled, CallOutcome, Correction, Course, Done, EndStatus, InterruptAnswered, LateFile, Reach,
        Routed, RunEnded, StepsGivenUp, TimerSet,
    },
    ids::{RunId, Seq, StepId, VisitId},
};
use serde::{Deserialize, de::IgnoredAny};
use std::{fmt::Write as _, ops::ControlFlow, sync::Arc};

pub(crate) fn why(home: &Home, run: Option<&str>, which: &Which<'_>) -> Result<u8, Failure> {
    let (_, reader) = home.reader()?;
    let id = select::run_or_newest(&reader, run)?;
    print(&reader, &id, which, home.json)
}

/// How many events are read at once.
const PAGE: u32 = 200;

/// The most decisions that people see without `--limit`.
const MOST_SHOWN: usize = 200;

/// Which decisions are printed, and in which detail.
pub(crate) struct Which<'a> {
    /// Only those of this location.
    pub(crate) step: Option<&'a str>,
    /// Only this many of the newest. 0 means all.
    pub(crate) limit: Option<usize>,
    /// Also the rules that applied, and those that did not.
    pub(crate) all: bool,
}

/// Prints the decisions of a run. Programs get the events that `explainRun` of the REST API returns. `which`
/// can select one step and only the newest decisions.
pub(crate) fn print(reader: &Reader, id: &RunId, which: &Which<'_>, json: bool) -> Result<u8, Failure> {
    let Which { step, limit, all } = *which;
    let place = step.map(Location::new);
    let most = match limit {
        // As for `envoi show`, a limit of 0 means no limit.
        Some(0) => usize::MAX,
        Some(limit) => limit,
        None if json => usize::MAX,
        None => MOST_SHOWN,
    };
    if json {
        let rows = rows(reader, id, place.as_ref(), most).map_err(Failure::store)?;
        return output::data(&format!("[{}]\n", rows.join(","))).map(|()| 0);
    }
    let newest = Newest { place: place.as_ref(), most, all };
    let Decisions { newest_first, has_earlier, has_rule } =
        newest.read(reader, id).map_err(Failure::store)?;
    let mut texts: Vec<String> = newest_first.into_iter().rev().collect();
    // The caller knows an explicit limit. The default limit is stated in a line.
    if has_earlier && limit.is_none() {
        texts.insert(0, "… and earlier ones; --limit N shows more, --limit 0 all\n".to_owned());
    }
    if step.is_none() && limit.is_none_or(|limit| limit == 0) {
        let loaded = envoi_engine::load_without_envelope(reader, id);
        let answer = match &loaded {
            Ok(run) => answer(run),
            Err(refused) => format!("how it stands is not known: {}\n", refused.message),
        };
        let run = loaded.ok();
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
    if !all && has_rule {
        stderr::line(format_args!("{} why {id} --all shows the rule of each decision", invocation::envoi()));
    }
    output::data(&diff::lines(&text)).map(|()| 0)
}

/// The deciding events for programs: the newest at this location, oldest first.
fn rows(
    reader: &Reader,
    id: &RunId,
    place: Option<&Location>,
    most: usize,
) -> Result<Vec<String>, ReadError> {
    let mut rows = Vec::new();
    let mut before = None;
    while rows.len() < most {
        let page = reader.event_texts_back(id, before, PAGE, EventFilter::Deciding)?;
        let Some(first) = page.last().map(|text| text.seq) else { break };
        before = Some(first);
        for text in page {
            let record = decoded(&text)?;
            if rows.len() < most && concerns(&record.event, place) {
                rows.push(event::shown(&record));
            }
        }
    }
    rows.reverse();
    Ok(rows)
}

fn decoded(text: &EventText) -> Result<Record, ReadError> {
    serde_json::from_str(&text.json)
        .map_err(|error| ReadError::Damaged { what: format!("event {}", text.seq), source: Arc::new(error) })
}

/// Decisions as lines of text.
#[derive(Default)]
struct Decisions {
    newest_first: Vec<String>,
    /// Whether there are older decisions that were not read.
    has_earlier: bool,
    /// Whether a rule made one of these decisions.
    has_rule: bool,
}

/// Which decisions people want to see.
struct Newest<'a> {
    place: Option<&'a Location>,
    most: usize,
    all: bool,
}

impl Newest<'_> {
    /// Reads the run from its end, and stops at the first decision that is not shown. Events without output
    /// are not decoded.
    fn read(&self, reader: &Reader, id: &RunId) -> Result<Decisions, ReadError> {
        let mut found = Decisions::default();
        reader.events_back(id, None, |event| {
            if !is_silent(event.name(), || event.members())? {
                self.take(&mut found, reader, id, &event.record()?)?;
            }
            Ok(if found.has_earlier { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })?;
        Ok(found)
    }

    fn take(
        &self,
        found: &mut Decisions,
        reader: &Reader,
        id: &RunId,
        record: &Record,
    ) -> Result<(), ReadError> {
        if !concerns(&record.event, self.place) {
            return Ok(());
        }
        let is_shown = found.newest_first.len() < self.most;
        let beside = if is_shown { Beside::of(reader, id, record, self.all)? } else { Beside::default() };
        let text = as_text(record, &beside, self.all);
        if text.is_empty() {
            return Ok(());
        }
        if is_shown {
            found.has_rule |= matches!(record.event, Event::Routed(_));
            found.newest_first.push(text);
        } else {
            found.has_earlier = true;
        }
        Ok(())
    }
}

/// The fields of a settled attempt that decide whether it has lines.
#[derive(Deserialize)]
struct Settled {
    ok: bool,
    #[serde(default)]
    given_up: bool,
    #[serde(default)]
    set_back: Option<IgnoredAny>,
    #[serde(default)]
    cache: Option<IgnoredAny>,
}

/// Whether an event has no lines. Decides without decoding, because a run has many such events.
fn is_silent<E>(name: &str, settled: impl FnOnce() -> Result<Settled, E>) -> Result<bool, E> {
    Ok(match name {
        "attempt_started" | "handoff_written" | "step_entered" | "flow_returned" | "timer_fired"
        | "model_call_started" => true,
        "attempt_settled" => {
            matches!(settled()?, Settled { ok: true, given_up: false, set_back: None, cache: None })
        }
        _ => false,
    })
}

/// Data from other events that the lines of an event need.
#[derive(Debug, Default)]
struct Beside {
    /// Why the visit was routed there.
    audit: Value,
    /// The steps that the reopening opened.
    reopened: String,
}

impl Beside {
    fn of(reader: &Reader, id: &RunId, record: &Record, all: bool) -> Result<Self, ReadError> {
        Ok(match &record.event {
            Event::Routed(routed) if all => {
                Self { audit: audit(routed, record.seq, reader, id)?, ..Self::default() }
            }
            Event::RunReopened(_) => {
                let records = reopening::commit_of(reader, id, record)?;
                let reopening = reopening::of(&records, record.seq);
                let reopened = reopening.map(|reopening| reopening.describe()).unwrap_or_default();
                Self { reopened, ..Self::default() }
            }
            _ => Self::default(),
        })
    }
}

/// Explains the state of the run in a line or two, which is enough for most people.
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

/// Says that the files were set back before an attempt.
fn set_back(settled: &AttemptSettled) -> String {
    settled.set_back.as_ref().map_or_else(String::new, |set_back| {
        let from = set_back.from;
        let to = set_back.to;
        let late = written_late(&set_back.late);
        format!("{}  files set back\n    from: {from}\n    to:   {to}\n{late}", settled.attempt)
    })
}

/// Describes how the cache was used.
fn cached(settled: &AttemptSettled) -> String {
    let Some(cache) = settled.cache.as_deref() else { return String::new() };
    let attempt = &settled.attempt;
    let mut text = match &cache.from {
        Some(from) => format!("{attempt}  from the cache: {} of run {}\n", from.attempt, from.run),
        None => format!("{attempt}  not from the cache\n"),
    };
    let said = [("", &cache.missed), ("its result is not kept: ", &cache.not_kept)];
    for (before, why) in said {
        text += &why.as_ref().map_or_else(String::new, |why| format!("    {before}{why}\n"));
    }
    let stood = cache.stood.map(|stood| format!("    what stood in the place of its files: {stood}\n"));
    text + &stood.unwrap_or_default() + &written_late(&cache.late)
}

/// Describes what a program has written to files after they were put aside.
fn written_late(late: &[LateFile]) -> String {
    let line = |file: &LateFile| match file.digest {
        Some(digest) => {
            format!("    written to `{}` when it had been put aside: {digest}\n", printable(&file.path))
        }
        None => {
            format!(
                "    written to `{}` when it had been put aside; it is too large to be kept\n",
                printable(&file.path)
            )
        }
    };
    late.iter().map(line).collect()
}

/// Formats one record as lines.
fn as_text(record: &Record, beside: &Beside, all: bool) -> String {
    let at = clock::local(record.at);
    match &record.event {
        Event::Routed(routed) => decision(routed, &beside.audit, all),
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
            set_back(settled) + &cached(settled) + &failed
        }
        Event::AttemptSettled(settled) => set_back(settled) + &cached(settled),
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
            format!("reopened {} at {at}{why}\n", beside.reopened)
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
            let what = match &wanted.reach {
                Reach::Workspace => "set back".to_owned(),
                Reach::Folder(folder) => format!("changed in {folder}"),
                Reach::Paths { paths } => format!("set back ({})", describe::paths(paths)),
            };
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

/// Returns why a visit was routed there. The hand-off after the event has the reason, unless the event itself
/// has it.
fn audit(routed: &Routed, seq: Seq, reader: &Reader, id: &RunId) -> Result<Value, ReadError> {
    let newest = match reader.handoff_row(id, &routed.visit) {
        Err(ReadError::Missing { .. }) => None,
        row => Some(row?.seq),
    };
    if !routed.audit.is_null() || newest.is_none_or(|newest| newest < seq) {
        return Ok(routed.audit.clone());
    }
    // The hand-off is usually the next event, so read one event first.
    let mut from = seq.saturating_add(1);
    let mut most = 1;
    loop {
        let page = reader.records(id, from, Some(most))?;
        let Some(last) = page.last() else { return Ok(Value::Null) };
        (from, most) = (last.seq.saturating_add(1), PAGE);
        for record in page {
            match record.event {
                Event::HandoffWritten(written) if written.visit == routed.visit => {
                    return Ok(written.handoff.routing_audit);
                }
                _ => {}
            }
        }
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
        // Writing to a `String` cannot fail.
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

/// Describes what follows from a decision.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Records of every type, as journals have them.
    const STORED: &str = include_str!("../../../../kernel/tests/it/stored/records.jsonl");

    #[test]
    fn the_lines_of_an_event_agree_with_what_its_text_alone_shows() {
        let mut seen = [0, 0];
        for line in STORED.lines() {
            let record: Record = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
            let settled = || serde_json::from_str(&record.event.kept().unwrap());
            let is_empty = as_text(&record, &Beside::default(), false).is_empty();
            let is_silent = is_silent(record.event.name(), settled).unwrap();
            assert!(is_empty || !is_silent, "{line}");
            seen[usize::from(is_silent)] += 1;
        }
        assert!(seen.iter().all(|seen| *seen > 0), "both are among the records: {seen:?}");
    }
}
