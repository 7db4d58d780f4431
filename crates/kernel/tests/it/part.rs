//! A run that does a part of its flow: a step that is left out starts nothing, and the other steps see the same as in a whole run.

use crate::{
    corrected::{correction, version},
    driver::{Driver, blob, exited, result, settled},
    flows::{With as _, ask, branch, critic, flow, graph, step, step_id},
    properties::{cases, live},
    random::{Turn, flows, turns},
    random_graphs::{busy_turns, graphs},
    story::{event, feed, stand},
};
use envoi_kernel::{
    Cut, Event, Flow, Input, Record, Refusal, Status,
    event::{AttemptStarted, Change, Command, Course, FileChange, Outcome},
    flow::{Expression, GoalsPlan, Join, OnExhausted, Step, StepRead},
    hand_offs,
    ids::{RunId, StepId, VisitId},
    input::AttemptResult,
    part::{Part, Selection},
};
use proptest::{option, prelude::*, sample::subsequence};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// A selection as a command has it: `from b skip c skip d`.
fn selection(words: &str) -> Selection {
    let words: Vec<&str> = words.split_whitespace().collect();
    let mut selection = Selection::default();
    for pair in words.chunks_exact(2) {
        let step = step_id(pair[1]);
        match pair[0] {
            "only" => selection.only.push(step),
            "from" => selection.from = Some(step),
            "until" => selection.until = Some(step),
            "skip" => selection.skip.push(step),
            other => panic!("nothing is called {other}"),
        }
    }
    selection
}

/// The hand-offs of a run of this flow that come before a step of the part.
fn taking(selection: Selection, flow: &Flow, lived: &Driver) -> Part {
    let given = hand_offs(lived.run.versions().clone(), &lived.records).unwrap();
    let stands = |step: &StepId| !selection.includes(flow, step) && selection.goes_past(flow, step);
    let taken = given.into_iter().filter(|(step, _)| stands(step)).filter_map(|(_, given)| given.ok());
    let taken = taken.collect();
    Part { selection, with: Some(RunId::new("run_0earlier").unwrap()), taken }
}

fn start(flow: &Arc<Flow>, part: Part) -> (Driver, String) {
    let mut driver = Driver::new(flow);
    driver.part = Some(Box::new(part));
    let said = match driver.feed(driver.start()) {
        Ok(records) => told(&records, &driver),
        Err(refusal) => refusal.to_string(),
    };
    (driver, said)
}

fn told(records: &[Record], driver: &Driver) -> String {
    let events: Vec<String> = records.iter().map(|record| event(&record.event)).collect();
    format!("{} {}", events.join(", "), stand(&driver.run))
}

/// The events of a part from its start, without any hand-off that is taken over, through these inputs.
fn plays(flow: &Arc<Flow>, words: &str, inputs: &[&str]) -> String {
    let (mut driver, mut said) = start(flow, Part { selection: selection(words), ..Part::default() });
    for input in inputs {
        said = format!("{said} | {}", feed(&mut driver, input));
        driver.restart();
    }
    said
}

fn four() -> Arc<Flow> {
    flow([step("a"), step("b"), step("c"), step("d")])
}

trait Needs {
    fn needs(self, steps: &[&str]) -> Step;
    fn regards(self, condition: &str) -> Step;
}

impl Needs for Step {
    fn needs(self, steps: &[&str]) -> Step {
        self.with(|step| step.needs = steps.iter().map(|need| step_id(need)).collect())
    }

    /// An `if` that defines the effect of an earlier failure, as crate `flow` would read it.
    fn regards(self, condition: &str) -> Step {
        self.when(condition).with(|step| {
            step.regardless = envoi_kernel::expression::names::regards_failure(condition);
        })
    }
}

/// `a` before `b` and `c`, both before `d`.
fn diamond() -> Arc<Flow> {
    graph([step("a"), step("b").needs(&["a"]), step("c").needs(&["a"]), step("d").needs(&["b", "c"])])
}

