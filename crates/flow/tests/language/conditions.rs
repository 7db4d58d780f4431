//! `success()`, `failure()` and `always()` in `if`.

use crate::told::{each_is_told, loaded, step, steps};

fn second(keys: &str) -> String {
    steps(&["id: a, run: x", &format!("id: b, {keys}")])
}

#[test]
fn a_condition_says_what_a_failure_before_it_means() {
    for (condition, regardless) in [
        ("failure()", true),
        ("always( )", true),
        ("success()", true),
        ("'${{ failure() }}'", true),
        ("not failure() and steps.a.data", true),
        ("always() and steps.a.status == 'failed'", true),
        ("steps.a.status == 'failed'", false),
        ("steps.a.data == 'failure()'", false),
        ("steps.a.data.failure", false),
    ] {
        for action in ["run: x", "ask: m"] {
            let flow = loaded(&second(&format!("{action}, if: {condition}")));
            assert_eq!(step(&flow, "b").regardless, regardless, "{condition}");
            assert!(!step(&flow, "a").regardless);
        }
    }
}

#[test]
fn status_functions_out_of_place_are_reported() {
    each_is_told(vec![
        (second("run: '${{ failure() }}'"), 4, "failure()", "stands in `if` alone"),
        (second("run: x, env: { A: '${{ success() }}' }"), 4, "success()", "`steps.ID.status`"),
        (second("run: x, for_each: '${{ [always()] }}'"), 4, "always()", "stands in `if` alone"),
        (second("ask: '${{ failure() }}'"), 4, "failure()", "stands in `if` alone"),
        (second("run: x, if: failure"), 4, "failure", "is a function: `failure()`"),
        (second("run: x, if: failure.a"), 4, "failure.a", "is a function: `failure()`"),
        (second("run: x, if: \"failure('a')\""), 4, "failure('a')", "takes no argument"),
        (second("run: x, if: failed()"), 4, "failed()", "unknown name `failed`"),
    ]);
}
