"""The decision table: the first row that holds decides, and the audit states why the earlier ones did not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

from ..ascii import SPACE, lower, same
from ..letters import is_word_part, word_start
from ..vocabulary import RoutingKind
from . import label, text
from .audit import Audit, digest_of
from .hint import Hint
from .input import Routing, RoutingInput
from .signal import Decision, Route, RoutingSignal


@dataclass(frozen=True)
class Resolution:
    """A signal, and why it is that."""

    signal: RoutingSignal
    audit: Audit

    @property
    def row(self) -> str:
        """The row of the table (1, 1a, 2 … 8) that made it."""
        return self.audit.row


@dataclass(frozen=True)
class _Outcome:
    """What is known about the status that is waited for; all empty: nothing clear. `shown` is the status as it was read."""

    success: Optional[bool] = None
    inferred: bool = False
    conflict: str = ""
    shown: str = ""

    @property
    def confidence(self) -> float:
        return 0.8 if self.inferred else 0.9

    @property
    def how(self) -> str:
        return ", inferred from unlabelled words" if self.inferred else ""


@dataclass(frozen=True)
class _Fired:
    """The row that fired, why, and its signal."""

    row: str
    because: str
    signal: RoutingSignal


_Passed = Dict[str, str]
"""The rows that did not fire so far, and why."""


def resolve_routing(
    handoff_text: str,
    routing: Union[Routing, Mapping[str, Any], None] = None,
    *,
    iteration: int = 0,
    flow: Optional[str] = None,
    steps: Optional[Sequence[str]] = None,
    hints: bool = True,
) -> RoutingSignal:
    """Turns a step's text and its routing configuration into one decision. The same input gives the same signal.

    Raises ContractError `ROUTING_INVALID`: a configuration that is none, or a loop that nothing could end.
    """
    if routing is not None and not isinstance(routing, Routing):
        routing = Routing.from_dict(routing)
    listed = None if steps is None else list(steps)
    return resolve(RoutingInput(handoff_text, routing, iteration, flow, listed, hints)).signal


def resolve(given: RoutingInput) -> Resolution:
    """Decides. Raises ContractError `ROUTING_INVALID` if the configuration is a loop that nothing could end."""
    if given.routing is not None:
        given.routing.check()
    reading = text.read(given.handoff_text)
    findings = reading.findings(given.hints)
    hints = _distinct_hints(findings.hints, given.flow)
    passed: _Passed = {}
    unknown = hints[0].shown() if len(hints) == 1 and _is_unknown(hints[0], given) else None
    if len(hints) > 1:
        fired = _conflicting_hints(hints, passed)
    elif hints and unknown is None:
        fired = _follow(hints[0])
    else:
        fired = _without_hint(given, reading, findings, _without_known_hint(unknown, passed))
    if unknown is not None:
        fired.signal.reason += f"; unknown step '{unknown}'"
        fired.signal.needs_human = True
    return Resolution(fired.signal, Audit(fired.row, fired.because, passed, unknown, digest_of(given)))


def _without_known_hint(unknown: Optional[str], passed: _Passed) -> _Passed:
    """Rows 1 to 1b did not fire, or 1b holds as well."""
    if unknown is None:
        passed.update(dict.fromkeys(("1", "1a", "1b"), "no hint in the text"))
    else:
        passed.update({"1": "the step that the hint names is unknown", "1a": "only one hint"})
    return passed


def _advance(row: str, because: str, reason: str, confidence: float, needs_human: bool = False) -> _Fired:
    return _fired(row, because, Decision.ADVANCE, reason, confidence, needs_human)


def _fired(
    row: str, because: str, decision: Decision, reason: str, confidence: float, needs_human: bool = False
) -> _Fired:
    signal = RoutingSignal(decision, reason=reason, confidence=confidence, needs_human=needs_human)
    return _Fired(row, because, signal)


def _distinct_hints(found: List[Hint], current_flow: Optional[str]) -> List[Hint]:
    """The hints that differ, with a flow only where it is another one."""
    at_home = [Hint(hint.step_id) if hint.flow == current_flow else hint for hint in found]
    return list(dict.fromkeys(at_home))


def _is_unknown(hint: Hint, given: RoutingInput) -> bool:
    """Whether the steps that may be named are known and this is none of them.

    Once the current flow is known, a step of another flow is listed as `flow/step`.
    """
    elsewhere = hint.flow is not None and given.flow is not None
    name = hint.shown() if elsewhere else hint.step_id
    return given.steps is not None and name not in given.steps


def _conflicting_hints(hints: List[Hint], passed: _Passed) -> _Fired:
    passed["1"] = "more than one hint"
    shown = ", ".join(hint.shown() for hint in hints)
    because, reason = f"the text has a hint to go to {shown}", f"Conflicting routing hints: {shown}"
    return _advance("1a", because, reason, 0.7, needs_human=True)


def _follow(hint: Hint) -> _Fired:
    because, reason = f"the text has a hint to go to {hint.shown()}", f"Explicit routing hint: step '{hint.step_id}'"
    fired = _fired("1", because, Decision.BRANCH, reason, 1.0)
    fired.signal.next_step_id = hint.step_id
    fired.signal.route = Route(hint.step_id, hint.flow)
    return fired


def _without_hint(
    given: RoutingInput, reading: text.Reading, findings: text.Findings, passed: _Passed
) -> _Fired:
    """Rows 2 to 8."""
    routing = given.routing
    if routing is None:
        return _advance("2", "nothing is configured", "No routing configuration", 0.7)
    passed["2"] = "routing is configured"
    if routing.routing_kind is RoutingKind.BRANCH:
        _pass_over_status(passed, "a branch waits for no status")
        return _advance("7", "a branch without a hint", "No routing hint", 0.7, needs_human=True)
    expected = routing.expected_values()
    if not expected:
        _pass_over_status(passed, "no status is waited for")
        return _linear_complete()
    outcome = _outcome(findings.statuses, reading, expected)
    if outcome.success:
        because = f"the status {outcome.shown} is a success value{outcome.how}"
        return _advance("3", because, "Loop target reached", outcome.confidence)
    if outcome.success is False:
        passed["3"] = f"the status {outcome.shown} is no success value{outcome.how}"
        return _not_reached(given, routing, findings, outcome, passed)
    _pass_over_status(passed, "no clear status was read")
    return _unclear(outcome, passed)


def _pass_over_status(passed: _Passed, why: str) -> None:
    passed.update(dict.fromkeys(("3", "4", "5", "6"), why))


def _linear_complete() -> _Fired:
    """Row 7 of a linear step."""
    return _advance("7", "a linear step that waits for no status", "Linear step complete", 0.9)


def _not_reached(
    given: RoutingInput, routing: Routing, findings: text.Findings, outcome: _Outcome, passed: _Passed
) -> _Fired:
    """Rows 4 to 6, for a status that is no success."""
    sure, limit = outcome.confidence, routing.max_iterations
    if given.iteration >= limit:
        because = f"iteration {given.iteration} is the last of {limit}"
        reason = f"Max iterations ({limit}) exhausted without {routing.target()}"
        return _fired("4", because, Decision.LOOP, reason, sure, needs_human=True)
    passed["4"] = "iterations are left"
    if findings.denies_help or not routing.can_further_iteration_help:
        because = f"stated in {'the text' if findings.denies_help else 'the configuration'}"
        return _fired("5", because, Decision.TERMINATE, "Further iteration cannot help", sure, needs_human=True)
    passed["5"] = "further iteration can help"
    because = "the status is no success and iterations are left"
    reason = f"Loop target not reached (iteration {given.iteration} of {limit})"
    return _fired("6", because, Decision.LOOP, reason, sure)


def _unclear(outcome: _Outcome, passed: _Passed) -> _Fired:
    """Row 8: a status is waited for."""
    passed["7"] = "a status is waited for"
    if outcome.conflict:
        because, reason = "labelled statuses differ", f"Conflicting statuses: {outcome.conflict}"
    else:
        because, reason = "no clear status was read", "Handoff does not state a status"
    return _advance("8", because, reason, 0.7, needs_human=True)


def _outcome(statuses: List[label.Status], reading: text.Reading, expected: List[str]) -> _Outcome:
    if not statuses:
        return _inferred(reading, expected)
    last = statuses[-1]
    if all(status.agrees_with(last) for status in statuses):
        success = not last.negated and any(same(last.word, value) for value in expected)
        return _Outcome(success, shown=last.shown())
    distinct: List[label.Status] = []
    for status in statuses:
        if not any(status.agrees_with(earlier) for earlier in distinct):
            distinct.append(status)
    return _Outcome(conflict=", ".join(status.shown() for status in distinct))


def _inferred(reading: text.Reading, expected: List[str]) -> _Outcome:
    """A status from unlabelled words: one expected value, always affirmed or always denied."""
    found = {mention for line in reading.prose() for mention in _mentions(line, expected)}
    if len(found) != 1:
        return _Outcome()
    ((value, denied),) = found
    return _Outcome(not denied, inferred=True, shown=label.Status(value, denied).shown())


def _mentions(line: str, expected: List[str]) -> Iterator[Tuple[str, bool]]:
    """Where an expected value stands as a whole word, and whether it is denied; a list of alternatives mentions none."""
    lowered = lower(line)
    for value in expected:
        wanted = lower(value)
        start = lowered.find(wanted)
        while start >= 0:
            end = start + len(wanted)
            touched = is_word_part(line[start - 1 : start]) or is_word_part(line[end : end + 1])
            if not touched and not _is_alternative(line, start, end):
                yield value, _is_denied(line, start)
            start = lowered.find(wanted, start + 1)


def _is_alternative(line: str, start: int, end: int) -> bool:
    before = _back(line, start)
    return (
        (before > 0 and line[before - 1] in "|/")
        or same(line[word_start(line, before) : before], "or")
        or label.goes_on_with_alternative(line, end)
    )


def _is_denied(line: str, start: int) -> bool:
    """Whether the words before are `not` or `not yet`."""
    while start and line[start - 1] != "." and not is_word_part(line[start - 1]):
        start -= 1
    last = word_start(line, start)
    if same(line[last:start], "yet"):
        start = _back(line, last)
        last = word_start(line, start)
    return same(line[last:start], "not")


def _back(line: str, end: int) -> int:
    """Where a text ends without the white space at its end."""
    while end and line[end - 1] in SPACE:
        end -= 1
    return end
