"""Hints: `Go to step 'X'`, `Route to step X`, `route_to: X`, `Go to flow 'F' step 'X'`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Iterator, Optional, Tuple

from ..ascii import SPACE, is_letter, lower
from ..letters import is_word_part, word_end

_TO = re.compile(r"(?:(route_)|(?:go|route)[ \t\n\r\f]+)to(?=[ \t:\"'`*])", re.ASCII | re.IGNORECASE)
"""A verb and its `to`."""

_NAMED = re.compile(r"[\"'`*]*[ \t\n\r\f]*:[* \t]*")
_STEP = re.compile(r"[ \t\n\r\f]*step[ \t][ \t\n\r\f]*", re.ASCII | re.IGNORECASE)
_FLOW = re.compile(r"[ \t\n\r\f]*flow[ \t][ \t\n\r\f]*", re.ASCII | re.IGNORECASE)
_COMMAS = re.compile(r",*")


@dataclass(frozen=True)
class Hint:
    """The step that a text names as the next one."""

    step_id: str
    flow: Optional[str] = None

    def shown(self) -> str:
        """As a reason names it."""
        return self.step_id if self.flow is None else f"{self.flow}/{self.step_id}"


def to_step(text: str, at: int = 0) -> Optional[Hint]:
    """A hint to a step of the same flow, if a name stands at `at`."""
    named = _name(text, at)
    return Hint(named[0]) if named else None


def hints(line: str) -> Iterator[Hint]:
    """The hints of one line, in order."""
    for found in _TO.finditer(line):
        if found.start() and is_word_part(line[found.start() - 1]):
            continue
        hint = _named(line, found.end()) if found[1] else _spoken(line, found)
        if hint is not None:
            yield hint


def _named(line: str, at: int) -> Optional[Hint]:
    """What follows `route_to`."""
    colon = _NAMED.match(line, at)
    return to_step(line, colon.end()) if colon else None


def _spoken(line: str, found: "re.Match[str]") -> Optional[Hint]:
    """`step X` or `flow F step X` after a verb that is not denied."""
    if _is_denied(line, found.start()):
        return None
    step = _STEP.match(line, found.end())
    if step is not None:
        return to_step(line, step.end())
    flow_word = _FLOW.match(line, found.end())
    flow = _name(line, flow_word.end()) if flow_word else None
    if flow is None:
        return None
    commas = _COMMAS.match(line, flow[1])
    step = _STEP.match(line, commas.end() if commas else flow[1])
    step_id = _name(line, step.end()) if step else None
    return Hint(step_id[0], flow[0]) if step_id else None


def _name(text: str, at: int) -> Optional[Tuple[str, int]]:
    """A name in quotes, or a bare one that begins with a letter; and where it ends."""
    quote = text[at : at + 1]
    if quote and quote in "'\"`":
        end = text.find(quote, at + 1)
        name = text[at + 1 : max(end, at)].strip(SPACE)
        return (name, end + 1) if name and "/" not in name else None
    if not is_letter(quote):
        return None
    end = word_end(text, at)
    return text[at:end], end


def _is_denied(line: str, end: int) -> bool:
    """Whether the words before negate it: `do not go to step …` is no hint."""
    while end and line[end - 1] in SPACE:
        end -= 1
    start = max(line.rfind(" ", 0, end), line.rfind("\t", 0, end)) + 1
    last = line[start:end]
    return lower(last) in ("not", "never", "cannot") or last.endswith(("n't", "n\u2019t"))
