//! Tests exact figures of flows that can be counted by hand, and finds a run of the kernel that reaches each of them.

use crate::adversary::live;
use envoi_flow::plan::{Plan, plan};
use envoi_kernel::Flow;
use std::sync::Arc;

/// Seeds that are tried until a run reaches the plan.
const SEEDS: u64 = 3_000;

pub(crate) fn flow(steps: &str) -> Arc<Flow> {
    let text = format!("flow: f\n{steps}");
    Arc::new(envoi_flow::load("f.yaml", &text).unwrap_or_else(|report| panic!("{report:#?}\n{text}")).flow)
}

fn known(plan: &Plan) -> (Vec<u64>, u64, u64) {
    let visits = plan.steps.iter().map(|step| step.visits.known().unwrap()).collect();
    (visits, plan.attempts.known().unwrap(), plan.loop_backs.known().unwrap())
}

/// A critic that goes back to `to`.
fn critic(id: &str, to: &str, times: u64) -> String {
    format!(
        "  - id: {id}\n    run: go\n    routing: {{ kind: microloop, loop_to: {to}, success_values: [VERIFIED], \
         status_from_exit: {{ 0: VERIFIED, 1: UNVERIFIED }}, max_iterations: {times}, on_exhausted: proceed }}\n"
    )
}

fn run(id: &str, more: &str) -> String {
    format!("  - id: {id}\n    run: go\n{more}")
}

fn steps(steps: &[String]) -> String {
    format!("steps:\n{}", steps.concat())
}

/// Name, steps, visits of each, attempts, returns.
type Row = (&'static str, String, &'static [u64], u64, u64);

fn rows() -> Vec<Row> {
    let tries = |n: u32| format!("    retry: {{ attempts: {n}, backoff: 1ms }}\n");
    let next = |to: &str| format!("    routing: {{ next: {to} }}\n");
    let branch = |to: &str| format!("    routing: {{ kind: branch, branches: [{to}], max_iterations: 2 }}\n");
    let again = "  - id: ok\n    ask: Go on?\n    routing: { loop_to: a, max_iterations: 2 }\n".to_owned();
    let deny = "  - id: ok\n    ask: { message: Go on?, on_deny: a }\n    routing: { max_iterations: 3 }\n"
        .to_owned();
    vec![
        ("no loop", steps(&[run("a", ""), run("b", ""), run("c", "")]), &[1, 1, 1], 3, 0),
        ("one loop", steps(&[run("a", ""), critic("c", "a", 4), run("z", "")]), &[5, 5, 1], 11, 4),
        ("a loop of one step", steps(&[critic("c", "c", 3)]), &[4], 4, 3),
        ("a loop that never goes back", steps(&[run("a", ""), critic("c", "a", 0)]), &[1, 1], 2, 0),
        ("two loops in a row", steps(&[critic("c", "c", 2), critic("d", "d", 3)]), &[3, 4], 7, 5),
        (
            "a loop in a loop",
            steps(&[run("a", ""), run("b", ""), critic("in", "b", 3), critic("out", "a", 2)]),
            // Entered three times, with three returns each.
            &[3, 12, 12, 3],
            30,
            11,
        ),
        (
            "a loop that begins with the one around it",
            steps(&[run("a", ""), critic("in", "a", 3), critic("out", "a", 2)]),
            &[12, 12, 3],
            27,
            11,
        ),
        (
            "three loops, one in the other",
            steps(&[critic("a", "a", 1), critic("b", "a", 1), critic("c", "a", 1)]),
            &[8, 4, 2],
            14,
            7,
        ),
        (
            "crossing loops",
            steps(&[run("a", ""), run("b", ""), critic("c", "a", 1), critic("d", "b", 1)]),
            // The second loop is entered again after the first has gone back.
            &[2, 4, 4, 3],
            13,
            3,
        ),
        ("retries", steps(&[run("a", &tries(3)), run("b", "")]), &[1, 1], 4, 0),
        (
            "retries in a loop",
            steps(&[run("a", &tries(3)), critic("c", "a", 4), run("z", &tries(2))]),
            &[5, 5, 1],
            5 * 3 + 5 + 2,
            4,
        ),
        (
            "reruns after doubt, without anybody's doing",
            steps(&[run("a", "    on_in_doubt: rerun\n"), run("b", "    on_in_doubt: fail\n")]),
            &[1, 1],
            4 + 1,
            0,
        ),
        ("a branch back", steps(&[run("a", ""), run("b", &branch("a")), run("z", "")]), &[3, 3, 1], 7, 2),
        (
            "a branch that leads on, where a person may say again",
            steps(&[run("a", &branch("b, c")), run("b", &next("end")), run("c", "")]),
            &[3, 1, 1],
            4,
            2,
        ),
        (
            "a branch with nothing left out",
            steps(&[run("a", &branch("b, c")), run("b", ""), run("c", "")]),
            &[3, 1, 1],
            5,
            2,
        ),
        (
            "a branch back and a loop that cross",
            steps(&[
                run("a", ""),
                run("b", ""),
                run("c", &branch("b, d").replace('2', "1")),
                critic("d", "c", 1),
            ]),
            &[1, 2, 4, 3],
            10,
            3,
        ),
        ("a question that is sent back", steps(&[run("a", ""), again, run("z", "")]), &[3, 3, 1], 4, 2),
        ("a denial that leads back", steps(&[run("a", &tries(2)), deny, run("z", "")]), &[4, 4, 1], 9, 3),
        (
            "a denial that ends with the step it leads on to",
            steps(&[
                "  - id: ok\n    ask: { message: Go on?, on_deny: undo }\n    routing: { next: z }\n"
                    .to_owned(),
                run("undo", ""),
                run("z", ""),
            ]),
            &[1, 1, 1],
            1,
            0,
        ),
        ("a skipped step counts", steps(&[run("a", ""), run("b", "    if: run.id == 'x'\n")]), &[1, 1], 2, 0),
        ("nobody is asked to do anything", "steps:\n  - id: ok\n    ask: Go on?\n".to_owned(), &[1], 0, 0),
    ]
}

#[test]
fn flows_that_can_be_counted_by_hand_have_exactly_these_figures() {
    for (name, text, visits, attempts, returns) in rows() {
        let counted = known(&plan(&flow(&text)));
        assert_eq!(counted, (visits.to_vec(), attempts, returns), "{name}\n{text}");
    }
}

#[test]
fn a_run_comes_to_exactly_these_figures() {
    for (name, text, _, attempts, returns) in rows() {
        // The plan assumes that a condition could be true, but it is false.
        if name == "a skipped step counts" {
            continue;
        }
        let flow = flow(&text);
        let reached = (0..SEEDS).any(|seed| {
            let tally = live(&flow, seed, 1_000);
            tally.reruns == 0 && (tally.all_attempts(), tally.all_returns()) == (attempts, returns)
        });
        assert!(reached, "no run of `{name}` has {attempts} attempts and {returns} returns\n{text}");
    }
}
