//! `envoi show`: shows one run, its steps, its open questions and its usage.

pub(crate) mod accounts;
mod notices;
mod past;
mod unread;
mod visits;

use crate::{
    process::{clock, environment, failure::Failure, invocation, output, terminal},
    store::{
        home::Home,
        open_restore, select,
        standing::{copy_of, of_a_copy, stands, waiting_for},
    },
    text::{
        columns::{Charset, clip, prose},
        diff,
        duration::between,
        location::Location,
    },
    view::{
        describe::{self, how_to_answer, more_rounds},
        last_words::last_words,
        question,
        questions::open,
        reopening,
    },
};
use envoi_api::{
    amounts::{Amounts, Limits},
    any,
    cause::failure,
    handoff::HandoffRow,
    question::Question,
    run::{Corrected, ImportedFrom, OpenQuestion, Reopened, RunDetail, Stands},
    words::{head, plain},
};
use envoi_contract::{code::Code, digest::Digest};
use envoi_engine::{load_run, load_without_envelope};
use envoi_journal::{Aside, Doing, Found, Imported, Reader, RunRow};
use envoi_kernel::{
    Event, Record, Run, Status,
    event::{Correction, InterruptRaised},
    ids::{AttemptId, RunId, Seq, VisitId},
};
use past::Past;
use std::{
    collections::BTreeSet,
    fmt::Write as _,
    path::{Path, PathBuf},
};

/// The most visits that are shown by default.
const MOST_VISITS: usize = 200;

/// The most events that are read to compute the head of a run for people; this takes some hundredths of a
/// second. Everything else that they see is read from the run's end.
const MOST_SUMMED: Seq = 20_000;

/// Selects what is shown.
pub(crate) enum View {
    Overview {
        /// The most visits.
        visits: usize,
    },
    Envelope,
    Events {
        /// Only this many of the newest.
        limit: Option<usize>,
    },
    Handoff(String),
}

impl View {
    pub(crate) fn of(envelope: bool, events: bool, handoff: Option<String>, limit: Option<usize>) -> Self {
        // A limit of 0 means no limit.
        let limit = limit.map(|limit| if limit == 0 { usize::MAX } else { limit });
        match (envelope, events, handoff) {
            (_, _, Some(step)) => Self::Handoff(step),
            (true, _, _) => Self::Envelope,
            (_, true, _) => Self::Events { limit },
            _ => Self::Overview { visits: limit.unwrap_or(MOST_VISITS) },
        }
    }
}

pub(crate) fn show(home: &Home, run: Option<&str>, view: &View) -> Result<u8, Failure> {
    let (store, reader) = home.reader()?;
    if let (View::Overview { .. }, Some(text)) = (view, run)
        && let Found::Interrupt(interrupt, id) = select::found(&reader, text)?
    {
        return question::show(&reader, &id, &interrupt, &environment::principal(), home.json);
    }
    let id = select::run_or_newest(&reader, run)?;
    let row = envoi_engine::run_row(store.layout(), &reader, &id).map_err(Failure::store)?;
    let held = envoi_engine::is_held(store.layout(), &reader, &row).map_err(Failure::store)?;
    let is_running = |attempt: &AttemptId| held || envoi_engine::is_alive(store.layout(), &id, attempt);
    let has_head = row.ended.is_some() && matches!(view, View::Overview { .. });
    let is_head_left_out = has_head && !home.json && row.next_seq > MOST_SUMMED && row.aside.is_none();
    let wants_head = (has_head && !is_head_left_out).then(|| reader.head(&id));
    let head = wants_head.transpose().map_err(Failure::store)?;
    let imported = reader.imported(&id).map_err(Failure::store)?;
    let own = Own { head, is_head_left_out, imported, copy_of: copy_of(&store) };
    print(&reader, &row, &is_running, &own, view, home.json)
}

