//! The way on from a denial or an expiry: a path of its own, on which nothing of the ordinary way runs by accident.
//!
//! A step to which a denial leads on ends the run as denied, once it is done, unless its `routing.next` names the next
//! step ([`crate::model::flow::Flow::is_last_resort`]).

use crate::{
    decide::{
        draft::{At, Draft},
        route::{self, Decided},
    },
    model::{
        event::{Course, EndStatus, RunEnded},
        flow::OnExhausted,
        ids::StepId,
    },
    state::{flow_state::Diverted, graph},
};
use envoi_contract::envelope::TerminalReason;

/// The decision for a run at the end of such a path; any other decision is unchanged.
pub(crate) fn end_of(draft: &Draft<'_>, at: &At<'_>, mut decided: Decided) -> Decided {
    let last = decided.course == Course::Complete && at.flow.is_last_resort(at.id());
    if let Some(end) = end(&draft.flow_state(at).diverted).filter(|_| last) {
        decided.course = Course::Stop;
        decided.end = Some(end);
    }
    decided
}

/// Whether a denial or an expiry of `step` may lead to `target`. A denial that may lead back no more ends the run: a
/// question about the loop, which any person could answer with `proceed`, would be a way round the people who must
/// approve.
pub(crate) fn may_lead(draft: &Draft<'_>, at: &At<'_>, target: &StepId) -> bool {
    let leads_on = !graph::is_back(at.flow, at.id(), target);
    if !leads_on && draft.control.leaves_out(at.flow, &at.scope, target) {
        return false;
    }
    let routing = &at.step.routing;
    let rounds_left = route::iteration(draft, at) < routing.max_iterations;
    leads_on || rounds_left || routing.on_exhausted == OnExhausted::Fail
}

/// How a run ends that was denied, or not answered in time: for the last of these, and as a denial if any of them was one.
pub(crate) fn end(diverted: &[Diverted]) -> Option<RunEnded> {
    let Diverted { step, by, denied } = diverted.last()?;
    let any_denied = diverted.iter().any(|diverted| diverted.denied);
    let reason = match (denied, by) {
        (true, Some(by)) => format!("Denied at step `{step}` by {by}"),
        (true, None) => format!("Denied at step `{step}`: nobody answered in time"),
        (false, _) => format!("Nobody answered step `{step}` in time"),
    };
    let why = if any_denied { TerminalReason::PolicyViolation } else { TerminalReason::ToolFailedFatally };
    Some(RunEnded::new(EndStatus::Failed, why, reason, Some(step.clone())))
}
