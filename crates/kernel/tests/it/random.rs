//! Random flows, such as crate `flow` would admit, and random inputs, sensible and not.

use crate::{
    driver::{Driver, attempt, person, result, slot},
    flows::{bounded, step, step_id},
};
use envoi_contract::{
    json::{Number, Value},
    routing::Kind,
    time::Timestamp,
};
use envoi_kernel::{
    Flow, Input,
    event::{Choice, Outcome},
    flow::{
        CommandPlan, Expression, InDoubtPolicy, Limits, Next, OnBlocked, OnExhausted, OnReached, Step,
        StepKind, Template,
    },
    ids::{AttemptId, InterruptId, TimerId},
    input::{Answer, Slot},
    ledger::Cost,
};
use proptest::{option, prelude::*, sample::select};
use std::sync::Arc;

const STEPS: usize = 8;

fn name(place: usize) -> String {
    format!("s{place}")
}

/// What a step of a random flow is made of; places are folded into the flow's length.
#[derive(Debug, Clone)]
struct Plan {
    routing: (u8, usize, u64, OnExhausted, OnBlocked, bool),
    branches: Vec<usize>,
    next: Option<usize>,
    retry: u32,
    policy: InDoubtPolicy,
    condition: Option<&'static str>,
    argument: &'static str,
}

fn plan() -> impl Strategy<Value = Plan> {
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
    let policy = select(vec![InDoubtPolicy::Ask, InDoubtPolicy::Rerun, InDoubtPolicy::Fail]);
    let branches = prop::collection::vec(0..STEPS, 1..3);
    (routing, branches, option::weighted(0.2, 0..STEPS), 1_u32..4, policy, conditions, arguments).prop_map(
        |(routing, branches, next, retry, policy, condition, argument)| Plan {
            routing,
            branches,
            next,
            retry,
            policy,
            condition,
            argument,
        },
    )
}

/// `next` leads on, `loop_to` back, every loop has an end.
fn build(place: usize, count: usize, plan: &Plan) -> Step {
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
    built.on_in_doubt = plan.policy;
    // What names earlier steps fails in the first ones.
    built.condition = plan.condition.filter(|_| place > 1).map(|text| Expression(text.to_owned()));
    built.kind = StepKind::Run(CommandPlan::Exec(vec![Template(plan.argument.to_owned())]));
    built
}

fn limits() -> impl Strategy<Value = Limits> {
    let rarely = |range: std::ops::Range<u64>| option::weighted(0.15, range);
    (rarely(0..16), option::weighted(0.3, 0_u64..3), rarely(1..9), rarely(1..90), rarely(1..9)).prop_map(
        |(agent_hops, iterations, llm_calls, wall_time_ms, cost)| Limits {
            agent_hops,
            iterations,
            llm_calls,
            wall_time_ms,
            cost: cost.and_then(|cost| Cost::parse(&format!("0.{cost}"))),
            on_reached: OnReached::Fail,
        },
    )
}

pub(crate) fn flows() -> impl Strategy<Value = Arc<Flow>> {
    (prop::collection::vec(plan(), 1..=STEPS), limits()).prop_map(|(plans, limits)| {
        let steps = plans.iter().enumerate().map(|(place, plan)| build(place, plans.len(), plan));
        bounded(limits, steps)
    })
}

/// What an attempt left behind.
#[derive(Debug, Clone)]
pub(crate) struct Left {
    outcome: u8,
    text: u8,
    place: usize,
    llm_calls: u64,
    duration_ms: u64,
}

pub(crate) fn left() -> impl Strategy<Value = Left> {
    (0_u8..80, 0_u8..8, 0..STEPS, 0_u64..3, 0_u64..20).prop_map(
        |(outcome, text, place, llm_calls, duration_ms)| Left {
            outcome,
            text,
            place,
            llm_calls,
            duration_ms,
        },
    )
}

impl Left {
    pub(crate) fn settles(&self, id: &AttemptId, slot: Option<Slot>) -> Input {
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
        if self.llm_calls > 0 {
            let calls = self.llm_calls;
            let report = format!(
                r#"{{"ok":true,"generatedAt":"t","skillName":"s","data":{{"n":{calls}}},"metrics":{{"llm_calls":{calls},"cost_usd":"0.{calls}"}}}}"#
            );
            left.report = Some(report.into_bytes());
        }
        Input::Settled { result: Box::new(left), slot }
    }

