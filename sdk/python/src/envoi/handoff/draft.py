"""The writer's input: JSON with the members of a hand-off plus `output`, or the seed's labelled text."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Dict, List, Mapping, Optional, Union

from .. import labelled, moment
from ..ascii import SPACE, same
from ..errors import HANDOFF_INVALID, ContractError
from ..fields import ABSENT, Fields
from ..routing import RoutingSignal
from ..vocabulary import HandoffStatus
from .envelope import read_signal, read_status, take_extras


@dataclass(frozen=True)
class Identity:
    """The engine's word on which step this is."""

    step_id: str
    flow_key: str
    run_id: str


@dataclass
class HandoffDraft:
    """The writer's input. Only the identity and the status are required.

    `artifacts` are names (each stands in the flow's folder then) or a map of names to paths relative to the run's
    directory. `identity` overrules the three members that follow it, and a difference is recorded.
    """

    identity: Optional[Identity] = None
    step_id: Optional[str] = None
    flow_key: Optional[str] = None
    run_id: Optional[str] = None
    routing_signal: Optional[RoutingSignal] = None
    summary: Optional[str] = None
    output: Optional[str] = None
    artifacts: Union[List[str], Dict[str, str]] = field(default_factory=dict)
    status: Optional[HandoffStatus] = None
    error: Optional[str] = None
    duration_ms: int = 0
    timestamp: Optional[str] = None
    started_at: Optional[str] = None
    file_changes: Any = None
    prompt_hash: Optional[str] = None
    verification_passed: Optional[bool] = None
    verification_details: Any = None
    routing_audit: Any = None
    assumptions_made: Any = None
    decisions_made: Any = None
    unknown: Dict[str, Any] = field(default_factory=dict)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "HandoffDraft":
        """Reads a draft in its JSON form. Raises ContractError `HANDOFF_INVALID`: wrong types, unknown words."""
        fields = Fields(_in_our_words(data), HANDOFF_INVALID)
        return cls(
            step_id=fields.text_or_none("step_id"),
            flow_key=fields.text_or_none("flow_key"),
            run_id=fields.text_or_none("run_id"),
            routing_signal=read_signal(fields),
            summary=fields.text_or_none("summary"),
            output=fields.text_or_none("output"),
            artifacts=_read_artifacts(fields),
            status=read_status(fields),
            error=fields.text_or_none("error"),
            duration_ms=fields.count("duration_ms", 0),
            timestamp=fields.text_or_none("timestamp"),
            started_at=fields.text_or_none("started_at"),
            **take_extras(fields),
            unknown=fields.rest(),
        )


_SEEDS_WORDS = {"routing": "routing_signal", "duration": "duration_ms"}
"""Words of the seed's labels, which a writer's JSON may use too."""

_MILLISECONDS = re.compile(r"(?:0|[1-9][0-9]{0,14})(?: ms)?")
"""A duration as the label writes it."""


def _in_our_words(data: Any) -> Any:
    """The members under our names. Raises ContractError `HANDOFF_INVALID` for a member that is there under both."""
    if not isinstance(data, dict):
        return data
    members: Dict[str, Any] = {}
    for name, value in data.items():
        ours: str = _SEEDS_WORDS[name] if name in _SEEDS_WORDS else name
        if ours != name and ours in data:
            expected = f"one of `{name}` and `{ours}`"
            raise ContractError(HANDOFF_INVALID, f"/{name}", expected, "both", "they mean the same: leave one out")
        is_labelled = name == "duration" and isinstance(value, str) and _MILLISECONDS.fullmatch(value)
        members[ours] = _duration(value) if is_labelled else value
    return members


def _read_artifacts(fields: Fields) -> Union[List[str], Dict[str, str]]:
    value = fields.take("artifacts")
    if value is ABSENT or value is None:
        return {}
    only = Fields({"artifacts": value}, HANDOFF_INVALID)
    if isinstance(value, list):
        return only.texts("artifacts")
    if isinstance(value, dict):
        return only.map_of("artifacts", str, "a path")
    raise fields.wrong("artifacts", "a map of names to paths, or a list of names", value)


_LABELS = labelled.Labels(
    code=HANDOFF_INVALID,
    names=(
        "Step ID",
        "Flow key",
        "Run ID",
        "Output",
        "Summary",
        "Status",
        "Error",
        "Duration",
        "Artifacts",
        "Routing",
        "Timestamp",
        "Started at",
    ),
    free_text=("Output", "Summary", "Error"),
)


def decode_draft(document: Union[bytes, str]) -> HandoffDraft:
    """Reads a draft from JSON, or from labels such as `Step ID: "…"`, `Output: "…"`, `Duration: 45000 ms`.

    Raises ContractError `HANDOFF_INVALID` with the place. What a hand-off must have is checked when it is written.
    """
    return labelled.read_either(document, _LABELS, _member, HandoffDraft.from_dict)


def _member(label: str, value: str) -> labelled.Member:
    read: Dict[str, Any] = {
        "Error": ("error", labelled.word),
        "Duration": ("duration_ms", _duration),
        "Artifacts": ("artifacts", labelled.items),
        "Routing": ("routing_signal", _routing_from),
        "Timestamp": ("timestamp", labelled.word),
        "Started at": ("started_at", labelled.word),
    }
    name, convert = read.get(label, (label.lower().replace(" ", "_"), str))
    return name, convert(value)


def _duration(text: str) -> Any:
    """`45000 ms` or `45000`."""
    return labelled.scalar(text[:-2].rstrip(SPACE) if text.endswith("ms") else text)


def _routing_from(text: str) -> Optional[Dict[str, Any]]:
    if labelled.word(text) is None or same(text, "none"):
        return None
    numbers = ("confidence", "needs_human")
    return {
        name: labelled.scalar(value) if name in numbers else labelled.word(value)
        for name, value in labelled.pairs(text).items()
    }


def draft_of(members: Mapping[str, Any]) -> HandoffDraft:
    """A draft from Python values: `datetime`s and the classes of this library are accepted beside their JSON form."""
    plain: Dict[str, Any] = dict(members)
    signal = plain.pop("routing_signal", None)
    for name in ("timestamp", "started_at"):
        if name in plain:
            plain[name] = moment.text_of(plain[name])
    if not isinstance(signal, RoutingSignal):
        return HandoffDraft.from_dict(plain if signal is None else {**plain, "routing_signal": signal})
    draft = HandoffDraft.from_dict(plain)
    draft.routing_signal = signal
    return draft
