//! `routing` of a step.
//!
//! Owns its keys and their valid combinations. [`crate::check::graph`] checks that the named steps exist, and that
//! loops are bounded.

use crate::{
    parse::{
        draft::{NamedFlows, Targets},
        subflow,
    },
    syntax::{
        diagnostic::{Diagnostic, Problems},
        keys, names,
        read::{self, Fields, Spanned},
        yaml::Node,
    },
};
use envoi_contract::routing::Kind;
use envoi_kernel::{
    flow::{Next, OnBlocked, OnExhausted, RoutingPlan},
    ids::{FlowId, StepId},
};
use std::collections::BTreeMap;

/// The largest number of iterations of one loop.
const MAX_ITERATIONS: u64 = 10_000;

/// Keys that need the resolver; `next` alone does not.
const RESOLVED: &[&str] = &["kind", "success_values", "branches", "status_from_exit"];

const KINDS: &[(&str, Kind)] =
    &[("linear", Kind::Linear), ("microloop", Kind::Microloop), ("branch", Kind::Branch)];

pub(crate) fn read(
    node: &Node,
    targets: &mut Targets,
    named: &NamedFlows,
    problems: &mut Problems,
) -> Option<RoutingPlan> {
    let fields = Fields::of(node, &keys::ROUTING, problems)?;
    ways(&fields, targets, problems);
    let branches = fields.get("branches").map(|node| branches(node, problems)).unwrap_or_default();
    let (foreign, own) = branches.into_iter().partition(|branch| branch.value.contains('/'));
    targets.branches = own;
    let flow_branches = flow_branches(foreign, named, problems);
    let default = RoutingPlan::default();
    let kind = fields.get("kind").map(|node| read::choice(node, "`kind`", KINDS, problems));
    // With a misspelt kind it is not known which other keys are valid.
    let known = kind != Some(None);
    let kind = kind.flatten().unwrap_or(default.kind);
    if known {
        keys_that_fit(kind, &fields, node, problems);
    }
    let plan = RoutingPlan {
        kind,
        declared: RESOLVED.iter().any(|key| fields.get(key).is_some()),
        loop_to: targets.loop_to.as_ref().and_then(step_id),
        status_from_exit: statuses(&fields, problems),
        success_values: success_values(&fields, problems),
        max_iterations: max_iterations(&fields, problems).unwrap_or(default.max_iterations),
        can_further_iteration_help: fields
            .get("can_further_iteration_help")
            .and_then(|node| read::boolean(node, "`can_further_iteration_help`", problems))
            .unwrap_or(default.can_further_iteration_help),
        next: targets.next.as_ref().and_then(next),
        branches: targets.branches.iter().filter_map(step_id).collect(),
        on_exhausted: on_exhausted(&fields, problems),
        flow_branches,
        on_blocked: on_blocked(&fields, problems),
    };
    Some(plan)
}

/// The `routing` of a step that runs a flow, which has no text of its own.
pub(crate) fn of_a_flow(node: &Node, targets: &mut Targets, problems: &mut Problems) -> Option<RoutingPlan> {
    let fields = Fields::of(node, &keys::ROUTING, problems)?;
    for key in fields.keys() {
        let known = keys::ROUTING.keys.contains(&key.text.as_str());
        if known && key.text != "next" {
            let message =
                format!("`{}` does nothing in a step that runs a flow: it has no text to be read", key.text);
            let help = "of `routing` it has `next`; let a step after it judge what the flow has done";
            problems.add(Diagnostic::invalid(key.span, message).help(help));
        }
    }
    targets.next = fields.get("next").and_then(|node| target(node, "`next`", problems));
    Some(RoutingPlan { next: targets.next.as_ref().and_then(next), ..RoutingPlan::default() })
}

