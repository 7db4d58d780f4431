//! The subject of a question as one digest, and the reaction when it changes.

use crate::{
    driver::{Driver, blob, exited, settled},
    flows::{With, ask, flow, step},
    story::plays,
};
use envoi_contract::digest::Digest;
use envoi_kernel::{
    Flow, Input, Refusal,
    event::{Change, Choice, FileChange, FoundFile},
    flow::{InDoubtPolicy, Step},
    input::{Answer, AttemptResult},
};
use std::sync::Arc;

fn file(path: &str, content: Option<&str>) -> FileChange {
    FileChange {
        path: path.to_owned(),
        change: if content.is_some() { Change::Modified } else { Change::Deleted },
        blob: content.map(|content| blob(content.as_bytes())),
        before: None,
    }
}

/// The digest that is shown with the first question after `a` has left this.
fn about(flow: &Arc<Flow>, result: AttemptResult) -> Digest {
    let mut driver = Driver::started(flow);
    driver.ok(settled(result));
    driver.question().subject.unwrap()
}

fn steps() -> [Step; 3] {
    [step("a"), ask("q"), step("b")]
}

fn with(files: Vec<FileChange>) -> AttemptResult {
    AttemptResult { files, ..exited("a.1.1", 0) }
}

#[test]
fn it_changes_exactly_when_the_flow_the_last_handoff_or_an_artifact_does() {
    let plain = flow(steps());
    let mut other = Flow::clone(&plain);
    other.digest = Digest::of(b"another");
    let said = |text: &str| AttemptResult { text: text.to_owned(), ..exited("a.1.1", 0) };
    let two = |a, b| with(vec![file("a", Some(a)), file("b", Some(b))]);
    let differing = [
        about(&plain, exited("a.1.1", 0)),
        about(&Arc::new(other), exited("a.1.1", 0)),
        about(&plain, said("words")),
        about(&plain, said("other words")),
        about(&plain, with(vec![file("a", Some("1"))])),
        about(&plain, with(vec![file("a", Some("2"))])),
        about(&plain, with(vec![file("b", Some("1"))])),
        about(&plain, with(vec![file("a", None)])),
        about(&plain, two("1", "2")),
        about(&plain, two("2", "1")),
    ];
    for (place, one) in differing.iter().enumerate() {
        assert!(!differing[..place].contains(one), "{place}");
    }
    // The time and the starter are no part of it, nor is the wording of the question.
    assert_eq!(about(&plain, said("words")), about(&plain, said("words")));
    let [a, q, b] = steps();
    let worded = q.asking(|plan| plan.message = envoi_kernel::flow::Template("Else?".to_owned()));
    let slow = AttemptResult { duration_ms: 999, ..said("words") };
    assert_eq!(about(&flow([a, worded, b]), slow), about(&plain, said("words")));
}

#[test]
fn a_path_that_looks_like_another_file_is_not_taken_for_one() {
    // Another step hands over last, so that only the artifacts differ.
    let shown = |files: Vec<FileChange>| {
        let mut driver = Driver::started(&flow([step("a"), step("b"), ask("q")]));
        driver.ok(settled(with(files))).exit("b.1.1", 0);
        driver.question().subject.unwrap()
    };
    let two = vec![file("a", Some("1")), file("b", Some("2"))];
    let posing = format!("a\nfile {} b", Digest::of(b"2"));
    assert_ne!(shown(vec![file(&posing, Some("1"))]), shown(two.clone()));
    assert_eq!(shown(two.clone()), shown(two));
    assert_ne!(shown(vec![file("a", None)]), shown(Vec::new()));
}

#[test]
fn the_newest_version_of_each_artifact_counts_whatever_became_of_the_attempt() {
    let lived = |first: &[FileChange], second: &[FileChange]| {
        let mut driver = Driver::started(&flow([step("a").tries(2), ask("q")]));
        driver.ok(settled(AttemptResult { files: first.to_vec(), ..exited("a.1.1", 1) })).timer_due();
        driver.ok(settled(AttemptResult { files: second.to_vec(), ..exited("a.1.2", 0) }));
        (driver.question().subject.unwrap(), driver.run.files().clone())
    };
    let (one, two) = ([file("a", Some("1"))], [file("a", Some("2"))]);
    let (twice, files) = lived(&one, &two);
    assert_eq!(twice, lived(&[], &two).0);
    assert_eq!(files.into_iter().collect::<Vec<_>>(), [("a".to_owned(), Some(Digest::of(b"2")))]);
    assert_ne!(twice, lived(&two, &one).0);
    // Files that an attempt left count even if it failed.
    assert_eq!(lived(&one, &[]).1, lived(&[], &one).1);
    assert_ne!(lived(&one, &[]).0, lived(&[], &[]).0);
}

