//! The reasons why a pipeline ended. Three systems have three vocabularies; all are read, and each word is kept
//! unchanged.

use crate::vocabulary::vocabulary;

vocabulary! {
    /// The reason why a pipeline ended.
    TerminalReason {
        /// Everything was done.
        Completed = "completed",
        /// The iteration limit of all loops is reached.
        MaxIterationsExceeded = "max_iterations_exceeded",
        /// The limit on model calls is reached.
        MaxLlmCallsExceeded = "max_llm_calls_exceeded",
        /// The limit on attempts is reached.
        MaxAgentHopsExceeded = "max_agent_hops_exceeded",
        /// The iteration limit of one loop is reached.
        MaxLoopExceeded = "max_loop_exceeded",
        /// A user cancelled it.
        UserCancelled = "user_cancelled",
        /// A step failed permanently.
        ToolFailedFatally = "tool_failed_fatally",
        /// A model failed permanently.
        LlmFailedFatally = "llm_failed_fatally",
        /// A person or a rule denied it.
        PolicyViolation = "policy_violation",
        /// Related system: everything was done.
        CompletedSuccessfully = "completed_successfully",
        /// Related system: a question is open.
        ClarificationRequired = "clarification_required",
        /// Related system: an approval is open.
        ConfirmationRequired = "confirmation_required",
        /// Related system: a denial.
        DeniedByPolicy = "denied_by_policy",
        /// Related system: a step failed and may be retried.
        ToolFailedRecoverably = "tool_failed_recoverably",
        /// Related system: the visit limit of a step is reached.
        MaxStageVisitsExceeded = "max_stage_visits_exceeded",
        /// Related system: the limit of an edge is reached.
        EdgeLimitExceeded = "edge_limit_exceeded",
        /// Related system: the pipeline stopped itself.
        BreakRequested = "break_requested",
        /// Envoi: the time limit is reached.
        TimeLimitExceeded = "time_limit_exceeded",
        /// Envoi: the cost limit is reached.
        CostLimitExceeded = "cost_limit_exceeded",
        /// Envoi: the limit on rounds of the goals is reached.
        MaxStagesExceeded = "max_stages_exceeded",
    }
}

impl TerminalReason {
    /// Reads a word of any of the vocabularies, ignoring case.
    #[must_use]
    pub fn parse_ignoring_case(word: &str) -> Option<TerminalReason> {
        TerminalReason::ALL.iter().find(|reason| reason.word().eq_ignore_ascii_case(word)).copied()
    }
}
