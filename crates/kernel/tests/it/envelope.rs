//! The pipeline envelope, true after each commit.

use crate::{
    driver::{Driver, person, reported, settled},
    flows::{With, bounded, critic, flow, limits, step},
};
use envoi_contract::{envelope::Envelope, json::Value};
use envoi_kernel::{
    Input, event::Choice, flow::Template, ids::AttemptId, input::Answer, requester::Requester,
};

/// The members that change, on one line.
fn shown(envelope: &Envelope) -> String {
    let list = |names: Vec<&str>| names.join("+");
    let attempts = envelope.processing_history.iter().map(|record| {
        let dict = record.to_value();
        format!("{}:{}", record.agent, dict.get("status").and_then(Value::as_str).unwrap_or_default())
    });
    format!(
        "at {} | active {} | done {} | failed {} | i{} h{} c{} | {} | errors {} | {}",
        envelope.current_stage,
        list(envelope.active_stages.keys().collect()),
        list(envelope.completed_stage_set.keys().collect()),
        list(envelope.failed_stages.keys().collect()),
        envelope.iteration,
        envelope.agent_hop_count,
        envelope.llm_call_count,
        attempts.collect::<Vec<_>>().join(" "),
        envelope.errors.len(),
        if envelope.interrupt_pending {
            "asks"
        } else if envelope.terminated {
            "over"
        } else {
            "goes"
        },
    )
}

