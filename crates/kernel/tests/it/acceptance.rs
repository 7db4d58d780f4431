//! The accepted answers and their consequences: every kind of question, every choice, every state of the
//! question, live and after a restart. The expectations are written down here a second time, in the terms of
//! the contract.

use crate::{
    driver::{Driver, person},
    flows::{With, ask, critic, flow, step},
    story::{CHOICES, event, stand},
};
use envoi_contract::{digest::Digest, envelope::InterruptKind, json::Value};
use envoi_kernel::{
    Flow, Input, Refusal,
    event::{Choice, FoundFile},
    ids::InterruptId,
    input::Answer,
};
use std::sync::Arc;

const KINDS: [InterruptKind; 7] = [
    InterruptKind::Clarification,
    InterruptKind::Confirmation,
    InterruptKind::AgentReview,
    InterruptKind::Checkpoint,
    InterruptKind::ResourceExhausted,
    InterruptKind::Timeout,
    InterruptKind::SystemError,
];

/// The state of a question when the answer comes.
#[derive(Debug, Clone, Copy, PartialEq)]
enum State {
    Open,
    /// The last millisecond in which it can be answered.
    LastMoment,
    /// Its time is over, and no input has applied that yet.
    Lapsed,
    Expired,
    Answered,
    Denied,
    Cancelled,
    /// It was put again; the old one is answered.
    PutAgain,
    /// It was put again, and that is answered.
    Anew,
    /// The person saw another subject.
    SeenOtherwise,
    /// The person saw the present subject.
    Seen,
}

const STATES: [State; 11] = [
    State::Open,
    State::LastMoment,
    State::Lapsed,
    State::Expired,
    State::Answered,
    State::Denied,
    State::Cancelled,
    State::PutAgain,
    State::Anew,
    State::SeenOtherwise,
    State::Seen,
];

/// The properties of a question besides its kind.
#[derive(Debug, Clone, Copy)]
struct Shape {
    kind: InterruptKind,
    form: bool,
    repeats: bool,
}

impl Shape {
    fn flow(self) -> Arc<Flow> {
        let asks = ask("q").expires(100).asking(|plan| {
            plan.kind = self.kind;
            plan.schema = self.form.then(Value::default);
        });
        flow([step("a"), if self.repeats { asks.again_from("a", 1) } else { asks }, step("b")])
    }

    /// The plain yes of such a question.
    fn yes(self) -> Choice {
        if self.kind == InterruptKind::Clarification { Choice::Respond } else { Choice::Approve }
    }

    fn answer(self, id: &InterruptId, choice: Choice) -> Answer {
        let says_yes = matches!(choice, Choice::Approve | Choice::Respond | Choice::Proceed);
        Answer {
            text: Some("so be it".to_owned()),
            data: (self.form && says_yes).then(|| Value::from(7_u64)),
            ..Answer::new(id.clone(), choice, person("bob"))
        }
    }

    /// The oracle. `Err` is the beginning of a refusal, `Ok` what happens.
    fn expected(self, choice: Choice, state: State) -> Result<&'static str, &'static str> {
        let clarifies = self.kind == InterruptKind::Clarification;
        match state {
            State::Lapsed => return Err("has expired"),
            State::Expired | State::Denied | State::Cancelled => return Err("the run is over"),
            State::Answered | State::PutAgain => return Err("is not open"),
            State::SeenOtherwise => return Err("not what question"),
            State::Open | State::LastMoment | State::Anew | State::Seen => {}
        }
        let no = Ok("answered deny, q.1 stops, q.1 failed, over: policy_violation at q = nothing [failed 1]");
        match (choice, clarifies) {
            (Choice::Approve | Choice::Proceed, false) => {
                Ok("answered approve, q.1 -> b, q.1 succeeded, b.1.1 begins = b.1.1 live")
            }
            (Choice::Respond, true) => {
                Ok("answered respond, q.1 -> b, q.1 succeeded, b.1.1 begins = b.1.1 live")
            }
            (Choice::Deny | Choice::Stop, _) => no,
            (Choice::Again, _) if self.repeats => {
                Ok("answered again, q.1 back to a, q.1 succeeded, a.2.1 begins (round 1) = a.2.1 live")
            }
            _ => Err("is no answer to this question"),
        }
    }
}

/// A run whose question is in this state, and the question that is to be answered.
fn reach(shape: Shape, state: State) -> (Driver, InterruptId) {
    let mut driver = Driver::started(&shape.flow());
    driver.exit("a.1.1", 0);
    let first = driver.question().interrupt.clone();
    let say = |driver: &mut Driver, choice| drop(driver.say(shape.answer(&first, choice)).unwrap());
    let wait = |driver: &mut Driver, ms| driver.now = driver.now.saturating_add_ms(ms);
    match state {
        State::Open | State::SeenOtherwise | State::Seen => {}
        State::LastMoment => wait(&mut driver, 99),
        State::Lapsed => wait(&mut driver, 100),
        State::Expired => {
            wait(&mut driver, 100);
            driver.feed_with(Input::Expire { interrupt: first.clone() }, None).unwrap();
        }
        State::Answered => say(&mut driver, shape.yes()),
        State::Denied => say(&mut driver, Choice::Deny),
        State::Cancelled => drop(driver.ok(Input::Cancel { by: person("bob") })),
        State::PutAgain | State::Anew => {
            let found = vec![FoundFile { path: "a.py".to_owned(), digest: None }];
            driver.ok(Input::Changed { interrupt: first.clone(), found });
        }
    }
    let asked = if state == State::Anew { driver.question().interrupt.clone() } else { first };
    (driver, asked)
}

