//! Any flow, any inputs.

use crate::{
    driver::{Driver, person, slot},
    random::{Left, Said, Turn, flows, left, more, said, turns},
    random_graphs::{busy_turns, graphs},
    rules,
};
use envoi_kernel::{
    Event, Flow, Input, Record, Refusal, Run, Status,
    event::{About, Choice, Command, Course, InterruptRaised},
    flow::Step,
    input::{Answer, Slot},
    ledger::Ledger,
};
use proptest::{
    prelude::*,
    strategy::ValueTree as _,
    test_runner::{RngAlgorithm, TestRng, TestRunner},
};
use std::{collections::BTreeMap, sync::Arc};

/// `ENVOI_SOAK=50` lives through fifty times as many random runs.
#[expect(clippy::disallowed_methods, reason = "how a person asks for a longer run")]
pub(crate) fn cases(cases: u32) -> ProptestConfig {
    let times: u32 = std::env::var("ENVOI_SOAK").map_or(1, |times| times.parse().unwrap());
    ProptestConfig {
        cases: cases * times,
        max_global_rejects: 1_024 * times,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

/// Lives through `turns`, with `each` looking on before every input.
pub(crate) fn live(
    flow: &Arc<Flow>,
    turns: &[(Turn, bool)],
    mut each: impl FnMut(&Driver, &Input, Option<&Slot>),
) -> Driver {
    let mut driver = Driver::new(flow);
    driver.feed(driver.start()).unwrap();
    for (turn, free) in turns {
        if let Some(input) = turn.input(&mut driver) {
            let slot = slot().filter(|_| *free || matches!(turn, Turn::Slot));
            each(&driver, &input, slot.as_ref());
            driver.feed_with(input, slot).ok();
        }
    }
    driver
}

fn through_text(record: &Record) -> Record {
    let text = serde_json::to_string(record).unwrap();
    let read: Record = serde_json::from_str(&text).unwrap();
    assert_eq!(&read, record, "{text}");
    // As the journal has it: most events are not read again there after they are written, so they are here.
    let kept = record.event.kept().unwrap();
    assert_eq!(serde_json::from_str::<Event>(&kept).unwrap(), record.event, "{kept}");
    assert!(kept.starts_with(&format!("{{\"type\":\"{}\"", record.event.name())), "{kept}");
    read
}

proptest! {
    #![proptest_config(cases(100))]

    #[test]
    fn a_journal_replays_to_the_state_that_was_lived_at_every_prefix((flow, turns) in (flows(), turns())) {
        let mut lived = Run::new(Arc::clone(&flow));
        let mut replayed = lived.clone();
        let mut deciding = Run::without_view(Arc::clone(&flow));
        let mut shown: Option<Run> = None;
        for record in &live(&flow, &turns, |_, _, _| {}).records {
            lived.apply(record).unwrap();
            replayed.apply(&through_text(record)).unwrap();
            prop_assert_eq!(&replayed, &lived);
            replayed = Run::restore(Arc::clone(&flow), &lived.snapshot().unwrap()).unwrap();
            prop_assert_eq!(&replayed, &lived);
            deciding.apply(record).unwrap();
            let control = lived.control_snapshot().unwrap();
            prop_assert_eq!(&deciding.control_snapshot().unwrap(), &control, "what shows a run decides nothing");
            let restored = Run::restore_control(Arc::clone(&flow), &control).unwrap();
            prop_assert_eq!(&restored, &deciding);
            // A run that was restored earlier without its envelope has followed the events.
            let now = Run::restore_without_envelope(Arc::clone(&flow), &lived.snapshot().unwrap()).unwrap();
            let followed = shown.get_or_insert_with(|| now.clone());
            if followed.next_seq() < lived.next_seq() {
                followed.apply(record).unwrap();
            }
            prop_assert_eq!(&*followed, &now);
        }
    }

    #[test]
    fn a_recovered_run_decides_as_the_one_that_lived((flow, turns) in (flows(), turns())) {
        let driver = live(&flow, &turns, |driver, input, slot| {
            let decided = driver.run.decide(input.clone(), slot.cloned(), driver.now);
            let restored = Run::restore(Arc::clone(&flow), &driver.run.snapshot().unwrap()).unwrap();
            assert_eq!(restored.decide(input.clone(), slot.cloned(), driver.now), decided);
        });
        prop_assert_eq!(&Run::replay(Arc::clone(&flow), driver.records.clone()).unwrap(), &driver.run);
    }

    #[test]
    fn no_bound_is_passed_and_no_visit_is_repeated((flow, turns) in (flows(), turns())) {
        check_accounts(&live(&flow, &turns, |_, _, _| {}));
    }

    #[test]
    fn a_run_that_is_served_fairly_ends(
        (flow, left, answers) in (flows(), prop::collection::vec(left(), 1..40), prop::collection::vec(said(), 1..10))
    ) {
        let most = most_turns(&flow);
        prop_assume!(most < 3_000);
        let driver = serve(&flow, &left, &answers, most);
        prop_assert!(matches!(driver.run.status(), Status::Ended(_)), "it goes on after {most} turns");
        rules::check(&flow, &driver.records);
    }
}

proptest! {
    #![proptest_config(cases(40))]

    #[test]
    fn no_rule_of_a_graph_is_broken((flow, turns) in (graphs(), busy_turns())) {
        check_accounts(&live(&flow, &turns, |_, _, _| {}));
    }

    #[test]
    fn a_graph_replays_to_the_state_that_was_lived_at_every_prefix((flow, turns) in (graphs(), busy_turns())) {
        let mut lived = Run::new(Arc::clone(&flow));
        let mut replayed = lived.clone();
        let mut deciding = Run::without_view(Arc::clone(&flow));
        for record in &live(&flow, &turns, |_, _, _| {}).records {
            lived.apply(record).unwrap();
            replayed.apply(&through_text(record)).unwrap();
            prop_assert_eq!(&replayed, &lived);
            replayed = Run::restore(Arc::clone(&flow), &lived.snapshot().unwrap()).unwrap();
            prop_assert_eq!(&replayed, &lived);
            deciding.apply(record).unwrap();
            let control = lived.control_snapshot().unwrap();
            prop_assert_eq!(&deciding.control_snapshot().unwrap(), &control, "what shows a run decides nothing");
            let restored = Run::restore_control(Arc::clone(&flow), &control).unwrap();
            prop_assert_eq!(&restored, &deciding);
        }
    }

    #[test]
    fn a_graph_that_is_served_fairly_ends(
        (flow, left, answers) in (graphs(), prop::collection::vec(left(), 1..40), prop::collection::vec(said(), 1..10))
    ) {
        let driver = serve(&flow, &left, &answers, MOST_TURNS);
        prop_assert!(matches!(driver.run.status(), Status::Ended(_)), "it goes on after {MOST_TURNS} turns");
        rules::check(&flow, &driver.records);
    }
}

/// Usage and reservations match the records. The steps' accounts add up to the usage, except for calls that
/// belong to no step.
fn check_accounts(driver: &Driver) {
    let (run, uses) = (&driver.run, rules::check(driver.run.flow(), &driver.records));
    let sum = |count: fn(&Ledger) -> u64| run.ledger_by_step().values().map(count).sum::<u64>();
    let (used, (calls, cost)) = (run.ledger(), uses.beside());
    uses.agree_with(used);
    uses.agree_on_reserved(&run.reserved());
    assert_eq!(sum(|used| used.agent_hops), used.agent_hops);
    assert_eq!(sum(|used| used.iterations), used.iterations);
    assert_eq!(sum(|used| used.llm_calls) + calls, used.llm_calls);
    assert_eq!(sum(|used| used.wall_time_ms), used.wall_time_ms);
    let by_step = run.ledger_by_step().values().fold(cost, |sum, used| sum.saturating_add(used.cost));
    assert_eq!(by_step, used.cost);
    assert_eq!(run.envelope().llm_call_count, used.llm_calls);
}

/// Turns that one try may take: the attempt, its wait, and raises of every bound that it has used up.
const RAISES: u64 = 24;

/// More turns than any of the small graphs needs.
const MOST_TURNS: u64 = 5_000;

/// Serves every want of a run at once, for at most so many turns.
fn serve(flow: &Arc<Flow>, left: &[Left], answers: &[Said], most: u64) -> Driver {
    let mut driver = Driver::started(flow);
    let (mut left, mut answers) = (left.iter().cycle(), answers.iter().cycle());
    // An agent may ask for ever, and doubt about it need not end either.
    for turn in 0..most.saturating_mul(2) {
        let quiet = turn > most;
        let wants = driver.run.wants();
        let asked = driver.run.interrupts().next().cloned();
        let input = if !wants.ready.is_empty() {
            Input::SlotFree
        } else if let Some(attempt) = wants.ending.first().or(wants.attempts.last()) {
            let left = left.next().unwrap();
            if quiet { left.without_agent() } else { left.clone() }.settles(attempt, &driver)
        } else if let Some((timer, due)) = wants.timers.first() {
            driver.now = driver.now.max(*due);
            Input::TimerDue { timer: timer.clone() }
        } else if let Some(raised) = asked {
            let answer = answers.next().unwrap().answer(&driver);
            match driver.say(answer) {
                Ok(_) => continue,
                Err(Refusal::Expired { interrupt, .. }) => Input::Expire { interrupt },
                // Refused for another reason, and no person can answer any more either.
                Err(_) if raised.expires_at.is_some_and(|at| driver.now >= at) => {
                    Input::Expire { interrupt: raised.interrupt.clone() }
                }
                Err(_) => Input::Answer(Box::new(plain(&raised))),
            }
        } else {
            break;
        };
        driver.feed(input).unwrap();
    }
    driver
}

/// An answer that is always accepted.
fn plain(raised: &InterruptRaised) -> Answer {
    let choice = match raised.about {
        About::InDoubt | About::Throttled => Choice::Fail,
        About::Exhausted | About::Blocked | About::Review | About::Stuck | About::Conflict => Choice::Proceed,
        About::Limit => Choice::Raise,
        About::Ask | About::Agent => Choice::Deny,
    };
    let raise = (choice == Choice::Raise).then(|| more(raised, 1_000));
    Answer { raise, ..Answer::new(raised.interrupt.clone(), choice, person("zed")) }
}

/// How many turns a fairly served run can take: each loop goes back at most so often per entry, and is entered once and
/// once more for each return of a loop that begins before it or spans it.
fn most_turns(flow: &Flow) -> u64 {
    let mut loops: Vec<_> = flow
        .steps
        .iter()
        .enumerate()
        .filter_map(|(end, step)| Some((rules::start_of(flow, step)?, end, step.routing.max_iterations)))
        .collect();
    loops.sort_unstable_by_key(|(start, end, _)| (*start, std::cmp::Reverse(*end)));
    let mut returns = 0;
    for (_, _, max) in loops {
        returns += max * (1 + returns);
    }
    let visits = flow.steps.len() as u64 * (1 + returns);
    // A visit takes an attempt and a wait a try, and an answer, or as many as a question needs; without limits doubt could
    // go on for ever. A bound may be raised, by little, before each attempt and each return.
    let tries = flow.steps.iter().map(|step| u64::from(step.retry.attempts)).max().unwrap_or(1);
    let people = flow.steps.iter().filter_map(Step::asks).map(|plan| u64::from(plan.quorum)).max();
    visits * (RAISES * tries + people.unwrap_or(1) + 2) + 1
}

#[test]
fn the_random_inputs_reach_every_event_and_every_end() {
    let mut runner = TestRunner::new_with_rng(cases(1), TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    for _ in 0..500 {
        let (flow, turns) = (flows(), turns()).new_tree(&mut runner).unwrap().current();
        for record in live(&flow, &turns, |_, _, _| {}).records {
            *seen.entry(record.event.name().to_owned()).or_default() += 1;
            if let Event::AttemptStarted(started) = &record.event
                && started.verifies.is_some()
            {
                *seen.entry("verifies".to_owned()).or_default() += 1;
            }
            if let Event::AttemptSettled(settled) = &record.event
                && let Some(said) = &settled.agent
            {
                let word = serde_json::to_value(said).unwrap();
                let word =
                    word.as_str().map_or_else(|| "agent asks".to_owned(), |word| format!("agent {word}"));
                *seen.entry(word).or_default() += 1;
            }
            if let Event::AttemptStarted(started) = &record.event
                && let Command::A2a(call) = &started.command
            {
                let denied = if call.denied { "tells a denial" } else { "calls" };
                *seen.entry(denied.to_owned()).or_default() += 1;
            }
            if let Event::AttemptSettled(settled) = &record.event
                && let Some(error) = &settled.error
            {
                *seen.entry(error.code.clone()).or_default() += 1;
            }
            if let Event::RunEnded(ended) = &record.event {
                *seen.entry(ended.terminal_reason.word().to_owned()).or_default() += 1;
            }
        }
    }
    for name in [
        "run_started",
        "attempt_started",
        "attempt_settled",
        "routed",
        "handoff_written",
        "interrupt_raised",
        "interrupt_answered",
        "interrupt_cancelled",
        "interrupt_expired",
        "vote_cast",
        "timer_set",
        "timer_fired",
        "cancel_requested",
        "run_reopened",
        "run_ended",
        "model_call_started",
        "model_call_ended",
        "completed",
        "max_iterations_exceeded",
        "max_loop_exceeded",
        "max_agent_hops_exceeded",
        "max_llm_calls_exceeded",
        "time_limit_exceeded",
        "cost_limit_exceeded",
        "user_cancelled",
        "tool_failed_fatally",
        "policy_violation",
        "verifies",
        "DID_NOT_HAPPEN",
        "BUDGET_OVERRUN",
        "agent asks",
        "agent over",
        "agent unclear",
        "calls",
        "tells a denial",
    ] {
        assert!(seen.get(name).is_some_and(|times| *times >= 3), "{name} is too rare: {seen:?}");
    }
}

#[test]
fn the_random_graphs_reach_what_only_graphs_have() {
    let mut runner = TestRunner::new_with_rng(cases(1), TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let mut seen: BTreeMap<&str, u32> = BTreeMap::new();
    for _ in 0..250 {
        let (flow, turns) = (graphs(), busy_turns()).new_tree(&mut runner).unwrap().current();
        let mut questions = 0;
        for record in live(&flow, &turns, |_, _, _| {}).records {
            questions += i32::from(matches!(record.event, Event::InterruptRaised(_)));
            let word = match &record.event {
                Event::StepEntered(_) => "entered",
                Event::StepsGivenUp(_) => "given up",
                Event::FannedOut(event) if event.items.len() > event.width => "more items than at once",
                Event::FlowEntered(event) if event.by_hint => "led into",
                Event::FlowEntered(event) if event.resumes => "taken up",
                Event::FlowEntered(event) if !event.visit.scope.is_empty() => "a flow in a flow",
                Event::FlowReturned(_) => "returned",
                Event::RunStopping(_) => "stopping",
                Event::AttemptSettled(event) if event.given_up => "ended",
                Event::AttemptSettled(event) if event.late => "late",
                Event::HandoffWritten(event) if event.visit.item().is_some() => "item",
                Event::Routed(event) if flow.graph && matches!(event.course, Course::LoopBack(_)) => "back",
                Event::InterruptRaised(_) if questions > 1 => "two questions",
                Event::InterruptAnswered(_) | Event::InterruptCancelled(_) | Event::InterruptExpired(_) => {
                    questions -= 1;
                    continue;
                }
                Event::RunEnded(event) if event.terminal_reason.word() == "completed" => "completed",
                _ => continue,
            };
            *seen.entry(word).or_default() += 1;
        }
    }
    let rare: Vec<_> = [
        "entered",
        "given up",
        "more items than at once",
        "led into",
        "taken up",
        "a flow in a flow",
        "returned",
        "stopping",
        "ended",
        "late",
        "item",
        "back",
        "two questions",
        "completed",
    ]
    .into_iter()
    .filter(|word| !seen.contains_key(word))
    .collect();
    assert!(rare.is_empty(), "never: {rare:?} in {seen:?}");
}
