//! Steps that ask, and people who answer.
//!
//! Owns the steps of a flow that ask, their questions, and who answers, how, and after how long. All of it follows from
//! the seed and the question's place in its run; only whether the answer comes in time depends on the world.

use envoi_contract::{envelope::InterruptKind, json::Value};
use envoi_kernel::{
    Flow, Run,
    event::{About, Choice, InterruptRaised},
    flow::{AskPlan, OnReached, Overdue, RoutingPlan, Step, StepKind, Template},
    ids::{Principal, RunId, StepId},
    input::Answer,
    ledger::{Cost, Ledger},
};
use envoi_testkit::Dice;

/// The people who answer. None of them started the run.
const PEOPLE: [&str; 4] = ["bob", "carl", "dora", "emil"];

/// Lets some steps ask in place of what they did, and some bounds.
pub(crate) fn into(flow: &mut Flow, dice: &mut Dice) {
    if dice.permille(300) {
        flow.limits.on_reached = OnReached::Ask;
    }
    let ids: Vec<StepId> = flow.steps.iter().map(|step| step.id.clone()).collect();
    for place in 0..ids.len() {
        let asks = dice.permille(250);
        // In a graph all ways lead back, to what comes before.
        let before = before(flow, place);
        let (to, back) = match flow.graph {
            true => (before.as_slice(), before.as_slice()),
            false => (ids.as_slice(), ids.get(..=place).unwrap_or_default()),
        };
        let plain = |step: &&mut Step| matches!(step.kind, StepKind::Run(_)) && step.for_each.is_none();
        if let Some(step) = flow.steps.get_mut(place).filter(|step| asks && plain(step)) {
            ask(step, dice, to, back);
        }
    }
}

/// The steps that the one at this place waits for, at any distance; they are listed before it.
fn before(flow: &Flow, place: usize) -> Vec<StepId> {
    let mut found: Vec<StepId> = Vec::new();
    let mut left: Vec<&StepId> = flow.steps.get(place).into_iter().flat_map(|step| &step.needs).collect();
    while let Some(id) = left.pop() {
        if !found.contains(id) {
            found.push(id.clone());
            left.extend(flow.step(id).into_iter().flat_map(|step| &step.needs));
        }
    }
    found
}

/// Lets a step ask; a denial may lead `to` these, an answer `back` to those.
fn ask(step: &mut Step, dice: &mut Dice, to: &[StepId], back: &[StepId]) {
    use InterruptKind::{AgentReview, Checkpoint, Clarification, Confirmation};
    let any = |dice: &mut Dice| dice.pick(to).cloned();
    let on_deny = if dice.permille(400) { any(dice) } else { None };
    let on_expire = match dice.below(3) {
        0 => Overdue::Fail,
        1 => Overdue::Deny,
        _ => any(dice).map_or(Overdue::Fail, Overdue::Go),
    };
    let plan = AskPlan {
        kind: *dice.pick(&[Confirmation, Clarification, AgentReview, Checkpoint]).unwrap_or(&Confirmation),
        message: Template("Go on?".to_owned()),
        schema: dice.permille(200).then(Value::default),
        expires_in_ms: dice.permille(500).then(|| dice.between(500, 20_000)),
        on_deny,
        on_expire,
        not_by_starter: dice.permille(300),
        quorum: u32::try_from(dice.between(1, 3)).unwrap_or(1),
    };
    step.routing = RoutingPlan {
        loop_to: if dice.permille(400) { dice.pick(back).cloned() } else { None },
        next: step.routing.next.take(),
        max_iterations: dice.below(3),
        ..RoutingPlan::default()
    };
    (step.kind, step.skill) = (StepKind::Ask(Box::new(plan)), None);
}

/// How long a question waits before a person looks at it.
pub(crate) fn patience_ms(seed: u64, run: &RunId, raised: &InterruptRaised) -> u64 {
    let mut dice = Dice::of(seed, &["patience", run.as_str(), &raised.visit.to_string()]);
    if dice.permille(400) { 0 } else { dice.between(1, 15_000) }
}

/// Which of them answers.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Who {
    /// The next one of those who have not approved yet.
    Next,
    /// The one after that, beside the next one.
    Other,
    /// The one who has approved last, or else the next one, once more.
    Same,
}

/// The answer to this question.
pub(crate) fn answer(run: &Run, raised: &InterruptRaised, choice: Choice, who: Who) -> Answer {
    let votes = run.votes(&raised.interrupt).count();
    let next = match who {
        Who::Next => votes,
        Who::Other => votes.saturating_add(1),
        Who::Same => votes.saturating_sub(1),
    };
    let actor = PEOPLE.get(next).copied().unwrap_or("zoe").to_owned();
    let step = run.step(&raised.visit);
    let plan = step.and_then(Step::asks).filter(|_| raised.about == About::Ask);
    let form = plan.is_some_and(|plan| plan.schema.is_some());
    let says_yes = matches!(choice, Choice::Approve | Choice::Respond);
    Answer {
        text: plan.map(|_| "simulated words".to_owned()),
        data: (form && says_yes).then(|| Value::from(7_u64)),
        raise: (choice == Choice::Raise).then(|| more(raised)),
        seen: raised.subject,
        channel: "simulated".to_owned(),
        ..Answer::new(raised.interrupt.clone(), choice, Principal { tenant: "local".to_owned(), actor })
    }
}

/// More of what the question is about.
fn more(raised: &InterruptRaised) -> Ledger {
    let mut more = Ledger::default();
    match raised.evidence.get("bound").and_then(Value::as_str).unwrap_or("") {
        "agent_hops" => more.agent_hops = 3,
        "iterations" => more.iterations = 1,
        "llm_calls" => more.llm_calls = 5,
        "wall_time" => more.wall_time_ms = 8_000,
        "waiting" => more.waiting_ms = 3_600_000,
        _ => more.cost = Cost::from_nano_usd(1_000_000_000),
    }
    more
}
