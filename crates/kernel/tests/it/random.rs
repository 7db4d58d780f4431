//! Random flows, such as crate `flow` would admit, and random inputs, sensible and not.

use crate::{
    driver::{Driver, attempt, person, result},
    flows::{With as _, agent, ask, bounded, step, step_id},
    story::CHOICES,
};
use envoi_contract::{
    digest::Digest,
    envelope::InterruptKind,
    json::{Number, Value},
    routing::Kind,
    time::Timestamp,
};
use envoi_kernel::{
    Flow, Input,
    event::{CallOutcome, Choice, FoundFile, InterruptRaised, Outcome},
    flow::{
        Budget, CommandPlan, Expression, InDoubtPolicy, Limits, Next, OnBlocked, OnExhausted, OnReached,
        Overdue, Step, StepKind, Template,
    },
    ids::{AttemptId, CallId, InterruptId, TimerId},
    input::{Answer, ModelCall, ModelCalled},
    ledger::{Cost, Ledger},
};
use proptest::{option, prelude::*, sample::select};
use std::sync::Arc;

pub(crate) const STEPS: usize = 8;

pub(crate) fn name(place: usize) -> String {
    format!("s{place}")
}

/// The properties of a step of a random flow. Step numbers are taken modulo the flow's length.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) routing: (u8, usize, u64, OnExhausted, OnBlocked, bool),
    pub(crate) branches: Vec<usize>,
    next: Option<usize>,
    retry: u32,
    policy: InDoubtPolicy,
    condition: Option<&'static str>,
    argument: &'static str,
    pub(crate) asks: Option<Asks>,
    agent: bool,
    budget: (Option<u64>, Option<u64>),
}

/// A question of a random flow.
#[derive(Debug, Clone)]
pub(crate) struct Asks {
    kind: InterruptKind,
    form: bool,
    expires_in_ms: Option<u64>,
    on_deny: Option<usize>,
    /// Past the number of steps: as if it had been denied.
    on_expire: Option<usize>,
    not_by_starter: bool,
    quorum: u32,
    loop_to: Option<usize>,
}

fn asks() -> impl Strategy<Value = Asks> {
    use InterruptKind::{AgentReview, Checkpoint, Clarification, Confirmation, SystemError};
    let kind = select(vec![Confirmation, Confirmation, Clarification, AgentReview, Checkpoint, SystemError]);
    let where_to = (
        option::weighted(0.5, 0..STEPS),
        option::weighted(0.7, 0..2 * STEPS),
        option::weighted(0.5, 0..STEPS),
    );
    let rarely = prop::bool::weighted(0.2);
    (kind, rarely, option::weighted(0.5, 0_u64..40), where_to, rarely, 1_u32..4).prop_map(
        |(kind, form, expires_in_ms, (on_deny, on_expire, loop_to), not_by_starter, quorum)| Asks {
            kind,
            form,
            expires_in_ms,
            on_deny,
            on_expire,
            not_by_starter,
            quorum,
            loop_to,
        },
    )
}

/// Makes `built` ask.
fn question(built: Step, place: usize, count: usize, asks: &Asks) -> Step {
    let named = |target: usize| step_id(&name(target % count));
    let kind = ask("any").kind;
    let mut built = built.with(|step| step.kind = kind).asking(|plan| {
        (plan.kind, plan.expires_in_ms) = (asks.kind, asks.expires_in_ms);
        plan.schema = asks.form.then(Value::default);
        plan.on_deny = asks.on_deny.map(named);
        plan.on_expire = match asks.on_expire {
            None => Overdue::Fail,
            Some(target) if target >= STEPS => Overdue::Deny,
            Some(target) => Overdue::Go(named(target)),
        };
        (plan.not_by_starter, plan.quorum) = (asks.not_by_starter, asks.quorum);
    });
    let routing = &mut built.routing;
    (routing.declared, routing.kind) = (false, Kind::Linear);
    (routing.success_values, routing.branches) = (Vec::new(), Vec::new());
    routing.status_from_exit.clear();
    routing.loop_to = asks.loop_to.map(|back| step_id(&name(back % (place + 1))));
    built
}

