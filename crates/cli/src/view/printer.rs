//! Shows the progress of a run: as a picture on a terminal ([`crate::view::live`]), or as one line on stderr
//! per important event. With `--json`, every record is printed on stdout.

use crate::process::stderr;
use crate::{
    process::{clock, interrupts, invocation, messages, output, terminal},
    store::standing::waiting_for,
    text::{
        columns::prose,
        duration::{since, took},
        words::item,
    },
    view::{
        describe::{
            self, flow_of, goals, has_items, how_to_answer, model_call, more_rounds, remarks, stopping,
        },
        file_work::FileWorkLines,
        last_words::last_words,
        live::Live,
    },
};
use envoi_api::{
    cause, event,
    headline::{Sources, headline},
    run::{Ended, RunResult},
    words::items,
};
use envoi_contract::{
    handoff::{Handoff, Status as HandoffStatus},
    routing::Decision,
    time::Timestamp,
};
use envoi_engine::{load_run, protocol::Standing};
use envoi_journal::{Layout, Reader};
use envoi_kernel::{
    Event, Record, Run,
    event::{
        AttemptSettled, CallOutcome, Course, HandoffWritten, InterruptRaised, Outcome, Routed, TimerSet,
    },
    ids::{InterruptId, RunId, VisitId},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

/// Returns the arguments of `envoi` that continue a run.
type GoOn = Box<dyn Fn(&RunId) -> Option<String>>;

/// Prints the progress of one run.
pub(crate) struct Printer {
    run: RunId,
    json: bool,
    quiet: bool,
    live: Option<Live>,
    /// Whether questions are asked at this terminal.
    asks_in_place: bool,
    /// The first events are copies from another run, and are not printed again.
    lived: bool,
    /// Whether the name of the run was printed.
    named: bool,
    /// The routing of the visit whose hand-off comes next.
    leads: Option<(VisitId, String)>,
    /// Visits that have parts, and when they started.
    wholes: BTreeMap<VisitId, Timestamp>,
    /// The values of their items.
    values: BTreeMap<VisitId, Vec<String>>,
    /// Further sources for the headline of a visit, besides its text.
    sources: BTreeMap<VisitId, Sources>,
    /// Questions that were shown.
    shown: BTreeSet<InterruptId>,
    /// The arguments of `envoi` that continue the run, if `resume` alone is not enough.
    go_on: Option<GoOn>,
    /// The local journal, if there is one: for events before the first record, and for the subjects of
    /// questions.
    reader: Option<Reader>,
    /// Whether the events before the first record were read.
    remembers: bool,
    /// Prints that supervisors process many files.
    file_work: Option<FileWorkLines>,
}

impl Printer {
    pub(crate) fn new(run: RunId, json: bool) -> Self {
        Self {
            run,
            json,
            quiet: false,
            live: None,
            asks_in_place: false,
            lived: false,
            named: false,
            leads: None,
            wholes: BTreeMap::new(),
            values: BTreeMap::new(),
            sources: BTreeMap::new(),
            shown: BTreeSet::new(),
            go_on: None,
            reader: None,
            remembers: false,
            file_work: None,
        }
    }

    /// Sets how a person continues a failed run, if `resume` alone is not enough.
    pub(crate) fn goes_on_by(mut self, go_on: impl Fn(&RunId) -> Option<String> + 'static) -> Self {
        self.go_on = Some(Box::new(go_on));
        self
    }

    /// Uses this journal for data that the records do not have.
    pub(crate) fn reads(mut self, reader: Option<Reader>) -> Self {
        self.reader = reader;
        self
    }

    /// Watches the supervisors of this store for work with many files, if no picture shows it.
    pub(crate) fn watches(mut self, layout: &Layout) -> Self {
        let prints = !self.json && !self.quiet && self.live.is_none();
        self.file_work = prints.then(|| FileWorkLines::new(layout.clone(), self.run.clone()));
        self
    }

    /// The run is a fork: copied events are shown in the picture, and not printed.
    pub(crate) fn forks(mut self) -> Self {
        self.lived = true;
        self
    }

    /// Prints only the end.
    pub(crate) fn quiet(mut self) -> Self {
        self.quiet = true;
        self
    }

    /// Shows the run in this view, if there is one, instead of lines.
    pub(crate) fn live(mut self, view: impl FnOnce(&RunId) -> Option<Live>) -> Self {
        self.live = if self.json { None } else { view(&self.run) };
        self
    }

    pub(crate) fn note(&mut self, text: &str) {
        messages::say(text);
    }

    /// The run was started or found: its name is printed first.
    pub(crate) fn accepted(&mut self) {
        // This response comes after the copied events, or instead of them.
        self.lived = false;
        self.name();
    }

    fn name(&mut self) {
        if !self.quiet && !self.json && !self.named {
            messages::say(&format!("run {}", self.run));
        }
        self.named = true;
    }

    pub(crate) fn record(&mut self, record: &Record) {
        if self.quiet {
            return;
        }
        self.name();
        self.lived = self.lived && !matches!(record.event, Event::RunForked(_));
        if let Some(lines) = &mut self.file_work {
            lines.record(record);
        }
        if let Some(live) = &self.live {
            live.record(record, !self.lived);
        } else if self.json {
            let line = event::shown(record);
            // If the reader has closed the pipe, the run continues.
            drop(output::data(&(line + "\n")));
        } else if !self.lived {
            self.lines(record).iter().for_each(|line| messages::say(line));
        }
    }

    /// Lets `work` use the terminal to ask a question.
    pub(crate) fn aside<T>(&self, work: impl FnOnce() -> T) -> T {
        match &self.live {
            Some(live) => live.aside(work),
            None => work(),
        }
    }

    /// If questions are asked here, no line says how to answer them from elsewhere.
    pub(crate) fn asks_in_place(mut self, it_does: bool) -> Self {
        self.asks_in_place = it_does;
        self
    }

    /// These questions are open, and this terminal does not ask them. Prints new ones, and how many are open.
    pub(crate) fn waits(&mut self, open: &[&InterruptRaised]) {
        if self.json || self.quiet || self.live.is_some() {
            return;
        }
        for raised in open {
            if self.shown.insert(raised.interrupt.clone()) {
                messages::say(&self.question(raised, open.len() == 1));
            }
        }
        if open.len() > 1 {
            messages::say(&format!(
                "{} questions are open: {} inbox {}",
                open.len(),
                invocation::envoi(),
                self.run
            ));
        }
    }

    pub(crate) fn rest(&mut self, standing: &Standing) {
        let run = &self.run;
        if self.json {
            // If the reader has closed the pipe, the result of the run is the same.
            let result = RunResult {
                run: run.clone(),
                status: standing.status.clone(),
                terminal_reason: standing.terminal_reason.clone(),
                reason: standing.reason.clone(),
                exit_code: standing.exit_code,
            };
            drop(output::row(&Ended { result }));
            return;
        }
        let reason = standing.reason.as_deref().filter(|_| standing.exit_code != 0);
        match &self.live {
            Some(live) => live.rest(reason),
            None => reason.into_iter().for_each(messages::say),
        }
        match standing.status.as_str() {
            "failed" | "exhausted" | "cancelled" => {
                let envoi = invocation::envoi();
                let go_on = self.go_on.as_ref().and_then(|go_on| go_on(run));
                let go_on = go_on.or_else(|| {
                    let option = describe::raised_by(standing.terminal_reason.as_deref()?)?;
                    Some(format!("raise {run} {option}"))
                });
                let go_on = go_on.unwrap_or_else(|| format!("resume {run}"));
                stderr::line(format_args!(
                    "look: {envoi} why {run}; {envoi} logs {run}   go on: {envoi} {go_on}"
                ));
            }
            "succeeded" if self.is_isolated() => {
                let envoi = invocation::envoi();
                stderr::line(format_args!(
                    "look: {envoi} show {run}; {envoi} diff {run}   bring the result back: {envoi} apply {run}"
                ));
            }
            "succeeded" => stderr::line(format_args!("look: {} show {run}", invocation::envoi())),
            _ => {}
        }
        drop(output::data(&format!("{run} {}\n", standing.status)));
    }
}

impl Printer {
    /// This engine has stopped, and the run was not at rest at its last check. If the engine was frozen,
    /// another one may have taken over: the line then says the state of the run under that one.
    pub(crate) fn stopped(&mut self) {
        if self.json || self.quiet {
            return;
        }
        // The last picture stays unchanged above these lines.
        self.live = None;
        let run = self.reader.as_ref().and_then(|reader| load_run(reader, &self.run).ok());
        match run.and_then(|run| Standing::of(&run.status())) {
            Some(standing) => stderr::line(format_args!(
                "another engine has gone on with run {run}, which is {status}\nlook: {envoi} show {run}",
                run = self.run,
                status = standing.status,
                envoi = invocation::envoi(),
            )),
            None => stderr::line(format_args!("{}", interrupts::how_to_go_on(&self.run))),
        }
    }

    /// Whether the run worked in an isolated tree, if the journal is local.
    fn is_isolated(&self) -> bool {
        let first = self.reader.as_ref().and_then(|reader| reader.records(&self.run, 0, Some(1)).ok());
        let first = first.and_then(|records| records.into_iter().next());
        first.is_some_and(|record| match record.event {
            Event::RunStarted(started) => started.isolated.is_some(),
            _ => false,
        })
    }

    /// A question as lines. If there are several questions, the command names this one.
    fn question(&self, raised: &InterruptRaised, is_alone: bool) -> String {
        let run = self.reader.as_ref().and_then(|reader| load_run(reader, &self.run).ok());
        let run_base = run.as_ref().and_then(Run::started).map(|started| Path::new(&started.run_base));
        let step = run.as_ref().and_then(|run| run.step(&raised.visit));
        let mut lines = vec![prose(&raised.question, terminal::columns_of_stderr())];
        lines.extend(run_base.map(|run_base| last_words(run_base, raised)).unwrap_or_default());
        let answer = format!("  answer: {}", how_to_answer(&self.run, raised, is_alone, step));
        lines.push(prose(&answer, terminal::columns_of_stderr()));
        lines.extend(more_rounds(&self.run, raised).map(|more| format!("  {more}")));
        lines.join("\n")
    }

    /// Reads the events before the first record: a command that continues a run needs what started earlier.
    fn remember(&mut self, first: &Record) {
        if core::mem::replace(&mut self.remembers, true) || first.seq == 0 {
            return;
        }
        const KINDS: &[&str] = &["fanned_out", "flow_entered", "attempt_settled", "handoff_written"];
        let reader = self.reader.take();
        let earlier =
            reader.as_ref().and_then(|reader| reader.records_before(&self.run, KINDS, first.seq, None).ok());
        for record in earlier.into_iter().flatten().rev() {
            self.line(&record);
        }
        self.reader = reader;
    }

    /// The lines for an event.
    pub(crate) fn lines(&mut self, record: &Record) -> Vec<String> {
        self.remember(record);
        remarks(&record.event).into_iter().chain(self.line(record)).collect()
    }

    /// ` (api)` for the item of a visit that has the value `api`.
    fn value(&self, visit: &VisitId) -> String {
        let item = visit.item().and_then(|item| usize::try_from(item).ok());
        let value = item.and_then(|item| self.values.get(&visit.whole())?.get(item));
        value.map_or_else(String::new, |value| format!(" ({value})"))
    }

    /// The value of the visit's item, and the result of the visit.
    fn result(&mut self, written: &HandoffWritten) -> (String, String) {
        let sources = self.sources.remove(&written.visit).unwrap_or_default();
        let headline = match self.values.get(&written.visit) {
            Some(values) => items(values),
            None => headline(&written.handoff.summary, &sources),
        };
        (self.value(&written.visit), headline)
    }

    fn line(&mut self, record: &Record) -> Option<String> {
        let at = record.at;
        if let Event::AttemptSettled(settled) = &record.event {
            self.sources.insert(settled.attempt.visit.clone(), Sources::of(settled));
        }
        Some(match &record.event {
            Event::AttemptStarted(started) => {
                let verifies = started.verifies.as_ref().map(|doubtful| format!(", to verify {doubtful}"));
                let value = self.value(&started.attempt.visit);
                format!(
                    "  {:<18} started{value}{}",
                    started.attempt.to_string(),
                    verifies.unwrap_or_default()
                )
            }
            Event::AttemptSettled(settled) if settled.given_up => {
                format!("  {:<18} ended (given up)", settled.attempt.to_string())
            }
            Event::AttemptSettled(settled) if matches!(settled.outcome, Outcome::InDoubt { .. }) => {
                format!("  {:<18} in doubt", settled.attempt.to_string())
            }
            Event::AttemptSettled(settled) if !settled.ok => {
                let took = took(settled.duration_ms);
                let value = self.value(&settled.attempt.visit);
                format!(
                    "  {:<18} failed after {took}{value}: {}",
                    settled.attempt.to_string(),
                    error(settled)
                )
            }
            // Answered calls are counted in the run's usage. There may be hundreds.
            Event::ModelCallEnded(ended) if ended.outcome != CallOutcome::Ok => {
                let of = ended.attempt.as_ref().map(ToString::to_string).unwrap_or_default();
                format!("  {of:<18} {}", model_call(ended))
            }
            Event::TimerSet(TimerSet { visit, due, account: Some(wait), .. }) => {
                let words = waiting_for(&wait.account, wait.resets_at, *due);
                format!("  {:<18} {words}", visit.to_string())
            }
            Event::TimerSet(timer) => {
                format!("  {:<18} next try at {}", timer.visit.to_string(), clock::local(timer.due))
            }
            Event::FannedOut(fanned) => {
                self.wholes.insert(fanned.visit.clone(), at);
                self.values.insert(fanned.visit.clone(), fanned.items.iter().map(item).collect());
                format!("  {:<18} {}", fanned.visit.to_string(), has_items(fanned))
            }
            Event::FlowEntered(entered) => {
                self.wholes.insert(entered.visit.clone(), at);
                format!("  {:<18} {}", entered.visit.to_string(), flow_of(entered))
            }
            Event::RunStopping(end) => stopping(end),
            Event::GoalsReached(reached) => {
                format!("  {:<18} {}", reached.visit.to_string(), goals(&reached.goals))
            }
            Event::Routed(routed) => {
                let leads = leads(routed)?;
                let line = format!("  {:<18} {leads}", routed.visit.to_string());
                self.leads = Some((routed.visit.clone(), leads));
                // Only an answer is routed without a later hand-off. Events of earlier versions have the
                // answer only in their audit.
                let is_answer = routed.answer.is_some() || routed.audit.get("answer").is_some();
                is_answer.then_some(line)?
            }
            Event::HandoffWritten(written) => {
                let leads = self.leads.take().filter(|(visit, _)| *visit == written.visit);
                let began = self.wholes.remove(&written.visit);
                let took_ms = began.map_or(written.handoff.duration_ms, |began| since(began, at));
                let was_begun = began.is_some() || self.sources.contains_key(&written.visit);
                let result = self.result(written);
                self.values.remove(&written.visit);
                if let Some(error) = passed_over(&written.handoff).filter(|_| !was_begun) {
                    let visit = written.visit.to_string();
                    return Some(format!("  {visit:<18} failed before it was started{}: {error}", result.0));
                }
                done(written, took_ms, &result, leads.as_ref().map(|(_, leads)| leads.as_str()))?
            }
            Event::InterruptRaised(_) if self.asks_in_place => return None,
            Event::InterruptRaised(raised) => {
                self.shown.insert(raised.interrupt.clone());
                self.question(raised, self.shown.len() == 1)
            }
            _ => return None,
        })
    }
}

fn error(settled: &AttemptSettled) -> String {
    cause::of_attempt(settled).unwrap_or_default()
}

fn leads(routed: &Routed) -> Option<String> {
    match &routed.course {
        Course::LoopBack(step) => Some(format!("back to {step}: {}", routed.signal.reason)),
        Course::Round(step) => Some(format!("another round from {step}: {}", routed.signal.reason)),
        Course::Enter(step) if routed.signal.route.is_some() => {
            Some(format!("on to {step}: {}", routed.signal.reason))
        }
        _ if routed.goes_on_without_success() => {
            Some(format!("goes on without success: {}", routed.signal.reason))
        }
        _ => None,
    }
}

/// Why a step failed after which the run continues. If the failure ends the run, the end of the run has the reason.
fn passed_over(handoff: &Handoff) -> Option<&str> {
    let goes_on = handoff.routing_signal.decision == Decision::Advance;
    handoff.error.as_deref().filter(|_| handoff.status == HandoffStatus::Failed && goes_on)
}

fn done(
    written: &HandoffWritten,
    took_ms: u64,
    (value, headline): &(String, String),
    leads: Option<&str>,
) -> Option<String> {
    let visit = written.visit.to_string();
    let handoff = &written.handoff;
    let words = match handoff.status {
        HandoffStatus::Failed => return None,
        HandoffStatus::Skipped => skipped(&handoff.routing_signal.reason),
        HandoffStatus::Succeeded if handoff.routing_audit.get("taken_from").is_some() => {
            handoff.routing_signal.reason.replacen("Taken", "taken", 1)
        }
        HandoffStatus::Succeeded => {
            let took = format!("done in {}{value}", took(took_ms));
            let parts = [took, headline.clone(), leads.unwrap_or_default().to_owned()];
            parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("; ")
        }
    };
    Some(format!("  {visit:<18} {words}"))
}

/// `Given up: …` already has the outcome of a visit. Any other reason is why it was not executed.
fn skipped(reason: &str) -> String {
    let mut text = reason.to_owned();
    if let Some(first) = text.get_mut(..1) {
        first.make_ascii_lowercase();
    }
    if text.starts_with("given up") { text } else { format!("skipped: {text}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::live::fixture::Fixture;

    #[test]
    fn a_whole_took_as_long_as_from_its_beginning_to_its_end() {
        let mut fixture =
            Fixture::of("flow: f\nsteps:\n  - { id: look, for_each: [api, web], max_parallel: 1, run: x }\n");
        fixture.ends(3_000, 0, "one", &[]).fills().ends(4_000, 0, "two", &[]);
        let mut printer = Printer::new(RunId::new("run_1").unwrap(), false);
        let told: Vec<String> = fixture.records.iter().flat_map(|record| printer.lines(record)).collect();
        let expected = [
            "  look.1             has 2 items, 1 at a time",
            "  0.look.1.1         started (api)",
            "  0.look.1           done in 3.0s (api); one",
            "  1.look.1.1         started (web)",
            "  1.look.1           done in 4.0s (web); two",
            "  look.1             done in 7.0s; 2 items: api, web",
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn a_step_that_fails_before_it_is_started_has_a_line_although_the_run_goes_on() {
        let mut fixture = Fixture::of(
            "flow: f\nsteps:\n  - { id: first, run: x }\n  - id: second\n    continue_on_error: true\n    run: [x, '${{ steps.first.data.n }}']\n  \
             - { id: third, run: x }\n",
        );
        fixture.ends(3_000, 0, "one", &[]);
        let mut printer = Printer::new(RunId::new("run_1").unwrap(), false);
        let told: Vec<String> = fixture.records.iter().flat_map(|record| printer.lines(record)).collect();
        assert_eq!(told.len(), 4, "{told:?}");
        assert!(
            told[2].starts_with("  second.1           failed before it was started: EXPRESSION_FAILED: "),
            "{told:?}"
        );
        assert_eq!(told[3], "  third.1.1          started");
    }
}
