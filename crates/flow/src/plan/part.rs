//! The worst case of a part of a flow. Steps that are left out count as steps that do nothing.

use super::{Plan, plan};
use envoi_kernel::{
    Refusal,
    flow::{AskPlan, Flow, RoutingPlan, Step, StepKind, Template},
    ids::StepId,
    part::{Missing, Part, Selection},
};
use std::collections::BTreeMap;

/// The worst case of this part of `flow`, without the steps that are left out.
#[must_use]
pub fn plan_part(flow: &Flow, selection: &Selection) -> Plan {
    let has = |step: &StepId| selection.includes(flow, step);
    let mut part = flow.clone();
    part.steps =
        flow.steps.iter().map(|step| if has(&step.id) { cut(step, &has) } else { passed(step) }).collect();
    part.goals = part.goals.filter(|goals| has(&goals.from) && has(&goals.to));
    let mut plan = plan(&part);
    plan.steps.retain(|row| match row.flow {
        None => has(&row.step),
        Some(_) => row.visits.known() != Some(0),
    });
    let left_out = selection.left_out(flow);
    if !left_out.is_empty() {
        let names: Vec<String> = left_out.iter().map(|step| format!("`{step}`")).collect();
        plan.notes.push(format!("a part of the flow is planned; left out: {}", names.join(", ")));
    }
    plan.notes.extend(to_be_taken(flow, selection));
    plan
}

/// The values that the part reads from steps that are left out, and that only an earlier run can provide.
fn to_be_taken(flow: &Flow, selection: &Selection) -> Vec<String> {
    let part = Part { selection: selection.clone(), with: None, taken: Vec::new() };
    let Err(Refusal::PartIncomplete { missing }) = part.check(flow, &BTreeMap::new()) else {
        return Vec::new();
    };
    let note = |Missing { reader, path, line, .. }| {
        format!(
            "`{reader}` reads `{path}` (line {line}): `envoi run` takes it from `--with RUN`, and starts nothing without it"
        )
    };
    missing.into_iter().map(note).collect()
}

/// A step that is left out: it leads to the same steps as before, and starts nothing.
fn passed(step: &Step) -> Step {
    let question = AskPlan::plain(Template(String::new()));
    let next = step.routing.next.clone();
    Step {
        needs: step.needs.clone(),
        join: step.join,
        routing: RoutingPlan { next, ..RoutingPlan::default() },
        ..Step::new(step.id.clone(), StepKind::Ask(Box::new(question)))
    }
}

/// A step of the part. A loop back to a step that is left out gets no iterations.
fn cut(step: &Step, has: &impl Fn(&StepId) -> bool) -> Step {
    let mut step = step.clone();
    if step.routing.loop_to.as_ref().is_some_and(|target| !has(target)) {
        step.routing.max_iterations = 0;
    }
    step
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLOW: &str = "\
flow: f
steps:
  - { id: a, run: [\"true\"], retry: { attempts: 3 } }
  - { id: b, run: [\"true\"] }
  - { id: c, run: [\"true\"], routing: { kind: microloop, loop_to: b, success_values: [OK], max_iterations: 4 } }
  - { id: d, run: [\"true\"] }
";

    #[test]
    fn a_part_makes_no_more_attempts_than_its_steps() {
        let flow = crate::load("f.yaml", FLOW).unwrap().flow;
        let one = |step: &str| StepId::new(step).unwrap();
        let only = |step: &str| Selection { only: vec![one(step)], ..Selection::default() };
        let attempts = |selection: &Selection| {
            let plan = plan_part(&flow, selection);
            let steps: Vec<String> = plan.steps.iter().map(super::super::StepPlan::name).collect();
            (plan.attempts.known(), steps.join(" "))
        };
        for (selection, expected, steps) in [
            (Selection::default(), plan(&flow).attempts.known(), "a b c d"),
            (only("a"), plan(&flow).steps[0].attempts.known(), "a"),
            (
                Selection { from: Some(one("d")), ..Selection::default() },
                plan(&flow).steps[3].attempts.known(),
                "d",
            ),
        ] {
            assert_eq!(attempts(&selection), (expected, steps.to_owned()));
        }
        let looped = plan_part(&flow, &Selection { from: Some(one("b")), ..Selection::default() });
        let alone = plan_part(&flow, &only("c"));
        assert_eq!(looped.loop_backs.known(), Some(4));
        assert_eq!(alone.loop_backs.known(), Some(0), "the loop has no round without its beginning");
    }

    #[test]
    fn a_part_says_what_it_takes_from_an_earlier_run() {
        let text = "\
flow: f
steps:
  - { id: a, run: [\"true\"] }
  - { id: b, run: [\"echo\", \"${{ steps.a.data.x }}\", \"${{ steps.a.data.y | default(1) }}\"] }
";
        let flow = crate::load("f.yaml", text).unwrap().flow;
        let notes = |only: &str| {
            let only = vec![StepId::new(only).unwrap()];
            let notes = plan_part(&flow, &Selection { only, ..Selection::default() }).notes;
            notes.into_iter().filter(|note| note.contains("--with RUN")).collect::<Vec<_>>()
        };
        let expected = "`b` reads `steps.a.data.x` (line 4): `envoi run` takes it from `--with RUN`, and starts nothing without it";
        assert_eq!(notes("b"), [expected]);
        assert_eq!(notes("a"), Vec::<String>::new());
    }
}
