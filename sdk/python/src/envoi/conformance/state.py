"""Cases of the pipeline envelope: operations in order, and trips through bytes."""

from __future__ import annotations

from typing import Any, Dict, List

from .. import json
from ..envelope import Envelope, FlowInterrupt, InterruptStatus, ProcessingRecord


def apply(operations: List[Dict[str, Any]]) -> Dict[str, Any]:
    """Applies the operations to a new envelope; what was observed, and the envelope in both forms."""
    envelope = Envelope()
    observations: List[Dict[str, Any]] = []
    for operation in operations:
        name = operation["op"]
        if name == "new":
            envelope = Envelope.from_dict(operation["args"])
        elif name == "set":
            envelope = _with_member(envelope, operation["field"], operation["value"])
        elif name == "set_terminal_reason":
            envelope = _with_member(envelope, "terminal_reason", operation["value"])
        elif name in ("observe_stage_context", "observe_is_stuck"):
            observations.append(_observe(envelope, operation))
        else:
            _change(envelope, operation)
    return {
        "observations": observations,
        "to_dict": envelope.to_dict(),
        "to_state_dict": envelope.to_state_dict(),
    }


def _with_member(envelope: Envelope, name: str, value: Any) -> Envelope:
    return Envelope.from_dict({**envelope.to_state_dict(), name: value})


def _change(envelope: Envelope, operation: Dict[str, Any]) -> None:
    name = operation["op"]
    if name == "initialize_goals":
        envelope.initialize_goals(operation["goals"])
    elif name == "mark_goal_complete":
        envelope.mark_goal_complete(operation["goal"])
    elif name == "advance_stage":
        for _ in range(operation.get("times", 1)):
            envelope.advance_stage()
    elif name == "append_record":
        envelope.processing_history.append(ProcessingRecord.from_dict(operation["record"]))
    elif name == "set_interrupt":
        given = operation["interrupt"]
        envelope.interrupt = None if given is None else _constructed(given)
        envelope.interrupt_pending = operation["pending"]
    else:
        raise LookupError(name)


def _constructed(given: Dict[str, Any]) -> FlowInterrupt:
    """An interrupt as its constructor makes it."""
    interrupt = FlowInterrupt.from_dict(given)
    interrupt.status = interrupt.status or InterruptStatus.PENDING
    interrupt.data = {} if interrupt.data is None else interrupt.data
    return interrupt


def _observe(envelope: Envelope, operation: Dict[str, Any]) -> Dict[str, Any]:
    if operation["op"] == "observe_stage_context":
        return {"call": "get_stage_context", "result": envelope.get_stage_context()}
    arguments = operation.get("args", {})
    return {"call": "is_stuck", "args": arguments, "result": envelope.is_stuck(**arguments)}


def roundtrip(document: bytes, expected: Any) -> Dict[str, Any]:
    """Decodes and encodes twice; the texts of the expected members, where both trips agree."""
    once = Envelope.from_json(document).to_state_dict()
    twice = Envelope.from_json(json.dumps(once, compact=True)).to_state_dict()
    names = (expected or {}).get("members", {})
    texts = {name: [json.dumps(trip.get(name), compact=True) for trip in (once, twice)] for name in names}
    return {"members": {name: first for name, (first, second) in texts.items() if first == second}}
