//! A denial is a path of its own: nothing of the ordinary way runs after it by accident.

use crate::{
    driver::Driver,
    flows::{With, ask, bounded, critic, flow, limits, step},
    story::{ends, plays},
};
use envoi_contract::routing::Decision;
use envoi_kernel::{
    event::Choice,
    flow::{OnExhausted, Overdue},
};

#[test]
fn a_denied_run_fails_and_the_next_step_never_starts() {
    let driver = plays(
        &flow([ask("q"), step("b")]),
        "> start
         started, asks Ask of q.1
         = question [waiting 3]
         > deny: too risky by carl
         answered deny, q.1 stops, q.1 failed, over: policy_violation at q
         = nothing [failed 1]
         > slot
         refused: the run is over (failed)
         = nothing [failed 1]
         > approve
         refused: the run is over (failed)
         = nothing [failed 1]
         ",
    );
    assert_eq!(driver.nth_begun(0), None);
    let handoff = driver.handoff("q.1");
    assert_eq!(
        (handoff.summary.as_str(), handoff.error.as_deref()),
        ("too risky", Some("DENIED: too risky"))
    );
    let signal = &handoff.routing_signal;
    assert_eq!((signal.decision, signal.reason.as_str()), (Decision::Terminate, "Denied"));
    let envelope = driver.run.envelope();
    assert_eq!(envelope.termination_reason.as_deref(), Some("Denied at step `q` by carl"));
    assert_eq!(envelope.failed_stages.keys().collect::<Vec<_>>(), ["q"]);
}

#[test]
fn a_denial_may_lead_on_to_a_step_with_which_the_run_ends() {
    let driver = plays(
        &flow([ask("q").on_deny("tidy"), step("b").next("end"), step("tidy"), step("after")]),
        "> start
         started, asks Ask of q.1
         = question [waiting 3]
         > deny: no
         answered deny, q.1 -> tidy, q.1 succeeded, tidy.1.1 begins
         = tidy.1.1 live
         > restart
         > tidy.1.1 exit 0
         tidy.1.1 ok, tidy.1 stops, tidy.1 succeeded, over: policy_violation at q
         = nothing [failed 1]
         > reopen
         reopened at q, asks Ask of q.2
         = question [waiting 3]
         > approve
         answered approve, q.2 -> b, q.2 succeeded, b.1.1 begins
         = b.1.1 live
         > b.1.1 exit 0
         b.1.1 ok, b.1 -> end, b.1 succeeded, over: completed
         = nothing [succeeded 0]
         ",
    );
    let signal = &driver.handoff("q.1").routing_signal;
    assert_eq!((signal.decision, signal.reason.as_str()), (Decision::Branch, "Denied"));
    assert_eq!(signal.next_step_id.as_deref(), Some("tidy"));
    assert_eq!(driver.handoff("q.1").error, None);
}

#[test]
fn next_says_where_a_run_goes_on_after_a_denial() {
    let flow = flow([ask("q").on_deny("mend"), step("b").next("end"), step("mend").next("c"), step("c")]);
    plays(
        &flow,
        "> start
         started, asks Ask of q.1
         = question [waiting 3]
         > deny
         answered deny, q.1 -> mend, q.1 succeeded, mend.1.1 begins
         = mend.1.1 live
         > mend.1.1 exit 0
         mend.1.1 ok, mend.1 -> c, mend.1 succeeded, c.1.1 begins
         = c.1.1 live
         > c.1.1 exit 0
         c.1.1 ok, c.1 -> end, c.1 succeeded, over: completed
         = nothing [succeeded 0]
         ",
    );
}

#[test]
fn a_step_after_a_denial_that_repeats_itself_still_ends_the_run_as_denied() {
    let flow = flow([ask("q").on_deny("undo"), step("b").next("end"), critic("undo", "undo", 2)]);
    plays(
        &flow,
        "> start
         started, asks Ask of q.1
         = question [waiting 3]
         > deny
         answered deny, q.1 -> undo, q.1 succeeded, undo.1.1 begins
         = undo.1.1 live
         > undo.1.1 exit 1
         undo.1.1 ok, undo.1 back to undo, undo.1 succeeded, undo.2.1 begins (round 1)
         = undo.2.1 live
         > undo.2.1 exit 0
         undo.2.1 ok, undo.2 stops, undo.2 succeeded, over: policy_violation at q
         = nothing [failed 1]
         ",
    );
}

#[test]
fn a_step_that_a_denial_leads_to_and_that_fails_first_still_ends_the_run_as_denied() {
    let flow = flow([ask("q").on_deny("undo"), step("b").next("end"), step("undo")]);
    plays(
        &flow,
        "> start
         started, asks Ask of q.1
         = question [waiting 3]
         > deny
         answered deny, q.1 -> undo, q.1 succeeded, undo.1.1 begins
         = undo.1.1 live
         > undo.1.1 exit 1
         undo.1.1 TOOL_EXIT_NON_ZERO, undo.1 stops, undo.1 failed, over: tool_failed_fatally at undo
         = nothing [failed 1]
         > reopen
         reopened at undo, undo.2.1 begins
         = undo.2.1 live
         > undo.2.1 exit 0
         undo.2.1 ok, undo.2 stops, undo.2 succeeded, over: policy_violation at q
         = nothing [failed 1]
         ",
    );
}

