//! Tests exact figures of graphs, items, inner flows, verifications and goals, and finds a run of the kernel that
//! reaches them.

use crate::{adversary::live, soundness::check};
use envoi_flow::plan::{Plan, plan};
use envoi_kernel::Flow;
use std::{collections::BTreeMap, sync::Arc};

/// Seeds that are tried until a run reaches the plan.
const SEEDS: u64 = 2_500;

pub(crate) fn whole(text: &str, parts: &[(&str, &str)]) -> Arc<Flow> {
    let files: BTreeMap<String, String> =
        parts.iter().map(|(id, text)| (format!("{id}.yaml"), format!("flow: {id}\n{text}"))).collect();
    let text = format!("flow: f\n{text}");
    let loaded = envoi_flow::load_with("f.yaml", &text, &files);
    Arc::new(loaded.unwrap_or_else(|report| panic!("{report:#?}\n{text}")).flow)
}

/// A step that takes a second, with its needs and other keys.
fn run(id: &str, needs: &str, more: &str) -> String {
    let needs = if needs.is_empty() { String::new() } else { format!("    needs: [{needs}]\n") };
    format!("  - id: {id}\n    run: go\n    timeout: 1s\n{needs}{more}")
}

fn critic(id: &str, needs: &str, to: &str, times: u64) -> String {
    let routing = format!(
        "    routing: {{ kind: microloop, loop_to: {to}, success_values: [VERIFIED], status_from_exit: {{ 0: VERIFIED, 1: \
         UNVERIFIED }}, max_iterations: {times}, on_exhausted: proceed }}\n"
    );
    run(id, needs, &routing)
}

fn steps(steps: &[String]) -> String {
    format!("steps:\n{}", steps.concat())
}

/// A name, the flow and its inner flow, and the figures: visits of each step, attempts, returns, seconds from start
/// to end.
struct Row {
    name: &'static str,
    text: String,
    inner: String,
    visits: &'static [u64],
    attempts: u64,
    returns: u64,
    elapsed_s: u64,
}

