"""The envelope itself: its members, its two written forms, and the methods of the seed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, Optional, Tuple, Union

from .. import json, moment
from ..ascii import lower
from ..errors import ENVELOPE_INVALID, ContractError, describe, read_document
from ..fields import ABSENT, Fields, with_unknown
from ..moment import Time
from ..vocabulary import EXCHANGED_MEMBERS, TerminalReason
from ..interpretation import Interpretation, interpretations
from .interrupt import FlowInterrupt
from .record import ProcessingRecord


@dataclass
class Envelope:
    """The state of one pipeline.

    Counters are at most 2^53 - 1. Times are kept as the text that was read, maybe without offset (`envoi.parse_time` makes
    a `datetime` of one); a `datetime` can be set. `unknown` has the members that the contract does not know.
    """

    # Identification
    envelope_id: str = ""
    request_id: str = ""
    user_id: str = ""
    session_id: str = ""

    # Input
    raw_input: str = ""
    received_at: Optional[Time] = None

    # What each step gave
    outputs: Dict[str, Any] = field(default_factory=dict)

    # Pipeline state
    current_stage: str = "start"
    stage_order: List[str] = field(default_factory=list)
    iteration: int = 0
    max_iterations: int = 3

    # Bounds
    llm_call_count: int = 0
    max_llm_calls: int = 10
    agent_hop_count: int = 0
    max_agent_hops: int = 21
    terminal_reason: Optional[TerminalReason] = None

    # Ending
    terminated: bool = False
    termination_reason: Optional[str] = None

    # Interrupts
    interrupt_pending: bool = False
    interrupt: Optional[FlowInterrupt] = None

    # Steps beside one another
    active_stages: Dict[str, bool] = field(default_factory=dict)
    completed_stage_set: Dict[str, bool] = field(default_factory=dict)
    failed_stages: Dict[str, str] = field(default_factory=dict)
    parallel_mode: bool = False

    # Rounds of the goals
    completed_stages: List[Dict[str, Any]] = field(default_factory=list)
    current_stage_number: int = 1
    max_stages: int = 5
    all_goals: List[str] = field(default_factory=list)
    remaining_goals: List[str] = field(default_factory=list)
    goal_completion_status: Dict[str, str] = field(default_factory=dict)

    # Retries
    prior_plans: List[Dict[str, Any]] = field(default_factory=list)
    loop_feedback: List[str] = field(default_factory=list)

    # Audit
    processing_history: List[ProcessingRecord] = field(default_factory=list)
    errors: List[Dict[str, Any]] = field(default_factory=list)

    # Timing
    created_at: Optional[Time] = None
    completed_at: Optional[Time] = None

    metadata: Dict[str, Any] = field(default_factory=dict)

    unknown: Dict[str, Any] = field(default_factory=dict)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Envelope":
        """Reads either form, any part of one, or what relatives write; missing members have their defaults.

        Raises ContractError `ENVELOPE_INVALID` with the place: wrong types, unknown words, times that are none. Nothing is
        half-built, and nothing is shared with `data`.
        """
        fields = Fields(data, ENVELOPE_INVALID)
        envelope = cls()
        for name, member in _MEMBERS.items():
            setattr(envelope, name, member.read(fields, name, getattr(envelope, name)))
        envelope.unknown = fields.rest()
        return envelope

    @classmethod
    def import_dict(cls, data: Mapping[str, Any]) -> Tuple["Envelope", List[Interpretation]]:
        """Reads an envelope as `from_dict` does, and lists the values that are written differently now.

        Members that were missing or null and have their defaults now are not among them. A group of members, as some systems
        write it, is kept as an unknown member; what stands in it and would be one of ours is among them. Raises as `from_dict`.
        """
        envelope = cls.from_dict(data)
        read = json.plain(data)
        return envelope, [*interpretations(read, envelope.to_state_dict()), *_grouped(read)]

    @classmethod
    def from_json(cls, document: Union[bytes, str]) -> "Envelope":
        """Reads an envelope from text. Raises ContractError `ENVELOPE_INVALID` with line and column."""
        envelope: Envelope = read_document(document, ENVELOPE_INVALID, cls.from_dict)
        return envelope

    def to_state_dict(self) -> Dict[str, Any]:
        """All 37 members, nulls included, then the unknown ones: the complete state.

        Raises ContractError `ENVELOPE_INVALID` if a member was set to what could not be read again.
        """
        return self._written(_MEMBERS)

    def to_dict(self) -> Dict[str, Any]:
        """The 22 members that relatives exchange while a pipeline runs, then the unknown ones.

        Raises as `to_state_dict`.
        """
        return self._written(EXCHANGED_MEMBERS)

    def to_json(self, *, compact: bool = False) -> str:
        """The complete state as text: indented with a newline at its end, or on one line without."""
        return json.dumps(self.to_state_dict(), compact=compact)

    def _written(self, names: Iterable[str]) -> Dict[str, Any]:
        try:
            written = {name: _MEMBERS[name].write(getattr(self, name)) for name in names}
            fields = Fields(written, ENVELOPE_INVALID)
            unknown = json.plain(self.unknown)
        except json.JsonError as error:
            raise ContractError.of_json(ENVELOPE_INVALID, error) from None
        default = Envelope()
        # What could not be read again is not written.
        checked = {name: _MEMBERS[name].read(fields, name, getattr(default, name)) for name in written}
        known = {name: _MEMBERS[name].write(value) for name, value in checked.items()}
        return with_unknown(known, unknown)

    def initialize_goals(self, goals: Iterable[str]) -> None:
        """Replaces all goals, each `pending`. Duplicates stay in the lists and collapse in the map."""
        self.all_goals = list(goals)
        self.remaining_goals = list(self.all_goals)
        self.goal_completion_status = {goal: "pending" for goal in self.all_goals}

    def mark_goal_complete(self, goal: str) -> None:
        """Marks a goal `complete` and takes its first occurrence off the remaining ones; an unknown one changes nothing."""
        if goal in self.goal_completion_status:
            self.goal_completion_status[goal] = "complete"
        if goal in self.remaining_goals:
            self.remaining_goals.remove(goal)

    def advance_stage(self) -> None:
        """Begins the next round. Nothing is clamped: bounds are tested where rounds are started."""
        self.current_stage_number += 1

    def get_stage_context(self) -> Dict[str, Any]:
        """A copy of what a step needs to know of its round."""
        names = (
            "current_stage_number",
            "max_stages",
            "all_goals",
            "remaining_goals",
            "goal_completion_status",
            "completed_stages",
        )
        return {name: json.plain(getattr(self, name)) for name in names}

    def is_stuck(self, min_progress_stages: int = 2) -> bool:
        """Whether that many rounds have begun and no goal is done (`complete`, or `satisfied` as a relative writes it)."""
        done = any(status in ("complete", "satisfied") for status in self.goal_completion_status.values())
        return self.current_stage_number >= min_progress_stages and not done


@dataclass(frozen=True)
class _Member:
    """How a member is read (with its default) and written."""

    read: Callable[[Fields, str, Any], Any]
    write: Callable[[Any], Any] = lambda value: value


def _read_reason(fields: Fields, name: str, _: Any) -> Optional[TerminalReason]:
    """A word of any of the vocabularies, in any case."""
    value = fields.take(name)
    if value is ABSENT or value is None:
        return None
    try:
        return TerminalReason(lower(value) if isinstance(value, str) else value)
    except ValueError:
        words = ", ".join(reason.value for reason in TerminalReason)
        raise fields.wrong(name, f"null or one of {words}", value) from None


def _read_interrupt(fields: Fields, name: str, _: Any) -> Optional[FlowInterrupt]:
    value = fields.take(name)
    if value is ABSENT or value is None:
        return None
    if not isinstance(value, dict):
        raise fields.wrong(name, "an object or null", value)
    return FlowInterrupt.from_dict(value, place=fields.pointer(name))


def _read_history(fields: Fields, name: str, _: Any) -> List[ProcessingRecord]:
    return fields.each(name, "objects", lambda value, place: ProcessingRecord.from_dict(value, place=place))


_TEXT = _Member(lambda fields, name, default: fields.text(name, default))
_TEXT_OR_NONE = _Member(lambda fields, name, _: fields.text_or_none(name))
_TIME = _Member(lambda fields, name, _: fields.time(name), moment.text_of)
_COUNT = _Member(lambda fields, name, default: fields.count(name, default))
_TRUTH = _Member(lambda fields, name, default: fields.truth(name, default))
_TEXTS = _Member(lambda fields, name, _: fields.texts(name))
_OBJECT = _Member(lambda fields, name, _: fields.object(name))
_OBJECTS = _Member(lambda fields, name, _: fields.objects(name))
_TRUTHS = _Member(lambda fields, name, _: fields.map_of(name, bool, "true or false"))
_TEXT_MAP = _Member(lambda fields, name, _: fields.map_of(name, str, "a string"))

def _grouped(read: Mapping[str, Any]) -> Iterator[Interpretation]:
    """Members of ours that stand inside an unknown member, and nowhere else."""
    for group, members in read.items():
        if group in _MEMBERS or not isinstance(members, dict):
            continue
        for name, value in members.items():
            if name in _MEMBERS and value is not None and read.get(name) is None:
                pointer = f"/{json.escape_segment(group)}/{name}"
                yield Interpretation(pointer, describe(value), f"a part of the unknown member, not `{name}`")


_MEMBERS: Dict[str, _Member] = {
    "envelope_id": _TEXT,
    "request_id": _TEXT,
    "user_id": _TEXT,
    "session_id": _TEXT,
    "raw_input": _TEXT,
    "received_at": _TIME,
    "outputs": _OBJECT,
    "current_stage": _TEXT,
    "stage_order": _TEXTS,
    "iteration": _COUNT,
    "max_iterations": _COUNT,
    "llm_call_count": _COUNT,
    "max_llm_calls": _COUNT,
    "agent_hop_count": _COUNT,
    "max_agent_hops": _COUNT,
    "terminal_reason": _Member(_read_reason, lambda reason: getattr(reason, "value", reason)),
    "terminated": _TRUTH,
    "termination_reason": _TEXT_OR_NONE,
    "interrupt_pending": _TRUTH,
    "interrupt": _Member(_read_interrupt, lambda interrupt: interrupt and interrupt.to_dict()),
    "active_stages": _TRUTHS,
    "completed_stage_set": _TRUTHS,
    "failed_stages": _TEXT_MAP,
    "parallel_mode": _TRUTH,
    "completed_stages": _OBJECTS,
    "current_stage_number": _COUNT,
    "max_stages": _COUNT,
    "all_goals": _TEXTS,
    "remaining_goals": _TEXTS,
    "goal_completion_status": _TEXT_MAP,
    "prior_plans": _OBJECTS,
    "loop_feedback": _TEXTS,
    "processing_history": _Member(_read_history, lambda records: [record.to_dict() for record in records]),
    "errors": _OBJECTS,
    "created_at": _TIME,
    "completed_at": _TIME,
    "metadata": _OBJECT,
}
"""All members, in the order in which they are written."""
