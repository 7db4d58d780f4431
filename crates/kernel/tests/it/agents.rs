//! `a2a`: another agent works, asks, fails; its questions are questions of the run.

use crate::{
    driver::{Driver, person, settled},
    flows::{With as _, agent, ask, bounded, flow, graph, limits, step, step_id},
    story::{agent_said, ends, feed, plays, stand},
};
use envoi_contract::{envelope::InterruptKind, json::Value};
use envoi_kernel::{
    Event, Flow, Fork, Input,
    event::{About, Call, Choice, Command},
    flow::{AgentPlan, Expression, ForEach, InDoubtPolicy, InnerInput, Join, Step, StepKind, Template},
    ids::RunId,
    input::{Answer, AttemptResult, Refusal},
};
use std::sync::Arc;

fn two() -> Arc<Flow> {
    flow([agent("a"), step("b")])
}

fn call<'d>(driver: &'d Driver, id: &str) -> &'d Call {
    match &driver.begun(id).command {
        Command::A2a(call) => call,
        other => panic!("{other:?}"),
    }
}

fn planned(change: impl FnOnce(&mut AgentPlan)) -> Step {
    agent("b").with(|step| match &mut step.kind {
        StepKind::A2a(plan) => change(plan),
        _ => panic!("no agent"),
    })
}

#[test]
fn a_question_of_the_agent_goes_up_and_its_answer_down() {
    let driver = plays(
        &two(),
        "> start
         started, a.1.1 calls 0.0
         = a.1.1 live
         > restart
         > a.1.1 asks Which one?
         a.1.1 ok, asks Agent of a.1
         = question [waiting 3]
         > restart
         > respond: the left one by carl
         answered respond, a.1.2 calls 0.1
         = a.1.2 live
         > restart
         > a.1.2 asks Sure?
         a.1.2 ok, asks Agent of a.1
         = question [waiting 3]
         > respond: yes without a slot
         answered respond
         = a.1 ready
         > restart
         > slot
         a.1.3 calls 0.2
         = a.1.3 live
         > a.1.3 says done
         a.1.3 ok, a.1 -> b, a.1 succeeded, b.1.1 begins
         = b.1.1 live
         > restart
         > b.1.1 exit 0
         b.1.1 ok, b.1 -> end, b.1 succeeded, over: completed
         = nothing [succeeded 0]
         ",
    );
    let asked = driver.asked();
    assert_eq!(call(&driver, "a.1.1").answer, None);
    assert_eq!(call(&driver, "a.1.2").answer.as_ref(), asked.first());
    assert_eq!(call(&driver, "a.1.3").answer.as_ref(), asked.get(1));
    assert_eq!(driver.begun("a.1.2").answer.as_ref(), asked.first());
    assert_eq!((driver.answered(0).text.as_str(), &driver.answered(0).data), ("the left one", &Value::Null));
    assert_eq!(driver.handoff("a.1").summary, "done");
    assert_eq!(driver.run.ledger().agent_hops, 4, "each message is a hop");
}

#[test]
fn the_question_is_the_agents_own_and_never_expires() {
    let mut driver = Driver::started(&two());
    feed(&mut driver, "a.1.1 asks Which one?");
    let raised = driver.question();
    assert_eq!((raised.about, raised.question.as_str()), (About::Agent, "Which one?"));
    assert_eq!((raised.kind(), raised.expires_at), (InterruptKind::Clarification, None));
    assert_eq!(raised.evidence.get("task").and_then(Value::as_str), Some("t"));
    assert_eq!(driver.run.accepts(raised), [Choice::Respond, Choice::Deny]);
    let blank = ends(&two(), &["start", "a.1.1 asks "]);
    assert_eq!(blank, "a.1.1 ok, asks Agent of a.1 = question [waiting 3]");
    let long = "x".repeat(70 * 1024);
    let mut driver = Driver::started(&two());
    feed(&mut driver, &format!("a.1.1 asks \u{e9}{long}"));
    assert!(driver.question().question.len() > 60 * 1024 && driver.question().question.len() <= 64 * 1024);
}