/// Details of a run that are neither in its row nor derived from its events.
#[derive(Default)]
pub(crate) struct Own {
    /// The head of the event chain, if the run has ended.
    pub(crate) head: Option<Digest>,
    /// The head was left out because more than [`MOST_SUMMED`] events would have to be read.
    pub(crate) is_head_left_out: bool,
    pub(crate) imported: Option<Imported>,
    /// The original store, if this one is a copy.
    pub(crate) copy_of: Option<PathBuf>,
}

/// Prints the requested view of a run. `row` says which process works on the run. `is_running` says whether a
/// process works on an attempt.
pub(crate) fn print(
    reader: &Reader,
    row: &RunRow,
    is_running: &dyn Fn(&AttemptId) -> bool,
    own: &Own,
    view: &View,
    json: bool,
) -> Result<u8, Failure> {
    let id = &row.run;
    let text = match view {
        View::Events { limit } => return unread::events(reader, row, *limit),
        View::Handoff(step) => output::json(handoff(reader, id, step)?),
        View::Envelope => output::json(load_run(reader, id)?.envelope().to_state_dict().pretty()),
        View::Overview { visits } => match load_without_envelope(reader, id) {
            Ok(run) if json => {
                return output::row(&detail(reader, row, &run, is_running, own)?).map(|()| 0);
            }
            Ok(run) => overview(reader, row, &run, *visits, is_running, own)?,
            Err(refused) => {
                unread::show(reader, row, &refused.message, json)?;
                return Ok(unread::exit_code(row));
            }
        },
    };
    output::data(&text).map(|()| 0)
}

/// The reopenings among these records, oldest first, each with all records of its commit.
fn reopened(reader: &Reader, id: &RunId, notable: &[Record]) -> Result<Vec<Vec<Record>>, Failure> {
    let reopened = notable.iter().filter(|record| matches!(record.event, Event::RunReopened(_)));
    let commits = reopened.map(|record| reopening::commit_of(reader, id, record));
    commits.collect::<Result<_, _>>().map_err(Failure::store)
}

/// Returns the correction if a corrected flow took over with this record.
fn corrected(record: &Record) -> Option<&Correction> {
    match &record.event {
        Event::FlowCorrected(correction) => Some(correction),
        _ => None,
    }
}

/// Returns the newest hand-off at `place`. The name of a step does not include its items. The run's own flow
/// has priority over inner flows. If several locations remain, the caller must name one.
fn handoff(reader: &Reader, id: &RunId, place: &str) -> Result<String, Failure> {
    let hint = |failure: Failure| failure.hint("`envoi show` lists the visits");
    let named = Location::new(place);
    let rows = reader.handoffs(id).map_err(Failure::store)?;
    let mut found: Vec<VisitId> =
        rows.into_iter().map(|row| row.visit).filter(|visit| named.names(visit)).collect();
    let all: BTreeSet<VisitId> = found.iter().cloned().collect();
    found.retain(|visit| visit.item().is_none() || !all.contains(&visit.whole()));
    if found.iter().any(|visit| visit.scope.is_empty()) {
        found.retain(|visit| visit.scope.is_empty());
    }
    let places: BTreeSet<String> = found.iter().map(place_of).collect();
    match found.pop() {
        Some(_) if places.len() > 1 => {
            let places = places.into_iter().collect::<Vec<_>>().join(", ");
            let message = format!("`{place}` is ambiguous; it matches: {places}");
            Err(hint(Failure::new(Code::AmbiguousId, message)))
        }
        Some(visit) => {
            let bytes = reader.handoff_of(id, &visit).map_err(Failure::store)?;
            String::from_utf8(bytes).map_err(Failure::store)
        }
        None => {
            let message = format!("there is no hand-off of `{place}`");
            Err(hint(Failure::new(Code::HandoffNotFound, message)))
        }
    }
}

/// The location of a visit without visit numbers: items are part of it, visits of inner flows are not.
fn place_of(visit: &VisitId) -> String {
    let mut place = String::new();
    let mut segments = visit.scope.split('.').filter(|segment| !segment.is_empty());
    while let Some(segment) = segments.next() {
        place = place + segment + ".";
        if segment.parse::<u64>().is_err() {
            segments.next();
        }
    }
    place + visit.step.as_str()
}

