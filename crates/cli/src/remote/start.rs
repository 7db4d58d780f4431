//! `run` and `fork` at a server: a flow file, which is registered if it is not known there and the token may, a flow that is,
//! or a run that another one begins with.
//!
//! An interrupted start is safe: it has a key, and a second request with it gets the run of the first one.

use super::{
    Remote,
    attend::Attended,
    call::{Again, good, read, segment},
    problem::not_understood,
    rows,
};
use crate::{
    command::{
        fork::step,
        run::{given_inputs, load, read_flow, requester, yes_to},
    },
    process::{
        args::{ForkArgs, RunArgs},
        environment,
        failure::Failure,
    },
    session::{background, interactive::Conversation},
    store::select::Verb,
    view::{live::Live, printer::Printer},
};
use envoi_contract::json::{Object, Value};
use envoi_flow::{Files, Loaded};
use envoi_kernel::{
    ids::{RunId, StepId},
    requester::Requester,
};
use serde::Deserialize;
use std::{path::Path, sync::Arc};

pub(crate) fn run(remote: &Remote, args: &RunArgs) -> Result<u8, Failure> {
    let (loaded, name) = chosen(remote, &args.flow)?;
    let mut body = Object::new();
    body.insert("flow".to_owned(), Value::from(name));
    body.insert("inputs".to_owned(), Value::Object(given_inputs(&loaded, args)?));
    how(&mut body, (args.copy, args.share_workspace), &args.yes_to)?;
    let Requester { user_id, session_id, metadata, .. } = requester(args)?;
    for (name, id) in [("user_id", user_id), ("session_id", session_id)] {
        if let Some(id) = id {
            body.insert(name.to_owned(), Value::from(id));
        }
    }
    if !metadata.is_empty() {
        body.insert("metadata".to_owned(), Value::Object(metadata));
    }
    let run = begun(remote, "/v1/runs", body)?;
    match args.engine.detach {
        true => background::print_run(&run.run, remote.json),
        false => attend(remote, &run, |printer| printer),
    }
}

pub(crate) fn fork(remote: &Remote, args: &ForkArgs) -> Result<u8, Failure> {
    let from = remote.run_or_meant(args.run.as_deref(), Verb::Fork)?;
    let mut body = Object::new();
    if let Some(step) = args.from.as_deref().map(step).transpose()? {
        body.insert("from".to_owned(), Value::from(step.as_str()));
    }
    if let Some(why) = &args.why {
        body.insert("why".to_owned(), Value::from(why.as_str()));
    }
    how(&mut body, (args.copy, args.share_workspace), &args.yes_to)?;
    let run = begun(remote, &format!("/v1/runs/{}/fork", segment(from.as_str())), body)?;
    match args.engine.detach {
        true => {
            run.notes.iter().for_each(|note| crate::process::messages::say(note));
            background::print_run(&run.run, remote.json)
        }
        false => attend(remote, &run, Printer::forks),
    }
}

/// Tells of a run from its first event on.
fn attend(remote: &Remote, begun: &Begun, as_it_is: impl FnOnce(Printer) -> Printer) -> Result<u8, Failure> {
    let run = &begun.run;
    // Before anything of it is known here, so that all of it is remarked on.
    let pinned = remote.begin(run)?;
    let flow = understood(envoi_flow::load_as(pinned.language, &pinned.name, &pinned.text, &pinned.parts))?;
    let flow = Arc::new(flow.flow);
    let store = remote.mirror()?.store();
    let mut conversation = Conversation::new(run.clone(), remote.json).with(&remote.by);
    let view = |run: &RunId| Live::of_run(run, flow.clone(), store.layout(), store.reader().ok());
    let printer = Printer::new(run.clone(), remote.json).live(view).asks_in_place(conversation.is_possible());
    let mut printer = as_it_is(printer);
    begun.notes.iter().for_each(|note| printer.note(note));
    let mut attended = Attended::new(remote, run)?;
    attended.is_left_going()?;
    attended.records()?.iter().for_each(|record| printer.record(record));
    printer.accepted();
    attended.follow(&mut printer, &mut conversation)
}

