"""One case: what it calls, what came of it, and whether that is what it expects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Union

from .. import json
from ..errors import ContractError, describe
from ..handoff import HandoffEnvelope, write_handoff
from ..routing import convert, decode_routing_input, resolve
from ..skill_report import judge
from ..user_envelope import UserEnvelopeParseError, answer_text, parse_user_envelope
from . import state
from .compare import has_all, same


@dataclass(frozen=True)
class Outcome:
    """What came of one case."""

    name: str
    passed: bool
    expected: str
    got: str


@dataclass(frozen=True)
class Value:
    """A result; of an `open` one only the expected members are compared."""

    value: Any
    open: bool = False


Refused = Union[ContractError, UserEnvelopeParseError]


def run_file(document: bytes) -> List[Outcome]:
    """Runs every case of a file. Raises ContractError `VECTORS_INVALID` if it is no JSON array."""
    try:
        cases = json.loads(document)
    except json.JsonError as error:
        raise ContractError.of_json("VECTORS_INVALID", error) from None
    if not isinstance(cases, list):
        raise ContractError("VECTORS_INVALID", "", "an array of cases", describe(cases))
    return [_run_case(index, case) for index, case in enumerate(cases)]


def _run_case(index: int, case: Any) -> Outcome:
    members = case if isinstance(case, dict) else {}
    name = members.get("name")
    name = name if isinstance(name, str) else f"case {index}"
    try:
        got = _OPERATIONS[members["op"]](members)
    except (ContractError, UserEnvelopeParseError) as refusal:
        shown = f"refused: {refusal.code} ({refusal.reason})"
        return Outcome(name, _is_expected(refusal, members), _expectation(members), shown)
    except (LookupError, TypeError, AttributeError, ValueError) as error:
        not_understood = f"a case that this runner does not know how to run ({error!r})"
        return Outcome(name, False, _expectation(members), not_understood)
    return Outcome(name, _meets(got, members), _expectation(members), json.dumps(got.value, compact=True))


def _is_expected(refusal: Refused, case: Dict[str, Any]) -> bool:
    expected = case.get("expect_error")
    if not isinstance(expected, dict):
        return bool(expected == refusal.code)
    return expected.get("code") == refusal.code and refusal.reason.startswith(expected.get("reason_prefix", ""))


def _meets(got: Value, case: Dict[str, Any]) -> bool:
    if "expect_error" in case or not ("expect" in case or "expect_text" in case):
        return False
    if got.open:
        return "expect" in case and has_all(case["expect"], got.value)
    text = "expect_text" not in case or case["expect_text"] == json.dumps(got.value)
    return text and ("expect" not in case or same(case["expect"], got.value))


def _expectation(case: Dict[str, Any]) -> str:
    if isinstance(case.get("expect_text"), str):
        return str(case["expect_text"])
    if "expect" in case:
        return json.dumps(case["expect"], compact=True)
    if "expect_error" in case:
        return f"refused: {json.dumps(case['expect_error'], compact=True)}"
    return "nothing: the case has no expectation"


def _argument(case: Dict[str, Any]) -> bytes:
    """The bytes that a decoder is given."""
    text = case["input_text"] if "input_text" in case else json.dumps(case["input"], compact=True)
    encoded: bytes = text.encode("utf-8")
    return encoded


def _resolve(case: Dict[str, Any]) -> Value:
    return Value(resolve(decode_routing_input(_argument(case))).signal.to_resolver_dict())


def _convert(case: Dict[str, Any]) -> Value:
    given = case["input"]
    return Value(convert(given["signal"], given["to"], given.get("current_flow")))


def _write(case: Dict[str, Any]) -> Value:
    return Value(write_handoff(_argument(case)).to_dict())


def _read(case: Dict[str, Any]) -> Value:
    return Value(HandoffEnvelope.from_json(_argument(case)).to_dict())


def _judge(case: Dict[str, Any]) -> Value:
    given = case["input"]
    verdict = judge(
        exit=given.get("exit"),
        signal=given.get("signal"),
        timed_out=given.get("timed_out") is True,
        cancelled=given.get("cancelled") is True,
        stderr=given.get("stderr") or "",
        report_text=given.get("report_text"),
        assigned=given.get("assigned") is True,
        declared=given.get("declared") is True,
        skill=given.get("skill"),
    )
    return Value({"ok": verdict.ok, "error": verdict.error and verdict.error.to_dict()})


def _parse(case: Dict[str, Any]) -> Value:
    given = case["input"]
    answer = parse_user_envelope(given["raw"], given["enabled"], given.get("top_level") or [])
    return Value(answer.to_dict())


_OPERATIONS: Dict[str, Callable[[Dict[str, Any]], Value]] = {
    "route.resolve": _resolve,
    "route.convert": _convert,
    "handoff.write": _write,
    "handoff.read": _read,
    "skill.judge": _judge,
    "user_envelope.parse": _parse,
    "user_envelope.answer_text": lambda case: Value(answer_text(case["input"])),
    "envelope.apply": lambda case: Value(state.apply(case["input"]["operations"]), open=True),
    "envelope.roundtrip": lambda case: Value(state.roundtrip(_argument(case), case.get("expect"))),
}