#[test]
fn each_option_says_which_steps_are_in_the_part() {
    let (list, diamond) = (four(), diamond());
    for (flow, words, expected) in [
        (&list, "only b", "b"),
        (&list, "only d only b", "b d"),
        (&list, "from c", "c d"),
        (&list, "until b", "a b"),
        (&list, "from b until c", "b c"),
        (&list, "skip b skip d", "a c"),
        (&list, "from b skip c", "b d"),
        (&diamond, "from b", "b d"),
        (&diamond, "until b", "a b"),
        (&diamond, "from a until c", "a c"),
        (&diamond, "from c skip d", "c"),
        (&diamond, "only c", "c"),
    ] {
        let selection = selection(words);
        let ids = flow.steps.iter().map(|step| &step.id);
        let found: Vec<&str> =
            ids.filter(|step| selection.includes(flow, step)).map(StepId::as_str).collect();
        assert_eq!(found.join(" "), expected, "{words}");
        let named: Vec<&str> = words.split_whitespace().collect();
        let options: Vec<String> =
            named.chunks_exact(2).map(|pair| format!("--{} {}", pair[0], pair[1])).collect();
        assert_eq!(selection.options(), options.join(" "));
    }
}

#[test]
fn what_makes_no_part_is_refused_with_the_reason() {
    let (list, diamond) = (four(), diamond());
    for (flow, words, reason) in [
        (&list, "only bb", "flow `demo` has no step `bb`; did you mean `b`?"),
        (&list, "skip nowhere", "flow `demo` has no step `nowhere`"),
        (&list, "from c until b", "nothing is left to run: no step of flow `demo` is in this part"),
        (&diamond, "from b until c", "nothing is left to run: no step of flow `demo` is in this part"),
        (&list, "only b skip c", "`only` stands alone: it cannot be combined with `from`, `until` or `skip`"),
    ] {
        assert_eq!(start(flow, Part { selection: selection(words), ..Part::default() }).1, reason, "{words}");
    }
}

#[test]
fn a_list_does_the_part_and_passes_over_the_rest() {
    for (words, inputs, expected) in [
        (
            "only b",
            &["b.1.1 exit 0"][..],
            "started, a.1 -> b, a.1 skipped, b.1.1 begins = b.1.1 live \
             | b.1.1 ok, b.1 -> end, b.1 succeeded, over: completed = nothing [succeeded 0]",
        ),
        (
            "skip b skip c",
            &["a.1.1 exit 0", "d.1.1 exit 0"],
            "started, a.1.1 begins = a.1.1 live \
             | a.1.1 ok, a.1 -> b, a.1 succeeded, b.1 -> c, b.1 skipped, c.1 -> d, c.1 skipped, d.1.1 begins = d.1.1 live \
             | d.1.1 ok, d.1 -> end, d.1 succeeded, over: completed = nothing [succeeded 0]",
        ),
        (
            "until a",
            &["a.1.1 exit 1"],
            "started, a.1.1 begins = a.1.1 live \
             | a.1.1 TOOL_EXIT_NON_ZERO, a.1 stops, a.1 failed, over: tool_failed_fatally at a = nothing [failed 1]",
        ),
    ] {
        assert_eq!(plays(&four(), words, inputs), expected, "{words}");
    }
}

#[test]
fn a_graph_does_the_part_and_passes_over_the_rest() {
    for (words, inputs, expected) in [
        (
            "only c",
            &["c.1.1 exit 0"][..],
            "started, a entered, a.1 is skipped, a.1 skipped, b entered, c entered, b.1 is skipped, b.1 skipped, c.1.1 begins = c.1.1 live \
             | c.1.1 ok, c.1 is passed, c.1 succeeded, d entered, d.1 is skipped, d.1 skipped, over: completed = nothing [succeeded 0]",
        ),
        (
            "from b",
            &["b.1.1 exit 1"],
            "started, a entered, a.1 is skipped, a.1 skipped, b entered, c entered, b.1.1 begins, c.1 is skipped, c.1 skipped = b.1.1 live \
             | b.1.1 TOOL_EXIT_NON_ZERO, b.1 is failed, b.1 failed, d entered, d.1 is skipped, d.1 skipped, over: tool_failed_fatally at b = nothing [failed 1]",
        ),
    ] {
        assert_eq!(plays(&diamond(), words, inputs), expected, "{words}");
    }
}

#[test]
fn the_end_says_that_it_is_the_end_of_a_part() {
    let (mut driver, _) = start(&four(), Part { selection: selection("until a"), ..Part::default() });
    driver.exit("a.1.1", 0);
    let reason = driver.run.envelope().termination_reason.clone();
    assert_eq!(reason.as_deref(), Some("Every step of the part is done (--until a)"));
}

