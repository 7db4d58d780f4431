//! Contract 1: the signal in both forms, and the resolver's input.

use alloc::vec;

use super::member::{Body, Member, Message, Others, may, must};
use super::shape::{
    any_of, count_or, described, filled_text, flag_or_false, has, list, maybe_part, maybe_text, member,
    of_type, only, properties, share, telling_text, text, texts, when, with, words,
};
use crate::json::{Object, Value};
use crate::routing::{Decision, Kind};

/// The signal in hand-offs; also the form for all signals that are read.
pub(super) const SIGNAL: Message = Message {
    title: "Routing signal, as a hand-off carries it",
    description: "One decision about what happens next, with its reason. Ours have all six members and the first four words of \
           `decision`; the words of the resolver's form and the aliases that follow are read too, in any case.",
    body: Body::Object(SIGNAL_MEMBERS, Others::Kept),
    rules: &[branch_is_targeted],
};

const SIGNAL_MEMBERS: &[Member] = &[
    must("decision", decision, "What happens next: go on, run again, give up, or go to the named step."),
    may("next_step_id", maybe_text, "The step to go to, if one is named."),
    may(
        "route",
        || maybe_part("route"),
        "Where a branch leads: ours are a string, `step` or `flow/step`, or null.",
    ),
    may("reason", || with(text(), "default", ""), "Why, for people."),
    may(
        "confidence",
        share,
        "How sure the decision is: 1.0 an explicit instruction, 0.9 a labelled status, 0.8 an inferred one, 0.7 ambiguous. Digits are kept.",
    ),
    may("needs_human", flag_or_false, "Whether a person must look at it."),
];

/// The signal as a part of a hand-off.
pub(super) fn signal() -> Object {
    SIGNAL.to_object()
}

fn decision() -> Object {
    let own = Decision::ALL.map(Decision::orchestrator_word);
    let others =
        Decision::ALL.into_iter().flat_map(Decision::words).copied().filter(|word| !own.contains(word));
    words(own.into_iter().chain(others))
}

fn branch_is_targeted() -> Object {
    let branch = words(Decision::Branch.words().iter().copied());
    let route = only("type", Value::from(vec!["string", "object"]));
    when(has("decision", branch), any_of([has("next_step_id", text()), has("route", route)]))
}

/// A route in either form.
pub(super) fn route() -> Object {
    let name = with(text(), "pattern", "^[^/]+(?:/[\\s\\S]+)?$");
    let object = with(of_type("object"), "required", Value::from(vec!["step_id"]));
    described(
        "A step: `step`, `flow/step`, or an object of both.",
        any_of([name, with_route_members(object)]),
    )
}

/// `object` with the members of a route. Both of its forms must be able to express them.
fn with_route_members(object: Object) -> Object {
    let members = properties([
        ("flow", "The flow; null for the same one.", with(maybe_text(), "pattern", "^[^/]+$")),
        ("step_id", "The step; without `/` where there is no flow.", filled_text()),
    ]);
    let object = with(with(object, "properties", members), "if", has("flow", text()));
    with(object, "else", member("step_id", only("pattern", "^[^/]+$")))
}

/// The signal as the resolver writes it.
pub(super) const RESOLVER_SIGNAL: Message = Message {
    title: "Routing signal, as the resolver writes it",
    description: "One decision about what happens next, with its reason. `envoi route` prints this form; both forms are read \
           wherever a signal is.",
    body: Body::Object(RESOLVER_MEMBERS, Others::Kept),
    rules: &[route_is_targeted],
};

const RESOLVER_MEMBERS: &[Member] = &[
    must(
        "decision",
        || words(Decision::ALL.map(Decision::resolver_word)),
        "What happens next: go on, run again, give up, or go to the named step.",
    ),
    must("next_step_id", maybe_text, "The step to go to, if one is named."),
    must("route", route_object, "Where a route leads; null for none."),
    must("reason", text, "Why, for people."),
    must(
        "confidence",
        share,
        "How sure the decision is: 1.0 an explicit instruction, 0.9 a labelled status, 0.8 an inferred one, 0.7 ambiguous.",
    ),
    may("needs_human", || only("const", true), "Whether a person must look at it; written only then."),
];

fn route_is_targeted() -> Object {
    let route = only("const", Decision::Branch.resolver_word());
    when(has("decision", route), any_of([has("next_step_id", text()), has("route", of_type("object"))]))
}

fn route_object() -> Object {
    let whole = only("type", Value::from(vec!["object", "null"]));
    with_route_members(with(whole, "required", Value::from(vec!["flow", "step_id"])))
}

/// The resolver's input.
pub(super) const INPUT: Message = Message {
    title: "Input of the resolver",
    description: "What `envoi route` reads: a step's text, what it is waited for, and how often the loop has gone back. Labelled \
           text is read too. It is configuration: members that are not known are refused.",
    body: Body::Object(INPUT_MEMBERS, Others::Refused),
    rules: &[],
};

const INPUT_MEMBERS: &[Member] = &[
    must("handoff_text", text, "What the step wrote."),
    may(
        "routing",
        || maybe_part("routing"),
        "How the step is routed; null or absent if nothing is configured.",
    ),
    may("iteration", || count_or(0), "How often the loop has gone back so far, 0 at first."),
    may("flow", maybe_text, "The flow of the step, so that a hint into the same flow is known as one."),
    may(
        "steps",
        || with(texts(), "type", Value::from(vec!["array", "null"])),
        "The steps that a hint may name, those of another flow as `flow/step`; null or absent: any.",
    ),
    may("hints", || with(of_type("boolean"), "default", true), "Whether hints in the text count."),
];

const ROUTING: Message = Message {
    title: "Routing of a step",
    description: "What ends a step's loop, and how often it may go back.",
    body: Body::Object(ROUTING_MEMBERS, Others::Refused),
    rules: &[microloop_can_end],
};

const ROUTING_MEMBERS: &[Member] = &[
    may(
        "routing_kind",
        || with(words(Kind::ALL.map(Kind::word)), "default", Kind::Linear.word()),
        "`linear`: one step after the other; `microloop`: until a success value is stated; `branch`: the text names the next step.",
    ),
    may(
        "loop_target",
        || with(telling_text(), "type", Value::from(vec!["string", "null"])),
        "The value that ends the loop, such as VERIFIED; not a step.",
    ),
    may(
        "success_values",
        || list(telling_text()),
        "The values that count as success; empty means the `loop_target` alone.",
    ),
    may("max_iterations", || count_or(3), "How often the loop may go back."),
    may(
        "can_further_iteration_help",
        || with(of_type("boolean"), "default", true),
        "Whether running again can change anything; the text can deny it.",
    ),
];

/// The routing of a step as a part of the input.
pub(super) fn routing() -> Object {
    ROUTING.to_object()
}

fn microloop_can_end() -> Object {
    let values = has("success_values", only("minItems", 1_u64));
    let microloop = only("const", Kind::Microloop.word());
    when(has("routing_kind", microloop), any_of([has("loop_target", text()), values]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_of_a_decision_is_in_its_schema() {
        let schema = decision();
        let words = schema.get("enum").and_then(Value::as_array).unwrap();
        assert!(words.iter().all(|word| word.as_str().and_then(Decision::parse).is_some()));
        assert_eq!(words.len(), Decision::ALL.iter().map(|decision| decision.words().len()).sum::<usize>());
    }
}
