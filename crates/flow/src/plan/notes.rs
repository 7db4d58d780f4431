//! Sentences that are needed to interpret the figures of a plan.

use super::{
    StepPlan, Whole,
    bounds::{Bounded, Used, hard},
};
use envoi_contract::time::duration;
use envoi_kernel::flow::{InDoubtPolicy, Limits, OnReached, Step, StepKind};
use envoi_preset::Preset;

/// See the module documentation.
pub(super) fn of(whole: &Whole<'_>, steps: &[StepPlan], attempts: u128, used: &Used) -> Vec<String> {
    let mut notes = Vec::new();
    let limits = whole.flow(0).map(|flow| flow.limits.clone()).unwrap_or_default();
    // `envoi raise` cannot raise the waiting time.
    let limited = Limits { on_reached: OnReached::Ask, waiting_ms: None, ..limits.clone() }
        != Limits { on_reached: OnReached::Ask, ..Limits::default() };
    if limits.on_reached == OnReached::Ask && limited {
        notes.push(
            "`limits.on_reached: ask`: a person may raise a limit, so that none of them bounds a run"
                .to_owned(),
        );
    }
    notes.extend(lengths(steps));
    notes.extend(time(&limits, steps));
    if attempts > 0 {
        notes.extend(reported("llm_calls", "model calls are", &used.calls));
        notes.extend(reported("cost_usd", "cost is", &used.cost));
    }
    notes.extend(of_agents(whole));
    notes.extend(refusals(whole));
    notes.extend(waiting(whole, &limits));
    notes.extend(by_people(whole, limited));
    notes
}

fn lengths(steps: &[StepPlan]) -> Option<String> {
    let unknown = steps.iter().filter(|step| step.items.is_some_and(|items| !items.known));
    let unknown: Vec<String> = unknown.map(|step| format!("`{}`", step.name())).collect();
    let (named, _) = some(&unknown)?;
    Some(format!(
        "nothing says how long the list of `for_each` is in {named}: 1000 items are counted, the most there can be; `maxItems` \
         in the schema of an input bounds it, and so does a list that is written out"
    ))
}

fn time(limits: &Limits, steps: &[StepPlan]) -> Option<String> {
    let untimed = steps.iter().filter(|step| step.time_ms.is_none());
    let untimed: Vec<String> = untimed.map(|step| format!("`{}`", step.name())).collect();
    let (named, have) = some(&untimed)?;
    let limit = if hard(limits).wall_time_ms.is_some() {
        "; `limits.wall_time` starts nothing more once it is used up, and does not end what is running"
    } else {
        ""
    };
    Some(format!("time is not bounded: {named} {have} no `timeout`{limit}"))
}

/// The bounds of calls or cost, and how strict they are.
fn reported(limit: &str, what: &str, of: &Bounded) -> Option<String> {
    let Bounded { by_budgets, by_limit, without } = of;
    let verified: Vec<String> =
        without.iter().filter(|(_, has)| *has).map(|(name, _)| format!("`{name}`")).collect();
    let lacking: Vec<String> =
        without.iter().filter(|(_, has)| !*has).map(|(name, _)| format!("`{name}`")).collect();
    match (by_limit, by_budgets) {
        (Some(_), None) => Some(format!(
            "`limits.{limit}` is tested before a start: an attempt without a budget that reaches it may report more than was left"
        )),
        (_, Some(_)) => Some(format!(
            "{what} bounded as far as commands keep to their budgets: one that reports more has failed, and is charged with it"
        )),
        (None, None) => {
            let why = match (some(&lacking), some(&verified)) {
                (Some((named, have)), _) => format!("{named} {have} no `budget.{limit}`"),
                (None, Some((named, _))) => format!("a verification of {named} has no budget"),
                (None, None) => return None,
            };
            Some(format!("{what} not bounded: {why}, and the flow has no `limits.{limit}`"))
        }
    }
}

