//! The conformance vectors.

use super::member::{Body, Message, Others, may, must};
use super::shape::{any_of, filled_text, free, has, of_type, part, properties, text, with, words};
use crate::conformance::OPERATIONS;
use crate::json::Object;

/// A file of executable examples.
pub(super) const FILE: Message = Message {
    title: "Conformance vectors",
    description: "Executable examples that every language's library and the binary run. A case that a runner does not know how to run \
           is a failure of that case.",
    body: Body::List(|| part("case")),
    rules: &[],
};

const CASE: Message = Message {
    title: "One example",
    description: "What to call, with what, and what comes of it.",
    body: Body::Object(
        &[
            must("op", || words(OPERATIONS), "What to call."),
            must("name", filled_text, "A name for people."),
            may("why", text, "Which question it answers."),
            may("input", free, "The argument as JSON."),
            may("input_text", text, "The very bytes that the decoder is given."),
            may(
                "expect",
                free,
                "The result: objects compare by member, integers by their text, other numbers by value.",
            ),
            may("expect_text", text, "The result's very bytes."),
            may("expect_error", refusal, "The refusal: its code, or its code and how its reason begins."),
        ],
        Others::Kept,
    ),
    rules: &[has_input, has_expectation],
};

/// A case as a part of the file.
pub(super) fn case() -> Object {
    CASE.to_object()
}

fn refusal() -> Object {
    let members =
        properties([("code", "The code.", text()), ("reason_prefix", "How the reason begins.", text())]);
    let whole = with(of_type("object"), "properties", members);
    any_of([text(), whole])
}

fn has_input() -> Object {
    any_of([has("input", free()), has("input_text", free())])
}

fn has_expectation() -> Object {
    any_of([has("expect", free()), has("expect_text", free()), has("expect_error", free())])
}