pub(crate) fn plan() -> impl Strategy<Value = Plan> {
    let policies = (
        select(vec![OnExhausted::Ask, OnExhausted::Fail, OnExhausted::Proceed]),
        select(vec![OnBlocked::Ask, OnBlocked::Fail]),
        prop::bool::weighted(0.9),
    );
    let routing = (1_u8..8, 0..STEPS, 0_u64..4, policies)
        .prop_map(|(kind, back, max, p)| (kind, back, max, p.0, p.1, p.2));
    let conditions = prop_oneof![
        12 => Just(None),
        2 => Just(Some("false")),
        2 => Just(Some("steps.s0.status == 'succeeded'")),
        1 => Just(Some("steps.s1.data.n == 1")),
    ];
    let arguments = prop_oneof![20 => Just("go"), 1 => Just("${{ steps.s0.summary }}")];
    let verify = |text: &str| InDoubtPolicy::Verify(CommandPlan::Exec(vec![Template(text.to_owned())]));
    let policy = select(vec![
        InDoubtPolicy::Ask,
        InDoubtPolicy::Rerun,
        InDoubtPolicy::Fail,
        verify("look"),
        verify("look"),
        verify("${{ steps.s0.summary }}"),
    ]);
    let branches = prop::collection::vec(0..STEPS, 1..3);
    let asks = option::weighted(0.3, asks());
    let budget = (option::weighted(0.2, 0_u64..4), option::weighted(0.2, 0_u64..4));
    let acts = (asks, prop::bool::weighted(0.25), budget);
    (routing, branches, option::weighted(0.2, 0..STEPS), 1_u32..4, policy, conditions, arguments, acts)
        .prop_map(|(routing, branches, next, retry, policy, condition, argument, (asks, agent, budget))| {
            Plan { routing, branches, next, retry, policy, condition, argument, asks, agent, budget }
        })
}

/// `next` leads on, `loop_to` back, every loop has an end.
pub(crate) fn build(place: usize, count: usize, plan: &Plan) -> Step {
    let mut built = step(&name(place));
    let (kind, back, max, on_exhausted, on_blocked, helps) = plan.routing;
    let routing = &mut built.routing;
    let waits = matches!(kind, 3..=6);
    let hints = matches!(kind, 6..=7);
    if waits {
        routing.kind = if kind == 5 { Kind::Linear } else { Kind::Microloop };
        routing.loop_to = Some(step_id(&name(back % (place + 1))));
        routing.success_values = vec!["VERIFIED".to_owned()];
        // Rounds are more of a test than success.
        routing.status_from_exit = [(0, "UNVERIFIED".to_owned()), (1, "VERIFIED".to_owned())].into();
        if back % 2 == 0 {
            routing.status_from_exit.clear();
        }
    }
    if hints {
        let mut named: Vec<usize> = plan.branches.iter().map(|branch| branch % count).collect();
        named.sort_unstable();
        named.dedup();
        routing.branches = named.into_iter().map(|place| step_id(&name(place))).collect();
        routing.kind = if kind == 7 { Kind::Branch } else { routing.kind };
    }
    routing.declared = waits || hints;
    (routing.max_iterations, routing.can_further_iteration_help) = (max, helps);
    (routing.on_exhausted, routing.on_blocked) = (on_exhausted, on_blocked);
    routing.next = plan.next.and_then(|next| match next {
        0 => Some(Next::End),
        next => Some(Next::Step(step_id(&name(place + next)))).filter(|_| place + next < count),
    });
    (built.retry.attempts, built.retry.backoff_min_ms, built.retry.backoff_max_ms) = (plan.retry, 1, 5);
    built.on_in_doubt = plan.policy.clone();
    // A condition that names earlier steps fails in the first ones.
    built.condition = plan.condition.filter(|_| place > 1).map(|text| Expression(text.to_owned()));
    built.kind = if plan.agent {
        agent("any").with_message(plan.argument).kind
    } else {
        StepKind::Run(CommandPlan::Exec(vec![Template(plan.argument.to_owned())]))
    };
    let (llm_calls, cost) = plan.budget;
    let cost = cost.and_then(|tenths| Cost::parse(&format!("0.{tenths}")));
    match &plan.asks {
        None => built.with(|step| step.budget = Budget { llm_calls, cost }),
        Some(asks) => question(built, place, count, asks),
    }
}

