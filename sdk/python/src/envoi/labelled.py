"""The labelled text of the seeds: `Label: value` on lines, `name=value` pairs, `[a, b]` lists.

Only turns text into the JSON form; that form is checked in one place, however it was given.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Optional, Tuple, TypeVar, Union

from . import json
from .ascii import SPACE, is_blank, same
from .errors import ContractError, read_document, shorten
from .suggestion import nearest

_HINT = "give a JSON object, or lines of the form `Label: value`"
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_NAME = re.compile(r"[A-Za-z0-9_]+")

T = TypeVar("T")
Member = Tuple[str, Any]
"""A member of the JSON form: its name and its value."""


def read_either(
    document: Union[bytes, str], labels: "Labels", member: Callable[[str, str], Member], read: Callable[[Any], T]
) -> T:
    """Reads an input that is JSON or labelled text with `read`; `member` gives the member for a label and its value.

    A refusal knows its line and column: in labelled text, those of the label.
    """
    if _is_json(document):
        return read_document(document, labels.code, read)
    text = _text_of(document, labels.code)
    value, starts = labels.members(text, member)
    try:
        return read(value)
    except ContractError as refusal:
        start = starts.get(refusal.pointer.partition("/")[2].partition("/")[0])
        if start is None:
            raise refusal.located(text) from None
        refusal.line, refusal.column = json.Position.of(text, start)
        raise


def _is_json(document: Union[bytes, str]) -> bool:
    """Whether an input is meant as JSON: it begins with a bracket."""
    if isinstance(document, bytes):
        return document.lstrip(SPACE.encode())[:1] in (b"{", b"[")
    return document.lstrip(SPACE)[:1] in ("{", "[")


def _text_of(document: Union[bytes, str], code: str) -> str:
    """The labelled text."""
    encoded = document if isinstance(document, bytes) else document.encode("utf-8", errors="surrogatepass")
    if len(encoded) > json.MAX_BYTES:
        raise ContractError(code, "", "an input of at most 16 MiB", f"{len(encoded)} bytes")
    try:
        return encoded.decode("utf-8")
    except UnicodeDecodeError as error:
        before = encoded[: error.start].decode("utf-8")
        raise _refusal(code, before, len(before), "UTF-8 text", "another byte") from None


def _refusal(code: str, text: str, offset: int, expected: str, found: str) -> ContractError:
    refusal = ContractError(code, "", expected, found, _HINT)
    refusal.line, refusal.column = json.Position.of(text, offset)
    return refusal


@dataclass
class _Entry:
    start: int
    """Where its line begins."""
    label: str
    value: str
    goes_on: bool
    """Whether lines without a label belong to it."""


@dataclass(frozen=True)
class Labels:
    """Which labels a text may have; `free_text` are those whose value may go on over the following lines."""

    code: str
    names: Tuple[str, ...]
    free_text: Tuple[str, ...]
    guarded: Tuple[str, ...] = ()
    """Labels that a text cannot lose by a misspelling: a line that nearly is one is refused."""

    def members(
        self, text: str, member: Callable[[str, str], Member]
    ) -> Tuple[Dict[str, Any], Dict[str, int]]:
        """The JSON form of the text, and where the label of each member stands."""
        members: Dict[str, Any] = {}
        starts: Dict[str, int] = {}
        for entry in self._entries(text):
            name, value = member(entry.label, entry.value.rstrip(SPACE) if entry.goes_on else entry.value)
            members[name], starts[name] = value, entry.start
        return members, starts

    def _entries(self, text: str) -> List[_Entry]:
        """The labels with their values, unquoted, in the order of the text."""
        if is_blank(text):
            raise _refusal(self.code, text, 0, "a JSON object or labelled text", "nothing")
        entries: List[_Entry] = []
        lines = [(line.start(), line.group()) for line in _LINE.finditer(text)]
        at = 0
        while at < len(lines):
            start, line = lines[at]
            at += 1
            label, value = self._labelled(line)
            if label is not None:
                if any(entry.label == label for entry in entries):
                    raise _refusal(self.code, text, start, "each label once", f"a second `{label}`")
                rest = value.lstrip(SPACE)
                if rest.startswith('"'):
                    value, at = _quoted(rest[1:], lines, at)
                    entries.append(_Entry(start, label, value, False))
                else:
                    entries.append(_Entry(start, label, value.strip(SPACE), label in self.free_text))
            elif meant := self._misspelt(line):
                found = shorten(line.partition(":")[0].strip(SPACE), 40)
                refusal = _refusal(self.code, text, start, f"one of the labels {', '.join(self.names)}", found)
                refusal.hint = f"did you mean `{meant}`?"
                raise refusal
            elif entries and entries[-1].goes_on:
                entries[-1].value += "\n" + line.rstrip("\r\n")
            elif not is_blank(line):
                expected = f"one of the labels {', '.join(self.names)}"
                raise _refusal(self.code, text, start, expected, shorten(line.strip(SPACE), 40))
        return entries

    def _misspelt(self, line: str) -> Optional[str]:
        """The guarded label that a line probably begins with; such a line is no text that goes on."""
        label, colon, _ = line.partition(":")
        meant = nearest(label.strip(SPACE), [name.lower() for name in self.guarded], within=False) if colon else None
        return next((name for name in self.guarded if name.lower() == meant), None)

    def _labelled(self, line: str) -> Tuple[Optional[str], str]:
        label, _, value = line.partition(":")
        known = [name for name in self.names if same(name, label.strip(SPACE))]
        return (known[0], value) if known and ":" in line else (None, line)


def _quoted(text: str, lines: List[Tuple[int, str]], at: int) -> Tuple[str, int]:
    """A value up to the quote that ends a line, this one or a later one; unclosed, all the rest. And the next line."""
    pieces = [text]
    while not pieces[-1].rstrip(SPACE).endswith('"'):
        if at == len(lines):
            return "".join(pieces).rstrip(SPACE), at
        pieces.append(lines[at][1])
        at += 1
    return _unescaped("".join(pieces).rstrip(SPACE)[:-1]), at


def _unescaped(inner: str) -> str:
    """The text itself, unless it has escapes and is a JSON string."""
    if "\\" not in inner:
        return inner
    try:
        return str(json.loads(f'"{inner}"'))
    except json.JsonError:
        return inner


def pairs(text: str) -> Dict[str, str]:
    """`name=value, name=value`; pieces without a `=`, as in `[a, b]`, belong to the value before."""
    read: List[Tuple[str, str]] = []
    for piece in text.split(","):
        if is_blank(piece):
            continue
        name, equals, value = piece.partition("=")
        if equals and _NAME.fullmatch(name.strip(SPACE)):
            read.append((name.strip(SPACE), value.strip(SPACE)))
        elif read:
            name, value = read[-1]
            read[-1] = (name, f"{value},{piece.rstrip(SPACE)}")
        else:
            read.append((piece.strip(SPACE), ""))
    return dict(read)


def items(text: str) -> List[str]:
    """`a, b` or `[a, b]`, quotes optional."""
    text = text.strip(SPACE)
    if text.startswith("[") and text[1:].endswith("]"):
        text = text[1:-1]
    unquoted = (_unquoted(item.strip(SPACE)) for item in text.split(","))
    return [item for item in unquoted if item]


def scalar(text: str) -> Any:
    """A number, a truth value or null if it reads as one, else the text."""
    if text in ("true", "false"):
        return text == "true"
    return json.loads(text) if json.is_number(text) else word(text)


def word(text: str) -> Optional[str]:
    """The text; null if it is `null` or empty."""
    return None if text in ("", "null") else _unquoted(text)


def _unquoted(text: str) -> str:
    for quote in "\"'":
        if text.startswith(quote) and text[1:].endswith(quote):
            return text[1:-1]
    return text