#[test]
fn what_arrives_too_late_is_not_shown() {
    let mut driver = Driver::started(&flow([step("a").in_doubt(InDoubtPolicy::Rerun), ask("q")]));
    let doubt = Input::InDoubt { attempt: crate::driver::attempt("a.1.1"), evidence: Default::default() };
    driver.ok(doubt);
    driver.exit("a.1.2", 0);
    let before = (driver.question().subject, driver.run.files().clone());
    driver.ok(settled(with(vec![file("a", Some("late"))])));
    let late = driver.records.last().map(|record| crate::story::event(&record.event));
    assert_eq!(late.as_deref(), Some("a.1.1 late"));
    assert_eq!((driver.question().subject, driver.run.files().clone()), before);
}

#[test]
fn a_skipped_step_leaves_it_as_it_is() {
    let skipping = flow([step("a"), step("s").when("false"), ask("q")]);
    let plain = flow([step("a"), ask("q")]);
    assert_eq!(about(&skipping, exited("a.1.1", 0)), about(&plain, exited("a.1.1", 0)));
}

#[test]
fn an_answer_to_what_was_shown_is_taken_and_to_anything_else_refused() {
    let mut driver = Driver::started(&flow(steps()));
    driver.exit("a.1.1", 0);
    let (id, subject) = (driver.question().interrupt.clone(), driver.question().subject);
    let seen = |seen| Answer { seen, ..driver.answer(Choice::Approve, "bob") };
    let (other, same) = (seen(Some(Digest::of(b""))), seen(subject));
    assert_eq!(driver.say(other), Err(Refusal::Changed { interrupt: id }));
    driver.say(same).unwrap();
}

fn found(path: &str, content: &str) -> FoundFile {
    FoundFile { path: path.to_owned(), digest: Some(Digest::of(content.as_bytes())) }
}

#[test]
fn a_question_about_what_has_changed_is_put_again() {
    plays(
        &flow([ask("q").expires(100), step("b")]),
        "> start
         started, asks Ask of q.1
         = question [waiting 3]
         > clock +60
         > changed
         question out of date, asks Ask of q.1
         = question [waiting 3]
         > restart
         > changed other.py
         question out of date, asks Ask of q.1
         = question [waiting 3]
         > approve
         answered approve, q.1 -> b, q.1 succeeded, b.1.1 begins
         = b.1.1 live
         > changed
         refused: question `int_none` is not open
         = b.1.1 live
         ",
    );
}

