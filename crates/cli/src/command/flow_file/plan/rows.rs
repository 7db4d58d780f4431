//! Converts a plan into rows of the API.

use super::Planned;
use envoi_api::plan::{Amount, Difference, FlowPlan, Most, PastMaximum, Plan, PlannedStep};
use envoi_flow::plan::{self, Exceeded};
use envoi_kernel::ids::{FlowId, StepId};

/// A plan, the maxima that it exceeds, and its differences from another plan.
pub(super) fn row(planned: &Planned, other: Option<&Planned>, past: &[Exceeded]) -> Plan {
    let flow = of_flow(planned);
    let compared_with = other.map(of_flow);
    let differences = compared_with.as_ref().map(|other| differences(&flow, other));
    Plan { past: past.iter().map(past_maximum).collect(), differences, compared_with, flow }
}

fn of_flow(planned: &Planned) -> FlowPlan {
    FlowPlan::of(&planned.plan, &planned.texts())
}

fn past_maximum(past: &Exceeded) -> PastMaximum {
    let count = |most: plan::Most| Amount::from(plan::Amount::Count(most));
    let whole = |max: u64| Amount::Count(Most::Known(max));
    let (figure, allowed, planned) = match past {
        Exceeded::Attempts(max, planned) => ("attempts", whole(*max), Some(count(*planned))),
        Exceeded::LlmCalls(max, planned) => ("llm_calls", whole(*max), planned.map(count)),
        Exceeded::Time(max, planned) => ("wall_time_ms", whole(*max), planned.map(count)),
        Exceeded::Cost(max, planned) => {
            let dollars = |cost| Amount::from(plan::Amount::Cost(cost));
            ("cost_usd", dollars(*max), planned.map(dollars))
        }
    };
    PastMaximum { figure: figure.to_owned(), allowed, planned }
}

/// The figures that differ: first the totals, then those of every step of both flows.
fn differences(this: &FlowPlan, other: &FlowPlan) -> Vec<Difference> {
    let mut found = Vec::new();
    let mut note = |of: Option<&PlannedStep>, figure: &str, this: Option<Amount>, other: Option<Amount>| {
        let flow: Option<FlowId> = of.map(|step| step.flow.clone());
        let step: Option<StepId> = of.map(|step| step.step.clone());
        found.push(Difference { flow, step, figure: figure.to_owned(), this, other });
    };
    for ((figure, this), (_, other)) in totals(this).into_iter().zip(totals(other)) {
        if this != other {
            note(None, figure, this, other);
        }
    }
    for (here, there) in pairs(this, other) {
        let of = here.or(there);
        for (nth, figure) in OF_A_STEP.into_iter().enumerate() {
            let value =
                |step: Option<&PlannedStep>| step.and_then(|step| figures(step).into_iter().nth(nth)?);
            let this = value(here);
            let other = value(there);
            if this != other || here.is_some() != there.is_some() {
                note(of, figure, this, other);
            }
        }
    }
    found
}

fn totals(plan: &FlowPlan) -> [(&'static str, Option<Amount>); 8] {
    let count = |most: Option<Most>| most.map(Amount::Count);
    [
        ("attempts", count(Some(plan.attempts))),
        ("visits", count(Some(plan.visits))),
        ("iterations", count(Some(plan.iterations))),
        ("wall_time_ms", count(plan.wall_time_ms)),
        ("waits_ms", count(Some(plan.waits_ms))),
        ("elapsed_ms", count(plan.elapsed_ms)),
        ("llm_calls", count(plan.llm_calls)),
        ("cost_usd", plan.cost_usd.clone().map(Amount::Dollars)),
    ]
}

const OF_A_STEP: [&str; 3] = ["visits", "attempts", "wall_time_ms"];

/// The figures of [`OF_A_STEP`].
fn figures(step: &PlannedStep) -> [Option<Amount>; 3] {
    [Some(step.visits), Some(step.attempts), step.wall_time_ms].map(|most| most.map(Amount::Count))
}

/// Pairs every step with the same step of the other flow: first the steps of this flow, then those that only
/// the other flow has. Steps of the outer flow are the same if their ids are equal; the flow's name does not
/// matter.
fn pairs<'p>(
    this: &'p FlowPlan,
    other: &'p FlowPlan,
) -> Vec<(Option<&'p PlannedStep>, Option<&'p PlannedStep>)> {
    let name = |plan: &'p FlowPlan, step: &'p PlannedStep| {
        (Some(&step.flow).filter(|flow| **flow != plan.flow), &step.step)
    };
    let find = |plan: &'p FlowPlan, wanted: (Option<&FlowId>, &StepId)| {
        plan.steps.iter().find(|step| name(plan, step) == wanted)
    };
    let ours = this.steps.iter().map(|step| (Some(step), find(other, name(this, step))));
    let theirs = other.steps.iter().filter(|step| find(this, name(other, step)).is_none());
    ours.chain(theirs.map(|step| (None, Some(step)))).collect()
}
