"""The decision table: the first row that holds decides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

from ..ascii import SPACE, lower, same
from ..letters import is_word_part, word_start
from . import label, text
from .hint import Hint
from .input import Routing, RoutingInput, RoutingKind
from .signal import Decision, Route, RoutingSignal


@dataclass(frozen=True)
class Resolution:
    """A signal and the row of the table (1, 1a, 2 … 8) that made it."""

    signal: RoutingSignal
    row: str


@dataclass(frozen=True)
class _Outcome:
    """What is known about the status that is waited for; all empty: nothing clear."""

    success: Optional[bool] = None
    inferred: bool = False
    conflict: str = ""

    @property
    def confidence(self) -> float:
        return 0.8 if self.inferred else 0.9


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
    if len(hints) > 1:
        shown = ", ".join(hint.shown() for hint in hints)
        return _advance("1a", f"Conflicting routing hints: {shown}", 0.7, needs_human=True)
    if hints and not _is_unknown(hints[0], given):
        return _follow(hints[0])
    resolution = _without_hint(given, reading, findings)
    if hints:
        resolution.signal.reason += f"; unknown step '{hints[0].shown()}'"
        resolution.signal.needs_human = True
    return resolution


def _advance(row: str, reason: str, confidence: float, needs_human: bool = False) -> Resolution:
    return _resolution(row, Decision.ADVANCE, reason, confidence, needs_human)


def _resolution(
    row: str, decision: Decision, reason: str, confidence: float, needs_human: bool = False
) -> Resolution:
    signal = RoutingSignal(decision, reason=reason, confidence=confidence, needs_human=needs_human)
    return Resolution(signal, row)


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


def _follow(hint: Hint) -> Resolution:
    resolution = _resolution("1", Decision.BRANCH, f"Explicit routing hint: step '{hint.step_id}'", 1.0)
    resolution.signal.next_step_id = hint.step_id
    resolution.signal.route = Route(hint.step_id, hint.flow)
    return resolution


def _without_hint(given: RoutingInput, reading: text.Reading, findings: text.Findings) -> Resolution:
    """Rows 2 to 8."""
    routing = given.routing
    if routing is None:
        return _advance("2", "No routing configuration", 0.7)
    if routing.routing_kind is RoutingKind.BRANCH:
        return _advance("7", "No routing hint", 0.7, needs_human=True)
    expected = routing.expected_values()
    outcome = _outcome(findings.statuses, reading, expected) if expected else _Outcome()
    if outcome.success:
        return _advance("3", "Loop target reached", outcome.confidence)
    if outcome.success is False:
        return _not_reached(given, routing, findings, outcome)
    return _unclear(routing, outcome)


def _not_reached(
    given: RoutingInput, routing: Routing, findings: text.Findings, outcome: _Outcome
) -> Resolution:
    """Rows 4 to 7, for a status that is no success."""
    sure, limit = outcome.confidence, routing.max_iterations
    if given.iteration >= limit:
        reason = f"Max iterations ({limit}) exhausted without {routing.target()}"
        return _resolution("4", Decision.LOOP, reason, sure, needs_human=True)
    if findings.denies_help or not routing.can_further_iteration_help:
        return _resolution("5", Decision.TERMINATE, "Further iteration cannot help", sure, needs_human=True)
    if routing.routing_kind is RoutingKind.MICROLOOP or routing.loop_target is not None:
        reason = f"Loop target not reached (iteration {given.iteration} of {limit})"
        return _resolution("6", Decision.LOOP, reason, sure)
    return _advance("7", "Linear step complete", 0.9)


def _unclear(routing: Routing, outcome: _Outcome) -> Resolution:
    """Rows 7 and 8."""
    if routing.routing_kind is RoutingKind.LINEAR and routing.loop_target is None:
        return _advance("7", "Linear step complete", 0.9)
    if outcome.conflict:
        return _advance("8", f"Conflicting statuses: {outcome.conflict}", 0.7, needs_human=True)
    return _advance("8", "Handoff does not state a status", 0.7, needs_human=True)


def _outcome(statuses: List[label.Status], reading: text.Reading, expected: List[str]) -> _Outcome:
    if not statuses:
        return _inferred(reading, expected)
    last = statuses[-1]
    if all(status.agrees_with(last) for status in statuses):
        return _Outcome(not last.negated and any(same(last.word, value) for value in expected))
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
    ((_, denied),) = found
    return _Outcome(not denied, inferred=True)


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
