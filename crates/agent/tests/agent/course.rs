//! Tests what an attempt does, and which files it leaves.

use crate::{
    Visit,
    fake::{
        Act::{
            Answers, Asks, Completes, Dawdles, Errs, Fails, HandsOver, Rejects, WantsToBeAuthorized, Works,
        },
        Agent,
        Line::Good,
        Ways,
    },
};
use envoi_contract::json::Value;
use envoi_testkit::HeldAddress;
use std::{fs, thread};

const VERSIONS: [&str; 2] = ["1.0", "0.3"];

fn ways(version: &'static str) -> Ways {
    Ways { version, ..Ways::default() }
}

#[test]
fn a_message_is_sent_and_its_task_followed_to_its_end() {
    for version in VERSIONS {
        let agent = Agent::new(ways(version), &[(Works, Good)]);
        let mut visit = Visit::with(&agent);
        visit.order.data = Some(Value::parse_str(r#"{"issue":1.50}"#).unwrap());
        visit.token = Some("secret-token".to_owned());
        let (watching, get) = (agent.clone(), if version == "1.0" { "GetTask" } else { "tasks/get" });
        let moves = thread::spawn(move || {
            watching.wait_for(get, 3);
            watching.goes_on(0, Completes("all done"));
        });
        let left = visit.attempt();
        moves.join().unwrap();
        assert_eq!((left.code(), left.text.as_str()), ("ok", "all done"));
        assert_eq!(
            (left.agent("task"), left.agent("state"), left.agent("version")),
            ("task-1", "completed", version)
        );
        let sent = &agent.sent()[0];
        assert!(sent.head.contains("authorization: bearer secret-token"), "{}", sent.head);
        assert_eq!(sent.head.contains("a2a-version: 1.0"), version == "1.0", "{}", sent.head);
        assert!(
            sent.part(0).contains(r#""text":"do it""#) && sent.part(1).contains(r#""data":{"issue":1.50}"#)
        );
        let how = sent.params.get("configuration").unwrap().compact();
        assert!(
            how.contains(if version == "1.0" {
                r#""returnImmediately":true"#
            } else {
                r#""blocking":false"#
            }),
            "{how}"
        );
        assert!(!fs::read_to_string(&visit.order.record).unwrap().contains("secret-token"));
    }
}

#[test]
fn a_task_without_success_is_over() {
    for version in VERSIONS {
        for (act, code, message) in [
            (Fails("no luck"), "AGENT_FAILED", "no luck"),
            (Fails(""), "AGENT_FAILED", "the task is failed"),
            (Rejects("not that"), "AGENT_REJECTED", "not that"),
        ] {
            let left = Visit::with(&Agent::new(ways(version), &[(act, Good)])).attempt();
            assert_eq!((left.code(), left.message(), left.agent("said")), (code, message, "over"));
        }
    }
}

#[test]
fn a_question_goes_up_and_its_answer_down() {
    for version in VERSIONS {
        let agent = Agent::new(ways(version), &[(Asks("which one?"), Good), (Completes("that one"), Good)]);
        let mut visit = Visit::with(&agent);
        let asked = visit.attempt();
        assert_eq!(
            (asked.code(), asked.agent("said"), asked.agent("question")),
            ("ok", "asks", "which one?")
        );
        let evidence = asked.report.get("agent").and_then(|agent| agent.get("evidence")).unwrap();
        assert_eq!(evidence.get("task").and_then(Value::as_str), Some("task-1"));
        let left = visit.said("the left one").attempt();
        assert_eq!((left.code(), left.text.as_str(), agent.tasks()), ("ok", "that one", 1));
        let sent = agent.sent();
        let of = |name: &str| (sent[0].text(name), sent[1].text(name));
        assert_eq!(of("taskId"), (String::new(), "task-1".to_owned()));
        assert_eq!(of("contextId").0, of("contextId").1);
        assert_ne!(of("messageId").0, of("messageId").1);
        assert!(sent[1].part(0).contains(r#""text":"the left one""#));
    }
}

#[test]
fn the_same_question_once_more_is_a_question() {
    let agent = Agent::new(ways("1.0"), &[(Asks("which?"), Good), (Asks("which?"), Good)]);
    let mut visit = Visit::with(&agent);
    visit.attempt();
    let left = visit.said("left").attempt();
    assert_eq!((left.agent("said"), left.agent("question")), ("asks", "which?"));
}

#[test]
fn an_answer_goes_to_the_question_that_it_answers_and_to_no_later_one() {
    for version in VERSIONS {
        let agent = Agent::new(ways(version), &[(Asks("which?"), Good), (Completes("ok"), Good)]);
        let mut visit = Visit::with(&agent);
        visit.attempt();
        agent.goes_on(0, Asks("delete all?"));
        visit.said("yes");
        for first in [true, false] {
            let left = visit.attempt();
            let question = left.agent("question");
            assert!(left.agent("said") == "asks" && question.ends_with("delete all?"), "{question}");
            assert_eq!(question.starts_with("Your answer was not sent"), first, "{question}");
            assert_eq!(agent.sent().len(), 1, "the answer is void, also for an attempt that does it again");
        }
        assert_eq!((visit.said("no").attempt().code(), agent.sent().len()), ("ok", 2));
        assert!(agent.sent()[1].part(0).contains(r#""text":"no""#));
    }
    for act in [Completes("done elsewhere"), Fails("no")] {
        let agent = Agent::new(ways("1.0"), &[(Asks("which?"), Good)]);
        let mut visit = Visit::with(&agent);
        visit.attempt();
        agent.goes_on(0, act);
        assert_ne!(visit.said("yes").attempt().agent("said"), "asks");
        assert_eq!(agent.sent().len(), 1);
    }
}

#[test]
fn an_answer_that_the_agent_finds_wrong_is_asked_for_again_with_its_words() {
    let wrong = Errs(r#"{"code":-32602,"message":"say yes or no"}"#);
    let agent = Agent::new(ways("1.0"), &[(Asks("may I?"), Good), (wrong, Good), (Completes("ok"), Good)]);
    let mut visit = Visit::with(&agent);
    visit.attempt();
    let left = visit.said("perhaps").attempt();
    let question = "The agent did not take the answer: say yes or no (-32602)\n\nmay I?";
    assert_eq!((left.code(), left.agent("said"), left.agent("question")), ("ok", "asks", question));
    assert_eq!(visit.attempt().agent("question"), "may I?", "the same attempt once more sends nothing");
    assert_eq!(agent.sent().len(), 2);
    assert_eq!((visit.said("yes").attempt().code(), agent.sent().len()), ("ok", 3));
}

#[test]
fn another_envoi_gets_the_id_of_the_answered_question() {
    let metadata = r#"{"urn:envoi:a2a:question":{"id":"int_1","kind":"words","subject":"sha256:0"}}"#;
    let of = |version| Ways { metadata: Some(metadata), ..ways(version) };
    for version in VERSIONS {
        let agent = Agent::new(of(version), &[(Asks("which?"), Good), (Completes("ok"), Good)]);
        let mut visit = Visit::with(&agent);
        visit.attempt();
        visit.said("left").attempt();
        let sent = agent.sent();
        assert!(sent[0].message().get("metadata").is_none());
        assert_eq!(
            sent[1].message().get("metadata").map(Value::compact).as_deref(),
            Some(r#"{"urn:envoi:a2a:question":{"id":"int_1","subject":"sha256:0"}}"#)
        );
    }
}

#[test]
fn an_agent_that_has_not_looked_at_the_answer_yet_does_not_ask_again() {
    let agent = Agent::new(ways("1.0"), &[(Asks("which?"), Good), (Dawdles("that one"), Good)]);
    let mut visit = Visit::with(&agent);
    visit.order.timeouts.settle_ms = 3_600_000;
    visit.attempt();
    let left = visit.said("left").attempt();
    assert_eq!((left.code(), left.text.as_str()), ("ok", "that one"));
}

#[test]
fn an_agent_that_wants_to_be_authorized_asks() {
    let agent = Agent::new(ways("1.0"), &[(WantsToBeAuthorized("go to https://x"), Good)]);
    let left = Visit::with(&agent).attempt();
    assert_eq!(left.agent("said"), "asks");
    assert!(
        left.agent("question").contains("no password") && left.agent("question").ends_with("go to https://x")
    );
}

#[test]
fn an_answer_may_be_a_form() {
    let agent = Agent::new(ways("1.0"), &[(Asks("which?"), Good), (Completes("ok"), Good)]);
    let mut visit = Visit::with(&agent);
    visit.attempt();
    visit.answered(r#"{"text":"[Answered by operator]","data":{"side":"left"}}"#).attempt();
    assert_eq!(agent.sent()[1].part(0), r#"{"data":{"side":"left"}}"#);
}

#[test]
fn files_of_an_answer_go_along_where_the_agent_takes_them() {
    let file = r#"{"artifactId":"art_1","representationRevisionId":"rev_1","digest":"sha256:0","mime":"text/plain","originKind":"upload"}"#;
    let answer = format!(r#"{{"text":"see there","attachments":[{file}],"data":null}}"#);
    for (extension, text) in [
        (Some("urn:envoi:a2a:user-envelope:v1"), format!(r#"{{"text":"see there","attachments":[{file}]}}"#)),
        (None, "see there".to_owned()),
    ] {
        let script = [(Asks("which?"), Good), (Completes("ok"), Good)];
        let agent = Agent::new(Ways { extension, ..Ways::default() }, &script);
        let mut visit = Visit::with(&agent);
        visit.attempt();
        visit.answered(&answer).attempt();
        let sent = &agent.sent()[1];
        let part = Value::parse_str(&sent.part(0)).unwrap();
        assert_eq!(part.get("text").and_then(Value::as_str), Some(text.as_str()));
        assert_eq!(sent.head.contains("a2a-extensions: urn:envoi:a2a:user-envelope:v1"), extension.is_some());
        assert_eq!(sent.message().get("metadata").is_some(), extension.is_some());
    }
}

#[test]
fn a_denial_cancels_the_task() {
    for version in VERSIONS {
        let agent = Agent::new(ways(version), &[(Asks("may I?"), Good)]);
        let mut visit = Visit::with(&agent);
        visit.attempt();
        visit.said("never").order.denied = true;
        let left = visit.attempt();
        assert_eq!(
            (left.code(), left.agent("said"), agent.stands(0)),
            ("AGENT_CANCELED", "over", "canceled")
        );
        assert_eq!(agent.sent().len(), 1);
    }
}

#[test]
fn what_is_handed_over_becomes_data_text_and_files() {
    let artifacts = r#"{"artifactId":"a","name":"review","parts":[{"text":"Fine."},{"data":{"score":1.0}}]},
        {"artifactId":"b","parts":[{"raw":"aGk=","filename":"../x.bin"},{"url":"https://elsewhere/y"},{"data":[1]}]}"#;
    let agent = Agent::new(ways("1.0"), &[(HandsOver(artifacts), Good), (HandsOver(artifacts), Good)]);
    let mut visit = Visit::with(&agent);
    let folder = visit.folder.path().join("a2a-files");
    visit.order.files = Some(folder.clone());
    let left = visit.attempt();
    assert_eq!((left.code(), left.text.as_str()), ("ok", "Fine."));
    assert_eq!(left.report.get("data").map(Value::compact).as_deref(), Some(r#"{"score":1.0}"#));
    let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    assert_eq!((read("review.txt").as_str(), read("x.bin").as_str()), ("Fine.", "hi"));
    assert_eq!(
        (read("review.json").as_str(), read("b.json").trim()),
        ("{\n  \"score\": 1.0\n}\n", "[\n  1\n]")
    );
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 4);
    assert!(left.report.compact().contains(r#""links":["https://elsewhere/y"]"#));

    let plain = Visit::with(&Agent::new(ways("1.0"), &[(HandsOver(artifacts), Good)]));
    plain.attempt();
    let made: Vec<_> =
        fs::read_dir(plain.folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(made.len(), 3, "record, report and text, and nothing else: {made:?}");
}

#[test]
fn a_file_that_cannot_be_written_loses_neither_the_task_nor_the_other_files() {
    let long = "語".repeat(400);
    let artifacts = format!(
        r#"{{"artifactId":"a","name":"{long}","parts":[{{"text":"Fine."}},{{"data":{{"n":1}}}}]}},
        {{"artifactId":"b","parts":[{{"raw":"aGk=","filename":"in-the-way"}},{{"raw":"aGk=","filename":"x.bin"}}]}}"#
    );
    let agent = Agent::new(ways("1.0"), &[(HandsOver(artifacts.leak()), Good)]);
    let mut visit = Visit::with(&agent);
    let folder = visit.folder.path().join("a2a-files");
    fs::create_dir_all(folder.join("in-the-way/full")).unwrap();
    visit.order.files = Some(folder.clone());
    let left = visit.attempt();
    assert_eq!((left.code(), left.text.as_str()), ("ok", "Fine."));
    assert!(left.report.compact().contains(r#""left_out":["in-the-way"]"#), "{}", left.report.compact());
    assert_eq!(fs::read_to_string(folder.join("x.bin")).unwrap(), "hi");
    let short = "語".repeat(66);
    assert_eq!(fs::read_to_string(folder.join(format!("{short}.txt"))).unwrap(), "Fine.");
    assert!(folder.join(format!("{short}.json")).exists());
}

#[test]
fn an_answer_without_a_task_is_the_end() {
    for version in VERSIONS {
        let agent = Agent::new(ways(version), &[(Answers("just so"), Good)]);
        let visit = Visit::with(&agent);
        for _ in 0..2 {
            let left = visit.attempt();
            assert_eq!((left.code(), left.text.as_str()), ("ok", "just so"));
        }
        assert_eq!(agent.sent().len(), 1);
    }
}

#[test]
fn an_unreachable_agent_is_tried_again_and_gets_one_message() {
    let held = HeldAddress::take().unwrap();
    let address = held.address().to_string();
    let visit = Visit::of(&format!("http://{address}"));
    assert_eq!(visit.attempt().code(), "AGENT_UNREACHABLE");
    let agent = Agent::at(&address, ways("0.3"), &[(Completes("ok"), Good)]);
    assert_eq!((visit.attempt().code(), agent.sent().len()), ("ok", 1));
}

#[test]
fn a_caller_that_is_no_agent_gets_a_refusal() {
    for (url, told) in [("ftp://agent.test", "no address"), ("agent.test", "no address")] {
        let left = Visit::of(url).attempt();
        assert!(left.code() == "AGENT_REFUSED" && left.message().contains(told), "{url}: {}", left.message());
    }
    let agent = Agent::new(Ways { token: Some("right"), ..Ways::default() }, &[(Completes("ok"), Good)]);
    let mut visit = Visit::with(&agent);
    visit.token = Some("wrong".to_owned());
    let left = visit.attempt();
    assert!(left.code() == "AGENT_REFUSED" && left.message().contains("401"), "{}", left.message());
    visit.token = Some("right".to_owned());
    assert_eq!((visit.attempt().code(), agent.sent().len()), ("ok", 1));

    let mut below = Visit::of(&format!("{}/deep/down", agent.url));
    below.token = Some("right".to_owned());
    let left = below.attempt();
    assert!(left.code() == "AGENT_REFUSED" && left.message().contains("no card below"), "{}", left.message());
    let mut itself = Visit::of(&format!("{}/rpc", agent.url));
    itself.token = Some("right".to_owned());
    assert_eq!(
        (itself.attempt().code(), agent.sent().len()),
        ("ok", 2),
        "the card is at the host, and names it"
    );
}

#[test]
fn what_the_agent_finds_wrong_is_its_own_words() {
    let agent = Agent::new(ways("1.0"), &[(Errs(r#"{"code":-32602,"message":"no such flow"}"#), Good)]);
    let left = Visit::with(&agent).attempt();
    assert_eq!((left.code(), left.message()), ("AGENT_REFUSED", "no such flow (-32602)"));
}

#[test]
fn a_task_that_the_agent_has_forgotten_is_lost() {
    let agent = Agent::new(ways("1.0"), &[(Asks("which?"), Good)]);
    let mut visit = Visit::with(&agent);
    visit.attempt();
    agent.forgets();
    visit.said("left").order.denied = false;
    visit.rewrite(|record| drop(record.insert("taken", Value::from(1_u64))));
    let left = visit.attempt();
    assert_eq!((left.code(), left.agent("said")), ("AGENT_TASK_LOST", "over"));
}

#[test]
fn another_task_of_the_visit_has_ids_of_its_own() {
    let agent = Agent::new(ways("1.0"), &[(Fails("no"), Good), (Completes("ok"), Good)]);
    let mut visit = Visit::with(&agent);
    visit.attempt();
    assert_eq!((visit.attempt().code(), agent.sent().len()), ("AGENT_FAILED", 1), "as it was");
    (visit.order.task, visit.order.record) = (1, visit.folder.path().join("a2a/a.1.1.json"));
    assert_eq!((visit.attempt().code(), agent.tasks()), ("ok", 2));
    let sent = agent.sent();
    assert_ne!(sent[0].text("contextId"), sent[1].text("contextId"));
    assert_ne!(sent[0].text("messageId"), sent[1].text("messageId"));
}

#[test]
fn a_tenant_goes_along() {
    let agent = Agent::new(ways("1.0"), &[(Completes("ok"), Good)]);
    let mut visit = Visit::with(&agent);
    visit.order.tenant = Some("review".to_owned());
    visit.attempt();
    assert_eq!(agent.sent()[0].params.get("tenant").and_then(Value::as_str), Some("review"));
}
