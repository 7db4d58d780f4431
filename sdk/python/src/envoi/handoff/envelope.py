"""The hand-off: its members, their order, and what is refused when one is read."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Dict, List, Mapping, Optional, Tuple, Union

from .. import json, moment
from ..ascii import is_blank
from ..errors import HANDOFF_INVALID, ContractError, describe, read_document, shorten
from ..fields import ABSENT, Fields, with_unknown
from ..interpretation import Interpretation, interpretations
from ..moment import Time
from ..routing import RoutingSignal
from ..vocabulary import HandoffStatus
from .summary import MAX_SUMMARY_SCALARS


@dataclass
class HandoffEnvelope:
    """What happened in a step, where its files are, and where to go.

    `write_handoff` makes one that keeps every rule; `from_dict` and `from_json` read one from elsewhere and keep its text.
    The members after `timestamp` are written only when they have content.
    """

    step_id: str
    flow_key: str
    run_id: str
    routing_signal: RoutingSignal
    summary: str
    artifacts: Dict[str, str] = field(default_factory=dict)
    status: HandoffStatus = HandoffStatus.SUCCEEDED
    error: Optional[str] = None
    duration_ms: int = 0
    timestamp: Optional[Time] = None
    file_changes: Optional[Dict[str, Any]] = None
    prompt_hash: Optional[str] = None
    verification_passed: Optional[bool] = None
    verification_details: Optional[Dict[str, Any]] = None
    routing_audit: Optional[Dict[str, Any]] = None
    assumptions_made: Optional[List[Dict[str, Any]]] = None
    decisions_made: Optional[List[Dict[str, Any]]] = None
    unknown: Dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.status = HandoffStatus(self.status)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "HandoffEnvelope":
        """Reads a hand-off of any writer; `step_id, flow_key, run_id, routing_signal` and `summary` are required. Without a
        `status` it is `failed` if there is an `error`, else `succeeded`; `import_dict` reports that.

        Raises ContractError `HANDOFF_INVALID`: wrong types, unknown words, empty ids, paths that leave the run's directory, a
        summary over 2000 characters, a `succeeded` with an error.
        """
        fields = Fields(data, HANDOFF_INVALID)
        step_id, flow_key, run_id = (_read_id(fields, name) for name in ("step_id", "flow_key", "run_id"))
        signal = read_signal(fields)
        if signal is None:
            raise fields.missing("routing_signal")
        summary = _read_summary(fields)
        artifacts = _read_artifacts(fields)
        status = read_status(fields)
        error = fields.text_or_none("error") or None
        if status is None:
            # The sister system requires five members, and this is not among them.
            status = HandoffStatus.SUCCEEDED if error is None else HandoffStatus.FAILED
        return cls(
            step_id=step_id,
            flow_key=flow_key,
            run_id=run_id,
            routing_signal=signal,
            summary=summary,
            artifacts=artifacts,
            status=status,
            error=checked_error(status, error),
            duration_ms=fields.count("duration_ms", 0),
            timestamp=_read_time(fields),
            **take_extras(fields),
            unknown=fields.rest(),
        )

    @classmethod
    def import_dict(cls, data: Mapping[str, Any]) -> Tuple["HandoffEnvelope", List[Interpretation]]:
        """Reads a hand-off as `from_dict` does, and lists what it interprets: every value that is written differently than
        it was read, and a missing `status`.
        """
        handoff = cls.from_dict(data)
        found = list(interpretations(data, handoff.to_dict()))
        if "status" not in data:
            found.append(Interpretation("/status", "nothing", describe(handoff.status.value)))
        return handoff, found

    @classmethod
    def from_json(cls, document: Union[bytes, str]) -> "HandoffEnvelope":
        """Reads a hand-off from text. Raises ContractError `HANDOFF_INVALID` with line and column."""
        handoff: HandoffEnvelope = read_document(document, HANDOFF_INVALID, cls.from_dict)
        return handoff

    def to_dict(self) -> Dict[str, Any]:
        """The hand-off, members in the order of the contract.

        Raises ContractError `HANDOFF_INVALID` if a member was set to what could not be read again.
        """
        try:
            written = self._members()
        except json.JsonError as error:
            raise ContractError.of_json(HANDOFF_INVALID, error) from None
        # What could not be read again is not written.
        return HandoffEnvelope.from_dict(written)._members()

    def _members(self) -> Dict[str, Any]:
        optional = {
            "timestamp": moment.text_of(self.timestamp),
            **{name: json.plain(getattr(self, name), f"/{name}", 1) for name in EXTRAS},
        }
        known = {
            "step_id": self.step_id,
            "flow_key": self.flow_key,
            "run_id": self.run_id,
            "routing_signal": self.routing_signal.to_dict(),
            "summary": self.summary,
            "artifacts": self.artifacts,
            "status": getattr(self.status, "value", self.status),
            "error": self.error,
            "duration_ms": self.duration_ms,
            **{name: value for name, value in optional.items() if has_content(value)},
        }
        return with_unknown(known, json.plain(self.unknown))

    def to_json(self, *, compact: bool = False) -> str:
        """The hand-off as text: indented with a newline at its end, or on one line without."""
        return json.dumps(self.to_dict(), compact=compact)


EXTRAS = (
    "file_changes",
    "prompt_hash",
    "verification_passed",
    "verification_details",
    "routing_audit",
    "assumptions_made",
    "decisions_made",
)
"""The members that a hand-off has only when they have content."""


def has_content(value: Any) -> bool:
    """Whether a value has content; `false` and 0 have."""
    return value is not None and value not in ("", [], {})


def take_extras(fields: Fields) -> Dict[str, Any]:
    """Takes the members that are there only when they have content."""
    extras: Dict[str, Any] = {}
    for name in EXTRAS:
        if name == "prompt_hash":
            extras[name] = fields.text_or_none(name) or None
        elif name == "verification_passed":
            extras[name] = fields.truth_or_none(name)
        else:
            value = fields.take(name)
            extras[name] = None if value is ABSENT else shaped(name, value)
    return extras


def shaped(name: str, value: Any) -> Any:
    """The value of an extra member in the shape of the contract. What has another shape is wrapped, and nothing is lost."""
    if name in ("prompt_hash", "verification_passed"):
        return value
    if not has_content(value):
        return None
    if name in ("assumptions_made", "decisions_made"):
        listed = list(value) if isinstance(value, (list, tuple)) else [value]
        return [each if isinstance(each, Mapping) else {"text": each} for each in listed]
    if isinstance(value, Mapping):
        return value
    if name == "file_changes" and isinstance(value, (list, tuple)):
        return {"files": value, "total": len(value)}
    return {"reason" if name == "routing_audit" else "details": value}


def check_id(name: str, value: str) -> None:
    """Refuses a blank id."""
    if is_blank(value):
        raise ContractError(HANDOFF_INVALID, f"/{name}", "an id that is not empty", "an empty one")


def _read_id(fields: Fields, name: str) -> str:
    value = fields.required_text(name)
    check_id(name, value)
    return value


def read_signal(fields: Fields) -> Optional[RoutingSignal]:
    """Takes the routing signal; null and absent are the same."""
    value = fields.take("routing_signal")
    if value is ABSENT or value is None:
        return None
    try:
        return RoutingSignal.from_dict(value).for_handoff()
    except ContractError as refusal:
        raise refusal.under(HANDOFF_INVALID, "/routing_signal") from None


def read_status(fields: Fields) -> Optional[HandoffStatus]:
    """Takes the status; None if there is none."""
    try:
        return fields.word("status", HandoffStatus, "succeeded, failed or skipped")
    except ContractError as refusal:
        refusal.hint = "this is the status of the execution; a critic's verdict belongs into the text"
        raise


def checked_error(status: HandoffStatus, error: Optional[str]) -> Optional[str]:
    """The error. Refuses one beside `succeeded`: the two contradict each other."""
    if status is HandoffStatus.SUCCEEDED and error is not None:
        expected = "no error beside the status `succeeded`"
        hint = "set the status to `failed`, or leave the error out"
        raise ContractError(HANDOFF_INVALID, "/error", expected, shorten(error), hint)
    return error


def _read_summary(fields: Fields) -> str:
    summary = fields.required_text("summary")
    if len(summary) > MAX_SUMMARY_SCALARS:
        expected, found = "at most 2000 Unicode scalars", f"{len(summary)} of them"
        raise ContractError(HANDOFF_INVALID, "/summary", expected, found)
    return summary


def _read_artifacts(fields: Fields) -> Dict[str, str]:
    expected = "a path relative to the run's directory"
    artifacts = fields.map_of("artifacts", str, expected)
    for name, path in artifacts.items():
        if not is_inside(path):
            raise ContractError(HANDOFF_INVALID, artifact_pointer(name), expected, describe(path))
    return artifacts


def _read_time(fields: Fields) -> Optional[str]:
    try:
        return fields.time("timestamp")
    except ContractError as refusal:
        refusal.expected = refusal.expected.replace("time or null", "time")
        raise


def artifact_pointer(name: str) -> str:
    """The place of an artifact."""
    return f"/artifacts/{json.escape_segment(name)}"


def is_inside(path: str) -> bool:
    """Whether a path stays inside the directory it is relative to, on every system."""
    if re.match(r"[A-Za-z]:/", path) or "\\" in path or "\0" in path:
        return False
    return all(segment not in ("", "..") for segment in path.split("/"))