#[test]
fn the_new_question_is_the_old_one_with_another_id_and_subject() {
    let mut driver = Driver::started(&flow([ask("q").expires(100), step("b")]));
    let old = driver.question().clone();
    driver.now = driver.now.saturating_add_ms(60);
    let changed = |interrupt: &envoi_kernel::ids::InterruptId, content| Input::Changed {
        interrupt: interrupt.clone(),
        found: vec![found("a.py", content)],
    };
    driver.ok(changed(&old.interrupt, "x"));
    let new = driver.question().clone();
    assert_ne!((&new.interrupt, new.subject), (&old.interrupt, old.subject));
    assert_eq!((new.expires_at, new.kind, &new.visit), (old.expires_at, old.kind, &old.visit));
    assert_eq!((&new.question, new.about), (&old.question, old.about));
    assert_eq!(new.raised_at, driver.now);
    assert_eq!(new.found, [found("a.py", "x")]);
    assert_eq!(new.evidence.compact(), r#"{"changed_in_the_workspace":["a.py"]}"#);
    let closed = driver.answer(Choice::Approve, "bob");
    let closed = Answer { interrupt: old.interrupt.clone(), ..closed };
    assert_eq!(driver.say(closed), Err(Refusal::NotOpen { interrupt: old.interrupt }));
    driver.ok(changed(&new.interrupt, "y"));
    assert_ne!(driver.question().subject, new.subject, "what was found is part of what is shown");
}

#[test]
fn what_the_engine_had_to_say_stays_with_a_question_that_is_put_again() {
    let talker = crate::flows::critic("a", "a", 1).with(|step| step.routing.status_from_exit.clear());
    let mut driver = Driver::started(&flow([talker]));
    driver.exit("a.1.1", 0);
    let reason = driver.question().evidence.clone();
    assert!(reason.as_str().is_some());
    let interrupt = driver.question().interrupt.clone();
    driver.ok(Input::Changed { interrupt, found: vec![found("a.py", "x")] });
    assert_eq!(driver.question().evidence.get("reason"), Some(&reason));
    crate::story::feed(&mut driver, "proceed");
    assert_eq!(crate::story::stand(&driver.run), "= nothing [succeeded 0]");
}

/// The same steps with another one at the end, and a quorum of two at `q`.
fn releasing(argv: &str) -> Arc<Flow> {
    let flow = flow([step("a"), ask("q").quorum(2).expires(100), step("b").exec(&[argv])]);
    crate::corrected::version(argv, &flow)
}

#[test]
fn a_yes_to_what_was_shown_is_none_to_what_a_corrected_flow_releases() {
    let (shown, other) = (releasing("staging"), releasing("production"));
    let mut driver = Driver::started(&shown);
    driver.exit("a.1.1", 0);
    let old = driver.question().clone();
    driver.say(driver.answer(Choice::Approve, "bob")).unwrap();
    driver.now = driver.now.saturating_add_ms(60);
    driver.run.learn(Arc::clone(&other));
    driver.ok(crate::corrected::correction(&other, None));
    driver.restart();
    let new = driver.question().clone();
    assert_ne!((&new.interrupt, new.subject), (&old.interrupt, old.subject));
    assert_eq!(
        (&new.question, &new.visit, new.expires_at, new.about),
        (&old.question, &old.visit, old.expires_at, old.about)
    );
    let to = |interrupt: &envoi_kernel::ids::InterruptId, seen| {
        let answer = driver.answer(Choice::Approve, "cid");
        Answer { interrupt: interrupt.clone(), seen, ..answer }
    };
    let refused = [
        (to(&old.interrupt, None), Refusal::NotOpen { interrupt: old.interrupt.clone() }),
        (to(&old.interrupt, old.subject), Refusal::NotOpen { interrupt: old.interrupt.clone() }),
        (to(&new.interrupt, old.subject), Refusal::Changed { interrupt: new.interrupt.clone() }),
    ];
    let yes = to(&new.interrupt, new.subject);
    for (answer, why) in refused {
        assert_eq!(driver.say(answer), Err(why));
    }
    // The approval of before is void: two people have to approve what it is about now.
    driver.say(yes).unwrap();
    assert_eq!(crate::story::stand(&driver.run), "= question [waiting 3]");
    driver.say(driver.answer(Choice::Approve, "bob")).unwrap();
    assert_eq!(crate::story::stand(&driver.run), "= b.1.1 live");
}

#[test]
fn what_a_person_decides_about_the_way_on_is_about_the_corrected_flow_too() {
    let with = |argv: &str| {
        let talker = crate::flows::critic("a", "a", 1).with(|step| step.routing.status_from_exit.clear());
        crate::corrected::version(argv, &flow([talker, step("b").exec(&[argv])]))
    };
    let (shown, other) = (with("staging"), with("production"));
    let mut driver = Driver::started(&shown);
    driver.exit("a.1.1", 0);
    let old = driver.question().clone();
    driver.run.learn(Arc::clone(&other));
    driver.ok(crate::corrected::correction(&other, None));
    let new = driver.question().clone();
    assert_ne!((&new.interrupt, new.subject), (&old.interrupt, old.subject));
    assert_eq!((new.about, &new.question, &new.evidence), (old.about, &old.question, &old.evidence));
}

#[test]
fn a_question_whose_time_is_over_stays_and_lapses_under_the_corrected_flow() {
    let (shown, other) = (releasing("staging"), releasing("production"));
    let mut driver = Driver::started(&shown);
    driver.exit("a.1.1", 0);
    let interrupt = driver.question().interrupt.clone();
    driver.now = driver.now.saturating_add_ms(100);
    driver.run.learn(Arc::clone(&other));
    driver.ok(crate::corrected::correction(&other, None));
    assert_eq!(driver.question().interrupt, interrupt);
    driver.ok(Input::Expire { interrupt });
    assert_eq!(crate::story::stand(&driver.run), "= nothing [failed 1]");
}
