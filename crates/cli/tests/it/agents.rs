//! A step that another agent does: sent once, followed, asked, answered and cancelled, with kills of any process meanwhile.

#[path = "../../../agent/tests/agent/fake.rs"]
#[allow(dead_code, reason = "the tests of crate `agent` need other parts of it")]
mod fake;

use crate::stage::{Process, Stage, lives, signal, text, wait_until};
use fake::{
    Act::{Asks, Completes, Fails, HandsOver, Works},
    Agent,
    Line::{BreaksBefore, Good, Hangs, TakesLate},
    Ways,
};
use rustix::process::Signal;
use serde_json::Value;

/// A step that the agent does, with these keys, and one after it that prints the agent's output.
fn stage(agent: &Agent, keys: &str) -> Stage {
    Stage::with_flow(&format!(
        "flow: talk\nsteps:\n  - id: ask\n    a2a: {{ url: '{}', message: Do it. }}\n{keys}  - id: then\n    run: ['sh', '-c', \
         'echo \"$0\" > then', '${{{{ steps.ask.summary }}}}']\n",
        agent.url
    ))
}

fn old() -> Ways {
    Ways { version: "0.3", ..Ways::default() }
}

/// Starts the run and kills everything once the agent has taken the message. Returns the run.
fn killed_before_the_reply(stage: &Stage, agent: &Agent, method: &str) -> String {
    let engine = stage.start(&["run", "flow.yaml"]);
    agent.wait_for(method, 1);
    kill_all(stage, engine);
    stage.run_id()
}

/// The engine first, then the supervisor, then what it watches.
fn kill_all(stage: &Stage, engine: Process) {
    let mut all = stage.supervisors();
    all.extend(stage.step_processes());
    engine.kill();
    for pid in all {
        signal(pid, Signal::KILL);
        wait_until("its end", || !lives(pid));
    }
    stage.assert_nothing_left();
}

