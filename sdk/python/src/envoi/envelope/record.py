"""One entry of the history: which attempt it was and how it went."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, Mapping, Optional

from .. import moment
from ..errors import ENVELOPE_INVALID
from ..fields import Fields, with_unknown, words_of
from ..moment import Time
from ..vocabulary import RecordStatus


@dataclass
class ProcessingRecord:
    """One attempt of a step."""

    agent: str = ""
    stage_order: int = 0
    started_at: Optional[Time] = None
    completed_at: Optional[Time] = None
    duration_ms: int = 0
    status: RecordStatus = RecordStatus.RUNNING
    error: Optional[str] = None
    llm_calls: int = 0
    unknown: Dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.status = RecordStatus(self.status)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], *, place: str = "") -> "ProcessingRecord":
        """Reads a record; members that are missing have their defaults.

        Raises ContractError `ENVELOPE_INVALID` with the place, under `place`.
        """
        fields = Fields(data, ENVELOPE_INVALID, place)
        return cls(
            agent=fields.text("agent"),
            stage_order=fields.count("stage_order", 0),
            started_at=fields.time("started_at"),
            completed_at=fields.time("completed_at"),
            duration_ms=fields.count("duration_ms", 0),
            status=fields.word("status", RecordStatus, words_of(RecordStatus)) or RecordStatus.RUNNING,
            error=fields.text_or_none("error"),
            llm_calls=fields.count("llm_calls", 0),
            unknown=fields.rest(),
        )

    def to_dict(self) -> Dict[str, Any]:
        """The record with all its 8 members."""
        known = {
            "agent": self.agent,
            "stage_order": self.stage_order,
            "started_at": moment.text_of(self.started_at),
            "completed_at": moment.text_of(self.completed_at),
            "duration_ms": self.duration_ms,
            "status": RecordStatus(self.status).value,
            "error": self.error,
            "llm_calls": self.llm_calls,
        }
        return with_unknown(known, self.unknown)
