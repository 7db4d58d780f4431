"""The resolver's input: a text, the expected statuses, and how often the loop has gone back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, List, Mapping, Optional, Union

from .. import labelled
from ..ascii import is_blank, same
from ..errors import ROUTING_INVALID, ContractError, describe
from ..fields import ABSENT, Fields
from ..vocabulary import RoutingKind


_MEMBERS = ("handoff_text", "routing", "iteration", "flow", "steps", "hints")
_ROUTING_MEMBERS = (
    "routing_kind",
    "loop_target",
    "success_values",
    "max_iterations",
    "can_further_iteration_help",
)


@dataclass
class Routing:
    """A step's routing configuration. `loop_target` is the *status* that ends the loop, not a step."""

    routing_kind: RoutingKind = RoutingKind.LINEAR
    loop_target: Optional[str] = None
    success_values: List[str] = field(default_factory=list)
    max_iterations: int = 3
    can_further_iteration_help: bool = True

    def __post_init__(self) -> None:
        self.routing_kind = RoutingKind(self.routing_kind)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Routing":
        """Reads a configuration; each member has a default.

        Raises ContractError `ROUTING_INVALID`: wrong types, an unknown kind or member, a loop that nothing could end.
        """
        if not isinstance(data, dict):
            raise ContractError(ROUTING_INVALID, "/routing", "an object or null", describe(data))
        fields = Fields(data, ROUTING_INVALID, "/routing")
        kind = fields.word("routing_kind", RoutingKind, "linear, microloop or branch")
        routing = cls(
            routing_kind=kind or RoutingKind.LINEAR,
            loop_target=fields.text_or_none("loop_target"),
            success_values=fields.texts("success_values"),
            max_iterations=fields.count("max_iterations", 3),
            can_further_iteration_help=fields.truth("can_further_iteration_help", True),
        )
        # It is configuration: a misspelt `loop_target` would let every status pass.
        fields.refuse_others(_ROUTING_MEMBERS)
        routing.check()
        return routing

    def check(self) -> None:
        """Refuses a loop that nothing could end, and a status that nothing could state."""
        waited_for = [*([] if self.loop_target is None else [self.loop_target]), *self.success_values]
        if any(is_blank(value) for value in waited_for):
            expected = "a `loop_target` and `success_values` that are not empty"
            raise ContractError(ROUTING_INVALID, "/routing", expected, "an empty one")
        if self.routing_kind is RoutingKind.MICROLOOP and not waited_for:
            expected = "a `loop_target` or `success_values` beside the kind `microloop`"
            hint = "set the status that ends the loop, for instance `loop_target: VERIFIED`"
            raise ContractError(ROUTING_INVALID, "/routing", expected, "neither", hint)

    def expected_values(self) -> List[str]:
        """The values that count as success, each once."""
        if not self.success_values:
            return [] if self.loop_target is None else [self.loop_target]
        values: List[str] = []
        for value in self.success_values:
            if not any(same(value, earlier) for earlier in values):
                values.append(value)
        return values

    def target(self) -> str:
        """What a reason calls the thing waited for."""
        return self.loop_target if self.loop_target is not None else (self.success_values or [""])[0]


@dataclass
class RoutingInput:
    """The resolver's whole input. `iteration` is how often the loop has gone back so far; `steps` are those that a hint may
    name (None: any); `hints`: whether hints count.
    """

    handoff_text: str = ""
    routing: Optional[Routing] = None
    iteration: int = 0
    flow: Optional[str] = None
    steps: Optional[List[str]] = None
    hints: bool = True

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "RoutingInput":
        """Reads an input in its JSON form. Raises ContractError `ROUTING_INVALID`."""
        fields = Fields(data, ROUTING_INVALID)
        text = fields.required_text("handoff_text")
        routing = fields.take("routing")
        if data.get("steps") is None:
            fields.take("steps")
        read = cls(
            handoff_text=text,
            routing=None if routing is ABSENT or routing is None else Routing.from_dict(routing),
            iteration=fields.count("iteration", 0),
            flow=fields.text_or_none("flow"),
            steps=None if data.get("steps") is None else fields.texts("steps"),
            hints=fields.truth("hints", True),
        )
        fields.refuse_others(_MEMBERS)
        return read


_LABELS = labelled.Labels(
    code=ROUTING_INVALID,
    names=("Handoff text", "Step routing", "Iteration", "Flow", "Steps", "Hints"),
    free_text=("Handoff text",),
    guarded=("Step routing",),
)


def decode_routing_input(document: Union[bytes, str]) -> RoutingInput:
    """Reads an input from JSON, or from the labels `Handoff text: "…"` and `Step routing: name=value, …`.

    Raises ContractError `ROUTING_INVALID` with the place.
    """
    return labelled.read_either(document, _LABELS, _member, RoutingInput.from_dict)


def _member(label: str, value: str) -> labelled.Member:
    read: Dict[str, Any] = {
        "Handoff text": ("handoff_text", str),
        "Step routing": ("routing", _routing_from),
        "Iteration": ("iteration", labelled.scalar),
        "Flow": ("flow", str),
        "Steps": ("steps", labelled.items),
        "Hints": ("hints", labelled.scalar),
    }
    name, convert = read[label]
    return name, convert(value)


def _routing_from(text: str) -> Optional[Dict[str, Any]]:
    if text in ("", "null") or same(text, "none"):
        return None
    read: Dict[str, Any] = {
        "success_values": labelled.items,
        "max_iterations": labelled.scalar,
        "can_further_iteration_help": labelled.scalar,
    }
    return {name: read.get(name, labelled.word)(value) for name, value in labelled.pairs(text).items()}