pub(crate) fn limits() -> impl Strategy<Value = Limits> {
    let rarely = |range: std::ops::Range<u64>| option::weighted(0.15, range);
    let reached = select(vec![OnReached::Fail, OnReached::Ask]);
    let iterations = option::weighted(0.3, 0_u64..3);
    (rarely(0..16), iterations, rarely(1..9), rarely(1..90), rarely(1..9), reached).prop_map(
        |(agent_hops, iterations, llm_calls, wall_time_ms, cost, on_reached)| Limits {
            agent_hops,
            iterations,
            llm_calls,
            waiting_ms: None,
            unknown: Default::default(),
            wall_time_ms,
            cost: cost.and_then(|cost| Cost::parse(&format!("0.{cost}"))),
            on_reached,
        },
    )
}

pub(crate) fn flows() -> impl Strategy<Value = Arc<Flow>> {
    (prop::collection::vec(plan(), 1..=STEPS), limits()).prop_map(|(plans, limits)| {
        let steps = plans.iter().enumerate().map(|(place, plan)| build(place, plans.len(), plan));
        bounded(limits, steps)
    })
}

/// The result of an attempt.
#[derive(Debug, Clone)]
pub(crate) struct Left {
    outcome: u8,
    text: u8,
    place: usize,
    llm_calls: u64,
    duration_ms: u64,
    /// The outcome of an agent, if the attempt talks to one.
    agent: u8,
}

pub(crate) fn left() -> impl Strategy<Value = Left> {
    (0_u8..80, 0_u8..10, 0..STEPS, 0_u64..3, 0_u64..20, 0_u8..12).prop_map(
        |(outcome, text, place, llm_calls, duration_ms, agent)| Left {
            outcome,
            text,
            place,
            llm_calls,
            duration_ms,
            agent,
        },
    )
}

impl Left {
    /// The same, of an agent that neither asks nor fails.
    pub(crate) fn without_agent(&self) -> Self {
        Self { agent: u8::MAX, ..self.clone() }
    }

    pub(crate) fn settles(&self, id: &AttemptId, driver: &Driver) -> Input {
        let outcome = match self.outcome {
            0 => Outcome::Signalled { signal: 9 },
            1 => Outcome::TimedOut,
            2 => Outcome::CannotStart { reason: "no".to_owned() },
            3 => Outcome::Cancelled,
            4 => Outcome::Exited { code: 2 },
            5 => Outcome::InDoubt { evidence: Value::Null },
            6..=20 => Outcome::Exited { code: 1 },
            _ => Outcome::Exited { code: 0 },
        };
        let mut left = result(&id.to_string(), outcome, &self.words());
        left.duration_ms = self.duration_ms;
        let agent = match self.agent {
            0..=4 => r#","agent":{"said":"asks","question":"Which?"}"#,
            5 | 6 => r#","agent":{"said":"over"}"#,
            7 => r#","agent":{"said":"unclear"}"#,
            _ => "",
        };
        let agent = if driver.talks(id) { agent } else { "" };
        let ok = !agent.contains("over") && !agent.contains("unclear");
        if self.llm_calls > 0 || !agent.is_empty() {
            let calls = self.llm_calls;
            let report = format!(
                r#"{{"ok":{ok},"generatedAt":"t","skillName":"s","data":{{"n":{calls}}},"metrics":{{"llm_calls":{calls},"cost_usd":"0.{calls}"}}{agent}}}"#
            );
            left.report = Some(report.into_bytes());
        }
        Input::Settled(Box::new(left))
    }

