//! `envoi show`: one run, its steps, what it waits for, what it has used.

mod accounts;
mod notices;

use super::question;
use crate::{
    diff,
    failure::{BAD_INPUT, Failure},
    home::Home,
    narrate::{head, how_to_answer, plain, seconds},
    output, select,
};
use envoi_engine::load_run;
use envoi_journal::{Found, Reader};
use envoi_kernel::{Event, Record, Run, Status, ids::RunId, ids::StepId};
use serde_json::json;
use std::fmt::Write as _;

/// What is to be shown.
pub(crate) enum View {
    Overview,
    Envelope,
    Events,
    Handoff(String),
}

impl View {
    pub(crate) fn of(envelope: bool, events: bool, handoff: Option<String>) -> Self {
        match (envelope, events, handoff) {
            (_, _, Some(step)) => Self::Handoff(step),
            (true, _, _) => Self::Envelope,
            (_, true, _) => Self::Events,
            _ => Self::Overview,
        }
    }
}

pub(crate) fn show(home: &Home, run: Option<&str>, view: &View) -> Result<u8, Failure> {
    let (_, reader) = home.reader()?;
    if let (View::Overview, Some(text)) = (view, run)
        && let Found::Interrupt(interrupt, id) = select::found(&reader, text)?
    {
        return question::show(home, &reader, &id, &interrupt);
    }
    let id = select::run_or_newest(&reader, run)?;
    let text = match view {
        View::Events => events(&reader, &id)?,
        View::Handoff(step) => handoff(&reader, &id, step)?,
        View::Envelope => load_run(&reader, &id)?.envelope().to_state_dict().pretty(),
        View::Overview if home.json => overview_json(&reader, &id)?,
        View::Overview => overview(&reader, &id)?,
    };
    output::data(&text).map(|()| 0)
}

fn records(reader: &Reader, id: &RunId) -> Result<Vec<Record>, Failure> {
    reader.records(id, 0, None).map_err(Failure::store)
}

fn events(reader: &Reader, id: &RunId) -> Result<String, Failure> {
    let lines =
        records(reader, id)?.into_iter().map(|record| serde_json::to_string(&record).map(|line| line + "\n"));
    lines.collect::<Result<_, _>>().map_err(Failure::store)
}

fn handoff(reader: &Reader, id: &RunId, step: &str) -> Result<String, Failure> {
    let none =
        |why: String| Failure::new(BAD_INPUT, "HANDOFF_NOT_FOUND", why).hint("`envoi show` lists the steps");
    let step = StepId::new(step).map_err(|error| none(error.to_string()))?;
    let bytes = reader.handoff(id, &step, None).map_err(|error| none(error.to_string()))?;
    String::from_utf8(bytes).map_err(Failure::store)
}

