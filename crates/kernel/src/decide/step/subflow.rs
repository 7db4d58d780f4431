//! A flow as a part of the run.
//!
//! Owns its entry, and the effect of its end on the step that runs it. Its steps are visits of the same run, in a scope
//! of their own; journal, ledger and bounds are the run's.

use crate::{
    decide::{
        conclude::{self, Conclusion},
        draft::Draft,
        render,
        route::{self, Decided},
    },
    model::{
        event::{Event, FlowEntered, FlowReturned, RunEnded},
        flow::{Flow, InnerPlan},
        ids::{FlowId, StepId, VisitId},
        input::Refusal,
        size::{MAX_DATA_BYTES, fits},
    },
    state::flow_state::Kept,
};
use envoi_contract::code::Code;
use envoi_contract::{
    json::{MAX_PART_DEPTH, Object, Value},
    routing::{Decision, Signal},
    skill_report::SkillError,
};

/// Enters the flow that the step of `visit` runs.
pub(crate) fn enter(draft: &mut Draft<'_>, visit: &VisitId, plan: &InnerPlan) -> Result<(), Refusal> {
    let Some(flow) = draft.flow.flows.get(&plan.flow) else { return Err(missing(&plan.flow)) };
    let at = draft.at(visit)?;
    let kept = draft.flow_state(&at).steps.get(&visit.step).and_then(|state| state.kept.as_ref());
    let resumes = at.item.is_none() && matches!(kept, Some(Kept::Flow(_)));
    match render::inputs(draft, visit, plan, flow) {
        Ok(inputs) => draft.emit(Event::FlowEntered(Box::new(FlowEntered {
            visit: visit.clone(),
            flow: plan.flow.clone(),
            inputs,
            at: None,
            by_hint: false,
            resumes,
        }))),
        Err(error) => conclude::conclude(draft, visit, Conclusion::Failed(error)),
    }
}

/// Enters a flow at a step that a hint in the text of `visit` named.
pub(crate) fn enter_by_hint(
    draft: &mut Draft<'_>,
    visit: &VisitId,
    flow: &FlowId,
    step: &StepId,
) -> Result<(), Refusal> {
    let inner = draft.flow.flows.get(flow).ok_or_else(|| missing(flow))?;
    let inputs = defaults(inner);
    draft.emit(Event::FlowEntered(Box::new(FlowEntered {
        visit: visit.clone(),
        flow: flow.clone(),
        inputs,
        at: Some(step.clone()),
        by_hint: true,
        resumes: false,
    })))
}

fn missing(flow: &FlowId) -> Refusal {
    Refusal::Inconsistent { reason: format!("there is no flow `{flow}`") }
}

/// The inputs that a flow has when it is given none.
pub(crate) fn defaults(flow: &Flow) -> Object {
    let given = |input: &crate::model::flow::InputDecl| Some((input.name.clone(), input.default.clone()?));
    flow.inputs.iter().filter_map(given).collect()
}

/// The flow of `scope` is complete.
pub(crate) fn returned(draft: &mut Draft<'_>, scope: &str) -> Result<(), Refusal> {
    let (visit, by_hint) = caller(draft, scope)?;
    let at = draft.at(&visit)?;
    if by_hint {
        draft
            .emit(Event::FlowReturned(Box::new(FlowReturned { visit: visit.clone(), data: Value::Null })))?;
        let signal = Signal::new(Decision::Advance, "The flow that a hint led into is complete", "1.0");
        let decided = Decided::new(signal, route::onward(&at), Value::from("returned")).naming_next();
        return conclude::close(draft, &visit, decided, None);
    }
    let outputs = at.step.inner().map(|plan| plan.outputs.as_slice()).unwrap_or_default();
    let data = render::outputs(draft, scope, outputs);
    let (text, is_summary) = last_text(draft, scope);
    match data {
        Ok(data) if fits(&data) => {
            draft.emit(Event::FlowReturned(Box::new(FlowReturned { visit: visit.clone(), data })))?;
            conclude::conclude_with(draft, &visit, Conclusion::Succeeded(text), is_summary)
        }
        Ok(_) => {
            let message = format!(
                "the outputs of the flow have over {MAX_DATA_BYTES} bytes, or over {MAX_PART_DEPTH} levels of nesting; pass a report's path"
            );
            let error = SkillError::new(Code::ValueTooLarge, message);
            conclude::conclude(draft, &visit, Conclusion::Failed(error))
        }
        Err(error) => conclude::conclude(draft, &visit, Conclusion::Failed(error)),
    }
}

/// The flow of `scope` has failed: so has the step that runs it, with that cause.
pub(crate) fn failed(draft: &mut Draft<'_>, scope: &str, end: RunEnded) -> Result<(), Refusal> {
    let (visit, by_hint) = caller(draft, scope)?;
    let flow = draft.control.flow(draft.flow, scope).id.clone();
    let message = format!("flow `{flow}`: {}", end.reason);
    let error = SkillError::new(Code::FlowFailed, message);
    if !by_hint {
        return conclude::conclude(draft, &visit, Conclusion::Ended(error, end));
    }
    let at = draft.at(&visit)?;
    let decided = if at.step.continue_on_error {
        conclude::passed_over(&at, &error)
    } else {
        conclude::failed_within(&at, &error, end)
    };
    conclude::close(draft, &visit, decided, None)
}

fn caller(draft: &Draft<'_>, scope: &str) -> Result<(VisitId, bool), Refusal> {
    let flow_state = draft.control.subflows.get(scope);
    let caller = flow_state.and_then(|flow_state| Some((flow_state.caller.clone()?, flow_state.by_hint)));
    caller.ok_or_else(|| Refusal::Inconsistent { reason: format!("nothing runs scope `{scope}`") })
}

/// The text of the last step is the text of the flow: the whole text if that is kept, else its summary. The flag says whether the
/// summary is of a longer text.
fn last_text(draft: &Draft<'_>, scope: &str) -> (String, bool) {
    let last = draft.control.flow_state(scope).last_result();
    last.map(|result| (result.known_text().to_owned(), !result.is_text_whole())).unwrap_or_default()
}
