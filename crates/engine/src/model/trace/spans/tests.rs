//! Runs that the kernel lives, and the spans that come of their records: a line a span, in the order in which they are over.

use super::*;
use envoi_kernel::{
    Fork, Input, Run,
    event::Choice,
    family::Share,
    ids::Principal,
    input::{Answer, AttemptResult, ModelCall, ModelCalled, Slot, Start},
};
use std::sync::Arc;

/// A run that is lived: 10 ms pass before each input.
struct Lived {
    run: Run,
    records: Vec<Record>,
    /// How many there were after each commit.
    commits: Vec<usize>,
    now: i64,
}

fn by() -> Principal {
    Principal { tenant: "north".to_owned(), actor: "ada".to_owned() }
}

fn slot() -> Option<Slot> {
    Some(Slot::new("boot"))
}

fn flow(steps: &str) -> Arc<envoi_kernel::Flow> {
    let inner = "flow: inner\nsteps:\n  - { id: deep, run: [x] }\n".to_owned();
    let parts = BTreeMap::from([("inner.yaml".to_owned(), inner)]);
    let text = format!("flow: outer\nsteps:\n{steps}");
    Arc::new(envoi_flow::load_with("f.yaml", &text, &parts).unwrap_or_else(|report| panic!("{report}")).flow)
}

impl Lived {
    fn of(steps: &str, trace: Option<&str>, inputs: &[&str]) -> Self {
        let mut lived =
            Self { run: Run::new(flow(steps)), records: Vec::new(), commits: Vec::new(), now: 1_000 };
        lived.feed(Input::Start(Box::new(Start {
            run_base: "/base".to_owned(),
            by: by(),
            trace: trace.map(str::to_owned),
            ..crate::model::sample::start(&RunId::new("run_0demo").unwrap(), 1)
        })));
        inputs.iter().for_each(|words| lived.hear(words));
        lived
    }

    fn feed(&mut self, input: Input) {
        let what = format!("{input:?}");
        let now = Timestamp::from_millis(self.now);
        let records =
            self.run.decide(input, slot(), now).unwrap_or_else(|refusal| panic!("{refusal}: {what}"));
        records.iter().for_each(|record| self.run.apply(record).unwrap());
        self.records.extend(records);
        self.commits.push(self.records.len());
        self.now += 10;
    }

    /// `ATTEMPT exit N`, `ATTEMPT doubt`, `call NAME [ATTEMPT]`, `called NAME`, `lost NAME`, `slot`, `timer`, `cancel`, `reopen`,
    /// or a choice.
    fn hear(&mut self, words: &str) {
        let words: Vec<&str> = words.split(' ').collect();
        let call = |name: &str| CallId::new(format!("call_{name}")).unwrap();
        let attempt = |name: &str| AttemptId::parse(name).unwrap();
        let elsewhere = Share::default();
        let input = match words.as_slice() {
            ["slot"] => Input::SlotFree,
            ["timer"] => {
                let (timer, due) = self.run.wants().timers[0].clone();
                self.now = due.as_millis();
                Input::TimerDue { timer }
            }
            ["cancel"] => Input::Cancel { by: by() },
            ["reopen"] => Input::Reopen { by: by(), why: None, request: None, elsewhere },
            ["call", name, by @ ..] => Input::ModelCall(Box::new(ModelCall {
                call: call(name),
                attempt: by.first().map(|id| attempt(id)),
                model: "small".to_owned(),
                provider: "lab".to_owned(),
            })),
            ["lost", name] => Input::ModelCalled(Box::new(ModelCalled::lost(call(name)))),
            ["called", name] => Input::ModelCalled(Box::new(ModelCalled {
                outcome: CallOutcome::Ok,
                tokens_in: Some(12),
                tokens_out: Some(3),
                cost: Some(envoi_kernel::ledger::Cost::parse("0.05").unwrap()),
                duration_ms: 9,
                ..ModelCalled::lost(call(name))
            })),
            [id, "doubt"] => {
                let evidence = envoi_contract::json::Value::Null;
                Input::InDoubt { attempt: attempt(id), evidence }
            }
            [id, "exit", code] => {
                let outcome = Outcome::Exited { code: code.parse().unwrap() };
                Input::Settled(Box::new(result(attempt(id), outcome)))
            }
            [id, "cancelled"] => Input::Settled(Box::new(result(attempt(id), Outcome::Cancelled))),
            [word] => {
                let choices = [Choice::Approve, Choice::Rerun, Choice::Deny, Choice::Stop, Choice::Proceed];
                let choice = choices.into_iter().find(|choice| choice.word() == *word).unwrap();
                let question = self.run.wants().interrupts[0].clone();
                Input::Answer(Box::new(Answer::new(question, choice, by())))
            }
            other => panic!("nothing is called {other:?}"),
        };
        self.feed(input);
    }

