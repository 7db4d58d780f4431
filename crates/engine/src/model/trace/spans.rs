//! A run's records as spans: its stretches of activity, visits, attempts and calls of models.
//!
//! Pure: the same records give the same spans, however they are cut, so that a run that is looked at again (after a crash,
//! by another engine) never has a span under two ids. A span is sent once, when it is over. It holds no input and no
//! output of a command. This module does not know where spans are sent.

use super::{Of, SpanId, Trace, TraceId, Traceparent};
use envoi_contract::time::Timestamp;
use envoi_kernel::{
    Event, Record,
    event::{AttemptSettled, CallOutcome, EndStatus, ModelCallEnded, ModelCallStarted, Outcome, RunStarted},
    ids::{AttemptId, CallId, FlowId, InterruptId, RunId, Seq, StepId, TimerId, VisitId},
};
use std::collections::{BTreeMap, BTreeSet};

/// A finished span.
#[derive(Debug, Clone, PartialEq)]
pub struct Span {
    /// The trace of its run.
    pub trace: TraceId,
    /// Derived from the run and from what it is about.
    pub id: SpanId,
    /// The span that it is part of.
    pub parent: Option<SpanId>,
    /// Whether that one is a span of the client that started the run.
    pub is_remote: bool,
    /// Such as `envoi.step build`.
    pub name: String,
    /// Whether it is a call of another system.
    pub is_call: bool,
    /// When it began.
    pub start: Timestamp,
    /// When it was over; not before its beginning.
    pub end: Timestamp,
    /// Its attributes, by name.
    pub attributes: Vec<(&'static str, Attribute)>,
    /// The stretch of the run before this one.
    pub link: Option<SpanId>,
    /// The code of what went wrong.
    pub error: Option<String>,
}

/// The value of an attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Attribute {
    /// Words.
    Text(String),
    /// A number.
    Number(i64),
}

/// The state of a run that is needed to make spans of its next records.
#[derive(Debug, Clone)]
pub struct Trail {
    trace: Trace,
    run: RunId,
    flow: FlowId,
    tenant: String,
    forked_from: Option<RunId>,
    stretch: Option<Stretch>,
    /// The last stretch that is over.
    before: Option<SpanId>,
    /// The flows that run inside, by their scopes.
    flows: BTreeMap<String, FlowId>,
    visits: BTreeMap<VisitId, Visit>,
    /// Visits that are over: a question may still be put about them.
    done: BTreeSet<VisitId>,
    attempts: BTreeMap<AttemptId, Attempt>,
    calls: BTreeMap<CallId, Call>,
    timers: BTreeSet<TimerId>,
    questions: BTreeSet<InterruptId>,
    last_at: Timestamp,
}

/// A time in which a run does something, rather than wait for people.
#[derive(Debug, Clone, Copy)]
struct Stretch {
    seq: Seq,
    start: Timestamp,
}

#[derive(Debug, Clone)]
struct Visit {
    start: Timestamp,
    parent: Option<SpanId>,
}

#[derive(Debug, Clone)]
struct Attempt {
    start: Timestamp,
    verifies: Option<AttemptId>,
}

#[derive(Debug, Clone)]
struct Call {
    start: Timestamp,
    parent: Option<SpanId>,
    started: ModelCallStarted,
}

impl Trail {
    /// The trail of a run with this start, of which nothing else is known so far.
    #[must_use]
    pub fn of(started: &RunStarted) -> Self {
        Self {
            trace: Trace::of(started),
            run: started.run.clone(),
            flow: started.flow.clone(),
            tenant: started.by.tenant.clone(),
            forked_from: None,
            stretch: None,
            before: None,
            flows: BTreeMap::new(),
            visits: BTreeMap::new(),
            done: BTreeSet::new(),
            attempts: BTreeMap::new(),
            calls: BTreeMap::new(),
            timers: BTreeSet::new(),
            questions: BTreeSet::new(),
            last_at: Timestamp::from_millis(0),
        }
    }

    /// Whether the client that began the trace wants spans of the run.
    #[must_use]
    pub fn is_sampled(&self) -> bool {
        self.trace.sampled
    }

