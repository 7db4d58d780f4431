//! A run that is lived: inputs go in, records are applied, and the rules of every run are checked at every turn.

use envoi_contract::{
    digest::Digest,
    envelope::Envelope,
    handoff::Handoff,
    json::{Object, Value},
    time::Timestamp,
};
use envoi_kernel::{
    Event, Flow, Input, Record, Refusal, Run, Status,
    event::{
        AttemptSettled, AttemptStarted, Blob, Choice, Command, InterruptAnswered, InterruptRaised, Outcome,
    },
    ids::{AttemptId, InterruptId, Principal, RunId, StepId, TimerId},
    input::{Answer, AttemptResult, ReportPlace, Slot, Start},
    part::Part,
    requester::Requester,
};
use std::sync::Arc;

/// 2026-11-21T00:00:00Z.
pub(crate) const BEGINNING_MS: i64 = 1_795_219_200_000;

/// See the module.
#[derive(Clone)]
pub(crate) struct Driver {
    pub(crate) run: Run,
    pub(crate) records: Vec<Record>,
    pub(crate) now: Timestamp,
    pub(crate) inputs: Object,
    pub(crate) yes_to: Vec<StepId>,
    pub(crate) part: Option<Box<Part>>,
}

pub(crate) fn slot() -> Option<Slot> {
    Some(Slot::new("boot-1"))
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
        duration_ms: 10,
        text: text.to_owned(),
        ..AttemptResult::empty(attempt(id), outcome, Timestamp::from_millis(BEGINNING_MS))
    }
}

