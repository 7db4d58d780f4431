//! The way on from a denial or an expiry: a path of its own, on which nothing of the ordinary way runs by accident.
//!
//! A step to which a denial leads on ends the run as denied, once it is done, unless its `routing.next` says where the run
//! goes from there ([`crate::flow::Flow::is_last_resort`]).

use crate::{
    control::Diverted,
    draft::Draft,
    event::{Course, EndStatus, RunEnded},
    flow::{OnExhausted, Step},
    ids::{StepId, VisitId},
    route::{self, Decided},
};

/// What becomes of a run that has come to the end of such a path; anything else is left as it is.
pub(crate) fn end_of(draft: &Draft<'_>, visit: &VisitId, mut decided: Decided) -> Decided {
    let diverted = draft.control.diverted.as_ref().filter(|_| draft.flow.is_last_resort(&visit.step));
    if let (Some(diverted), Course::Complete) = (diverted, &decided.course) {
        decided.course = Course::Stop;
        decided.end = Some(end(diverted));
    }
    decided
}

/// Whether a denial or an expiry of `step` may lead to `target`. One that may lead back no more ends the run: a question
/// about the loop, which anybody could answer with `proceed`, would be a way round those who have to approve.
pub(crate) fn may_lead(draft: &Draft<'_>, step: &Step, target: &StepId) -> bool {
    let leads_on = draft.flow.position(target) > draft.flow.position(&step.id);
    let rounds_left = route::iteration(draft, &step.id) < step.routing.max_iterations;
    leads_on || rounds_left || step.routing.on_exhausted == OnExhausted::Fail
}

/// How a run ends that was denied, or not answered in time.
pub(crate) fn end(diverted: &Diverted) -> RunEnded {
    let Diverted { step, by, denied } = diverted;
    let (terminal_reason, reason) = match (denied, by) {
        (true, Some(by)) => ("policy_violation", format!("Denied at step `{step}` by {by}")),
        (true, None) => ("policy_violation", format!("Denied at step `{step}`: nobody answered in time")),
        (false, _) => ("tool_failed_fatally", format!("Nobody answered step `{step}` in time")),
    };
    RunEnded {
        status: EndStatus::Failed,
        terminal_reason: terminal_reason.to_owned(),
        reason,
        stopped_by: Some(step.clone()),
    }
}
