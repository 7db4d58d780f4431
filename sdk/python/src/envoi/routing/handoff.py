"""Finds hand-offs in JSON that a text quotes.

A step that prints the file at `$ENVOI_HANDOFF` prints the status of the step before; read as its own, the two would conflict.
A hand-off is known by the five members that every one has.
"""

from __future__ import annotations

import re
from typing import Optional, Tuple

from .. import json

_MEMBERS = ("step_id", "flow_key", "run_id", "routing_signal", "summary")

_ATTEMPTS = 32
"""So many objects of a text are tried. Each may cost a reading of the rest of the text, so that the number has to be bounded."""

_START = re.compile(r'\{(?=[ \t\r\n]*")')
"""Braces of prose and of programs are not tried."""

_TOKEN = re.compile(r'[{}"]')
_IN_STRING = re.compile(r'[\\"]')


def is_whole(text: str) -> bool:
    """Whether a text is one hand-off."""
    return text.lstrip(" \t\r\n\f").startswith("{") and _may_hold_one(text) and _is_handoff(text)


class Finder:
    """Looks for hand-offs from the start of a text to its end."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._attempts = _ATTEMPTS if _may_hold_one(text) else 0

    def first(self, start: int, end: int) -> Optional[Tuple[int, int]]:
        """Where the first hand-off that begins between `start` and `end` begins and ends."""
        while self._attempts:
            opening = _START.search(self._text, start)
            if opening is None or opening.start() >= end:
                return None
            self._attempts -= 1
            start = opening.start()
            closing = _object_end(self._text, start)
            if closing is not None and _is_handoff(self._text[start:closing]):
                return start, closing
            start += 1
        return None


def _may_hold_one(text: str) -> bool:
    """Whether the names of a hand-off stand in a text, so that most texts are not searched at all."""
    return '"routing_signal"' in text and '"flow_key"' in text


def _is_handoff(text: str) -> bool:
    try:
        value = json.loads(text)
    except json.JsonError:
        return False
    return isinstance(value, dict) and all(name in value for name in _MEMBERS)


def _object_end(text: str, start: int) -> Optional[int]:
    """The end of what begins with `{` and ends with the brace that closes it; braces inside strings do not count."""
    depth, at, in_string = 0, start, False
    while True:
        found = (_IN_STRING if in_string else _TOKEN).search(text, at)
        if found is None:
            return None
        at = found.end()
        token = found.group()
        if token == "\\":
            at += 1
        elif token == '"':
            in_string = not in_string
        else:
            depth += 1 if token == "{" else -1
            if depth == 0:
                return at