/// A whole run of these steps in which the text of each is its own name.
fn lived(flow: &Arc<Flow>) -> Driver {
    let mut driver = Driver::started(flow);
    while let Some(attempt) = driver.run.wants().attempts.first().cloned() {
        let text = format!("text of {}", attempt.visit.step);
        driver.ok(settled(AttemptResult {
            text,
            ..AttemptResult::empty(attempt, Outcome::Exited { code: 0 }, driver.now)
        }));
        while !driver.run.wants().ready.is_empty() {
            driver.ok(Input::SlotFree);
        }
    }
    driver
}

#[test]
fn the_files_of_a_hand_off_that_is_taken_over_are_files_of_the_run() {
    let flow = flow([step("a"), step("b")]);
    let created = |path: &str, content: &[u8]| FileChange {
        path: path.to_owned(),
        change: Change::Created,
        blob: Some(blob(content)),
        before: None,
    };
    let left = |id: &str, files: Vec<FileChange>| settled(AttemptResult { files, ..exited(id, 0) });
    let mut whole = Driver::started(&flow);
    whole.ok(left("a.1.1", vec![created("app.bin", b"built"), created("notes.md", b"old")]));
    let (mut driver, said) = start(&flow, taking(selection("only b"), &flow, &whole));
    assert!(said.ends_with("= b.1.1 live"), "{said}");
    let files = |driver: &Driver| driver.run.files().clone();
    let taken = |path: &str, content: &[u8]| (path.to_owned(), Some(blob(content).digest));
    assert_eq!(files(&driver), BTreeMap::from([taken("app.bin", b"built"), taken("notes.md", b"old")]));
    driver.restart();
    driver.ok(left("b.1.1", vec![created("notes.md", b"new")]));
    assert_eq!(files(&driver), BTreeMap::from([taken("app.bin", b"built"), taken("notes.md", b"new")]));
}

#[test]
fn a_summary_that_is_taken_over_is_not_given_as_the_whole_text() {
    let reads = |member: &str| {
        let b = step("b").exec(&["b", &format!("${{{{ steps.a.{member} }}}}")]);
        let flow = flow([step("a"), b]);
        let mut whole = Driver::started(&flow);
        let long = format!("begin {} end", "word ".repeat(3_000));
        whole.ok(settled(result("a.1.1", Outcome::Exited { code: 0 }, &long)));
        let (driver, _) = start(&flow, taking(selection("from b"), &flow, &whole));
        match driver.run.status() {
            Status::Ended(ended) => Err(ended.reason.clone()),
            _ => Ok(driver.begun("b.1.1").command.clone()),
        }
    };
    assert!(
        matches!(reads("summary"), Ok(Command::Exec(argv)) if argv[1].contains(" characters omitted] …"))
    );
    let refused = reads("text").unwrap_err();
    assert!(refused.contains("the text of step `a` is not kept whole"), "{refused}");
}

#[test]
fn an_expression_that_reads_a_step_that_is_left_out_says_so() {
    let flow = flow([step("a"), step("b").exec(&["b", "${{ steps.a.text }}"])]);
    let (driver, _) = start(&flow, Part { selection: selection("from b"), ..Part::default() });
    let Status::Ended(ended) = driver.run.status() else { panic!("{:?}", driver.run.status()) };
    assert!(
        ended.reason.contains("step `a` is left out of the part that is run, and has no `text`"),
        "{}",
        ended.reason
    );
}

#[test]
fn a_hand_off_that_is_taken_over_stands_for_the_steps_own() {
    let flow =
        flow([step("a"), step("b"), step("c").exec(&["${{ steps.a.summary }}, ${{ steps.b.status }}"])]);
    let whole = lived(&flow);
    let (mut driver, said) = start(&flow, taking(selection("from c"), &flow, &whole));
    assert_eq!(
        said,
        "started, a.1.1 ok, a.1 -> b, a.1 succeeded, b.1.1 ok, b.1 -> c, b.1 succeeded, c.1.1 begins = c.1.1 live"
    );
    driver.restart();
    assert_eq!(driver.begun("c.1.1").command, whole.begun("c.1.1").command);
    assert_eq!(driver.begun("c.1.1").handoff, whole.begun("c.1.1").handoff);
    let (own, theirs) = (driver.handoff("b.1"), whole.handoff("b.1"));
    assert_eq!((&own.summary, &own.status), (&theirs.summary, &theirs.status));
    assert_eq!(own.routing_signal.reason, "Taken from visit b.1 of run_0earlier");
    assert_eq!(driver.run.ledger().agent_hops, 1, "nothing of it was done again");
    let envelope = driver.run.envelope();
    assert_eq!(envelope.outputs.get("a"), whole.run.envelope().outputs.get("a"));
    assert_eq!(envelope.processing_history.len(), 1);
}