    /// Whether the run does something, as far as is known.
    #[must_use]
    pub fn is_active(&self) -> bool {
        self.stretch.is_some()
    }

    /// The trace header of the run as it is now, so that other spans are below the stretch that goes on, or was the
    /// last one; `None` before there was any.
    #[must_use]
    pub fn traceparent(&self) -> Option<Traceparent> {
        let trace = self.trace.id;
        let sampled = self.trace.sampled;
        self.latest().map(|span| Traceparent { trace, span, sampled })
    }

    /// The spans that are over with these records: all of the run, in order, in as many parts as one likes; but the commit
    /// by which a run is forked in one.
    pub fn take(&mut self, records: &[Record]) -> Vec<Span> {
        let mut spans = Vec::new();
        for record in records {
            // A later event of the same commit may set the run going again.
            if record.at > self.last_at {
                spans.extend(self.rested());
            }
            self.last_at = record.at;
            self.follow(record, &mut spans);
        }
        spans
    }

    /// It is `now`, and nothing has followed so far: the stretch of a run that waits for people is over.
    pub fn pause(&mut self, now: Timestamp) -> Option<Span> {
        if now > self.last_at { self.rested() } else { None }
    }

    fn follow(&mut self, record: &Record, spans: &mut Vec<Span>) {
        let at = record.at;
        if wakes(&record.event) && self.stretch.is_none() {
            self.stretch = Some(Stretch { seq: record.seq, start: at });
        }
        match &record.event {
            Event::RunForked(forked) => {
                // Earlier events belong to another run, which has sent them.
                spans.clear();
                self.begin_anew(record);
                self.forked_from = Some(forked.from.clone());
            }
            Event::FlowEntered(entered) => {
                self.flows.insert(entered.visit.inside(), entered.flow.clone());
                self.enter(&entered.visit, at);
            }
            Event::FannedOut(fanned) => self.enter(&fanned.visit, at),
            Event::AttemptStarted(started) => {
                self.enter(&started.attempt.visit, at);
                let attempt = Attempt { start: at, verifies: started.verifies.clone() };
                self.attempts.insert(started.attempt.clone(), attempt);
            }
            Event::AttemptSettled(settled) => spans.extend(self.settled(settled, at)),
            Event::ModelCallStarted(started) => {
                let attempt = started.attempt.as_ref().map(|attempt| self.trace.span(Of::Attempt(attempt)));
                let call = Call {
                    start: at,
                    parent: attempt.or_else(|| self.latest()),
                    started: (**started).clone(),
                };
                self.calls.insert(started.call.clone(), call);
            }
            Event::ModelCallEnded(ended) => spans.extend(self.called(ended, at)),
            Event::HandoffWritten(written) => {
                self.enter(&written.visit, at);
                spans.extend(self.left(&written.visit, written.handoff.status.word(), at));
            }
            Event::InterruptRaised(raised) => {
                self.enter(&raised.visit, at);
                self.questions.insert(raised.interrupt.clone());
            }
            Event::InterruptAnswered(answered) => {
                self.questions.remove(&answered.interrupt);
            }
            Event::InterruptExpired(expired) => {
                self.questions.remove(&expired.interrupt);
            }
            Event::InterruptCancelled(void) => {
                self.questions.remove(&void.interrupt);
            }
            Event::TimerSet(set) => {
                self.timers.insert(set.timer.clone());
            }
            Event::TimerFired(fired) => {
                self.timers.remove(&fired.timer);
            }
            Event::RunEnded(ended) => {
                let open: Vec<VisitId> = self.visits.keys().cloned().collect();
                // The innermost first: so a reader finds no part longer than the whole.
                for visit in open.iter().rev() {
                    spans.extend(self.left(visit, ended.status.word(), at));
                }
                let failed = ended.status != EndStatus::Succeeded;
                let error = failed.then(|| ended.terminal_reason.word().to_owned());
                spans.extend(self.close(ended.status.word(), error, at));
                (self.questions, self.timers) = Default::default();
            }
            _ => {}
        }
    }

