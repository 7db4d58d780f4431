//! Random graphs, such as crate `flow` would admit: needs without circles, joins, loops to what comes before, questions,
//! items, and flows in flows, listed and graphs.

use crate::{
    flows::{bounded, step_id},
    random::{Plan, Turn, build, limits, name, plan, turns_with},
};
use envoi_contract::digest::Digest;
use envoi_kernel::{
    Flow,
    flow::{Expression, ForEach, InnerPlan, Join, Limits, Overdue, RoutingPlan, Step, StepKind},
    ids::{FlowId, StepId},
};
use proptest::{option, prelude::*, sample::select};
use std::{collections::BTreeMap, sync::Arc};

/// Most steps of the run's own flow, and of one within it.
const STEPS: usize = 6;
const INNER_STEPS: usize = 3;

/// The properties of a step of a random graph.
#[derive(Debug, Clone)]
struct Node {
    plan: Plan,
    /// A bit set: one bit for each earlier step.
    needs: u8,
    join: Join,
    /// Items, and how many at once.
    each: Option<(&'static str, Option<u32>)>,
    /// Which of the other flows it runs, or may lead into.
    runs: Option<usize>,
    leads_into: Option<usize>,
    regardless: Option<&'static str>,
    continue_on_error: bool,
}

fn node() -> impl Strategy<Value = Node> {
    let join = prop_oneof![
        4 => Just(Join::All),
        2 => Just(Join::Settled),
        5 => Just(Join::Any),
        3 => (1_u32..3).prop_map(Join::Quorum),
    ];
    let items = select(vec!["[1, 2, 3]", "['x', 'y']", "[]", "[1]", "steps.s0.data", "[1, 2, 3, 4]"]);
    let each = option::weighted(0.2, (items, option::weighted(0.6, 1_u32..3)));
    let regardless =
        option::weighted(0.2, select(vec!["always()", "failure()", "success()", "success() or failure()"]));
    let other = (option::weighted(0.25, 0..4_usize), option::weighted(0.3, 0..4_usize));
    (plan(), any::<u8>(), join, each, other, regardless, prop::bool::weighted(0.15)).prop_map(
        |(plan, needs, join, each, (runs, leads_into), regardless, continue_on_error)| Node {
            plan,
            needs,
            join,
            each,
            runs,
            leads_into,
            regardless,
            continue_on_error,
        },
    )
}

/// The places that each step hangs on, at any distance.
fn before(nodes: &[Node]) -> Vec<u8> {
    let mut all: Vec<u8> = Vec::new();
    for (place, node) in nodes.iter().enumerate() {
        let direct = needs_of(node, place);
        all.push(ids(direct).fold(direct, |sum, need| sum | all[need]));
    }
    all
}

fn needs_of(node: &Node, place: usize) -> u8 {
    // About every other of the earlier ones would leave little side by side, and of few nothing can be the first.
    let few = if node.join == Join::All { node.needs & (node.needs >> 3) } else { node.needs };
    few & !(u8::MAX << place)
}

fn ids(set: u8) -> impl Iterator<Item = usize> {
    (0..8).filter(move |place| set & (1 << place) != 0)
}

/// Steps by their names, or as they are where nothing can be at that place.
fn only(targets: &mut Vec<StepId>, allowed: &[StepId]) {
    targets.retain(|target| allowed.contains(target));
}

fn step_of(place: usize, nodes: &[Node], graph: bool, flows: &[Arc<Flow>]) -> Step {
    let node = &nodes[place];
    let mut step = build(place, nodes.len(), &node.plan);
    step.continue_on_error = node.continue_on_error && step.asks().is_none();
    if let Some(condition) = node.regardless {
        (step.condition, step.regardless) = (Some(Expression(condition.to_owned())), true);
    }
    if graph {
        let before = before(nodes);
        step.needs = ids(needs_of(node, place)).map(|place| step_id(&name(place))).collect();
        step.join = match node.join {
            _ if step.needs.is_empty() => Join::All,
            Join::Quorum(wanted) => Join::Quorum(wanted.min(u32::try_from(step.needs.len()).unwrap())),
            join => join,
        };
        let back: Vec<StepId> = ids(before[place] | 1 << place).map(|place| step_id(&name(place))).collect();
        let needing = |other: &usize| needs_of(&nodes[*other], *other) & (1 << place) != 0;
        let on = (0..nodes.len()).filter(needing).map(|place| step_id(&name(place)));
        let targets: Vec<StepId> = back.iter().cloned().chain(on).collect();
        let routing = &mut step.routing;
        routing.next = None;
        routing.loop_to = routing
            .loop_to
            .take()
            .map(|target| if back.contains(&target) { target } else { back[0].clone() });
        only(&mut routing.branches, &targets);
        if let StepKind::Ask(plan) = &mut step.kind {
            plan.on_deny = plan.on_deny.take().filter(|target| back.contains(target));
            if matches!(&plan.on_expire, Overdue::Go(target) if !back.contains(target)) {
                plan.on_expire = Overdue::Deny;
            }
        }
    }
    let run = |place: usize| flows.get(place.checked_rem(flows.len())?).map(|flow| flow.id.clone());
    if let (Some(flow), None) = (node.leads_into.and_then(run), step.asks()) {
        step.routing.declared = true;
        step.routing.flow_branches = vec![(flow, step_id("s0"))];
    }
    if let (Some(flow), None) = (node.runs.and_then(run), step.asks()) {
        // Such a step has no text, and no attempts of its own.
        let next = step.routing.next.take();
        step.routing = RoutingPlan { next, ..RoutingPlan::default() };
        (step.retry.attempts, step.budget) = (1, Default::default());
        let plan = InnerPlan { flow, inputs: Vec::new(), outputs: Vec::new() };
        step.kind = StepKind::Flow(Box::new(plan));
    }
    if let (Some((items, max_parallel)), None) = (node.each, step.asks()) {
        let next = step.routing.next.take();
        step.routing = RoutingPlan { next, ..RoutingPlan::default() };
        step.for_each = Some(ForEach { items: Expression(items.to_owned()), max_parallel });
    }
    step
}

fn made(name: &str, nodes: &[Node], graph: bool, reverse: bool, limits: Limits, flows: &[Arc<Flow>]) -> Flow {
    let mut steps: Vec<Step> = (0..nodes.len()).map(|place| step_of(place, nodes, graph, flows)).collect();
    if graph && reverse {
        steps.reverse();
    }
    let id = FlowId::new(name).unwrap();
    Flow { id, graph, digest: Digest::of(name.as_bytes()), ..Flow::clone(&bounded(limits, steps)) }
}

/// A flow within another: its steps, and whether it is a graph.
fn inner() -> impl Strategy<Value = (Vec<Node>, bool)> {
    (prop::collection::vec(node(), 1..=INNER_STEPS), any::<bool>())
}

/// Turns with slots for several attempts at once.
pub(crate) fn busy_turns() -> impl Strategy<Value = Vec<(Turn, bool)>> {
    turns_with(60)
}

/// Graphs, and lists with items or flows in them. `in2` and `in3` run no flow; `in0` and `in1` may run those.
pub(crate) fn graphs() -> impl Strategy<Value = Arc<Flow>> {
    let inner = [inner(), inner(), inner(), inner()];
    let graph = (prop::bool::weighted(0.8), any::<bool>());
    (prop::collection::vec(node(), 1..=STEPS), inner, graph, limits()).prop_map(
        |(nodes, inner, (graph, reverse), limits)| {
            let part = |name: &str, (nodes, graph): &(Vec<Node>, bool), flows: &[Arc<Flow>]| {
                Arc::new(made(name, nodes, *graph, reverse, Limits::default(), flows))
            };
            let innermost = [part("in2", &inner[2], &[]), part("in3", &inner[3], &[])];
            let middle = [part("in0", &inner[0], &innermost), part("in1", &inner[1], &innermost)];
            let all: Vec<Arc<Flow>> = middle.into_iter().chain(innermost).collect();
            let flows: BTreeMap<FlowId, Arc<Flow>> =
                all.iter().map(|flow| (flow.id.clone(), Arc::clone(flow))).collect();
            Arc::new(Flow { flows, ..made("demo", &nodes, graph, reverse, limits, &all) })
        },
    )
}