#[test]
fn what_is_left_out_is_not_defined_but_for_its_status() {
    let reads = [
        ("${{ steps.a.summary | default('none') }}", Some("none")),
        ("${{ steps.a.data.version | default('dev') }}", Some("dev")),
        ("${{ steps.a.status }}", Some("skipped")),
        ("${{ 'there' if steps.a.data.n is defined else 'not' }}", Some("not")),
        ("${{ steps.a.summary }}", None),
    ];
    for (read, expected) in reads {
        let flow = flow([step("a"), step("b").exec(&[read])]);
        let (driver, said) = start(&flow, Part { selection: selection("skip a"), ..Part::default() });
        match expected {
            Some(text) => {
                let argv = serde_json::to_string(&driver.begun("b.1.1").command).unwrap();
                assert!(argv.contains(text), "{read}: {argv}");
            }
            None => assert!(said.contains("b.1 stops"), "{read}: {said}"),
        }
    }
}

#[test]
fn conditions_hold_as_if_what_is_left_out_were_skipped() {
    for (condition, runs) in [
        ("success()", true),
        ("failure()", false),
        ("always()", true),
        ("steps.a.status == 'skipped'", true),
        ("steps.a.status == 'succeeded'", false),
    ] {
        let conditional = step("b").regards(condition);
        let flow = flow([step("a"), conditional, step("c")]);
        let (driver, _) = start(&flow, Part { selection: selection("from b"), ..Part::default() });
        let begun = driver.records.iter().any(
            |record| matches!(&record.event, Event::AttemptStarted(begun) if begun.attempt.visit.step == step_id("b")),
        );
        assert_eq!(begun, runs, "{condition}");
    }
}

/// Adds the reads of a flow, as crate `flow` finds them.
fn reading(flow: &Arc<Flow>, reads: &[(&str, &str, u32, bool)]) -> Arc<Flow> {
    let one = |(reader, path, line, optional): &(&str, &str, u32, bool)| {
        let step = path.strip_prefix("steps.").map(|rest| step_id(rest.split('.').next().unwrap()));
        let (reader, path) = (step_id(reader), (*path).to_owned());
        StepRead { reader, for_goals: false, step, path, line: *line, optional: *optional }
    };
    Arc::new(Flow { reads: reads.iter().map(one).collect(), ..Flow::clone(flow) })
}

#[test]
fn everything_that_is_missing_is_asked_for_with_its_line() {
    let flow = reading(
        &four(),
        &[
            ("d", "steps.b.data.version", 12, false),
            ("c", "steps.a.summary", 9, false),
            ("c", "steps.a.status", 10, true),
            ("d", "steps.c.data", 13, false),
            ("b", "steps.a.data", 4, false),
        ],
    );
    let missing = "steps of this part read results of steps that are left out:";
    for (words, expected) in [
        (
            "from c",
            format!(
                "{missing}\n  line 9: step `c` reads `steps.a.summary`\n  line 12: step `d` reads `steps.b.data.version`"
            ),
        ),
        (
            "only d",
            format!(
                "{missing}\n  line 12: step `d` reads `steps.b.data.version`\n  line 13: step `d` reads `steps.c.data`"
            ),
        ),
        ("only a", "started, a.1.1 begins = a.1.1 live".to_owned()),
        ("until c", "started, a.1.1 begins = a.1.1 live".to_owned()),
    ] {
        assert_eq!(
            start(&flow, Part { selection: selection(words), ..Part::default() }).1,
            expected,
            "{words}"
        );
    }
    let whole = lived(&flow);
    let said = start(&flow, taking(selection("only d"), &flow, &whole)).1;
    assert!(said.contains("d.1.1 begins"), "{said}");
    let part = Part { selection: selection("only d"), ..Part::default() };
    let reasons = BTreeMap::from([(step_id("b"), "run_1 has none".to_owned())]);
    let Err(refusal @ Refusal::PartIncomplete { .. }) = part.check(&flow, &reasons) else { panic!() };
    assert!(refusal.to_string().contains("`steps.b.data.version`; run_1 has none"), "{refusal}");
}

