//! Files that come with an answer: whose they are, and whether their bytes are those that the reference names.

use super::{APPROVAL, client::Client, served};
use crate::stage::{Stage, text, wait_until};
use serde_json::{Value, json};
use std::{fs, os::unix::fs::MetadataExt as _};

/// Brings content as plain text.
fn brought(client: &Client, content: &str) -> Value {
    let headers = [("content-type", "text/plain")];
    let reply = client.call("POST", "/v1/artifacts", &headers, content.as_bytes());
    assert!([200, 201].contains(&reply.status), "{}", reply.text());
    reply.json()
}

/// The answer of a run, as it is in the journal, and its files.
fn answer(stage: &Stage, run: &str) -> (Value, Vec<Value>) {
    let events = stage.events(run);
    let answer = events.iter().find(|event| event["type"] == "interrupt_answered").unwrap().clone();
    let files = answer["attachments"].as_array().cloned().unwrap_or_default();
    (answer, files)
}

/// With another value in one place.
fn with(reference: &Value, member: &str, value: impl Into<Value>) -> Value {
    let mut changed = reference.clone();
    changed[member] = value.into();
    changed
}

#[test]
fn a_reference_that_leads_to_nothing_refuses_the_answer_and_the_question_stays_open() {
    let stage = Stage::new();
    let (_served, admin) = served(&stage);
    let question = admin.question(&admin.run(APPROVAL));
    let path = format!("/v1/questions/{question}");
    let (minutes, other) = (brought(&admin, "minutes"), brought(&admin, "other"));
    let lost = brought(&admin, "lost");
    let damaged = brought(&admin, "damaged");
    let place = |reference: &Value| {
        let hex = text(&reference["digest"])[7..].to_owned();
        stage.path(".envoi/artifacts/sha256").join(&hex[..2]).join(&hex[2..])
    };
    fs::remove_file(place(&lost)).unwrap();
    fs::remove_file(place(&damaged)).unwrap();
    fs::write(place(&damaged), "changed").unwrap();
    let zeros = "0".repeat(64);
    let unknown = json!({"artifactId": format!("art_{}", &zeros[..26]), "representationRevisionId": format!("rep_{}", &zeros[..16]),
        "digest": format!("sha256:{zeros}"), "mime": "text/plain", "originKind": "upload"});
    for (reference, reason) in [
        (unknown, "there is no such content"),
        (with(&minutes, "digest", "sha256:0"), "its digest is not"),
        (with(&minutes, "digest", other["digest"].clone()), "its revision is not that of its digest"),
        (
            with(&minutes, "representationRevisionId", other["representationRevisionId"].clone()),
            "its revision is not that of its digest",
        ),
        (with(&minutes, "artifactId", other["artifactId"].clone()), "its artifact is not that of its digest"),
        (lost, "its bytes are lost"),
        (damaged, "its bytes are not those of its digest"),
    ] {
        // A good one before it does not help.
        let body = json!({"choice": "approve", "attachments": [minutes, reference]}).to_string();
        let refused = admin.post(&format!("{path}/answer"), &body);
        assert_eq!((refused.status, refused.json()["code"].as_str()), (422, Some("ATTACHMENT_UNREADABLE")));
        assert!(
            refused.text().contains("attachment 2") && refused.text().contains(reason),
            "{reason}: {}",
            refused.text()
        );
        assert_eq!(admin.json(&path)["state"], "open", "{reason}");
    }
    let body = json!({"choice": "approve", "attachments": [minutes]}).to_string();
    assert_eq!(admin.post(&format!("{path}/answer"), &body).status, 200);
}