/// The flow, and how the server knows it.
fn chosen(remote: &Remote, flow: &Path) -> Result<(Loaded, String), Failure> {
    let name = flow.to_string_lossy();
    if flow.is_file() || name.contains(['/', '.']) {
        let (path, text) = read_flow(flow)?;
        let loaded = load(flow, &path, &text)?;
        let digest = loaded.flow.digest.to_string();
        registered(remote, &loaded, (&path, text))?;
        return Ok((loaded, digest));
    }
    let reply = remote.server.asked(&format!("/v1/flows/{}", segment(&name)), &[])?;
    if reply.status == 404 {
        return Err(reply.failure().hint("name a flow file, or a flow of the server by its id or digest"));
    }
    let text = String::from_utf8(good(reply)?).map_err(not_understood)?;
    let loaded = understood(envoi_flow::load_with(&name, &text, &Theirs { remote, flow: &name }))?;
    let digest = loaded.flow.digest.to_string();
    Ok((loaded, digest))
}

fn understood(loaded: Result<Loaded, envoi_flow::Report>) -> Result<Loaded, Failure> {
    loaded.map_err(|report| not_understood(format_args!("its flow cannot be read by this version: {report}")))
}

/// The files of a registered flow.
struct Theirs<'r> {
    remote: &'r Remote,
    flow: &'r str,
}

impl Files for Theirs<'_> {
    fn text(&self, path: &str) -> Result<String, String> {
        let path = format!("/v1/flows/{}?file={}", segment(self.flow), segment(path));
        let body = self.remote.server.get(&path).map_err(|failure| failure.message)?;
        String::from_utf8(body).map_err(|error| error.to_string())
    }
}

/// A flow that the server knows is not registered anew: it would become the newest of its id.
fn registered(remote: &Remote, loaded: &Loaded, (path, text): (&Path, String)) -> Result<(), Failure> {
    let known = remote.server.asked(&format!("/v1/flows/{}", loaded.flow.digest), &[])?;
    if known.status == 200 {
        return Ok(());
    }
    let (kind, body) = if loaded.parts.is_empty() {
        ("application/yaml", text)
    } else {
        ("application/json", files(loaded, path, text))
    };
    let reply = remote.server.post("/v1/flows", &[("content-type", kind)], &body, Again::Yes)?;
    match reply.status {
        200 | 201 => Ok(()),
        403 => Err(reply.failure().hint(
            "the flow is not registered there, and this token may not register it; one with the scope admin may",
        )),
        _ => Err(reply.failure()),
    }
}

/// The flow with those that it names.
fn files(loaded: &Loaded, path: &Path, text: String) -> String {
    let name =
        path.file_name().map_or_else(|| "flow.yaml".to_owned(), |name| name.to_string_lossy().into_owned());
    let mut files = Object::new();
    for (path, text) in &loaded.parts {
        files.insert(path.clone(), Value::from(text.as_str()));
    }
    files.insert(name.clone(), Value::from(text));
    Value::Object(Object::from([("flow", Value::from(name)), ("files", Value::Object(files))])).compact()
}

/// How a new run uses its workspace, and what is approved in advance.
fn how(body: &mut Object, (copy, share): (bool, bool), steps: &[String]) -> Result<(), Failure> {
    let workspace = match (copy, share) {
        (true, _) => "copy",
        (_, true) => "shared",
        _ => "alone",
    };
    body.insert("workspace".to_owned(), Value::from(workspace));
    let steps: Vec<StepId> = yes_to(steps)?;
    if !steps.is_empty() {
        let steps = steps.iter().map(|step| Value::from(step.as_str()));
        body.insert("yes_to".to_owned(), Value::Array(steps.collect()));
    }
    Ok(())
}

/// A run that has begun.
struct Begun {
    run: RunId,
    /// What should be known besides.
    notes: Vec<String>,
}

#[derive(Deserialize)]
struct Notes {
    #[serde(default)]
    notes: Vec<String>,
}

fn begun(remote: &Remote, path: &str, body: Object) -> Result<Begun, Failure> {
    let key = environment::random_id("start_")?;
    // One that is none would make a header that cannot be sent.
    let trace = environment::variable("TRACEPARENT")
        .filter(|trace| trace.bytes().all(|byte| byte.is_ascii_graphic()));
    let mut headers = vec![("idempotency-key", key.as_str()), ("content-type", "application/json")];
    headers.extend(trace.as_deref().map(|trace| ("traceparent", trace)));
    let reply = remote.server.post(path, &headers, &Value::Object(body).compact(), Again::Yes)?;
    let body = good(reply)?;
    let Notes { notes } = read(&body)?;
    Ok(Begun { run: rows::run(&body)?.run, notes })
}