/// How strict the budgets of agent programs and models are. The programs call their models themselves, and the cost
/// of a call is known only after it.
fn of_agents(whole: &Whole<'_>) -> Vec<String> {
    let steps = || whole.parts.iter().flat_map(|part| &part.flow.steps);
    let named = |is: &dyn Fn(&Step, Preset) -> bool| -> Vec<String> {
        let with = |step: &&Step| match &step.kind {
            StepKind::Agent(plan) if !plan.by_bridge => {
                Preset::named(&plan.program).is_some_and(|preset| is(step, preset))
            }
            _ => false,
        };
        steps().filter(with).map(|step| format!("`{}`", step.id)).collect()
    };
    let rows = [
        (
            named(&|step, preset| step.budget.llm_calls.is_some() && preset.reports_calls()),
            "the agent is ended at the first call past `budget.llm_calls`, and is charged with that call too",
        ),
        (
            named(&|step, preset| step.budget.cost.is_some() && preset.tests_cost()),
            "`budget.cost_usd` is tested by the program after each call, and by the run at the end: one call may pass it",
        ),
        (
            named(&|step, preset| {
                step.budget.cost.is_some() && preset.reports_cost() && !preset.tests_cost()
            }),
            "the agent is ended at the first call past `budget.cost_usd`, and is charged with that call too",
        ),
        (
            named(&|step, preset| step.budget.llm_calls.is_some() && !preset.reports_calls()),
            "`budget.llm_calls` does not hold: the program does not say how many calls it makes",
        ),
        (
            named(&|step, preset| step.budget.cost.is_some() && !preset.reports_cost()),
            "`budget.cost_usd` does not hold: the program does not say what it costs",
        ),
    ];
    let bridged = |is: &dyn Fn(&Step) -> bool| -> Vec<String> {
        let with = |step: &&Step| matches!(&step.kind, StepKind::Agent(plan) if plan.by_bridge) && is(step);
        steps().filter(with).map(|step| format!("`{}`", step.id)).collect()
    };
    let by_bridge = [
        (
            bridged(&|step| step.budget.llm_calls.is_some()),
            "the bridge refuses each call past `budget.llm_calls`: the agent is stopped exactly there",
        ),
        (
            bridged(&|step| step.budget.cost.is_some()),
            "the bridge tests `budget.cost_usd` before each call: those that are under way then may pass it",
        ),
    ];
    let asks = |step: &&Step| matches!(step.kind, StepKind::Model(_)) && step.budget.cost.is_some();
    let models = steps().filter(asks).map(|step| format!("`{}`", step.id)).collect();
    let of_models = (
        models,
        "`budget.cost_usd` is tested after each call of the model: the last call of an attempt may pass it",
    );
    let parts = rows
        .into_iter()
        .chain(by_bridge)
        .chain([of_models])
        .filter_map(|(names, what)| Some((some(&names)?.0, what)));
    parts.map(|(names, what)| format!("{names}: {what}")).collect()
}

/// How long the run may wait for rate limits of accounts.
fn waiting(whole: &Whole<'_>, limits: &Limits) -> Option<String> {
    let most = duration(limits.waiting_ms?);
    let steps = whole.parts.iter().flat_map(|part| &part.flow.steps);
    let have_accounts = steps.filter(|step| matches!(step.kind, StepKind::Agent(_) | StepKind::Model(_)));
    let names: Vec<String> = have_accounts.map(|step| format!("`{}`", step.id)).collect();
    let (named, _) = some(&names)?;
    let longer = if limits.on_reached == OnReached::Ask { ", longer if a person decides so" } else { "" };
    Some(format!(
        "{named}: the run waits for closed accounts {most} at most{longer}, its steps together (`limits.waiting`); that is not in the time"
    ))
}

/// Agents that may succeed although tools were refused.
fn refusals(whole: &Whole<'_>) -> impl Iterator<Item = String> {
    let steps = whole.parts.iter().flat_map(|part| &part.flow.steps);
    steps.filter_map(|step| match &step.kind {
        StepKind::Agent(plan) if plan.denials > 0 => Some(format!(
            "`{}`: an attempt succeeds although up to {} calls of tools are refused (`denials`)",
            step.id, plan.denials
        )),
        _ => None,
    })
}

/// The actions of people that the plan does not count.
fn by_people(whole: &Whole<'_>, limited: bool) -> Option<String> {
    let any = |is: fn(&Step) -> bool| whole.parts.iter().flat_map(|part| &part.flow.steps).any(is);
    let doubt = any(|step| step.has_attempts() && step.on_in_doubt != InDoubtPolicy::Fail);
    let agents = any(|step| match &step.kind {
        StepKind::A2a(_) => true,
        StepKind::Agent(plan) => !plan.ask.calls.is_empty(),
        _ => false,
    });
    let goals = whole.flow(0).is_some_and(|flow| flow.goals.is_some());
    let parts = [
        (doubt, "an attempt in doubt that is run again"),
        (agents, "an answer to a question of an agent, which is an attempt more"),
        (limited || goals, "a limit that `envoi raise` raises"),
        (true, "a run that is reopened"),
    ];
    let parts: Vec<&str> = parts.into_iter().filter(|(is, _)| *is).map(|(_, what)| what).collect();
    (parts.len() > 1).then(|| format!("not counted, because people decide it: {}", parts.join(", ")))
}

/// Some names, with the matching verb; `None` if there are no names.
fn some(names: &[String]) -> Option<(String, &'static str)> {
    const SHOWN: usize = 4;
    let have = if names.len() == 1 { "has" } else { "have" };
    let shown = names.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(SHOWN) {
        _ if names.is_empty() => None,
        0 => Some((shown, have)),
        more => Some((format!("{shown} and {more} more"), have)),
    }
}
