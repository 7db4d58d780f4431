//! Why a pipeline ended. Three systems have three vocabularies; all are read, and each word is kept as it was read.

use crate::vocabulary::vocabulary;

vocabulary! {
    /// Why a pipeline ended.
    TerminalReason {
        /// All was done.
        Completed = "completed",
        /// No iteration of any loop is left.
        MaxIterationsExceeded = "max_iterations_exceeded",
        /// No model call is left.
        MaxLlmCallsExceeded = "max_llm_calls_exceeded",
        /// No attempt is left.
        MaxAgentHopsExceeded = "max_agent_hops_exceeded",
        /// No iteration of one loop is left.
        MaxLoopExceeded = "max_loop_exceeded",
        /// A user cancelled it.
        UserCancelled = "user_cancelled",
        /// A step failed for good.
        ToolFailedFatally = "tool_failed_fatally",
        /// A model failed for good.
        LlmFailedFatally = "llm_failed_fatally",
        /// A person or a rule denied it.
        PolicyViolation = "policy_violation",
        /// Related system: all is done.
        CompletedSuccessfully = "completed_successfully",
        /// Related system: a question is open.
        ClarificationRequired = "clarification_required",
        /// Related system: an approval is open.
        ConfirmationRequired = "confirmation_required",
        /// Related system: a denial.
        DeniedByPolicy = "denied_by_policy",
        /// Related system: a step failed and may be tried again.
        ToolFailedRecoverably = "tool_failed_recoverably",
        /// Related system: a step has no visit left.
        MaxStageVisitsExceeded = "max_stage_visits_exceeded",
        /// Related system: an edge may not be taken again.
        EdgeLimitExceeded = "edge_limit_exceeded",
        /// Related system: the pipeline stopped itself.
        BreakRequested = "break_requested",
        /// Envoi: the wall time is used up.
        TimeLimitExceeded = "time_limit_exceeded",
        /// Envoi: the money is used up.
        CostLimitExceeded = "cost_limit_exceeded",
        /// Envoi: no round of the goals is left.
        MaxStagesExceeded = "max_stages_exceeded",
    }
}

impl TerminalReason {
    /// Reads a word of any of the vocabularies, in any case.
    #[must_use]
    pub fn parse_ignoring_case(word: &str) -> Option<TerminalReason> {
        TerminalReason::ALL.iter().find(|reason| reason.word().eq_ignore_ascii_case(word)).copied()
    }
}
