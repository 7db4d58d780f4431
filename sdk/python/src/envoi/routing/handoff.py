"""Finds hand-offs in JSON that a text quotes.

A step that prints the file at `$ENVOI_HANDOFF` prints the status of the step before; read as its own, the two would conflict.
A hand-off is known by the five members that every one has.

The work is linear in the length of the text: objects inside an object are found in the same reading, and the next reading
begins behind the last one, or after a failure inside the string in which it ended.
"""

from __future__ import annotations

import re
from collections import deque
from typing import Any, Deque, Dict, List, Optional, Tuple

from .. import json
from ..json.read import Reader

_MEMBERS = ("step_id", "flow_key", "run_id", "routing_signal", "summary")

_READINGS = 32
"""So many objects of a text are read, not counting those inside them."""

_OPENING = re.compile(r'\{(?=[ \t\r\n]*")')
"""Braces of prose and of programs begin no object."""


def is_whole(text: str) -> bool:
    """Whether a text is one hand-off."""
    return text.lstrip(" \t\r\n\f").startswith("{") and _may_hold_one(text) and _is_handoff(text)


class Finder:
    """Looks for hand-offs from the start of a text to its end."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._readings_left = _READINGS if _may_hold_one(text) else 0
        self._next = 0
        self._found: Deque[Tuple[int, int]] = deque()
        self.scalars_read = 0

    def first(self, start: int, end: int) -> Optional[Tuple[int, int]]:
        """Where the first hand-off that begins between `start` and `end` begins and ends. Calls go from left to right."""
        while self._found and self._found[0][0] < start:
            self._found.popleft()
        while not self._found:
            opening = self._opening(max(start, self._next), end)
            if opening is None or self._readings_left == 0:
                return None
            self._readings_left -= 1
            self._read(opening)
        return self._found.popleft() if self._found[0][0] < end else None

    def _opening(self, start: int, end: int) -> Optional[int]:
        """The first `{` between `start` and `end` that a `"` follows."""
        brace = self._text.find("{", start, end)
        while brace >= 0 and not _OPENING.match(self._text, brace):
            brace = self._text.find("{", brace + 1, end)
        return brace if brace >= 0 else None

    def _read(self, opening: int) -> None:
        reader = _Search(self._text, opening)
        try:
            reader.value()
            self._next = reader.at
        except json.JsonError:
            self._next = reader.last_string + 1
        self._found.extend(reader.found)
        self.scalars_read += reader.at - opening


class _Search(Reader):
    """Keeps where the hand-offs stand: in order, none inside another."""

    def __init__(self, text: str, start: int) -> None:
        super().__init__(text)
        self.at = start
        self.last_string = start
        self.found: List[Tuple[int, int]] = []

    def string(self) -> str:
        self.last_string = self.at
        return super().string()

    def object(self) -> Dict[str, Any]:
        start = self.at
        members = super().object()
        if _has_members(members):
            while self.found and self.found[-1][0] > start:
                self.found.pop()
            self.found.append((start, self.at))
        return members


def _may_hold_one(text: str) -> bool:
    """Whether the names of a hand-off stand in a text, so that most texts are not searched at all."""
    return '"routing_signal"' in text and '"flow_key"' in text


def _is_handoff(text: str) -> bool:
    try:
        value = json.loads(text)
    except json.JsonError:
        return False
    return isinstance(value, dict) and _has_members(value)


def _has_members(members: Dict[str, Any]) -> bool:
    return all(name in members for name in _MEMBERS)