#[test]
fn an_answer_has_at_most_20_files_those_of_its_envelope_first() {
    let stage = Stage::new();
    let (_served, admin) = served(&stage);
    let run = admin.run(APPROVAL);
    let path = format!("/v1/questions/{}/answer", admin.question(&run));
    let references: Vec<Value> = (0..21).map(|n| brought(&admin, &format!("file {n}"))).collect();
    let envelope = |files: &[Value]| json!({"text": "fine", "attachments": files}).to_string();
    let body = |text: &str, enveloped: bool, files: &[Value]| {
        json!({"choice": "approve", "text": text, "user_envelope": enveloped, "attachments": files})
            .to_string()
    };
    for (body, reason) in [
        (body("fine", false, &references), "(envelope 0 + body 21 = 21)"),
        (body(&envelope(&references[..20]), true, &references[20..]), "(envelope 20 + body 1 = 21)"),
        (body(&envelope(&references), true, &[]), "does not match {text, attachments?}"),
        (body("fine", true, &references[..1]), "is not valid JSON"),
        (body(r#"{"text": "fine", "attachments": null}"#, true, &[]), "does not match {text, attachments?}"),
        (r#"{"choice": "approve", "user_envelope": true}"#.to_owned(), "`user_envelope` is true"),
        (r#"{"choice": "approve", "user_envelope": 1}"#.to_owned(), "`user_envelope` is neither"),
        (json!({"attachments": [references[0], with(&references[1], "mime", "")]}).to_string(), "number 2"),
    ] {
        let refused = admin.post(&path, &body);
        assert_eq!(refused.status, 400, "{}", refused.text());
        assert!(refused.text().contains(reason), "{reason}: {}", refused.text());
        assert_eq!(admin.json(&format!("/v1/questions?run={run}"))["questions"][0]["state"], "open");
    }
    // Size and type are the store's, no matter what the reference has.
    let told: Vec<Value> =
        references.iter().map(|file| with(&with(file, "mime", "image/png"), "size", 1)).collect();
    let answered = admin.post(&path, &body(&envelope(&told[..15]), true, &told[15..20]));
    assert_eq!(answered.status, 200, "{}", answered.text());
    let (answer, files) = answer(&stage, &run);
    assert_eq!((answer["text"].as_str(), files.as_slice()), (Some("fine"), &references[..20]));
}

#[test]
fn text_that_looks_like_an_envelope_is_text_unless_it_is_announced() {
    let stage = Stage::new();
    let (_served, admin) = served(&stage);
    let run = admin.run(APPROVAL);
    let path = format!("/v1/questions/{}/answer", admin.question(&run));
    let looks = r#"{"text": "fine", "attachments": []}"#;
    assert_eq!(admin.post(&path, &json!({"choice": "approve", "text": looks}).to_string()).status, 200);
    assert_eq!(answer(&stage, &run).0["text"], looks);
}

#[test]
fn what_a_run_has_made_and_what_came_from_the_terminal_can_be_attached() {
    let stage = Stage::new();
    let (_served, admin) = served(&stage);
    let first = admin.run(APPROVAL);
    let question = admin.question(&first);
    let made =
        text(&admin.json(&format!("/v1/runs/{first}/handoffs/draft"))["file_changes"]["files"][0]["digest"]);
    stage.write("terms.pdf", "terms");
    stage.expect(0, &["approve", &question, "--file", "terms.pdf"]);
    let terms = answer(&stage, &first).1[0].clone();
    let hex = &made[7..];
    let notes = json!({"artifactId": format!("art_{}", &hex[..26]), "representationRevisionId": format!("rep_{hex}"),
        "digest": made, "mime": "x/y", "originKind": "agent_generated"});
    let second = admin.run(APPROVAL);
    let body = json!({"choice": "approve", "attachments": [notes, with(&terms, "mime", "x/y")]}).to_string();
    let answered = admin.post(&format!("/v1/questions/{}/answer", admin.question(&second)), &body);
    assert_eq!(answered.status, 200, "{}", answered.text());
    let files = answer(&stage, &second).1;
    assert_eq!([&files[0]["mime"], &files[0]["size"]], [&json!("text/markdown"), &json!(6)]);
    assert_eq!(files[1], terms);
}

#[test]
fn an_answer_that_is_asked_for_again_is_the_first_one_although_its_file_is_another_by_now() {
    let stage = Stage::new();
    let (_served, admin) = served(&stage);
    let flow = "
flow: redone
steps:
  - id: first
    run: echo one > art.txt
    artifacts: [art.txt]
  - id: sure
    ask: 'Sure?'
  - id: second
    run: echo two > art.txt
    artifacts: [art.txt]
";
    let run = admin.run(flow);
    let path = format!("/v1/questions/{}/answer", admin.question(&run));
    let made =
        text(&admin.json(&format!("/v1/runs/{run}/handoffs/first"))["file_changes"]["files"][0]["digest"]);
    let hex = &made[7..];
    let art = json!({"artifactId": format!("art_{}", &hex[..26]), "representationRevisionId": format!("rep_{}", &hex[..16]),
        "digest": made, "mime": "text/plain", "originKind": "agent_generated"});
    let body = json!({"choice": "approve", "text": "fine", "attachments": [art]}).to_string();
    let ask = |body: &str| admin.call("POST", &path, &[("idempotency-key", "once")], body.as_bytes());
    let first = ask(&body);
    assert_eq!(first.status, 200, "{}", first.text());
    admin.wait_until_run_is(&run, "succeeded");
    let none = admin.call("POST", &path, &[("idempotency-key", "other")], body.as_bytes());
    assert_eq!(none.json()["code"], "ATTACHMENT_UNREADABLE", "nobody has that version any more");
    let again = ask(&body);
    assert_eq!(again.status, 200, "{}", again.text());
    assert_eq!(again.json()["answered_by"], "first");
    let other = ask(&body.replace("fine", "no"));
    assert_eq!((other.status, other.json()["code"].as_str()), (422, Some("KEY_REUSED")));
    let answers = stage.events(&run).iter().filter(|event| event["type"] == "interrupt_answered").count();
    assert_eq!(answers, 1);
}

#[test]
fn parts_of_content_are_given_while_its_file_is_what_was_compared_with_its_digest() {
    let stage = Stage::new();
    let (_served, admin) = served(&stage);
    let digest = text(&brought(&admin, "0123456789")["digest"]);
    let part = || admin.call("GET", &format!("/v1/artifacts/{digest}"), &[("range", "bytes=2-4")], &[]);
    for _ in 0..2 {
        assert_eq!((part().status, part().text().as_str()), (206, "234"));
    }
    let hex = &digest[7..];
    let place = stage.path(".envoi/artifacts/sha256").join(&hex[..2]).join(&hex[2..]);
    let found = || fs::metadata(&place).unwrap();
    let changed = || (found().ctime(), found().ctime_nsec());
    let (modified, before) = (found().modified().unwrap(), changed());
    fs::remove_file(&place).unwrap();
    // Of the same size and the same time, as far as whoever did it can say so. The clock of a file system may go in steps.
    wait_until("another time of change", || {
        fs::write(&place, "01x3456789").unwrap();
        fs::File::options().write(true).open(&place).unwrap().set_modified(modified).unwrap();
        changed() != before
    });
    let damaged = part();
    assert_eq!((damaged.status, damaged.json()["code"].as_str()), (500, Some("STORE_FAILED")));
    assert!(!damaged.text().contains("sha256/"), "nor is it said where: {}", damaged.text());
}
