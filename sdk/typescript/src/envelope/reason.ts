/** Why a pipeline ended: the words of three systems and Envoi's own, read as one vocabulary and kept as they came. */

import { lower } from "../scalars.js";

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

/** Reads a word of any of the vocabularies, in any case. */
export function parseTerminalReason(word: string): TerminalReason | undefined {
  const folded = lower(word);
  return TERMINAL_REASONS.find((reason) => reason === folded);
}
