//! `agent`: an agent program, whose session is committed before it starts and goes on until its work is done.

use crate::{
    driver::{Driver, attempt, doubtful, exited, person, reported, settled},
    flows::{With as _, critic, flow, graph, step, step_id},
};
use envoi_contract::json::Value;
use envoi_kernel::{
    Flow, Fork, Input,
    event::{Choice, Command, Event, ProgramCall},
    flow::{
        AskCalls, Expression, ForEach, InDoubtPolicy, OnThrottled, ProgramPlan, Retry, Step, StepKind,
        Template,
    },
    ids::{AttemptId, RunId},
    input::AttemptResult,
    ledger::Cost,
};
use std::sync::Arc;

pub(crate) fn program(name: &str, label: Option<&str>) -> Step {
    let plan = ProgramPlan {
        program: "claude".to_owned(),
        account: "claude".to_owned(),
        by_bridge: false,
        on_throttled: OnThrottled::default(),
        prompt: Template("do it".to_owned()),
        session: label.map(str::to_owned),
        may: "edit".to_owned(),
        model: None,
        turns: None,
        ask: AskCalls::default(),
        idle_ms: 900_000,
        denials: 0,
        args: Vec::new(),
        takes_session_id: true,
        login_variables: &["KEY", "PATH"],
    };
    Step::new(step_id(name), StepKind::Agent(Box::new(plan)))
}

/// A step whose program reports the id of its session.
fn reporting(name: &str) -> Step {
    program(name, Some(name)).with(|step| match &mut step.kind {
        StepKind::Agent(plan) => plan.takes_session_id = false,
        _ => panic!("no program"),
    })
}

fn twice(step: &mut Step) {
    step.retry = Retry { attempts: 3, backoff_min_ms: 1, backoff_max_ms: 1 };
}

pub(crate) fn call<'d>(driver: &'d Driver, id: &str) -> &'d ProgramCall {
    match &driver.begun(id).command {
        Command::Agent(call) => call,
        other => panic!("{other:?}"),
    }
}

pub(crate) fn session(driver: &Driver, id: &str) -> (Option<String>, bool) {
    let call = call(driver, id);
    (call.session.clone(), call.resumes)
}

