//! `needs` and `join`.

use crate::told::{each_is_told, loaded, step, steps, told};
use envoi_flow::load;
use envoi_kernel::flow::Join;

/// A diamond, `build` then `lint` and `test` then `report`, listed in reverse. `report` is on line 3 and has these
/// keys.
fn diamond(report: &str) -> String {
    steps(&[
        &format!("id: report, run: x, needs: [lint, test], {report}"),
        "id: lint, run: x, needs: [build]",
        "id: test, run: x, needs: build",
        "id: build, run: x",
    ])
}

#[test]
fn needs_make_a_graph_of_a_flow_in_whatever_order_it_is_listed() {
    let flow = loaded(&diamond("join: settled"));
    let needs = |id: &str| step(&flow, id).needs.iter().map(|id| id.as_str()).collect::<Vec<_>>();
    assert!(flow.graph);
    assert_eq!(
        (needs("report"), needs("test"), needs("build")),
        (vec!["lint", "test"], vec!["build"], vec![])
    );
    assert_eq!((step(&flow, "report").join, step(&flow, "lint").join), (Join::Settled, Join::All));
    for (said, read) in [
        ("join: all", Join::All),
        ("join: any", Join::Any),
        ("join: { quorum: 1 }", Join::Quorum(1)),
        ("join: { quorum: 2 }", Join::Quorum(2)),
    ] {
        assert_eq!(step(&loaded(&diamond(said)), "report").join, read);
    }
    let apart = loaded(&steps(&["id: a, run: x, needs: []", "id: b, run: x"]));
    assert!(apart.graph && apart.steps.iter().all(|step| step.needs.is_empty()));
    assert!(!loaded(&steps(&["id: a, run: x", "id: b, run: x"])).graph);
}

#[test]
fn a_question_waits_for_what_it_needs() {
    let flow = loaded(&steps(&[
        "id: ask, ask: Go on?, needs: [a, b], join: any, routing: { loop_to: first }",
        "id: a, run: x, needs: [first]",
        "id: b, run: x, needs: [first]",
        "id: first, run: x",
    ]));
    assert_eq!((step(&flow, "ask").needs.len(), step(&flow, "ask").join), (2, Join::Any));
}

#[test]
fn needs_and_joins_that_make_no_sense_are_reported() {
    let second = |keys: &str| steps(&["id: a, run: x", &format!("id: b, run: x, {keys}"), "id: c, run: x"]);
    each_is_told(vec![
        (second("needs: [A]"), 4, "A]", "did you mean `a`?"),
        (second("needs: { a: b }"), 4, "{ a", "`needs`: expected a step or a list of steps, found a mapping"),
        (second("needs: 5"), 4, "5 }", "expected a step or a list of steps, found the number `5`"),
        (second("needs: [5]"), 4, "5]", "expected a string"),
        (second("need: [a]"), 4, "need:", "did you mean `needs`?"),
        (second("needs: [b]"), 4, "b]", "step `b` waits for itself"),
        (second("needs: [a, c, a]"), 4, "a] }", "`a` is named twice"),
        (second("needs: [end]"), 4, "end]", "cannot lead to `end`, which is no step"),
        (second("join: all"), 4, "join:", "`join` without `needs`"),
        (second("needs: [], join: all"), 4, "join:", "`join` with an empty `needs`"),
        (second("needs: [a], join: any"), 4, "any", "chooses among several steps, and `needs` names one"),
        (second("needs: a, join: { quorum: 1 }"), 4, "{ quorum: 1", "chooses among several"),
        (second("needs: [a, c], join: { quorum: 3 }"), 4, "3 }", "a whole number from 1 to 2"),
        (second("needs: [a, c], join: { quorum: 0 }"), 4, "0 }", "a whole number from 1 to 2"),
        (second("needs: [a, c], join: { quorm: 1 }"), 4, "quorm", "did you mean `quorum`?"),
        (second("needs: [a, c], join: {}"), 4, "{}", "`{ quorum: 2 }`"),
        (second("needs: [a, c], join: quorum"), 4, "quorum", "`{ quorum: 2 }`"),
        (second("needs: [a, c], join: first"), 4, "first", "expected `all`, `any` or `settled`"),
    ]);
}

