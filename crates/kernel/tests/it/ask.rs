//! A step that asks: its question, its answer, and the answer as later steps see it.

use crate::{
    driver::{Driver, blob, exited, person, settled},
    flows::{With, ask, critic, flow, step, step_id},
    story::{ends, plays, stand},
};
use envoi_contract::{
    envelope::{InterruptKind, InterruptStatus},
    json::Value,
    user_envelope::{AttachmentRef, OriginKind},
};
use envoi_kernel::{
    Event, Flow, Refusal,
    event::{Choice, InterruptAnswered},
    flow::Template,
    input::Answer,
};
use std::sync::Arc;

/// A run of `a`, then the question `q`, then `b`; the question is open.
fn asked(change: impl FnOnce(&mut envoi_kernel::flow::AskPlan)) -> Driver {
    let mut driver = Driver::started(&flow([step("a"), ask("q").asking(change), step("b")]));
    driver.exit("a.1.1", 0);
    driver
}

pub(crate) fn file(name: &str) -> AttachmentRef {
    AttachmentRef {
        artifact_id: format!("art_{name}"),
        representation_revision_id: "rep_1".to_owned(),
        digest: blob(name.as_bytes()).digest.to_string(),
        mime: "text/plain".to_owned(),
        origin_kind: OriginKind::Upload,
        title: None,
        filename: Some(name.to_owned()),
        size: None,
    }
}

#[test]
fn a_step_asks_without_a_slot_and_goes_on_with_the_answer() {
    plays(
        &flow([ask("q"), step("b")]),
        "> start without a slot
         started, asks Ask of q.1
         = question [waiting 3]
         > slot
         refused: no visit waits for a slot
         = question [waiting 3]
         > restart
         > approve without a slot
         answered approve, q.1 -> b, q.1 succeeded
         = b.1 ready
         > approve
         refused: question `int_none` is not open
         = b.1 ready
         > slot
         b.1.1 begins
         = b.1.1 live
         ",
    );
}

#[test]
fn a_question_whose_condition_is_false_is_not_put() {
    assert_eq!(
        ends(&flow([ask("q").when("false"), step("b")]), &["start"]),
        "started, q.1 -> b, q.1 skipped, b.1.1 begins = b.1.1 live"
    );
}

#[test]
fn a_question_that_cannot_be_worded_fails_its_step() {
    let broken = ask("q").asking(|plan| plan.message = Template("${{ steps.a.data.x.y }}".to_owned()));
    let driver = plays(
        &flow([step("a"), broken]),
        "> start
         started, a.1.1 begins
         = a.1.1 live
         > a.1.1 exit 0
         a.1.1 ok, a.1 -> q, a.1 succeeded, q.1 stops, q.1 failed, over: tool_failed_fatally at q
         = nothing [failed 1]
         ",
    );
    assert!(driver.handoff("q.1").error.as_deref().unwrap().starts_with("EXPRESSION_FAILED: "));
}

#[test]
fn the_message_is_filled_in_when_it_is_asked() {
    let asks = ask("q").asking(|plan| plan.message = Template("Was it ${{ steps.a.status }}?".to_owned()));
    let mut driver = Driver::started(&flow([step("a"), asks]));
    driver.exit("a.1.1", 0);
    assert_eq!(driver.question().question, "Was it succeeded?");
}

#[test]
fn the_envelope_shows_the_question() {
    let driver = asked(|plan| {
        (plan.kind, plan.expires_in_ms) = (InterruptKind::Checkpoint, Some(60_000));
    });
    let envelope = driver.run.envelope();
    let shown = envelope.interrupt.as_ref().unwrap();
    assert!(envelope.interrupt_pending);
    assert_eq!((envelope.current_stage.as_str(), shown.kind), ("q", InterruptKind::Checkpoint));
    assert_eq!(shown.question.as_deref(), Some("Go on?"));
    assert_eq!(shown.status, Some(InterruptStatus::Pending));
    assert_eq!(shown.expires_at.as_deref(), Some("2026-11-21T00:01:00.000Z"));
    assert_eq!(shown.id.as_deref(), Some(driver.question().interrupt.as_str()));
    assert_eq!(shown.data.as_ref().and_then(|data| data.get("step")).and_then(Value::as_str), Some("q"));
    let mut driver = driver;
    driver.say(driver.answer(Choice::Approve, "bob")).unwrap();
    assert!(!driver.run.envelope().interrupt_pending && driver.run.envelope().interrupt.is_none());
    assert_eq!(
        driver.run.envelope().outputs.get("q").map(Value::compact).as_deref(),
        Some(
            r#"{"summary":"[Approved by operator]","data":{"text":"[Approved by operator]","approved":true,"decision":"approve"},"artifacts":{}}"#
        )
    );
}

