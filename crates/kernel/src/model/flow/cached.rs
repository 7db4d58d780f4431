//! `cache` of a step: when its result is taken from an earlier run.

/// `cache` of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CachePlan {
    /// Globs of the files that its command reads. `None`: all files of a snapshot, and the results of other
    /// steps.
    pub inputs: Option<Vec<String>>,
    /// The variables that its command gets, out of those that the flow passes on. `None`: all of them.
    pub env: Option<Vec<String>>,
    /// Maximum age of a result that may be used.
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
