//! `budget` of a step.

use crate::told::{each_is_told, loaded, step, steps};

fn budget(keys: &str) -> String {
    steps(&[&format!("id: a, run: x, budget: {keys}")])
}

#[test]
fn a_budget_has_calls_or_cost_or_both() {
    let read = |keys: &str| {
        let budget = step(&loaded(&budget(keys)), "a").budget;
        (budget.llm_calls, budget.cost.map(|cost| cost.to_string()))
    };
    assert_eq!(read("{ llm_calls: 5 }"), (Some(5), None));
    assert_eq!(read("{ cost_usd: '0.50', llm_calls: 0 }"), (Some(0), Some("0.50".to_owned())));
    assert_eq!(read("{ cost_usd: 1.5 }"), (None, Some("1.50".to_owned())));
    assert_eq!(step(&loaded(&steps(&["id: a, run: x"])), "a").budget, Default::default());
}

#[test]
fn a_budget_that_bounds_nothing_is_reported() {
    each_is_told(vec![
        (budget("{}"), 3, "{}", "`budget` bounds nothing"),
        (budget("5"), 3, "5 }", "`budget`: expected a mapping"),
        (budget("{ llm_call: 5 }"), 3, "llm_call", "did you mean `llm_calls`?"),
        (budget("{ llm_calls: -1 }"), 3, "-1", "a whole number from 0"),
        (budget("{ cost_usd: $1 }"), 3, "$1", "dollars such as"),
        (steps(&["id: a, ask: m, budget: { llm_calls: 1 }"]), 3, "budget", "it runs no command"),
    ]);
}

#[test]
fn a_limit_says_as_how_much_an_unknown_amount_counts() {
    let limits = |keys: &str| format!("limits: {{ unknown: {keys} }}\n{}", steps(&["id: a, run: x"]));
    let read = |keys: &str| {
        let unknown = loaded(&limits(keys)).limits.unknown;
        (unknown.llm_calls, unknown.cost.map(|cost| cost.to_string()))
    };
    assert_eq!(read("{ llm_calls: 5 }"), (Some(5), None));
    assert_eq!(read("{ cost_usd: '0.50', llm_calls: 1 }"), (Some(1), Some("0.50".to_owned())));
    assert_eq!(loaded(&steps(&["id: a, run: x"])).limits.unknown, Default::default());
    each_is_told(vec![
        (limits("{}"), 1, "{}", "`unknown` counts nothing"),
        (limits("{ cost_us: 5 }"), 1, "cost_us", "did you mean `cost_usd`?"),
        (limits("{ llm_calls: -1 }"), 1, "-1", "a whole number from 0"),
    ]);
}