#[test]
fn a_denial_on_the_way_of_a_denial_does_not_take_its_place() {
    let steps = || [ask("ok").on_deny("undo"), step("b").next("end"), ask("undo")];
    plays(
        &flow(steps()),
        "> start
         started, asks Ask of ok.1
         = question [waiting 3]
         > deny
         answered deny, ok.1 -> undo, ok.1 succeeded, asks Ask of undo.1
         = question [waiting 3]
         > deny
         answered deny, undo.1 stops, undo.1 failed, over: policy_violation at undo
         = nothing [failed 1]
         > reopen
         reopened at undo, asks Ask of undo.2
         = question [waiting 3]
         > restart
         > approve
         answered approve, undo.2 stops, undo.2 succeeded, over: policy_violation at ok
         = nothing [failed 1]
         ",
    );
    let slow = steps().map(|step| match step.id.as_str() {
        "undo" => step.expires(5),
        _ => step,
    });
    assert_eq!(
        ends(&flow(slow), &["start", "deny", "clock 5", "expire"]),
        "question expired, undo.1 stops, undo.1 failed, over: policy_violation at undo = nothing [failed 1]"
    );
}

#[test]
fn a_repaired_denial_is_not_reported_for_a_later_step() {
    let steps = [
        ask("q").on_deny("mend"),
        step("b").next("r"),
        step("mend").next("r"),
        ask("r").on_deny("undo").next("undo"),
        step("undo"),
    ];
    assert_eq!(
        ends(&flow(steps), &["start", "deny", "mend.1.1 exit 0", "approve", "undo.1.1 exit 0"]),
        "undo.1.1 ok, undo.1 -> end, undo.1 succeeded, over: completed = nothing [succeeded 0]"
    );
}

#[test]
fn a_step_that_a_denial_leads_to_may_also_be_reached_on_the_ordinary_way() {
    let inputs = ["start", "approve", "tidy.1.1 exit 0"];
    assert_eq!(
        ends(&flow([ask("q").on_deny("tidy"), step("tidy")]), &inputs),
        "tidy.1.1 ok, tidy.1 -> end, tidy.1 succeeded, over: completed = nothing [succeeded 0]"
    );
    // A denial that was followed by another round is no denial any more.
    let looped = ask("q").on_deny("tidy").again_from("q", 1);
    let back = step("tidy").with(|step| {
        step.routing = critic("tidy", "q", 1).routing;
    });
    plays(
        &flow([looped, back]),
        "> start
         started, asks Ask of q.1
         = question [waiting 3]
         > deny
         answered deny, q.1 -> tidy, q.1 succeeded, tidy.1.1 begins
         = tidy.1.1 live
         > tidy.1.1 exit 1
         tidy.1.1 ok, tidy.1 back to q, tidy.1 succeeded, asks Ask of q.2
         = question [waiting 3]
         > approve
         answered approve, q.2 -> tidy, q.2 succeeded, tidy.2.1 begins (round 1)
         = tidy.2.1 live
         > tidy.2.1 exit 0
         tidy.2.1 ok, tidy.2 -> end, tidy.2 succeeded, over: completed
         = nothing [succeeded 0]
         ",
    );
}

fn sent_back(policy: OnExhausted) -> std::sync::Arc<envoi_kernel::Flow> {
    let asks = ask("q").on_deny("a").with(|step| step.routing.max_iterations = 1).exhausted(policy);
    flow([step("a"), asks, step("b")])
}

#[test]
fn a_denial_that_leads_back_is_a_bounded_loop_and_its_end_is_no_way_on() {
    for policy in [OnExhausted::Ask, OnExhausted::Proceed] {
        let driver = plays(
            &sent_back(policy),
            "> start
             started, a.1.1 begins
             = a.1.1 live
             > a.1.1 exit 0
             a.1.1 ok, a.1 -> q, a.1 succeeded, asks Ask of q.1
             = question [waiting 3]
             > deny: shorter
             answered deny, q.1 back to a, q.1 succeeded, a.2.1 begins (round 1)
             = a.2.1 live
             > a.2.1 exit 0
             a.2.1 ok, a.2 -> q, a.2 succeeded, asks Ask of q.2
             = question [waiting 3]
             > deny: shorter still
             answered deny, q.2 stops, q.2 failed, over: policy_violation at q
             = nothing [failed 1]
             ",
        );
        assert_eq!(driver.begun("a.2.1").sent_back_by.as_ref(), driver.asked().first());
    }
    let inputs = ["start", "a.1.1 exit 0", "deny", "a.2.1 exit 0", "deny"];
    assert_eq!(
        ends(&sent_back(OnExhausted::Fail), &inputs),
        "answered deny, q.2 stops, q.2 succeeded, over: max_loop_exceeded at q = nothing [exhausted 4]"
    );
}

