//! `on_in_doubt: {verify: …}`: a command finds out whether it happened.

use crate::{
    driver::{Driver, doubtful, exited, reported, result, settled},
    flows::{With, bounded, critic, flow, limits, step},
    story::{ends, feed, plays, stand},
};
use envoi_contract::json::Value;
use envoi_kernel::{
    Flow, Input,
    event::{Change, Command, FileChange, Outcome},
    flow::{CommandPlan, InDoubtPolicy, Step, Template},
    input::AttemptResult,
};
use std::sync::Arc;

fn verified(name: &str) -> Step {
    step(name).verified_by("look")
}

fn doubted(steps: impl IntoIterator<Item = Step>) -> Driver {
    let mut driver = Driver::started(&flow(steps));
    driver.ok(doubtful("a.1.1", 3));
    assert_eq!(stand(&driver.run), "= a.1.2 live");
    driver.restart();
    driver
}

#[test]
fn what_the_verification_says_decides() {
    let about = |event: &str| format!("{event}, asks InDoubt of a.1 = question [waiting 5]");
    for (input, outcome) in [
        ("exit 0", "a.1.2 ok, a.1 -> b, a.1 succeeded, b.1.1 begins = b.1.1 live".to_owned()),
        ("exit 1", "a.1.2 DID_NOT_HAPPEN, a.1.3 begins = a.1.3 live".to_owned()),
        ("exit 2", about("a.1.2 TOOL_EXIT_NON_ZERO")),
        ("exit 7", about("a.1.2 TOOL_EXIT_NON_ZERO")),
        ("exit 126", about("a.1.2 TOOL_EXIT_NON_ZERO")),
        ("signal 9", about("a.1.2 TOOL_EXIT_NON_ZERO")),
        ("timeout", about("a.1.2 TOOL_TIMEOUT")),
        ("cancelled", about("a.1.2 TOOL_CANCELLED")),
        ("unstartable", about("a.1.2 TOOL_CANNOT_START")),
        ("doubt", about("a.1.2 IN_DOUBT")),
    ] {
        let flow = flow([verified("a").tries(3), step("b")]);
        let first = ends(&flow, &["start", "a.1.1 doubt"]);
        assert_eq!(first, "a.1.1 IN_DOUBT, a.1.2 verifies a.1.1 = a.1.2 live");
        let input = format!("a.1.2 {input}");
        assert_eq!(ends(&flow, &["start", "a.1.1 doubt", &input]), outcome, "{input}");
    }
}

#[test]
fn a_person_decides_about_the_attempt_and_not_about_its_verification() {
    let flow = flow([verified("a"), step("b")]);
    let driver = plays(
        &flow,
        "> start
         started, a.1.1 begins
         = a.1.1 live
         > a.1.1 doubt
         a.1.1 IN_DOUBT, a.1.2 verifies a.1.1
         = a.1.2 live
         > restart
         > a.1.2 exit 7
         a.1.2 TOOL_EXIT_NON_ZERO, asks InDoubt of a.1
         = question [waiting 5]
         > restart
         > answer rerun
         answered rerun, a.1.3 begins
         = a.1.3 live
         > a.1.3 doubt
         a.1.3 IN_DOUBT, a.1.4 verifies a.1.3
         = a.1.4 live
         > a.1.4 doubt
         a.1.4 IN_DOUBT, asks InDoubt of a.1
         = question [waiting 5]
         > answer fail
         answered fail, a.1 stops, a.1 failed, over: tool_failed_fatally at a
         = nothing [failed 1]
         ",
    );
    let error = driver.handoff("a.1").error.as_deref().unwrap();
    assert_eq!(error, "IN_DOUBT: attempt `a.1.3` was started and its end is not known");
    assert_eq!(driver.run.ledger().agent_hops, 4, "a verification is a hop");
}

#[test]
fn the_question_shows_what_is_known_of_both() {
    let mut driver = doubted([verified("a")]);
    let said = AttemptResult { stderr_tail: "no route to the registry\n".to_owned(), ..exited("a.1.2", 7) };
    driver.ok(settled(said));
    let raised = driver.question();
    assert_eq!(
        raised.question,
        "Attempt `a.1.1` was started and nobody knows whether it finished; its verification `a.1.2` exited with \
         code 7, which says neither. Run it again, or fail?"
    );
    let told = |name: &str| raised.evidence.get(name).and_then(Value::as_str);
    assert_eq!(raised.evidence.get("ran_ms").and_then(Value::as_u53), Some(3), "of the attempt itself");
    assert_eq!(told("verification"), Some("exited with code 7"));
    assert_eq!(told("verification_said"), Some("no route to the registry\n"));

    let mut driver = doubted([verified("a")]);
    driver.ok(doubtful("a.1.2", 8));
    let evidence = &driver.question().evidence;
    assert_eq!(evidence.get("verification").and_then(Value::as_str), Some("is in doubt itself"));
    let ran = |evidence: &Value| evidence.get("ran_ms").and_then(Value::as_u53);
    assert_eq!((ran(evidence), evidence.get("verification_evidence").and_then(ran)), (Some(3), Some(8)));
}

