//! `resume --flow` at a server: the server says what the corrected flow means, a person confirms it, and the
//! server applies exactly that or nothing.

use super::{
    Remote,
    attend::Attended,
    call::{good, read, segment},
    runs,
    start::{may_not_bring, named_or_brought},
};
use crate::{
    command::{
        correct::{Agreed, agree, say_same, succeeded},
        resume::view,
        run::from_step,
    },
    process::{args::ResumeArgs, environment, failure::Failure},
    session::{background, interactive::Conversation},
    store::flow_files::{load, read_flow},
    view::printer::Printer,
};
use envoi_api::comparison::Comparison;
use envoi_contract::{
    code::Code,
    json::{Object, Value},
};
use envoi_kernel::{event::EndStatus, ids::RunId};
use std::path::Path;

/// How often a run that continues in the meantime is compared again if the person has confirmed in advance
/// (`--yes`).
const TRIES: u32 = 8;

pub(crate) fn resume(remote: &Remote, args: &ResumeArgs, file: &Path) -> Result<u8, Failure> {
    let (place, text) = read_flow(file)?;
    let run = remote.run_to_correct(args.run.as_deref(), &load(file, &place, &text)?.flow.id)?;
    let mut flow = Object::new();
    let brought = named_or_brought(remote, file, &mut flow)?;
    if let Some(from) = args.from.as_deref().map(from_step).transpose()? {
        flow.insert("from".to_owned(), Value::from(from.as_str()));
    }
    if !args.engine.detach {
        runs::check_waits_for_other(remote, &run)?;
    }
    let mut tries = 1;
    let mut attended = loop {
        let comparison = compared(remote, &run, (&flow, brought))?;
        if comparison.is_same {
            say_same(file);
            return runs::resume_run(remote, &run, args);
        }
        if remote.row(&run)?.ended.is_some_and(|ended| ended.status == EndStatus::Succeeded) {
            return Err(succeeded(&run, file));
        }
        let agreed = agree(&comparison, &[], file, args)?;
        // Before the request, so that none of its events is missed.
        let attended = match args.engine.detach {
            true => None,
            false => Some(Attended::new(remote, &run)?),
        };
        match corrected(remote, &run, &comparison, flow.clone(), args.reason.as_deref()) {
            Err(failure)
                if failure.code.known() == Some(Code::ComparisonChanged)
                    && agreed == Agreed::Whatever
                    && tries < TRIES =>
            {
                tries += 1;
            }
            done => {
                done?;
                break attended;
            }
        }
    };
    let Some(attended) = &mut attended else { return background::print_run(&run, remote.json) };
    let mut conversation = Conversation::new(run.clone(), remote.json).with(&remote.by);
    let store = remote.mirror()?.store();
    let view = |run: &RunId| view(store, run);
    let mut printer =
        Printer::new(run.clone(), remote.json).live(view).asks_in_place(conversation.is_possible());
    printer.accepted();
    attended.follow(&mut printer, &mut conversation)
}

fn compared(remote: &Remote, run: &RunId, (flow, brought): (&Object, bool)) -> Result<Comparison, Failure> {
    let path = format!("/v1/runs/{}/compare", segment(run.as_str()));
    let body = Value::Object(flow.clone()).compact();
    let reply = remote.server.for_files().post(&path, &[("content-type", "application/json")], &body)?;
    if reply.status == 403 {
        return Err(may_not_bring(&reply, brought));
    }
    read(&good(reply)?)
}

fn corrected(
    remote: &Remote,
    run: &RunId,
    comparison: &Comparison,
    mut body: Object,
    reason: Option<&str>,
) -> Result<(), Failure> {
    body.insert("seen".to_owned(), Value::from(comparison.subject.to_string()));
    if let Some(reason) = reason {
        body.insert("reason".to_owned(), Value::from(reason));
    }
    let key = environment::random_id("req_")?;
    let headers = [("idempotency-key", key.as_str()), ("content-type", "application/json")];
    let path = format!("/v1/runs/{}/correct", segment(run.as_str()));
    good(remote.server.post(&path, &headers, &Value::Object(body).compact())?).map(drop)
}