/// A successful attempt that left a report with these members beside the required ones.
pub(crate) fn reported(id: &str, members: &str) -> AttemptResult {
    let ok = if members.contains("\"ok\"") { "" } else { r#""ok":true,"# };
    let report = format!(r#"{{{ok}"generatedAt":"2026-11-21T00:00:00Z","skillName":"a-skill",{members}}}"#);
    AttemptResult {
        report_blob: Some(blob(report.as_bytes())),
        report: Some(report.into_bytes()),
        report_place: ReportPlace { assigned: true, unreadable: None },
        ..exited(id, 0)
    }
}

/// An attempt in doubt, which ran for this long.
pub(crate) fn doubtful(id: &str, ran_ms: u64) -> Input {
    let ran = ("ran_ms".to_owned(), Value::from(ran_ms));
    Input::InDoubt { attempt: attempt(id), evidence: Value::Object([ran].into_iter().collect()) }
}

pub(crate) fn exited(id: &str, code: i32) -> AttemptResult {
    result(id, Outcome::Exited { code }, "")
}

pub(crate) fn blob(bytes: &[u8]) -> Blob {
    Blob { digest: Digest::of(bytes), size: bytes.len().try_into().unwrap() }
}

pub(crate) fn settled(result: AttemptResult) -> Input {
    Input::Settled(Box::new(result))
}

impl Driver {
    pub(crate) fn new(flow: &Arc<Flow>) -> Self {
        Self {
            run: Run::new(Arc::clone(flow)),
            records: Vec::new(),
            now: Timestamp::from_millis(BEGINNING_MS),
            inputs: Object::default(),
            yes_to: Vec::new(),
            part: None,
        }
    }

    /// A run that has started with a free slot.
    pub(crate) fn started(flow: &Arc<Flow>) -> Self {
        let mut driver = Self::new(flow);
        driver.feed(driver.start()).unwrap();
        driver
    }

    /// The same with these inputs, a JSON object.
    pub(crate) fn started_with(flow: &Arc<Flow>, inputs: &str) -> Self {
        let mut driver = Self::new(flow);
        driver.inputs = Value::parse_str(inputs).unwrap().as_object().unwrap().clone();
        driver.feed(driver.start()).unwrap();
        driver
    }

    pub(crate) fn start(&self) -> Input {
        Input::Start(Box::new(Start {
            run: RunId::new("run_0demo").unwrap(),
            inputs: self.inputs.clone(),
            source: "/project/flow.yaml".into(),
            shared: false,
            keep_files: false,
            no_cache: false,
            isolated: None,
            workspace: "/work".to_owned(),
            run_base: "/base".to_owned(),
            language: 1,
            by: person("ada"),
            yes_to: self.yes_to.clone(),
            trace: None,
            env: envoi_contract::json::Object::new(),
            requester: Requester::default(),
            part: self.part.clone(),
        }))
    }

    /// Feeds an input with a free slot, and commits what it causes.
    pub(crate) fn feed(&mut self, input: Input) -> Result<Vec<Record>, Refusal> {
        self.feed_with(input, slot())
    }

    /// Feeds an input and commits what it causes. A refusal changes nothing, and a second decision is the same as the first.
    pub(crate) fn feed_with(&mut self, input: Input, slot: Option<Slot>) -> Result<Vec<Record>, Refusal> {
        crate::wire::check_travels(&input, slot.as_ref(), self.now);
        let before = self.run.clone();
        let decided = self.run.decide(input.clone(), slot.clone(), self.now);
        assert_eq!(decided, self.run.decide_next(input, slot, self.now), "decided twice");
        assert_eq!(self.run, before, "a decision changed the run");
        // No input can bring a run at odds with itself: an input that does not fit is refused for its own reason.
        assert!(!matches!(decided, Err(Refusal::Inconsistent { .. })), "{decided:?}");
        for record in decided.iter().flatten() {
            let before = self.run.envelope().current_stage;
            self.run.apply(record).unwrap();
            let envelope = self.run.envelope();
            if envelope.active_stages.is_empty() {
                assert_eq!(envelope.current_stage, before, "the last step that was open, after {record:?}");
            } else {
                assert!(envelope.active_stages.contains_key(&envelope.current_stage), "{record:?}");
            }
            self.records.push(record.clone());
        }
        self.check();
        decided
    }

    /// Checks that run after every commit.
    fn check(&self) {
        let ended = matches!(self.run.status(), Status::Ended(_));
        let begun = !self.records.is_empty();
        let story =
            || self.records.iter().map(|record| crate::story::event(&record.event)).collect::<Vec<_>>();
        assert_eq!(self.run.wants().is_empty(), ended || !begun, "{:?} {:?}", self.run.wants(), story());
        self.check_slot();
        let envelope = self.run.envelope();
        let read = Envelope::from_dict(&envelope.to_state_dict()).unwrap();
        assert_eq!(read, envelope, "the envelope reads back as it was written");
        assert_eq!(envelope.terminated, ended);
        assert_eq!(envelope.terminal_reason.is_some(), ended, "the envelope has a word for each end");
        let oldest = self.run.interrupts().next();
        let shown = envelope.interrupt.as_ref();
        assert_eq!(
            shown.map(|shown| (shown.id.clone(), shown.kind, shown.expires_at.clone())),
            oldest.map(|open| (
                Some(open.interrupt.to_string()),
                open.kind(),
                open.expires_at.map(|at| at.to_string())
            ))
        );
        assert_eq!(envelope.interrupt_pending, oldest.is_some());
        let wanted = self.run.wants().interrupts;
        assert!(self.run.interrupts().map(|open| &open.interrupt).eq(&wanted), "{wanted:?}");
    }

    /// Only visits that wait for a slot use a free slot.
    fn check_slot(&self) {
        if self.records.is_empty() {
            return;
        }
        let decided = self.run.decide(Input::SlotFree, slot(), self.now);
        match self.run.wants().ready.is_empty() {
            true => assert!(decided.is_err(), "nothing is ready, and {decided:?}"),
            false => assert!(decided.is_ok_and(|records| !records.is_empty()), "{:?}", self.run.wants()),
        }
    }

    /// The engine is another one from here on, which has read the records, and one which has read a snapshot.
    pub(crate) fn restart(&mut self) {
        let versions = self.run.versions();
        let texts = self.records.iter().map(|record| serde_json::to_string(record).unwrap());
        let read = texts.map(|text| serde_json::from_str::<Record>(&text).unwrap());
        let replayed = Run::replay(versions.clone(), read).unwrap();
        assert_eq!(replayed, self.run, "replay gives another run");
        let restored = Run::restore(versions.clone(), &self.run.snapshot().unwrap()).unwrap();
        assert_eq!(restored, self.run, "the snapshot gives another run");
        assert_eq!(replayed.snapshot(), restored.snapshot());
        self.run = restored;
    }

    /// The open question.
    pub(crate) fn question(&self) -> &InterruptRaised {
        self.run.interrupts().next().expect("a question is open")
    }

    /// An answer to the open question.
    pub(crate) fn answer(&self, choice: Choice, by: &str) -> Answer {
        Answer::new(self.question().interrupt.clone(), choice, person(by))
    }

    pub(crate) fn say(&mut self, answer: Answer) -> Result<Vec<Record>, Refusal> {
        self.feed(Input::Answer(Box::new(answer)))
    }

    /// The answer that closed the nth question which was answered, from 0.
    pub(crate) fn answered(&self, place: usize) -> &InterruptAnswered {
        let answers = self.records.iter().filter_map(|record| match &record.event {
            Event::InterruptAnswered(event) => Some(event.as_ref()),
            _ => None,
        });
        answers.into_iter().nth(place).expect("somebody has answered")
    }

    /// Ids of all questions that were put, oldest first.
    pub(crate) fn asked(&self) -> Vec<InterruptId> {
        let raised = self.records.iter().filter_map(|record| match &record.event {
            Event::InterruptRaised(event) => Some(event.interrupt.clone()),
            _ => None,
        });
        raised.collect()
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
        self.ok(Input::TimerDue { timer })
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

    /// Whether this attempt is one that talks to an agent.
    pub(crate) fn talks(&self, id: &AttemptId) -> bool {
        self.run.attempt(id).is_some_and(|started| matches!(started.command, Command::A2a(_)))
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
        AttemptResult {
            report: Some(bytes.to_vec()),
            report_blob: Some(blob(bytes)),
            report_place: ReportPlace { assigned: true, unreadable: None },
            ..self
        }
    }
}
