//! What a person sees of a run as it goes: one line an event that matters, on stderr; with `--json` every record on stdout.

use crate::output;
use envoi_contract::{
    handoff::Status as HandoffStatus,
    json::Value,
};
use envoi_engine::protocol::Standing;
use envoi_kernel::{
    Event, Record,
    event::{About, Course, InterruptRaised},
    ids::RunId,
};

/// See the module.
pub(crate) struct Narrator {
    run: RunId,
    json: bool,
    quiet: bool,
}

impl Narrator {
    pub(crate) fn new(run: RunId, json: bool) -> Self {
        Self { run, json, quiet: false }
    }

    /// Says nothing but the end.
    pub(crate) fn quiet(mut self) -> Self {
        self.quiet = true;
        self
    }

    pub(crate) fn note(&mut self, text: &str) {
        eprintln!("{text}");
    }

    pub(crate) fn accepted(&mut self, run: &RunId) {
        if !self.quiet && !self.json {
            eprintln!("run {run}");
        }
    }

    pub(crate) fn record(&mut self, record: &Record) {
        if self.quiet {
            return;
        }
        if self.json {
            let line = serde_json::to_string(record).unwrap_or_default();
            // A reader that went away does not end the run.
            drop(output::data(&(line + "\n")));
        } else if let Some(line) = line(&self.run, &record.event) {
            eprintln!("{line}");
        }
    }

    pub(crate) fn rest(&mut self, standing: &Standing) {
        let run = &self.run;
        if self.json {
            let line = serde_json::json!({
                "run": run.as_str(),
                "status": standing.status,
                "terminal_reason": standing.terminal_reason,
                "reason": standing.reason,
                "exit_code": standing.exit_code,
            });
            drop(output::data(&format!("{line}\n")));
            return;
        }
        if let Some(reason) = standing.reason.as_deref().filter(|_| standing.exit_code != 0) {
            eprintln!("{reason}");
        }
        match standing.status.as_str() {
            "failed" | "exhausted" | "cancelled" => {
                eprintln!("look: envoi why {run}; envoi logs {run}   go on: envoi resume {run}");
            }
            "succeeded" => eprintln!("look: envoi show {run}"),
            _ => {}
        }
        drop(output::data(&format!("{run} {}\n", standing.status)));
    }
}

/// How a person answers this question.
pub(crate) fn how_to_answer(run: &RunId, raised: &InterruptRaised) -> String {
    match raised.about {
        About::InDoubt => format!("envoi resume {run} --in-doubt rerun|fail"),
        About::Exhausted => format!("envoi resume {run} --review proceed|stop"),
        About::Blocked | About::Review => format!("envoi resume {run} --review proceed|again|stop"),
    }
}

fn line(run: &RunId, event: &Event) -> Option<String> {
    Some(match event {
        Event::AttemptStarted(started) => format!("  {:<18} started", started.attempt.to_string()),
        Event::AttemptSettled(settled) if !settled.ok => {
            let error = settled.error.as_ref().map_or_else(String::new, |error| format!("{}: {}", error.code, error.message));
            format!("  {:<18} failed after {}: {}", settled.attempt.to_string(), seconds(settled.duration_ms), head(&error))
        }
        Event::TimerSet(timer) => format!("  {:<18} next try at {}", timer.visit.to_string(), timer.due),
        Event::HandoffWritten(written) if written.handoff.status == HandoffStatus::Skipped => {
            format!("  {:<18} skipped: its condition is false", written.visit.to_string())
        }
        Event::HandoffWritten(written) if written.handoff.status == HandoffStatus::Succeeded => {
            let done = format!("done in {}", seconds(written.handoff.duration_ms));
            format!("  {:<18} {done}: {}", written.visit.to_string(), head(&written.handoff.summary))
        }
        Event::Routed(routed) => match &routed.course {
            Course::LoopBack(step) => format!("  {:<18} back to {step}: {}", routed.visit.to_string(), routed.signal.reason),
            Course::Enter(step) if routed.signal.route.is_some() => {
                format!("  {:<18} on to {step}: {}", routed.visit.to_string(), routed.signal.reason)
            }
            _ => return None,
        },
        Event::InterruptRaised(raised) => format!("{}\n  answer: {}", raised.question, how_to_answer(run, raised)),
        Event::InterruptAnswered(answered) => format!("answered: {} (by {})", answered.choice.word(), answered.by.actor),
        Event::CancelRequested(cancel) => format!("cancelling (asked by {})", cancel.by.actor),
        Event::RunReopened(reopened) => format!("reopened at {} by {}", reopened.step, reopened.by.actor),
        _ => return None,
    })
}

/// The first line with something in it, at most 100 characters.
pub(crate) fn head(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let printable: String = line.chars().filter(|c| !c.is_control()).collect();
    if printable.chars().count() <= 100 {
        return printable;
    }
    printable.chars().take(99).chain(['…']).collect()
}

/// Milliseconds as seconds or minutes, for people.
pub(crate) fn seconds(ms: u64) -> String {
    if ms < 60_000 {
        return format!("{}.{} s", ms / 1_000, (ms % 1_000) / 100);
    }
    format!("{} min {:02} s", ms / 60_000, (ms / 1_000) % 60)
}

/// A number or text of a JSON value, for people.
pub(crate) fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.compact(), str::to_owned)
}
