//! `goals` of a flow and `marks` of its steps.

use crate::told::{each_is_told, loaded, step, steps};

/// Four steps, of which `b` and `c` are the round. `goals` is on line 2, `b` on line 5.
fn with(goals: &str, b: &str, others: &str) -> String {
    format!(
        "flow: f\n{goals}\nsteps:\n  - {{ id: a, run: x{others} }}\n  - {{ id: b, run: x{b} }}\n  - {{ id: c, run: x }}\n  - {{ id: d, run: x }}\n"
    )
}

fn goals(keys: &str) -> String {
    with(&format!("goals: {{ {keys} }}"), "", "")
}

const ROUND: &str = "goals: { list: [first, second], from: b, to: c }";

#[test]
fn goals_name_what_a_run_is_for_and_its_rounds() {
    let plan = loaded(&with(ROUND, ", marks: [second, first]", "")).goals.unwrap();
    assert_eq!((plan.from.as_str(), plan.to.as_str(), plan.max_rounds, plan.stuck_after), ("b", "c", 5, 2));
    assert_eq!(plan.list.written_out().map(|goals| goals.len()), Some(2));
    let flow = loaded(&with(
        "goals: { list: '${{ steps.a.data }}', from: b, to: b, max_rounds: 1000, stuck_after: 1 }",
        ", marks: anything, if: \"'x' in goals.remaining and goals.round > 1\", env: { A: '${{ goals.all }} ${{ goals.done }}' }",
        "",
    ));
    let plan = flow.goals.clone().unwrap();
    assert_eq!((plan.list.0.as_str(), plan.max_rounds, plan.stuck_after), ("steps.a.data", 1000, 1));
    assert_eq!(step(&flow, "b").marks, ["anything"]);
    // A round leads back, so its first step can read the result of its last one.
    loaded(&with(ROUND, ", if: steps.c.status | default('') == 'x'", ""));
    assert!(loaded(&with("", "", "")).goals.is_none());
}

#[test]
fn goals_that_make_no_sense_are_reported() {
    each_is_told(vec![
        (goals("from: b, to: c"), 2, "goals", "`goals` without `list`"),
        (goals("list: [a], to: c"), 2, "goals", "`goals` without `from`"),
        (goals("list: [a], from: c"), 2, "goals", "`goals` without `to`"),
        (goals("list: [a], frm: b, to: c"), 2, "frm", "did you mean `from`?"),
        (with("goals: [a]", "", ""), 2, "[a]", "expected a mapping"),
        (goals("list: [], from: b, to: c"), 2, "[]", "`list` is an empty list"),
        (goals("list: [7], from: b, to: c"), 2, "7", "in quotes it is a string"),
        (goals("list: [a, a], from: b, to: c"), 2, "a], from", "the goal `a` is named twice"),
        (goals("list: a, from: b, to: c"), 2, "a, from", "an expression is written"),
        (goals("list: ['${{ inputs.a }}'], from: b, to: c"), 2, "'${{", "takes no expression"),
        (
            goals("list: '${{ steps.c.data }}', from: b, to: c"),
            2,
            "steps.c",
            "not over when the first round begins",
        ),
        (goals("list: '${{ goals.all }}', from: b, to: c"), 2, "goals.all", "unknown name `goals`"),
        (goals("list: [a], from: b, to: e"), 2, "e }", "there is no step `e`"),
        (goals("list: [a], from: bb, to: c"), 2, "bb", "did you mean `b`?"),
        (goals("list: [a], from: c, to: b"), 2, "b }", "a round ends before it begins"),
        (goals("list: [a], from: b, to: c, max_rounds: 0"), 2, "0 }", "from 1 to 1000"),
        (goals("list: [a], from: b, to: c, stuck_after: 1001"), 2, "1001", "from 1 to 1000"),
        (with("gaols: { list: [a] }", ", marks: a", ""), 2, "gaols", "did you mean `goals`?"),
        (with(ROUND, ", needs: [a]", ""), 2, "goals", "`goals` in a flow with `needs`"),
    ]);
    let ends = with("goals: { list: [a], from: a, to: b }", ", routing: { next: end }", "");
    let ends = ends.replace("  - { id: c, run: x }\n  - { id: d, run: x }\n", "");
    each_is_told(vec![(ends, 5, "end }", "`next: end` ends the run there")]);
}

#[test]
fn marks_that_reach_nothing_are_reported() {
    each_is_told(vec![
        (with(ROUND, ", marks: frist", ""), 5, "frist", "did you mean `first`?"),
        (with(ROUND, ", marks: [first, nothing]", ""), 5, "nothing", "the goals are `first` or `second`"),
        (with(ROUND, ", marks: [first, first]", ""), 5, "first] }", "the goal `first` is named twice"),
        (with(ROUND, ", marks: '${{ steps.a.data }}'", ""), 5, "'${{", "`marks` takes no expression"),
        (with(ROUND, ", marks: 5", ""), 5, "5 }", "`marks`: expected a string"),
        (with(ROUND, "", ", marks: first"), 4, "first", "`a` is in no round"),
        (with("", ", marks: [first, second]", ""), 5, "first", "`marks` without `goals`"),
        (
            with("", ", if: goals.round > 1", ""),
            5,
            "goals.round",
            "`goals: { list: [a], from: STEP, to: STEP }`",
        ),
        (with(ROUND, ", if: goals.rounds > 1", ""), 5, "goals.rounds", "did you mean `round`?"),
    ]);
}