    /// Another run with the history of this one.
    fn forked(&self, step: &str) -> Self {
        let run = Run::new(Arc::clone(self.run.flow()));
        let mut fork = Self { run, records: Vec::new(), commits: Vec::new(), now: self.now };
        fork.feed(Input::Fork(Box::new(Fork {
            run: RunId::new("run_1fork").unwrap(),
            run_base: "/base/fork".to_owned(),
            workspace: "/".to_owned(),
            shared: false,
            yes_to: Vec::new(),
            by: by(),
            why: None,
            from: Some(StepId::new(step).unwrap()),
            lived: self.records.clone(),
            family: self.run.known_share(),
            correct: None,
            isolated: None,
            files: None,
        })));
        fork
    }

    fn trail(&self) -> Trail {
        match &self.records[0].event {
            Event::RunStarted(started) => Trail::of(started),
            other => panic!("{other:?}"),
        }
    }

    /// The spans of the whole, once it is as late as it is; the same, however the records come.
    fn spans(&self) -> Vec<Span> {
        let now = Timestamp::from_millis(self.now);
        let mut trail = self.trail();
        let mut spans = trail.take(&self.records);
        spans.extend(trail.pause(now));
        let first = self.commits[0];
        let begun = |trail: &mut Trail| trail.take(&self.records[..first]);
        // Record by record.
        let mut trail = self.trail();
        let mut singly = begun(&mut trail);
        self.records[first..]
            .iter()
            .for_each(|record| singly.extend(trail.take(std::slice::from_ref(record))));
        singly.extend(trail.pause(now));
        assert_eq!(singly, spans, "one by one");
        // Commit by commit, with a look whether it rests as soon as the clock has gone on.
        let mut trail = self.trail();
        let mut live = begun(&mut trail);
        for (cut, next) in self.commits.iter().zip(&self.commits[1..]) {
            let at = self.records[cut - 1].at;
            assert_eq!(trail.pause(at), None, "more may follow in the same moment");
            live.extend(trail.pause(Timestamp::from_millis(at.as_millis() + 1)));
            live.extend(trail.take(&self.records[*cut..*next]));
        }
        live.extend(trail.pause(now));
        assert_eq!(live, spans, "commit by commit");
        let ids: BTreeSet<SpanId> = spans.iter().map(|span| span.id).collect();
        assert_eq!(ids.len(), spans.len(), "each once");
        spans
    }

    /// The spans as lines, with names in place of ids.
    fn shown(&self) -> Vec<String> {
        let trace = self.trail().trace;
        let mut names = BTreeMap::new();
        for record in &self.records {
            names.insert(trace.span(Of::Stretch(record.seq)), format!("run {}", record.seq));
            if let Event::HandoffWritten(written) = &record.event {
                names.insert(trace.span(Of::Visit(&written.visit)), written.visit.to_string());
            }
            if let Event::InterruptRaised(raised) = &record.event {
                names.insert(trace.span(Of::Visit(&raised.visit)), raised.visit.to_string());
            }
            if let Event::AttemptStarted(started) = &record.event {
                let id = &started.attempt;
                names.insert(trace.span(Of::Visit(&id.visit)), id.visit.to_string());
                names.insert(trace.span(Of::Attempt(id)), id.to_string());
            }
            if let Event::ModelCallStarted(started) = &record.event {
                names.insert(trace.span(Of::Call(started.call.as_str())), started.call.to_string());
            }
        }
        let name = |id: &SpanId| names.get(id).cloned().unwrap_or_else(|| format!("? {id}"));
        let line = |span: &Span| {
            assert_eq!(span.trace, trace.id);
            let start = span.start.as_millis() - 1_000;
            let end = span.end.as_millis() - 1_000;
            let parent = span.parent.as_ref().map_or("top".to_owned(), name);
            let link = span.link.as_ref().map(|id| format!(" after {}", name(id))).unwrap_or_default();
            let error = span.error.as_ref().map(|code| format!(" ({code})")).unwrap_or_default();
            let outcome = of(span, "envoi.outcome");
            format!("{start}-{end} {} in {parent}{link}: {outcome}{error}", name(&span.id))
        };
        self.spans().iter().map(line).collect()
    }
}