fn rows() -> Vec<Row> {
    let one = steps(&[run("x", "", "")]);
    let row = |name, text, visits, (attempts, returns, elapsed_s)| Row {
        name,
        text,
        inner: one.clone(),
        visits,
        attempts,
        returns,
        elapsed_s,
    };
    let inner = |inner: String, row: Row| Row { inner, ..row };
    let calls = |id: &str, more: &str| format!("  - id: {id}\n    flow: inner.yaml\n{more}");
    let each = |items: u64, width: &str| {
        let items: Vec<String> = (0..items).map(|item| item.to_string()).collect();
        format!("    for_each: [{}]\n{width}", items.join(", "))
    };
    let join = |word: &str| format!("    join: {word}\n");
    let goals = "goals: { list: [never], from: a, to: b, max_rounds: 3, stuck_after: 3 }\n";
    vec![
        row(
            "two branches",
            steps(&[run("a", "", ""), run("b", "a", ""), run("c", "a", "")]),
            &[1, 1, 1],
            (3, 0, 2),
        ),
        row(
            "a diamond",
            steps(&[run("a", "", ""), run("b", "a", ""), run("c", "a", ""), run("d", "b, c", "")]),
            &[1, 1, 1, 1],
            (4, 0, 3),
        ),
        row(
            "losers of a join may have been at work",
            steps(&[run("a", "", ""), run("b", "", ""), run("c", "a, b", &join("any"))]),
            &[1, 1, 1],
            (3, 0, 2),
        ),
        row(
            "a loop over a parallel part, and what comes after it",
            steps(&[
                run("a", "", ""),
                run("b", "a", ""),
                run("c", "a", ""),
                critic("d", "b, c", "a", 2),
                run("z", "d", ""),
            ]),
            // The last step waits for the end of the loop.
            &[3, 3, 3, 3, 1],
            (13, 2, 10),
        ),
        row(
            "what does not wait for the end of a loop is repeated too",
            steps(&[run("a", "", ""), critic("d", "a", "a", 2), run("z", "a", "")]),
            &[3, 3, 3],
            (9, 2, 6),
        ),
        row(
            "one of several that are needed may come after the loop has begun",
            steps(&[
                run("a", "", ""),
                run("b", "a", ""),
                critic("d", "a", "a", 1),
                run("z", "b, d", &join("any")),
                // Without this step the loop would be abandoned because of the step before.
                run("w", "d", ""),
            ]),
            &[2, 2, 2, 2, 1],
            (9, 1, 6),
        ),
        row(
            "a loop in a loop of a graph starts over",
            steps(&[
                run("a", "", ""),
                run("b", "a", ""),
                critic("in", "b", "b", 3),
                critic("out", "in", "a", 2),
            ]),
            &[3, 12, 12, 3],
            (30, 11, 30),
        ),
        row(
            "loops of a graph that cross keep their counts",
            steps(&[run("a", "", ""), run("b", "a", ""), critic("c", "b", "a", 1), critic("d", "c", "b", 1)]),
            &[2, 3, 3, 2],
            (10, 2, 10),
        ),
        row(
            "two loops back to one step, side by side",
            steps(&[run("a", "", ""), critic("b", "a", "a", 1), critic("c", "a", "a", 2)]),
            &[4, 4, 4],
            (12, 3, 8),
        ),
        row("items", steps(&[run("a", "", &each(5, "")), run("b", "", "")]), &[1, 1], (6, 0, 2)),
        row("items in turn", steps(&[run("a", "", &each(5, "    max_parallel: 2\n"))]), &[1], (5, 0, 3)),
        row(
            "items in a loop",
            steps(&[run("a", "", &each(2, "")), critic("c", "", "a", 2)]),
            &[3, 3],
            (2 * 3 + 3, 2, 6),
        ),
        row("a flow", steps(&[run("a", "", ""), calls("b", "")]), &[1, 1, 1], (2, 0, 2)),
        row("a flow in a loop", steps(&[calls("b", ""), critic("c", "", "b", 2)]), &[3, 3, 3], (6, 2, 6)),
        row(
            "a flow for each of a list, in turn",
            steps(&[calls("b", &each(3, "    max_parallel: 1\n")), run("z", "", "")]),
            &[1, 1, 3],
            (4, 0, 4),
        ),
        inner(
            steps(&[run("x", "", ""), critic("y", "", "x", 2)]),
            row(
                "a loop in a flow for each of a list",
                steps(&[calls("b", &each(2, ""))]),
                &[1, 6, 6],
                (12, 4, 6),
            ),
        ),
        row(
            "a flow that two steps run",
            steps(&[calls("a", "    needs: []\n"), calls("b", "    needs: [a]\n")]),
            &[1, 1, 2],
            (2, 0, 2),
        ),
        inner(
            steps(&[run("x", "", ""), run("y", "", "")]),
            row(
                "a hint into another flow, which is entered once a visit",
                format!(
                    "flows: [./inner.yaml]\n{}",
                    steps(&[
                        run(
                            "a",
                            "",
                            "    routing: { kind: branch, branches: [inner/x], max_iterations: 1 }\n"
                        ),
                        run("z", "", ""),
                    ])
                ),
                &[2, 1, 2, 2],
                // After a visit with the answer `again` nothing was entered. The plan counts it as if something was.
                (7, 1, 7),
            ),
        ),
        row(
            "verified: each try in doubt and looked at, and three more",
            steps(&[run(
                "a",
                "",
                "    on_in_doubt: { verify: look }\n    retry: { attempts: 2, backoff: 0s }\n",
            )]),
            &[1],
            (10, 0, 10),
        ),
        row(
            "rounds of goals",
            format!(
                "{goals}{}",
                steps(&[
                    run("a", "", ""),
                    run("b", "", "    continue_on_error: true\n    marks: never\n"),
                    run("z", "", "")
                ])
            ),
            &[3, 3, 1],
            (7, 0, 7),
        ),
        row(
            "items at the end of a round",
            format!("{goals}{}", steps(&[run("a", "", ""), run("b", "", &each(2, ""))])),
            &[3, 3],
            (9, 0, 6),
        ),
        row(
            "a loop in each round of goals",
            format!("{goals}{}", steps(&[run("a", "", ""), critic("b", "", "a", 1)])),
            &[6, 6],
            (12, 3, 12),
        ),
    ]
}

fn known(plan: &Plan) -> (Vec<u64>, u64, u64, u64) {
    let visits = plan.steps.iter().map(|step| step.visits.known().unwrap()).collect();
    let elapsed = plan.elapsed_ms.unwrap().known().unwrap();
    (visits, plan.attempts.known().unwrap(), plan.loop_backs.known().unwrap(), elapsed / 1_000)
}

/// A plan that no run reaches.
const NOT_REACHED: &str = "a hint into another flow, which is entered once a visit";

#[test]
fn what_is_side_by_side_within_or_repeated_has_exactly_these_figures() {
    for row in rows() {
        let flow = whole(&row.text, &[("inner", &row.inner)]);
        let (visits, attempts, returns, elapsed) = known(&plan(&flow));
        let expected = (row.visits.to_vec(), row.attempts, row.returns, row.elapsed_s);
        assert_eq!((visits, attempts, returns, elapsed), expected, "{}\n{}", row.name, row.text);
    }
}

#[test]
fn a_run_comes_to_exactly_these_figures_too() {
    for row in rows() {
        let flow = whole(&row.text, &[("inner", &row.inner)]);
        let planned = plan(&flow);
        let mut most = (0, 0, 0);
        let reached = (0..SEEDS).any(|seed| {
            let tally = live(&flow, seed, 1_000);
            check(&flow, &planned, &tally);
            if tally.reruns == 0 {
                let (attempts, returns) = (tally.all_attempts(), tally.all_returns());
                most = most.max((attempts, returns, tally.elapsed_ms));
                (attempts, returns) == (row.attempts, row.returns)
            } else {
                false
            }
        });
        assert_eq!(reached, row.name != NOT_REACHED, "`{}` came to {most:?}\n{}", row.name, row.text);
    }
}
