//! Runs for tests: a flow, executed by the kernel itself, with a model that gets every record.

use super::{
    frame::{Look, frame},
    model::{RunModel, State},
};
use crate::text::columns::Charset;
use envoi_contract::{
    json::{Object, Value},
    time::Timestamp,
};
use envoi_kernel::{
    Input, Record, Run,
    event::{Change, FileChange, Outcome},
    family::Share,
    ids::{AttemptId, InterruptId, Principal, RunId, TimerId, VisitId},
    input::{Answer, AttemptResult, Correct, Slot, Start},
    requester::Requester,
};
use std::{collections::BTreeMap, fs, path::Path, sync::Arc};

/// A run with its model.
pub(crate) struct Fixture {
    run: Run,
    pub(crate) model: RunModel,
    pub(crate) records: Vec<Record>,
    now: i64,
}

fn slot() -> Option<Slot> {
    Some(Slot::new("boot"))
}

fn by() -> Principal {
    Principal { tenant: "local".to_owned(), actor: "tester".to_owned() }
}

impl Fixture {
    /// A run whose first attempt has just started.
    pub(crate) fn of(flow: &str) -> Self {
        Self::of_parts(flow, &[])
    }

    /// As `of`, for a flow that includes others.
    pub(crate) fn of_parts(flow: &str, parts: &[(&str, &str)]) -> Self {
        let parts: BTreeMap<String, String> =
            parts.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
        let flow = Arc::new(envoi_flow::load_with("flow.yaml", flow, &parts).unwrap().flow);
        let mut fixture = Self {
            run: Run::new(Arc::clone(&flow)),
            model: RunModel::new(Arc::clone(&flow)),
            records: Vec::new(),
            now: 1_000_000,
        };
        fixture.decide(Input::Start(Box::new(Start {
            run: RunId::new("run_01m80gf6h0fmgtayzvm0vd1k9a").unwrap(),
            inputs: Object::default(),
            source: "/w/flow.yaml".to_owned(),
            workspace: "/w".to_owned(),
            shared: false,
            keep_files: false,
            no_cache: false,
            isolated: None,
            run_base: "/w/.envoi/runs/run_01m80gf6h0fmgtayzvm0vd1k9a".to_owned(),
            language: 1,
            by: by(),
            yes_to: Vec::new(),
            trace: None,
            env: envoi_contract::json::Object::new(),
            requester: Requester::default(),
            part: None,
        })));
        fixture
    }

