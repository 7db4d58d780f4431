//! The state of a run, and its exit code.

use crate::{
    flows::{With, bounded, critic, flow, limits, step},
    story::ends,
};
use envoi_kernel::flow::{InDoubtPolicy, OnBlocked, OnExhausted};

#[test]
fn the_status_follows_from_what_happened() {
    let failing = |policy| flow([critic("a", "a", 0).exhausted(policy)]);
    for (flow, inputs, stand) in [
        (flow([step("a")]), vec!["start"], "= a.1.1 live"),
        (flow([step("a")]), vec!["start without a slot"], "= a.1 ready"),
        (flow([step("a").tries(2)]), vec!["start", "a.1.1 exit 1"], "= timer"),
        (flow([step("a")]), vec!["start", "cancel"], "= a.1.1 live, cancelling"),
        (failing(OnExhausted::Ask), vec!["start", "a.1.1 exit 1"], "= question [waiting 3]"),
        (flow([step("a")]), vec!["start", "a.1.1 doubt"], "= question [waiting 5]"),
        (flow([step("a")]), vec!["start", "a.1.1 exit 0"], "= nothing [succeeded 0]"),
        (flow([step("a")]), vec!["start", "a.1.1 exit 1"], "= nothing [failed 1]"),
        (
            flow([step("a").in_doubt(InDoubtPolicy::Fail)]),
            vec!["start", "a.1.1 doubt"],
            "= nothing [failed 1]",
        ),
        (
            flow([critic("a", "a", 1)
                .blocked(OnBlocked::Fail)
                .with(|step| step.routing.can_further_iteration_help = false)]),
            vec!["start", "a.1.1 exit 1"],
            "= nothing [failed 1]",
        ),
        (failing(OnExhausted::Ask), vec!["start", "a.1.1 exit 1", "answer stop"], "= nothing [failed 1]"),
        (failing(OnExhausted::Fail), vec!["start", "a.1.1 exit 1"], "= nothing [exhausted 4]"),
        (bounded(limits(&[("agent_hops", "0")]), [step("a")]), vec!["start"], "= nothing [exhausted 4]"),
        (flow([step("a")]), vec!["start without a slot", "cancel"], "= nothing [cancelled 130]"),
        (flow([step("a")]), vec!["start", "cancel", "a.1.1 cancelled"], "= nothing [cancelled 130]"),
    ] {
        let outcome = ends(&flow, &inputs);
        assert!(outcome.ends_with(stand), "{inputs:?}: {outcome}");
    }
}