fn overview(reader: &Reader, id: &RunId) -> Result<String, Failure> {
    let run = load_run(reader, id)?;
    let mut text = String::new();
    let title = run.flow().title.as_deref().map_or_else(String::new, |title| format!(": {title}"));
    let started = run
        .started()
        .map(|started| (started.workspace.clone(), started.run_base.clone(), started.by.clone()));
    let (workspace, run_base, by) = started.ok_or_else(|| Failure::store("the run has no events"))?;
    let mut say = |line: std::fmt::Arguments<'_>| writeln!(text, "{line}").map_err(Failure::store);
    say(format_args!("run        {id}"))?;
    say(format_args!("flow       {}{title}", run.flow().id))?;
    say(format_args!("status     {}{}", run.status().word(), reason(&run)))?;
    say(format_args!("started by {} ({})", by.actor, by.tenant))?;
    for reopening in crate::reopening::all(&records(reader, id)?) {
        say(format_args!("reopened   {}", reopening.told()))?;
    }
    say(format_args!("workspace  {workspace}"))?;
    say(format_args!("files      {run_base}"))?;
    text.push('\n');
    text.push_str(&accounts::tables(&run));
    text.push('\n');
    text.push_str(&output::table(&step_rows(&records(reader, id)?)));
    for record in &records(reader, id)? {
        let Event::AttemptSettled(settled) = &record.event else { continue };
        for warning in &settled.warnings {
            writeln!(text, "\nwarning: {}: {warning}", settled.attempt).map_err(Failure::store)?;
        }
    }
    for raised in run.interrupts() {
        write!(text, "\n{}\n  answer: {}\n", raised.question, how_to_answer(id, raised))
            .map_err(Failure::store)?;
        for (name, value) in raised.evidence.as_object().into_iter().flat_map(|members| members.iter()) {
            let told = head(&plain(value));
            if !matches!(told.as_str(), "" | "null" | "[]" | "0") {
                writeln!(text, "  {name}: {told}").map_err(Failure::store)?;
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
        Status::Ended(ended) => format!(" ({}): {}", ended.terminal_reason, ended.reason),
        Status::Waiting { in_doubt: true } => " (in doubt)".to_owned(),
        _ => String::new(),
    }
}

pub(crate) fn used(run: &Run) -> String {
    let (used, limits) = (run.ledger(), run.limits());
    let of = |limit: Option<String>| limit.map_or_else(String::new, |limit| format!(" of {limit}"));
    format!(
        "{}{} attempts, {}{} loop-backs, {}{} model calls, ${}{}, {}{} of work",
        used.agent_hops,
        of(limits.agent_hops.map(|n| n.to_string())),
        used.iterations,
        of(limits.iterations.map(|n| n.to_string())),
        used.llm_calls,
        of(limits.llm_calls.map(|n| n.to_string())),
        used.cost,
        of(limits.cost.map(|cost| format!("${cost}"))),
        seconds(used.wall_time_ms),
        of(limits.wall_time_ms.map(seconds)),
    )
}

/// One row a visit that has a hand-off, and one for what is live.
fn step_rows(records: &[Record]) -> Vec<Vec<String>> {
    let header = ["VISIT", "STATUS", "ATTEMPTS", "TIME", "LEADS TO", "SUMMARY"].map(str::to_owned).to_vec();
    let mut rows = vec![header];
    let mut attempts: std::collections::BTreeMap<String, (u32, bool)> = std::collections::BTreeMap::new();
    for record in records {
        match &record.event {
            Event::AttemptStarted(started) => {
                attempts.insert(started.attempt.visit.to_string(), (started.attempt.attempt, true));
            }
            Event::HandoffWritten(written) => {
                let visit = written.visit.to_string();
                let (count, _) = attempts.remove(&visit).unwrap_or_default();
                let handoff = &written.handoff;
                let summary = handoff.error.as_deref().unwrap_or(&handoff.summary);
                rows.push(vec![
                    visit,
                    handoff.status.word().to_owned(),
                    count.to_string(),
                    seconds(handoff.duration_ms),
                    handoff.routing_signal.decision.orchestrator_word().to_owned(),
                    head(summary),
                ]);
            }
            _ => {}
        }
    }
    for (visit, (count, _)) in attempts {
        rows.push(
            [visit, "open".to_owned(), count.to_string(), "-".into(), "-".into(), String::new()].to_vec(),
        );
    }
    rows
}

fn overview_json(reader: &Reader, id: &RunId) -> Result<String, Failure> {
    let run = load_run(reader, id)?;
    let all = records(reader, id)?;
    let row = reader.run(id).map_err(Failure::store)?;
    let handoffs = reader.handoffs(id).map_err(Failure::store)?;
    let ended = row.ended.as_ref();
    let deliveries = reader.deliveries(id).map_err(Failure::store)?;
    let mut value = json!({
        "run": id.as_str(),
        "flow": row.flow.as_str(),
        "flow_digest": row.flow_digest.to_string(),
        "status": run.status().word(),
        "exit_code": run.status().exit_code(),
        "terminal_reason": ended.map(|ended| ended.terminal_reason.clone()),
        "reason": ended.map(|ended| ended.reason.clone()),
        "workspace": row.workspace,
        "started_at": row.started_at.to_string(),
        "reopened": crate::reopening::all(&all).map(|reopening| json!({
            "at": reopening.record.at.to_string(), "by": reopening.event.by.actor, "steps": reopening.steps,
        })).collect::<Vec<_>>(),
        "updated_at": row.updated_at.to_string(),
        "handoffs": handoffs.iter().map(|row| json!({
            "step": row.visit.step.as_str(), "visit": row.visit.visit, "status": row.status, "at": row.at.to_string(),
            "summary": row.summary,
        })).collect::<Vec<_>>(),
        "notices": notices::as_json(&deliveries),
        "questions": run.interrupts().map(|raised| json!({
            "interrupt": raised.interrupt.as_str(), "about": raised.about, "visit": raised.visit.to_string(),
            "question": raised.question, "answer": how_to_answer(id, raised),
            "evidence": evidence(&raised.evidence),
        })).collect::<Vec<_>>(),
    });
    if let Some(members) = value.as_object_mut() {
        let told = accounts::as_json(&run).into_iter();
        members.extend(told.map(|(name, value)| (name.to_owned(), value)));
    }
    Ok(format!("{value}\n"))
}

/// What is known, as serde's JSON.
fn evidence(value: &envoi_contract::json::Value) -> serde_json::Value {
    serde_json::from_str(&value.compact()).unwrap_or_default()
}
