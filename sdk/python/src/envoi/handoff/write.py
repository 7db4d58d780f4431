"""The writer: from what a step left to a hand-off that keeps every rule."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Dict, Mapping, Optional, Tuple, Union

from .. import moment
from ..ascii import is_blank
from ..errors import HANDOFF_INVALID, ContractError, shorten
from ..routing import RoutingSignal
from ..vocabulary import HandoffStatus
from .draft import HandoffDraft, Identity, decode_draft, draft_of
from .envelope import EXTRAS, HandoffEnvelope, artifact_pointer, check_id, checked_error, is_inside, shaped
from .summary import summarize

SILENT_FAILURE = "Step failed without an error message"
"""The error of a failure that gives none."""


def write_handoff(
    draft: Union[HandoffDraft, Mapping[str, Any], bytes, str, None] = None,
    /,
    *,
    identity: Optional[Identity] = None,
    **members: Any,
) -> HandoffEnvelope:
    """Writes a hand-off from a draft, from its JSON or labelled text, or from members by name. The same input gives the same.

    Raises ContractError `HANDOFF_INVALID`: no status, no id, a path that leaves the run's directory, a time that is none, a
    `succeeded` with an error.
    """
    if isinstance(draft, (bytes, str)):
        draft = decode_draft(draft)
    if not isinstance(draft, HandoffDraft):
        return write(replace(draft_of({**(draft or {}), **members}), identity=identity))
    if members:
        raise TypeError("a draft is given as a whole, or by its members")
    return write(draft if identity is None else replace(draft, identity=identity))


def write(draft: HandoffDraft) -> HandoffEnvelope:
    """Writes a hand-off from a draft. Raises ContractError `HANDOFF_INVALID` with the member."""
    identity, overruled = _identify(draft)
    if draft.status is None:
        hint = "set it to succeeded, failed or skipped; it is never guessed"
        raise ContractError(HANDOFF_INVALID, "", "a member `status`", "none", hint)
    status = HandoffStatus(draft.status)
    error = _explained(status, draft.error)
    timestamp = _moment(draft, identity.run_id)
    artifacts = _placed(draft, identity.flow_key)
    text = draft.summary if draft.summary is not None else draft.output or ""
    extras = {name: shaped(name, getattr(draft, name)) for name in EXTRAS}
    extras["verification_details"] = _with_overruled(extras["verification_details"], overruled)
    return HandoffEnvelope(
        step_id=identity.step_id,
        flow_key=identity.flow_key,
        run_id=identity.run_id,
        routing_signal=_at_home(draft.routing_signal or RoutingSignal(), identity.flow_key),
        summary=summarize(text),
        artifacts=artifacts,
        status=status,
        error=error,
        duration_ms=draft.duration_ms,
        timestamp=None if timestamp is None else moment.show(timestamp),
        **extras,
        unknown=dict(draft.unknown),
    )


def _identify(draft: HandoffDraft) -> Tuple[Identity, Dict[str, Any]]:
    """The identity that counts, and what was stated otherwise."""
    overruled: Dict[str, Any] = {}
    used: Dict[str, str] = {}
    for name in ("step_id", "flow_key", "run_id"):
        stated: Optional[str] = getattr(draft, name)
        value = stated if draft.identity is None else getattr(draft.identity, name)
        if value is None:
            raise ContractError(HANDOFF_INVALID, "", f"a member `{name}`", "none")
        check_id(name, value)
        if stated is not None and stated != value:
            overruled[name] = {"stated": stated, "used": value}
        used[name] = value
    return Identity(**used), overruled


def _with_overruled(details: Any, overruled: Dict[str, Any]) -> Any:
    """Adds what was overruled to the details of a verification."""
    return {**(details or {}), "identity_overruled": overruled} if overruled else details


def _explained(status: HandoffStatus, error: Optional[str]) -> Optional[str]:
    if status is HandoffStatus.FAILED and is_blank(error or ""):
        return SILENT_FAILURE
    return checked_error(status, error or None)


def _moment(draft: HandoffDraft, run_id: str) -> Optional[int]:
    """The time given, else the end that follows from the start, else the one that the run id implies."""
    started = _read_time("started_at", draft.started_at)
    if draft.timestamp is not None:
        return _read_time("timestamp", draft.timestamp)
    if started is None:
        started = moment.of_run_id(run_id)
    return None if started is None else started + draft.duration_ms


def _read_time(name: str, text: Optional[str]) -> Optional[int]:
    if text is None:
        return None
    millis = moment.parse(text)
    if millis is None:
        expected = "an RFC 3339 time with its offset, such as `2026-01-02T03:04:05Z`"
        raise ContractError(HANDOFF_INVALID, f"/{name}", expected, shorten(text))
    return millis


def _placed(draft: HandoffDraft, flow_key: str) -> Dict[str, str]:
    """The artifacts with their paths; bare names stand in the flow's folder."""
    listed = not isinstance(draft.artifacts, dict)
    if isinstance(draft.artifacts, dict):
        placed = dict(draft.artifacts)
    else:
        placed = {name: f"{flow_key}/{name}" for name in draft.artifacts}
    for name, path in placed.items():
        if not name or not is_inside(path):
            pointer = "/artifacts" if listed else artifact_pointer(name)
            expected = "a path inside the run's directory: relative, `/` between names, no `..`"
            raise ContractError(HANDOFF_INVALID, pointer, expected, shorten(path))
    return placed


def _at_home(signal: RoutingSignal, flow_key: str) -> RoutingSignal:
    """The signal as seen from its own flow: a route into the same flow names only the step."""
    if signal.route is None or signal.route.flow != flow_key or "/" in signal.route.step_id:
        return signal.for_handoff()
    return replace(signal.for_handoff(), route=replace(signal.route, flow=None, unknown={}))