    pub(crate) fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.now)
    }

    pub(crate) fn wait(&mut self, ms: i64) -> &mut Self {
        self.now += ms;
        self
    }

    fn decide(&mut self, input: Input) -> &mut Self {
        let records = self.run.decide(input, slot(), self.now()).unwrap();
        for record in &records {
            self.run.apply(record).unwrap();
            self.model.record(record);
        }
        self.assert_in_view();
        self.records.extend(records);
        self
    }

    /// Asserts that every step that is live, ending or waiting for a person has a row with that state, and
    /// that no other row has a question.
    fn assert_in_view(&mut self) {
        let wants = self.run.wants();
        let mut stands = |visit: &VisitId| self.model.level.find(visit).map(|step| step.stands());
        for attempt in &wants.attempts {
            assert_eq!(stands(&attempt.visit), Some(State::Running), "{attempt}");
        }
        for attempt in &wants.ending {
            let shown = core::iter::successors(Some(attempt.visit.clone()), envoi_api::step::whole);
            assert_eq!(shown.last().and_then(|visit| stands(&visit)), Some(State::Ending), "{attempt}");
        }
        let open: Vec<InterruptId> = wants.interrupts;
        self.model.level.each(&mut |step| {
            let asks = step.question.as_ref();
            assert!(asks.is_none_or(|(id, _)| open.contains(id)), "{} asks what is closed", step.name());
        });
        let mut stands = |visit: &VisitId| self.model.level.find(visit).map(|step| step.stands());
        for raised in self.run.interrupts() {
            let stands = stands(&raised.visit);
            assert!(
                matches!(stands, Some(State::AwaitsAnswer | State::InDoubt)),
                "{}: {stands:?}",
                raised.visit
            );
        }
    }

    pub(crate) fn attempt(&self) -> AttemptId {
        self.run.wants().attempts.first().unwrap().clone()
    }

    /// The live attempt ends after this time. It has made the first file.
    pub(crate) fn ends(&mut self, ms: u64, code: i32, text: &str, files: &[&str]) -> &mut Self {
        self.end(self.attempt(), (ms, Outcome::Exited { code }), text, files)
    }

    /// This attempt has ended now, this long after its start.
    pub(crate) fn ended(&mut self, attempt: &str, ms: u64, code: i32, text: &str) -> &mut Self {
        self.now -= i64::try_from(ms).unwrap();
        self.end(AttemptId::parse(attempt).unwrap(), (ms, Outcome::Exited { code }), text, &[])
    }

    fn end(
        &mut self,
        attempt: AttemptId,
        (ms, outcome): (u64, Outcome),
        text: &str,
        files: &[&str],
    ) -> &mut Self {
        let started_at = self.now();
        self.wait(i64::try_from(ms).unwrap());
        let file = |path: &&str| FileChange {
            path: (*path).to_owned(),
            change: Change::Created,
            blob: None,
            before: None,
        };
        let result = Box::new(AttemptResult {
            duration_ms: ms,
            text: text.to_owned(),
            stderr_tail: text.to_owned(),
            files: files.iter().map(file).collect(),
            ..AttemptResult::empty(attempt, outcome, started_at)
        });
        self.decide(Input::Settled(result))
    }

    /// The live attempt is in doubt.
    pub(crate) fn doubt(&mut self, evidence: &str) -> &mut Self {
        let evidence = Value::parse(evidence.as_bytes()).unwrap();
        let attempt = self.attempt();
        self.decide(Input::InDoubt { attempt, evidence })
    }

    pub(crate) fn timer_is_due(&mut self) -> &mut Self {
        let (timer, due): (TimerId, Timestamp) = self.run.wants().timers.into_iter().next().unwrap();
        self.now = due.as_millis();
        self.decide(Input::TimerDue { timer })
    }

    pub(crate) fn answer(&mut self, choice: envoi_kernel::event::Choice) -> &mut Self {
        let interrupt: InterruptId = self.run.wants().interrupts.into_iter().next().unwrap();
        self.decide(Input::Answer(Box::new(Answer::new(interrupt, choice, by()))))
    }

    pub(crate) fn writes(&mut self, line: &str) -> &mut Self {
        let attempt = self.attempt();
        self.model.output(&attempt, line.to_owned(), String::new());
        self
    }

    /// This attempt has written a line.
    pub(crate) fn wrote(&mut self, attempt: &str, line: &str) -> &mut Self {
        self.has_used(attempt, line, "")
    }

    /// This attempt has written a line, and has used this amount.
    pub(crate) fn has_used(&mut self, attempt: &str, line: &str, used: &str) -> &mut Self {
        self.model.output(&AttemptId::parse(attempt).unwrap(), line.to_owned(), used.to_owned());
        self
    }

    /// The run continues with this flow.
    pub(crate) fn corrects(&mut self, flow: &str) -> &mut Self {
        let flow = Arc::new(envoi_flow::load("flow.yaml", flow).unwrap().flow);
        self.run.learn(Arc::clone(&flow));
        self.model.learn(Arc::clone(&flow));
        let language = flow.language;
        let source = "/w/flow.yaml".to_owned();
        let correct = Correct {
            flow: flow.digest,
            language,
            source,
            from: None,
            by: by(),
            why: None,
            request: None,
            elsewhere: Share::default(),
            seen: None,
        };
        self.decide(Input::Correct(Box::new(correct)))
    }

    /// This attempt is in doubt.
    pub(crate) fn doubts(&mut self, attempt: &str) -> &mut Self {
        let attempt = AttemptId::parse(attempt).unwrap();
        self.decide(Input::InDoubt { attempt, evidence: Value::Null })
    }

    /// Starts everything that is ready.
    pub(crate) fn fills(&mut self) -> &mut Self {
        while !self.run.wants().ready.is_empty() {
            self.decide(Input::SlotFree);
        }
        self
    }

    /// The picture, without colours.
    pub(crate) fn picture(&self, width: usize, height: usize, charset: Charset) -> String {
        let lines = frame(&self.model, self.now(), Look { width, height, charset });
        lines.iter().map(|line| line.render(false) + "\n").collect()
    }

    /// The pictures of several widths, one below the other.
    pub(crate) fn album(&self, height: usize, charset: Charset) -> String {
        let picture = |width| format!("--- {width} columns\n{}", self.picture(width, height, charset));
        [20, 40, 80, 120].map(picture).concat()
    }
}

/// Asserts that `text` equals the file of this name in `golden/`. With `ENVOI_GOLDEN=write` in the
/// environment, the file is written.
pub(crate) fn assert_golden(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/view/live/golden").join(name);
    if std::env::var_os("ENVOI_GOLDEN").is_some_and(|word| word == "write") {
        fs::write(&path, text).unwrap();
    }
    let golden = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(text, golden, "{name}: ENVOI_GOLDEN=write writes it anew");
}