/// The text and the response that an answer is recorded with.
fn recorded(
    kind: InterruptKind,
    form: bool,
    choice: Choice,
    text: Option<&str>,
) -> Result<(String, String), Refusal> {
    let asks = ask("q").again_from("a", 2).asking(|plan| {
        plan.kind = kind;
        plan.schema = form.then(Value::default);
    });
    let mut driver = Driver::started(&flow([step("a"), asks, step("b")]));
    driver.exit("a.1.1", 0);
    let says_yes = matches!(choice, Choice::Approve | Choice::Respond);
    let data = (form && says_yes).then(|| Value::parse_str(r#"{"n":1.50}"#).unwrap());
    let answer = driver.answer(choice, "bob");
    driver.say(Answer { text: text.map(str::to_owned), data, ..answer })?;
    let InterruptAnswered { text, data, .. } = driver.answered(0);
    // Contract 2 trims a summary and shortens a long one.
    let summary = &driver.handoff("q.1").summary;
    assert!(text.len() > 1_000 || summary == text.trim(), "the summary is the text: {summary}");
    let envelope = driver.run.envelope();
    let output = envelope.outputs.get("q").and_then(|output| output.get("data"));
    assert_eq!(output, Some(data), "the data of the step is the response");
    Ok((text.clone(), data.compact()))
}

#[test]
fn the_words_of_an_answer() {
    use Choice::{Again, Approve, Deny, Respond};
    use InterruptKind::{Clarification, Confirmation};
    let rows = [
        (Confirmation, Approve, None, "[Approved by operator]"),
        (Confirmation, Approve, Some(""), "[Approved by operator]"),
        (Confirmation, Approve, Some(" \n\t"), "[Approved by operator]"),
        (Confirmation, Approve, Some("  fine by me \n"), "fine by me"),
        (Confirmation, Deny, None, "[Denied by operator]"),
        (Confirmation, Deny, Some(" too risky "), "too risky"),
        (Confirmation, Again, None, "[Sent back by operator]"),
        (Confirmation, Again, Some(" shorter "), "shorter"),
        (Confirmation, Again, Some("[Approved by operator]"), "[Approved by operator]"),
        (Clarification, Respond, Some("  as it is \n"), "  as it is \n"),
        (Clarification, Respond, Some("[Approved by operator]"), "[Approved by operator]"),
        (Clarification, Deny, None, "[Denied by operator]"),
    ];
    for (kind, choice, text, expected) in rows {
        let (said, _) = recorded(kind, false, choice, text).unwrap();
        assert_eq!(said, expected, "{kind:?} {choice:?} {text:?}");
    }
    let form = recorded(Clarification, true, Respond, None).unwrap();
    assert_eq!(form, ("[Answered by operator]".to_owned(), r#"{"n":1.50}"#.to_owned()));
    let form = recorded(Clarification, true, Respond, Some(" see the form ")).unwrap();
    assert_eq!(form, (" see the form ".to_owned(), r#"{"n":1.50}"#.to_owned()));
}

#[test]
fn the_response_of_an_answer() {
    use Choice::{Again, Approve, Deny, Respond};
    use InterruptKind::{Clarification, Confirmation};
    let rows = [
        (Confirmation, Approve, r#"{"text":"x","approved":true,"decision":"approve"}"#),
        (Confirmation, Deny, r#"{"text":"x","approved":false,"decision":"deny"}"#),
        (Confirmation, Again, r#"{"text":"x","decision":"again"}"#),
        (Clarification, Respond, r#"{"text":"x","decision":"respond"}"#),
    ];
    for (kind, choice, expected) in rows {
        assert_eq!(recorded(kind, false, choice, Some("x")).unwrap().1, expected);
    }
    // A denial fills in no form; a long text is in the answer alone.
    let denied = recorded(Confirmation, true, Deny, Some("x")).unwrap().1;
    assert_eq!(denied, r#"{"text":"x","approved":false,"decision":"deny"}"#);
    let (at, over) = ("x".repeat(16 * 1024), "x".repeat(16 * 1024 + 1));
    assert!(recorded(Confirmation, false, Approve, Some(&at)).unwrap().1.contains(&at));
    let long = recorded(Confirmation, false, Approve, Some(&over)).unwrap();
    assert_eq!(long, (over, r#"{"approved":true,"decision":"approve"}"#.to_owned()));
}

#[test]
fn a_clarification_needs_words_unless_it_has_a_form() {
    for blank in [None, Some(""), Some(" \t\n")] {
        let kind = InterruptKind::Clarification;
        assert_eq!(recorded(kind, false, Choice::Respond, blank), Err(Refusal::Blank), "{blank:?}");
        assert!(recorded(kind, true, Choice::Respond, blank).is_ok(), "{blank:?}");
    }
}

/// Whether an answer with these contents is taken.
fn fits(form: bool, change: impl FnOnce(&mut Answer)) -> bool {
    let mut driver = asked(|plan| plan.schema = form.then(Value::default));
    let before = driver.run.snapshot();
    let mut answer = driver.answer(Choice::Approve, "bob");
    change(&mut answer);
    match driver.say(answer) {
        Ok(_) => true,
        Err(Refusal::Misfit { .. }) => {
            assert!(driver.run.snapshot() == before);
            false
        }
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn an_answer_has_what_its_question_takes_and_no_more() {
    let text = |bytes: usize| move |answer: &mut Answer| answer.text = Some("x".repeat(bytes));
    assert!(fits(false, text(1024 * 1024)));
    assert!(!fits(false, text(1024 * 1024 + 1)));
    let files = |count: usize| {
        move |answer: &mut Answer| answer.attachments = (0..count).map(|n| file(&n.to_string())).collect()
    };
    assert!(fits(false, files(20)));
    assert!(!fits(false, files(21)));
    // A JSON string has two quotes.
    let data =
        |bytes: usize| move |answer: &mut Answer| answer.data = Some(Value::from("x".repeat(bytes - 2)));
    assert!(fits(true, data(64 * 1024)));
    assert!(!fits(true, data(64 * 1024 + 1)));
    assert!(!fits(false, data(9)));
    assert!(!fits(true, |_| ()));
    for choice in [Choice::Deny, Choice::Again] {
        let mut driver = Driver::started(&flow([ask("q").again_from("q", 1).asking(|plan| {
            plan.schema = Some(Value::default());
        })]));
        let answer = Answer { data: Some(Value::from(1_u64)), ..driver.answer(choice, "bob") };
        assert!(matches!(driver.say(answer), Err(Refusal::Misfit { .. })));
    }
    assert!(!fits(false, |answer| answer.raise = Some(Default::default())));
}

#[test]
fn attached_files_are_among_the_artifacts_of_the_step() {
    let mut driver = asked(|_| ());
    let id = driver.question().interrupt.clone();
    let mut answer = driver.answer(Choice::Approve, "bob");
    answer.attachments = vec![file("plan.md"), file("plan.md"), file("../b")];
    driver.say(answer).unwrap();
    let artifacts = driver.handoff("q.1").to_value().get("artifacts").map(Value::compact).unwrap();
    let expected = format!(
        r#"{{"plan.md":"answers/{id}/files/plan.md","plan-2.md":"answers/{id}/files/plan-2.md","b":"answers/{id}/files/b"}}"#
    );
    assert_eq!(artifacts, expected);
}

#[test]
fn later_steps_see_the_answer() {
    let tells = step("b").exec(&[
        "say",
        "${{ steps.q.data.approved }}",
        "${{ steps.q.data.decision }}",
        "${{ steps.q.summary }}",
        "${{ steps.q.status }}",
    ]);
    let flow = flow([ask("q"), tells.when("steps.q.data.approved == true")]);
    let mut driver = Driver::started(&flow);
    let id = driver.question().interrupt.clone();
    driver.say(Answer { text: Some("yes, do".to_owned()), ..driver.answer(Choice::Approve, "bob") }).unwrap();
    let begun = driver.begun("b.1.1");
    let said = ["say", "true", "approve", "yes, do", "succeeded"].map(str::to_owned).to_vec();
    assert_eq!(begun.command, envoi_kernel::event::Command::Exec(said));
    assert_eq!(begun.answer.as_ref(), Some(&id));
    assert_eq!(begun.handoff.as_ref().map(ToString::to_string).as_deref(), Some("q.1"));
    assert_eq!(begun.sent_back_by, None);
}

#[test]
fn the_audit_shows_who_answered_and_how() {
    let mut driver = asked(|_| ());
    let id = driver.question().interrupt.clone();
    driver.say(Answer { channel: "cli".to_owned(), ..driver.answer(Choice::Approve, "bob") }).unwrap();
    let routed = driver.records.iter().rev().find_map(|record| match &record.event {
        Event::Routed(event) => Some(event),
        _ => None,
    });
    let routed = routed.unwrap();
    assert_eq!(routed.answer.as_ref(), Some(&id));
    let audit = format!(r#"{{"answer":"approve","by":"bob","channel":"cli","interrupt":"{id}"}}"#);
    // The hand-off follows in the same commit, and has it.
    assert!(routed.audit.is_null());
    let handoff = driver.handoff(&routed.visit.to_string());
    assert_eq!(handoff.routing_audit.compact(), audit);
    assert_eq!((routed.signal.reason.as_str(), routed.signal.confidence.as_str()), ("Answered", "1.0"));
}

#[test]
fn the_starter_of_the_run_may_be_excluded() {
    for choice in [Choice::Approve, Choice::Deny, Choice::Again] {
        let asks = ask("q").again_from("q", 1).asking(|plan| plan.not_by_starter = true);
        let mut driver = Driver::started(&flow([asks]));
        let refused = driver.say(driver.answer(choice, "ada"));
        assert_eq!(refused, Err(Refusal::NotByStarter { actor: "ada".to_owned() }));
        // The same name in another tenant is another person.
        let mut answer = driver.answer(choice, "ada");
        answer.by.tenant = "elsewhere".to_owned();
        driver.say(answer).unwrap();
    }
    let mut driver = asked(|_| ());
    driver.say(driver.answer(Choice::Approve, "ada")).unwrap();
}

/// Starts a run that has approved `q` beforehand.
fn said_yes(flow: &Arc<Flow>) -> Driver {
    let mut driver = Driver::new(flow);
    driver.yes_to = vec![step_id("q")];
    driver.feed(driver.start()).unwrap();
    driver
}

#[test]
fn a_yes_given_at_the_start_is_recorded_in_the_commit_of_the_question() {
    let driver = said_yes(&flow([ask("q"), ask("r")]));
    let events: Vec<String> =
        driver.records.iter().map(|record| crate::story::event(&record.event)).collect();
    let expected =
        ["started", "asks Ask of q.1", "answered approve", "q.1 -> r", "q.1 succeeded", "asks Ask of r.1"];
    assert_eq!(events, expected);
    let answer = driver.answered(0);
    assert_eq!((answer.channel.as_str(), &answer.by), ("yes_to", &person("ada")));
    assert_eq!(answer.text, "[Approved by operator]");
}

#[test]
fn a_yes_given_at_the_start_that_does_not_fit_leaves_the_question_open() {
    let misfits: [fn(&mut envoi_kernel::flow::AskPlan); 4] = [
        |plan| plan.kind = InterruptKind::Clarification,
        |plan| plan.schema = Some(Value::default()),
        |plan| plan.not_by_starter = true,
        |plan| plan.expires_in_ms = Some(0),
    ];
    for misfit in misfits {
        // Neither the start nor the end of an attempt may be refused for it: the run could never go on.
        let driver = said_yes(&flow([ask("q").asking(misfit), step("b")]));
        assert_eq!(stand(&driver.run), "= question [waiting 3]");
        let mut driver = said_yes(&flow([step("a"), ask("q").asking(misfit), step("b")]));
        driver.ok(settled(exited("a.1.1", 0)));
        assert_eq!(stand(&driver.run), "= question [waiting 3]");
    }
    let driver = said_yes(&flow([ask("q").quorum(2)]));
    let id = driver.question().interrupt.clone();
    assert_eq!(driver.run.votes(&id).map(|vote| vote.channel.as_str()).collect::<Vec<_>>(), ["yes_to"]);
}

#[test]
fn a_yes_given_at_the_start_is_void_for_a_step_that_a_correction_changed() {
    let first = flow([step("a"), ask("q"), ask("r"), step("z")]);
    let other = |plan: &mut envoi_kernel::flow::AskPlan| plan.message = Template("Delete all?".to_owned());
    let second = flow([step("a"), ask("q").asking(other), ask("r"), step("z")]);
    let second = crate::corrected::version("second", &second);
    let begin = || {
        let mut driver = Driver::new(&first);
        driver.yes_to = vec![step_id("q"), step_id("r")];
        driver.feed(driver.start()).unwrap();
        driver
    };
    let correct = |driver: &mut Driver, to: &Arc<Flow>| {
        driver.run.learn(Arc::clone(to));
        let notes = driver.run.correction(to, None).notes;
        driver.feed_with(crate::corrected::correction(to, None), crate::driver::slot()).unwrap();
        driver.restart();
        notes
    };
    let note = "the approval of step `q` that was given in advance does not count for what the file says";
    // A run that has failed, and a run under way, where the correction waits.
    for waits in [false, true] {
        let mut driver = begin();
        if waits {
            assert_eq!(correct(&mut driver, &second), [note]);
            driver.exit("a.1.1", 0);
        } else {
            driver.exit("a.1.1", 1);
            assert_eq!(correct(&mut driver, &second), [note]);
            driver.exit("a.2.1", 0);
        }
        assert_eq!((driver.question().visit.step.as_str(), driver.asked().len()), ("q", 1));
        driver.restart();
        // The step that has not changed keeps its advance approval.
        driver.say(driver.answer(Choice::Approve, "bob")).unwrap();
        assert_eq!(
            (driver.answered(1).channel.as_str(), stand(&driver.run).as_str()),
            ("yes_to", "= z.1.1 live")
        );
    }
    // A correction back brings no approval back.
    let mut driver = begin();
    driver.exit("a.1.1", 1);
    correct(&mut driver, &second);
    driver.exit("a.2.1", 1);
    assert_eq!(correct(&mut driver, &first), Vec::<String>::new());
    driver.exit("a.3.1", 0);
    assert_eq!(driver.question().visit.step.as_str(), "q");
}

#[test]
fn a_loop_that_comes_back_asks_anew_and_the_old_answer_never_counts() {
    let flow = flow([ask("q"), critic("critic", "q", 2), step("b")]);
    let driver = plays(
        &flow,
        "> start
         started, asks Ask of q.1
         = question [waiting 3]
         > approve: the first time
         answered approve, q.1 -> critic, q.1 succeeded, critic.1.1 begins
         = critic.1.1 live
         > critic.1.1 exit 1
         critic.1.1 ok, critic.1 back to q, critic.1 succeeded, asks Ask of q.2
         = question [waiting 3]
         > restart
         > approve: the second time
         answered approve, q.2 -> critic, q.2 succeeded, critic.2.1 begins (round 1)
         = critic.2.1 live
         ",
    );
    let ids = driver.asked();
    assert_ne!(ids[0], ids[1]);
    let mut driver = Driver::started(&flow);
    let old = driver.answer(Choice::Approve, "bob");
    driver.say(old.clone()).unwrap();
    driver.exit("critic.1.1", 1);
    assert_eq!(driver.say(old.clone()), Err(Refusal::NotOpen { interrupt: old.interrupt }));
    assert_eq!(driver.handoff("q.1").summary, "[Approved by operator]");
}

#[test]
fn the_person_who_sends_a_run_back_is_known_to_the_steps_of_that_round() {
    let looped = ask("q").again_from("a", 2);
    let mut driver = Driver::started(&flow([step("z"), step("a"), step("b"), looped, step("c")]));
    for id in ["z.1.1", "a.1.1", "b.1.1"] {
        driver.exit(id, 0);
    }
    let first = driver.question().interrupt.clone();
    driver.say(Answer { text: Some("shorter".to_owned()), ..driver.answer(Choice::Again, "bob") }).unwrap();
    driver.exit("a.2.1", 0).exit("b.2.1", 0);
    let second = driver.question().interrupt.clone();
    driver.say(driver.answer(Choice::Again, "bob")).unwrap();
    driver.exit("a.3.1", 0).exit("b.3.1", 0);
    driver.say(driver.answer(Choice::Approve, "bob")).unwrap();
    let sent = |id: &str| driver.begun(id).sent_back_by.clone();
    let rows = [
        ("z.1.1", None),
        ("a.1.1", None),
        ("b.1.1", None),
        ("a.2.1", Some(&first)),
        ("b.2.1", Some(&first)),
        ("a.3.1", Some(&second)),
        ("b.3.1", Some(&second)),
        ("c.1.1", None),
    ];
    for (id, expected) in rows {
        assert_eq!(sent(id).as_ref(), expected, "{id}");
    }
    assert_eq!((driver.begun("a.2.1").iteration, driver.begun("b.3.1").iteration), (1, 2));
}

#[test]
fn again_is_refused_past_a_bound_and_where_there_is_no_loop() {
    let bound =
        "refused: another round would pass a bound: max_iterations 1 of step `q` = question [waiting 3]";
    assert_eq!(ends(&flow([ask("q").again_from("q", 1)]), &["start", "again", "again"]), bound);
    assert_eq!(
        ends(&flow([ask("q")]), &["start", "again"]),
        "refused: `again` is no answer to this question; it takes approve or deny = question [waiting 3]"
    );
    let run =
        crate::flows::bounded(crate::flows::limits(&[("iterations", "0")]), [ask("q").again_from("q", 1)]);
    assert_eq!(
        ends(&run, &["start", "again"]),
        "refused: another round would pass a bound: iterations 0 of 0 is used up = question [waiting 3]"
    );
}

#[test]
fn a_run_that_is_cancelled_asks_no_longer() {
    plays(
        &flow([step("a"), ask("q").expires(100), step("b")]),
        "> start
         started, a.1.1 begins
         = a.1.1 live
         > a.1.1 exit 0
         a.1.1 ok, a.1 -> q, a.1 succeeded, asks Ask of q.1
         = question [waiting 3]
         > cancel
         cancel by bob, question void, over: user_cancelled at q
         = nothing [cancelled 130]
         > restart
         > clock +1000
         > expire
         refused: the run is over (cancelled)
         = nothing [cancelled 130]
         > approve
         refused: the run is over (cancelled)
         = nothing [cancelled 130]
         > reopen
         reopened at q, asks Ask of q.1
         = question [waiting 3]
         > restart
         > approve
         answered approve, q.1 -> b, q.1 succeeded, b.1.1 begins
         = b.1.1 live
         ",
    );
}

#[test]
fn a_step_that_ends_while_the_run_is_cancelled_asks_nothing() {
    let inputs = ["start", "cancel", "a.1.1 exit 0"];
    assert_eq!(
        ends(&flow([step("a"), ask("q")]), &inputs),
        "a.1.1 ok, a.1 -> q, a.1 succeeded, over: user_cancelled at q = nothing [cancelled 130]"
    );
}
