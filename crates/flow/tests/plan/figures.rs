//! Tests time, waits, calls, cost, limits, the dominant setting, and exceeded maximums.

use crate::counts::flow;
use envoi_flow::plan::{Amount, Bite, Exceeded, Field, Maxima, Most, Plan, line_of, plan};
use envoi_kernel::ledger::Cost;

fn planned(text: &str) -> Plan {
    plan(&flow(text))
}

const CRITIC: &str = "routing: { kind: microloop, loop_to: a, success_values: [OK], max_iterations: 4 }";

fn looped(limits: &str, a: &str, critic: &str) -> String {
    format!(
        "{limits}steps:\n  - id: a\n    run: go\n{a}  - id: c\n    run: go\n{critic}    {CRITIC}\n  - id: z\n    run: go\n    \
         timeout: 1s\n"
    )
}

fn most(count: u64) -> Most {
    Most::of(u128::from(count))
}

#[test]
fn time_is_what_all_attempts_may_take() {
    let timed = |limits: &str| planned(&looped(limits, "    timeout: 10s\n", "    timeout: 2s\n"));
    assert_eq!(timed("").time_ms, Some(most(61_000)));
    // Attempts that are live when the limit is reached continue to their own limits.
    assert_eq!(timed("limits: { wall_time: 30s }\n").time_ms, Some(most(40_000)));
    assert_eq!(timed("limits: { wall_time: 30s }\n").most_time, None, "no other figure saves time then");
    assert_eq!(timed("limits: { wall_time: 2m }\n").time_ms, Some(most(61_000)));
    assert_eq!(timed("limits: { wall_time: 30s, on_reached: ask }\n").time_ms, Some(most(61_000)));
    assert_eq!(timed("limits: { agent_hops: 3 }\n").time_ms, Some(most(30_000)));
    let untimed = |limits: &str| planned(&looped(limits, "", "    timeout: 2s\n"));
    for limits in ["", "limits: { wall_time: 30s }\n"] {
        let plan = untimed(limits);
        assert_eq!((plan.time_ms, plan.most_time), (None, None));
        assert!(plan.notes[0].starts_with("time is not bounded: `a` has no `timeout`"), "{:?}", plan.notes);
        assert_eq!(plan.notes[0].contains("limits.wall_time"), !limits.is_empty(), "{:?}", plan.notes);
    }
}

#[test]
fn waits_double_up_to_the_longest_and_come_with_each_visit() {
    let retry = "    retry: { attempts: 4, backoff: 1s..5s }\n";
    // 1 s, 2 s and 4 s per visit, plus a tenth each, for five visits.
    assert_eq!(planned(&looped("", retry, "")).waits_ms, most(38_500));
    // No wait exceeds the longest one.
    let few = "    retry: { attempts: 4, backoff: 1s..2s }\n";
    assert_eq!(planned(&looped("", few, "")).waits_ms, most(25_500));
    assert_eq!(planned(&looped("", "", "")).waits_ms, most(0));
    assert_eq!(planned(&looped("limits: { agent_hops: 0 }\n", retry, "")).waits_ms, most(0));
}

#[test]
fn calls_and_cost_are_bounded_by_limits_alone() {
    let plan = planned(&looped("", "", ""));
    assert_eq!((plan.llm_calls, plan.cost), (None, None));
    let plan = planned(&looped("limits: { llm_calls: 10, cost_usd: \"5.00\" }\n", "", ""));
    assert_eq!((plan.llm_calls, plan.cost), (Some(most(10)), Cost::parse("5")));
    assert!(plan.notes.iter().any(|note| note.contains("`limits.cost_usd` is tested before a start")));
    let raised = planned(&looped("limits: { llm_calls: 10, cost_usd: \"5.00\", on_reached: ask }\n", "", ""));
    assert_eq!((raised.llm_calls, raised.cost), (None, None));
    let asks = planned("steps:\n  - id: ok\n    ask: Go on?\n");
    assert_eq!((asks.llm_calls, asks.cost, asks.time_ms), (Some(most(0)), Cost::parse("0"), Some(most(0))));
}

#[test]
fn a_limit_lowers_the_worst_case_and_is_named_if_it_does() {
    let with = |limits: &str| planned(&looped(limits, "    retry: { attempts: 3 }\n", ""));
    let free = with("");
    assert_eq!((free.attempts, free.loop_backs, free.bites.len()), (most(21), most(4), 0));
    let count = |amount| Amount::Count(most(amount));
    let bite = |limit, without, with| Bite { limit, without: count(without), with: count(with) };
    let hops = with("limits: { agent_hops: 20 }\n");
    assert_eq!((hops.attempts, hops.bites), (most(20), vec![bite("agent_hops", 21, 20)]));
    let hops = with("limits: { agent_hops: 21 }\n");
    assert_eq!((hops.attempts, hops.bites), (most(21), vec![]));
    let returns = with("limits: { iterations: 2 }\n");
    assert_eq!((returns.attempts, returns.loop_backs), (most(13), most(2)));
    assert_eq!(returns.bites, vec![bite("iterations", 4, 2)]);
    let asks = with("limits: { iterations: 2, agent_hops: 1, on_reached: ask }\n");
    assert_eq!((asks.attempts, asks.loop_backs, asks.bites.len()), (most(21), most(4), 0));
    assert!(asks.notes[0].contains("a person may raise"), "{:?}", asks.notes);
    for nothing in ["agent_hops: 0", "llm_calls: 0", "cost_usd: \"0\""] {
        assert_eq!(with(&format!("limits: {{ {nothing} }}\n")).attempts, most(0), "{nothing}");
    }
}

