//! Amounts by the keys of `limits`: the usage of a run, and its limits.

use crate::scalar::{dollars, maybe_dollars};
use envoi_contract::time::Timestamp;
use envoi_kernel::{Run, ledger::Ledger};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What was used, reserved or added, by the keys of `limits`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Amounts {
    /// Attempts.
    pub agent_hops: u64,
    /// Times that loops went back.
    pub iterations: u64,
    /// Rounds.
    pub rounds: u64,
    /// Calls of models.
    pub llm_calls: u64,
    /// Tokens that models were given.
    pub tokens_in: u64,
    /// Tokens that models gave.
    pub tokens_out: u64,
    /// Dollars.
    #[schemars(schema_with = "dollars")]
    pub cost_usd: String,
    /// Time of work.
    pub wall_time_ms: u64,
    /// Time of waiting for closed accounts, of the run itself: it is not shared with forks, and steps have none.
    #[serde(default)]
    pub waiting_ms: u64,
    /// Attempts and calls of models of which it is not known how many calls they made: `llm_calls` is the least.
    #[serde(default)]
    pub unknown_calls: u64,
    /// Those of which it is not known how many tokens they used: `tokens_in` and `tokens_out` are the least.
    #[serde(default)]
    pub unknown_tokens: u64,
    /// Those of which it is not known what they cost: `cost_usd` is the least.
    #[serde(default)]
    pub unknown_costs: u64,
}

impl Amounts {
    /// The usage of a run and its family until `now`.
    #[must_use]
    pub fn used(run: &Run, now: Timestamp) -> Self {
        Self { waiting_ms: run.waited_ms(now), ..run.ledger().into() }
    }

    /// The usage of the run itself until `now`.
    #[must_use]
    pub fn own_used(run: &Run, now: Timestamp) -> Self {
        Self { waiting_ms: run.waited_ms(now), ..(&run.own_share().used).into() }
    }
}

impl From<&Ledger> for Amounts {
    fn from(used: &Ledger) -> Self {
        Self {
            agent_hops: used.agent_hops,
            iterations: used.iterations,
            rounds: used.rounds,
            llm_calls: used.llm_calls,
            tokens_in: used.tokens_in,
            tokens_out: used.tokens_out,
            cost_usd: used.cost.to_string(),
            wall_time_ms: used.wall_time_ms,
            waiting_ms: used.waiting_ms,
            unknown_calls: used.unknown_calls,
            unknown_tokens: used.unknown_tokens,
            unknown_costs: used.unknown_costs,
        }
    }
}

/// The limits of a run; null is unlimited.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Limits {
    /// Attempts.
    pub agent_hops: Option<u64>,
    /// Times that loops go back.
    pub iterations: Option<u64>,
    /// Rounds.
    pub rounds: Option<u64>,
    /// Calls of models.
    pub llm_calls: Option<u64>,
    /// Dollars.
    #[schemars(schema_with = "maybe_dollars")]
    pub cost_usd: Option<String>,
    /// Time of work.
    pub wall_time_ms: Option<u64>,
    /// Time of waiting for closed accounts.
    pub waiting_ms: Option<u64>,
}

impl Limits {
    /// The limits of a run.
    #[must_use]
    pub fn of(run: &Run) -> Self {
        let limits = run.limits();
        Self {
            agent_hops: limits.agent_hops,
            iterations: limits.iterations,
            rounds: run.max_rounds(),
            llm_calls: limits.llm_calls,
            cost_usd: limits.cost.map(|cost| cost.to_string()),
            wall_time_ms: limits.wall_time_ms,
            waiting_ms: limits.waiting_ms,
        }
    }
}
