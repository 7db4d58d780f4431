//! Tests that no run of the kernel exceeds its plan.

use crate::{
    adversary::{Tally, live},
    counts::flow,
    random::flows,
    random_whole::wholes,
};
use envoi_flow::plan::{Most, Plan, plan};
use envoi_kernel::{Flow, flow::InDoubtPolicy};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// The number of runs per flow.
const RUNS: u64 = 25;

/// A run with more turns is stopped; its counts up to then are checked.
const TURNS: u64 = 3_000;

/// The numbers of runs and turns for flows with inner flows, whose runs are longer.
const WHOLE_RUNS: u64 = 6;
const WHOLE_TURNS: u64 = 600;

fn within(planned: Most, lived: u64) -> bool {
    Most::of(u128::from(lived)) <= planned
}

/// Checks that only attempts that people had run again because of doubt exceed the plan. A rerun may be in doubt and
/// be verified again.
pub(crate) fn check(flow: &Flow, plan: &Plan, tally: &Tally) {
    let all =
        || core::iter::once(flow).chain(flow.flows.values().map(AsRef::as_ref)).flat_map(|flow| &flow.steps);
    let verified = all().any(|step| matches!(step.on_in_doubt, InDoubtPolicy::Verify(_)));
    let beyond = tally.reruns * if verified { 2 } else { 1 };
    assert!(
        within(plan.attempts, tally.all_attempts().saturating_sub(beyond)),
        "attempts {} of {tally:?} {plan:#?}",
        tally.all_attempts()
    );
    assert!(within(plan.visits, tally.all_visits()), "visits {tally:?} {plan:#?}");
    assert!(within(plan.loop_backs, tally.all_returns()), "loop-backs {tally:?} {plan:#?}");
    assert!(within(plan.waits_ms, tally.waits_ms), "waits {tally:?} {plan:#?}");
    assert!(tally.rounds < plan.rounds.unwrap_or(1), "rounds {tally:?} {plan:#?}");
    let longest = all().filter_map(|step| step.timeout_ms).max().unwrap_or(0);
    if let Some(time) = plan.time_ms {
        let lived = tally.time_ms.saturating_sub(beyond * longest);
        assert!(within(time, lived), "time {tally:?} {plan:#?}");
    }
    if let Some(elapsed) = plan.elapsed_ms.filter(|_| tally.prompt) {
        let lived = tally.elapsed_ms.saturating_sub(beyond * longest);
        assert!(within(elapsed, lived), "elapsed {tally:?} {plan:#?}");
    }
    if let Some(calls) = plan.llm_calls {
        let largest = all().filter_map(|step| step.budget.llm_calls).max().unwrap_or(0);
        let lived = tally.calls.saturating_sub(beyond * largest);
        assert!(within(calls, lived), "calls {tally:?} {plan:#?}");
    }
    for step in &plan.steps {
        let name = step.name();
        let lived = |of: &BTreeMap<String, u64>| of.get(&name).copied().unwrap_or(0);
        assert!(within(step.visits, lived(&tally.visits)), "visits of {name} {tally:?} {plan:#?}");
        let attempts = lived(&tally.attempts).saturating_sub(beyond);
        assert!(within(step.attempts, attempts), "attempts of {name} {tally:?} {plan:#?}");
    }
    for (step, lived) in &tally.returns {
        let of = plan.loops.iter().find(|of| !of.rounds && of.names().0 == *step);
        let of = of.unwrap_or_else(|| panic!("`{step}` went back and is no loop of the plan"));
        assert!(within(of.returns, *lived), "returns of {step} {tally:?} {plan:#?}");
    }
}

/// From `b`, the target of `d`, only a return of `c` leads to `d` again.
const THROUGH_ANOTHER_LOOP: &str = "steps:
  - id: a
    run: go
    routing: { kind: branch, branches: [b, d], max_iterations: 0 }
  - id: b
    run: go
  - id: c
    run: go
    routing: { kind: microloop, loop_to: a, success_values: [VERIFIED], max_iterations: 1, next: z }
  - id: d
    run: go
    routing: { kind: microloop, loop_to: b, success_values: [VERIFIED], max_iterations: 1 }
  - id: z
    run: go
";

#[test]
fn a_way_back_may_lead_through_another_loop() {
    let flow = flow(THROUGH_ANOTHER_LOOP);
    let plan = plan(&flow);
    let mut most = 0;
    for seed in 0..500 {
        let tally = live(&flow, seed, TURNS);
        check(&flow, &plan, &tally);
        most = most.max(tally.visits.get("d").copied().unwrap_or(0));
    }
    assert_eq!(most, 2, "no run shows what is meant");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_run_comes_to_more_than_its_plan(sample in flows(), seed in any::<u64>()) {
        let plan = plan(&sample.flow);
        for run in 0..RUNS {
            let seed = seed.wrapping_add(run.wrapping_mul(0x1234_5678_9abc_def1));
            check(&sample.flow, &plan, &live(&sample.flow, seed, TURNS));
        }
    }

}

proptest! {
    #![proptest_config(ProptestConfig { cases: 80, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_run_of_graphs_and_flows_in_flows_comes_to_more_than_its_plan(sample in wholes(), seed in any::<u64>()) {
        let plan = plan(&sample.flow);
        for run in 0..WHOLE_RUNS {
            let seed = seed.wrapping_add(run.wrapping_mul(0x1234_5678_9abc_def1));
            check(&sample.flow, &plan, &live(&sample.flow, seed, WHOLE_TURNS));
        }
    }
}
