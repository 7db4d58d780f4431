"""The five contracts of Envoi for tools written in Python: reports, hand-offs, routing, pipeline state, answers.

A client of its server is in `envoi.client`.

| contract | names |
|---|---|
| routing | `resolve_routing`, `resolve`, `RoutingSignal`, `convert` |
| hand-off | `write_handoff`, `HandoffEnvelope` |
| pipeline state | `create_envelope`, `Envelope`, `ProcessingRecord`, `FlowInterrupt`, `TerminalReason` |
| skill report | `write_skill_report`, `read_skill_report`, `SkillReport`, `judge` |
| user envelope | `parse_user_envelope`, `wrap_user_envelope`, `answer_text` |

`step` and `write_data` are for commands that Envoi runs, `call_model` for those that call models through its server. `json` is the reader and writer below all of them. What is refused is refused with a
`ContractError` with the place, what was expected and what was found.
"""

from . import json
from .attempt import Feedback, Step, step, write_data
from .bridge import BridgeError, ModelAnswer, ModelUse, NoBridgeError, call_model
from .envelope import (
    Envelope,
    FlowInterrupt,
    Interpretation,
    InterruptKind,
    InterruptResponse,
    InterruptStatus,
    ProcessingRecord,
    RecordStatus,
    TerminalReason,
    create_envelope,
)
from .errors import ContractError
from .fields import ABSENT
from .handoff import HandoffDraft, HandoffEnvelope, HandoffStatus, Identity, summarize, write_handoff
from .json import JsonError
from .moment import parse_time
from .routing import (
    Audit,
    Decision,
    Resolution,
    Route,
    Routing,
    RoutingInput,
    RoutingKind,
    RoutingSignal,
    convert,
    decode_routing_input,
    resolve,
    resolve_routing,
)
from .skill_report import SkillError, SkillReport, Verdict, judge, read_skill_report, write_skill_report
from .step_answer import Answer, AnswerChoice, AnswerFile
from .user_envelope import (
    AttachmentRef,
    BlankAnswerError,
    OriginKind,
    UserEnvelope,
    UserEnvelopeParseError,
    WrappedAnswer,
    answer_text,
    parse_user_envelope,
    wrap_user_envelope,
)
from .vocabulary import DEFAULT_TIME_TO_LIVE_MS

__version__ = "0.1.0"

__all__ = [
    "ABSENT",
    "DEFAULT_TIME_TO_LIVE_MS",
    "Answer",
    "AnswerChoice",
    "AnswerFile",
    "AttachmentRef",
    "Audit",
    "BlankAnswerError",
    "BridgeError",
    "ContractError",
    "Decision",
    "Envelope",
    "Feedback",
    "FlowInterrupt",
    "HandoffDraft",
    "HandoffEnvelope",
    "HandoffStatus",
    "Identity",
    "Interpretation",
    "InterruptKind",
    "InterruptResponse",
    "InterruptStatus",
    "JsonError",
    "ModelAnswer",
    "ModelUse",
    "NoBridgeError",
    "OriginKind",
    "ProcessingRecord",
    "RecordStatus",
    "Resolution",
    "Route",
    "Routing",
    "RoutingInput",
    "RoutingKind",
    "RoutingSignal",
    "SkillError",
    "SkillReport",
    "Step",
    "TerminalReason",
    "UserEnvelope",
    "UserEnvelopeParseError",
    "Verdict",
    "WrappedAnswer",
    "answer_text",
    "call_model",
    "convert",
    "create_envelope",
    "decode_routing_input",
    "json",
    "judge",
    "parse_time",
    "parse_user_envelope",
    "read_skill_report",
    "resolve",
    "resolve_routing",
    "step",
    "summarize",
    "wrap_user_envelope",
    "write_data",
    "write_handoff",
    "write_skill_report",
]
