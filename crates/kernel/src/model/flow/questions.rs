//! The steps of a flow that ask a person, and those of them that another version of the flow changes.

use super::{Flow, Step, difference::differing_keys};
use crate::model::ids::{FlowId, StepId};
use std::collections::BTreeSet;

impl Flow {
    /// Whether the step asks a person, or runs a flow with a step that does. `self` is the run's own flow.
    #[must_use]
    pub(crate) fn asks(&self, step: &Step) -> bool {
        self.asks_beside(step, &mut BTreeSet::new())
    }

    fn asks_beside(&self, step: &Step, seen: &mut BTreeSet<FlowId>) -> bool {
        let hinted = step.routing.flow_branches.iter().map(|(flow, _)| flow);
        let mut inner = step.inner().map(|plan| &plan.flow).into_iter().chain(hinted);
        step.asks().is_some()
            || inner.any(|id| {
                let flow = self.flows.get(id).filter(|_| seen.insert(id.clone()));
                flow.is_some_and(|inner| inner.steps.iter().any(|step| self.asks_beside(step, seen)))
            })
    }

    /// The first step, of this flow or of one within it, that asks a person (or runs a flow that does) and
    /// that `new` removes or changes. Other differences in inner flows do not count.
    #[must_use]
    pub fn questions_changed(&self, new: &Flow) -> Option<StepId> {
        let inner = self.flows.iter().map(|(id, flow)| (flow.as_ref(), new.flows.get(id).map(AsRef::as_ref)));
        let all = core::iter::once((self, Some(new))).chain(inner);
        let mut asking = all
            .flat_map(|(before, after)| before.steps.iter().map(move |step| (step, after)))
            .filter(|(step, _)| self.asks(step));
        let differs = |(step, after): &(&Step, Option<&Flow>)| {
            let after = after.and_then(|after| after.step(&step.id));
            after.is_none_or(|after| !differing_keys(step, after).is_empty())
        };
        asking.find(differs).map(|(step, _)| step.id.clone())
    }
}
