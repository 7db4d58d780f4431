"""Reads a step's text: the lines that count, their statuses and their routing hints.

Fenced blocks and quoted lines quote others and do not count. A text that is one JSON or YAML block as a whole is the step's own.
The decision table interprets the findings. A hand-off in JSON is a quotation wherever it stands.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Dict, Iterator, List, Optional, Tuple, Union

from .. import json
from ..ascii import SPACE, lower, same
from . import handoff, label
from .hint import Hint, hints, to_step

_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_YAML = re.compile(r"[\"']*[A-Za-z0-9_-]+[:\"']")


@dataclass
class Findings:
    """The findings in a text: labelled statuses and hints in order, and whether it denies that iterating can help."""

    statuses: List[label.Status] = field(default_factory=list)
    hints: List[Hint] = field(default_factory=list)
    denies_help: bool = False

    def add_line(self, line: str, with_hints: bool) -> None:
        """Adds the findings in a line."""
        self.statuses += _stated(line)
        self.denies_help = self.denies_help or label.denies_help(line)
        if with_hints:
            self.hints += hints(line)

    def add_member(self, name: str, value: Any, with_hints: bool) -> None:
        """Adds the findings in a member of a JSON text."""
        text = value if isinstance(value, str) else None
        if label.names_status(name):
            stated = None if text is None else label.value(text)
            self.statuses += [stated] if isinstance(stated, label.Status) else []
        elif label.names_help(name):
            self.denies_help = self.denies_help or value is False or (text is not None and label.is_no(text))
        elif with_hints and same(name, "route_to") and text is not None:
            hint = to_step(text)
            self.hints += [hint] if hint else []


@dataclass
class LinesReading:
    """A text that is read line by line."""

    text: str

    def findings(self, with_hints: bool) -> Findings:
        """The findings."""
        found = Findings()
        for line in _counted_lines(self.text):
            found.add_line(line, with_hints)
        return found

    def prose(self) -> Iterator[str]:
        """The lines in which an unlabelled status may stand."""
        return _without_templates(self.text)

    def telling_lines(self) -> List[str]:
        """The lines with a counted status label or hint."""
        return [line for line in _counted_lines(self.text) if _tells(line, True)]


@dataclass
class JsonReading:
    """A text that is one JSON object. Its hints count only if it was not fenced."""

    members: Dict[str, Any]
    body: str
    fenced: bool

    def findings(self, with_hints: bool) -> Findings:
        """The findings in its members."""
        found = Findings()
        for name, value in self.members.items():
            found.add_member(name, value, with_hints and not self.fenced)
        return found

    def prose(self) -> Iterator[str]:
        """The lines in which an unlabelled status may stand: none of a block."""
        return _without_templates("" if self.fenced else self.body)

    def telling_lines(self) -> List[str]:
        """The lines in which its status stands."""
        lines = _lines(self.body)
        named = [name for name in self.members if label.names_status(name)]
        places = [json.locate(self.body, f"/{json.escape_segment(name)}") for name in named]
        return [lines[place.line - 1] for place in places if place is not None]


@dataclass
class YamlReading:
    """A text that is one fenced YAML block; its lines at the margin count, without hints."""

    body: str

    def findings(self, with_hints: bool) -> Findings:
        """The findings in its outermost members."""
        found = Findings()
        for line in _margin_lines(self.body):
            found.add_line(line, False)
        return found

    def prose(self) -> Iterator[str]:
        """A block has no prose."""
        return iter(())

    def telling_lines(self) -> List[str]:
        """The lines with a counted status label."""
        return [line for line in _margin_lines(self.body) if _tells(line, False)]


Reading = Union[LinesReading, JsonReading, YamlReading]


def read(text: str) -> Reading:
    """A text as it is to be read."""
    whole = text.strip(SPACE)
    block = _only_block(whole)
    if handoff.is_whole(whole if block is None else block[1]):
        return LinesReading("")
    if block is not None:
        return _fenced(*block) or LinesReading(text)
    members = _json_object(whole) if whole.startswith("{") else None
    return LinesReading(text) if members is None else JsonReading(members, whole, fenced=False)


def _stated(line: str) -> List[label.Status]:
    return [status for status in label.statuses(line) if isinstance(status, label.Status)]


def _tells(line: str, with_hints: bool) -> bool:
    return bool(_stated(line)) or (with_hints and any(True for _ in hints(line)))


def _without_templates(text: str) -> Iterator[str]:
    for line in _counted_lines(text):
        if not any(status is label.TEMPLATE for status in label.statuses(line)):
            yield line


def _only_block(whole: str) -> Optional[Tuple[str, str]]:
    """The info word and the body of a text that is one fenced block as a whole."""
    first, newline, rest = whole.partition("\n")
    fence = _Fence.opened_by(first) if newline else None
    if fence is None:
        return None
    for line in _LINE.finditer(rest):
        if fence.is_closed_by(line.group()):
            return (fence.info, rest[: line.start()]) if line.end() == len(rest) else None
    return None


def _fenced(info: str, body: str) -> Optional[Reading]:
    language = lower(info)
    if language in ("", "json"):
        members = _json_object(body)
        if members is not None:
            return JsonReading(members, body, fenced=True)
    plausible = language == "" and all(_looks_like_yaml(line) for line in _margin_lines(body))
    return YamlReading(body) if language in ("yaml", "yml") or plausible else None


def _json_object(text: str) -> Optional[Dict[str, Any]]:
    try:
        value = json.loads(text)
    except json.JsonError:
        return None
    return value if isinstance(value, dict) else None


def _margin_lines(body: str) -> List[str]:
    """Lines of a YAML block that belong to its outermost mapping."""
    return [line for line in _lines(body) if line and line[0] not in " \t-#"]


def _looks_like_yaml(line: str) -> bool:
    return ":" in line and _YAML.match(line) is not None


def _lines(text: str) -> List[str]:
    return [line[:-1] if line.endswith("\r") else line for line in text.split("\n")]


def _counted_lines(text: str) -> Iterator[str]:
    """The lines that are neither fenced nor quoted, without the hand-offs in them.

    What stands before and behind a hand-off are lines of their own.
    """
    fence: Optional[_Fence] = None
    handoffs = handoff.Finder(text)
    start = 0
    while start <= len(text):
        newline = text.find("\n", start)
        end = len(text) if newline < 0 else newline
        line = text[start : end - 1] if text.endswith("\r", start, end) else text[start:end]
        after = end + 1
        if fence is not None:
            fence = None if fence.is_closed_by(line) else fence
        else:
            fence = _Fence.opened_by(line)
            if fence is None and not line.lstrip(SPACE).startswith(">"):
                found = handoffs.first(start, end)
                if found is not None:
                    line, after = text[start : found[0]], found[1]
                yield line
        start = after


@dataclass(frozen=True)
class _Fence:
    """An open fence: at least three backticks or tildes."""

    mark: str
    length: int
    info: str

    @classmethod
    def opened_by(cls, line: str) -> Optional["_Fence"]:
        start = line.lstrip(SPACE)
        mark = start[:1]
        if mark not in ("`", "~"):
            return None
        info = start.lstrip(mark)
        length = len(start) - len(info)
        inline = mark == "`" and "`" in info
        return cls(mark, length, info.strip(SPACE)) if length >= 3 and not inline else None

    def is_closed_by(self, line: str) -> bool:
        start = line.strip(SPACE)
        return len(start) >= self.length and not start.lstrip(self.mark)