fn result(attempt: AttemptId, outcome: Outcome) -> AttemptResult {
    AttemptResult {
        duration_ms: 7,
        text: "unsaid".to_owned(),
        stderr_tail: "unsaid".to_owned(),
        ..AttemptResult::empty(attempt, outcome, Timestamp::from_millis(0))
    }
}

fn of(span: &Span, name: &str) -> String {
    let found = span.attributes.iter().find(|(known, _)| *known == name);
    match found.map(|(_, value)| value) {
        Some(Attribute::Text(text)) => text.clone(),
        Some(Attribute::Number(number)) => number.to_string(),
        None => String::new(),
    }
}

const ONE: &str = "  - { id: a, run: [x] }\n";
const ASKS: &str = "  - { id: a, run: [x] }\n  - { id: ask, ask: 'Go on?' }\n  - { id: b, run: [x] }\n";

#[test]
fn spans_follow_from_the_records() {
    // A pause for a person ends a stretch, and the next one is linked to it.
    gives(
        ASKS,
        &["a.1.1 exit 0", "approve", "b.1.1 exit 0"],
        "
        0-10 a.1.1 in a.1: succeeded
        0-10 a.1 in run 0: succeeded
        0-10 run 0 in top: waiting
        10-20 ask.1 in run 0: succeeded
        20-30 b.1.1 in b.1: succeeded
        20-30 b.1 in run 6: succeeded
        20-30 run 6 in top after run 0: succeeded
    ",
    );
    // A retry is another attempt of one visit; a timer is no pause.
    gives(
        "  - { id: a, run: [x], retry: { attempts: 2, backoff: 1s } }\n",
        &["a.1.1 exit 1", "timer", "a.1.2 exit 1"],
        "
        0-10 a.1.1 in a.1: failed (TOOL_EXIT_NON_ZERO)
        1010-1020 a.1.2 in a.1: failed (TOOL_EXIT_NON_ZERO)
        0-1020 a.1 in run 0: failed (failed)
        0-1020 run 0 in top: failed (tool_failed_fatally)
    ",
    );
    // An inner flow is below the visit that runs it.
    gives(
        "  - { id: part, flow: ./inner.yaml }\n",
        &["part.1.deep.1.1 exit 0"],
        "
        0-10 part.1.deep.1.1 in part.1.deep.1: succeeded
        0-10 part.1.deep.1 in part.1: succeeded
        0-10 part.1 in run 0: succeeded
        0-10 run 0 in top: succeeded
    ",
    );
    // Items are below the visit of their step.
    gives(
        "  - { id: each, for_each: [1, 2], run: [x] }\n",
        &["slot", "0.each.1.1 exit 0", "1.each.1.1 exit 0"],
        "
        0-20 0.each.1.1 in 0.each.1: succeeded
        0-20 0.each.1 in each.1: succeeded
        10-30 1.each.1.1 in 1.each.1: succeeded
        10-30 1.each.1 in each.1: succeeded
        0-30 each.1 in run 0: succeeded
        0-30 run 0 in top: succeeded
    ",
    );
    // A question is no pause while another branch is at work.
    gives(
        "  - { id: ask, ask: 'Go on?', needs: [] }\n  - { id: b, run: [x], needs: [] }\n",
        &["b.1.1 exit 0", "approve"],
        "
        0-10 b.1.1 in b.1: succeeded
        0-10 b.1 in run 0: succeeded
        0-10 run 0 in top: waiting
        0-20 ask.1 in run 0: succeeded
        20-20 run 8 in top after run 0: succeeded
    ",
    );
    // Nor while a step is about to be tried again.
    gives(
        "  - { id: ask, ask: 'Go on?', needs: [] }\n  - { id: a, run: [x], needs: [], retry: { attempts: 2, backoff: 1s } }\n",
        &["a.1.1 exit 1", "timer", "a.1.2 exit 0", "approve"],
        "
        0-10 a.1.1 in a.1: failed (TOOL_EXIT_NON_ZERO)
        1010-1020 a.1.2 in a.1: succeeded
        0-1020 a.1 in run 0: succeeded
        0-1020 run 0 in top: waiting
        0-1030 ask.1 in run 0: succeeded
        1030-1030 run 12 in top after run 0: succeeded
    ",
    );
    // A question about a visit that is over does not begin it again.
    gives(
        "  - { id: a, run: [x] }\n  - id: c\n    run: [x]\n    routing: { kind: microloop, loop_to: a, status_from_exit: { 0: V, 1: U }, success_values: [V], max_iterations: 0 }\n",
        &["a.1.1 exit 0", "c.1.1 exit 1", "stop"],
        "
        0-10 a.1.1 in a.1: succeeded
        0-10 a.1 in run 0: succeeded
        10-20 c.1.1 in c.1: succeeded
        10-20 c.1 in run 0: succeeded
        0-20 run 0 in top: waiting
        30-30 run 10 in top after run 0: failed (tool_failed_fatally)
    ",
    );
    // A doubt is a pause, and the attempt is over.
    gives(
        ONE,
        &["a.1.1 doubt", "rerun", "a.1.2 exit 0"],
        "
        0-10 a.1.1 in a.1: in_doubt (IN_DOUBT)
        0-10 run 0 in top: waiting
        20-30 a.1.2 in a.1: succeeded
        0-30 a.1 in run 0: succeeded
        20-30 run 4 in top after run 0: succeeded
    ",
    );
    // A cancelled run closes what is open.
    gives(
        ONE,
        &["cancel", "a.1.1 cancelled"],
        "
        0-20 a.1.1 in a.1: cancelled (TOOL_CANCELLED)
        0-20 a.1 in run 0: failed (failed)
        0-20 run 0 in top: cancelled (user_cancelled)
    ",
    );
    // A question that is cancelled.
    gives(
        ASKS,
        &["a.1.1 exit 0", "cancel"],
        "
        0-10 a.1.1 in a.1: succeeded
        0-10 a.1 in run 0: succeeded
        0-10 run 0 in top: waiting
        10-20 ask.1 in run 0: cancelled
        20-20 run 6 in top after run 0: cancelled (user_cancelled)
    ",
    );
    // A reopened run goes on in its trace.
    gives(
        ONE,
        &["a.1.1 exit 1", "reopen", "a.2.1 exit 0"],
        "
        0-10 a.1.1 in a.1: failed (TOOL_EXIT_NON_ZERO)
        0-10 a.1 in run 0: failed (failed)
        0-10 run 0 in top: failed (tool_failed_fatally)
        20-30 a.2.1 in a.2: succeeded
        20-30 a.2 in run 6: succeeded
        20-30 run 6 in top after run 0: succeeded
    ",
    );
    // Calls of models are below their attempts, or beside them.
    gives(
        ASKS,
        &["call 1 a.1.1", "call 2", "called 1", "a.1.1 exit 0", "lost 2", "call 3", "called 3"],
        "
        10-30 call_1 in a.1.1: ok
        0-40 a.1.1 in a.1: succeeded
        0-40 a.1 in run 0: succeeded
        0-40 run 0 in top: waiting
        20-50 call_2 in run 0: broken_off (broken_off)
        60-70 call_3 in run 0: ok
    ",
    );
}

