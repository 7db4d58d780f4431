//! Flows that people correct runs to.
//!
//! Owns how the text of a flow becomes another one: steps are new, gone or changed, limits differ, and so do the flows that it runs.
//! All of it follows from the seed and the run.

use crate::flows::{Sample, pinned};
use envoi_flow::Loaded;
use envoi_journal::PinnedFlow;
use envoi_kernel::{
    Flow,
    flow::{KnownStructure, Step, StepKind},
    ids::StepId,
};
use envoi_testkit::Dice;
use std::{collections::BTreeMap, sync::Arc};

/// See the module.
pub(crate) struct Correction {
    pub(crate) flow: Arc<Flow>,
    pub(crate) pinned: PinnedFlow,
    /// It is made once the run has so many events.
    pub(crate) after: u64,
    /// The step from which on the run is to run again.
    pub(crate) from: Option<StepId>,
}

/// How often a text is changed anew when the reader refuses it, or it is equal.
const TRIES: u64 = 12;

/// The text before a step in a flow file.
const BEFORE_A_STEP: &str = "  - id: ";

/// A person's correction of the run of this name, which goes on under `old`; `sample` has its text. Most runs are not corrected.
pub(crate) fn of(seed: u64, run: &str, sample: &Sample, old: &Flow) -> Option<Correction> {
    let mut dice = Dice::of(seed, &["correction", run]);
    if !dice.permille(400) {
        return None;
    }
    let (text, loaded) = (0..TRIES).find_map(|_| changed(&mut dice, sample, old))?;
    let mut flow = loaded.flow;
    asks_as(&mut flow, old);
    let from = dice.permille(250).then(|| dice.pick(&flow.steps).map(|step| step.id.clone())).flatten();
    let pinned = pinned(&flow, loaded.language, text, loaded.parts);
    Some(Correction { flow: Arc::new(flow), pinned, after: dice.between(2, 40), from })
}

/// Makes one to three changes.
fn changed(dice: &mut Dice, sample: &Sample, old: &Flow) -> Option<(String, Loaded)> {
    let mut pieces: Vec<String> = sample.text.split(BEFORE_A_STEP).map(str::to_owned).collect();
    let mut parts = BTreeMap::clone(&sample.loaded.parts);
    for number in 0..dice.between(1, 3) {
        change(dice, number, &mut pieces, &mut parts);
    }
    let text = pieces.join(BEFORE_A_STEP);
    let loaded = envoi_flow::load_with("flow.yaml", &text, &parts).ok()?;
    (loaded.flow.digest != old.digest && loaded.flow.graph == old.graph).then_some((text, loaded))
}

/// `pieces`: the text before the steps, then each step.
fn change(dice: &mut Dice, number: u64, pieces: &mut Vec<String>, parts: &mut BTreeMap<String, String>) {
    let steps = pieces.len().saturating_sub(1);
    let place = dice.index(steps).saturating_add(1);
    match dice.below(8) {
        0..3 => {
            let behind = if dice.permille(300) { steps.saturating_add(1) } else { place };
            let is_graph = pieces.iter().any(|piece| piece.contains("needs: "));
            let needed = pieces.get(1..behind).unwrap_or_default();
            let needed: Vec<&str> = needed.iter().filter_map(|piece| piece.lines().next()).collect();
            let needs = dice.pick(&needed).filter(|_| is_graph).map(|step| format!("    needs: [{step}]\n"));
            let policy = dice.word(&["ask", "rerun", "fail"]);
            let new = format!(
                "new-{number}\n    run: [work]\n    on_in_doubt: {policy}\n{}",
                needs.unwrap_or_default()
            );
            pieces.insert(behind, new);
        }
        3 if steps > 1 => {
            pieces.remove(place);
        }
        3..6 => {
            if let Some(piece) = pieces.get_mut(place) {
                let command = format!("run: [work, fixed-{number}]");
                *piece = piece.replacen("run: [work]", &command, 1).replacen(
                    "run: work\n",
                    &format!("{command}\n"),
                    1,
                );
            }
        }
        6 => {
            let hops = dice.between(1, 30);
            if let Some(head) = pieces.first_mut()
                && let Some((before, after)) = head.split_once("agent_hops: ")
            {
                let after = after.trim_start_matches(|digit: char| digit.is_ascii_digit());
                *head = format!("{before}agent_hops: {hops}{after}");
            }
        }
        _ => {
            if let Some(inner) = parts.get_mut("inner.yaml") {
                inner.push_str("  - id: more\n    run: [work]\n");
                if inner.contains("needs: ") {
                    inner.push_str("    needs: [last]\n");
                }
            }
        }
    }
}

/// Steps that ask, and those with a budget or a command for their doubt, stay so where they can.
fn asks_as(flow: &mut Flow, old: &Flow) {
    let ids: Vec<StepId> = flow.steps.iter().map(|step| step.id.clone()).collect();
    for step in &mut flow.steps {
        let Some(before) = old.step(&step.id) else { continue };
        let is_there = |target: &StepId| ids.contains(target);
        let leads = |plan: &Step| {
            let diversions = plan.asks().into_iter().flat_map(|plan| plan.diversions());
            diversions.chain(&plan.routing.loop_to).all(is_there)
        };
        if !matches!(step.kind, StepKind::Run(_)) {
            continue;
        }
        if before.asks().is_some() && leads(before) {
            let next = step.routing.next.take();
            (step.kind, step.routing) = (before.kind.clone(), before.routing.clone());
            (step.routing.next, step.skill) = (next, None);
        } else if matches!(before.kind, StepKind::Run(_)) {
            step.budget = before.budget;
            step.on_in_doubt = before.on_in_doubt.clone();
        }
    }
    flow.limits.on_reached = old.limits.on_reached;
    flow.known_structure = KnownStructure::default();
}
