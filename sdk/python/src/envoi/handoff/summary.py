"""The summary of a step's text: the text itself, or a digest that keeps its head, its tail and what it states."""

from __future__ import annotations

from typing import List

from ..ascii import SPACE
from ..routing import text as routing_text

MAX_SUMMARY_SCALARS = 2000
"""The longest summary."""

_KEPT = 400
"""How many characters the lines that state something may take."""

_MARKER = 40
"""How many are reserved for the marker of the omitted part."""

_BREAK = 80
"""How far from a cut a white space is looked for."""


def summarize(text: str) -> str:
    """At most 2000 characters of a text: all of it, or its status lines, its head, a marker and its tail."""
    text = text.strip(SPACE)
    if len(text) <= MAX_SUMMARY_SCALARS:
        return text
    kept = _kept_lines(text)
    room = MAX_SUMMARY_SCALARS - len(kept) - _MARKER
    head_room = 2 * room // 3
    head = _broken_at_end(text[:head_room])
    tail = _broken_at_start(text[len(text) - (room - head_room) :])
    omitted = len(text) - len(head) - len(tail)
    return f"{kept}{head}\n… [{omitted} characters omitted] …\n{tail}"


def _kept_lines(text: str) -> str:
    """The lines that carry a counted status label or hint, each once, as far as they fit."""
    kept: List[str] = []
    length = 0
    for line in routing_text.read(text).telling_lines():
        if length + len(line) + 1 <= _KEPT and line not in kept:
            kept.append(line)
            length += len(line) + 1
    return "".join(f"{line}\n" for line in kept)


def _broken_at_end(head: str) -> str:
    start = max(len(head) - _BREAK, 0)
    at = max(head.rfind(mark, start) for mark in "\n ")
    return head if at < 0 else head[:at]


def _broken_at_start(tail: str) -> str:
    places = [at for at in (tail.find(mark, 0, _BREAK) for mark in "\n ") if at >= 0]
    return tail[min(places) + 1 :] if places else tail