/// Branches into other flows.
fn flow_branches(
    foreign: Vec<Spanned<String>>,
    named: &NamedFlows,
    problems: &mut Problems,
) -> Vec<(FlowId, StepId)> {
    let mut found: Vec<(FlowId, StepId)> = Vec::new();
    for branch in foreign {
        let Some(target) = subflow::branch(&branch, named, problems) else { continue };
        if found.contains(&target) {
            problems.add(Diagnostic::invalid(branch.span, format!("`{}` is named twice", branch.value)));
        }
        found.push(target);
    }
    found
}

/// The `routing` of a step that asks. The meaning of an answer is fixed, so nothing is resolved.
pub(crate) fn of_a_question(
    node: &Node,
    targets: &mut Targets,
    problems: &mut Problems,
) -> Option<RoutingPlan> {
    let fields = Fields::of(node, &keys::ROUTING, problems)?;
    for key in fields.keys() {
        let known = keys::ROUTING.keys.contains(&key.text.as_str());
        if known && !keys::ROUTING_OF_ASK.contains(&key.text.as_str()) {
            let message = format!("`{}` does nothing in a step that asks: the answer decides", key.text);
            let help = "of `routing` it has `next`, `loop_to` and `max_iterations`";
            problems.add(Diagnostic::invalid(key.span, message).help(help));
        }
    }
    ways(&fields, targets, problems);
    targets.bound = fields.pair("max_iterations").map(|(key, _)| key.span);
    let default = RoutingPlan::default();
    Some(RoutingPlan {
        loop_to: targets.loop_to.as_ref().and_then(step_id),
        max_iterations: max_iterations(&fields, problems).unwrap_or(default.max_iterations),
        next: targets.next.as_ref().and_then(next),
        ..default
    })
}

fn ways(fields: &Fields<'_>, targets: &mut Targets, problems: &mut Problems) {
    targets.next = fields.get("next").and_then(|node| target(node, "`next`", problems));
    targets.loop_to = fields.get("loop_to").and_then(|node| target(node, "`loop_to`", problems));
}

fn max_iterations(fields: &Fields<'_>, problems: &mut Problems) -> Option<u64> {
    let node = fields.get("max_iterations")?;
    read::integer(node, "`max_iterations`", 0..=MAX_ITERATIONS, problems)
}

fn target(node: &Node, name: &str, problems: &mut Problems) -> Option<Spanned<String>> {
    let value = read::text(node, name, problems)?.to_owned();
    Some(Spanned { value, span: node.span })
}

fn step_id(target: &Spanned<String>) -> Option<StepId> {
    StepId::new(target.value.as_str()).ok()
}

fn next(target: &Spanned<String>) -> Option<Next> {
    if target.value == "end" { Some(Next::End) } else { step_id(target).map(Next::Step) }
}

fn branches(node: &Node, problems: &mut Problems) -> Vec<Spanned<String>> {
    let named = read::texts(node, "`branches`", problems);
    if matches!(&node.kind, crate::syntax::yaml::Kind::Sequence(items) if items.is_empty()) {
        problems.add(Diagnostic::invalid(node.span, "`branches` names no step"));
    }
    named
}

/// Reports missing keys that a kind requires, and keys that have no effect for it.
fn keys_that_fit(kind: Kind, fields: &Fields<'_>, node: &Node, problems: &mut Problems) {
    let has = |key: &str| fields.get(key).is_some();
    let place = fields.get("kind").map_or(node.span, |kind| kind.span);
    match kind {
        Kind::Microloop if !has("success_values") => problems.add(
            Diagnostic::invalid(place, "a microloop without `success_values` never ends well").help(A_STATUS),
        ),
        Kind::Branch if !has("branches") => problems.add(
            Diagnostic::invalid(place, "`kind: branch` without `branches` leads nowhere")
                .help("name the steps that a hint may lead to: `branches: [a, b]`"),
        ),
        Kind::Branch | Kind::Linear => idle_keys(kind, fields, problems),
        Kind::Microloop => {}
    }
}

const A_STATUS: &str = "name the status that ends it: `success_values: [VERIFIED]`";