    fn words(&self) -> String {
        match self.text {
            0 => "Status: VERIFIED".to_owned(),
            1 | 2 => "Status: UNVERIFIED".to_owned(),
            3 => "Status: VERIFIED\nStatus: UNVERIFIED".to_owned(),
            4 => "Status: UNVERIFIED\nCan further iteration help: no".to_owned(),
            5 | 6 => format!("Status: UNVERIFIED\nGo to step 's{}'", self.place),
            7 => format!("Go to flow 'in{}' step 's0'", self.place % 4),
            _ => "whatever".to_owned(),
        }
    }
}

/// A random input. Ids are taken from the wants of the run, or are invalid.
#[derive(Debug, Clone)]
pub(crate) enum Turn {
    Start,
    Slot,
    Settle(Which, Left),
    /// A model is called by an attempt, or beside all.
    Call(Option<Which>),
    /// A call that is under way is over, and cost so many tenths; or one that is not.
    Called(usize, Option<u64>),
    Doubt(Which),
    Answer(Said),
    Expire(bool, usize),
    Changed(Option<usize>),
    Timer(bool, bool),
    Raise(usize, u64),
    Restart,
    Cancel,
    Reopen,
    Clock(i64),
}

/// Which attempt is meant.
#[derive(Debug, Clone)]
pub(crate) enum Which {
    /// An attempt that can be reported: live, or being ended.
    Live(usize),
    /// An attempt that began before.
    Earlier(usize),
    Nonsense(&'static str),
}

fn which() -> impl Strategy<Value = Which> {
    prop_oneof![
        8 => (0..8_usize).prop_map(Which::Live),
        1 => (0..40_usize).prop_map(Which::Earlier),
        1 => select(vec!["s0.1.1", "s0.9.9", "none.1.1", "x.s0.1.1", "s1.1.2"]).prop_map(Which::Nonsense),
    ]
}

/// An answer of a person.
#[derive(Debug, Clone)]
pub(crate) struct Said {
    /// The nth question of all that were raised, or a missing one; `None`: an open question.
    which: Option<usize>,
    /// The position among the open questions.
    place: usize,
    /// Made to fit the question as far as it can be.
    fits: bool,
    choice: usize,
    by: &'static str,
    text: Option<&'static str>,
    data: bool,
    /// Right, wrong, or absent.
    seen: Option<bool>,
    raise: u64,
}

pub(crate) fn said() -> impl Strategy<Value = Said> {
    let which = (option::weighted(0.1, 0..9_usize), 0..4_usize);
    let text = select(vec![None, Some(""), Some(" \n"), Some("words"), Some("[Approved by operator]")]);
    let by = select(vec!["ada", "bob", "carl", "dora"]);
    let seen = option::weighted(0.3, prop::bool::weighted(0.8));
    (which, prop::bool::weighted(0.8), 0..9_usize, by, text, any::<bool>(), seen, 0_u64..4).prop_map(
        |((which, place), fits, choice, by, text, data, seen, raise)| Said {
            which,
            place,
            fits,
            choice,
            by,
            text,
            data,
            seen,
            raise,
        },
    )
}

impl Said {
    /// The answer to the open question, or to another one.
    pub(crate) fn answer(&self, driver: &Driver) -> Answer {
        let earlier = self.which.map(|place| driver.asked().into_iter().nth(place));
        let all: Vec<&InterruptRaised> = driver.run.interrupts().collect();
        let open = nth(&all, self.place).copied().filter(|_| self.which.is_none());
        let none = || InterruptId::new("int_none").unwrap();
        let id = match (earlier, open) {
            (Some(earlier), _) => earlier.unwrap_or_else(none),
            (None, Some(raised)) => raised.interrupt.clone(),
            (None, None) => none(),
        };
        let raise = Some(Ledger { agent_hops: self.raise, ..Ledger::default() }).filter(|_| self.raise > 1);
        let answer = Answer {
            text: self.text.map(str::to_owned),
            data: self.data.then(|| Value::from(1_u64)),
            seen: self.seen.map(|_| Digest::of(b"nothing")),
            raise,
            ..Answer::new(id, CHOICES[self.choice], person(self.by))
        };
        match open {
            Some(raised) if self.fits => self.fitting(driver, raised, answer),
            _ => answer,
        }
    }