#[test]
fn a_loop_whose_beginning_is_left_out_has_no_round() {
    let looped = |on_exhausted| {
        flow([
            step("a"),
            critic("b", "a", 3).with(|step| step.routing.on_exhausted = on_exhausted),
            step("c"),
        ])
    };
    let said = |on_exhausted, code: &str| {
        let (mut driver, _) =
            start(&looped(on_exhausted), Part { selection: selection("from b"), ..Part::default() });
        feed(&mut driver, code)
    };
    for policy in [OnExhausted::Ask, OnExhausted::Fail] {
        assert_eq!(
            said(policy, "b.1.1 exit 1"),
            "b.1.1 ok, b.1 stops, b.1 succeeded, over: max_loop_exceeded at b = nothing [exhausted 4]"
        );
    }
    assert!(said(OnExhausted::Proceed, "b.1.1 exit 1").contains("b.1 -> c"));
    assert!(said(OnExhausted::Ask, "b.1.1 exit 0").contains("b.1 -> c"), "the gate opens where it would");
    // A step between is passed over in each round.
    let flow = flow([step("a"), step("b"), critic("c", "a", 3)]);
    let (mut driver, _) = start(&flow, Part { selection: selection("skip b"), ..Part::default() });
    driver.exit("a.1.1", 0);
    assert_eq!(
        feed(&mut driver, "c.1.1 exit 1"),
        "c.1.1 ok, c.1 back to a, c.1 succeeded, a.2.1 begins (round 1) = a.2.1 live"
    );
    assert!(feed(&mut driver, "a.2.1 exit 0").contains("b.2 -> c, b.2 skipped, c.2.1 begins"));
}

#[test]
fn a_question_that_is_left_out_is_not_put_and_is_named() {
    let list = flow([step("a"), ask("b"), step("c"), ask("d")]);
    for (words, passed) in [
        ("only c", "b"),
        ("from c", "b"),
        ("skip b", "b"),
        ("until a", ""),
        ("only a", ""),
        ("only a only c", "b"),
        ("skip d", ""),
    ] {
        let found = selection(words).questions_passed(&list);
        let found: Vec<&str> = found.iter().map(StepId::as_str).collect();
        assert_eq!(found.join(" "), passed, "{words}");
    }
    let beside = graph([step("a"), ask("b").needs(&["a"]), step("c").needs(&["a"]), step("d").needs(&["b"])]);
    for (words, passed) in [("only c", 0), ("only d", 1), ("from a skip b", 1)] {
        assert_eq!(selection(words).questions_passed(&beside).len(), passed, "{words}");
    }
    let (mut driver, _) = start(&list, Part { selection: selection("skip b skip d"), ..Part::default() });
    driver.exit("a.1.1", 0);
    assert!(feed(&mut driver, "c.1.1 exit 0").ends_with("[succeeded 0]"));
    assert!(driver.asked().is_empty());
}

#[test]
fn a_denial_that_leads_back_to_what_is_left_out_ends_the_run() {
    let denied = ask("b").asking(|plan| plan.on_deny = Some(step_id("a")));
    let proceeds = denied.with(|step| step.routing.on_exhausted = OnExhausted::Proceed);
    let flow = flow([step("a"), proceeds, step("c")]);
    let (mut driver, _) = start(&flow, Part { selection: selection("from b"), ..Part::default() });
    assert!(feed(&mut driver, "deny: no").ends_with("[failed 1]"));
}

fn going_for(steps: impl IntoIterator<Item = Step>) -> Arc<Flow> {
    let goals = GoalsPlan {
        list: Expression("['x']".to_owned()),
        from: step_id("b"),
        to: step_id("c"),
        max_rounds: 3,
        stuck_after: 2,
    };
    Arc::new(Flow { goals: Some(goals), ..Flow::clone(&flow(steps)) })
}

