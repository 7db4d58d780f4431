//! Each event of a followed run arrives once, also when the server is killed in between and comes back at the same address.

use super::served;
use crate::{
    serve::{APPROVAL, client::Served},
    stage::{Stage, wait_until},
};
use rustix::process::Signal;
use serde_json::Value;

const TWO: &str = "
flow: two
steps:
  - { id: a, run: 'echo early; while [ ! -e go ]; do sleep 0.02; done; echo late' }
  - { id: b, run: 'while [ ! -e on ]; do sleep 0.02; done; echo last' }
";

#[test]
fn a_server_that_is_killed_and_comes_back_costs_no_event_and_repeats_none() {
    let stage = Stage::with_flow(TWO);
    let (first, afar) = served(&stage);
    let address = first.address();
    let mut following = afar.start(&["--json", "run", "flow.yaml"]);
    let mut heard = Vec::new();
    while !heard.last().is_some_and(|line: &String| line.contains("attempt_started")) {
        heard.push(following.line());
    }
    first.process.kill();
    stage.write("go", "");
    let second = Served::on(&stage, &address);
    while !heard.last().is_some_and(|line| line.contains("\"attempt\":\"b.1.1\"")) {
        heard.push(following.line());
    }
    second.process.kill();
    let _third = Served::on(&stage, &address);
    stage.write("on", "");
    let done = following.done();
    assert_eq!(done.code, Some(0), "{done:?}");
    heard.extend(done.out.lines().map(str::to_owned));
    let end: Value = serde_json::from_str(&heard.pop().unwrap()).unwrap();
    assert_eq!(end["result"]["status"], "succeeded");
    let events = stage.expect(0, &["show", "--events"]).out;
    assert_eq!(heard, events.lines().collect::<Vec<_>>());
}

#[test]
fn a_server_that_stops_for_good_is_given_up_and_the_run_is_not() {
    let stage = Stage::with_flow(TWO);
    let (served, afar) = served(&stage);
    let address = served.address();
    let mut following = afar.start(&["--json", "run", "flow.yaml"]);
    while !following.line().contains("attempt_started") {}
    following.signal(Signal::STOP);
    served.process.kill();
    following.signal(Signal::CONT);
    // While it waits for the server it can be interrupted as ever.
    following.signal(Signal::INT);
    assert_eq!(following.done().code, Some(7));
    stage.write("go", "");
    stage.write("on", "");
    let _again = Served::on(&stage, &address);
    afar.expect(0, &["resume", &stage.run_id()]);
}

#[test]
fn all_runs_are_followed_across_a_restart_with_each_event_once() {
    let stage = Stage::with_flow(TWO);
    let (first, afar) = served(&stage);
    let address = first.address();
    afar.expect(0, &["run", "flow.yaml", "--detach"]);
    let run = stage.run_id();
    let mut following = afar.start(&["--json", "runs", "--follow"]);
    let mut heard: Vec<Value> = Vec::new();
    let mut until = |what: &str, heard: &mut Vec<Value>| {
        loop {
            let line = following.line();
            heard.push(serde_json::from_str(&line).unwrap());
            if line.contains(what) {
                break;
            }
        }
    };
    until("attempt_started", &mut heard);
    first.process.kill();
    let _second = Served::on(&stage, &address);
    stage.write("go", "");
    stage.write("on", "");
    until("run_ended", &mut heard);
    assert!(heard.iter().all(|line| line["run"] == run.as_str()), "{heard:?}");
    let records: Vec<Value> = heard.iter().map(|line| line["record"].clone()).collect();
    let events = stage.expect(0, &["show", "--events"]).out;
    let events: Vec<Value> = events.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(records, events);
    // A run that begins meanwhile is followed from its first event on.
    heard.clear();
    afar.expect(0, &["run", "flow.yaml"]);
    until("run_ended", &mut heard);
    assert!(
        heard[0]["record"]["event"]["type"] == "run_started" && heard[0]["run"] != run.as_str(),
        "{heard:?}"
    );
    following.signal(Signal::INT);
    assert_eq!(following.done().code, Some(7));
}

#[test]
fn output_is_followed_as_it_comes_until_the_run_rests() {
    let stage = Stage::with_flow(TWO);
    let (_served, afar) = served(&stage);
    afar.expect(0, &["run", "flow.yaml", "--detach"]);
    let mut following = afar.start(&["logs", "-f"]);
    assert_eq!(following.line(), "a.1.1 | early");
    stage.write("go", "");
    assert_eq!(following.line(), "a.1.1 | late");
    stage.write("on", "");
    let done = following.done();
    assert_eq!((done.code, done.out.as_str()), (Some(0), "b.1.1 | last\n"));
}

#[test]
fn the_inbox_is_followed_across_a_restart_with_each_question_once() {
    let stage = Stage::with_flow(APPROVAL);
    let (first, afar) = served(&stage);
    let address = first.address();
    afar.expect(3, &["run", "flow.yaml"]);
    let mut following = afar.start(&["--json", "inbox", "-f"]);
    let state = |line: &str| {
        let line: Value = serde_json::from_str(line).unwrap();
        (line["question"].as_str().unwrap().to_owned(), line["state"].as_str().unwrap().to_owned())
    };
    let (question, open) = state(&following.line());
    assert_eq!(open, "open");
    first.process.kill();
    let _second = Served::on(&stage, &address);
    afar.start(&["approve"]).done();
    assert_eq!(state(&following.line()), (question, "answered".to_owned()));
    afar.start(&["run", "flow.yaml"]).done();
    assert_eq!(state(&following.line()).1, "open");
    afar.start(&["deny"]).done();
    assert_eq!(state(&following.line()).1, "answered");
    following.signal(Signal::INT);
    assert_eq!(following.done().code, Some(7));
}

#[test]
fn a_question_expires_by_the_clock_of_the_server_without_a_client() {
    let flow = "flow: one\nsteps:\n  - id: a\n    ask: { message: 'Publish it?', expires_in: 1s }\n  - { id: b, run: echo b }\n";
    let stage = Stage::with_flow(flow);
    let (_served, afar) = served(&stage);
    let done = afar.envoi(&["run", "flow.yaml"]);
    // On a slow machine its hour has come before the command is done with it.
    assert!(matches!(done.code, Some(3 | 1)), "{done:?}");
    wait_until("the hour", || stage.json(&["--json", "show"])["status"] == "failed");
    let why = afar.expect(0, &["why"]);
    assert!(why.out.contains("nobody answered in time"), "{why:?}");
}
