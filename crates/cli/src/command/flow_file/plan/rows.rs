//! A plan as rows of the API.

use super::Planned;
use envoi_api::plan::{
    Amount, Difference, Dominant, FlowPlan, Most, MostAttempts, MostTime, PastMaximum, Plan, PlannedItems,
    PlannedLimit, PlannedLoop, PlannedStep,
};
use envoi_flow::plan::{self, Exceeded, StepPlan};
use envoi_kernel::ids::{FlowId, StepId};

/// A plan, what of it is past a maximum, and how it differs from another one.
pub(super) fn row(planned: &Planned, other: Option<&Planned>, past: &[Exceeded]) -> Plan {
    let flow = of_flow(planned);
    let compared_with = other.map(of_flow);
    let differences = compared_with.as_ref().map(|other| differences(&flow, other));
    Plan { past: past.iter().map(past_maximum).collect(), differences, compared_with, flow }
}

fn of_flow(planned: &Planned) -> FlowPlan {
    let plan = &planned.plan;
    FlowPlan {
        flow: plan.flow.clone(),
        file: planned.file.clone(),
        attempts: most(plan.attempts),
        visits: most(plan.visits),
        loop_backs: most(plan.loop_backs),
        rounds: plan.rounds,
        time_ms: plan.time_ms.map(most),
        waits_ms: most(plan.waits_ms),
        elapsed_ms: plan.elapsed_ms.map(most),
        llm_calls: plan.llm_calls.map(most),
        cost_usd: plan.cost.map(|cost| cost.to_string()),
        steps: plan.steps.iter().map(|step| planned_step(&plan.flow, step)).collect(),
        loops: plan.loops.iter().map(|found| planned_loop(&plan.flow, found)).collect(),
        limits: plan.bites.iter().map(planned_limit).collect(),
        most_attempts: plan.most_attempts.as_ref().map(|found| MostAttempts {
            figure: dominant(planned, found),
            one_less_saves: most(found.saves),
            spent_there: most(found.spent),
        }),
        most_time: plan.most_time.as_ref().map(|found| MostTime {
            figure: dominant(planned, found),
            one_less_saves_ms: most(found.saves),
            spent_there_ms: most(found.spent),
        }),
        notes: plan.notes.clone(),
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
        time_ms: step.time_ms.map(most),
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

fn dominant(planned: &Planned, found: &plan::Dominant) -> Dominant {
    let place = planned.place(found);
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

fn past_maximum(past: &Exceeded) -> PastMaximum {
    let count = |most: plan::Most| amount(plan::Amount::Count(most));
    let whole = |max: u64| Amount::Count(Most::Known(max));
    let (figure, allowed, planned) = match past {
        Exceeded::Attempts(max, planned) => ("attempts", whole(*max), Some(count(*planned))),
        Exceeded::LlmCalls(max, planned) => ("llm_calls", whole(*max), planned.map(count)),
        Exceeded::Time(max, planned) => ("time_ms", whole(*max), planned.map(count)),
        Exceeded::Cost(max, planned) => {
            let dollars = |cost| amount(plan::Amount::Cost(cost));
            ("cost_usd", dollars(*max), planned.map(dollars))
        }
    };
    PastMaximum { figure: figure.to_owned(), allowed, planned }
}

/// Figures that differ: those of the whole, then those of every step of either flow.
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
        ("loop_backs", count(Some(plan.loop_backs))),
        ("time_ms", count(plan.time_ms)),
        ("waits_ms", count(Some(plan.waits_ms))),
        ("elapsed_ms", count(plan.elapsed_ms)),
        ("llm_calls", count(plan.llm_calls)),
        ("cost_usd", plan.cost_usd.clone().map(Amount::Dollars)),
    ]
}

const OF_A_STEP: [&str; 3] = ["visits", "attempts", "time_ms"];

/// The figures of [`OF_A_STEP`].
fn figures(step: &PlannedStep) -> [Option<Amount>; 3] {
    [Some(step.visits), Some(step.attempts), step.time_ms].map(|most| most.map(Amount::Count))
}

/// Every step of either flow with the same one of the other: those of this flow, then those that only the other one has. Steps of
/// the whole flow are the same if their ids are, whatever the flow is called.
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
