"""Why a signal is what it is: the row of the decision table that fired, and why the rows before it did not."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any, Dict, Optional

from .. import json
from ..errors import ROUTING_INVALID, ContractError
from .input import RoutingInput


@dataclass(frozen=True)
class Audit:
    """Why a signal is what it is. A hand-off keeps it as `routing_audit`.

    `passed_over` has the rows before the one that fired, each with the reason why it did not. `unknown_hint` is there if row
    1b held as well. `input_digest` is the SHA-256 of the whole input, as compact JSON in the order of the contract.
    """

    row: str
    fired_because: str
    passed_over: Dict[str, str]
    unknown_hint: Optional[str]
    input_digest: str

    def to_dict(self) -> Dict[str, Any]:
        """The audit as it is kept in a hand-off."""
        hint = {} if self.unknown_hint is None else {"unknown_hint": self.unknown_hint}
        return {
            "row": self.row,
            "fired_because": self.fired_because,
            "passed_over": dict(self.passed_over),
            **hint,
            "input_digest": self.input_digest,
        }


def digest_of(given: RoutingInput) -> str:
    """The digest of an input, as `sha256:` and 64 hexadecimal digits.

    Raises ContractError `ROUTING_INVALID` for half a surrogate pair, which has no bytes.
    """
    routing = given.routing
    configured = routing and {
        "routing_kind": routing.routing_kind,
        "loop_target": routing.loop_target,
        "success_values": routing.success_values,
        "max_iterations": routing.max_iterations,
        "can_further_iteration_help": routing.can_further_iteration_help,
    }
    members = {
        "handoff_text": given.handoff_text,
        "routing": configured,
        "iteration": given.iteration,
        "flow": given.flow,
        "steps": given.steps,
        "hints": given.hints,
    }
    try:
        document = json.dumps(members, compact=True)
    except json.JsonError as error:
        raise ContractError.of_json(ROUTING_INVALID, error) from None
    return f"sha256:{hashlib.sha256(document.encode('utf-8')).hexdigest()}"