#[test]
fn what_an_answer_to_an_agent_may_be() {
    let asks = ["start", "a.1.1 asks Which?"];
    let then = |answer: &str| ends(&two(), &[&asks[..], &[answer]].concat());
    for (answer, outcome) in [
        ("respond: left", "answered respond, a.1.2 calls 0.1 = a.1.2 live"),
        ("deny", "answered deny, a.1.2 calls 0.1 no = a.1.2 live"),
        ("stop: never", "answered deny, a.1.2 calls 0.1 no = a.1.2 live"),
        ("respond", "refused: the answer is blank = question [waiting 3]"),
        ("respond:  ", "refused: the answer is blank = question [waiting 3]"),
        (
            "approve",
            "refused: `approve` is no answer to this question; it takes respond or deny = question [waiting 3]",
        ),
        (
            "again",
            "refused: `again` is no answer to this question; it takes respond or deny = question [waiting 3]",
        ),
    ] {
        assert_eq!(then(answer), outcome, "{answer}");
    }
}

#[test]
fn a_form_or_a_file_answers_an_agent_without_words() {
    let asked = || {
        let mut driver = Driver::started(&two());
        feed(&mut driver, "a.1.1 asks Which?");
        driver
    };
    let mut driver = asked();
    let form = Value::parse_str(r#"{"side":"left"}"#).unwrap();
    driver.say(Answer { data: Some(form.clone()), ..driver.answer(Choice::Respond, "carl") }).unwrap();
    assert_eq!(
        (driver.answered(0).text.as_str(), &driver.answered(0).data),
        ("[Answered by operator]", &form)
    );
    let mut driver = asked();
    let no = Answer { data: Some(form), ..driver.answer(Choice::Deny, "carl") };
    assert!(matches!(driver.say(no), Err(Refusal::Misfit { .. })), "a no has no form");
    let attachments = vec![crate::ask::file("plan.md")];
    driver.say(Answer { attachments, ..driver.answer(Choice::Respond, "carl") }).unwrap();
    assert_eq!(driver.answered(0).attachments.len(), 1);
}

#[test]
fn a_denial_is_passed_to_the_agent_and_ends_the_step() {
    let denied = "a.1 stops, a.1 failed, over: policy_violation at a = nothing [failed 1]";
    let asks = ["start", "a.1.1 asks May I?", "deny: never by carl", "a.1.2"];
    for (end, told) in [
        ("over", "AGENT_FAILED"),
        ("exit 1", "TOOL_EXIT_NON_ZERO"),
        ("exit 0", "ok"),
        ("asks Really not?", "ok"),
        ("unclear", "AGENT_FAILED"),
        ("timeout", "TOOL_TIMEOUT"),
    ] {
        let last = format!("a.1.2 {end}");
        let flow = flow([agent("a").tries(5), step("b")]);
        let lived = ends(&flow, &[&asks[..3], &[last.as_str()]].concat());
        assert_eq!(lived, format!("a.1.2 {told}, {denied}"), "{end}");
    }
    let mut driver = Driver::started(&two());
    for words in ["a.1.1 asks May I?", "deny by carl", "a.1.2 over"] {
        feed(&mut driver, words);
        driver.restart();
    }
    let error = driver.handoff("a.1").error.clone();
    assert_eq!(error.as_deref(), Some("DENIED: carl denied what the agent asked for"));
    assert_eq!(feed(&mut driver, "reopen"), "reopened at a, a.2.1 calls 0.0 = a.2.1 live");
    driver.restart();
}

#[test]
fn a_denial_with_no_hop_left_ends_the_step_all_the_same() {
    let tight = |ask| bounded(limits(&[("agent_hops", "1"), ("on_reached", ask)]), [agent("a")]);
    let lived = ends(&tight("ask"), &["start", "a.1.1 asks May I?", "deny"]);
    assert_eq!(
        lived,
        "answered deny, a.1 stops, a.1 failed, over: policy_violation at a = nothing [failed 1]"
    );
    let lived = ends(&tight("ask"), &["start", "a.1.1 asks Which?", "respond: left", "raise agent_hops 1"]);
    assert_eq!(lived, "answered raise, a.1.2 calls 0.1 = a.1.2 live", "the answer is not lost at a bound");
}

#[test]
fn questions_without_end_come_to_the_bound_of_all_hops() {
    let flow = bounded(limits(&[("agent_hops", "3")]), [agent("a")]);
    let mut inputs = vec!["start".to_owned()];
    for attempt in 1..=3 {
        inputs.push(format!("a.1.{attempt} asks And now?"));
        inputs.push("respond: this".to_owned());
    }
    let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
    let over = "answered respond, over: max_agent_hops_exceeded at a = nothing [exhausted 4]";
    assert_eq!(ends(&flow, &inputs), over);
}

#[test]
fn another_try_of_a_failed_task_is_another_task() {
    let flow = flow([agent("a").tries(3)]);
    plays(
        &flow,
        "> start
         started, a.1.1 calls 0.0
         = a.1.1 live
         > a.1.1 exit 1
         a.1.1 TOOL_EXIT_NON_ZERO, timer for a.1
         = timer
         > due
         timer fires, a.1.2 calls 0.0
         = a.1.2 live
         > a.1.2 asks Which?
         a.1.2 ok, asks Agent of a.1
         = question [waiting 3]
         > respond: left
         answered respond, a.1.3 calls 0.1
         = a.1.3 live
         > a.1.3 over
         a.1.3 AGENT_FAILED, timer for a.1
         = timer
         > restart
         > due
         timer fires, a.1.4 calls 1.0
         = a.1.4 live
         > a.1.4 over
         a.1.4 AGENT_FAILED, a.1 stops, a.1 failed, over: tool_failed_fatally at a
         = nothing [failed 1]
         ",
    );
    let failed = ends(&two(), &["start", "a.1.1 over"]);
    assert_eq!(
        failed,
        "a.1.1 AGENT_FAILED, a.1 stops, a.1 failed, over: tool_failed_fatally at a = nothing [failed 1]"
    );
}

#[test]
fn an_answer_that_could_not_be_brought_is_brought_by_the_next_try() {
    let flow = flow([agent("a").tries(3)]);
    let asked = ["start", "a.1.1 asks Which?", "respond: left", "a.1.2 exit 1", "due"];
    assert_eq!(ends(&flow, &asked), "timer fires, a.1.3 calls 0.1 = a.1.3 live");
}

#[test]
fn doubt_about_an_attempt_is_cleared_by_the_next_one() {
    let flow = flow([agent("a").in_doubt(InDoubtPolicy::Rerun)]);
    let doubt = ["start", "a.1.1 doubt", "a.1.2 asks Which?", "respond: left", "a.1.3 doubt"];
    assert_eq!(ends(&flow, &doubt[..2]), "a.1.1 IN_DOUBT, a.1.2 calls 0.0 = a.1.2 live");
    assert_eq!(ends(&flow, &doubt), "a.1.3 IN_DOUBT, a.1.4 calls 0.1 = a.1.4 live", "with its answer");
}

#[test]
fn if_it_is_unknown_whether_the_agent_took_a_message_a_person_decides() {
    let flow = flow([agent("a").tries(2).in_doubt(InDoubtPolicy::Rerun)]);
    plays(
        &flow,
        "> start
         started, a.1.1 calls 0.0
         = a.1.1 live
         > a.1.1 unclear
         a.1.1 AGENT_FAILED, asks InDoubt of a.1
         = question [waiting 5]
         > restart
         > rerun
         answered rerun, a.1.2 calls 0.0 again
         = a.1.2 live
         > restart
         > a.1.2 doubt
         a.1.2 IN_DOUBT, a.1.3 calls 0.0
         = a.1.3 live
         > a.1.3 unclear
         a.1.3 AGENT_FAILED, asks InDoubt of a.1
         = question [waiting 5]
         > fail
         answered fail, a.1 stops, a.1 failed, over: tool_failed_fatally at a
         = nothing [failed 1]
         ",
    );
    let flow = crate::flows::flow([agent("a").in_doubt(InDoubtPolicy::Fail)]);
    let failed = ends(&flow, &["start", "a.1.1 unclear"]);
    assert_eq!(
        failed,
        "a.1.1 AGENT_FAILED, a.1 stops, a.1 failed, over: tool_failed_fatally at a = nothing [failed 1]"
    );
}

#[test]
fn doubt_about_what_was_sent_is_no_try() {
    let flow = flow([agent("a").tries(2)]);
    let inputs = ["start", "a.1.1 unclear", "rerun", "a.1.2 exit 1"];
    assert_eq!(ends(&flow, &inputs), "a.1.2 TOOL_EXIT_NON_ZERO, timer for a.1 = timer");
}

#[test]
fn the_task_of_an_agent_is_waited_for_until_it_is_over_or_not_wanted() {
    let tried = flow([agent("a").with(|step| step.retry.attempts = 3), step("b")]);
    for (words, waited_for) in [
        (&["a.1.1 asks Which?"][..], "a.1.1"),
        (&["a.1.1 asks Which?", "respond: left without a slot"], "a.1.1"),
        (&["a.1.1 asks Which?", "respond: left"], "a.1.2"),
        (&["a.1.1 unclear"], "a.1.1"),
        (&["a.1.1 doubt"], "a.1.1"),
        // The agent was away, and its task may go on; of one that is over another try begins another one.
        (&["a.1.1 exit 1"], "a.1.1"),
        (&["a.1.1 over"], ""),
        (&["a.1.1 says done"], ""),
        (&["a.1.1 unclear", "fail"], ""),
        (&["cancel"], ""),
        (&["a.1.1 asks Which?", "cancel"], ""),
        (&["a.1.1 unclear", "cancel"], ""),
        (&["a.1.1 exit 1", "cancel"], ""),
    ] {
        let mut driver = Driver::started(&tried);
        for word in words {
            let turn = feed(&mut driver, word);
            assert!(!turn.contains("refused"), "{words:?}: {turn}");
        }
        let talks: Vec<String> = driver.run.talks().map(|started| started.attempt.to_string()).collect();
        assert_eq!(talks.join(" "), waited_for, "{words:?}");
    }
}

#[test]
fn an_attempt_leaves_its_agent_alone_unless_the_agent_is_done_or_cancelled() {
    for (words, leaves) in [
        (&["a.1.1 asks Which?"][..], true),
        (&["a.1.1 unclear"], true),
        (&["a.1.1 doubt"], true),
        (&["a.1.1 over"], false),
        (&["a.1.1 says done"], false),
        (&["a.1.1 exit 1"], false),
        (&["cancel", "a.1.1 cancelled"], false),
        (&["cancel", "a.1.1 asks Which?"], true),
    ] {
        let mut driver = Driver::started(&two());
        words.iter().for_each(|word| drop(feed(&mut driver, word)));
        let settled = driver.records.iter().rev().find_map(|record| match &record.event {
            Event::AttemptSettled(settled) => Some(settled),
            _ => None,
        });
        assert_eq!(settled.unwrap().leaves_a_talk(), leaves, "{words:?}");
    }
}

#[test]
fn a_run_that_is_cancelled_asks_nothing_for_an_agent() {
    let cancelled = "over: user_cancelled at a = nothing [cancelled 130]";
    assert_eq!(
        ends(&two(), &["start", "a.1.1 asks Which?", "cancel"]),
        format!("cancel by bob, question void, {cancelled}")
    );
    assert_eq!(
        ends(&two(), &["start", "cancel", "a.1.1 asks Which?"]),
        format!("a.1.1 ok, a.1 stops, a.1 failed, {cancelled}")
    );
    assert_eq!(
        ends(&two(), &["start", "cancel", "a.1.1 cancelled"]),
        format!("a.1.1 TOOL_CANCELLED, a.1 stops, a.1 failed, {cancelled}")
    );
    assert_eq!(
        ends(&two(), &["start", "cancel", "a.1.1 unclear"]),
        format!("a.1.1 AGENT_FAILED, a.1 stops, a.1 failed, {cancelled}")
    );
    assert_eq!(
        ends(&two(), &["start", "a.1.1 asks Which?", "cancel", "#1 respond: left"]),
        "refused: the run is over (cancelled) = nothing [cancelled 130]"
    );
}

#[test]
fn other_branches_go_on_while_an_agent_waits_for_its_answer() {
    let after = |step: Step, needs: &[&str]| {
        step.with(|step| step.needs = needs.iter().map(|need| step_id(need)).collect())
    };
    let flow = graph([agent("a"), agent("b"), after(step("c"), &["a", "b"])]);
    let driver = plays(
        &flow,
        "> start
         started, a entered, b entered, a.1.1 calls 0.0
         = a.1.1 live, b.1 ready
         > slot
         b.1.1 calls 0.0
         = a.1.1 live, b.1.1 live
         > a.1.1 asks Which?
         a.1.1 ok, asks Agent of a.1
         = b.1.1 live, question
         > b.1.1 asks Where?
         b.1.1 ok, asks Agent of b.1
         = question, question [waiting 3]
         > #2 respond: here
         answered respond, b.1.2 calls 0.1
         = b.1.2 live, question
         > restart
         > #1 respond: this
         answered respond, a.1.2 calls 0.1
         = a.1.2 live, b.1.2 live
         > b.1.2 exit 1
         b.1.2 TOOL_EXIT_NON_ZERO, b.1 is failed, b.1 failed
         = a.1.2 live
         ",
    );
    let asked = driver.asked();
    let of = |id: &str| call(&driver, id).answer.clone();
    assert_eq!((of("a.1.2").as_ref(), of("b.1.2").as_ref()), (asked.first(), asked.get(1)), "each its own");
}

#[test]
fn a_branch_that_is_given_up_asks_no_more() {
    let race = |step: Step| {
        step.with(|step| {
            (step.needs, step.join) = (vec![step_id("a"), step_id("b")], Join::Any);
        })
    };
    let flow = graph([agent("a"), step("b"), race(step("c"))]);
    let inputs = ["start", "slot", "a.1.1 asks Which?", "b.1.1 exit 0"];
    let lived = ends(&flow, &inputs);
    assert!(lived.contains("question void, a.1 is skipped, a.1 skipped, c.1.1 begins"), "{lived}");
}

#[test]
fn each_item_has_an_agent_of_its_own() {
    let items = ForEach { items: Expression("['x','y']".to_owned()), max_parallel: None };
    let each = agent("a").with(|step| step.for_each = Some(items));
    let mut driver = Driver::started(&flow([each]));
    for words in ["slot", "0.a.1.1 asks Which?", "1.a.1.1 asks Where?", "#2 respond: here"] {
        feed(&mut driver, words);
        driver.restart();
    }
    assert_eq!(stand(&driver.run), "= 1.a.1.2 live, question");
    assert_eq!(call(&driver, "1.a.1.2").answer.as_ref(), driver.asked().get(1));
}

#[test]
fn a_fork_begins_a_task_of_its_own() {
    let mut source = Driver::started(&two());
    for words in ["a.1.1 asks Which?", "respond: left", "cancel", "a.1.2 cancelled"] {
        feed(&mut source, words);
    }
    let fork = Fork {
        run: RunId::new("run_1fork").unwrap(),
        run_base: "/base/fork".to_owned(),
        workspace: "/other".to_owned(),
        shared: false,
        yes_to: Vec::new(),
        by: person("bob"),
        why: None,
        from: Some(step_id("a")),
        lived: source.records.clone(),
        family: source.run.known_share(),
        correct: None,
        isolated: None,
        files: None,
    };
    let mut driver = Driver::new(source.run.flow());
    driver.feed(Input::Fork(Box::new(fork))).unwrap();
    driver.restart();
    let begun = driver.records.iter().rev().find_map(|record| match &record.event {
        Event::AttemptStarted(event) => Some(event),
        _ => None,
    });
    assert!(matches!(&begun.unwrap().command, Command::A2a(call) if call.turn == 0 && call.answer.is_none()));
}

#[test]
fn a_branch_beside_the_fork_forgets_the_task_of_the_old_run() {
    let after = |step: Step| step.with(|step| step.needs = vec![step_id("b")]);
    let flow = graph([agent("a"), step("b"), after(step("c"))]);
    let mut source = Driver::started(&flow);
    for words in ["slot", "a.1.1 asks Which?", "respond: left", "b.1.1 exit 0", "c.1.1 exit 1", "cancel"] {
        feed(&mut source, words);
    }
    feed(&mut source, "a.1.2 cancelled");
    let fork = Fork {
        run: RunId::new("run_1fork").unwrap(),
        run_base: "/base/fork".to_owned(),
        workspace: "/other".to_owned(),
        shared: false,
        yes_to: Vec::new(),
        by: person("bob"),
        why: None,
        from: Some(step_id("c")),
        lived: source.records.clone(),
        family: source.run.known_share(),
        correct: None,
        isolated: None,
        files: None,
    };
    let mut driver = Driver::new(source.run.flow());
    driver.feed(Input::Fork(Box::new(fork))).unwrap();
    assert_eq!(stand(&driver.run), "= a.1.3 live, c.1 ready");
    assert_eq!((call(&driver, "a.1.3").turn, &call(&driver, "a.1.3").answer), (0, &None));
}

#[test]
fn the_prompt_of_the_agent_is_filled_in() {
    let step = planned(|plan| {
        plan.message = Template("Look at ${{ steps.a.summary }}".to_owned());
        plan.url = Template("https://${{ inputs.host }}/a2a".to_owned());
        plan.tenant = Some(Template("t-${{ steps.a.status }}".to_owned()));
        plan.token = Some("TOKEN".to_owned());
        plan.data = vec![
            ("n".to_owned(), InnerInput::Value(Value::from(1_u64))),
            ("all".to_owned(), InnerInput::Expression(Expression("inputs".to_owned()))),
        ];
    });
    let mut driver = Driver::started_with(&flow([crate::flows::step("a"), step]), r#"{"host":"agent.test"}"#);
    feed(&mut driver, "a.1.1 says the mail");
    let call = call(&driver, "b.1.1");
    assert_eq!((call.url.as_str(), call.message.as_str()), ("https://agent.test/a2a", "Look at the mail"));
    assert_eq!((call.tenant.as_deref(), call.token.as_deref()), (Some("t-succeeded"), Some("TOKEN")));
    let data = call.data.as_ref().map(|data| data.compact());
    assert_eq!(data.as_deref(), Some(r#"{"n":1,"all":{"host":"agent.test"}}"#));
    driver.restart();

    let missing = planned(|plan| plan.message = Template("${{ steps.a.data.none }}".to_owned()));
    let lived = ends(&flow([crate::flows::step("a"), missing]), &["start", "a.1.1 exit 0"]);
    assert!(lived.contains("b.1 failed") && lived.contains("tool_failed_fatally"), "{lived}");
}

#[test]
fn only_a_step_that_talks_to_an_agent_can_ask_for_one() {
    let lived = ends(&flow([step("a")]), &["start", "a.1.1 asks Which?"]);
    assert_eq!(lived, "a.1.1 ok, a.1 -> end, a.1 succeeded, over: completed = nothing [succeeded 0]");
    let verified = flow([agent("a").verified_by("look")]);
    let lived = ends(&verified, &["start", "a.1.1 doubt", "a.1.2 asks Which?"]);
    assert_eq!(lived, "a.1.2 ok, a.1 -> end, a.1 succeeded, over: completed = nothing [succeeded 0]");
}

#[test]
fn what_an_agent_asks_need_not_be_what_the_step_is_to_leave() {
    let mut driver = Driver::started(&two());
    let asks = agent_said("a.1.1", true, r#""asks","question":"Which?""#);
    driver.ok(settled(AttemptResult { misfit: Some("no member `id`".to_owned()), ..asks }));
    assert_eq!(stand(&driver.run), "= question [waiting 3]");
}

#[test]
fn a_question_within_a_failure_is_none() {
    let failed = |members: &str| {
        let mut driver = Driver::started(&two());
        driver.ok(settled(crate::driver::reported("a.1.1", members)));
        stand(&driver.run)
    };
    assert_eq!(failed(r#""ok":false,"agent":{"said":"asks","question":"Which?"}"#), "= nothing [failed 1]");
    assert_eq!(failed(r#""ok":true,"agent":{"said":"over"}"#), "= b.1.1 live");
    assert_eq!(failed(r#""ok":true,"agent":{"said":"whatever"}"#), "= b.1.1 live");
}

#[test]
fn a_question_beside_that_of_a_step_is_answered_for_its_own_step() {
    let flow = graph([agent("a"), ask("b")]);
    let lived = ends(&flow, &["start", "a.1.1 asks Which?", "#1 approve", "#2 respond: left"]);
    assert!(lived.contains("a.1.2 calls 0.1"), "{lived}");
}