/// Describes the status of the run, and what to do if it does not continue by itself.
fn status_lines(row: &RunRow, status: &str, reason: &str, copy_of: Option<&Path>) -> String {
    let envoi = invocation::envoi();
    let run = &row.run;
    let mut text = match (Stands::from(row), row.doing) {
        (Stands::Stopped, Some(Doing { since, .. })) => {
            let ago = between(since, envoi_engine::now());
            let next = match copy_of {
                Some(_) => String::new(),
                None => format!("; {envoi} resume {run} goes on"),
            };
            format!("status     stopped {ago} ago: nothing works on it{next}\n")
        }
        (Stands::RunningWithoutAnEngine, _) => format!(
            "status     running without an engine: its step still works; {envoi} resume {run} waits for the step and goes on\n"
        ),
        (Stands::WaitingForAccount, _) => format!("status     {}\n", stands(row, envoi_engine::now())),
        _ => format!("status     {status}{reason}\n"),
    };
    if let Some(of) = copy_of.filter(|_| row.ended.is_none()) {
        text.push_str(&format!("copy       {}\n", of_a_copy(of)));
    }
    if let Some(Aside { since, code, reason, .. }) = &row.aside {
        text.push_str(&format!("set aside  since {} ({code}): {reason}\n", clock::local(*since)));
        text.push_str(&format!(
            "           {envoi} repair {run} looks closer; {envoi} resume {run} tries again\n"
        ));
    }
    text
}

/// Splits the open attempts into running ones and ones that no process works on.
fn open_attempts(run: &Run, is_running: &dyn Fn(&AttemptId) -> bool) -> (Vec<AttemptId>, Vec<AttemptId>) {
    run.wants().attempts.into_iter().partition(is_running)
}

