"""Hints: `Go to step 'X'`, `Route to step X`, `route_to: X`, `Go to flow 'F' step 'X'`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Iterator, Optional, Tuple

from ..ascii import SPACE, is_letter, lower, same
from ..letters import is_word_part

_TO = re.compile(r"[Tt][Oo](?=[ \t:\"'`*])")


@dataclass(frozen=True)
class Hint:
    """Where a text asks to go."""

    step_id: str
    flow: Optional[str] = None

    def shown(self) -> str:
        """As a reason names it."""
        return self.step_id if self.flow is None else f"{self.flow}/{self.step_id}"


def to_step(name: str) -> Optional[Hint]:
    """A hint to a step of the same flow, if the text begins with a name."""
    named = _name(name)
    return Hint(named[0]) if named else None


def hints(line: str) -> Iterator[Hint]:
    """The hints of one line, in order."""
    for found in _TO.finditer(line):
        hint = _hint(line[: found.start()], line[found.end() :])
        if hint is not None:
            yield hint


def _hint(before: str, after: str) -> Optional[Hint]:
    """The hint whose word `to` stands between the two."""
    prefix = _without_end(before, "route_")
    if prefix is not None:
        name = after.lstrip("\"'`*").lstrip(SPACE)
        if not name.startswith(":") or not _stands_alone(prefix):
            return None
        return to_step(name[1:].lstrip("* \t"))
    spoken = before.rstrip(SPACE)
    if len(spoken) == len(before):
        return None
    prefix = _without_end(spoken, "go")
    prefix = _without_end(spoken, "route") if prefix is None else prefix
    if prefix is None or not _stands_alone(prefix) or _is_denied(prefix):
        return None
    return _destination(after)


def _destination(text: str) -> Optional[Hint]:
    """`step X` or `flow F step X`."""
    step = _without_word(text, "step")
    if step is not None:
        return to_step(step)
    flow = _name(_without_word(text, "flow") or "")
    if flow is None:
        return None
    step_id = _name(_without_word(flow[1].lstrip(","), "step") or "")
    return Hint(step_id[0], flow[0]) if step_id else None


def _without_word(text: str, word: str) -> Optional[str]:
    """What follows a word and white space."""
    start = text.lstrip(SPACE)
    rest = start[len(word) :]
    return rest.lstrip(SPACE) if same(start[: len(word)], word) and rest[:1] in (" ", "\t") else None


def _name(text: str) -> Optional[Tuple[str, str]]:
    """A name in quotes, or a bare one that begins with a letter; and what follows."""
    quote = text[:1]
    if quote and quote in "'\"`":
        name, closed, rest = text[1:].partition(quote)
        name = name.strip(SPACE)
        return (name, rest) if closed and name and "/" not in name else None
    if not is_letter(quote):
        return None
    end = 1
    while end < len(text) and is_word_part(text[end]):
        end += 1
    return text[:end], text[end:]


def _stands_alone(prefix: str) -> bool:
    return not prefix or not is_word_part(prefix[-1])


def _is_denied(prefix: str) -> bool:
    """Whether the words before say not to: `do not go to step …` is no hint."""
    last = prefix.rstrip(SPACE).replace("\t", " ").rpartition(" ")[2]
    return lower(last) in ("not", "never", "cannot") or last.endswith(("n't", "n\u2019t"))


def _without_end(text: str, end: str) -> Optional[str]:
    return text[: -len(end)] if same(text[-len(end) :], end) else None