#[test]
fn circles_are_named() {
    each_is_told(vec![
        (steps(&["id: a, run: x, needs: [b]", "id: b, run: x, needs: [a]"]), 3, "b]", "`a -> b -> a`"),
        (
            steps(&[
                "id: z, run: x, needs: [c]",
                "id: a, run: x, needs: [z, c]",
                "id: b, run: x, needs: [a]",
                "id: c, run: x, needs: [b]",
            ]),
            3,
            "c] }",
            "`z -> c -> b -> a -> z`",
        ),
    ]);
    let long: Vec<String> =
        (0..3_000).map(|place| format!("id: s{place}, run: x, needs: [s{}]", (place + 1) % 3_000)).collect();
    let long: Vec<&str> = long.iter().map(String::as_str).collect();
    each_is_told(vec![(steps(&long), 3, "s1]", "`s0 -> s1 -> s2 -> s3 -> s4 -> s5 -> s6 -> s7 -> … -> s0`")]);
}

#[test]
fn what_leads_on_in_a_list_leads_nowhere_in_a_graph() {
    let chain = |keys: &str| {
        steps(&[
            "id: a, run: x",
            "id: beside, run: x, needs: [a]",
            &format!("id: b, needs: [a], {keys}"),
            "id: c, run: x, needs: [b]",
            "id: d, run: x, needs: [c]",
        ])
    };
    let run = |routing: &str| chain(&format!("run: x, routing: {{ {routing} }}"));
    let ask = |keys: &str| chain(&format!("ask: {{ message: m, {keys} }}"));
    for text in [
        run("kind: microloop, success_values: [OK], loop_to: a"),
        run("kind: microloop, success_values: [OK], loop_to: b"),
        run("kind: microloop, success_values: [OK]"),
        run("kind: branch, branches: [a, c, b]"),
        ask("on_deny: a"),
        ask("on_deny: a, on_expire: deny, expires_in: 1h"),
        chain("ask: m, routing: { loop_to: a, max_iterations: 1 }"),
    ] {
        loaded(&text);
    }
    let looped = |to: &str| run(&format!("kind: microloop, success_values: [OK], loop_to: {to}"));
    each_is_told(vec![
        (run("next: c"), 5, "c }", "`next` has no place in a flow with `needs`"),
        (run("next: end"), 5, "end }", "says so itself: `needs: [b]`"),
        (looped("c"), 5, "c }", "does not lead back: `b` does not wait for `c`"),
        (looped("beside"), 5, "beside }", "does not wait for `beside`"),
        (run("kind: branch, branches: [d]"), 5, "d]", "`d` does not wait for `b`, nor `b` for `d`"),
        (run("kind: branch, branches: [beside]"), 5, "beside]", "add `b` to the `needs` of `beside`"),
        (run("kind: branch, branches: [a, a]"), 5, "a] }", "`a` is named twice"),
        (ask("on_deny: c"), 5, "c }", "says `if: failure()`"),
        (ask("on_deny: beside"), 5, "beside }", "`on_deny: beside` does not lead back"),
        (ask("on_deny: b"), 5, "b }", "leads to the question itself"),
        (ask("expires_in: 1h, on_expire: d"), 5, "d }", "what is to be done after an expiry"),
        (chain("ask: m, routing: { loop_to: b }"), 5, "b }", "leads to the question itself"),
        (chain("ask: m, routing: { loop_to: d }"), 5, "d }", "does not lead back"),
        (chain("ask: m, routing: { max_iterations: 2 }"), 5, "max_iterations:", "no answer leads back"),
    ]);
}

/// `build`, then `test` and `lint`, then `judge`, then `report`, and `other` beside them. `judge` is on line 7,
/// `report` on line 8.
fn looped(judge: &str, report: &str) -> String {
    steps(&[
        "id: other, run: x",
        "id: build, run: x, needs: [first]",
        "id: test, run: x, needs: [build]",
        "id: lint, run: x, needs: [build]",
        &format!("id: judge, {judge}"),
        &format!("id: report, {report}"),
        "id: first, run: x",
    ])
}