fn overview(
    reader: &Reader,
    row: &RunRow,
    run: &Run,
    most_visits: usize,
    is_running: &dyn Fn(&AttemptId) -> bool,
    own: &Own,
) -> Result<String, Failure> {
    let id = &row.run;
    let mut text = String::new();
    let title =
        run.flow().title.as_deref().map_or_else(String::new, |title| format!(": {}", diff::printable(title)));
    let started = run
        .started()
        .map(|started| (started.workspace.clone(), started.run_base.clone(), started.by.clone()));
    let (workspace, run_base, by) = started.ok_or_else(|| Failure::store("the run has no events"))?;
    let mut say = |line: std::fmt::Arguments<'_>| writeln!(text, "{line}").map_err(Failure::store);
    say(format_args!("run        {id}"))?;
    let flow = format!("flow       {}{title}", run.flow().id);
    say(format_args!(
        "{}",
        terminal::columns_of_stdout().map_or(flow.clone(), |most| clip(&flow, most, Charset::Unicode))
    ))?;
    if let Some(sentence) = crate::store::pinned_file::changed(reader, run) {
        say(format_args!("           {sentence}"))?;
    }
    let status = status_lines(row, run.status().word(), &reason(run), own.copy_of.as_deref());
    say(format_args!("{}", status.trim_end()))?;
    if let Some(wanted) = run.restoring() {
        say(format_args!("           {}", open_restore::describe(id, wanted)))?;
    }
    say(format_args!("started by {} ({})", diff::printable(&by.actor), by.tenant))?;
    if let Some(Imported { file, at, signer, .. }) = &own.imported {
        let signer = signer.as_deref().map_or_else(String::new, |signer| format!(", signed by {signer}"));
        let file = diff::printable(file);
        let signer = diff::printable(&signer);
        let at = clock::local(*at);
        say(format_args!("imported   from {file} at {at}{signer}; it never goes on here"))?;
    }
    if let Some(part) = run.started().and_then(|started| started.part.as_deref()) {
        say(format_args!("part       {}", describe::part(part)))?;
        if let Some(questions) = describe::not_asked(&part.selection.questions_passed(run.flow())) {
            say(format_args!("           {questions}: left out by {}", by.actor))?;
        }
    }
    if let Some(forked) = run.forked() {
        say(format_args!("forked from {} at step {} by {}", forked.from, forked.step, forked.by.actor))?;
    }
    let notable = &reader.notable_records(id).map_err(Failure::store)?;
    for correction in notable.iter().filter_map(corrected) {
        let from = correction.from.as_ref().map_or_else(String::new, |step| format!(", from {step} on"));
        say(format_args!("corrected  by {}{from}: {}", correction.by.actor, correction.source))?;
    }
    let reopened = reopened(reader, id, notable)?;
    for reopening in reopened.iter().filter_map(|commit| reopening::all(commit).next()) {
        say(format_args!("reopened   {}", reopening.describe()))?;
    }
    say(format_args!("workspace  {}", diff::printable(&workspace)))?;
    if let Some(isolated) = run.started().and_then(|started| started.isolated.as_deref()) {
        let branch = isolated.branch.as_ref().map_or_else(String::new, |branch| format!(", branch {branch}"));
        let of = diff::printable(&isolated.of);
        say(format_args!("           a tree of its own, made from {of}{branch}"))?;
        for remark in &isolated.remarks {
            say(format_args!("           {}", diff::printable(remark)))?;
        }
        let is_applied = |record: &Record| match &record.event {
            Event::FilesRestoring(wanted) => wanted.reach.folder().is_some(),
            _ => false,
        };
        if matches!(run.status(), Status::Ended(_)) && !notable.iter().any(is_applied) {
            let envoi = invocation::envoi();
            say(format_args!(
                "           {envoi} diff {id} shows what it changed there; {envoi} apply {id} brings that into {of}"
            ))?;
        }
    }
    say(format_args!("files      {}", diff::printable(&run_base)))?;
    if let Some(head) = own.head {
        say(format_args!("head       {head}"))?;
    }
    if own.is_head_left_out {
        let envoi = invocation::envoi();
        let events = row.next_seq;
        say(format_args!(
            "head       left out, because the run has {events} events; {envoi} --json show {id} has it"
        ))?;
    }
    let (running, left) = open_attempts(run, is_running);
    for (word, attempts) in [("running  ", &running), ("left at  ", &left)] {
        for (name, attempt) in [word].into_iter().chain(core::iter::repeat("         ")).zip(attempts) {
            say(format_args!("{name}  {attempt}"))?;
        }
    }
    let waits: Vec<_> = run.account_waits().collect();
    for (name, (visit, wait, due)) in
        ["waiting  "].into_iter().chain(core::iter::repeat("         ")).zip(waits)
    {
        say(format_args!("{name}  {visit}: {}", waiting_for(&wait.account, wait.resets_at, due)))?;
    }
    text.push('\n');
    text.push_str(&accounts::tables(run, envoi_engine::now()));
    text.push_str(&accounts::of_family(run));
    let models = accounts::by_model(reader, id, run).map_err(Failure::store)?;
    text.push_str(&accounts::table_by_model(&models));
    text.push('\n');
    let past = Past::read(reader, id, most_visits).map_err(Failure::store)?;
    let (rows, earlier) = past.rows(reader, run, id, &running, most_visits).map_err(Failure::store)?;
    text.push_str(&visits::table(&rows, earlier));
    for record in notable {
        let Event::AttemptSettled(settled) = &record.event else { continue };
        for warning in &settled.warnings {
            writeln!(text, "\nwarning: {}: {warning}", settled.attempt).map_err(Failure::store)?;
        }
    }
    let is_alone = run.interrupts().count() == 1;
    for raised in open(run) {
        let command = how_to_answer(id, raised, is_alone, run.step(&raised.visit));
        let more = more_rounds(id, raised).map_or_else(String::new, |more| format!("  {more}\n"));
        let written = last_words(run_base.as_ref(), raised).join("\n");
        let written = if written.is_empty() { written } else { written + "\n" };
        let question = prose(&raised.question, terminal::columns_of_stdout());
        let answer = prose(&format!("  answer: {command}"), terminal::columns_of_stdout());
        write!(text, "\n{question}\n{written}{answer}\n{more}").map_err(Failure::store)?;
        for (name, value) in raised.evidence.as_object().into_iter().flat_map(|members| members.iter()) {
            let shown = head(&plain(value));
            if !matches!(shown.as_str(), "" | "null" | "[]" | "0") {
                writeln!(text, "  {name}: {shown}").map_err(Failure::store)?;
            }
        }
    }
    for line in notices::lines(&reader.deliveries(id).map_err(Failure::store)?) {
        write!(text, "\n{line}\n").map_err(Failure::store)?;
    }
    Ok(diff::lines(&text))
}