#[test]
fn another_agent_does_a_step_and_the_next_one_uses_what_it_left() {
    let artifacts =
        r#"{"artifactId":"a","name":"review","parts":[{"text":"Looks fine."},{"data":{"verdict":"good"}}]}"#;
    let agent = Agent::new(Ways::default(), &[(HandsOver(artifacts), Good)]);
    let flow = format!(
        "flow: talk
inputs: {{ issue: {{ type: integer }} }}
steps:
  - id: review
    a2a: {{ url: '{}', message: 'Review ${{{{ inputs.issue }}}}', data: {{ issue: '${{{{ inputs.issue }}}}' }} }}
    artifacts: ['a2a/review/**']
    outputs: {{ type: object, required: [verdict] }}
  - id: then
    run: ['sh', '-c', 'echo \"$0 $1\" > then', '${{{{ steps.review.summary }}}}', '${{{{ steps.review.data.verdict }}}}']
",
        agent.url
    );
    let stage = Stage::with_flow(&flow);
    stage.expect(0, &["run", "flow.yaml", "--input", "issue=7"]);
    assert_eq!(stage.read("then"), "Looks fine. good\n");
    assert_eq!(stage.read("a2a/review/review.txt"), "Looks fine.");
    let sent = &agent.sent()[0];
    assert!(sent.part(0).contains("Review 7") && sent.part(1).contains(r#"{"issue":7}"#), "{sent:?}");
    let kept = format!(".envoi/runs/{}/talk/a2a/review/review.json", stage.run_id());
    assert_eq!(stage.read(&kept), "{\n  \"verdict\": \"good\"\n}\n");
}

#[test]
fn a_token_is_shown_to_the_agent_and_to_no_command_and_stands_nowhere() {
    const TOKEN: &str = "t0ken-of-the-agent";
    let ways = Ways { token: Some(TOKEN), ..Ways::default() };
    let agent = Agent::new(ways, &[(Completes("I know t0ken-of-the-agent"), Good)]);
    let stage = Stage::with_flow(&format!(
        "flow: talk\nsteps:\n  - {{ id: ask, a2a: {{ url: '{}', message: m, token: {{ env: AGENT }} }} }}\n  - {{ id: env, run: 'cat /proc/$$/environ > seen' }}\n",
        agent.url
    ));
    let refused = stage.envoi(&["run", "flow.yaml"]);
    let told = "the token of step `ask` in flow `talk`: the variable `AGENT` is not set";
    assert!(refused.code == Some(6) && refused.err.contains(told), "{refused:?}");
    let done = Process::spawn(stage.command(&["run", "flow.yaml"]).env("AGENT", TOKEN)).done();
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(!stage.read("seen").contains(TOKEN) && !stage.read("seen").contains("A2A"));
    let run = stage.run_id();
    let events = stage.expect(0, &["show", &run, "--events"]).out;
    assert!(!events.contains(TOKEN) && events.contains("***"), "{events}");
    let record = stage.read(&format!(".envoi/runs/{run}/_a2a/ask.1.0.json"));
    assert!(record.contains("task-1") && !record.contains(TOKEN), "{record}");
}

#[test]
fn a_question_of_the_agent_waits_for_a_person_and_is_answered_once() {
    for ways in [Ways::default(), old()] {
        let agent = Agent::new(ways, &[(Asks("Which side?"), Good), (Completes("That side."), Good)]);
        let stage = stage(&agent, "");
        let asked = stage.expect(3, &["run", "flow.yaml"]);
        assert!(asked.err.contains("Which side?"), "{asked:?}");
        let inbox = stage.json(&["--json", "inbox"]);
        let question = text(&inbox[0]["question"]);
        assert_eq!(
            (&inbox[0]["kind"], &inbox[0]["about"]),
            (&Value::from("clarification"), &Value::from("agent"))
        );
        stage.expect(6, &["approve", &question]);
        stage.expect(0, &["answer", &question, "--text", "the left one"]);
        stage.expect(6, &["answer", &question, "--text", "the right one"]);
        assert_eq!((stage.read("then").as_str(), agent.tasks(), agent.sent().len()), ("That side.\n", 1, 2));
        assert!(agent.sent()[1].part(0).contains("the left one"));
    }
}

#[test]
fn an_agent_may_be_answered_with_a_form() {
    let agent = Agent::new(Ways::default(), &[(Asks("Which side?"), Good), (Completes("That side."), Good)]);
    let stage = stage(&agent, "");
    stage.expect(3, &["run", "flow.yaml"]);
    stage.expect(0, &["answer", "--data", r#"{"side":"left"}"#]);
    assert_eq!(agent.sent()[1].part(0), r#"{"data":{"side":"left"}}"#);
}

#[test]
fn a_denial_is_passed_to_the_agent() {
    let agent = Agent::new(Ways::default(), &[(Asks("May I?"), Good)]);
    let stage = stage(&agent, "");
    stage.expect(3, &["run", "flow.yaml"]);
    let denied = stage.expect(1, &["deny"]);
    assert!(denied.err.contains("DENIED"), "{denied:?}");
    assert_eq!((agent.stands(0), stage.read("then").as_str()), ("canceled", ""));
    let ended =
        stage.events(&stage.run_id()).into_iter().rfind(|event| event["type"] == "run_ended").unwrap();
    assert_eq!(ended["terminal_reason"], "policy_violation");
}

#[test]
fn killed_between_message_and_reply_a_task_is_begun_once() {
    let agent = Agent::new(Ways::default(), &[(Completes("done"), Hangs)]);
    let stage = stage(&agent, "");
    let run = killed_before_the_reply(&stage, &agent, "SendMessage");
    stage.expect(0, &["resume", &run]);
    assert_eq!((stage.read("then").as_str(), agent.tasks(), agent.sent().len()), ("done\n", 1, 1));
}

#[test]
fn killed_between_answer_and_reply_it_is_given_once() {
    for ways in [Ways::default(), old()] {
        let method = if ways.version == "1.0" { "SendMessage" } else { "message/send" };
        let agent = Agent::new(ways, &[(Asks("Which?"), Good), (Completes("done"), Hangs)]);
        let stage = stage(&agent, "");
        stage.expect(3, &["run", "flow.yaml"]);
        let engine = stage.start(&["answer", "--text", "left"]);
        agent.wait_for(method, 2);
        kill_all(&stage, engine);
        stage.expect(0, &["resume", &stage.run_id()]);
        assert_eq!((stage.read("then").as_str(), agent.tasks(), agent.sent().len()), ("done\n", 1, 2));
    }
}

#[test]
fn an_agent_that_cannot_say_leaves_it_to_a_person() {
    let agent = Agent::new(old(), &[(Works, Hangs), (Completes("done"), Good)]);
    let stage = stage(&agent, "");
    let run = killed_before_the_reply(&stage, &agent, "message/send");
    let doubtful = stage.expect(5, &["resume", &run]);
    assert!(doubtful.err.contains("it is not known whether the agent took it"), "{doubtful:?}");
    stage.expect(5, &["resume", &run]);
    assert_eq!(agent.sent().len(), 1, "nothing is sent in silence");
    stage.expect(0, &["resume", &run, "--in-doubt", "rerun"]);
    let sent = agent.sent();
    assert_eq!((stage.read("then").as_str(), sent.len()), ("done\n", 2));
    assert_eq!(sent[0].text("messageId"), sent[1].text("messageId"));
}

#[test]
fn what_the_agent_takes_after_the_kill_is_not_sent_again() {
    // The agent is still at the request when it is looked for first.
    let agent = Agent::new(Ways::default(), &[(Completes("done"), TakesLate(3))]);
    let stage = stage(&agent, "");
    let run = killed_before_the_reply(&stage, &agent, "SendMessage");
    stage.expect(0, &["resume", &run]);
    assert_eq!((stage.read("then").as_str(), agent.tasks(), agent.sent().len()), ("done\n", 1, 1));

    for ways in [Ways::default(), old()] {
        let method = if ways.version == "1.0" { "SendMessage" } else { "message/send" };
        let agent = Agent::new(ways, &[(Asks("Which?"), Good), (Completes("done"), TakesLate(4))]);
        let stage = self::stage(&agent, "");
        stage.expect(3, &["run", "flow.yaml"]);
        let engine = stage.start(&["answer", "--text", "left"]);
        agent.wait_for(method, 2);
        kill_all(&stage, engine);
        stage.expect(0, &["resume", &stage.run_id()]);
        assert_eq!((stage.read("then").as_str(), agent.tasks(), agent.sent().len()), ("done\n", 1, 2));
    }
}

#[test]
fn a_flow_may_send_a_message_again_without_a_question() {
    for (keys, code, times) in
        [("    on_in_doubt: rerun\n", 0, 2), ("    on_in_doubt: fail\n", 1, 1), ("", 5, 1)]
    {
        let agent = Agent::new(old(), &[(Works, Hangs), (Completes("done"), Good)]);
        let stage = stage(&agent, keys);
        let run = killed_before_the_reply(&stage, &agent, "message/send");
        let resumed = stage.expect(code, &["resume", &run]);
        assert_eq!(agent.sent().len(), times, "{keys}: {resumed:?}");
    }
}

#[test]
fn a_reply_that_is_lost_leads_to_a_question_before_the_time_of_the_step_is_over() {
    let agent = Agent::new(Ways::default(), &[(Works, BreaksBefore), (Completes("done"), Good)]);
    let stage = stage(&agent, "    timeout: 9s\n    retry: { attempts: 3, backoff: 1s }\n");
    let doubtful = stage.expect(5, &["run", "flow.yaml"]);
    assert!(doubtful.err.contains("The message was sent at"), "{doubtful:?}");
    stage.expect(0, &["resume", &stage.run_id(), "--in-doubt", "rerun"]);
    assert_eq!((stage.read("then").as_str(), agent.sent().len()), ("done\n", 1));
}

#[test]
fn killed_while_it_follows_a_task_it_goes_on_following_it() {
    let agent = Agent::new(Ways::default(), &[(Works, Good)]);
    let stage = stage(&agent, "");
    let engine = stage.start(&["run", "flow.yaml"]);
    agent.wait_for("GetTask", 1);
    kill_all(&stage, engine);
    agent.goes_on(0, Completes("done"));
    stage.expect(0, &["resume", &stage.run_id()]);
    assert_eq!((stage.read("then").as_str(), agent.tasks(), agent.sent().len()), ("done\n", 1, 1));
}

#[test]
fn an_engine_that_is_killed_alone_is_not_missed() {
    let agent = Agent::new(Ways::default(), &[(Works, Good)]);
    let stage = stage(&agent, "    on_in_doubt: fail\n");
    let engine = stage.start(&["run", "flow.yaml"]);
    agent.wait_for("GetTask", 1);
    engine.kill();
    agent.goes_on(0, Completes("done"));
    stage.expect(0, &["resume", &stage.run_id()]);
    assert_eq!((stage.read("then").as_str(), agent.sent().len()), ("done\n", 1));
}

#[test]
fn a_cancelled_run_cancels_the_task() {
    for (ways, method) in [(Ways::default(), "GetTask"), (old(), "tasks/get")] {
        let agent = Agent::new(ways, &[(Works, Good)]);
        let stage = stage(&agent, "");
        let engine = stage.start(&["run", "flow.yaml"]);
        agent.wait_for(method, 1);
        stage.expect(0, &["cancel", &stage.run_id()]);
        assert_eq!(engine.done().code, Some(130));
        assert_eq!(agent.stands(0), "canceled");
    }
}

#[test]
fn a_run_that_is_cancelled_while_its_agent_asks_cancels_the_task() {
    let ways = Ways { token: Some("t0ken"), ..Ways::default() };
    let agent = Agent::new(ways, &[(Asks("Which?"), Good)]);
    let stage = Stage::with_flow(&format!(
        "flow: talk\nsteps:\n  - {{ id: ask, a2a: {{ url: '{}', message: m, token: {{ file: token }} }} }}\n",
        agent.url
    ));
    stage.write("token", "t0ken\n");
    stage.expect(3, &["run", "flow.yaml"]);
    stage.expect(0, &["cancel", &stage.run_id()]);
    wait_until("the task's end", || agent.stands(0) == "canceled");
    // A question that is answered is not withdrawn.
    let agent = Agent::new(Ways::default(), &[(Asks("Which?"), Good), (Completes("done"), Good)]);
    let stage = self::stage(&agent, "");
    stage.expect(3, &["run", "flow.yaml"]);
    stage.expect(0, &["answer", "--text", "left"]);
    assert!(agent.heard().iter().all(|heard| heard.method != "CancelTask"));
}

#[test]
fn a_run_that_is_given_up_in_doubt_cancels_the_task_that_goes_on() {
    for end in [&["cancel"][..], &["resume", "--in-doubt", "fail"]] {
        let agent = Agent::new(Ways::default(), &[(Works, Good)]);
        let stage = stage(&agent, "    on_in_doubt: ask\n");
        let engine = stage.start(&["run", "flow.yaml"]);
        agent.wait_for("GetTask", 1);
        kill_all(&stage, engine);
        let run = stage.run_id();
        stage.expect(5, &["resume", &run]);
        assert_eq!(agent.stands(0), "working");
        let mut command = vec![end[0], run.as_str()];
        command.extend(&end[1..]);
        stage.envoi(&command);
        wait_until("the task's end", || agent.stands(0) == "canceled");
        assert_eq!(agent.sent().len(), 1);
    }
}

#[test]
fn a_term_to_every_process_is_no_cancelling() {
    let agent = Agent::new(Ways::default(), &[(Works, Good)]);
    let stage = stage(&agent, "    timeout: 2h\n");
    let engine = stage.start(&["run", "flow.yaml"]);
    agent.wait_for("GetTask", 1);
    // As a service manager ends what it has started, and a machine all that runs on it.
    let mut all = stage.supervisors();
    all.extend(stage.step_processes());
    engine.signal(Signal::TERM);
    all.iter().for_each(|pid| signal(*pid, Signal::TERM));
    // The engine waits for what is running; the service manager does not wait for the engine.
    engine.kill();
    let looks = |agent: &Agent| agent.heard().iter().filter(|heard| heard.method == "GetTask").count();
    agent.wait_for("GetTask", looks(&agent) + 2);
    agent.goes_on(0, Completes("done"));
    stage.expect(0, &["resume", &stage.run_id()]);
    assert_eq!((stage.read("then").as_str(), agent.sent().len()), ("done\n", 1));
    assert!(agent.heard().iter().all(|heard| heard.method != "CancelTask"));
}

#[test]
fn a_time_limit_cancels_the_task_and_another_try_is_another_task() {
    // On a busy machine a try may be over before it has sent anything, or before it has heard that its task is done. Then all tries get
    // more time.
    for (limit, is_last) in [("4s", false), ("20s", true)] {
        let agent = Agent::new(Ways::default(), &[(Works, Good), (Completes("done"), Good)]);
        let keys = format!("    timeout: {limit}\n    retry: {{ attempts: 9, backoff: 1s }}\n");
        let stage = stage(&agent, &keys);
        let done = stage.envoi(&["run", "flow.yaml"]);
        if (done.code, agent.tasks()) != (Some(0), 2) && !is_last {
            continue;
        }
        assert_eq!((done.code, agent.tasks()), (Some(0), 2), "{done:?}");
        assert_eq!((agent.stands(0), agent.stands(1)), ("canceled", "completed"));
        assert_eq!(stage.read("then"), "done\n");
        return;
    }
}

#[test]
fn a_task_that_fails_is_tried_again_only_if_the_flow_says_so() {
    let agent = Agent::new(Ways::default(), &[(Fails("no luck"), Good)]);
    let failed = stage(&agent, "").expect(1, &["run", "flow.yaml"]);
    assert!(failed.err.contains("AGENT_FAILED: no luck"), "{failed:?}");
    let agent = Agent::new(Ways::default(), &[(Fails("no luck"), Good), (Completes("luck"), Good)]);
    let stage = stage(&agent, "    retry: { attempts: 2, backoff: 1s }\n");
    stage.expect(0, &["run", "flow.yaml"]);
    assert_eq!((agent.tasks(), stage.read("then").as_str()), (2, "luck\n"));
}

#[test]
fn an_agent_that_is_not_there_fails_the_step() {
    let stage = Stage::with_flow(
        "flow: talk\nsteps:\n  - { id: ask, a2a: { url: 'http://127.0.0.1:1', message: m }, retry: { attempts: 2, backoff: 1s } }\n",
    );
    let done = stage.expect(1, &["run", "flow.yaml"]);
    assert!(done.err.contains("AGENT_UNREACHABLE"), "{done:?}");
    let begun = stage.events(&stage.run_id()).into_iter().filter(|event| event["type"] == "attempt_started");
    assert_eq!(begun.count(), 2);
}
