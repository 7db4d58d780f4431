//! No run of the kernel comes to more than the plan says.

use crate::{
    adversary::{Tally, live},
    counts::flow,
    random::flows,
};
use envoi_flow::plan::{Most, Plan, plan};
use envoi_kernel::Flow;
use proptest::prelude::*;

/// Runs of one flow.
const RUNS: u64 = 25;

/// Runs of more turns than this are left unfinished: what they came to until then counts.
const TURNS: u64 = 3_000;

fn within(planned: Most, lived: u64) -> bool {
    Most::of(u128::from(lived)) <= planned
}

/// What people had run again after doubt is beyond the plan, and nothing else.
fn check(flow: &Flow, plan: &Plan, tally: &Tally) {
    let beyond = tally.reruns;
    assert!(
        within(plan.attempts, tally.all_attempts() - beyond),
        "attempts {} of {plan:#?}",
        tally.all_attempts()
    );
    assert!(within(plan.visits, tally.all_visits()), "visits {tally:?} {plan:#?}");
    assert!(within(plan.loop_backs, tally.all_returns()), "loop-backs {tally:?} {plan:#?}");
    assert!(within(plan.waits_ms, tally.waits_ms), "waits {tally:?} {plan:#?}");
    let longest = flow.steps.iter().filter_map(|step| step.timeout_ms).max().unwrap_or(0);
    if let Some(time) = plan.time_ms {
        let lived = tally.time_ms.saturating_sub(beyond * longest);
        assert!(within(time, lived), "time {tally:?} {plan:#?}");
    }
    for step in &plan.steps {
        let lived = |of: &std::collections::BTreeMap<_, u64>| of.get(&step.step).copied().unwrap_or(0);
        assert!(within(step.visits, lived(&tally.visits)), "visits of {} {tally:?} {plan:#?}", step.step);
        let attempts = lived(&tally.attempts).saturating_sub(beyond);
        assert!(within(step.attempts, attempts), "attempts of {} {tally:?} {plan:#?}", step.step);
    }
    for (step, lived) in &tally.returns {
        let of = plan.loops.iter().find(|of| of.step == *step);
        let of = of.unwrap_or_else(|| panic!("`{step}` went back and is no loop of the plan"));
        assert!(within(of.returns, *lived), "returns of {step} {tally:?} {plan:#?}");
    }
}

/// From `b`, where `d` goes back to, only the return of `c` leads to `d` again.
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
    let d = &flow.steps[3].id;
    let mut most = 0;
    for seed in 0..500 {
        let tally = live(&flow, seed, TURNS);
        check(&flow, &plan, &tally);
        most = most.max(tally.visits.get(d).copied().unwrap_or(0));
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