#[test]
fn the_figure_dominates_whose_lowering_saves_most() {
    let saves = |text: &str| {
        let most = planned(text).most_attempts.unwrap();
        let path: Vec<String> = most.path.iter().map(ToString::to_string).collect();
        (most.field.key(), most.field.step().map(ToString::to_string), most.now, most.saves, path.join(" "))
    };
    let step = |id: &str| Some(id.to_owned());
    let looped = |limits: &str, a: &str| looped(limits, a, "");
    let path = "a c".to_owned();
    assert_eq!(saves(&looped("", "")), ("routing.max_iterations", step("c"), 4, most(2), path.clone()));
    let retried = "    retry: { attempts: 2 }\n";
    // Each of five visits saves one attempt with a try fewer. A round fewer saves three.
    assert_eq!(saves(&looped("", retried)), ("retry.attempts", step("a"), 2, most(5), "a".to_owned()));
    let capped = "limits: { iterations: 3 }\n";
    assert_eq!(saves(&looped(capped, "")), ("limits.iterations", None, 3, most(2), String::new()));
    assert_eq!(saves(&looped("limits: { agent_hops: 5 }\n", "")).0, "limits.agent_hops");
    assert_eq!(planned("steps:\n  - id: a\n    run: go\n").most_attempts, None);
}

#[test]
fn what_dominates_the_time_may_be_another_figure() {
    let a = "    retry: { attempts: 2 }\n    timeout: 1s\n";
    let plan = planned(&looped("", a, "    timeout: 1m\n"));
    let key = |dominant: Option<envoi_flow::plan::Dominant>| dominant.unwrap().field.key();
    assert_eq!(key(plan.most_attempts), "retry.attempts");
    let time = plan.most_time.unwrap();
    assert_eq!(
        (time.field.key(), time.saves, time.spent),
        ("routing.max_iterations", most(62_000), most(310_000))
    );
    assert_eq!(plan.time_ms, Some(most(311_000)));
}

#[test]
fn a_round_goes_the_heaviest_way() {
    let text = "steps:\n  - id: a\n    run: go\n    routing: { kind: branch, branches: [light, heavy], max_iterations: 0 }\n  \
                - id: light\n    run: go\n    routing: { next: c }\n  - id: heavy\n    run: go\n  - id: heavier\n    run: go\n  \
                - id: c\n    run: go\n    routing: { kind: microloop, loop_to: a, success_values: [OK], max_iterations: 9 }\n";
    let plan = planned(text);
    let path: Vec<String> = plan.most_attempts.unwrap().path.iter().map(ToString::to_string).collect();
    assert_eq!(path, ["a", "heavy", "heavier", "c"]);
    // Ten rounds on the heavy path. The light path is not taken in addition.
    assert_eq!(plan.attempts, most(40));
}

#[test]
fn numbers_that_are_too_large_are_more_than_the_largest() {
    let steps: String = (0..12)
        .map(|n| {
            format!(
                "  - id: s{n}\n    run: go\n    timeout: 9d\n    routing: {{ kind: microloop, loop_to: s0, success_values: [OK], \
                 max_iterations: 10000 }}\n"
            )
        })
        .collect();
    let plan = planned(&format!("steps:\n{steps}"));
    assert_eq!(plan.attempts.known(), None);
    assert_eq!(plan.time_ms.unwrap().known(), None);
    assert_eq!(plan.steps[11].visits.known(), Some(10_001));
    assert_eq!(plan.steps[0].visits.known(), None);
    for max in [Most::LARGEST, u64::MAX] {
        let maxima = Maxima { attempts: Some(max), ..Maxima::default() };
        assert_eq!(
            plan.exceeded(&maxima),
            [Exceeded::Attempts(max, plan.attempts)],
            "how much more is not known"
        );
    }
}

#[test]
fn past_is_what_is_over_a_maximum_or_not_bounded() {
    let plan = planned(&looped("limits: { cost_usd: \"5\" }\n", "    timeout: 1s\n", "    timeout: 1s\n"));
    assert_eq!((plan.attempts, plan.time_ms), (most(11), Some(most(11_000))));
    let exact = Maxima { attempts: Some(11), llm_calls: None, time_ms: Some(11_000), cost: Cost::parse("5") };
    assert_eq!(plan.exceeded(&exact), []);
    let less =
        Maxima { attempts: Some(10), llm_calls: Some(99), time_ms: Some(10_999), cost: Cost::parse("4.99") };
    let past = plan.exceeded(&less);
    let cost = |text: &str| Cost::parse(text).unwrap();
    assert_eq!(
        past,
        [
            Exceeded::Attempts(10, most(11)),
            Exceeded::LlmCalls(99, None),
            Exceeded::Time(10_999, Some(most(11_000))),
            Exceeded::Cost(cost("4.99"), Some(cost("5"))),
        ]
    );
}

