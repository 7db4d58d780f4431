/**
 * The closed vocabularies and fixed tables of the contracts.
 *
 * Generated from `crates/contract` by `cargo xtask generate`: change it there.
 */

/** One step after the other, with a `loop_target` a gate; repeated until a success value is stated; where the text says. */
export const ROUTING_KINDS = [
  "linear",
  "microloop",
  "branch",
] as const;
export type RoutingKind = (typeof ROUTING_KINDS)[number];

/** How a step's execution ended. A critic's verdict is no status. */
export const HANDOFF_STATUSES = [
  "succeeded",
  "failed",
  "skipped",
] as const;
export type HandoffStatus = (typeof HANDOFF_STATUSES)[number];

/** Why a pipeline ended: the contract's own words, those that relatives write, and those that Envoi adds. */
export const TERMINAL_REASONS = [
  "completed",
  "max_iterations_exceeded",
  "max_llm_calls_exceeded",
  "max_agent_hops_exceeded",
  "max_loop_exceeded",
  "user_cancelled",
  "tool_failed_fatally",
  "llm_failed_fatally",
  "policy_violation",
  "completed_successfully",
  "clarification_required",
  "confirmation_required",
  "denied_by_policy",
  "tool_failed_recoverably",
  "max_stage_visits_exceeded",
  "edge_limit_exceeded",
  "break_requested",
  "time_limit_exceeded",
  "cost_limit_exceeded",
  "max_stages_exceeded",
] as const;
export type TerminalReason = (typeof TERMINAL_REASONS)[number];

/** What an interrupt asks for. */
export const INTERRUPT_KINDS = [
  "clarification",
  "confirmation",
  "agent_review",
  "checkpoint",
  "resource_exhausted",
  "timeout",
  "system_error",
] as const;
export type InterruptKind = (typeof INTERRUPT_KINDS)[number];

/** What became of an interrupt. */
export const INTERRUPT_STATUSES = [
  "pending",
  "resolved",
  "expired",
  "cancelled",
] as const;
export type InterruptStatus = (typeof INTERRUPT_STATUSES)[number];

/** How an attempt went. A hand-off's `succeeded` is `success` here, its `failed` is `error`. */
export const RECORD_STATUSES = [
  "running",
  "success",
  "error",
  "skipped",
] as const;
export type RecordStatus = (typeof RECORD_STATUSES)[number];

/** Where a file came from. */
export const ORIGIN_KINDS = [
  "upload",
  "email_attachment",
  "agent_generated",
  "external_link",
  "live_generator",
] as const;
export type OriginKind = (typeof ORIGIN_KINDS)[number];

/** How long an interrupt made by a library stays open, in milliseconds; none for ever. In a run nothing expires unless the flow sets an expiry. */
export const DEFAULT_TIME_TO_LIVE_MS: Readonly<Record<InterruptKind, number | null>> = {
  clarification: 86_400_000,
  confirmation: 3_600_000,
  agent_review: 1_800_000,
  checkpoint: null,
  resource_exhausted: 300_000,
  timeout: 300_000,
  system_error: 3_600_000,
};

/** The members of an envelope that systems exchange while a pipeline runs, in order. */
export const EXCHANGED_MEMBERS: ReadonlySet<string> = new Set([
  "envelope_id",
  "request_id",
  "user_id",
  "session_id",
  "raw_input",
  "outputs",
  "current_stage",
  "stage_order",
  "iteration",
  "llm_call_count",
  "agent_hop_count",
  "terminal_reason",
  "terminated",
  "termination_reason",
  "interrupt_pending",
  "interrupt",
  "active_stages",
  "completed_stage_set",
  "failed_stages",
  "parallel_mode",
  "errors",
  "metadata",
]);

/** The general advice for each code, for refusals without a more precise hint. */
export const ADVICE = {
  ROUTING_INVALID: "correct the resolver's input (CONTRACTS 1.2)",
  ROUTING_SIGNAL_INVALID: "correct the signal (CONTRACTS 1.1)",
  HANDOFF_INVALID: "correct the hand-off (CONTRACTS 2)",
  ENVELOPE_INVALID: "correct the envelope (CONTRACTS 3)",
  SKILL_REPORT_INVALID: "correct what the skill writes as its report (CONTRACTS 4)",
  INVALID_USER_ENVELOPE: "correct the answer, or send it without opting in (CONTRACTS 5)",
  VECTORS_INVALID: "a vector file is an array of cases (spec/vectors/README.md)",
} as const;

/** The contracts' codes. */
export type Code = keyof typeof ADVICE;
