//! The loops of a flow, and the extent of each: computed from the flow, before anything runs.

use crate::flows::{ask, branch, critic, flow, graph, step, step_id};
use envoi_kernel::{
    Flow,
    flow::{Overdue, Step, StepKind},
};

/// For each loop: the step that closes it, the steps it goes back to, the target of `again`, and its span.
fn loops(flow: &Flow) -> Vec<String> {
    let name = |place: usize| flow.steps[place].id.to_string();
    let names = |places: &[usize]| places.iter().map(|place| name(*place)).collect::<Vec<_>>().join(" ");
    let one = |found: &envoi_kernel::flow::Loop| {
        let span: Vec<usize> = found.span.iter().collect();
        assert!(span.len() == found.span.len() && found.span.contains(found.end));
        let again = found.again.map(|place| format!(", again {}", name(place))).unwrap_or_default();
        format!("{}: to {}{again}, spans {}", name(found.end), names(&found.targets), names(&span))
    };
    flow.structure().loops().map(one).collect()
}

fn after(mut step: Step, needs: &[&str]) -> Step {
    step.needs = needs.iter().map(|name| step_id(name)).collect();
    step
}

fn asking(name: &str, back: Option<&str>, deny: &str, expire: &str) -> Step {
    let mut step = ask(name);
    step.routing.loop_to = back.map(step_id);
    if let StepKind::Ask(plan) = &mut step.kind {
        plan.on_deny = Some(step_id(deny));
        plan.on_expire = Overdue::Go(step_id(expire));
    }
    step
}

#[test]
fn in_a_list_a_loop_spans_what_stands_between_its_ends() {
    let listed = flow([
        step("a"),
        critic("self", "self", 1),
        branch("b", &["a", "self", "end"]),
        critic("inner", "b", 1),
        critic("outer", "a", 1),
        branch("on", &["end"]),
        asking("q", Some("on"), "b", "end"),
        step("end"),
    ]);
    let told = [
        "self: to self, again self, spans self",
        "b: to a self, again b, spans a self b",
        "inner: to b, again b, spans b inner",
        "outer: to a, again a, spans a self b inner outer",
        "on: to , again on, spans on",
        "q: to b on, spans b inner outer on q",
    ];
    assert_eq!(loops(&listed), told);
    let structure = listed.structure();
    assert!(structure.closed_by(5).is_none(), "only a person goes back there");
    let span = |place: usize| &structure.closed_by(place).unwrap().span;
    assert!(span(4).has_within(span(3)) && span(4).has_within(span(2)) && span(4).has_within(span(1)));
    assert!(!span(3).has_within(span(2)) && !span(6).has_within(span(4)), "they cross");
    assert_eq!(structure.repeated(4, 2).iter().collect::<Vec<_>>(), [2, 3, 4]);
}

#[test]
fn in_a_graph_a_loop_spans_what_hangs_on_its_start_and_leads_to_its_end() {
    let flow = graph([
        after(critic("outer", "a", 1), &["inner"]),
        after(critic("inner", "b", 1), &["b", "beside"]),
        after(step("b"), &["a"]),
        after(step("beside"), &["a"]),
        after(step("apart"), &["b"]),
        step("a"),
    ]);
    assert_eq!(
        loops(&flow),
        ["outer: to a, again a, spans outer inner b beside a", "inner: to b, again b, spans inner b"]
    );
    let structure = flow.structure();
    let span = |place: usize| &structure.closed_by(place).unwrap().span;
    assert!(span(0).has_within(span(1)) && !span(1).has_within(span(0)));
    let repeated: Vec<usize> = structure.repeated(1, 2).iter().collect();
    assert_eq!(repeated, [0, 1, 2, 4], "what hangs on the start is done again, also outside the loop");
    assert_eq!(structure.needs()[1], [2, 3]);
    assert_eq!(structure.dependents()[5], [2, 3]);
}

#[test]
fn a_copy_of_a_flow_finds_its_own_structure() {
    let first = flow([step("a"), critic("c", "a", 1)]);
    assert_eq!(loops(&first), ["c: to a, again a, spans a c"]);
    let mut copy = Flow::clone(&first);
    assert_eq!(copy, *first);
    copy.steps.insert(1, step("b"));
    assert_eq!(loops(&copy), ["c: to a, again a, spans a b c"]);
}
