//! `approve`, `deny` and `answer` at a server: uploads the files first, then sends the answer with the
//! subject that the person saw.

use super::{Remote, call::good, not_an_engine, runs::go_on};
use crate::{
    command::answer::{AnswerOptions, Question, composed},
    process::{
        args::{AnswerArgs, ApproveArgs, DenyArgs, Reply},
        failure::Failure,
    },
    store::attachment,
};
use envoi_contract::{json::Value, user_envelope::AttachmentRef};
use envoi_engine::protocol::{AnswerRequest, CallerWire, Request};
use std::path::Path;

pub(crate) fn approve(
    remote: impl FnOnce() -> Result<Remote, Failure>,
    args: &ApproveArgs,
) -> Result<u8, Failure> {
    not_an_engine(&args.reply.engine)?;
    give(&remote()?, &args.reply, &AnswerOptions::approve(args))
}

pub(crate) fn deny(remote: impl FnOnce() -> Result<Remote, Failure>, args: &DenyArgs) -> Result<u8, Failure> {
    not_an_engine(&args.reply.engine)?;
    give(&remote()?, &args.reply, &AnswerOptions::deny(args))
}

pub(crate) fn answer(
    remote: impl FnOnce() -> Result<Remote, Failure>,
    args: &AnswerArgs,
) -> Result<u8, Failure> {
    not_an_engine(&args.reply.engine)?;
    give(&remote()?, &args.reply, &AnswerOptions::answer(args)?)
}

fn give(remote: &Remote, reply: &Reply, given: &AnswerOptions<'_>) -> Result<u8, Failure> {
    let (interrupt, id) = remote.question_named(reply.question.as_deref(), given.command)?;
    remote.check_not_aside(&id)?;
    let (reader, run) = remote.loaded(&id)?;
    remote.bring_what_is_shown(&reader, &id, &interrupt)?;
    let question = Question { reader: &reader, run: &run, id: &id, interrupt: &interrupt };
    let mut answer = composed(question, &remote.by, reply, given, &mut |path| attach(remote, path))?;
    // The person saw the copied question. If the question has changed since, the server refuses the answer.
    let raised = run.interrupts().find(|raised| raised.interrupt == interrupt);
    answer.seen = answer.seen.or_else(|| raised.and_then(|raised| raised.subject));
    let follow = !reply.no_resume;
    let request = AnswerRequest { run: id.clone(), answer, follow, caller: CallerWire::default() };
    go_on(remote, &id, Request::Answer(Box::new(request)), &reply.engine)
}

/// Uploads the file and refers to it. Name and type come from here, the rest from the server.
fn attach(remote: &Remote, path: &Path) -> Result<AttachmentRef, Failure> {
    let (file, mime) = attachment::opened(path)?;
    let body = good(remote.server.upload("/v1/artifacts", &mime, &file)?)?;
    let value: Value = Value::parse(&body).map_err(super::problem::not_understood)?;
    let reference = AttachmentRef::decode(&value).map_err(super::problem::not_understood)?;
    Ok(AttachmentRef { filename: attachment::name(path), ..reference })
}
