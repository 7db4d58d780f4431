//! Compares two plans.

use super::{Planned, table};
use crate::process::output;
use envoi_flow::plan::{Most, Plan, StepPlan};
use std::cmp::Ordering;

/// Shown where only one of the flows has a value.
const NONE: &str = "-";

/// Formats the comparison for people: all totals, and the steps that differ.
pub(super) fn shown(planned: &Planned, other: &Planned) -> String {
    let head = vec![String::new(), other.file.clone(), planned.file.clone(), "DIFFERENCE".to_owned()];
    let totals = table::figures(&planned.plan).into_iter().zip(table::figures(&other.plan));
    let numbers = numbers(&planned.plan).into_iter().zip(numbers(&other.plan));
    let parallel = planned.plan.parallel || other.plan.parallel;
    let totals = totals.zip(numbers).filter(|(((name, _), _), _)| *name != table::ELAPSED || parallel);
    let totals = totals.map(|(((name, here), (_, there)), (this, that))| {
        let difference = if here == there { String::new() } else { difference(name, this, that) };
        vec![name.to_owned(), there, here, difference]
    });
    let steps = steps(&planned.plan, &other.plan);
    let steps = steps.into_iter().filter_map(|(id, here, there)| step(&id, here, there));
    let rows: Vec<Vec<String>> = std::iter::once(head).chain(totals).chain(steps).collect();
    format!("\n{}", output::table(&rows))
}

/// The totals that can be subtracted, in display order. `None` if the total is unbounded or an amount of
/// money.
fn numbers(plan: &Plan) -> [Option<Most>; 8] {
    [
        Some(plan.attempts),
        Some(plan.visits),
        Some(plan.loop_backs),
        plan.time_ms,
        Some(plan.waits_ms),
        plan.elapsed_ms,
        plan.llm_calls,
        None,
    ]
}

fn difference(name: &str, this: Option<Most>, that: Option<Most>) -> String {
    let (Some(this), Some(that)) = (this.and_then(Most::known), that.and_then(Most::known)) else {
        return "differs".to_owned();
    };
    let spelt = |count: u64| match name {
        "time" | "retry waits" | "elapsed" => table::duration(Most::of(u128::from(count))),
        _ => count.to_string(),
    };
    match this.cmp(&that) {
        Ordering::Less => format!("-{}", spelt(that.saturating_sub(this))),
        Ordering::Greater => format!("+{}", spelt(this.saturating_sub(that))),
        Ordering::Equal => String::new(),
    }
}

/// Every step of both flows: first those of this flow, then those that only the other flow has.
fn steps<'p>(this: &'p Plan, other: &'p Plan) -> Vec<(String, Option<&'p StepPlan>, Option<&'p StepPlan>)> {
    let find = |plan: &'p Plan, like: &StepPlan| {
        plan.steps.iter().find(|step| (&step.flow, &step.step) == (&like.flow, &like.step))
    };
    let ours = this.steps.iter().map(|step| (step.name(), Some(step), find(other, step)));
    let theirs = other.steps.iter().filter(|step| find(this, step).is_none());
    ours.chain(theirs.map(|step| (step.name(), None, Some(step)))).collect()
}

fn step(id: &str, here: Option<&StepPlan>, there: Option<&StepPlan>) -> Option<Vec<String>> {
    let figure = |step: &StepPlan| if step.asks || step.runs.is_some() { step.visits } else { step.attempts };
    let this = here.map(figure);
    let that = there.map(figure);
    if this == that {
        return None;
    }
    let cell = |most: Option<Most>| most.map_or_else(|| NONE.to_owned(), |most| most.to_string());
    let zero = Some(Most::of(0));
    Some(vec![format!("step {id}"), cell(that), cell(this), difference("", this.or(zero), that.or(zero))])
}
