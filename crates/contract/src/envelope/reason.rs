//! Why a pipeline ended: three vocabularies that grew apart, read as one and kept as they came.

use crate::vocabulary::vocabulary;

vocabulary! {
    /// Why a pipeline ended.
    TerminalReason {
        /// All was done.
        Completed = "completed",
        /// Loops went back as often as they may.
        MaxIterationsExceeded = "max_iterations_exceeded",
        /// No model call is left.
        MaxLlmCallsExceeded = "max_llm_calls_exceeded",
        /// No attempt is left.
        MaxAgentHopsExceeded = "max_agent_hops_exceeded",
        /// One loop went back as often as it may.
        MaxLoopExceeded = "max_loop_exceeded",
        /// Somebody cancelled it.
        UserCancelled = "user_cancelled",
        /// A step failed for good.
        ToolFailedFatally = "tool_failed_fatally",
        /// A model failed for good.
        LlmFailedFatally = "llm_failed_fatally",
        /// A person or a rule said no.
        PolicyViolation = "policy_violation",
        /// A relative's word for all was done.
        CompletedSuccessfully = "completed_successfully",
        /// A relative's word: a question is open.
        ClarificationRequired = "clarification_required",
        /// A relative's word: an approval is open.
        ConfirmationRequired = "confirmation_required",
        /// A relative's word for a denial.
        DeniedByPolicy = "denied_by_policy",
        /// A relative's word: a step failed and may be tried again.
        ToolFailedRecoverably = "tool_failed_recoverably",
        /// A relative's word: a step was entered as often as it may be.
        MaxStageVisitsExceeded = "max_stage_visits_exceeded",
        /// A relative's word: an edge was taken as often as it may be.
        EdgeLimitExceeded = "edge_limit_exceeded",
        /// A relative's word: the pipeline asked to stop.
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