#[test]
fn a_run_that_was_sent_back_and_then_approved_completes() {
    let inputs = ["start", "a.1.1 exit 0", "deny", "a.2.1 exit 0", "approve", "b.1.1 exit 0"];
    assert_eq!(
        ends(&sent_back(OnExhausted::Ask), &inputs),
        "b.1.1 ok, b.1 -> end, b.1 succeeded, over: completed = nothing [succeeded 0]"
    );
}

#[test]
fn a_denial_that_a_bound_of_the_run_holds_up_goes_back_where_it_was_going() {
    let asks = ask("q").on_deny("a").with(|step| step.routing.max_iterations = 3);
    let steps = [step("z"), step("a"), asks, step("b")];
    plays(
        &bounded(limits(&[("iterations", "0"), ("on_reached", "ask")]), steps),
        "> start
         started, z.1.1 begins
         = z.1.1 live
         > z.1.1 exit 0
         z.1.1 ok, z.1 -> a, z.1 succeeded, a.1.1 begins
         = a.1.1 live
         > a.1.1 exit 0
         a.1.1 ok, a.1 -> q, a.1 succeeded, asks Ask of q.1
         = question [waiting 3]
         > deny
         answered deny, q.1 holds, q.1 succeeded, asks Limit of q.1
         = question [waiting 3]
         > restart
         > raise iterations 1
         answered raise, q.1 back to a, a.2.1 begins (round 1)
         = a.2.1 live
         ",
    );
}

#[test]
fn a_failed_step_after_a_denial_fails_the_run_for_its_own_reason() {
    let inputs = ["start", "deny", "tidy.1.1 exit 1"];
    assert_eq!(
        ends(&flow([ask("q").on_deny("tidy"), step("b").next("end"), step("tidy")]), &inputs),
        "tidy.1.1 TOOL_EXIT_NON_ZERO, tidy.1 stops, tidy.1 failed, over: tool_failed_fatally at tidy = nothing [failed 1]"
    );
}

#[test]
fn a_second_question_on_the_way_of_a_denial_is_its_own() {
    let second = ask("sure").on_deny("tidy");
    let flow = flow([ask("q").on_deny("sure"), step("b").next("end"), second.next("end"), step("tidy")]);
    assert_eq!(
        ends(&flow, &["start", "deny", "approve"]),
        "answered approve, sure.1 -> end, sure.1 succeeded, over: completed = nothing [succeeded 0]"
    );
    assert_eq!(
        ends(&flow, &["start", "deny", "deny", "tidy.1.1 exit 0"]),
        "tidy.1.1 ok, tidy.1 stops, tidy.1 succeeded, over: policy_violation at sure = nothing [failed 1]"
    );
    // Without a `next`, a yes on the way of a denial does not undo the denial.
    let bare = ask("sure");
    let flow = crate::flows::flow([ask("q").on_deny("sure"), step("b").next("end"), bare, step("c")]);
    assert_eq!(
        ends(&flow, &["start", "deny", "approve"]),
        "answered approve, sure.1 stops, sure.1 succeeded, over: policy_violation at q = nothing [failed 1]"
    );
}

#[test]
fn silence_may_count_as_a_denial() {
    let silent =
        |asks: envoi_kernel::flow::Step| asks.expires(5).asking(|plan| plan.on_expire = Overdue::Deny);
    let driver = plays(
        &flow([silent(ask("q")), step("b")]),
        "> start
         started, asks Ask of q.1
         = question [waiting 3]
         > clock +5
         > expire
         question expired, q.1 stops, q.1 failed, over: policy_violation at q
         = nothing [failed 1]
         ",
    );
    assert_eq!(driver.handoff("q.1").summary, "[Expired without an answer]");
    let said = driver.run.envelope().termination_reason.clone();
    assert_eq!(said.as_deref(), Some("Denied at step `q`: nobody answered in time"));
    let flow = flow([silent(ask("q").on_deny("tidy")), step("b").next("end"), step("tidy")]);
    assert_eq!(
        ends(&flow, &["start", "clock +5", "expire", "tidy.1.1 exit 0"]),
        "tidy.1.1 ok, tidy.1 stops, tidy.1 succeeded, over: policy_violation at q = nothing [failed 1]"
    );
}

#[test]
fn a_reopened_run_asks_again_and_the_denial_is_forgotten() {
    let mut driver = Driver::started(&flow([ask("q"), step("b")]));
    let denial = driver.answer(Choice::Deny, "bob");
    driver.say(denial.clone()).unwrap();
    crate::story::feed(&mut driver, "reopen");
    assert_eq!(crate::story::stand(&driver.run), "= question [waiting 3]");
    assert_ne!(driver.question().interrupt, denial.interrupt);
    driver.say(denial).unwrap_err();
    crate::story::feed(&mut driver, "approve");
    assert_eq!(
        crate::story::feed(&mut driver, "b.1.1 exit 0").split("over: ").nth(1),
        Some("completed = nothing [succeeded 0]")
    );
}
