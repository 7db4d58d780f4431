"""The closed vocabularies and fixed tables of the contracts.

Generated from `crates/contract` by `cargo xtask generate`: change it there.
"""

from __future__ import annotations

from enum import Enum
from typing import Dict, List, Optional


class RoutingKind(str, Enum):
    """One step after the other, with a `loop_target` a gate; repeated until a success value is stated; where the text says."""

    LINEAR = "linear"
    MICROLOOP = "microloop"
    BRANCH = "branch"


class HandoffStatus(str, Enum):
    """How a step's execution ended. A critic's verdict is no status."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    SKIPPED = "skipped"


class TerminalReason(str, Enum):
    """Why a pipeline ended: the contract's own words, those that relatives write, and those that Envoi adds."""

    COMPLETED = "completed"
    MAX_ITERATIONS_EXCEEDED = "max_iterations_exceeded"
    MAX_LLM_CALLS_EXCEEDED = "max_llm_calls_exceeded"
    MAX_AGENT_HOPS_EXCEEDED = "max_agent_hops_exceeded"
    MAX_LOOP_EXCEEDED = "max_loop_exceeded"
    USER_CANCELLED = "user_cancelled"
    TOOL_FAILED_FATALLY = "tool_failed_fatally"
    LLM_FAILED_FATALLY = "llm_failed_fatally"
    POLICY_VIOLATION = "policy_violation"
    COMPLETED_SUCCESSFULLY = "completed_successfully"
    CLARIFICATION_REQUIRED = "clarification_required"
    CONFIRMATION_REQUIRED = "confirmation_required"
    DENIED_BY_POLICY = "denied_by_policy"
    TOOL_FAILED_RECOVERABLY = "tool_failed_recoverably"
    MAX_STAGE_VISITS_EXCEEDED = "max_stage_visits_exceeded"
    EDGE_LIMIT_EXCEEDED = "edge_limit_exceeded"
    BREAK_REQUESTED = "break_requested"
    TIME_LIMIT_EXCEEDED = "time_limit_exceeded"
    COST_LIMIT_EXCEEDED = "cost_limit_exceeded"
    MAX_STAGES_EXCEEDED = "max_stages_exceeded"


class InterruptKind(str, Enum):
    """What an interrupt asks for."""

    CLARIFICATION = "clarification"
    CONFIRMATION = "confirmation"
    AGENT_REVIEW = "agent_review"
    CHECKPOINT = "checkpoint"
    RESOURCE_EXHAUSTED = "resource_exhausted"
    TIMEOUT = "timeout"
    SYSTEM_ERROR = "system_error"


class InterruptStatus(str, Enum):
    """What became of an interrupt."""

    PENDING = "pending"
    RESOLVED = "resolved"
    EXPIRED = "expired"
    CANCELLED = "cancelled"


class RecordStatus(str, Enum):
    """How an attempt went. A hand-off's `succeeded` is `success` here, its `failed` is `error`."""

    RUNNING = "running"
    SUCCESS = "success"
    ERROR = "error"
    SKIPPED = "skipped"


class OriginKind(str, Enum):
    """Where a file came from."""

    UPLOAD = "upload"
    EMAIL_ATTACHMENT = "email_attachment"
    AGENT_GENERATED = "agent_generated"
    EXTERNAL_LINK = "external_link"
    LIVE_GENERATOR = "live_generator"


DEFAULT_TIME_TO_LIVE_MS: Dict[InterruptKind, Optional[int]] = {
    InterruptKind.CLARIFICATION: 86_400_000,
    InterruptKind.CONFIRMATION: 3_600_000,
    InterruptKind.AGENT_REVIEW: 1_800_000,
    InterruptKind.CHECKPOINT: None,
    InterruptKind.RESOURCE_EXHAUSTED: 300_000,
    InterruptKind.TIMEOUT: 300_000,
    InterruptKind.SYSTEM_ERROR: 3_600_000,
}
"""How long an interrupt made by a library stays open, in milliseconds; none for ever. In a run nothing expires unless the flow sets an expiry."""

EXCHANGED_MEMBERS: List[str] = [
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
]
"""The members of an envelope that systems exchange while a pipeline runs, in order."""

ADVICE: Dict[str, str] = {
    "ROUTING_INVALID": "correct the resolver's input (CONTRACTS 1.2)",
    "ROUTING_SIGNAL_INVALID": "correct the signal (CONTRACTS 1.1)",
    "HANDOFF_INVALID": "correct the hand-off (CONTRACTS 2)",
    "ENVELOPE_INVALID": "correct the envelope (CONTRACTS 3)",
    "SKILL_REPORT_INVALID": "correct what the skill writes as its report (CONTRACTS 4)",
    "INVALID_USER_ENVELOPE": "correct the answer, or send it without opting in (CONTRACTS 5)",
    "VECTORS_INVALID": "a vector file is an array of cases (spec/vectors/README.md)",
}
"""The general advice for each code, for refusals without a more precise hint."""
