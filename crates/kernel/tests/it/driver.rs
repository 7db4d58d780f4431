//! A run that is lived: inputs go in, records are applied, and what must hold in every run is checked at every turn.

use envoi_contract::{
    digest::Digest,
    envelope::Envelope,
    handoff::Handoff,
    json::{Object, Value},
    time::Timestamp,
};
use envoi_kernel::{
    Event, Flow, Input, Record, Refusal, Run, Status,
    event::{AttemptSettled, AttemptStarted, Blob, Outcome},
    ids::{AttemptId, Principal, RunId, TimerId},
    input::{AttemptResult, Slot, Start},
};
use std::sync::Arc;

/// 2026-11-21T00:00:00Z.
pub(crate) const BEGINNING_MS: i64 = 1_795_219_200_000;

/// See the module.
pub(crate) struct Driver {
    pub(crate) run: Run,
    pub(crate) records: Vec<Record>,
    pub(crate) now: Timestamp,
    pub(crate) inputs: Object,
}

pub(crate) fn slot() -> Option<Slot> {
    Some(Slot { boot_id: "boot-1".to_owned() })
}

pub(crate) fn person(name: &str) -> Principal {
    Principal { tenant: "local".to_owned(), actor: name.to_owned() }
}

pub(crate) fn attempt(text: &str) -> AttemptId {
    AttemptId::parse(text).unwrap()
}

/// A finished attempt that left this text.
pub(crate) fn result(id: &str, outcome: Outcome, text: &str) -> AttemptResult {
    AttemptResult {
        attempt: attempt(id),
        outcome,
        started_at: Timestamp::from_millis(BEGINNING_MS),
        duration_ms: 10,
        text: text.to_owned(),
        text_blob: None,
        stderr_tail: String::new(),
        report: None,
        report_blob: None,
        files: Vec::new(),
        warnings: Vec::new(),
        workspace_digest: None,
    }
}

