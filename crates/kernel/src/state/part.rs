//! Parts of a flow: their steps, their validity, and missing results.
//!
//! Pure functions of the flow and the selection. They are called again for a corrected flow. A part consists
//! of steps of the run's own flow: a step that runs another flow is included with all of that flow, or not at
//! all.

use crate::{
    model::{
        flow::{Flow, Step, StepRead},
        ids::StepId,
        input::Refusal,
        part::{Missing, Part, Selection},
    },
    state::graph,
};
use envoi_contract::suggestion;
use std::collections::{BTreeMap, BTreeSet};

impl Selection {
    /// Whether a run of this part of the flow executes this step.
    #[must_use]
    pub fn includes(&self, flow: &Flow, step: &StepId) -> bool {
        // The setup step is always included, because no step can work in a tree that is not ready.
        if flow.isolation.as_ref().is_some_and(|isolation| isolation.setup.as_ref() == Some(step)) {
            return !self.skip.contains(step);
        }
        if !self.only.is_empty() {
            return self.only.contains(step);
        }
        let after = self.from.as_ref().is_none_or(|from| follows(flow, from, step));
        let before = self.until.as_ref().is_none_or(|until| follows(flow, step, until));
        after && before && !self.skip.contains(step)
    }

    /// The omitted steps, in listed order.
    #[must_use]
    pub fn left_out(&self, flow: &Flow) -> Vec<StepId> {
        let ids = flow.steps.iter().map(|step| &step.id);
        ids.filter(|step| !self.includes(flow, step)).cloned().collect()
    }

    /// The steps that were omitted in the old flow and are in the part of the new one.
    pub(crate) fn taken_in<'f>(&self, old: &Flow, new: &'f Flow) -> BTreeSet<&'f StepId> {
        let was_left_out = |step: &StepId| old.step(step).is_some() && !self.includes(old, step);
        let ids = new.steps.iter().map(|step| &step.id);
        ids.filter(|step| self.includes(new, step) && was_left_out(step)).collect()
    }

    /// Checks that these steps can be run without the others.
    ///
    /// # Errors
    /// [`Refusal::PartInvalid`] with the reason.
    pub fn check(&self, flow: &Flow) -> Result<(), Refusal> {
        self.fault(flow).map_or(Ok(()), |reason| Err(Refusal::PartInvalid { reason }))
    }

    fn fault(&self, flow: &Flow) -> Option<String> {
        if !self.only.is_empty() && (self.from.is_some() || self.until.is_some() || !self.skip.is_empty()) {
            return Some(
                "`only` stands alone: it cannot be combined with `from`, `until` or `skip`".to_owned(),
            );
        }
        if let Some(unknown) = self.named().find(|step| flow.step(step).is_none()) {
            let ids: Vec<&str> = flow.steps.iter().map(|step| step.id.as_str()).collect();
            let near = suggestion::nearest(unknown.as_str(), &ids, false);
            let near = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
            return Some(format!("flow `{}` has no step `{unknown}`{near}", flow.id));
        }
        if !flow.steps.iter().any(|step| self.includes(flow, &step.id)) {
            return Some(format!("nothing is left to run: no step of flow `{}` is in this part", flow.id));
        }
        self.fault_of_goals(flow)
    }

    /// Rounds without their first or last step are not repeated. So no step may follow them: the run would go
    /// past open goals.
    fn fault_of_goals(&self, flow: &Flow) -> Option<String> {
        let plan = flow.goals.as_ref()?;
        let last = flow.position(&plan.to)?;
        if self.has_rounds(flow) || !self.touches_goals(flow) {
            return None;
        }
        let mut later = flow.steps.iter().skip(last.saturating_add(1));
        let beyond = later.find(|step| self.includes(flow, &step.id))?;
        Some(format!(
            "the rounds of the goals go from `{}` to `{}`; without one of them there is one round, and step `{}` after it would go \
             past open goals: take both into the part, or leave `{}` out",
            plan.from, plan.to, beyond.id, beyond.id
        ))
    }

    /// Whether the rounds of the flow's goals are repeated: their first and last step are in the part.
    pub(crate) fn has_rounds(&self, flow: &Flow) -> bool {
        flow.goals
            .as_ref()
            .is_some_and(|plan| self.includes(flow, &plan.from) && self.includes(flow, &plan.to))
    }

    /// Whether some step of the rounds is in the part. If so, the run has goals.
    fn touches_goals(&self, flow: &Flow) -> bool {
        let Some(plan) = &flow.goals else { return false };
        let first = flow.position(&plan.from);
        let last = flow.position(&plan.to);
        let within = |(place, step): (usize, &Step)| {
            Some(place) >= first && Some(place) <= last && self.includes(flow, &step.id)
        };
        flow.steps.iter().enumerate().any(within)
    }

    /// Whether some step of the part comes after this one.
    #[must_use]
    pub fn goes_past(&self, flow: &Flow, step: &StepId) -> bool {
        let later = |other: &&Step| other.id != *step && follows(flow, step, &other.id);
        flow.steps.iter().filter(later).any(|later| self.includes(flow, &later.id))
    }

    /// Omitted steps that ask (or whose flow does) and that the run passes without a question.
    #[must_use]
    pub fn questions_passed(&self, flow: &Flow) -> Vec<StepId> {
        let passed = |step: &&Step| {
            !self.includes(flow, &step.id) && flow.asks(step) && self.goes_past(flow, &step.id)
        };
        flow.steps.iter().filter(passed).map(|step| step.id.clone()).collect()
    }
}

impl Part {
    /// Checks that the part can be run, and that every result that its steps read of omitted steps has a
    /// substitute. `reasons`: for each step, why it has none.
    ///
    /// # Errors
    /// [`Refusal::PartInvalid`], or [`Refusal::PartIncomplete`] with all that is missing.
    pub fn check(&self, flow: &Flow, reasons: &BTreeMap<StepId, String>) -> Result<(), Refusal> {
        self.selection.check(flow)?;
        let missing = self.missing(flow, reasons);
        if missing.is_empty() { Ok(()) } else { Err(Refusal::PartIncomplete { missing }) }
    }

    fn missing(&self, flow: &Flow, reasons: &BTreeMap<StepId, String>) -> Vec<Missing> {
        let mut found: Vec<Missing> = Vec::new();
        for read in flow.reads.iter().filter(|read| self.lacks(flow, read)) {
            let why = read.step.as_ref().and_then(|step| reasons.get(step).cloned());
            let StepRead { reader, step, path, line, .. } = read.clone();
            let one = Missing { reader, path, line, step, why };
            if !found.contains(&one) {
                found.push(one);
            }
        }
        found.sort_by_key(|missing| missing.line);
        found
    }

    fn lacks(&self, flow: &Flow, read: &StepRead) -> bool {
        let reads = match read.for_goals {
            true => self.selection.touches_goals(flow),
            false => self.selection.includes(flow, &read.reader),
        };
        let absent = match &read.step {
            Some(step) => !self.selection.includes(flow, step) && self.taken_of(step).is_none(),
            None => !self.selection.touches_goals(flow),
        };
        reads && absent && !read.optional
    }
}

/// Whether `later` is this step or comes after it: in the listed order, or because it needs the step,
/// directly or indirectly.
fn follows(flow: &Flow, step: &StepId, later: &StepId) -> bool {
    match flow.graph {
        true => graph::ancestors(flow, later).contains(step),
        false => flow.position(step).is_some_and(|place| Some(place) <= flow.position(later)),
    }
}