#[test]
fn a_verification_is_an_attempt_with_the_steps_surroundings_and_a_command_of_its_own() {
    let plan = CommandPlan::Shell(Template("look for ${{ steps.a.summary }}".to_owned()));
    let step = step("b").variable("WHAT", "${{ steps.a.summary }}").in_doubt(InDoubtPolicy::Verify(plan));
    let step = step.with(|step| step.timeout_ms = Some(5)).budget("4", "0.30");
    let mut driver = Driver::started(&flow([crate::flows::step("a"), step]));
    driver.ok(settled(result("a.1.1", Outcome::Exited { code: 0 }, "the mail"))).ok(doubtful("b.1.1", 3));
    let (first, second) = (driver.begun("b.1.1").clone(), driver.begun("b.1.2").clone());
    assert_eq!((first.verifies.as_ref(), second.verifies.as_ref()), (None, Some(&first.attempt)));
    let values =
        [("WHAT".to_owned(), "the mail".to_owned()), ("ENVOI_EXPR_0".to_owned(), "the mail".to_owned())];
    assert_eq!(second.env.first(), values.first());
    assert!(second.env.iter().skip(1).all(|(_, value)| value == "the mail"), "{:?}", second.env);
    assert!(matches!(&second.command, Command::Shell(script) if script.starts_with("look for ")));
    assert_eq!((&second.cwd, second.timeout_ms, &second.handoff), (&first.cwd, Some(5), &first.handoff));
    assert!(first.reserved.is_some() && second.reserved.is_none(), "a verification has no budget");
    driver.restart();
}