#[test]
fn a_figure_is_found_in_the_file() {
    let text = format!(
        "flow: f\nlimits:\n  iterations: 9\nsteps:\n  - id: a\n    run: go\n    retry:\n      backoff: 1s\n      attempts: 3\n  \
         - id: c\n    run: go\n    {CRITIC}\n  - id: d\n    run: go\n    routing:\n      kind: microloop\n      success_values: [OK]\n"
    );
    let step = |id: &str| envoi_kernel::ids::StepId::new(id).unwrap();
    for (field, line) in [
        (Field::Iterations, Some(3)),
        (Field::AgentHops, Some(2)),
        (Field::RetryAttempts(step("a")), Some(9)),
        (Field::MaxIterations(step("c")), Some(12)),
        // A default: the line of the mapping that would contain it.
        (Field::MaxIterations(step("d")), Some(15)),
        (Field::RetryAttempts(step("c")), Some(10)),
        (Field::RetryAttempts(step("nowhere")), None),
    ] {
        assert_eq!(line_of(&text, &field), line, "{field:?}");
    }
    assert_eq!(line_of("", &Field::Iterations), None);
}

#[test]
fn a_large_flow_is_planned_in_one_go() {
    // Every step closes a loop, so each loop examines all loops that begin before it.
    let steps: String = (0..1_500)
        .map(|n| {
            format!(
                "  - id: s{n}\n    run: go\n    routing: {{ kind: microloop, loop_to: s{}, success_values: [OK], max_iterations: 1 }}\n",
                n / 2
            )
        })
        .collect();
    let plan = planned(&format!("steps:\n{steps}"));
    assert_eq!(plan.attempts.known(), None);
    assert_eq!(plan.loops.len(), 1_500);
}

#[test]
fn a_plan_says_how_long_a_run_waits_for_accounts() {
    let notes = |limits: &str, step: &str| {
        let notes = planned(&format!("limits: {{ {limits} }}\nsteps:\n  - id: a\n    {step}\n")).notes;
        notes
            .into_iter()
            .filter(|note| note.contains("waiting") || note.contains("raise"))
            .collect::<Vec<_>>()
    };
    let agent = "agent: { use: claude, prompt: p }";
    let said = "`a`: the run waits for closed accounts 1h 30m at most, its steps together (`limits.waiting`); that is not in the time";
    assert_eq!(notes("waiting: 90m", agent), [said]);
    let longer = said.replace("at most,", "at most, longer if a person decides so,");
    assert_eq!(notes("waiting: 90m, on_reached: ask", agent), [longer], "it cannot be raised");
    assert_eq!(notes("waiting: 90m", "run: x"), [""; 0]);
}

#[test]
fn a_plan_says_which_agents_may_be_refused_tools() {
    let notes = |more: &str| {
        let notes =
            planned(&format!("steps:\n  - id: a\n    agent: {{ use: claude, prompt: p }}\n{more}")).notes;
        notes.into_iter().filter(|note| note.contains("`denials`")).collect::<Vec<_>>()
    };
    let said = "`a`: an attempt succeeds although up to 3 calls of tools are refused (`denials`)";
    assert_eq!(notes("    denials: 3\n"), [said]);
    assert_eq!(notes(""), [""; 0]);
}

#[test]
fn a_plan_says_how_firmly_the_budget_of_an_agent_program_holds() {
    for (agent, budget, expected) in [
        ("claude", "llm_calls: 3", Some("`a`: the agent is ended at the first call past `budget.llm_calls`")),
        ("claude", "cost_usd: '1'", Some("`a`: `budget.cost_usd` is tested by the program after each call")),
        ("codex", "llm_calls: 3", Some("`a`: `budget.llm_calls` does not hold")),
        ("codex", "cost_usd: '1'", Some("`a`: `budget.cost_usd` does not hold")),
        ("gemini", "llm_calls: 3", Some("`a`: `budget.llm_calls` does not hold")),
        ("gemini", "cost_usd: '1'", Some("`a`: `budget.cost_usd` does not hold")),
        (
            "opencode",
            "llm_calls: 3",
            Some("`a`: the agent is ended at the first call past `budget.llm_calls`"),
        ),
        (
            "opencode",
            "cost_usd: '1'",
            Some("`a`: the agent is ended at the first call past `budget.cost_usd`"),
        ),
    ] {
        let text = format!(
            "steps:\n  - id: a\n    agent: {{ use: {agent}, prompt: p }}\n    budget: {{ {budget} }}\n"
        );
        let notes = planned(&text).notes;
        let told: Vec<&String> = notes.iter().filter(|note| note.starts_with("`a`: ")).collect();
        assert_eq!(told.len(), 1, "{agent} {budget}: {notes:?}");
        assert!(expected.is_some_and(|expected| told[0].starts_with(expected)), "{agent} {budget}: {told:?}");
    }
}
