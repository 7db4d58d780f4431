//! Converts the worst case of a flow from [`envoi_flow::plan`] to the rows of this crate.

use crate::{
    plan::{
        Amount, Dominant, FlowPlan, Most, MostAttempts, MostTime, PlannedItems, PlannedLimit, PlannedLoop,
        PlannedStep,
    },
    shape::{FlowShape, StepShape},
};
use envoi_flow::plan::{self, Plan, StepPlan, is_flow, line_of, step_lines};
use envoi_kernel::ids::FlowId;
use std::{collections::BTreeMap, path::Path};

/// The texts from which a plan was made. They are needed to find the line of a figure.
#[derive(Debug, Clone, Copy)]
pub struct PlannedTexts<'a> {
    /// The name of the file, as given.
    pub file: &'a str,
    /// The text of the file.
    pub text: &'a str,
    /// The texts of the flows that it names, by their paths relative to its folder.
    pub parts: &'a BTreeMap<String, String>,
}

impl PlannedTexts<'_> {
    /// The file and the line of a figure of the flow `whole`.
    #[must_use]
    pub fn place(&self, whole: &FlowId, found: &plan::Dominant) -> Option<(String, usize)> {
        let plan::Dominant { field, flow, .. } = found;
        if flow == whole {
            return Some((self.file.to_owned(), line_of(self.text, field)?));
        }
        let (path, text) = self.parts.iter().find(|(_, text)| is_flow(text, flow))?;
        let folder = Path::new(self.file).parent().unwrap_or(Path::new(""));
        Some((folder.join(path).to_string_lossy().into_owned(), line_of(text, field)?))
    }
}

impl FlowShape {
    /// Sets the lines on which the steps begin in these texts.
    #[must_use]
    pub fn with_lines(mut self, text: &str, parts: &BTreeMap<String, String>) -> Self {
        let set = |steps: &mut Vec<StepShape>, lines: &BTreeMap<String, usize>| {
            for step in steps {
                step.line = lines.get(step.step.as_str()).and_then(|line| u64::try_from(*line).ok());
            }
        };
        if let Some((_, lines)) = step_lines(text) {
            set(&mut self.steps, &lines);
        }
        for (file, text) in parts {
            let Some((id, lines)) = step_lines(text) else { continue };
            let Some(inner) = self.flows.get_mut(&id) else { continue };
            inner.file = Some(file.clone());
            set(&mut inner.steps, &lines);
        }
        self
    }
}

impl FlowPlan {
    /// The plan of the flow with these texts.
    #[must_use]
    pub fn of(plan: &Plan, texts: &PlannedTexts<'_>) -> Self {
        Self {
            flow: plan.flow.clone(),
            file: texts.file.to_owned(),
            attempts: most(plan.attempts),
            visits: most(plan.visits),
            iterations: most(plan.loop_backs),
            rounds: plan.rounds,
            wall_time_ms: plan.time_ms.map(most),
            waits_ms: most(plan.waits_ms),
            elapsed_ms: plan.elapsed_ms.map(most),
            llm_calls: plan.llm_calls.map(most),
            cost_usd: plan.cost.map(|cost| cost.to_string()),
            steps: plan.steps.iter().map(|step| planned_step(&plan.flow, step)).collect(),
            loops: plan.loops.iter().map(|found| planned_loop(&plan.flow, found)).collect(),
            limits: plan.bites.iter().map(planned_limit).collect(),
            most_attempts: plan.most_attempts.as_ref().map(|found| MostAttempts {
                figure: dominant(&plan.flow, texts, found),
                one_less_saves: most(found.saves),
                spent_there: most(found.spent),
            }),
            most_time: plan.most_time.as_ref().map(|found| MostTime {
                figure: dominant(&plan.flow, texts, found),
                one_less_saves_ms: most(found.saves),
                spent_there_ms: most(found.spent),
            }),
            notes: plan.notes.clone(),
        }
    }
}

impl From<plan::Most> for Most {
    fn from(found: plan::Most) -> Self {
        most(found)
    }
}

impl From<plan::Amount> for Amount {
    fn from(found: plan::Amount) -> Self {
        amount(found)
    }
}

fn most(most: plan::Most) -> Most {
    match most.known() {
        Some(count) => Most::Known(count),
        None => Most::Beyond { more_than: plan::Most::LARGEST },
    }
}

fn amount(amount: plan::Amount) -> Amount {
    match amount {
        plan::Amount::Count(count) => Amount::Count(most(count)),
        plan::Amount::Cost(cost) => Amount::Dollars(cost.to_string()),
    }
}

fn planned_step(whole: &FlowId, step: &StepPlan) -> PlannedStep {
    PlannedStep {
        flow: step.flow.as_ref().unwrap_or(whole).clone(),
        step: step.step.clone(),
        asks: step.asks,
        inner_flow: step.runs.clone(),
        visits: most(step.visits),
        items: step.items.map(|items| PlannedItems { most: items.most, known: items.known }),
        attempts_each: most(step.attempts_each),
        doubt_each: step.doubt_each,
        attempts: most(step.attempts),
        timeout_ms: step.timeout_ms,
        wall_time_ms: step.time_ms.map(most),
    }
}

fn planned_loop(whole: &FlowId, found: &plan::LoopPlan) -> PlannedLoop {
    PlannedLoop {
        flow: found.flow.as_ref().unwrap_or(whole).clone(),
        step: found.step.clone(),
        back_to: found.back_to.clone(),
        each_entry: found.each_entry,
        entries: most(found.entries),
        returns: most(found.returns),
        by_people: found.by_people,
        by_rounds: found.rounds,
    }
}

fn planned_limit(bite: &plan::Bite) -> PlannedLimit {
    PlannedLimit { limit: bite.limit.to_owned(), without: amount(bite.without), with: amount(bite.with) }
}

fn dominant(whole: &FlowId, texts: &PlannedTexts<'_>, found: &plan::Dominant) -> Dominant {
    let place = texts.place(whole, found);
    let line = place.as_ref().map(|(_, line)| u64::try_from(*line).unwrap_or(u64::MAX));
    Dominant {
        key: found.field.key().to_owned(),
        flow: found.flow.clone(),
        step: found.field.step().cloned(),
        file: place.map(|(file, _)| file),
        line,
        now: found.now,
        known: found.known,
        path: found.path.clone(),
    }
}