/// Reports keys of a loop in a routing without one, because their author believes that there is a loop.
fn idle_keys(kind: Kind, fields: &Fields<'_>, problems: &mut Problems) {
    let has = |key: &str| fields.get(key).is_some();
    let mut idle = |key: &str, why: &str, help: &str| {
        if let Some((key, _)) = fields.pair(key) {
            let message = format!("`{}` does nothing {why}", key.text);
            problems.add(Diagnostic::invalid(key.span, message).help(help));
        }
    };
    if kind == Kind::Branch {
        idle("success_values", "in a branch", "a branch follows hints alone");
    } else if has("success_values") {
        return;
    }
    for key in ["loop_to", "can_further_iteration_help", "on_blocked"] {
        idle(key, "without a loop", LOOP);
    }
    if !has("branches") {
        for key in ["max_iterations", "on_exhausted"] {
            idle(key, "without a loop", LOOP);
        }
    }
}

const LOOP: &str = "a loop has `kind: microloop` and `success_values`";

fn statuses(fields: &Fields<'_>, problems: &mut Problems) -> BTreeMap<i32, String> {
    let Some(node) = fields.get("status_from_exit") else { return BTreeMap::new() };
    let members = read::entries(node, "`status_from_exit`", problems);
    let mut statuses: BTreeMap<i32, String> = BTreeMap::new();
    for (key, node) in members {
        let code = key.text.parse::<u8>().ok().filter(|code| code.to_string() == key.text);
        if code.is_none() {
            let message = format!("`{}` is not an exit code", key.text);
            problems.add(Diagnostic::invalid(key.span, message).expecting("a whole number from 0 to 255"));
        }
        let word = word(node, "a status", problems);
        if let (Some(code), Some(word)) = (code, word) {
            statuses.insert(i32::from(code), word);
        }
    }
    if members.is_empty() && matches!(&node.kind, crate::syntax::yaml::Kind::Mapping(_)) {
        problems.add(Diagnostic::invalid(node.span, "`status_from_exit` names no exit code"));
    }
    statuses
}

fn success_values(fields: &Fields<'_>, problems: &mut Problems) -> Vec<String> {
    let Some(node) = fields.get("success_values") else { return Vec::new() };
    let name = "`success_values`";
    let items = read::list(node, name, "a list of strings", problems);
    if items.is_some_and(<[Node]>::is_empty) {
        problems.add(Diagnostic::invalid(node.span, "`success_values` names no status"));
    }
    let items = items.unwrap_or_default();
    items.iter().filter_map(|item| word(item, "a success value", problems)).collect()
}

/// Reads the word of a status. `true` and `7` are not words, so a text could never state them as a status.
fn word(node: &Node, name: &str, problems: &mut Problems) -> Option<String> {
    let text = read::text(node, name, problems)?;
    if names::is_word(text) {
        return Some(text.to_owned());
    }
    let shown = crate::syntax::yaml::shortened(text);
    let message = format!("`{shown}` cannot be {name}: it is not one word");
    read::refuse(problems, Diagnostic::invalid(node.span, message).expecting(names::WORD))
}

fn on_exhausted(fields: &Fields<'_>, problems: &mut Problems) -> OnExhausted {
    let words = [("ask", OnExhausted::Ask), ("fail", OnExhausted::Fail), ("proceed", OnExhausted::Proceed)];
    fields
        .get("on_exhausted")
        .and_then(|node| read::choice(node, "`on_exhausted`", &words, problems))
        .unwrap_or(OnExhausted::Ask)
}

fn on_blocked(fields: &Fields<'_>, problems: &mut Problems) -> OnBlocked {
    let words = [("ask", OnBlocked::Ask), ("fail", OnBlocked::Fail)];
    fields
        .get("on_blocked")
        .and_then(|node| read::choice(node, "`on_blocked`", &words, problems))
        .unwrap_or(OnBlocked::Ask)
}