#[test]
fn the_envelope_follows_a_run_that_loops_fails_and_is_tried_again() {
    let flow = bounded(
        limits(&[("iterations", "5"), ("agent_hops", "9")]),
        [step("plan"), step("repair").tries(2), critic("critic", "repair", 1), step("report")],
    );
    let mut driver = Driver::started(&flow);
    let mut seen = vec![shown(&driver.run.envelope())];
    let mut see = |driver: &Driver| seen.push(shown(&driver.run.envelope()));
    driver.ok(settled(reported("plan.1.1", r#""metrics":{"llm_calls":2},"data":{"n":1.00}"#)));
    see(&driver);
    driver.exit("repair.1.1", 1);
    see(&driver);
    driver.timer_due();
    see(&driver);
    driver.exit("repair.1.2", 0);
    see(&driver);
    driver.exit("critic.1.1", 1);
    see(&driver);
    driver.exit("repair.2.1", 0);
    see(&driver);
    driver.exit("critic.2.1", 1);
    see(&driver);
    assert_eq!(
        driver.run.envelope().interrupt.as_ref().and_then(|open| open.id.clone()),
        driver.run.wants().interrupts.first().map(ToString::to_string)
    );
    let interrupt = driver.run.wants().interrupts[0].clone();
    let answer = Box::new(Answer::new(interrupt, Choice::Proceed, person("bob")));
    driver.ok(Input::Answer(answer));
    see(&driver);
    driver.exit("report.1.1", 1);
    see(&driver);
    driver.ok(Input::Reopen { by: person("bob"), why: None, request: None, elsewhere: Default::default() });
    see(&driver);
    driver.exit("report.2.1", 0);
    see(&driver);
    let expected = [
        "at plan | active plan | done  | failed  | i0 h1 c0 | plan:running | errors 0 | goes",
        "at repair | active repair | done plan | failed  | i0 h2 c2 | plan:success repair:running | errors 0 | goes",
        "at repair | active repair | done plan | failed  | i0 h2 c2 | plan:success repair:error | errors 1 | goes",
        "at repair | active repair | done plan | failed  | i0 h3 c2 | plan:success repair:error repair:running | errors 1 | goes",
        "at critic | active critic | done plan+repair | failed  | i0 h4 c2 | plan:success repair:error repair:success critic:running | errors 1 | goes",
        "at repair | active repair | done plan | failed  | i1 h5 c2 | plan:success repair:error repair:success critic:success repair:running | errors 1 | goes",
        "at critic | active critic | done plan+repair | failed  | i1 h6 c2 | plan:success repair:error repair:success critic:success repair:success critic:running | errors 1 | goes",
        "at critic | active  | done plan+repair+critic | failed  | i1 h6 c2 | plan:success repair:error repair:success critic:success repair:success critic:success | errors 1 | asks",
        "at report | active report | done plan+repair+critic | failed  | i1 h7 c2 | plan:success repair:error repair:success critic:success repair:success critic:success report:running | errors 1 | goes",
        "at report | active  | done plan+repair+critic | failed report | i1 h7 c2 | plan:success repair:error repair:success critic:success repair:success critic:success report:error | errors 2 | over",
        "at report | active report | done plan+repair+critic | failed  | i1 h8 c2 | plan:success repair:error repair:success critic:success repair:success critic:success report:error report:running | errors 2 | goes",
        "at report | active  | done plan+repair+critic+report | failed  | i1 h8 c2 | plan:success repair:error repair:success critic:success repair:success critic:success report:error report:success | errors 2 | over",
    ];
    assert!(seen == expected, "it went\n{}", seen.join("\n"));
}

#[test]
fn what_does_not_change_stands_from_the_beginning() {
    let flow = bounded(limits(&[("iterations", "5")]), [step("a"), step("b")]);
    let driver = Driver::started_with(&flow, r#"{"n":1.00}"#);
    let envelope = driver.run.envelope();
    assert_eq!(envelope.stage_order, ["a", "b"]);
    assert_eq!(
        (envelope.max_iterations, envelope.max_agent_hops, envelope.max_llm_calls),
        (5, (1 << 53) - 1, (1 << 53) - 1)
    );
    assert_eq!((envelope.request_id.as_str(), envelope.user_id.as_str()), ("run_0demo", "ada"));
    assert_eq!(envelope.raw_input, r#"{"n":1.00}"#);
    assert_eq!(envelope.received_at.as_deref(), Some("2026-11-21T00:00:00.000Z"));
    assert_eq!(envelope.received_at, envelope.created_at);
    assert_eq!((envelope.terminal_reason.is_none(), envelope.completed_at.is_none()), (true, true));
}

#[test]
fn on_whose_behalf_a_run_was_started_stands_in_its_envelope_and_in_expressions() {
    let flow = flow([step("a").with(|step| {
        let text = "${{ run.user_id }} ${{ run.session_id }} ${{ run.metadata.team }} ${{ run.raw_input }}";
        step.env = vec![("WHO".to_owned(), Template(text.to_owned()))];
    })]);
    let mut driver = Driver::new(&flow);
    let Input::Start(mut start) = driver.start() else { panic!("it is a start") };
    start.requester = Requester {
        user_id: Some("u-7".to_owned()),
        session_id: Some("s-7".to_owned()),
        metadata: [("team".to_owned(), Value::from("press"))].into_iter().collect(),
        raw_input: Some("Publish it.".to_owned()),
    };
    driver.feed(Input::Start(start)).unwrap();
    let envelope = driver.run.envelope();
    assert_eq!((envelope.user_id.as_str(), envelope.session_id.as_str()), ("u-7", "s-7"));
    assert_eq!(envelope.raw_input, "Publish it.");
    let of = |name: &str| envelope.metadata.get(name).and_then(Value::as_str);
    assert_eq!((of("team"), of("run_id")), (Some("press"), Some("run_0demo")), "beside what Envoi writes");
    // The run's starter is the person who had the right to start it.
    assert_eq!(driver.run.started().unwrap().by, person("ada"));
    let attempt = driver.run.attempt(&AttemptId::parse("a.1.1").unwrap()).unwrap();
    assert_eq!(attempt.env, [("WHO".to_owned(), "u-7 s-7 press Publish it.".to_owned())]);
}

#[test]
fn outputs_are_those_of_the_last_visit() {
    let mut driver =
        Driver::started(&flow(
            [critic("poll", "poll", 3).with(|step| step.routing.status_from_exit.clear())],
        ));
    driver.ok(settled(reported("poll.1.1", r#""data":{"status":"OPEN","n":1}"#)));
    driver.ok(settled(reported("poll.2.1", r#""data":{"status":"VERIFIED","n":2.50}"#)));
    let output = driver.run.envelope().outputs.get("poll").map(Value::compact);
    assert_eq!(
        output.as_deref(),
        Some(r#"{"summary":"","data":{"status":"VERIFIED","n":2.50},"artifacts":{}}"#)
    );
}

#[test]
fn an_ended_run_says_why_and_when() {
    let hopeless = bounded(limits(&[("agent_hops", "1")]), [step("a"), step("b")]);
    for (flow, code, terminal, reason) in [
        (flow([step("a")]), 0, "completed", "Every step is done"),
        (flow([step("a")]), 1, "tool_failed_fatally", "Step `a` failed: TOOL_EXIT_NON_ZERO: exit code 1"),
        (hopeless, 0, "max_agent_hops_exceeded", "agent_hops 1 of 1 is used up"),
    ] {
        let mut driver = Driver::started(&flow);
        driver.now = driver.now.saturating_add_ms(5);
        driver.exit("a.1.1", code);
        let envelope = driver.run.envelope();
        let dict = envelope.to_state_dict();
        assert_eq!(dict.get("terminal_reason").and_then(Value::as_str), Some(terminal));
        assert_eq!(envelope.termination_reason.as_deref(), Some(reason));
        assert_eq!(envelope.completed_at.as_deref(), Some("2026-11-21T00:00:00.005Z"));
        driver
            .feed(Input::Reopen {
                by: person("bob"),
                why: None,
                request: None,
                elsewhere: Default::default(),
            })
            .ok();
    }
}

#[test]
fn history_has_one_record_an_attempt() {
    let mut driver = Driver::started(&flow([step("a").tries(2)]));
    driver.exit("a.1.1", 1).timer_due();
    let open = &driver.run.envelope().processing_history;
    let ids: Vec<_> =
        open.iter().map(|record| record.unknown.get("attempt").and_then(Value::as_str)).collect();
    assert_eq!(ids, [Some("a.1.1"), Some("a.1.2")]);
    assert_eq!(open[0].error.as_deref(), Some("TOOL_EXIT_NON_ZERO: exit code 1"));
    assert_eq!((open[0].duration_ms, open[1].completed_at.as_deref()), (10, None));
}

#[test]
fn counts_of_reports_that_are_too_much_together_stay_at_the_largest_that_the_envelope_may_have() {
    let most: u64 = (1 << 53) - 1;
    let mut driver = Driver::started(&flow([step("a"), step("b"), step("c")]));
    for id in ["a.1.1", "b.1.1"] {
        // The driver reads each envelope back.
        driver.ok(settled(reported(id, &format!(r#""metrics":{{"llm_calls":{most},"tokens_in":{most}}}"#))));
        assert_eq!(driver.run.envelope().llm_call_count, most);
        driver.restart();
    }
    assert_eq!(driver.run.ledger().llm_calls, 2 * most, "what was used is known in full");
}
