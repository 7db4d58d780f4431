//! A request of a command as it is sent: its id, and what becomes of it if the engine goes away before it answers.

use crate::process::environment;
use envoi_engine::protocol::{Request, ResumeRequest};

/// After the engine that had taken it went away, a request is to go on with the run, not to begin it again.
pub(super) fn go_on_with(request: Request) -> Request {
    let (run, by, caller) = match request {
        Request::Start(start) => (start.run, start.by, start.caller),
        Request::Fork(fork) => (fork.run, fork.by, fork.caller),
        Request::Resume(resume) => (resume.run, resume.by, resume.caller),
        Request::Answer(answer) => (answer.run, answer.answer.by, answer.caller),
        // Done again, it ends what was begun.
        other @ (Request::Restore(_)
        | Request::Apply(_)
        | Request::Cancel { .. }
        | Request::Collect(_)
        | Request::Ping) => return other,
    };
    Request::Resume(Box::new(ResumeRequest::follow(run, by, caller)))
}

/// Gives a decision, and what may reopen a run, an id, so that it is taken once even if it is sent again because no reply came. Names the step that called
/// this command and waits for the run.
pub(crate) fn identified(mut request: Request) -> Request {
    if let Some(caller) = request.caller_mut() {
        caller.within = environment::within();
    }
    let id = match &mut request {
        Request::Answer(request) => &mut request.answer.request,
        Request::Resume(request) if decides(request) || request.reopen => &mut request.request,
        _ => return request,
    };
    if id.is_none() {
        *id = environment::random_id("req_").ok();
    }
    request
}

/// Whether a request does more than to go on with a run: done twice, it would do that twice.
fn decides(resume: &ResumeRequest) -> bool {
    resume.choice.is_some() || resume.raise.is_some() || resume.correct.is_some()
}

/// Whether a request that is refused the second time was done the first time. An answer, or a decision, may have been made
/// by another person meanwhile: the engine knows its own by their ids, and a refusal is one.
pub(super) fn was_done(request: &Request) -> bool {
    match request {
        // The engine knows a run that it has begun, and follows it.
        Request::Answer(_) | Request::Fork(_) => false,
        Request::Resume(resume) => !decides(resume),
        Request::Start(_)
        | Request::Restore(_)
        | Request::Apply(_)
        | Request::Cancel { .. }
        | Request::Collect(_)
        | Request::Ping => true,
    }
}

/// Whether there is nothing to be followed once a request is accepted.
pub(crate) fn is_enough(request: &Request) -> bool {
    matches!(request, Request::Answer(answer) if !answer.follow)
}