#[test]
fn rounds_that_are_cut_are_one_round_and_nothing_follows_them() {
    let flow = going_for([step("a"), step("b"), step("c"), step("d")]);
    for words in ["skip c", "from c", "only b only d"] {
        let said = start(&flow, Part { selection: selection(words), ..Part::default() }).1;
        assert!(said.contains("step `d` after it would go past open goals"), "{words}: {said}");
    }
    let said = plays(&flow, "until b", &["a.1.1 exit 0", "b.1.1 exit 0"]);
    assert!(said.contains("goals x, b.1.1 begins") && said.ends_with("[succeeded 0]"), "{said}");
    let said = plays(&flow, "only c", &["c.1.1 exit 0"]);
    assert!(said.ends_with("c.1 -> end, c.1 succeeded, over: completed = nothing [succeeded 0]"), "{said}");
    let said = plays(&flow, "from b", &["b.1.1 exit 0", "c.1.1 exit 0"]);
    assert!(said.contains("c.1 next round at b"), "whole rounds go on: {said}");
    let said = plays(&flow, "only d", &["d.1.1 exit 0"]);
    assert!(!said.contains("goals") && said.ends_with("[succeeded 0]"), "{said}");
}

#[test]
fn the_first_of_several_is_one_that_is_done() {
    let flow = graph([step("a"), step("b"), step("c").needs(&["a", "b"]).with(|step| step.join = Join::Any)]);
    let mut whole = Driver::started(&flow);
    whole.exit("a.1.1", 0);
    let (mut driver, said) = start(&flow, taking(selection("from b"), &flow, &whole));
    assert!(said.contains("a.1 is taken") && said.ends_with("= b.1.1 live"), "{said}");
    assert!(feed(&mut driver, "b.1.1 exit 0").contains("c.1.1 begins"));
    // A step that is left out gives nothing up.
    let (mut driver, _) = start(&flow, Part { selection: selection("only a only b"), ..Part::default() });
    driver.feed(Input::SlotFree).unwrap();
    assert!(feed(&mut driver, "a.1.1 exit 0").ends_with("= b.1.1 live"));
}

#[test]
fn a_hint_into_what_is_left_out_goes_past_it() {
    let flow = flow([branch("a", &["c", "d"]), step("b"), step("c"), step("d")]);
    let (mut driver, _) = start(&flow, Part { selection: selection("skip c"), ..Part::default() });
    assert!(
        feed(&mut driver, "a.1.1 says Go to step 'c'")
            .contains("a.1 -> c, a.1 succeeded, c.1 -> d, c.1 skipped, d.1.1 begins")
    );
}

#[test]
fn a_run_that_is_resumed_stays_a_part() {
    let flow = four();
    let (mut driver, _) = start(&flow, Part { selection: selection("only b"), ..Part::default() });
    driver.exit("b.1.1", 1);
    assert_eq!(feed(&mut driver, "reopen"), "reopened at b, b.2.1 begins = b.2.1 live");
    driver.restart();
    assert!(feed(&mut driver, "b.2.1 exit 0").ends_with("[succeeded 0]"));
}

/// A part that has failed at its step, whose flow is corrected; returns the events, or the refusal.
fn corrected(
    old: &Arc<Flow>,
    words: &str,
    failing: &str,
    new: &Arc<Flow>,
    from: Option<&str>,
) -> (Driver, String) {
    let (mut driver, _) = start(old, Part { selection: selection(words), ..Part::default() });
    driver.exit(failing, 1);
    let new = version("new", new);
    driver.run.learn(Arc::clone(&new));
    let outlook = driver.run.correction(&new, from.map(step_id).as_ref());
    let said = match driver.feed(correction(&new, from)) {
        Ok(records) => told(&records, &driver),
        Err(Refusal::NotCorrectable { reasons }) => {
            assert_eq!(outlook.refusals, reasons);
            reasons.join("; ")
        }
        Err(other) => panic!("{other}"),
    };
    let to_run = outlook.steps.iter().filter(|step| step.to_run).map(|step| step.step.to_string());
    let to_run: Vec<String> = to_run.collect();
    (driver, format!("{}: {said}", to_run.join(" ")))
}

#[test]
fn a_corrected_flow_is_the_same_part() {
    let new = flow([step("a"), step("b"), step("e"), step("d")]);
    let (mut driver, said) = corrected(&four(), "only b", "b.1.1", &new, None);
    assert_eq!(said, "b: flow corrected, reopened at b, b.2.1 begins = b.2.1 live");
    driver.restart();
    assert!(feed(&mut driver, "b.2.1 exit 0").ends_with("[succeeded 0]"));
    let reads = reading(&new, &[("b", "steps.a.summary", 7, false)]);
    let (_, said) = corrected(&four(), "only b", "b.1.1", &reads, None);
    assert!(said.contains("the run is a part (--only b): ") && said.contains("line 7: step `b`"), "{said}");
    let (_, said) = corrected(&four(), "only b", "b.1.1", &new, Some("a"));
    assert!(said.contains("step `a` is left out of the part that is run"), "{said}");
    let (_, said) = corrected(&four(), "only b", "b.1.1", &flow([step("a"), step("x")]), Some("x"));
    assert!(said.contains("flow `demo` has no step `b`"), "{said}");
}

