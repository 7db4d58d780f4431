//! A request of a command as it is sent: its id, and how to proceed if the engine ends before it responds.

use crate::process::environment;
use envoi_engine::protocol::{Request, ResumeRequest};

/// Returns the request to send after the engine that had accepted it has ended: continue the run, do not
/// start it again.
pub(super) fn go_on_with(request: Request) -> Request {
    let (run, by, caller) = match request {
        Request::Start(start) => (start.run, start.by, start.caller),
        Request::Fork(fork) => (fork.run, fork.by, fork.caller),
        Request::Resume(resume) => (resume.run, resume.by, resume.caller),
        Request::Answer(answer) => (answer.run, answer.answer.by, answer.caller),
        // Executed again, it completes what was begun.
        other @ (Request::Restore(_)
        | Request::Apply(_)
        | Request::Cancel { .. }
        | Request::Collect(_)
        | Request::Ping) => return other,
    };
    Request::Resume(Box::new(ResumeRequest::follow(run, by, caller)))
}

/// Gives an id to a decision and to a request that may reopen a run, so that it is executed once even if it
/// is sent again. Records the step that called this command and waits for the run.
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

/// Whether a request does more than continue a run, so that executing it twice would have a double effect.
fn decides(resume: &ResumeRequest) -> bool {
    resume.choice.is_some() || resume.raise.is_some() || resume.correct.is_some()
}

/// Whether a request that is refused the second time was executed the first time. Another person may have
/// made the answer or decision in the meantime: the engine recognizes its own ids, so a refusal means another
/// one.
pub(super) fn was_done(request: &Request) -> bool {
    match request {
        // The engine recognizes a run that it has started, and follows it.
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

/// Whether the command ends once the request is accepted.
pub(crate) fn is_enough(request: &Request) -> bool {
    matches!(request, Request::Answer(answer) if !answer.follow)
}
