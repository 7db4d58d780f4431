//! What a person sees of a run as it goes: a picture on a terminal ([`crate::live`]), else one line an event that matters,
//! on stderr; with `--json` every record on stdout.

use crate::{
    live::{self, Live},
    output,
};
use envoi_contract::{envelope::InterruptKind, handoff::Status as HandoffStatus, json::Value};
use envoi_engine::protocol::Standing;
use envoi_kernel::{
    Event, Record,
    event::{About, AttemptSettled, Course, HandoffWritten, InterruptRaised, Outcome, Routed},
    ids::RunId,
};

/// See the module.
pub(crate) struct Narrator {
    run: RunId,
    json: bool,
    quiet: bool,
    live: Option<Live>,
    /// Questions are asked on this terminal.
    asks_in_place: bool,
    /// Whether the run has been named yet.
    named: bool,
    /// Where the visit leads whose hand-off comes next.
    leads: Option<String>,
}

impl Narrator {
    pub(crate) fn new(run: RunId, json: bool) -> Self {
        Self { run, json, quiet: false, live: None, asks_in_place: false, named: false, leads: None }
    }

    /// Says nothing but the end.
    pub(crate) fn quiet(mut self) -> Self {
        self.quiet = true;
        self
    }

    /// Shows the run in this view, if there is one, in place of lines.
    pub(crate) fn live(mut self, view: impl FnOnce(&RunId) -> Option<Live>) -> Self {
        self.live = if self.json { None } else { view(&self.run) };
        self
    }

    pub(crate) fn note(&mut self, text: &str) {
        live::say(text);
    }

    /// The run is begun or found: its name is the first thing said.
    pub(crate) fn accepted(&mut self) {
        if !self.quiet && !self.json && !self.named {
            live::say(&format!("run {}", self.run));
        }
        self.named = true;
    }

    pub(crate) fn record(&mut self, record: &Record) {
        if self.quiet {
            return;
        }
        self.accepted();
        if let Some(live) = &self.live {
            live.record(record);
        } else if self.json {
            let line = serde_json::to_string(record).unwrap_or_default();
            // A reader that went away does not end the run.
            drop(output::data(&(line + "\n")));
        } else {
            self.told(&record.event).iter().for_each(|line| live::say(line));
        }
    }

    /// Leaves the terminal to `work`, which asks a question there.
    pub(crate) fn aside<T>(&self, work: impl FnOnce() -> T) -> T {
        match &self.live {
            Some(live) => live.aside(work),
            None => work(),
        }
    }

    /// How a person could answer from elsewhere is not said where the question is asked in place.
    pub(crate) fn asks_in_place(mut self, it_does: bool) -> Self {
        self.asks_in_place = it_does;
        self
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
        let reason = standing.reason.as_deref().filter(|_| standing.exit_code != 0);
        match &self.live {
            Some(live) => live.rest(reason),
            None => reason.into_iter().for_each(live::say),
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
        About::Blocked | About::Review | About::Stuck => {
            format!("envoi resume {run} --review proceed|again|stop")
        }
        About::Limit => format!("envoi answer {} --raise MORE; envoi deny {0}", raised.interrupt),
        About::Ask if raised.kind() == InterruptKind::Clarification => {
            format!("envoi answer {} --text …; envoi deny {0}", raised.interrupt)
        }
        About::Ask => format!("envoi approve {}; envoi deny {0}", raised.interrupt),
    }
}

/// What is said of an event for good, also where a picture shows the rest: what a person did, and warnings.
pub(crate) fn remarks(event: &Event) -> Vec<String> {
    match event {
        Event::AttemptSettled(settled) => {
            let told = |warning| format!("  {:<18} warning: {warning}", settled.attempt.to_string());
            settled.warnings.iter().map(told).collect()
        }
        Event::InterruptAnswered(answered) => {
            vec![format!("answered: {} (by {})", answered.choice.word(), answered.by.actor)]
        }
        Event::CancelRequested(cancel) => vec![format!("cancelling (asked by {})", cancel.by.actor)],
        Event::LimitsRaised(raised) => vec![format!("limits raised (by {})", raised.by.actor)],
        Event::RunReopened(reopened) => {
            vec![format!("reopened at {} by {}", reopened.step, reopened.by.actor)]
        }
        _ => Vec::new(),
    }
}

impl Narrator {
    /// What is said of an event in lines.
    pub(crate) fn told(&mut self, event: &Event) -> Vec<String> {
        remarks(event).into_iter().chain(self.line(event)).collect()
    }

    fn line(&mut self, event: &Event) -> Option<String> {
        Some(match event {
            Event::AttemptStarted(started) => {
                let verifies = started.verifies.as_ref().map(|doubtful| format!(", to verify {doubtful}"));
                format!("  {:<18} started{}", started.attempt.to_string(), verifies.unwrap_or_default())
            }
            Event::AttemptSettled(settled) if matches!(settled.outcome, Outcome::InDoubt { .. }) => {
                format!("  {:<18} in doubt", settled.attempt.to_string())
            }
            Event::AttemptSettled(settled) if !settled.ok => {
                let took = seconds(settled.duration_ms);
                format!("  {:<18} failed after {took}: {}", settled.attempt.to_string(), error(settled))
            }
            Event::TimerSet(timer) => format!("  {:<18} next try at {}", timer.visit.to_string(), timer.due),
            Event::Routed(routed) => {
                self.leads = leads(routed);
                let line = format!("  {:<18} {}", routed.visit.to_string(), self.leads.as_deref()?);
                // Only an answer is routed without a hand-off to follow.
                routed.audit.get("answer").map(|_| line)?
            }
            Event::HandoffWritten(written) => done(written, self.leads.take().as_deref())?,
            Event::InterruptRaised(_) if self.asks_in_place => return None,
            Event::InterruptRaised(raised) => {
                format!("{}\n  answer: {}", raised.question, how_to_answer(&self.run, raised))
            }
            _ => return None,
        })
    }
}

fn error(settled: &AttemptSettled) -> String {
    let error = settled.error.as_ref();
    head(&error.map_or_else(String::new, |error| format!("{}: {}", error.code, error.message)))
}

fn leads(routed: &Routed) -> Option<String> {
    match &routed.course {
        Course::LoopBack(step) => Some(format!("back to {step}: {}", routed.signal.reason)),
        Course::Enter(step) if routed.signal.route.is_some() => {
            Some(format!("on to {step}: {}", routed.signal.reason))
        }
        _ => None,
    }
}

fn done(written: &HandoffWritten, leads: Option<&str>) -> Option<String> {
    let (visit, handoff) = (written.visit.to_string(), &written.handoff);
    let told = match handoff.status {
        HandoffStatus::Failed => return None,
        HandoffStatus::Skipped => "skipped: its condition is false".to_owned(),
        HandoffStatus::Succeeded => {
            let took = format!("done in {}", seconds(handoff.duration_ms));
            let parts = [took, head(&handoff.summary), leads.unwrap_or_default().to_owned()];
            parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("; ")
        }
    };
    Some(format!("  {visit:<18} {told}"))
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