/// Compares the spans of a run that lives these inputs.
fn gives(steps: &str, inputs: &[&str], expected: &str) {
    compare(&Lived::of(steps, None, inputs), expected);
}

fn compare(lived: &Lived, expected: &str) {
    let expected: Vec<&str> = expected.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let shown = lived.shown();
    assert!(shown == expected, "there are\n{}\nnot\n{}", shown.join("\n"), expected.join("\n"));
}

#[test]
fn a_fork_tells_nothing_of_what_another_run_has_lived() {
    let source = Lived::of(ASKS, None, &["a.1.1 exit 0", "approve", "b.1.1 exit 1"]);
    let mut fork = source.forked("b");
    fork.hear("b.1.1 exit 0");
    compare(
        &fork,
        "
        40-50 b.1.1 in b.1: succeeded
        40-50 b.1 in run 9: succeeded
        40-50 run 9 in top: succeeded
    ",
    );
    let spans = fork.spans();
    assert_ne!(spans[0].trace, source.spans()[0].trace, "a trace of its own");
    assert_eq!(of(spans.last().unwrap(), "envoi.forked_from"), "run_0demo");
    // With a question that was open beside the cut.
    let steps = "  - { id: ask, ask: 'Go on?', needs: [] }\n  - { id: b, run: [x], needs: [] }\n";
    let source = Lived::of(steps, None, &["b.1.1 exit 1", "cancel"]);
    compare(&source.forked("b"), "");
}

