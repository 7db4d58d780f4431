//! The bounds of a run: their names, the usage that counts towards each, and the end that each causes.

use crate::model::{flow::Flow, ledger::Ledger};
use envoi_contract::envelope::TerminalReason;

/// A bound of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bound {
    /// Number of attempts.
    AgentHops,
    /// Number of loop-backs of all loops together.
    Iterations,
    /// Number of model calls.
    LlmCalls,
    /// Total time of all attempts.
    WallTime,
    /// Cost.
    Cost,
    /// Number of rounds for the goals.
    Rounds,
    /// Waiting time of a step for its account. This bound stops a step, not a run.
    Waiting,
}

impl Bound {
    /// All bounds.
    pub(crate) const ALL: [Self; 7] = [
        Self::AgentHops,
        Self::Iterations,
        Self::LlmCalls,
        Self::WallTime,
        Self::Cost,
        Self::Rounds,
        Self::Waiting,
    ];

    /// Its key in `limits`, and its name in a question about it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::AgentHops => "agent_hops",
            Self::Iterations => "iterations",
            Self::LlmCalls => "llm_calls",
            Self::WallTime => "wall_time",
            Self::Cost => "cost_usd",
            Self::Rounds => "rounds",
            Self::Waiting => "waiting",
        }
    }

    /// The bound with this name.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|bound| bound.name() == name)
    }

    /// How a run ends that this bound stops.
    pub(crate) fn terminal_reason(self) -> TerminalReason {
        match self {
            Self::AgentHops => TerminalReason::MaxAgentHopsExceeded,
            Self::Iterations => TerminalReason::MaxIterationsExceeded,
            Self::LlmCalls => TerminalReason::MaxLlmCallsExceeded,
            Self::WallTime => TerminalReason::TimeLimitExceeded,
            Self::Cost => TerminalReason::CostLimitExceeded,
            Self::Rounds => TerminalReason::MaxStagesExceeded,
            // The same as for any failed step.
            Self::Waiting => TerminalReason::ToolFailedFatally,
        }
    }

    /// The bound that stopped a run with this terminal reason. `None`: it was a step, a person, or a loop
    /// with its own bound.
    pub(crate) fn that_ended(terminal_reason: TerminalReason) -> Option<Self> {
        let ends_runs = |bound: &Self| *bound != Self::Waiting;
        Self::ALL.into_iter().filter(ends_runs).find(|bound| bound.terminal_reason() == terminal_reason)
    }

    /// The part of `more` that belongs to this bound.
    pub(crate) fn part(self, more: &Ledger) -> Ledger {
        match self {
            Self::AgentHops => Ledger { agent_hops: more.agent_hops, ..Ledger::default() },
            Self::Iterations => Ledger { iterations: more.iterations, ..Ledger::default() },
            Self::LlmCalls => Ledger { llm_calls: more.llm_calls, ..Ledger::default() },
            Self::WallTime => Ledger { wall_time_ms: more.wall_time_ms, ..Ledger::default() },
            Self::Cost => Ledger { cost: more.cost, ..Ledger::default() },
            Self::Rounds => Ledger { rounds: more.rounds, ..Ledger::default() },
            Self::Waiting => Ledger { waiting_ms: more.waiting_ms, ..Ledger::default() },
        }
    }

    /// Whether `more` raises this bound.
    pub(crate) fn is_raised_by(self, more: &Ledger) -> bool {
        self.part(more) != Ledger::default()
    }

    /// Whether `more` raises this bound, and no other.
    pub(crate) fn is_all_of(self, more: &Ledger) -> bool {
        self.is_raised_by(more) && self.part(more) == *more
    }

    /// Whether the flow has this bound.
    pub(crate) fn is_limited(self, flow: &Flow) -> bool {
        let limits = &flow.limits;
        match self {
            Self::AgentHops => limits.agent_hops.is_some(),
            Self::Iterations => limits.iterations.is_some(),
            Self::LlmCalls => limits.llm_calls.is_some(),
            Self::WallTime => limits.wall_time_ms.is_some(),
            Self::Cost => limits.cost.is_some(),
            Self::Rounds => flow.goals.is_some(),
            Self::Waiting => limits.waiting_ms.is_some(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_bound_has_a_name_and_an_end_of_its_own() {
        for bound in Bound::ALL {
            assert_eq!(Bound::parse(bound.name()), Some(bound));
            let ends_runs = bound != Bound::Waiting;
            assert_eq!(Bound::that_ended(bound.terminal_reason()), ends_runs.then_some(bound));
        }
        assert_eq!(Bound::parse(""), None);
        assert_eq!(Bound::that_ended(TerminalReason::MaxLoopExceeded), None, "a loop's own bound");
    }
}