    /// A fork begins: open visits are its own from here on, and done anew.
    fn begin_anew(&mut self, record: &Record) {
        self.stretch = Some(Stretch { seq: record.seq, start: record.at });
        self.before = None;
        self.attempts.clear();
        self.calls.clear();
        self.timers.clear();
        self.questions.clear();
        let open: Vec<VisitId> = std::mem::take(&mut self.visits).into_keys().collect();
        open.iter().for_each(|visit| self.enter(visit, record.at));
    }

    fn enter(&mut self, visit: &VisitId, at: Timestamp) {
        if !self.done.contains(visit) && !self.visits.contains_key(visit) {
            let parent = self.above(visit);
            self.visits.insert(visit.clone(), Visit { start: at, parent });
        }
    }

    /// The parent span of a visit: the visit of which it is an item, the visit that runs its flow, or the
    /// run.
    fn above(&self, visit: &VisitId) -> Option<SpanId> {
        if visit.item().is_some() {
            return Some(self.trace.span(Of::Visit(&visit.whole())));
        }
        match holder(visit.flow_scope()) {
            Some(holder) => Some(self.trace.span(Of::Visit(&holder))),
            None => self.latest(),
        }
    }

    /// The stretch that goes on, or else the one before.
    fn latest(&self) -> Option<SpanId> {
        self.stretch.map(|stretch| self.trace.span(Of::Stretch(stretch.seq))).or(self.before)
    }

    fn left(&mut self, visit: &VisitId, outcome: &str, at: Timestamp) -> Option<Span> {
        let Visit { start, parent } = self.visits.remove(visit)?;
        self.done.insert(visit.clone());
        let mut attributes = self.of_visit(visit);
        attributes.push(("envoi.outcome", text(outcome)));
        let error = (outcome == "failed").then(|| outcome.to_owned());
        let name = format!("envoi.step {}", visit.step);
        Some(Span { parent, attributes, error, ..self.span(Of::Visit(visit), name, (start, at)) })
    }

    fn settled(&mut self, settled: &AttemptSettled, at: Timestamp) -> Option<Span> {
        let id = &settled.attempt;
        let Attempt { start, verifies } = self.attempts.remove(id)?;
        let mut attributes = self.of_attempt(id);
        attributes.push(("envoi.outcome", text(outcome(settled))));
        attributes.push(("envoi.duration_ms", number(settled.duration_ms)));
        if let Outcome::Exited { code } = settled.outcome {
            attributes.push(("process.exit.code", Attribute::Number(code.into())));
        }
        attributes.extend(verifies.map(|doubtful| ("envoi.verifies", text(&doubtful.to_string()))));
        if settled.given_up {
            attributes.push(("envoi.given_up", text("true")));
        }
        let error = (!settled.ok).then(|| settled.error.as_ref().map_or("", |error| &error.code));
        let error = error.map(|code| if is_code(code) { code } else { OTHER }.to_owned());
        let parent = Some(self.trace.span(Of::Visit(&id.visit)));
        let name = format!("envoi.attempt {}", id.visit.step);
        Some(Span { parent, attributes, error, ..self.span(Of::Attempt(id), name, (start, at)) })
    }

    fn called(&mut self, ended: &ModelCallEnded, at: Timestamp) -> Option<Span> {
        let Call { start, parent, started } = self.calls.remove(&ended.call)?;
        let mut attributes = match &started.attempt {
            Some(attempt) => self.of_attempt(attempt),
            None => self.of_run(),
        };
        attributes.extend([
            ("gen_ai.operation.name", text("chat")),
            ("gen_ai.provider.name", text(&started.provider)),
            ("gen_ai.request.model", text(&started.model)),
        ]);
        attributes.extend(ended.tokens_in.map(|tokens| ("gen_ai.usage.input_tokens", number(tokens))));
        attributes.extend(ended.tokens_out.map(|tokens| ("gen_ai.usage.output_tokens", number(tokens))));
        attributes.extend(ended.cost.map(|cost| ("envoi.cost_usd", text(&cost.to_string()))));
        attributes.push(("envoi.outcome", text(ended.outcome.word())));
        let error = (ended.outcome != CallOutcome::Ok).then(|| ended.outcome.word().to_owned());
        let name = format!("chat {}", started.model);
        let span = self.span(Of::Call(ended.call.as_str()), name, (start, at));
        Some(Span { parent, attributes, error, is_call: true, ..span })
    }

