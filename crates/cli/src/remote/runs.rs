//! `runs`, `resume`, `raise` and `cancel` at a server.

use super::{
    Remote,
    attend::{Attended, send},
};
use crate::{
    command::{
        self,
        raise::more,
        resume::{choice, verb},
    },
    process::{
        args::{EngineArgs, RaiseArgs, ResumeArgs},
        environment,
        failure::Failure,
    },
    session::{background, interactive::Conversation},
    store::select::Verb,
    view::printer::Printer,
};
use envoi_engine::protocol::{CallerWire, Refused, Request, ResumeRequest};
use envoi_kernel::ids::RunId;

pub(crate) fn list(remote: &Remote, unfinished: bool, limit: u32) -> Result<u8, Failure> {
    // Requests one more row than is shown, to know whether there are more.
    let most = usize::try_from(limit).unwrap_or(usize::MAX).saturating_add(1);
    let mut rows = Vec::new();
    if unfinished {
        rows = remote.unfinished(most)?;
    } else {
        remote.each_run("", |row| {
            rows.push(row);
            rows.len() < most
        })?;
    }
    command::runs::print(rows, limit, remote.json, None)
}

pub(crate) fn resume(remote: &Remote, args: &ResumeArgs) -> Result<u8, Failure> {
    let run = remote.run_or_meant(args.run.as_deref(), verb(args))?;
    resume_run(remote, &run, args)
}

pub(super) fn resume_run(remote: &Remote, run: &RunId, args: &ResumeArgs) -> Result<u8, Failure> {
    let choice = choice(args);
    let request = ResumeRequest {
        choice,
        reopen: choice.is_none(),
        now: args.now,
        why: args.reason.clone(),
        ..follow(remote, run)
    };
    go_on(remote, run, Request::Resume(Box::new(request)), &args.engine)
}

pub(crate) fn raise(remote: &Remote, args: &RaiseArgs) -> Result<u8, Failure> {
    let more = more(args)?;
    let run = remote.run_or_meant(args.run.as_deref(), Verb::Raise)?;
    let request = ResumeRequest { raise: Some(more), why: args.reason.clone(), ..follow(remote, &run) };
    go_on(remote, &run, Request::Resume(Box::new(request)), &args.engine)
}

fn follow(remote: &Remote, run: &RunId) -> ResumeRequest {
    ResumeRequest::follow(run.clone(), remote.by.clone(), CallerWire::default())
}

/// Makes a request about a run. Follows the run unless the command is detached.
pub(super) fn go_on(
    remote: &Remote,
    run: &RunId,
    request: Request,
    args: &EngineArgs,
) -> Result<u8, Failure> {
    let follows = !args.detach && !matches!(&request, Request::Answer(answer) if !answer.follow);
    if follows {
        check_waits_for_other(remote, run)?;
    }
    if args.detach {
        send(remote, &crate::session::sent_request::identified(request))?;
        return background::print_run(run, remote.json);
    }
    let mut attended = Attended::new(remote, run)?;
    let mut conversation = Conversation::new(run.clone(), remote.json).with(&remote.by);
    let store = remote.mirror()?.store();
    let view = |run: &RunId| command::resume::view(store, run);
    let mut printer =
        Printer::new(run.clone(), remote.json).live(view).asks_in_place(conversation.is_possible());
    attended.ask(request, &mut printer, &mut conversation)
}

/// Refuses to follow a run from one of its own running steps, because both would wait forever. The server
/// cannot know the caller.
pub(super) fn check_waits_for_other(remote: &Remote, id: &RunId) -> Result<(), Failure> {
    let own: Vec<_> = environment::within().into_iter().filter(|waiting| waiting.run == *id).collect();
    if own.is_empty() {
        return Ok(());
    }
    let (_, run) = remote.loaded(id)?;
    let hint =
        "its run goes on by itself; `--no-resume` only records an answer, and a step may cancel its run";
    match own.iter().find(|waiting| run.is_live(&waiting.attempt)) {
        Some(waiting) => Err(Refused::waits_for_itself(id, &waiting.attempt, hint).into()),
        None => Ok(()),
    }
}

pub(crate) fn cancel(remote: &Remote, run: Option<&str>) -> Result<u8, Failure> {
    let run = remote.run_or_meant(run, Verb::Cancel)?;
    let request = Request::Cancel { run: run.clone(), by: remote.by.clone(), caller: Box::default() };
    let mut attended = Attended::new(remote, &run)?;
    let mut printer = Printer::new(run.clone(), remote.json).quiet();
    let mut conversation = Conversation::none(run);
    // The run is cancelled, so the command succeeded. The run's own exit code is for commands that follow it.
    attended.ask(request, &mut printer, &mut conversation).map(|_| 0)
}