/// A report that names a session with these sums.
fn ended(id: &str, session: &str, cost: &str, ok: bool) -> AttemptResult {
    let error = if ok { "" } else { r#""error":{"code":"AGENT_OVERLOADED","message":"busy"},"# };
    let members = format!(
        r#""ok":{ok},{error}"agent":{{"session":{{"id":"{session}","tokens_out":20,"cost_usd":"{cost}"}}}}"#
    );
    let result = reported(id, &members);
    if ok { result } else { AttemptResult { outcome: exited(id, 1).outcome, ..result } }
}

#[test]
fn the_id_of_a_session_is_committed_with_the_start_and_every_further_attempt_resumes_it() {
    let mut driver = Driver::started(&flow([program("a", Some("a")).with(twice)]));
    let (id, resumes) = session(&driver, "a.1.1");
    let id = id.unwrap();
    assert!(!resumes);
    assert_eq!(id.split('-').map(str::len).collect::<Vec<_>>(), [8, 4, 4, 4, 12], "{id}");
    driver.restart();
    driver.ok(settled(ended("a.1.1", &id, "0.5", false))).timer_due();
    let second = call(&driver, "a.1.2");
    assert_eq!((second.session.as_ref(), second.resumes), (Some(&id), true));
    assert_eq!((second.before.cost, second.before.tokens_out), (Cost::parse("0.5"), Some(20)));
    assert_eq!(second.failure.as_deref(), Some("AGENT_OVERLOADED: busy"));
    driver.restart();
    // An attempt without a report has still used its session.
    driver.exit("a.1.2", 137).timer_due();
    assert_eq!(session(&driver, "a.1.3"), (Some(id), true));
    assert_eq!(call(&driver, "a.1.3").before.cost, Cost::parse("0.5"));
}

#[test]
fn a_loop_goes_on_with_the_session_and_another_step_of_the_label_too() {
    let mut driver =
        Driver::started(&flow([program("a", Some("work")), program("b", Some("work")), critic("c", "a", 2)]));
    let (id, _) = session(&driver, "a.1.1");
    driver.exit("a.1.1", 0);
    assert_eq!(session(&driver, "b.1.1"), (id.clone(), true));
    driver.exit("b.1.1", 0).exit("c.1.1", 1);
    assert_eq!(session(&driver, "a.2.1"), (id, true));
    assert_eq!(driver.begun("a.2.1").feedback, Some(attempt("c.1.1")));
}

#[test]
fn what_was_refused_in_a_success_is_a_warning_of_the_attempt() {
    let refused = r#""agent":{"denied":["Bash make","WebFetch https://a.example"]}"#;
    let warning =
        "2 calls of a tool were refused (`denials` allows 3): Bash make; WebFetch https://a.example";
    let error = r#""error":{"code":"AGENT_DENIED","message":"a tool was refused"}"#;
    for (agent, members, code, expected) in [
        (true, format!("\"ok\":true,{refused}"), 0, vec![warning]),
        (true, r#""ok":true,"agent":{}"#.to_owned(), 0, vec![]),
        // The error of a failure names them.
        (true, format!("\"ok\":false,{error},{refused}"), 1, vec![]),
        // The same member in the report of a command has no meaning.
        (false, format!("\"ok\":true,{refused}"), 0, vec![]),
    ] {
        let allowing = program("a", Some("a")).with(|step| match &mut step.kind {
            StepKind::Agent(plan) => plan.denials = 3,
            _ => panic!("no program"),
        });
        let mut driver = Driver::started(&flow([if agent { allowing } else { step("a") }]));
        if agent {
            assert_eq!(call(&driver, "a.1.1").denials, 3);
        }
        driver.ok(settled(AttemptResult {
            outcome: exited("a.1.1", code).outcome,
            ..reported("a.1.1", &members)
        }));
        let settled = driver.records.iter().find_map(|record| match &record.event {
            Event::AttemptSettled(settled) => Some(settled),
            _ => None,
        });
        assert_eq!(settled.unwrap().warnings, expected, "{members}");
    }
}

#[test]
fn a_fresh_session_is_new_in_each_attempt() {
    let mut driver = Driver::started(&flow([program("a", None).with(twice)]));
    let (first, _) = session(&driver, "a.1.1");
    driver.exit("a.1.1", 1).timer_due();
    let (second, resumes) = session(&driver, "a.1.2");
    assert!(first.is_some() && second.is_some() && first != second && !resumes);
}

#[test]
fn a_session_that_the_program_names_is_resumed_once_it_is_known() {
    let mut driver = Driver::started(&flow([reporting("a").with(twice)]));
    assert_eq!(session(&driver, "a.1.1"), (None, false));
    driver.exit("a.1.1", 1).timer_due();
    assert_eq!(session(&driver, "a.1.2"), (None, false), "it has named none");
    driver.ok(settled(ended("a.1.2", "thread-7", "0.1", false))).timer_due();
    assert_eq!(session(&driver, "a.1.3"), (Some("thread-7".to_owned()), true));
}

#[test]
fn after_a_doubt_a_person_is_asked_and_the_session_goes_on_with_a_remark() {
    let mut driver = Driver::started(&flow([reporting("a")]));
    let Input::InDoubt { attempt, evidence } = doubtful("a.1.1", 5) else { panic!("no doubt") };
    let mut members = evidence.as_object().unwrap().clone();
    members.insert("session", Value::parse_str(r#"{"id":"thread-7"}"#).unwrap());
    driver.ok(Input::InDoubt { attempt, evidence: Value::Object(members) });
    assert!(driver.run.wants().attempts.is_empty(), "nothing is started before the answer");
    let answer = driver.answer(Choice::Rerun, "carl");
    driver.say(answer).unwrap();
    assert_eq!(session(&driver, "a.1.2"), (Some("thread-7".to_owned()), true));
    assert!(call(&driver, "a.1.2").cut_off);
}

#[test]
fn with_continue_the_session_goes_on_without_a_question() {
    let mut driver =
        Driver::started(&flow(
            [program("a", Some("a")).with(|step| step.on_in_doubt = InDoubtPolicy::Rerun)],
        ));
    let (id, _) = session(&driver, "a.1.1");
    driver.ok(doubtful("a.1.1", 5));
    assert_eq!(session(&driver, "a.1.2"), (id, true));
    assert!(call(&driver, "a.1.2").cut_off && !call(&driver, "a.1.1").cut_off);
}

#[test]
fn one_session_is_never_live_twice() {
    let mut driver = Driver::started(&graph([
        program("a", Some("work")),
        program("b", Some("work")),
        program("c", Some("other")),
        step("d"),
    ]));
    for _ in 0..3 {
        // Refused when nothing is ready that may start.
        drop(driver.feed(Input::SlotFree));
    }
    let live =
        |driver: &Driver| driver.run.wants().attempts.iter().map(AttemptId::to_string).collect::<Vec<_>>();
    assert_eq!(live(&driver), ["a.1.1", "c.1.1", "d.1.1"]);
    assert!(driver.run.wants().ready.is_empty(), "what waits for a session does not wait for a slot");
    driver.restart();
    driver.exit("a.1.1", 0);
    assert_eq!(session(&driver, "b.1.1"), (session(&driver, "a.1.1").0, true));
}

#[test]
fn each_item_has_a_session_of_its_own() {
    let each = |step: &mut Step| {
        step.for_each = Some(ForEach { items: Expression("[1, 2]".to_owned()), max_parallel: None });
    };
    let mut driver = Driver::started(&flow([program("a", Some("a")).with(each)]));
    driver.feed(Input::SlotFree).unwrap();
    let (one, two) = (session(&driver, "0.a.1.1").0, session(&driver, "1.a.1.1").0);
    assert!(one.is_some() && two.is_some() && one != two);
}

#[test]
fn failures_that_do_not_pass_are_not_tried_again() {
    for (code, again) in [
        ("AGENT_AUTH", false),
        ("AGENT_BILLING", false),
        ("AGENT_BUDGET", false),
        ("AGENT_DENIED", false),
        ("AGENT_MODEL", false),
        ("AGENT_NOT_INSTALLED", false),
        ("AGENT_REFUSED", false),
        ("AGENT_TOO_LONG", false),
        ("AGENT_TURNS", false),
        ("AGENT_CRASHED", true),
        ("AGENT_IDLE", true),
        ("AGENT_NETWORK", true),
        ("AGENT_OVERLOADED", true),
        ("AGENT_SCHEMA", true),
    ] {
        let mut driver = Driver::started(&flow([program("a", Some("a")).with(twice)]));
        let members = format!(r#""ok":false,"error":{{"code":"{code}","message":"m"}}"#);
        let failed = AttemptResult { outcome: exited("a.1.1", 1).outcome, ..reported("a.1.1", &members) };
        driver.ok(settled(failed));
        assert_eq!(!driver.run.wants().timers.is_empty(), again, "{code}");
    }
}

#[test]
fn a_fork_begins_with_no_session_of_the_old_run() {
    let pinned: Arc<Flow> = flow([program("a", Some("a")), step("b")]);
    let mut old = Driver::started(&pinned);
    let (id, _) = session(&old, "a.1.1");
    old.exit("a.1.1", 0).exit("b.1.1", 1);
    let new = forked(&pinned, &old, "a");
    let (anew, resumes) = session(&new, "a.1.1");
    assert!(!resumes && anew.is_some() && anew != id, "{anew:?}");
}

/// A fork of a run that is over.
fn forked(pinned: &Arc<Flow>, old: &Driver, from: &str) -> Driver {
    let fork = Fork {
        run: RunId::new("run_0fork").unwrap(),
        run_base: "/fork".to_owned(),
        workspace: "/work".to_owned(),
        shared: false,
        yes_to: Vec::new(),
        by: person("ada"),
        why: None,
        from: Some(step_id(from)),
        lived: old.records.clone(),
        family: old.run.known_share(),
        correct: None,
        isolated: None,
        files: None,
    };
    let mut new = Driver::new(pinned);
    new.feed(Input::Fork(Box::new(fork))).unwrap();
    new
}

#[test]
fn a_fork_begins_its_session_with_what_the_old_one_had_come_to_where_the_run_is_cut() {
    let told = |id: &str, session: &str, last: &str| {
        settled(reported(
            id,
            &format!(r#""agent":{{"session":{{"id":"{session}","last":"{last}","cost_usd":"0.5"}}}}"#),
        ))
    };
    let pinned: Arc<Flow> =
        flow([program("a", Some("work")), program("b", Some("work")).with(twice), step("c")]);
    let mut old = Driver::started(&pinned);
    let id = session(&old, "a.1.1").0.unwrap();
    old.ok(told("a.1.1", &id, "m1")).ok(told("b.1.1", &id, "m2")).exit("c.1.1", 1);
    let mut new = forked(&pinned, &old, "b");
    let first = call(&new, "b.1.1").clone();
    let own = first.session.clone().unwrap();
    assert!(own != id && !first.resumes);
    assert_eq!(
        first.fork_of.as_ref().map(|fork| (fork.id.as_str(), fork.last.as_str())),
        Some((id.as_str(), "m1"))
    );
    assert!(first.before.is_empty(), "what the old session has cost was charged there");
    new.restart();
    // An attempt that was interrupted may never have begun.
    new.exit("b.1.1", 137).timer_due();
    let second = call(&new, "b.1.2").clone();
    assert_eq!((second.session.as_ref(), second.resumes), (Some(&own), true));
    assert_eq!(second.fork_of, first.fork_of);
    new.restart();
    new.ok(told("b.1.2", &own, "m3")).exit("c.1.1", 1);
    let newest = forked(&pinned, &new, "c");
    assert!(newest.run.wants().attempts.len() == 1);
    let again = forked(&pinned, &new, "b");
    assert_eq!(
        call(&again, "b.1.1").fork_of,
        first.fork_of,
        "of the first one, which the second one has not left there"
    );
}

#[test]
fn a_program_that_was_ended_without_a_report_goes_on_with_the_session_that_it_had_named() {
    for (named, resumes) in [("thread-1", true), ("--yolo", false), ("a b", false), ("", false)] {
        let mut driver = Driver::started(&flow([reporting("fix").with(twice)]));
        let killed = AttemptResult { session: Some(named.to_owned()), ..exited("fix.1.1", 137) };
        driver.ok(settled(killed)).timer_due();
        let expected = resumes.then(|| named.to_owned());
        assert_eq!(session(&driver, "fix.1.2"), (expected, resumes), "{named:?}");
    }
}
