//! A new run with the history of another one, up to a step.

use crate::{
    corrected::{correction, version},
    driver::{Driver, attempt, exited, person, reported, settled, slot},
    flows::{With as _, ask, bounded, critic, flow, graph, limits, step, step_id},
    rules,
    story::{event, feed, stand},
};
use envoi_contract::{digest::Digest, envelope::RecordStatus, json::Value};
use envoi_kernel::{
    Cut, Event, Flow, Fork, Input, Record, Refusal, Run, Status,
    event::{Choice, EndStatus, FilesRestored, FilesRestoring, Reach},
    family::Share,
    flow::{Expression, ForEach, GoalsPlan, InDoubtPolicy, InnerPlan, Join, Step, StepKind},
    ids::{FlowId, RunId},
    input::AttemptResult,
    ledger::{Cost, Ledger},
};
use std::sync::Arc;

fn lived(flow: &Arc<Flow>, inputs: &[&str]) -> Driver {
    let mut driver = Driver::new(flow);
    inputs.iter().for_each(|input| drop(feed(&mut driver, input)));
    driver
}

fn asked(source: &Driver, from: Option<&str>) -> Fork {
    Fork {
        run: RunId::new("run_1fork").unwrap(),
        run_base: "/base/fork".to_owned(),
        workspace: "/other".to_owned(),
        shared: false,
        yes_to: Vec::new(),
        by: person("bob"),
        why: Some("another way".to_owned()),
        from: from.map(step_id),
        lived: source.records.clone(),
        family: source.run.known_share(),
        correct: None,
        isolated: None,
        files: None,
    }
}

/// The fork, and the events that are its own.
fn fork_as(source: &Driver, fork: Fork) -> Result<(Driver, Vec<Record>), Refusal> {
    let mut driver = Driver::new(source.run.versions().first());
    source.run.versions().all().for_each(|version| driver.run.learn(Arc::clone(version)));
    driver.now = source.now;
    let records = driver.feed(Input::Fork(Box::new(fork)))?;
    driver.restart();
    let at = records.iter().rposition(|record| matches!(record.event, Event::RunForked(_))).unwrap();
    let own = records.iter().skip(at + 1).cloned().collect();
    Ok((driver, own))
}

fn fork(source: &Driver, from: Option<&str>) -> Driver {
    fork_as(source, asked(source, from)).unwrap().0
}

/// The last event that was taken over, and the events after it.
fn told(source: &Driver, from: Option<&str>) -> String {
    match fork_as(source, asked(source, from)) {
        Err(refusal) => format!("refused: {refusal}"),
        Ok((driver, own)) => {
            let at = driver.run.forked().unwrap().at;
            let last = event(&driver.records[usize::try_from(at).unwrap()].event);
            let own: Vec<String> = own.iter().map(|record| event(&record.event)).collect();
            format!("{last} | {} {}", own.join(", "), stand(&driver.run))
        }
    }
}

fn after(step: Step, needs: &[&str]) -> Step {
    step.with(|step| step.needs = needs.iter().map(|need| step_id(need)).collect())
}

fn joining(step: Step, join: Join) -> Step {
    step.with(|step| step.join = join)
}

fn each(step: Step, items: &str) -> Step {
    step.with(|step| {
        step.for_each = Some(ForEach { items: Expression(items.to_owned()), max_parallel: Some(2) })
    })
}

fn runs(name: &str, inner: &str) -> Step {
    let plan = InnerPlan { flow: FlowId::new(inner).unwrap(), inputs: Vec::new(), outputs: Vec::new() };
    step(name).with(|step| step.kind = StepKind::Flow(Box::new(plan)))
}

fn with(outer: &Arc<Flow>, name: &str, inner: &Arc<Flow>) -> Arc<Flow> {
    let (id, digest) = (FlowId::new(name).unwrap(), Digest::of(name.as_bytes()));
    let inner = Arc::new(Flow { id: id.clone(), digest, ..Flow::clone(inner) });
    Arc::new(Flow { flows: [(id, inner)].into(), ..Flow::clone(outer) })
}

