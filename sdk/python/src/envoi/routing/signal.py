"""The signal: one decision with its reason, and the two forms in which it is written."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, Dict, Mapping, Optional, Union

from .. import json
from ..ascii import lower
from ..errors import ROUTING_SIGNAL_INVALID, ContractError, describe, shorten
from ..fields import ABSENT, Fields, with_unknown

AMBIGUOUS = 0.7
"""The confidence of an ambiguous decision."""


class Decision(str, Enum):
    """What happens next; the values are the words inside a hand-off."""

    ADVANCE = "advance"
    LOOP = "loop"
    TERMINATE = "terminate"
    BRANCH = "branch"

    @property
    def resolver_word(self) -> str:
        """The word in the resolver's output."""
        return _RESOLVER_WORDS[self]

    @classmethod
    def read(cls, word: str) -> Optional["Decision"]:
        """The decision that a word of either form or an alias means, in any case; None if it means none."""
        return _MEANINGS.get(lower(word))


_RESOLVER_WORDS = {
    Decision.ADVANCE: "proceed",
    Decision.LOOP: "rerun",
    Decision.TERMINATE: "blocked",
    Decision.BRANCH: "route",
}

_ALIASES = {
    Decision.ADVANCE: ("continue", "next"),
    Decision.LOOP: ("retry", "repeat", "iterate"),
    Decision.TERMINATE: ("stop", "end", "exit"),
    Decision.BRANCH: ("switch", "redirect"),
}

_MEANINGS: Dict[str, Decision] = {
    word: decision
    for decision in Decision
    for word in (decision.value, _RESOLVER_WORDS[decision], *_ALIASES[decision])
}


@dataclass(frozen=True)
class Route:
    """Where a branch leads: a step, of another flow if `flow` is set."""

    step_id: str
    flow: Optional[str] = None
    unknown: Dict[str, Any] = field(default_factory=dict, hash=False)

    @classmethod
    def read(cls, text: str) -> Optional["Route"]:
        """Reads `step` or `flow/step`; None if a part is missing."""
        flow, slash, step_id = text.partition("/")
        if not slash:
            return cls(text) if text else None
        return cls(step_id, flow) if flow and step_id else None

    def to_dict(self) -> Dict[str, Any]:
        """As the resolver writes it; only this form can carry unknown members."""
        return with_unknown({"flow": self.flow, "step_id": self.step_id}, self.unknown)

    def name(self, current_flow: Optional[str] = None) -> str:
        """`step`, or `flow/step` for a flow other than the current one, or where the step alone would be read as both."""
        alone = self.flow is None or (self.flow == current_flow and "/" not in self.step_id)
        return self.step_id if alone else f"{self.flow}/{self.step_id}"


