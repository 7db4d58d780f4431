//! Attempts in doubt at the end of a run: a person is asked before the step begins again, wherever the run
//! continues.

use crate::{
    corrected::{correction, version},
    driver::{Driver, slot},
    flows::{With as _, branch, flow, graph, step, step_id},
    story::{event, feed, stand},
};
use envoi_kernel::{
    Event, Flow, Refusal,
    flow::{Expression, ForEach, InDoubtPolicy, InnerPlan, Step, StepKind},
    ids::FlowId,
};
use std::{collections::BTreeMap, sync::Arc};

/// A run of this flow whose attempt is in doubt when it is cancelled.
fn cancelled(flow: &Arc<Flow>, before: &[&str], doubt: &str) -> Driver {
    let mut driver = Driver::new(flow);
    for input in core::iter::once(&"start").chain(before) {
        feed(&mut driver, input);
    }
    let asked = feed(&mut driver, &format!("{doubt} doubt"));
    assert!(asked.contains("asks InDoubt"), "{asked}");
    let over = feed(&mut driver, "cancel");
    assert!(over.contains("over: "), "{over}");
    driver.restart();
    driver
}

/// Corrects the run by the same flow as another version: returns the events, or the reasons against it.
fn again_from(driver: &mut Driver, of: &Arc<Flow>, from: &str) -> String {
    let to = version("again", of);
    driver.run.learn(Arc::clone(&to));
    let said = match driver.feed_with(correction(&to, Some(from)), slot()) {
        Ok(records) => records.iter().map(|record| event(&record.event)).collect::<Vec<_>>().join(", "),
        Err(Refusal::NotCorrectable { reasons }) => reasons.join("; "),
        Err(refusal) => refusal.to_string(),
    };
    driver.restart();
    said
}

fn notes(driver: &mut Driver, of: &Arc<Flow>, from: Option<&str>) -> Vec<String> {
    let to = version("again", of);
    driver.run.learn(Arc::clone(&to));
    driver.run.correction(&to, from.map(step_id).as_ref()).notes
}

fn needs(step: Step, need: &str) -> Step {
    step.with(|step| step.needs = vec![step_id(need)])
}

/// The flow of these steps, beside a flow `build` of these.
fn around(steps: impl IntoIterator<Item = Step>, inner: Vec<Step>) -> Arc<Flow> {
    let inner = Flow { id: FlowId::new("build").unwrap(), ..Flow::clone(&flow(inner)) };
    let flows = BTreeMap::from([(inner.id.clone(), Arc::new(inner))]);
    Arc::new(Flow { flows, ..Flow::clone(&flow(steps)) })
}

fn runs_build(name: &str) -> Step {
    let plan = InnerPlan { flow: FlowId::new("build").unwrap(), inputs: Vec::new(), outputs: Vec::new() };
    step(name).with(|step| step.kind = StepKind::Flow(Box::new(plan)))
}

fn for_each(step: Step, items: &str) -> Step {
    let plan = ForEach { items: Expression(items.to_owned()), max_parallel: None };
    step.with(|step| step.for_each = Some(plan))
}

/// Checks the question, and the attempt that it is about.
fn is_asked(driver: &Driver, said: &str, visit: &str, attempt: &str) {
    assert!(said.contains(&format!("asks InDoubt of {visit}")), "{said}");
    let question = &driver.question().question;
    assert!(question.contains(&format!("`{attempt}`")), "{question}");
}

#[test]
fn what_is_in_doubt_is_asked_about_when_the_run_comes_back_to_it() {
    let list = flow([step("a"), step("b"), step("c")]);
    let in_graph = graph([step("a"), needs(step("b"), "a"), needs(step("c"), "b")]);
    for of in [list, in_graph] {
        for (from, answer) in [("a", "rerun"), ("a", "fail"), ("b", "rerun")] {
            let mut driver = cancelled(&of, &["a.1.1 exit 0"], "b.1.1");
            let told = notes(&mut driver, &of, Some(from));
            assert!(told.iter().any(|note| note.contains("`b.1.1` is in doubt")), "{told:?}");
            let mut said = again_from(&mut driver, &of, from);
            if from == "a" {
                assert!(said.ends_with("a.2.1 begins"), "{said}");
                said = feed(&mut driver, "a.2.1 exit 0");
            }
            is_asked(&driver, &said, "b.2", "b.1.1");
            assert!(!said.contains("b.2.1 begins"), "{said}");
            driver.restart();
            let went = feed(&mut driver, &format!("answer {answer}"));
            match answer {
                "rerun" => assert!(went.contains("b.2.1 begins"), "{went}"),
                _ => assert!(went.contains("b.2 failed") && went.contains("over: "), "{went}"),
            }
        }
    }
}

#[test]
fn a_flow_that_reruns_by_itself_asks_no_question() {
    let of = |policy| flow([step("a"), step("b").in_doubt(policy), step("c")]);
    let mut driver = cancelled(&of(InDoubtPolicy::Ask), &["a.1.1 exit 0"], "b.1.1");
    let rerun = of(InDoubtPolicy::Rerun);
    assert_eq!(notes(&mut driver, &rerun, Some("a")), Vec::<String>::new());
    again_from(&mut driver, &rerun, "a");
    let said = feed(&mut driver, "a.2.1 exit 0");
    assert!(said.contains("b.2.1 begins"), "{said}");
}