#[test]
fn what_the_verification_left_stands_for_the_steps_own() {
    let mut driver = doubted([verified("a").with(|step| step.skill = Some("a-skill".to_owned())), step("b")]);
    let file = FileChange {
        path: "out.txt".to_owned(),
        change: Change::Created,
        blob: Some(crate::driver::blob(b"new")),
        before: None,
    };
    let report = reported("a.1.2", r#""data":{"id":7},"metrics":{"llm_calls":2}"#);
    driver.ok(settled(AttemptResult { text: "sent as 7".to_owned(), files: vec![file], ..report }));
    assert_eq!(stand(&driver.run), "= b.1.1 live");
    let handoff = driver.handoff("a.1");
    assert_eq!(handoff.summary, "sent as 7");
    assert!(handoff.artifacts.iter().any(|(name, _)| name == "out.txt"));
    let data = driver.run.envelope().outputs.get("a").and_then(|output| output.get("data").cloned());
    assert_eq!(data.map(|data| data.compact()).as_deref(), Some(r#"{"id":7}"#));
    assert_eq!(driver.run.ledger().llm_calls, 2);
}

#[test]
fn a_verification_that_reports_a_failure_says_that_it_happened_and_failed() {
    let mut driver = doubted([verified("a").tries(2), step("b")]);
    driver.ok(settled(reported("a.1.2", r#""ok":false"#)));
    assert_eq!(stand(&driver.run), "= timer", "a failure that may be tried again");
    driver.timer_due();
    assert_eq!(driver.begun("a.1.3").verifies, None);
    driver.exit("a.1.3", 1);
    assert_eq!(stand(&driver.run), "= nothing [failed 1]", "the verification and this one were two tries");

    let mut driver = doubted([verified("a").skill()]);
    driver.exit("a.1.2", 0);
    let error = driver.settlement("a.1.2").error.as_ref().map(|error| error.code.as_str());
    assert_eq!((error, stand(&driver.run).as_str()), (Some("SKILL_REPORT_MISSING"), "= nothing [failed 1]"));
}

#[test]
fn a_verification_is_no_try() {
    let mut driver = doubted([verified("a").tries(2)]);
    driver.exit("a.1.2", 1).exit("a.1.3", 1);
    assert_eq!(stand(&driver.run), "= timer", "one try has failed, and two there are");
}

#[test]
fn exit_codes_of_a_verification_state_nothing_of_the_step() {
    let policy = |step: Step| {
        step.verified_by("look").with(|step| {
            step.routing.status_from_exit.insert(7, "VERIFIED".to_owned());
        })
    };
    let critics = flow([step("a"), policy(critic("critic", "a", 3)), step("b")]);
    let start = ["start", "a.1.1 exit 0", "critic.1.1 doubt"];
    let then = |last: &str| ends(&critics, &[&start[..], &[last]].concat());
    // In the critic's own words 1 is a verdict.
    assert_eq!(then("critic.1.2 exit 1"), "critic.1.2 DID_NOT_HAPPEN, critic.1.3 begins = critic.1.3 live");
    assert_eq!(
        then("critic.1.2 exit 7"),
        "critic.1.2 TOOL_EXIT_NON_ZERO, asks InDoubt of critic.1 = question [waiting 5]"
    );
    assert_eq!(
        then("critic.1.2 exit 0"),
        "critic.1.2 ok, critic.1 holds, critic.1 succeeded, asks Review of critic.1 = question [waiting 3]"
    );
    assert_eq!(
        then("critic.1.2 says Status: UNVERIFIED"),
        "critic.1.2 ok, critic.1 back to a, critic.1 succeeded, a.2.1 begins (round 1) = a.2.1 live"
    );
}

#[test]
fn what_did_not_happen_three_times_is_shown_to_a_person() {
    let flow = flow([verified("a")]);
    let mut inputs = vec!["start".to_owned()];
    for attempt in [1, 3, 5, 7] {
        inputs.push(format!("a.1.{attempt} doubt"));
        inputs.push(format!("a.1.{} exit 1", attempt + 1));
    }
    let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
    assert_eq!(ends(&flow, &inputs[..7]), "a.1.6 DID_NOT_HAPPEN, a.1.7 begins = a.1.7 live");
    assert_eq!(ends(&flow, &inputs[..8]), "a.1.7 IN_DOUBT, a.1.8 verifies a.1.7 = a.1.8 live");
    assert_eq!(ends(&flow, &inputs), "a.1.8 DID_NOT_HAPPEN, asks InDoubt of a.1 = question [waiting 5]");
    let again = [&inputs[..], &["answer rerun"]].concat();
    assert_eq!(ends(&flow, &again), "answered rerun, a.1.9 begins = a.1.9 live");
}

#[test]
fn a_verification_waits_for_its_slot() {
    plays(
        &flow([verified("a")]),
        "> start
         started, a.1.1 begins
         = a.1.1 live
         > a.1.1 doubt without a slot
         a.1.1 IN_DOUBT
         = a.1 ready
         > restart
         > slot
         a.1.2 verifies a.1.1
         = a.1.2 live
         > a.1.2 exit 1 without a slot
         a.1.2 DID_NOT_HAPPEN
         = a.1 ready
         > restart
         > slot
         a.1.3 begins
         = a.1.3 live
         ",
    );
}

#[test]
fn nothing_is_verified_past_a_bound() {
    let tight = |on_reached| {
        let limits = limits(&[("agent_hops", "1"), ("on_reached", on_reached)]);
        bounded(limits, [verified("a")])
    };
    let ended = bounded(limits(&[("agent_hops", "1")]), [verified("a")]);
    assert_eq!(
        ends(&ended, &["start", "a.1.1 doubt"]),
        "a.1.1 IN_DOUBT, a.1 stops, a.1 failed, over: max_agent_hops_exceeded at a = nothing [exhausted 4]"
    );
    plays(
        &tight("ask"),
        "> start
         started, a.1.1 begins
         = a.1.1 live
         > a.1.1 doubt
         a.1.1 IN_DOUBT, asks Limit of a.1
         = question [waiting 3]
         > restart
         > raise agent_hops 1
         answered raise, a.1.2 verifies a.1.1
         = a.1.2 live
         > a.1.2 exit 1
         a.1.2 DID_NOT_HAPPEN, asks Limit of a.1
         = question [waiting 3]
         > raise agent_hops 1
         answered raise, a.1.3 begins
         = a.1.3 live
         ",
    );
}

#[test]
fn a_verification_needs_no_budget_of_its_own() {
    let flow = bounded(limits(&[("llm_calls", "6")]), [verified("a").budget("5", "-")]);
    let doubt = ["start", "a.1.1 doubt", "a.1.2 exit 1"];
    assert_eq!(ends(&flow, &doubt[..2]), "a.1.1 IN_DOUBT, a.1.2 verifies a.1.1 = a.1.2 live");
    assert_eq!(
        ends(&flow, &doubt),
        "a.1.2 DID_NOT_HAPPEN, a.1 stops, a.1 failed, over: max_llm_calls_exceeded at a = nothing [exhausted 4]",
        "running it again does"
    );
}

#[test]
fn a_cancelled_run_asks_nothing_about_doubt() {
    let flow = flow([verified("a"), step("b")]);
    let over = "over: user_cancelled at a = nothing [cancelled 130]";
    let during = |last: &str| ends(&flow, &["start", "a.1.1 doubt", "cancel", last]);
    for (last, event) in [
        ("a.1.2 cancelled", "a.1.2 TOOL_CANCELLED"),
        ("a.1.2 exit 7", "a.1.2 TOOL_EXIT_NON_ZERO"),
        ("a.1.2 doubt", "a.1.2 IN_DOUBT"),
        ("a.1.2 exit 1", "a.1.2 DID_NOT_HAPPEN"),
    ] {
        assert_eq!(during(last), format!("{event}, a.1 stops, a.1 failed, {over}"), "{last}");
    }
    // A step that would go on after a failure does not go on after a doubt that the run has left open.
    let lenient = crate::flows::flow([verified("a").with(|step| step.continue_on_error = true)]);
    for last in ["a.1.2 cancelled", "a.1.2 exit 1", "a.1.2 doubt"] {
        let went = ends(&lenient, &["start", "a.1.1 doubt", "cancel", last]);
        assert!(went.ends_with(&format!("a.1 stops, a.1 failed, {over}")), "{last}: {went}");
    }
    assert_eq!(
        during("a.1.2 exit 0"),
        "a.1.2 ok, a.1 -> b, a.1 succeeded, over: user_cancelled at b = nothing [cancelled 130]",
        "what it has found out is kept"
    );
    let before = ["start", "a.1.1 doubt without a slot", "cancel"];
    assert_eq!(ends(&flow, &before), format!("cancel by bob, a.1 stops, a.1 failed, {over}"));
    let live = ["start", "cancel", "a.1.1 doubt"];
    assert_eq!(ends(&flow, &live), format!("a.1.1 IN_DOUBT, a.1 stops, a.1 failed, {over}"));
}

#[test]
fn a_verification_that_cannot_be_filled_in_says_nothing() {
    let missing = verified("a").verified_by("${{ steps.a.summary }}");
    let flow: Arc<Flow> = flow([missing]);
    let inputs = ["start", "a.1.1 doubt", "answer rerun"];
    assert_eq!(ends(&flow, &inputs[..2]), "a.1.1 IN_DOUBT, asks InDoubt of a.1 = question [waiting 5]");
    assert_eq!(ends(&flow, &inputs), "answered rerun, a.1.2 begins = a.1.2 live", "a person has said so");
    let mut driver = Driver::started(&flow);
    driver.ok(doubtful("a.1.1", 3));
    let told = driver.question().evidence.get("verification").and_then(Value::as_str).map(str::to_owned);
    assert!(told.as_ref().is_some_and(|told| told.contains("EXPRESSION_FAILED")), "{told:?}");
}

#[test]
fn a_result_that_comes_after_all_does_not_stand_for_the_verification() {
    let mut driver = doubted([verified("a")]);
    assert_eq!(feed(&mut driver, "a.1.1 exit 0"), "a.1.1 late = a.1.2 live");
    assert_eq!(feed(&mut driver, "a.1.2 exit 1"), "a.1.2 DID_NOT_HAPPEN, a.1.3 begins = a.1.3 live");
}

#[test]
fn the_history_of_the_run_tells_a_verification_from_the_rest() {
    let mut driver = doubted([verified("a")]);
    driver.exit("a.1.2", 0);
    let envelope = driver.run.envelope();
    let told = envelope.processing_history.iter().map(|record| {
        let verifies = record.unknown.get("verifies").and_then(Value::as_str);
        (record.unknown.get("attempt").and_then(Value::as_str), verifies)
    });
    assert_eq!(told.collect::<Vec<_>>(), [(Some("a.1.1"), None), (Some("a.1.2"), Some("a.1.1"))]);
}

#[test]
fn what_a_verification_left_that_says_nothing_stands_for_nothing() {
    for code in [1, 7] {
        let mut driver = doubted([verified("a")]);
        driver.ok(Input::Cancel { by: crate::driver::person("bob") });
        let left = reported("a.1.2", r#""data":{"id":7}"#);
        driver.ok(settled(AttemptResult { outcome: Outcome::Exited { code }, ..left }));
        assert_eq!(driver.handoff("a.1").duration_ms, 0);
        let envelope = driver.run.envelope();
        let output = envelope.outputs.get("a").unwrap();
        assert_eq!(output.get("data"), Some(&Value::Null), "{code}");
    }
}