@dataclass
class RoutingSignal:
    """One decision with its reason: the resolver's output, and a member of a hand-off.

    Without arguments it is what a step that gave no signal means. `raw_decision` is the word that was read if it was another
    one; it is provenance and does not count when signals are compared.
    """

    decision: Decision = Decision.ADVANCE
    next_step_id: Optional[str] = None
    route: Optional[Route] = None
    reason: str = "No routing signal given"
    confidence: float = AMBIGUOUS
    needs_human: bool = False
    raw_decision: Optional[str] = field(default=None, compare=False)
    unknown: Dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.decision = Decision(self.decision)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "RoutingSignal":
        """Reads either form, or a mixture. Only `decision` is required.

        Raises ContractError `ROUTING_SIGNAL_INVALID`: an unknown word, a wrong type, a confidence outside 0 to 1, a branch
        that names no step.
        """
        fields = Fields(data, ROUTING_SIGNAL_INVALID)
        word = fields.required_text("decision")
        decision = Decision.read(word)
        if decision is None:
            raise _unknown_word(word)
        signal = cls(
            decision=decision,
            next_step_id=fields.text_or_none("next_step_id"),
            route=_read_route(fields.take("route")),
            reason=fields.text("reason"),
            confidence=_read_confidence(fields),
            needs_human=fields.truth("needs_human"),
            raw_decision=None if word == decision.value else word,
        )
        signal.unknown = fields.rest()
        signal._complete_target()
        return signal

    def _complete_target(self) -> None:
        """A branch may name its target in either member; afterwards it stands in both."""
        if self.decision is not Decision.BRANCH:
            return
        if self.next_step_id is None and self.route is None:
            expected = "`route` or `next_step_id` beside the decision `branch`"
            raise ContractError(ROUTING_SIGNAL_INVALID, "", expected, "neither", "name the step to go to")
        if self.next_step_id is not None and self.route is None:
            self.route = Route.read(self.next_step_id)
        elif self.next_step_id is None and self.route is not None:
            self.next_step_id = self.route.step_id

    def for_handoff(self) -> "RoutingSignal":
        """The signal as a hand-off can hold it: there a route is a name, which carries no further members."""
        if self.route is None or not self.route.unknown:
            return self
        return replace(self, route=replace(self.route, unknown={}))

    def to_dict(self, current_flow: Optional[str] = None) -> Dict[str, Any]:
        """The form inside a hand-off: all six members, `route` a string or null."""
        route = None if self.route is None else self.route.name(current_flow)
        known = {**self._common(self.decision.value, route), "needs_human": self.needs_human}
        return with_unknown(known, self.unknown)

    def to_resolver_dict(self) -> Dict[str, Any]:
        """The form of the resolver's output: `route` an object or null, `needs_human` only when true."""
        route = None if self.route is None else self.route.to_dict()
        known = self._common(self.decision.resolver_word, route)
        if self.needs_human:
            known["needs_human"] = True
        return with_unknown(known, self.unknown)

    def _common(self, word: str, route: Union[str, Dict[str, Any], None]) -> Dict[str, Any]:
        return {
            "decision": word,
            "next_step_id": self.next_step_id,
            "route": route,
            "reason": self.reason,
            "confidence": self.confidence,
        }


def convert(signal: Mapping[str, Any], to: str, current_flow: Optional[str] = None) -> Dict[str, Any]:
    """A signal of either form, written in the form `to`: `orchestrator` (inside a hand-off) or `resolver`."""
    if to not in ("orchestrator", "resolver"):
        raise ValueError(f"`to` is orchestrator or resolver, not {to!r}")
    read = RoutingSignal.from_dict(signal)
    return read.to_dict(current_flow) if to == "orchestrator" else read.to_resolver_dict()


def _unknown_word(word: str) -> ContractError:
    expected = "advance, loop, terminate or branch (or proceed, rerun, blocked, route)"
    hint = "an unknown word is never taken for `advance`"
    return ContractError(ROUTING_SIGNAL_INVALID, "/decision", expected, shorten(word), hint)


def _read_confidence(fields: Fields) -> float:
    value = fields.take("confidence")
    if value is ABSENT:
        return AMBIGUOUS
    if not json.is_fraction_of_one(value):
        raise fields.wrong("confidence", "a number from 0 to 1", value)
    confidence: float = value
    return confidence


def _read_route(route: Any) -> Optional[Route]:
    if route is ABSENT or route is None:
        return None
    if isinstance(route, str):
        read, expected = Route.read(route), "a step, or a flow and a step as `flow/step`"
    elif isinstance(route, dict):
        read, expected = _read_route_object(route), "names without `/`, not empty"
    else:
        read, expected = None, "a string, an object or null"
    if read is None:
        raise ContractError(ROUTING_SIGNAL_INVALID, "/route", expected, describe(route))
    return read


def _read_route_object(route: Dict[str, Any]) -> Optional[Route]:
    fields = Fields(route, ROUTING_SIGNAL_INVALID, "/route")
    flow = fields.text_or_none("flow")
    step_id = fields.required_text("step_id")
    # The string form must mean the same.
    route_named = Route(step_id, flow)
    if Route.read(route_named.name()) != route_named:
        return None
    return Route(step_id, flow, fields.rest())
