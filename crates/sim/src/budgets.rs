//! Steps with a budget.

use crate::dice::Dice;
use envoi_kernel::{Flow, flow::Budget, ledger::Cost};

/// Gives some steps a budget: at times too small for what their command uses, at times more than the run has.
pub(crate) fn into(flow: &mut Flow, dice: &mut Dice) {
    for step in flow.steps.iter_mut().filter(|step| step.asks().is_none()) {
        if dice.permille(250) {
            let llm_calls = dice.permille(600).then(|| dice.below(5));
            let cost = dice.permille(600).then(|| format!("0.{}", dice.below(10)));
            step.budget = Budget { llm_calls, cost: cost.and_then(|cost| Cost::parse(&cost)) };
        }
    }
}