#[test]
fn a_step_that_a_correction_takes_into_the_part_of_a_graph_is_done() {
    let old = graph([step("a"), step("b").needs(&["a"]), step("c")]);
    let new = graph([step("a"), step("b").needs(&["a"]), step("c").needs(&["b"])]);
    let (mut driver, said) = corrected(&old, "from a", "a.1.1", &new, None);
    assert!(said.starts_with("a b c: ") && said.ends_with("= a.2.1 live"), "{said}");
    driver.restart();
    driver.exit("a.2.1", 0);
    let begun = driver.nth_begun(2).unwrap().to_string();
    driver.exit(&begun, 0);
    assert!(driver.nth_begun(3).is_some_and(|attempt| attempt.to_string().starts_with("c.")), "{said}");
}

#[test]
fn a_fork_does_not_begin_at_what_is_left_out() {
    let (mut driver, _) = start(&four(), Part { selection: selection("from b"), ..Part::default() });
    driver.exit("b.1.1", 1);
    let cut = |step: &str| Cut::of(driver.run.versions(), &driver.records, Some(&step_id(step)));
    assert!(cut("b").is_ok());
    let refused = cut("a").unwrap_err().to_string();
    assert!(refused.contains("step `a` is left out of the part that it ran"), "{refused}");
}

/// Random selections of the first steps of a flow.
fn selections() -> impl Strategy<Value = (Vec<usize>, Option<usize>, Option<usize>, Vec<usize>)> {
    let some = || subsequence((0..6_usize).collect::<Vec<_>>(), 0..3);
    prop_oneof![
        subsequence((0..6_usize).collect::<Vec<_>>(), 1..4).prop_map(|only| (only, None, None, Vec::new())),
        (option::of(0..6_usize), option::of(0..6_usize), some()).prop_map(|(from, until, skip)| (
            Vec::new(),
            from,
            until,
            skip
        )),
    ]
}

fn chosen(flow: &Flow, chosen: &(Vec<usize>, Option<usize>, Option<usize>, Vec<usize>)) -> Selection {
    let named = |place: &usize| flow.steps[place % flow.steps.len()].id.clone();
    let (only, from, until, skip) = chosen;
    Selection {
        only: only.iter().map(named).collect(),
        from: from.as_ref().map(named),
        until: until.as_ref().map(named),
        skip: skip.iter().map(named).collect(),
    }
}

/// The step of the run's own flow that a visit belongs to.
fn at_the_top(visit: &VisitId) -> StepId {
    let whole = visit.to_string();
    let parts: Vec<&str> = whole.split('.').collect();
    let step = parts.iter().find(|part| part.parse::<u32>().is_err()).unwrap();
    step_id(step)
}

/// Nothing of a step outside of the part has begun or was asked.
fn check_outside(flow: &Flow, selection: &Selection, records: &[Record]) {
    for record in records {
        let visit = match &record.event {
            Event::AttemptStarted(begun) => &begun.attempt.visit,
            Event::InterruptRaised(raised) => &raised.visit,
            Event::FlowEntered(entered) => &entered.visit,
            Event::FannedOut(items) => &items.visit,
            _ => continue,
        };
        let step = at_the_top(visit);
        assert!(selection.includes(flow, &step), "{step} is not in the part, and {}", event(&record.event));
    }
}

/// Lives through a part with these turns. `None`: it cannot be run.
fn part_of(flow: &Arc<Flow>, part: Part, turns: &[(Turn, bool)]) -> Option<Driver> {
    let mut driver = Driver::new(flow);
    driver.part = Some(Box::new(part));
    match driver.feed(driver.start()) {
        Ok(_) => {}
        Err(Refusal::PartInvalid { .. }) => return None,
        Err(other) => panic!("{other}"),
    }
    for (turn, free) in turns {
        if let Some(input) = turn.input(&mut driver) {
            let slot = crate::driver::slot().filter(|_| *free || matches!(turn, Turn::Slot));
            driver.feed_with(input, slot).ok();
            driver.restart();
        }
    }
    Some(driver)
}