#[test]
fn a_loop_is_not_closed_by_a_step_that_does_not_wait_for_it() {
    const BACK: &str = "run: x, routing: { kind: microloop, loop_to: build, success_values: [OK] }";
    let judge = |keys: &str| looped(&format!("{BACK}, {keys}"), "run: x, needs: [judge]");
    let between = |keys: &str| looped(&format!("run: x, {keys}"), &format!("{BACK}, needs: [judge, other]"));
    let own = "run: x, needs: [test, other], join: any, routing: { kind: microloop, success_values: [OK] }";
    for text in [
        judge("needs: [test, other]"),
        judge("needs: [test, other], join: settled"),
        judge("needs: [test, lint, build], join: any"),
        // At least one of the repeated needs has to succeed too.
        judge("needs: [test, lint, other], join: { quorum: 2 }"),
        between("needs: [test, lint], join: any"),
        // Only the loop itself enters it.
        looped(own, "run: x, needs: [judge]"),
        looped(
            "run: x, needs: [test, other], join: any",
            &format!("{}, needs: [judge]", BACK.replace("build", "judge")),
        ),
        // A step after the loop, or before it.
        looped(&format!("{BACK}, needs: [test]"), "run: x, needs: [judge, other], join: any"),
    ] {
        loaded(&text);
    }
    let other = |action: &str| looped(&format!("{action}, needs: [other, lint], join: any"), "run: x");
    each_is_told(vec![
        (
            judge("needs: [test, other], join: any"),
            7,
            "build",
            "going back to `build` would enter `judge` at once: its `join` is content with what is not repeated, `other`",
        ),
        (
            judge("needs: [first, test, other], join: { quorum: 2 }"),
            7,
            "build",
            "not repeated, `first`, `other`",
        ),
        (between("needs: [test, other], join: any"), 8, "build", "let `judge` join by `all` or `settled`"),
        (
            other("run: x, routing: { kind: branch, branches: [build] }"),
            7,
            "build]",
            "would enter `judge` at once",
        ),
        (other("ask: { message: m, on_deny: build }"), 7, "build }", "would enter `judge` at once"),
        (other("ask: m, routing: { loop_to: build }"), 7, "build }", "would enter `judge` at once"),
    ]);
}

#[test]
fn a_step_of_a_graph_reads_what_it_waits_for() {
    let reads = |reader: usize, read: &str, loops: bool| {
        let step = |place: usize, id: &str, keys: &str| {
            let if_ = if place == reader {
                format!(", if: steps.{read}.status | default('') == 'x'")
            } else {
                String::new()
            };
            format!("id: {id}, run: x{keys}{if_}")
        };
        let routing =
            if loops { ", routing: { kind: microloop, loop_to: build, success_values: [OK] }" } else { "" };
        let lines = [
            step(0, "report", &format!(", needs: [lint, test]{routing}")),
            step(1, "lint", ", needs: [build]"),
            step(2, "test", ", needs: [build]"),
            step(3, "build", ", needs: [first]"),
            step(4, "first", ""),
            step(5, "after", ", needs: [report]"),
        ];
        steps(&lines.each_ref().map(String::as_str))
    };
    for (reader, read, loops) in [
        (0, "first", false),
        (0, "lint", false),
        (1, "build", false),
        (5, "first", false),
        // In a loop the previous round can be read, even by the step itself.
        (3, "report", true),
        (3, "lint", true),
        (1, "report", true),
        (0, "report", true),
        (2, "test", true),
    ] {
        loaded(&reads(reader, read, loops));
    }
    let line_of = |reader: usize| reader + 3;
    for (reader, read, loops, words) in [
        (1, "test", false, "step `test` is not among what `lint` waits for"),
        (1, "test", false, "add it: `needs: [test]`"),
        // Steps that run beside each other in a loop: the value could be of this round or of the previous one.
        (1, "test", true, "not among what `lint` waits for"),
        (3, "report", false, "step `report` runs later"),
        (4, "report", true, "step `report` runs later"),
        (3, "after", true, "step `after` runs later"),
        (0, "report", false, "reads its own result"),
        (5, "after", true, "reads its own result"),
    ] {
        let report = load("f.yaml", &reads(reader, read, loops)).unwrap_err();
        let told = told(&report);
        assert!(
            matches!(told.as_slice(), [(line, ..)] if *line == line_of(reader)),
            "{reader} {read}: {told:?}"
        );
        assert!(told[0].2.contains(words), "{told:?}");
    }
}

#[test]
fn a_graph_with_one_mistake_gets_one_report() {
    each_is_told(vec![
        (
            steps(&[
                "id: a, run: x, needs: [nope]",
                "id: b, run: x, needs: [a], if: steps.c.status",
                "id: c, run: x",
            ]),
            3,
            "nope]",
            "there is no step `nope`",
        ),
        (
            steps(&[
                "id: a, run: x, needs: [b]",
                "id: b, run: x, needs: [a]",
                "id: c, run: x, needs: [b], routing: { kind: microloop, loop_to: a, success_values: [OK] }",
            ]),
            3,
            "b] }",
            "in a circle",
        ),
    ]);
}