#[test]
fn a_second_correction_that_goes_back_does_not_wait_for_ever_beside_it() {
    let of = flow([step("a"), step("b"), step("c")]);
    let mut driver = cancelled(&of, &["a.1.1 exit 0"], "b.1.1");
    again_from(&mut driver, &of, "a");
    assert_eq!(again_from(&mut driver, &of, "a"), "correction waits");
    let said = feed(&mut driver, "a.2.1 exit 0");
    is_asked(&driver, &said, "b.2", "b.1.1");
    let went = feed(&mut driver, "answer rerun");
    assert!(went.contains("flow corrected from a") && went.ends_with("a.3.1 begins = a.3.1 live"), "{went}");
}

#[test]
fn what_is_in_doubt_in_a_flow_that_would_begin_anew_is_decided_before() {
    let of = around([step("a"), runs_build("x")], vec![step("s"), step("t")]);
    for from in ["a", "x"] {
        let mut driver = cancelled(&of, &["a.1.1 exit 0"], "x.1.s.1.1");
        let said = again_from(&mut driver, &of, from);
        assert_eq!(said, "an attempt of step `s` is in doubt: decide that before the run goes back");
        // Without a correction it is asked about where the flow goes on.
        let said = feed(&mut driver, "reopen");
        is_asked(&driver, &said, "x.2.s.2", "x.1.s.1.1");
        feed(&mut driver, "answer fail");
        assert!(again_from(&mut driver, &of, from).contains("flow corrected"));
    }
}

#[test]
fn an_item_in_doubt_is_asked_about_before_it_is_done_again() {
    let whole = for_each(step("a"), "[1, 2]");
    let of = flow([whole, step("b")]);
    let mut driver = cancelled(&of, &["slot", "0.a.1.1 exit 0"], "1.a.1.1");
    let said = again_from(&mut driver, &of, "a");
    assert_eq!(said, "an attempt of step `a` is in doubt: decide that before the run goes back");
    let said = feed(&mut driver, "reopen");
    is_asked(&driver, &said, "1.a.2", "1.a.1.1");
    driver.restart();
    let went = feed(&mut driver, "answer rerun");
    assert!(went.contains("1.a.2.1 begins") && !went.contains("0.a.2.1"), "{went}");
}

#[test]
fn what_is_in_doubt_in_the_flow_of_an_item_is_asked_about_before_that_item_begins_anew() {
    let of = around([for_each(runs_build("x"), "[1]")], vec![step("s"), step("t")]);
    let mut driver = cancelled(&of, &["slot"], "0.x.1.s.1.1");
    let said = feed(&mut driver, "reopen");
    is_asked(&driver, &said, "0.x.2", "0.x.1.s.1.1");
    driver.restart();
    let went = feed(&mut driver, "answer rerun");
    assert!(went.ends_with("0.x.2.s.1.1 begins = 0.x.2.s.1.1 live"), "{went}");
    // If the flow decides about doubts, no person is asked.
    let rerun = vec![step("s").in_doubt(InDoubtPolicy::Rerun), step("t")];
    let of = around([for_each(runs_build("x"), "[1]")], rerun);
    let mut driver = Driver::started(&of);
    for words in ["slot", "cancel", "0.x.1.s.1.1 doubt", "reopen"] {
        feed(&mut driver, words);
    }
    assert_eq!(stand(&driver.run), "= 0.x.2.s.1.1 live");
}

#[test]
fn what_is_in_doubt_in_a_flow_that_a_text_led_into_is_asked_about_before_that_step_begins_anew() {
    let leads = || {
        branch("pick", &[]).with(|step| {
            step.routing.flow_branches = vec![(FlowId::new("build").unwrap(), step_id("s"))];
        })
    };
    let hint = "pick.1.1 says Go to flow 'build' step 's'";
    let list = around([leads(), step("e")], vec![step("s"), step("t")]);
    let after = graph([leads(), needs(step("e"), "pick")]);
    let in_graph = Arc::new(Flow { flows: list.flows.clone(), ..Flow::clone(&after) });
    for of in [list, in_graph] {
        let mut driver = cancelled(&of, &[hint], "pick.1.s.1.1");
        let said = feed(&mut driver, "reopen");
        is_asked(&driver, &said, "pick.2", "pick.1.s.1.1");
        assert!(!said.contains("pick.2.1 begins"), "{said}");
        driver.restart();
        let went = feed(&mut driver, "answer rerun");
        assert!(went.ends_with("pick.2.1 begins = pick.2.1 live"), "{went}");
    }
}

#[test]
fn an_attempt_after_the_one_in_doubt_has_settled_it() {
    let verify: fn(&mut Step) = |step| {
        let StepKind::Run(plan) = step.kind.clone() else { panic!("no command") };
        step.on_in_doubt = InDoubtPolicy::Verify(plan);
    };
    let of = flow([step("a").with(verify)]);
    let mut driver = Driver::started(&of);
    // In doubt; its verification finds that it did not happen; it runs again, and fails.
    for words in ["a.1.1 doubt", "a.1.2 exit 1", "a.1.3 exit 1"] {
        feed(&mut driver, words);
    }
    let said = feed(&mut driver, "reopen");
    assert!(said.ends_with("a.2.1 begins = a.2.1 live"), "{said}");
    let asked = driver.records.iter().any(|record| matches!(record.event, Event::InterruptRaised(_)));
    assert!(!asked, "nobody knows less than before");
}