fn reason(run: &Run) -> String {
    match run.status() {
        Status::Ended(ended) => format!(" ({}): {}", ended.terminal_reason, failure(&ended.reason)),
        Status::Waiting { in_doubt: true } => " (in doubt)".to_owned(),
        _ => String::new(),
    }
}

fn detail(
    reader: &Reader,
    row: &RunRow,
    run: &Run,
    is_running: &dyn Fn(&AttemptId) -> bool,
    own: &Own,
) -> Result<RunDetail, Failure> {
    let id = &row.run;
    let (running, left) = open_attempts(run, is_running);
    let ids = |attempts: Vec<AttemptId>| attempts.iter().map(ToString::to_string).collect();
    let is_alone = run.interrupts().count() == 1;
    let now = envoi_engine::now();
    let question = |raised: &InterruptRaised| {
        let row = reader.question(id, &raised.interrupt).map_err(Failure::store)?;
        let evidence = any(&raised.evidence);
        let command = how_to_answer(id, raised, is_alone, run.step(&raised.visit));
        Ok::<_, Failure>(OpenQuestion { question: Question::of(&row, now), evidence, command })
    };
    let notable = reader.notable_records(id).map_err(Failure::store)?;
    let reopened = reopened(reader, id, &notable)?;
    let reopened = reopened.iter().filter_map(|commit| reopening::all(commit).next());
    let reopened = reopened.map(|reopening| Reopened {
        at: reopening.record.at.into(),
        by: reopening.event.by.actor.clone(),
        steps: reopening.steps,
    });
    let corrected = notable.iter().filter_map(|record| {
        let correction = corrected(record)?;
        Some(Corrected {
            at: record.at.into(),
            by: correction.by.actor.clone(),
            reason: correction.why.clone(),
            before_digest: correction.before,
            after_digest: correction.after,
            source: correction.source.clone(),
            again_from: correction.from.clone(),
        })
    });
    let imported = own.imported.as_ref().map(|imported| ImportedFrom {
        file: imported.file.clone(),
        at: imported.at.into(),
        by: imported.by.clone(),
        signer: imported.signer.clone(),
    });
    Ok(RunDetail {
        by_model: accounts::by_model(reader, id, run).map_err(Failure::store)?,
        imported,
        corrected: corrected.collect(),
        run: envoi_api::run::Run { head: own.head.map(|head| head.to_string()), ..row.into() },
        exit_code: run.status().exit_code(),
        reopened: reopened.collect(),
        handoffs: reader.handoffs(id).map_err(Failure::store)?.iter().map(HandoffRow::from).collect(),
        running: ids(running),
        left: ids(left),
        notices: notices::rows(&reader.deliveries(id).map_err(Failure::store)?),
        questions: open(run).into_iter().map(question).collect::<Result<_, _>>()?,
        used: Amounts::used(run, now),
        own_used: Amounts::own_used(run, now),
        reserved: (&run.reserved()).into(),
        limits: Limits::of(run),
        raised: run.raised().into(),
        by_step: run.ledger_by_step().iter().map(|(step, used)| (step.clone(), used.into())).collect(),
    })
}