    fn words(&self) -> String {
        match self.text {
            0 => "Status: VERIFIED".to_owned(),
            1 | 2 => "Status: UNVERIFIED".to_owned(),
            3 => "Status: VERIFIED\nStatus: UNVERIFIED".to_owned(),
            4 => "Status: UNVERIFIED\nCan further iteration help: no".to_owned(),
            5 | 6 => format!("Status: UNVERIFIED\nGo to step 's{}'", self.place),
            _ => "whatever".to_owned(),
        }
    }
}

/// One random turn; ids are filled in from what the run wants, or are nonsense.
#[derive(Debug, Clone)]
pub(crate) enum Turn {
    Start,
    Slot,
    Settle(Which, Left),
    Doubt(Which),
    Answer(bool, Choice),
    Timer(bool, bool),
    Cancel,
    Reopen,
    Clock(i64),
}

/// Which attempt is meant.
#[derive(Debug, Clone)]
pub(crate) enum Which {
    Live,
    /// One that began before.
    Earlier(usize),
    Nonsense(&'static str),
}

fn which() -> impl Strategy<Value = Which> {
    prop_oneof![
        8 => Just(Which::Live),
        1 => (0..40_usize).prop_map(Which::Earlier),
        1 => select(vec!["s0.1.1", "s0.9.9", "none.1.1", "x.s0.1.1", "s1.1.2"]).prop_map(Which::Nonsense),
    ]
}

pub(crate) fn choice() -> impl Strategy<Value = Choice> {
    select(vec![Choice::Rerun, Choice::Fail, Choice::Proceed, Choice::Again, Choice::Stop])
}

/// Turns, each with or without a free slot.
pub(crate) fn turns() -> impl Strategy<Value = Vec<(Turn, bool)>> {
    let turn = prop_oneof![
        1 => Just(Turn::Start),
        8 => Just(Turn::Slot),
        50 => (which(), left()).prop_map(|(which, left)| Turn::Settle(which, left)),
        3 => which().prop_map(Turn::Doubt),
        14 => (prop::bool::weighted(0.9), choice()).prop_map(|(open, choice)| Turn::Answer(open, choice)),
        6 => (prop::bool::weighted(0.9), any::<bool>()).prop_map(|(armed, wait)| Turn::Timer(armed, wait)),
        1 => Just(Turn::Cancel),
        4 => Just(Turn::Reopen),
        1 => select(vec![-10_000_000_i64, -1, 1, 7, 86_400_000, i64::MAX / 4]).prop_map(Turn::Clock),
    ];
    prop::collection::vec((turn, prop::bool::weighted(0.85)), 10..90)
}

impl Turn {
    /// The input for `driver` now; `None` when only the clock moves.
    pub(crate) fn input(&self, driver: &mut Driver, free: bool) -> Option<Input> {
        let slot = slot().filter(|_| free);
        Some(match self {
            Turn::Start => driver.start(slot),
            Turn::Slot => Input::SlotFree(crate::driver::slot()?),
            Turn::Settle(which, left) => left.settles(&which.id(driver), slot),
            Turn::Doubt(which) => {
                let ran = Value::Number(Number::parse("3")?);
                let evidence = Value::Object([("ran_ms".to_owned(), ran)].into_iter().collect());
                Input::InDoubt { attempt: which.id(driver), evidence, slot }
            }
            Turn::Answer(open, choice) => {
                let asked = driver.run.wants().interrupts.first().cloned().filter(|_| *open);
                let interrupt = asked.or_else(|| InterruptId::new("int_none").ok())?;
                let answer = Answer::new(interrupt, *choice, person("bob"));
                Input::Answer { answer: Box::new(answer), slot }
            }
            Turn::Timer(armed, wait) => {
                let known = driver.run.wants().timers.first().cloned().filter(|_| *armed);
                if let Some((_, due)) = known.as_ref().filter(|_| *wait) {
                    driver.now = driver.now.max(*due);
                }
                let timer = known.map(|(timer, _)| timer).or_else(|| TimerId::new("tim_none").ok())?;
                Input::TimerDue { timer, slot }
            }
            Turn::Cancel => Input::Cancel { by: person("bob") },
            Turn::Reopen => Input::Reopen { by: person("bob"), why: Some("once more".to_owned()), slot },
            Turn::Clock(by) => {
                driver.now = Timestamp::from_millis(driver.now.as_millis().saturating_add(*by));
                return None;
            }
        })
    }
}

impl Which {
    fn id(&self, driver: &Driver) -> AttemptId {
        let live = || driver.run.wants().attempts.first().cloned();
        match self {
            Which::Live => live().unwrap_or_else(|| attempt("s0.1.1")),
            Which::Earlier(place) => driver.nth_begun(*place).unwrap_or_else(|| attempt("s0.1.1")),
            Which::Nonsense(text) => attempt(text),
        }
    }
}