proptest! {
    #![proptest_config(cases(30))]

    #[test]
    fn no_step_outside_of_a_part_ever_starts((flow, before, turns, words) in (flows(), turns(), turns(), selections())) {
        let selection = chosen(&flow, &words);
        let whole = live(&flow, &before, |_, _, _| {});
        let part = taking(selection.clone(), &flow, &whole);
        if let Some(driver) = part_of(&flow, part, &turns) {
            check_outside(&flow, &selection, &driver.records);
        }
    }

    #[test]
    fn no_step_outside_of_a_part_of_a_graph_ever_starts((flow, before, turns, words) in (graphs(), busy_turns(), busy_turns(), selections())) {
        let selection = chosen(&flow, &words);
        let whole = live(&flow, &before, |_, _, _| {});
        let part = taking(selection.clone(), &flow, &whole);
        if let Some(driver) = part_of(&flow, part, &turns) {
            check_outside(&flow, &selection, &driver.records);
        }
    }

    #[test]
    fn each_step_of_a_part_gets_what_it_gets_in_a_whole_run((reads, needs, words) in (
        prop::collection::vec(any::<u8>(), 2..7),
        option::of(prop::collection::vec(any::<u8>(), 7)),
        selections(),
    )) {
        let names: Vec<String> = (0..reads.len()).map(|place| format!("s{place}")).collect();
        let before = |bits: u8, place: usize| (0..place).filter(move |at| bits & (1 << at) != 0);
        let built = names.iter().enumerate().map(|(place, name)| {
            // In a graph a step reads what it needs.
            let bits = needs.as_ref().map_or(reads[place], |needs| needs[place]);
            let texts: Vec<String> =
                before(bits, place).map(|at| format!("${{{{ steps.{0}.summary }}}}", names[at])).collect();
            let built = step(name).exec(&texts.iter().map(String::as_str).chain(["end"]).collect::<Vec<_>>());
            let needed: Vec<&str> = before(bits, place).map(|at| names[at].as_str()).collect();
            if needs.is_some() { built.needs(&needed) } else { built }
        });
        let flow = if needs.is_some() { graph(built) } else { flow(built) };
        let whole = lived(&flow);
        let selection = chosen(&flow, &words);
        let (mut driver, _) = start(&flow, taking(selection.clone(), &flow, &whole));
        prop_assume!(!driver.records.is_empty());
        // Each result of the part is that of the whole run.
        loop {
            while !driver.run.wants().ready.is_empty() {
                driver.ok(Input::SlotFree);
            }
            let Some(attempt) = driver.run.wants().attempts.first().cloned() else { break };
            let text = format!("text of {}", attempt.visit.step);
            driver.ok(settled(AttemptResult {
                text,
                ..AttemptResult::empty(attempt, Outcome::Exited { code: 0 }, driver.now)
            }));
            driver.restart();
        }
        prop_assert!(stand(&driver.run).ends_with("[succeeded 0]"), "{}", stand(&driver.run));
        let begun = |driver: &Driver| -> BTreeMap<String, AttemptStarted> {
            let each = driver.records.iter().filter_map(|record| match &record.event {
                Event::AttemptStarted(begun) => Some((begun.attempt.to_string(), begun.as_ref().clone())),
                _ => None,
            });
            each.collect()
        };
        let (whole, part) = (begun(&whole), begun(&driver));
        let wanted: BTreeSet<String> = flow.steps.iter().filter(|step| selection.includes(&flow, &step.id))
            .map(|step| format!("{}.1.1", step.id)).collect();
        prop_assert_eq!(part.keys().cloned().collect::<BTreeSet<_>>(), wanted);
        for (attempt, begun) in part {
            let there = &whole[&attempt];
            prop_assert_eq!((&begun.command, &begun.env, &begun.cwd), (&there.command, &there.env, &there.cwd));
            // In a graph that is the one which was over last.
            if !flow.graph {
                prop_assert_eq!(&begun.handoff, &there.handoff);
            }
        }
        let unfinished = driver.records.iter().any(|record| matches!(&record.event, Event::Routed(routed) if routed.course == Course::Stop));
        prop_assert!(!unfinished);
    }
}
