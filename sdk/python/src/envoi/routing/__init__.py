"""From a step's text to one decision about what happens next (contract 1).

    >>> from envoi import resolve_routing
    >>> signal = resolve_routing("Review done. Status: UNVERIFIED", {"routing_kind": "microloop", "loop_target": "VERIFIED"})
    >>> signal.decision.value, signal.reason
    ('loop', 'Loop target not reached (iteration 0 of 3)')

Does not act on a decision: bounds, retries and questions belong to the program that runs the steps.
"""

from ..vocabulary import RoutingKind
from .audit import Audit
from .input import Routing, RoutingInput, decode_routing_input
from .resolve import Resolution, resolve, resolve_routing
from .signal import Decision, Route, RoutingSignal, convert

__all__ = [
    "Audit",
    "Decision",
    "Resolution",
    "Route",
    "Routing",
    "RoutingInput",
    "RoutingKind",
    "RoutingSignal",
    "convert",
    "decode_routing_input",
    "resolve",
    "resolve_routing",
]
