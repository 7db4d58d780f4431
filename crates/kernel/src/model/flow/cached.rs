//! `cache` of a step: when its result is taken from an earlier run.

/// See the module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CachePlan {
    /// Globs of the files that its command reads. `None`: all that a snapshot has, and what other steps leave.
    pub inputs: Option<Vec<String>>,
    /// Of the variables that the flow passes on, those that its command gets. `None`: all of them.
    pub env: Option<Vec<String>>,
    /// The greatest age of a result that counts.
    pub max_age_ms: u64,
}

impl CachePlan {
    /// 30 days: the default of `for`.
    pub const MAX_AGE_MS: u64 = 30 * 24 * 60 * 60 * 1_000;
}

impl Default for CachePlan {
    fn default() -> Self {
        Self { inputs: None, env: None, max_age_ms: Self::MAX_AGE_MS }
    }
}
