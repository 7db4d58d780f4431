//! The results that a visit leaves behind.

use crate::{
    driver::{AttemptResultExt as _, Driver, blob, exited, result, settled},
    flows::{With, critic, flow, step},
};
use envoi_contract::json::Value;
use envoi_kernel::{
    event::{Change, FileChange, Outcome},
    input::AttemptResult,
};

#[test]
fn a_handoff_tells_status_text_route_and_files() {
    let mut driver = Driver::started(&flow([step("repair"), critic("critic", "repair", 3)]));
    let file = |path: &str, change, kept: bool| FileChange {
        path: path.to_owned(),
        change,
        blob: kept.then(|| blob(b"x")),
        before: None,
    };
    let mut left = result("repair.1.1", Outcome::Exited { code: 0 }, "mended it");
    left.files = vec![
        file("src/a.py", Change::Modified, true),
        file("src/b.py", Change::Created, true),
        file("src/c.py", Change::Deleted, false),
    ];
    // For the journal alone: contract 2 names the members of a change.
    left.files[0].before = Some(blob(b"old"));
    driver.ok(settled(left)).exit("critic.1.1", 1).exit("repair.2.1", 0).exit("critic.2.1", 0);

    let first = driver.handoff("repair.1");
    assert_eq!(
        (first.step_id.as_str(), first.flow_key.as_str(), first.run_id.as_str()),
        ("repair", "demo", "run_0demo")
    );
    assert_eq!(
        (first.status.word(), first.summary.as_str(), first.duration_ms),
        ("succeeded", "mended it", 10)
    );
    assert_eq!(first.timestamp.as_deref(), Some("2026-11-21T00:00:00.000Z"));
    let places: Vec<_> = first.artifacts.iter().map(|(name, path)| format!("{name} {path}")).collect();
    assert_eq!(places, ["src/a.py demo/src/a.py", "src/b.py demo/src/b.py"]);
    let digest = blob(b"x").digest;
    let changes = format!(
        r#"{{"files":[{{"path":"src/a.py","digest":"{digest}","size":1,"change":"modified"}},{{"path":"src/b.py","digest":"{digest}","size":1,"change":"created"}},{{"path":"src/c.py","change":"deleted"}}],"total":3}}"#
    );
    assert_eq!(first.file_changes.compact(), changes);
    assert_eq!(first.verification_passed, None);

    let row = |visit: &str| {
        driver.handoff(visit).routing_audit.get("row").and_then(Value::as_str).map(str::to_owned)
    };
    for (visit, verified, row_fired, reason) in [
        ("repair.1", None, Some("7"), "Linear step complete"),
        ("critic.1", Some(false), Some("6"), "Loop target not reached (iteration 0 of 3)"),
        ("critic.2", Some(true), Some("3"), "Loop target reached"),
    ] {
        assert_eq!(driver.handoff(visit).verification_passed, verified, "{visit}");
        assert_eq!(row(visit).as_deref(), row_fired, "{visit}");
        assert_eq!(driver.handoff(visit).routing_signal.reason, reason, "{visit}");
    }
}

#[test]
fn the_summary_of_a_text_that_is_cut_says_so_however_short_the_rest_is() {
    let cut =
        |text: &str| AttemptResult { text_cut: true, ..result("a.1.1", Outcome::Exited { code: 0 }, text) };
    let long = "word ".repeat(500);
    for (text, end) in [("  \nStatus: VERIFIED\n", "  \nStatus: VERIFIED"), (&long, "word word")] {
        let mut driver = Driver::started(&flow([step("a")]));
        driver.ok(settled(cut(text)));
        let summary = &driver.handoff("a.1").summary;
        assert!(
            summary.starts_with("… [beginning of the text: an unknown number of characters omitted] …\n"),
            "{summary}"
        );
        assert!(summary.ends_with(end), "{summary}");
    }
}

#[test]
fn a_failed_handoff_has_code_and_message() {
    let mut driver = Driver::started(&flow([step("a")]));
    let mut failed = result("a.1.1", Outcome::Exited { code: 3 }, "half of it");
    failed.stderr_tail = "boom\n".to_owned();
    driver.ok(settled(failed));
    let handoff = driver.handoff("a.1");
    assert_eq!(handoff.summary, "half of it", "what it has done is not lost");
    assert_eq!(handoff.error.as_deref(), Some("TOOL_EXIT_NON_ZERO: boom"));
    assert_eq!(handoff.routing_signal.reason, "Step failed: TOOL_EXIT_NON_ZERO");
    assert_eq!(handoff.routing_signal.decision.orchestrator_word(), "terminate");
}

#[test]
fn a_file_that_no_path_of_the_contract_can_name_does_not_hold_up_the_run() {
    let mut driver = Driver::started(&flow([step("a")]));
    let mut left = exited("a.1.1", 0);
    left.files = ["good", "back\\slash"]
        .map(|path| FileChange {
            path: path.to_owned(),
            change: Change::Created,
            blob: Some(blob(b"x")),
            before: None,
        })
        .to_vec();
    driver.ok(settled(left));
    let handoff = driver.handoff("a.1");
    assert_eq!(handoff.artifacts.keys().collect::<Vec<_>>(), ["good"]);
    assert_eq!(handoff.file_changes.get("files").and_then(Value::as_array).map(<[Value]>::len), Some(2));
}

#[test]
fn success_with_a_soft_failure_is_a_failure() {
    for (report, error) in [
        (
            r#"{"ok":false,"generatedAt":"t","skillName":"s"}"#,
            "SKILL_REPORTED_FAILURE: Skill reported ok:false",
        ),
        (r#"{"ok":true,"generatedAt":"t","skillName":"s","error":{"code":"X","message":"y"}}"#, "X: y"),
    ] {
        let mut driver = Driver::started(&flow([step("a").tries(1)]));
        driver.ok(settled(exited("a.1.1", 0).with_report(report.as_bytes())));
        assert_eq!(driver.handoff("a.1").error.as_deref(), Some(error));
    }
}

#[test]
fn a_change_of_an_older_journal_is_read_and_written_as_it_was() {
    let digest = blob(b"x").digest;
    let old = format!(r#"{{"path":"a.py","change":"modified","blob":{{"digest":"{digest}","size":1}}}}"#);
    let mut change: FileChange = serde_json::from_str(&old).unwrap();
    assert_eq!(change.before, None);
    assert_eq!(serde_json::to_string(&change).unwrap(), old);
    change.before = Some(blob(b"old"));
    let text = serde_json::to_string(&change).unwrap();
    assert_eq!(serde_json::from_str::<FileChange>(&text).unwrap(), change);
}
