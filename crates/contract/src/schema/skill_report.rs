//! Contract 4: the report of a skill.

use super::member::{Body, Message, Others, may, must};
use super::shape::{flag, free, only, properties, text};
use crate::json::Object;

/// The report of a skill about its own run.
pub(super) const REPORT: Message = Message {
    title: "Skill report",
    description: "The report of a skill about its own run, whatever its exit code is. A library always writes `data`, if only as null.",
    body: Body::Object(
        &[
            must("ok", flag, "Whether the skill succeeded."),
            must("generatedAt", text, "When the report was made: ISO 8601, not checked."),
            must("skillName", text, "The skill's name."),
            may("data", free, "The domain's payload."),
            may("metrics", metrics, "Diagnostics: an object. Another shape is kept and not understood."),
            may(
                "error",
                error,
                "Why it failed: `{code, message}`. Another shape is kept and read as a message.",
            ),
        ],
        Others::Kept,
    ),
    rules: &[],
};

fn metrics() -> Object {
    only(
        "properties",
        properties([
            ("llm_calls", "Calls of language models; a count.", free()),
            ("tokens_in", "Tokens given to language models; a count.", free()),
            ("tokens_out", "Tokens made by language models; a count.", free()),
            ("cost_usd", "Cost in US dollars: a decimal string or a number.", free()),
        ]),
    )
}

fn error() -> Object {
    only("properties", properties([("code", "For programs.", free()), ("message", "For people.", free())]))
}
