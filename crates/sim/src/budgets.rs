//! Steps with a budget, and steps whose doubt a command settles.

use envoi_kernel::{
    Flow,
    flow::{Budget, CommandPlan, InDoubtPolicy, StepKind, Template},
    ledger::Cost,
};
use envoi_testkit::Dice;

/// Gives some steps a budget, at times too small for what their command uses, at times more than the run has; and lets the
/// doubt about some be settled by a command, which ends like any other: with yes, no, or nothing.
pub(crate) fn into(flow: &mut Flow, dice: &mut Dice) {
    for step in flow.steps.iter_mut().filter(|step| matches!(step.kind, StepKind::Run(_))) {
        if dice.permille(250) {
            let llm_calls = dice.permille(600).then(|| dice.below(5));
            let cost = dice.permille(600).then(|| format!("0.{}", dice.below(10)));
            step.budget = Budget { llm_calls, cost: cost.and_then(|cost| Cost::parse(&cost)) };
        }
        if dice.permille(300) {
            let look = Template("look".to_owned());
            step.on_in_doubt = InDoubtPolicy::Verify(CommandPlan::Exec(vec![look]));
        }
    }
}
