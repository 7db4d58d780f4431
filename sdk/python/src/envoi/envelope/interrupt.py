"""A pipeline that waits: the question, its addressee and the answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, Mapping, Optional
from uuid import uuid4

from .. import json, moment
from ..errors import ENVELOPE_INVALID
from ..fields import ABSENT, Fields, with_unknown, words_of
from ..moment import Time
from ..vocabulary import DEFAULT_TIME_TO_LIVE_MS, InterruptKind, InterruptStatus

@dataclass
class InterruptResponse:
    """An answer. Only the members that are there are written; `received_at` is stored once."""

    text: Optional[str] = None
    approved: Optional[bool] = None
    decision: Optional[str] = None
    data: Optional[Dict[str, Any]] = None
    received_at: Optional[Time] = None
    unknown: Dict[str, Any] = field(default_factory=dict)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], *, place: str = "") -> "InterruptResponse":
        """Reads an answer; any member may be missing or null. Raises ContractError `ENVELOPE_INVALID`."""
        fields = Fields(data, ENVELOPE_INVALID, place)
        return cls(
            text=fields.text_or_none("text"),
            approved=fields.truth_or_none("approved"),
            decision=fields.text_or_none("decision"),
            data=fields.object_or_none("data"),
            received_at=fields.time("received_at"),
            unknown=fields.rest(),
        )

    def to_dict(self) -> Dict[str, Any]:
        """The answer with the members that are not null."""
        known = {
            "text": self.text,
            "approved": self.approved,
            "decision": self.decision,
            "data": json.plain(self.data),
            "received_at": moment.text_of(self.received_at),
        }
        return with_unknown({name: value for name, value in known.items() if value is not None}, self.unknown)


@dataclass
class FlowInterrupt:
    """One question to a person or a system. Made here, it is pending with empty data; one of another system may lack both."""

    kind: InterruptKind
    id: Optional[str] = None
    request_id: Optional[str] = None
    user_id: Optional[str] = None
    session_id: Optional[str] = None
    envelope_id: Optional[str] = None
    question: Optional[str] = None
    message: Optional[str] = None
    data: Optional[Dict[str, Any]] = field(default_factory=dict)
    response: Optional[InterruptResponse] = None
    status: Optional[InterruptStatus] = InterruptStatus.PENDING
    created_at: Optional[Time] = None
    expires_at: Optional[Time] = None
    resolved_at: Optional[Time] = None
    trace_id: Optional[str] = None
    span_id: Optional[str] = None
    unknown: Dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.kind = InterruptKind(self.kind)
        self.status = None if self.status is None else InterruptStatus(self.status)

    @classmethod
    def create(cls, kind: InterruptKind, *, now: Optional[str] = None, **members: Any) -> "FlowInterrupt":
        """An open interrupt with an id, raised now, that expires after its kind's default time to live.

        `now` and any member can be given instead; an `expires_at` of None lasts for ever.
        """
        raised = moment.now() if now is None else now
        interrupt = cls(kind, **{"id": f"int_{uuid4().hex}", "created_at": raised, **members})
        time_to_live = DEFAULT_TIME_TO_LIVE_MS[interrupt.kind]
        at = moment.parse(raised)
        if "expires_at" not in members and time_to_live is not None and at is not None:
            interrupt.expires_at = moment.show(at + time_to_live)
        return interrupt

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], *, place: str = "") -> "FlowInterrupt":
        """Reads an interrupt; `kind` is required, all else may be missing or null, and nothing is filled in.

        Raises ContractError `ENVELOPE_INVALID` with the place, under `place`.
        """
        fields = Fields(data, ENVELOPE_INVALID, place)
        interrupt_id = fields.text_or_none("id")
        kind = fields.word("kind", InterruptKind, words_of(InterruptKind))
        if kind is None:
            raise fields.missing("kind")
        return cls(
            kind,
            id=interrupt_id,
            request_id=fields.text_or_none("request_id"),
            user_id=fields.text_or_none("user_id"),
            session_id=fields.text_or_none("session_id"),
            envelope_id=fields.text_or_none("envelope_id"),
            question=fields.text_or_none("question"),
            message=fields.text_or_none("message"),
            data=fields.object_or_none("data"),
            response=_read_response(fields),
            status=_read_status(fields),
            created_at=fields.time("created_at"),
            expires_at=fields.time("expires_at"),
            resolved_at=fields.time("resolved_at"),
            trace_id=fields.text_or_none("trace_id"),
            span_id=fields.text_or_none("span_id"),
            unknown=fields.rest(),
        )

    def to_dict(self) -> Dict[str, Any]:
        """The interrupt with all its 16 members."""
        known = {
            "id": self.id,
            "kind": InterruptKind(self.kind).value,
            "request_id": self.request_id,
            "user_id": self.user_id,
            "session_id": self.session_id,
            "envelope_id": self.envelope_id,
            "question": self.question,
            "message": self.message,
            "data": json.plain(self.data),
            "response": None if self.response is None else self.response.to_dict(),
            "status": None if self.status is None else InterruptStatus(self.status).value,
            "created_at": moment.text_of(self.created_at),
            "expires_at": moment.text_of(self.expires_at),
            "resolved_at": moment.text_of(self.resolved_at),
            "trace_id": self.trace_id,
            "span_id": self.span_id,
        }
        return with_unknown(known, self.unknown)


def _read_response(fields: Fields) -> Optional[InterruptResponse]:
    value = fields.take("response")
    if value is ABSENT or value is None:
        return None
    if not isinstance(value, dict):
        raise fields.wrong("response", "an object or null", value)
    return InterruptResponse.from_dict(value, place=fields.pointer("response"))


def _read_status(fields: Fields) -> Optional[InterruptStatus]:
    return fields.word_or_none("status", InterruptStatus, "pending, resolved, expired, cancelled or null")
