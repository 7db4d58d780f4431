//! Tests reads of a step's own last visit, and of a later step, in a loop.

use crate::told::{each_is_told, loaded, steps};

/// `fix` and `check` in a loop; `fix` has these keys.
fn looped(keys: &str) -> String {
    let check = "id: check, run: x, routing: { kind: microloop, loop_to: fix, success_values: [OK] }";
    steps(&["id: plan, run: x", &format!("id: fix, {keys}"), check, "id: after, run: x"])
}

#[test]
fn the_first_visit_has_to_be_thought_of() {
    for keys in [
        "run: [x, \"${{ steps.fix.data.session | default('') }}\"]",
        "run: [x, \"${{ steps.check.summary | d('none') }}\"]",
        "run: [x, \"${{ 'y' if steps.fix.data is defined else 'n' }}\"]",
        "if: steps.check is undefined or steps.check.summary != '', run: x",
        "if: run.id != '', run: [x, '${{ steps.fix.data.session }}']",
        "run: [x, '${{ steps.plan.data.session }}']",
    ] {
        loaded(&looped(keys));
    }
    each_is_told(vec![
        (
            looped("run: [x, '${{ steps.fix.data.session }}']"),
            4,
            "steps.fix.data",
            "its own last visit, and at the first",
        ),
        (
            looped("run: 'x ${{ steps.check.summary }}'"),
            4,
            "steps.check",
            "a visit of the last round, and at the first visit of `fix`",
        ),
        (looped("run: x, if: steps.fix.status == 'failed'"), 4, "steps.fix", "say what holds then"),
        (looped("run: x, env: { A: '${{ steps.check.data }}' }"), 4, "steps.check", "at the first visit"),
    ]);
}

#[test]
fn a_flow_of_version_1_loads_as_it_did() {
    let text = looped("run: [x, '${{ steps.fix.data.session }}']");
    assert!(envoi_flow::load_as(1, "f.yaml", &text, &std::collections::BTreeMap::new()).is_ok());
}

#[test]
fn a_step_that_a_branch_may_have_reached_before_is_no_mistake() {
    let lines = [
        "id: start, run: x, routing: { kind: branch, branches: [late] }",
        "id: early, run: [x, '${{ steps.late.summary }}']",
        "id: late, run: x, routing: { kind: microloop, loop_to: early, success_values: [OK] }",
    ];
    loaded(&steps(&lines));
}