#[test]
fn what_is_accepted_and_where_it_leads() {
    let mut rows = 0;
    for shape in shapes() {
        for state in STATES {
            for restarted in [false, true] {
                let (mut driver, asked) = reach(shape, state);
                if restarted {
                    driver.restart();
                }
                for choice in CHOICES {
                    let row = format!("{shape:?} {choice:?} {state:?} restarted: {restarted}");
                    check(driver.clone(), &asked, (shape, choice, state), &row);
                    rows += 1;
                }
            }
        }
    }
    assert_eq!(rows, 7 * 2 * 9 * 11 * 2);
}

fn shapes() -> impl Iterator<Item = Shape> {
    let kinds = KINDS.into_iter();
    kinds.flat_map(|kind| {
        let of = move |(form, repeats)| Shape { kind, form, repeats };
        [(false, false), (true, true)].map(of)
    })
}

fn check(mut driver: Driver, asked: &InterruptId, (shape, choice, state): (Shape, Choice, State), row: &str) {
    let seen = match state {
        State::Seen => driver.question().subject,
        State::SeenOtherwise => Some(Digest::of(b"something else")),
        _ => None,
    };
    let before = driver.run.snapshot();
    let said = driver.say(Answer { seen, ..shape.answer(asked, choice) });
    let went = said.map(|records| {
        let events: Vec<String> = records.iter().map(|record| event(&record.event)).collect();
        format!("{} {}", events.join(", "), stand(&driver.run))
    });
    match (went, shape.expected(choice, state)) {
        (Ok(went), Ok(expected)) => {
            assert_eq!(went, expected, "{row}");
            driver.restart();
        }
        (Err(refusal), Err(expected)) => {
            assert!(refusal.to_string().contains(expected), "{row}: {refusal}");
            assert!(driver.run.snapshot() == before, "{row}: a refused answer left a trace");
        }
        (went, expected) => panic!("{row}: {went:?}, not {expected:?}"),
    }
}

/// Questions of the engine's own, with what each takes.
fn engines_own() -> Vec<(Driver, &'static [Choice])> {
    let lived = |flow: Arc<Flow>, inputs: &[&str]| {
        let mut driver = Driver::started(&flow);
        for input in inputs {
            crate::story::feed(&mut driver, input);
        }
        driver
    };
    let talker = critic("a", "a", 1).with(|step| step.routing.status_from_exit.clear());
    let bounded = crate::flows::limits(&[("agent_hops", "0"), ("on_reached", "ask")]);
    let (blocked, stuck) = (talker.clone(), "a.1.1 says Status: UNVERIFIED\nCan further iteration help: no");
    vec![
        (lived(flow([step("a")]), &["a.1.1 doubt"]), &[Choice::Rerun, Choice::Fail]),
        (
            lived(flow([critic("a", "a", 0)]), &["a.1.1 exit 1"]),
            &[Choice::Proceed, Choice::Approve, Choice::Stop, Choice::Deny],
        ),
        (
            lived(flow([talker]), &["a.1.1 says what?"]),
            &[Choice::Proceed, Choice::Approve, Choice::Again, Choice::Stop, Choice::Deny],
        ),
        (
            lived(flow([blocked]), &[stuck]),
            &[Choice::Proceed, Choice::Approve, Choice::Again, Choice::Stop, Choice::Deny],
        ),
        (
            lived(crate::flows::bounded(bounded, [step("a")]), &[]),
            &[Choice::Raise, Choice::Stop, Choice::Deny],
        ),
    ]
}

#[test]
fn the_engines_own_questions_take_what_they_say_they_take() {
    for (driver, accepted) in engines_own() {
        let raised = driver.question().clone();
        let listed = driver.run.accepts(&raised);
        for choice in CHOICES {
            let mut driver = driver.clone();
            let before = driver.run.snapshot();
            let mut answer = driver.answer(choice, "bob");
            answer.raise = (choice == Choice::Raise)
                .then(|| envoi_kernel::ledger::Ledger { agent_hops: 1, ..Default::default() });
            match driver.say(answer) {
                Ok(_) => assert!(accepted.contains(&choice), "{:?} took {choice:?}", raised.about),
                Err(refusal) => {
                    assert!(!accepted.contains(&choice), "{:?} refused {choice:?}: {refusal}", raised.about);
                    assert!(driver.run.snapshot() == before);
                    assert!(matches!(
                        refusal,
                        Refusal::WrongChoice { .. } | Refusal::PastBound { .. } | Refusal::Misfit { .. }
                    ));
                }
            }
            assert!(!listed.contains(&choice) || accepted.contains(&choice), "{choice:?} is listed");
        }
        assert!(!listed.is_empty());
    }
}

#[test]
fn what_a_question_lists_is_what_it_takes() {
    for shape in shapes() {
        let (driver, _) = reach(shape, State::Open);
        let listed = driver.run.accepts(driver.question());
        let synonym = |choice: &Choice| matches!(choice, Choice::Proceed | Choice::Stop);
        let taken = CHOICES.into_iter().filter(|choice| !synonym(choice));
        let taken: Vec<Choice> =
            taken.filter(|choice| shape.expected(*choice, State::Open).is_ok()).collect();
        assert!(taken.iter().all(|choice| listed.contains(choice)), "{shape:?}: {listed:?}");
        assert_eq!((listed.len(), listed[0]), (taken.len(), shape.yes()), "{shape:?}: {listed:?}");
    }
}
