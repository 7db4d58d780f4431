//! Tests the bounds of a list's length, the dominant setting, budgets, and the time of parallel steps.

use crate::beside::whole;
use envoi_flow::plan::{Amount, Field, Items, Most, Plan, plan};
use envoi_kernel::ledger::Cost;

fn most(count: u64) -> Most {
    Most::of(u128::from(count))
}

fn fan(inputs: &str, list: &str, more: &str) -> Plan {
    let text = format!(
        "inputs:\n{inputs}steps:\n  - id: a\n    run: go\n  - id: b\n    run: go\n    timeout: 1s\n    for_each: {list}\n{more}"
    );
    plan(&whole(&text, &[]))
}

#[test]
fn a_list_is_as_long_as_the_files_say_or_as_any_list_may_be() {
    let files = "  files: { type: array, maxItems: 7, default: [a] }\n";
    let nested =
        "  conf: { type: object, properties: { files: { type: array, maxItems: 3 } }, default: {} }\n";
    let free = "  files: { type: array, default: [a, b] }\n";
    for (inputs, list, items, known) in [
        (files, "[x, y]", 2, true),
        (files, "${{ inputs.files }}", 7, true),
        (nested, "${{ inputs.conf.files }}", 3, true),
        // A run may replace a default with a longer list, and a filter could make a list of any value.
        (free, "${{ inputs.files }}", 1_000, false),
        (files, "${{ inputs.files | list }}", 1_000, false),
        (files, "${{ steps.a.data.files }}", 1_000, false),
        ("  files: { type: array, maxItems: 5000, default: [] }\n", "${{ inputs.files }}", 1_000, true),
    ] {
        let plan = fan(inputs, list, "");
        assert_eq!(plan.steps[1].items, Some(Items { most: items, known }), "{list}");
        assert_eq!(plan.attempts, most(1 + items), "{list}");
        assert_eq!(plan.notes.iter().any(|note| note.contains("nothing says how long")), !known, "{list}");
    }
}

#[test]
fn a_list_of_unknown_length_is_named_first() {
    let free = "  files: { type: array, default: [] }\n";
    let found = fan(free, "${{ inputs.files }}", "    retry: { attempts: 3, backoff: 0s }\n");
    let dominant = found.most_attempts.unwrap();
    assert_eq!((dominant.field.key(), dominant.now, dominant.known), ("for_each", 1_000, false));
    assert_eq!((dominant.saves, dominant.spent), (most(3), most(3_000)));
    let known = "  files: { type: array, maxItems: 4, default: [] }\n";
    let found = fan(known, "${{ inputs.files }}", "    retry: { attempts: 3, backoff: 0s }\n");
    // A try fewer saves one attempt per item. An item fewer saves its three attempts.
    assert!(matches!(found.most_attempts.unwrap().field, Field::RetryAttempts(_)));
}

#[test]
fn a_list_that_comes_from_where_another_flow_is_run_is_as_long_as_it_is_there() {
    let inner = "inputs:\n  files: { type: array, default: [x] }\nsteps:\n  - id: each\n    run: go\n    for_each: ${{ inputs.files }}\n";
    let items = |inputs: &[&str]| {
        let steps: String = inputs
            .iter()
            .enumerate()
            .map(|(n, inputs)| format!("  - id: s{n}\n    flow: inner.yaml\n{inputs}"))
            .collect();
        let top = "inputs:\n  some: { type: array, maxItems: 4, default: [] }\n  free: { type: array, default: [] }\n";
        let plan = plan(&whole(&format!("{top}steps:\n{steps}"), &[("inner", inner)]));
        plan.steps.last().unwrap().items.unwrap()
    };
    let known = |most: u64| Items { most, known: true };
    assert_eq!(items(&[""]), known(1));
    assert_eq!(items(&["    inputs: { files: [a, b] }\n"]), known(2));
    assert_eq!(
        items(&["    inputs: { files: [a, b] }\n", "    inputs: { files: \"${{ inputs.some }}\" }\n"]),
        known(4)
    );
    let free = "    inputs: { files: \"${{ inputs.free }}\" }\n";
    assert_eq!(items(&["", free]), Items { most: 1_000, known: false });
}

#[test]
fn budgets_bound_calls_and_cost_where_every_attempt_has_one() {
    let planned = |limits: &str, more: &str| {
        let text = format!(
            "{limits}steps:\n  - id: a\n    run: go\n    budget: {{ llm_calls: 2, cost_usd: \"0.10\" }}\n    for_each: [1, 2, 3]\n{more}"
        );
        plan(&whole(&text, &[]))
    };
    let retried = "    retry: { attempts: 2, backoff: 0s }\n";
    let cost = |text: &str| Cost::parse(text);
    let free = planned("", retried);
    assert_eq!((free.llm_calls, free.cost), (Some(most(12)), cost("0.60")));
    assert!(
        free.notes.iter().any(|note| note.contains("as far as commands keep to their budgets")),
        "{:?}",
        free.notes
    );
    let limited = planned("limits: { llm_calls: 5, cost_usd: \"0.25\" }\n", retried);
    assert_eq!((limited.llm_calls, limited.cost), (Some(most(5)), cost("0.25")));
    let bites: Vec<_> = limited.bites.iter().map(|bite| (bite.limit, bite.without, bite.with)).collect();
    let money = |text: &str| Amount::Cost(cost(text).unwrap());
    let count = |number| Amount::Count(most(number));
    assert_eq!(bites, [("llm_calls", count(12), count(5)), ("cost_usd", money("0.60"), money("0.25"))]);
    let verified = planned("", "    on_in_doubt: { verify: look }\n");
    assert_eq!((verified.llm_calls, verified.cost), (None, None), "a verification has no budget");
    let other = planned("", "  - id: z\n    run: go\n");
    assert_eq!((other.llm_calls, other.cost), (None, None));
    assert!(
        other.notes.iter().any(|note| note.contains("`z` has no `budget.llm_calls`")),
        "{:?}",
        other.notes
    );
}

#[test]
fn a_limit_on_time_leaves_all_that_is_side_by_side_to_end() {
    let graph = |limit: &str| {
        let text = format!(
            "{limit}steps:\n  - id: a\n    run: go\n    timeout: 10s\n  - id: b\n    run: go\n    timeout: 20s\n    needs: [a]\n  \
             - id: c\n    run: go\n    timeout: 30s\n    needs: [a]\n    for_each: [1, 2, 3]\n    max_parallel: 2\n  - id: d\n    \
             run: go\n    timeout: 40s\n    needs: [b]\n"
        );
        plan(&whole(&text, &[]))
    };
    let free = graph("");
    // `time_ms` adds all attempts. `elapsed_ms` is the longest path: a, and two turns of c, or b and d.
    assert_eq!((free.time_ms, free.elapsed_ms), (Some(most(160_000)), Some(most(70_000))));
    // Two items of `c` and `d` may be live when the limit is reached.
    assert_eq!(graph("limits: { wall_time: 1s }\n").time_ms, Some(most(101_000)));
}

#[test]
fn where_budgets_may_hold_up_a_start_one_may_follow_the_other() {
    let text = |limits: &str| {
        format!(
            "{limits}steps:\n  - id: a\n    run: go\n    timeout: 1s\n    budget: {{ llm_calls: 1 }}\n    for_each: [1, 2, 3]\n"
        )
    };
    assert_eq!(plan(&whole(&text(""), &[])).elapsed_ms, Some(most(1_000)));
    assert_eq!(plan(&whole(&text("limits: { llm_calls: 3 }\n"), &[])).elapsed_ms, Some(most(3_000)));
}