/// Six steps, of which `b`, `c` and `d` are the round. `a` is on line 4. The steps in `changed` have these keys
/// instead of `run: x`.
fn round(changed: &[(&str, String)]) -> String {
    let lines = ["a", "b", "c", "d", "e", "f"].map(|id| {
        let keys = changed.iter().find(|(of, _)| *of == id).map_or("run: x", |(_, keys)| keys.as_str());
        format!("id: {id}, {keys}")
    });
    let goals = "flow: f\ngoals: { list: [first], from: b, to: d }\n";
    steps(&lines.each_ref().map(String::as_str)).replacen("flow: f\n", goals, 1)
}

/// The keys of a step with these branches.
fn hint(to: &str) -> String {
    format!("run: x, routing: {{ kind: branch, branches: [{to}] }}")
}

const AFTER_D: &str = "run: x, routing: { next: f }";
const DENIED_TO_C: &str = "ask: { message: m, on_deny: c }, routing: { next: d }";
const DENIED_TO_E: &str = "ask: { message: m, on_deny: e }";
const OVERDUE_TO_E: &str = "ask: { message: m, expires_in: 1h, on_expire: e }, routing: { next: f }";

#[test]
fn ways_within_a_round_and_outside_of_it_are_free() {
    for changed in [
        [("a", hint("c, e"))].as_slice(),
        &[("a", DENIED_TO_E.to_owned()), ("d", AFTER_D.to_owned())],
        &[("e", hint("b, f"))],
        &[("b", hint("a, c, d"))],
        &[("d", hint("a, b"))],
        &[("b", "ask: { message: m, expires_in: 1h, on_deny: a, on_expire: fail }".to_owned())],
        // The step after the last one is entered when no goal is open.
        &[("d", AFTER_D.to_owned()), ("a", hint("e"))],
        &[("d", "ask: { message: m, on_deny: c }, routing: { next: f }".to_owned()), ("a", hint("e"))],
        // A denial in a round may lead to a later step of the round, or end the run as denied.
        &[("b", DENIED_TO_C.to_owned())],
        &[("b", DENIED_TO_C.to_owned()), ("c", "run: x, routing: { next: d }".to_owned())],
        // A denial ends the run, even at the end of the round. A yes continues with the next round.
        &[
            ("c", "ask: { message: m, on_deny: d }, routing: { next: d }".to_owned()),
            ("d", "run: x, routing: { next: e }".to_owned()),
        ],
    ] {
        loaded(&round(changed));
    }
}

#[test]
fn a_round_is_left_at_its_end_alone() {
    const OUT: &str = "leads out of a round, whatever goals are open";
    let next = |to: &str| format!("run: x, routing: {{ next: {to} }}");
    let denied = |to: &str| format!("ask: {{ message: m, on_deny: {to} }}");
    each_is_told(vec![
        (
            round(&[("b", hint("c, e"))]),
            5,
            "e] }",
            "`branches: e` leads out of a round, whatever goals are open",
        ),
        (round(&[("d", hint("e"))]), 7, "e] }", OUT),
        (round(&[("b", next("f")), ("a", hint("c"))]), 5, "f }", "only `d`, its last step, ends a round"),
        (
            round(&[("c", next("end")), ("b", hint("d"))]),
            6,
            "end }",
            "`next: end` ends the run, whatever goals",
        ),
        (round(&[("c", denied("e")), ("d", next("f"))]), 6, "e }", "`on_deny: e` leads out of a round"),
        (round(&[("d", OVERDUE_TO_E.to_owned())]), 7, "e }", "`on_expire: e` leads out of a round"),
        // A step before the round to which a step of the round goes back.
        (round(&[("a", hint("c, e")), ("c", hint("a"))]), 4, "e] }", OUT),
        // The target of a denial ends the run as denied, unless another edge leads there too.
        (
            round(&[("a", hint("d")), ("b", denied("c") + ", routing: { next: c }")]),
            6,
            "c, run",
            "the run ends at `c`, whatever goals are open",
        ),
    ]);
}

#[test]
fn a_round_does_not_end_where_only_a_denial_leads() {
    const OTHER: &str = "id: b, run: x, routing: { next: end }";
    let flow = steps(&["id: a, ask: { message: m, on_deny: c }", OTHER, "id: c, run: x"]);
    let goals = "flow: f\ngoals: { list: [first], from: a, to: c }\n";
    let flow = flow.replacen("flow: f\n", goals, 1);
    // A yes leads there too, and then to the next round.
    let both = flow.replace("on_deny: c }", "on_deny: c }, routing: { next: c }");
    loaded(&both.replace(&format!("  - {{ {OTHER} }}\n"), ""));
    each_is_told(vec![(flow, 2, "c }", "only a denial or an expiry leads to `c`")]);
}
