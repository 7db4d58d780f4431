//! An ended run goes on: the step that stopped it gets a new visit, all hand-offs stay.

use crate::{
    decide::{advance::advance, after_bound, draft::Draft},
    model::{
        event::{EndStatus, Event, RunReopened},
        family::Share,
        flow::Flow,
        ids::{Principal, StepId},
        input::Refusal,
    },
    state::{status::Status, way_back},
};

/// The requester of a reopening, and the amounts that others of the run's family have used meanwhile.
pub(crate) struct Reopen {
    pub(crate) by: Principal,
    pub(crate) why: Option<String>,
    /// The id of the request, unless another event of it has the id.
    pub(crate) request: Option<String>,
    pub(crate) elsewhere: Share,
}

impl Reopen {
    pub(crate) fn at(self, step: StepId) -> Event {
        let Self { by, why, request, elsewhere } = self;
        Event::RunReopened(Box::new(RunReopened { by, why, step, decides: None, elsewhere, request }))
    }

    /// The run goes on at this step, which is done again; or where its last visit leads, if only a bound was in its way under `before`
    /// and is not any more.
    pub(crate) fn go_on(self, draft: &mut Draft<'_>, before: &Flow, step: StepId) -> Result<(), Refusal> {
        let way = way_back::of_end(&draft.control, before, draft.flow).filter(|way| way.visit.step == step);
        let Some(way) = way else { return draft.emit(self.at(step)) };
        let Self { by, why, request, elsewhere } = self;
        let decides = Some(way.visit.clone());
        draft.emit(Event::RunReopened(Box::new(RunReopened {
            by,
            why,
            step,
            decides,
            elsewhere,
            request,
        })))?;
        after_bound::go_back(draft, &way)
    }

    /// The run goes on, up to what follows from that.
    pub(crate) fn emit(self, draft: &mut Draft<'_>) -> Result<(), Refusal> {
        let status = Status::of(draft.flow, &draft.control).word();
        let ended = draft.control.phase.ended().filter(|ended| ended.status != EndStatus::Succeeded);
        let Some(ended) = ended else { return Err(Refusal::NotReopenable { status }) };
        let step = match &ended.stopped_by {
            Some(step) => step.clone(),
            None => last_step(draft)?,
        };
        draft.emit(self.at(step))
    }
}

/// Input: reopen.
pub(crate) fn reopen(mut draft: Draft<'_>, reopen: Reopen) -> Result<Draft<'_>, Refusal> {
    reopen.emit(&mut draft)?;
    advance(draft)
}

/// A run that a failed step stopped: the step of its last hand-off, else the first one.
fn last_step(draft: &Draft<'_>) -> Result<StepId, Refusal> {
    let last = draft.control.last_handoff.as_ref().map(|visit| visit.step.clone());
    let first = || draft.flow.steps.first().map(|step| step.id.clone());
    last.or_else(first).ok_or_else(|| Refusal::Inconsistent { reason: "the flow has no steps".to_owned() })
}
