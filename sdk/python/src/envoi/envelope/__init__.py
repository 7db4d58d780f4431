"""The state of a whole pipeline (contract 3): 37 members that every language reads and writes without losing a digit.

    >>> from envoi import Envelope
    >>> read = Envelope.from_json('{"envelope_id": "env-1", "metadata": {"price": 1.00}, "request_context": {}}')
    >>> read.current_stage
    'start'
    >>> Envelope.from_dict(read.to_state_dict()) == read
    True

Bounds are numbers here; they are enforced where something is started.
"""

from ..vocabulary import InterruptKind, InterruptStatus, RecordStatus, TerminalReason
from .create import create_envelope
from ..interpretation import Interpretation
from .interrupt import FlowInterrupt, InterruptResponse
from .record import ProcessingRecord
from .state import Envelope

__all__ = [
    "Envelope",
    "FlowInterrupt",
    "Interpretation",
    "InterruptKind",
    "InterruptResponse",
    "InterruptStatus",
    "ProcessingRecord",
    "RecordStatus",
    "TerminalReason",
    "create_envelope",
]
