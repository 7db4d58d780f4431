//! `run` and `fork` at a server. The source is a flow file (registered first if the server lacks it and the
//! token permits that), a registered flow, or another run.
//!
//! An interrupted start is safe: it has a key, and a second request with that key gets the run of the first
//! one.

use super::{
    Remote,
    attend::Attended,
    call::{Reply, good, read, segment},
    problem::not_understood,
    rows,
};
use crate::{
    command::run::{from_step, given_inputs, requester, say_skipped_questions, selection, yes_to},
    process::{
        args::{ForkArgs, RunArgs},
        environment,
        failure::Failure,
    },
    session::{background, interactive::Conversation},
    store::{
        flow_files::{load, read_flow},
        select::Verb,
    },
    view::{live::Live, printer::Printer},
};
use envoi_api::flow::{Flow, Flows};
use envoi_contract::{
    code::Code,
    json::{Object, Value},
};
use envoi_engine::ParsedFlow;
use envoi_kernel::{
    ids::{RunId, StepId},
    part::Selection,
    requester::Requester,
};
use serde::Deserialize;
use std::{collections::BTreeMap, path::Path};

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
    let selection = selection(&args.part)?;
    if !selection.is_whole() {
        say_skipped_questions(&loaded.flow, &selection);
        let with = args.with.as_deref().map(|run| remote.run_or_meant(Some(run), Verb::Fork)).transpose()?;
        body.insert("part".to_owned(), part(&selection, with.as_ref()));
    }
    if !metadata.is_empty() {
        body.insert("metadata".to_owned(), Value::Object(metadata));
    }
    if args.no_cache {
        body.insert("no_cache".to_owned(), Value::Bool(true));
    }
    let run = begun(remote, "/v1/runs", (body, false))?;
    match args.engine.detach {
        true => background::print_run(&run.run, remote.json),
        false => attend(remote, &run, |printer| printer),
    }
}

/// The part of the flow, for a request body.
fn part(selection: &Selection, with: Option<&RunId>) -> Value {
    let list =
        |steps: &[StepId]| Value::from(steps.iter().map(|step| step.as_str().to_owned()).collect::<Vec<_>>());
    let lists = [("only", &selection.only), ("skip", &selection.skip)];
    let lists = lists.into_iter().filter(|(_, steps)| !steps.is_empty());
    let ids = [
        ("from", selection.from.as_ref().map(StepId::as_str)),
        ("until", selection.until.as_ref().map(StepId::as_str)),
        ("with", with.map(RunId::as_str)),
    ];
    let ids = ids.into_iter().filter_map(|(name, id)| Some((name.to_owned(), Value::from(id?))));
    let lists = lists.map(|(name, steps)| (name.to_owned(), list(steps)));
    Value::Object(lists.chain(ids).collect())
}

pub(crate) fn fork(remote: &Remote, args: &ForkArgs) -> Result<u8, Failure> {
    let from = remote.run_or_meant(args.run.as_deref(), Verb::Fork)?;
    let mut body = Object::new();
    if let Some(step) = args.from.as_deref().map(from_step).transpose()? {
        body.insert("from".to_owned(), Value::from(step.as_str()));
    }
    if let Some(reason) = &args.reason {
        body.insert("reason".to_owned(), Value::from(reason.as_str()));
    }
    let brought = match &args.flow {
        Some(file) => named_or_brought(remote, file, &mut body)?,
        None => false,
    };
    how(&mut body, (args.copy, args.share_workspace), &args.yes_to)?;
    let run = begun(remote, &format!("/v1/runs/{}/fork", segment(from.as_str())), (body, brought))?;
    match args.engine.detach {
        true => {
            run.notes.iter().for_each(|note| crate::process::messages::say(note));
            background::print_run(&run.run, remote.json)
        }
        false => attend(remote, &run, Printer::forks),
    }
}