    /// The stretch of a run that waits for people only is over.
    fn rested(&mut self) -> Option<Span> {
        let rests = !self.questions.is_empty() && self.attempts.is_empty() && self.timers.is_empty();
        if rests { self.close("waiting", None, self.last_at) } else { None }
    }

    fn close(&mut self, outcome: &str, error: Option<String>, at: Timestamp) -> Option<Span> {
        let Stretch { seq, start } = self.stretch.take()?;
        let mut attributes = self.of_run();
        attributes.push(("envoi.tenant", text(&self.tenant)));
        attributes.push(("envoi.outcome", text(outcome)));
        attributes.extend(self.forked_from.as_ref().map(|from| ("envoi.forked_from", text(from.as_str()))));
        let span = self.span(Of::Stretch(seq), "envoi.run".to_owned(), (start, at));
        let parent = self.trace.parent;
        let is_remote = self.trace.parent.is_some();
        let link = self.before.replace(span.id);
        Some(Span { parent, is_remote, link, attributes, error, ..span })
    }

    fn span(&self, of: Of<'_>, name: String, (start, end): (Timestamp, Timestamp)) -> Span {
        let trace = self.trace.id;
        let id = self.trace.span(of);
        let attributes = Vec::new();
        let parent = None;
        let link = None;
        let error = None;
        Span {
            trace,
            id,
            parent,
            is_remote: false,
            name,
            is_call: false,
            start,
            end,
            attributes,
            link,
            error,
        }
    }

    fn of_run(&self) -> Vec<(&'static str, Attribute)> {
        vec![("envoi.run_id", text(self.run.as_str())), ("envoi.flow", text(self.flow.as_str()))]
    }

    fn of_visit(&self, visit: &VisitId) -> Vec<(&'static str, Attribute)> {
        let flow = self.flows.get(visit.flow_scope()).unwrap_or(&self.flow);
        vec![
            ("envoi.run_id", text(self.run.as_str())),
            ("envoi.flow", text(flow.as_str())),
            ("envoi.step", text(visit.step.as_str())),
            ("envoi.visit", text(&visit.to_string())),
        ]
    }

    fn of_attempt(&self, attempt: &AttemptId) -> Vec<(&'static str, Attribute)> {
        let mut attributes = self.of_visit(&attempt.visit);
        attributes.push(("envoi.attempt", text(&attempt.to_string())));
        attributes
    }
}

/// Whether a run that waits does something with it. A vote that is not the last one, a higher bound, a question that is put
/// or put again leave it waiting; a model may be called on its account meanwhile.
fn wakes(event: &Event) -> bool {
    !matches!(
        event,
        Event::VoteCast(_)
            | Event::LimitsRaised(_)
            | Event::InterruptRaised(_)
            | Event::InterruptCancelled(_)
            | Event::ModelCallStarted(_)
            | Event::ModelCallEnded(_)
    )
}

/// The visit that runs the flow of this scope.
fn holder(scope: &str) -> Option<VisitId> {
    let mut parts = scope.rsplitn(3, '.');
    let visit = parts.next()?.parse().ok()?;
    let step = StepId::new(parts.next()?).ok()?;
    Some(VisitId { scope: parts.next().unwrap_or("").to_owned(), step, visit })
}

/// The word for how an attempt ended.
fn outcome(settled: &AttemptSettled) -> &'static str {
    match (&settled.outcome, settled.ok) {
        (Outcome::Exited { .. }, true) => "succeeded",
        (Outcome::Exited { .. }, false) => "failed",
        (other, _) => other.word(),
    }
}

/// A report may give any text as its code; a code that is not one word in capitals stays in the journal.
fn is_code(code: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
    (1..=64).contains(&code.len()) && code.bytes().all(is_part)
}

/// The word of OpenTelemetry for an error that is not named.
const OTHER: &str = "_OTHER";

fn text(text: &str) -> Attribute {
    Attribute::Text(text.to_owned())
}

fn number(number: u64) -> Attribute {
    Attribute::Number(i64::try_from(number).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests;