fn rounds(flow: &Arc<Flow>) -> Arc<Flow> {
    let goals = GoalsPlan {
        list: Expression("['x']".to_owned()),
        from: step_id("a"),
        to: step_id("b"),
        max_rounds: 3,
        stuck_after: 9,
    };
    Arc::new(Flow { goals: Some(goals), ..Flow::clone(flow) })
}

#[test]
fn a_listed_run_is_cut_where_a_step_was_entered_last() {
    let plain = flow([step("a"), step("b"), step("c")]);
    let ends = ["start", "a.1.1 exit 0", "b.1.1 exit 0", "c.1.1 exit 1"];
    let failed = lived(&plain, &ends);
    for (from, expected) in [
        (None, "b.1 succeeded | c.1.1 begins = c.1.1 live"),
        (Some("c"), "b.1 succeeded | c.1.1 begins = c.1.1 live"),
        (Some("b"), "a.1 succeeded | b.1.1 begins = b.1.1 live"),
        (Some("a"), "started | a.1.1 begins = a.1.1 live"),
        (Some("d"), "refused: the run cannot be forked: its flow has no step `d`"),
    ] {
        assert_eq!(told(&failed, from), expected, "{from:?}");
    }
    let again = lived(&plain, &[&ends[..], &["reopen", "c.2.1 exit 1"]].concat());
    assert_eq!(told(&again, None), "reopened at c | c.2.1 begins = c.2.1 live");
    let early = lived(&plain, &["start", "a.1.1 exit 1"]);
    assert_eq!(told(&early, Some("c")), "refused: the run cannot be forked: it never came to step `c`");
}

#[test]
fn a_fork_goes_on_under_the_flow_that_held_where_it_is_cut() {
    let first = flow([step("a"), step("b")]);
    let second = version("second", &flow([step("n"), step("a"), step("b"), step("c")]));
    let mut source = lived(&first, &["start", "a.1.1 exit 0", "b.1.1 exit 1"]);
    source.run.learn(Arc::clone(&second));
    source.feed_with(correction(&second, None), slot()).unwrap();
    ["b.2.1 exit 0", "c.1.1 exit 1"].iter().for_each(|input| drop(feed(&mut source, input)));
    for (from, expected, flow) in [
        (None, "b.2 succeeded | c.1.1 begins = c.1.1 live", &second),
        (Some("b"), "reopened at b | b.2.1 begins = b.2.1 live", &second),
        // The fork does not contain a later correction of the run.
        (Some("a"), "started | a.1.1 begins = a.1.1 live", &first),
    ] {
        assert_eq!(told(&source, from), expected, "{from:?}");
        let cut = Cut::of(source.run.versions(), &source.records, from.map(step_id).as_ref()).unwrap();
        assert_eq!(cut.flow(source.run.versions(), &source.records), flow, "{from:?}");
        assert_eq!(fork(&source, from).run.flow(), flow, "{from:?}");
    }
    assert_eq!(
        told(&source, Some("n")),
        "refused: the run cannot be forked: it never came to step `n`",
        "the run began without it"
    );
}

#[test]
fn a_fork_at_a_step_that_a_correction_brought_goes_on_under_the_corrected_flow() {
    let first = flow([step("a"), step("b")]);
    let second = version("second", &flow([step("a"), step("b"), step("c")]));
    let mut source = lived(&first, &["start", "a.1.1 exit 0"]);
    source.run.learn(Arc::clone(&second));
    source.feed(correction(&second, None)).unwrap();
    feed(&mut source, "b.1.1 exit 0");
    feed(&mut source, "c.1.1 exit 1");
    assert_eq!(told(&source, Some("c")), "flow corrected | c.1.1 begins = c.1.1 live");
    assert_eq!(told(&source, Some("b")), "a.1 succeeded | b.1.1 begins = b.1.1 live");
    assert_eq!(fork(&source, Some("c")).run.flow().digest, second.digest);
    assert_eq!(fork(&source, Some("b")).run.flow().digest, first.digest);
}

