//! `run` at a server: a flow file, which is registered if it is not known there and the token may, or a flow that is.
//!
//! An interrupted start is safe: it has a key, and whoever asks again with it gets the run of the first time.

use super::{
    Remote,
    attend::Attended,
    call::{Again, good, segment},
    problem::{failure, not_understood},
    rows,
};
use crate::{
    args::RunArgs,
    background,
    command::run::{given_inputs, load, read_flow, yes_to},
    conversation::Conversation,
    failure::{BAD_INPUT, Failure},
    home,
    live::Live,
    narrate::Narrator,
};
use envoi_contract::json::{Object, Value};
use envoi_flow::Loaded;
use envoi_kernel::ids::{RunId, StepId};
use std::sync::Arc;

pub(crate) fn run(remote: &Remote, args: &RunArgs) -> Result<u8, Failure> {
    let (loaded, name) = chosen(remote, args)?;
    let inputs = given_inputs(&loaded, args)?;
    let run = started(remote, &body(&name, inputs, args)?)?;
    if args.engine.detach {
        return background::told(&run, remote.json);
    }
    // Before anything of it is known here, so that all of it is remarked on.
    let pinned = remote.begin(&run)?;
    let flow = envoi_flow::load_with(&pinned.name, &pinned.text, &pinned.parts).map_err(|report| {
        not_understood(format_args!("its flow cannot be read by this version: {report}"))
    })?;
    let flow = Arc::new(flow.flow);
    let store = remote.mirror()?.store();
    let mut talk = Conversation::new(run.clone(), remote.json).with(&remote.by);
    let view = |run: &RunId| Live::of_run(run, &flow, store.layout(), store.reader().ok());
    let mut narrator = Narrator::new(run.clone(), remote.json).live(view).asks_in_place(talk.is_possible());
    narrator.accepted();
    let mut attended = Attended::new(remote, &run)?;
    attended.is_left_going()?;
    attended.records()?.iter().for_each(|record| narrator.record(record));
    attended.follow(&mut narrator, &mut talk)
}

/// The flow, and how the server knows it.
fn chosen(remote: &Remote, args: &RunArgs) -> Result<(Loaded, String), Failure> {
    let name = args.flow.to_string_lossy();
    if args.flow.is_file() || name.contains(['/', '.']) {
        let (path, text) = read_flow(&args.flow)?;
        let loaded = load(&args.flow, &path, &text)?;
        let digest = loaded.flow.digest.to_string();
        registered(remote, &loaded, &text)?;
        return Ok((loaded, digest));
    }
    let reply = remote.server.asked(&format!("/v1/flows/{}", segment(&name)), &[])?;
    if reply.status == 404 {
        return Err(failure(&reply).hint("name a flow file, or a flow of the server by its id or digest"));
    }
    let text = String::from_utf8(good(reply)?).map_err(not_understood)?;
    let loaded = envoi_flow::load(&name, &text).map_err(|report| {
        not_understood(format_args!("its flow cannot be read by this version: {report}"))
    })?;
    let digest = loaded.flow.digest.to_string();
    Ok((loaded, digest))
}

/// A flow that the server knows is not registered anew: it would become the newest of its id.
fn registered(remote: &Remote, loaded: &Loaded, text: &str) -> Result<(), Failure> {
    if !loaded.parts.is_empty() {
        let message = "the flow names others, and the server takes flows of one file";
        return Err(Failure::new(BAD_INPUT, "NOT_REMOTE", message).hint("run it where the store is"));
    }
    let known = remote.server.asked(&format!("/v1/flows/{}", loaded.flow.digest), &[])?;
    if known.status == 200 {
        return Ok(());
    }
    let headers = [("content-type", "application/yaml")];
    let reply = remote.server.post("/v1/flows", &headers, text, Again::Yes)?;
    match reply.status {
        200 | 201 => Ok(()),
        403 => Err(failure(&reply).hint(
            "the flow is not registered there, and this token may not register it; one with the scope admin may",
        )),
        _ => Err(failure(&reply)),
    }
}

fn body(name: &str, inputs: Object, args: &RunArgs) -> Result<String, Failure> {
    let mut body = Object::new();
    body.insert("flow".to_owned(), Value::from(name));
    body.insert("inputs".to_owned(), Value::Object(inputs));
    let workspace = match (args.copy, args.share_workspace) {
        (true, _) => "copy",
        (_, true) => "shared",
        _ => "alone",
    };
    body.insert("workspace".to_owned(), Value::from(workspace));
    let steps: Vec<StepId> = yes_to(&args.yes_to)?;
    if !steps.is_empty() {
        let steps = steps.iter().map(|step| Value::from(step.as_str()));
        body.insert("yes_to".to_owned(), Value::Array(steps.collect()));
    }
    Ok(Value::Object(body).compact())
}

fn started(remote: &Remote, body: &str) -> Result<RunId, Failure> {
    let key = home::random_id("start_")?;
    let headers = [("idempotency-key", key.as_str()), ("content-type", "application/json")];
    let reply = remote.server.post("/v1/runs", &headers, body, Again::Yes)?;
    rows::run(&good(reply)?).map(|row| row.run)
}
