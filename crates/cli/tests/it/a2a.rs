//! A2A over raw HTTP, in both versions and both bindings: the messages of another agent, and the responses.

mod crash;
mod doors;
mod followed;
mod lists;
mod messages;
mod older;
mod page;
mod pair;
pub(crate) mod peer;
mod push;
mod reopened;
mod set_aside;

use crate::{
    serve::client::{Client, Served},
    stage::Stage,
};

/// A step, a question, a step; the person's text reaches the last one.
const REVIEW: &str = "
flow: review
inputs:
  message: { type: string, default: nothing }
steps:
  - id: draft
    run: printf '%s' \"$SAID\" > notes.md; printf '\\377\\000' > notes.bin; echo draft >> did.txt; echo drafted
    env: { SAID: '${{ inputs.message }}' }
    artifacts: [notes.md, notes.bin]
  - id: approve
    ask: 'Publish it?'
  - id: publish
    run: echo publish >> did.txt; echo published
";

/// A question that takes words, and a step that repeats them.
const WORDS: &str = "
flow: words
steps:
  - id: ask
    ask: { kind: clarification, message: 'What shall it say?' }
  - id: say
    run: cp $ENVOI_ANSWER answer.json; for f in $ENVOI_ANSWER_FILES/*; do [ -e $f ] && cp $f got-$(basename $f); done; echo said
";

/// A server with one flow, and a client that may do everything.
fn served(stage: &Stage, flow: &str) -> (Served, Client) {
    known(Served::start(stage), flow)
}

/// A server that was started for the first time, likewise.
fn known(served: Served, flow: &str) -> (Served, Client) {
    let client = served.client(served.first.as_deref().unwrap());
    let registered = client.post("/v1/flows", flow);
    assert_eq!(registered.status, 201, "{}", registered.text());
    (served, client)
}