/// Follows a run from its first event on.
fn attend(remote: &Remote, begun: &Begun, as_it_is: impl FnOnce(Printer) -> Printer) -> Result<u8, Failure> {
    let run = &begun.run;
    // Before any of its events is copied, so that all of them are printed.
    let pinned = remote.begin(run)?;
    let flow = understood(envoi_engine::flow_versions(&pinned))?;
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

/// The flow, and how the server identifies it.
fn chosen(remote: &Remote, flow: &Path) -> Result<(ParsedFlow, String), Failure> {
    let name = flow.to_string_lossy();
    if flow.is_file() || name.contains(['/', '.']) {
        let (path, text) = read_flow(flow)?;
        let loaded = load(flow, &path, &text)?;
        let digest = loaded.flow.digest.to_string();
        registered(remote, &loaded, (&path, text))?;
        return Ok((loaded, digest));
    }
    let Some(row) = listed(remote, |row| row.flow.as_str() == name || row.digest.to_string() == name)? else {
        let message = format!("there is no flow `{name}`");
        let hint = "name a flow file, or a flow of the server by its id or digest";
        return Err(Failure::new(Code::FlowNotFound, message).hint(hint));
    };
    let digest = row.digest.to_string();
    let file = |query: &str| {
        let body = remote.server.get(&format!("/v1/flows/{digest}{query}"))?;
        String::from_utf8(body).map_err(not_understood)
    };
    let mut parts = BTreeMap::new();
    for path in row.files.iter().skip(1) {
        parts.insert(path.clone(), file(&format!("?file={}", segment(path)))?);
    }
    // In the language version of its registration, because the same text can mean something else in another
    // version.
    let loaded = understood(envoi_engine::parsed_flow(row.language, &name, &file("")?, &parts))?;
    Ok((loaded, digest))
}

fn understood<T>(loaded: Result<T, envoi_flow::Report>) -> Result<T, Failure> {
    loaded.map_err(|report| not_understood(format_args!("its flow cannot be read by this version: {report}")))
}

/// The newest registered flow that matches.
fn listed(remote: &Remote, is_wanted: impl Fn(&Flow) -> bool) -> Result<Option<Flow>, Failure> {
    let body = remote.server.get("/v1/flows")?;
    Ok(read::<Flows>(&body)?.flows.into_iter().find(is_wanted))
}

/// Loads the flow of a file and adds its identification to the body: its digest if it is registered,
/// otherwise its texts, which not every token may send. Returns whether texts are sent.
pub(super) fn named_or_brought(remote: &Remote, file: &Path, body: &mut Object) -> Result<bool, Failure> {
    let (path, text) = read_flow(file)?;
    let loaded = load(file, &path, &text)?;
    let known = |row: &Flow| (row.digest, row.language) == (loaded.flow.digest, loaded.language);
    if listed(remote, known)?.is_some() {
        body.insert("flow".to_owned(), Value::from(loaded.flow.digest.to_string()));
        return Ok(false);
    }
    for (name, value) in files(&loaded, &path, text).iter() {
        body.insert(name.to_owned(), value.clone());
    }
    Ok(true)
}

/// The failure of a request, with a hint if the token may not send the flow. `brought`: whether it sent one.
pub(super) fn may_not_bring(reply: &Reply, brought: bool) -> Failure {
    let failure = reply.failure();
    match reply.status {
        403 if brought => failure.hint(
            "the flow is not registered there, and this token may not bring one; a token with the scope admin may, or may register it",
        ),
        _ => failure,
    }
}

/// Registers a flow unless the server knows it. A repeated registration would make it the newest flow of its
/// id.
fn registered(remote: &Remote, loaded: &ParsedFlow, (path, text): (&Path, String)) -> Result<(), Failure> {
    let known = remote.server.any_reply(&format!("/v1/flows/{}", loaded.flow.digest), &[])?;
    if known.status == 200 {
        return Ok(());
    }
    let (kind, body) = if loaded.parts.is_empty() {
        ("application/yaml", text)
    } else {
        ("application/json", Value::Object(files(loaded, path, text)).compact())
    };
    let reply = remote.server.post("/v1/flows", &[("content-type", kind)], &body)?;
    match reply.status {
        200 | 201 => Ok(()),
        403 => Err(reply.failure().hint(
            "the flow is not registered there, and this token may not register it; one with the scope admin may",
        )),
        _ => Err(reply.failure()),
    }
}

/// The texts of the flow and of the flows that it includes.
fn files(loaded: &ParsedFlow, path: &Path, text: String) -> Object {
    let name =
        path.file_name().map_or_else(|| "flow.yaml".to_owned(), |name| name.to_string_lossy().into_owned());
    let mut files = Object::new();
    for (path, text) in loaded.parts.iter() {
        files.insert(path.clone(), Value::from(text.as_str()));
    }
    files.insert(name.clone(), Value::from(text));
    Object::from([("flow", Value::from(name)), ("files", Value::Object(files))])
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

/// A started run.
struct Begun {
    run: RunId,
    /// Further notes for the person.
    notes: Vec<String>,
}

#[derive(Deserialize)]
struct Notes {
    #[serde(default)]
    notes: Vec<String>,
}

fn begun(remote: &Remote, path: &str, (body, brought): (Object, bool)) -> Result<Begun, Failure> {
    let key = environment::random_id("start_")?;
    // An invalid value would make a header that cannot be sent.
    let trace = environment::variable("TRACEPARENT")
        .filter(|trace| trace.bytes().all(|byte| byte.is_ascii_graphic()));
    let mut headers = vec![("idempotency-key", key.as_str()), ("content-type", "application/json")];
    headers.extend(trace.as_deref().map(|trace| ("traceparent", trace)));
    let reply = remote.server.post(path, &headers, &Value::Object(body).compact())?;
    if reply.status == 403 {
        return Err(may_not_bring(&reply, brought));
    }
    let body = good(reply)?;
    let Notes { notes } = read(&body)?;
    Ok(Begun { run: rows::run(&body)?.0.run, notes })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::remote::fake;
    use envoi_kernel::ids::Principal;
    use std::sync::OnceLock;

    const LIST: &str = "HTTP/1.1 200 OK\r\ncontent-length: 208\r\nconnection: close\r\n\r\n\
        {\"flows\":[{\"flow\":\"old\",\"digest\":\"sha256:0000000000000000000000000000000000000000000000000000000000000000\",\
        \"language\":1,\"files\":[\"old.yaml\"],\"registered_at\":\"2026-11-22T08:00:00.000Z\",\"registered_by\":\"ann\"}]}";
    const TEXT: &str = "HTTP/1.1 200 OK\r\ncontent-length: 45\r\nconnection: close\r\n\r\n\
        flow: old\nsteps:\n  - id: a\n    run: echo wor\n";

    #[test]
    fn a_registered_flow_is_read_in_the_language_in_which_it_was_registered() {
        let length = |answer: &str| answer.split_once("\r\n\r\n").unwrap().1.len();
        assert_eq!([length(LIST), length(TEXT)], [208, 45]);
        let (server, requests) = fake::server(&[LIST, TEXT]);
        let by = Principal { tenant: "local".to_owned(), actor: "ann".to_owned() };
        let remote = Remote { server, by, json: false, mirror: OnceLock::new() };
        let Ok((loaded, digest)) = chosen(&remote, Path::new("old")) else { panic!("a flow") };
        assert_eq!(
            (loaded.language, loaded.flow.language),
            (1, 1),
            "a string is another command in the newest one"
        );
        assert!(digest.ends_with("0000"));
        assert!(requests.join().unwrap()[1].starts_with(&format!("get /v1/flows/{digest} ")));
    }
}
