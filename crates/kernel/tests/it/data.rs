//! The data that a step hands over: its possible places, and that it is in one place.

use crate::{
    driver::{AttemptResultExt as _, Driver, blob, exited, reported, settled},
    flows::{With, critic, flow, step},
};
use envoi_kernel::{Event, event::AttemptSettled, input::AttemptResult};

/// The settled attempt of a step, which parses its text as data if `is_text`.
fn attempt(is_text: bool, result: AttemptResult) -> AttemptSettled {
    let first = step("a").with(|step| step.data_is_text = is_text);
    let mut driver = Driver::started(&flow([first]));
    driver.ok(settled(result));
    let found = driver.records.iter().find_map(|record| match &record.event {
        Event::AttemptSettled(settled) => Some(settled.as_ref().clone()),
        _ => None,
    });
    found.unwrap()
}

fn texted(text: &str) -> AttemptResult {
    AttemptResult { text: text.to_owned(), text_blob: Some(blob(text.as_bytes())), ..exited("a.1.1", 0) }
}

fn filed(text: &str, result: AttemptResult) -> AttemptResult {
    AttemptResult { data: Some(text.as_bytes().to_vec()), data_blob: Some(blob(text.as_bytes())), ..result }
}

#[test]
fn data_stands_in_the_text_the_file_or_the_report() {
    for (what, is_text, result, data) in [
        ("none", false, texted("{\"n\": 1}"), "null"),
        ("text", true, texted(" {\"n\": 1.00}\n"), r#"{"n":1.00}"#),
        ("file", false, filed("[1, 2]", texted("words")), "[1,2]"),
        (
            "file of a step whose text is cut",
            false,
            filed("7", AttemptResult { text_cut: true, ..texted("1") }),
            "7",
        ),
        ("file of a step whose text is empty", true, filed("7", texted("\n")), "7"),
        ("report", false, reported("a.1.1", r#""data":{"n":2}"#), r#"{"n":2}"#),
        ("a report without data beside a file", false, filed("3", reported("a.1.1", r#""data":null"#)), "3"),
    ] {
        let settled = attempt(is_text, result);
        assert_eq!((settled.ok, settled.data.compact().as_str()), (true, data), "{what}");
    }
}

#[test]
fn data_that_cannot_be_read_or_stands_twice_fails_the_attempt_and_names_the_places() {
    let unreadable = AttemptResult { data_unreadable: Some("a folder".to_owned()), ..exited("a.1.1", 0) };
    let bad_bytes =
        AttemptResult { text_unreadable: Some("it is no UTF-8".to_owned()), ..texted("\"\u{fffd}\"") };
    let cut = |text: &str| AttemptResult { text_cut: true, ..texted(text) };
    // The part that is kept of a file that is too large.
    let large = " ".repeat(16 * 1024 * 1024 + 1);
    let larger = "in its text (`data: json`) cannot be read: the text is larger than 1 MiB";
    for (is_text, result, words) in [
        (true, cut("{\"ok\": true}"), larger),
        (true, cut("\n"), larger),
        (true, AttemptResult { text_unreadable: Some("no UTF-8".to_owned()), ..cut("{}") }, larger),
        (true, filed("{}", cut("")), "twice, at `$ENVOI_DATA` and in its text (`data: json`)"),
        (true, bad_bytes, "in its text (`data: json`) cannot be read: it is no UTF-8"),
        (true, texted("counting\n{}"), "in its text (`data: json`) cannot be read"),
        (true, texted(""), "the text of the step is empty"),
        (false, filed("{", texted("")), "at `$ENVOI_DATA` cannot be read"),
        (false, unreadable, "there is a folder"),
        (
            false,
            filed(&large, texted("")),
            "at `$ENVOI_DATA` cannot be read: there is a file of more than 16 MiB",
        ),
        (true, filed("{}", texted("{}")), "twice, at `$ENVOI_DATA` and in its text (`data: json`)"),
        (
            false,
            filed("{}", reported("a.1.1", r#""data":{}"#)),
            "twice, in its report (`data`) and at `$ENVOI_DATA`",
        ),
        (true, texted(r#"{"$artifact":"sha256:00"}"#), "in its text (`data: json`) has a member `$artifact`"),
        (false, filed(r#"{"a":1,"$omitted":null}"#, texted("")), "has a member `$omitted`"),
        (
            false,
            reported("a.1.1", r#""data":{"$artifact":1,"size":2}"#),
            "in its report (`data`) has a member",
        ),
    ] {
        let settled = attempt(is_text, result);
        let error = settled.error.unwrap();
        assert_eq!((settled.ok, error.code.as_str()), (false, "DATA_INVALID"), "{words}");
        assert!(error.message.contains(words), "{words}: {}", error.message);
    }
}

#[test]
fn a_report_that_is_too_large_is_named_as_that_and_not_by_what_is_kept_of_it() {
    let report = vec![b' '; 16 * 1024 * 1024 + 1];
    let error = attempt(false, exited("a.1.1", 0).with_report(&report)).error.unwrap();
    assert_eq!(error.code, "SKILL_REPORT_INVALID");
    assert!(error.message.contains("found a file of more than 16 MiB"), "{}", error.message);
}

#[test]
fn an_attempt_that_failed_anyway_keeps_its_own_error() {
    let failed = AttemptResult { outcome: envoi_kernel::event::Outcome::Exited { code: 3 }, ..texted("no") };
    assert_eq!(attempt(true, failed).error.unwrap().code, "TOOL_EXIT_NON_ZERO");
}

#[test]
fn the_result_of_a_test_runner_on_stderr_is_kept_unless_the_error_has_it() {
    let told = |code, stderr_tail: &str| {
        let result = AttemptResult { stderr_tail: stderr_tail.to_owned(), ..exited("a.1.1", code) };
        attempt(false, result)
    };
    let unittest = ".F\n-----\nRan 2 tests in 0.001s\n\nFAILED (failures=1)\n";
    assert_eq!(told(0, unittest).test_result.as_deref(), Some("FAILED (failures=1)"));
    assert_eq!(told(0, "a warning\n").test_result, None);
    let failed = told(1, unittest);
    assert_eq!((failed.test_result, failed.error.unwrap().message.contains("FAILED (")), (None, true));
    // Other runners write it to stdout, and the error has nothing of that.
    let pytest = AttemptResult { text: "== 1 failed, 2 passed in 0.1s ==".to_owned(), ..exited("a.1.1", 1) };
    let failed = attempt(false, pytest);
    assert_eq!(failed.test_result.as_deref(), Some("1 failed, 2 passed in 0.1s"));
    assert_eq!(failed.error.unwrap().message, "exit code 1");
}

#[test]
fn a_step_in_a_loop_reads_its_own_last_visit() {
    let work = step("work").exec(&["work", "${{ steps.work.data.session | default('new') }}"]);
    let check = critic("check", "work", 3);
    let mut driver = Driver::started(&flow([work, check]));
    let argv = |driver: &Driver, attempt: &str| driver.begun(attempt).command.clone();
    let command =
        |session: &str| envoi_kernel::event::Command::Exec(vec!["work".to_owned(), session.to_owned()]);
    assert_eq!(argv(&driver, "work.1.1"), command("new"));
    driver.ok(settled(reported("work.1.1", r#""data":{"session":"s-7"}"#)));
    driver.ok(settled(exited("check.1.1", 1)));
    assert_eq!(argv(&driver, "work.2.1"), command("s-7"));
}

#[test]
fn a_summary_is_that_of_the_hand_off_and_not_the_whole_text() {
    let second = step("b").exec(&["b", "${{ steps.a.summary | length }}"]);
    let mut driver = Driver::started(&flow([step("a"), second]));
    driver.ok(settled(texted(&"long ".repeat(2_000))));
    match &driver.begun("b.1.1").command {
        envoi_kernel::event::Command::Exec(argv) => {
            assert!(argv[1].parse::<usize>().unwrap() <= 2_000, "{argv:?}")
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn data_of_the_text_is_read_by_later_steps() {
    let first = step("a").with(|step| step.data_is_text = true);
    let second = step("b").exec(&["b", "${{ steps.a.data.n }}"]);
    let mut driver = Driver::started(&flow([first, second]));
    driver.ok(settled(texted("{\"n\": 7}")));
    let argv = ["b", "7"].map(str::to_owned).to_vec();
    assert_eq!(driver.begun("b.1.1").command, envoi_kernel::event::Command::Exec(argv));
}

#[test]
fn the_status_in_data_decides_however_large_the_data_is() {
    let talker = || critic("critic", "a", 2).with(|step| step.routing.status_from_exit.clear());
    for (status, text, then) in [
        ("UNVERIFIED", "Status: VERIFIED", "asks"),
        ("VERIFIED", "done", "passes"),
        ("VERIFIED", "Status: UNVERIFIED", "asks"),
        ("UNVERIFIED", "done", "loops"),
    ] {
        for bytes in [10, 64 * 1024] {
            let mut driver = Driver::started(&flow([step("a"), talker(), step("b")]));
            driver.exit("a.1.1", 0);
            let members = format!(r#""data":{{"pad":"{}","status":"{status}"}}"#, "x".repeat(bytes));
            let result = AttemptResult { text: text.to_owned(), ..reported("critic.1.1", &members) };
            driver.ok(settled(result));
            let found = match driver.nth_begun(2).map(|begun| begun.to_string()).as_deref() {
                None => "asks",
                Some("b.1.1") => "passes",
                Some("a.2.1") => "loops",
                Some(other) => other,
            }
            .to_owned();
            assert_eq!(found, then, "{status} {text} {bytes}");
        }
    }
}