/// A successful attempt that left a report with these members beside the required ones.
pub(crate) fn reported(id: &str, members: &str) -> AttemptResult {
    let ok = if members.contains("\"ok\"") { "" } else { r#""ok":true,"# };
    let report = format!(r#"{{{ok}"generatedAt":"2026-11-21T00:00:00Z","skillName":"a-skill",{members}}}"#);
    AttemptResult {
        report_blob: Some(blob(report.as_bytes())),
        report: Some(report.into_bytes()),
        ..exited(id, 0)
    }
}

pub(crate) fn exited(id: &str, code: i32) -> AttemptResult {
    result(id, Outcome::Exited { code }, "")
}

pub(crate) fn blob(bytes: &[u8]) -> Blob {
    Blob { digest: Digest::of(bytes), size: bytes.len().try_into().unwrap() }
}

pub(crate) fn settled(result: AttemptResult) -> Input {
    Input::Settled { result: Box::new(result), slot: slot() }
}

impl Driver {
    pub(crate) fn new(flow: &Arc<Flow>) -> Self {
        Self {
            run: Run::new(Arc::clone(flow)),
            records: Vec::new(),
            now: Timestamp::from_millis(BEGINNING_MS),
            inputs: Object::default(),
        }
    }

    /// A run that has started with a free slot.
    pub(crate) fn started(flow: &Arc<Flow>) -> Self {
        let mut driver = Self::new(flow);
        driver.feed(driver.start(slot())).unwrap();
        driver
    }

    /// The same with these inputs, a JSON object.
    pub(crate) fn started_with(flow: &Arc<Flow>, inputs: &str) -> Self {
        let mut driver = Self::new(flow);
        driver.inputs = Value::parse_str(inputs).unwrap().as_object().unwrap().clone();
        driver.feed(driver.start(slot())).unwrap();
        driver
    }

    pub(crate) fn start(&self, slot: Option<Slot>) -> Input {
        Input::Start(Box::new(Start {
            run: RunId::new("run_0demo").unwrap(),
            inputs: self.inputs.clone(),
            source: "/project/flow.yaml".into(),
            shared: false,
            workspace: "/work".to_owned(),
            run_base: "/base".to_owned(),
            language: 1,
            by: person("ada"),
            yes_to: Vec::new(),
            slot,
        }))
    }

    /// Feeds an input and commits what it causes. A refusal changes nothing, and asking twice gives the same answer.
    pub(crate) fn feed(&mut self, input: Input) -> Result<Vec<Record>, Refusal> {
        let before = self.run.clone();
        let decided = self.run.decide(input.clone(), self.now);
        assert_eq!(decided, self.run.decide(input, self.now), "asked twice");
        assert_eq!(self.run, before, "a decision changed the run");
        // No input can bring a run at odds with itself: what does not fit is refused for its own reason.
        assert!(!matches!(decided, Err(Refusal::Inconsistent { .. })), "{decided:?}");
        for record in decided.iter().flatten() {
            self.run.apply(record).unwrap();
            self.records.push(record.clone());
        }
        self.check();
        decided
    }

    /// What holds after every commit.
    fn check(&self) {
        let ended = matches!(self.run.status(), Status::Ended(_));
        let begun = !self.records.is_empty();
        assert_eq!(self.run.wants().is_empty(), ended || !begun, "{:?}", self.run.wants());
        let envelope = self.run.envelope();
        let read = Envelope::from_dict(&envelope.to_state_dict()).unwrap();
        assert_eq!(&read, envelope, "the envelope reads back as it was written");
        assert_eq!(envelope.terminated, ended);
    }

    /// Feeds an input that must be acceptable.
    pub(crate) fn ok(&mut self, input: Input) -> &mut Self {
        self.feed(input).unwrap();
        self
    }

    pub(crate) fn exit(&mut self, id: &str, code: i32) -> &mut Self {
        self.ok(settled(exited(id, code)))
    }

    /// The timer that is armed and when it is due.
    pub(crate) fn timer(&self) -> (TimerId, Timestamp) {
        self.run.wants().timers.first().cloned().expect("a timer is armed")
    }

    /// Lets the time of the armed timer come.
    pub(crate) fn timer_due(&mut self) -> &mut Self {
        let (timer, due) = self.timer();
        self.now = self.now.max(due);
        self.ok(Input::TimerDue { timer, slot: slot() })
    }

    pub(crate) fn handoff(&self, visit: &str) -> &Handoff {
        let of_visit = |record: &&Record| match &record.event {
            Event::HandoffWritten(event) => event.visit.to_string() == visit,
            _ => false,
        };
        match self.records.iter().find(of_visit).map(|record| &record.event) {
            Some(Event::HandoffWritten(event)) => &event.handoff,
            _ => panic!("visit {visit} has no hand-off"),
        }
    }

    pub(crate) fn begun(&self, id: &str) -> &AttemptStarted {
        let found = self.records.iter().find_map(|record| match &record.event {
            Event::AttemptStarted(event) if event.attempt == attempt(id) => Some(event),
            _ => None,
        });
        found.unwrap_or_else(|| panic!("attempt {id} was not started"))
    }

    /// The attempt that began as the nth, from 0.
    pub(crate) fn nth_begun(&self, place: usize) -> Option<AttemptId> {
        let begun = self.records.iter().filter_map(|record| match &record.event {
            Event::AttemptStarted(event) => Some(event.attempt.clone()),
            _ => None,
        });
        begun.into_iter().nth(place)
    }

    pub(crate) fn settlement(&self, id: &str) -> &AttemptSettled {
        let found = self.records.iter().find_map(|record| match &record.event {
            Event::AttemptSettled(event) if event.attempt == attempt(id) => Some(event),
            _ => None,
        });
        found.unwrap_or_else(|| panic!("attempt {id} has not settled"))
    }
}

/// A report that the attempt left.
pub(crate) trait AttemptResultExt {
    fn with_report(self, bytes: &[u8]) -> AttemptResult;
}

impl AttemptResultExt for AttemptResult {
    fn with_report(self, bytes: &[u8]) -> AttemptResult {
        AttemptResult { report: Some(bytes.to_vec()), report_blob: Some(blob(bytes)), ..self }
    }
}