#[test]
fn a_loop_is_cut_in_its_last_round() {
    let looped = flow([step("a"), critic("critic", "a", 3), step("z")]);
    let source = lived(
        &looped,
        &["start", "a.1.1 exit 0", "critic.1.1 exit 1", "a.2.1 exit 0", "critic.2.1 exit 0", "z.1.1 exit 1"],
    );
    assert_eq!(told(&source, Some("a")), "critic.1 succeeded | a.2.1 begins (round 1) = a.2.1 live");
    let fork = fork(&source, Some("a"));
    assert_eq!(fork.begun("a.2.1").feedback, Some(attempt("critic.1.1")));
    assert_eq!(
        told(&source, Some("critic")),
        "a.2 succeeded | critic.2.1 begins (round 1) = critic.2.1 live"
    );
}

#[test]
fn a_round_of_a_run_with_goals_is_counted_by_all() {
    let flow = rounds(&flow([step("a"), step("b"), step("z")]));
    let round = |n: u32| [format!("a.{n}.1 exit 0"), format!("b.{n}.1 exit 0")];
    let inputs: Vec<String> = ["start".to_owned()].into_iter().chain((1..=3).flat_map(round)).collect();
    let source = lived(&flow, &inputs.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(source.run.ledger().rounds, 3);
    assert_eq!(told(&source, Some("a")), "b.2 succeeded | a.3.1 begins = a.3.1 live");
    // Cut before the goals were set, it begins a first round that is the fourth of the family.
    let first = lived(&flow, &["start", "a.1.1 exit 1"]);
    let second = fork(&first, None);
    assert_eq!((second.run.ledger().rounds, second.run.own_share().used.rounds), (2, 1));
}

#[test]
fn in_a_graph_what_was_under_way_beside_it_is_done_anew() {
    let flow = graph([
        step("a"),
        after(step("b").tries(2), &["a"]),
        after(step("c"), &["a"]),
        after(step("d"), &["c"]),
        after(step("e"), &["b", "d"]),
    ]);
    let begin = ["start", "a.1.1 exit 0", "slot"];
    let live =
        lived(&flow, &[&begin[..], &["c.1.1 exit 0", "slot", "d.1.1 exit 1", "b.1.1 exit 0"]].concat());
    assert_eq!(told(&live, None), "d entered | b.1.2 begins = b.1.2 live, d.1 ready");
    let backoff = lived(
        &flow,
        &[&begin[..], &["b.1.1 exit 1", "c.1.1 exit 0", "d.1.1 exit 1", "due", "b.1.2 exit 0"]].concat(),
    );
    let mut fork = fork(&backoff, None);
    assert_eq!(stand(&fork.run), "= b.1.2 live, d.1 ready", "its timer is not its own");
    assert!(fork.run.wants().timers.is_empty());
    // The try that failed counts.
    assert_eq!(
        feed(&mut fork, "b.1.2 exit 1"),
        "b.1.2 TOOL_EXIT_NON_ZERO, b.1 is failed, b.1 failed, d.1.1 begins = d.1.1 live"
    );
}

#[test]
fn a_join_takes_what_it_did_without_with_it() {
    let flow = graph([step("a"), step("b"), joining(after(step("c"), &["a", "b"]), Join::Any), step("w")]);
    let source = lived(
        &flow,
        &["start", "slot", "slot", "a.1.1 exit 0", "b.1.1 cancelled", "slot", "c.1.1 exit 1", "w.1.1 exit 0"],
    );
    assert_eq!(told(&source, Some("c")), "b.1 skipped | c.1.1 begins = c.1.1 live, w.1 ready");
    let fork = fork(&source, Some("c"));
    assert!(fork.run.wants().ending.is_empty(), "it has not started what is to be ended");
}

#[test]
fn items_and_flows_keep_what_they_have_come_to() {
    let fan = graph([each(step("work"), "[1, 2, 3]"), step("a"), after(step("z"), &["a"])]);
    let source = lived(
        &fan,
        &[
            "start",
            "slot",
            "slot",
            "0.work.1.1 exit 0",
            "a.1.1 exit 0",
            "slot",
            "1.work.1.1 exit 0",
            "2.work.1.1 exit 0",
            "z.1.1 exit 1",
        ],
    );
    let mut forked = fork(&source, Some("z"));
    assert_eq!(stand(&forked.run), "= z.1.1 live, 1.work.1 ready, 2.work.1 ready");
    drive(&mut forked);
    assert_eq!(forked.begun("1.work.1.2").command, source.begun("1.work.1.1").command, "it was live");
    assert_eq!(forked.handoff("work.1").summary, "item 0: \nitem 1: \nitem 2:");

    let build = flow([step("compile"), step("link")]);
    let outer = with(&graph([runs("b", "build"), step("a"), after(step("z"), &["a"])]), "build", &build);
    let source = lived(
        &outer,
        &[
            "start",
            "slot",
            "b.1.compile.1.1 exit 0",
            "a.1.1 exit 0",
            "slot",
            "b.1.link.1.1 exit 0",
            "z.1.1 exit 1",
        ],
    );
    let forked = fork(&source, Some("z"));
    assert_eq!(stand(&forked.run), "= z.1.1 live, b.1.link.1 ready");
    let mut forked = forked;
    assert_eq!(feed(&mut forked, "slot"), "b.1.link.1.2 begins = z.1.1 live, b.1.link.1.2 live");
    let inside = "refused: the run cannot be forked: its flow has no step `link`";
    assert_eq!(told(&source, Some("link")), inside);
}

#[test]
fn questions_that_are_open_are_put_by_the_fork_itself() {
    let flow = graph([ask("ok"), step("a"), after(step("z"), &["a"])]);
    let source = lived(&flow, &["start", "a.1.1 exit 0", "answer approve", "z.1.1 exit 1"]);
    assert_eq!(told(&source, None), "z entered | asks Ask of ok.1, z.1.1 begins = z.1.1 live, question");
    let forked = fork(&source, None);
    assert_ne!(forked.asked()[0], forked.asked()[1], "a question of its own");
    assert_eq!(forked.run.envelope().interrupt.as_ref().unwrap().id, Some(forked.asked()[1].to_string()));
}

#[test]
fn a_question_about_a_closed_visit_is_put_again() {
    let strict = critic("critic", "critic", 0);
    let flow = graph([strict, step("a"), after(step("z"), &["a"])]);
    let source =
        lived(&flow, &["start", "slot", "critic.1.1 exit 1", "a.1.1 exit 0", "answer stop", "z.1.1 exit 1"]);
    let expected = "z entered | asks Exhausted of critic.1, z.1.1 begins = z.1.1 live, question";
    assert_eq!(told(&source, Some("z")), expected);
    let mut forked = fork(&source, Some("z"));
    let answer = forked.answer(Choice::Proceed, "ada");
    forked.say(answer).unwrap();
    forked.exit("z.1.1", 0);
    assert!(matches!(forked.run.status(), Status::Ended(ended) if ended.status == EndStatus::Succeeded));
}

#[test]
fn an_attempt_in_doubt_is_not_verified_but_done_anew() {
    let doubtful = step("b").in_doubt(InDoubtPolicy::Ask);
    for doubtful in [doubtful, step("b").verified_by("check")] {
        let flow = graph([doubtful, step("a"), after(step("z"), &["a"])]);
        let mut source = lived(
            &flow,
            &["start", "slot", "b.1.1 doubt without a slot", "a.1.1 exit 0", "slot", "z.1.1 exit 1"],
        );
        source.ok(Input::Cancel { by: person("bob") });
        drive(&mut source);
        let forked = fork(&source, Some("z"));
        assert_eq!(forked.begun("b.1.2").verifies, None);
    }
}

#[test]
fn what_is_open_at_the_end_or_succeeded_needs_a_step() {
    let plain = flow([step("a"), step("b")]);
    let succeeded = lived(&plain, &["start", "a.1.1 exit 0", "b.1.1 exit 0"]);
    assert_eq!(
        told(&succeeded, None),
        "refused: the run cannot be forked: no step stopped it; say at which one the fork begins"
    );
    assert_eq!(told(&succeeded, Some("b")), "a.1 succeeded | b.1.1 begins = b.1.1 live");
    for unfinished in [&["start"][..], &["start", "a.1.1 exit 1", "reopen"]] {
        let source = lived(&plain, unfinished);
        assert_eq!(told(&source, Some("a")), "refused: the run cannot be forked: it is not over");
    }
    let nothing = Fork { lived: Vec::new(), ..asked(&succeeded, None) };
    assert!(matches!(fork_as(&succeeded, nothing), Err(Refusal::NotForkable { .. })));
    let mut begun = lived(&plain, &["start"]);
    let taken = begun.feed(Input::Fork(Box::new(asked(&succeeded, Some("b")))));
    assert_eq!(taken, Err(Refusal::AlreadyStarted));
}

#[test]
fn the_fork_is_a_run_of_its_own_and_the_old_one_stays_as_it_is() {
    let not_by_starter = ask("ok").asking(|plan| plan.not_by_starter = true);
    let mut source = Driver::new(&flow([step("a"), step("b"), not_by_starter]));
    source.yes_to = vec![step_id("ok")];
    for input in ["start", "a.1.1 exit 0", "b.1.1 exit 1"] {
        feed(&mut source, input);
    }
    let before = source.run.clone();
    let mut forked = fork(&source, None);
    assert_eq!(source.run, before);
    let started = forked.run.started().unwrap();
    assert_eq!((started.run.as_str(), started.run_base.as_str()), ("run_1fork", "/base/fork"));
    assert_eq!((started.workspace.as_str(), &started.yes_to), ("/other", &Vec::new()));
    let event = forked.run.forked().unwrap();
    assert_eq!((event.from.as_str(), event.step.as_str(), event.at), ("run_0demo", "b", 4));
    let metadata = &forked.run.envelope().metadata;
    assert_eq!(metadata.get("run_id"), Some(&Value::from("run_1fork")));
    assert_eq!(metadata.get("forked_from"), Some(&Value::from("run_0demo")));
    for (own, old) in forked.records.iter().zip(&source.records).take(5).skip(1) {
        assert_eq!(own, old);
    }
    // The starter of a fork is the person who forks it, and also the starter of the old run.
    forked.exit("b.1.1", 0);
    for starter in ["ada", "bob"] {
        let refused = forked.say(forked.answer(Choice::Approve, starter));
        assert_eq!(refused, Err(Refusal::NotByStarter { actor: starter.to_owned() }));
    }
    forked.say(forked.answer(Choice::Approve, "eve")).unwrap();
    // A fork of the fork goes back to the same root, wherever it is cut.
    for (from, parent_cut) in [("a", 0), ("ok", 9)] {
        let second = Fork { run: RunId::new("run_2").unwrap(), ..asked(&forked, Some(from)) };
        let (second, _) = fork_as(&forked, second).unwrap();
        let event = second.run.forked().unwrap();
        assert_eq!((event.from.as_str(), event.root.as_str()), ("run_1fork", "run_0demo"), "{from}");
        assert_eq!(event.at, parent_cut, "{from}");
        assert_eq!(second.run.root().unwrap().as_str(), "run_0demo");
    }
}

#[test]
fn what_was_live_where_it_was_cut_is_not_shown_as_running() {
    let flow = graph([step("b"), step("a"), after(step("z"), &["a"])]);
    let source = lived(&flow, &["start", "slot", "a.1.1 exit 0", "slot", "z.1.1 exit 1", "b.1.1 exit 0"]);
    let forked = fork(&source, None);
    let history = &forked.run.envelope().processing_history;
    let shown: Vec<_> =
        history.iter().map(|record| (record.agent.as_str(), record.error.is_some(), record.status)).collect();
    assert_eq!(
        shown,
        [
            ("a", false, RecordStatus::Success),
            ("b", true, RecordStatus::Error),
            ("b", false, RecordStatus::Running)
        ]
    );
}

fn used(hops: u64, calls: u64) -> Ledger {
    Ledger { agent_hops: hops, llm_calls: calls, ..Ledger::default() }
}

/// Without time, which every attempt uses.
fn counted(ledger: &Ledger) -> Ledger {
    Ledger { wall_time_ms: 0, ..ledger.clone() }
}

#[test]
fn the_bounds_are_those_of_the_whole_family() {
    let flow = bounded(limits(&[("agent_hops", "4")]), [step("a"), step("b").skill(), step("c")]);
    let mut root = lived(&flow, &["start", "a.1.1 exit 0"]);
    let failing = reported("b.1.1", r#""metrics":{"llm_calls":3}"#);
    root.ok(settled(AttemptResult { outcome: envoi_kernel::event::Outcome::Exited { code: 1 }, ..failing }));
    let mut forked = fork(&root, None);
    assert_eq!(counted(forked.run.ledger()), used(3, 3), "two hops of the root, and its own");
    assert_eq!(counted(&forked.run.own_share().used), used(1, 0));
    assert_eq!(forked.run.ledger_by_step().keys().collect::<Vec<_>>(), ["b"]);
    forked.ok(settled(reported("b.1.1", r#""metrics":{"llm_calls":1}"#)));
    assert_eq!(stand(&forked.run), "= c.1.1 live");
    forked.exit("c.1.1", 1);
    forked.restart();
    rules::check(&flow, &root.records);
    // The root goes on: the use of the fork counts for it, and nothing is left over.
    let mut family = root.run.own_share();
    family.add(&forked.run.own_share());
    assert_eq!(counted(&family.used), used(4, 4));
    let elsewhere = family.beyond(&root.run.known_share());
    assert_eq!(counted(&elsewhere.used), used(2, 1));
    root.ok(Input::Reopen { by: person("bob"), why: None, request: None, elsewhere });
    root.restart();
    assert_eq!(stand(&root.run), "= nothing [exhausted 4]");
    assert_eq!(root.run.ledger(), &family.used);
    assert_eq!(counted(&root.run.own_share().used), used(2, 3), "and is not its own");
    // A limit is raised for all, and the root's use of it is gone for the fork.
    let more = used(1, 0);
    let elsewhere = family.beyond(&root.run.known_share());
    assert!(elsewhere.is_nothing());
    root.ok(Input::Raise { more, by: person("bob"), why: None, request: None, elsewhere });
    assert_eq!(stand(&root.run), "= b.2.1 live", "the visit that never began");
    root.exit("b.2.1", 1);
    let mut family = root.run.own_share();
    family.add(&forked.run.own_share());
    let elsewhere = family.beyond(&forked.run.known_share());
    assert_eq!((counted(&elsewhere.used), &elsewhere.raised), (used(1, 0), &used(1, 0)));
    forked.ok(Input::Reopen { by: person("bob"), why: None, request: None, elsewhere });
    assert_eq!(stand(&forked.run), "= nothing [exhausted 4]", "five of five");
    assert_eq!(forked.run.limits().agent_hops, Some(5));
    assert!(forked.run.own_share().raised == Ledger::default());
    let before_that = fork(&root, Some("a"));
    assert_eq!(before_that.run.limits().agent_hops, Some(5), "also for what is cut before it was raised");
}

#[test]
fn budgets_of_attempts_that_the_old_run_had_live_are_not_set_aside() {
    let flow = Arc::new(Flow {
        graph: true,
        ..Flow::clone(&bounded(
            limits(&[("cost", "2.00")]),
            [step("b").budget("-", "1.50"), step("a"), after(step("z"), &["a"])],
        ))
    });
    let mut source = lived(&flow, &["start", "slot", "a.1.1 exit 0", "slot", "z.1.1 exit 1"]);
    source.ok(settled(reported("b.1.1", r#""metrics":{"cost_usd":"0.40"}"#)));
    let forked = fork(&source, None);
    assert_eq!(stand(&forked.run), "= b.1.2 live, z.1 ready");
    assert_eq!(forked.run.reserved().cost, Cost::parse("1.50").unwrap(), "that of b.1.2 alone");
    assert_eq!(forked.run.ledger().cost, Cost::parse("0.40").unwrap());
}

/// Lets a run come to its end: each live attempt succeeds, each question is approved.
fn drive(driver: &mut Driver) {
    for _ in 0..200 {
        let wants = driver.run.wants();
        if let Some(id) = wants.attempts.first().or(wants.ending.first()) {
            let result = exited(&id.to_string(), 0);
            driver.ok(settled(result));
        } else if !wants.timers.is_empty() {
            driver.timer_due();
        } else if !wants.ready.is_empty() {
            driver.ok(Input::SlotFree);
        } else if !wants.interrupts.is_empty() {
            let choice = driver.run.accepts(driver.question())[0];
            driver.say(driver.answer(choice, "eve")).unwrap();
        } else {
            return;
        }
    }
    panic!("it does not end: {}", stand(&driver.run));
}

#[test]
fn a_fork_at_any_step_of_any_of_these_comes_to_its_end() {
    let build = flow([step("compile"), critic("link", "link", 0)]);
    let wide = graph([
        step("a"),
        after(runs("b", "build"), &["a"]),
        after(each(step("c"), "[1, 2, 3]"), &["a"]),
        after(ask("d"), &["a"]),
        joining(after(step("e"), &["c", "d"]), Join::Any),
        after(critic("f", "a", 1), &["b", "e"]),
    ]);
    let flows = [
        with(&wide, "build", &build),
        flow([step("a"), ask("b"), critic("c", "a", 2), step("d").tries(2)]),
        rounds(&flow([step("a"), step("b"), step("c")])),
    ];
    let turns = [
        "slot",
        "1 exit 0",
        "slot",
        "2 exit 1",
        "slot",
        "1 exit 0",
        "answer proceed",
        "answer approve",
        "due",
    ];
    let mut forks = 0;
    for flow in &flows {
        for skip in 0..turns.len() {
            let mut source = Driver::started(flow);
            for turn in turns.iter().cycle().skip(skip).take(40) {
                let nth = turn.split_once(' ').and_then(|(nth, _)| nth.parse::<usize>().ok());
                match nth {
                    None if *turn == "due" && source.run.wants().timers.is_empty() => {}
                    None => drop(feed(&mut source, turn)),
                    Some(nth) => {
                        let live = source.run.wants().attempts;
                        let Some(id) = live.get(nth - 1) else { continue };
                        let words = turn.split_once(' ').unwrap().1;
                        feed(&mut source, &format!("{id} {words}"));
                    }
                }
            }
            if !matches!(source.run.status(), Status::Ended(_)) {
                source.feed(Input::Cancel { by: person("bob") }).unwrap();
                drive(&mut source);
            }
            for step in &flow.steps {
                let Ok((mut forked, _)) = fork_as(&source, asked(&source, Some(step.id.as_str()))) else {
                    continue;
                };
                drive(&mut forked);
                forked.restart();
                assert!(matches!(forked.run.status(), Status::Ended(_)));
                let replayed = Run::replay(Arc::clone(flow), forked.records.clone()).unwrap();
                assert_eq!(replayed, forked.run);
                let both = Share { used: source.run.own_share().used, raised: Ledger::default() };
                let mut sum = both.clone();
                sum.add(&forked.run.own_share());
                assert_eq!(&sum.used, forked.run.ledger(), "nothing is lost and nothing counted twice");
                forks += 1;
            }
        }
    }
    assert!(forks > 60, "{forks}");
}

/// The log of a fork that goes on under a corrected flow; see [`told`].
fn told_under(source: &Driver, from: Option<&str>, to: &Arc<Flow>) -> String {
    let mut source = Driver {
        run: source.run.clone(),
        records: source.records.clone(),
        now: source.now,
        ..Driver::new(to)
    };
    source.run.learn(Arc::clone(to));
    let Input::Correct(correct) = correction(to, None) else { unreachable!() };
    match fork_as(&source, Fork { correct: Some(correct), ..asked(&source, from) }) {
        Err(refusal) => format!("refused: {refusal}"),
        Ok((driver, own)) => {
            let own: Vec<String> = own.iter().map(|record| event(&record.event)).collect();
            let replayed = Run::replay(driver.run.versions().clone(), driver.records.clone()).unwrap();
            assert_eq!(replayed, driver.run);
            assert_eq!(driver.run.flow().digest, to.digest);
            format!("{} {}", own.join(", "), stand(&driver.run))
        }
    }
}

#[test]
fn a_fork_goes_on_under_a_corrected_flow_and_keeps_what_was_lived() {
    let first = flow([step("a"), step("b").exec(&["typo"]), step("c")]);
    let source = lived(&first, &["start", "a.1.1 exit 0", "b.1.1 exit 1"]);
    let second = version("second", &flow([step("a"), step("n"), step("b").exec(&["right"]), step("c")]));
    for (from, expected) in [
        (None, "flow corrected, b.1.1 begins = b.1.1 live"),
        (Some("b"), "flow corrected, b.1.1 begins = b.1.1 live"),
        (Some("a"), "flow corrected, a.1.1 begins = a.1.1 live"),
    ] {
        assert_eq!(told_under(&source, from, &second), expected, "{from:?}");
    }
    let gone = version("gone", &flow([step("a"), step("c")]));
    let told = told_under(&source, None, &gone);
    assert!(told.starts_with("refused: the corrected flow cannot take over: step `b` is gone"), "{told}");
    assert_eq!(told_under(&source, Some("a"), &gone), "flow corrected, a.1.1 begins = a.1.1 live");
    let other =
        version("other", &Arc::new(Flow { id: FlowId::new("other").unwrap(), ..Flow::clone(&first) }));
    assert!(told_under(&source, None, &other).contains("the file is of flow `other`"));
}

#[test]
fn a_fork_of_a_graph_under_a_corrected_flow_does_again_only_what_is_not_done() {
    let with = |b: &str| {
        graph([after(step("a"), &[]), after(step("b").exec(&[b]), &["a"]), after(step("c"), &["b"])])
    };
    let source = lived(&with("typo"), &["start", "a.1.1 exit 0", "b.1.1 exit 1"]);
    let second = version("second", &with("right"));
    assert_eq!(told_under(&source, Some("b"), &second), "flow corrected, b.1.1 begins = b.1.1 live");
}

#[test]
fn a_fork_whose_files_are_set_back_starts_nothing_before_they_are() {
    let source = lived(&flow([step("a"), step("b")]), &["start", "a.1.1 exit 0", "b.1.1 exit 1"]);
    let to = Digest::of(b"then");
    let files = FilesRestoring {
        from: Digest::of(b"now"),
        to,
        reach: Reach::Workspace,
        undoes: false,
        by: person("bob"),
        why: None,
        folders_gone: None,
        folders_back: None,
        found: Vec::new(),
    };
    let (mut driver, own) =
        fork_as(&source, Fork { files: Some(Box::new(files)), ..asked(&source, Some("b")) }).unwrap();
    assert!(matches!(own.as_slice(), [Record { event: Event::FilesRestoring(_), .. }]), "{own:?}");
    let wants = driver.run.wants();
    assert!(wants.attempts.is_empty() && wants.restoring, "{wants:?}");
    let restored = FilesRestored { to, late: Vec::new(), left: Vec::new() };
    driver.feed(Input::FilesRestored(Box::new(restored))).unwrap();
    assert_eq!(driver.run.wants().attempts.len(), 1);
}