#[test]
fn the_runs_of_a_caller_stand_below_its_span() {
    let caller = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let lived = Lived::of(ONE, Some(caller), &["a.1.1 exit 0"]);
    assert!(lived.trail().is_sampled());
    for span in lived.spans() {
        assert_eq!(span.trace.to_string(), &caller[3..35]);
        let below = span.parent.is_some_and(|parent| parent.to_string() == caller[36..52]);
        assert_eq!((below, span.is_remote), (span.name == "envoi.run", span.name == "envoi.run"), "{span:?}");
    }
    let unwanted = Lived::of(ONE, Some(&caller.replace("-01", "-00")), &["a.1.1 exit 0"]);
    assert!(!unwanted.trail().is_sampled());
}

#[test]
fn a_span_has_its_subject_and_no_content() {
    let lived = Lived::of(ASKS, None, &["call 1 a.1.1", "called 1", "a.1.1 exit 0", "deny"]);
    let told = |name: &str| -> Vec<String> {
        let spans = lived.spans();
        let span = spans.iter().find(|span| span.name == name).unwrap();
        let value = |value: &Attribute| match value {
            Attribute::Text(text) => text.clone(),
            Attribute::Number(number) => format!("#{number}"),
        };
        span.attributes.iter().map(|(name, attribute)| format!("{name}={}", value(attribute))).collect()
    };
    let place = ["envoi.run_id=run_0demo", "envoi.flow=outer", "envoi.step=a", "envoi.visit=a.1"];
    assert_eq!(
        told("envoi.run"),
        ["envoi.run_id=run_0demo", "envoi.flow=outer", "envoi.tenant=north", "envoi.outcome=waiting"]
    );
    assert_eq!(told("envoi.step a"), [&place[..], &["envoi.outcome=succeeded"]].concat());
    let settled =
        ["envoi.attempt=a.1.1", "envoi.outcome=succeeded", "envoi.duration_ms=#7", "process.exit.code=#0"];
    assert_eq!(told("envoi.attempt a"), [&place[..], &settled].concat());
    let called = [
        "envoi.attempt=a.1.1",
        "gen_ai.operation.name=chat",
        "gen_ai.provider.name=lab",
        "gen_ai.request.model=small",
        "gen_ai.usage.input_tokens=#12",
        "gen_ai.usage.output_tokens=#3",
        "envoi.cost_usd=0.05",
        "envoi.outcome=ok",
    ];
    assert_eq!(told("chat small"), [&place[..], &called].concat());
    let is_call = |span: &&Span| span.is_call;
    assert_eq!(lived.spans().iter().filter(is_call).count(), 1);
    for inner in
        Lived::of("  - { id: part, flow: ./inner.yaml }\n", None, &["part.1.deep.1.1 exit 0"]).spans()
    {
        let flow = if inner.name.ends_with("deep") { "inner" } else { "outer" };
        assert_eq!(of(&inner, "envoi.flow"), flow, "{inner:?}");
    }
}

#[test]
fn a_code_of_a_report_is_shown_only_if_it_is_a_code() {
    for (code, is) in
        [("RATE_LIMITED", true), ("E2", true), ("", false), ("it said: unsaid", false), ("é", false)]
    {
        assert_eq!(is_code(code), is, "{code}");
    }
    assert!(!is_code(&"A".repeat(65)));
}