    fn fitting(&self, driver: &Driver, raised: &InterruptRaised, answer: Answer) -> Answer {
        let accepted = driver.run.accepts(raised);
        let choice = accepted[self.choice % accepted.len()];
        let form = driver.run.step(&raised.visit).and_then(|step| step.asks());
        let form = form.is_some_and(|plan| plan.schema.is_some());
        let says_yes = matches!(choice, Choice::Approve | Choice::Respond);
        Answer {
            choice,
            text: Some("words".to_owned()),
            data: (form && says_yes).then(|| Value::from(1_u64)),
            seen: self.seen.and_then(|right| if right { raised.subject } else { Some(Digest::of(b"")) }),
            raise: (choice == Choice::Raise).then(|| more(raised, self.raise + 1)),
            ..answer
        }
    }
}

/// As much more of what the question is about.
pub(crate) fn more(raised: &InterruptRaised, by: u64) -> Ledger {
    amount(raised.evidence.get("bound").and_then(Value::as_str).unwrap_or_default(), by)
}

fn amount(bound: &str, by: u64) -> Ledger {
    let mut more = Ledger::default();
    match bound {
        "agent_hops" => more.agent_hops = by,
        "iterations" => more.iterations = by,
        "llm_calls" => more.llm_calls = by,
        "wall_time" => more.wall_time_ms = by,
        "waiting" => more.waiting_ms = by,
        _ => more.cost = Cost::parse(&by.to_string()).unwrap(),
    }
    more
}

/// Turns, each with or without a free slot.
pub(crate) fn turns() -> impl Strategy<Value = Vec<(Turn, bool)>> {
    turns_with(8)
}

/// Turns in which a slot is free as often as this.
pub(crate) fn turns_with(slots: u32) -> impl Strategy<Value = Vec<(Turn, bool)>> {
    let turn = prop_oneof![
        1 => Just(Turn::Start),
        slots => Just(Turn::Slot),
        50 => (which(), left()).prop_map(|(which, left)| Turn::Settle(which, left)),
        7 => option::weighted(0.9, which()).prop_map(Turn::Call),
        6 => (0..6_usize, option::weighted(0.9, 0_u64..9)).prop_map(|(place, tenths)| Turn::Called(place, tenths)),
        7 => which().prop_map(Turn::Doubt),
        24 => said().prop_map(Turn::Answer),
        4 => (prop::bool::weighted(0.7), 0..4_usize).prop_map(|(wait, place)| Turn::Expire(wait, place)),
        2 => option::weighted(0.8, 0..4_usize).prop_map(Turn::Changed),
        1 => (0..5_usize, 0_u64..4).prop_map(|(bound, by)| Turn::Raise(bound, by)),
        2 => Just(Turn::Restart),
        6 => (prop::bool::weighted(0.9), any::<bool>()).prop_map(|(armed, wait)| Turn::Timer(armed, wait)),
        1 => Just(Turn::Cancel),
        4 => Just(Turn::Reopen),
        1 => select(vec![-10_000_000_i64, -1, 1, 7, 86_400_000, i64::MAX / 4]).prop_map(Turn::Clock),
    ];
    prop::collection::vec((turn, prop::bool::weighted(0.85)), 10..100)
}

impl Turn {
    /// The input for `driver` now; `None` when only the clock moves.
    pub(crate) fn input(&self, driver: &mut Driver) -> Option<Input> {
        Some(match self {
            Turn::Start => driver.start(),
            Turn::Slot => Input::SlotFree,
            Turn::Settle(which, left) => left.settles(&which.id(driver), driver),
            Turn::Call(which) => Input::ModelCall(Box::new(ModelCall {
                call: CallId::new(format!("call_{}", driver.run.next_seq())).ok()?,
                attempt: which.as_ref().map(|which| which.id(driver)),
                model: "small".to_owned(),
                provider: "lab".to_owned(),
            })),
            Turn::Called(place, tenths) => {
                let open: Vec<CallId> = driver.run.calls().map(|(call, _)| call.clone()).collect();
                let call = nth(&open, *place).cloned().or_else(|| CallId::new("call_none").ok())?;
                let lost = ModelCalled::lost(call);
                Input::ModelCalled(Box::new(match tenths {
                    None => lost,
                    Some(tenths) => ModelCalled {
                        outcome: CallOutcome::Ok,
                        tokens_in: Some(10),
                        tokens_out: Some(2),
                        cost: Cost::parse(&format!("0.{tenths}")),
                        ..lost
                    },
                }))
            }
            Turn::Doubt(which) => {
                let ran = Value::Number(Number::parse("3")?);
                let evidence = Value::Object([("ran_ms".to_owned(), ran)].into_iter().collect());
                Input::InDoubt { attempt: which.id(driver), evidence }
            }
            Turn::Answer(said) => Input::Answer(Box::new(said.answer(driver))),
            Turn::Expire(wait, place) => {
                let due = nth(&driver.run.wants().expiries, *place).cloned();
                if let Some((_, at)) = due.as_ref().filter(|_| *wait) {
                    driver.now = driver.now.max(*at);
                }
                let lapses = due.map(|(interrupt, _)| interrupt);
                Input::Expire { interrupt: lapses.or_else(|| open(driver, Some(*place)))? }
            }
            Turn::Changed(known) => {
                let found = vec![FoundFile { path: "a.py".to_owned(), digest: None }];
                Input::Changed { interrupt: open(driver, *known)?, found }
            }
            Turn::Timer(armed, wait) => {
                let known = driver.run.wants().timers.first().cloned().filter(|_| *armed);
                if let Some((_, due)) = known.as_ref().filter(|_| *wait) {
                    driver.now = driver.now.max(*due);
                }
                let timer = known.map(|(timer, _)| timer).or_else(|| TimerId::new("tim_none").ok())?;
                Input::TimerDue { timer }
            }
            Turn::Raise(bound, by) => {
                let bounds = ["agent_hops", "iterations", "llm_calls", "wall_time", "cost_usd"];
                let more = amount(bounds[*bound], *by);
                Input::Raise {
                    more,
                    by: person("bob"),
                    why: None,
                    request: None,
                    elsewhere: Default::default(),
                }
            }
            Turn::Restart => {
                driver.restart();
                return None;
            }
            Turn::Cancel => Input::Cancel { by: person("bob") },
            Turn::Reopen => Input::Reopen {
                by: person("bob"),
                why: Some("once more".to_owned()),
                request: None,
                elsewhere: Default::default(),
            },
            Turn::Clock(by) => {
                driver.now = Timestamp::from_millis(driver.now.as_millis().saturating_add(*by));
                return None;
            }
        })
    }
}

/// An open question, or one that is not.
fn open(driver: &Driver, known: Option<usize>) -> Option<InterruptId> {
    let wants = driver.run.wants();
    let open = known.and_then(|place| nth(&wants.interrupts, place)).cloned();
    open.or_else(|| InterruptId::new("int_none").ok())
}

/// The one at this place, counted round and round.
fn nth<T>(list: &[T], place: usize) -> Option<&T> {
    list.get(place.checked_rem(list.len())?)
}

impl Which {
    fn id(&self, driver: &Driver) -> AttemptId {
        match self {
            Which::Live(place) => {
                let wants = driver.run.wants();
                let told: Vec<&AttemptId> = wants.attempts.iter().chain(&wants.ending).collect();
                nth(&told, *place).map_or_else(|| attempt("s0.1.1"), |id| AttemptId::clone(id))
            }
            Which::Earlier(place) => driver.nth_begun(*place).unwrap_or_else(|| attempt("s0.1.1")),
            Which::Nonsense(text) => attempt(text),
        }
    }
}
